//! Writes column by column: one column, or a whole matrix as a transfer does.
//!
//! A column is written as an update whose column signal is 1 there and 0 elsewhere: its line fires with its own
//! probability, the rows with theirs. A matrix is one such write per column, each under a key of its own; noise belongs to
//! (column, pulse, row), so the matrix may be worked through along its rows and comes out the same to the bit.

use super::Tile;
use super::cells::Cells;
use super::column_lines::{BAND, Lines};
use super::counted::{LONGEST, Stretch, most};
use super::device::Device;
use super::expected::write;
use super::laws::Parameters;
use super::scheme::{Scheme, all_finite};
use crate::Key;
use crate::error::{ParameterError, finite, require, same_length};
use crate::simd::{self, Kernel};

/// Columns of a block: vector loops are unrolled and want long rows, what is transposed should stay in the cache.
const WIDTH: usize = 128;

impl Tile {
    /// Writes `scale · values`, one value per row, to one column: [`Tile::update`] with a column signal of 1 there and 0
    /// elsewhere, at the cost of that column alone.
    ///
    /// # Errors
    /// If there is no such column, the length differs, the trains are impossible, or a number is not finite; nothing is
    /// written then.
    pub fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        scheme.validate()?;
        require(column < self.cols, "column", "below the number of columns", column as f64)?;
        finite("scale", f64::from(scale))?;
        same_length("values", self.rows, values.len())?;
        all_finite("values", values)?;
        let peak = values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let lines = Lines::draw(&self.device, scheme, scale, peak, key);
        let at_once = self.cells.at_once;
        for (part, values) in values.chunks(LONGEST).enumerate() {
            let first = part * LONGEST * self.cols + column;
            let bands = part * (LONGEST / BAND)..;
            self.pulses_sent += self.down_column(first, values.len(), |stretch, seen, hidden| {
                if scheme == Scheme::Expected {
                    write(seen, hidden, |state| stretch.realize(scale, values, state));
                    return 0;
                }
                let mut counts = [0; LONGEST];
                let counts = &mut counts[..values.len()];
                for (band, (values, counts)) in
                    bands.clone().zip(values.chunks(BAND).zip(counts.chunks_mut(BAND)))
                {
                    lines.counts(band, values, counts);
                }
                let draw = |pulse: Option<u32>, xi: &mut [f32]| {
                    for (band, xi) in bands.clone().zip(xi.chunks_mut(BAND)) {
                        simd::dispatch(DrawColumn { lines, band, pulse, xi });
                    }
                };
                stretch.send(at_once, counts, seen, hidden, |n, xi| draw(Some(n), xi), |xi| draw(None, xi))
            });
        }
        Ok(())
    }

    /// `W ← W + A(scale · direction; W)` (`biased-update`), `direction` row-major: a full transfer, the same to the bit as
    /// [`Tile::update_column`] for every column j with `key.fold(j)`.
    ///
    /// # Errors
    /// If the length differs, the trains are impossible, or a number is not finite; nothing is written then.
    pub fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        scheme.validate()?;
        finite("scale", f64::from(scale))?;
        same_length("direction", self.weights.len(), direction.len())?;
        all_finite("direction", direction)?;
        if scheme == Scheme::Expected {
            self.increment_expected(scale, direction);
            return Ok(());
        }
        let cols = self.cols;
        let mut peaks = vec![0.0f32; cols];
        for row in direction.chunks_exact(cols) {
            for (peak, v) in peaks.iter_mut().zip(row) {
                *peak = peak.max(v.abs());
            }
        }
        let lines: Vec<Lines> = (0u64..)
            .zip(peaks)
            .map(|(j, peak)| Lines::draw(&self.device, scheme, scale, peak, key.fold(j)))
            .collect();
        self.pulses_sent += self.each_band(BAND, 1, |device, cells, band, weights, mut hidden| {
            let first = band * BAND * cols;
            let mut pulses = 0;
            for start in (0..cols).step_by(WIDTH) {
                let here = start..(start + WIDTH).min(cols);
                let rows = &direction[first..first + weights.len()];
                let block = Block::new(&lines[here.clone()], band, start, rows, cols);
                pulses += block.write((device, cells, cols), weights, hidden.as_deref_mut(), |row| {
                    let from = first + row * cols;
                    Stretch::of(device, cells, from + here.start, from + here.end)
                });
            }
            pulses
        });
        Ok(())
    }

    /// Brings `n` cells of a column together, from cell `first` on, lets them be changed, and puts them back.
    fn down_column(
        &mut self,
        first: usize,
        n: usize,
        change: impl FnOnce(&Stretch<'_>, &mut [f32], Option<&mut [f32]>) -> u64,
    ) -> u64 {
        let cols = self.cols;
        let gather = |from: &[f32]| {
            let mut out = [0.0; LONGEST];
            // A parameter that the step model does not have is empty.
            for (out, v) in out[..n].iter_mut().zip(from.iter().skip(first).step_by(cols)) {
                *out = *v;
            }
            out
        };
        let [base, shape, own] = [self.cells.base(), &self.cells.shape, &self.cells.scale]
            .map(|pair| [gather(&pair[0]), gather(&pair[1])]);
        let (max, min) = (gather(&self.cells.max), gather(&self.cells.min));
        let inverse_range = gather(&self.cells.inverse_range);
        let parameters = Parameters {
            scale: [&base[0][..n], &base[1][..n]],
            shape: [&shape[0][..n], &shape[1][..n]],
            max: &max[..n],
            min: &min[..n],
            inverse_range: &inverse_range[..n],
        };
        let stretch = Stretch { device: &self.device, parameters, scale: [&own[0][..n], &own[1][..n]] };
        let (mut seen, mut state) = (gather(&self.weights), self.hidden.as_deref().map(gather));
        let pulses = change(&stretch, &mut seen[..n], state.as_mut().map(|s| &mut s[..n]));
        let scatter = |from: &[f32], to: &mut [f32]| {
            for (w, v) in to.iter_mut().skip(first).step_by(cols).zip(from) {
                *w = *v;
            }
        };
        scatter(&seen[..n], &mut self.weights);
        if let (Some(hidden), Some(state)) = (&mut self.hidden, state) {
            scatter(&state[..n], hidden);
        }
        pulses
    }
}

/// Counts of the cells where a band of rows crosses a block of columns.
struct Block<'a> {
    lines: &'a [Lines],
    band: usize,
    /// First column.
    start: usize,
    /// Row-major, `WIDTH` apart.
    counts: Vec<i32>,
    pulses: u64,
}

impl<'a> Block<'a> {
    /// `direction` holds the rows of the band.
    fn new(lines: &'a [Lines], band: usize, start: usize, direction: &[f32], cols: usize) -> Self {
        // Lines are drawn down each column, cells pulsed along the rows.
        let mut values = vec![0.0; BAND * WIDTH];
        for (i, row) in direction.chunks_exact(cols).enumerate() {
            for (j, value) in row[start..start + lines.len()].iter().enumerate() {
                values[j * BAND + i] = *value;
            }
        }
        let (rows, mut pulses) = (direction.len() / cols, 0);
        let mut counts = vec![0; BAND * WIDTH];
        for (j, (lines, values)) in lines.iter().zip(values.chunks_exact(BAND)).enumerate() {
            let mut column = [0; BAND];
            if lines.counts(band, &values[..rows], &mut column[..rows]) {
                for (i, count) in column.into_iter().enumerate() {
                    counts[i * WIDTH + j] = count;
                    pulses += u64::from(count.unsigned_abs());
                }
            }
        }
        Self { lines, band, start, counts, pulses }
    }

    /// Sends the pulses; `stretch` names the cells of a row of the band.
    fn write<'b>(
        &self,
        tile: (&Device, &Cells, usize),
        weights: &mut [f32],
        mut hidden: Option<&mut [f32]>,
        stretch: impl Fn(usize) -> Stretch<'b>,
    ) -> u64 {
        if self.pulses == 0 {
            return 0;
        }
        let (device, cells, cols) = tile;
        let here = self.start..self.start + self.lines.len();
        let mut xi = vec![0.0; BAND * WIDTH];
        let state = hidden.as_deref_mut().unwrap_or(&mut *weights);
        let mut each = |n: u32, at_once: bool, counts: &mut [i32]| {
            if device.noisy() {
                simd::dispatch(Draw { lines: self.lines, band: self.band, pulse: Some(n), xi: &mut xi });
            }
            for (i, state) in state.chunks_exact_mut(cols).enumerate() {
                let along = i * WIDTH..i * WIDTH + self.lines.len();
                let (counts, xi, state) = (&mut counts[along.clone()], &xi[along], &mut state[here.clone()]);
                if at_once {
                    stretch(i).pulse_at_once(counts, xi, state);
                } else {
                    stretch(i).pulse_number(n, counts, xi, state);
                }
            }
        };
        let mut counts = self.counts.clone();
        if cells.at_once {
            each(0, true, &mut counts);
        }
        for n in 0..most(&counts) {
            each(n, false, &mut counts);
        }
        if let Some(hidden) = hidden {
            simd::dispatch(Draw { lines: self.lines, band: self.band, pulse: None, xi: &mut xi });
            for (i, (seen, state)) in weights.chunks_exact_mut(cols).zip(hidden.chunks_exact(cols)).enumerate()
            {
                let along = i * WIDTH..i * WIDTH + self.lines.len();
                device.show(
                    &self.counts[along.clone()],
                    &state[here.clone()],
                    &xi[along],
                    &mut seen[here.clone()],
                );
            }
        }
        self.pulses
    }
}

/// Noise of one column on the rows of a band.
struct DrawColumn<'a> {
    lines: Lines,
    band: usize,
    pulse: Option<u32>,
    xi: &'a mut [f32],
}

impl Kernel for DrawColumn<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let draws = self.lines.noise(self.pulse, self.band);
        self.xi.copy_from_slice(&draws[..self.xi.len()]);
    }
}

/// Noise of a block, drawn down each column, stored along the rows: that of a pulse, or what a read sees.
struct Draw<'a> {
    lines: &'a [Lines],
    band: usize,
    pulse: Option<u32>,
    xi: &'a mut [f32],
}

impl Kernel for Draw<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (j, lines) in self.lines.iter().enumerate() {
            for (i, v) in lines.noise(self.pulse, self.band).into_iter().enumerate() {
                self.xi[i * WIDTH + j] = v;
            }
        }
    }
}
