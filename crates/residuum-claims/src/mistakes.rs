//! What the paper prints wrongly: as printed, expected to fail, and as corrected, which must hold.
#![expect(clippy::unnecessary_wraps, reason = "every claim has one signature")]

use residuum::Noise;
use residuum::response::Swapped;
use residuum::stats::{Summary, Z};
use residuum::theory::hard_instance::HardInstance;
use residuum::theory::lyapunov::residual_weight;
use residuum::theory::operator::{FiniteNoise, Inequality, Operator, geometric_sum};

use crate::check::Check;
use crate::context::Context;
use crate::operator::{Case, never_violated, share_violated, worst};
use crate::simulate::{Toy, analog, mean, replicate};
use crate::{Claim, Outcome, beyond, bilevel, convergence, devices, experiments};

const fn claim(
    id: &'static str,
    label: &'static str,
    title: &'static str,
    statement: &'static str,
    run: fn(&Context) -> Outcome,
) -> Claim {
    Claim { id, group: "mistakes", title, label, statement, run }
}

pub(crate) const CLAIMS: &[Claim] = &[
    claim(
        "mistake-1",
        "eq:A-noisy-perturbation",
        "sign of q_min/4 in the proof of (iii)",
        "The first line must read ≥ −(q_min/4)‖Δ‖² − …; with the printed plus sign δ = 0 refutes it.",
        noisy_line,
    ),
    claim(
        "mistake-2",
        "eq:A-noisy-perturbation",
        "a stray 1/q_min in the same chain",
        "The fourth line has a factor 1/q_min too many, so the chain goes up where q_min < 1.",
        noisy_chain,
    ),
    claim(
        "mistake-3",
        "inequality:TT-convergence-1-T2",
        "the step of P in the appendix",
        "P moves by A(−α∇f; P); the printed −αA(∇f; P) flips the sign of G and drives P to the end of its range.",
        residual_step,
    ),
    claim(
        "mistake-4",
        "problem:shifted-P",
        "the penalty of the shifted problem lacks a factor γ",
        "P tends to the minimiser of f(W + γ(P − W⋄)) + γ⟨Σ, R_c(P)⟩, not of the printed problem.",
        shifted_problem,
    ),
    claim(
        "mistake-5",
        "problem:shifted-P",
        "a gradient without its γ",
        "The stochastic gradient before the shifted problem is ∇f(W + γ(P − W⋄); ξ).",
        |_| Ok(vec![Check::note("The text has ∇f(W + (P − W⋄); ξ): a slip of the pen, used nowhere.")]),
    ),
    claim(
        "mistake-6",
        "lemma:lip-analog-update",
        "which argument A is Lipschitz in",
        "The lemma is about the desired increment, the first argument.",
        |_| Ok(vec![Check::note("The text says the second; the formula is right (claim lem-lipschitz).")]),
    ),
    claim(
        "mistake-7",
        "assumption:Lip",
        "strong convexity as a bound on gradients",
        "μ‖W − W'‖ ≤ ‖∇f(W) − ∇f(W')‖ ≤ L‖W − W'‖ is met by −w²/2, for which quadratic growth fails.",
        gradient_bounds,
    ),
    claim(
        "mistake-8",
        "section:experiments",
        "asymmetry against τ",
        "“The larger τ and γ_res are, the higher the asymmetry” is wrong for τ: R'(W⋄) = γ_res/τ.",
        larger_radius,
    ),
    claim(
        "mistake-9",
        "eq:pair-floor-rate",
        "a geometric sum",
        "Σ_{k<K}(1 − x)^k is (1 − (1 − x)^K)/x, always below the 1/x that is claimed as a lower bound.",
        unrolled_sum,
    ),
    claim(
        "mistake-10",
        "theorem:optimum-of-bilevel-penalized-problem",
        "a regular response with another lower-level solution",
        "The theorem needs ⟨Σ, R_c⟩ ≥ 0; a regular, non-monotone response has P*(W*) ≠ W⋄.",
        counterexample,
    ),
    claim(
        "mistake-11",
        "theorem:implicit-regularization",
        "constants after the fact",
        "For one fixed pair W*, W⋄ the theorem is trivially true; it must be read uniformly as W⋄ → W*.",
        |_| {
            Ok(vec![Check::note(
                "Its proof says “sufficiently close”; thm-implicit-penalty checks that reading.",
            )])
        },
    ),
    claim(
        "mistake-12",
        "section:main-results",
        "Analog SGD and the penalized minimiser",
        "Analog SGD ends at the zero of T; W̃* and the minimiser of f_Σ are only close to it.",
        penalized_limit,
    ),
    claim(
        "mistake-13",
        "problem:residual-learning",
        "“Σ = 0” at the upper level",
        "P fluctuates, so at constant rates W sees a penalty too and keeps a bias of order √α.",
        upper_level,
    ),
    claim(
        "mistake-14",
        "theorem:lower-bound",
        "the lower bound speaks of one step size",
        "The floor is that of the prescribed α, from K ≥ 32768eκ₂^5.5 on; tuned steps show no κ₂ on the same instance.",
        prescribed_only,
    ),
    claim(
        "mistake-15",
        "theorem:lower-bound",
        "“the same conditions”",
        "The hard instance has two response pairs and noise whose law follows P.",
        |_| {
            Ok(vec![Check::note(
                "The assumptions allow both, but the upper bound's text has one pair and fixed noise.",
            )])
        },
    ),
    claim(
        "mistake-16",
        "inequality:TT-convergence-Lya-7",
        "an equality that is a bound",
        "E[V_K] is at most the displayed expression, not equal to it; likewise in the smoothness step for W̄.",
        equality_sign,
    ),
    claim(
        "mistake-17",
        "inequality:TT-convergence-upperbound-faster",
        "the weight of the upper level",
        "The theorem states C‖P* − W⋄‖², its proof bounds (Cγ²/2)‖P* − W⋄‖².",
        upper_weight,
    ),
    claim(
        "mistake-18",
        "table:CIFAR-fine-tune-pow",
        "CIFAR gains",
        "“Around 2 %” and “consistently” are not what the tables say.",
        |_| {
            Ok(vec![Check::note(
                "The tables give 1.60 and 0.92 points for ResNet34 and ResNet50 on CIFAR100 with the power response, \
                 and Residual Learning below Analog SGD for ResNet50 with the exponential one (79.75 against 81.40).",
            )])
        },
    ),
    claim(
        "mistake-19",
        "table:MNIST-pow-and-exp",
        "MNIST losses",
        "“Drops by < 1 %” is not what the table says.",
        |_| Ok(vec![Check::note("The table has 98.17 falling to 96.82 at γ_res = 0.5, τ = 0.8.")]),
    ),
    claim(
        "mistake-20",
        "theorem:TT-convergence-scvx",
        "a “decaying” step size",
        "α is constant in k and depends on K.",
        |_| Ok(vec![Check::note("It shrinks with the number of steps planned, not with the steps taken.")]),
    ),
];

fn noisy_line(context: &Context) -> Outcome {
    let cases = Case::many(context, "mistake-1")?;
    let printed = || cases.iter().map(|c| c.operator.noisy_line_as_printed(&c.desired, &c.noise));
    let corrected = cases.iter().map(|c| c.operator.noisy_line_corrected(&c.desired, &c.noise));
    // Half of the cases with noise far above Δ and half with noise far below, where 0 ≥ q_min/4 ‖Δ‖² fails.
    let share = share_violated(printed());
    Ok(vec![
        never_violated(context, "with +q_min/4", printed()).misprinted(),
        Check::equals("share of cases that break the printed line", share, 0.5, 0.1),
        never_violated(context, "with −q_min/4", corrected),
    ])
}

fn noisy_chain(context: &Context) -> Outcome {
    // q_min = 0.4: the fourth line then lies below the third and the fifth.
    let operator = Operator::new(vec![0.4, 1.0], vec![1.2, 0.7])?;
    let noise = FiniteNoise::new(vec![vec![0.5, -0.2], vec![-0.5, 0.2]], vec![1.0, 1.0])?;
    let steps = operator.noisy_chain_as_printed(&[0.3, -0.1], &noise);
    let mut checks = vec![
        Check::at_most("chain as printed, q_min = 0.4: worst step", worst(steps), 0.0, 1e-12).misprinted(),
        never_violated(context, "statement (iii) itself", [operator.noisy_coercivity(&[0.3, -0.1], &noise)]),
    ];
    // The stray factor is above 1, below 1 or 1, and breaks the step into its line, out of it, or none.
    let two_point = FiniteNoise::two_point(1.0, 0.3)?;
    for (least, broken) in [(0.5, [0.0, 1.0]), (2.0, [1.0, 0.0]), (1.0, [0.0, 0.0])] {
        let operator = Operator::new(vec![least], vec![3.0 * least])?;
        let steps = operator.noisy_chain_as_printed(&[1.0], &two_point);
        for ((step, expected), name) in steps.into_iter().zip(broken).zip(["into", "out of"]) {
            let what = format!("q_min = {least}: the step {name} the fourth line breaks (1) or not (0)");
            checks.push(Check::equals(what, share_violated([step].into_iter()), expected, 0.0));
        }
    }
    Ok(checks)
}

fn residual_step(context: &Context) -> Outcome {
    let device = devices::power(1.0)?;
    let operator = Operator::at(&*device, &[0.5], device.bounds(device.range()));
    let (right, printed) =
        (operator.residual_step(0.1, &[1.0])[0], operator.residual_step_as_printed(0.1, &[1.0])[0]);
    // P alone, W held at W* − 0.3, γ = 1.
    let toy = Toy { curvature: 1.0, minimizer: 0.3, initial: 0.0, noise: Noise::Gaussian { deviation: 1.0 } };
    let (rate, steps, replicas) = context.pick((2e-3, 8000, 4000), (8e-3, 2000, 2000));
    let wrong = std::sync::Arc::new(Swapped(device.clone())) as crate::context::Device;
    let ends = replicate(context, context.key("mistake-3"), (replicas, 1), steps, |n| {
        let rules = vec![analog(context, &toy, &device, rate, n)?, analog(context, &toy, &wrong, rate, n)?];
        Ok((toy.problem(n)?, rules))
    })?;
    let [found, astray] = [0, 1].map(|i| mean(&ends[i].main));
    let zero = toy.fixed_point(&*device);
    let bias = toy.finite_rate_bias(&*device, rate, steps, found.std);
    Ok(vec![
        Check::equals(
            "step from P = 0.5 under ∇f = 1, α = 0.1: printed against A(−α∇f; P)",
            printed,
            right,
            1e-15,
        )
        .misprinted(),
        Check::mean("E[P] with the printed step against the zero of the drift", astray, zero, bias)
            .misprinted(),
        Check::mean("E[P] with A(−α∇f; P)", found, zero, bias),
        Check::at_least("E[P] with the printed step: at the end of the range", astray.mean, 0.9, 0.0),
        // The prototype ran at α = 0.005; the zero of T does not depend on α, the bias at most doubles.
        Check::mean(
            "E[P] with A(−α∇f; P) against the prototype",
            found,
            0.16588589793,
            2.0 * bias + Z * 5.33e-4,
        ),
    ])
}

fn shifted_problem(context: &Context) -> Outcome {
    let held = bilevel::hold_main(context)?;
    let order = (held.corrected - held.zero).abs();
    Ok(vec![
        Check::mean("E[P] against the printed problem, γ = ¼", held.found, held.printed, held.bias + order)
            .misprinted(),
        Check::mean("E[P] against the problem with γ⟨Σ, R_c⟩", held.found, held.corrected, held.bias + order),
    ])
}

/// −w²/2 with μ = L = 1 against w²/2.
fn gradient_bounds(_: &Context) -> Outcome {
    let growth = |curvature: f64| {
        let at = |w: f64| Inequality::between(&[w * w], &[2.0 * 0.5 * curvature * w * w]);
        worst([-2.0, -0.5, 1.0, 3.0].map(at))
    };
    // ∇f(w) = −w between two points.
    let (here, there) = (-2.0f64, 0.5);
    let gap = ((-here) - (-there)).abs() / (here - there).abs();
    Ok(vec![
        Check::equals("−w²/2: ‖∇f(W) − ∇f(W')‖/‖W − W'‖ lies in [μ, L] = [1, 1]", gap, 1.0, 1e-15),
        Check::at_most("−w²/2: violation of quadratic growth", growth(-1.0), 0.0, 1e-12).misprinted(),
        Check::at_most("w²/2, strongly convex: violation of quadratic growth", growth(1.0), 0.0, 1e-12),
    ])
}

fn larger_radius(context: &Context) -> Outcome {
    let [(narrow, ..), (wide, ..), (curved, ..)] = [
        experiments::drift(context, 1.0, 1.0)?,
        experiments::drift(context, 1.0, 2.0)?,
        experiments::drift(context, 2.0, 1.0)?,
    ];
    let more = |than: Summary, found: Summary| (found.mean - than.mean, Z * than.se.hypot(found.se));
    let (by_radius, chance) = more(narrow, wide);
    let (by_shape, other) = more(narrow, curved);
    Ok(vec![
        Check::at_least("growth of the drift from τ = 1 to 2", by_radius, 0.0, chance).misprinted(),
        Check::at_most("the same, corrected: it falls", by_radius, 0.0, chance),
        Check::at_least("growth of the drift from γ_res = 1 to 2, beyond chance", by_shape - other, 0.0, 0.0),
    ])
}

fn unrolled_sum(_: &Context) -> Outcome {
    let cases = [(0.5, 4), (0.01, 100), (1e-3, 200)];
    let printed = cases.map(|(x, steps)| geometric_sum(x, steps));
    let exact = cases.map(|(x, steps): (f64, u64)| {
        let sum: f64 = (0..steps).map(|k| (1.0 - x).powf(k as f64)).sum();
        (sum * x / (1.0 - (1.0 - x).powf(steps as f64)) - 1.0).abs()
    });
    Ok(vec![
        Check::at_most("1/x exceeds the sum by, relatively, at worst", worst(printed), 0.0, 1e-12).misprinted(),
        Check::at_most(
            "relative error of (1 − (1 − x)^K)/x",
            exact.into_iter().fold(0.0, f64::max),
            0.0,
            1e-12,
        ),
    ])
}

fn counterexample(_: &Context) -> Outcome {
    let (at, potential) = bilevel::counterexample();
    Ok(vec![
        Check::equals("P*(W*) on the non-monotone response against W⋄", at, 0.0, 1e-6).misprinted(),
        Check::equals("P*(W*) there", at, 3.08, 5e-3),
        Check::at_least("R_c there, which the proof takes to be ≥ 0", potential, 0.0, 0.0).misprinted(),
        Check::note("On responses whose R increases the theorem holds: thm-penalized-bilevel."),
    ])
}

fn penalized_limit(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(0.1), devices::power(1.0)?);
    let (rate, steps, replicas) = context.pick((2e-3, 6000, 16_000), (8e-3, 1500, 4000));
    let ends = replicate(context, context.key("mistake-12"), (replicas, 1), steps, |n| {
        Ok((toy.problem(n)?, vec![analog(context, &toy, &device, rate, n)?]))
    })?;
    let found = mean(&ends[0].main);
    // For this device W̃* is the minimiser of f_Σ exactly.
    let stiffness = toy.magnitude(toy.minimizer) * device.asymmetry_ratio_derivative(0.0);
    let penalized = toy.minimizer / (1.0 + stiffness);
    let bias = toy.finite_rate_bias(&*device, rate, steps, found.std);
    Ok(vec![
        Check::mean("E[W] at σ = 0.1 against W̃* = argmin f_Σ", found, penalized, bias).misprinted(),
        Check::mean("E[W] against the zero of T", found, toy.fixed_point(&*device), bias),
    ])
}

fn upper_level(context: &Context) -> Outcome {
    let found = bilevel::biases(context, &[0.016], context.pick(16_000, 4000))?;
    let Some(b) = found.first() else { return Ok(Vec::new()) };
    Ok(vec![
        Check::mean("E[W] − W* at α = 0.016 against 0", b.main, 0.0, 0.0).misprinted(),
        Check::mean("E[W] − W* against the √α law", b.main, b.law.main_bias, b.next_order(b.law.main_bias)),
    ])
}

fn prescribed_only(context: &Context) -> Outcome {
    let mut checks = Vec::new();
    for condition in [1.0f64, 1.5, 2.0, 3.0] {
        let least = HardInstance::new(condition, 1.0, 1.0, 1.0, 1.0)?.problem(1).sufficient_steps()?;
        let claimed = 32768.0 * std::f64::consts::E * condition.powf(5.5);
        let what = format!("least K of the prescribed α at κ₂ = {condition}, against 32768eκ₂^5.5");
        checks.push(Check::equals(what, least as f64, claimed, 1.0));
    }
    let (power, tolerance) = beyond::tuned_power(context)?;
    checks.push(
        Check::at_least("power of κ₂ under tuned steps, where the abstract has 2", power, 2.0, tolerance)
            .misprinted(),
    );
    checks.push(Check::equals("the same, corrected", power, 0.0, tolerance));
    Ok(checks)
}

fn equality_sign(context: &Context) -> Outcome {
    let run = convergence::simulate(context, (1.0, 1.0), 5_000, 250)?;
    let bound = run.coefficients.lyapunov_bound;
    Ok(vec![
        Check::mean("E[V_K] against the displayed expression, κ₂ = 1, K = 5000", run.lyapunov, bound, 0.0)
            .misprinted(),
        Check::mean_at_most("the same as a bound", run.lyapunov, context.bound(bound)),
    ])
}

fn upper_weight(_: &Context) -> Outcome {
    let (weight, mixing, main) = (1.3, 4.0, 0.7f64);
    let offset = (main / mixing).powi(2);
    let claimed = 0.5 * weight * main * main;
    Ok(vec![
        Check::equals("C‖P* − W⋄‖² against (C/2)‖W − W*‖² at γ = 4", weight * offset, claimed, 1e-12)
            .misprinted(),
        Check::equals("(Cγ²/2)‖P* − W⋄‖² against it", residual_weight(weight, mixing) * offset, claimed, 1e-12),
    ])
}
