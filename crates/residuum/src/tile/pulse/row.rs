//! One row and all samples of a mini-batch: the row's cells and their parameters stay in the first-level cache.
//!
//! Every cell sees the samples in order, and within a sample the slots in order. A slot in which many columns fire is a
//! pass over all cells of the row, those not hit keeping their state; one in which few fire is a walk through a list; and
//! many such slots are taken in turn ([`super::visits`]).

use super::at_once::{BENT, FAR, STEEP, by_exponential, by_series};
use super::group::RowFire;
use super::lines::{Columns, Lines, Meeting, SIGN};
use super::noise::Noise;
use crate::Key;
use crate::device::{Law, Padding, Parameters, Vector, WithLaw, pick};
use crate::simd::Kernel;
use crate::stream::{CHUNK, LANES, Stream, pair};

/// Some samples of one row of an update.
pub(super) struct Row<'a, N> {
    pub(super) lines: &'a Lines,
    /// Those in which it fires, each with its train.
    pub(super) fires: &'a [RowFire],
    pub(super) key: Key,
    /// Whether there is noise to draw.
    pub(super) noisy: bool,
    pub(super) noise: N,
    pub(super) parameters: Parameters<'a>,
    /// What pulses act on.
    pub(super) state: &'a mut [f32],
}

/// Cells as a pulse sees them.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a, L, N> {
    law: L,
    noise: N,
    parameters: Parameters<'a>,
}

impl<'a, L: Law<Vector>, N: Noise> Cells<'a, L, N> {
    pub(super) fn new(law: L, noise: N, parameters: Parameters<'a>) -> Self {
        Self { law, noise, parameters }
    }

    #[inline(always)]
    pub(super) fn chunk(self, from: usize, n: usize) -> Self {
        Self { law: self.law, noise: self.noise, parameters: self.parameters.chunk::<L>(from, n, N::UNIT) }
    }

    /// The cells from `from` on, the last ones of a row and fewer than a chunk, and some that do not count.
    #[inline(always)]
    pub(super) fn last<'b>(&self, from: usize, padding: &'b mut Option<Padding>) -> Cells<'b, L, N>
    where
        'a: 'b,
    {
        let parameters = self.parameters.last(from, padding).chunk::<L>(0, CHUNK, N::UNIT);
        Cells { law: self.law, noise: self.noise, parameters }
    }

    /// A chunk with parameters of its own.
    #[inline(always)]
    pub(super) fn copied<'b>(&self, room: &'b mut Padding) -> Cells<'b, L, N> {
        let parameters = self.parameters.copied::<L>(N::UNIT, room);
        Cells { law: self.law, noise: self.noise, parameters }
    }

    /// The unit of the noise of cell j.
    #[inline(always)]
    fn unit(&self, j: usize, up: bool) -> f32 {
        if N::UNIT { pick(self.parameters.unit, j, up) } else { 0.0 }
    }

    /// The state after one pulse.
    #[inline(always)]
    pub(super) fn pulsed(&self, j: usize, up: bool, w: f32, xi: f32) -> f32 {
        let (v, _) = self.law.step(&self.parameters.cell::<L>(j, up), up, w);
        self.parameters.clip(j, self.noise.pulsed(self.unit(j, up), w, v, xi))
    }

    /// The state after `common` pulses at once, at most `MOST`, where the step is close to affine over the train; and whether it is steep,
    /// beyond `limit`, and was left as it is.
    ///
    /// With step v and slope b at w, n affine steps give w + g·v, g = ((1+b)ⁿ − 1)/b: exact for constant and linear steps; for
    /// the others the error is n³v²f''/6, held below 1e-3 of the train by a test for shapes from ½ to 2.5, and below 2e-2 for the
    /// exponential steps of the presets, which bend most. Multiplicative noise has
    /// the standard deviation σ√n(1+b)ⁿ⁻¹|v|, additive noise σs√(g(2 + bg)/(2 + b)). The sum of n noises is taken as normal (it is, for additive noise) and the bounds clip once at
    /// the end: with pulses of one direction that differs from clipping after each only where a pulse goes backwards, which at
    /// σ ≤ 0.5 one in 44 pulses at most does.
    #[inline(always)]
    fn train<const MOST: u32>(
        &self,
        j: usize,
        common: u32,
        up: bool,
        w: f32,
        xi: f32,
        limit: f32,
    ) -> (f32, bool) {
        if MOST == 1 {
            let pulsed = self.pulsed(j, up, w, xi);
            return (if common == 0 { w } else { pulsed }, false);
        }
        let (v, b) = self.law.step(&self.parameters.cell::<L>(j, up), up, w);
        let count = common.cast_signed() as f32;
        let slope = if L::FLAT { None } else { Some(b) };
        let train = |b: f32| if MOST == ANY { by_exponential(count, b) } else { by_series::<MOST>(count, b) };
        let g = slope.map_or(count, train);
        // A single pulse may be steep, where the exponential is far off.
        let g = if MOST == ANY && count <= 1.0 { count } else { g };
        let deviation = self.noise.train(self.unit(j, up), w, (v, slope), count, g);
        let after = deviation.mul_add(xi, g.mul_add(v, w));
        // No short circuit: a branch would keep the loop from becoming vector code.
        let steep = (b.abs() > limit) & (common > 1);
        // Chosen before it is clipped, which changes no state: what is stored would else be some lanes alone, which is slow.
        (self.parameters.clip(j, if steep { w } else { after }), steep)
    }
}

impl<L: Law<Vector>, N: Noise> Cells<'_, L, N> {
    /// The state after `hits` pulses in any order, `ups` more of them upwards than downwards; and whether that may be wrong,
    /// because the slopes add up to more than [`FAR`] or pulses may reach a bound.
    ///
    /// With steps v± and slopes b± at w, n₊ and n₋ affine steps, all orders being equally likely, move w by V + ½(BV − Q) on
    /// average, up to the second power of the slopes, where V = Σnv, B = Σnb, Q = Σnbv; the powers that follow are those of
    /// e^B. The deviation from order to order, b|v|√(n₊n₋(n+1)/12), is not simulated: 0.09 pulses after 24 of the largest slope
    /// that the mean cell may have, 0.25 at [`FAR`], beside the noise of each and √n of them by chance. The noise of a pulse is
    /// that of a step at the mean state, and half of the others diminish it.
    #[inline(always)]
    pub(super) fn mixed(&self, j: usize, hits: i32, ups: i32, w: f32, xi: f32) -> (f32, bool) {
        // No `map` and no closure: those become calls.
        let (up, down) = (0.5 * (hits + ups) as f32, 0.5 * (hits - ups) as f32);
        let (v_up, b_up) = self.law.step(&self.parameters.cell::<L>(j, true), true, w);
        let (v_down, b_down) = self.law.step(&self.parameters.cell::<L>(j, false), false, w);
        let (all_up, all_down) = (up * v_up, down * v_down);
        let sum = all_up + all_down;
        let slopes = up.mul_add(b_up, down * b_down);
        let own = -0.5 * all_up.mul_add(b_up, all_down * b_down);
        let moved = sum.mul_add(
            slopes.mul_add(slopes.mul_add(slopes.mul_add(1.0 / 24.0, 1.0 / 6.0), 0.5), 1.0),
            own.mul_add(slopes, own),
        );
        let half = 0.5 * sum;
        let of_up = self.noise.deviation(self.unit(j, true), w + half, b_up.mul_add(half, v_up));
        let of_down = self.noise.deviation(self.unit(j, false), w + half, b_down.mul_add(half, v_down));
        let squares = (up * of_up).mul_add(of_up, down * of_down * of_down);
        let after = (squares.sqrt() * slopes.mul_add(0.5, 1.0)).mul_add(xi, w + moved);
        // Twice the way to a bound, as noise may double it. No short circuit: a branch would keep the loop from becoming vector code.
        let (above, below) = (self.parameters.max[j] - w, w - self.parameters.min[j]);
        let far = (slopes.abs() > if L::AFFINE { FAR } else { BENT })
            | (2.0 * all_up > above)
            | (-2.0 * all_down > below);
        (if hits == 0 { w } else { self.parameters.clip(j, after) }, far)
    }
}

/// Normal numbers, or zeros if there is no noise.
pub(super) struct Draws {
    pub(super) stream: Stream,
    noisy: bool,
    /// Drawn for single pulses, and how many of them are used up.
    single: ([f32; CHUNK], usize),
}

impl Draws {
    #[inline(always)]
    pub(super) fn new(key: Key, noisy: bool) -> Self {
        Self { stream: Stream::new(key), noisy, single: ([0.0; CHUNK], CHUNK) }
    }

    /// One number.
    #[inline(always)]
    pub(super) fn one(&mut self) -> f32 {
        if self.single.1 == CHUNK {
            self.single = (self.next(), 0);
        }
        self.single.1 += 1;
        self.single.0[self.single.1 - 1]
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> [f32; CHUNK] {
        if self.noisy { self.normals() } else { [0.0; CHUNK] }
    }

    /// Normal numbers, noise or not.
    #[inline(always)]
    pub(super) fn normals(&mut self) -> [f32; CHUNK] {
        self.stream.normals()
    }

    /// Half a random word for each cell of a chunk.
    #[inline(always)]
    pub(super) fn halves(&mut self) -> [u16; CHUNK] {
        let (words, mut halves) = (self.stream.words(), [0; CHUNK]);
        for i in 0..LANES {
            (halves[2 * i], halves[2 * i + 1]) = (words[i] as u16, (words[i] >> 16) as u16);
        }
        halves
    }

    /// Random words, one for each cell of a chunk.
    #[inline(always)]
    pub(super) fn words(&mut self) -> [u32; CHUNK] {
        let mut words = [0; CHUNK];
        let (first, second) = words.split_at_mut(LANES);
        first.copy_from_slice(&self.stream.words());
        second.copy_from_slice(&self.stream.words());
        words
    }
}

/// Runs `work` on the cells and the state of each chunk of a row. The last one is filled up, so that there is one copy of the
/// work, for chunks whose length the compiler knows. It is a second round of its own: choosing between the row and the filled-up
/// chunk for every chunk would keep the addresses of all parameters from being one index.
macro_rules! each_chunk {
    ($all:expr, $state:expr, |$start:ident, $cells:ident, $chunk:ident| $work:expr) => {{
        let whole = $state.len() / CHUNK * CHUNK;
        let (row, rest) = $state.split_at_mut(whole);
        let (mut padding, mut last) = (None, [0.0; CHUNK]);
        last[..rest.len()].copy_from_slice(rest);
        let mut round = ($all.chunk(0, whole), row);
        let mut left = (!rest.is_empty()).then(|| ($all.last(whole, &mut padding), &mut last[..]));
        let mut $start = 0;
        loop {
            let from = $start;
            for $chunk in round.1.as_chunks_mut::<CHUNK>().0 {
                let $cells = round.0.chunk($start - from, CHUNK);
                $work;
                $start += CHUNK;
            }
            round = match left.take() {
                Some(padded) => padded,
                None => break,
            };
        }
        rest.copy_from_slice(&last[..rest.len()]);
    }};
}

/// The values of a chunk, those beyond the end 0, for which there is `room`.
#[inline(always)]
pub(super) fn filled<'a, T: Copy + Default>(
    values: &'a [T],
    start: usize,
    room: &'a mut Option<[T; CHUNK]>,
) -> &'a [T; CHUNK] {
    match values[start..].first_chunk() {
        Some(chunk) => chunk,
        None => room.insert(filled_up(&values[start..])),
    }
}

/// Apart from [`filled`]: together, the compiler makes both one copy whose length it does not know.
#[cold]
#[inline(never)]
fn filled_up<T: Copy + Default>(values: &[T]) -> [T; CHUNK] {
    let mut filled = [T::default(); CHUNK];
    filled[..values.len()].copy_from_slice(values);
    filled
}

pub(super) use each_chunk;

impl<N: Noise> WithLaw<Vector> for Row<'_, N> {
    /// Pulses that met a cell.
    type Output = u64;
    const BASELINE: bool = N::BASELINE;
    const WIDE: bool = N::WIDE;

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) -> u64 {
        let Self { lines, fires, key, noisy, noise, parameters, state } = self;
        let cells = Cells { law, noise, parameters };
        let mut pulses = 0;
        let mut draws = Draws::new(key, noisy);
        for fire in fires {
            let (train, fired) = (fire.train, (fire.train & !SIGN).count_ones());
            match lines.meeting(*fire) {
                Meeting::Slots(first) => {
                    let (mut left, sign) = (train & !SIGN, if train & SIGN == 0 { 1 } else { -1 });
                    while left != 0 {
                        let columns = lines.columns(first + left.trailing_zeros() as usize);
                        left &= left - 1;
                        pulses += columns.pulses as u64;
                        if columns.sparse {
                            pulse_listed(cells, sign, &columns, &mut draws, state);
                        } else {
                            each_chunk!(cells, state, |start, cells, chunk| {
                                let mut room = None;
                                let signs = filled(columns.signs, start, &mut room);
                                pulse_each(cells, |j| signs[j] != 0, |j| signs[j] == sign, &mut draws, chunk);
                            });
                        }
                    }
                }
                Meeting::Listed(cols, list) => pulses += pulse_met(cells, train, cols, list, &mut draws, state),
                Meeting::Together(cols) => {
                    macro_rules! at_most {
                        ($most:literal) => {
                            each_chunk!(cells, state, |start, cells, chunk| {
                                let mut room = None;
                                let cols = *filled(cols, start, &mut room);
                                let met = |j: usize| train & cols[j] & !SIGN;
                                let common = |j: usize| {
                                    if $most == 1 { u32::from(met(j) != 0) } else { met(j).count_ones() }
                                };
                                let up = |j: usize| (train ^ cols[j]) & SIGN == 0;
                                pulses += together::<_, _, $most>(cells, common, up, &mut draws, chunk);
                            })
                        };
                    }
                    match fired {
                        1 => at_most!(1),
                        2..=4 => at_most!(4),
                        _ => at_most!(31),
                    }
                }
            }
        }
        pulses
    }
}

/// One pulse on every cell of a chunk that is `hit`.
#[inline(always)]
pub(super) fn pulse_each<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    hit: impl Fn(usize) -> bool,
    up: impl Fn(usize) -> bool,
    draws: &mut Draws,
    state: &mut [f32; CHUNK],
) {
    let xi = draws.next();
    // A block of its own: the compiler sees that writing it changes no parameter.
    let mut next = [0.0; CHUNK];
    for j in 0..CHUNK {
        let pulsed = cells.pulsed(j, up(j), state[j], xi[j]);
        next[j] = if hit(j) { pulsed } else { state[j] };
    }
    *state = next;
}

/// One pulse on each cell whose column fires, where few do.
#[inline(always)]
fn pulse_listed<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    sign: i8,
    columns: &Columns<'_>,
    draws: &mut Draws,
    state: &mut [f32],
) {
    let (mut left, mut from, mut room) = (columns.pulses, 0, [0; CHUNK]);
    while left > 0 {
        let few = columns.few(&mut from, &mut room);
        left -= few.len();
        for (xi, &j) in draws.next().iter().zip(few) {
            let j = j as usize;
            state[j] = cells.pulsed(j, columns.signs[j] == sign, state[j], *xi);
        }
    }
}

/// The pulses of all slots, cell by cell, on those of the listed columns that the row meets.
#[inline(always)]
fn pulse_met<L: Law<Vector>, N: Noise>(
    cells: Cells<'_, L, N>,
    train: u32,
    cols: &[u32],
    list: &[u32],
    draws: &mut Draws,
    state: &mut [f32],
) -> u64 {
    let mut pulses = 0;
    for chunk in list.chunks(CHUNK) {
        // As in the list itself: written always, kept if they meet.
        let (mut met, mut n) = ([0; CHUNK], 0);
        for &j in chunk {
            met[n] = j;
            n += usize::from(train & cols[j as usize] & !SIGN != 0);
        }
        for &j in &met[..n] {
            let j = j as usize;
            let up = (train ^ cols[j]) & SIGN == 0;
            let common = (train & cols[j] & !SIGN).count_ones();
            for _ in 0..common {
                state[j] = cells.pulsed(j, up, state[j], draws.one());
            }
            pulses += u64::from(common);
        }
    }
    pulses
}

/// A train of any length, for [`together`].
pub(super) const ANY: u32 = u32::MAX;

/// All pulses of the cells of a chunk at once, `common` of them on a cell and at most `MOST`; returns their number. Those of steep cells
/// follow one by one.
#[inline(always)]
pub(super) fn together<L: Law<Vector>, N: Noise, const MOST: u32>(
    cells: Cells<'_, L, N>,
    common: impl Fn(usize) -> u32,
    up: impl Fn(usize) -> bool,
    draws: &mut Draws,
    state: &mut [f32; CHUNK],
) -> u64 {
    let xi = draws.next();
    let (mut next, mut steep) = ([0.0; CHUNK], [0; CHUNK]);
    let (mut pulses, mut any_steep) = (0, 0);
    for j in 0..CHUNK {
        pulses += common(j);
        let flag;
        (next[j], flag) = cells.train::<MOST>(j, common(j), up(j), state[j], xi[j], STEEP);
        steep[j] = u32::from(flag);
        any_steep |= u32::from(flag);
    }
    *state = next;
    if any_steep > 0 {
        for j in 0..CHUNK {
            if steep[j] != 0 {
                for xi in &draws.next()[..common(j) as usize] {
                    state[j] = cells.pulsed(j, up(j), state[j], *xi);
                }
            }
        }
    }
    u64::from(pulses)
}

/// The same for those cells whose slope is at most `limit`, `counts` pulses on each, downwards if negative; `steep` is not 0 where a cell
/// is steeper and its pulses are left, nor is then some `any_steep`. Normal numbers are drawn also where there is no noise.
#[inline(always)]
pub(super) fn unless_steep<L: Law<Vector>, N: Noise, const MOST: u32>(
    cells: Cells<'_, L, N>,
    limit: f32,
    counts: &[i16; CHUNK],
    stream: &mut Stream,
    state: &mut [f32; CHUNK],
    steep: &mut [u32; CHUNK],
    any_steep: &mut [u32; LANES],
) {
    // One loop over pairs of cells, as numbers are drawn in pairs: then nothing in between goes to memory.
    for i in 0..LANES {
        let (j, (xi, eta)) = (i + LANES, pair(stream.next(i)));
        let [common, others] = [counts[i].unsigned_abs(), counts[j].unsigned_abs()];
        let (first, is_steep) = cells.train::<MOST>(i, common.into(), counts[i] > 0, state[i], xi, limit);
        let (second, are_steep) = cells.train::<MOST>(j, others.into(), counts[j] > 0, state[j], eta, limit);
        (state[i], state[j]) = (first, second);
        (steep[i], steep[j]) = (u32::from(is_steep).wrapping_neg(), u32::from(are_steep).wrapping_neg());
        any_steep[i] |= steep[i] | steep[j];
    }
}

/// Redraws what a read sees of the cells that were pulsed: state + spread·ξ. There are no reads within an update, so only the last
/// redraw of a cell is needed.
pub(super) struct RedrawReads<'a> {
    pub(super) lines: &'a Lines,
    pub(super) row: usize,
    pub(super) key: Key,
    pub(super) spread: f32,
    pub(super) state: &'a [f32],
    pub(super) weights: &'a mut [f32],
}

impl Kernel for RedrawReads<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lines, row, key, spread, state, weights } = self;
        let mut stream = Stream::new(key);
        let mut start = 0;
        while start < weights.len() {
            let n = CHUNK.min(weights.len() - start);
            let (state, weights) = (&state[start..][..n], &mut weights[start..][..n]);
            let mut met = [0; CHUNK];
            for sample in lines.firing() {
                if let Some(train) = lines.row(sample, row) {
                    let cols = &lines.column_trains(sample)[start..][..n];
                    for j in 0..n {
                        met[j] |= train & cols[j] & !SIGN;
                    }
                }
            }
            let xi = stream.normals();
            for j in 0..n {
                weights[j] = if met[j] == 0 { weights[j] } else { xi[j].mul_add(spread, state[j]) };
            }
            start += n;
        }
    }
}
