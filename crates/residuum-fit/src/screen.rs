//! What must not be averaged over in silence: outliers, jumps, plateaus, devices that do not move.

use crate::filter::LANES;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::scoring::Likelihood;

/// A read that is far from what the device can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// The device.
    pub device: usize,
    /// The ramp of this device and direction.
    pub cycle: usize,
    /// Which way it goes.
    pub direction: Direction,
    /// The read within the ramp, from 0.
    pub pulse: usize,
    /// Standard deviations from the prediction.
    pub deviations: f64,
}

/// What was found and set aside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screening {
    /// Reads left out.
    pub outliers: Vec<Outlier>,
    /// Devices that do not move, left out; their indices.
    pub stuck: Vec<usize>,
    /// Ramps cut where they stand at a hard bound: direction, number of ramps, level in weights.
    pub plateaus: Vec<(Direction, usize, f64)>,
    /// Reads cut with them.
    pub cut: usize,
}

/// Standard deviations beyond which a read is no part of the noise.
const FAR: f64 = 6.0;
/// More outliers than this share are the noise itself.
const TOO_MANY: f64 = 0.01;

/// Smoothed state before each pulse and the signed change by it: pairs that read noise does not correlate.
pub(crate) fn changes(ramp: &Ramp) -> Vec<(f64, f64)> {
    let reads = &ramp.reads;
    let half = (reads.len() / 40).clamp(1, 20);
    let mut sums = vec![(0.0, 0.0); reads.len() + 1];
    for (t, y) in reads.iter().enumerate() {
        let (sum, count) = sums[t];
        sums[t + 1] = if y.is_nan() { (sum, count) } else { (sum + y, count + 1.0) };
    }
    let mut pairs = Vec::with_capacity(reads.len());
    for t in 0..reads.len().saturating_sub(1) {
        let (y, next) = (reads[t], reads[t + 1]);
        if y.is_nan() || next.is_nan() {
            continue;
        }
        // Symmetric about the middle of the step, and as wide as the ends allow.
        let reach = half.min(t + 1).min(reads.len() - 1 - t);
        let (from, to) = (t + 1 - reach, t + 1 + reach);
        let (sum, count) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        pairs.push((sum / count, ramp.direction.sign() * (next - y)));
    }
    pairs
}

/// Reads that the model finds impossible: outliers become missing, jumps end a ramp and begin another.
pub(crate) fn outliers(
    likelihood: &Likelihood<'_>,
    parameters: &[f64],
    ramps: &mut Vec<Ramp>,
    found: &mut Vec<Outlier>,
) -> bool {
    let surprises = likelihood.surprises(parameters);
    let mut far = Vec::new();
    // The lanes hold ramps by length: find each again by its reads.
    for batch in &likelihood.ramps.batches {
        for lane in 0..LANES {
            for t in 1..batch.length() {
                let at = batch.start + t * LANES + lane;
                let z = surprises.value[at] / surprises.variance[at].sqrt();
                if z.abs() > FAR {
                    far.push((batch.direction, batch.reads[lane], t, batch.reads[t * LANES + lane], z));
                }
            }
        }
    }
    if far.is_empty() || far.len() as f64 > TOO_MANY * likelihood.ramps.reads as f64 {
        return false;
    }
    for (direction, first, t, value, z) in far {
        let own = |ramp: &&mut Ramp| {
            let start = ramp.reads.iter().position(|y| !y.is_nan()).unwrap_or(0);
            ramp.direction == direction
                && ramp.reads.get(start) == Some(&first)
                && ramp.reads.get(start + t) == Some(&value)
        };
        let Some(ramp) = ramps.iter_mut().find(own) else { continue };
        let start = ramp.reads.iter().position(|y| !y.is_nan()).unwrap_or(0);
        let pulse = start + t;
        found.push(Outlier { device: ramp.device, cycle: ramp.cycle, direction, pulse, deviations: z });
        let next = ramp.reads.get(pulse + 1).copied().filter(|y| !y.is_nan());
        let typical = surprises.variance[likelihood.ramps.batches[0].start + LANES].sqrt();
        if next.is_some_and(|next| (next - value).abs() < 5.0 * typical) {
            // It stays where it went: the state has jumped.
            let rest = ramp.reads.split_off(pulse);
            let tail = Ramp { reads: rest, ..ramp.clone() };
            ramps.push(tail);
        } else {
            ramp.reads[pulse] = f64::NAN;
        }
    }
    true
}

/// Devices that move by less than a twentieth of what is usual.
pub(crate) fn stuck(measured: &Measurement) -> Vec<usize> {
    let moved: Vec<f64> = (0..measured.devices.len())
        .map(|device| {
            let own: Vec<f64> = measured.of_device(device).map(net_change).collect();
            own.iter().sum::<f64>() / own.len().max(1) as f64
        })
        .collect();
    let mut sorted = moved.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[sorted.len() / 2].max(sorted[3 * sorted.len() / 4]);
    (0..moved.len()).filter(|&device| moved[device] < 0.05 * usual).collect()
}

/// The change along a ramp in its own direction, from the mean of its first to that of its last tenth.
pub(crate) fn net_change(ramp: &Ramp) -> f64 {
    let taken: Vec<f64> = ramp.taken().collect();
    let n = (taken.len() / 10).max(1).min(taken.len());
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    ramp.direction.sign() * (mean(&taken[taken.len() - n..]) - mean(&taken[..n]))
}

/// A ramp smoothed over `half` reads to each side, less at its ends; gaps are skipped.
fn smoothed(ramp: &Ramp, half: usize) -> Vec<f64> {
    let y = &ramp.reads;
    (0..y.len())
        .map(|t| {
            let reach = half.min(t).min(y.len() - 1 - t);
            let window = y[t - reach..=t + reach].iter().filter(|v| !v.is_nan());
            let (sum, count) = window.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
            sum / count
        })
        .collect()
}

/// The hard bound that the ramps of a direction run into, and where each reaches its neighbourhood; `None` if steps shrink before
/// the bound, or ramps do not stand there.
///
/// The last stretch before the highest level is divided at distances 8δ, 4δ and 1.5δ from it. At a hard bound the second part is
/// crossed as fast as the first, and more pulses follow than the rest would take.
fn hard_bound(ramps: &[&Ramp], step: f64, read_noise: f64) -> Option<(f64, Vec<Option<usize>>)> {
    // Smoothing that leaves less than a step of read noise.
    let half = (0.5 * (read_noise / step).powi(2)).ceil().max(1.0);
    if half > 40.0 {
        return None;
    }
    let sign = ramps.first()?.direction.sign();
    let curves: Vec<Vec<f64>> =
        ramps.iter().map(|r| smoothed(r, half as usize).iter().map(|v| sign * v).collect()).collect();
    let mut tops: Vec<f64> = curves.iter().map(|c| c.iter().copied().fold(f64::MIN, f64::max)).collect();
    tops.sort_by(f64::total_cmp);
    let level = tops[tops.len() / 2];
    let width = f64::max((half + 1.0) * step, 2.0 * step);
    let lowest = curves.iter().flatten().copied().fold(f64::MAX, f64::min);
    if level - lowest < 12.0 * width {
        return None;
    }
    let first = |curve: &[f64], distance: f64| curve.iter().position(|v| *v >= level - distance * width);
    let (mut slow, mut fast, mut left, mut count) = (0.0, 0.0, 0.0, 0.0);
    let mut reached = Vec::new();
    for curve in &curves {
        let near = first(curve, 1.5);
        if let (Some(a), Some(b), Some(c)) = (first(curve, 8.0), first(curve, 4.0), near)
            && a > 0
        {
            fast += (b - a) as f64;
            slow += (c - b) as f64;
            left += (curve.len() - c) as f64;
            count += 1.0;
        }
        reached.push(near);
    }
    // Speeds in widths per pulse.
    let (before, last) = (4.0 * count / fast, 2.5 * count / slow);
    let stands = left / count > 1.6 * (1.5 / last) + 2.0;
    (2.0 * count >= ramps.len() as f64 && last > 0.75 * before && stands).then_some((sign * level, reached))
}

/// Cuts the ramps that stand at a hard bound, and says so.
pub(crate) fn cut_plateaus(ramps: &mut [Ramp], step: f64, read_noise: f64, found: &mut Screening) {
    for direction in [Direction::Up, Direction::Down] {
        let own: Vec<usize> = (0..ramps.len()).filter(|&i| ramps[i].direction == direction).collect();
        let seen: Vec<&Ramp> = own.iter().map(|&i| &ramps[i]).collect();
        let Some((level, reached)) = hard_bound(&seen, step, read_noise) else { continue };
        let mut cut = 0;
        for (&i, from) in own.iter().zip(&reached) {
            if let Some(from) = from.filter(|from| *from >= 4) {
                found.cut += ramps[i].reads.len() - from;
                ramps[i].reads.truncate(from);
                cut += 1;
            }
        }
        found.plateaus.push((direction, cut, level));
    }
}
