//! Problems made of data: gradients, Hessians, minimisers.

use residuum::objective::{LeastSquares, Logistic};
use residuum::{Key, Objective};

fn data(n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut x = vec![0.0; n * d];
    let mut y = vec![0.0; n];
    Key::new(4).fill_normal(&mut x);
    Key::new(5).fill_normal(&mut y);
    (x, y)
}

struct Plain<'a>(&'a dyn Objective);
impl Objective for Plain<'_> {
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
        "plain".into()
    }
}

fn check(f: &dyn Objective) {
    let d = f.dim();
    let mut w = vec![0.0; d];
    Key::new(6).fill_normal(&mut w);
    let mut g = vec![0.0; d];
    f.gradient(&w, &mut g);
    for j in 0..d {
        let at = |h: f64| {
            let mut v = w.clone();
            v[j] += h;
            f.value(&v)
        };
        let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((g[j] - numeric).abs() < 1e-8, "{} ∂{j}: {} {numeric}", f.describe(), g[j]);
    }
    let star = f.minimizer().unwrap();
    f.gradient(star, &mut g);
    assert!(g.iter().all(|g| g.abs() < 1e-13), "gradient at the minimiser: {g:?}");
    // The finite-difference Hessian of the trait against the closed form.
    for (a, b) in f.hessian(&w).iter().zip(Plain(f).hessian(&w)) {
        assert!((a - b).abs() < 1e-8, "hessian {a} {b}");
    }
}

#[test]
fn gradients_hessians_and_minimizers_agree() {
    let (x, y) = data(40, 3);
    check(&LeastSquares::new(x.clone(), y.clone(), 0.0).unwrap());
    check(&LeastSquares::new(x.clone(), y.clone(), 0.3).unwrap());
    let signs = y.iter().map(|v| v.signum()).collect();
    check(&Logistic::new(x, signs, 0.05).unwrap());
}

#[test]
fn bad_data_are_refused() {
    assert!(LeastSquares::new(vec![1.0, 1.0, 2.0, 2.0], vec![1.0, 2.0], 0.0).is_err());
    assert!(LeastSquares::new(vec![1.0, f64::NAN], vec![1.0, 2.0], 0.0).is_err());
    let e = Logistic::new(vec![1.0, 2.0], vec![1.0, 0.0], 0.1).unwrap_err();
    assert_eq!(e.to_string(), "target must be +1 or -1, got 0");
}
