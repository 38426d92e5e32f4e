use super::Objective;
use crate::error::{ParameterError, all_finite, same_length};
use crate::numeric;

/// f(w) = ½ Σ h_d (w_d − w*_d)².
#[derive(Clone, Debug, PartialEq)]
pub struct DiagonalQuadratic {
    curvature: Vec<f64>,
    minimizer: Vec<f64>,
}

impl DiagonalQuadratic {
    /// From the diagonal of the Hessian and the minimiser.
    ///
    /// # Errors
    /// If the lengths differ, an entry is not finite, or a curvature is not positive.
    pub fn new(curvature: Vec<f64>, minimizer: Vec<f64>) -> Result<Self, ParameterError> {
        same_length("minimizer", curvature.len(), minimizer.len())?;
        all_finite("minimizer", &minimizer)?;
        for &h in &curvature {
            crate::error::positive("curvature", h)?;
        }
        Ok(Self { curvature, minimizer })
    }

    /// `n` independent copies of the scalar problem ½h(w − w*)²: one replica per coordinate.
    ///
    /// # Errors
    /// If the curvature is not positive or the minimiser not finite.
    pub fn replicas(curvature: f64, minimizer: f64, n: usize) -> Result<Self, ParameterError> {
        Self::new(vec![curvature; n], vec![minimizer; n])
    }
}

impl Objective for DiagonalQuadratic {
    fn dim(&self) -> usize {
        self.curvature.len()
    }
    fn value(&self, w: &[f64]) -> f64 {
        let terms = w.iter().zip(&self.minimizer).zip(&self.curvature);
        0.5 * terms.map(|((w, m), h)| h * (w - m) * (w - m)).sum::<f64>()
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        for (((g, w), m), h) in out.iter_mut().zip(w).zip(&self.minimizer).zip(&self.curvature) {
            *g = h * (w - m);
        }
    }
    fn describe(&self) -> String {
        format!("diagonal quadratic, D = {}", self.dim())
    }
    fn minimizer(&self) -> Option<&[f64]> {
        Some(&self.minimizer)
    }
    fn hessian(&self, _: &[f64]) -> Vec<f64> {
        let n = self.dim();
        let mut hessian = vec![0.0; n * n];
        for (i, h) in self.curvature.iter().enumerate() {
            hessian[i * n + i] = *h;
        }
        hessian
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        let min = self.curvature.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self.curvature.iter().copied().fold(0.0, f64::max);
        Some((min, max))
    }
}

/// f(w) = ½ (w − w*)ᵀ H (w − w*) with a dense symmetric positive definite H.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseQuadratic {
    hessian: Vec<f64>,
    minimizer: Vec<f64>,
    extremes: (f64, f64),
}

impl DenseQuadratic {
    /// From the row-major Hessian and the minimiser.
    ///
    /// # Errors
    /// If the shape is not D×D, an entry is not finite, the matrix is not symmetric (to 1e-12 of its largest
    /// entry), or not positive definite.
    pub fn new(hessian: Vec<f64>, minimizer: Vec<f64>) -> Result<Self, ParameterError> {
        let n = minimizer.len();
        same_length("hessian", n * n, hessian.len())?;
        all_finite("hessian", &hessian)?;
        all_finite("minimizer", &minimizer)?;
        let scale = hessian.iter().fold(0.0f64, |m, h| m.max(h.abs()));
        for i in 0..n {
            for j in 0..i {
                let gap = (hessian[i * n + j] - hessian[j * n + i]).abs();
                if gap > 1e-12 * scale {
                    let (must, property) = ("symmetric", "difference across the diagonal");
                    return Err(ParameterError::Matrix { name: "hessian", must, property, value: gap });
                }
            }
        }
        let eigenvalues = numeric::symmetric_eigenvalues(&hessian, n);
        let min = eigenvalues.iter().copied().fold(f64::INFINITY, f64::min);
        let max = eigenvalues.iter().copied().fold(0.0, f64::max);
        if min.is_nan() || min <= 0.0 {
            let (must, property) = ("positive definite", "smallest eigenvalue");
            return Err(ParameterError::Matrix { name: "hessian", must, property, value: min });
        }
        Ok(Self { hessian, minimizer, extremes: (min, max) })
    }
}

impl Objective for DenseQuadratic {
    fn dim(&self) -> usize {
        self.minimizer.len()
    }
    fn value(&self, w: &[f64]) -> f64 {
        let mut g = vec![0.0; w.len()];
        self.gradient(w, &mut g);
        0.5 * w.iter().zip(&self.minimizer).zip(&g).map(|((w, m), g)| (w - m) * g).sum::<f64>()
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        for (g, row) in out.iter_mut().zip(self.hessian.chunks_exact(self.minimizer.len())) {
            *g = row.iter().zip(w).zip(&self.minimizer).map(|((h, w), m)| h * (w - m)).sum();
        }
    }
    fn describe(&self) -> String {
        format!("dense quadratic, D = {}", self.dim())
    }
    fn minimizer(&self) -> Option<&[f64]> {
        Some(&self.minimizer)
    }
    fn hessian(&self, _: &[f64]) -> Vec<f64> {
        self.hessian.clone()
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        Some(self.extremes)
    }
}
