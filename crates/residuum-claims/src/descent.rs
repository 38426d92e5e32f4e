//! The lemmas behind the convergence theorem: descent of both levels, the coefficients, the one-step contraction.
//!
//! Noise sits on two or three atoms, so the expectations are sums and the inequalities are checked exactly.

use residuum::response::{Ceiling, Constant, Tanh};
use residuum::theory::coefficients::{LemmaRates, Problem};
use residuum::theory::lyapunov::{Bowl, OneStep};
use residuum::theory::operator::{FiniteNoise, Inequality};
use residuum::{Bounds, Range, ResponseFunction};

use crate::check::Check;
use crate::context::Context;
use crate::operator::never_violated;
use crate::{Claim, ClaimError, Outcome};

const GROUP: &str = "descent";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "lem-effective-descent",
        group: GROUP,
        title: "descent of the lower level",
        label: "lemma:TT-barW-descent",
        statement: "E f(W̄_{k+1}) falls by αγμq_min/2 of its gap up to three error terms, with W moving and with W held.",
        run: effective_descent,
    },
    Claim {
        id: "lem-main-descent",
        group: GROUP,
        title: "descent of the upper level",
        label: "lemma:TT-W-descent",
        statement: "‖P*(W_{k+1}) − W⋄‖² falls by βq_min of itself up to the distance of P_{k+1} from P*(W_k).",
        run: main_descent,
    },
    Claim {
        id: "lem-coefficients",
        group: GROUP,
        title: "choice of α, β, γ and C",
        label: "lemma:TT-coefficient-lower-bounds",
        statement: "Under the lemma's choice A₁ > ρ, A₂ ≥ ρCγ²/2 and A₃ ≤ 0, from a smallest number of steps on.",
        run: coefficients,
    },
    Claim {
        id: "one-step-contraction",
        group: GROUP,
        title: "the Lyapunov function contracts",
        label: "inequality:TT-convergence-Lya-5",
        statement: "E[V_{k+1}] ≤ (1 − ρ)V_k + 2α²γ²Lq_max²σ² from every state.",
        run: contraction,
    },
];

/// A state (W, P) and a P_{k+1} for the lemma about the upper level alone.
struct Drawn {
    main: f64,
    residual: f64,
    next: f64,
}

/// κ₁ and κ₂, and what α and β are multiplied with: 1 within the lemmas.
struct Beyond {
    conditions: &'static [(f64, f64)],
    learning: f64,
    transfer: f64,
}

const WITHIN: Beyond = Beyond {
    conditions: &[
        (1.0, 1.0),
        (1.0, 2.0),
        (1.0, 4.0),
        (1.0, 8.0),
        (1.0, 16.0),
        (4.0, 1.0),
        (4.0, 2.0),
        (4.0, 4.0),
        (4.0, 8.0),
        (4.0, 16.0),
        (16.0, 1.0),
        (16.0, 2.0),
        (16.0, 4.0),
        (16.0, 8.0),
        (16.0, 16.0),
    ],
    learning: 1.0,
    transfer: 1.0,
};
const FAST_LEARNING: Beyond = Beyond { conditions: &[(1.0, 1.0)], learning: 20.0, transfer: 1.0 };
const FAST_TRANSFER: Beyond = Beyond { conditions: &[(1.0, 1.0)], learning: 1.0, transfer: 200.0 };

/// Applies `lemma` to random states, responses, noise laws over two decades and distances over four, with step sizes up
/// to the largest allowed (times those of `beyond`).
fn from_random_states(
    context: &Context,
    name: &str,
    beyond: &Beyond,
    lemma: impl Fn(&OneStep, &Problem, Drawn) -> Inequality,
) -> Result<Vec<Inequality>, ClaimError> {
    let mut found = Vec::new();
    for &(objective_condition, hardware_condition) in beyond.conditions {
        let key = context.key(name).fold(objective_condition as u64).fold(hardware_condition as u64);
        let objective = Bowl::new(1.0, objective_condition)?;
        let slope = (hardware_condition - 1.0) / (hardware_condition + 1.0);
        let ceiling = Ceiling::new(1.0 / hardware_condition, 1.0, 1.0)?;
        let constant = Constant::new(1.0 / hardware_condition)?;
        for i in 0..context.pick(1500, 400) {
            let draw = |j: u64| key.fold(i).uniform_at(j);
            let deviation = 10f64.powf(2.0 * draw(0) - 1.0);
            let noise = if draw(1) < 0.3 {
                FiniteNoise::three_point(deviation)?
            } else {
                FiniteNoise::two_point(deviation, 0.02 + 0.96 * draw(2))?
            };
            let smooth = Tanh::new(1.0, slope, 1.0, draw(3) - 0.5)?;
            let (main, residual): (&dyn ResponseFunction, &dyn ResponseFunction) =
                if draw(4) < 0.5 { (&smooth, &smooth) } else { (&constant, &ceiling) };
            let unit = LemmaRates { learning_rate: 1.0, transfer_rate: 1.0, mixing: 1.0, weight: 1.0 };
            let mut step = OneStep { objective, main, residual, rates: unit, noise: &noise };
            let bounds = step.bounds();
            let problem = Problem {
                strong_convexity: 1.0,
                smoothness: objective_condition,
                noise: noise.variance().sqrt(),
                bounds,
                steps: 1,
                initial_lyapunov: 1.0,
            };
            let mixing = (1.0 + draw(5)) * problem.least_mixing().max(0.1);
            let fastest = bounds.min / (4.0 * mixing * objective_condition * bounds.max.powi(2));
            // Three states in ten meet the largest step allowed.
            let share = if draw(6) < 0.3 { 1.0 } else { draw(6) };
            let mut rates = LemmaRates::coupled(1.0, bounds, beyond.learning * share * fastest, mixing);
            rates.transfer_rate *= beyond.transfer;
            step.rates = context.rates(rates);
            let size = 10f64.powf(4.0 * draw(7) - 2.0);
            let (w, effective) = (size * (2.0 * draw(8) - 1.0), size * (2.0 * draw(9) - 1.0));
            // P from W̄, so that both parts of V matter whatever γ is.
            let point = residual.symmetric_point().unwrap_or(0.0);
            let residual = point + (effective - w) / mixing;
            let next = point + size * (2.0 * draw(10) - 1.0) / mixing;
            found.push(lemma(&step, &problem, Drawn { main: w, residual, next }));
        }
    }
    Ok(found)
}

/// The lemma within its rates, where it must hold, and far beyond them, where it must not.
fn within_and_beyond(
    context: &Context,
    (name, what): (&str, &str),
    beyond: &Beyond,
    lemma: impl Fn(&OneStep, Drawn) -> Inequality,
) -> Outcome {
    let lemma = |step: &OneStep, _: &Problem, at: Drawn| lemma(step, at);
    let within = from_random_states(context, name, &WITHIN, lemma)?;
    let astray = from_random_states(context, name, beyond, lemma)?;
    let (alpha, beta) = (beyond.learning, beyond.transfer);
    let rates = format!("{what}α times {alpha}, β times {beta}, beyond the lemma");
    Ok(vec![
        never_violated(context, &format!("{what}{} states", within.len()), within),
        never_violated(context, &rates, astray).expected_to_differ(),
    ])
}

fn effective_descent(context: &Context) -> Outcome {
    let name = "lem-effective-descent";
    let moving = |step: &OneStep, at: Drawn| step.effective_descent(at.main, at.residual);
    let held = |step: &OneStep, at: Drawn| step.half_descent(at.main, at.residual);
    let mut checks = within_and_beyond(context, (name, "W moves, "), &FAST_LEARNING, moving)?;
    checks.extend(within_and_beyond(context, (name, "W is held, "), &FAST_LEARNING, held)?);
    Ok(checks)
}

fn main_descent(context: &Context) -> Outcome {
    let descent = |step: &OneStep, at: Drawn| step.main_descent(at.main, at.next);
    within_and_beyond(context, ("lem-main-descent", ""), &FAST_TRANSFER, descent)
}

fn contraction(context: &Context) -> Outcome {
    let name = "one-step-contraction";
    let step = |step: &OneStep, at: Drawn| step.contraction(at.main, at.residual);
    let mut checks = within_and_beyond(context, (name, ""), &FAST_LEARNING, step)?;
    let conditions = from_random_states(context, name, &WITHIN, |step, problem, _| {
        let broken = problem.conditions(step.rates).iter().filter(|c| !c.holds()).count();
        Inequality::between(&[broken as f64], &[0.0])
    })?;
    let broken: f64 = conditions.iter().map(|c| c.smaller).sum();
    checks.push(Check::equals("conditions of the coefficient lemma broken at these rates", broken, 0.0, 0.0));
    Ok(checks)
}

/// A problem of condition κ₂ with V₀ = 0.98, κ₁ = μ = 1; the tables of smallest K are for it.
pub(crate) fn tabulated(hardware_condition: f64, noise: f64) -> Problem {
    let bounds = Bounds { range: Range::ALL, min: 1.0, max: hardware_condition, lipschitz: 0.5 };
    Problem { strong_convexity: 1.0, smoothness: 1.0, noise, bounds, steps: 1, initial_lyapunov: 0.98 }
}

fn coefficients(_: &Context) -> Outcome {
    let mut checks = Vec::new();
    let mut broken = 0;
    let mut tight = 0.0f64;
    for (hardware_condition, noise, smallest) in [
        (1.0, 0.1, 367),
        (2.0, 0.1, 1609),
        (4.0, 0.1, 14_542),
        (8.0, 0.1, 232_680),
        (1.0, 1.0, 5681),
        (2.0, 1.0, 90_890),
    ] {
        let problem = tabulated(hardware_condition, noise);
        let steps = problem.sufficient_steps()?;
        let what = format!("least K with ln X ≥ 1 at κ₂ = {hardware_condition}, σ = {noise}");
        checks.push(Check::equals(what, steps as f64, f64::from(smallest), 1.0));
        let chosen = Problem { steps, ..problem }.coefficients()?;
        broken += chosen.conditions.iter().filter(|c| !c.holds()).count();
        if let Some(a2) = chosen.conditions.iter().find(|c| c.statement.contains("A₂")) {
            tight = tight.max((a2.right / a2.left - 1.0).abs());
        }
        let early = Problem { steps: (1.0 / problem.log_argument()) as u64, ..problem };
        broken += usize::from(early.coefficients().is_ok());
    }
    checks.push(Check::equals(
        "conditions broken where they should hold, or met where X < 1",
        broken as f64,
        0.0,
        0.0,
    ));
    checks.push(Check::at_most(
        "A₂ at the smallest γ equals ρCγ²/2, so the lemma's “>” is “≥”: relative difference",
        tight,
        0.0,
        1e-12,
    ));
    let problem = Problem { steps: 20_000, ..tabulated(2.0, 0.1) };
    let too_small = problem.coefficients_with_mixing(0.5 * problem.least_mixing()).is_ok();
    checks.push(Check::equals("half the smallest γ is accepted", f64::from(u8::from(too_small)), 0.0, 0.0));
    Ok(checks)
}
