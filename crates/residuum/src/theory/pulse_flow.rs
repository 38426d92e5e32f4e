//! Many small pulses compared with one scaled step.
//!
//! n = |Δ|/d pulses with the response re-evaluated each time are Euler's method for `ẇ = ±q±(w)` over the time |Δ|. So
//! pulses tend to the flow as d → 0, and flow and scaled step differ by (Δ²/2) q q' whatever the pulse.

use crate::response::ResponseFunction;

/// Where a cell at `w` ends when `desired` is applied in infinitely many infinitesimal pulses, to about 1e-12.
///
/// Adaptive Runge–Kutta; the state stops at the end of the dynamic range.
pub fn flow(response: &dyn ResponseFunction, w: f64, desired: f64) -> f64 {
    let range = response.range();
    let velocity = |w: f64| {
        // Stages may lie past the end of the range, where the formulas do not hold.
        let w = range.clip(w);
        if desired >= 0.0 { response.q_plus(w) } else { -response.q_minus(w) }
    };
    let duration = desired.abs();
    let (mut w, mut time, mut step) = (range.clip(w), 0.0, duration);
    while time < duration {
        step = f64::min(step, duration - time);
        let once = runge_kutta(velocity, w, step);
        let twice = runge_kutta(velocity, runge_kutta(velocity, w, 0.5 * step), 0.5 * step);
        // Step doubling: the fifteenth part of the difference is the error of `twice`.
        let error = (twice - once) / 15.0;
        let allowed = LOCAL_ERROR * step / duration;
        if error.abs() <= allowed || step <= SMALLEST_STEP * duration {
            w = range.clip(twice + error);
            time = if step >= duration - time { duration } else { time + step };
            step *= 2.0;
        } else {
            step *= 0.5;
        }
    }
    w
}

/// Error allowed over the whole flow, before extrapolation.
const LOCAL_ERROR: f64 = 1e-13;

/// Steps are not halved below this part of the duration: only a kink at the end of the range asks for it.
const SMALLEST_STEP: f64 = 1.0 / (1 << 20) as f64;

fn runge_kutta(velocity: impl Fn(f64) -> f64, w: f64, step: f64) -> f64 {
    let a = velocity(w);
    let b = velocity(w + 0.5 * step * a);
    let c = velocity(w + 0.5 * step * b);
    let d = velocity(w + step * c);
    w + step / 6.0 * (a + 2.0 * (b + c) + d)
}

/// The flow in closed form where the chosen branch is a straight line, as for power shape 1, linear and soft bounds:
/// w + Δ q (eˣ − 1)/x with x = q'Δ. Exact until the end of the range.
pub fn straight_flow(response: &dyn ResponseFunction, w: f64, desired: f64) -> f64 {
    let (q, slope) = branch(response, w, desired);
    let growth = slope * desired;
    // (eˣ − 1)/x → 1 for a constant branch.
    let factor = if growth == 0.0 { 1.0 } else { growth.exp_m1() / growth };
    response.range().clip(w + desired * q * factor)
}

/// Pulses of size `step` minus flow, to leading order: −(d|Δ|/2) q q'.
pub fn pulses_minus_flow(response: &dyn ResponseFunction, w: f64, desired: f64, step: f64) -> f64 {
    let (q, slope) = branch(response, w, desired);
    -0.5 * step * desired.abs() * q * slope
}

/// Flow minus one scaled step, to leading order: (Δ²/2) q q'.
pub fn flow_minus_step(response: &dyn ResponseFunction, w: f64, desired: f64) -> f64 {
    let (q, slope) = branch(response, w, desired);
    0.5 * desired * desired * q * slope
}

/// q and q' of the branch that the sign selects.
fn branch(response: &dyn ResponseFunction, w: f64, desired: f64) -> (f64, f64) {
    if desired >= 0.0 {
        (response.q_plus(w), response.q_plus_derivative(w))
    } else {
        (response.q_minus(w), response.q_minus_derivative(w))
    }
}
