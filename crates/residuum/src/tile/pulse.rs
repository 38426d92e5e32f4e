//! One pulse on one cell, exactly.

use super::cells::{Cells, side};
use super::device::{CycleNoise, Device};
use super::step::StepModel;

/// s±u±(w), the noise-free size of the next step.
#[inline(always)]
pub(super) fn step(device: &Device, cells: &Cells, i: usize, up: bool, w: f32) -> f32 {
    let s = side(up);
    let scale = cells.scale[s][i];
    match &device.step {
        StepModel::Constant => scale,
        StepModel::Linear { .. } => cells.base()[s][i] + cells.shape[s][i] * w,
        StepModel::Power { .. } => {
            let (max, min) = (cells.max[i], cells.min[i]);
            // A stuck cell has no range and no scale.
            let inverse = if max > min { 1.0 / (max - min) } else { 0.0 };
            let distance = if up { max - w } else { w - min } * inverse;
            scale * distance.max(0.0).powf(cells.shape[s][i])
        }
        StepModel::Exponential { amplitude, rate, stretch, shift } => {
            let range = cells.max[i] - cells.min[i];
            let z = if range > 0.0 { 2.0 * stretch * w / range } else { 0.0 } + shift;
            let signed = if up { rate[0] * z } else { -rate[1] * z };
            scale * (1.0 - amplitude[s] * signed.exp()).max(0.0)
        }
        StepModel::Piecewise { up: above, down } => {
            let nodes = if up { above } else { down };
            let last = (nodes.len() - 1) as f32;
            let range = cells.max[i] - cells.min[i];
            let at = if range > 0.0 { ((w - cells.min[i]) / range * last).clamp(0.0, last) } else { 0.0 };
            let left = (at as usize).min(nodes.len() - 2);
            let t = at - left as f32;
            scale * (nodes[left] * (1.0 - t) + nodes[left + 1] * t)
        }
    }
}

/// The state after one pulse; `xi` is its standard normal noise.
#[inline(always)]
pub(super) fn one(device: &Device, cells: &Cells, i: usize, up: bool, w: f32, xi: f32) -> f32 {
    let size = step(device, cells, i, up, w);
    let noisy = match device.cycle_noise {
        CycleNoise::Multiplicative(s) => size * (1.0 + s * xi),
        CycleNoise::Additive(s) => size + cells.scale[side(up)][i] * s * xi,
        CycleNoise::Complex { deviation, offset, slope } => {
            size + deviation * (size.abs() + offset + slope * w.abs()) * xi
        }
    };
    cells.clip(i, if up { w + noisy } else { w - noisy })
}

/// Where the mean up step falls below the mean down step between the cell's bounds.
pub(super) fn crossing(device: &Device, cells: &Cells, i: usize) -> Option<f32> {
    const PARTS: usize = 32;
    let (min, max) = (cells.min[i], cells.max[i]);
    let excess = |w: f32| step(device, cells, i, true, w) - step(device, cells, i, false, w);
    let falls = |&(lo, hi): &(f32, f32)| excess(lo) > 0.0 && excess(hi) <= 0.0;
    let node = |k: usize| min + (max - min) * (k as f32 / PARTS as f32);
    let parts = (0..PARTS).map(|k| (node(k), node(k + 1)));
    let (mut lo, mut hi) = std::iter::once((min, max)).chain(parts).find(falls)?;
    loop {
        let middle = f32::midpoint(lo, hi);
        // Far from 0 the numbers may be coarser than the range asks for.
        if hi - lo <= f32::EPSILON * (max - min) || middle <= lo || middle >= hi {
            return Some(hi);
        }
        *(if excess(middle) > 0.0 { &mut lo } else { &mut hi }) = middle;
    }
}
