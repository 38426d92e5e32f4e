//! One pulse on one cell, exactly.

use crate::device::{CycleNoise, Device, Span, side, value};

/// The state of cell i of an array after one pulse; `xi` is its standard normal noise.
#[inline(always)]
pub(crate) fn one(device: &Device, span: Span<'_>, i: usize, up: bool, w: f32, xi: f32) -> f32 {
    let (cells, i) = (span.cells, i - span.first);
    let size = device.step_size(cells, i, up, w);
    let noisy = match device.cycle_noise_in_pulse_steps() {
        CycleNoise::Multiplicative(s) => size * (1.0 + s * xi),
        CycleNoise::Additive(s) => size + value(&cells.scale[side(up)], i) * s * xi,
        CycleNoise::Complex { deviation, offset, slope } => {
            size + deviation * (size.abs() + offset + slope * w.abs()) * xi
        }
    };
    cells.clip(i, if up { w + noisy } else { w - noisy })
}
