use super::residual_learning::subtract;
use super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use crate::Key;
use crate::array::AnalogArray;
use crate::cells::symmetric_points;
use crate::error::{ParameterError, positive, require, same_length};
use crate::schedule::Schedule;

/// Residual Learning with N residual arrays: each array learns what the next one still misses.
///
/// With arrays P¹ (next to W) … Pᴺ (which meets the gradient):
///
/// ```text
/// W̄ = W + Σₙ γⁿ (Pⁿ − W⋄)
/// Pᴺ ← Pᴺ + A(−α ∇f(W̄; ξ); Pᴺ)
/// Pⁿ ← Pⁿ + A(βₙ γ (Pⁿ⁺¹ − W⋄); Pⁿ)     n = N−1 … 1
/// W  ← W  + A(β₀ γ (P¹ − W⋄); W)
/// ```
/// One residual array is [`ResidualLearning`](super::ResidualLearning) to the bit; two remove its √α bias to
/// leading order (theory notes §10c).
#[derive(Clone, Debug)]
pub struct ResidualCascade {
    /// `arrays[0]` is W, `arrays[n]` is Pⁿ.
    arrays: Vec<AnalogArray>,
    symmetric_points: Vec<Vec<f64>>,
    mixing: f64,
    learning_rate: Schedule,
    transfer_rates: Vec<Schedule>,
    offset: Vec<f64>,
    dense: Vec<f64>,
}

impl ResidualCascade {
    /// `residuals[0]` is next to `main`; `transfer_rates[n]` moves the array before `residuals[n]`.
    ///
    /// # Errors
    /// If there is no residual array or more than eight, numbers of arrays and rates differ, lengths differ, `mixing` is not
    /// positive, or a cell has no symmetric point.
    pub fn new(
        main: AnalogArray,
        residuals: Vec<AnalogArray>,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        transfer_rates: Vec<Schedule>,
    ) -> Result<Self, ParameterError> {
        let count = residuals.len();
        require(
            (1..NAMES.len()).contains(&count),
            "number of residual arrays",
            "between 1 and 8",
            count as f64,
        )?;
        same_length("transfer_rates", residuals.len(), transfer_rates.len())?;
        for p in &residuals {
            same_length("residual", main.len(), p.len())?;
        }
        for rate in &transfer_rates {
            rate.validate()?;
        }
        let symmetric_points = residuals
            .iter()
            .map(|p| symmetric_points(p.cells(), p.len(), "the residual cascade"))
            .collect::<Result<_, _>>()?;
        let offset = vec![0.0; main.len()];
        let arrays = std::iter::once(main).chain(residuals).collect();
        Ok(Self {
            arrays,
            symmetric_points,
            mixing: positive("mixing", mixing)?,
            learning_rate: learning_rate.into().validate()?,
            transfer_rates,
            offset,
            dense: Vec::new(),
        })
    }
}

pub(super) const NAMES: [&str; 9] = [
    "main",
    "residual",
    "residual_2",
    "residual_3",
    "residual_4",
    "residual_5",
    "residual_6",
    "residual_7",
    "residual_8",
];

impl UpdateRule for ResidualCascade {
    fn dim(&self) -> usize {
        self.arrays[0].len()
    }

    fn effective_weights(&self, out: &mut [f64]) {
        out.copy_from_slice(self.arrays[0].state());
        let mut factor = 1.0;
        for (p, point) in self.arrays[1..].iter().zip(&self.symmetric_points) {
            factor *= self.mixing;
            for (i, out) in out.iter_mut().enumerate() {
                *out += factor * (p.state()[i] - point[i]);
            }
        }
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_>, key: Key) -> Result<(), StepError> {
        let gradient = gradient.dense(&mut self.dense);
        let last = self.arrays.len() - 1;
        self.arrays[last].increment(-self.learning_rate.at(k), gradient, key.named(NAMES[last]));
        for n in (0..last).rev() {
            subtract(self.arrays[n + 1].state(), &self.symmetric_points[n], &mut self.offset);
            let rate = self.transfer_rates[n].at(k) * self.mixing;
            self.arrays[n].increment(rate, &self.offset, key.named(NAMES[n]));
        }
        Ok(())
    }

    fn program(&mut self, weights: &[f64], _: Key) -> Result<(), ParameterError> {
        self.arrays[0].program(weights)?;
        for (array, point) in self.arrays[1..].iter_mut().zip(&self.symmetric_points) {
            array.program(point)?;
        }
        Ok(())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f64])> {
        NAMES.iter().copied().zip(self.arrays.iter().map(AnalogArray::state)).collect()
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        let transfer = self.transfer_rates[0].at(k) * self.mixing;
        EffectiveRates { learning: self.learning_rate.at(k), transfer: Some(transfer), sweep: 1 }
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        for (name, array) in NAMES.iter().zip(&mut self.arrays) {
            array.slots(&mut slot::within(name, visit));
        }
    }

    fn pulses_sent(&self) -> u64 {
        self.arrays.iter().map(AnalogArray::pulses_sent).sum()
    }

    fn label(&self) -> String {
        format!("Residual cascade ({} arrays)", self.arrays.len())
    }
}
