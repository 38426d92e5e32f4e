//! Binomial numbers by one look at a table, where few probabilities occur.
//!
//! What a transfer writes was read through a converter, so that its values are whole steps, and few. In a
//! column whose largest value is K steps and whose line fired in F slots, a row meets it Binomial(F, p) times with only K + 1
//! different p. Each of these distributions is a table of 32 entries by Walker's alias method: five of 16 random bits choose
//! an entry, the other 11 choose between its own number and the one it names. Every entry gives away what is within 2⁻¹⁷ of what it should.

use super::column::Survey;
use super::matrix::{CHUNKS, repeat};
use super::row::{Draws, filled};
use crate::stream::CHUNK;

/// Entries of a table: the numbers of pulses that trains allow, 0 to 31.
const NUMBERS: usize = 32;
/// Entries that there is room for: 2048 tables, 128 kB. Whatever 16 bits say is one of them.
const ROOM: usize = 1 << 16;
/// A table is made in the time that looking saves on so many cells, or a few times as many.
const WORTH: usize = 32;
/// Most steps of a column.
const STEPS: usize = 15;
/// Bits that choose within an entry.
const BITS: u32 = 11;
const WHOLE: u16 = (1 << BITS) - 1;

/// Kinds of columns: steps and slots.
const KINDS: usize = (STEPS + 1) * NUMBERS;

/// A column to be written.
struct Column {
    /// Steps of its largest value.
    steps: usize,
    /// Slots in which it fired.
    fired: i32,
    /// Probability per step that a row fires.
    row: f32,
}

impl Column {
    fn kind(&self) -> usize {
        self.steps * NUMBERS + self.fired as usize
    }

    /// One for every number of steps, that of 0 steps among them.
    fn tables(&self) -> usize {
        self.steps + 1
    }
}

/// How many tables these columns have.
fn tables(columns: impl Iterator<Item = Column>) -> usize {
    let mut seen = [false; KINDS];
    columns.filter(|column| !std::mem::replace(&mut seen[column.kind()], true)).map(|c| c.tables()).sum()
}

/// The tables of a matrix, kept by the tile from write to write. Whether they are used depends on the matrix alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Whether all columns of this matrix have theirs.
    pub(super) ready: bool,
    /// The sign bit of the write.
    flip: i16,
    entries: Vec<u16>,
    /// Tables so far.
    len: usize,
    /// For every kind of column, the probability per step and the first table, that of no step.
    known: Vec<Option<(f32, u16)>>,
    /// First table of each column.
    first: Vec<u16>,
}

impl Tables {
    /// Finds the tables of all columns or makes them, where they are worth it and steps are few.
    pub(super) fn prepare(&mut self, survey: &Survey, down: bool, row: &[f32], fired: &[i32]) {
        self.flip = if down { i16::MIN } else { 0 };
        let Survey { peaks, cells, .. } = survey;
        let largest = peaks.iter().fold(0.0f32, |most, peak| most.max(*peak));
        self.ready = false;
        if largest > STEPS as f32 {
            return;
        }
        let columns = || {
            peaks.iter().zip(row).zip(fired).map(|((peak, row), fired)| Column {
                steps: *peak as usize,
                fired: *fired,
                row: *row,
            })
        };
        if tables(columns()) > (ROOM / NUMBERS).min(cells / WORTH) {
            return;
        }
        self.ready = !self.known.is_empty() && self.find(columns());
        // Those of former writes are in the way, or of no use.
        if !self.ready {
            self.forget();
            self.ready = self.find(columns());
        }
        if self.ready {
            repeat(&mut self.first, peaks.len());
        }
    }

    fn forget(&mut self) {
        self.len = 0;
        self.entries.resize(ROOM, 0);
        self.known.clear();
        self.known.resize(KINDS, None);
    }

    /// Whether every column got its tables.
    fn find(&mut self, columns: impl Iterator<Item = Column>) -> bool {
        self.first.clear();
        for column in columns {
            let known = &mut self.known[column.kind()];
            let first = match *known {
                Some((row, first)) if row == column.row => first,
                None if (self.len + column.tables()) * NUMBERS <= ROOM => {
                    let first = self.len as u16;
                    *known = Some((column.row, first));
                    for k in 0..=column.steps {
                        let p = f64::from(column.row.abs()) * k as f64;
                        fill(&mut self.entries[self.len * NUMBERS..][..NUMBERS], p.min(1.0), column.fired);
                        self.len += 1;
                    }
                    first
                }
                _ => return false,
            };
            self.first.push(first);
        }
        true
    }

    /// Numbers of pulses for the steps of some chunks of a row, negative where they go down.
    #[inline(always)]
    pub(super) fn count(
        &self,
        start: usize,
        steps: &[i16],
        draws: &mut Draws,
        look: &mut Look,
        counts: &mut [[i16; CHUNK]],
    ) {
        let (flip, columns) = (self.flip, self.first.len() - CHUNK);
        let mut column = start % columns;
        let mut room = None;
        let steps = match steps[start..].get(..counts.len() * CHUNK) {
            Some(steps) => steps.as_chunks::<CHUNK>().0,
            // One chunk, the last.
            None => std::slice::from_ref(filled(steps, start, &mut room)),
        };
        let (words, found) = (&mut look.words[..steps.len()], &mut look.found[..steps.len()]);
        for (steps, (words, index)) in steps.iter().zip(words.iter_mut().zip(&mut *found)) {
            let first = &self.first[column..][..CHUNK];
            column += CHUNK;
            while column >= columns {
                column -= columns;
            }
            let (drawn, mut own) = (draws.halves(), [0; CHUNK]);
            for j in 0..CHUNK {
                own[j] = (first[j] + steps[j].unsigned_abs()) << 5 | drawn[j] >> BITS;
            }
            (*words, *index) = (drawn, own);
        }
        if let Some(entries) = self.entries.first_chunk::<ROOM>() {
            find(entries, found.as_flattened_mut());
        }
        for ((counts, steps), (words, entry)) in counts.iter_mut().zip(steps).zip(words.iter().zip(&*found)) {
            let mut signed = [0; CHUNK];
            for j in 0..CHUNK {
                let chosen = words[j] & WHOLE < entry[j] >> 5;
                let count = if chosen { words[j] >> BITS } else { entry[j] & 31 }.cast_signed();
                // All bits of it are the sign.
                let down = (steps[j] ^ flip) >> 15;
                signed[j] = (count ^ down) - down;
            }
            *counts = signed;
        }
    }
}

/// What a look at many tables takes.
#[derive(Default)]
pub(super) struct Look {
    words: [[u16; CHUNK]; CHUNKS],
    /// Where to look, then what was found.
    found: [[u16; CHUNK]; CHUNKS],
}

/// Entries in place of their indices. A function of its own, without the machine's vectors: loading them one by one takes half the time of
/// the instruction that gathers a vector of them.
#[inline(never)]
fn find(entries: &[u16; ROOM], found: &mut [u16]) {
    for entry in found {
        *entry = entries[usize::from(*entry)];
    }
}

/// Fills the table of Binomial(fired, p).
fn fill(entries: &mut [u16], p: f64, fired: i32) {
    // In units of an entry. From the likelier end, so that no power underflows.
    let mut shares = [0.0; NUMBERS];
    let (rare, slots) = (p.min(1.0 - p), fired as usize);
    let (odds, mut share) = (rare / (1.0 - rare), NUMBERS as f64 * (1.0 - rare).powi(fired));
    for k in 0..=slots {
        shares[if p > 0.5 { slots - k } else { k }] = share;
        share *= (slots - k) as f64 * RECIPROCALS[k + 1] * odds;
    }
    // Every entry with less than its share of 1 gives what is left to one with more, which may then be one with less.
    let (mut less, mut more) = (Stack::default(), Stack::default());
    for k in 0..NUMBERS {
        if shares[k] < 1.0 { less.push(k) } else { more.push(k) }
    }
    while let (Some(own), Some(other)) = (less.top(), more.top()) {
        let kept = (shares[own] * f64::from(1 << BITS)).round() as u16;
        entries[own] = kept.min(WHOLE) << 5 | other as u16;
        less.len -= 1;
        shares[other] -= 1.0 - shares[own];
        if shares[other] < 1.0 {
            more.len -= 1;
            less.push(other);
        }
    }
    for k in less.numbers().chain(more.numbers()) {
        entries[k] = WHOLE << 5 | k as u16;
    }
}

/// 1/k.
static RECIPROCALS: [f64; NUMBERS + 1] = {
    let mut reciprocals = [0.0; NUMBERS + 1];
    let mut k = 1;
    while k < reciprocals.len() {
        reciprocals[k] = 1.0 / k as f64;
        k += 1;
    }
    reciprocals
};

/// Entries of a table that wait for another.
#[derive(Default)]
struct Stack {
    numbers: [u8; NUMBERS],
    len: usize,
}

impl Stack {
    fn push(&mut self, k: usize) {
        self.numbers[self.len] = k as u8;
        self.len += 1;
    }

    fn top(&self) -> Option<usize> {
        self.numbers[..self.len].last().map(|k| usize::from(*k))
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.numbers[..self.len].iter().map(|k| usize::from(*k))
    }
}
