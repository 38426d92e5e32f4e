//! The Implicit Penalty theorem, and where Analog SGD really ends.

use std::sync::Arc;

use residuum::cells::{PerCell, Uniform};
use residuum::error::ParameterError;
use residuum::objective::DenseQuadratic;
use residuum::stats::fit_line;
use residuum::theory::fixed_point::MeanDrift;
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::Sampling;
use residuum::{Noise, Noisy, Objective, Range};

use super::check::Check;
use super::context::{Context, Device};
use super::devices::{self, Moved};
use super::simulate::{Toy, analog, mean, replicate};
use super::{Claim, ClaimError, Outcome};

const GROUP: &str = "implicit penalty";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "thm-implicit-penalty",
        group: GROUP,
        title: "Implicit Penalty theorem",
        label: "theorem:implicit-regularization",
        statement: "As W⋄ → W*, ‖∇f_Σ‖ and ‖T‖ at W̃* are of second order in ‖W⋄ − W*‖, at W* and W⋄ of first.",
        run: orders,
    },
    Claim {
        id: "analog-sgd-limit",
        group: GROUP,
        title: "where Analog SGD ends",
        label: "equality:scale_analog-SGD-drift",
        statement: "Iterates of Analog SGD gather at the zero of T, the fixed point of its conditional mean.",
        run: limit,
    },
];

/// A quadratic plus 0.8 Σ(eˣ − x − 1), x = w − W*: it has the third derivatives that a quadratic lacks.
#[derive(Debug)]
struct Bent(DenseQuadratic);

impl Bent {
    fn offset(&self, w: &[f64], d: usize) -> f64 {
        w[d] - self.0.minimizer().map_or(0.0, |m| m[d])
    }
}

impl Objective for Bent {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn value(&self, w: &[f64]) -> f64 {
        let bend = |d| self.offset(w, d).exp_m1() - self.offset(w, d);
        self.0.value(w) + 0.8 * (0..w.len()).map(bend).sum::<f64>()
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        self.0.gradient(w, out);
        for (d, g) in out.iter_mut().enumerate() {
            *g += 0.8 * self.offset(w, d).exp_m1();
        }
    }
    fn describe(&self) -> String {
        "quadratic plus exponential".into()
    }
    fn minimizer(&self) -> Option<&[f64]> {
        self.0.minimizer()
    }
    fn hessian(&self, w: &[f64]) -> Vec<f64> {
        let n = self.dim();
        let mut hessian = self.0.hessian(w);
        for d in 0..n {
            hessian[d * n + d] += 0.8 * self.offset(w, d).exp();
        }
        hessian
    }
}

fn quadratic(dim: usize) -> Result<DenseQuadratic, ParameterError> {
    if dim == 1 {
        return DenseQuadratic::new(vec![1.0], vec![0.3]);
    }
    let entry = |i: usize, j: usize| if i == j { 1.0 + 0.5 * i as f64 } else { 0.3 };
    let hessian = (0..dim * dim).map(|e| entry(e / dim, e % dim)).collect();
    DenseQuadratic::new(hessian, Range::new(-0.3, 0.4)?.grid(dim))
}

/// ‖∇f_Σ‖ and ‖T‖ at W̃*, W* and W⋄, with W⋄ at `distance` from W*. T is that of the device under test.
fn norms(
    context: &Context,
    objective: &Arc<dyn Objective>,
    device: &Device,
    noise: &Noise,
    distance: f64,
) -> Result<[f64; 6], ClaimError> {
    let n = objective.dim();
    let star = objective.minimizer().unwrap_or_default().to_vec();
    let direction = if n == 1 { vec![1.0] } else { vec![1.0, -2.0, 3.0, -1.0, 2.0] };
    let length = norm(&direction);
    let point: Vec<f64> = star.iter().zip(&direction).map(|(w, u)| w + distance * u / length).collect();
    let home = device.symmetric_point().unwrap_or(0.0);
    let cells = |device: Device| {
        PerCell(point.iter().map(|p| Moved { device: device.clone(), by: p - home }).collect())
    };
    let (ordered, found) = (cells(device.clone()), cells(context.device(device)));
    let problem = Noisy::new(objective.clone(), noise.clone())?;
    let sampling = Sampling::new(context.key("thm-implicit-penalty"));
    let penalty = ImplicitPenalty::new(&problem, &ordered, sampling)?;
    let drift = MeanDrift::new(&problem, &found, sampling)?;
    let places = [penalty.penalized_minimizer()?, star, point];
    let mut out = vec![0.0; n];
    let mut all = [0.0; 6];
    for (i, w) in places.iter().enumerate() {
        penalty.penalized_gradient(w, &mut out);
        all[i] = norm(&out);
        drift.mean_drift(w, &mut out);
        all[i + 3] = norm(&out);
    }
    Ok(all)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Log-log slopes of the six norms over distances 2⁻⁷ … 2⁻¹².
fn slopes(
    context: &Context,
    objective: &Arc<dyn Objective>,
    device: &Device,
    noise: &Noise,
) -> Result<[f64; 6], ClaimError> {
    let distances: Vec<f64> = (7..=12).map(|e| 0.5f64.powi(e)).collect();
    let x: Vec<f64> = distances.iter().map(|d| d.ln()).collect();
    let rows: Vec<[f64; 6]> =
        distances.iter().map(|&d| norms(context, objective, device, noise, d)).collect::<Result<_, _>>()?;
    Ok(std::array::from_fn(|i| fit_line(&x, &rows.iter().map(|r| r[i].ln()).collect::<Vec<_>>()).slope))
}

fn orders(context: &Context) -> Outcome {
    let device: Device = Arc::new(devices::skewed()?);
    let noise = Noise::TwoPoint { deviation: 1.0, probability: 0.2 };
    let mut checks = Vec::new();
    let objectives: [(&str, Arc<dyn Objective>); 3] = [
        ("one weight, quadratic", Arc::new(quadratic(1)?)),
        ("five weights, quadratic", Arc::new(quadratic(5)?)),
        ("five weights, with third derivatives", Arc::new(Bent(quadratic(5)?))),
    ];
    // A slope fitted over distances up to 2⁻⁷ is off by the next order, about 2⁻⁷ times a few.
    let next_order = 2.0f64.powi(-6);
    for (name, objective) in objectives {
        let found = slopes(context, &objective, &device, &noise)?;
        let names = ["‖∇f_Σ(W̃*)‖", "‖∇f_Σ(W*)‖", "‖∇f_Σ(W⋄)‖", "‖T(W̃*)‖", "‖T(W*)‖", "‖T(W⋄)‖"];
        for ((what, slope), order) in names.into_iter().zip(found).zip([2.0, 1.0, 1.0].repeat(2)) {
            checks.push(Check::equals(format!("order of {what}, {name}"), slope, order, next_order));
        }
    }
    let scalar: Arc<dyn Objective> = Arc::new(quadratic(1)?);
    let gaussian = Noise::Gaussian { deviation: 1.0 };
    let symmetric = slopes(context, &scalar, &devices::power(2.0)?, &gaussian)?;
    checks.push(Check::note(format!(
        "Odd R, quadratic f and symmetric noise cancel every second-order term: power 2 with Gaussian noise shows \
         orders {:.3} and {:.3} at W̃*, which is no evidence for the theorem's 2.",
        symmetric[0], symmetric[3]
    )));
    Ok(checks)
}

fn limit(context: &Context) -> Outcome {
    let (rate, steps, replicas) = context.pick((2e-3, 6000, 20_000), (8e-3, 1500, 4000));
    let list = devices::toy()?;
    let mut checks = Vec::new();
    for deviation in [0.5, 2.0] {
        let toy = Toy::gaussian(deviation);
        let key = context.key("analog-sgd-limit").fold(deviation.to_bits());
        let ends = replicate(context, key, (replicas, 1), steps, |n| {
            let rules = list.iter().map(|device| analog(context, &toy, device, rate, n));
            Ok((toy.problem(n)?, rules.collect::<Result<_, _>>()?))
        })?;
        for (device, ends) in list.iter().zip(&ends) {
            let found = mean(&ends.main);
            let bias = toy.finite_rate_bias(&**device, rate, steps, found.std);
            let what = format!("E[W] at σ = {deviation}, {}", device.describe());
            checks.push(Check::mean(what, found, toy.fixed_point(&**device), bias));
        }
    }
    checks.push(newton_agrees(context)?);
    Ok(checks)
}

/// The zero of T by Newton's method in several dimensions against bisection in one.
fn newton_agrees(context: &Context) -> Result<Check, ClaimError> {
    let (toy, device) = (Toy::gaussian(1.0), devices::power(2.0)?);
    let problem = toy.problem(3)?;
    let cells = Uniform(device.clone());
    let drift = MeanDrift::new(&problem, &cells, Sampling::new(context.key("newton")))?;
    let zero = drift.zero_from(&[0.3, 0.1, 0.4])?;
    let error = zero.iter().map(|w| (w - toy.fixed_point(&*device)).abs()).fold(0.0, f64::max);
    Ok(Check::at_most("zeros of T by Newton and by bisection differ by", error, 0.0, 1e-11))
}
