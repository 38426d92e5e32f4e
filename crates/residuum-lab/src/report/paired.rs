//! Paired differences on common random numbers, and how sure one may be of them.
//!
//! Two arms with one seed meet the same data, devices and noise; the difference of their ends varies less than either.

use std::f64::consts::FRAC_2_PI;

use residuum::stats::Summary;

/// A difference is called significant if chance alone gives one as large less often than this, after Holm's correction.
pub const LEVEL: f64 = 0.05;

/// A spread below this share of the numbers it comes from is rounding.
const ROUNDING: f64 = 1e-12;

/// The difference of two arms over the seeds they share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Of the differences, first minus second; `n` counts the shared seeds.
    pub difference: Summary,
    /// Mean over standard error; none for fewer than two seeds, or if all differences are equal.
    pub t: Option<f64>,
    /// Two-sided probability of such a `t` if there is no difference.
    pub p: Option<f64>,
}

impl Paired {
    /// The values of `a` less those of `b` with the same seed.
    pub fn new(a: &[(u64, f64)], b: &[(u64, f64)]) -> Self {
        let partner = |seed: u64| b.iter().find(|(s, _)| *s == seed).map(|(_, value)| *value);
        let differences = a.iter().filter_map(|&(seed, value)| Some(value - partner(seed)?));
        Self::measured(
            Summary::of(differences),
            a.iter().chain(b).map(|(_, value)| value.abs()).fold(0.0, f64::max),
        )
    }

    /// Of differences that are at hand.
    pub fn of(differences: impl IntoIterator<Item = f64>) -> Self {
        let difference = Summary::of(differences);
        Self::measured(difference, difference.mean.abs())
    }

    fn measured(difference: Summary, size: f64) -> Self {
        // Differences that are equal up to rounding have no spread to measure their mean by.
        let t = (difference.se > ROUNDING * size).then(|| difference.mean / difference.se);
        let p = t.map(|t| student_two_sided(t, difference.n - 1));
        Self { difference, t, p }
    }
}

/// P(|T| ≥ |t|) for Student's T with a whole number of degrees of freedom ν ≥ 1.
///
/// With θ = atan(|t|/√ν) the probability of the middle is a finite sum of powers of cos θ (Abramowitz & Stegun 26.7.3 and
/// 26.7.4): for odd ν, 2/π (θ + sin θ (cos θ + ⅔ cos³θ + … )), for even ν, sin θ (1 + ½ cos²θ + ⅜ cos⁴θ + … ).
pub fn student_two_sided(t: f64, freedom: usize) -> f64 {
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cos, 0.0) } else { (1.0, 0.0) };
    for k in 0..freedom / 2 {
        sum += term;
        let m = 2.0 * k as f64;
        term *= cos * cos * if odd { (m + 2.0) / (m + 3.0) } else { (m + 1.0) / (m + 2.0) };
    }
    let middle = if odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum };
    (1.0 - middle).clamp(0.0, 1.0)
}

/// Holm's correction: the i-th smallest of m probabilities times m − i, never below its predecessor. What was not tested
/// does not count.
pub fn holm(probabilities: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        probabilities.iter().enumerate().filter_map(|(i, p)| p.map(|p| (i, p))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![None; probabilities.len()];
    let mut largest: f64 = 0.0;
    for (rank, (i, p)) in order.iter().enumerate() {
        largest = largest.max(p * (order.len() - rank) as f64).min(1.0);
        adjusted[*i] = Some(largest);
    }
    adjusted
}
