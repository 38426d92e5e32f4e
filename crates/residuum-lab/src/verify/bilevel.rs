//! The bilevel reformulation: what it minimises, what Residual Learning minimises, and how exact that is.

use residuum::numeric::minimize_bracket;
use residuum::response::Tanh;
use residuum::stats::{Summary, Z, fit_line};
use residuum::theory::lyapunov::Bowl;
use residuum::theory::operator::NonMonotone;
use residuum::theory::residual_law::{LocalModel, Rates, StationaryLaw};
use residuum::{Noise, ResponseFunction};

use super::check::Check;
use super::context::{Context, Device};
use super::simulate::{Toy, analog, mean, mean_from, replicate, residual_learning};
use super::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "bilevel";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "thm-bilevel",
        group: GROUP,
        title: "the bilevel problem has the original solution",
        label: "theorem:optimum-of-bilevel-problem",
        statement: "min_W ½γ²‖P*(W) − W⋄‖² with P*(W) = argmin_P f(W + γ(P − W⋄)) has the unique minimiser W*.",
        run: bilevel,
    },
    Claim {
        id: "thm-penalized-bilevel",
        group: GROUP,
        title: "the implicit penalty leaves the solution",
        label: "theorem:optimum-of-bilevel-penalized-problem",
        statement: "With the penalty added to the lower level W* is still the unique minimiser, for responses whose R increases.",
        run: penalized_bilevel,
    },
    Claim {
        id: "residual-target",
        group: GROUP,
        title: "what P tends to while W rests",
        label: "problem:shifted-P",
        statement: "With W held, P gathers at the minimiser of f(W + γ(P − W⋄)) + γ⟨Σ, R_c(P)⟩, up to the theorem's order.",
        run: residual_target,
    },
    Claim {
        id: "residual-learning-exact",
        group: GROUP,
        title: "Residual Learning is exact as α → 0",
        label: "recursion:HD-W",
        statement: "With constant rates W and W̄ keep a bias of order √α given by the stationary law; it vanishes with α.",
        run: exactness,
    },
];

/// A curved, shifted instance: f(w) = bowl(w − W*) and W⋄ away from both 0 and W*.
struct Instance {
    bowl: Bowl,
    minimizer: f64,
    mixing: f64,
    device: Tanh,
}

impl Instance {
    fn new() -> Result<Self, ClaimError> {
        let device = Tanh::new(1.0, 0.5, 0.7, -0.2)?;
        Ok(Self { bowl: Bowl::new(1.0, 4.0)?, minimizer: 0.4, mixing: 0.7, device })
    }

    fn point(&self) -> f64 {
        self.device.symmetric_point().unwrap_or(0.0)
    }

    /// argmin_P f(W + γ(P − W⋄)) + weight·R_c(P).
    fn residual_target(&self, w: f64, weight: f64) -> f64 {
        let lower = |p: f64| {
            let effective = w + self.mixing * (p - self.point());
            self.bowl.value(effective - self.minimizer) + weight * self.device.asymmetry_potential(p)
        };
        minimize_bracket(lower, -6.0, 6.0).at
    }

    fn upper(&self, w: f64, weight: f64) -> f64 {
        0.5 * (self.mixing * (self.residual_target(w, weight) - self.point())).powi(2)
    }

    fn checks(&self, weight: f64, name: &str) -> Vec<Check> {
        // A minimiser found by values is good to √ε, here through two levels.
        let resolution = 1e-6;
        let best = minimize_bracket(|w| self.upper(w, weight), -3.0, 3.0);
        let others = (0..121).map(|i| -3.0 + 0.05 * f64::from(i)).filter(|w| (w - self.minimizer).abs() > 0.04);
        let least =
            others.map(|w| self.upper(w, weight) / (w - self.minimizer).powi(2)).fold(f64::INFINITY, f64::min);
        vec![
            Check::equals(format!("{name}: minimiser of the upper level"), best.at, self.minimizer, resolution),
            Check::at_most(format!("{name}: upper level there"), best.value, 0.0, resolution * resolution),
            Check::at_least(
                format!("{name}: least upper/(W − W*)² elsewhere, so no second solution"),
                least,
                1e-3,
                0.0,
            ),
        ]
    }
}

fn bilevel(_: &Context) -> Outcome {
    let instance = Instance::new()?;
    let mut checks = instance.checks(0.0, "f alone");
    let error = [-1.0, 0.0, 1.3].map(|w| {
        let closed = (instance.minimizer - w) / instance.mixing + instance.point();
        (instance.residual_target(w, 0.0) - closed).abs()
    });
    checks.push(Check::at_most(
        "largest |P*(W) − (W* − W)/γ − W⋄|",
        error.into_iter().fold(0.0, f64::max),
        0.0,
        1e-6,
    ));
    Ok(checks)
}

fn penalized_bilevel(_: &Context) -> Outcome {
    let instance = Instance::new()?;
    let mut checks = instance.checks(instance.mixing * 0.8, "penalty γΣ = 0.56");
    checks.extend(instance.checks(0.8, "penalty Σ = 0.8, as printed"));
    checks.push(Check::equals(
        "P*(W*) on an increasing R is W⋄",
        instance.residual_target(instance.minimizer, 0.8),
        instance.point(),
        1e-6,
    ));
    checks.push(Check::note(
        "The paper's proof gives that W* is a solution; uniqueness and ⟨Σ, R_c⟩ ≥ 0 need R to increase (M10).",
    ));
    Ok(checks)
}

/// P alone on the toy, W held at W* − 0.2, γ = ¼: the gradient is γP − 0.2 + ξ.
pub(super) struct Held {
    /// E[P] as simulated.
    pub(super) found: Summary,
    /// Zero of the mean drift.
    pub(super) zero: f64,
    /// Minimiser with the penalty weighted by γΣ.
    pub(super) corrected: f64,
    /// Minimiser with the penalty weighted by Σ, as printed.
    pub(super) printed: f64,
    /// What finite α and finite time leave.
    pub(super) bias: f64,
}

pub(super) fn hold_main(context: &Context) -> Result<Held, ClaimError> {
    let (mixing, residual, deviation) = (0.25, 0.2, 1.0);
    let device = devices::power(1.0)?;
    let toy = Toy {
        curvature: mixing,
        minimizer: residual / mixing,
        initial: 0.0,
        noise: Noise::Gaussian { deviation },
    };
    let (rate, steps, replicas) = context.pick((2e-3, 6000, 16_000), (8e-3, 1500, 4000));
    let ends = replicate(context, context.key("residual-target"), (replicas, 1), steps, |n| {
        Ok((toy.problem(n)?, vec![analog(context, &toy, &device, rate, n)?]))
    })?;
    let found = mean(&ends[0].main);
    let sigma = toy.magnitude(toy.minimizer);
    let lower = |weight: f64| {
        let value =
            |p: f64| 0.5 * (mixing * p - residual).powi(2) + weight * sigma * device.asymmetry_potential(p);
        minimize_bracket(value, -1.0, 1.0).at
    };
    Ok(Held {
        found,
        zero: toy.fixed_point(&*device),
        corrected: lower(mixing),
        printed: lower(1.0),
        bias: toy.finite_rate_bias(&*device, rate, steps, found.std),
    })
}

fn residual_target(context: &Context) -> Outcome {
    let held = hold_main(context)?;
    // The minimiser approximates the zero of T; their distance is known.
    let order = (held.corrected - held.zero).abs();
    Ok(vec![
        Check::mean("E[P] against the zero of the mean drift", held.found, held.zero, held.bias),
        Check::mean("E[P] against the minimiser with γΣ", held.found, held.corrected, held.bias + order),
    ])
}

/// The counter-example's lower level at W = W*: where it is least, and R_c there.
pub(super) fn counterexample() -> (f64, f64) {
    let at = NonMonotone.lower_level_minimizer(0.01, 1.0);
    (at, NonMonotone.asymmetry_potential(at))
}

/// Measured biases of W and W̄ beside the law, at one α with β = α/2, γ = 1, σ = 1.
pub(super) struct Biased {
    pub(super) learning_rate: f64,
    pub(super) main: Summary,
    pub(super) effective: Summary,
    pub(super) law: StationaryLaw,
}

impl Biased {
    /// The law is the leading term of an expansion in √(fast rate).
    pub(super) fn next_order(&self, of: f64) -> f64 {
        of.abs() * self.law.fast_rate.sqrt()
    }
}

pub(super) fn biases(context: &Context, rates: &[f64], replicas: usize) -> Result<Vec<Biased>, ClaimError> {
    let (toy, device): (_, Device) = (Toy::gaussian(1.0), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
    rates
        .iter()
        .map(|&alpha| {
            let rates = Rates { learning_rate: alpha, transfer_rate: 0.5 * alpha, mixing: 1.0 };
            let law = model.stationary(rates)?;
            let steps = (12.0 / law.slow_rate) as u64;
            let key = context.key("residual-learning-exact").fold(alpha.to_bits());
            let ends = replicate(context, key, (replicas, 1), steps, |n| {
                Ok((toy.problem(n)?, vec![Box::new(residual_learning(context, &toy, &device, rates, n)?)]))
            })?;
            let (main, effective) =
                (mean_from(&ends[0].main, toy.minimizer), mean_from(&ends[0].tail, toy.minimizer));
            Ok(Biased { learning_rate: alpha, main, effective, law })
        })
        .collect()
}

fn exactness(context: &Context) -> Outcome {
    let rates: &[f64] = context.pick(&[0.016, 0.008, 0.004, 0.002], &[0.016, 0.008, 0.004]);
    let found = biases(context, rates, context.pick(16_000, 4000))?;
    let mut checks = Vec::new();
    for b in &found {
        let what = |of: &str| format!("E[{of}] − W* at α = {}", b.learning_rate);
        checks.push(Check::mean(what("W"), b.main, b.law.main_bias, b.next_order(b.law.main_bias)));
        checks.push(Check::mean(
            format!("{}, averaged over the tail", what("W̄")),
            b.effective,
            b.law.effective_bias,
            b.next_order(b.law.effective_bias),
        ));
    }
    checks.push(order_in_rate(&found));
    Ok(checks)
}

/// The log-log slope of the bias of W in α.
fn order_in_rate(found: &[Biased]) -> Check {
    let x: Vec<f64> = found.iter().map(|b| b.learning_rate.ln()).collect();
    let y: Vec<f64> = found.iter().map(|b| (-b.main.mean).ln()).collect();
    let centre = x.iter().sum::<f64>() / x.len() as f64;
    let spread: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
    let error: f64 =
        found.iter().zip(&x).map(|(b, x)| ((x - centre) / spread * b.main.se / b.main.mean).powi(2)).sum();
    let span = x[0] - x[x.len() - 1];
    let bias = found[0].law.fast_rate.sqrt() / span;
    Check::equals("order of the bias of W in α", fit_line(&x, &y).slope, 0.5, Z * error.sqrt() + bias)
}
