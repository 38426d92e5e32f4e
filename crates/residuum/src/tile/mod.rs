//! Crossbar tiles: f32 weights at cross points, written by coincident pulses.
//!
//! A [`Device`] describes the cells (step, bounds, spread, noise); [`Tile::new`] draws one array of them. The state of a tile
//! changes only through its methods: those of [`Array`](crate::Array), which use the tile's own [`Scheme`] (pulse
//! trains along rows and columns unless [`Tile::with_scheme`] says otherwise); below them [`Tile::write`] writes outer
//! products, [`Tile::write_column`] and [`Tile::write_matrix`] columns and whole matrices by a scheme given in the call;
//! [`Tile::pulse_all`] sends one pulse to every cell, [`Tile::program`] sets an initial state; between updates a tile may
//! [decay](Tile::decay), [diffuse](Tile::diffuse), [drift](Tile::drift) or be [reset](Tile::reset).
//!
//! One pulse in direction ±, with the cell's own scale s±, shape u± and cycle noise σ (multiplicative):
//!
//! ```text
//! w ← clip(w ± s± u±(w) (1 + σξ), [min, max])
//! ```

mod array;
mod ledger;
pub(crate) mod pulse;
mod retention;
mod scheme;
mod unit_cell;

pub use crate::device::*;
pub use ledger::Ledger;
pub use pulse::management::{Management, Trains};
pub use retention::{Decay, Diffusion, Drift, Reset, Retention};
pub use scheme::Scheme;
pub use unit_cell::{OneSidedCell, Policy, ReferenceCell, Refresh, VectorCell};

use crate::device::KeptCells;
use crate::error::ParameterError;
use crate::normal32;
use crate::simd::{self, Kernel};
use crate::{Key, threads};
use ledger::PulseCounts;
use pulse::{lines, management};
use rayon::prelude::*;

/// Weights of one crossbar, row-major: rows are outputs, columns inputs.
#[derive(Clone, Debug)]
pub struct Tile {
    rows: usize,
    cols: usize,
    device: Device,
    pub(crate) cells: KeptCells,
    /// The weights as read.
    weights: Vec<f32>,
    /// The state that pulses act on, where write noise hides it; otherwise `weights` is the state.
    hidden: Option<Vec<f32>>,
    pulses_sent: u64,
    ledger: Option<Ledger>,
    retained: retention::Retained,
    /// How increments reach the cells.
    scheme: Scheme,
    pub(crate) lines: lines::Lines,
    /// Whether the last update was made by `lines` alone.
    by_lines: bool,
    /// Row and column factors, where pulses are rounded.
    factors: [Vec<f32>; 2],
    columns: pulse::Columns,
    matrix_lines: pulse::MatrixLines,
    /// Magnitudes of a matrix.
    survey: pulse::Survey,
    /// A row signal of 1 on one row and 0 elsewhere.
    one_hot: Vec<f32>,
}

impl Tile {
    /// Draws an array of `rows` × `cols` cells; `key` decides device-to-device variation. Weights are programmed to 0.
    ///
    /// # Errors
    /// If the device is invalid, the array is empty, or a reference is to be at the symmetric point of a cell that has none.
    pub fn new(rows: usize, cols: usize, device: Device, key: Key) -> Result<Self, ParameterError> {
        device.validate()?;
        crate::error::require(rows > 0, "rows", "at least 1", rows as f64)?;
        crate::error::require(cols > 0, "cols", "at least 1", cols as f64)?;
        let mut cells = KeptCells::draw(rows * cols, &device, key)?;
        cells.share(pulse::longest_span(cols));
        let retained = retention::Retained::draw(rows * cols, &device.retention, key);
        let weights = vec![0.0; rows * cols];
        let hidden = (device.write_noise > 0.0).then(|| weights.clone());
        let mut tile = Self {
            rows,
            cols,
            device,
            cells,
            weights,
            hidden,
            pulses_sent: 0,
            ledger: None,
            retained,
            scheme: Scheme::default(),
            lines: lines::Lines::default(),
            by_lines: false,
            factors: [Vec::new(), Vec::new()],
            columns: pulse::Columns::default(),
            matrix_lines: pulse::MatrixLines::default(),
            survey: pulse::Survey::default(),
            one_hot: Vec::new(),
        };
        tile.set(|_| 0.0, key.named("program"));
        Ok(tile)
    }

    /// Sets how increments reach the cells.
    ///
    /// # Errors
    /// If the trains are invalid.
    pub fn with_scheme(mut self, scheme: impl Into<Scheme>) -> Result<Self, ParameterError> {
        self.scheme = scheme.into();
        self.scheme.validate()?;
        Ok(self)
    }

    /// How increments reach the cells.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Number of rows (outputs).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns (inputs).
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The weights as a noiseless read sees them, row-major.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The state that pulses act on: equal to the weights unless write noise hides it.
    pub fn hidden(&self) -> &[f32] {
        self.hidden.as_deref().unwrap_or(&self.weights)
    }

    /// The device the cells were drawn from.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Total pulses received by all cells so far.
    pub fn pulses_sent(&self) -> u64 {
        self.pulses_sent
    }

    /// Programs an initial state; values are clipped to each cell's bounds, as in write-and-verify. `key`
    /// decides write noise.
    ///
    /// # Errors
    /// If the length differs or a value is not finite; then nothing is written.
    pub fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        crate::error::same_length("target", self.weights.len(), target.len())?;
        if let Some(index) = target.iter().position(|w| !w.is_finite()) {
            let value = f64::from(target[index]);
            return Err(ParameterError::NotFinite { name: "target", index, value });
        }
        self.set(|i| target[i], key);
        Ok(())
    }

    /// Programs cell i to `target(i)`.
    fn set(&mut self, target: impl Fn(usize) -> f32 + Sync, key: Key) {
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        retention::change_each(state, &self.cells, None, |i, _, _| target(i));
        self.show(key);
    }

    /// Redraws the write noise of every cell.
    fn show(&mut self, key: Key) {
        if let Some(hidden) = &self.hidden {
            fill_normal(key.named("write"), &mut self.weights);
            let spread = self.device.write_deviation();
            for (w, h) in self.weights.iter_mut().zip(hidden) {
                *w = h + spread * *w;
            }
        }
    }

    /// W⋄ of each cell: where the mean up step falls below the mean down step. `None` where they never cross between the cell's
    /// bounds, or are equal everywhere; one of the crossings if there are several. A calibration cannot see these; they are
    /// the ground truth it is judged by.
    pub fn symmetric_point(&self) -> Vec<Option<f32>> {
        (0..self.weights.len())
            .into_par_iter()
            .with_min_len(1024)
            .map(|i| self.device.crossing(self.cells.span(i, i + 1, &mut self.cells.room()), i))
            .collect()
    }

    /// One pulse of the given direction on every cell.
    pub fn pulse_all(&mut self, up: bool, key: Key) {
        let (device, cells) = (&self.device, &self.cells);
        let state = self.hidden.as_mut().unwrap_or(&mut self.weights);
        let threads = threads::worth(PULSE * state.len());
        threads::each(threads, state.par_chunks_mut(CHUNK).enumerate(), |(index, chunk)| {
            let mut xi = [0.0; CHUNK];
            if device.noisy() {
                fill_normal(key.named("cycle").fold(index as u64), &mut xi[..chunk.len()]);
            }
            let (mut room, from) = (cells.room(), index * CHUNK);
            let cells = cells.span(from, from + chunk.len(), &mut room);
            for (i, (w, xi)) in chunk.iter_mut().zip(&xi).enumerate() {
                *w = pulse::one(device, cells, from + i, up, *w, *xi);
            }
        });
        self.show(key);
        let n = self.weights.len() as u64;
        if let Some(ledger) = &mut self.ledger {
            ledger.cells.iter_mut().for_each(|cell| *cell = cell.saturating_add(1));
        }
        self.count(if up { PulseCounts { up: n, down: 0 } } else { PulseCounts { up: 0, down: n } });
    }
}

/// What a pulse on a cell costs, in multiply–adds.
const PULSE: usize = 64;
/// Cells that one thread processes at a time. Noise is drawn per chunk, so it never depends on threads.
const CHUNK: usize = 1024;

/// Standard normal draws of `key`, in chunks as `normal32` makes them.
pub(crate) fn fill_normal(key: Key, out: &mut [f32]) {
    simd::dispatch(FillNormal(key, out));
}

struct FillNormal<'a>(Key, &'a mut [f32]);

impl Kernel for FillNormal<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, chunk) in self.1.chunks_mut(normal32::CHUNK).enumerate() {
            chunk.copy_from_slice(&normal32::normals(self.0, index as u64)[..chunk.len()]);
        }
    }
}
