//! Pulse trains of rows and columns: which line fires in which slot.
//!
//! A train is one 32-bit mask. Where pulses are applied slot by slot, the columns of a slot are also kept as one signed
//! byte each, and as a list of those that fire where few do.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::fire::{BLOCK, FireBlock};
use super::management::Trains;
use super::sort::{CountFires, ListFires, Sort, sort};
use crate::Key;
use crate::simd;
use crate::stream::CHUNK;
use crate::threads;

/// The sign of a line's signal sits above the 31 slots.
pub const SIGN: u32 = 1 << 31;
/// Up to this many slots, pulses are applied slot by slot although the device would allow trains at once.
const FEW_SLOTS: u32 = 3;
/// The same if so few lines fire that a row takes most slots in turn ([`super::visits`]) and at most so many passes over its cells, which
/// is what a train at once costs. More slots would need more room than the trains themselves.
const FEW_IF_SPARSE: u32 = 16;
const AT_ONCE: f32 = 2.0;
/// What drawing the train of a line, or sorting it into a slot, costs in multiply–adds.
const LINE: usize = 64;
/// A slot in which fewer than one column in this many fires is visited by list.
const SPARSE: usize = 10;
/// Up to this many samples, such lists are made once for all rows: with more, a row meets so many slots that its cells take their
/// pulses in turn ([`super::visits`]) and hardly ever need one.
const LISTED: usize = 64;

/// Trains of every line and sample of one update. Kept by the tile, so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Lines in each direction.
    shape: (usize, usize),
    /// The plan for each sample; where nothing can meet, what an earlier update left.
    samples: Vec<Sample>,
    /// Which samples of each [`BLOCK`] can meet a cell: one bit for each.
    meet: Vec<u32>,
    /// These samples, in order.
    firing: Vec<u32>,
    /// Row trains, sample by sample, and a chunk that means nothing.
    rows: Vec<u32>,
    /// Column trains in the same way.
    cols: Vec<u32>,
    /// The samples in which each row fires, with its trains; and where those of a row begin and end.
    fires: Vec<[u32; 2]>,
    begins: Vec<u32>,
    ends: Vec<u32>,
    slots: Vec<Slot>,
    /// Sign of the pulse on each column line, 0 where it is silent; one run of columns per slot, filled up to whole chunks.
    signs: Vec<i8>,
    /// Columns that fire in sparse slots, or in any slot of a sample taken at once where few do.
    fired: Vec<u32>,
}

/// Signals and trains of some samples along rows and columns, their plans, and which of them meet.
type BlockOf<'a> = (((&'a [f32], &'a [f32]), (&'a mut [u32], &'a mut [u32])), (&'a mut [Sample], &'a mut u32));

/// The plan for a sample that can meet a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) slots: u32,
    /// The slots in which some row fires: in the others nothing can meet.
    pub(super) met: u32,
    /// The shares of rows and columns that are expected to fire in a slot.
    pub(super) shares: (f32, f32),
    /// Index of its first slot where pulses are taken slot by slot.
    pub(super) first_slot: Option<usize>,
    /// Pulses on all columns together, and where the list of those that fire lies; where trains are taken at once and
    /// most columns are silent.
    list: Option<(usize, [usize; 2])>,
}

impl Sample {
    /// Whether few pulses are expected, so that none need be applied at once.
    fn few(&self) -> bool {
        // A row that fires does so once, and in its share of the other slots; each costs a pass if a column fires and some more to find out.
        let visits = 1.0 + self.slots as f32 * self.shares.0;
        let passes = visits * (1.3 * self.shares.1 + 0.1);
        self.slots <= FEW_SLOTS || self.slots <= FEW_IF_SPARSE && passes < AT_ONCE
    }
}

/// One slot of one sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) pulses: u32,
    /// Where its list begins, if it has one.
    pub(super) list: Option<u32>,
}

/// The columns of one slot.
pub(crate) struct Columns<'a> {
    /// Sign of the pulse on each column line, 0 where it is silent and beyond the last, up to whole chunks.
    pub(crate) signs: &'a [i8],
    pub(crate) pulses: usize,
    /// Whether few fire.
    pub(crate) sparse: bool,
    /// Those that fire, if they are listed.
    list: Option<&'a [u32]>,
}

impl Columns<'_> {
    /// The next few columns that fire: at most a chunk, and none at the end. `from` says how far the last call came.
    #[inline(always)]
    pub(crate) fn few<'b>(&'b self, from: &mut usize, room: &'b mut [u32; CHUNK]) -> &'b [u32] {
        if let Some(list) = self.list {
            let rest = &list[*from..];
            let few = &rest[..rest.len().min(CHUNK)];
            *from += few.len();
            return few;
        }
        let mut len = 0;
        while len < CHUNK && *from < self.signs.len() {
            // Written always, kept if it fires.
            room[len] = *from as u32;
            len += usize::from(self.signs[*from] != 0);
            *from += 1;
        }
        &room[..len]
    }
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
    /// Draws the trains of every line and sample. `together` says whether the device allows trains at once. Returns whether all
    /// signals are finite; otherwise the trains mean nothing.
    pub(crate) fn fire(
        &mut self,
        (rows, cols): (usize, usize),
        (row_signals, col_signals): (&[f32], &[f32]),
        (scale, granularity): (f32, f32),
        trains: Trains,
        together: bool,
        key: Key,
    ) -> bool {
        let batch = row_signals.len() / rows;
        self.clear((rows, cols), batch);
        self.rows.resize(batch * rows + CHUNK, 0);
        self.cols.resize(batch * cols + CHUNK, 0);
        let key = key.named("lines");
        let (d, x) = (row_signals.par_chunks(BLOCK * rows), col_signals.par_chunks(BLOCK * cols));
        let trains_of = |(n, (((row_signals, col_signals), (row_trains, col_trains)), (samples, meet))): (
            usize,
            BlockOf<'_>,
        )| {
            simd::dispatch(FireBlock {
                key: key.fold(n as u64),
                trains,
                scale,
                granularity,
                rows: (rows, row_signals, row_trains),
                cols: (cols, col_signals, col_trains),
                samples,
                meet,
            })
        };
        let (row_trains, col_trains) = (&mut self.rows[..batch * rows], &mut self.cols[..batch * cols]);
        let trains = row_trains.par_chunks_mut(BLOCK * rows).zip(col_trains.par_chunks_mut(BLOCK * cols));
        let plans = self.samples[..batch].par_chunks_mut(BLOCK).zip(&mut self.meet);
        let blocks = d.zip(x).zip(trains).zip(plans).enumerate();
        let finite = AtomicBool::new(true);
        threads::each(threads::worth(LINE * batch * (rows + cols)), blocks, |block| {
            // Written by nobody as long as all is well: a line that every block writes goes from core to core for each.
            if !trains_of(block) {
                finite.store(false, Ordering::Relaxed);
            }
        });
        let finite = finite.into_inner();
        if finite {
            self.arrange(|sample| !together || sample.few());
        }
        finite
    }

    /// Clears all samples and makes room for others.
    fn clear(&mut self, shape: (usize, usize), batch: usize) {
        self.shape = shape;
        // Plans stay what they were: to clear them would take them from the threads that will write them again.
        self.samples.resize(batch, Sample::default());
        self.meet.resize(batch.div_ceil(BLOCK), 0);
        self.firing.clear();
        self.slots.clear();
        self.fired.clear();
    }

    /// Prepares the trains of all samples for the rows and columns that will meet; `one_by_one` says whether slots are.
    fn arrange(&mut self, one_by_one: impl Fn(&Sample) -> bool) {
        let cols = self.shape.1;
        for (block, meet) in self.meet.iter().enumerate() {
            let (first, mut left) = ((block * BLOCK) as u32, *meet);
            while left != 0 {
                self.firing.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
        let mut slots = 0;
        for n in 0..self.firing.len() {
            let n = self.firing[n] as usize;
            let sample = self.samples[n];
            let (first_slot, list) =
                if one_by_one(&sample) { (Some(slots), None) } else { (None, self.list(n * cols, cols)) };
            if first_slot.is_some() {
                slots += sample.slots as usize;
            }
            self.samples[n] = Sample { first_slot, list, ..sample };
        }
        let width = cols.next_multiple_of(CHUNK);
        self.slots.resize(slots, Slot::default());
        // Every entry is overwritten: only the length matters.
        self.signs.resize(slots * width, 0);
        let Self { samples, firing, cols: trains, slots, signs, .. } = self;
        let threads = threads::worth(LINE * slots.len() * width);
        sort(Sort { samples, firing, cols, trains, slots, signs }, threads);
        if self.firing.len() <= LISTED {
            for (slot, signs) in self.slots.iter_mut().zip(self.signs.chunks_exact(width)) {
                if slot.pulses > 0 && slot.pulses as usize * SPARSE < cols {
                    slot.list = Some(self.fired.len() as u32);
                    push_where(&mut self.fired, &signs[..cols], |sign| sign != 0);
                }
            }
        }
        self.sort_rows();
    }

    /// Lists the samples in which each row fires.
    fn sort_rows(&mut self) {
        let Self { rows: trains, firing, fires, begins, ends, shape: (rows, _), .. } = self;
        begins.clear();
        begins.resize(*rows, 0);
        simd::dispatch(CountFires { trains, firing, counts: begins });
        let mut end = 0;
        for begin in begins.iter_mut() {
            (*begin, end) = (end, end + *begin);
        }
        // Every entry is overwritten: only the length matters.
        fires.resize(end as usize, [0; 2]);
        ends.clone_from(begins);
        simd::dispatch(ListFires { trains, firing, fires, ends });
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
        out.samples.copy_from_slice(&self.samples);
        out.meet.copy_from_slice(&self.meet);
        out.arrange(|sample| sample.first_slot.is_some());
    }

    /// Row and column trains of each sample that fires.
    pub(crate) fn samples(&self) -> Vec<(&[u32], &[u32])> {
        let (rows, cols) = self.shape;
        self.firing().map(|n| (&self.rows[n * rows..][..rows], &self.cols[n * cols..][..cols])).collect()
    }

    /// How many cells rows that fire will visit.
    pub(crate) fn visits(&self) -> usize {
        self.shape.1 * self.fires.len()
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

    /// The train of a row; `None` if it stays silent, or meets no column.
    #[inline(always)]
    pub fn row(&self, sample: usize, row: usize) -> Option<u32> {
        let train = self.rows[sample * self.shape.0 + row];
        let meets = self.meet[sample / BLOCK] >> (sample % BLOCK) & 1 == 1;
        (meets && train & !SIGN != 0).then_some(train)
    }

    /// Marks the rows that fire in some sample.
    pub(crate) fn mark_rows(&self, rows: &mut [bool]) {
        let lists = self.begins.iter().zip(&self.ends);
        rows.iter_mut().zip(lists).for_each(|(mark, (begin, end))| *mark |= begin < end);
    }

    /// The samples in which a row fires, each with its train.
    #[inline(always)]
    pub(crate) fn fires(&self, row: usize) -> &[[u32; 2]] {
        &self.fires[self.begins[row] as usize..self.ends[row] as usize]
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

    /// The first slot of a sample whose pulses are taken slot by slot, counted over all samples.
    #[inline(always)]
    pub(super) fn first_slot(&self, sample: usize) -> Option<usize> {
        self.samples[sample].first_slot
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
        let pulses = pulses as usize;
        Columns {
            signs: &self.signs[slot * width..][..width],
            pulses,
            sparse: pulses * SPARSE < self.shape.1,
            list: list.map(|start| &self.fired[start as usize..][..pulses]),
        }
    }

    /// The signs of all slots, chunk by chunk, and how many chunks a slot has.
    #[inline(always)]
    pub(super) fn signs(&self) -> (&[[i8; CHUNK]], usize) {
        (self.signs.as_chunks().0, self.shape.1.div_ceil(CHUNK))
    }

    /// The pulses on all columns in slot `slot`.
    #[inline(always)]
    pub(crate) fn pulses(&self, slot: usize) -> usize {
        self.slots[slot].pulses as usize
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
