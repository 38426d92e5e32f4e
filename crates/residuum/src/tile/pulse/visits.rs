//! Visits of one row, gathered so that cells take their pulses in turn.
//!
//! In a slot in which few columns fire, a pass over the row does most of its work for cells that are not hit. The cells of a row do
//! not see each other: each must take its own pulses in their order, whatever the others do meanwhile. So the slots in which
//! the row fires are gathered, each cell notes which of them hit it, and in every pass each takes the next of its own: there are as
//! many passes as the most frequently hit cell of a chunk has pulses, not as many as there are slots.

use super::lines::{Columns, Lines, SIGN};
use super::noise::Noise;
use super::row::{Cells, Draws, filled};
use crate::device::{Law, Vector};
use crate::stream::CHUNK;

/// Slots gathered at most: one bit for each.
const MOST: usize = 32;
/// Fewer are visited one by one.
const LEAST: usize = 4;
/// As many as this, in percent, of the columns that fire on average, and passes over all cells are cheaper.
const DENSE: usize = 45;
/// The same where a step is costly, for many slots and less by so much for each of fewer: the most frequently hit of 32 cells takes
/// np + 2.1√(np(1 − p)) of n pulses, and to find which hit it costs a twelfth of a pass for each.
const DENSE_IF_COSTLY: (usize, usize) = (70, 140);

/// Slots in which the row fires, in order.
#[derive(Default)]
pub(super) struct Visits {
    pub(super) len: usize,
    slots: [u32; MOST],
    /// Whether the row's signal is negative, one bit for each.
    negative: u32,
    /// On all columns.
    pub(super) pulses: usize,
}

impl Visits {
    /// Adds the slots of a train, the first slot of whose sample is number `first`; `false` if there is no room.
    #[inline(always)]
    pub(super) fn add(&mut self, lines: &Lines, train: u32, first: usize) -> bool {
        let mut left = train & !SIGN;
        if self.len + left.count_ones() as usize > MOST {
            return false;
        }
        while left != 0 {
            let slot = first + left.trailing_zeros() as usize;
            left &= left - 1;
            self.slots[self.len] = slot as u32;
            self.negative |= (train >> 31) << self.len;
            self.pulses += lines.pulses(slot);
            self.len += 1;
        }
        true
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.len, self.negative, self.pulses) = (0, 0, 0);
    }

    /// Whether cells should take their pulses in turn.
    #[inline(always)]
    pub(super) fn in_turn(&self, cols: usize, costly: bool) -> bool {
        let (many, less) = if costly { DENSE_IF_COSTLY } else { (DENSE, 0) };
        let dense = (many * self.len).saturating_sub(less).max(DENSE * self.len);
        self.len >= LEAST && 100 * self.pulses < dense * cols
    }

    /// The columns of a visit, and the sign of those whose pulses go up.
    #[inline(always)]
    pub(super) fn visit<'a>(&self, lines: &'a Lines, visit: usize) -> (Columns<'a>, i8) {
        let sign = if self.negative >> visit & 1 == 0 { 1 } else { -1 };
        (lines.columns(self.slots[visit] as usize), sign)
    }

    /// Which visits hit each cell of a chunk, and which of them go up: one bit for each.
    #[inline(always)]
    pub(super) fn meet(&self, lines: &Lines, start: usize) -> ([u32; CHUNK], [u32; CHUNK]) {
        let [mut hits, mut ups] = [[0; CHUNK]; 2];
        for (visit, slot) in self.slots[..self.len].iter().enumerate() {
            let mut room = None;
            let signs = filled(lines.columns(*slot as usize).signs, start, &mut room);
            for j in 0..CHUNK {
                let sign = i32::from(signs[j]).cast_unsigned();
                hits[j] |= (sign & 1) << visit;
                ups[j] |= (sign >> 31) << visit;
            }
        }
        // An array of its own: both stay in registers above. No `map`: that becomes a call.
        let mut up = [0; CHUNK];
        for j in 0..CHUNK {
            up[j] = !(ups[j] ^ self.negative);
        }
        (hits, up)
    }
}

/// The pulses of the cells of a chunk, each cell its own in order.
#[inline(always)]
pub(super) fn pulse_in_turn<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    hits: [u32; CHUNK],
    ups: [u32; CHUNK],
    draws: &mut Draws,
    state: &mut [f32; CHUNK],
) {
    let mut left = hits;
    while left.iter().fold(0, |any, left| any | left) != 0 {
        let xi = draws.next();
        // A block of its own: the compiler sees that writing it changes no parameter.
        let mut next = [0.0; CHUNK];
        for j in 0..CHUNK {
            let first = left[j] & left[j].wrapping_neg();
            let pulsed = cells.pulsed(j, ups[j] & first != 0, state[j], xi[j]);
            next[j] = if first == 0 { state[j] } else { pulsed };
            left[j] ^= first;
        }
        *state = next;
    }
}
