//! A whole matrix, written in one pass over the rows: the transfer of every column.
//!
//! The law is that of writing one column after another: the line of column j fires in some of its slots, the same for all
//! cells of the column, and a row meets it in Binomial(fired, p) of them, drawn anew for every cell because the rows fire
//! anew for every column. What differs is the order of the work. Every row has a stream of its own and takes its cells from
//! left to right, so that memory is read in order and threads may share the rows.

use super::blocks::RowBlock;
use super::column::Survey;
use super::management::Plan;
use super::noise::{Noise, with_noise};
use super::row::{ANY, Cells, Draws, each_chunk, filled, pulse_each, together};
use super::tables::Tables;
use crate::Key;
use crate::device::{Law, Parameters, Vector, WithLaw};
use crate::simd::{self, Kernel};
use crate::stream::{CHUNK, LANES, Stream};
use crate::tile::Tile;
use crate::tile::ledger::{PulseCounts, tally};
use crate::tile::scheme::Scheme;

/// Where fewer than one cell in this many is pulsed, only those are visited.
const SPARSE: u32 = 6;

/// Counting the pulses of a cell and sending them takes as long as so many visits of an update.
const VISITS: usize = 4;

/// The lines of a matrix, one entry per column; kept by the tile, so that a transfer allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatrixLines {
    counting: Counting,
    /// Probability per unit of a row's signal that the row fires in a slot, with the sign of the write.
    row: Vec<f32>,
    /// Slots in which the column fired, or all slots of its trains where pulses are rounded.
    slots: Vec<i32>,
    /// The column's factor where pulses are rounded, its probability to fire where they are not.
    column: Vec<f32>,
    /// Largest number of slots in each chunk of columns.
    most: Vec<i32>,
    tables: Tables,
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
    fn draw(&mut self, scheme: Scheme, granularity: f32, scale: f32, survey: &Survey, key: Key) {
        let (trains, counting) = match scheme {
            Scheme::Expected => return,
            Scheme::Stochastic(trains) => (trains, Counting::Random),
            Scheme::Deterministic(trains) => (trains, Counting::Rounded { whole_lines: false }),
            Scheme::MeanCount(trains) => (trains, Counting::Rounded { whole_lines: true }),
        };
        self.counting = counting;
        self.row.clear();
        self.slots.clear();
        self.column.clear();
        for peak in &survey.peaks {
            let silent = Plan { row: 0.0, col: 0.0, slots: 0 };
            let plan = trains.plan(scale.abs(), *peak, 1.0, granularity).unwrap_or(silent);
            self.row.push(plan.row * scale.signum());
            self.slots.push(plan.slots.cast_signed());
            let fires = plan.col.min(1.0);
            self.column.push(match counting {
                Counting::Rounded { whole_lines: true } => (plan.slots as f32 * fires).round_ties_even(),
                _ => fires,
            });
        }
        // Filled up to whole chunks.
        let columns = survey.peaks.len().next_multiple_of(CHUNK);
        self.row.resize(columns, 0.0);
        self.slots.resize(columns, 0);
        self.column.resize(columns, 0.0);
        if counting == Counting::Random {
            simd::dispatch(FireColumns { key, probability: &self.column, slots: &mut self.slots });
            self.tables.prepare(survey, &self.row, &self.slots);
        }
        self.most.clear();
        self.most.extend(self.slots.chunks(CHUNK).map(most));
    }

    /// Numbers of pulses for the values of one chunk of a row, negative where they go down.
    #[inline(always)]
    fn counts(&self, start: usize, values: &[f32; CHUNK], draws: &mut Draws) -> [i32; CHUNK] {
        let [row, column] = [&self.row, &self.column].map(|all| &all[start..][..CHUNK]);
        let slots = &self.slots[start..][..CHUNK];
        let whole_lines = match self.counting {
            Counting::Random => {
                let words = draws.words();
                return match self.tables.counts(start, row, values, &words) {
                    Some(counts) => counts,
                    None => met(row, slots, values, self.most[start / CHUNK], words),
                };
            }
            Counting::Rounded { whole_lines } => whole_lines,
        };
        let mut counts = [0; CHUNK];
        for j in 0..CHUNK {
            let slots = slots[j] as f32;
            let pulses = (values[j] * row[j]).clamp(-1.0, 1.0) * slots;
            let share = if slots > 0.0 { pulses.round_ties_even() / slots } else { 0.0 };
            counts[j] = (if whole_lines { share } else { pulses } * column[j]).round_ties_even() as i32;
        }
        counts
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
        for (probability, slots) in self.probability.chunks(LANES).zip(self.slots.chunks_mut(LANES)) {
            let mut fired = [0; LANES];
            for slot in 0..most(slots) {
                let words = stream.words();
                for j in 0..slots.len() {
                    // A certain line fires whatever the word.
                    let fires = (words[j] >> 8).cast_signed() as f32 * (1.0 / 16_777_216.0) < probability[j];
                    fired[j] += i32::from(fires & (slot < slots[j]));
                }
            }
            slots.copy_from_slice(&fired[..slots.len()]);
        }
    }
}

/// How often each row line meets its column line, which fired in `fired` slots, at most `most`: a binomial number by
/// inversion, but for the rounding of up to 31 steps in single precision, about 2⁻²⁰ of each probability by estimate. Where a line fires more often than not, the slots in which it does not are
/// counted, so that no probability underflows.
#[inline(always)]
fn met(row: &[f32], fired: &[i32], values: &[f32; CHUNK], most: i32, words: [u32; CHUNK]) -> [i32; CHUNK] {
    let mut counts = [0; CHUNK];
    // So many at a time as registers hold with all that the loop needs; and the largest number of fewer cells is smaller.
    for from in (0..CHUNK).step_by(LANES) {
        let [row, values] = [row, values].map(|all| first_lanes(&all[from..]));
        let (fired, words) = (first_lanes(&fired[from..]), first_lanes(&words[from..]));
        counts[from..from + LANES].copy_from_slice(&met_in_lanes(row, fired, values, most, words));
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

/// One row of a matrix.
struct MatrixRow<'a, N> {
    lines: &'a MatrixLines,
    values: &'a [f32],
    key: Key,
    /// Whether there is noise to draw, and whether trains may be applied at once.
    noisy: bool,
    at_once: bool,
    noise: N,
    parameters: Parameters<'a>,
    /// What pulses act on.
    state: &'a mut [f32],
    /// What a read sees where that differs, and how far it spreads.
    seen: Option<(&'a mut [f32], f32)>,
    tally: Option<&'a mut [u32]>,
}

impl<N: Noise> WithLaw<Vector> for MatrixRow<'_, N> {
    type Output = PulseCounts;
    const BASELINE: bool = N::BASELINE;
    const WIDE: bool = N::WIDE;

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) -> PulseCounts {
        let Self { lines, values, key, noisy, at_once, noise, parameters, state, mut seen, tally: mut tallied } =
            self;
        let cells = Cells::new(law, noise, parameters);
        let mut draws = Draws::new(key, noisy);
        let mut sent = PulseCounts::default();
        each_chunk!(cells, state, |start, cells, chunk| {
            let mut room = None;
            let counts = lines.counts(start, filled(values, start, &mut room), &mut draws);
            // Of all cells at once: pulses in the lowest ten bits, those down in the next ten, then pulsed cells. All bits of
            // all counts together are no less than the largest.
            let (mut sums, mut bits) = (0u32, 0u32);
            for count in counts {
                let pulses = count.unsigned_abs();
                let down = if count < 0 { pulses } else { 0 };
                sums += pulses | down << 10 | u32::from(pulses > 0) << 20;
                bits |= pulses;
            }
            if sums > 0 {
                let (total, down, pulsed) = (sums & 1023, sums >> 10 & 1023, sums >> 20);
                sent += PulseCounts { up: u64::from(total - down), down: u64::from(down) };
                if let Some(tallied) = &mut tallied {
                    tally(&mut tallied[start..], &counts);
                }
                let common = |j: usize| counts[j].unsigned_abs();
                let up = |j: usize| counts[j] > 0;
                if pulsed * SPARSE < CHUNK as u32 {
                    // Written always, kept if it is pulsed.
                    let (mut list, mut len) = ([0; CHUNK], 0);
                    for j in 0..CHUNK {
                        list[len] = j;
                        len += usize::from(counts[j] != 0);
                    }
                    for &j in &list[..len] {
                        for _ in 0..common(j) {
                            chunk[j] = cells.pulsed(j, up(j), chunk[j], draws.one());
                        }
                    }
                } else if at_once {
                    match bits {
                        1 => together::<_, _, 1>(cells, common, up, &mut draws, chunk),
                        2..=3 => together::<_, _, 3>(cells, common, up, &mut draws, chunk),
                        _ => together::<_, _, ANY>(cells, common, up, &mut draws, chunk),
                    };
                } else {
                    for k in 0..bits {
                        pulse_each(cells, |j| common(j) > k, up, &mut draws, chunk);
                    }
                }
                if let Some((seen, spread)) = &mut seen {
                    let xi = draws.normals();
                    for (j, seen) in seen[start..].iter_mut().take(CHUNK).enumerate() {
                        *seen = if counts[j] == 0 { *seen } else { chunk[j] + *spread * xi[j] };
                    }
                }
            }
        });
        sent
    }
}

impl Tile {
    /// Writes a matrix by pulses; the signals are known to fit.
    pub(super) fn write_rows(
        &mut self,
        scale: f32,
        direction: &[f32],
        survey: &Survey,
        scheme: Scheme,
        key: Key,
    ) {
        let cols = self.cols;
        let mut lines = std::mem::take(&mut self.matrix_lines);
        lines.draw(scheme, self.device.granularity(), scale, survey, key.named("columns"));
        let rows = key.named("rows");
        let (device, cells, blocks) = self.blocks(1, VISITS * direction.len());
        let (noisy, at_once, step) = (device.noisy(), cells.at_once, &device.step);
        let sent = blocks.sum(&|RowBlock { index, weights, hidden, tally }: RowBlock<'_>| {
            let (from, to) = (index * cols, (index + 1) * cols);
            let (state, seen) = match hidden {
                None => (weights, None),
                Some(hidden) => (hidden, Some((weights, device.write_deviation()))),
            };
            let (lines, values, key) = (&lines, &direction[from..to], rows.fold(index as u64));
            let mut room = cells.room();
            let parameters = cells.span(from, to, &mut room).parameters(from, to);
            macro_rules! with {
                ($noise:expr) => {{
                    let noise = $noise;
                    step.with_vector_law(MatrixRow {
                        lines,
                        values,
                        key,
                        noisy,
                        at_once,
                        noise,
                        parameters,
                        state,
                        seen,
                        tally,
                    })
                }};
            }
            with_noise!(device.cycle_noise_in_pulse_steps(), with)
        });
        self.matrix_lines = lines;
        self.count(sent);
    }
}
