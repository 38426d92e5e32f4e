//! Finding W⋄ by pulses, what an error in it costs, and pulses against one scaled step.

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::rule::{Analog, ResidualLearning, Source};
use residuum::stats::Summary;
use residuum::theory::pulse_flow::{flow, flow_minus_step, pulses_minus_flow};
use residuum::theory::residual_law::{LocalModel, Rates};
use residuum::theory::zero_shift::{CyclePrediction, zero_shift};
use residuum::{AnalogArray, Key, Pulses, ResponseFunction, Rounding, Update, UpdateRule};

use super::check::Check;
use super::context::{Context, Device};
use super::simulate::{Toy, array, mean, replicate};
use super::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "calibration";

pub(super) const CLAIMS: &[Claim] = &[
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

/// Pairs of pulses until a cell that starts at `start` is within one pulse step of its cycle.
fn pairs_needed(bench: &Device, cycle: CyclePrediction, step: f64, start: f64) -> Result<f64, ClaimError> {
    let mut cell = array(start, bench.clone(), 1)?;
    let pulses = Pulses::new(step)?;
    for pair in 0..20_000 {
        if (cell.state()[0] - cycle.after_down).abs() <= step {
            return Ok(f64::from(pair));
        }
        cell.pulse_all(true, pulses, Key::new(0));
        cell.pulse_all(false, pulses, Key::new(0));
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
            let found = zero_shift(&mut cell, Pulses::new(step)?, pairs, 1, context.key("zero-shifting"))?;
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
            let needed = pairs_needed(&bench, cycle, step, point + 0.6)?;
            // The rate itself changes by its curvature on the way: a few steps, plus rounding up.
            checks.push(Check::equals(
                what("pairs from 0.6 away to within d of the cycle"),
                needed,
                cycle.pairs(0.6),
                3.0,
            ));
        }
    }
    let (step, device) = (0.05, devices::power(1.0)?);
    let mut cell = array(0.3, context.device(&device), 1)?;
    zero_shift(&mut cell, Pulses::new(step)?, 400, 1, context.key("exact"))?;
    let exact = -step / (2.0 - step);
    checks.push(Check::equals(
        "power 1, d = 0.05: state after a down pulse, exactly −d/(2 − d)",
        cell.state()[0],
        exact,
        1e-14,
    ));
    checks.push(cycle_noise(context, &device)?);
    Ok(checks)
}

/// The spread that cycle-to-cycle noise keeps up.
fn cycle_noise(context: &Context, device: &Device) -> Result<Check, ClaimError> {
    let (step, noise) = (0.02, 0.3);
    let cycle = CyclePrediction::new(&**device, step, noise)?;
    let mut cells = array(0.0, context.device(device), context.pick(20_000, 4_000))?;
    let pairs = (8.0 / (1.0 - cycle.contraction)) as u64;
    zero_shift(&mut cells, Pulses::new(step)?.cycle_noise(noise)?, pairs, 1, context.key("cycle-noise"))?;
    let found = mean(cells.state());
    let squares = Summary::of(cells.state().iter().map(|w| (w - found.mean).powi(2)));
    // λ² = (1 − d)⁴ against 1 − 4d: relative d in the variance.
    let predicted = cycle.deviation * cycle.deviation;
    Ok(Check::mean("variance under 30 % cycle-to-cycle noise", squares, predicted, 2.0 * step * predicted))
}

fn wrong_symmetric_point(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(1.0), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
    let alpha = context.pick(0.004, 0.016);
    let rates = Rates { learning_rate: alpha, transfer_rate: 0.5 * alpha, mixing: 1.0 };
    let law = model.stationary(rates)?;
    let errors = [0.0, 0.05, 0.1];
    let steps = (12.0 / law.slow_rate) as u64;
    let key = context.key("symmetric-point-error");
    let ends = replicate(context, key, (context.pick(8000, 2000), 1), steps, |n| {
        let rules = errors.map(|error| {
            let bench = context.device(&device);
            let (main, residual) = (array(toy.initial, bench.clone(), n)?, array(0.0, bench, n)?);
            let rule = ResidualLearning::with_symmetric_point(
                main,
                residual,
                vec![error; n],
                rates.mixing,
                context.rate(rates.learning_rate),
                context.rate(rates.transfer_rate),
            )?;
            Ok(Box::new(rule) as Box<dyn UpdateRule>)
        });
        Ok((toy.problem(n)?, rules.into_iter().collect::<Result<_, _>>()?))
    })?;
    let mut checks = Vec::new();
    for (error, wrong) in errors.iter().zip(&ends).skip(1) {
        // The same noise met both, so the difference is sharper than the means.
        let shift = Summary::of(wrong.tail.iter().zip(&ends[0].tail).map(|(a, b)| a - b));
        let predicted = model.shift_of_wrong_symmetric_point(*error);
        let what = format!("shift of W̄ when W⋄ is believed {error} too high");
        checks.push(Check::mean(what, shift, predicted, predicted.abs() * law.fast_rate.sqrt()));
    }
    Ok(checks)
}

/// The state after `desired` was sent in whole pulses of size `step`.
fn by_pulses(bench: &Device, w: f64, desired: f64, step: f64) -> Result<f64, ClaimError> {
    let update = Update::Pulsed(Pulses::new(step)?.rounding(Rounding::Nearest));
    let mut cell = AnalogArray::new(&[w], Arc::new(Uniform(bench.clone())), update)?;
    cell.increment(desired, &[1.0], Key::new(0));
    Ok(cell.state()[0])
}

fn pulses_and_flow(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let step = 1e-3;
    for (name, device) in [("power 1", devices::power(1.0)?), ("power 2", devices::power(2.0)?)] {
        let bench = context.device(&device);
        for desired in [0.05, -0.05] {
            let w = 0.3;
            let smooth = flow(&*device, w, desired);
            let pulsed = by_pulses(&bench, w, desired, step)?;
            let once = w + bench.realized(desired, w);
            let relative = next_order(&*device, w, desired);
            let what = |of: &str| format!("{name}, Δ = {desired}: {of}");
            let (first, second) =
                (pulses_minus_flow(&*device, w, desired, step), flow_minus_step(&*device, w, desired));
            checks.push(Check::equals(
                what("pulses of 0.001 − flow"),
                pulsed - smooth,
                first,
                relative * first.abs(),
            ));
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
    let (toy, device, rate) = (Toy::gaussian(1.0), devices::power(1.0)?, 0.01);
    let (steps, replicas) = context.pick((1200, 8000), (900, 2000));
    let kinds = [
        (Pulses::new(0.005)?, "stochastic rounding, d = 0.005"),
        (Pulses::new(0.02)?, "stochastic rounding, d = 0.02"),
        (Pulses::new(0.03)?.rounding(Rounding::Nearest), "nearest rounding, d = 0.03"),
    ];
    let ends = replicate(context, context.key("pulsed-limit"), (replicas, 1), steps, |n| {
        let rules = kinds.iter().map(|(pulses, _)| {
            let cells = Arc::new(Uniform(context.device(&device)));
            let main = AnalogArray::new(&vec![toy.initial; n], cells, Update::Pulsed(*pulses))?;
            Ok(Box::new(Analog::new(main, Source::sgd(context.rate(rate)))) as Box<dyn UpdateRule>)
        });
        Ok((toy.problem(n)?, rules.collect::<Result<_, _>>()?))
    })?;
    let zero = toy.fixed_point(&*device);
    let mut checks = Vec::new();
    for ((_, name), ends) in kinds.iter().zip(&ends).take(2) {
        let found = mean(&ends.main);
        // Within a train the response moves by Δ²qq'/2 a step: relative α|g| in the drift, with E|g| near 1.
        let bias = toy.finite_rate_bias(&*device, rate, steps, found.std) + rate * zero;
        checks.push(Check::mean(format!("E[W], {name}"), found, zero, bias));
    }
    let lost = mean(&ends[2].main);
    checks.push(Check::mean_at_least(
        format!("E[W] − zero of T, {}: a dead zone below d/2", kinds[2].1),
        Summary { mean: lost.mean - zero, ..lost },
        0.02,
    ));
    Ok(checks)
}
