//! Where a search begins: the rates that the stationary laws give for a network's devices and steps.

use residuum::Range;
use residuum::theory::coefficients::Problem;
use residuum::theory::practical::practical_rates;

use crate::spec::{DeviceSpec, SpecError, TrialSpec};

/// Assumed ratio of the largest to the smallest curvature that matters.
const CONDITION: f64 = 4.0;
/// Assumed deviation of a gradient, in units of the curvature.
const NOISE: f64 = 0.1;
/// Share of the dynamic range that weights are assumed to visit.
const VISITED: f64 = 0.5;
/// Rates that the laws give for a device and a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// α of a rule that writes gradients to W itself.
    pub direct: f64,
    /// α of a rule with a residual array.
    pub learning: f64,
    /// β for each step.
    pub transfer: f64,
    /// γ.
    pub mixing: f64,
    /// Change of a weight by one pulse; 0 where increments are exact.
    pub granularity: f64,
    /// Columns of the widest matrix on tiles: rules that move one at a time come back to it after so many transfers.
    pub columns: usize,
    /// K.
    pub steps: u64,
    /// Whether the device has a response that the laws can be asked for; if not, W follows half as fast as P and γ is 0.3.
    pub from_laws: bool,
}

impl Centre {
    /// The centre for a trial.
    ///
    /// # Errors
    /// If the numbers of samples are not known.
    pub fn new(spec: &TrialSpec) -> Result<Self, SpecError> {
        let samples = spec.data.samples();
        let samples = samples.map_err(|e| SpecError { line: None, message: format!("data: {e}") })?;
        let steps = samples[0].div_ceil(spec.training.batch_size) as u64 * spec.training.epochs;
        let (image, outputs) = spec.data.image();
        let shapes = spec.network.model.layers(outputs).shapes(spec.network.model.input().unwrap_or(image));
        let matrices = shapes.iter().flatten().flat_map(|shape| &shape.matrices);
        let columns = matrices.map(|[_, cols]| (*cols).min(spec.mapping.max_cols)).max().unwrap_or(1);
        let devices = spec.devices.as_ref().filter(|_| !spec.rule.is_digital());
        let granularity = devices
            .and_then(|devices| devices.main.tile().map(|device| f64::from(device.granularity())))
            .unwrap_or(0.0);
        let (k, stable) = (steps.max(3) as f64, 0.5 / CONDITION);
        let settled = (16.0 * k.ln() / k).min(stable);
        let law = devices.and_then(|devices| laws(&devices.residual, steps));
        let (learning, transfer, mixing) = law.unwrap_or((settled / 0.3, settled / 2.0, 0.3));
        // The law has the pace at which noise has settled after K steps, the slowest that makes sense. The fastest is the one at which
        // the steepest direction is just stable. Between them the curvature decides, which is not known: the middle of both.
        let faster = (stable / settled).sqrt();
        // A gradient of one unit must be worth a pulse, or nothing is written.
        Ok(Self {
            direct: (faster * settled).max(granularity),
            learning: (faster * learning).max(granularity),
            transfer: faster * transfer,
            mixing: mixing.clamp(0.05, 1.0),
            granularity,
            columns,
            steps,
            from_laws: law.is_some(),
        })
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
