//! NeuroSim's nonlinearity label of a ramp, without its table.

/// The label of the mean ramp that a step s(x) > 0 makes from x = 0 to x = 1: with pulses and conductance both normalised to
/// the unit square, the largest distance from the diagonal over 0.07. Positive where steps shrink along the ramp, negative where they grow; `None` if
/// the ramp never arrives.
///
/// NeuroSim's table, which gives A of G(p) = B(1 − e^{−p/A}) for labels of 0.01 to 9, is this rule to its last digit.
pub fn nonlinearity(step: impl Fn(f64) -> f64) -> Option<f64> {
    // The continuous ramp dx/dp = s(x): pulses are the integral of 1/s, by midpoints.
    const PARTS: usize = 20_000;
    let mut at = vec![0.0];
    let mut pulses = 0.0;
    for i in 0..PARTS {
        let s = step((i as f64 + 0.5) / PARTS as f64);
        if !(s > 0.0 && s.is_finite()) {
            return None;
        }
        pulses += 1.0 / s;
        at.push(pulses);
    }
    let distance = |(i, p): (usize, &f64)| (i as f64 / PARTS as f64 - p / pulses) / std::f64::consts::SQRT_2;
    let far = at.iter().enumerate().map(distance).max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    Some(far / 0.07)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_the_table() {
        // Rows of NeuroSim's table: label and A, printed with four digits.
        for (label, a) in [(0.1, 12.6258), (1.7, 0.7239), (3.1, 0.372), (4.7, 0.2127), (6.1, 0.1306)] {
            // G = B(1 − e^{−p/A}) ends at 1 for p = 1: its step is linear, (B − G)/A.
            let b = 1.0 / -(-1.0f64 / a).exp_m1();
            let got = nonlinearity(|x| (b - x) / a).unwrap();
            assert!((got - label).abs() < 2e-3 * label, "{label}: {got}");
        }
        assert!(nonlinearity(|_| 0.3).unwrap().abs() < 1e-9);
        assert!(nonlinearity(|x| 0.1 + x).unwrap() < 0.0);
        assert_eq!(nonlinearity(|x| 0.5 - x), None);
    }
}
