//! The laws every response keeps, as one function, and broken twins that it must catch.

use residuum::response::Power;
use residuum::{Key, Range, ResponseFunction};

/// Checks one response; the error names the law, the weight and both numbers.
pub fn check_laws(r: &dyn ResponseFunction) -> Result<(), String> {
    let window = window(r);
    let points = window.grid(61);
    for &w in &points {
        decomposition(r, w)?;
        homogeneity(r, w)?;
    }
    derivatives(r, window, &points[1..60])?;
    symmetric_point(r)?;
    bounds(r, window, &points)?;
    stays_inside(r, window)?;
    loop_equals_scalar(r, window)
}

/// The whole range, or a stretch around the symmetric point of an unbounded one.
fn window(r: &dyn ResponseFunction) -> Range {
    if r.range().is_finite() {
        return r.range();
    }
    let center = r.symmetric_point().unwrap_or(0.0);
    Range { lo: r.range().clip(center - 3.0), hi: r.range().clip(center + 3.0) }
}

fn agree(law: &str, w: f64, given: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    // Written so that NaN fails.
    if (given - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(format!("{law} at w = {w}: got {given}, expected {expected} within {tolerance:e}"))
}

fn decomposition(r: &dyn ResponseFunction, w: f64) -> Result<(), String> {
    let (plus, minus, gain, asymmetry) = (r.q_plus(w), r.q_minus(w), r.gain(w), r.asymmetry(w));
    let scale = plus + minus;
    if !(plus >= 0.0 && minus >= 0.0 && scale.is_finite() && scale > 0.0) {
        return Err(format!("positivity at w = {w}: q_plus = {plus}, q_minus = {minus}"));
    }
    agree("F - G = q_plus", w, gain - asymmetry, plus, 1e-15 * scale)?;
    agree("F + G = q_minus", w, gain + asymmetry, minus, 1e-15 * scale)?;
    agree("R = G/F", w, r.asymmetry_ratio(w), asymmetry / gain, 1e-15)?;
    for desired in [-1.7, -1e-9, 1e-6, 0.4] {
        let expected = desired * gain - f64::abs(desired) * asymmetry;
        let tolerance = 1e-15 * scale * f64::abs(desired);
        agree("A = dF - |d|G", w, r.realized(desired, w), expected, tolerance)?;
    }
    Ok(())
}

fn homogeneity(r: &dyn ResponseFunction, w: f64) -> Result<(), String> {
    agree("A(0; w) = 0", w, r.realized(0.0, w), 0.0, 0.0)?;
    for desired in [-0.3, 0.01] {
        let realized = r.realized(desired, w);
        agree("A(8d) = 8A(d)", w, r.realized(8.0 * desired, w), 8.0 * realized, 0.0)?;
        agree("A(3d) = 3A(d)", w, r.realized(3.0 * desired, w), 3.0 * realized, 1e-15 * realized.abs())?;
    }
    Ok(())
}

/// Central differences with two steps: their disagreement measures their own error.
fn derivatives(r: &dyn ResponseFunction, window: Range, points: &[f64]) -> Result<(), String> {
    let width = window.hi - window.lo;
    let top = points.iter().map(|&w| r.q_plus(w).max(r.q_minus(w))).fold(0.0, f64::max);
    let check = |law: &str, w: f64, f: &dyn Fn(f64) -> f64, given: f64, largest: f64| {
        let difference = |h: f64| (f(w + h) - f(w - h)) / (2.0 * h);
        let (fine, coarse) = (difference(1e-5 * width), difference(2e-5 * width));
        agree(law, w, given, fine, 4.0 * (fine - coarse).abs() + 1e-8 * largest / width)
    };
    for &w in points {
        check("q_plus'", w, &|x| r.q_plus(x), r.q_plus_derivative(w), top)?;
        check("q_minus'", w, &|x| r.q_minus(x), r.q_minus_derivative(w), top)?;
        check("R'", w, &|x| r.asymmetry_ratio(x), r.asymmetry_ratio_derivative(w), 10.0)?;
        check("R_c' = R", w, &|x| r.asymmetry_potential(x), r.asymmetry_ratio(w), width)?;
    }
    Ok(())
}

fn symmetric_point(r: &dyn ResponseFunction) -> Result<(), String> {
    let Some(w) = r.symmetric_point() else { return Ok(()) };
    if !r.range().contains(w) {
        return Err(format!("the symmetric point {w} lies outside {}", r.range()));
    }
    agree("G(symmetric point) = 0", w, r.asymmetry(w), 0.0, 1e-14 * r.gain(w))?;
    agree("R_c(symmetric point) = 0", w, r.asymmetry_potential(w), 0.0, 0.0)
}

fn bounds(r: &dyn ResponseFunction, window: Range, points: &[f64]) -> Result<(), String> {
    let bounds = r.bounds(window);
    for &w in points {
        for q in [r.q_plus(w), r.q_minus(w)] {
            if !(bounds.min <= q * (1.0 + 1e-12) && q <= bounds.max * (1.0 + 1e-12)) {
                return Err(format!("bounds at w = {w}: {q} outside [{}, {}]", bounds.min, bounds.max));
            }
        }
        for slope in [r.q_plus_derivative(w), r.q_minus_derivative(w)] {
            if slope.abs() > bounds.lipschitz * (1.0 + 1e-9) {
                return Err(format!("Lipschitz at w = {w}: slope {slope} above {}", bounds.lipschitz));
            }
        }
    }
    Ok(())
}

fn stays_inside(r: &dyn ResponseFunction, window: Range) -> Result<(), String> {
    let key = Key::new(17).named("laws");
    let mut w = window.clip(0.0);
    for k in 0..1000 {
        // Sizes from a thousandth of the range to several ranges.
        let size = (window.hi - window.lo) * 10f64.powf(4.0 * key.named("size").uniform_at(k) - 3.0);
        let desired = size * key.normal_at(k);
        let realized = r.realized(desired, w);
        if realized * desired < 0.0 {
            return Err(format!("direction at w = {w}: {desired} realized as {realized}"));
        }
        w = r.range().clip(w + realized);
        if !r.range().contains(w) || w.is_nan() {
            return Err(format!("range: step {k} leads to {w}"));
        }
        // An unbounded state may run far; the laws ask about the window.
        w = window.clip(w);
    }
    Ok(())
}

fn loop_equals_scalar(r: &dyn ResponseFunction, window: Range) -> Result<(), String> {
    let width = window.hi - window.lo;
    for n in [1, 2, 3, 4, 7, 8, 9, 16, 31, 33, 67] {
        let key = Key::new(n as u64).named("loop");
        let mut direction = vec![0.0; n];
        key.fill_normal(&mut direction);
        let mut state: Vec<f64> =
            (0..n).map(|i| window.lo + width * key.named("state").uniform_at(i as u64)).collect();
        state[n / 2] = window.hi;
        let scale = 0.3 * width;
        let expected: Vec<f64> =
            state.iter().zip(&direction).map(|(&w, &d)| r.range().clip(w + r.realized(scale * d, w))).collect();
        let before = state.clone();
        r.realize(scale, &direction, r.range(), &mut state);
        for i in 0..n {
            if state[i].to_bits() != expected[i].to_bits() {
                let (got, want) = (state[i], expected[i]);
                return Err(format!("loop of {n}, cell {i} at w = {}: {got}, one by one {want}", before[i]));
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    NegatedAsymmetry,
    SwappedBranches,
    Slope,
    Potential,
    SymmetricPoint,
    Tail,
}

/// A power response with one thing wrong.
#[derive(Debug)]
struct Twin(Power, Fault);

impl ResponseFunction for Twin {
    fn q_plus(&self, w: f64) -> f64 {
        self.0.q_plus(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.0.q_minus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.q_plus_derivative(w) * if self.1 == Fault::Slope { 1.01 } else { 1.0 }
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.q_minus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(if self.1 == Fault::SymmetricPoint { 1e-9 } else { 0.0 })
    }
    fn describe(&self) -> String {
        format!("{} with fault {:?}", self.0.describe(), self.1)
    }
    fn asymmetry(&self, w: f64) -> f64 {
        self.0.asymmetry(w) * if self.1 == Fault::NegatedAsymmetry { -1.0 } else { 1.0 }
    }
    fn realized(&self, desired: f64, w: f64) -> f64 {
        if self.1 == Fault::SwappedBranches {
            return -self.0.realized(-desired, w);
        }
        self.0.realized(desired, w)
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        self.0.asymmetry_potential(w) * if self.1 == Fault::Potential { 1.001 } else { 1.0 }
    }
    fn realize(&self, scale: f64, direction: &[f64], range: Range, state: &mut [f64]) {
        // The classic mistake of a vector loop: whole groups of eight only.
        let whole = if self.1 == Fault::Tail { state.len() / 8 * 8 } else { state.len() };
        self.0.realize(scale, &direction[..whole], range, &mut state[..whole]);
    }
}

#[test]
fn broken_twins_are_caught() {
    let verdict = |fault| check_laws(&Twin(Power::new(2.0, 0.8).unwrap(), fault));
    assert_eq!(verdict(Fault::None), Ok(()));
    let expected = [
        (Fault::NegatedAsymmetry, "F - G = q_plus"),
        (Fault::SwappedBranches, "A = dF - |d|G"),
        (Fault::Slope, "q_plus'"),
        (Fault::Potential, "R_c' = R"),
        (Fault::SymmetricPoint, "G(symmetric point) = 0"),
        (Fault::Tail, "loop of 1"),
    ];
    for (fault, law) in expected {
        let error = verdict(fault).expect_err(law);
        assert!(error.starts_with(law), "{fault:?} was caught as {error}");
    }
}
