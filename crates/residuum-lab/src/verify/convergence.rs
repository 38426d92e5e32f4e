//! The convergence theorem and the table of bounds, by simulation with the lemma's own coefficients.

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::Tanh;
use residuum::rule::ResidualLearning;
use residuum::stats::{Summary, Z};
use residuum::theory::coefficients::{Coefficients, Problem};
use residuum::theory::hard_instance::HardInstance;
use residuum::{Noise, Noisy, Range};

use super::check::Check;
use super::context::{Context, Device};
use super::simulate::{Ends, array, replicate};
use super::{Claim, ClaimError, Outcome};

const GROUP: &str = "convergence";

pub(super) const CLAIMS: &[Claim] = &[
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
];

/// σ, W* and the distance of the start, as in the theory notes.
const NOISE: f64 = 0.1;
const MINIMIZER: [f64; 2] = [0.5, -0.3];
const DISTANCE: f64 = 0.7;

/// One run of the theorem: two weights of curvature μ = 1 and κ₁ on tanh devices of condition κ₂.
pub(super) struct Run {
    pub(super) coefficients: Coefficients,
    /// V_K.
    pub(super) lyapunov: Summary,
    /// αγq(W⋄)σ²/4.
    pub(super) stationary: f64,
    /// What the stationary law leaves out.
    pub(super) bias: f64,
}

pub(super) fn simulate(
    context: &Context,
    (objective_condition, hardware_condition): (f64, f64),
    steps: u64,
    replicas: usize,
) -> Result<Run, ClaimError> {
    let slope = (hardware_condition - 1.0) / (hardware_condition + 1.0);
    let device: Device = Arc::new(Tanh::new(1.0, slope, 1.0, 0.0)?);
    let curvature = [1.0, objective_condition];
    let problem = Problem {
        strong_convexity: 1.0,
        smoothness: objective_condition,
        noise: NOISE,
        bounds: device.bounds(Range::ALL),
        steps,
        // f(W̄₀) − f* with P₀ = W⋄, plus (C/2)‖W₀ − W*‖².
        initial_lyapunov: 0.5 * DISTANCE * DISTANCE * (1.0 + objective_condition) + DISTANCE * DISTANCE,
    };
    let coefficients = problem.coefficients()?;
    let rates = coefficients.rates;
    let key = context
        .key("thm-convergence")
        .fold(steps)
        .fold((objective_condition * 64.0 + hardware_condition) as u64);
    let deviation = NOISE / 2f64.sqrt();
    let ends = replicate(context, key, (replicas, 2), steps, |n| {
        let (h, minimizer) = (curvature.repeat(n / 2), MINIMIZER.repeat(n / 2));
        let start: Vec<f64> = minimizer.iter().map(|w| w + DISTANCE).collect();
        let objective = Arc::new(DiagonalQuadratic::new(h, minimizer)?);
        let mut main = array(0.0, context.device(&device), n)?;
        main.program(&start)?;
        let residual = array(0.0, context.device(&device), n)?;
        let (alpha, beta) = (context.rate(rates.learning_rate), context.rate(rates.transfer_rate));
        let rule = ResidualLearning::new(main, residual, rates.mixing, alpha, beta)?;
        Ok((Noisy::new(objective, Noise::Gaussian { deviation })?, vec![Box::new(rule)]))
    })?;
    let stationary = 0.25 * rates.learning_rate * rates.mixing * NOISE * NOISE;
    let stiffness = deviation * device.asymmetry_ratio_derivative(0.0) / rates.mixing;
    let fast = rates.learning_rate * rates.mixing * objective_condition;
    // The upper level adds β/(αγμ) of it, the penalty's stiffness and the finite step change it by their own size, and
    // the start is forgotten at rate β on every part of V.
    let forgotten = (-2.0 * rates.transfer_rate * steps as f64 / (1.0 + stiffness)).exp();
    let relative = rates.transfer_rate / (rates.learning_rate * rates.mixing) + stiffness + fast;
    Ok(Run {
        lyapunov: lyapunov(&ends[0], curvature, rates.weight),
        bias: relative * stationary + forgotten * problem.initial_lyapunov,
        stationary,
        coefficients,
    })
}

/// V of each replica, that is of each pair of coordinates.
fn lyapunov(ends: &Ends, curvature: [f64; 2], weight: f64) -> Summary {
    let pairs = ends.effective.chunks_exact(2).zip(ends.main.chunks_exact(2));
    Summary::of(pairs.map(|(effective, main)| {
        (0..2)
            .map(|d| {
                let (gap, rest) = (effective[d] - MINIMIZER[d], main[d] - MINIMIZER[d]);
                0.5 * curvature[d] * gap * gap + 0.5 * weight * rest * rest
            })
            .sum()
    }))
}

fn theorem(context: &Context) -> Outcome {
    let cases: &[(f64, f64, u64, usize)] = context.pick(
        &[
            (1.0, 1.0, 80_000, 2000),
            (1.0, 2.0, 20_000, 3000),
            (1.0, 2.0, 80_000, 2000),
            (4.0, 2.0, 320_000, 500),
            (1.0, 4.0, 320_000, 500),
        ],
        &[(1.0, 1.0, 5_000, 1500), (1.0, 2.0, 20_000, 1500)],
    );
    let mut checks = Vec::new();
    for &(k1, k2, steps, replicas) in cases {
        let run = simulate(context, (k1, k2), steps, replicas)?;
        let what = |of: &str| format!("{of}, κ₁ = {k1}, κ₂ = {k2}, K = {steps}");
        checks.push(Check::mean_at_most(
            what("E[V_K] against the bound"),
            run.lyapunov,
            run.coefficients.lyapunov_bound,
        ));
        checks.push(Check::mean(what("E[V_K] against αγq(W⋄)σ²/4"), run.lyapunov, run.stationary, run.bias));
    }
    Ok(checks)
}

fn table(context: &Context) -> Outcome {
    let (short, long, replicas) = context.pick((20_000, 80_000, 2000), (10_000, 40_000, 750));
    let runs = [short, long].map(|steps| simulate(context, (1.0, 2.0), steps, replicas));
    let [first, last] = runs;
    let (first, last) = (first?, last?);
    let per_log = |run: &Run| run.lyapunov.mean / run.coefficients.log_argument.ln();
    let span = (long as f64 / short as f64).ln();
    let relative = |run: &Run| (run.lyapunov.se / run.lyapunov.mean, run.bias / run.stationary);
    let ((a, c), (b, d)) = (relative(&first), relative(&last));
    let slope = (per_log(&last) / per_log(&first)).ln() / span;
    let mut checks =
        vec![Check::equals("power of K in E[V_K]/ln X", slope, -1.0, (Z * a.hypot(b) + (c - d).abs()) / span)];

    let prefactor = |objective_condition: f64, hardware_condition: f64| -> Result<f64, ClaimError> {
        let mut problem = super::descent::tabulated(hardware_condition, NOISE);
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
