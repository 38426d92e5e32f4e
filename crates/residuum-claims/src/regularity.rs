//! The Definitions: which responses are regular and where, and the asymmetry ratio with its potential.

use std::sync::Arc;

use residuum::cells::PerCell;
use residuum::numeric::minimize_bracket;
use residuum::objective::DenseQuadratic;
use residuum::response::{Ceiling, Exponential, Linear, Moved, Tanh, Wavy};
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::Sampling;
use residuum::theory::operator::NonMonotone;
use residuum::{Noise, Noisy, Range, ResponseFunction};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::{Claim, Outcome, devices};

const GROUP: &str = "definitions";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "def-regularity",
        group: GROUP,
        title: "regularity of response functions",
        label: "assumption:response-factor",
        statement: "q± lie in [q_min, q_max] with q_min > 0, are differentiable, and L_S-Lipschitz.",
        run: regularity,
    },
    Claim {
        id: "def-implicit-penalty",
        group: GROUP,
        title: "asymmetry ratio and penalty",
        label: "def:implicit-penalty",
        statement: "R_c is the antiderivative of R = G/F that vanishes at W⋄, ∇φ = Σ ⊙ R, and φ is least at W⋄ when R increases.",
        run: penalty,
    },
];

/// κ₂ of the built-in responses over four fifths of their range, in closed form.
fn regularity(context: &Context) -> Outcome {
    let rho = 0.8f64;
    let mut checks = Vec::new();
    let mut condition = |name: &str, device: &dyn ResponseFunction, over: Range, predicted: f64, error: f64| {
        let bounds = device.bounds(over);
        let place = if over == Range::ALL { "on all of ℝ".into() } else { format!("on {over}") };
        let what = format!("{name}: κ₂ {place}, L_S = {:.4}", bounds.lipschitz);
        checks.push(Check::equals(what, bounds.hardware_condition(), predicted, error * predicted));
    };
    let exact = 1e-13;
    // A scan finds an extreme to 1e-9 of the range in w, where the branch is flat: far better in q.
    let scanned = 1e-9;
    let cut = Range::new(-rho, rho)?;
    for shape in [0.5, 1.0, 2.0] {
        let ratio = ((1.0 + rho) / (1.0 - rho)).powf(shape);
        condition(&format!("power {shape}"), &*devices::power(shape)?, cut, ratio, exact);
    }
    let exponential = ((1.0 + rho).exp() - 1.0) / ((1.0 - rho).exp() - 1.0);
    condition("exponential 1", &Exponential::new(1.0, 1.0)?, cut, exponential, exact);
    condition("linear, κ₂ = 4 at its ends", &Linear::with_condition(4.0, 1.0)?, cut, 1.48 / 0.52, exact);
    condition("tanh, slope ½", &Tanh::new(1.0, 0.5, 0.7, 0.2)?, Range::ALL, 3.0, exact);
    condition("ceiling", &Ceiling::new(0.25, 1.0, 1.0)?, Range::ALL, 4.0, exact);
    let wavy = Wavy::new(0.6, 0.25, 1.0)?;
    let wave = |sign: f64| {
        let height = |x: f64| -0.6 * (0.75 * std::f64::consts::PI * x).sin() * (1.0 - sign * 0.25 * x);
        -minimize_bracket(height, 0.3, 0.95).value
    };
    let (least, most) = (1.0 - wave(1.0), 1.0 + wave(-1.0));
    condition("wavy", &wavy, wavy.range(), most / least, scanned);
    let crest = crest();
    condition("non-monotone", &NonMonotone, Range::ALL, (1.0 + crest) / (1.0 - crest), scanned);

    checks.push(bounds_are_bounds(context)?);
    for shape in [0.5, 1.0, 2.0] {
        let device = devices::power(shape)?;
        let bounds = device.bounds(device.range());
        let what = format!("power {shape}: q_min on its whole range, so the first clause fails there");
        checks.push(Check::equals(what, bounds.min, 0.0, f64::EPSILON));
    }
    let vertical = devices::power(0.5)?.bounds(Range::new(-1.0, 1.0)?).lipschitz;
    checks.push(Check::at_least("power 0.5: L_S on its whole range is infinite", vertical, f64::MAX, 0.0));
    checks.push(Check::note(
        "Power, exponential, linear, soft-bounds and wavy responses are regular on a smaller range only; tanh, ceiling, \
         constant and non-monotone ones on all of ℝ, so the theorems are checked on those.",
    ));
    Ok(checks)
}

/// The largest value of the counter-example's wave, by a scan of its smooth maxima.
fn crest() -> f64 {
    let size = |w: f64| NonMonotone.asymmetry(w).abs();
    let coarse = Range { lo: 0.0, hi: 6.0 }.grid(6001).into_iter().max_by(|a, b| size(*a).total_cmp(&size(*b)));
    let at = coarse.unwrap_or(0.0);
    -minimize_bracket(|w| -size(w), at - 1e-3, at + 1e-3).value
}

fn bounds_are_bounds(context: &Context) -> Result<Check, crate::ClaimError> {
    let mut excess = f64::NEG_INFINITY;
    for device in devices::all()? {
        let over = devices::visited(&device);
        let bounds = device.bounds(over);
        let points = over.grid(context.pick(20_001, 2_001));
        for pair in points.windows(2) {
            for q in [device.q_plus(pair[0]), device.q_minus(pair[0])] {
                excess = excess.max(bounds.min - q).max(q - bounds.max);
            }
            let run = pair[1] - pair[0];
            for rise in [
                device.q_plus(pair[1]) - device.q_plus(pair[0]),
                device.q_minus(pair[1]) - device.q_minus(pair[0]),
            ] {
                excess = excess.max(rise.abs() - bounds.lipschitz * run);
            }
        }
    }
    // Values of size up to 10 are rounded; scanned extremes are good to 1e-9 of the range.
    Ok(Check::at_most("no q and no secant leaves its bounds, worst excess over 12 devices", excess, 0.0, 1e-9))
}

/// R of the device under test against slopes of R_c of the ordered one.
fn potential_slopes(context: &Context, device: &Device) -> (f64, f64) {
    let (bench, over, h) = (context.device(device), devices::visited(device), 1e-4);
    let (mut error, mut bend) = (0.0f64, 0.0f64);
    for w in over.grid(context.pick(401, 101)) {
        let slope = (device.asymmetry_potential(w + h) - device.asymmetry_potential(w - h)) / (2.0 * h);
        error = error.max((slope - bench.asymmetry_ratio(w)).abs());
        let [left, middle, right] = [w - h, w, w + h].map(|w| device.asymmetry_ratio(w));
        bend = bend.max((left - 2.0 * middle + right).abs());
    }
    // The mean of R over ±h differs from R by R''h²/6, at most twice what second differences show; quadrature is
    // good to 1e-13.
    (error, bend / 3.0 + 2e-13 / h)
}

fn penalty(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    for device in devices::all()? {
        let (error, tolerance) = potential_slopes(context, &device);
        checks.push(Check::at_most(
            format!("largest |R_c' − R|, {}", device.describe()),
            error,
            0.0,
            tolerance,
        ));
    }
    let mut least = f64::INFINITY;
    for device in devices::all()?.iter().filter(|d| increasing(d)) {
        let values = devices::visited(device).grid(401).into_iter().map(|w| device.asymmetry_potential(w));
        least = values.fold(least, f64::min);
    }
    checks.push(Check::at_least("least value of R_c where R increases", least, 0.0, 1e-13));
    checks.push(gradient_of_penalty(context)?);
    Ok(checks)
}

fn increasing(device: &Device) -> bool {
    let points = devices::visited(device).grid(401);
    points.windows(2).all(|w| device.asymmetry_ratio(w[1]) >= device.asymmetry_ratio(w[0]))
}

fn gradient_of_penalty(context: &Context) -> Result<Check, crate::ClaimError> {
    let device: Device = Arc::new(devices::skewed()?);
    let cells =
        |device: &Device| PerCell([-0.2, 0.1, 0.3].map(|by| Moved { response: device.clone(), by }).to_vec());
    let hessian = vec![2.0, 0.5, 0.1, 0.5, 1.0, -0.3, 0.1, -0.3, 4.0];
    let objective = DenseQuadratic::new(hessian, vec![0.3, -0.2, 0.1])?;
    let problem = Noisy::new(Arc::new(objective), Noise::TwoPoint { deviation: 1.0, probability: 0.2 })?;
    let sampling = Sampling::new(context.key("def-implicit-penalty"));
    let (ordered, found) = (cells(&device), cells(&context.device(&device)));
    let penalty = ImplicitPenalty::new(&problem, &ordered, sampling)?;
    let (w, h) = ([0.2, -0.1, 0.35], 1e-4);
    let mut error = 0.0f64;
    for d in 0..3 {
        let at = |step: f64| {
            let mut moved = w;
            moved[d] += step;
            penalty.implicit_penalty(&moved)
        };
        let claimed = penalty.gradient_magnitude().value[d] * found.0[d].asymmetry_ratio(w[d]);
        error = error.max(((at(h) - at(-h)) / (2.0 * h) - claimed).abs());
    }
    // R of soft bounds has third derivatives of order 1, and Σ is below 1.
    Ok(Check::at_most("largest |∇φ − Σ ⊙ R|, three coupled weights", error, 0.0, h * h + 2e-13 / h))
}
