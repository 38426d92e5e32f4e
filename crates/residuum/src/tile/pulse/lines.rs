//! Pulse trains of rows and columns: which line fires in which slot.
//!
//! A train is one 32-bit mask. Where pulses are applied slot by slot, the columns of a slot are also kept as one signed
//! byte each, and as a list of those that fire where few do.

use rayon::prelude::*;

use super::management::{Plan, Trains};
use crate::Key;
use crate::simd::{self, Kernel, LargestMagnitude};
use crate::stream::{CHUNK, LANES, Stream};

/// The sign of a line's signal sits above the 31 slots.
pub const SIGN: u32 = 1 << 31;
/// Samples that draw from one stream: seeding it costs as much as the trains of a narrow tile.
const BLOCK: usize = 16;
/// Up to this many slots, pulses are applied slot by slot although the device would allow trains at once.
const FEW_SLOTS: u32 = 3;
/// Below this many lines a second thread costs more than it gains.
const PARALLEL_LINES: usize = 1 << 16;
/// A slot in which fewer than one column in this many fires is visited by list.
const SPARSE: usize = 10;

/// Trains of every line and sample of one update. Kept by the tile, so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Lines in each direction.
    shape: (usize, usize),
    samples: Vec<Sample>,
    /// The samples that can meet a cell, in order.
    firing: Vec<u32>,
    /// Row trains, sample by sample.
    rows: Vec<u32>,
    /// Column trains, sample by sample.
    cols: Vec<u32>,
    slots: Vec<Slot>,
    /// Sign of the pulse on each column line, 0 where it is silent; one run of columns per slot, filled up to whole chunks.
    signs: Vec<i8>,
    /// Columns that fire in sparse slots, or in any slot of a sample taken at once where few do.
    fired: Vec<u32>,
}

/// Signals and trains of some samples along rows and columns, and their plans.
type BlockOf<'a> = (((&'a [f32], &'a [f32]), (&'a mut [u32], &'a mut [u32])), &'a mut [Sample]);

/// The plan for a sample; no slots if nothing moves.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    slots: u32,
    /// The slots in which some row fires: in the others nothing can meet.
    met: u32,
    /// Index of its first slot where pulses are taken slot by slot.
    first_slot: Option<usize>,
    /// Pulses on all columns together, and where the list of those that fire lies; where trains are taken at once and
    /// most columns are silent.
    list: Option<(usize, [usize; 2])>,
}

/// One slot of one sample.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pulses: usize,
    /// Where its list begins, if it is sparse.
    list: Option<usize>,
}

/// The columns of one slot.
pub(crate) struct Columns<'a> {
    /// Sign of the pulse on each column line, 0 where it is silent and beyond the last, up to whole chunks.
    pub(crate) signs: &'a [i8],
    pub(crate) pulses: usize,
    /// Those that fire, if they are few.
    pub(crate) list: Option<&'a [u32]>,
}

/// How a sample meets a row.
pub enum Meeting<'a> {
    /// Slot by slot: the slots in which the row fires, to be asked for with `columns`.
    Slots(usize),
    /// All slots at once: the column trains.
    Together(&'a [u32]),
    /// The same where the row meets few pulses: the trains, and the columns that fire at all.
    Listed(&'a [u32], &'a [u32]),
}

impl Lines {
    /// Draws the trains of every line and sample. `together` says whether the device allows trains at once.
    pub(crate) fn fire(
        &mut self,
        (rows, cols): (usize, usize),
        (row_signals, col_signals): (&[f32], &[f32]),
        (scale, granularity): (f32, f32),
        trains: Trains,
        together: bool,
        key: Key,
    ) {
        let batch = row_signals.len() / rows;
        self.clear((rows, cols), batch);
        self.rows.resize(batch * rows, 0);
        self.cols.resize(batch * cols, 0);
        let key = key.named("lines");
        let (d, x) = (row_signals.chunks(BLOCK * rows), col_signals.chunks(BLOCK * cols));
        let trains_of =
            |(n, (((row_signals, col_signals), (row_trains, col_trains)), samples)): (usize, BlockOf<'_>)| {
                simd::dispatch(FireBlock {
                    key: key.fold(n as u64),
                    trains,
                    scale,
                    granularity,
                    rows: (rows, row_signals, row_trains),
                    cols: (cols, col_signals, col_trains),
                    samples,
                });
            };
        if batch > BLOCK && batch * (rows + cols) >= PARALLEL_LINES && rayon::current_num_threads() > 1 {
            let signals = row_signals.par_chunks(BLOCK * rows).zip(col_signals.par_chunks(BLOCK * cols));
            let trains = self.rows.par_chunks_mut(BLOCK * rows).zip(self.cols.par_chunks_mut(BLOCK * cols));
            let samples = self.samples.par_chunks_mut(BLOCK);
            signals.zip(trains).zip(samples).enumerate().for_each(trains_of);
        } else {
            let trains = self.rows.chunks_mut(BLOCK * rows).zip(self.cols.chunks_mut(BLOCK * cols));
            d.zip(x).zip(trains).zip(self.samples.chunks_mut(BLOCK)).enumerate().for_each(trains_of);
        }
        for n in 0..batch {
            let slots = self.samples[n].slots;
            self.arrange(n, slots <= FEW_SLOTS || !together);
        }
    }

    /// Clears all samples and makes room for new, silent ones.
    fn clear(&mut self, shape: (usize, usize), batch: usize) {
        self.shape = shape;
        self.samples.clear();
        self.samples.resize(batch, Sample::default());
        self.firing.clear();
        self.slots.clear();
        self.signs.clear();
        self.fired.clear();
    }

    /// Prepares the column trains of a sample for the rows that they will meet.
    fn arrange(&mut self, n: usize, one_by_one: bool) {
        let (cols, slots) = (self.shape.1, self.samples[n].slots);
        if slots == 0 {
            return;
        }
        self.firing.push(n as u32);
        let first = n * cols;
        if one_by_one {
            self.samples[n].first_slot = Some(self.slots.len());
            for slot in 0..slots {
                self.sort(first, cols, slot, self.samples[n].met >> slot & 1 == 1);
            }
        } else {
            self.samples[n].list = self.list(first, cols);
        }
    }

    /// Lists the columns that fire in any slot, if most do not.
    fn list(&mut self, first: usize, cols: usize) -> Option<(usize, [usize; 2])> {
        let trains = &self.cols[first..][..cols];
        let start = self.fired.len();
        push_where(&mut self.fired, trains, |train| train & !SIGN != 0);
        let end = self.fired.len();
        if 2 * (end - start) >= cols {
            self.fired.truncate(start);
            return None;
        }
        let pulses: u32 = trains.iter().map(|train| (train & !SIGN).count_ones()).sum();
        Some((pulses as usize, [start, end]))
    }

    /// The trains of lines with these signs alone, all made positive: pulses where they meet go up.
    pub(crate) fn only_signs(&self, row_negative: bool, col_negative: bool, out: &mut Self) {
        let keep = |train: &u32, negative: bool| {
            if (train & SIGN != 0) == negative { train & !SIGN } else { 0 }
        };
        out.clear(self.shape, self.batch());
        out.rows.clear();
        out.rows.extend(self.rows.iter().map(|train| keep(train, row_negative)));
        out.cols.clear();
        out.cols.extend(self.cols.iter().map(|train| keep(train, col_negative)));
        for (n, sample) in self.samples.iter().enumerate() {
            (out.samples[n].slots, out.samples[n].met) = (sample.slots, sample.met);
            out.arrange(n, sample.first_slot.is_some());
        }
    }

    /// Signs and, if they are few, the list of the columns that fire in this slot.
    fn sort(&mut self, first: usize, cols: usize, slot: u32, met: bool) {
        let start = self.signs.len();
        self.signs.resize(start + cols.next_multiple_of(CHUNK), 0);
        if !met {
            self.slots.push(Slot { pulses: 0, list: None });
            return;
        }
        let signs = &mut self.signs[start..][..cols];
        let pulses = simd::dispatch(Signs { trains: &self.cols[first..][..cols], slot, out: signs });
        let sparse = pulses * SPARSE < cols;
        self.slots.push(Slot { pulses, list: sparse.then_some(self.fired.len()) });
        if sparse {
            push_where(&mut self.fired, signs, |sign| sign != 0);
        }
    }

    /// Row and column trains of each sample that fires.
    pub(crate) fn samples(&self) -> Vec<(&[u32], &[u32])> {
        let (rows, cols) = self.shape;
        let trains = self.rows.chunks_exact(rows).zip(self.cols.chunks_exact(cols));
        trains.zip(&self.samples).filter(|(_, s)| s.slots > 0).map(|(trains, _)| trains).collect()
    }

    /// How many cells rows that fire will visit.
    pub(crate) fn visits(&self) -> usize {
        let rows = self.shape.0;
        let fire = |n: usize| self.rows[n * rows..][..rows].iter().filter(|train| **train & !SIGN != 0).count();
        self.shape.1 * self.firing().map(fire).sum::<usize>()
    }

    /// Samples of the mini-batch.
    #[inline(always)]
    pub(crate) fn batch(&self) -> usize {
        self.samples.len()
    }

    /// The samples that can meet a cell, in order.
    #[inline(always)]
    pub(crate) fn firing(&self) -> impl Iterator<Item = usize> {
        self.firing.iter().map(|sample| *sample as usize)
    }

    /// The train of a row; `None` if it stays silent.
    #[inline(always)]
    pub fn row(&self, sample: usize, row: usize) -> Option<u32> {
        let train = self.rows[sample * self.shape.0 + row];
        (self.samples[sample].slots > 0 && train & !SIGN != 0).then_some(train)
    }

    /// Marks the rows that fire in some sample.
    pub(crate) fn mark_rows(&self, rows: &mut [bool]) {
        let trains = self.rows.chunks_exact(self.shape.0).zip(&self.samples);
        for (trains, _) in trains.filter(|(_, sample)| sample.slots > 0) {
            for (mark, train) in rows.iter_mut().zip(trains) {
                *mark |= train & !SIGN != 0;
            }
        }
    }

    /// Whether a row fires in some sample.
    #[inline(always)]
    pub(crate) fn fires(&self, row: usize) -> bool {
        self.firing().any(|sample| self.row(sample, row).is_some())
    }

    /// How a row that fires in `fired` slots meets a sample.
    #[inline(always)]
    pub fn meeting(&self, sample: usize, fired: u32) -> Meeting<'_> {
        let Sample { slots, first_slot, list, .. } = self.samples[sample];
        let trains = self.column_trains(sample);
        match (first_slot, list) {
            (Some(first), _) => Meeting::Slots(first),
            (None, Some((pulses, [start, end])))
                if fired as usize * pulses * SPARSE < slots as usize * self.shape.1 =>
            {
                Meeting::Listed(trains, &self.fired[start..end])
            }
            _ => Meeting::Together(trains),
        }
    }

    /// The trains of all columns.
    #[inline(always)]
    pub fn column_trains(&self, sample: usize) -> &[u32] {
        let cols = self.shape.1;
        &self.cols[sample * cols..][..cols]
    }

    /// The columns of slot `slot`, counted over all samples.
    #[inline(always)]
    pub(crate) fn columns(&self, slot: usize) -> Columns<'_> {
        let width = self.shape.1.next_multiple_of(CHUNK);
        let Slot { pulses, list } = self.slots[slot];
        Columns {
            signs: &self.signs[slot * width..][..width],
            pulses,
            list: list.map(|start| &self.fired[start..start + pulses]),
        }
    }
}

/// Appends the indices of the values that satisfy `holds`. Each is written, then kept if it does: branches are unpredictable, and a
/// misprediction costs more than the write.
fn push_where<T: Copy>(list: &mut Vec<u32>, values: &[T], holds: impl Fn(T) -> bool) {
    let mut end = list.len();
    list.resize(end + values.len(), 0);
    for (j, value) in (0u32..).zip(values) {
        list[end] = j;
        end += usize::from(holds(*value));
    }
    list.truncate(end);
}

/// One train per line: in each slot the line fires with probability min(1, scale·|signal|).
struct Fire<'a> {
    signals: &'a [f32],
    scale: f32,
    slots: u32,
    flip: bool,
    out: &'a mut [u32],
}

/// The lines of a block of samples, from one stream.
struct FireBlock<'a> {
    key: Key,
    trains: Trains,
    scale: f32,
    granularity: f32,
    /// How many there are, the signals, and where the trains go.
    rows: (usize, &'a [f32], &'a mut [u32]),
    cols: (usize, &'a [f32], &'a mut [u32]),
    samples: &'a mut [Sample],
}

impl Kernel for FireBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { key, trains, scale, granularity, rows, cols, samples } = self;
        let mut stream = Stream::new(key);
        let along_rows = rows.1.chunks_exact(rows.0).zip(rows.2.chunks_exact_mut(rows.0));
        let along_cols = cols.1.chunks_exact(cols.0).zip(cols.2.chunks_exact_mut(cols.0));
        for (sample, ((d, row_trains), (x, col_trains))) in samples.iter_mut().zip(along_rows.zip(along_cols)) {
            let [d_max, x_max] = [LargestMagnitude(d).run(), LargestMagnitude(x).run()];
            let Some(Plan { row, col, slots }) = trains.plan(scale.abs(), d_max, x_max, granularity) else {
                continue;
            };
            let flip = scale < 0.0;
            let met = Fire { signals: d, scale: row, slots, flip, out: row_trains }.run(&mut stream);
            // Columns that no row can meet need no trains.
            if met != 0 {
                Fire { signals: x, scale: col, slots, flip: false, out: col_trains }.run(&mut stream);
                (sample.slots, sample.met) = (slots, met);
            }
        }
    }
}

impl Fire<'_> {
    /// Returns the slots in which some line fires.
    #[inline(always)]
    fn run(self, stream: &mut Stream) -> u32 {
        let flip = if self.flip { SIGN } else { 0 };
        let (signals, last_signals) = self.signals.as_chunks::<LANES>();
        let (out, last_out) = self.out.as_chunks_mut::<LANES>();
        let mut fired = [0; LANES];
        for (signals, out) in signals.iter().zip(out) {
            *out = trains(signals, self.scale, self.slots, flip, stream);
            for i in 0..LANES {
                fired[i] |= out[i];
            }
        }
        if !last_signals.is_empty() {
            let mut rest = [0.0; LANES];
            rest[..last_signals.len()].copy_from_slice(last_signals);
            let rest = trains(&rest, self.scale, self.slots, flip, stream);
            last_out.copy_from_slice(&rest[..last_out.len()]);
            for i in 0..LANES {
                fired[i] |= rest[i];
            }
        }
        fired.iter().fold(0, |all, train| all | train) & !SIGN
    }
}

#[inline(always)]
fn trains(signals: &[f32; LANES], scale: f32, slots: u32, flip: u32, stream: &mut Stream) -> [u32; LANES] {
    let mut threshold = [0.0; LANES];
    let mut trains = [0; LANES];
    for i in 0..LANES {
        let probability = scale * signals[i].abs();
        // In 2^-31. Rounding may lift a word to 2³¹, and a certain line must fire nevertheless.
        threshold[i] = if probability < 1.0 { probability * 2_147_483_648.0 } else { f32::INFINITY };
        trains[i] = (if signals[i] < 0.0 { SIGN } else { 0 }) ^ flip;
    }
    for slot in 0..slots {
        let words = stream.words();
        for i in 0..LANES {
            let fires = ((words[i] >> 1).cast_signed() as f32) < threshold[i];
            trains[i] |= u32::from(fires) << slot;
        }
    }
    trains
}

/// The signs of the columns that fire in one slot; returns their number.
struct Signs<'a> {
    trains: &'a [u32],
    slot: u32,
    out: &'a mut [i8],
}

impl Kernel for Signs<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut pulses = 0u32;
        for (sign, train) in self.out.iter_mut().zip(self.trains) {
            let fires = train >> self.slot & 1;
            pulses += fires;
            *sign = if train & SIGN == 0 { fires as i8 } else { -(fires as i8) };
        }
        pulses as usize
    }
}
