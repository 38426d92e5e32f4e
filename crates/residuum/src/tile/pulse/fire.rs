//! Drawing trains: in each slot a line fires with its own probability.

use super::lines::{SIGN, Sample};
use super::management::{Plans, Trains};
use crate::Key;
use crate::simd::{Kernel, LargestMagnitude};
use crate::stream::{LANES, Stream};

/// Samples that draw from one stream, at most 32: seeding it costs as much as the trains of a narrow tile.
pub(super) const BLOCK: usize = 16;

/// The lines of a block of samples, from one stream.
pub(super) struct FireBlock<'a> {
    pub(super) key: Key,
    pub(super) trains: Trains,
    pub(super) scale: f32,
    pub(super) granularity: f32,
    /// How many there are, the signals, and where the trains go.
    pub(super) rows: (usize, &'a [f32], &'a mut [u32]),
    pub(super) cols: (usize, &'a [f32], &'a mut [u32]),
    /// At most [`BLOCK`]; written where they can meet a cell.
    pub(super) samples: &'a mut [Sample],
}

/// What is to know of a block of samples whose trains were drawn.
pub(super) struct Drawn {
    /// Which of them can meet a cell: one bit for each.
    pub(super) meet: u32,
    /// Whether all signals are finite; otherwise the trains mean nothing.
    pub(super) finite: bool,
}

impl Kernel for FireBlock<'_> {
    type Output = Drawn;

    #[inline(always)]
    fn run(self) -> Drawn {
        let Self { key, trains, scale, granularity, rows, cols, samples } = self;
        let mut stream = Stream::new(key);
        let [d_max, x_max] = [largest(rows.0, rows.1), largest(cols.0, cols.1)];
        let Plans { row, col, slots } = trains.plans(scale.abs(), d_max, x_max, granularity);
        let mut meet = 0;
        for (s, sample) in samples.iter_mut().enumerate().filter(|(s, _)| slots[*s] > 0) {
            let (d, x) = (&rows.1[s * rows.0..], &cols.1[s * cols.0..]);
            let (row_trains, col_trains) = (&mut rows.2[s * rows.0..], &mut cols.2[s * cols.0..]);
            let (slots, flip) = (slots[s], scale < 0.0);
            let lines = Fire { lines: rows.0, signals: d, scale: row[s], slots, flip, out: row_trains };
            let (met, row_share) = lines.run(&mut stream);
            // Columns that no row can meet need no trains.
            if met != 0 {
                let lines =
                    Fire { lines: cols.0, signals: x, scale: col[s], slots, flip: false, out: col_trains };
                let (_, col_share) = lines.run(&mut stream);
                (sample.slots, sample.met, sample.shares) = (slots, met, (row_share, col_share));
                meet |= 1 << s;
            }
        }
        let mut finite = true;
        for s in 0..BLOCK {
            finite &= d_max[s].is_finite() & x_max[s].is_finite();
        }
        Drawn { meet, finite }
    }
}

/// The largest magnitude in each sample of so many lines.
#[inline(always)]
fn largest(lines: usize, signals: &[f32]) -> [f32; BLOCK] {
    let mut largest = [0.0; BLOCK];
    for (largest, signals) in largest.iter_mut().zip(signals.chunks_exact(lines)) {
        *largest = LargestMagnitude(signals).run();
    }
    largest
}

/// One train for each of the first `lines` signals: in each slot the line fires with probability min(1, scale·|signal|). What
/// follows are the next samples.
struct Fire<'a> {
    lines: usize,
    signals: &'a [f32],
    scale: f32,
    slots: u32,
    flip: bool,
    out: &'a mut [u32],
}

impl Fire<'_> {
    /// Returns the slots in which some line fires, and the share of lines that is expected to in each.
    #[inline(always)]
    fn run(self, stream: &mut Stream) -> (u32, f32) {
        let flip = if self.flip { SIGN } else { 0 };
        let (mut fired, mut expected) = ([0; LANES], [0.0; LANES]);
        for from in (0..self.lines).step_by(LANES) {
            // Whole vectors, also where they reach into the next sample: its trains are drawn later.
            let signals = self.signals[from..].first_chunk().copied();
            let signals = signals.unwrap_or_else(|| last(&self.signals[from..]));
            let trains = trains(&signals, self.scale, self.slots, flip, stream);
            match self.out[from..].first_chunk_mut() {
                Some(out) => *out = trains,
                None => self.out[from..].iter_mut().zip(trains).for_each(|(out, train)| *out = train),
            }
            let left = (self.lines - from) as u32;
            // Blocks of their own: what is written in part goes through memory, and is waited for.
            let (mut all_fired, mut all_expected) = ([0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                let probability = self.scale * signals[i].abs();
                let probability = if probability < 1.0 { probability } else { 1.0 };
                let here = u32::from((i as u32) < left).wrapping_neg();
                all_fired[i] = fired[i] | trains[i] & here;
                all_expected[i] = expected[i] + f32::from_bits(probability.to_bits() & here);
            }
            (fired, expected) = (all_fired, all_expected);
        }
        let (mut any, mut sum) = (0, 0.0);
        for i in 0..LANES {
            (any, sum) = (any | fired[i], sum + expected[i]);
        }
        (any & !SIGN, sum / self.lines as f32)
    }
}

/// Signals filled up with zeros, which never fire.
#[cold]
#[inline(never)]
fn last(signals: &[f32]) -> [f32; LANES] {
    let mut filled = [0.0; LANES];
    filled[..signals.len()].copy_from_slice(signals);
    filled
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
