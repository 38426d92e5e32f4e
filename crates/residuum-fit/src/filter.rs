//! The Kalman filter of the state-space model, for many ramps at once.
//!
//! From a filtered state with mean m and variance P, a pulse predicts m' = m ± s(m), P' = (1 ± s'(m))²P + v_a + v_p s², and a read
//! y is surprising by v = y − m' with variance S = P' + v_r. A ramp starts at its first read, with P = v_r.

use pulp::{Arch, Simd, WithSimd};
use residuum::Range;

use crate::curve::Curve;
use crate::measurement::{Direction, Ramp};

/// Ramps filtered together.
pub(crate) const LANES: usize = 4;
/// Where steps are tabulated: states may leave [−1, 1] by noise.
pub(crate) const OVER: Range = Range { lo: -1.5, hi: 1.5 };
/// Intervals of that table: a step is then exact to 1e-5 of itself for the curves that are fitted.
pub(crate) const INTERVALS: usize = 384;

/// Variances of the noise, in weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    /// v_r.
    pub(crate) read: f64,
    /// v_a.
    pub(crate) additive: f64,
    /// v_p, per squared step.
    pub(crate) proportional: f64,
}

/// Ramps of one direction, in lanes.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) direction: Direction,
    /// Reads: LANES of them for each pulse; NaN where there is none.
    pub(crate) reads: Vec<f64>,
    /// Where its surprises begin among those of all batches.
    pub(crate) start: usize,
    /// The unit in each lane; none where the lane is empty.
    pub(crate) units: [Option<usize>; LANES],
}

impl Batch {
    /// Pulses, including the first read.
    pub(crate) fn length(&self) -> usize {
        self.reads.len() / LANES
    }
}

/// Ramps made ready for the filter. Each is a unit of the bootstrap.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) batches: Vec<Batch>,
    /// The direction of each unit.
    pub(crate) units: Vec<Direction>,
    /// Surprises of all batches, with padding.
    pub(crate) size: usize,
    /// Reads that inform the likelihood.
    pub(crate) reads: usize,
}

impl Prepared {
    /// `ramps` in weights.
    pub(crate) fn new<'a>(ramps: impl Iterator<Item = &'a Ramp>) -> Self {
        let mut by_side: [Vec<&[f64]>; 2] = [Vec::new(), Vec::new()];
        let mut reads = 0;
        for ramp in ramps {
            // A ramp starts at its first read.
            let first = ramp.reads.iter().position(|y| !y.is_nan()).unwrap_or(ramp.reads.len());
            let own = &ramp.reads[first..];
            reads += own.iter().skip(1).filter(|y| !y.is_nan()).count();
            if own.len() > 1 {
                by_side[ramp.direction.index()].push(own);
            }
        }
        let (mut batches, mut units, mut size) = (Vec::new(), Vec::new(), 0);
        for (side, mut own) in by_side.into_iter().enumerate() {
            let direction = [Direction::Up, Direction::Down][side];
            own.sort_by_key(|reads| std::cmp::Reverse(reads.len()));
            for group in own.chunks(LANES) {
                let length = group[0].len();
                let mut lanes = vec![f64::NAN; length * LANES];
                let mut own_units = [None; LANES];
                for (lane, reads) in group.iter().enumerate() {
                    for (t, y) in reads.iter().enumerate() {
                        lanes[t * LANES + lane] = *y;
                    }
                    own_units[lane] = Some(units.len());
                    units.push(direction);
                }
                batches.push(Batch { direction, reads: lanes, start: size, units: own_units });
                size += length * LANES;
            }
        }
        Self { batches, units, size, reads }
    }
}

/// Steps of one direction at equally spaced states.
pub(crate) struct StepTable(pub(crate) Vec<f64>);

impl StepTable {
    pub(crate) fn new(curve: &Curve, direction: Direction) -> Self {
        let width = (OVER.hi - OVER.lo) / INTERVALS as f64;
        Self((0..=INTERVALS).map(|i| curve.step(direction, OVER.lo + width * i as f64)).collect())
    }
}

/// Surprises and their variances; where there is no read, 0 and 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surprises {
    pub(crate) value: Vec<f64>,
    pub(crate) variance: Vec<f64>,
}

impl Surprises {
    pub(crate) fn new(size: usize) -> Self {
        Self { value: vec![0.0; size], variance: vec![1.0; size] }
    }
}

struct Run<'a> {
    reads: &'a [f64],
    steps: &'a [f64],
    sign: f64,
    noise: Noise,
    value: &'a mut [f64],
    variance: &'a mut [f64],
}

impl WithSimd for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { reads, steps, sign, noise, value, variance } = self;
        let per_weight = INTERVALS as f64 / (OVER.hi - OVER.lo);
        let last = (INTERVALS - 1) as f64;
        let mut mean = [0.0; LANES];
        let mut spread = [noise.read; LANES];
        for lane in 0..LANES {
            mean[lane] = if reads[lane].is_nan() { 0.0 } else { reads[lane] };
        }
        let rows = reads.chunks_exact(LANES).zip(value.chunks_exact_mut(LANES));
        for ((row, values), variances) in rows.zip(variance.chunks_exact_mut(LANES)).skip(1) {
            let mut left = [0usize; LANES];
            let mut part = [0.0; LANES];
            for lane in 0..LANES {
                let at = ((mean[lane] - OVER.lo) * per_weight).max(0.0).min(INTERVALS as f64);
                let whole = at.min(last) as u32;
                left[lane] = whole as usize;
                part[lane] = at - f64::from(whole);
            }
            for lane in 0..LANES {
                let (a, b) = (steps[left[lane]], steps[left[lane] + 1]);
                let (rise, y) = (b - a, row[lane]);
                let step = a + rise * part[lane];
                let slope = 1.0 + sign * rise * per_weight;
                let predicted = mean[lane] + sign * step;
                let before = slope * slope * spread[lane] + noise.additive + noise.proportional * step * step;
                let total = before + noise.read;
                let surprise = y - predicted;
                let gain = before / total;
                let read = !y.is_nan();
                mean[lane] = if read { predicted + gain * surprise } else { predicted };
                spread[lane] = if read { gain * noise.read } else { before };
                values[lane] = if read { surprise } else { 0.0 };
                variances[lane] = if read { total } else { 1.0 };
            }
        }
    }
}

/// Filters a batch; the first row of its surprises stays as it is.
pub(crate) fn filter(batch: &Batch, steps: &StepTable, noise: Noise, into: &mut Surprises) {
    let own = batch.start..batch.start + batch.reads.len();
    Arch::new().dispatch(Run {
        reads: &batch.reads,
        steps: &steps.0,
        sign: batch.direction.sign(),
        noise,
        value: &mut into.value[own.clone()],
        variance: &mut into.variance[own],
    });
}
