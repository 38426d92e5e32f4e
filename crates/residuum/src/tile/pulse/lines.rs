//! Pulse trains of rows and columns: which line fires in which slot.
//!
//! A train is one 32-bit mask. Where pulses are applied slot by slot, the columns of a slot are also kept as one signed
//! byte each, and as a list of those that fire where few do. Samples are drawn and sorted in groups, each by one thread: what another
//! core has to read of them is what their rows meet, not the trains.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::fire::{BLOCK, FireBlock};
use super::group::{GROUP, Group, Meets, Place, RowFire, Slot};
use super::management::Trains;
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
/// What drawing the train of a line and sorting it costs in multiply–adds.
const LINE: usize = 64;
/// A slot in which fewer than one column in this many fires is visited by list.
pub(super) const SPARSE: usize = 10;
/// Trains of every line and sample of one update. Kept by the tile, so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Lines in each direction.
    shape: (usize, usize),
    /// The plan for each sample; where nothing can meet, what an earlier update left.
    samples: Vec<Sample>,
    /// Row trains, sample by sample.
    rows: Vec<u32>,
    /// Column trains in the same way.
    cols: Vec<u32>,
    /// The samples, sorted.
    groups: Vec<Group>,
    /// Room for the slots of each group.
    room: usize,
    slots: Vec<Slot>,
    /// Sign of the pulse on each column line, 0 where it is silent; one run of columns per slot, filled up to whole chunks.
    signs: Vec<i8>,
}

thread_local! {
    /// The samples in which a row fires.
    static FIRES: RefCell<Vec<RowFire>> = const { RefCell::new(Vec::new()) };
}

/// Signals and trains of a group of samples along rows and columns, their plans, and what is sorted of them with its room.
type GroupOf<'a> = (
    ((&'a [f32], &'a [f32]), (&'a mut [u32], &'a mut [u32])),
    ((&'a mut [Sample], &'a mut Group), (&'a mut [Slot], &'a mut [i8])),
);

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
    pub(super) list: Option<(usize, [usize; 2])>,
}

impl Sample {
    /// Whether few pulses are expected, so that none need be applied at once.
    pub(super) fn few(&self) -> bool {
        // A row that fires does so once, and in its share of the other slots; each costs a pass if a column fires and some more to find out.
        let visits = 1.0 + self.slots as f32 * self.shares.0;
        let passes = visits * (1.3 * self.shares.1 + 0.1);
        self.slots <= FEW_SLOTS || self.slots <= FEW_IF_SPARSE && passes < AT_ONCE
    }
}

/// The columns of one slot.
pub(crate) struct Columns<'a> {
    /// Sign of the pulse on each column line, 0 where it is silent and beyond the last, up to whole chunks.
    pub(crate) signs: &'a [i8],
    pub(crate) pulses: usize,
    /// Whether few fire.
    pub(crate) sparse: bool,
    /// Those that fire, if they are listed.
    pub(super) list: Option<&'a [u32]>,
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
        self.make_room((rows, cols), batch);
        self.rows.resize(batch * rows, 0);
        self.cols.resize(batch * cols, 0);
        let key = key.named("lines");
        let (groups, room, width) = (self.groups.len(), self.room, cols.next_multiple_of(CHUNK));
        let finite = AtomicBool::new(true);
        let one_by_one = |sample: &Sample| !together || sample.few();
        let draw = |(n, ((signals, trains_of), ((samples, group), (slots, signs)))): (usize, GroupOf<'_>)| {
            let ((row_signals, col_signals), (row_trains, col_trains)) = (signals, trains_of);
            let signals = row_signals.chunks(BLOCK * rows).zip(col_signals.chunks(BLOCK * cols));
            let trains_of = row_trains.chunks_mut(BLOCK * rows).zip(col_trains.chunks_mut(BLOCK * cols));
            let plans = samples.chunks_mut(BLOCK);
            group.meet = 0;
            for (block, ((signals, trains_of), samples)) in signals.zip(trains_of).zip(plans).enumerate() {
                let drawn = simd::dispatch(FireBlock {
                    key: key.fold((n * GROUP / BLOCK + block) as u64),
                    trains,
                    scale,
                    granularity,
                    rows: (rows, signals.0, trains_of.0),
                    cols: (cols, signals.1, trains_of.1),
                    samples,
                });
                group.meet |= u64::from(drawn.meet) << (block * BLOCK);
                // Written by nobody as long as all is well: a line that all write goes from core to core each time.
                if !drawn.finite {
                    finite.store(false, Ordering::Relaxed);
                }
            }
            let place = Place { number: n, groups, slots, signs };
            group.sort(place, (rows, row_trains), (cols, col_trains), samples, one_by_one);
        };
        let (d, x) = (row_signals.par_chunks(GROUP * rows), col_signals.par_chunks(GROUP * cols));
        let trains_of = self.rows.par_chunks_mut(GROUP * rows).zip(self.cols.par_chunks_mut(GROUP * cols));
        let sorted = self.samples.par_chunks_mut(GROUP).zip(&mut self.groups);
        let slots = self.slots.par_chunks_mut(room).zip(self.signs.par_chunks_mut(room * width));
        let parts = d.zip(x).zip(trains_of).zip(sorted.zip(slots)).enumerate();
        threads::each(threads::worth(LINE * batch * (rows + cols)), parts, draw);
        let needed = self.groups.iter().map(Group::slots).max().unwrap_or(0);
        if needed > self.room {
            // Some more, as the next update may need it.
            self.room = needed + needed / 4;
            self.make_room((rows, cols), batch);
            self.sort(one_by_one);
        }
        finite.into_inner()
    }

    /// Makes room for so many samples.
    fn make_room(&mut self, shape: (usize, usize), batch: usize) {
        self.shape = shape;
        // Plans stay what they were: to clear them would take them from the threads that will write them again.
        self.samples.resize(batch, Sample::default());
        self.groups.resize_with(batch.div_ceil(GROUP), Group::default);
        self.room = self.room.max(batch.clamp(1, GROUP));
        self.slots.resize(self.groups.len() * self.room, Slot::default());
        self.signs.resize(self.slots.len() * shape.1.next_multiple_of(CHUNK), 0);
    }

    /// Sorts all groups.
    fn sort(&mut self, one_by_one: impl Fn(&Sample) -> bool + Copy) {
        let Self { shape: (rows, cols), samples, rows: row_trains, cols: col_trains, groups, .. } = self;
        let (count, width) = (groups.len(), cols.next_multiple_of(CHUNK));
        let places = self.slots.chunks_mut(self.room).zip(self.signs.chunks_mut(self.room * width));
        let sorted = groups.iter_mut().zip(samples.chunks_mut(GROUP));
        for (number, ((group, samples), (slots, signs))) in sorted.zip(places).enumerate() {
            let place = Place { number, groups: count, slots, signs };
            let (rows, cols) = (
                (*rows, &row_trains[number * GROUP * *rows..]),
                (*cols, &col_trains[number * GROUP * *cols..]),
            );
            group.sort(place, rows, cols, samples, one_by_one);
        }
    }

    /// The trains of lines with these signs alone, all made positive: pulses where they meet go up.
    pub(crate) fn only_signs(&self, row_negative: bool, col_negative: bool, out: &mut Self) {
        let keep = |train: &u32, negative: bool| {
            if (train & SIGN != 0) == negative { train & !SIGN } else { 0 }
        };
        out.room = self.room;
        out.make_room(self.shape, self.batch());
        out.rows.clear();
        out.rows.extend(self.rows.iter().map(|train| keep(train, row_negative)));
        out.cols.clear();
        out.cols.extend(self.cols.iter().map(|train| keep(train, col_negative)));
        out.samples.copy_from_slice(&self.samples);
        out.groups.iter_mut().zip(&self.groups).for_each(|(group, own)| group.meet = own.meet);
        out.sort(|sample| sample.first_slot.is_some());
    }

    /// Row and column trains of each sample that fires.
    pub(crate) fn samples(&self) -> Vec<(&[u32], &[u32])> {
        let (rows, cols) = self.shape;
        self.firing().map(|n| (&self.rows[n * rows..][..rows], &self.cols[n * cols..][..cols])).collect()
    }

    /// How many cells rows that fire will visit.
    pub(crate) fn visits(&self) -> usize {
        self.shape.1 * self.groups.iter().map(Group::fires).sum::<usize>()
    }

    /// Samples of the mini-batch.
    #[inline(always)]
    pub(crate) fn batch(&self) -> usize {
        self.samples.len()
    }

    /// The samples that can meet a cell, in order.
    #[inline(always)]
    pub(crate) fn firing(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().enumerate().flat_map(|(n, group)| group.firing().map(move |s| n * GROUP + s))
    }

    /// The train of a row; `None` if it stays silent, or meets no column.
    #[inline(always)]
    pub fn row(&self, sample: usize, row: usize) -> Option<u32> {
        let train = self.rows[sample * self.shape.0 + row];
        let meets = self.groups[sample / GROUP].meet >> (sample % GROUP) & 1 == 1;
        (meets && train & !SIGN != 0).then_some(train)
    }

    /// Marks the rows that fire in some sample.
    pub(crate) fn mark_rows(&self, rows: &mut [bool]) {
        for (row, mark) in rows.iter_mut().enumerate() {
            *mark |= self.groups.iter().any(|group| !group.of_row(row).is_empty());
        }
    }

    /// Does something with the samples in which a row fires, in order.
    pub fn with_fires<R>(&self, row: usize, visit: impl FnOnce(&[RowFire]) -> R) -> R {
        if let [all] = &self.groups[..] {
            return visit(all.of_row(row));
        }
        // Taken out, and so given to nobody else meanwhile.
        let mut fires = FIRES.take();
        fires.clear();
        // Copied one by one: there are few of each, for which a call would take longer.
        self.groups.iter().for_each(|group| fires.extend(group.of_row(row).iter().copied()));
        let visited = visit(&fires);
        FIRES.set(fires);
        visited
    }

    /// How a row meets a sample in which it fires.
    #[inline(always)]
    pub fn meeting(&self, fire: RowFire) -> Meeting<'_> {
        let sample = match fire.meets() {
            Meets::Slots(first) => return Meeting::Slots(first),
            Meets::Sample(sample) => sample,
        };
        let Sample { slots, list, .. } = self.samples[sample];
        let (trains, fired) = (self.column_trains(sample), (fire.train & !SIGN).count_ones() as usize);
        match list {
            Some((pulses, [start, end])) if fired * pulses * SPARSE < slots as usize * self.shape.1 => {
                Meeting::Listed(trains, self.groups[sample / GROUP].listed(start..end))
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

    /// The columns of a slot.
    #[inline(always)]
    pub(crate) fn columns(&self, slot: usize) -> Columns<'_> {
        let width = self.shape.1.next_multiple_of(CHUNK);
        let Slot { pulses, list } = self.slots[slot];
        let pulses = pulses as usize;
        Columns {
            signs: &self.signs[slot * width..][..width],
            pulses,
            sparse: pulses * SPARSE < self.shape.1,
            list: list
                .map(|start| self.groups[slot / self.room].listed(start as usize..start as usize + pulses)),
        }
    }

    /// The signs of all slots, chunk by chunk, and how many chunks a slot has.
    #[inline(always)]
    pub(super) fn signs(&self) -> (&[[i8; CHUNK]], usize) {
        (self.signs.as_chunks().0, self.shape.1.div_ceil(CHUNK))
    }

    /// The pulses on all columns in a slot.
    #[inline(always)]
    pub(crate) fn pulses(&self, slot: usize) -> usize {
        self.slots[slot].pulses as usize
    }
}
