//! How a step depends on the state.

use super::device::Spread;
use crate::error::{ParameterError, finite, non_negative, positive, require};

/// u±(w): how a step depends on the state.
#[derive(Clone, Debug, PartialEq)]
pub enum StepModel {
    /// u = 1 between hard bounds.
    Constant,
    /// Straight lines; soft bounds are those that end at the cell's own bounds.
    Linear(Slopes),
    /// u₊ = ((max − w)/(max − min))^shape_up, u₋ = ((w − min)/(max − min))^shape_down.
    Power(Exponents),
    /// u± = max(0, 1 − amplitude·e^{±rate·z}), z = 2·stretch·w/(max − min) + shift.
    Exponential {
        /// Amplitudes of the up and the down step.
        amplitude: [f32; 2],
        /// Rates of the up and the down step.
        rate: [f32; 2],
        /// a.
        stretch: f32,
        /// b.
        shift: f32,
    },
    /// Linear interpolation of values at equally spaced nodes from the lower to the upper bound.
    Piecewise {
        /// Values of u₊.
        up: Vec<f32>,
        /// Values of u₋.
        down: Vec<f32>,
    },
}

/// Linear steps: u₊ = 1 − slope·w/B₊, u₋ = 1 − slope·w/B₋, with B₊ the upper and B₋ the lower bound unless reversed. A bound
/// at 0 leaves its step constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slopes {
    /// Relative drop of the up step at B₊ and of the down step at B₋.
    pub slope: [f32; 2],
    /// Spread of each between cells: absolute if normal, a factor if log-normal.
    pub spread: [Spread; 2],
    /// Whether a slope may be negative, so that a step grows towards its bound; otherwise it is turned round.
    pub increasing: bool,
    /// Whose bounds B± are.
    pub bounds: SlopeBounds,
    /// Where given, up or down, B is the bound at the other end, moved outwards by this: the step grows from there on.
    pub reversed: [Option<f32>; 2],
}

/// Whose bounds set the slopes of linear steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlopeBounds {
    /// Those of the mean cell.
    Mean,
    /// The cell's own.
    Own,
    /// The cell's own, after its slopes have divided them: a steeper cell is a narrower one, and steps vanish at its bounds.
    Divided,
}

impl Slopes {
    /// These slopes at the mean bounds, the same in every cell.
    pub fn new(up: f32, down: f32) -> Self {
        Self {
            slope: [up, down],
            spread: [Spread::NONE; 2],
            increasing: false,
            bounds: SlopeBounds::Mean,
            reversed: [None; 2],
        }
    }

    /// Steps that vanish at the cell's own bounds.
    pub fn soft_bounds() -> Self {
        Self { bounds: SlopeBounds::Own, ..Self::new(1.0, 1.0) }
    }

    /// B of one direction, 0 up and 1 down, between the upper and the lower bound.
    pub(super) fn bound(&self, side: usize, ends: [f32; 2]) -> f32 {
        match (self.reversed[side], side) {
            (None, _) => ends[side],
            (Some(offset), 0) => ends[1] - offset,
            (Some(offset), _) => ends[0] + offset,
        }
    }

    fn validate(&self) -> Result<(), ParameterError> {
        for (name, slope) in [("slope_up", self.slope[0]), ("slope_down", self.slope[1])] {
            let slope = f64::from(slope);
            if self.increasing {
                finite(name, slope)?
            } else {
                non_negative(name, slope)?
            };
            let divides = self.bounds == SlopeBounds::Divided;
            require(!divides || slope == 1.0, name, "1 where slopes divide the bounds", slope)?;
        }
        for spread in self.spread {
            non_negative("slope spread", f64::from(spread.deviation))?;
        }
        for offset in self.reversed.into_iter().flatten() {
            non_negative("reversed", f64::from(offset))?;
            require(
                self.bounds != SlopeBounds::Divided,
                "reversed",
                "off where slopes divide the bounds; offset given",
                f64::from(offset),
            )?;
        }
        Ok(())
    }
}

/// Exponents of power steps: shape·|g + r + min(imbalance, 0)| up and shape·|g − r − max(imbalance, 0)| down, with g drawn
/// around 1 and r around 0 once for each cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponents {
    /// Mean exponent.
    pub shape: f32,
    /// Spread of g, which both directions share.
    pub spread: Spread,
    /// Lowers the down exponent if positive, the up exponent if negative.
    pub imbalance: f32,
    /// Standard deviation of r, which parts the directions.
    pub imbalance_spread: f32,
}

impl Exponents {
    /// One exponent for all.
    pub fn new(shape: f32) -> Self {
        Self { shape, spread: Spread::NONE, imbalance: 0.0, imbalance_spread: 0.0 }
    }

    /// Whether every cell has one exponent for both directions.
    pub(super) fn balanced(&self) -> bool {
        self.imbalance == 0.0 && self.imbalance_spread == 0.0
    }

    /// Exponents of the mean cell.
    pub(super) fn mean(&self) -> [f32; 2] {
        self.of(1.0, 0.0)
    }

    /// Exponents of a cell that drew g and r.
    pub(super) fn of(&self, g: f32, r: f32) -> [f32; 2] {
        [g + r + self.imbalance.min(0.0), g - r - self.imbalance.max(0.0)].map(|part| self.shape * part.abs())
    }

    fn validate(&self) -> Result<(), ParameterError> {
        positive("shape", f64::from(self.shape))?;
        non_negative("shape spread", f64::from(self.spread.deviation))?;
        non_negative("shape_imbalance_spread", f64::from(self.imbalance_spread))?;
        let imbalance = f64::from(self.imbalance);
        require(imbalance.abs() < 1.0, "shape_imbalance", "between -1 and 1", imbalance)
    }
}

impl StepModel {
    /// Linear steps with these slopes at the mean bounds.
    pub fn linear(slope_up: f32, slope_down: f32) -> Self {
        Self::Linear(Slopes::new(slope_up, slope_down))
    }

    /// Linear steps that vanish at the cell's own bounds.
    pub fn soft_bounds() -> Self {
        Self::Linear(Slopes::soft_bounds())
    }

    /// Power steps with one exponent for all.
    pub fn power(shape: f32) -> Self {
        Self::Power(Exponents::new(shape))
    }

    /// Refuses numbers no step can have.
    pub(super) fn validate(&self) -> Result<(), ParameterError> {
        match self {
            Self::Constant => {}
            Self::Linear(slopes) => slopes.validate()?,
            Self::Power(exponents) => exponents.validate()?,
            Self::Exponential { amplitude, rate, stretch, shift } => {
                for (name, value) in [
                    ("amplitude", amplitude[0]),
                    ("amplitude", amplitude[1]),
                    ("rate", rate[0]),
                    ("rate", rate[1]),
                    ("stretch", *stretch),
                    ("shift", *shift),
                ] {
                    finite(name, f64::from(value))?;
                }
            }
            Self::Piecewise { up, down } => {
                for nodes in [up, down] {
                    require(nodes.len() >= 2, "piecewise nodes", "at least 2", nodes.len() as f64)?;
                    for &u in nodes {
                        non_negative("piecewise node", f64::from(u))?;
                    }
                }
            }
        }
        Ok(())
    }
}
