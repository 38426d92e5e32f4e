//! The Implicit Penalty theorem, and where Analog SGD really ends.

use std::sync::Arc;

use residuum::cells::{PerCell, Uniform};
use residuum::error::ParameterError;
use residuum::objective::{DenseQuadratic, LeastSquares};
use residuum::response::{Moved, Power};
use residuum::rule::{Analog, Digital, Source};
use residuum::stats::{Summary, Z, fit_line};
use residuum::theory::fixed_point::{MeanDrift, predict_drift};
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::Sampling;
use residuum::{Key, Noise, Noisy, Objective, Range, Rates, Rule};

use crate::check::Check;
use crate::context::{Context, Device};
use crate::simulate::{Toy, analog, array, mean, replicate, run};
use crate::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "implicit penalty";

pub(crate) const CLAIMS: &[Claim] = &[
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
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => 1.0 + 0.5 * i as f64,
        1 => 0.3,
        _ => 0.0,
    };
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
        PerCell(point.iter().map(|p| Moved { response: device.clone(), by: p - home }).collect())
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
    let objectives: [(&str, Arc<dyn Objective>); 4] = [
        ("one weight, quadratic", Arc::new(quadratic(1)?)),
        ("one weight, with third derivatives", Arc::new(Bent(quadratic(1)?))),
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
    checks.extend(reference_norms(context, &device, &noise)?);
    let scalar: Arc<dyn Objective> = Arc::new(quadratic(1)?);
    let gaussian = Noise::Gaussian { deviation: 1.0 };
    // Odd R, quadratic f and symmetric noise cancel every second-order term: no evidence for the theorem's 2.
    let symmetric = slopes(context, &scalar, &devices::power(2.0)?, &gaussian)?;
    for (name, slope) in [("‖∇f_Σ(W̃*)‖", symmetric[0]), ("‖T(W̃*)‖", symmetric[3])] {
        let what = format!("order of {name} where symmetry hides the second: power 2, Gaussian noise");
        checks.push(Check::equals(what, slope, 3.0, 0.02));
    }
    let straight = norms(context, &scalar, &devices::power(1.0)?, &gaussian, 0.5f64.powi(7))?;
    checks.push(Check::at_most("power 1: ‖∇f_Σ(W̃*)‖, as W̃* is the argmin exactly", straight[0], 0.0, 1e-14));
    checks.push(Check::at_least(
        "power 1: ‖T(W̃*)‖, as it is not where Analog SGD ends",
        straight[3],
        1e-9,
        0.0,
    ));
    Ok(checks)
}

/// The norms at a distance of 2⁻⁷, which an independent prototype has to nine digits.
fn reference_norms(context: &Context, device: &Device, noise: &Noise) -> Outcome {
    let cases: [(&str, Arc<dyn Objective>, [f64; 4]); 2] = [
        ("one weight", Arc::new(quadratic(1)?), [1.40704292e-6, 7.87944044e-6, 4.70614401e-3, 7.8125e-3]),
        (
            "five weights",
            Arc::new(Bent(quadratic(5)?)),
            [1.87461173e-6, 7.89750790e-6, 4.70857996e-3, 2.01105377e-2],
        ),
    ];
    let mut checks = Vec::new();
    for (name, objective, [penalized, drift, at_star, at_point]) in cases {
        let found = norms(context, &objective, device, noise, 0.5f64.powi(7))?;
        let expected = [penalized, at_star, at_point, drift, at_star, at_point];
        let error = found.iter().zip(expected).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        // The smallest norm is 1e-6 and computed from terms of size 1e-2: eight digits survive.
        let what = format!("{name}: largest relative error of the six norms against the prototype");
        checks.push(Check::at_most(what, error, 0.0, 2e-8));
    }
    Ok(checks)
}

fn limit(context: &Context) -> Outcome {
    let (rate, steps, replicas) = (2e-3, 6000, context.pick(20_000, 4096));
    let list = devices::toy()?;
    let mut checks = Vec::new();
    for deviation in [0.5, 2.0] {
        let toy = Toy::gaussian(deviation);
        let key = context.key("analog-sgd-limit").fold(deviation.to_bits());
        let ends = replicate(context, key, (replicas, 1), steps, |n| {
            let mut rules = list
                .iter()
                .map(|device| analog(context, &toy, device, rate, n))
                .collect::<Result<Vec<_>, _>>()?;
            let digital = Box::new(Digital::new(&vec![toy.initial; n], Source::Sgd)?);
            rules.push((digital, Rates::learning(context.rate(rate))));
            Ok((toy.problem(n)?, rules))
        })?;
        for (device, ends) in list.iter().zip(&ends) {
            let found = mean(&ends.main);
            let zero = toy.fixed_point(&**device);
            // Derived, and never above the prototype's 2e-3 relative.
            let bias = toy.finite_rate_bias(&**device, rate, steps, found.std).min(2e-3 * zero);
            let what = format!("E[W] at σ = {deviation}, {}", device.describe());
            checks.push(Check::mean(&what, found, zero, bias));
            checks.push(
                Check::mean(format!("{what}, against W*"), found, toy.minimizer, bias).expected_to_differ(),
            );
        }
        // Digital SGD is an autoregression: the start is forgotten like (1 − αh)^K, the deviation is known.
        let (digital, kept) = (mean(&ends[list.len()].main), 1.0 - rate * toy.curvature);
        let left = (toy.initial - toy.minimizer) * kept.powf(steps as f64);
        checks.push(Check::mean(format!("Digital SGD: E[W] at σ = {deviation}"), digital, toy.minimizer, left));
        let settled = rate * deviation / (1.0 - kept * kept).sqrt();
        let what = format!("Digital SGD: deviation of W at σ = {deviation}, over the law's");
        checks.push(Check::equals(what, digital.std / settled, 1.0, Z / (2.0 * replicas as f64).sqrt()));
    }
    checks.extend(mini_batches(context)?);
    checks.push(newton_agrees(context)?);
    Ok(checks)
}

/// Analog SGD on least squares of twelve samples, one drawn at each step.
fn mini_batches(context: &Context) -> Outcome {
    let (mut x, mut y) = (vec![0.0; 24], vec![0.0; 12]);
    Key::new(8).fill_normal(&mut x);
    Key::new(9).fill_normal(&mut y);
    let problem = Noisy::new(Arc::new(LeastSquares::new(x, y, 0.1)?), Noise::MiniBatch { batch: 1 })?;
    let device: Device = Arc::new(Power::new(1.0, 3.0)?);
    let sampling = Sampling::new(context.key("mini-batches"));
    let predicted = predict_drift(&problem, &Uniform(device.clone()), sampling)?;
    let (steps, rate) = (20_000, 2e-3);
    // Independent runs of both weights; the mean over the last quarter of each.
    let mut ends = Vec::new();
    for seed in 0..context.pick(256, 96) {
        let main = array(0.0, context.device(&device), 2)?;
        let rule: Box<dyn Rule> = Box::new(Analog::sgd(main));
        let mut rules = vec![(rule, Rates::learning(context.rate(rate)))];
        let key = context.key("mini-batches").fold(seed);
        ends.extend(run(context, &problem, &mut rules, steps, key)?.remove(0).tail);
    }
    let found = [0, 1].map(|d| Summary::of(ends.iter().skip(d).step_by(2).copied()));
    let mut checks = Vec::new();
    for (d, found) in found.into_iter().enumerate() {
        let (zero, star) = (predicted.fixed_point[d], predicted.minimizer[d]);
        // O(α) of the weights' own scale.
        let bias = rate * (star.abs() + zero.abs());
        checks.push(Check::mean(format!("mini-batches of one: E[W_{}]", d + 1), found, zero, bias));
    }
    let far = [0, 1].map(|d| {
        let off = (found[d].mean - predicted.minimizer[d]).abs() - rate * predicted.minimizer[d].abs();
        off / (Z * found[d].se)
    });
    let what = "mini-batches of one: distance of E[W] from W*, over its error, in the farther weight";
    checks.push(Check::at_least(what, far[0].max(far[1]), 1.0, 0.0));
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
