//! The lemmas behind the convergence theorem: descent of both levels, the coefficients, the one-step contraction.
//!
//! Noise sits on two or three atoms, so the expectations are sums and the inequalities are checked exactly.

use residuum::response::Tanh;
use residuum::theory::coefficients::{Problem, Rates};
use residuum::theory::lyapunov::{Bowl, OneStep};
use residuum::theory::operator::{FiniteNoise, Inequality};
use residuum::{Bounds, Range};

use super::check::Check;
use super::context::Context;
use super::operator::never_violated;
use super::{Claim, ClaimError, Outcome};

const GROUP: &str = "descent";

pub(super) const CLAIMS: &[Claim] = &[
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

/// Applies `lemma` to random states, for several κ₁, κ₂, noise laws, and step sizes up to the largest allowed.
fn from_random_states(
    context: &Context,
    name: &str,
    lemma: impl Fn(&OneStep, (f64, f64)) -> Inequality,
) -> Result<Vec<Inequality>, ClaimError> {
    let states = context.pick(1500, 200);
    let mut found = Vec::new();
    for objective_condition in [1.0, 4.0, 16.0] {
        for slope in [0.0, 1.0 / 3.0, 0.6, 0.88] {
            let main = Tanh::new(1.0, slope, 0.8, -0.3)?;
            let residual = Tanh::new(1.0, slope, 0.6, 0.1)?;
            let bounds = residual.bounds_with(&main);
            for (law, noise) in
                [FiniteNoise::two_point(0.4, 0.2)?, FiniteNoise::three_point(0.4)?].iter().enumerate()
            {
                let key =
                    context.key(name).fold(objective_condition as u64).fold(slope.to_bits()).fold(law as u64);
                let problem = Problem {
                    strong_convexity: 1.0,
                    smoothness: objective_condition,
                    noise: noise.variance().sqrt(),
                    bounds,
                    steps: 1,
                    initial_lyapunov: 1.0,
                };
                for i in 0..states {
                    let draw = |j: u64| key.fold(i).uniform_at(j);
                    let mixing = problem.least_mixing().max(0.5) * (1.0 + draw(0));
                    let fastest = bounds.min / (4.0 * mixing * objective_condition * bounds.max.powi(2));
                    // Every other state meets the largest step allowed.
                    let share = if i % 2 == 0 { 1.0 } else { draw(1) + 1e-3 };
                    let step = OneStep {
                        objective: Bowl::new(1.0, objective_condition)?,
                        main: &main,
                        residual: &residual,
                        rates: context.rates(Rates::coupled(1.0, bounds, share * fastest, mixing)),
                        noise,
                    };
                    // Offsets of P span the same W̄ whatever γ is.
                    let state = (6.0 * draw(2) - 3.0, 0.1 + (6.0 * draw(3) - 3.0) / mixing);
                    found.push(lemma(&step, state));
                }
            }
        }
    }
    Ok(found)
}

/// Bounds that two responses share.
trait Shared {
    fn bounds_with(&self, other: &Self) -> Bounds;
}

impl<R: residuum::ResponseFunction> Shared for R {
    fn bounds_with(&self, other: &Self) -> Bounds {
        let (a, b) = (self.bounds(Range::ALL), other.bounds(Range::ALL));
        Bounds {
            range: Range::ALL,
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            lipschitz: a.lipschitz.max(b.lipschitz),
        }
    }
}

fn effective_descent(context: &Context) -> Outcome {
    let name = "lem-effective-descent";
    let moving = from_random_states(context, name, |step, (w, p)| step.effective_descent(w, p))?;
    let held = from_random_states(context, name, |step, (w, p)| step.half_descent(w, p))?;
    Ok(vec![
        never_violated(&format!("W moves, {} states", moving.len()), moving),
        never_violated(&format!("W is held, {} states", held.len()), held),
    ])
}

fn main_descent(context: &Context) -> Outcome {
    let found = from_random_states(context, "lem-main-descent", |step, (w, p)| step.main_descent(w, p))?;
    Ok(vec![never_violated(&format!("{} states", found.len()), found)])
}

fn contraction(context: &Context) -> Outcome {
    let found = from_random_states(context, "one-step-contraction", |step, (w, p)| step.contraction(w, p))?;
    Ok(vec![never_violated(&format!("{} states", found.len()), found)])
}

/// A problem of condition κ₂ with V₀ = 0.98, κ₁ = μ = 1; the tables of smallest K are for it.
pub(super) fn tabulated(hardware_condition: f64, noise: f64) -> Problem {
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
