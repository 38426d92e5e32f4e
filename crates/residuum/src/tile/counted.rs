//! A known number of pulses on each cell of a stretch, as vector code.
//!
//! Where cells allow it, all pulses of a cell are taken at once; the others go one by one: every pulse sees the state that
//! the one before left, draws its own noise and is clipped.

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

    /// `counts[k]` pulses on cell k, upwards if positive; `noise(n, counts, xi)` fills in the standard normals of pulse n
    /// for the cells that get more than n. Counts of cells that took all at once are left at 0.
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
        with_law(self.device, self.parameters, work);
    }

    /// All pulses of the cells that allow it, whose counts become 0.
    pub(super) fn pulse_at_once(&self, counts: &mut [i32], xi: &[f32], state: &mut [f32]) {
        with_law(self.device, self.parameters, AtOnce { cells: *self, counts, xi, state });
    }
}

/// Pulses of the cell that gets most.
pub(super) fn most(counts: &[i32]) -> u32 {
    counts.iter().fold(0, |m, c| m.max(c.unsigned_abs()))
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

/// One pulse.
struct Pulse<'a> {
    cells: Stretch<'a>,
    n: i32,
    counts: &'a [i32],
    xi: &'a [f32],
    state: &'a mut [f32],
}

/// All pulses of a cell together, as `train` takes them: exact for affine steps, and for the others while the slope is small.
struct AtOnce<'a> {
    cells: Stretch<'a>,
    counts: &'a mut [i32],
    xi: &'a [f32],
    state: &'a mut [f32],
}

struct OneByOne<'a, L>(Pulse<'a>, L);
struct Together<'a, L>(AtOnce<'a>, L);

impl WithLaw for Pulse<'_> {
    type Output = ();

    fn run<L: Law>(self, law: L) {
        simd::dispatch(OneByOne(self, law));
    }
}

impl WithLaw for AtOnce<'_> {
    type Output = ();

    fn run<L: Law>(self, law: L) {
        simd::dispatch(Together(self, law));
    }
}

impl<L: Law> Kernel for OneByOne<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Pulse { cells, n, counts, xi, state }, law) = self;
        let noise = Deviation::of(cells.device.cycle_noise);
        let len = state.len();
        let (law, counts, xi, state) = (law.part(0, len), &counts[..len], &xi[..len], &mut state[..len]);
        let (max, min) = (&cells.parameters.max[..len], &cells.parameters.min[..len]);
        let [up_scale, down_scale] = cells.scale.map(|s| &s[..len]);
        for k in 0..len {
            let (w, up) = (state[k], counts[k] > 0);
            let (v, _) = law.at(k, up, w);
            let scale = if up { up_scale[k] } else { down_scale[k] };
            let deviation = noise.step * v.abs() + noise.scale * scale + noise.offset + noise.slope * w.abs();
            let next = clip(w + v + deviation * xi[k], max[k], min[k]);
            state[k] = if counts[k].abs() > n { next } else { w };
        }
    }
}

impl<L: Law> Kernel for Together<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(AtOnce { cells, counts, xi, state }, law) = self;
        let noise = Deviation::of(cells.device.cycle_noise);
        let len = state.len();
        let (law, counts, xi, state) = (law.part(0, len), &mut counts[..len], &xi[..len], &mut state[..len]);
        let (max, min) = (&cells.parameters.max[..len], &cells.parameters.min[..len]);
        let [up_scale, down_scale] = cells.scale.map(|s| &s[..len]);
        for k in 0..len {
            let (w, up, count) = (state[k], counts[k] > 0, counts[k].abs());
            let (v, slope) = law.at(k, up, w);
            let (n, steps) = (count as f32, affine_steps(count, slope));
            // The noise of a pulse is carried on by the pulses after it. In proportion to the step, each contributes the
            // same, σ|v|(1 + b)ⁿ⁻¹; otherwise their squares are a geometric series in (1 + b)².
            let scale = if up { up_scale[k] } else { down_scale[k] };
            let in_step = noise.step * v.abs() * n.sqrt() * (1.0 + slope * steps) / (1.0 + slope);
            let in_scale = noise.scale * scale * (steps * (2.0 + slope * steps) / (2.0 + slope)).sqrt();
            let next = clip(w + steps * v + (in_step + in_scale) * xi[k], max[k], min[k]);
            // No short circuit: a branch would keep the loop from becoming vector code.
            let left = (slope.abs() > STEEP) & (count > 1);
            state[k] = if left { w } else { next };
            counts[k] = if left { counts[k] } else { 0 };
        }
    }
}

/// Above this slope pulses are taken one by one.
const STEEP: f32 = 0.02;

#[inline(always)]
fn clip(w: f32, max: f32, min: f32) -> f32 {
    let w = if w > max { max } else { w };
    if w < min { min } else { w }
}

/// ((1+b)ⁿ − 1)/b, the number of steps at w that n affine steps are worth: by doubling, for n below 32.
#[inline(always)]
fn affine_steps(n: i32, b: f32) -> f32 {
    let mut g = 0.0;
    for bit in [4, 3, 2, 1, 0] {
        g *= 2.0 + b * g;
        let odd = 1.0 + (1.0 + b) * g;
        g = if n >> bit & 1 == 1 { odd } else { g };
    }
    g
}
