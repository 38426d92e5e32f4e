//! What `tune` searches: the fields of a rule, each around a centre from the stationary laws and the device.
//!
//! The laws are those of [`practical_rates`]: on a horizon of K steps, for unit curvature and gradient noise, they say how fast the
//! residual array may move (αγ), how slowly W must follow (β) and how much of P the gradient must see (γ) on cells with these
//! responses. A network's curvature is not known, so the centre is only the middle of a wide range.
//!
//! The laws speak of a step. A rule that writes some columns every few steps comes back to a weight after a whole sweep of
//! them, so the transfer rate that is searched is β per step, and that of the spec is β times the steps of a sweep: `every` and
//! `columns` can then be changed without leaving the range of rates that work.

use super::centre::Centre;
use super::setting::{Setting, Tunable, Values};
use crate::spec::{Node, TrialSpec, rule_has};

/// Rates are searched over three decades.
const RATES: f64 = 31.6;
/// γ over nearly two.
const MIXING: f64 = 8.0;
/// The probability of a chopper between 1/50 and 1/2.
const CHOP: f64 = 5.0;
/// Steps between transfers.
const EVERY: [u64; 4] = [1, 2, 5, 10];
/// Parts of a mini-batch between transfers of rules whose choppers let them move one column at a time: a period of 1/p sweeps of all columns
/// may otherwise take longer than a short trial.
const PARTS: [u64; 2] = [10, 3];
/// Arrays of a cascade besides W.
const RESIDUALS: [u64; 4] = [1, 2, 3, 4];
/// Gradients at which the Manhattan rule sends no pulse.
const THRESHOLDS: [f64; 7] = [0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3];

/// The fields that are searched, as coordinates of a unit cube.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// One for each coordinate.
    pub fields: Vec<Tunable>,
    /// Columns of the widest matrix on tiles.
    width: usize,
    /// What `every` and `columns` are where they are not searched: steps of a sweep.
    fixed: Pace,
    /// Samples of a step.
    batch: f64,
}

/// How often a transfer is made, and how many columns it moves; none are all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    every: f64,
    columns: Option<f64>,
}

impl Space {
    /// The fields of a rule. Those it does not have are left out, and so are those in whose place the spec has others: lists of
    /// rates and periods, or a cascade whose rates follow from the number of states.
    pub(crate) fn new(spec: &TrialSpec, node: &Node, centre: &Centre) -> Self {
        let (rule, width, batch) = (&spec.rule, centre.columns, spec.training.batch_size as u64);
        let has = |field: &str| rule_has(rule.name, field);
        let given = |field: &str| spec.resolved.iter().any(|r| r.given && r.path.starts_with(field));
        let residual = has("mixing") && has("symmetric_point");
        let mut fields = Vec::new();
        let mut scaled = |field: &str, centre: f64, factor: f64| {
            fields.push(Tunable::new(field, Values::Scaled { centre, factor }));
        };
        if has("learning_rate") {
            scaled("rule.learning_rate", if residual { centre.learning } else { centre.direct }, RATES);
        } else {
            scaled("digital.learning_rate", centre.direct, RATES);
        }
        let by_states = rule.name == "residual_cascade" && !given("rule.transfer_rate");
        let listed = given("rule.transfer_rates");
        if has("transfer_rate") && !by_states && !listed {
            scaled("rule.transfer_rate", centre.transfer, RATES);
        }
        if residual {
            scaled("rule.mixing", centre.mixing, MIXING);
        }
        if has("chop") {
            scaled("rule.chop.columns", 0.1, CHOP);
        }
        let mut choice = |field: &str, values: Vec<String>| {
            let mut values: Vec<Setting> =
                values.iter().filter_map(|value| Setting::read(value).ok()).collect();
            // What the spec has is always among them.
            if let Some(own) = own_setting(spec, node, field).filter(|own| !values.contains(own)) {
                values.insert(0, own);
            }
            fields.push(Tunable::new(field, Values::Listed(values)));
        };
        let whole = |values: &[u64]| values.iter().map(u64::to_string).collect();
        if has("every") && !by_states && !given("rule.periods") {
            let parts: Vec<u64> =
                PARTS.iter().map(|part| batch / part).filter(|n| has("chop") && *n > 0).collect();
            let parts = parts.iter().map(|n| format!("{{ samples = {n} }}"));
            choice("rule.every", parts.chain(EVERY.iter().map(u64::to_string)).collect());
        }
        // Choppers of columns flip after their own read: their rules move one at a time.
        if has("columns") && !has("chop") && width > 1 {
            let some = (width / 8).max(2).min(width) as u64;
            let columns = [whole(&[1, some]), vec!["\"all\"".to_string()]].concat();
            choice("rule.columns", columns);
        }
        if has("buffer") {
            choice("rule.buffer.max_pulses", whole(&pulses(centre.granularity)));
        }
        if has("residuals") && !listed {
            choice("rule.residuals", whole(&RESIDUALS));
        }
        if has("threshold") {
            choice("rule.threshold", THRESHOLDS.iter().map(|t| format!("{t:?}")).collect());
        }
        let own = |field: &str| own_setting(spec, node, field);
        let every = own("rule.every").and_then(|own| steps(&own, batch as f64)).unwrap_or(1.0);
        let fixed = Pace { every, columns: own("rule.columns").and_then(|own| own.number()) };
        Self { fields, width, fixed, batch: batch as f64 }
    }

    /// The same without what is chosen from a list, for which the spec's own values hold.
    #[must_use]
    pub fn rates(mut self) -> Self {
        self.fields.retain(|tunable| matches!(tunable.values, Values::Scaled { .. }));
        self
    }

    /// Takes these values for a field, in place of its own range or as a further coordinate; one value holds it.
    pub fn replace(&mut self, field: &str, values: Vec<Setting>) {
        let new = Tunable { open: false, ..Tunable::new(field, Values::Listed(values)) };
        match self.fields.iter_mut().find(|tunable| tunable.field == field) {
            Some(old) => *old = new,
            None => self.fields.push(new),
        }
    }

    /// The values at a place.
    pub fn at(&self, place: &[f64]) -> Vec<Setting> {
        let mut settings: Vec<Setting> = self.fields.iter().zip(place).map(|(t, &p)| t.at(p, 1.0)).collect();
        if let Some(i) = self.transfer() {
            settings[i] = self.fields[i].at(place[i], self.sweep(&settings));
        }
        settings
    }

    /// The spec's own setting with its place, or the nearest in its ranges, if it has a value for every field.
    pub(crate) fn own(&self, spec: &TrialSpec, node: &Node) -> Option<(Vec<f64>, Vec<Setting>)> {
        let own = |tunable: &Tunable| own_setting(spec, node, &tunable.field);
        let settings = self.fields.iter().map(own).collect::<Option<Vec<Setting>>>()?;
        let sweep = self.sweep(&settings);
        let place = |(i, (tunable, setting)): (usize, (&Tunable, &Setting))| {
            tunable.place(setting, if self.transfer() == Some(i) { sweep } else { 1.0 })
        };
        let places = self.fields.iter().zip(&settings).enumerate().map(place).collect::<Option<Vec<f64>>>()?;
        Some((places, settings))
    }

    /// The middle of every range.
    pub fn centre(&self) -> Vec<f64> {
        vec![0.5; self.fields.len()]
    }

    fn transfer(&self) -> Option<usize> {
        self.index("rule.transfer_rate").filter(|&i| matches!(self.fields[i].values, Values::Scaled { .. }))
    }

    fn index(&self, field: &str) -> Option<usize> {
        self.fields.iter().position(|tunable| tunable.field == field)
    }

    /// Steps after which a weight is written again.
    pub fn sweep(&self, settings: &[Setting]) -> f64 {
        let searched = |field: &str| self.index(field).map(|i| &settings[i]);
        let every = searched("rule.every").map_or(Some(self.fixed.every), |every| steps(every, self.batch));
        let every = every.unwrap_or(1.0);
        let columns = searched("rule.columns").map_or(self.fixed.columns, Setting::number);
        every * columns.map_or(1.0, |columns| (self.width as f64 / columns).ceil())
    }
}

/// Steps of `every`, which may also be so many samples.
fn steps(every: &Setting, batch: f64) -> Option<f64> {
    let samples = || every.node().field("samples").and_then(Node::as_number);
    every.number().or_else(|| samples().map(|samples| samples / batch))
}

/// Pulses that a transfer through a buffer may send to a cell: one, as many as move it by a visible part of its range, and between.
/// At one pulse each, cells with fine steps stay where they are, whatever the rates.
fn pulses(granularity: f64) -> Vec<u64> {
    const VISIBLE: f64 = 0.05;
    // A train has 31 slots.
    let most = if granularity > 0.0 { (VISIBLE / granularity).ceil().clamp(1.0, 31.0) } else { 1.0 };
    let mut pulses: Vec<u64> = [1.0, most.sqrt().round(), most].map(|n| n as u64).into();
    pulses.dedup();
    pulses
}

/// What a spec has for a field, given or by default.
pub(crate) fn own_setting(spec: &TrialSpec, node: &Node, field: &str) -> Option<Setting> {
    let given = field.split('.').try_fold(node, |node, name| node.field(name));
    if let Some(node) = given {
        return Some(Setting::from_node(node));
    }
    let resolved = spec.resolved.iter().rfind(|r| r.path == field)?;
    Setting::read(&resolved.value).ok()
}
