//! Zero-shifting: alternating up and down pulses drive every cell to its symmetric point.
//!
//! One pair (up, then down) maps w to w − 2dG(w) − d²q₊q₋' + O(d³), so cells close in on W⋄ and end in a two-cycle of
//! width d·q(W⋄). The middle of the cycle gives the symmetric point, its width the local gain;
//! [`Array::zero_shift`](crate::array::Array::zero_shift) measures them.

use crate::error::{ParameterError, non_negative, positive};
use crate::response::ResponseFunction;

/// The two-cycle of one device, to leading order in the pulse step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CyclePrediction {
    /// λ: the factor by which a pair shrinks the distance to the cycle.
    pub contraction: f64,
    /// State after a down pulse.
    pub after_down: f64,
    /// State after an up pulse.
    pub after_up: f64,
    /// Middle of the cycle minus W⋄: 0 for devices whose branches mirror each other, O(d) otherwise.
    pub midpoint_error: f64,
    /// Standard deviation of the state caused by cycle-to-cycle noise.
    pub deviation: f64,
    step: f64,
}

impl CyclePrediction {
    /// For pulses of size `step` scaled by 1 + `cycle_noise`·N(0, 1).
    ///
    /// # Errors
    /// If `step` is not positive, `cycle_noise` is negative, the device has no symmetric point, or its branches do not
    /// cross there with q₋' > q₊', so that pulses do not lead to it.
    pub fn new(response: &dyn ResponseFunction, step: f64, cycle_noise: f64) -> Result<Self, ParameterError> {
        positive("pulse_step", step)?;
        non_negative("cycle_noise", cycle_noise)?;
        let point = response.symmetric_point().ok_or_else(|| ParameterError::NoSymmetricPoint {
            rule: "zero-shifting",
            device: response.describe(),
            range: response.range(),
        })?;
        let (plus, minus) = (response.q_plus_derivative(point), response.q_minus_derivative(point));
        let crossing = positive("slope of q_minus - q_plus at the symmetric point", minus - plus)?;
        let swing = step * response.gain(point);
        let after_down = point - swing * minus / crossing;
        Ok(Self {
            contraction: 1.0 - step * crossing,
            after_down,
            after_up: after_down + swing,
            midpoint_error: -0.5 * swing * (minus + plus) / crossing,
            // 2dG' = d·crossing is forgotten per pair, and two pulses of variance (d q s)² are added.
            deviation: cycle_noise * response.gain(point) * (step / crossing).sqrt(),
            step,
        })
    }

    /// Width of the cycle, d·q(W⋄).
    pub fn swing(&self) -> f64 {
        self.after_up - self.after_down
    }

    /// Pairs until a cell that starts `distance` away is within one pulse step: ln(distance/d)/(2dG'(W⋄)).
    pub fn pairs(&self, distance: f64) -> f64 {
        ((distance.abs() / self.step).ln() / (1.0 - self.contraction)).max(0.0)
    }
}
