//! Finding W⋄ by pulses, what an error in it costs, and pulses against one scaled step.

use std::sync::Arc;

use residuum::array::{Calibration, ZeroShift};
use residuum::cells::Uniform;
use residuum::response::Exponential;
use residuum::rule::{self, Analog, ResidualConfig, Rule, SymmetricPoint};
use residuum::stats::{Summary, Z};
use residuum::theory::pulse_flow::{flow, flow_minus_step, pulses_minus_flow};
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::theory::zero_shift::CyclePrediction;
use residuum::{Array, ExactArray, Key, Pulses, ResponseFunction, Rounding, Update};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::simulate::{Toy, array, mean, replicate, residual_learning_by};
use crate::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "calibration";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "zero-shifting",
        group: GROUP,
        title: "alternating pulses find the symmetric point",
        label: "assumption:zero-sp",
        statement: "Up and down pulses carry a cell into a two-cycle around W⋄ whose width is d·q(W⋄).",
        run: zero_shifting,
    },
    Claim {
        id: "symmetric-point-error",
        group: GROUP,
        title: "the cost of a wrong W⋄",
        label: "assumption:zero-sp",
        statement: "An error ε in the assumed W⋄ moves W̄ by −ΣR'(W⋄)ε/h: exactness is as good as the calibration.",
        run: wrong_symmetric_point,
    },
    Claim {
        id: "pulses-and-flow",
        group: GROUP,
        title: "pulses against one scaled step",
        label: "analog-update",
        statement: "Pulses minus flow is −(d|Δ|/2)qq', flow minus one step (Δ²/2)qq': they agree as Δ → 0, not as d → 0.",
        run: pulses_and_flow,
    },
    Claim {
        id: "pulsed-limit",
        group: GROUP,
        title: "Analog SGD by pulses",
        label: "recursion:analog-SGD",
        statement: "Stochastic rounding to whole pulses keeps the fixed point of Analog SGD; rounding to nearest loses it.",
        run: pulsed_limit,
    },
];

/// Zero-shifting by pulses of this size and noise.
fn shift(
    cells: &mut ExactArray,
    (pulse_step, cycle_noise): (f64, f64),
    pairs: u64,
    averaged: u64,
    key: Key,
) -> Result<Calibration, ClaimError> {
    let settings = ZeroShift { averaged, pulse_step: Some(pulse_step), cycle_noise, ..ZeroShift::pairs(pairs) };
    Ok(cells.zero_shift(&settings, key)?)
}

/// Pairs of pulses until a cell that starts at `start` is within one pulse step of its cycle.
fn pairs_needed(bench: &Device, after_down: f64, step: f64, start: f64) -> Result<f64, ClaimError> {
    let mut cell = array(start, bench.clone(), 1)?;
    let pulses = Pulses::new(step)?;
    for pair in 0..20_000 {
        if (cell.weights()[0] - after_down).abs() <= step {
            return Ok(f64::from(pair));
        }
        cell.pulse_by(pulses, true, Key::new(0));
        cell.pulse_by(pulses, false, Key::new(0));
    }
    Ok(f64::INFINITY)
}

fn zero_shifting(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let named: [(&str, Device); 2] =
        [("power 1", devices::power(1.0)?), ("soft bounds", Arc::new(devices::skewed()?))];
    for (name, device) in named {
        let bench = context.device(&device);
        let point = device.symmetric_point().unwrap_or(0.0);
        for step in [0.01, 0.002] {
            let cycle = CyclePrediction::new(&*device, step, 0.0)?;
            // Long enough that nothing is left of the start at the order of d².
            let pairs = (4.0 * cycle.pairs(0.6)) as u64;
            let mut cell = array(point + 0.6, bench.clone(), 1)?;
            let found = shift(&mut cell, (step, 0.0), pairs, 1, context.key("zero-shifting"))?;
            let what = |of: &str| format!("{name}, d = {step}: {of}");
            // Predictions are leading order in d; slopes are of order 1.
            let next = 2.0 * step * step;
            checks.push(Check::equals(
                what("midpoint − W⋄"),
                found.symmetric_point[0] - point,
                cycle.midpoint_error,
                next,
            ));
            checks.push(Check::equals(what("width of the cycle"), found.swing[0], cycle.swing(), next));
            let needed = pairs_needed(&bench, cycle.after_down, step, point + 0.6)?;
            // The rate itself changes by its curvature on the way: a few steps, plus rounding up.
            checks.push(Check::equals(
                what("pairs from 0.6 away to within d of the cycle"),
                needed,
                cycle.pairs(0.6),
                2.0,
            ));
        }
    }
    let (step, device) = (0.05, devices::power(1.0)?);
    let mut cell = array(0.3, context.device(&device), 1)?;
    shift(&mut cell, (step, 0.0), 400, 1, context.key("exact"))?;
    let exact = -step / (2.0 - step);
    checks.push(Check::equals(
        "power 1, d = 0.05: state after a down pulse, exactly −d/(2 − d)",
        cell.weights()[0],
        exact,
        1e-14,
    ));
    checks.extend(second_order(context)?);
    checks.extend(contraction(context)?);
    for (step, noise) in [(0.02, 0.3), (0.005, 0.3), (0.005, 1.0)] {
        checks.extend(cycle_noise(context, &device, step, noise)?);
    }
    checks.push(averaged_pairs(context, &device)?);
    Ok(checks)
}

/// States after a down and an up pulse of the settled cycle.
fn cycle(bench: &Device, step: f64) -> Result<(f64, f64), ClaimError> {
    let mut cell = array(bench.symmetric_point().unwrap_or(0.0) + 0.1, bench.clone(), 1)?;
    let found = shift(&mut cell, (step, 0.0), 40_000, 1, Key::new(0))?;
    let (middle, half) = (found.symmetric_point[0], 0.5 * found.swing[0]);
    Ok((middle - half, middle + half))
}

/// Errors of the predicted cycle at a step and at a quarter of it: they fall to a sixteenth.
fn second_order(context: &Context) -> Outcome {
    let list: [(&str, Device); 4] = [
        ("power 1", devices::power(1.0)?),
        ("power 2", devices::power(2.0)?),
        ("exponential 1", Arc::new(Exponential::new(1.0, 1.0)?)),
        ("soft bounds", Arc::new(devices::skewed()?)),
    ];
    let mut checks = Vec::new();
    for (name, device) in list {
        let point = device.symmetric_point().unwrap_or(0.0);
        let bench = context.device(&device);
        // `predicted` times the step: 2 is the twin.
        let errors = |step: f64, predicted: f64| -> Result<[f64; 4], ClaimError> {
            let claimed = CyclePrediction::new(&*device, predicted * step, 0.0)?;
            let (down, up) = cycle(&bench, step)?;
            Ok([
                (down - claimed.after_down).abs(),
                (up - claimed.after_up).abs(),
                (up - down - claimed.swing()).abs(),
                (0.5 * (down + up) - point - claimed.midpoint_error).abs(),
            ])
        };
        // Symmetric devices have no midpoint error beyond rounding; a ratio of 16 stands for it.
        let farthest = |predicted: f64| -> Result<f64, ClaimError> {
            let (coarse, fine) = (errors(0.02, predicted)?, errors(0.005, predicted)?);
            let ratio = |(c, f): (&f64, f64)| if f < 1e-12 { 16.0 } else { c / f };
            let off = |ratio: f64| (ratio - 16.0).abs();
            Ok(coarse
                .iter()
                .zip(fine)
                .map(ratio)
                .max_by(|a, b| off(*a).total_cmp(&off(*b)))
                .unwrap_or(f64::NAN))
        };
        let what = format!("{name}: errors of the cycle at d = 0.02 over those at 0.005");
        checks.push(Check::equals(&what, farthest(1.0)?, 16.0, 4.0));
        if name == "soft bounds" {
            let twin =
                Check::equals(format!("{what}, predicted for twice the step"), farthest(2.0)?, 16.0, 4.0);
            checks.push(twin.expected_to_differ());
        }
    }
    Ok(checks)
}

/// How much of a small distance from the cycle one pair leaves, and the pairs that references ask for.
fn contraction(context: &Context) -> Outcome {
    let named: [(&str, Device); 2] =
        [("power 1", devices::power(1.0)?), ("soft bounds", Arc::new(devices::skewed()?))];
    let mut checks = Vec::new();
    for (i, (name, device)) in named.into_iter().enumerate() {
        let bench = context.device(&device);
        let point = device.symmetric_point().unwrap_or(0.0);
        for step in [0.02, 0.005] {
            let (down, _) = cycle(&bench, step)?;
            // A device wired wrongly ends at its bound, where it fails the check and not the constructor.
            let mut cell = array(bench.range().clip(down + 1e-4), bench.clone(), 1)?;
            shift(&mut cell, (step, 0.0), 1, 1, Key::new(0))?;
            let left = (cell.weights()[0] - down) / 1e-4;
            let predicted = CyclePrediction::new(&*device, step, 0.0)?.contraction;
            // λ = 1 − d(q₋' − q₊') − d²q₊'q₋' for straight branches, and no more.
            let exact =
                predicted - step * step * device.q_plus_derivative(point) * device.q_minus_derivative(point);
            let what = format!("{name}, d = {step}: share of a distance that one pair leaves");
            checks.push(Check::equals(what, left, exact, 1e-9_f64.max(0.01 * (exact - predicted).abs())));
        }
        for (step, reference) in [(0.05, [25.0, 33.0]), (0.01, [205.0, 267.0]), (0.002, [1425.0, 1859.0])] {
            let (down, _) = cycle(&bench, step)?;
            let what = format!("{name}, d = {step}: pairs to within d of the cycle, reference value");
            checks.push(Check::equals(what, pairs_needed(&bench, down, step, point + 0.6)?, reference[i], 0.0));
        }
    }
    Ok(checks)
}

/// Averaging 2500 pairs under noise: it is forgotten at 2dG' = 0.04 per pair, so they hold about 50 independent ones.
fn averaged_pairs(context: &Context, device: &Device) -> Result<Check, ClaimError> {
    let mut errors = [0.0; 2];
    for (error, averaged) in errors.iter_mut().zip([1, 2500]) {
        let mut cells = array(0.0, context.device(device), 500)?;
        let found = shift(&mut cells, (0.02, 0.3), 3000, averaged, context.key("averaged-pairs"))?;
        *error = found.symmetric_point.iter().map(|w| w * w).sum::<f64>().sqrt();
    }
    let gain = errors[0] / errors[1];
    Ok(Check::equals(
        "error of the last pair over that of 2500 averaged",
        gain,
        50f64.sqrt(),
        0.25 * 50f64.sqrt(),
    ))
}

/// The spread that cycle-to-cycle noise keeps up, and that of pulses twice as long.
fn cycle_noise(context: &Context, device: &Device, step: f64, noise: f64) -> Outcome {
    let cells = context.pick(20_000, 4_000);
    let spread = |pulse: f64| -> Result<f64, ClaimError> {
        let mut cells = array(0.0, context.device(device), cells)?;
        let pairs = (4.0 / pulse) as u64;
        shift(&mut cells, (pulse, noise), pairs, 1, context.key("cycle-noise"))?;
        Ok(mean(cells.weights()).std)
    };
    let predicted = CyclePrediction::new(&**device, step, noise)?.deviation;
    // A sample deviation has a relative error of 1/√(2n); the law neglects terms of relative size d(1 + s²).
    let tolerance = Z / (2.0 * cells as f64).sqrt() + step * (1.0 + noise * noise);
    let what = |of: &str| format!("deviation{of} over the law's, d = {step}, cycle-to-cycle noise {noise}");
    Ok(vec![
        Check::equals(what(""), spread(step)? / predicted, 1.0, tolerance),
        Check::equals(what(" of doubled pulses"), spread(2.0 * step)? / predicted, 1.0, tolerance)
            .expected_to_differ(),
    ])
}

fn wrong_symmetric_point(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(1.0), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
    let alpha: f64 = 2e-3;
    let rates = LawRates { learning_rate: alpha, transfer_rate: alpha, mixing: 1.0 };
    let errors = [0.0, 0.05, 0.1];
    let key = context.key("symmetric-point-error");
    let ends = replicate(context, key, (context.pick(8000, 2000), 1), 12_000, |n| {
        let rules = errors.map(|error| {
            let symmetric_point = SymmetricPoint::Given(vec![error; n]);
            let config = ResidualConfig { symmetric_point, ..ResidualConfig::mixing(rates.mixing) };
            residual_learning_by(context, &toy, &device, (rates, config), n)
        });
        Ok((toy.problem(n)?, rules.into_iter().collect::<Result<_, _>>()?))
    })?;
    let mut checks = Vec::new();
    for (error, wrong) in errors.iter().zip(&ends).skip(1) {
        // The same noise met both, so the difference is sharper than the means.
        let shift = Summary::of(wrong.tail.iter().zip(&ends[0].tail).map(|(a, b)| a - b));
        let predicted = model.shift_of_wrong_symmetric_point(*error);
        let what = format!("shift of W̄ when W⋄ is believed {error} too high");
        // The bias of P follows R at the new end: by at most √(2/π)s_P of the shift, and s_P < σ√α.
        let bias = alpha.sqrt() * predicted.abs();
        checks.push(Check::mean(&what, shift, predicted, bias));
        checks.push(Check::mean(what, shift, -predicted, bias).expected_to_differ());
    }
    Ok(checks)
}

/// The state after `desired` was sent in whole pulses of size `step`.
fn by_pulses(bench: &Device, w: f64, desired: f64, step: f64) -> Result<f64, ClaimError> {
    let update = Update::Pulsed(Pulses::new(step)?.rounding(Rounding::Nearest));
    let mut cell = ExactArray::new(&[w], Arc::new(Uniform(bench.clone())), update)?;
    cell.increment(desired, &[1.0], Key::new(0))?;
    Ok(cell.weights()[0])
}

fn pulses_and_flow(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let step = 5e-4;
    let mut list = devices::toy()?;
    list.push(Arc::new(devices::skewed()?));
    for device in list {
        let (name, bench) = (device.describe(), context.device(&device));
        for desired in [0.05, -0.05] {
            let w = 0.3;
            let smooth = flow(&*device, w, desired);
            let pulsed = by_pulses(&bench, w, desired, step)?;
            let once = w + bench.realized(desired, w);
            let relative = next_order(&*device, w, desired).min(0.15);
            let what = |of: &str| format!("{name}, Δ = {desired}: {of}");
            let (first, second) =
                (pulses_minus_flow(&*device, w, desired, step), flow_minus_step(&*device, w, desired));
            checks.push(Check::equals(
                what("pulses of 0.0005 − flow"),
                pulsed - smooth,
                first,
                relative * first.abs(),
            ));
            let coarse = by_pulses(&bench, w, desired, 2.0 * step)? - smooth;
            checks.push(
                Check::equals(what("doubled pulses − flow"), coarse, first, 0.15 * first.abs())
                    .expected_to_differ(),
            );
            checks.push(Check::equals(what("flow − one step"), smooth - once, second, relative * second.abs()));
        }
    }
    let device = devices::power(1.0)?;
    let gap = flow(&*device, 0.3, 0.1) - (0.3 + context.device(&device).realized(0.1, 0.3));
    checks.push(Check::equals(
        "power 1, Δ = 0.1: flow − one step, reference value",
        gap,
        0.36661381 - 0.37,
        1e-8,
    ));
    Ok(checks)
}

/// The next term of flow and pulses relative to the leading one: |Δ|(q'² + q|q''|)/|q'|, up to a factor below 1.
fn next_order(device: &dyn ResponseFunction, w: f64, desired: f64) -> f64 {
    let h = 1e-4;
    let up = desired >= 0.0;
    let q = if up { device.q_plus(w) } else { device.q_minus(w) };
    let slope = |w| if up { device.q_plus_derivative(w) } else { device.q_minus_derivative(w) };
    let bend = (slope(w + h) - slope(w - h)) / (2.0 * h);
    let first = slope(w);
    desired.abs() * (first * first + q * bend.abs()) / first.abs()
}

fn pulsed_limit(context: &Context) -> Outcome {
    let (toy, device, rate) = (Toy::gaussian(1.0), devices::power(1.0)?, 5e-3);
    let (steps, replicas) = (2400, context.pick(8000, 3000));
    let stochastic = [(0.02, 0.0654), (0.005, 0.0388), (0.001, 0.0363)];
    let nearest = [(0.02, 0.34979, 9.9e-4), (0.005, 0.28067, 7.1e-4)];
    let mut updates = vec![Update::Expected];
    for (step, _) in stochastic {
        updates.push(Update::Pulsed(Pulses::new(step)?));
    }
    for (step, ..) in nearest {
        updates.push(Update::Pulsed(Pulses::new(step)?.rounding(Rounding::Nearest)));
    }
    let ends = replicate(context, context.key("pulsed-limit"), (replicas, 1), steps, |n| {
        let rules = updates.iter().map(|update| {
            let cells = Arc::new(Uniform(context.device(&device)));
            let main = ExactArray::new(&vec![toy.initial; n], cells, *update)?;
            let rates = rule::Rates::learning(context.rate(rate));
            Ok((Box::new(Analog::sgd(main)) as Box<dyn Rule>, rates))
        });
        Ok((toy.problem(n)?, rules.collect::<Result<_, _>>()?))
    })?;
    let zero = toy.fixed_point(&*device);
    // 2e-3 relative at α = 2e-3, in proportion to α.
    let bias = rate * zero;
    let mut checks = vec![Check::mean("E[W], scaled steps", mean(&ends[0].main), zero, bias)];
    // Means and deviations of an independent prototype, the latter from 3000 replicas as well.
    for ((step, deviation), ends) in stochastic.into_iter().zip(&ends[1..]) {
        let found = mean(&ends.main);
        checks.push(Check::mean(format!("E[W], stochastic rounding, d = {step}"), found, zero, bias));
        let what = format!("deviation of W, stochastic rounding, d = {step}, over the prototype's");
        let error = Z * (0.5 / replicas as f64 + 0.5 / 3000.0).sqrt();
        checks.push(Check::equals(what, found.std / deviation, 1.0, error));
    }
    for ((step, reference, error), ends) in nearest.into_iter().zip(&ends[4..]) {
        let found = mean(&ends.main);
        let what = format!("E[W], nearest rounding, d = {step}: a dead zone below d/2");
        checks.push(Check::equals(&what, found.mean, reference, Z * found.se.hypot(error)));
        if step > 0.01 {
            checks.push(Check::mean(what, found, zero, bias).expected_to_differ());
        }
    }
    Ok(checks)
}
