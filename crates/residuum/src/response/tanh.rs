use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::error::{ParameterError, finite, positive, require};
use crate::{Range, math};

/// q± = c (1 ∓ slope·tanh((w − w⋄)/width)): satisfies the paper's Definition on the whole line, so its theorems
/// apply as written. κ₂ = (1 + slope)/(1 − slope).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tanh {
    gain: f64,
    slope: f64,
    width: f64,
    center: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "tanh",
    formula: "q± = gain(1 ∓ slope·tanh((w − center)/width)), regular on the whole line",
    parameters: &[
        ResponseParameter::new("slope", "relative drop of q far from the center", 0.6)
            .limits(", |slope| < 1")
            .required(),
        ResponseParameter::new("gain", "q± where they meet", 1.0).limits(" > 0"),
        ResponseParameter::new("width", "over which q changes", 1.0).limits(" > 0").weight(),
        ResponseParameter::new("center", "the symmetric point", 0.0).weight(),
    ],
    cells: |p| p.build(|x| Tanh::new(x[1], x[0], x[2], x[3])),
};

impl Tanh {
    /// A saturating response around `center` (the symmetric point).
    ///
    /// # Errors
    /// If `gain` or `width` is not positive, `slope` is outside [0, 1), or `center` is not finite.
    pub fn new(gain: f64, slope: f64, width: f64, center: f64) -> Result<Self, ParameterError> {
        require((0.0..1.0).contains(&slope), "slope", "at least 0 and below 1", slope)?;
        Ok(Self {
            gain: positive("gain", gain)?,
            slope,
            width: positive("width", width)?,
            center: finite("center", center)?,
        })
    }

    #[inline(always)]
    fn tanh(&self, w: f64) -> f64 {
        math::tanh((w - self.center) / self.width)
    }

    fn slope_at(&self, w: f64) -> f64 {
        let t = self.tanh(w);
        self.gain * self.slope / self.width * (1.0 - t * t)
    }
}

impl ResponseFunction for Tanh {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.gain * (1.0 - self.slope * self.tanh(w))
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.gain * (1.0 + self.slope * self.tanh(w))
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        -self.slope_at(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.slope_at(w)
    }
    fn range(&self) -> Range {
        Range::ALL
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(self.center)
    }
    fn describe(&self) -> String {
        format!("tanh: q± = {}(1 ∓ {}·tanh((w − {})/{}))", self.gain, self.slope, self.center, self.width)
    }

    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        let t = self.slope * self.tanh(w);
        desired * (self.gain * (1.0 - if desired >= 0.0 { t } else { -t }))
    }

    fn asymmetry_potential(&self, w: f64) -> f64 {
        // ln cosh y = |y| − ln 2 + ln(1 + e^{−2|y|}), and ½ ln(1 + sinh² y) where that would cancel.
        let y = ((w - self.center) / self.width).abs();
        let ln_cosh = if y < 1.0 {
            0.5 * y.sinh().powi(2).ln_1p()
        } else {
            y - std::f64::consts::LN_2 + (-2.0 * y).exp().ln_1p()
        };
        self.slope * self.width * ln_cosh
    }

    fn bounds(&self, over: Range) -> Bounds {
        let at = |w: f64| {
            if w == f64::INFINITY {
                1.0
            } else if w == f64::NEG_INFINITY {
                -1.0
            } else {
                self.tanh(w)
            }
        };
        let top = at(over.lo).abs().max(at(over.hi).abs());
        Bounds {
            range: over,
            min: self.gain * (1.0 - self.slope * top),
            max: self.gain * (1.0 + self.slope * top),
            lipschitz: self.slope_at(over.clip(self.center)),
        }
    }
}
