//! `[problem]` and `[noise]`: what is minimised, with what noise.

use std::path::PathBuf;
use std::sync::Arc;

use residuum::objective::{DenseQuadratic, DiagonalQuadratic, LeastSquares, Logistic};
use residuum::{Key, Noise, Noisy, Objective, ParameterError};

use super::node::SpecError;
use super::section::{Optional, Or, Required, RequiredIf, section};
use super::table::Table;
use super::types::{count, number, path, word};
use super::vector::{MatrixSpec, VectorSpec, matrix, vector};
use crate::table::NumberTable;

section! {
    /// What is minimised. `quadratic` is ½ Σ h(w − w*)² with `curvature`, or ½ (w − w*)ᵀH(w − w*) with `hessian`;
    /// `least_squares` is ‖Xw − y‖²/2n + ridge·‖w‖²/2; `logistic` is the mean of ln(1 + e^{−y xᵀw}) + ridge·‖w‖²/2.
    pub(crate) struct ProblemTable by kind {
        /// the objective
        kind: &'static str = word(["quadratic", "least_squares", "logistic"]), "–", Required;
        /// h > 0
        curvature: Option<VectorSpec> = vector(), "objective/weight²", Optional("required without `hessian`"), of kind ["quadratic"];
        /// H, symmetric positive definite
        hessian: Option<MatrixSpec> = matrix(), "objective/weight²", Optional("diagonal: `curvature`"), of kind ["quadratic"];
        /// w*
        minimizer: Option<VectorSpec> = vector(), "weight", RequiredIf, of kind ["quadratic"];
        /// number of weights
        dim: Option<usize> = count().at_least(1).at_most(MAX_DIM).size(), "weights", Optional("that of the lists, else 1"),
            of kind ["quadratic"];
        /// X, one row per sample
        features: Option<MatrixSpec> = matrix(), "–", RequiredIf, of kind ["least_squares" "logistic"];
        /// y; ±1 for `logistic`
        targets: Option<VectorSpec> = vector(), "–", RequiredIf, of kind ["least_squares" "logistic"];
        /// ridge
        ridge: f64 = number().checked_later(" ≥ 0"), "objective/weight²", Or("0.0"), of kind ["least_squares"];
        /// ridge
        logistic_ridge @ "ridge": Option<f64> = number().checked_later(" > 0"), "objective/weight²", RequiredIf, of kind ["logistic"];
    }
}

section! {
    /// ξ_k, added to the gradient of step k.
    pub(crate) struct NoiseTable by kind {
        /// `gaussian`: N(0, σ²); `two_point`: σ√((1−p)/p) with probability p, else −σ√(p/(1−p)); `mini_batch`: samples drawn with
        /// replacement; `recorded`: rows of a file; `cosine`: σ√2·cos(2π frac((k+1)φ))
        kind: &'static str = word(["none", "gaussian", "two_point", "mini_batch", "recorded", "cosine"]), "–", Required;
        /// σ in each coordinate
        deviation: Option<f64> = number().checked_later(" ≥ 0"), "objective/weight", Optional("required without `total_deviation`"),
            of kind ["gaussian" "two_point" "cosine"];
        /// σ√D of the whole vector, instead of `deviation`
        total_deviation: Option<f64> = number().checked_later(" ≥ 0"), "objective/weight", Optional("none"),
            of kind ["gaussian" "two_point" "cosine"];
        /// p
        probability: Option<f64> = number().checked_later(", 0 < p < 1"), "probability", RequiredIf, of kind ["two_point"];
        /// samples per step, for problems with data
        batch: Option<usize> = count().size(), "samples", RequiredIf, of kind ["mini_batch"];
        /// row k is used in step k, starting over at the end
        csv: Option<PathBuf> = path(), "–", RequiredIf, of kind ["recorded"];
    }
}

/// Most weights of a problem, some gigabytes with the cells of two arrays; more are taken for a mistake and rejected before
/// they fill the memory.
const MAX_DIM: u64 = 10_000_000;

/// The objective of a spec.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemSpec {
    /// ½ Σ h(w − w*)².
    Quadratic {
        /// Diagonal of the Hessian.
        curvature: VectorSpec,
        /// W*.
        minimizer: VectorSpec,
        /// Number of weights.
        dim: usize,
    },
    /// ½ (w − w*)ᵀH(w − w*).
    Dense {
        /// H.
        hessian: MatrixSpec,
        /// W*.
        minimizer: VectorSpec,
    },
    /// Least squares or logistic regression on a table.
    Data {
        /// Whether the loss is logistic.
        logistic: bool,
        /// Rows of features.
        features: MatrixSpec,
        /// One target per row.
        targets: Vec<f64>,
        /// Ridge.
        ridge: f64,
    },
}

impl ProblemSpec {
    pub(crate) fn new(f: ProblemTable, at: &Table<'_>) -> Result<Self, SpecError> {
        let needed = |value: Option<VectorSpec>, name: &str| value.ok_or_else(|| at.missing(name));
        if f.kind == "quadratic" {
            let minimizer = needed(f.minimizer, "minimizer")?;
            if let Some(hessian) = f.hessian {
                if let Some(other) = ["curvature", "dim"].into_iter().find(|name| at.has(name)) {
                    return Err(at.error(format!("problem.{other} must not be given together with hessian")));
                }
                return Ok(Self::Dense { hessian, minimizer });
            }
            let curvature = needed(f.curvature, "curvature")?;
            let dim = f.dim.or(curvature.len()).or(minimizer.len()).unwrap_or(1);
            if dim == 0 {
                return Err(at.error(format!("problem.dim must be between 1 and {MAX_DIM}, got 0")));
            }
            return Ok(Self::Quadratic { curvature, minimizer, dim });
        }
        let features = f.features.ok_or_else(|| at.missing("features"))?;
        let targets = needed(f.targets, "targets")?
            .build(features.rows(), Key::new(0))
            .map_err(|e| at.error(format!("problem.targets {e}")))?;
        Ok(Self::Data {
            logistic: f.kind == "logistic",
            features,
            targets,
            ridge: f.logistic_ridge.unwrap_or(f.ridge),
        })
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        match self {
            Self::Quadratic { dim, .. } => *dim,
            Self::Dense { hessian, .. } => hessian.rows(),
            Self::Data { features, .. } => features.columns,
        }
    }

    /// The objective of one seed; `key` decides random entries only.
    ///
    /// # Errors
    /// If a vector does not fit or the numbers do not define a problem.
    pub fn build(&self, key: Key) -> Result<Arc<dyn Objective>, ProblemError> {
        let vector = |spec: &VectorSpec, name: &'static str, n: usize| {
            spec.build(n, key.named(name)).map_err(|message| ProblemError::Vector { name, message })
        };
        Ok(match self {
            Self::Quadratic { curvature, minimizer, dim } => Arc::new(DiagonalQuadratic::new(
                vector(curvature, "curvature", *dim)?,
                vector(minimizer, "minimizer", *dim)?,
            )?),
            Self::Dense { hessian, minimizer } => Arc::new(DenseQuadratic::new(
                hessian.values.clone(),
                vector(minimizer, "minimizer", hessian.rows())?,
            )?),
            Self::Data { logistic: true, features, targets, ridge } => {
                Arc::new(Logistic::new(features.values.clone(), targets.clone(), *ridge)?)
            }
            Self::Data { features, targets, ridge, .. } => {
                Arc::new(LeastSquares::new(features.values.clone(), targets.clone(), *ridge)?)
            }
        })
    }
}

/// A problem that cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A vector of the wrong length or with bad entries.
    #[error("{name} {message}")]
    Vector {
        /// The field.
        name: &'static str,
        /// What must hold.
        message: String,
    },
    /// Numbers that do not define a problem.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// The noise of a problem of so many weights.
pub(crate) fn noise(f: &NoiseTable, dim: usize, at: &Table<'_>) -> Result<Noise, SpecError> {
    // σ per coordinate, or the total σ of the theorems divided over the coordinates.
    let deviation = || match (f.deviation, f.total_deviation) {
        (Some(_), Some(_)) => Err(at.error(
            "noise must have deviation (per coordinate) or total_deviation (of the whole vector), not both",
        )),
        (None, Some(total)) => Ok(total / (dim as f64).sqrt()),
        (deviation, None) => deviation.ok_or_else(|| at.missing("deviation")),
    };
    Ok(match (f.kind, &f.csv) {
        ("none", _) => Noise::None,
        ("gaussian", _) => Noise::Gaussian { deviation: deviation()? },
        ("two_point", _) => Noise::TwoPoint {
            deviation: deviation()?,
            probability: f.probability.ok_or_else(|| at.missing("probability"))?,
        },
        ("cosine", _) => Noise::Cosine { deviation: deviation()? },
        ("mini_batch", _) => Noise::MiniBatch { batch: f.batch.ok_or_else(|| at.missing("batch"))? },
        (_, None) => return Err(at.missing("csv")),
        (_, Some(csv)) => {
            let table = NumberTable::read(csv).map_err(|e| at.error(format!("noise.csv: {e}")))?;
            at.number_contents("csv", &table.values, table.columns);
            Noise::Recorded { values: table.values.into(), columns: table.columns }
        }
    })
}

/// Joins objective and noise.
///
/// # Errors
/// If the noise does not fit the objective.
pub fn noisy(objective: Arc<dyn Objective>, noise: &Noise) -> Result<Noisy, ParameterError> {
    Noisy::new(objective, noise.clone())
}
