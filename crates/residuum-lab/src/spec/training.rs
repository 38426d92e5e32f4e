//! `[training]`, `[digital]` and `[mapping]`: how long, how fast, and how weights come to lie on tiles.

use residuum::Schedule;
use residuum::rule::Source;
use residuum_nn::analog::{Mapping, OutputScaling};
use residuum_nn::{Loss, Sgd};

use super::network::Model;
use super::node::SpecError;
use super::rate::{Rate, rate};
use super::rule::RuleSpec;
use super::section::{Optional, Or, Required, RequiredIf, section};
use super::seeds::Seeds;
use super::table::{At, Table};
use super::types::{TakesExt as _, choice, count, flag, number, table, word};

section! {
    /// How long to train, and in which steps.
    pub(crate) struct TrainingTable {
        /// passes over the training images
        epochs: u64 = count().at_least(1), "epochs", Required;
        /// images per step
        batch_size: usize = count().at_least(1).size(), "samples", Required;
        /// the loss to minimise
        loss: Option<&'static str> = word(["cross_entropy", NLL, MEAN_SQUARE]), "–",
            Optional("by data and model: `mean_square` for a regression, `negative_log_likelihood` for models that end in log-probabilities");
        /// share of the target spread over all classes, with `cross_entropy`
        label_smoothing: Option<f64> = number().checked_later(", 0 to 1"), "share", Optional("0");
        /// factor applied to every rate given as a number
        schedule: ScheduleSpec = table::<FactorTable>().then(factor), "–", Or("{ kind = \"constant\" }");
        /// one trial per seed
        seeds: Vec<u64> = Seeds, "–", Or("[0]");
        /// when to stop early
        early_stop: Option<EarlyStopTable> = table::<EarlyStopTable>(), "–", Optional("off");
        /// interval between additional checkpoints
        checkpoint_every: Option<u64> = count().at_least(1), "steps", Optional("after epochs only");
        /// record histograms of the weights within their range after each epoch
        histograms: bool = flag(), "–", Or("false");
    }
}

section! {
    /// How the factor of the rates changes; times in epochs.
    pub(crate) struct FactorTable by kind {
        /// no change; drops; half a cosine over all epochs; a linear rise from 0 during the first epochs
        kind: &'static str = word(["constant", "step", "cosine", "warm_up"]), "–", Required;
        /// interval between drops
        every: Option<u64> = count().at_least(1), "epochs", RequiredIf, of kind ["step"];
        /// factor of each drop
        factor: Option<f64> = number().share(), "–", RequiredIf, of kind ["step"];
        /// share of the rate at the end
        last: f64 = number().share(), "–", Or("0.0"), of kind ["cosine"];
        /// initial epochs in which the rate rises linearly
        warm_up: Option<u64> = count().at_least(1), "epochs", Optional("none"), of kind ["step" "cosine"];
        /// length of the rise
        epochs: Option<u64> = count().at_least(1), "epochs", RequiredIf, of kind ["warm_up"];
    }
}

section! {
    /// When to stop early.
    pub(crate) struct EarlyStopTable {
        /// epochs without improvement before training stops
        patience: u64 = count().at_least(1), "epochs", Required;
        /// smallest change that counts as an improvement
        min_delta: f64 = number().not_negative(), "that of the watched metric", Or("0.0");
        /// what is watched, on the test images
        watch: &'static str = word(["accuracy", "loss"]), "–", Or("\"accuracy\"");
    }
}

section! {
    /// How everything that is not on tiles learns: biases, output scales, digital layers. A digital rule has its own settings.
    pub(crate) struct DigitalTable {
        /// α
        learning_rate: Option<Rate> = rate(), "weight²/loss per step", Optional("that of `[rule]`");
        /// as PyTorch defines it
        momentum: f64 = number().memory(), "share per step", Or("0.0");
        /// as PyTorch defines it
        weight_decay: f64 = number().not_negative(), "loss/weight²", Or("0.0");
    }
}

section! {
    /// How weights are mapped to tiles.
    pub(crate) struct MappingTable {
        /// most rows of a tile
        max_rows: usize = count().at_least(1).size(), "rows", Or("512");
        /// most columns of a tile
        max_cols: usize = count().at_least(1).size(), "columns", Or("512");
        /// scales weights so that the largest is this, in units of a tile; an output scale makes up for it. Rates are unaffected: α
        /// is that of the network's weights
        omega: Option<f64> = number().positive(), "weight", Optional("off");
        /// whether ω standard deviations of a weight, fan-in^(−½) each, fill the range instead: the same share of the states for wide and
        /// narrow layers
        by_width: Option<bool> = flag(), "–", Optional("false");
        /// one scale per output instead of one per tile
        columnwise: bool = flag(), "–", Or("false");
        /// output scales learned by SGD: one per tile, or one per output
        output_scaling: OutputScaling = choice([
            ("off", OutputScaling::Off), ("tile", OutputScaling::PerTile), ("output", OutputScaling::PerOutput)
        ]), "–", Or("\"off\"");
    }
}

const NLL: &str = "negative_log_likelihood";
const MEAN_SQUARE: &str = "mean_square";

/// How a network of a spec is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSpec {
    /// Passes over the training images.
    pub epochs: u64,
    /// Samples of a step.
    pub batch_size: usize,
    /// What is lowered.
    pub loss: Loss,
    /// Factor of the rates.
    pub schedule: ScheduleSpec,
    /// One run each.
    pub seeds: Vec<u64>,
    /// When to stop early.
    pub early_stop: Option<EarlyStopSpec>,
    /// Steps between checkpoints.
    pub checkpoint_every: Option<u64>,
    /// Whether weights are counted.
    pub histograms: bool,
}

/// How rates change; times in epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScheduleSpec {
    /// Not at all.
    Constant,
    /// By a factor after every so many epochs.
    Step {
        /// Epochs between drops.
        every: u64,
        /// Factor of each.
        factor: f64,
        /// Epochs of a straight line from 0 at the start; 0 for none.
        warm_up: u64,
    },
    /// Half a cosine down to this share after the last epoch.
    Cosine {
        /// Share of the rate at the end.
        last: f64,
        /// Epochs of a straight line from 0 at the start; 0 for none.
        warm_up: u64,
    },
    /// A straight line from 0 during the first epochs.
    WarmUp {
        /// How many.
        epochs: u64,
    },
}

impl ScheduleSpec {
    /// The schedule of a rate, where an epoch has `steps` steps.
    pub fn of(self, rate: f64, epochs: u64, steps: u64) -> Schedule {
        match self {
            Self::Constant => Schedule::Constant(rate),
            Self::Step { every, factor, warm_up } => {
                Schedule::Step { initial: rate, every: every * steps, factor, warm_up: warm_up * steps }
            }
            Self::Cosine { last, warm_up } => {
                let [length, warm_up] = [epochs, warm_up].map(|epochs| epochs * steps);
                Schedule::Cosine { initial: rate, last: rate * last, steps: length, warm_up }
            }
            Self::WarmUp { epochs } => Schedule::WarmUp { rate, steps: epochs * steps },
        }
    }
}

/// When to stop early.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyStopSpec {
    /// Epochs without a gain.
    pub patience: u64,
    /// What counts as one.
    pub min_delta: f64,
    /// Whether the loss is watched, not the accuracy.
    pub loss: bool,
}

impl TrainingSpec {
    pub(crate) fn new(
        fields: TrainingTable,
        model: &Model,
        is_regression: bool,
        table: &Table<'_>,
    ) -> Result<Self, SpecError> {
        Ok(Self {
            epochs: fields.epochs,
            batch_size: fields.batch_size,
            loss: loss(&fields, model, is_regression, table)?,
            schedule: fields.schedule,
            seeds: fields.seeds,
            early_stop: fields.early_stop.map(|stop| early_stop(&stop, is_regression, table)).transpose()?,
            checkpoint_every: fields.checkpoint_every,
            histograms: fields.histograms,
        })
    }
}

fn loss(
    fields: &TrainingTable,
    model: &Model,
    is_regression: bool,
    table: &Table<'_>,
) -> Result<Loss, SpecError> {
    let natural = match (is_regression, model.gives_log_probabilities()) {
        (true, _) => MEAN_SQUARE,
        (false, true) => NLL,
        (false, false) => "cross_entropy",
    };
    if fields.loss.is_none() {
        table.defaulted("loss", format!("{natural:?}"));
    }
    let given = fields.loss.unwrap_or(natural);
    if (given == MEAN_SQUARE) != is_regression {
        let (path, goal) = (table.path("loss"), if is_regression { "target values" } else { "classes" });
        return Err(table.error(format!("{path} must fit the data, which have {goal}, got {given:?}")));
    }
    if given == MEAN_SQUARE {
        if fields.label_smoothing.is_some() {
            let path = table.path("label_smoothing");
            return Err(
                table.error(format!("{path} has no effect with loss = {given:?}: it belongs to cross_entropy"))
            );
        }
        return Ok(Loss::MeanSquare);
    }
    if fields.loss.unwrap_or(natural) == NLL {
        if !model.gives_log_probabilities() {
            let path = table.path("loss");
            let message = format!("{path} must be \"cross_entropy\" for this model, whose scores are logits");
            return Err(table.error(message));
        }
        if fields.label_smoothing.is_some() {
            let path = table.path("label_smoothing");
            return Err(
                table.error(format!("{path} has no effect with loss = {NLL:?}: it belongs to cross_entropy"))
            );
        }
        return Ok(Loss::NegativeLogLikelihood);
    }
    let smoothing = fields.label_smoothing.unwrap_or(0.0) as f32;
    let path = table.path("label_smoothing");
    Loss::CrossEntropy { smoothing }
        .validate()
        .map_err(|e| table.error(e.to_string().replacen("smoothing", &path, 1)))
}

fn factor(fields: &FactorTable, at: &At<'_>) -> Result<ScheduleSpec, SpecError> {
    let table = at.table()?;
    let needed = |value: Option<u64>, name: &str| value.ok_or_else(|| table.missing(name));
    let warm_up = fields.warm_up.unwrap_or(0);
    Ok(match fields.kind {
        "constant" => ScheduleSpec::Constant,
        "step" => ScheduleSpec::Step {
            every: needed(fields.every, "every")?,
            factor: fields.factor.ok_or_else(|| table.missing("factor"))?,
            warm_up,
        },
        "cosine" => ScheduleSpec::Cosine { last: fields.last, warm_up },
        _ => ScheduleSpec::WarmUp { epochs: needed(fields.epochs, "epochs")? },
    })
}

fn early_stop(
    fields: &EarlyStopTable,
    is_regression: bool,
    table: &Table<'_>,
) -> Result<EarlyStopSpec, SpecError> {
    let EarlyStopTable { patience, min_delta, watch } = *fields;
    if is_regression && watch == "accuracy" {
        let path = table.path("early_stop.watch");
        return Err(table.error(format!("{path} must be \"loss\" for target values: they have no accuracy")));
    }
    // An accuracy is a share; a loss has no upper end.
    if watch == "accuracy" && min_delta > 1.0 {
        let path = table.path("early_stop.min_delta");
        return Err(table.error(format!("{path} must be between 0 and 1, got {min_delta}")));
    }
    Ok(EarlyStopSpec { patience, min_delta, loss: watch == "loss" })
}

/// How everything digital learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigitalSpec {
    /// α.
    pub learning_rate: Rate,
    /// Share of the velocity that survives a step.
    pub momentum: f32,
    /// Pull towards zero.
    pub weight_decay: f32,
}

impl DigitalSpec {
    /// What `[digital]` says, and the rule of what it leaves out.
    pub(crate) fn new(
        fields: Option<DigitalTable>,
        rule: &RuleSpec,
        root: &Table<'_>,
    ) -> Result<Self, SpecError> {
        let learning_rate = |own: Option<Rate>| {
            own.or(rule.learning_rate).ok_or_else(|| {
                root.error(format!(
                    "digital.learning_rate is missing: kind = {:?} has none to share",
                    rule.name
                ))
            })
        };
        Ok(match fields {
            // A digital rule says itself how everything learns; it may share the table with others that do not.
            _ if rule.is_digital() => {
                let momentum = if let Source::Momentum { momentum } = rule.source { momentum } else { 0.0 };
                let (momentum, weight_decay) = (momentum as f32, rule.weight_decay as f32);
                Self { learning_rate: learning_rate(None)?, momentum, weight_decay }
            }
            Some(fields) => Self {
                learning_rate: learning_rate(fields.learning_rate)?,
                momentum: fields.momentum as f32,
                weight_decay: fields.weight_decay as f32,
            },
            None => Self { learning_rate: learning_rate(None)?, momentum: 0.0, weight_decay: 0.0 },
        })
    }

    /// The optimiser, given what the schedule makes of a rate.
    pub fn sgd(&self, shape: impl Fn(f64) -> Schedule) -> Sgd {
        let Self { learning_rate, momentum, weight_decay } = *self;
        Sgd { learning_rate: learning_rate.schedule(shape), momentum, weight_decay }
    }
}

impl MappingTable {
    /// How weights are mapped to tiles.
    pub(crate) fn mapping(self) -> Mapping {
        let Self { max_rows, max_cols, omega, by_width, columnwise, output_scaling } = self;
        let (omega, by_width) = (omega.map(|omega| omega as f32), by_width.unwrap_or(false));
        Mapping { max_rows, max_cols, omega, by_width, columnwise, output_scaling }
    }
}
