//! Means with their errors, and the few tests that statistical claims need.

use std::fmt;

/// Two-sided quantile used throughout: a correct implementation fails one check in a million.
pub const Z: f64 = 4.9;

/// Sample mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of independent samples.
    pub n: usize,
    /// Sample mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1).
    pub std: f64,
    /// Standard error of the mean.
    pub se: f64,
}

impl Summary {
    /// Welford's one-pass mean and variance.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let (mut n, mut mean, mut m2) = (0usize, 0.0, 0.0);
        for x in samples {
            n += 1;
            let d = x - mean;
            mean += d / n as f64;
            m2 += d * (x - mean);
        }
        let std = if n > 1 { (m2 / (n - 1) as f64).sqrt() } else { f64::NAN };
        Self { n, mean, std, se: std / (n as f64).sqrt() }
    }

    /// Half-width of the accepted interval: `Z·SE + bias`.
    pub fn tolerance(&self, bias: f64) -> f64 {
        Z * self.se + bias
    }

    /// Whether the mean is `expected` up to `Z·SE + bias`, where `bias` is a derived bound, not a tuned one.
    pub fn agrees(&self, expected: f64, bias: f64) -> bool {
        (self.mean - expected).abs() <= self.tolerance(bias)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ± {:.1e} (n = {})", self.mean, self.se, self.n)
    }
}

/// Least-squares line through `(x, y)`: slope, its standard error, and intercept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearFit {
    /// Slope.
    pub slope: f64,
    /// Standard error of the slope from the residuals.
    pub slope_se: f64,
    /// Intercept.
    pub intercept: f64,
}

/// Fits a straight line; give logarithms for a power law.
///
/// # Panics
/// If the lengths differ or there are fewer than two points.
pub fn fit_line(x: &[f64], y: &[f64]) -> LinearFit {
    assert_eq!(x.len(), y.len(), "x and y must have the same length");
    assert!(x.len() > 1, "a line needs two points");
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let sxx: f64 = x.iter().map(|a| (a - mx).powi(2)).sum();
    let sxy: f64 = x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum();
    let slope = sxy / sxx;
    let intercept = my - slope * mx;
    let rss: f64 = x.iter().zip(y).map(|(a, b)| (b - intercept - slope * a).powi(2)).sum();
    let slope_se = if x.len() > 2 { (rss / (n - 2.0) / sxx).sqrt() } else { f64::NAN };
    LinearFit { slope, slope_se, intercept }
}

/// Kolmogorov–Smirnov distance between a sample (sorted in place) and the standard normal law.
pub fn kolmogorov_smirnov_normal(sample: &mut [f64]) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    sample
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let cdf = 0.5 * crate::numeric::erfc(-x / std::f64::consts::SQRT_2);
            (cdf - i as f64 / n).abs().max((cdf - (i + 1) as f64 / n).abs())
        })
        .fold(0.0, f64::max)
}

/// Gaussian kernel density estimate on `grid` with Silverman's rule of thumb for the width.
pub fn density(sample: &[f64], grid: &[f64]) -> Vec<f64> {
    let s = Summary::of(sample.iter().copied());
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let spread =
        (sorted[(0.75 * n) as usize % sample.len()] - sorted[(0.25 * n) as usize % sample.len()]) / 1.34;
    let scale = if spread > 0.0 { spread.min(s.std) } else { s.std };
    let width = (0.9 * scale * n.powf(-0.2)).max(1e-12);
    grid.iter()
        .map(|&x| {
            // Beyond six widths the kernel is below 1e-8 of its peak.
            let from = sorted.partition_point(|&v| v < x - 6.0 * width);
            let to = sorted.partition_point(|&v| v <= x + 6.0 * width);
            let sum: f64 = sorted[from..to].iter().map(|&v| (-0.5 * ((x - v) / width).powi(2)).exp()).sum();
            sum / (n * width * (2.0 * std::f64::consts::PI).sqrt())
        })
        .collect()
}
