//! Pulse trains of rows and columns: which line fires in which slot.
//!
//! A train is one 32-bit mask. Where pulses are taken slot by slot, the columns of a slot are kept besides as one signed
//! byte each, and as a list of those that fire where few do.

use super::management::{Plan, Trains};
use super::stream::{LANES, Stream};
use crate::Key;
use crate::simd::{self, Kernel};

/// The sign of a line's signal sits above the 31 slots.
pub(super) const SIGN: u32 = 1 << 31;
/// Up to this many slots, pulses are taken slot by slot although the device would allow trains at once.
const FEW_SLOTS: u32 = 3;
/// A slot in which fewer than one column in this many fires is visited by list.
const SPARSE: usize = 10;

/// Trains of every line and sample of one update. Kept by the tile, so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// Lines in each direction.
    shape: (usize, usize),
    samples: Vec<Sample>,
    /// Row trains, sample by sample.
    rows: Vec<u32>,
    /// Column trains, sample by sample.
    cols: Vec<u32>,
    slots: Vec<Slot>,
    /// Sign of the pulse on each column line, 0 where it is silent; one stretch per slot.
    signs: Vec<i8>,
    /// Columns that fire in sparse slots.
    fired: Vec<u32>,
}

/// What was planned for a sample; no slots if nothing moves.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    slots: u32,
    /// Index of its first slot where pulses are taken slot by slot.
    first_slot: Option<usize>,
}

/// One slot of one sample.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pulses: usize,
    /// Where its list begins, if it is sparse.
    list: Option<usize>,
}

/// The columns of one slot.
pub(super) struct Columns<'a> {
    /// Sign of the pulse on each column line, 0 where it is silent.
    pub(super) signs: &'a [i8],
    pub(super) pulses: usize,
    /// Those that fire, if they are few.
    pub(super) list: Option<&'a [u32]>,
}

/// How a sample meets a row.
pub(super) enum Meeting<'a> {
    /// Slot by slot: the slots in which the row fires, to be asked for with [`Lines::columns`].
    Slots(usize),
    /// All slots at once: the column trains.
    Together(&'a [u32]),
}

impl Lines {
    /// Draws the trains of every line and sample. `together` says whether the device allows trains at once.
    pub(super) fn fire(
        &mut self,
        (rows, cols): (usize, usize),
        (row_signals, col_signals): (&[f32], &[f32]),
        (scale, granularity): (f32, f32),
        trains: Trains,
        together: bool,
        key: Key,
    ) {
        let batch = row_signals.len() / rows;
        self.shape = (rows, cols);
        self.samples.clear();
        self.slots.clear();
        self.signs.clear();
        self.fired.clear();
        self.rows.resize(batch * rows, 0);
        self.cols.resize(batch * cols, 0);
        let flip = scale < 0.0;
        for sample in 0..batch {
            let d = &row_signals[sample * rows..][..rows];
            let x = &col_signals[sample * cols..][..cols];
            let Some(plan) = trains.plan(scale.abs(), peak(d), peak(x), granularity) else {
                self.samples.push(Sample::default());
                continue;
            };
            let Plan { row, col, slots } = plan;
            let key = key.named("lines").fold(sample as u64);
            let row_trains = &mut self.rows[sample * rows..][..rows];
            simd::dispatch(Fire {
                signals: d,
                scale: row,
                slots,
                flip,
                key: key.named("rows"),
                out: row_trains,
            });
            let col_trains = &mut self.cols[sample * cols..][..cols];
            simd::dispatch(Fire {
                signals: x,
                scale: col,
                slots,
                flip: false,
                key: key.named("cols"),
                out: col_trains,
            });
            let one_by_one = slots <= FEW_SLOTS || !together;
            self.samples.push(Sample { slots, first_slot: one_by_one.then_some(self.slots.len()) });
            if one_by_one {
                for slot in 0..slots {
                    self.sort(sample * cols, cols, slot);
                }
            }
        }
    }

    /// The trains of lines with these signs alone, all made positive: pulses where they meet go up.
    pub(super) fn only_signs(&self, row_negative: bool, col_negative: bool, out: &mut Self) {
        let keep = |train: &u32, negative: bool| {
            if (train & SIGN != 0) == negative { train & !SIGN } else { 0 }
        };
        let cols = self.shape.1;
        out.shape = self.shape;
        out.rows.clear();
        out.rows.extend(self.rows.iter().map(|train| keep(train, row_negative)));
        out.cols.clear();
        out.cols.extend(self.cols.iter().map(|train| keep(train, col_negative)));
        out.samples.clear();
        out.slots.clear();
        out.signs.clear();
        out.fired.clear();
        for (n, sample) in self.samples.iter().enumerate() {
            let first_slot = sample.first_slot.map(|_| out.slots.len());
            out.samples.push(Sample { first_slot, ..*sample });
            if first_slot.is_some() {
                for slot in 0..sample.slots {
                    out.sort(n * cols, cols, slot);
                }
            }
        }
    }

    /// Signs and, if they are few, the list of the columns that fire in this slot.
    fn sort(&mut self, first: usize, cols: usize, slot: u32) {
        let start = self.signs.len();
        self.signs.resize(start + cols, 0);
        let signs = &mut self.signs[start..];
        let pulses = simd::dispatch(Signs { trains: &self.cols[first..][..cols], slot, out: signs });
        let sparse = pulses * SPARSE < cols;
        self.slots.push(Slot { pulses, list: sparse.then_some(self.fired.len()) });
        if sparse {
            let fires = (0u32..).zip(&*signs).filter(|(_, sign)| **sign != 0);
            self.fired.extend(fires.map(|(j, _)| j));
        }
    }

    /// Row and column trains of each sample that fires.
    pub(super) fn samples(&self) -> Vec<(&[u32], &[u32])> {
        let (rows, cols) = self.shape;
        let trains = self.rows.chunks_exact(rows).zip(self.cols.chunks_exact(cols));
        trains.zip(&self.samples).filter(|(_, s)| s.slots > 0).map(|(trains, _)| trains).collect()
    }

    /// Samples of the mini-batch.
    #[inline(always)]
    pub(super) fn batch(&self) -> usize {
        self.samples.len()
    }

    /// The train of a row; none if it stays silent.
    #[inline(always)]
    pub(super) fn row(&self, sample: usize, row: usize) -> Option<u32> {
        let train = self.rows[sample * self.shape.0 + row];
        (self.samples[sample].slots > 0 && train & !SIGN != 0).then_some(train)
    }

    #[inline(always)]
    pub(super) fn meeting(&self, sample: usize) -> Meeting<'_> {
        match self.samples[sample].first_slot {
            Some(first) => Meeting::Slots(first),
            None => Meeting::Together(self.column_trains(sample)),
        }
    }

    #[inline(always)]
    pub(super) fn column_trains(&self, sample: usize) -> &[u32] {
        let cols = self.shape.1;
        &self.cols[sample * cols..][..cols]
    }

    /// The columns of slot `slot`, counted over all samples.
    #[inline(always)]
    pub(super) fn columns(&self, slot: usize) -> Columns<'_> {
        let cols = self.shape.1;
        let Slot { pulses, list } = self.slots[slot];
        Columns {
            signs: &self.signs[slot * cols..][..cols],
            pulses,
            list: list.map(|start| &self.fired[start..start + pulses]),
        }
    }
}

/// Largest magnitude. Magnitudes are ordered as their bits are, and integers have a vector maximum.
pub(super) fn peak(signals: &[f32]) -> f32 {
    f32::from_bits(signals.iter().fold(0, |m, x| m.max(x.abs().to_bits())))
}

/// One train per line: in each slot the line fires with probability min(1, scale·|signal|).
struct Fire<'a> {
    signals: &'a [f32],
    scale: f32,
    slots: u32,
    flip: bool,
    key: Key,
    out: &'a mut [u32],
}

impl Kernel for Fire<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut stream = Stream::new(self.key);
        let flip = if self.flip { SIGN } else { 0 };
        let (signals, last_signals) = self.signals.as_chunks::<LANES>();
        let (out, last_out) = self.out.as_chunks_mut::<LANES>();
        for (signals, out) in signals.iter().zip(out) {
            *out = trains(signals, self.scale, self.slots, flip, &mut stream);
        }
        let mut rest = [0.0; LANES];
        rest[..last_signals.len()].copy_from_slice(last_signals);
        let rest = trains(&rest, self.scale, self.slots, flip, &mut stream);
        last_out.copy_from_slice(&rest[..last_out.len()]);
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
