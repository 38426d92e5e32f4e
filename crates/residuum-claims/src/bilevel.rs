//! The bilevel reformulation: what it minimises, what Residual Learning minimises, and how exact that is.

use residuum::numeric::minimize_bracket;
use residuum::response::Tanh;
use residuum::stats::{Summary, Z, fit_line};
use residuum::theory::lyapunov::Bowl;
use residuum::theory::operator::NonMonotone;
use residuum::theory::residual_law::{LawRates, LocalModel, StationaryLaw};
use residuum::{Key, Noise, ResponseFunction};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::simulate::{Ends, Toy, analog, mean, mean_from, replicate, residual_learning};
use crate::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "bilevel";

pub(crate) const CLAIMS: &[Claim] = &[
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
    Claim {
        id: "stationary-law",
        group: GROUP,
        title: "the stationary law across noise and rates",
        label: "",
        statement: "Bias and deviation of W and W̄ follow the law for weak and strong noise, and rates proposed from it keep their promise.",
        run: settings,
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
pub(crate) struct Held {
    /// E[P] as simulated.
    pub(crate) found: Summary,
    /// Zero of the mean drift.
    pub(crate) zero: f64,
    /// Minimiser with the penalty weighted by γΣ.
    pub(crate) corrected: f64,
    /// Minimiser with the penalty weighted by Σ, as printed.
    pub(crate) printed: f64,
    /// What finite α and finite time leave.
    pub(crate) bias: f64,
}

pub(crate) fn hold_main(context: &Context) -> Result<Held, ClaimError> {
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
pub(crate) fn counterexample() -> (f64, f64) {
    let at = NonMonotone.lower_level_minimizer(0.01, 1.0);
    (at, NonMonotone.asymmetry_potential(at))
}

/// Measured biases of W and W̄ beside the law, at one α with β = α/2, γ = 1, σ = 1.
pub(crate) struct Biased {
    pub(crate) learning_rate: f64,
    pub(crate) main: Summary,
    pub(crate) effective: Summary,
    pub(crate) law: StationaryLaw,
}

impl Biased {
    /// The law is the leading term of an expansion in √(fast rate); what is left out was never above 6 %.
    pub(crate) fn next_order(&self, of: f64) -> f64 {
        of.abs() * self.law.fast_rate.sqrt().min(0.06)
    }
}

pub(crate) fn biases(context: &Context, rates: &[f64], replicas: usize) -> Result<Vec<Biased>, ClaimError> {
    let (toy, device): (_, Device) = (Toy::gaussian(1.0), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
    rates
        .iter()
        .map(|&alpha| {
            let rates = LawRates { learning_rate: alpha, transfer_rate: 0.5 * alpha, mixing: 1.0 };
            let law = model.stationary(rates)?;
            let key = context.key("residual-learning-exact").fold(alpha.to_bits());
            let ends = settle(context, &toy, key, rates, ((12.0 / law.slow_rate) as u64, replicas))?;
            let (main, effective) =
                (mean_from(&ends.main, toy.minimizer), mean_from(&ends.tail, toy.minimizer));
            Ok(Biased { learning_rate: alpha, main, effective, law })
        })
        .collect()
}

/// Ends of Residual Learning on the power response of shape 1.
fn settle(
    context: &Context,
    toy: &Toy,
    key: Key,
    rates: LawRates,
    (steps, replicas): (u64, usize),
) -> Result<Ends, ClaimError> {
    let device = devices::power(1.0)?;
    let mut ends = replicate(context, key, (replicas, 1), steps, |n| {
        Ok((toy.problem(n)?, vec![residual_learning(context, toy, &device, rates, n)?]))
    })?;
    Ok(ends.remove(0))
}

/// W and W̄ against the law at the rates of the paper's figure and at a larger γ, for noise from weak to strong.
fn settings(context: &Context) -> Outcome {
    let device = devices::power(1.0)?;
    let mut checks = Vec::new();
    let a = LawRates { learning_rate: 2e-3, transfer_rate: 4e-3, mixing: 1.0 };
    let b = LawRates { learning_rate: 5e-4, transfer_rate: 2e-3, mixing: 4.0 };
    for (name, rates) in [("A", a), ("B", b)] {
        for deviation in [0.1, 0.5, 1.0, 2.0] {
            let toy = Toy::gaussian(deviation);
            let law = LocalModel::new(toy.curvature, deviation, toy.minimizer, &*device, &*device)?
                .stationary(rates)?;
            // At σ = 0.1 the slow mode of the figure's 6000 steps still moves by more than the law.
            let steps = if deviation < 0.5 { 12_000 } else { 6_000 };
            let key = context.key("stationary-law").named(name).fold(deviation.to_bits());
            let ends = settle(context, &toy, key, rates, (steps, context.pick(8000, 4000)))?;
            let from = |w: &[f64]| mean_from(w, toy.minimizer);
            let what = |of: &str| format!("setting {name}, σ = {deviation}: E[{of}] − W*");
            checks.push(Check::mean(what("W"), from(&ends.main), law.main_bias, 0.06 * law.main_bias.abs()));
            let bias = law.effective_bias;
            checks.push(Check::mean(what("W̄"), from(&ends.tail), bias, 0.06 * bias.abs()));
        }
    }
    checks.extend(deviation(context)?);
    checks.extend(proposals(context)?);
    Ok(checks)
}

/// The deviation of W where the two time scales are apart.
fn deviation(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(0.5), devices::power(1.0)?);
    let rates = LawRates { learning_rate: 1.6e-2, transfer_rate: 8e-4, mixing: 1.0 };
    let law = LocalModel::new(toy.curvature, 0.5, toy.minimizer, &*device, &*device)?.stationary(rates)?;
    let replicas = context.pick(8000, 4000);
    let ends = settle(context, &toy, context.key("stationary-deviation"), rates, (10_000, replicas))?;
    let found = mean(&ends.main).std;
    // W also relaxes by its own response, at a relative rate E|P|(γ + ΣR'/h) < s_P·main_bias/residual_bias; a sample
    // deviation has a relative error of 1/√(2n).
    let relaxation = 0.5 * law.residual_deviation * law.main_bias.abs() / law.residual_bias;
    let tolerance = relaxation + Z / (2.0 * replicas as f64).sqrt();
    let uncorrelated = 0.5 * (8e-4f64 / (2.0 * law.fast_rate / 1.6e-2)).sqrt();
    Ok(vec![
        Check::equals("deviation of W over the law's", found / law.main_deviation, 1.0, tolerance),
        Check::equals("deviation of W over that without the factor of R", found / uncorrelated, 1.0, tolerance)
            .expected_to_differ(),
    ])
}

/// LawRates proposed for a horizon and for a bias keep what they promise.
fn proposals(context: &Context) -> Outcome {
    let (toy, device) = (Toy::gaussian(1.0), devices::power(1.0)?);
    let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
    let (horizon, target) = (model.rates_for_horizon(6000)?, 8e-3);
    let precise = model.rates_for_bias(target)?;
    let mut checks = Vec::new();
    let cases = [
        ("K = 6000", horizon, 12_000, horizon.predicted.effective_bias),
        ("a bias of 0.008", precise, precise.steps as u64, -target),
    ];
    for (name, proposal, steps, bias) in cases {
        let key = context.key("proposals").named(name);
        let ends = settle(context, &toy, key, proposal.rates, (steps, context.pick(8000, 2000)))?;
        let found = mean_from(&ends.tail, toy.minimizer);
        let what = format!("E[W̄] − W* at the rates proposed for {name}");
        checks.push(Check::mean(&what, found, bias, 0.06 * bias.abs()));
        checks.push(Check::mean(what, found, 2.0 * bias, 0.06 * bias.abs()).expected_to_differ());
    }
    Ok(checks)
}

fn exactness(context: &Context) -> Outcome {
    let rates = &[0.016, 0.008, 0.004, 0.002, 0.001];
    let found = biases(context, rates, context.pick(16_000, 4000))?;
    let mut checks = Vec::new();
    for b in &found {
        let what = |of: &str| format!("E[{of}] − W* at α = {}", b.learning_rate);
        let bias = b.law.main_bias;
        checks.push(Check::mean(what("W"), b.main, bias, b.next_order(bias)));
        let twice =
            Check::mean(format!("{} against twice the law", what("W")), b.main, 2.0 * bias, b.next_order(bias));
        checks.push(twice.expected_to_differ());
        // The closed form of small R.
        let leading = b.law.leading_residual_bias / b.law.residual_bias * bias;
        checks.push(Check::mean(format!("{}, closed form", what("W")), b.main, leading, 0.1 * leading.abs()));
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
