//! Score and information of the filter's likelihood: how surprises follow the parameters, pulse by pulse.
//!
//! With r = v/√S, x = ∂v/√S and z = ∂S/(√2 S), a read contributes −rx + (r² − 1)z/√2 to the score and the products xxᵀ + zzᵀ to the
//! information. So a few pulses at a time are differentiated for every parameter, and the columns multiplied with one another while
//! they are in the nearest cache, four ramps side by side.

use pulp::{Arch, Simd, WithSimd};

use crate::curve::Curve;
use crate::filter::{Batch, INTERVALS, LANES, Noise, OVER, StepTable};
use crate::measurement::Direction;

/// Pulses that are differentiated together.
const ROWS: usize = 8;

type Lanes = [f64; LANES];

/// Sums over the reads of the ramp in each lane.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    pub(crate) score: Vec<Lanes>,
    /// Upper triangle, row by row.
    pub(crate) information: Vec<Lanes>,
    /// Σ (ln S + r²).
    pub(crate) deviance: Lanes,
    pub(crate) reads: Lanes,
}

impl Sums {
    fn new(active: usize) -> Self {
        Self {
            score: vec![[0.0; LANES]; active],
            information: vec![[0.0; LANES]; active * (active + 1) / 2],
            deviance: [0.0; LANES],
            reads: [0.0; LANES],
        }
    }
}

/// ∂s/∂θ of one direction at equally spaced states, a table for each parameter that matters there.
pub(crate) fn tangents(curve: &Curve, direction: Direction) -> Vec<StepTable> {
    let n = curve.parameters.len();
    let width = (OVER.hi - OVER.lo) / INTERVALS as f64;
    let mut tables = vec![vec![0.0; INTERVALS + 1]; n];
    let mut slopes = vec![0.0; n];
    for i in 0..=INTERVALS {
        curve.gradient(direction, OVER.lo + width * i as f64, &mut slopes);
        for (table, slope) in tables.iter_mut().zip(&slopes) {
            table[i] = *slope;
        }
    }
    let own = tables.into_iter().enumerate().filter(|(i, _)| curve.model.affects(*i, direction));
    own.map(|(_, table)| StepTable(table)).collect()
}

/// What one pulse does in every lane, whatever the parameter.
#[derive(Clone, Copy, Default)]
struct Row {
    left: [u32; LANES],
    part: Lanes,
    step: Lanes,
    /// s′ and 1 ± s′.
    slope: Lanes,
    factor: Lanes,
    /// Variance of the state before the pulse.
    spread: Lanes,
    gain: Lanes,
    /// 1/S and 1/√S; 0 where there is no read.
    inverse: Lanes,
    root: Lanes,
    surprise: Lanes,
    read: [bool; LANES],
}

struct Run<'a> {
    batch: &'a Batch,
    steps: &'a [f64],
    tangents: &'a [StepTable],
    noise: Noise,
}

const PER_WEIGHT: f64 = INTERVALS as f64 / (OVER.hi - OVER.lo);

impl WithSimd for Run<'_> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Sums {
        let Self { batch, steps, tangents, noise } = self;
        let (sign, curve) = (batch.direction.sign(), tangents.len());
        let active = curve + 3;
        let mut sums = Sums::new(active);
        // How mean and variance of the state follow each parameter; the first variance is that of a read.
        let mut means = vec![[0.0; LANES]; active];
        let mut spreads = vec![[0.0; LANES]; active];
        spreads[curve] = [1.0; LANES];
        let mut columns = vec![[[0.0; LANES]; 2 * ROWS]; active];
        let mut mean = [0.0; LANES];
        let mut spread = [noise.read; LANES];
        for lane in 0..LANES {
            let first = batch.reads[lane];
            mean[lane] = if first.is_nan() { 0.0 } else { first };
        }
        let length = batch.length();
        let mut from = 1;
        while from < length {
            let to = (from + ROWS).min(length);
            let mut rows = [Row::default(); ROWS];
            let mut product = [1.0; LANES];
            let mut squares = [0.0; LANES];
            for (row, t) in rows.iter_mut().zip(from..to) {
                let reads = &batch.reads[t * LANES..(t + 1) * LANES];
                advance(row, reads, steps, sign, noise, &mut mean, &mut spread);
                for lane in 0..LANES {
                    product[lane] *= if row.read[lane] { row.inverse[lane] } else { 1.0 };
                    squares[lane] += row.surprise[lane] * row.surprise[lane] * row.inverse[lane];
                    sums.reads[lane] += f64::from(u8::from(row.read[lane]));
                }
            }
            for lane in 0..LANES {
                sums.deviance[lane] += squares[lane] - product[lane].ln();
            }
            let rows = &rows[..to - from];
            for (i, table) in tangents.iter().enumerate() {
                curve_column(rows, &table.0, sign, noise, &mut means[i], &mut spreads[i], &mut columns[i]);
            }
            for kind in 0..3 {
                let i = curve + kind;
                noise_column(rows, kind, noise, &mut means[i], &mut spreads[i], &mut columns[i]);
            }
            multiply(rows, &columns, &mut sums);
            from = to;
        }
        sums
    }
}

#[inline(always)]
fn advance(
    row: &mut Row,
    reads: &[f64],
    steps: &[f64],
    sign: f64,
    noise: Noise,
    mean: &mut Lanes,
    spread: &mut Lanes,
) {
    for lane in 0..LANES {
        let at = ((mean[lane] - OVER.lo) * PER_WEIGHT).max(0.0).min(INTERVALS as f64);
        let whole = at.min((INTERVALS - 1) as f64) as u32;
        row.left[lane] = whole;
        row.part[lane] = at - f64::from(whole);
    }
    for lane in 0..LANES {
        let left = row.left[lane] as usize;
        let (a, b) = (steps[left], steps[left + 1]);
        let (rise, y) = (b - a, reads[lane]);
        let step = a + rise * row.part[lane];
        let factor = 1.0 + sign * rise * PER_WEIGHT;
        let predicted = mean[lane] + sign * step;
        let before = factor * factor * spread[lane] + noise.additive + noise.proportional * step * step;
        let total = before + noise.read;
        let gain = before / total;
        let read = !y.is_nan();
        let surprise = if read { y - predicted } else { 0.0 };
        row.step[lane] = step;
        row.slope[lane] = rise * PER_WEIGHT;
        row.factor[lane] = factor;
        row.spread[lane] = spread[lane];
        row.gain[lane] = if read { gain } else { 0.0 };
        row.inverse[lane] = if read { 1.0 / total } else { 0.0 };
        row.root[lane] = row.inverse[lane].sqrt();
        row.surprise[lane] = surprise;
        row.read[lane] = read;
        mean[lane] = predicted + row.gain[lane] * surprise;
        spread[lane] = if read { gain * noise.read } else { before };
    }
}

const HALF_ROOT: f64 = std::f64::consts::FRAC_1_SQRT_2;

#[inline(always)]
fn curve_column(
    rows: &[Row],
    table: &[f64],
    sign: f64,
    noise: Noise,
    mean: &mut Lanes,
    spread: &mut Lanes,
    column: &mut [Lanes; 2 * ROWS],
) {
    for (t, row) in rows.iter().enumerate() {
        let (mut change, mut bend) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let left = row.left[lane] as usize;
            let (a, b) = (table[left], table[left + 1]);
            change[lane] = a + (b - a) * row.part[lane];
            bend[lane] = sign * (b - a) * PER_WEIGHT;
        }
        for lane in 0..LANES {
            let (factor, gain) = (row.factor[lane], row.gain[lane]);
            let predicted = factor * mean[lane] + sign * change[lane];
            let moved = change[lane] + row.slope[lane] * mean[lane];
            let before = 2.0 * factor * bend[lane] * row.spread[lane]
                + factor * factor * spread[lane]
                + 2.0 * noise.proportional * row.step[lane] * moved;
            let rest = (1.0 - gain) * before * row.inverse[lane];
            column[2 * t][lane] = -predicted * row.root[lane];
            column[2 * t + 1][lane] = before * row.inverse[lane] * HALF_ROOT;
            mean[lane] = (1.0 - gain) * predicted + rest * row.surprise[lane];
            spread[lane] = if row.read[lane] { rest * noise.read } else { before };
        }
    }
}

/// Of v_r (0), v_a (1) or v_p (2).
#[inline(always)]
fn noise_column(
    rows: &[Row],
    kind: usize,
    noise: Noise,
    mean: &mut Lanes,
    spread: &mut Lanes,
    column: &mut [Lanes; 2 * ROWS],
) {
    let of_read = f64::from(u8::from(kind == 0));
    for (t, row) in rows.iter().enumerate() {
        for lane in 0..LANES {
            let (factor, gain) = (row.factor[lane], row.gain[lane]);
            let own = [0.0, 1.0, row.step[lane] * row.step[lane]][kind];
            let predicted = factor * mean[lane];
            let before = factor * factor * spread[lane]
                + 2.0 * noise.proportional * row.step[lane] * row.slope[lane] * mean[lane]
                + own;
            let total = before + of_read;
            let rest = (before - gain * total) * row.inverse[lane];
            column[2 * t][lane] = -predicted * row.root[lane];
            column[2 * t + 1][lane] = total * row.inverse[lane] * HALF_ROOT;
            mean[lane] = (1.0 - gain) * predicted + rest * row.surprise[lane];
            spread[lane] = if row.read[lane] { rest * noise.read + gain * of_read } else { before };
        }
    }
}

/// Adds the products of all columns with one another and with the surprises.
#[inline(always)]
fn multiply(rows: &[Row], columns: &[[Lanes; 2 * ROWS]], sums: &mut Sums) {
    let mut target = [[0.0; LANES]; 2 * ROWS];
    for (t, row) in rows.iter().enumerate() {
        for lane in 0..LANES {
            let r = row.surprise[lane] * row.root[lane];
            target[2 * t][lane] = -r;
            target[2 * t + 1][lane] = if row.read[lane] { (r * r - 1.0) * HALF_ROOT } else { 0.0 };
        }
    }
    let used = 2 * rows.len();
    let mut left = sums.information.as_mut_slice();
    for (i, own) in columns.iter().enumerate() {
        add_products(&own[..used], [&target], std::array::from_mut(&mut sums.score[i]));
        let (row, rest) = left.split_at_mut(columns.len() - i);
        left = rest;
        let mut others = columns[i..].chunks_exact(TOGETHER);
        let mut into = row.chunks_exact_mut(TOGETHER);
        for (others, into) in others.by_ref().zip(into.by_ref()) {
            if let ([a, b, c, d], Ok(into)) = (others, into.try_into()) {
                add_products(&own[..used], [a, b, c, d], into);
            }
        }
        for (other, into) in others.remainder().iter().zip(into.into_remainder()) {
            add_products(&own[..used], [other], std::array::from_mut(into));
        }
    }
}

/// Columns that one is multiplied with at a time: a sum must wait for its last product, and others fill that time.
const TOGETHER: usize = 4;

#[inline(always)]
fn add_products<const N: usize>(own: &[Lanes], others: [&[Lanes; 2 * ROWS]; N], into: &mut [Lanes; N]) {
    let mut sums = *into;
    for (t, a) in own.iter().enumerate() {
        for (sum, other) in sums.iter_mut().zip(&others) {
            for lane in 0..LANES {
                sum[lane] += a[lane] * other[t][lane];
            }
        }
    }
    *into = sums;
}

/// Differentiates a batch. The parameters are those of the curve that matter in its direction, then v_r, v_a and v_p.
pub(crate) fn differentiate(batch: &Batch, steps: &StepTable, tangents: &[StepTable], noise: Noise) -> Sums {
    Arch::new().dispatch(Run { batch, steps: &steps.0, tangents, noise })
}
