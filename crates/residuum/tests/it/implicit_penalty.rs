//! The penalised objective, its minimiser, gradient magnitudes and predicted drift as code.

use super::toy;

use std::sync::Arc;

use residuum::cells::PerCell;
use residuum::objective::{DenseQuadratic, LeastSquares};
use residuum::response::{Moved, Power, SoftBounds};
use residuum::theory::fixed_point::predict_drift;
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::{Sampling, gradient_magnitude};
use residuum::{GradientOracle, Key, Noise, Noisy, Objective, Range};

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

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn sampling() -> Sampling {
    Sampling::new(Key::new(1))
}

fn skewed() -> SoftBounds {
    SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()
}

const TWO_POINT: Noise = Noise::TwoPoint { deviation: 1.0, probability: 0.2 };
const GAUSSIAN: Noise = Noise::Gaussian { deviation: 1.0 };

#[test]
fn penalized_gradient_is_that_of_the_penalized_objective() {
    let objective: Arc<dyn Objective> = Arc::new(WithExponential(coupled_quadratic()));
    let cells = PerCell((0..5).map(|i| Moved::to(Arc::new(skewed()), 0.1 * f64::from(i) - 0.2)).collect());
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
