//! A known number of pulses on each cell of a stretch, taken one after the other as vector code.
//!
//! Nothing is shortened here: every pulse sees the state that the one before left, draws its own noise and is clipped.

use super::cells::Cells;
use super::device::{CycleNoise, Device};
use super::laws::{Law, Parameters, WithLaw, with_law};
use crate::simd::{self, Kernel};

/// Some cells: a stretch of a row, or cells gathered from a column.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) device: &'a Device,
    pub(super) parameters: Parameters<'a>,
    /// s±, the unit of additive noise.
    pub(super) scale: [&'a [f32]; 2],
}

impl<'a> Stretch<'a> {
    /// Cells `from..to` of the array.
    pub(super) fn of(device: &'a Device, cells: &'a Cells, from: usize, to: usize) -> Self {
        let scale = [&cells.scale[0][from..to], &cells.scale[1][from..to]];
        Self { device, parameters: Parameters::stretch(cells, from, to), scale }
    }

    /// `counts[k]` pulses on cell k, upwards if positive; `noise(n, xi)` fills in the standard normals of pulse n.
    /// Returns the number of pulses.
    fn pulse(&self, counts: &[i32], state: &mut [f32], mut noise: impl FnMut(u32, &mut [f32])) -> u64 {
        let most = counts.iter().fold(0, |m, c| m.max(c.unsigned_abs()));
        let mut xi = [0.0; LONGEST];
        let xi = &mut xi[..state.len()];
        for n in 0..most {
            if self.device.noisy() {
                noise(n, xi);
            }
            self.pulse_number(n, counts, xi, state);
        }
        counts.iter().map(|c| u64::from(c.unsigned_abs())).sum()
    }

    /// The same where write noise may hide the state; `shown(xi)` fills in the standard normals of what a read will see.
    pub(super) fn send(
        &self,
        counts: &[i32],
        weights: &mut [f32],
        hidden: Option<&mut [f32]>,
        noise: impl FnMut(u32, &mut [f32]),
        shown: impl FnOnce(&mut [f32]),
    ) -> u64 {
        let Some(hidden) = hidden else {
            return self.pulse(counts, weights, noise);
        };
        let pulses = self.pulse(counts, hidden, noise);
        let mut xi = [0.0; LONGEST];
        let xi = &mut xi[..counts.len()];
        shown(xi);
        self.device.show(counts, hidden, xi, weights);
        pulses
    }

    /// Pulse number `n`, from 0, of every cell that gets more than n.
    pub(super) fn pulse_number(&self, n: u32, counts: &[i32], xi: &[f32], state: &mut [f32]) {
        let work = One { cells: *self, n: n.cast_signed(), counts, xi, state };
        with_law(self.device, self.parameters, work);
    }
}

impl Device {
    /// Draws anew what a read sees of the cells that were pulsed.
    pub(super) fn show(&self, counts: &[i32], state: &[f32], xi: &[f32], seen: &mut [f32]) {
        let spread = self.write_noise * self.pulse_step;
        for (k, seen) in seen.iter_mut().enumerate() {
            if counts[k] != 0 {
                *seen = state[k] + spread * xi[k];
            }
        }
    }
}

/// Cells of the longest stretch.
pub(super) const LONGEST: usize = 256;

/// Standard deviation of a pulse's noise as `step·|v| + scale·s + offset + slope·|w|`: all kinds in one formula.
#[derive(Clone, Copy)]
struct Deviation {
    step: f32,
    scale: f32,
    offset: f32,
    slope: f32,
}

impl Deviation {
    fn of(noise: CycleNoise) -> Self {
        let none = Self { step: 0.0, scale: 0.0, offset: 0.0, slope: 0.0 };
        match noise {
            CycleNoise::Multiplicative(step) => Self { step, ..none },
            CycleNoise::Additive(scale) => Self { scale, ..none },
            CycleNoise::Complex { deviation, offset, slope } => {
                Self { step: deviation, offset: deviation * offset, slope: deviation * slope, ..none }
            }
        }
    }
}

struct One<'a> {
    cells: Stretch<'a>,
    n: i32,
    counts: &'a [i32],
    xi: &'a [f32],
    state: &'a mut [f32],
}

struct OneKernel<'a, L>(One<'a>, L);

impl WithLaw for One<'_> {
    type Output = ();

    fn run<L: Law>(self, law: L) {
        simd::dispatch(OneKernel(self, law));
    }
}

impl<L: Law> Kernel for OneKernel<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(One { cells, n, counts, xi, state }, law) = self;
        let noise = Deviation::of(cells.device.cycle_noise);
        let len = state.len();
        let (law, counts, xi, state) = (law.first(len), &counts[..len], &xi[..len], &mut state[..len]);
        let (max, min) = (&cells.parameters.max[..len], &cells.parameters.min[..len]);
        let [up_scale, down_scale] = cells.scale.map(|s| &s[..len]);
        for k in 0..len {
            let (w, up) = (state[k], counts[k] > 0);
            let (v, _) = law.at(k, up, w);
            let scale = if up { up_scale[k] } else { down_scale[k] };
            let deviation = noise.step * v.abs() + noise.scale * scale + noise.offset + noise.slope * w.abs();
            let next = w + v + deviation * xi[k];
            let next = if next > max[k] { max[k] } else { next };
            let next = if next < min[k] { min[k] } else { next };
            state[k] = if counts[k].abs() > n { next } else { w };
        }
    }
}
