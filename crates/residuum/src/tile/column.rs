//! Writes column by column: one column, or a whole matrix as a transfer does.
//!
//! A column is written as an update whose column signal is 1 there and 0 elsewhere: its line fires with its own
//! probability, the rows with theirs. A matrix is one such write per column, each under a key of its own; noise belongs to
//! (column, pulse, row), so the matrix may be worked through along its rows and comes out the same to the bit.

use super::Tile;
use super::counted::Stretch;
use super::device::Device;
use super::expected::write;
use super::laws::Parameters;
use super::management::Plan;
use super::rounded::Factors;
use super::scheme::{Scheme, all_finite};
use crate::error::{ParameterError, finite, require, same_length};
use crate::{Key, normal32};

/// Rows of a band and columns of a block: one chunk of normal draws.
const BAND: usize = normal32::CHUNK;

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
        for (band, values) in values.chunks(BAND).enumerate() {
            let first = band * BAND * self.cols + column;
            self.pulses_sent += self.down_column(first, values.len(), |stretch, seen, hidden| {
                if scheme == Scheme::Expected {
                    write(seen, hidden, |state| stretch.realize(scale, values, state));
                    return 0;
                }
                let mut counts = [0; BAND];
                for (i, (count, value)) in counts.iter_mut().zip(values).enumerate() {
                    *count = lines.count(band * BAND + i, *value);
                }
                let noise = |n, xi: &mut [f32]| xi.copy_from_slice(&lines.cycle_noise(n, band)[..xi.len()]);
                let shown = |xi: &mut [f32]| xi.copy_from_slice(&lines.write_noise(band)[..xi.len()]);
                stretch.send(&counts[..values.len()], seen, hidden, noise, shown)
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
            for start in (0..cols).step_by(BAND) {
                let here = start..(start + BAND).min(cols);
                let rows = &direction[first..first + weights.len()];
                let block = Block::new(&lines[here.clone()], band, start, rows, cols);
                pulses += block.write(device, cols, weights, hidden.as_deref_mut(), |row| {
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
            let mut out = [0.0; BAND];
            // A parameter that the step model does not have is empty.
            for (out, v) in out[..n].iter_mut().zip(from.iter().skip(first).step_by(cols)) {
                *out = *v;
            }
            out
        };
        let [base, shape, own] = [self.cells.base(), &self.cells.shape, &self.cells.scale]
            .map(|pair| [gather(&pair[0]), gather(&pair[1])]);
        let (max, min) = (gather(&self.cells.max), gather(&self.cells.min));
        let parameters = Parameters {
            scale: [&base[0][..n], &base[1][..n]],
            shape: [&shape[0][..n], &shape[1][..n]],
            max: &max[..n],
            min: &min[..n],
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

/// The lines of one column's write: what they make of a value, and the noise of its pulses.
#[derive(Clone, Copy)]
struct Lines {
    firing: Firing,
    key: Key,
}

#[derive(Clone, Copy)]
enum Firing {
    /// Nothing to write.
    Silent,
    /// Rows fire at random with probability `row` per unit of their signal; the column has drawn its slots.
    Random { row: f32, slots: u32, column: u32, key: Key },
    /// The product of two factors, rounded.
    Rounded { factors: Factors, column: f32, sign: f32 },
}

impl Lines {
    /// For a column whose largest value has the magnitude `peak`.
    fn draw(device: &Device, scheme: Scheme, scale: f32, peak: f32, key: Key) -> Self {
        let (Scheme::Stochastic(trains) | Scheme::Deterministic(trains) | Scheme::MeanCount(trains)) = scheme
        else {
            return Self { firing: Firing::Silent, key };
        };
        let firing = match (trains.plan(scale.abs(), peak, 1.0, device.granularity()), scheme) {
            (None, _) => Firing::Silent,
            (Some(Plan { row, col, slots }), Scheme::Stochastic(_)) => {
                let column = fire(col, slots, key.named("column"), 0);
                Firing::Random { row: row * scale.signum(), slots, column, key: key.named("rows") }
            }
            (Some(plan), _) => {
                let factors = Factors::new(plan, matches!(scheme, Scheme::MeanCount(_)));
                Firing::Rounded { factors, column: factors.col(1.0), sign: scale.signum() }
            }
        };
        Self { firing, key }
    }

    /// Pulses that `value` becomes on the cell of `row`; negative ones go down.
    fn count(&self, row: usize, value: f32) -> i32 {
        match self.firing {
            Firing::Silent | Firing::Random { column: 0, .. } => 0,
            Firing::Random { row: scale, slots, column, key } => {
                let signal = scale * value;
                let met = fire(signal.abs(), slots, key, row as u64) & column;
                let met = met.count_ones().cast_signed();
                if signal < 0.0 { -met } else { met }
            }
            Firing::Rounded { factors, column, sign } => {
                (factors.row(sign * value) * column).round_ties_even() as i32
            }
        }
    }

    fn cycle_noise(&self, pulse: u32, band: usize) -> [f32; BAND] {
        normal32::normals(self.key.named("cycle").fold(u64::from(pulse)), band as u64)
    }

    fn write_noise(&self, band: usize) -> [f32; BAND] {
        normal32::normals(self.key.named("write"), band as u64)
    }
}

/// The slots in which a line fires.
fn fire(probability: f32, slots: u32, key: Key, line: u64) -> u32 {
    // In units of 2⁻³²; a certain line must fire in every slot, so 1 is kept apart.
    if probability >= 1.0 {
        (1 << slots) - 1
    } else {
        key.bits_below(line, slots, (f64::from(probability) * 4_294_967_296.0) as u32)
    }
}

/// Counts of the cells where a band of rows crosses a block of columns.
struct Block<'a> {
    lines: &'a [Lines],
    band: usize,
    /// First column.
    start: usize,
    /// Row-major, `BAND` apart.
    counts: [i32; BAND * BAND],
    most: u32,
}

impl<'a> Block<'a> {
    /// `direction` holds the rows of the band.
    fn new(lines: &'a [Lines], band: usize, start: usize, direction: &[f32], cols: usize) -> Self {
        let mut counts = [0; BAND * BAND];
        for (i, (counts, row)) in counts.chunks_exact_mut(BAND).zip(direction.chunks_exact(cols)).enumerate() {
            for ((count, lines), value) in counts.iter_mut().zip(lines).zip(&row[start..]) {
                *count = lines.count(band * BAND + i, *value);
            }
        }
        let most = counts.iter().fold(0, |m, c| m.max(c.unsigned_abs()));
        Self { lines, band, start, counts, most }
    }

    /// Pulse by pulse, row by row; `stretch` names the cells of a row of the band.
    fn write<'b>(
        &self,
        device: &Device,
        cols: usize,
        weights: &mut [f32],
        mut hidden: Option<&mut [f32]>,
        stretch: impl Fn(usize) -> Stretch<'b>,
    ) -> u64 {
        if self.most == 0 {
            return 0;
        }
        let here = self.start..self.start + self.lines.len();
        let mut xi = [0.0; BAND * BAND];
        let state = hidden.as_deref_mut().unwrap_or(&mut *weights);
        for n in 0..self.most {
            if device.noisy() {
                self.fill(&mut xi, |lines| lines.cycle_noise(n, self.band));
            }
            for (i, state) in state.chunks_exact_mut(cols).enumerate() {
                let (counts, xi) = (self.row(&self.counts, i), self.row(&xi, i));
                stretch(i).pulse_number(n, counts, xi, &mut state[here.clone()]);
            }
        }
        if let Some(hidden) = hidden {
            self.fill(&mut xi, |lines| lines.write_noise(self.band));
            for (i, (seen, state)) in weights.chunks_exact_mut(cols).zip(hidden.chunks_exact(cols)).enumerate()
            {
                let (counts, xi) = (self.row(&self.counts, i), self.row(&xi, i));
                device.show(counts, &state[here.clone()], xi, &mut seen[here.clone()]);
            }
        }
        self.counts.iter().map(|c| u64::from(c.unsigned_abs())).sum()
    }

    fn row<'c, T>(&self, of: &'c [T], i: usize) -> &'c [T] {
        &of[i * BAND..i * BAND + self.lines.len()]
    }

    /// Draws are made down each column and stored along the rows.
    fn fill(&self, xi: &mut [f32; BAND * BAND], draw: impl Fn(&Lines) -> [f32; BAND]) {
        for (j, lines) in self.lines.iter().enumerate() {
            for (i, v) in draw(lines).into_iter().enumerate() {
                xi[i * BAND + j] = v;
            }
        }
    }
}
