//! What `tune` searches: the fields of a rule, each around a centre from the stationary laws and the device.
//!
//! The laws are those of [`practical_rates`]: on a horizon of K steps, for unit curvature and gradient noise, they say how fast the
//! residual array may move (αγ), how slowly W must follow (β) and how much of P the gradient must see (γ) on cells with these
//! responses. A network's curvature is not known, so the centre is only the middle of a wide range.

use residuum::Range;
use residuum::theory::coefficients::Problem;
use residuum::theory::practical::practical_rates;

use crate::spec::{DeviceSpec, RuleSpec, TrialSpec, rule_has};

/// A field and the range that is searched, evenly in its logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// Dotted path.
    pub field: &'static str,
    /// The middle of the range.
    pub centre: f64,
    /// The range reaches from centre/factor to centre·factor.
    pub factor: f64,
}

impl Tunable {
    /// The value at a place of the range, from 0 to 1.
    pub fn at(&self, place: f64) -> f64 {
        let value = self.centre * self.factor.powf(2.0 * place - 1.0);
        // Three digits: a spec should be readable, and finer differences mean nothing.
        let digits = 10f64.powf(2.0 - value.abs().log10().floor());
        (value * digits).round() / digits
    }

    /// The place of a value, within the range.
    pub fn place(&self, value: f64) -> f64 {
        (0.5 + 0.5 * (value / self.centre).ln() / self.factor.ln()).clamp(0.0, 1.0)
    }
}

/// Assumed ratio of the largest to the smallest curvature that matters.
const CONDITION: f64 = 4.0;
/// Assumed deviation of a gradient, in units of the curvature.
const NOISE: f64 = 0.1;
/// Share of the dynamic range that weights are assumed to visit.
const VISITED: f64 = 0.5;
/// Rates are searched over three decades.
const RATES: f64 = 31.6;
/// γ over nearly two.
const MIXING: f64 = 8.0;

/// Rates that the laws give for a device and a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// α of a rule that writes gradients to W itself.
    pub direct: f64,
    /// α of a rule with a residual array.
    pub learning: f64,
    /// β.
    pub transfer: f64,
    /// γ.
    pub mixing: f64,
    /// Change of a weight by one pulse; 0 where increments are exact.
    pub granularity: f64,
}

impl Centre {
    /// The centre for the devices of a trial of so many steps.
    pub fn new(spec: &TrialSpec, steps: u64) -> Self {
        let devices = spec.devices.as_ref().filter(|_| !spec.rule.is_digital());
        let granularity = devices
            .and_then(|devices| devices.main.tile().map(|device| f64::from(device.granularity())))
            .unwrap_or(0.0);
        let k = steps.max(3) as f64;
        let fast = (16.0 * k.ln() / k).min(0.5 / CONDITION);
        let fallback =
            Self { direct: fast, learning: fast / 0.3, transfer: fast / 2.0, mixing: 0.3, granularity };
        let law = devices.and_then(|devices| laws(&devices.residual, steps));
        match law {
            // A gradient of one unit must be worth a pulse, or nothing is written.
            Some((learning, transfer, mixing)) => Self {
                direct: fast.max(granularity),
                learning: learning.max(granularity),
                transfer,
                mixing: mixing.clamp(0.05, 1.0),
                granularity,
            },
            None => fallback,
        }
    }
}

fn laws(device: &DeviceSpec, steps: u64) -> Option<(f64, f64, f64)> {
    let response = device.representative().ok()?;
    let (range, point) = (response.range(), response.symmetric_point()?);
    let reach = |end: f64| if end.is_finite() { point + VISITED * (end - point) } else { end.signum() };
    let bounds = response.bounds(Range::new(reach(range.lo), reach(range.hi)).ok()?);
    let problem = Problem {
        strong_convexity: 1.0,
        smoothness: CONDITION,
        noise: NOISE,
        bounds,
        steps: steps.max(3),
        initial_lyapunov: 1.0,
    };
    let rates = practical_rates(&problem, response.gain(point)).ok()?.rates;
    // W follows at the pace that the steepest direction allows: the law's own is that of the flattest.
    Some((rates.learning_rate, CONDITION * rates.transfer_rate, rates.mixing))
}

/// The fields to search for a rule. `columns` is the widest matrix on tiles: rules that transfer one column at a time come back to
/// it after so many steps. Fields that the rule does not have are left out.
pub fn space(rule: &RuleSpec, centre: &Centre, columns: usize) -> Vec<Tunable> {
    let residual = rule_has(rule.name, "mixing") && rule_has(rule.name, "symmetric_point");
    let transfers = rule_has(rule.name, "transfer_rate");
    let mut fields = Vec::new();
    let mut add =
        |field: &'static str, centre: f64, factor: f64| fields.push(Tunable { field, centre, factor });
    if rule_has(rule.name, "learning_rate") {
        let centre = if residual { centre.learning } else { centre.direct };
        add("rule.learning_rate", centre, RATES);
    } else {
        add("digital.learning_rate", centre.direct, RATES);
    }
    if transfers {
        let whole = residual;
        let centre = if whole { centre.transfer } else { (centre.transfer * columns as f64).min(1.0) };
        add("rule.transfer_rate", centre, RATES);
    }
    if residual {
        add("rule.mixing", centre.mixing, MIXING);
    }
    if rule.name == "manhattan" {
        add("rule.threshold", 1e-3, RATES);
    }
    fields
}
