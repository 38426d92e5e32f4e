//! A known number of pulses on each cell of a chunk, as vector code.
//!
//! Where cells allow it, all pulses of a cell are applied at once; otherwise one by one: every pulse sees the state that
//! the one before left, draws its own noise and is clipped.

use super::at_once::{STEEP, by_doubling};
use crate::device::{CycleNoise, Device, Law, Parameters, Span, Vector, WithLaw, pick};

/// Some cells: a chunk of a row, or cells gathered from a column.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) device: &'a Device,
    pub(super) parameters: Parameters<'a>,
}

impl<'a> Chunk<'a> {
    /// Cells `from..to` of the array.
    pub(super) fn of(device: &'a Device, cells: Span<'a>, from: usize, to: usize) -> Self {
        Self { device, parameters: cells.parameters(from, to) }
    }

    /// `counts[k]` pulses on cell k, upwards if positive; `noise(n, counts, xi)` fills in the standard normals of pulse n
    /// for the cells that get more than n. Counts of cells handled at once are set to 0.
    fn pulse(
        &self,
        at_once: bool,
        counts: &mut [i32],
        state: &mut [f32],
        mut noise: impl FnMut(u32, &[i32], &mut [f32]),
    ) {
        let mut xi = [0.0; LONGEST];
        let xi = &mut xi[..state.len()];
        let mut draw = |n: u32, counts: &[i32], xi: &mut [f32]| {
            if self.device.noisy() {
                noise(n, counts, xi);
            }
        };
        if at_once {
            draw(0, counts, xi);
            self.pulse_at_once(counts, xi, state);
        }
        for n in 0..most(counts) {
            draw(n, counts, xi);
            self.pulse_number(n, counts, xi, state);
        }
    }

    /// The same where write noise may hide the state; `shown(xi)` fills in the standard normals of what a read will see.
    pub(super) fn send(
        &self,
        at_once: bool,
        counts: &mut [i32],
        weights: &mut [f32],
        hidden: Option<&mut [f32]>,
        noise: impl FnMut(u32, &[i32], &mut [f32]),
        shown: impl FnOnce(&mut [f32]),
    ) {
        if let Some(hidden) = hidden {
            let mut pulsed = [0; LONGEST];
            pulsed[..counts.len()].copy_from_slice(counts);
            self.pulse(at_once, counts, hidden, noise);
            let mut xi = [0.0; LONGEST];
            shown(&mut xi[..counts.len()]);
            self.device.show(&pulsed, hidden, &xi, weights);
        } else {
            self.pulse(at_once, counts, weights, noise);
        }
    }

    /// Pulse number `n`, from 0, of every cell that gets more than n.
    pub(super) fn pulse_number(&self, n: u32, counts: &[i32], xi: &[f32], state: &mut [f32]) {
        let work = Pulse { cells: *self, n: n.cast_signed(), counts, xi, state };
        self.device.step.with_vector_law(work);
    }

    /// All pulses of the cells that allow it, whose counts become 0.
    pub(super) fn pulse_at_once(&self, counts: &mut [i32], xi: &[f32], state: &mut [f32]) {
        self.device.step.with_vector_law(AtOnce { cells: *self, counts, xi, state });
    }
}

/// The largest number of pulses on one cell.
pub(super) fn most(counts: &[i32]) -> u32 {
    counts.iter().fold(0, |m, c| m.max(c.unsigned_abs()))
}

impl Device {
    /// Redraws what a read sees of the cells that were pulsed.
    pub(super) fn show(&self, counts: &[i32], state: &[f32], xi: &[f32], seen: &mut [f32]) {
        let spread = self.write_deviation();
        for (k, seen) in seen.iter_mut().enumerate() {
            if counts[k] != 0 {
                *seen = state[k] + spread * xi[k];
            }
        }
    }
}

/// Cells of the longest chunk.
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

/// One pulse.
struct Pulse<'a> {
    cells: Chunk<'a>,
    n: i32,
    counts: &'a [i32],
    xi: &'a [f32],
    state: &'a mut [f32],
}

/// All pulses of a cell at once, as `train` applies them: exact for affine steps, accurate for others while the slope is small.
struct AtOnce<'a> {
    cells: Chunk<'a>,
    counts: &'a mut [i32],
    xi: &'a [f32],
    state: &'a mut [f32],
}

impl WithLaw<Vector> for Pulse<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) {
        let Self { cells, n, counts, xi, state } = self;
        let noise = Deviation::of(cells.device.cycle_noise_in_pulse_steps());
        let len = state.len();
        let (counts, xi, state) = (&counts[..len], &xi[..len], &mut state[..len]);
        let parameters = cells.parameters.chunk::<L>(0, len, true);
        for k in 0..len {
            let (w, up) = (state[k], counts[k] > 0);
            let (v, _) = law.step(&parameters.cell::<L>(k, up), up, w);
            let scale = pick(parameters.unit, k, up);
            let deviation = noise.step * v.abs() + noise.scale * scale + noise.offset + noise.slope * w.abs();
            let next = parameters.clip(k, w + v + deviation * xi[k]);
            state[k] = if counts[k].abs() > n { next } else { w };
        }
    }
}

impl WithLaw<Vector> for AtOnce<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) {
        let Self { cells, counts, xi, state } = self;
        let noise = Deviation::of(cells.device.cycle_noise_in_pulse_steps());
        let len = state.len();
        let (counts, xi, state) = (&mut counts[..len], &xi[..len], &mut state[..len]);
        let parameters = cells.parameters.chunk::<L>(0, len, true);
        for k in 0..len {
            let (w, up, count) = (state[k], counts[k] > 0, counts[k].abs());
            let (v, slope) = law.step(&parameters.cell::<L>(k, up), up, w);
            let (n, steps) = (count as f32, by_doubling(count, slope));
            // The noise of a pulse is carried on by the pulses after it. In proportion to the step, each contributes the
            // same, σ|v|(1 + b)ⁿ⁻¹; otherwise their squares are a geometric series in (1 + b)².
            let scale = pick(parameters.unit, k, up);
            let in_step = noise.step * v.abs() * n.sqrt() * (1.0 + slope * steps) / (1.0 + slope);
            let in_scale = noise.scale * scale * (steps * (2.0 + slope * steps) / (2.0 + slope)).sqrt();
            let next = parameters.clip(k, w + steps * v + (in_step + in_scale) * xi[k]);
            // No short circuit: a branch would keep the loop from becoming vector code.
            let left = (slope.abs() > STEEP) & (count > 1);
            state[k] = if left { w } else { next };
            counts[k] = if left { counts[k] } else { 0 };
        }
    }
}
