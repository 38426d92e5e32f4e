//! The hard instance of the lower bound (`theorem:lower-bound`): a scalar quadratic whose noise law follows P.
//!
//! ```text
//! f(W) = μ/2 (W − W*)²,   P on the ceiling response,   W on the constant response q_min,   W⋄ = 0
//! ξ_k = +σ√((1−p_k)/p_k) with probability p_k, else −σ√(p_k/(1−p_k));   p_k = q₊(P_k)/(q₊(P_k) + q₋(P_k))
//! P_{k+1} = P_k + A(−α(μ(W̄_k − W*) + ξ_k); P_k),   W_{k+1} = W_k + βγ q_min P_{k+1}
//! ```
//!
//! Only W − W* matters; the code calls it `main`.

use rayon::prelude::*;

use super::coefficients::{CoefficientError, Coefficients, LemmaRates, Problem};
use super::operator::Inequality;
use crate::error::{ParameterError, positive, require};
use crate::response::{Ceiling, ResponseFunction};
use crate::simd::{self, Kernel};
use crate::stats::Summary;
use crate::{Bounds, Key, Range};

/// Replicas simulated together. Part of the meaning of a key: changing it changes every seeded number.
const BLOCK: usize = 64;

/// The instance: hardware, objective, noise level, γ and start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardInstance {
    response: Ceiling,
    bounds: Bounds,
    strong_convexity: f64,
    noise: f64,
    mixing: f64,
    initial_main: f64,
}

/// The state of a replica: W − W* and P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardState {
    /// W − W*.
    pub main: f64,
    /// P.
    pub residual: f64,
}

/// Result of a simulation, next to the claimed values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulation {
    /// Fraction of replicas that stayed in the confinement region at every step: estimates P(ℰ).
    pub confined: f64,
    /// V_K.
    pub lyapunov: Summary,
    /// f(W̄_K) − f*.
    pub objective: Summary,
    /// The printed floor αγq_maxσ²/192.
    pub floor: f64,
    /// The floor with the factor 1 − (1 − 12αμγq_max)^K that unrolling the recursion gives.
    pub repaired_floor: f64,
    /// αγq_maxσ²/4, the stationary value of f(W̄) − f* on the ceiling, to leading order in the ratio of the slow rate
    /// βq_min to the fast one, αγμq_max; the exact linear value has a factor 1 + that ratio.
    pub stationary: f64,
}

impl HardInstance {
    /// q_min = q_max/κ₂ reached at distance `width`; γ is the smallest the coefficient lemma allows (1 when κ₂ = 1);
    /// W₀ − W* = σ/(4μ) κ₂^{−3/4}, P₀ = 0 (`eq:initial-lyapunov-choice`).
    ///
    /// # Errors
    /// If κ₂ < 1 or another number is not positive.
    pub fn new(
        hardware_condition: f64,
        max: f64,
        width: f64,
        strong_convexity: f64,
        noise: f64,
    ) -> Result<Self, ParameterError> {
        let valid = hardware_condition >= 1.0 && hardware_condition.is_finite();
        require(valid, "hardware_condition", "finite and at least 1", hardware_condition)?;
        let response = Ceiling::new(max / hardware_condition, max, width)?;
        let mut instance = Self {
            response,
            bounds: response.bounds(Range::ALL),
            strong_convexity: positive("strong_convexity", strong_convexity)?,
            noise: positive("noise", noise)?,
            mixing: 1.0,
            initial_main: noise / (4.0 * strong_convexity) * hardware_condition.powf(-0.75),
        };
        let least = instance.problem(1).least_mixing();
        if least > 0.0 {
            instance.mixing = least;
        }
        Ok(instance)
    }

    /// The same instance with another W₀ − W*.
    ///
    /// # Errors
    /// If it is not finite and positive.
    pub fn starting_at(self, initial_main: f64) -> Result<Self, ParameterError> {
        Ok(Self { initial_main: positive("initial_main", initial_main)?, ..self })
    }

    /// γ.
    pub fn mixing(&self) -> f64 {
        self.mixing
    }

    /// The response of P.
    pub fn response(&self) -> &Ceiling {
        &self.response
    }

    /// W₀ − W* and P₀.
    pub fn initial(&self) -> HardState {
        HardState { main: self.initial_main, residual: 0.0 }
    }

    /// The instance as the coefficient lemma sees it; V₀ = μ(W₀ − W*)².
    pub fn problem(&self, steps: u64) -> Problem {
        Problem {
            strong_convexity: self.strong_convexity,
            smoothness: self.strong_convexity,
            noise: self.noise,
            bounds: self.bounds,
            steps,
            initial_lyapunov: self.strong_convexity * self.initial_main * self.initial_main,
        }
    }

    /// The coefficients the lower bound is stated for.
    ///
    /// # Errors
    /// If K is too small: see [`Problem::sufficient_steps`].
    pub fn prescribed(&self, steps: u64) -> Result<Coefficients, CoefficientError> {
        self.problem(steps).coefficients_with_mixing(self.mixing)
    }

    /// A free α with β coupled to it: all the one-step lemma needs, and much faster than the prescribed α.
    ///
    /// # Errors
    /// Unless 0 < α and 12αμγq_max ≤ 1.
    pub fn free(&self, learning_rate: f64) -> Result<LemmaRates, ParameterError> {
        positive("learning_rate", learning_rate)?;
        let rates = LemmaRates::coupled(self.strong_convexity, self.bounds, learning_rate, self.mixing);
        let decay = self.decay(rates);
        require(decay <= 1.0, "12αμγq_max (α is learning_rate)", "at most 1", decay)?;
        Ok(rates)
    }

    /// Steps tuned to the hardware, α = 8 ln K/(γμq_maxK) and β = ln K/(q_minK): the same instance is then no
    /// harder for large κ₂, so the lower bound speaks of the prescribed step size, not of the problem.
    pub fn tuned(&self, steps: u64) -> LemmaRates {
        let per_step = (steps as f64).ln() / steps as f64;
        LemmaRates {
            learning_rate: 8.0 * per_step / (self.mixing * self.strong_convexity * self.bounds.max),
            transfer_rate: per_step / self.bounds.min,
            mixing: self.mixing,
            weight: self.strong_convexity,
        }
    }

    /// 12αμγq_max, the decay of the one-step lemma.
    pub fn decay(&self, rates: LemmaRates) -> f64 {
        12.0 * rates.learning_rate * self.strong_convexity * rates.mixing * self.bounds.max
    }

    /// αγq_maxσ²: every level of the lower bound is a fraction of it.
    fn level(&self, rates: LemmaRates) -> f64 {
        rates.learning_rate * rates.mixing * self.bounds.max * self.noise * self.noise
    }

    /// The bound on P(ℰᶜ) by Doob's inequality, 1/8 + 4α²γ²μ²q_max²Kκ₂^{3/2}
    /// (`eq:confinement-compensated-initial-bound`).
    pub fn escape_bound(&self, rates: LemmaRates, steps: u64) -> f64 {
        let fast = rates.learning_rate * rates.mixing * self.strong_convexity * self.bounds.max;
        0.125 + 4.0 * fast * fast * steps as f64 * self.bounds.hardware_condition().powf(1.5)
    }

    /// The radius of the confinement region, (σ/μ)√(q_min/q_max) (`eq:confinement-event-k`).
    pub fn confinement_radius(&self) -> f64 {
        self.noise / self.strong_convexity / self.bounds.hardware_condition().sqrt()
    }

    /// W̄ − W*.
    #[inline(always)]
    pub fn effective_weight(&self, state: HardState) -> f64 {
        state.main + self.mixing * state.residual
    }

    /// Whether ℰ_k holds at this state.
    pub fn confined(&self, state: HardState) -> bool {
        self.effective_weight(state).abs().max(state.main.abs()) <= self.confinement_radius()
    }

    #[inline(always)]
    fn branches(&self, residual: f64) -> (f64, f64) {
        (self.response.q_plus(residual), self.response.q_minus(residual))
    }

    /// Probability and value of the two atoms of ξ at P (`eq:skewed-noise`), the positive one first.
    #[inline(always)]
    pub fn noise_atoms(&self, residual: f64) -> [(f64, f64); 2] {
        let (plus, minus) = self.branches(residual);
        let p = plus / (plus + minus);
        // √((1−p)/p) = √(q₋/q₊).
        let odds = (minus / plus).sqrt();
        [(p, self.noise * odds), (1.0 - p, -self.noise / odds)]
    }

    /// The state after one step that met ξ (`eq:residual-learning-iterations`).
    #[inline(always)]
    pub fn step(&self, rates: LemmaRates, state: HardState, xi: f64) -> HardState {
        let desired = -rates.learning_rate * (self.strong_convexity * self.effective_weight(state) + xi);
        // A(desired; P) with both branches at hand, so that choosing one is a select and the loop over replicas a
        // vector loop.
        let (plus, minus) = self.branches(state.residual);
        let residual = state.residual + desired * if desired >= 0.0 { plus } else { minus };
        let main = state.main + rates.transfer_rate * self.mixing * self.bounds.min * residual;
        HardState { main, residual }
    }

    /// Both sides of the conditional-mean lemma (`eq:quadratic-example-A-mean`) at P with gradient ∇f(W̄): the
    /// expectation over the two atoms, and the closed form. Equal under the sign condition.
    pub fn conditional_mean(&self, residual: f64, gradient: f64) -> (f64, f64) {
        let atoms = self.noise_atoms(residual);
        let exact = atoms.iter().map(|(p, xi)| p * -self.response.realized(-(gradient + xi), residual)).sum();
        let (plus, minus) = self.branches(residual);
        let (gain, asymmetry) = (self.response.gain(residual), self.response.asymmetry(residual));
        let product = plus * minus;
        (exact, product / gain * gradient + self.noise * product.sqrt() / gain * asymmetry)
    }

    /// Whether both atoms decide the sign of the stochastic gradient
    /// (`eq:conditional-absolute-value-sign-condition`).
    pub fn sign_condition(&self, residual: f64, gradient: f64) -> bool {
        let [(_, up), (_, down)] = self.noise_atoms(residual);
        -up <= gradient && gradient <= -down
    }

    /// ‖R‖² (`eq:pair-R-def`).
    fn square_norm(&self, state: HardState) -> f64 {
        let shrink = self.bounds.hardware_condition().powf(-0.5);
        0.5 * self.strong_convexity * (shrink * state.main.powi(2) + self.effective_weight(state).powi(2))
    }

    /// The one-step lemma (`eq:terminal-mean-square-lower-bound`) at a state, the expectation over the two atoms
    /// exact: (1 − 12αμγq_max)‖R_k‖² + μ/8 α²γ²q_max²σ² 1_ℰ ≤ E‖R_{k+1}‖².
    pub fn mean_square(&self, rates: LemmaRates, state: HardState) -> Inequality {
        let after = self
            .noise_atoms(state.residual)
            .iter()
            .map(|&(p, xi)| p * self.square_norm(self.step(rates, state, xi)))
            .sum();
        let fast = rates.learning_rate * rates.mixing * self.bounds.max * self.noise;
        let gained = if self.confined(state) { self.strong_convexity / 8.0 * fast * fast } else { 0.0 };
        Inequality::between(&[(1.0 - self.decay(rates)) * self.square_norm(state), gained], &[after])
    }

    /// Runs `replicas` independent copies for `steps` steps. The result depends on the arguments alone: blocks of
    /// replicas draw from their own keys, whichever thread runs them.
    ///
    /// # Errors
    /// If there are fewer than two replicas.
    pub fn simulate(
        &self,
        rates: LemmaRates,
        replicas: usize,
        steps: u64,
        key: Key,
    ) -> Result<Simulation, ParameterError> {
        require(replicas > 1, "replicas", "at least 2", replicas as f64)?;
        let ends: Vec<(HardState, f64)> = (0..replicas.div_ceil(BLOCK))
            .into_par_iter()
            .flat_map_iter(|block| {
                // The last block runs in full and is truncated: replica i does not depend on the number of replicas.
                let wanted = BLOCK.min(replicas - block * BLOCK);
                self.run_block(rates, steps, key.fold(block as u64)).into_iter().take(wanted)
            })
            .collect();
        let radius = self.confinement_radius();
        let half = 0.5 * self.strong_convexity;
        let objective = |state: HardState| half * self.effective_weight(state).powi(2);
        let level = self.level(rates);
        // C may differ from μ only if a caller sets it so.
        let main = |state: HardState| 0.5 * rates.weight * state.main.powi(2);
        Ok(Simulation {
            confined: ends.iter().filter(|(_, peak)| *peak <= radius).count() as f64 / replicas as f64,
            lyapunov: Summary::of(ends.iter().map(|&(s, _)| objective(s) + main(s))),
            objective: Summary::of(ends.iter().map(|&(s, _)| objective(s))),
            floor: level / 192.0,
            repaired_floor: -(steps as f64 * (-self.decay(rates)).ln_1p()).exp_m1() * level / 192.0,
            stationary: level / 4.0,
        })
    }

    /// The last state and the largest max(|W̄ − W*|, |W − W*|) of each replica of a block.
    fn run_block(&self, rates: LemmaRates, steps: u64, key: Key) -> [(HardState, f64); BLOCK] {
        let HardState { main, residual } = self.initial();
        let peak = main.abs().max(self.effective_weight(self.initial()).abs());
        let mut block = Block { main: [main; BLOCK], residual: [residual; BLOCK], peak: [peak; BLOCK] };
        let mut uniform = [0.0; BLOCK];
        for k in 0..steps {
            key.fold(k).fill_uniform(&mut uniform);
            simd::dispatch(Advance { instance: self, rates, uniform: &uniform, block: &mut block });
        }
        std::array::from_fn(|i| (HardState { main: block.main[i], residual: block.residual[i] }, block.peak[i]))
    }
}

/// Replicas side by side, so that one step of all is one vector loop of known length.
struct Block {
    main: [f64; BLOCK],
    residual: [f64; BLOCK],
    peak: [f64; BLOCK],
}

struct Advance<'a> {
    instance: &'a HardInstance,
    rates: LemmaRates,
    uniform: &'a [f64; BLOCK],
    block: &'a mut Block,
}

impl Kernel for Advance<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (instance, rates) = (*self.instance, self.rates);
        let Block { main, residual, peak } = self.block;
        for i in 0..BLOCK {
            let state = HardState { main: main[i], residual: residual[i] };
            let [(p, up), (_, down)] = instance.noise_atoms(state.residual);
            let xi = if self.uniform[i] < p { up } else { down };
            let next = instance.step(rates, state, xi);
            let (far, near) = (instance.effective_weight(next).abs(), next.main.abs());
            let distance = if far > near { far } else { near };
            peak[i] = if distance > peak[i] { distance } else { peak[i] };
            main[i] = next.main;
            residual[i] = next.residual;
        }
    }
}
