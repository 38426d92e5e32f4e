//! Changes of a tile other than updates: leak, random walk, drift, reset.
//!
//! ```text
//! decay     w ← β + (w − β)(1 − 1/L)              towards the reset value β, L the cell's lifetime in mini-batches
//! diffuse   w ← w + ρξ                            once per mini-batch
//! drift     w ← w₀ max((t − t_w)/t₀, 1)^(−ν)      w₀ written at t_w
//! reset     w ← β + σξ
//! ```
//!
//! β, L, ρ and ν are the cell's own; every result is clipped to the cell's bounds, so stuck cells stay. Where write noise
//! hides the state, all of them act on the state, and what a read sees is redrawn for the affected cells.

use std::ops::Range;

use rayon::prelude::*;

use super::{CHUNK, Tile, fill_normal};
use crate::device::KeptCells;
use crate::error::{ParameterError, finite, non_negative, positive, require};
use crate::state::Tensors;
use crate::{Key, math, normal32, threads};

/// How a device changes when it is not pulsed; by default not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retention {
    /// Target of resets and of decay; exactly 0 by default.
    pub reset: Reset,
    /// Leak.
    pub decay: Option<Decay>,
    /// Random walk.
    pub diffusion: Option<Diffusion>,
    /// Power law in the time since the last write.
    pub drift: Option<Drift>,
}

/// Target of a reset, as a read sees it: a reference does not shift it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reset {
    /// Mean over the cells, in weight units.
    pub value: f32,
    /// Standard deviation between cells, in weight units.
    pub spread: f32,
    /// Standard deviation from reset to reset, in weight units.
    pub deviation: f32,
}

/// Leak towards the reset value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// Mini-batches after which 1/e is left; a cell drawn with 1 or less is reset at once.
    pub lifetime: f32,
    /// Relative standard deviation between cells.
    pub spread: f32,
}

/// Random walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// Standard deviation of the change per mini-batch, in weight units.
    pub deviation: f32,
    /// Relative standard deviation of that between cells.
    pub spread: f32,
}

/// Power law in the time since the last write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// ν, mean over the cells.
    pub exponent: f32,
    /// Relative standard deviation of ν between cells.
    pub spread: f32,
    /// Relative standard deviation of ν from call to call.
    pub exponent_noise: f32,
    /// t₀: seconds after a write until drift sets in.
    pub onset_s: f32,
    /// Standard deviation of the noise added after each call, in weight units; it does not accumulate over calls.
    pub state_noise: f32,
    /// Seconds that [`Tile::age`] lets pass for each mini-batch; with 0 only [`Tile::drift`] makes a tile drift.
    pub step_s: f32,
}

impl Drift {
    /// w₀(t/t₀)^(−ν), the same for every cell and call.
    pub fn power_law(exponent: f32, onset_s: f32) -> Self {
        Self { exponent, onset_s, spread: 0.0, exponent_noise: 0.0, state_noise: 0.0, step_s: 0.0 }
    }
}

impl Retention {
    /// Checks the numbers.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        finite("reset value", f64::from(self.reset.value))?;
        non_negative("reset spread", f64::from(self.reset.spread))?;
        non_negative("reset deviation", f64::from(self.reset.deviation))?;
        if let Some(decay) = self.decay {
            positive("lifetime", f64::from(decay.lifetime))?;
            non_negative("lifetime spread", f64::from(decay.spread))?;
        }
        if let Some(diffusion) = self.diffusion {
            non_negative("diffusion deviation", f64::from(diffusion.deviation))?;
            non_negative("diffusion spread", f64::from(diffusion.spread))?;
        }
        if let Some(drift) = self.drift {
            finite("drift exponent", f64::from(drift.exponent))?;
            positive("onset_s", f64::from(drift.onset_s))?;
            non_negative("drift spread", f64::from(drift.spread))?;
            non_negative("exponent_noise", f64::from(drift.exponent_noise))?;
            non_negative("state_noise", f64::from(drift.state_noise))?;
            non_negative("step_s", f64::from(drift.step_s))?;
        }
        Ok(())
    }
}

/// A parameter of every cell; one number where all cells share it.
#[derive(Clone, Debug, Default)]
struct PerCell {
    mean: f32,
    own: Vec<f32>,
}

impl PerCell {
    /// mean + deviation·N, cell by cell.
    fn draw(cells: usize, mean: f32, deviation: f32, key: Key) -> Self {
        let mut own = vec![0.0; if deviation > 0.0 { cells } else { 0 }];
        fill_normal(key, &mut own);
        for v in &mut own {
            *v = mean + deviation * *v;
        }
        Self { mean, own }
    }

    fn map(mut self, f: impl Fn(f32) -> f32) -> Self {
        self.mean = f(self.mean);
        for v in &mut self.own {
            *v = f(*v);
        }
        self
    }

    #[inline(always)]
    fn at(&self, i: usize) -> f32 {
        self.own.get(i).copied().unwrap_or(self.mean)
    }
}

/// Retention parameters of the cells of one array, and their clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Retained {
    /// β.
    reset: PerCell,
    /// 1/L, at most 1.
    leak: PerCell,
    /// ρ.
    diffusion: PerCell,
    /// ν.
    exponent: PerCell,
    /// Only for a device that drifts.
    clock: Option<Clock>,
}

/// Time that has passed, and when each cell was written last.
#[derive(Clone, Debug)]
struct Clock {
    now_s: f64,
    /// t_w.
    written_s: Vec<f64>,
    /// w₀.
    start: Vec<f32>,
    /// The weight after the last drift: a cell that differs from it has been written since.
    left: Vec<f32>,
}

impl Clock {
    /// Time 0, all cells at 0: a cell that differs at the first call was written at time 0.
    fn new(cells: usize) -> Self {
        Self { now_s: 0.0, written_s: vec![0.0; cells], start: vec![0.0; cells], left: vec![0.0; cells] }
    }
}

impl Retained {
    pub(super) fn draw(cells: usize, retention: &Retention, key: Key) -> Self {
        let relative = |name: &str, mean: f32, spread: f32| {
            PerCell::draw(cells, mean, mean.abs() * spread, key.named(name))
        };
        let reset = retention.reset;
        let mut retained = Self {
            reset: PerCell::draw(cells, reset.value, reset.spread, key.named("reset")),
            ..Self::default()
        };
        if let Some(Decay { lifetime, spread }) = retention.decay {
            retained.leak = relative("lifetime", lifetime, spread).map(|l| if l > 1.0 { 1.0 / l } else { 1.0 });
        }
        if let Some(Diffusion { deviation, spread }) = retention.diffusion {
            retained.diffusion = relative("diffusion", deviation, spread).map(f32::abs);
        }
        if let Some(drift) = retention.drift {
            retained.exponent = relative("drift", drift.exponent, drift.spread);
            retained.clock = Some(Clock::new(cells));
        }
        retained
    }

    /// What a checkpoint must hold; cell parameters are redrawn from their key.
    pub(super) fn save(&self, tensors: &mut Tensors) {
        if let Some(Clock { now_s, written_s, start, left }) = &self.clock {
            tensors.vector("drift.now", &[*now_s]);
            tensors.vector("drift.written", written_s);
            tensors.vector("drift.start", start);
            tensors.vector("drift.left", left);
        }
    }

    pub(super) fn restore(&mut self, from: &Tensors) {
        if let Some(Clock { now_s, written_s, start, left }) = &mut self.clock {
            from.read("drift.now", std::slice::from_mut(now_s));
            from.read("drift.written", written_s);
            from.read("drift.start", start);
            from.read("drift.left", left);
        }
    }
}

impl Tile {
    /// Leak over a number of mini-batches: w ← β + (w − β)(1 − 1/L)^n. Does nothing if the device does not leak.
    ///
    /// One call for n mini-batches equals n calls up to rounding, and f32 rounds the leak of a single one away for lifetimes
    /// beyond 10⁷: leak over many at a time in that case. `key` decides write noise.
    pub fn decay(&mut self, mini_batches: u32, key: Key) {
        if self.device.retention.decay.is_none() || mini_batches == 0 {
            return;
        }
        let (reset, leak) = (&self.retained.reset, &self.retained.leak);
        let lost = |leak: f32| match mini_batches {
            1 => leak,
            n => (1.0 - math::pow(1.0 - f64::from(leak), f64::from(n))) as f32,
        };
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        change_each(state, &self.cells, None, |i, w, _| w + (reset.at(i) - w) * lost(leak.at(i)));
        self.show(key);
    }

    /// Random walk over a number of mini-batches: w ← w + ρ√n ξ. Does nothing if the device does not diffuse.
    ///
    /// One call for n mini-batches has the law of n calls, as long as no bound is reached.
    pub fn diffuse(&mut self, mini_batches: u32, key: Key) {
        if self.device.retention.diffusion.is_none() || mini_batches == 0 {
            return;
        }
        let (diffusion, root) = (&self.retained.diffusion, f64::from(mini_batches).sqrt() as f32);
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        change_each(state, &self.cells, Some(key.named("diffusion")), |i, w, xi| {
            w + diffusion.at(i) * root * xi
        });
        self.show(key);
    }

    /// Lets time pass: w ← w₀ max((t − t_w)/t₀, 1)^(−ν). Does nothing if the device does not drift.
    ///
    /// A cell whose value differs from the last call has been written since: its clock starts at that call, with its
    /// present value as w₀. The clock of an array starts at its first call. Two calls equal one long one.
    ///
    /// # Errors
    /// If `elapsed_s` is negative or not finite.
    pub fn drift(&mut self, elapsed_s: f64, key: Key) -> Result<(), ParameterError> {
        non_negative("elapsed_s", elapsed_s)?;
        self.pass(elapsed_s, key);
        Ok(())
    }

    /// Leak, random walk and drift of one mini-batch. Returns whether the device has any of them.
    pub fn age(&mut self, key: Key) -> bool {
        let Retention { decay, diffusion, drift, .. } = self.device.retention;
        self.decay(1, key.named("decay"));
        self.diffuse(1, key.named("diffuse"));
        let step_s = drift.map_or(0.0, |drift| drift.step_s);
        if step_s > 0.0 {
            self.pass(f64::from(step_s), key.named("drift"));
        }
        decay.is_some() || diffusion.is_some() || step_s > 0.0
    }

    fn pass(&mut self, elapsed_s: f64, key: Key) {
        let (Some(drift), Some(clock)) = (self.device.retention.drift, &mut self.retained.clock) else {
            return;
        };
        let (cells, exponent) = (&self.cells, &self.retained.exponent);
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        let before_s = clock.now_s;
        clock.now_s += elapsed_s;
        let now_s = clock.now_s;
        let draws = |noise: f32, name: &str, chunk: usize| {
            let mut xi = [0.0f32; CHUNK];
            if noise > 0.0 {
                fill_normal(key.named(name).fold(chunk as u64), &mut xi);
            }
            xi
        };
        let threads = threads::worth(DRIFT * state.len());
        let written = clock.written_s.par_chunks_mut(CHUNK).zip(clock.start.par_chunks_mut(CHUNK));
        let all = state.par_chunks_mut(CHUNK).zip(clock.left.par_chunks_mut(CHUNK)).zip(written);
        threads::each(threads, all.enumerate(), |(chunk, ((state, left), (written_s, start)))| {
            let xi = draws(drift.exponent_noise, "exponent", chunk);
            let zeta = draws(drift.state_noise, "state", chunk);
            let (mut room, from) = (cells.room(), chunk * CHUNK);
            let cells = cells.span(from, from + state.len(), &mut room);
            for (n, w) in state.iter_mut().enumerate() {
                let i = from + n;
                if *w != left[n] {
                    (written_s[n], start[n]) = (before_s, *w);
                }
                let age = ((now_s - written_s[n]) / f64::from(drift.onset_s)).max(1.0);
                let nu = exponent.at(i) * (1.0 + drift.exponent_noise * xi[n]);
                let drifted = start[n] * math::pow(age, f64::from(-nu)) as f32;
                *w = cells.clip(i, drifted + drift.state_noise * zeta[n]);
                left[n] = *w;
            }
        });
        self.show(key);
    }

    /// Resets the cells of some columns: w ← β + σξ. A reset is not counted as a pulse.
    ///
    /// # Errors
    /// If a column does not exist; then nothing is reset.
    pub fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        require(columns.end <= self.cols, "columns", "below the number of columns", columns.end as f64 - 1.0)?;
        self.reset_where(|_, column| columns.contains(&column), key);
        Ok(())
    }

    /// Resets the cells that are `chosen` by row and column. The result for a cell does not depend on which others are chosen.
    pub fn reset_where(&mut self, chosen: impl Fn(usize, usize) -> bool + Sync, key: Key) {
        let cols = self.cols;
        let chosen = |i: usize| chosen(i / cols, i % cols);
        let (reset, deviation) = (&self.retained.reset, self.device.retention.reset.deviation);
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        let noise = (deviation > 0.0).then(|| key.named("reset"));
        change_each(
            state,
            &self.cells,
            noise,
            |i, w, xi| if chosen(i) { reset.at(i) + deviation * xi } else { w },
        );
        if let Some(hidden) = &self.hidden {
            let (write, spread) = (key.named("write"), self.device.write_deviation());
            let chunks = self.weights.chunks_mut(normal32::CHUNK).zip(hidden.chunks(normal32::CHUNK));
            for (index, (seen, state)) in chunks.enumerate() {
                let chosen = |n: usize| chosen(index * normal32::CHUNK + n);
                if (0..seen.len()).any(chosen) {
                    let xi = normal32::normals(write, index as u64);
                    for n in (0..seen.len()).filter(|n| chosen(*n)) {
                        seen[n] = state[n] + spread * xi[n];
                    }
                }
            }
        }
    }
}

/// What the change of a cell costs in multiply–adds, and its drift, a power of its age.
const CHANGE: usize = 64;
const DRIFT: usize = 256;

/// w ← clip(change(i, w, ξ)) for every cell; ξ is 0 without `noise`.
pub(super) fn change_each(
    state: &mut [f32],
    cells: &KeptCells,
    noise: Option<Key>,
    change: impl Fn(usize, f32, f32) -> f32 + Sync,
) {
    let threads = threads::worth(CHANGE * state.len());
    threads::each(threads, state.par_chunks_mut(CHUNK).enumerate(), |(index, chunk)| {
        let mut xi = [0.0f32; CHUNK];
        if let Some(key) = noise {
            fill_normal(key.fold(index as u64), &mut xi[..chunk.len()]);
        }
        let (mut room, from) = (cells.room(), index * CHUNK);
        let cells = cells.span(from, from + chunk.len(), &mut room);
        for (n, w) in chunk.iter_mut().enumerate() {
            let i = from + n;
            *w = cells.clip(i, change(i, *w, xi[n]));
        }
    });
}
