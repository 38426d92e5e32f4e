//! Conversion between the devices of tiles and the response functions of the theory.

use super::law::{Cell, Double, Law, WithLaw, signed};
use super::{Device, Nodes, StepModel};
use crate::error::{ParameterError, positive, require};
use crate::response::ResponseFunction;
use crate::{Range, numeric};

/// Largest error of a table, relative to the largest value: what single precision would leave after a few steps.
const TABLE_ERROR: f64 = 2e-6;
/// Intervals of the shortest and the longest table tried.
const INTERVALS: [usize; 2] = [1 << 6, 1 << 16];

impl Device {
    /// A device with this response: one pulse at w moves a cell by `pulse_step`·q±(w), and the expected update
    /// is the operator A of that response, to single precision.
    ///
    /// The branches are tabulated at equally spaced nodes, as many as keep the linear interpolation within 2e-6 of the
    /// largest value halfway between nodes. Update management uses `pulse_step`, the step where q = 1, as its unit.
    ///
    /// # Errors
    /// If the step is not positive, the range not finite, or 2¹⁶ intervals are too few, as near a kink or a vertical tangent:
    /// the message says what error remains, and [`Device::from_response_within`] accepts it.
    pub fn from_response(response: &dyn ResponseFunction, pulse_step: f32) -> Result<Self, ParameterError> {
        Self::from_response_within(response, pulse_step, TABLE_ERROR)
    }

    /// The same with a given tolerance of the table, relative to the largest value of q±.
    ///
    /// # Errors
    /// As [`Device::from_response`].
    pub fn from_response_within(
        response: &dyn ResponseFunction,
        pulse_step: f32,
        tolerance: f64,
    ) -> Result<Self, ParameterError> {
        positive("pulse_step", f64::from(pulse_step))?;
        positive("tolerance", tolerance)?;
        let Range { lo, hi } = response.range();
        for end in [lo, hi] {
            require(end.is_finite(), "range of the response", "finite", end)?;
        }
        let mut intervals = INTERVALS[0];
        loop {
            let table = Table::new(response, intervals);
            if table.error <= tolerance {
                let [up, down] = table.nodes;
                let step = StepModel::Piecewise(Nodes { up, down });
                let device = Self {
                    granularity: Some(pulse_step),
                    ..Self::ideal(step, pulse_step, lo as f32, hi as f32)
                };
                device.validate()?;
                return Ok(device);
            }
            if intervals == INTERVALS[1] {
                return Err(ParameterError::OutOfDomain {
                    name: "relative error of a table of 65536 intervals",
                    must: "at most the tolerance",
                    value: table.error,
                });
            }
            intervals *= 2;
        }
    }

    /// The response of the mean cell, without variation and noise: q± = s±u±(w)/granularity.
    ///
    /// # Errors
    /// If the device is invalid.
    pub fn response(&self) -> Result<DeviceResponse, ParameterError> {
        self.validate()?;
        Ok(DeviceResponse::new(self.clone()))
    }
}

struct Table {
    nodes: [Vec<f32>; 2],
    /// Largest distance halfway between nodes, relative to the largest value.
    error: f64,
}

impl Table {
    fn new(response: &dyn ResponseFunction, intervals: usize) -> Self {
        // Nodes and the points halfway between them.
        let points = response.range().grid(2 * intervals + 1);
        let (mut largest, mut error) = (0.0f64, 0.0f64);
        let nodes = [true, false].map(|up| {
            let q = |w: f64| if up { response.q_plus(w) } else { response.q_minus(w) };
            let values: Vec<f64> = points.iter().map(|&w| q(w)).collect();
            largest = values.iter().fold(largest, |m, v| m.max(v.abs()));
            for k in (1..values.len()).step_by(2) {
                error = error.max((values[k] - 0.5 * (values[k - 1] + values[k + 1])).abs());
            }
            // Rounding may leave a branch just below 0 at its bound.
            values.into_iter().step_by(2).map(|v| v.max(0.0) as f32).collect()
        });
        Self { nodes, error: error / largest }
    }
}

/// What [`Device::response`] gives: the mean cell of a device as the theory sees it, in double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceResponse {
    device: Device,
    /// s± over the granularity.
    scale: [f64; 2],
    /// What a read subtracts from the cell.
    reference: f64,
    symmetric_point: Option<f64>,
}

impl DeviceResponse {
    fn new(device: Device) -> Self {
        let imbalance = f64::from(device.imbalance);
        let per_granularity = f64::from(device.pulse_step) / f64::from(device.granularity());
        let scale = [1.0 + imbalance.min(0.0), 1.0 - imbalance.max(0.0)].map(|s| s.abs() * per_granularity);
        let mut response = Self { device, scale, reference: 0.0, symmetric_point: None };
        if let Some(reference) = response.device.reference {
            let own = if reference.at_symmetric_point { response.crossing() } else { None };
            response.reference = f64::from(reference.mean) + own.unwrap_or(0.0);
        }
        response.symmetric_point = response.crossing();
        response
    }

    /// Where the branches meet, nearest to 0.
    fn crossing(&self) -> Option<f64> {
        let range = self.range();
        let grid = range.grid(self.device.step.model().samples().max(SAMPLES));
        if grid.iter().all(|&w| self.asymmetry(w) == 0.0) {
            return Some(range.clip(0.0));
        }
        let roots = numeric::roots(|w| self.asymmetry(w), range.lo, range.hi, grid.len());
        roots.into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs()))
    }

    /// q and its derivative.
    fn branch(&self, up: bool, w: f64) -> (f64, f64) {
        let (side, model) = (usize::from(!up), self.device.step.model());
        let cell = Cell {
            scale: 1.0,
            shape: model.mean_shape(&self.device, side),
            max: f64::from(self.device.max),
            min: f64::from(self.device.min),
            inverse_range: 1.0 / f64::from(self.device.max - self.device.min),
        };
        // The state the step depends on, before a read subtracts the reference.
        let w = if model.counts_from_reference() { w } else { w + self.reference };
        let (u, slope) = self.device.step.with_law(Branch { cell, up, w });
        (self.scale[side] * u, self.scale[side] * slope)
    }
}

/// u and its derivative at w.
struct Branch {
    cell: Cell<f64>,
    up: bool,
    w: f64,
}

impl WithLaw<Double> for Branch {
    type Output = (f64, f64);

    fn run<L: Law<Double>>(self, law: L) -> (f64, f64) {
        let (step, slope) = law.step(&self.cell, self.up, self.w);
        (signed(self.up, step), signed(self.up, slope))
    }
}

/// Points of the grid on which a crossing of the branches is looked for; odd, so that the centre is one.
const SAMPLES: usize = 4097;

impl ResponseFunction for DeviceResponse {
    fn q_plus(&self, w: f64) -> f64 {
        self.branch(true, w).0
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.branch(false, w).0
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.branch(true, w).1
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.branch(false, w).1
    }
    fn range(&self) -> Range {
        Range {
            lo: f64::from(self.device.min) - self.reference,
            hi: f64::from(self.device.max) - self.reference,
        }
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.symmetric_point
    }
    fn describe(&self) -> String {
        let step = self.device.step.model().describe();
        format!("device: {step}, steps of {} on {}", self.device.granularity(), self.range())
    }
}
