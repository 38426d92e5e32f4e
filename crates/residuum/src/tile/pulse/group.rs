//! Some samples of an update, sorted for the meeting of rows and columns: the samples in which each row fires, and the signs of the
//! columns in every slot.
//!
//! Who draws the trains sorts them, while they are in its cache. A group has memory of its own, so that no thread writes where another
//! does, and nothing is arranged for all groups together.

use std::ops::Range;

use super::fire::BLOCK;
use super::lines::{SIGN, SPARSE, Sample};
use super::row::filled;
use crate::simd::{self, Kernel};
use crate::stream::CHUNK;

/// Samples of a group: one bit for each.
pub(super) const GROUP: usize = 4 * BLOCK;
/// Up to this many samples, the columns of a slot are listed once for all rows where few fire: with more, a row meets so many slots that
/// its cells take their pulses in turn ([`super::visits`]) and hardly ever need a list.
const LISTED: usize = 64;

/// A sample in which a row fires.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowFire {
    /// The first slot of the sample where pulses are taken slot by slot; otherwise the sample itself, and [`ITSELF`].
    at: u32,
    /// The row's train.
    pub train: u32,
}

/// Marks a sample among slots.
const ITSELF: u32 = 1 << 31;

/// What a row meets of a sample.
pub(super) enum Meets {
    /// Its slots, from this one on.
    Slots(usize),
    /// The trains of this sample.
    Sample(usize),
}

impl RowFire {
    #[inline(always)]
    pub(super) fn meets(self) -> Meets {
        let index = (self.at & !ITSELF) as usize;
        if self.at & ITSELF == 0 { Meets::Slots(index) } else { Meets::Sample(index) }
    }
}

/// One slot of one sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) pulses: u32,
    /// Where its list begins among those of its group, if it has one.
    pub(super) list: Option<u32>,
}

/// Where a group puts its slots.
pub(super) struct Place<'a> {
    /// Which of so many groups it is.
    pub(super) number: usize,
    pub(super) groups: usize,
    /// As many as there is room for.
    pub(super) slots: &'a mut [Slot],
    /// One run of columns for each, filled up to whole chunks.
    pub(super) signs: &'a mut [i8],
}

/// Samples drawn and sorted by one thread. Kept with its memory, so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Which samples can meet a cell: one bit for each.
    pub(super) meet: u64,
    /// The samples in which each row fires, row by row, and where those of a row begin; the last entry is the end. What is beyond is left
    /// of earlier updates.
    fires: Vec<RowFire>,
    begins: Vec<u32>,
    /// How many slots are taken one by one.
    slots: usize,
    /// Columns that fire in sparse slots, or in any slot of a sample taken at once where few do.
    fired: Vec<u32>,
}

impl Group {
    /// Sorts samples whose trains have been drawn and which are known to `meet` a cell or not, if there is room for their slots. Else it only
    /// says how many there are. `one_by_one` says whether the slots of a sample are visited each for itself.
    pub(super) fn sort(
        &mut self,
        place: Place<'_>,
        rows: (usize, &[u32]),
        cols: (usize, &[u32]),
        samples: &mut [Sample],
        one_by_one: impl Fn(&Sample) -> bool,
    ) {
        let Place { number, groups, slots, signs } = place;
        self.fired.clear();
        let (firing, begin) = (self.firing(), number * slots.len());
        self.slots = 0;
        for n in firing.clone() {
            let sample = &mut samples[n];
            if one_by_one(sample) {
                (sample.first_slot, sample.list) = (Some(begin + self.slots), None);
                self.slots += sample.slots as usize;
            } else {
                (sample.first_slot, sample.list) = (None, self.list(&cols.1[n * cols.0..][..cols.0]));
            }
        }
        let Some(slots) = slots.get_mut(..self.slots) else { return };
        simd::dispatch(SortSlots { samples, firing: firing.clone(), cols, slots, signs });
        if firing.clone().count() * groups <= LISTED {
            for (slot, signs) in slots.iter_mut().zip(signs.chunks_exact(cols.0.next_multiple_of(CHUNK))) {
                if slot.pulses > 0 && slot.pulses as usize * SPARSE < cols.0 {
                    slot.list = Some(self.fired.len() as u32);
                    push_where(&mut self.fired, &signs[..cols.0], |sign| sign != 0);
                }
            }
        }
        let Self { fires, begins, .. } = self;
        begins.clear();
        begins.resize(rows.0 + 1, 0);
        simd::dispatch(CountFires { firing: firing.clone(), rows, counts: begins });
        let mut end = 0;
        for begin in begins.iter_mut() {
            (*begin, end) = (end, end + *begin);
        }
        // Every entry is overwritten. The buffer only grows: to shorten it means to fill it again.
        fires.resize(fires.len().max(end as usize), RowFire::default());
        simd::dispatch(ListFires { firing, first: number * GROUP, rows, samples, fires, ends: begins });
        // Each is where those of its row end, which is where those of the next begin.
        begins.rotate_right(1);
        begins[0] = 0;
    }

    /// Lists the columns that fire in any slot, if most do not, and counts their pulses.
    fn list(&mut self, trains: &[u32]) -> Option<(usize, [usize; 2])> {
        let start = self.fired.len();
        push_where(&mut self.fired, trains, |train| train & !SIGN != 0);
        let end = self.fired.len();
        if 2 * (end - start) >= trains.len() {
            self.fired.truncate(start);
            return None;
        }
        let pulses: u32 = trains.iter().map(|train| (train & !SIGN).count_ones()).sum();
        Some((pulses as usize, [start, end]))
    }

    /// The samples that can meet a cell, in order, counted from the first of the group.
    #[inline(always)]
    pub(super) fn firing(&self) -> Bits {
        Bits(self.meet)
    }

    /// How often rows fire.
    pub(super) fn fires(&self) -> usize {
        self.begins.last().map_or(0, |end| *end as usize)
    }

    /// The samples in which a row fires, in order.
    #[inline(always)]
    pub(super) fn of_row(&self, row: usize) -> &[RowFire] {
        &self.fires[self.begins[row] as usize..self.begins[row + 1] as usize]
    }

    /// Some of the columns that were listed.
    #[inline(always)]
    pub(super) fn listed(&self, range: Range<usize>) -> &[u32] {
        &self.fired[range]
    }

    /// How many slots there must be room for.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }
}

/// The numbers of the bits that are set, in order.
#[derive(Clone)]
pub(super) struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let first = self.0;
        self.0 &= first.wrapping_sub(1);
        (first != 0).then(|| first.trailing_zeros() as usize)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
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

/// In how many of the samples each row fires.
struct CountFires<'a> {
    firing: Bits,
    rows: (usize, &'a [u32]),
    counts: &'a mut [u32],
}

impl Kernel for CountFires<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (rows, trains) = self.rows;
        for n in self.firing {
            for (count, train) in self.counts.iter_mut().zip(&trains[n * rows..][..rows]) {
                *count += u32::from(train & !SIGN != 0);
            }
        }
    }
}

/// Lists the samples in which each row fires, from its end on; their first is number `first` of all.
struct ListFires<'a> {
    firing: Bits,
    first: usize,
    rows: (usize, &'a [u32]),
    samples: &'a [Sample],
    fires: &'a mut [RowFire],
    ends: &'a mut [u32],
}

impl Kernel for ListFires<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (rows, trains) = self.rows;
        for n in self.firing {
            let at = match self.samples[n].first_slot {
                Some(slot) => slot as u32,
                None => (self.first + n) as u32 | ITSELF,
            };
            for from in (0..rows).step_by(CHUNK) {
                let mut room = None;
                let trains = filled(trains, n * rows + from, &mut room);
                let left = (rows - from) as u32;
                let mut fire = [0; CHUNK];
                for i in 0..CHUNK {
                    let fires = (trains[i] & !SIGN != 0) & ((i as u32) < left);
                    fire[i] = u32::from(fires) << i;
                }
                for row in Bits(fire.iter().fold(0, |all, bit| all | bit).into()) {
                    let end = &mut self.ends[from + row];
                    self.fires[*end as usize] = RowFire { at, train: trains[row] };
                    *end += 1;
                }
            }
        }
    }
}

/// Sorts the trains of columns into the signs of their slots.
struct SortSlots<'a> {
    samples: &'a [Sample],
    firing: Bits,
    cols: (usize, &'a [u32]),
    slots: &'a mut [Slot],
    signs: &'a mut [i8],
}

impl Kernel for SortSlots<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (cols, trains) = self.cols;
        let width = cols.next_multiple_of(CHUNK);
        let mut runs = self.slots.iter_mut().zip(self.signs.chunks_exact_mut(width));
        for n in self.firing {
            let Sample { slots, met, first_slot, .. } = self.samples[n];
            if first_slot.is_none() {
                continue;
            }
            for (slot, (out, signs)) in (0..slots).zip(&mut runs) {
                // Where no row fires nothing meets, and nobody looks.
                let fires = met >> slot & 1 == 1;
                let pulses = if fires { signs_of(&trains[n * cols..], cols, slot, signs) } else { 0 };
                *out = Slot { pulses, list: None };
            }
        }
    }
}

/// The signs of the first `cols` columns in one slot, 0 beyond; returns how many fire.
#[inline(always)]
fn signs_of(trains: &[u32], cols: usize, slot: u32, signs: &mut [i8]) -> u32 {
    let mut pulses = [0u32; CHUNK];
    for (from, signs) in (0..cols).step_by(CHUNK).zip(signs.as_chunks_mut::<CHUNK>().0) {
        let mut room = None;
        let trains = filled(trains, from, &mut room);
        let left = (cols - from) as u32;
        for i in 0..CHUNK {
            let fires = if (i as u32) < left { trains[i] >> slot & 1 } else { 0 };
            pulses[i] += fires;
            signs[i] = if trains[i] & SIGN == 0 { fires as i8 } else { -(fires as i8) };
        }
    }
    pulses.iter().sum()
}
