//! Piecewise linear steps: a table at equally spaced nodes.

use super::aihwkit::{Class, ConversionError, Pulsed, convertible, expressible, multiplicative, write_noise};
use super::law::{Arithmetic, Cell, Law, Number, signed};
use super::{Device, Model, StepModel};
use crate::error::{ParameterError, non_negative, require};

/// Linear interpolation of values at equally spaced nodes from the lower to the upper bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// Values of u₊.
    pub up: Vec<f32>,
    /// Values of u₋.
    pub down: Vec<f32>,
}

/// Longest train: how far ahead to look for a kink.
const LONGEST_TRAIN: f32 = 31.0;
/// Largest change of slope within a train that the affine shortcut may ignore: n·Δb/4 ≤ 1e-3 of the train.
const KINK: f32 = 4e-3 / LONGEST_TRAIN;
/// The slope reported where a kink lies ahead: just above the limit for trains applied at once.
const BENT: f32 = 0.021;

#[derive(Clone, Copy)]
pub(super) struct Piecewise<'a> {
    nodes: [&'a [f32]; 2],
}

impl Nodes {
    pub(super) fn law(&self) -> Piecewise<'_> {
        Piecewise { nodes: [&self.up, &self.down] }
    }
}

/// Value and slope of the table at `at`, counted in intervals.
#[inline(always)]
fn lookup<A: Arithmetic>(nodes: &[f32], at: A::Number) -> (A::Number, A::Number) {
    let (zero, last) = (A::Number::from(0.0), nodes.len() - 1);
    let end = A::Number::of(last);
    let at = if at < zero { zero } else { at };
    let at = if at > end { end } else { at };
    let left = at.whole().min(last - 1);
    let (a, b) = (A::Number::from(nodes[left]), A::Number::from(nodes[left + 1]));
    (A::between(a, b, at - A::Number::of(left)), b - a)
}

impl<A: Arithmetic> Law<A> for Piecewise<'_> {
    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let nodes = if up { self.nodes[0] } else { self.nodes[1] };
        let (zero, intervals) = (A::Number::from(0.0), A::Number::of(nodes.len() - 1));
        let range = cell.max - cell.min;
        // A stuck cell has no range and no scale.
        let per_weight = if range > zero { intervals / range } else { zero };
        let at = A::position(w, intervals, cell);
        let (value, rise) = lookup::<A>(nodes, at);
        let step = signed(up, cell.scale * value);
        let slope = signed(up, cell.scale * rise * per_weight);
        if !A::TRAINS {
            return (step, slope);
        }
        // A kink ahead makes the step no affine function of the state: no slope is right for a whole train.
        let (_, ahead) = lookup::<A>(nodes, at + A::Number::from(LONGEST_TRAIN) * step * per_weight);
        let bend = cell.scale * (ahead - rise).magnitude() * per_weight;
        (step, if bend > KINK.into() { BENT.into() } else { slope })
    }
}

impl Model for Nodes {
    fn validate(&self) -> Result<(), ParameterError> {
        for nodes in [&self.up, &self.down] {
            require(nodes.len() >= 2, "piecewise nodes", "at least 2", nodes.len() as f64)?;
            for &u in nodes {
                non_negative("piecewise node", f64::from(u))?;
            }
        }
        Ok(())
    }

    fn at_zero(&self, device: &Device) -> f32 {
        let at_zero = |nodes: &[f32]| {
            let last = nodes.len() - 1;
            let at = (-device.min / (device.max - device.min) * last as f32).clamp(0.0, last as f32);
            let left = (at as usize).min(last.saturating_sub(1));
            nodes[left] + (at - left as f32) * (nodes[(left + 1).min(last)] - nodes[left])
        };
        0.5 * (at_zero(&self.up) + at_zero(&self.down))
    }

    fn samples(&self) -> usize {
        2 * self.up.len().max(self.down.len()) - 1
    }

    fn describe(&self) -> String {
        format!("piecewise with {} and {} nodes", self.up.len(), self.down.len())
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
        multiplicative(device)?;
        let (up, down) = (self.up.len(), self.down.len());
        expressible("piecewise nodes", "as many up as down", up == down, up as f64)?;
        Ok(Class::PiecewiseStep(PiecewiseStep {
            pulsed: Pulsed::of(device),
            piecewise_up: self.up.clone(),
            piecewise_down: self.down.clone(),
            write_noise_std: device.write_noise_in_pulse_steps(),
            ..PiecewiseStep::default()
        }))
    }
}

class! {
    /// Steps interpolated between nodes.
    #[derive(Clone, Debug, PartialEq)]
    PiecewiseStep {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Relative up step at equally spaced nodes from the lower to the upper bound.
        piecewise_up: Vec<f32> = vec![1.0],
        /// Relative down step at the same nodes.
        piecewise_down: Vec<f32> = vec![1.0],
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
    }
}

impl PiecewiseStep {
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
        let (n, down) = (self.piecewise_up.len(), self.piecewise_down.len());
        convertible("piecewise_up", "as long as piecewise_down, and at least 1", n > 0 && n == down, n as f64)?;
        // One node is a constant step, which needs two of our nodes.
        let nodes = |list: &[f32]| if n == 1 { vec![list[0]; 2] } else { list.to_vec() };
        let step =
            StepModel::Piecewise(Nodes { up: nodes(&self.piecewise_up), down: nodes(&self.piecewise_down) });
        Ok(Device {
            write_noise: write_noise(self.write_noise_std, self.apply_write_noise_on_set)?,
            granularity: Some(self.pulsed.dw_min * self.piecewise_up[n / 2]),
            ..self.pulsed.device(step, true)?
        })
    }
}
