//! Sorting trains for the meeting of rows and columns: the signs of the columns of every slot, and the samples in which each row
//! fires.

use super::lines::{SIGN, Sample, Slot};
use crate::simd::{self, Kernel};
use crate::stream::CHUNK;
use crate::threads::{self, Divisible};

/// In how many of the samples each row fires.
pub(super) struct CountFires<'a> {
    pub(super) trains: &'a [u32],
    pub(super) firing: &'a [u32],
    pub(super) counts: &'a mut [u32],
}

impl Kernel for CountFires<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.counts.len();
        for n in self.firing {
            let trains = &self.trains[*n as usize * rows..][..rows];
            for (count, train) in self.counts.iter_mut().zip(trains) {
                *count += u32::from(train & !SIGN != 0);
            }
        }
    }
}

/// Lists the samples in which each row fires, with its trains, from its end on.
pub(super) struct ListFires<'a> {
    pub(super) trains: &'a [u32],
    pub(super) firing: &'a [u32],
    pub(super) fires: &'a mut [[u32; 2]],
    pub(super) ends: &'a mut [u32],
}

impl Kernel for ListFires<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.ends.len();
        for n in self.firing {
            for from in (0..rows).step_by(CHUNK) {
                let trains = self.trains[*n as usize * rows + from..].first_chunk::<CHUNK>();
                let Some(trains) = trains else { break };
                let left = (rows - from) as u32;
                let mut fire = [0; CHUNK];
                for i in 0..CHUNK {
                    let fires = (trains[i] & !SIGN != 0) & ((i as u32) < left);
                    fire[i] = u32::from(fires) << i;
                }
                let mut rest = fire.iter().fold(0, |all, bit| all | bit);
                while rest != 0 {
                    let row = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let end = &mut self.ends[from + row];
                    self.fires[*end as usize] = [*n, trains[row]];
                    *end += 1;
                }
            }
        }
    }
}

/// The samples that fire, to be sorted into the signs of their slots.
pub(super) struct Sort<'a> {
    pub(super) samples: &'a [Sample],
    pub(super) firing: &'a [u32],
    pub(super) cols: usize,
    pub(super) trains: &'a [u32],
    /// Those of these samples.
    pub(super) slots: &'a mut [Slot],
    pub(super) signs: &'a mut [i8],
}

/// Sorts all samples, threads taking some each.
pub(super) fn sort(all: Sort<'_>, threads: usize) {
    let samples = all.firing.len();
    threads::share_unevenly(threads, all, samples, &simd::dispatch);
}

impl Divisible for Sort<'_> {
    fn split_at(self, n: usize) -> (Self, Self) {
        let Self { samples, firing, cols, trains, slots, signs } = self;
        let (firing, other_firing) = firing.split_at(n);
        let sorted =
            |n: &u32| samples[*n as usize].first_slot.map_or(0, |_| samples[*n as usize].slots as usize);
        let middle = firing.iter().map(sorted).sum();
        let (slots, other_slots) = slots.split_at_mut(middle);
        let (signs, other_signs) = signs.split_at_mut(middle * cols.next_multiple_of(CHUNK));
        let here = Self { samples, firing, cols, trains, slots, signs };
        (here, Self { samples, firing: other_firing, cols, trains, slots: other_slots, signs: other_signs })
    }
}

impl Kernel for Sort<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.cols.next_multiple_of(CHUNK);
        let mut runs = self.slots.iter_mut().zip(self.signs.chunks_exact_mut(width));
        for n in self.firing {
            let Sample { slots, met, first_slot, .. } = self.samples[*n as usize];
            if first_slot.is_none() {
                continue;
            }
            let trains = &self.trains[*n as usize * self.cols..];
            for (slot, (out, signs)) in (0..slots).zip(&mut runs) {
                // Where no row fires nothing meets, and nobody looks.
                let pulses = if met >> slot & 1 == 1 { signs_of(trains, self.cols, slot, signs) } else { 0 };
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
        let Some(trains) = trains[from..].first_chunk::<CHUNK>() else { break };
        let left = (cols - from) as u32;
        for i in 0..CHUNK {
            let fires = if (i as u32) < left { trains[i] >> slot & 1 } else { 0 };
            pulses[i] += fires;
            signs[i] = if trains[i] & SIGN == 0 { fires as i8 } else { -(fires as i8) };
        }
    }
    pulses.iter().sum()
}
