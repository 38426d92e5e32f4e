//! A whole matrix, written in one pass over the rows: the transfer of every column.
//!
//! The law is that of writing one column after another: the line of column j fires in some of its slots, the same for all
//! cells of the column, and a row meets it in Binomial(fired, p) of them, drawn anew for every cell because the rows fire
//! anew for every column. What differs is the order of the work. Every few rows have a stream of their own and take their cells as
//! they lie in memory, one row after the other without a gap, so that it is read in order and threads may share the rows.

use super::at_once::{GENTLE, STEEP, gentle_slope};
use super::blocks::RowBlock;
use super::column::Survey;
use super::management::Trains;
use super::noise::{Noise, with_noise};
use super::row::{ANY, Cells, Draws, filled, pulse_each, unless_steep};
use super::tables::{Look, Tables};
use crate::Key;
use crate::device::{Law, Span, Vector, WithLaw};
use crate::simd::{self, Kernel};
use crate::stream::{CHUNK, LANES, Stream};
use crate::tile::Tile;
use crate::tile::ledger::{PulseCounts, tally};
use crate::tile::scheme::Scheme;

/// Where fewer than one cell in this many is pulsed, only those are visited.
const SPARSE: usize = 6;

/// Longest trains that kernels are compiled for, besides any.
const ONE: u32 = 1;
const FOUR: u32 = 4;

/// Counting the pulses of a cell and sending them takes as long as so many visits of an update.
const VISITS: usize = 4;

/// Chunks of a row whose pulses are counted before any is sent: then neither waits for the other, and what to do is decided
/// once for all of them.
pub(super) const CHUNKS: usize = 16;

/// Cells that share a stream, in whole rows: so many that starting it takes no time to speak of.
const CELLS: usize = 4096;

/// The same in rows of so many cells.
fn height(cols: usize) -> usize {
    CELLS.div_ceil(cols)
}

/// The most neighbouring cells whose parameters are asked for at a time: a row or some chunks, filled up to whole chunks.
pub(crate) fn longest_span(cols: usize) -> usize {
    cols.max(CHUNKS * CHUNK) + CHUNK
}

/// The lines of a matrix, one entry per column and then those of the first columns again, for chunks that go on in the next row; kept by the tile, so that a transfer allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatrixLines {
    counting: Counting,
    /// Probability per unit of a row's signal that the row fires in a slot, with the sign of the write.
    row: Vec<f32>,
    /// Slots in which the column fired, or all slots of its trains where pulses are rounded.
    slots: Vec<i32>,
    /// The column's factor where pulses are rounded, its probability to fire where they are not.
    column: Vec<f32>,
    tables: Tables,
    /// Steps as values, where they are not looked up in tables.
    values: Vec<f32>,
}

/// What a matrix asks for, row-major, in units of its scale.
#[derive(Clone, Copy)]
pub(super) enum Signals<'a> {
    Values(&'a [f32]),
    /// Whole steps of a converter.
    Steps(&'a [i16]),
}

impl Signals<'_> {
    fn len(self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Steps(steps) => steps.len(),
        }
    }

    fn part(self, from: usize, to: usize) -> Self {
        match self {
            Self::Values(values) => Self::Values(&values[from..to]),
            Self::Steps(steps) => Self::Steps(&steps[from..to]),
        }
    }
}

/// How pulses are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counting {
    /// By chance.
    #[default]
    Random,
    /// The mean number, rounded; with lines rounded to whole pulses first or not.
    Rounded { whole_lines: bool },
}

impl MatrixLines {
    /// Draws the column lines for a matrix with these magnitudes.
    fn draw(
        &mut self,
        scheme: Scheme,
        granularity: f32,
        scale: f32,
        survey: &Survey,
        in_steps: bool,
        key: Key,
    ) {
        let (trains, counting) = match scheme {
            Scheme::Expected => return,
            Scheme::Stochastic(trains) => (trains, Counting::Random),
            Scheme::Deterministic(trains) => (trains, Counting::Rounded { whole_lines: false }),
            Scheme::MeanCount(trains) => (trains, Counting::Rounded { whole_lines: true }),
        };
        self.counting = counting;
        let columns = survey.peaks.len();
        // Whole vectors; what is beyond the columns is overwritten below.
        for line in [&mut self.row, &mut self.column] {
            line.resize(columns.next_multiple_of(LANES), 0.0);
        }
        self.slots.resize(columns.next_multiple_of(LANES), 0);
        let Self { row, slots, column, .. } = self;
        simd::dispatch(PlanColumns {
            trains,
            counting,
            granularity,
            scale,
            peaks: &survey.peaks,
            row,
            slots,
            column,
        });
        if counting == Counting::Random {
            simd::dispatch(FireColumns { key, probability: column, slots });
        }
        self.tables.ready = false;
        if counting == Counting::Random && in_steps {
            self.tables.prepare(survey, scale < 0.0, row, slots);
        }
        repeat(row, columns);
        repeat(slots, columns);
        repeat(column, columns);
    }

    /// Numbers of pulses for the signals of some chunks, negative where they go down.
    #[inline(always)]
    fn count(
        &self,
        start: usize,
        signals: Signals<'_>,
        draws: &mut Draws,
        look: &mut Look,
        counts: &mut [[i16; CHUNK]],
    ) {
        let values = match signals {
            Signals::Steps(steps) => return self.tables.count(start, steps, draws, look, counts),
            Signals::Values(values) => values,
        };
        let columns = self.row.len() - CHUNK;
        for (n, counts) in counts.iter_mut().enumerate() {
            let (mut room, start) = (None, start + n * CHUNK);
            let values = filled(values, start, &mut room);
            let from = start % columns;
            let [row, column] = [&self.row, &self.column].map(|all| &all[from..][..CHUNK]);
            let slots = &self.slots[from..][..CHUNK];
            let Counting::Rounded { whole_lines } = self.counting else {
                let met = met(row, slots, values, draws.words());
                for j in 0..CHUNK {
                    counts[j] = met[j] as i16;
                }
                continue;
            };
            for j in 0..CHUNK {
                let slots = slots[j] as f32;
                let pulses = (values[j] * row[j]).clamp(-1.0, 1.0) * slots;
                let share = if slots > 0.0 { pulses.round_ties_even() / slots } else { 0.0 };
                counts[j] = (if whole_lines { share } else { pulses } * column[j]).round_ties_even() as i16;
            }
        }
    }
}

/// Fills up what belongs to so many columns with that of the first ones, so that a chunk may begin at any column.
pub(super) fn repeat<T: Copy>(lines: &mut Vec<T>, columns: usize) {
    lines.truncate(columns);
    for n in 0..CHUNK {
        lines.push(lines[n]);
    }
}

/// The plans of all columns.
struct PlanColumns<'a> {
    trains: Trains,
    counting: Counting,
    granularity: f32,
    scale: f32,
    peaks: &'a [f32],
    row: &'a mut [f32],
    slots: &'a mut [i32],
    column: &'a mut [f32],
}

impl Kernel for PlanColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { trains, counting, granularity, scale, peaks, row, slots, column } = self;
        let (row, slots) = (row.as_chunks_mut::<LANES>().0, slots.as_chunks_mut::<LANES>().0);
        let lines = row.iter_mut().zip(slots).zip(column.as_chunks_mut::<LANES>().0);
        for (peaks, ((row, slots), column)) in peaks.chunks(LANES).zip(lines) {
            let mut largest = [0.0; LANES];
            largest[..peaks.len()].copy_from_slice(peaks);
            let plans = trains.plans(scale.abs(), largest, [1.0; LANES], granularity);
            for j in 0..LANES {
                let moves = plans.slots[j] > 0;
                row[j] = if moves { plans.row[j] * scale.signum() } else { 0.0 };
                slots[j] = plans.slots[j].cast_signed();
                let fires = if plans.col[j] < 1.0 { plans.col[j] } else { 1.0 };
                let fires = if moves { fires } else { 0.0 };
                column[j] = match counting {
                    Counting::Rounded { whole_lines: true } => (slots[j] as f32 * fires).round_ties_even(),
                    _ => fires,
                };
            }
        }
    }
}

/// The largest number of slots.
#[inline(always)]
fn most(slots: &[i32]) -> i32 {
    slots.iter().fold(0, |most, slots| if *slots > most { *slots } else { most })
}

/// The slots in which each column line fires: at most those given, each with its own probability.
struct FireColumns<'a> {
    key: Key,
    probability: &'a [f32],
    slots: &'a mut [i32],
}

impl Kernel for FireColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut stream = Stream::new(self.key);
        let lines = self.probability.as_chunks::<LANES>().0.iter().zip(self.slots.as_chunks_mut::<LANES>().0);
        for (probability, slots) in lines {
            let mut fired = [0; LANES];
            for slot in 0..most(slots) {
                let words = stream.words();
                for j in 0..LANES {
                    // A certain line fires whatever the word.
                    let fires = (words[j] >> 8).cast_signed() as f32 * (1.0 / 16_777_216.0) < probability[j];
                    fired[j] += i32::from(fires & (slot < slots[j]));
                }
            }
            *slots = fired;
        }
    }
}

/// How often each row line meets its column line, which fired in `fired` slots: a binomial number by
/// inversion, but for the rounding of up to 31 steps in single precision, about 2⁻²⁰ of each probability by estimate. Where a line fires more often than not, the slots in which it does not are
/// counted, so that no probability underflows.
#[inline(always)]
fn met(row: &[f32], fired: &[i32], values: &[f32; CHUNK], words: [u32; CHUNK]) -> [i32; CHUNK] {
    let mut counts = [0; CHUNK];
    // So many at a time as registers hold with all that the loop needs; and the largest number of fewer cells is smaller.
    for from in (0..CHUNK).step_by(LANES) {
        let [row, values] = [row, values].map(|all| first_lanes(&all[from..]));
        let (fired, words) = (first_lanes(&fired[from..]), first_lanes(&words[from..]));
        counts[from..from + LANES].copy_from_slice(&met_in_lanes(row, fired, values, most(&fired), words));
    }
    counts
}

#[inline(always)]
fn first_lanes<T: Copy + Default>(all: &[T]) -> [T; LANES] {
    all.first_chunk().copied().unwrap_or([T::default(); LANES])
}

#[inline(always)]
fn met_in_lanes(
    row: [f32; LANES],
    fired: [i32; LANES],
    values: [f32; LANES],
    most: i32,
    words: [u32; LANES],
) -> [i32; LANES] {
    let [mut odds, mut most_odds, mut term] = [[0.0f32; LANES]; 3];
    for j in 0..LANES {
        let p = (row[j] * values[j]).abs();
        let p = if p < 1.0 { p } else { 1.0 };
        let p = if p > 0.5 { 1.0 - p } else { p };
        odds[j] = p / (1.0 - p);
        most_odds[j] = (fired[j] + 1) as f32 * odds[j];
        term[j] = power(1.0 - p, fired[j]);
    }
    let uniform = words.map(|word| (word >> 8).cast_signed() as f32 * (1.0 / 16_777_216.0));
    // Each probability is the one before times (F + 1 − k)/k·o with the odds o.
    let (mut below, mut counts, mut k) = (term, [0; LANES], 0);
    while k < most as usize {
        // An end that is looked for less often is missed less often.
        let mut open = 0;
        for _ in 0..STRIDE {
            k += 1;
            open = 0;
            for j in 0..LANES {
                let beyond = if uniform[j] >= below[j] { -1 } else { 0 };
                counts[j] -= beyond;
                open |= beyond;
                term[j] *= most_odds[j] * RECIPROCALS[k] - odds[j];
                below[j] += term[j];
            }
        }
        if open == 0 {
            break;
        }
    }
    for j in 0..LANES {
        let signal = row[j] * values[j];
        // Rounding may leave the last sum below the draw.
        let counted = if counts[j] < fired[j] { counts[j] } else { fired[j] };
        let others = fired[j] - counted;
        let met = if signal.abs() > 0.5 { others } else { counted };
        counts[j] = if signal < 0.0 { -met } else { met };
    }
    counts
}

/// xⁿ for n below 32, without a branch.
#[inline(always)]
fn power(mut x: f32, n: i32) -> f32 {
    let factor = |x: f32, bit: i32| if n << (31 - bit) < 0 { x } else { 1.0 };
    let mut product = factor(x, 0);
    for bit in 1..5 {
        x *= x;
        product *= factor(x, bit);
    }
    product
}

/// Steps of the inversion between two looks at whether it is over.
const STRIDE: usize = 3;

/// 1/k, for the steps of the longest train and the rest of a stride.
static RECIPROCALS: [f32; 32 + STRIDE] = {
    let mut reciprocals = [0.0; 32 + STRIDE];
    let mut k = 1;
    while k < reciprocals.len() {
        reciprocals[k] = 1.0 / k as f32;
        k += 1;
    }
    reciprocals
};

/// Counts and flags of some chunks, aligned as [`Stream`] is and for the same reason.
#[derive(Default)]
#[repr(align(64))]
struct Buffers {
    look: Look,
    counts: [[i16; CHUNK]; CHUNKS],
    steep: [[u32; CHUNK]; CHUNKS],
}

/// Some rows of a matrix.
struct MatrixRows<'a, N> {
    lines: &'a MatrixLines,
    signals: Signals<'a>,
    key: Key,
    /// Whether there is noise to draw, and whether trains may be applied at once.
    noisy: bool,
    at_once: bool,
    /// Whether hardly a cell has a slope beyond [`GENTLE`].
    gentle: bool,
    noise: N,
    /// The cells, the first of which is number `from`.
    cells: Span<'a>,
    from: usize,
    /// What pulses act on.
    state: &'a mut [f32],
    /// What a read sees where that differs, and how far it spreads.
    seen: Option<(&'a mut [f32], f32)>,
    tally: Option<&'a mut [u32]>,
}

impl<N: Noise> WithLaw<Vector> for MatrixRows<'_, N> {
    type Output = PulseCounts;
    const BASELINE: bool = N::BASELINE;
    const WIDE: bool = N::WIDE;

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) -> PulseCounts {
        let Self {
            lines,
            signals,
            key,
            noisy,
            at_once,
            gentle,
            noise,
            cells: span,
            from,
            state,
            mut seen,
            tally: mut tallied,
        } = self;
        let mut draws = Draws::new(key, noisy);
        let mut sent = PulseCounts::default();
        let mut buffers = Buffers::default();
        let Buffers { look, counts, steep } = &mut buffers;
        // Some chunks at a time. The last cells are filled up to one, so that there is one copy of the work.
        let (mut whole, rest) = state.as_chunks_mut::<CHUNK>();
        let (mut padding, mut last) = (None, [0.0; CHUNK]);
        last[..rest.len()].copy_from_slice(rest);
        let (mut start, mut ends) = (0, rest.is_empty());
        loop {
            let chunks;
            let parameters;
            if !whole.is_empty() {
                let n = whole.len().min(CHUNKS);
                (chunks, whole) = whole.split_at_mut(n);
                parameters = span.parameters(from + start, from + start + n * CHUNK);
            } else if !ends {
                ends = true;
                chunks = std::slice::from_mut(&mut last);
                parameters = span.parameters(from + start, from + start + rest.len()).last(0, &mut padding);
            } else {
                break;
            }
            let cells = Cells::new(law, noise, parameters);
            let counts = &mut counts[..chunks.len()];
            lines.count(start, signals, &mut draws, look, counts);
            // All bits of all counts together are no less than the largest.
            let (mut difference, mut sum, mut bits) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
            for counts in &*counts {
                for j in 0..CHUNK {
                    let pulses = counts[j].abs();
                    difference[j] += counts[j];
                    sum[j] += pulses;
                    bits[j] |= pulses;
                }
            }
            let most = bits.iter().fold(0, |all, bits| all | bits);
            // At most 31 on each of 512 cells: 16 bits hold their sum.
            let (sum, difference) =
                (i32::from(sum.iter().sum::<i16>()), i32::from(difference.iter().sum::<i16>()));
            if sum > 0 {
                let [up, down] =
                    [sum + difference, sum - difference].map(|twice| u64::from(twice.unsigned_abs() / 2));
                sent += PulseCounts { up, down };
                let sparse = sum as usize * SPARSE < CHUNK * chunks.len();
                macro_rules! at_once {
                    ($most:ident, $limit:expr) => {{
                        // A stream of its own: nothing else points to it, so that it stays in registers.
                        let (mut any_steep, mut stream) = ([0; LANES], draws.stream);
                        for (n, (chunk, counts)) in chunks.iter_mut().zip(&*counts).enumerate() {
                            let (cells, steep) = (cells.chunk(n * CHUNK, CHUNK), &mut steep[n]);
                            unless_steep::<_, _, $most>(
                                cells,
                                $limit,
                                counts,
                                &mut stream,
                                chunk,
                                steep,
                                &mut any_steep,
                            );
                        }
                        draws.stream = stream;
                        any_steep.iter().any(|steep| *steep != 0)
                    }};
                }
                let left = if sparse {
                    steep.fill([1; CHUNK]);
                    true
                } else if at_once {
                    // Which limit is found out at run time: the loop should stand here once.
                    let limit = if most <= 4 { STEEP } else { GENTLE };
                    match most {
                        1 => at_once!(ONE, STEEP),
                        _ if most <= 4 || gentle => at_once!(FOUR, limit),
                        _ => at_once!(ANY, STEEP),
                    }
                } else {
                    for (n, (chunk, counts)) in chunks.iter_mut().zip(&*counts).enumerate() {
                        let (common, up) = (|j: usize| counts[j].abs(), |j: usize| counts[j] > 0);
                        let cells = cells.chunk(n * CHUNK, CHUNK);
                        for k in 0..most {
                            pulse_each(cells, |j| common(j) > k, up, &mut draws, chunk);
                        }
                    }
                    false
                };
                if left {
                    for (n, (chunk, counts)) in chunks.iter_mut().zip(&*counts).enumerate() {
                        let left = &steep[n];
                        if left.iter().fold(0, |all, left| all | left) == 0 {
                            continue;
                        }
                        let cells = cells.chunk(n * CHUNK, CHUNK);
                        // Written always, kept if it is pulsed.
                        let (mut list, mut len) = ([0; CHUNK], 0);
                        for j in 0..CHUNK {
                            list[len] = j;
                            len += usize::from(left[j] != 0);
                        }
                        for &j in &list[..len] {
                            for _ in 0..counts[j].unsigned_abs() {
                                chunk[j] = cells.pulsed(j, counts[j] > 0, chunk[j], draws.one());
                            }
                        }
                    }
                }
                if tallied.is_some() | seen.is_some() {
                    for (n, (chunk, counts)) in chunks.iter_mut().zip(&*counts).enumerate() {
                        let start = start + n * CHUNK;
                        if let Some(tallied) = &mut tallied {
                            tally(&mut tallied[start..], &counts.map(i32::from));
                        }
                        if let Some((seen, spread)) = &mut seen {
                            let xi = draws.normals();
                            for (j, seen) in seen[start..].iter_mut().take(CHUNK).enumerate() {
                                *seen = if counts[j] == 0 { *seen } else { chunk[j] + *spread * xi[j] };
                            }
                        }
                    }
                }
            }
            start += CHUNK * chunks.len();
        }
        rest.copy_from_slice(&last[..rest.len()]);
        sent
    }
}

impl Tile {
    /// Writes a matrix by pulses; the signals are known to fit.
    pub(super) fn write_rows(
        &mut self,
        scale: f32,
        signals: Signals<'_>,
        survey: &Survey,
        scheme: Scheme,
        key: Key,
    ) {
        let cols = self.cols;
        let mut lines = std::mem::take(&mut self.matrix_lines);
        let in_steps = matches!(signals, Signals::Steps(_));
        lines.draw(scheme, self.device.granularity(), scale, survey, in_steps, key.named("columns"));
        let mut values = std::mem::take(&mut lines.values);
        let signals = match signals {
            Signals::Steps(steps) if !lines.tables.ready => {
                values.clear();
                values.extend(steps.iter().map(|steps| f32::from(*steps)));
                Signals::Values(&values)
            }
            signals => signals,
        };
        let rows = key.named("rows");
        let height = height(cols);
        let (device, cells, blocks) = self.blocks(height, VISITS * signals.len());
        let (noisy, at_once, step) = (device.noisy(), cells.at_once, &device.step);
        let gentle = gentle_slope(device).is_some();
        let sent = blocks.sum(&|RowBlock { index, weights, hidden, tally }: RowBlock<'_>| {
            let from = index * height * cols;
            let to = from + weights.len();
            let (state, seen) = match hidden {
                None => (weights, None),
                Some(hidden) => (hidden, Some((weights, device.write_deviation()))),
            };
            let (lines, signals, key) = (&lines, signals.part(from, to), rows.fold(index as u64));
            let mut room = cells.room();
            let cells = cells.span(from, to, &mut room);
            macro_rules! with {
                ($noise:expr) => {{
                    let noise = $noise;
                    step.with_vector_law(MatrixRows {
                        lines,
                        signals,
                        key,
                        noisy,
                        at_once,
                        gentle,
                        noise,
                        cells,
                        from,
                        state,
                        seen,
                        tally,
                    })
                }};
            }
            with_noise!(device.cycle_noise_in_pulse_steps(), with)
        });
        lines.values = values;
        self.matrix_lines = lines;
        self.count(sent);
    }
}
