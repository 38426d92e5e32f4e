//! Explains a spec: every parameter with its unit and origin, effective rates, the number of trials, and their cost.

pub(crate) mod report;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub use shapes::{DataShapes, ExplainedLayer, NetworkShapes, shapes, shapes_text};

use residuum::rule::EffectiveRates;
use residuum::{Key, ParameterError, Schedule};
use residuum_nn::data::catalogue;

pub use crate::sweep::{Cost, Memory};

use crate::plan::{Plan, Work, points};
use crate::rates::RatesReport;
use crate::spec::reference;
use crate::spec::{Model, NetworkSpec, TrialSpec, rule_presets};
use residuum_nn::model::{DigitalFactory, Factory, Select};
use residuum_nn::weights::Parameter as Digital;
use residuum_nn::{SampleShape, Weights};

/// What is known about a grid before it runs.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Name of the experiment.
    pub experiment: String,
    /// Points of the grid; each has one trial for each of its seeds.
    pub points: usize,
    /// All trials.
    pub trials: usize,
    /// Every parameter of any of them.
    pub parameters: Vec<ExplainedParameter>,
    /// How fast the arrays of each point move at the first step; digital networks have none.
    pub rates: Vec<PointMotion>,
    /// What theory says about the rates of the first point, if it applies.
    pub theory: Option<String>,
    /// What is known of the settings that points take from presets, each once.
    pub presets: Vec<String>,
    /// The cost of the trials, or why it cannot be estimated.
    pub cost: Result<Cost, String>,
    /// Missing data sets.
    pub missing: Vec<MissingData>,
    /// Layers, parameters and tiles of every different network.
    pub networks: Vec<NetworkShapes>,
    /// Sizes and classes of all data that need no download.
    pub data: Vec<DataShapes>,
}

/// How fast the arrays of a point of the grid move at the first step.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMotion {
    /// The point, in words.
    pub point: String,
    /// Columns of the tiles concerned, where tiles of different widths move at different rates.
    pub columns: Option<usize>,
    /// The rates.
    pub rates: EffectiveRates,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedParameter {
    /// Dotted path.
    pub path: String,
    /// Its values in TOML notation, in the order of the grid; one unless it varies.
    pub values: Vec<String>,
    /// Unit, or `–`.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Where the values come from.
    pub origin: ValueOrigin,
}

/// Where the values of a parameter come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The spec.
    Given,
    /// The default.
    Default,
    /// The grid: it differs between points.
    Swept,
}

impl ValueOrigin {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Default => "default",
            Self::Swept => "swept",
        }
    }
}

/// A data set that trials need but that is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingData {
    /// Its name.
    pub set: String,
    /// Where it was looked for.
    pub folder: PathBuf,
}

impl std::fmt::Display for MissingData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { set, folder } = self;
        write!(f, "data set {set} is not in {}; get it with `residuum data fetch {set}`", folder.display())
    }
}

/// Data sets that trials need but that are missing. `root` holds the folders of all sets.
pub fn missing_data(plans: &[Plan], root: &Path) -> Vec<MissingData> {
    let mut missing: Vec<MissingData> = Vec::new();
    for plan in points(plans) {
        let Work::Network(spec) = &plan.work else { continue };
        // Embedded sets are not in the catalogue.
        let Ok(entry) = catalogue::find(spec.data.set) else { continue };
        let folder = spec.data.directory.clone().unwrap_or_else(|| root.join(spec.data.set));
        let there = |name: &str| folder.join(name).exists() || folder.join(format!("{name}.gz")).exists();
        let lacks = entry.downloads.iter().flat_map(|d| &d.files).any(|file| !there(&file.name));
        let found = MissingData { set: spec.data.set.into(), folder };
        if lacks && !missing.contains(&found) {
            missing.push(found);
        }
    }
    missing
}

impl Explanation {
    /// Explains the trials of a spec. `root` holds the folders of data sets. A few steps of one trial of each kind are run to
    /// estimate the time of all, `jobs` at a time.
    pub fn new(plans: &[Plan], root: &Path, jobs: usize) -> Self {
        let points: Vec<&Plan> = points(plans).collect();
        let (networks, data) = shapes(plans);
        Self {
            networks,
            data,
            experiment: plans.first().map(|p| p.experiment.clone()).unwrap_or_default(),
            points: points.len(),
            trials: plans.len(),
            parameters: parameters(&points),
            rates: rates(&points),
            presets: presets(&points),
            theory: points.first().and_then(|plan| theory(plan)),
            cost: Cost::estimate(plans, jobs),
            missing: missing_data(plans, root),
        }
    }
}

fn parameters(points: &[&Plan]) -> Vec<ExplainedParameter> {
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut parameters: Vec<ExplainedParameter> = Vec::new();
    for plan in points {
        let mut last: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
        for r in plan.resolved() {
            // If a field is read twice, the last reading counts.
            last.insert(&r.path, (&r.value, r.given));
            if !place.contains_key(r.path.as_str()) {
                let field = reference::find(&r.path);
                place.insert(&r.path, parameters.len());
                parameters.push(ExplainedParameter {
                    path: r.path.clone(),
                    values: Vec::new(),
                    unit: field.map_or("–", |f| f.unit),
                    meaning: field.map_or("digest of the file", |f| f.meaning.as_str()),
                    origin: if r.given { ValueOrigin::Given } else { ValueOrigin::Default },
                });
            }
        }
        for (path, (value, given)) in last {
            let parameter = &mut parameters[place[path]];
            if given && parameter.origin == ValueOrigin::Default {
                parameter.origin = ValueOrigin::Given;
            }
            // Long axes are shown by their first values: the search must not be quadratic in them.
            if parameter.values.len() < MOST_VALUES && !parameter.values.iter().any(|v| v == value) {
                parameter.values.push(value.into());
            }
        }
    }
    for parameter in parameters.iter_mut().filter(|parameter| parameter.values.len() > 1) {
        parameter.origin = ValueOrigin::Swept;
    }
    parameters
}

/// Most values of a swept parameter that are shown.
const MOST_VALUES: usize = 64;

/// The rates of the rule as it is built for each point: of networks, on tiles as wide as its layers make them and in
/// mini-batches of its size.
fn rates(points: &[&Plan]) -> Vec<PointMotion> {
    let mut widths = Widths::default();
    let mut all = Vec::new();
    for plan in points {
        let point = plan.words();
        match &plan.work {
            Work::Problem(spec) => {
                let Ok(rule) = spec.build_rule(plan.seed) else { continue };
                let rates = rule.effective_rates(&spec.rates().at(0), 1);
                all.push(PointMotion { point, columns: None, rates });
            }
            Work::Network(spec) => {
                let Some(devices) = spec.devices.as_ref().filter(|_| !spec.rule.is_digital()) else { continue };
                let (first, batch) = (spec.rule.rates(Schedule::Constant).at(0), spec.training.batch_size);
                let of_width = |columns: usize| {
                    let rule = spec.rule.build(devices, [1, columns], Key::new(plan.seed)).ok()?;
                    let rates = rule.effective_rates(&first, batch);
                    Some(PointMotion { point: point.clone(), columns: Some(columns), rates })
                };
                let mut own: Vec<PointMotion> = widths.of(spec).into_iter().filter_map(of_width).collect();
                if let [one, others @ ..] = own.as_mut_slice()
                    && others.iter().all(|other| other.rates == one.rates)
                {
                    one.columns = None;
                    own.truncate(1);
                }
                all.extend(own);
            }
        }
    }
    all
}

/// The widths of the tiles of networks, found once for networks that share their layers.
#[derive(Default)]
struct Widths(Vec<(Model, SampleShape, Select, Vec<usize>)>);

impl Widths {
    /// Columns of the widest tile of each layer on tiles, each number once, ascending.
    fn of(&mut self, spec: &TrialSpec) -> BTreeSet<usize> {
        let (NetworkSpec { model, analog, .. }, (image, classes)) = (&spec.network, spec.data.image());
        let known = self.0.iter().position(|(m, s, a, _)| (m, s, a) == (model, &image, analog));
        let place = known.unwrap_or_else(|| {
            let mut seen = Columns { analog, layers: Vec::new() };
            // A network that cannot be built has no widths; training it reports why.
            let _ = spec.network.build(image, classes, &mut seen, Key::new(0));
            let layers = seen.layers;
            self.0.push((model.clone(), image, analog.clone(), layers));
            self.0.len() - 1
        });
        let most = spec.mapping.max_cols;
        // As evenly as possible over as few tiles as possible.
        self.0[place].3.iter().map(|cols| cols.div_ceil(cols.div_ceil(most))).collect()
    }
}

/// A factory that records the columns of layers on tiles.
struct Columns<'a> {
    analog: &'a Select,
    layers: Vec<usize>,
}

impl Factory for Columns<'_> {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        if self.analog.includes(name) {
            self.layers.push(cols);
        }
        DigitalFactory(None).weights(name, rows, cols, initial)
    }

    fn parameter(&mut self, name: &str, initial: Vec<f32>) -> Digital {
        DigitalFactory(None).parameter(name, initial)
    }
}

/// The presets of rules, with what the spec changes of them.
fn presets(points: &[&Plan]) -> Vec<String> {
    let mut lines = Vec::new();
    for plan in points {
        let Work::Network(spec) = &plan.work else { continue };
        let Some(used) = &spec.preset else { continue };
        let mut line = rule_presets().words(used.preset);
        if !used.changed.is_empty() {
            let _ = write!(line, "; the spec has its own {}", used.changed.join(", "));
        }
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// One line from the theory on the rates of a problem.
fn theory(plan: &Plan) -> Option<String> {
    let Work::Problem(spec) = &plan.work else { return None };
    let report = RatesReport::new(spec).ok()?;
    let lemma = match &report.lemma {
        Ok(c) => {
            format!("the lemma gives α = {:.3e}, β = {:.3e}", c.rates.learning_rate, c.rates.transfer_rate)
        }
        Err(e) => format!("the lemma does not apply ({e})"),
    };
    let practical = match &report.practical {
        Ok(r) => format!(
            "the stationary laws give α = {:.3e}, β = {:.3e}, γ = {:.3}",
            r.rates.learning_rate, r.rates.transfer_rate, r.rates.mixing
        ),
        Err(e) => format!("the stationary laws give none ({e})"),
    };
    Some(format!("for K = {} {lemma}; {practical}", spec.steps))
}
