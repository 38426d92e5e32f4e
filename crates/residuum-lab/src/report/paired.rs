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

#[cfg(test)]
mod tests {
    use super::*;

    /// Tabulated quantiles of Student's law, and three cases in closed form.
    #[test]
    fn student_meets_the_tables() {
        for (t, freedom, p) in [
            (12.7062047, 1, 0.05),
            (4.30265273, 2, 0.05),
            (3.18244631, 3, 0.05),
            (2.77644511, 4, 0.05),
            (4.60409487, 4, 0.01),
            (2.26215716, 9, 0.05),
            (2.08596345, 20, 0.05),
            (63.6567412, 1, 0.01),
        ] {
            let ours = student_two_sided(t, freedom);
            assert!((ours - p).abs() < 1e-8, "t = {t}, {freedom}: {ours} against {p}");
            assert_eq!(ours, student_two_sided(-t, freedom));
        }
        assert!((student_two_sided(1.0, 1) - 0.5).abs() < 1e-15);
        assert!((student_two_sided(2.0, 2) - (1.0 - 2.0 / 6f64.sqrt())).abs() < 1e-15);
        assert_eq!(student_two_sided(0.0, 7), 1.0);
    }

    /// Differences 1, 2, 3: mean 2, deviation 1, t = 2√3, and with two degrees of freedom p = 1 − t/√(t² + 2).
    #[test]
    fn pairs_are_matched_by_seed() {
        let a = [(1, 11.0), (2, 22.0), (3, 33.0), (9, 1e9)];
        let b = [(3, 30.0), (1, 10.0), (2, 20.0), (4, -1e9)];
        let pair = Paired::new(&a, &b);
        assert_eq!((pair.difference.n, pair.difference.mean, pair.difference.std), (3, 2.0, 1.0));
        assert!((pair.t.unwrap() - 12f64.sqrt()).abs() < 1e-14);
        assert!((pair.p.unwrap() - (1.0 - (12.0f64 / 14.0).sqrt())).abs() < 1e-14);
    }

    /// Broken twin: taken in the order they stand rather than by seed, the same numbers show nothing.
    #[test]
    fn values_paired_by_position_lose_the_effect() {
        let a = [(1, 11.0), (2, 22.0), (3, 33.0)];
        let b = [(3, 30.0), (1, 10.0), (2, 20.0)];
        let wrong = Paired::of(a.iter().zip(&b).map(|(a, b)| a.1 - b.1));
        assert!(wrong.t.unwrap().abs() < 0.5 && wrong.p.unwrap() > 0.5);
    }

    #[test]
    fn nothing_is_claimed_without_a_spread() {
        assert_eq!(Paired::of([1.0]).p, None);
        assert_eq!(Paired::of([0.5, 0.5, 0.5]).p, None);
        let shifted = [(1, 0.1), (2, 0.2), (3, 0.7)].map(|(seed, x)| (seed, x + 0.3));
        let rounded = Paired::new(&shifted, &[(1, 0.1), (2, 0.2), (3, 0.7)]);
        assert!(rounded.difference.se > 0.0 && rounded.p.is_none(), "{rounded:?}");
        assert_eq!(Paired::new(&[(1, 2.0)], &[(2, 1.0)]).difference.n, 0);
    }

    /// By hand: 0.01·4, 0.02·3, then 0.06 carried past 0.03·2 = 0.06 and 0.04·1; five tests would be four without the one left out.
    #[test]
    fn holm_by_hand() {
        let adjusted = holm(&[Some(0.04), Some(0.01), None, Some(0.03), Some(0.02)]);
        let expected = [Some(0.06), Some(0.04), None, Some(0.06), Some(0.06)];
        for (a, e) in adjusted.iter().zip(expected) {
            assert!(matches!((a, e), (None, None)) || (a.unwrap() - e.unwrap()).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(holm(&[Some(0.6), Some(0.7)]), [Some(1.0), Some(1.0)]);
    }

    /// Broken twin: uncorrected, twenty null comparisons at one in twenty would be expected to yield a find; Holm keeps them all out.
    #[test]
    fn holm_refuses_what_many_tests_find_by_chance() {
        let chance: Vec<Option<f64>> = (1..=20).map(|k| Some(f64::from(k) / 21.0)).collect();
        assert!(chance.iter().flatten().any(|&p| p < LEVEL));
        assert!(holm(&chance).iter().flatten().all(|&p| p >= LEVEL));
    }
}
