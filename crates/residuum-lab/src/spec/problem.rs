//! `[problem]` and `[noise]`: what is minimised, with what noise.

use std::path::Path;
use std::sync::Arc;

use residuum::objective::{DenseQuadratic, DiagonalQuadratic, LeastSquares, Logistic};
use residuum::{Key, Noise, Noisy, Objective, ParameterError};

use super::reader::{Fields, SpecError};
use super::vector::{MatrixSpec, VectorSpec};
use crate::table::NumberTable;

/// More weights than this are a slip of the pen, refused before they fill the memory.
const MAX_DIM: usize = 100_000_000;

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
    pub(crate) fn read(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        let problem = match fields.choice("kind", &["quadratic", "least_squares", "logistic"])? {
            "quadratic" if fields.has("hessian") => {
                let hessian = MatrixSpec::read(fields, "hessian", base)?;
                Self::Dense { minimizer: VectorSpec::read(fields, "minimizer", base)?, hessian }
            }
            "quadratic" => {
                let curvature = VectorSpec::read(fields, "curvature", base)?;
                let minimizer = VectorSpec::read(fields, "minimizer", base)?;
                let stated = fields.optional_count("dim")?.map(|d| d as usize);
                let dim = stated.or(curvature.len()).or(minimizer.len()).unwrap_or(1);
                if !(1..=MAX_DIM).contains(&dim) {
                    return Err(fields.error(format!("problem.dim must be between 1 and {MAX_DIM}, got {dim}")));
                }
                Self::Quadratic { curvature, minimizer, dim }
            }
            kind => {
                let features = MatrixSpec::read(fields, "features", base)?;
                let targets = VectorSpec::read(fields, "targets", base)?
                    .build(features.rows(), Key::new(0))
                    .map_err(|e| fields.error(format!("problem.targets {e}")))?;
                let logistic = kind == "logistic";
                let ridge = if logistic { fields.number("ridge")? } else { fields.number_or("ridge", 0.0)? };
                Self::Data { logistic, features, targets, ridge }
            }
        };
        Ok(problem)
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
    /// If a vector does not fit or the numbers make no problem.
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
    /// Numbers that make no problem.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

pub(crate) fn read_noise(fields: Option<&Fields<'_>>, dim: usize, base: &Path) -> Result<Noise, SpecError> {
    let Some(fields) = fields else { return Ok(Noise::None) };
    let kinds = ["none", "gaussian", "two_point", "mini_batch", "recorded", "cosine"];
    Ok(match fields.choice("kind", &kinds)? {
        "none" => Noise::None,
        "gaussian" => Noise::Gaussian { deviation: deviation(fields, dim)? },
        "two_point" => {
            Noise::TwoPoint { deviation: deviation(fields, dim)?, probability: fields.number("probability")? }
        }
        "cosine" => Noise::Cosine { deviation: deviation(fields, dim)? },
        "mini_batch" => Noise::MiniBatch { batch: fields.count("batch")? as usize },
        _ => {
            let table = NumberTable::read(&base.join(fields.text("csv")?))
                .map_err(|e| fields.error(format!("noise.csv: {e}")))?;
            fields.number_contents("csv", &table.values, table.columns);
            Noise::Recorded { values: table.values.into(), columns: table.columns }
        }
    })
}

/// σ per coordinate, or the total σ of the theorems divided over the coordinates.
fn deviation(fields: &Fields<'_>, dim: usize) -> Result<f64, SpecError> {
    match (fields.has("deviation"), fields.has("total_deviation")) {
        (true, true) => Err(fields.error(
            "noise must have deviation (per coordinate) or total_deviation (of the whole vector), not both",
        )),
        (false, true) => Ok(fields.number("total_deviation")? / (dim as f64).sqrt()),
        _ => fields.number("deviation"),
    }
}

/// Joins objective and noise.
///
/// # Errors
/// If the noise does not fit the objective.
pub fn noisy(objective: Arc<dyn Objective>, noise: &Noise) -> Result<Noisy, ParameterError> {
    Noisy::new(objective, noise.clone())
}
