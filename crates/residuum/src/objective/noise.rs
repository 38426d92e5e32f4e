use std::sync::Arc;

use super::{GradientOracle, Objective};
use crate::Key;
use crate::error::{ParameterError, all_finite, non_negative, require, same_length};
use crate::numeric;

/// The law of gradient noise. σ is per coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Noise {
    /// Exact gradients.
    None,
    /// ξ ~ N(0, σ²), independent in each coordinate.
    Gaussian {
        /// σ.
        deviation: f64,
    },
    /// σ√((1−p)/p) with probability p, else −σ√(p/(1−p)): mean 0, variance σ², skewed; independent coordinates.
    TwoPoint {
        /// σ.
        deviation: f64,
        /// p, of the positive value.
        probability: f64,
    },
    /// Gradient of `batch` samples drawn with replacement from a finite sum.
    MiniBatch {
        /// Samples per step.
        batch: usize,
    },
    /// Recorded ξ_k, row k of a table; rows repeat from the start when they run out. A table with one column is
    /// used for every coordinate.
    Recorded {
        /// Row-major values.
        values: Arc<[f64]>,
        /// Columns, 1 or D.
        columns: usize,
    },
    /// ξ_k = σ√2 cos(2π frac((k+1)φ)), φ = (√5−1)/2, the same for every coordinate: deterministic.
    Cosine {
        /// σ.
        deviation: f64,
    },
}

/// φ = (√5 − 1)/2.
pub(crate) const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Noise {
    /// Checks the numbers against a problem of `dim` weights.
    ///
    /// # Errors
    /// If a deviation is negative, a probability not inside (0, 1), a batch empty, or a table of the wrong width.
    pub fn validate(&self, objective: &dyn Objective) -> Result<(), ParameterError> {
        match self {
            Self::None => {}
            Self::Gaussian { deviation } | Self::Cosine { deviation } => {
                non_negative("deviation", *deviation)?;
            }
            Self::TwoPoint { deviation, probability } => {
                non_negative("deviation", *deviation)?;
                require(
                    *probability > 0.0 && *probability < 1.0,
                    "probability",
                    "between 0 and 1, ends excluded",
                    *probability,
                )?;
            }
            Self::MiniBatch { batch } => {
                require(*batch > 0, "batch", "at least 1", *batch as f64)?;
                if objective.finite_sum().is_none() {
                    let objective = objective.describe();
                    return Err(ParameterError::NotFiniteSum { what: "mini-batch noise", objective });
                }
            }
            Self::Recorded { values, columns } => {
                require(!values.is_empty(), "number of recorded noise values", "at least 1", 0.0)?;
                require(
                    *columns == 1 || *columns == objective.dim(),
                    "columns of recorded noise",
                    "1 or the number of weights",
                    *columns as f64,
                )?;
                same_length("recorded noise", values.len() / columns * columns, values.len())?;
                all_finite("recorded noise", values)?;
            }
        }
        Ok(())
    }

    /// Writes ξ_k of an additive law. Mini-batches are not additive.
    fn draw(&self, k: u64, key: Key, out: &mut [f64]) -> bool {
        match self {
            Self::None => out.fill(0.0),
            Self::Gaussian { deviation } => {
                key.fold(k).fill_normal(out);
                for x in out.iter_mut() {
                    *x *= deviation;
                }
            }
            Self::TwoPoint { deviation, probability } => {
                let (up, down) = two_point(*deviation, *probability);
                key.fold(k).fill_uniform(out);
                for x in out.iter_mut() {
                    *x = if *x < *probability { up } else { down };
                }
            }
            Self::Cosine { deviation } => out.fill(cosine(*deviation, k)),
            Self::Recorded { values, columns } => {
                let rows = (values.len() / columns) as u64;
                let row = &values[(k % rows) as usize * columns..][..*columns];
                if *columns == 1 { out.fill(row[0]) } else { out.copy_from_slice(row) }
            }
            Self::MiniBatch { .. } => return false,
        }
        true
    }

    /// E|m + ξ| for a scalar mean m: closed forms, `None` where the law depends on the point (mini-batches).
    pub fn expected_magnitude(&self, mean: f64) -> Option<f64> {
        Some(match self {
            Self::None => mean.abs(),
            Self::Gaussian { deviation } => folded_normal(mean, *deviation),
            Self::TwoPoint { deviation, probability } => {
                let (up, down) = two_point(*deviation, *probability);
                probability * (mean + up).abs() + (1.0 - probability) * (mean + down).abs()
            }
            Self::Cosine { deviation } => {
                // frac((k+1)φ) is equidistributed, so ξ has the arcsine law on [−A, A], A = σ√2.
                let a = deviation * std::f64::consts::SQRT_2;
                let m = mean.abs();
                if m >= a {
                    m
                } else {
                    std::f64::consts::FRAC_2_PI * ((a * a - m * m).sqrt() + m * (m / a).asin())
                }
            }
            Self::Recorded { values, columns } if *columns == 1 => {
                values.iter().map(|x| (mean + x).abs()).sum::<f64>() / values.len() as f64
            }
            Self::Recorded { .. } | Self::MiniBatch { .. } => return None,
        })
    }

    /// Name for reports.
    pub fn describe(&self) -> String {
        match self {
            Self::None => "no noise".into(),
            Self::Gaussian { deviation } => format!("Gaussian, σ = {deviation}"),
            Self::TwoPoint { deviation, probability } => {
                format!("two-point, σ = {deviation}, p = {probability}")
            }
            Self::MiniBatch { batch } => format!("mini-batches of {batch}"),
            Self::Recorded { values, columns } => format!("recorded, {} rows", values.len() / columns),
            Self::Cosine { deviation } => format!("low-discrepancy cosine, σ = {deviation}"),
        }
    }
}

fn two_point(deviation: f64, p: f64) -> (f64, f64) {
    (deviation * ((1.0 - p) / p).sqrt(), -deviation * (p / (1.0 - p)).sqrt())
}

fn cosine(deviation: f64, k: u64) -> f64 {
    let turn = ((k + 1) as f64 * GOLDEN).fract();
    deviation * std::f64::consts::SQRT_2 * (std::f64::consts::TAU * turn).cos()
}

/// E|m + σZ| = σ√(2/π) e^{−m²/2σ²} + m erf(m/σ√2).
pub fn folded_normal(mean: f64, deviation: f64) -> f64 {
    if deviation == 0.0 {
        return mean.abs();
    }
    let r = mean / deviation;
    deviation * std::f64::consts::FRAC_2_PI.sqrt() * (-0.5 * r * r).exp()
        + mean * numeric::erf(r / std::f64::consts::SQRT_2)
}

/// An objective whose gradients come with noise.
#[derive(Clone)]
pub struct Noisy {
    objective: Arc<dyn Objective>,
    noise: Noise,
}

impl std::fmt::Debug for Noisy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noisy").field("objective", &self.objective.describe()).finish_non_exhaustive()
    }
}

impl Noisy {
    /// Combines an objective and a noise law.
    ///
    /// # Errors
    /// If the law does not fit the objective: see [`Noise::validate`].
    pub fn new(objective: Arc<dyn Objective>, noise: Noise) -> Result<Self, ParameterError> {
        noise.validate(&*objective)?;
        Ok(Self { objective, noise })
    }

    /// The objective.
    pub fn objective(&self) -> &dyn Objective {
        &*self.objective
    }

    /// The law of the noise.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }
}

impl GradientOracle for Noisy {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn sample(&self, k: u64, at: &[f64], key: Key, out: &mut [f64]) {
        if let (Noise::MiniBatch { batch }, Some(sum)) = (&self.noise, self.objective.finite_sum()) {
            let key = key.fold(k);
            out.fill(0.0);
            for draw in 0..*batch {
                let i = key.below_at(sum.samples(), draw as u64);
                sum.add_sample_gradient(i, at, 1.0 / *batch as f64, out);
            }
            return;
        }
        let mut noise = vec![0.0; out.len()];
        self.noise.draw(k, key, &mut noise);
        self.with_noise(at, &noise, out);
    }

    fn shared_noise(&self, k: u64, key: Key, out: &mut [f64]) -> bool {
        self.noise.draw(k, key, out)
    }

    fn with_noise(&self, at: &[f64], noise: &[f64], out: &mut [f64]) {
        self.objective.gradient(at, out);
        if self.noise != Noise::None {
            out.iter_mut().zip(noise).for_each(|(g, x)| *g += x);
        }
    }
}
