//! Zeros of a function of one variable.

/// A zero of `f` between `a` and `b`, to full `f64` precision, by Chandrupatla's method.
///
/// Inverse quadratic interpolation where the function is tame, bisection where it is not, and always a
/// bracket. `None` when `f(a)` and `f(b)` have the same sign, when a value is NaN, when the interval
/// is not finite, or when the sign changes through a pole. A jump across zero counts
/// as a zero: the result is then next to the jump.
///
/// ```
/// use residuum::numeric::find_root;
/// let root = find_root(|x: f64| x * x - 2.0, 0.0, 2.0);
/// assert!((root.expect("signs differ") - 2f64.sqrt()).abs() < 1e-15);
/// ```
pub fn find_root(mut f: impl FnMut(f64) -> f64, a: f64, b: f64) -> Option<f64> {
    let (f_a, f_b) = (f(a), f(b));
    refine(&mut f, (a, f_a), (b, f_b))
}

/// All zeros of `f` that a grid of `samples` points on [a, b] separates, in increasing grid order.
///
/// Each sign change between neighbouring points is refined as in [`find_root`], and a grid point where
/// `f` is exactly zero is reported itself. Two zeros in one cell, or a zero without a sign change off the
/// grid, are missed: choose `samples` by the shortest distance between zeros. Fewer than two samples give
/// no grid and hence no zeros.
pub fn roots(mut f: impl FnMut(f64) -> f64, a: f64, b: f64, samples: usize) -> Vec<f64> {
    let mut found = Vec::new();
    if samples < 2 {
        return found;
    }
    let last = samples - 1;
    let mut previous = (a, f(a));
    for i in 1..=last {
        // The weights keep both ends exact.
        let share = i as f64 / last as f64;
        let x = if i == last { b } else { a + share * (b - a) };
        let point = (x, f(x));
        if previous.1 == 0.0 {
            found.push(previous.0);
        } else if point.1 != 0.0
            && let Some(root) = refine(&mut f, previous, point)
        {
            found.push(root);
        }
        previous = point;
    }
    if previous.1 == 0.0 {
        found.push(previous.0);
    }
    found
}

/// Shrinks a bracket given with its values; `a`, `b`, `c` are (x, f(x)), `c` the point dropped last.
fn refine(f: &mut impl FnMut(f64) -> f64, first: (f64, f64), second: (f64, f64)) -> Option<f64> {
    for (x, value) in [first, second] {
        if value == 0.0 {
            return Some(x);
        }
    }
    // Written so that NaN fails too.
    let opposite = (first.1 < 0.0 && second.1 > 0.0) || (first.1 > 0.0 && second.1 < 0.0);
    if !opposite || !(second.0 - first.0).is_finite() {
        return None;
    }
    let ceiling = first.1.abs().max(second.1.abs());
    let (mut a, mut b) = (first, second);
    let mut share = 0.5;
    loop {
        let x = a.0 + share * (b.0 - a.0);
        let point = (x, f(x));
        if point.1.is_nan() {
            return None;
        }
        let c;
        if (point.1 < 0.0) == (a.1 < 0.0) {
            c = a;
        } else {
            c = b;
            b = a;
        }
        a = point;
        if a.1 == 0.0 {
            return Some(a.0);
        }

        let best = if a.1.abs() < b.1.abs() { a } else { b };
        let resolution = f64::EPSILON * best.0.abs() + f64::MIN_POSITIVE;
        let margin = resolution / (b.0 - a.0).abs();
        if margin > 0.5 {
            return (best.1.abs() <= ceiling).then_some(best.0);
        }
        share = interpolate(a, b, c).unwrap_or(0.5).clamp(margin, 1.0 - margin);
    }
}

/// The share of the way from `a` to `b` where inverse quadratic interpolation puts the zero, when it can be trusted.
fn interpolate(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> Option<f64> {
    let xi = (a.0 - b.0) / (c.0 - b.0);
    let phi = (a.1 - b.1) / (c.1 - b.1);
    let trusted = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
    trusted.then(|| {
        a.1 / (b.1 - a.1) * c.1 / (b.1 - c.1)
            + (c.0 - a.0) / (b.0 - a.0) * a.1 / (c.1 - a.1) * b.1 / (c.1 - b.1)
    })
}
