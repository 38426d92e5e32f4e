//! The rules after the paper: a symmetric point that is tracked, cascades of coarse arrays, and calibration by pulses.

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::response::{Constant, Power};
use residuum::rule::{Analog, Rates, ResidualConfig, ResidualLearning, Rule, SymmetricPoint, Tracking};
use residuum::stats::{Summary, Z};
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::{Control, ExactArray, Key, Pulses, Range, Update, minimize_observed};

use super::check::Check;
use super::context::{Context, Device};
use super::simulate::{Rated, Toy, array, mean, mean_from, of_step, replicate};
use super::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "later rules";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "e-rider-law",
        group: GROUP,
        title: "E-RIDER forgets a wrong W⋄",
        label: "",
        statement: "With choppers the bias of W and W̄ follows its law of order √α whatever Q was at first; Residual Learning keeps −ΣR'ε/h.",
        run: e_rider_law,
    },
    Claim {
        id: "tracked-point",
        group: GROUP,
        title: "the filter finds the symmetric point",
        label: "",
        statement: "Q tends to W⋄ at the rate ηΣR'/(γh + ΣR' + η/α); without choppers (RIDER) it does not.",
        run: tracked_point,
    },
    Claim {
        id: "multi-tile-gap",
        group: GROUP,
        title: "coarse arrays in a cascade",
        label: "",
        statement: "With N residual arrays of pulses Δw the gap falls with γᴺσΔw, at least as its power 2/3; on a quadratic as γᴺ√(2/π)σΔw/4 itself.",
        run: multi_tile_gap,
    },
    Claim {
        id: "calibration-pulses",
        group: GROUP,
        title: "the pulses of a calibration",
        label: "",
        statement: "After ln(2‖W₀ − W⋄‖²/δ)/(2μ_qΔw) pulses of random signs, E‖W − W⋄‖² is at most δ/2 + 2q_max²Δw/μ_q.",
        run: calibration_pulses,
    },
];

const SIGMA: f64 = 1.0;

/// α, β, γ, η, p that the laws are measured at: chopping slower than P learns, and as fast.
const SETTINGS: [(LawRates, Tracking); 2] = [
    (
        LawRates { learning_rate: 0.004, transfer_rate: 0.001, mixing: 1.0 },
        Tracking { rate: 0.004, chopper: 0.002 },
    ),
    (
        LawRates { learning_rate: 0.004, transfer_rate: 0.002, mixing: 1.0 },
        Tracking { rate: 0.01, chopper: 0.005 },
    ),
];

fn tracked(error: f64, tracking: Tracking, n: usize) -> SymmetricPoint {
    SymmetricPoint::Tracked { from: Box::new(SymmetricPoint::Error(vec![error; n])), tracking }
}

/// Residual Learning on the toy with this belief about W⋄; P starts where it is believed to be.
fn believing(
    context: &Context,
    toy: &Toy,
    device: &Device,
    (rates, error): (LawRates, f64),
    (tracking, n): (Option<Tracking>, usize),
) -> Result<Rated, residuum::error::ParameterError> {
    let bench = context.device(device);
    let point = device.symmetric_point().unwrap_or(0.0);
    let (main, residual) = (array(toy.initial, bench.clone(), n)?, array(point + error, bench, n)?);
    let symmetric_point = match tracking {
        Some(tracking) => tracked(error, tracking, n),
        None => SymmetricPoint::Error(vec![error; n]),
    };
    let config = ResidualConfig { symmetric_point, ..ResidualConfig::mixing(rates.mixing) };
    Ok((Box::new(ResidualLearning::new(main, residual, config)?), of_step(context, rates)))
}

fn e_rider_law(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(SIGMA), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, SIGMA, toy.minimizer, &*device, &*device)?;
    let (steps, replicas) = context.pick((32_000, 4000), (16_000, 1000));
    let mut checks = Vec::new();
    for (n, (rates, tracking)) in SETTINGS.into_iter().enumerate() {
        let law = model.tracked(rates, tracking)?;
        let key = context.key("e-rider").fold(n as u64);
        let ends = replicate(context, key, (replicas, 1), steps, |n| {
            let rule = |error, tracking| believing(context, &toy, &device, (rates, error), (tracking, n));
            let rules = vec![rule(0.2, Some(tracking))?, rule(-0.2, Some(tracking))?, rule(0.2, None)?];
            Ok((toy.problem(n)?, rules))
        })?;
        // What is left of the start, and of the first error of Q, which W has followed meanwhile.
        let late = 0.75 * steps as f64;
        let rest = 0.3 * (-law.slow_rate * late).exp() + 0.2 * (-law.point_rate * late).exp();
        let what = |of: &str, error: f64| {
            format!("p = {}, η = {}: bias of {of}, Q₀ off by {error}", tracking.chopper, tracking.rate)
        };
        for (ends, error) in ends.iter().zip([0.2, -0.2]) {
            // Leading order in α and p; R is linear here, its slope is in the law.
            let next = 0.12 * law.main_bias.abs() + rest;
            let main = mean_from(&ends.main, toy.minimizer);
            checks.push(Check::mean(what("W", error), main, context.law(law.main_bias), next));
            let tail = mean_from(&ends.tail, toy.minimizer);
            let next = 0.12 * law.effective_bias.abs() + rest;
            checks.push(Check::mean(what("W̄", error), tail, context.law(law.effective_bias), next));
        }
        let wrong = mean_from(&ends[2].tail, toy.minimizer);
        let plain = model.stationary(rates)?.effective_bias;
        let shift = model.shift_of_wrong_symmetric_point(0.2);
        // The law is linear in the error: its curvature over 0.2, and the finite rates.
        let next = 0.12 * shift.abs();
        checks.push(Check::mean("Residual Learning with W⋄ off by 0.2: bias of W̄", wrong, plain + shift, next));
        let [e_rider, fixed] = [&ends[0], &ends[2]].map(|ends| mean_from(&ends.tail, toy.minimizer).mean.abs());
        checks.push(Check::at_most(
            "bias of W̄ of E-RIDER over that with the wrong point",
            e_rider / fixed,
            0.5,
            0.0,
        ));
    }
    Ok(checks)
}

/// Mean of Q − W⋄ and of W − W* over the replicas after each of `steps` steps.
fn follow(
    context: &Context,
    (rates, tracking): (LawRates, Tracking),
    error: f64,
    steps: &[u64],
    replicas: usize,
) -> Result<Vec<[Summary; 2]>, ClaimError> {
    let (toy, device) = (Toy::gaussian(SIGMA), devices::power(1.0)?);
    let (mut rule, rates) = believing(context, &toy, &device, (rates, error), (Some(tracking), replicas))?;
    let mut found = Vec::new();
    let mut look = |k: u64, _: usize, rule: &dyn Rule| {
        if steps.contains(&k) {
            let states = rule.states();
            let of = |name: &str| states.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, s)| *s);
            found.push([mean(of("symmetric_point")), mean_from(of("main"), toy.minimizer)]);
        }
        if context.progress.cancelled() { Control::Stop } else { Control::Continue }
    };
    let last = steps.iter().copied().max().unwrap_or(0);
    let key = context.key("tracked-point");
    if minimize_observed(&toy.problem(replicas)?, &mut [&mut *rule], &rates, 0..last, key, &mut look)? < last {
        return Err(crate::progress::Cancelled.into());
    }
    Ok(found)
}

fn tracked_point(context: &Context) -> Outcome {
    let replicas = context.pick(4000, 1000);
    let device = devices::power(1.0)?;
    let model = LocalModel::new(1.0, SIGMA, 0.5, &*device, &*device)?;
    let mut checks = Vec::new();
    // η = αμ: the rate is then of the order of α, the speed of the rule itself.
    for alpha in [0.008, 0.004] {
        let rates = LawRates { learning_rate: alpha, transfer_rate: 0.25 * alpha, mixing: 1.0 };
        let tracking = Tracking { rate: alpha, chopper: 0.5 * alpha };
        let law = model.tracked(rates, tracking)?;
        // The fast mode is gone after the first, and Q is well above its noise at the second.
        let at = [1.0, 2.5].map(|times| (times / law.point_rate) as u64);
        let found = follow(context, (rates, tracking), 0.3, &at, replicas)?;
        let [early, late] = [found[0][0], found[1][0]];
        let rate = (early.mean / late.mean).ln() / (at[1] - at[0]) as f64;
        let chance = Z * (early.se / early.mean).hypot(late.se / late.mean) / (at[1] - at[0]) as f64;
        // R of the device is exactly linear; Σ grows with the gradient that W still has.
        let tolerance = chance + 0.1 * law.point_rate;
        let what = format!("α = {alpha}, η = α: decay of Q − W⋄ per step");
        checks.push(Check::equals(what, rate, context.law(law.point_rate), tolerance));
    }
    let (rates, tracking) = SETTINGS[0];
    let steps = context.pick(20_000, 12_000);
    let rider = Tracking { chopper: 0.0, ..tracking };
    let found = follow(context, (rates, rider), 0.3, &[steps], replicas)?[0];
    // Where RIDER ends follows from what it conserves; here it is enough that Q is elsewhere, and W with it.
    checks.push(Check::mean("RIDER, p = 0: Q − W⋄", found[0], 0.0, 0.02).misprinted());
    checks.push(Check::mean("RIDER, p = 0: W − W*", found[1], 0.0, 0.02).misprinted());
    Ok(checks)
}

const MIXING: f64 = 0.25;

/// The gap of W̄ with `residuals` residual arrays, all linear and written by pulses of `step`, started at the minimiser.
fn pulsed_gap(
    context: &Context,
    (residuals, step, deviation): (usize, f64, f64),
    (steps, replicas): (u64, usize),
) -> Result<Summary, ClaimError> {
    let toy = Toy { initial: 0.5, ..Toy::gaussian(deviation) };
    // A tenth of a pulse at a typical gradient: what is written is rounded almost always.
    let learning = context.rate(0.1 * step / deviation);
    let key = context.key("multi-tile").fold(residuals as u64).fold((1e6 * step * deviation) as u64);
    let make = |start: f64, n: usize| {
        let linear: Device = Arc::new(Constant::new(1.0)?);
        let cells = Arc::new(Uniform(linear));
        ExactArray::new(&vec![start; n], cells, Update::Pulsed(Pulses::new(step)?))
    };
    let ends = replicate(context, key, (replicas, 1), steps, |n| {
        let rule: Box<dyn Rule> = if residuals == 0 {
            Box::new(Analog::sgd(make(0.5, n)?))
        } else {
            let chain = (0..residuals)
                .map(|_| Ok(Box::new(make(0.0, n)?) as Box<dyn residuum::Array<f64>>))
                .collect::<Result<Vec<_>, residuum::error::ParameterError>>()?;
            let config =
                ResidualConfig { symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::mixing(MIXING) };
            Box::new(ResidualLearning::cascade(make(0.5, n)?, chain, config)?)
        };
        // Slow enough that the pulses of a transfer are repaired by the array below before the next.
        let mut rates = Rates::learning(learning);
        for (n, rate) in rates.transfer.iter_mut().enumerate().take(residuals) {
            *rate = learning * MIXING.powi((residuals - n) as i32) * 0.02;
        }
        Ok((toy.problem(n)?, vec![(rule, rates)]))
    })?;
    let square =
        |(square, mean): (&f64, &f64)| square - 2.0 * mean * toy.minimizer + toy.minimizer * toy.minimizer;
    Ok(Summary::of(ends[0].tail_square.iter().zip(&ends[0].tail).map(square).map(|s| 0.5 * s)))
}

fn multi_tile_gap(context: &Context) -> Outcome {
    let size = context.pick((40_000, 600), (12_000, 250));
    let mut checks = Vec::new();
    let mut points = Vec::new();
    for (residuals, step, deviation) in
        [(0, 0.1, 1.0), (1, 0.1, 1.0), (2, 0.1, 1.0), (1, 0.05, 1.0), (1, 0.1, 0.5)]
    {
        let found = pulsed_gap(context, (residuals, step, deviation), size)?;
        let scale = MIXING.powi(residuals as i32) * deviation * step;
        let alpha = 0.1 * step / deviation;
        // Rounding of the last array, and the noise of the gradient itself.
        let law = scale * std::f64::consts::FRAC_2_PI.sqrt() / 4.0;
        let more = alpha * MIXING.powi(residuals as i32) * deviation * deviation / 4.0;
        let what = format!("N = {residuals}, Δw = {step}, σ = {deviation}: gap over γᴺσΔw");
        let share =
            Summary { mean: found.mean / scale, se: found.se / scale, std: found.std / scale, n: found.n };
        // The pulses of transfers to the arrays above, and the lattice of pulses, are the rest.
        checks.push(Check::mean(what, share, context.law((law + more) / scale), 0.25 * (law + more) / scale));
        points.push((scale.ln(), found.mean.ln(), found.se / found.mean));
    }
    let slope = |i: usize, j: usize| {
        let (a, b): (&(f64, f64, f64), &(f64, f64, f64)) = (&points[i], &points[j]);
        let width = (b.0 - a.0).abs();
        ((b.1 - a.1) / (b.0 - a.0), Z * a.2.hypot(b.2) / width)
    };
    for (what, i, j) in [("γᴺ, N from 0 to 2", 0, 2), ("Δw", 1, 3), ("σ", 1, 4)] {
        let (found, chance) = slope(i, j);
        checks.push(Check::at_least(format!("power of {what} in the gap"), found, 2.0 / 3.0, chance));
        checks.push(Check::equals(format!("power of {what} on a quadratic"), found, 1.0, chance + 0.15));
    }
    Ok(checks)
}

fn calibration_pulses(context: &Context) -> Outcome {
    let replicas = context.pick(4000, 1000);
    let mut checks = Vec::new();
    for step in [0.02, 0.005] {
        let power: Device = Arc::new(Power::new(1.0, 1.0)?);
        let (distance, range) = (0.6, Range::new(-0.8, 0.8)?);
        // G = w: μ_q = inf G/(w − W⋄) = 1 over any range.
        let (monotone, most) = (1.0, power.bounds(range).max);
        let floor = 2.0 * most * most * step / monotone;
        let wanted = 0.02;
        let pulses = ((2.0 * distance * distance / wanted as f64).ln() / (2.0 * monotone * step)).ceil() as u64;
        let size = Pulses::new(context.rate(step))?;
        let ends: Vec<f64> = (0..replicas as u64)
            .map(|replica| {
                let key = context.key("calibration-pulses").fold(replica);
                let mut cell = array(distance, context.device(&power), 1)?;
                for k in 0..pulses {
                    cell.pulse_by(size, key.uniform_at(k) < 0.5, Key::new(0));
                }
                Ok(cell.weights()[0].powi(2))
            })
            .collect::<Result<_, ClaimError>>()?;
        let found = mean(&ends);
        let what = |of: &str| format!("Δw = {step}, {pulses} pulses: {of}");
        checks.push(Check::mean_at_most(what("E‖W − W⋄‖²"), found, context.bound(0.5 * wanted + floor)));
        // One pulse multiplies the square by 1 − 2Δw + Δw² and adds Δw².
        let shrink = (1.0 - step).powi(2);
        let left = shrink.powi(pulses as i32);
        let law = left * distance * distance + step * step * (1.0 - left) / (1.0 - shrink);
        checks.push(Check::mean(what("the same by its own recursion"), found, context.law(law), 0.0));
        let mut cell = array(distance, context.device(&power), 1)?;
        (0..pulses).for_each(|k| cell.pulse_by(size, k % 2 == 0, Key::new(0)));
        // In turn the errors of up and down cancel: half a pulse remains, and what is left of the start.
        let rest = distance * (1.0 - step).powi(pulses as i32) + step;
        checks.push(Check::at_most(
            what("|W − W⋄| with up and down in turn"),
            cell.weights()[0].abs(),
            rest,
            0.0,
        ));
    }
    Ok(checks)
}
