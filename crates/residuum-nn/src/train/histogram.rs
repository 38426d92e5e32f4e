//! Distributions of weights relative to the range of their devices.

use std::collections::BTreeMap;

use residuum::array::Unreachable;
use residuum::state::{Data, SavedTensor};

use super::Warning;
use crate::Network;
use crate::state::{Collection, Role};

/// Bins of a histogram within its range.
pub const BINS: usize = 64;

/// How close to an end of the range counts as saturated, as a fraction of the range.
const EDGE: f64 = 0.01;

/// Numbers of values per bin.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The dynamic range that the bins cover, if the devices have one; otherwise bins span the smallest to the
    /// largest value.
    pub range: Option<[f64; 2]>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of their squares.
    pub sum_squares: f64,
    /// Values beyond the range or within a hundredth of it from an end.
    pub saturated: u64,
    /// The upper limit of each bin. The first holds what is not above the range's lower end, the last
    /// what lies beyond the upper.
    pub limits: Vec<f64>,
    /// Number of values in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// The histogram of `values`; `None` if none are finite.
    pub fn new(values: &[f32], range: Option<[f64; 2]>) -> Option<Self> {
        let finite = || values.iter().map(|&v| f64::from(v)).filter(|v| v.is_finite());
        let min = finite().reduce(f64::min)?;
        let max = finite().fold(min, f64::max);
        let [lo, hi] = range.unwrap_or([min, max]);
        let width = (hi - lo) / BINS as f64;
        let inner = (0..=BINS).map(|i| if i == BINS { hi } else { lo + width * i as f64 });
        let limits: Vec<f64> = inner.chain([f64::MAX]).collect();
        let mut counts = vec![0; limits.len()];
        let (mut sum, mut sum_squares, mut saturated) = (0.0, 0.0, 0);
        let edge = EDGE * (hi - lo);
        for v in finite() {
            sum += v;
            sum_squares += v * v;
            saturated += u64::from(range.is_some() && (v <= lo + edge || v >= hi - edge));
            // A bin holds its upper limit; the smallest value of an unknown range belongs to the first bin inside.
            let bin = limits.partition_point(|&limit| limit < v);
            counts[if range.is_none() { bin.max(1) } else { bin }] += 1;
        }
        Some(Self { range, min, max, sum, sum_squares, saturated, limits, counts })
    }

    /// Number of values.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Fraction of values at the ends of the range.
    pub fn saturation(&self) -> f64 {
        self.saturated as f64 / self.len() as f64
    }
}

/// The effective weights of every matrix of a network, by the name of its layer.
pub fn weight_histograms(network: &Network) -> BTreeMap<String, Histogram> {
    let all = Collection::of(network);
    let histogram = |(name, role, tensor): (&str, Role, &SavedTensor)| {
        let values = tensor.data.as_f32().filter(|_| role == Role::Parameter && tensor.shape.len() > 1)?;
        let range = all.range(name).map(|range| range.map(f64::from));
        Some((layer(name), Histogram::new(values, range)?))
    };
    all.iter().filter_map(histogram).collect()
}

/// A warning for each layer whose cells could not be programmed to its weights.
pub fn unreachable_weights(network: &Network) -> Vec<Warning> {
    let all = Collection::of(network);
    let cells = |name: &str| {
        let own = all.iter().find(|(own, ..)| *own == name);
        own.map_or(0, |(_, _, tensor)| tensor.shape.iter().product())
    };
    let warning = |(name, weights): (&str, Unreachable<f32>)| Warning::Unreachable {
        layer: layer(name),
        cells: weights.cells,
        of: cells(name),
        largest: weights.largest,
        range: all.range(name),
    };
    all.unreachable().map(warning).collect()
}

/// The pulses that each layer's devices have received so far: all counters named `….pulses`.
pub fn pulse_ledger(network: &Network) -> BTreeMap<String, u64> {
    let mut ledger = BTreeMap::new();
    for (name, _, tensor) in Collection::of(network).iter() {
        if let (Some(name), Data::U64(count)) = (name.strip_suffix(".pulses"), &tensor.data) {
            *ledger.entry(layer(name)).or_default() += count.iter().sum::<u64>();
        }
    }
    ledger
}

/// The layer of a tensor: everything before `.weight`.
fn layer(name: &str) -> String {
    name.split_once(".weight").map_or(name, |(layer, _)| layer).to_owned()
}
