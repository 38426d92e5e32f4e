//! The rules after the paper: a symmetric point that is tracked, cascades of coarse arrays, and calibration by pulses.

use std::sync::Arc;

use rayon::prelude::*;
use residuum::cells::Uniform;
use residuum::response::{Constant, Power};
use residuum::rule::{Analog, Rates, ResidualConfig, ResidualLearning, Rule, SymmetricPoint, Tracking};
use residuum::stats::{Summary, Z};
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::{Control, ExactArray, Key, Pulses, Range, Update, minimize_observed};

use crate::check::Check;
use crate::context::{Bench, Context, Device};
use crate::simulate::{Toy, array, mean, of_step, replicate};
use crate::{Claim, ClaimError, Outcome, devices};
use residuum::progress::{Cancelled, Progress};

const GROUP: &str = "later rules";

pub(crate) const CLAIMS: &[Claim] = &[
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

/// Means over the replicas of a block, which share one chopper: the independent samples of these laws.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// W − W*, averaged over the last quarter of the steps.
    main: f64,
    /// W̄ − W* over the same.
    effective: f64,
    /// Q − W⋄ at each of the steps asked for.
    point: [f64; 2],
}

/// What a block runs.
#[derive(Clone, Copy)]
struct Setting {
    rates: LawRates,
    /// Of Q₀, and of P₀.
    error: f64,
    tracking: Option<Tracking>,
    /// Whether W is on linear cells.
    linear_main: bool,
}

const REPLICAS: usize = 10;

fn block(context: &Context, setting: Setting, steps: u64, at: [u64; 2], key: Key) -> Result<Block, ClaimError> {
    let Setting { rates, error, tracking, linear_main } = setting;
    let (toy, device) = (Toy::gaussian(SIGMA), devices::power(1.0)?);
    let bench = context.device(&device);
    let plain: Device = Arc::new(Constant::new(1.0)?);
    let main = array(toy.initial, if linear_main { plain } else { bench.clone() }, REPLICAS)?;
    let believed = SymmetricPoint::Given(vec![error; REPLICAS]);
    let symmetric_point = match tracking {
        Some(tracking) => SymmetricPoint::Tracked { from: Box::new(believed), tracking },
        None => believed,
    };
    let config = ResidualConfig { symmetric_point, ..ResidualConfig::mixing(rates.mixing) };
    let mut rule = ResidualLearning::new(main, array(error, bench, REPLICAS)?, config)?;
    let mut found = Block::default();
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let (from, share) = (steps - steps / 4, 1.0 / (steps / 4) as f64);
    let mut look = |k: u64, _: usize, rule: &dyn Rule| {
        if k > from {
            found.main += share * (mean(rule.states()[0].1) - toy.minimizer);
            found.effective += share * (mean(rule.effective_weights()) - toy.minimizer);
        }
        for (point, _) in found.point.iter_mut().zip(at).filter(|(_, at)| *at == k) {
            *point = rule.states().get(2).map_or(f64::NAN, |(_, point)| mean(point));
        }
        let stop = k.is_multiple_of(1024) && context.progress.cancelled();
        if stop { Control::Stop } else { Control::Continue }
    };
    let rates = of_step(context, rates);
    if minimize_observed(&toy.problem(REPLICAS)?, &mut [&mut rule], &rates, 0..steps, key, &mut look)? < steps {
        return Err(Cancelled.into());
    }
    Ok(found)
}

fn blocks(
    context: &Context,
    setting: Setting,
    (count, steps): (u64, u64),
    at: [u64; 2],
    key: Key,
) -> Result<Vec<Block>, ClaimError> {
    (0..count).into_par_iter().map(|n| block(context, setting, steps, at, key.fold(n))).collect()
}

fn of(blocks: &[Block], value: impl Fn(&Block) -> f64) -> Summary {
    Summary::of(blocks.iter().map(value))
}

/// α, β and γ, the filter, and the law of both rules, as the figure of tracking has them.
pub fn tracking_setting() -> Result<(LawRates, Tracking, LocalModel), ClaimError> {
    let (rates, tracking) = SETTINGS[0];
    Ok((rates, tracking, toy_model()?))
}

/// The bias of W̄ in the toy where W⋄ is believed to be off by `error`, with a filter or with a fixed point.
pub fn tracking_bias(
    (key, count, steps): (Key, u64, u64),
    error: f64,
    tracking: Option<Tracking>,
    progress: &dyn Progress,
) -> Result<Summary, ClaimError> {
    let context = Context { key, quick: false, bench: Bench::Faithful, progress };
    let setting = Setting { rates: SETTINGS[0].0, error, tracking, linear_main: false };
    let found = blocks(&context, setting, (count, steps), [0, 0], key)?;
    Ok(of(&found, |block| block.effective))
}

fn toy_model() -> Result<LocalModel, ClaimError> {
    let (toy, device) = (Toy::gaussian(SIGMA), devices::power(1.0)?);
    Ok(LocalModel::new(toy.curvature, SIGMA, toy.minimizer, &*device, &*device)?)
}

fn e_rider_law(context: &Context) -> Outcome {
    let model = toy_model()?;
    let size = context.pick((200, 48_000), (60, 24_000));
    let mut checks = Vec::new();
    for (n, (rates, tracking)) in SETTINGS.into_iter().enumerate() {
        let law = model.tracked(rates, tracking)?;
        let key = context.key("e-rider").fold(n as u64);
        let run = |error: f64, tracking: Option<Tracking>, name: &str| {
            let setting = Setting { rates, error, tracking, linear_main: false };
            blocks(context, setting, size, [0, 0], key.named(name))
        };
        // What is left of the start, and of the first error of Q, when the last quarter begins.
        let late = 0.75 * size.1 as f64;
        let rest = 0.3 * (-law.slow_rate * late).exp() + 0.2 * (-law.point_rate * late).exp();
        let what = |of: &str, error: f64| {
            format!("p = {}, η = {}: bias of {of}, Q₀ off by {error}", tracking.chopper, tracking.rate)
        };
        let mut e_rider = f64::NAN;
        for error in [0.2, -0.2] {
            let found = run(error, Some(tracking), if error > 0.0 { "above" } else { "below" })?;
            // Leading order in α, β and p: a tenth.
            let (main, effective) = (of(&found, |b| b.main), of(&found, |b| b.effective));
            let next = |law: f64| 0.1 * law.abs() + rest;
            checks.push(Check::mean(what("W", error), main, law.main_bias, next(law.main_bias)));
            checks.push(Check::mean(what("W̄", error), effective, law.effective_bias, next(law.main_bias)));
            e_rider = effective.mean.abs();
        }
        let wrong = of(&run(0.2, None, "fixed")?, |b| b.effective);
        let shift = model.shift_of_wrong_symmetric_point(0.2);
        let law = model.stationary(rates)?.effective_bias + shift;
        checks.push(Check::mean(
            "Residual Learning with W⋄ off by 0.2: bias of W̄",
            wrong,
            law,
            0.15 * law.abs(),
        ));
        checks.push(Check::at_most(
            "bias of W̄ of E-RIDER over that with the wrong point",
            e_rider / wrong.mean.abs(),
            0.5,
            0.0,
        ));
    }
    Ok(checks)
}

fn tracked_point(context: &Context) -> Outcome {
    let model = toy_model()?;
    let count = context.pick(300, 120);
    let mut checks = Vec::new();
    // η = αμ: the rate is then of the order of α, the speed of the rule itself.
    for alpha in [0.008, 0.004] {
        let rates = LawRates { learning_rate: alpha, transfer_rate: 0.25 * alpha, mixing: 1.0 };
        let tracking = Tracking { rate: alpha, chopper: alpha };
        let law = model.tracked(rates, tracking)?;
        // The fast modes are gone at the first, and Q is well above its noise at the second.
        let at = [0.8, 2.2].map(|times| (times / law.point_rate) as u64);
        let setting = Setting { rates, error: 0.4, tracking: Some(tracking), linear_main: false };
        let found = blocks(context, setting, (count, at[1]), at, context.key("tracked-point"))?;
        let [early, late] = [0, 1].map(|n| of(&found, |b| b.point[n]));
        let steps = (at[1] - at[0]) as f64;
        let rate = (early.mean / late.mean).ln() / steps;
        let chance = Z * (early.se / early.mean).hypot(late.se / late.mean) / steps;
        let what = format!("α = {alpha}, η = α: decay of Q − W⋄ per step");
        // Σ is larger by a few per cent while W is still away.
        checks.push(Check::equals(what, rate, law.point_rate, chance + 0.1 * law.point_rate));
    }
    let rates = SETTINGS[0].0;
    let rider = Tracking { rate: 0.004, chopper: 0.0 };
    let (start, error) = (0.3, 0.3);
    let limit = model.rider_limit(rates, rider.rate, (start, error))?;
    let setting = Setting { rates, error, tracking: Some(rider), linear_main: true };
    let steps = context.pick(20_000, 12_000);
    let found = blocks(context, setting, (context.pick(60, 24), steps), [steps, steps], context.key("rider"))?;
    let (main, point) = (of(&found, |b| b.main), of(&found, |b| b.point[0]));
    // Σ is that of the gradient at rest, which is not 0: E|m + σZ| with m = h·error is larger by m²/2σ².
    let next = |law: f64| 0.1 * law.abs();
    checks.push(Check::mean("RIDER, p = 0, W linear: W − W*", main, limit.main_error, next(limit.main_error)));
    checks.push(Check::mean(
        "RIDER, p = 0, W linear: Q − W⋄",
        point,
        limit.point_error,
        next(limit.point_error),
    ));
    checks.push(Check::mean("RIDER, p = 0: Q finds W⋄", point, 0.0, 0.05).expected_to_differ());
    checks.push(Check::mean("RIDER, p = 0: W finds W*", main, 0.0, 0.05).expected_to_differ());
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
            *rate = learning * MIXING.powi((residuals - n).cast_signed() as i32) * 0.02;
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
        let scale = MIXING.powi(residuals.cast_signed() as i32) * deviation * step;
        let alpha = 0.1 * step / deviation;
        // Rounding of the last array, and the noise of the gradient itself.
        let law = scale * std::f64::consts::FRAC_2_PI.sqrt() / 4.0;
        let more = alpha * MIXING.powi(residuals.cast_signed() as i32) * deviation * deviation / 4.0;
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
    let replicas = context.pick(40_000, 20_000);
    let mut checks = Vec::new();
    for step in [0.02, 0.005] {
        let power: Device = Arc::new(Power::new(1.0, 1.0)?);
        let (distance, range) = (0.6, Range::new(-0.8, 0.8)?);
        // G = w: μ_q = inf G/(w − W⋄) = 1 over any range.
        let (monotone, most) = (1.0, power.bounds(range).max);
        let floor = 2.0 * most * most * step / monotone;
        let wanted = 0.02;
        let pulses = (f64::ln(2.0 * distance * distance / wanted) / (2.0 * monotone * step)).ceil() as u64;
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
