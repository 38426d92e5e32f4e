//! Visits of one row, gathered so that cells take their pulses in turn.
//!
//! In a slot in which few columns fire, a pass over the row does most of its work for cells that are not hit. The cells of a row do
//! not see each other: each must take its own pulses in their order, whatever the others do meanwhile. So the slots in which
//! the row fires are gathered, each cell notes which of them hit it, and in every pass each takes the next of its own: there are as
//! many passes as the most frequently hit cell of a chunk has pulses, not as many as there are slots. Cells note [`NOTED`] slots at a
//! time; who is through with them goes on to the next while others are not, so that all end together, or nearly.
//!
//! Where steps hardly change from pulse to pulse and vanish at the bounds, the order of a cell's pulses hardly matters, and those
//! of many slots are applied at once: one pass for all of them ([`Cells::mixed`]). Chunks in which some cell is too steep, or may
//! reach a bound on the way, take theirs in turn.

use std::ops::Range;

use super::group::{Meets, RowFire};
use super::lines::{Lines, SIGN};
use super::noise::Noise;
use super::row::{Cells, Draws, each_chunk};
use crate::Key;
use crate::device::{Law, Padding, Parameters, Vector, WithLaw};
use crate::stream::CHUNK;

/// Slots that cells note at a time: one bit for each.
const NOTED: usize = 32;
/// Slots gathered at most.
const MOST: usize = 8 * NOTED;
/// Fewer are visited one by one.
const LEAST: usize = 4;
/// What it costs to find who is hit in a slot, and a pass in turn, in passes over all cells.
const NOTING: f32 = 0.08;
const IN_TURN: f32 = 1.15;
/// The most frequently hit cell of a chunk has so many standard deviations more pulses than their mean.
const MOST_HIT: f32 = 2.1;

/// Slots whose pulses are applied at once at most: they are counted in bytes.
const COUNTED: usize = 3 * NOTED;
/// What such a pass costs, and counting the pulses of a slot, in passes over all cells.
const AT_ONCE: f32 = 2.0;
const COUNTING: f32 = 0.02;
/// Pulses of a cell that are applied at once on average: so many, or so few that their slopes add up to this.
const PULSES: f32 = 12.0;
const SLOPES: f32 = 0.03;

/// Some of the samples in which a row fires, one after the other.
pub(super) enum Part {
    /// Whose pulses its cells take in turn.
    InTurn(usize),
    /// Each by itself.
    Alone(usize),
}

/// The next samples of a row of `cols` cells that are taken in one way; at the slope of its steps, pulses of many slots at once.
pub(super) fn next_part(lines: &Lines, fires: &[RowFire], cols: usize, slope: Option<f32>) -> Part {
    let mut alone = 0;
    while alone < fires.len() {
        let (mut slots, mut pulses, mut samples) = (0, 0, 0);
        for fire in &fires[alone..] {
            let Meets::Slots(first) = fire.meets() else { break };
            let mut left = fire.train & !SIGN;
            slots += left.count_ones() as usize;
            while left != 0 {
                pulses += lines.pulses(first + left.trailing_zeros() as usize);
                left &= left - 1;
            }
            samples += 1;
        }
        if pays(slots, pulses, cols, slope) {
            return if alone == 0 { Part::InTurn(samples) } else { Part::Alone(alone) };
        }
        alone += samples.max(1);
    }
    Part::Alone(alone)
}

/// Whether cells should take so many pulses in so many slots in turn, or at once.
fn pays(slots: usize, pulses: usize, cols: usize, slope: Option<f32>) -> bool {
    let (many, slots, mean) = (slots >= LEAST, slots as f32, pulses as f32 / cols as f32);
    if let Some(slope) = slope {
        let passes = (slots / counted(mean / slots, slope) as f32).ceil();
        return AT_ONCE * passes + COUNTING * slots < slots;
    }
    let passes = mean + MOST_HIT * (mean * (1.0 - mean / slots)).sqrt();
    many && IN_TURN * passes + NOTING * slots < slots
}

/// Slots to be applied at once where so many pulses meet a cell in each: whole notes, so that they can be taken in turn as well.
#[inline(always)]
fn counted(pulses_in_a_slot: f32, slope: f32) -> usize {
    let pulses = PULSES.min(SLOPES / slope);
    ((pulses / pulses_in_a_slot) as usize / NOTED * NOTED).clamp(NOTED, COUNTED)
}

/// Samples of a row whose pulses its cells take in turn, or at once. Not a part of [`super::row::Row`]: the compiler would keep what this needs in
/// registers that the loops of that one need.
pub(super) struct Turns<'a, N> {
    pub(super) lines: &'a Lines,
    pub(super) fires: &'a [RowFire],
    pub(super) key: Key,
    /// Whether there is noise to draw.
    pub(super) noisy: bool,
    /// The slope of steps at which pulses of many slots are applied at once.
    pub(super) slope: Option<f32>,
    pub(super) noise: N,
    pub(super) parameters: Parameters<'a>,
    /// What pulses act on.
    pub(super) state: &'a mut [f32],
}

impl<N: Noise> WithLaw<Vector> for Turns<'_, N> {
    /// Pulses that met a cell.
    type Output = u64;
    const BASELINE: bool = N::BASELINE;
    const WIDE: bool = N::WIDE;

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) -> u64 {
        let Self { lines, fires, key, noisy, slope, noise, parameters, state } = self;
        let cells = Cells::new(law, noise, parameters);
        // What no device asks for is not compiled.
        let slope = if L::VANISHES && N::AT_ONCE { slope } else { None };
        let (mut draws, mut visits) = (Draws::new(key, noisy), Visits::new());
        let (mut rest, mut pulses) = (fires, 0);
        while !rest.is_empty() {
            visits.clear();
            while let Some((fire, others)) = rest.split_first() {
                if !visits.add(lines, *fire) {
                    break;
                }
                rest = others;
            }
            pulses += visits.pulses as u64;
            let met = visits.pulses as f32 / (visits.len * state.len()) as f32;
            let slots = slope.map_or(visits.len, |slope| counted(met, slope));
            each_chunk!(cells, state, |start, cells, chunk| {
                let mut from = 0;
                while from < visits.len {
                    let some = from..visits.len.min(from + slots);
                    from = some.end;
                    if slope.is_none()
                        || !at_once(cells, (&visits, lines, start), some.clone(), &mut draws, chunk)
                    {
                        pulse_in_turn(cells, (&visits, lines, start), some, &mut draws, chunk);
                    }
                }
            });
        }
        pulses
    }
}

/// Slots in which the row fires, in order.
struct Visits {
    len: usize,
    slots: [u32; MOST],
    /// Whether the row's signal is negative, one bit for each, and all bits of a byte.
    negative: [u32; MOST / NOTED],
    flips: [i8; MOST],
    /// On all columns.
    pulses: usize,
}

impl Visits {
    #[inline(always)]
    fn new() -> Self {
        Self { len: 0, slots: [0; MOST], negative: [0; MOST / NOTED], flips: [0; MOST], pulses: 0 }
    }

    /// Adds the slots of a sample that are visited one by one; `false` if there is no room.
    #[inline(always)]
    fn add(&mut self, lines: &Lines, fire: RowFire) -> bool {
        // Others are never taken in turn.
        let (Meets::Slots(first) | Meets::Sample(first)) = fire.meets();
        let (train, mut left) = (fire.train, fire.train & !SIGN);
        if self.len + left.count_ones() as usize > MOST {
            return false;
        }
        while left != 0 {
            let slot = first + left.trailing_zeros() as usize;
            left &= left - 1;
            self.slots[self.len] = slot as u32;
            self.flips[self.len] = (train.cast_signed() >> 31) as i8;
            self.negative[self.len / NOTED] |= (train >> 31) << (self.len % NOTED);
            self.pulses += lines.pulses(slot);
            self.len += 1;
        }
        true
    }

    #[inline(always)]
    fn clear(&mut self) {
        (self.len, self.negative, self.pulses) = (0, [0; MOST / NOTED], 0);
    }

    /// How many of some visits hit each cell of a chunk, and how many more of them go up than down.
    #[inline(always)]
    fn count(&self, lines: &Lines, some: Range<usize>, start: usize) -> ([i8; CHUNK], [i8; CHUNK]) {
        let [mut hits, mut ups] = [[0; CHUNK]; 2];
        let ((all, width), chunk) = (lines.signs(), start / CHUNK);
        for (slot, flip) in self.slots[some.clone()].iter().zip(&self.flips[some]) {
            let (signs, flip) = (&all[*slot as usize * width + chunk], *flip);
            for j in 0..CHUNK {
                hits[j] += signs[j] & 1;
                ups[j] += (signs[j] ^ flip) - flip;
            }
        }
        (hits, ups)
    }

    /// Which visits from `first` on hit each cell of a chunk, and which of them go up: one bit for each.
    #[inline(always)]
    fn meet(&self, lines: &Lines, some: Range<usize>, start: usize) -> ([u32; CHUNK], [u32; CHUNK]) {
        let [mut hits, mut ups] = [[0; CHUNK]; 2];
        let ((all, width), chunk, first) = (lines.signs(), start / CHUNK, some.start);
        for (visit, slot) in self.slots[some].iter().enumerate() {
            let signs = &all[*slot as usize * width + chunk];
            for j in 0..CHUNK {
                let sign = i32::from(signs[j]).cast_unsigned();
                hits[j] |= (sign & 1) << visit;
                ups[j] |= (sign >> 31) << visit;
            }
        }
        // An array of its own: both stay in registers above. No `map`: that becomes a call.
        let (negative, mut up) = (self.negative[first / NOTED], [0; CHUNK]);
        for j in 0..CHUNK {
            up[j] = !(ups[j] ^ negative);
        }
        (hits, up)
    }
}

/// The pulses of some visits on the cells of a chunk that begins at column `start`, all at once; `false` if that would be wrong for one of them, and
/// nothing was done.
#[inline(always)]
fn at_once<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    (visits, lines, start): (&Visits, &Lines, usize),
    some: Range<usize>,
    draws: &mut Draws,
    state: &mut [f32; CHUNK],
) -> bool {
    let (hits, ups) = visits.count(lines, some, start);
    let xi = draws.next();
    let (mut next, mut any_far) = ([0.0; CHUNK], [0; CHUNK]);
    for j in 0..CHUNK {
        let far;
        (next[j], far) = cells.mixed(j, i32::from(hits[j]), i32::from(ups[j]), state[j], xi[j]);
        any_far[j] = u32::from(far);
    }
    if none(&any_far) {
        *state = next;
    }
    none(&any_far)
}

/// The pulses of some visits on the cells of a chunk that begins at column `start`, each cell its own in order.
#[inline(always)]
fn pulse_in_turn<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    (visits, lines, start): (&Visits, &Lines, usize),
    some: Range<usize>,
    draws: &mut Draws,
    state: &mut [f32; CHUNK],
) {
    let mut room = Padding::default();
    // A costly step needs all registers itself.
    let cells = if L::COSTLY { cells } else { cells.copied(&mut room) };
    let [mut left, mut ups, mut coming, mut coming_ups] = [[0; CHUNK]; 4];
    let (mut noted, mut now) = (some.start, *state);
    loop {
        while noted < some.end && none(&coming) {
            (coming, coming_ups) = visits.meet(lines, noted..some.end.min(noted + NOTED), start);
            noted += NOTED;
        }
        // Blocks of their own, here and below: what is written in part goes through memory, and is waited for.
        let [mut own, mut own_ups, mut others] = [[0; CHUNK]; 3];
        for j in 0..CHUNK {
            let through = u32::from(left[j] == 0).wrapping_neg();
            own[j] = left[j] | coming[j] & through;
            own_ups[j] = ups[j] & !through | coming_ups[j] & through;
            others[j] = coming[j] & !through;
        }
        (ups, coming) = (own_ups, others);
        if none(&own) {
            break;
        }
        let (xi, mut rest, mut next) = (draws.next(), [0; CHUNK], [0.0; CHUNK]);
        for j in 0..CHUNK {
            rest[j] = own[j] & own[j].wrapping_sub(1);
            let pulsed = cells.pulsed(j, ups[j] & (own[j] ^ rest[j]) != 0, now[j], xi[j]);
            next[j] = if own[j] == 0 { now[j] } else { pulsed };
        }
        (left, now) = (rest, next);
    }
    *state = now;
}

/// Whether no cell has a bit. By index: the end of an iterator would be an address of the array, which the compiler then keeps in memory.
#[inline(always)]
fn none(bits: &[u32; CHUNK]) -> bool {
    let mut any = 0;
    for j in 0..CHUNK {
        any |= bits[j];
    }
    any == 0
}
