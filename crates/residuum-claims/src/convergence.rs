//! The convergence theorem and the table of bounds, by simulation with the lemma's own coefficients.

use std::f64::consts::FRAC_2_PI;
use std::sync::Arc;

use residuum::Array;
use residuum::error::ParameterError;
use residuum::objective::DiagonalQuadratic;
use residuum::response::Tanh;
use residuum::rule::{self, ResidualConfig, ResidualLearning};
use residuum::stats::{Summary, Z};
use residuum::theory::coefficients::{Coefficients, LemmaRates, Problem};
use residuum::theory::hard_instance::HardInstance;
use residuum::theory::practical::practical_rates;
use residuum::{Noise, Noisy, Range};

use crate::check::Check;
use crate::context::{Bench, Context, Device};
use crate::moments::Loop;
use crate::simulate::{Ends, Setting, array, replicate};
use crate::{Claim, ClaimError, Outcome};

const GROUP: &str = "convergence";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "thm-convergence",
        group: GROUP,
        title: "convergence of Residual Learning",
        label: "theorem:TT-convergence-scvx",
        statement: "E[V_K] is at most 2048κ₁κ₂⁴σ²(1 + ln X)/(μK); measured, it is about αγq(W⋄)σ²/4.",
        run: theorem,
    },
    Claim {
        id: "table-bounds",
        group: GROUP,
        title: "table of upper and lower bounds",
        label: "table:mu-sc-classical-bounds",
        statement: "The upper bound grows as κ₁κ₂⁴/K and the lower one as κ₂²/K, up to logarithms; measured V falls as 1/K.",
        run: table,
    },
    Claim {
        id: "practical-rates",
        group: GROUP,
        title: "rates for fewer steps than the theorem asks for",
        label: "",
        statement: "αγ = 16 ln K/K and β = 2 ln K/K keep the predicted V and bias where the lemma needs eighteen times more steps.",
        run: practical,
    },
];

/// σ, W* and the distance of the start, as in the theory notes.
const NOISE: f64 = 0.1;
const MINIMIZER: [f64; 2] = [0.5, -0.3];
const DISTANCE: f64 = 0.7;

/// One run of the theorem: two weights of curvature μ = 1 and κ₁ on tanh devices of condition κ₂.
pub(crate) struct Run {
    pub(crate) coefficients: Coefficients,
    /// V_K.
    pub(crate) lyapunov: Summary,
    /// V with f(W̄) averaged over the last quarter of the steps: the same mean, a tenth of the error.
    pub(crate) settled: Summary,
    /// E[V] by the linearised recursion.
    pub(crate) predicted: f64,
    /// αγq(W⋄)σ²/4.
    pub(crate) stationary: f64,
    /// What the stationary law leaves out.
    pub(crate) bias: f64,
}

/// The device of condition κ₂ and the problem as the coefficient lemma sees it.
fn posed(
    (objective_condition, hardware_condition): (f64, f64),
    steps: u64,
) -> Result<(Device, Problem), ClaimError> {
    let slope = (hardware_condition - 1.0) / (hardware_condition + 1.0);
    let device: Device = Arc::new(Tanh::new(1.0, slope, 1.0, 0.0)?);
    let problem = Problem {
        strong_convexity: 1.0,
        smoothness: objective_condition,
        noise: NOISE,
        bounds: device.bounds(Range::ALL),
        steps,
        // f(W̄₀) − f* with P₀ = W⋄, plus (C/2)‖W₀ − W*‖².
        initial_lyapunov: 0.5 * DISTANCE * DISTANCE * (1.0 + objective_condition) + DISTANCE * DISTANCE,
    };
    Ok((device, problem))
}

/// `n`/2 replicas at the start of the theorem.
fn start(
    context: &Context,
    conditions: (f64, f64),
    rates: LemmaRates,
    deviation: f64,
    n: usize,
) -> Result<Setting, ParameterError> {
    let slope = (conditions.1 - 1.0) / (conditions.1 + 1.0);
    let device: Device = Arc::new(Tanh::new(1.0, slope, 1.0, 0.0)?);
    let (h, minimizer) = ([1.0, conditions.0].repeat(n / 2), MINIMIZER.repeat(n / 2));
    let begin: Vec<f64> = minimizer.iter().map(|w| w + DISTANCE).collect();
    let objective = Arc::new(DiagonalQuadratic::new(h, minimizer)?);
    let mut main = array(0.0, context.device(&device), n)?;
    main.program(&begin, residuum::Key::new(0))?;
    let residual = array(0.0, context.device(&device), n)?;
    let of_step = rule::Rates::new(context.rate(rates.learning_rate), context.rate(rates.transfer_rate));
    let rule = Box::new(ResidualLearning::new(main, residual, ResidualConfig::mixing(rates.mixing))?);
    Ok((Noisy::new(objective, Noise::Gaussian { deviation })?, vec![(rule, of_step)]))
}

pub(crate) fn simulate(
    context: &Context,
    conditions: (f64, f64),
    steps: u64,
    replicas: usize,
) -> Result<Run, ClaimError> {
    simulate_with(context, conditions, steps, replicas, NOISE / 2f64.sqrt())
}

/// The same with this deviation of each coordinate's noise, in place of one that makes σ in total.
fn simulate_with(
    context: &Context,
    conditions: (f64, f64),
    steps: u64,
    replicas: usize,
    drawn: f64,
) -> Result<Run, ClaimError> {
    let (objective_condition, hardware_condition) = conditions;
    let (device, problem) = posed(conditions, steps)?;
    let curvature = [1.0, objective_condition];
    let coefficients = problem.coefficients()?;
    let rates = coefficients.rates;
    let key = context
        .key("thm-convergence")
        .fold(steps)
        .fold((objective_condition * 64.0 + hardware_condition) as u64);
    let ends = replicate(context, key, (replicas, 2), steps, |n| start(context, conditions, rates, drawn, n))?;
    let deviation = NOISE / 2f64.sqrt();
    let stationary = 0.25 * rates.learning_rate * rates.mixing * NOISE * NOISE;
    let stiffness = deviation * device.asymmetry_ratio_derivative(0.0) / rates.mixing;
    let fast = rates.learning_rate * rates.mixing * objective_condition;
    // The upper level adds β/(αγμ) of it, the penalty's stiffness and the finite step change it by their own size, and
    // the start is forgotten at rate β on every part of V.
    let forgotten = (-2.0 * rates.transfer_rate * steps as f64 / (1.0 + stiffness)).exp();
    let relative = rates.transfer_rate / (rates.learning_rate * rates.mixing) + stiffness + fast;
    let predicted = curvature.iter().zip(MINIMIZER).map(|(&curvature, minimizer)| {
        let coordinate = Loop {
            curvature,
            deviation,
            learning_rate: rates.learning_rate,
            transfer_rate: rates.transfer_rate,
            mixing: rates.mixing,
            stiffness: deviation * FRAC_2_PI.sqrt() * device.asymmetry_ratio_derivative(0.0),
            asymmetry: device.asymmetry_ratio(minimizer),
        };
        let found = coordinate.after(DISTANCE, steps);
        0.5 * curvature * found.tail + 0.5 * rates.weight * found.main
    });
    let value = |d: usize, gap: f64| 0.5 * curvature[d] * gap;
    Ok(Run {
        lyapunov: lyapunov(&ends[0], rates.weight, |i| {
            value(i % 2, (ends[0].effective[i] - MINIMIZER[i % 2]).powi(2))
        }),
        settled: lyapunov(&ends[0], rates.weight, |i| {
            let star = MINIMIZER[i % 2];
            value(i % 2, ends[0].tail_square[i] - 2.0 * star * ends[0].tail[i] + star * star)
        }),
        predicted: predicted.sum(),
        bias: relative * stationary + forgotten * problem.initial_lyapunov,
        stationary,
        coefficients,
    })
}

/// V of each replica, that is of each pair of coordinates, with f − f* of a coordinate as given.
fn lyapunov(ends: &Ends, weight: f64, value: impl Fn(usize) -> f64) -> Summary {
    let part = |i: usize| value(i) + 0.5 * weight * (ends.main[i] - MINIMIZER[i % 2]).powi(2);
    Summary::of((0..ends.main.len() / 2).map(|pair| part(2 * pair) + part(2 * pair + 1)))
}

/// What the linearised recursion leaves out: the fluctuation of |P| in the step of W, R(W*)²(1 − 2/π) of the upper
/// level, and the gradient's own part in E|∇f|, αγ/4 of the stiffness. Both are below 1 % of V here.
const LINEARISATION: f64 = 0.02;

/// E[V_K] of an independent prototype with its standard error, for κ₁, κ₂ and K.
const PROTOTYPE: [(f64, f64, u64, f64, f64); 5] = [
    (1.0, 2.0, 20_000, 5.18533937538e-05, 2.45072118057e-06),
    (1.0, 2.0, 40_000, 3.26687948102e-05, 1.52532126012e-06),
    (1.0, 2.0, 80_000, 1.76343242731e-05, 8.41016826662e-07),
    (4.0, 2.0, 80_000, 1.47440213792e-05, 7.35403259331e-07),
    (4.0, 2.0, 160_000, 7.78910107707e-06, 5.24742423646e-07),
];

fn theorem(context: &Context) -> Outcome {
    let cases: &[(f64, f64, u64, usize)] = context.pick(
        &[
            (1.0, 1.0, 80_000, 2000),
            (1.0, 2.0, 20_000, 3000),
            (1.0, 2.0, 40_000, 2000),
            (1.0, 2.0, 80_000, 2000),
            (4.0, 2.0, 80_000, 1000),
            (4.0, 2.0, 320_000, 500),
            (1.0, 4.0, 320_000, 500),
        ],
        &[
            (1.0, 1.0, 5_000, 1500),
            (1.0, 2.0, 20_000, 1000),
            (1.0, 2.0, 40_000, 250),
            (1.0, 2.0, 80_000, 250),
            (4.0, 2.0, 80_000, 250),
        ],
    );
    // A broken twin is told apart by the shorter ones.
    let cases = if context.bench == Bench::Faithful { cases } else { &cases[..2] };
    let mut checks = Vec::new();
    for &(k1, k2, steps, replicas) in cases {
        let run = simulate(context, (k1, k2), steps, replicas)?;
        let what = |of: &str| format!("{of}, κ₁ = {k1}, κ₂ = {k2}, K = {steps}");
        let bound = context.bound(run.coefficients.lyapunov_bound);
        checks.push(Check::mean_at_most(what("E[V_K] against the bound"), run.lyapunov, bound));
        checks.push(Check::mean(what("E[V_K] against αγq(W⋄)σ²/4"), run.lyapunov, run.stationary, run.bias));
        // The law that is tight, and the bound as the multiple of it that the theorem's own constants give.
        let law = context.law(run.predicted);
        checks.push(Check::mean(
            what("E[V], tail average, against the linearised recursion"),
            run.settled,
            law,
            LINEARISATION * law,
        ));
        let spread = Z * run.settled.se / run.settled.mean + LINEARISATION;
        let log = 1.0 + run.coefficients.log_argument.ln();
        let multiple = 2048.0 * k1 * k2.powi(4) * NOISE * NOISE * log / (steps as f64 * run.predicted);
        checks.push(Check::equals(
            what("slack of the bound, bound/E[V], against its own constants"),
            bound / run.settled.mean,
            multiple,
            spread * multiple,
        ));
        if let Some(row) = PROTOTYPE.iter().find(|row| (row.0, row.1, row.2) == (k1, k2, steps)) {
            checks.push(Check::mean(what("E[V] against the prototype"), run.settled, row.3, Z * row.4));
        }
    }
    checks.push(noise_of_each(context)?);
    Ok(checks)
}

/// σ is the total over coordinates: with that deviation in each of the two the law does not fit.
fn noise_of_each(context: &Context) -> Result<Check, ClaimError> {
    let run = simulate_with(context, (1.0, 2.0), 20_000, 100, NOISE)?;
    let law = run.predicted;
    let what = "E[V] with deviation σ in each coordinate, against the law of a total σ";
    Ok(Check::mean(what, run.settled, law, LINEARISATION * law).expected_to_differ())
}

fn practical(context: &Context) -> Outcome {
    let (steps, replicas, noise) = (20_000, context.pick(2000, 800), 0.5);
    let problem = Problem { noise, ..posed((1.0, 4.0), steps)?.1 };
    let needed = problem.sufficient_steps()? as f64;
    let chosen = practical_rates(&problem, 1.0)?;
    let key = context.key("practical-rates");
    let ends = replicate(context, key, (replicas, 2), steps, |n| {
        start(context, (1.0, 4.0), chosen.rates, noise / 2f64.sqrt(), n)
    })?;
    let gap = |i: usize| 0.5 * (ends[0].effective[i] - MINIMIZER[i % 2]).powi(2);
    let found = lyapunov(&ends[0], chosen.rates.weight, gap);
    // Beyond the linear law: the bias, whose (μ/2)·square in each of two coordinates the mixing was chosen to cap.
    let (law, bias) = (chosen.stationary_lyapunov, chosen.bias_bound.powi(2));
    let mut checks = vec![
        Check::at_least("steps the theorem asks for, over the 20000 taken", needed / steps as f64, 15.0, 0.0),
        Check::mean("E[V_K] against the predicted one, κ₂ = 4", found, law, bias),
        Check::mean("the same against the law of twice the noise", found, 4.0 * law, bias).expected_to_differ(),
    ];
    for d in 0..2 {
        let offsets = ends[0].effective.iter().skip(d).step_by(2).map(|w| w - MINIMIZER[d]);
        let what = format!("|E[W̄] − W*| within the predicted bias, coordinate {}", d + 1);
        checks.push(Check::mean(what, Summary::of(offsets), 0.0, chosen.bias_bound));
    }
    Ok(checks)
}

fn table(context: &Context) -> Outcome {
    let (short, long, replicas) = context.pick((20_000, 80_000, 2000), (20_000, 80_000, 150));
    let runs = [short, long].map(|steps| simulate(context, (1.0, 2.0), steps, replicas));
    let [first, last] = runs;
    let (first, last) = (first?, last?);
    let per_log = |run: &Run| run.settled.mean / run.coefficients.log_argument.ln();
    let span = (long as f64 / short as f64).ln();
    let relative = |run: &Run| (run.settled.se / run.settled.mean, run.bias / run.stationary);
    let ((a, c), (b, d)) = (relative(&first), relative(&last));
    let slope = (per_log(&last) / per_log(&first)).ln() / span;
    let mut checks =
        vec![Check::equals("power of K in E[V_K]/ln X", slope, -1.0, (Z * a.hypot(b) + (c - d).abs()) / span)];

    let prefactor = |objective_condition: f64, hardware_condition: f64| -> Result<f64, ClaimError> {
        let mut problem = crate::descent::tabulated(hardware_condition, NOISE);
        problem.smoothness = objective_condition;
        problem.steps = 100_000_000;
        let chosen = problem.coefficients()?;
        Ok(chosen.lyapunov_bound / (1.0 + chosen.log_argument.ln()))
    };
    let one = prefactor(1.0, 1.0)?;
    checks.push(Check::equals(
        "power of κ₁ in the upper bound",
        (prefactor(4.0, 1.0)? / one).log(4.0),
        1.0,
        1e-12,
    ));
    checks.push(Check::equals(
        "power of κ₂ in the upper bound",
        (prefactor(1.0, 4.0)? / one).log(4.0),
        4.0,
        1e-12,
    ));
    let floor = |hardware_condition: f64| -> Result<f64, ClaimError> {
        let instance = HardInstance::new(hardware_condition, 1.0, 1.0, 1.0, 1.0)?;
        let chosen = instance.prescribed(2_000_000_000)?;
        Ok(chosen.rates.learning_rate * chosen.rates.mixing / chosen.log_argument.ln())
    };
    checks.push(Check::equals(
        "power of κ₂ in the lower bound",
        (floor(4.0)? / floor(1.0)?).log(4.0),
        2.0,
        1e-12,
    ));
    Ok(checks)
}
