//! Rates for a problem: those the convergence theorem prescribes, or why there are none, and practical ones.

use std::fmt::Write as _;

use residuum::cells::bounds;
use residuum::theory::coefficients::{CoefficientError, Coefficients, Problem};
use residuum::theory::magnitude::noise_variance;
use residuum::theory::practical::{PracticalRates, practical_rates};
use residuum::{Bounds, Key, Range};
use serde_json::{Value, json};

use crate::spec::{Spec, noisy};

/// What theory says about the rates of a spec.
#[derive(Clone, Debug)]
pub struct RatesReport {
    /// The constants used.
    pub problem: Problem,
    /// Gain of the weakest residual cell at its symmetric point.
    pub gain: f64,
    /// The lemma's choice, or the condition that fails.
    pub lemma: Result<Coefficients, CoefficientError>,
    /// Rates from the stationary laws: a prediction, not a guarantee.
    pub practical: Result<PracticalRates, CoefficientError>,
}

impl RatesReport {
    /// Takes μ, L, σ, V₀ from the problem of the first seed and q_min, q_max, L_S from both devices over the
    /// operating range.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        let key = Key::new(spec.seeds[0]);
        let n = spec.problem.dim();
        let Some(devices) = &spec.devices else {
            return Err("device is missing: rates are chosen for analog arrays".into());
        };
        let objective = spec.problem.build(key.named("problem")).map_err(|e| format!("problem: {e}"))?;
        let (strong_convexity, smoothness) =
            objective.curvature().ok_or("problem: μ and L are not known, so rates cannot be chosen")?;
        let minimizer = objective.minimizer().ok_or("problem: W* is not known, so V₀ cannot be computed")?;
        let start = spec.initial.main.build(n, key.named("rule").named("main"))?;
        let distance: f64 = start.iter().zip(minimizer).map(|(w, m)| (w - m) * (w - m)).sum();
        let initial_lyapunov =
            objective.value(&start) - objective.value(minimizer) + 0.5 * strong_convexity * distance;
        let over = |device: &crate::spec::DeviceSpec, name: &str| -> Result<(Bounds, f64), String> {
            let cells =
                device.cells(n, key.named("rule").named(name).named("device")).map_err(|e| e.to_string())?;
            let all = match spec.operating_range {
                None => bounds(&*cells, n, DEFAULT_FRACTION).map_err(|e| e.to_string())?,
                Some(range) => (0..cells.len().unwrap_or(1))
                    .map(|i| cells.response(i).bounds(range))
                    .reduce(join)
                    .ok_or("device: an array must have at least one cell")?,
            };
            let gain = (0..cells.len().unwrap_or(1))
                .filter_map(|i| cells.response(i).symmetric_point().map(|w| cells.response(i).gain(w)))
                .fold(f64::INFINITY, f64::min);
            Ok((all, gain))
        };
        let ((main_bounds, main_gain), (residual_bounds, residual_gain)) =
            (over(&devices.main, "main")?, over(&devices.residual, "residual")?);
        let noisy = noisy(objective, &spec.noise).map_err(|e| format!("noise: {e}"))?;
        let problem = Problem {
            strong_convexity,
            smoothness,
            noise: noise_variance(&noisy).sqrt(),
            bounds: join(main_bounds, residual_bounds),
            steps: spec.steps,
            initial_lyapunov,
        };
        let gain = main_gain.min(residual_gain);
        // The stationary laws are laws of one coordinate; V is their sum.
        let coordinate = Problem { noise: problem.noise / (n as f64).sqrt(), ..problem };
        let practical = practical_rates(&coordinate, gain)
            .map(|rates| PracticalRates { stationary_lyapunov: n as f64 * rates.stationary_lyapunov, ..rates });
        Ok(Self { problem, gain, lemma: problem.coefficients(), practical })
    }

    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let (p, mut text) = (&self.problem, String::new());
        let _ = writeln!(
            text,
            "problem   μ = {:.4}, L = {:.4}, total noise σ = {:.4}, V₀ = {:.4e}, K = {}",
            p.strong_convexity, p.smoothness, p.noise, p.initial_lyapunov, p.steps
        );
        let _ = writeln!(
            text,
            "devices   over {}: q_min = {:.4}, q_max = {:.4}, κ₂ = {:.4}, L_S = {:.4}\n",
            p.bounds.range,
            p.bounds.min,
            p.bounds.max,
            p.bounds.hardware_condition(),
            p.bounds.lipschitz
        );
        match &self.lemma {
            Ok(c) => {
                let _ = writeln!(
                    text,
                    "lemma     learning_rate = {:e}, transfer_rate = {:e}, mixing = {}\n\
                     \u{20}         contraction ρ = {:.3e} per step, E[V_K] ≤ {:.4e} (all {} conditions hold)",
                    c.rates.learning_rate,
                    c.rates.transfer_rate,
                    c.rates.mixing,
                    c.contraction,
                    c.lyapunov_bound,
                    c.conditions.len()
                );
            }
            Err(e) => {
                let _ = writeln!(text, "lemma     does not apply: {e}");
            }
        }
        match &self.practical {
            Ok(r) => {
                let _ = writeln!(
                    text,
                    "practical learning_rate = {:e}, transfer_rate = {:e}, mixing = {}\n\
                     \u{20}         predicted E[V] ≈ {:.4e}, |bias of W̄| ≤ {:.4e} per weight, {:.2e} of ‖W₀ − W*‖ left after K steps\n\
                     \u{20}         (from the stationary laws: a prediction, not a guarantee)",
                    r.rates.learning_rate,
                    r.rates.transfer_rate,
                    r.rates.mixing,
                    r.stationary_lyapunov,
                    r.bias_bound,
                    r.remaining
                );
            }
            Err(e) => {
                let _ = writeln!(text, "practical not available: {e}");
            }
        }
        text
    }

    /// The report as JSON, schema `residuum.rates/1`.
    pub fn to_json(&self) -> Value {
        let p = &self.problem;
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let lemma = match &self.lemma {
            Ok(c) => json!({
                "learning_rate": c.rates.learning_rate, "transfer_rate": c.rates.transfer_rate,
                "mixing": c.rates.mixing, "weight": c.rates.weight, "contraction": c.contraction,
                "log_argument": c.log_argument, "lyapunov_bound": c.lyapunov_bound,
                "conditions": c.conditions.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
            Err(e) => json!({ "error": e.to_string() }),
        };
        let practical = match &self.practical {
            Ok(r) => json!({
                "learning_rate": r.rates.learning_rate, "transfer_rate": r.rates.transfer_rate,
                "mixing": r.rates.mixing, "predicted_lyapunov": r.stationary_lyapunov,
                "bias_bound": r.bias_bound, "remaining": r.remaining,
            }),
            Err(e) => json!({ "error": e.to_string() }),
        };
        json!({
            "schema": "residuum.rates/1",
            "version": env!("CARGO_PKG_VERSION"),
            "strong_convexity": p.strong_convexity, "smoothness": p.smoothness, "noise": p.noise,
            "initial_lyapunov": p.initial_lyapunov, "steps": p.steps,
            "q_min": p.bounds.min, "q_max": p.bounds.max, "response_lipschitz": finite(p.bounds.lipschitz),
            "hardware_condition": finite(p.bounds.hardware_condition()),
            "lemma": lemma, "practical": practical,
        })
    }
}

/// Share of the dynamic range that weights are assumed to visit if the spec does not say.
const DEFAULT_FRACTION: f64 = 0.8;

fn join(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        range: Range { lo: a.range.lo.min(b.range.lo), hi: a.range.hi.max(b.range.hi) },
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        lipschitz: a.lipschitz.max(b.lipschitz),
    }
}
