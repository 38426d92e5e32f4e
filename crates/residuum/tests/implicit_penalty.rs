//! The Implicit Penalty theorem: orders in ‖W⋄ − W*‖, reference values, and the trap of symmetric examples.
#![allow(clippy::unwrap_used, reason = "test helpers")]

mod toy;

use std::sync::Arc;

use residuum::cells::PerCell;
use residuum::objective::{DenseQuadratic, LeastSquares};
use residuum::response::{Power, SoftBounds};
use residuum::stats::fit_line;
use residuum::theory::fixed_point::{MeanDrift, predict_drift};
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::{Sampling, gradient_magnitude};
use residuum::{GradientOracle, Key, Noise, Noisy, Objective, Range, ResponseFunction};
use toy::Moved;

/// A quadratic plus 0.8 Σ(eˣ − x − 1), x = w − W*: third derivatives that a quadratic hides.
#[derive(Debug)]
struct WithExponential(DenseQuadratic);

impl WithExponential {
    fn offsets(&self, w: &[f64]) -> Vec<f64> {
        w.iter().zip(self.0.minimizer().unwrap()).map(|(w, m)| w - m).collect()
    }
}

impl Objective for WithExponential {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn value(&self, w: &[f64]) -> f64 {
        self.0.value(w) + 0.8 * self.offsets(w).iter().map(|x| x.exp_m1() - x).sum::<f64>()
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        self.0.gradient(w, out);
        for (g, x) in out.iter_mut().zip(self.offsets(w)) {
            *g += 0.8 * x.exp_m1();
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
        for (i, x) in self.offsets(w).iter().enumerate() {
            hessian[i * n + i] += 0.8 * x.exp();
        }
        hessian
    }
}

fn scalar_quadratic() -> DenseQuadratic {
    DenseQuadratic::new(vec![1.0], vec![0.3]).unwrap()
}

fn coupled_quadratic() -> DenseQuadratic {
    let n = 5;
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => 1.0 + 0.5 * i as f64,
        1 => 0.3,
        _ => 0.0,
    };
    let hessian = (0..n * n).map(|e| entry(e / n, e % n)).collect();
    DenseQuadratic::new(hessian, Range::new(-0.3, 0.4).unwrap().grid(n)).unwrap()
}

fn direction(n: usize) -> Vec<f64> {
    let u = if n == 1 { vec![1.0] } else { vec![1.0, -2.0, 3.0, -1.0, 2.0] };
    let length = norm(&u);
    u.into_iter().map(|x| x / length).collect()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn sampling() -> Sampling {
    Sampling::new(Key::new(1))
}

/// ‖∇f_Σ‖ and ‖T‖ at W̃*, W* and W⋄ when W⋄ is `distance` away from W*.
#[derive(Clone, Copy, Debug)]
struct Norms {
    penalized: [f64; 3],
    drift: [f64; 3],
}

fn norms<R>(objective: &Arc<dyn Objective>, response: &R, noise: &Noise, distance: f64) -> Norms
where
    R: ResponseFunction + Clone,
{
    let n = objective.dim();
    let star = objective.minimizer().unwrap().to_vec();
    let point: Vec<f64> = star.iter().zip(direction(n)).map(|(w, u)| w + distance * u).collect();
    let cells = PerCell(point.iter().map(|&p| Moved::to(response.clone(), p)).collect());
    let problem = Noisy::new(objective.clone(), noise.clone()).unwrap();
    let penalty = ImplicitPenalty::new(&problem, &cells, sampling()).unwrap();
    let drift = MeanDrift::new(&problem, &cells, sampling()).unwrap();
    let places = [penalty.penalized_minimizer().unwrap(), star, point];
    let mut out = vec![0.0; n];
    Norms {
        penalized: places.each_ref().map(|w| {
            penalty.penalized_gradient(w, &mut out);
            norm(&out)
        }),
        drift: places.each_ref().map(|w| {
            drift.mean_drift(w, &mut out);
            norm(&out)
        }),
    }
}

/// Log-log slopes of the six norms over distances 2⁻⁷ … 2⁻¹².
fn slopes<R>(objective: &Arc<dyn Objective>, response: &R, noise: &Noise) -> Norms
where
    R: ResponseFunction + Clone,
{
    let distances: Vec<f64> = (7..=12).map(|e| 0.5f64.powi(e)).collect();
    let x: Vec<f64> = distances.iter().map(|d| d.ln()).collect();
    let all: Vec<Norms> = distances.iter().map(|&d| norms(objective, response, noise, d)).collect();
    let slope =
        |get: &dyn Fn(&Norms) -> f64| fit_line(&x, &all.iter().map(|n| get(n).ln()).collect::<Vec<_>>()).slope;
    Norms {
        penalized: [0, 1, 2].map(|i| slope(&|n| n.penalized[i])),
        drift: [0, 1, 2].map(|i| slope(&|n| n.drift[i])),
    }
}

fn skewed() -> SoftBounds {
    SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()
}

const TWO_POINT: Noise = Noise::TwoPoint { deviation: 1.0, probability: 0.2 };
const GAUSSIAN: Noise = Noise::Gaussian { deviation: 1.0 };

fn objectives() -> [Arc<dyn Objective>; 4] {
    [
        Arc::new(scalar_quadratic()),
        Arc::new(WithExponential(scalar_quadratic())),
        Arc::new(coupled_quadratic()),
        Arc::new(WithExponential(coupled_quadratic())),
    ]
}

#[test]
fn second_order_at_the_penalized_minimizer_first_order_elsewhere() {
    for objective in objectives() {
        let found = slopes(&objective, &skewed(), &TWO_POINT);
        for (slope, expected) in found.penalized.into_iter().chain(found.drift).zip([2.0, 1.0, 1.0].repeat(2)) {
            assert!((slope - expected).abs() < 0.02, "{}: {found:?}", objective.describe());
        }
    }
}

#[test]
fn norms_meet_the_reference() {
    let [scalar, _, _, coupled] = objectives();
    let cases = [
        (scalar, [1.40704292e-6, 7.87944044e-6, 4.70614401e-3, 7.8125e-3]),
        (coupled, [1.87461173e-6, 7.89750790e-6, 4.70857996e-3, 2.01105377e-2]),
    ];
    for (objective, [penalized, drift, at_star, at_point]) in cases {
        let n = norms(&objective, &skewed(), &TWO_POINT, 0.5f64.powi(7));
        let pairs = [
            (n.penalized[0], penalized),
            (n.drift[0], drift),
            (n.penalized[1], at_star),
            (n.drift[1], at_star),
            (n.penalized[2], at_point),
            (n.drift[2], at_point),
        ];
        for (given, expected) in pairs {
            // The smallest norm is 1e-6 and computed from terms of size 1e-2: eight digits survive.
            assert!((given / expected - 1.0).abs() < 2e-8, "{given:e} {expected:e}");
        }
    }
}

#[test]
fn symmetric_examples_hide_the_second_order() {
    let [scalar, ..] = objectives();
    let smooth = slopes(&scalar, &Power::new(2.0, 1.0).unwrap(), &GAUSSIAN);
    assert!((smooth.penalized[0] - 3.0).abs() < 0.02, "{smooth:?}");
    assert!((smooth.drift[0] - 3.0).abs() < 0.02, "{smooth:?}");
    let straight = norms(&scalar, &Power::new(1.0, 1.0).unwrap(), &GAUSSIAN, 0.5f64.powi(7));
    assert!(straight.penalized[0] < 1e-14, "power 1 and a quadratic: W̃* is the argmin exactly, {straight:?}");
    assert!(straight.drift[0] > 1e-9, "yet not a zero of the drift, {straight:?}");
}

#[test]
fn penalized_gradient_is_that_of_the_penalized_objective() {
    let objective: Arc<dyn Objective> = Arc::new(WithExponential(coupled_quadratic()));
    let cells = PerCell((0..5).map(|i| Moved::to(skewed(), 0.1 * f64::from(i) - 0.2)).collect());
    let problem = Noisy::new(objective, TWO_POINT).unwrap();
    let penalty = ImplicitPenalty::new(&problem, &cells, sampling()).unwrap();
    let (w, mut g) = ([0.2, -0.1, 0.3, 0.0, -0.3], [0.0; 5]);
    penalty.penalized_gradient(&w, &mut g);
    for d in 0..5 {
        let at = |h: f64| {
            let mut w = w;
            w[d] += h;
            penalty.penalized_objective(&w)
        };
        let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((g[d] - slope).abs() < 1e-8, "∂{d}: {} {slope}", g[d]);
    }
    assert!(penalty.implicit_penalty(penalty.symmetric_point()).abs() < 1e-14);
    assert!(penalty.implicit_penalty(&w) > 0.0);
}

#[test]
fn the_argmin_is_least_and_the_four_points_are_ordered() {
    let problem = toy::gaussian(0.5, 1);
    let cells = residuum::cells::Uniform::new(toy::power(2.0));
    let penalty = ImplicitPenalty::new(&problem, &cells, sampling()).unwrap();
    let argmin = penalty.argmin().unwrap()[0];
    let least = penalty.penalized_objective(&[argmin]);
    for step in [-0.1, -1e-3, 1e-3, 0.1] {
        assert!(penalty.penalized_objective(&[argmin + step]) > least, "{step}");
    }
    let drift = predict_drift(&problem, &cells, sampling()).unwrap();
    assert!(drift.symmetric_point[0] < drift.fixed_point[0] && drift.fixed_point[0] < drift.minimizer[0]);
    assert!((drift.fixed_point[0] - 0.275457030153).abs() < 1e-11, "{drift:?}");
}

/// Least squares of a few samples, whose mini-batches are the noise.
fn regression(samples: usize, batch: usize) -> Noisy {
    let (mut x, mut y) = (vec![0.0; 2 * samples], vec![0.0; samples]);
    Key::new(8).fill_normal(&mut x);
    Key::new(9).fill_normal(&mut y);
    Noisy::new(Arc::new(LeastSquares::new(x, y, 0.1).unwrap()), Noise::MiniBatch { batch }).unwrap()
}

#[test]
fn magnitudes_of_small_batches_are_exact_and_agree_with_draws() {
    let w = [0.4, -0.2];
    for batch in [1, 3] {
        let problem = regression(12, batch);
        let exact = gradient_magnitude(&problem, &w, sampling());
        assert_eq!(exact.standard_error, None);
        let mut rows: Vec<[f64; 2]> = vec![[0.0; 2]; 40_000];
        for (k, row) in rows.iter_mut().enumerate() {
            problem.sample(k as u64, &w, Key::new(3), row);
        }
        for d in 0..2 {
            let drawn = residuum::stats::Summary::of(rows.iter().map(|r| r[d].abs()));
            assert!(drawn.agrees(exact.value[d], 0.0), "batch {batch}: {drawn} {}", exact.value[d]);
            let broken = residuum::stats::Summary::of(rows.iter().map(|r| r[d]));
            assert!(!broken.agrees(exact.value[d], 0.0), "the mean gradient is not its magnitude");
        }
    }
    let large = gradient_magnitude(&regression(500, 8), &w, sampling());
    let errors = large.standard_error.expect("too many batches to enumerate");
    assert!(errors.iter().all(|&e| e > 0.0 && e < 0.1));
}

#[test]
fn mini_batches_drift_to_the_zero_of_their_own_drift() {
    use residuum::rule::{Analog, Source};
    let problem = regression(12, 1);
    let response = Power::new(1.0, 3.0).unwrap();
    let cells = residuum::cells::Uniform::new(response);
    let predicted = predict_drift(&problem, &cells, sampling()).unwrap();
    // 64 independent runs; the mean over the last half of each.
    let (steps, alpha) = (20_000, 2e-3);
    let ends: Vec<[f64; 2]> = (0..64)
        .map(|seed| {
            let array = residuum::AnalogArray::uniform(&[0.0, 0.0], response).unwrap();
            let mut rule = Analog::new(array, Source::sgd(alpha));
            let mut sum = [0.0; 2];
            let mut look = |k: u64, _: usize, rule: &dyn residuum::UpdateRule| {
                if k > steps / 2 {
                    sum.iter_mut().zip(rule.arrays()[0].1).for_each(|(s, w)| *s += w);
                }
                residuum::Control::Continue
            };
            residuum::minimize(&problem, &mut [&mut rule], steps, Key::new(seed), &mut look).unwrap();
            sum.map(|s| s / (steps - steps / 2) as f64)
        })
        .collect();
    for d in 0..2 {
        let mean = residuum::stats::Summary::of(ends.iter().map(|w| w[d]));
        let zero = predicted.fixed_point[d];
        // O(α) of the weights' own scale.
        let bias = alpha * (predicted.minimizer[d].abs() + zero.abs());
        assert!(mean.agrees(zero, bias), "{d}: {mean} {predicted:?}");
    }
    let worst = (0..2).map(|d| {
        let mean = residuum::stats::Summary::of(ends.iter().map(|w| w[d]));
        !mean.agrees(predicted.minimizer[d], alpha * predicted.minimizer[d].abs())
    });
    assert!(worst.into_iter().any(|off| off), "W* is not where the runs end");
}

/// The same function, silent about its minimiser.
#[derive(Debug)]
struct Silent(DenseQuadratic);

impl Objective for Silent {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn value(&self, w: &[f64]) -> f64 {
        self.0.value(w)
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        self.0.gradient(w, out);
    }
    fn describe(&self) -> String {
        "silent".into()
    }
}

#[test]
fn an_unknown_minimizer_is_found() {
    let cells = residuum::cells::Uniform::new(Power::new(2.0, 1.0).unwrap());
    let told = Noisy::new(Arc::new(coupled_quadratic()), GAUSSIAN).unwrap();
    let found = Noisy::new(Arc::new(Silent(coupled_quadratic())), GAUSSIAN).unwrap();
    let told = predict_drift(&told, &cells, sampling()).unwrap();
    let found = predict_drift(&found, &cells, sampling()).unwrap();
    for (a, b) in [(&told.minimizer, &found.minimizer), (&told.fixed_point, &found.fixed_point)] {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10), "{told:?} {found:?}");
    }
    let (shift, pull) = (norm(&told.fixed_point), norm(&told.minimizer));
    assert!(shift < 0.8 * pull, "drawn towards 0: {shift} {pull}");
}

#[test]
fn predictions_outside_the_device_are_refused() {
    let problem = Noisy::new(
        Arc::new(DenseQuadratic::new(vec![1.0], vec![3.0]).unwrap()),
        Noise::Gaussian { deviation: 0.1 },
    );
    let (problem, cells) = (problem.unwrap(), residuum::cells::Uniform::new(Power::new(1.0, 1.0).unwrap()));
    let penalty = ImplicitPenalty::new(&problem, &cells, sampling()).unwrap();
    let message = penalty.argmin().unwrap_err().to_string();
    let expected = "argmin of the penalized objective[0] must lie in the dynamic range [-1, 1], got 2.9";
    assert!(message.starts_with(expected), "{message}");
    let wrong = PerCell(vec![Power::new(1.0, 1.0).unwrap(); 2]);
    assert!(ImplicitPenalty::new(&problem, &wrong, sampling()).is_err());
}
