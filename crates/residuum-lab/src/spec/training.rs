//! `[training]`, `[digital]` and `[mapping]`: how long, how fast, and how weights come to lie on tiles.
//!
//! | field of `[training]` | meaning | default |
//! |---|---|---|
//! | `epochs` | passes over the training images | required |
//! | `batch_size` | samples of a step | required |
//! | `loss` | `cross_entropy` or `negative_log_likelihood` | by the model: the latter for `fcn` and `cnn`, which end in log-probabilities |
//! | `label_smoothing` | share of the target spread over all classes, with `cross_entropy` | 0 |
//! | `schedule` | factor of every rate that follows it, one of `{ kind = "constant" }`, `{ kind = "step", every, factor }`, `{ kind = "cosine", last }` over all epochs, `{ kind = "warm_up", epochs }`; step and cosine take `warm_up` as well, epochs in which the rate rises on a line; times in epochs | constant |
//! | `seeds` | one run each: a number, a list, or `{ first, count }` | `[0]` |
//! | `early_stop` | `{ patience, min_delta, watch }`: epochs without a gain of `min_delta` in test `accuracy` or `loss` | off |
//! | `checkpoint_every` | steps between checkpoints besides those after epochs | off |
//! | `histograms` | whether weights are counted against their range after each epoch | `false` |
//!
//! | field of `[digital]` | meaning | default |
//! |---|---|---|
//! | `learning_rate` | of what is not on tiles: biases, output scales, digital layers | that of `[rule]` |
//! | `momentum`, `weight_decay` | as PyTorch defines them | 0 |
//!
//! | field of `[mapping]` | meaning | default |
//! |---|---|---|
//! | `max_rows`, `max_cols` | largest tile | 512 |
//! | `omega` | weights are scaled so that the largest is this, in units of a tile; the rest is an output scale. It changes no rate: α is that of the weights of the network | off |
//! | `columnwise` | a scale for each output instead of one for all | `false` |
//! | `output_scaling` | scales learned by SGD: `off`, `tile` (one for each tile) or `output` | `off` |

use residuum::Schedule;
use residuum_nn::analog::{Mapping, OutputScaling};
use residuum_nn::{Loss, Sgd};

use super::network::Model;
use super::read_seeds;
use super::reader::{Fields, SpecError};
use super::tile_rule::{Rate, TileRuleKind, TileRuleSpec};

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
    /// When to give up.
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

/// When to give up.
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
    pub(crate) fn read(fields: &Fields<'_>, model: &Model) -> Result<Self, SpecError> {
        Ok(Self {
            epochs: at_least_one(fields, "epochs")?,
            batch_size: at_least_one(fields, "batch_size")? as usize,
            loss: read_loss(fields, model)?,
            schedule: read_schedule(fields)?,
            seeds: read_seeds(fields)?,
            early_stop: read_early_stop(fields)?,
            checkpoint_every: if fields.has("checkpoint_every") {
                Some(at_least_one(fields, "checkpoint_every")?)
            } else {
                fields.optional_count("checkpoint_every")?
            },
            histograms: fields.boolean_or("histograms", false)?,
        })
    }
}

fn at_least_one(fields: &Fields<'_>, name: &'static str) -> Result<u64, SpecError> {
    match fields.count(name)? {
        0 => Err(fields.error(format!("{} must be at least 1, got 0", fields.path(name)))),
        count => Ok(count),
    }
}

fn read_loss(fields: &Fields<'_>, model: &Model) -> Result<Loss, SpecError> {
    const NLL: &str = "negative_log_likelihood";
    let natural = if model.gives_log_probabilities() { NLL } else { "cross_entropy" };
    let loss = fields.choice_or("loss", &["cross_entropy", NLL], natural)?;
    if loss == NLL {
        if model.gives_log_probabilities() {
            return Ok(Loss::NegativeLogLikelihood);
        }
        let path = fields.path("loss");
        return Err(
            fields.error(format!("{path} must be \"cross_entropy\" for this model, whose scores are logits"))
        );
    }
    let smoothing = fields.number_or("label_smoothing", 0.0)? as f32;
    let path = fields.path("label_smoothing");
    Loss::CrossEntropy { smoothing }
        .validate()
        .map_err(|e| fields.error(e.to_string().replacen("smoothing", &path, 1)))
}

fn read_schedule(fields: &Fields<'_>) -> Result<ScheduleSpec, SpecError> {
    let Some(table) = fields.optional_table("schedule")? else {
        fields.defaulted("schedule", "{ kind = \"constant\" }");
        return Ok(ScheduleSpec::Constant);
    };
    let warm_up = || match table.optional_count("warm_up")? {
        None => Ok(0),
        Some(_) => at_least_one(&table, "warm_up"),
    };
    let schedule = match table.choice("kind", &["constant", "step", "cosine", "warm_up"])? {
        "constant" => ScheduleSpec::Constant,
        "step" => ScheduleSpec::Step {
            every: at_least_one(&table, "every")?,
            factor: share(&table, "factor", None)?,
            warm_up: warm_up()?,
        },
        "cosine" => ScheduleSpec::Cosine { last: share(&table, "last", Some(0.0))?, warm_up: warm_up()? },
        _ => ScheduleSpec::WarmUp { epochs: at_least_one(&table, "epochs")? },
    };
    table.finish()?;
    Ok(schedule)
}

/// A part of 1: per cent are a slip.
fn share(fields: &Fields<'_>, name: &'static str, default: Option<f64>) -> Result<f64, SpecError> {
    let value = match default {
        Some(default) => fields.number_or(name, default)?,
        None => fields.number(name)?,
    };
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(fields.error(format!("{} must be between 0 and 1, got {value}", fields.path(name))))
}

fn read_early_stop(fields: &Fields<'_>) -> Result<Option<EarlyStopSpec>, SpecError> {
    let Some(table) = fields.optional_table("early_stop")? else { return Ok(None) };
    let stop = EarlyStopSpec {
        patience: at_least_one(&table, "patience")?,
        min_delta: table.number_or("min_delta", 0.0)?,
        loss: table.choice_or("watch", &["accuracy", "loss"], "accuracy")? == "loss",
    };
    // An accuracy is a share; a loss has no upper end.
    let most = if stop.loss { f64::MAX } else { 1.0 };
    if !(0.0..=most).contains(&stop.min_delta) {
        let must = if stop.loss { "zero or positive, and finite" } else { "between 0 and 1" };
        let (path, got) = (table.path("min_delta"), stop.min_delta);
        return Err(table.error(format!("{path} must be {must}, got {got}")));
    }
    table.finish()?;
    Ok(Some(stop))
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
    /// Reads `[digital]`; the rule says what is left out.
    pub(crate) fn read(fields: Option<&Fields<'_>>, rule: &TileRuleSpec) -> Result<Self, SpecError> {
        let (momentum, weight_decay) = match rule.kind {
            TileRuleKind::Digital { momentum, weight_decay } => (momentum, weight_decay),
            _ => (0.0, 0.0),
        };
        let default = Self { learning_rate: rule.learning_rate, momentum, weight_decay };
        let Some(fields) = fields else { return Ok(default) };
        let learning_rate = if fields.has("learning_rate") {
            Rate::read(fields, "learning_rate")?
        } else {
            fields.node("learning_rate");
            default.learning_rate
        };
        let spec = Self {
            learning_rate,
            momentum: fields.number_or("momentum", 0.0)? as f32,
            weight_decay: fields.number_or("weight_decay", 0.0)? as f32,
        };
        spec.sgd(Schedule::Constant).validate().map_err(|e| fields.blame(&e))?;
        // A digital rule says itself how everything learns; it may share the table with others that do not.
        Ok(if rule.is_digital() { default } else { spec })
    }

    /// The optimiser, given what the schedule makes of a rate.
    pub fn sgd(&self, shape: impl Fn(f64) -> Schedule) -> Sgd {
        let Self { learning_rate, momentum, weight_decay } = *self;
        Sgd { learning_rate: learning_rate.schedule(shape), momentum, weight_decay }
    }
}

/// Reads `[mapping]`.
pub(crate) fn read_mapping(fields: &Fields<'_>) -> Result<Mapping, SpecError> {
    let default = Mapping::default();
    let size = |name, default: usize| -> Result<usize, SpecError> {
        let count = if fields.has(name) {
            at_least_one(fields, name)?
        } else {
            fields.count_or(name, default as u64)?
        };
        Ok(count as usize)
    };
    let mapping = Mapping {
        max_rows: size("max_rows", default.max_rows)?,
        max_cols: size("max_cols", default.max_cols)?,
        omega: fields.optional_number("omega")?.map(|omega| omega as f32),
        columnwise: fields.boolean_or("columnwise", false)?,
        output_scaling: match fields.choice_or("output_scaling", &["off", "tile", "output"], "off")? {
            "off" => OutputScaling::Off,
            "tile" => OutputScaling::PerTile,
            _ => OutputScaling::PerOutput,
        },
    };
    if let Some(omega) = mapping.omega
        && !(omega > 0.0 && omega.is_finite())
    {
        return Err(fields.error(format!("{} must be positive and finite, got {omega}", fields.path("omega"))));
    }
    Ok(mapping)
}
