//! What the paper's small experiments are said to show.

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Linear, Power};
use residuum::rule::{self, ResidualConfig, ResidualLearning, Rule};
use residuum::stats::{Summary, Z};
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::{Control, Noise, Noisy, Objective, minimize_observed};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::simulate::{Toy, analog, array, mean, mean_from, replicate, residual_learning};
use crate::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "experiments";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "toy-example",
        group: GROUP,
        title: "drift grows with noise, Residual Learning stays",
        label: "figure:toy-and-kappa",
        statement: "The more noise, the closer Analog SGD ends to W⋄; Residual Learning stays near W*.",
        run: toy_example,
    },
    Claim {
        id: "kappa-sweep",
        group: GROUP,
        title: "a larger κ₂ converges more slowly",
        label: "section:experiments-kappa",
        statement: "On the 1024-dimensional quadratic the error at every recorded step grows with κ₂, for γ = 0.5.",
        run: kappa_sweep,
    },
    Claim {
        id: "asymmetry-radius",
        group: GROUP,
        title: "a wider range means less asymmetry",
        label: "section:experiments",
        statement: "R'(W⋄) = γ_res/τ for the power response: drift grows with γ_res and falls with τ.",
        run: asymmetry_radius,
    },
];

fn toy_example(context: &Context) -> Outcome {
    let device = devices::power(1.0)?;
    let deviations = [0.1, 0.5, 1.0, 2.0, 4.0];
    let (alpha, steps, replicas) = context.pick((2e-3, 12_000, 12_000), (8e-3, 3_000, 3000));
    let rates = LawRates { learning_rate: alpha, transfer_rate: 2.0 * alpha, mixing: 1.0 };
    let mut means: Vec<(Summary, Summary, f64)> = Vec::new();
    for deviation in deviations {
        let toy = Toy::gaussian(deviation);
        let model = LocalModel::new(toy.curvature, deviation, toy.minimizer, &*device, &*device)?;
        let key = context.key("toy-example").fold(deviation.to_bits());
        let ends = replicate(context, key, (replicas, 1), steps, |n| {
            let residual = residual_learning(context, &toy, &device, rates, n)?;
            Ok((toy.problem(n)?, vec![analog(context, &toy, &device, alpha, n)?, residual]))
        })?;
        let bias = model.stationary(rates)?.effective_bias;
        means.push((mean(&ends[0].main), mean_from(&ends[1].tail, toy.minimizer), bias));
    }
    let mut checks = Vec::new();
    for (pair, names) in means.windows(2).zip(deviations.windows(2)) {
        let error = Z * pair[0].0.se.hypot(pair[1].0.se);
        let fall = pair[0].0.mean - pair[1].0.mean;
        let what = format!("Analog SGD: fall of E[W] from σ = {} to {}, beyond chance", names[0], names[1]);
        checks.push(Check::at_least(what, fall - error, 0.0, 0.0));
    }
    // At σ = 4 the law's own premise, small steps of P, is gone.
    for ((analog, residual, law), deviation) in means.iter().zip(deviations).take(4).skip(1) {
        let drift = 0.5 - analog.mean;
        let what = format!("Residual Learning: |E[W̄] − W*| over Analog SGD's, σ = {deviation}");
        let share = (residual.mean.abs() - Z * residual.se).max(0.0) / drift;
        // Twice the law: β is as large as α here, where the two time scales it assumes are not apart.
        checks.push(Check::at_most(what, share, 2.0 * law.abs() / drift, 0.0));
    }
    Ok(checks)
}

/// φ = (√5 − 1)/2: the low-discrepancy stand-in for uniform draws.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// f(W̄_k) − f* at k = 0, 10, …, 1000 on the instance without random numbers.
fn sweep(context: &Context, hardware_condition: f64, mixing: f64) -> Result<Vec<f64>, ClaimError> {
    let n = 1024;
    let curvature = (0..n).map(|i| 0.5 + 3.5 * (f64::from(i) + 0.5) / f64::from(n)).collect();
    let minimizer = (0..n).map(|i| 0.5 + (f64::from(i + 1) * GOLDEN).fract()).collect();
    let objective = Arc::new(DiagonalQuadratic::new(curvature, minimizer)?);
    let device: Device = Arc::new(Linear::with_condition(hardware_condition, 1.0)?);
    let bench = context.device(&device);
    let (main, residual) = (array(0.0, bench.clone(), n as usize)?, array(0.0, bench, n as usize)?);
    let mut rule = ResidualLearning::new(main, residual, ResidualConfig::mixing(mixing))?;
    let problem = Noisy::new(objective.clone(), Noise::None)?;
    let mut errors = Vec::new();
    let mut look = |k: u64, _: usize, rule: &dyn Rule| {
        if k.is_multiple_of(10) {
            errors.push(objective.value(rule.effective_weights()));
        }
        Control::Continue
    };
    let (rates, key) = (rule::Rates::new(context.rate(1e-3), context.rate(1e-3)), context.key("kappa-sweep"));
    minimize_observed(&problem, &mut [&mut rule], &rates, 0..1000, key, &mut look)?;
    Ok(errors)
}

/// Recorded steps k > 0 at which a larger κ₂ has the smaller error: their number and the first.
fn order_violations(context: &Context, mixing: f64) -> Result<(usize, Option<usize>), ClaimError> {
    let curves: Vec<Vec<f64>> =
        [1.0, 2.0, 4.0, 8.0, 16.0].iter().map(|&k| sweep(context, k, mixing)).collect::<Result<_, _>>()?;
    let broken = |&i: &usize| curves.windows(2).any(|pair| pair[0][i] >= pair[1][i]);
    let steps: Vec<usize> = (1..curves[0].len()).filter(broken).collect();
    Ok((steps.len(), steps.first().map(|i| 10 * i)))
}

fn kappa_sweep(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    let table =
        [(1.0, 100.145430), (2.0, 123.659510), (4.0, 149.075026), (8.0, 173.138947), (16.0, 193.042209)];
    for (condition, value) in table {
        let curve = sweep(context, condition, 0.5)?;
        let last = curve.last().copied().unwrap_or(f64::NAN);
        // Reference values carry six decimals.
        checks.push(Check::equals(format!("f(W̄) − f* at k = 1000, κ₂ = {condition}"), last, value, 1e-6));
    }
    let (broken, _) = order_violations(context, 0.5)?;
    checks.push(Check::equals("recorded steps at which the order is broken, γ = 0.5", broken as f64, 0.0, 0.0));
    for (mixing, reference) in [(1.0, 780.0), (2.0, 520.0)] {
        let first = order_violations(context, mixing)?.1.map_or(f64::NAN, |k| k as f64);
        // The instance behind the reference crossings is not recorded, so they are met to 5 % only.
        checks.push(Check::equals(
            format!(
                "first step at which it is, γ = {mixing}: the claim needs γ ≤ 0.7, which the paper does not say"
            ),
            first,
            reference,
            0.05 * reference,
        ));
    }
    let growth = (table[4].1 / table[0].1).log(16.0);
    checks.push(Check::note(format!(
        "The order is monotone, but the dependence is about κ₂^{growth:.2}, no fourth power: at a fixed α only the \
         transient feels κ₂."
    )));
    Ok(checks)
}

/// Drift of Analog SGD at σ = 1 on the power response of this shape and radius, simulated, with the predicted drift.
pub(crate) fn drift(context: &Context, shape: f64, radius: f64) -> Result<(Summary, f64, f64), ClaimError> {
    let (toy, device): (_, Device) = (Toy::gaussian(1.0), Arc::new(Power::new(shape, radius)?));
    let (rate, steps, replicas) = context.pick((4e-3, 3000, 10_000), (8e-3, 1500, 3000));
    let key = context.key("asymmetry-radius");
    let ends = replicate(context, key, (replicas, 1), steps, |n| {
        Ok((toy.problem(n)?, vec![analog(context, &toy, &device, rate, n)?]))
    })?;
    let found = Summary::of(ends[0].main.iter().map(|w| toy.minimizer - w));
    let bias = toy.finite_rate_bias(&*device, rate, steps, found.std);
    Ok((found, toy.minimizer - toy.fixed_point(&*device), bias))
}

fn asymmetry_radius(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    for (shape, radius) in [(0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 2.0)] {
        let slope =
            context.device(&(Arc::new(Power::new(shape, radius)?) as Device)).asymmetry_ratio_derivative(0.0);
        let what = format!("R'(W⋄) at γ_res = {shape}, τ = {radius}");
        checks.push(Check::equals(what, slope, shape / radius, 1e-15));
    }
    let mut drifts = Vec::new();
    for radius in [1.0, 1.5, 2.0] {
        let (found, predicted, bias) = drift(context, 1.0, radius)?;
        checks.push(Check::mean(format!("drift W* − E[W] at τ = {radius}"), found, predicted, bias));
        drifts.push(found);
    }
    for pair in drifts.windows(2) {
        let fall = pair[0].mean - pair[1].mean - Z * pair[0].se.hypot(pair[1].se);
        checks.push(Check::at_least("the drift falls as τ grows by 0.5, beyond chance", fall, 0.0, 0.0));
    }
    Ok(checks)
}
