//! Where Analog SGD would drift and what Residual Learning would leave, on a scalar problem.

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::objective::DiagonalQuadratic;
use residuum::theory::fixed_point::{MeanDrift, predict_drift};
use residuum::theory::magnitude::Sampling;
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::{Key, Noise, Noisy, ResponseFunction};
use residuum_fit::{DeviceFit, PointKind};
use serde_json::{Value, json};

/// Rates at which Residual Learning is predicted.
pub(crate) const RATES: LawRates = LawRates { learning_rate: 0.002, transfer_rate: 0.004, mixing: 1.0 };

/// The end of training on f = ½(w − w*)² with Gaussian gradient noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// w*.
    pub minimizer: f64,
    /// σ.
    pub deviation: f64,
    /// Zeros of the mean drift to which Analog SGD returns; none if it runs to a bound.
    pub analog: Vec<f64>,
    /// Minimiser of the objective with the implicit penalty, by the leading term of the drift.
    pub penalized: Option<f64>,
    /// Zeros that it leaves.
    pub unstable: Vec<f64>,
    /// Bias of the effective weight that Residual Learning keeps, at the rates above; none where its law does not hold.
    pub residual: Option<f64>,
}

impl Prediction {
    pub(super) fn to_json(&self) -> Value {
        json!({ "minimizer": self.minimizer, "deviation": self.deviation, "analog_sgd": self.analog, "penalized_minimizer": self.penalized,
                "unstable": self.unstable, "residual_learning_bias": self.residual })
    }
}

/// For four levels of noise, with the minimiser half-way between the symmetric point and the end of what was seen.
pub(super) fn predict(response: &Arc<dyn ResponseFunction>, fit: &DeviceFit) -> Vec<Prediction> {
    let center = fit.symmetric_point.weight.map_or(0.5 * (fit.visited.lo + fit.visited.hi), |w| w.value);
    let far = if fit.visited.hi - center >= center - fit.visited.lo { fit.visited.hi } else { fit.visited.lo };
    let minimizer = 0.5 * (center + far);
    let cells = Uniform(Arc::clone(response));
    [0.1, 0.5, 1.0, 2.0]
        .into_iter()
        .filter_map(|deviation| {
            let objective = DiagonalQuadratic::new(vec![1.0], vec![minimizer]).ok()?;
            let noisy = Noisy::new(Arc::new(objective), Noise::Gaussian { deviation }).ok()?;
            let drift = MeanDrift::new(&noisy, &cells, Sampling::new(Key::new(0))).ok()?;
            let zeros = drift.zeros(response.range()).ok()?;
            let of = |stable: bool| zeros.iter().filter(|z| z.stable == stable).map(|z| z.weight).collect();
            let penalized = predict_drift(&noisy, &cells, Sampling::new(Key::new(0))).ok();
            let penalized = penalized.map(|p| p.penalized_minimizer[0]).filter(|w| w.is_finite());
            let residual = (fit.symmetric_point.kind == PointKind::Attracting)
                .then(|| {
                    let law = LocalModel::new(1.0, deviation, minimizer, &**response, &**response).ok()?;
                    law.stationary(RATES).ok().map(|law| law.effective_bias).filter(|b| b.is_finite())
                })
                .flatten();
            Some(Prediction {
                minimizer,
                deviation,
                analog: of(true),
                penalized,
                unstable: of(false),
                residual,
            })
        })
        .collect()
}
