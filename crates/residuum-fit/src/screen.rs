//! What must not be averaged over in silence: outliers, jumps, plateaus, devices that do not move.

use crate::curve::Curve;
use crate::filter::LANES;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::scoring::Likelihood;
use crate::starts::Scale;

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
    /// Whether the state stays where it went: then the read is kept, as the first of another ramp.
    pub jump: bool,
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
    /// Reads left out because they lie so close to the end of the range that a bound there cuts off the write noise.
    pub shadowed: usize,
}

impl Screening {
    /// Adds what was found on another device.
    pub(crate) fn join(&mut self, other: Self) {
        self.outliers.extend(other.outliers);
        self.stuck.extend(other.stuck);
        self.plateaus.extend(other.plateaus);
        self.cut += other.cut;
        self.shadowed += other.shadowed;
    }
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
        let next = ramp.reads.get(pulse + 1).copied().filter(|y| !y.is_nan());
        let typical = surprises.variance[likelihood.ramps.batches[0].start + LANES].sqrt();
        let jump = next.is_some_and(|next| (next - value).abs() < 5.0 * typical);
        found.push(Outlier { device: ramp.device, cycle: ramp.cycle, direction, pulse, deviations: z, jump });
        if jump {
            let rest = ramp.reads.split_off(pulse);
            let tail = Ramp { reads: rest, ..ramp.clone() };
            ramps.push(tail);
        } else {
            ramp.reads[pulse] = f64::NAN;
        }
    }
    true
}

/// Devices that do not move beyond their noise, or by less than a twentieth of what is usual, in the unit of their reads and of
/// their mean: one in another unit is not stuck.
pub(crate) fn stuck(measured: &Measurement) -> Vec<usize> {
    let moved: Vec<Movement> =
        (0..measured.devices.len()).map(|device| Movement::new(measured, device)).collect();
    let usual = |of: &dyn Fn(&Movement) -> f64| {
        let mut sorted: Vec<f64> = moved.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2].max(sorted[3 * sorted.len() / 4])
    };
    let (far, relative) = (usual(&|m| m.change), usual(&Movement::relative));
    let still =
        |m: &Movement| m.change <= 5.0 * m.error || (m.change < 0.05 * far && m.relative() < 0.05 * relative);
    (0..moved.len()).filter(|&device| still(&moved[device])).collect()
}

/// How far a device goes along its ramps.
struct Movement {
    /// Its mean change along a ramp, whichever way.
    change: f64,
    /// What noise of reads alone would make of that.
    error: f64,
    /// Mean size of its reads.
    level: f64,
}

impl Movement {
    fn new(measured: &Measurement, device: usize) -> Self {
        let (mut change, mut ramps, mut variance, mut level, mut reads) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for ramp in measured.of_device(device) {
            let taken: Vec<f64> = ramp.taken().collect();
            let differences = taken.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>();
            let count = taken.len() as f64;
            change += net_change(ramp);
            ramps += 1.0;
            // Two means of a tenth of the reads each; a difference of reads has twice the variance of one.
            variance += differences / f64::max(count - 1.0, 1.0) / f64::max(0.1 * count, 1.0);
            level += taken.iter().map(|y| y.abs()).sum::<f64>();
            reads += count;
        }
        let ramps = f64::max(ramps, 1.0);
        Self {
            change: (change / ramps).abs(),
            error: variance.sqrt() / ramps,
            level: level / f64::max(reads, 1.0),
        }
    }

    fn relative(&self) -> f64 {
        if self.level > 0.0 { self.change / self.level } else { 0.0 }
    }
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

/// From how many widths of a bound ramps are cut: the reads that decide where a ramp ends stay, and it has gone on meanwhile. With 1.5 of
/// them the last steps came out too small by a fifth of their intervals.
const CLEAR: f64 = 2.0;

/// Ramps of one direction smoothed until less than a step of read noise is left, turned so that they rise.
struct Smooth {
    curves: Vec<Vec<f64>>,
    half: usize,
    /// The highest state that was seen.
    level: f64,
    /// How far below it a ramp is certainly not there yet.
    width: f64,
    span: f64,
    /// Deviation of a smoothed read.
    read: f64,
    /// Deviation of a pulse.
    write: f64,
}

impl Smooth {
    fn new(ramps: &[&Ramp], scale: Scale) -> Option<Self> {
        let Scale { step, read, write } = scale;
        let half = (0.5 * (read / step).powi(2)).ceil().max(1.0);
        if half > 40.0 {
            return None;
        }
        let sign = ramps.first()?.direction.sign();
        let curves: Vec<Vec<f64>> =
            ramps.iter().map(|r| smoothed(r, half as usize).iter().map(|v| sign * v).collect()).collect();
        let all = || curves.iter().flatten().copied().filter(|v| !v.is_nan());
        let (level, lowest) = (all().fold(f64::MIN, f64::max), all().fold(f64::MAX, f64::min));
        // The highest level is high by chance too.
        let read = read / (2.0 * half + 1.0).sqrt();
        let width = (half + 1.0) * step + 2.0 * read;
        Some(Self { curves, half: half as usize, level, width, span: level - lowest, read, write })
    }

    /// When a ramp first comes this close to the highest level.
    fn first(&self, curve: &[f64], distance: f64) -> Option<usize> {
        curve.iter().position(|v| *v >= self.level - distance)
    }

    /// From which read on each ramp is within `distance`. The smoothed state uses some later reads, and all of them stay: if a
    /// read that is left out decided where the ramp ends, those that stay would be too low.
    fn cuts(&self, distance: f64) -> Vec<Option<usize>> {
        self.curves.iter().map(|c| self.first(c, distance).map(|at| at + self.half + 1)).collect()
    }

    /// The speed over a distance that took so many pulses, and its standard error: what the noise of n pulses and of the reads at both ends
    /// makes of the distance, or that between ramps if it is larger. A few ramps agree by chance too often to be believed alone.
    fn speed(&self, distance: f64, pulses: &[f64]) -> [f64; 2] {
        let n = pulses.len() as f64;
        let mean = f64::max(pulses.iter().sum::<f64>() / n, 0.5);
        let speed = distance / mean;
        let by_noise = (mean * self.write.powi(2) + 2.0 * self.read.powi(2)).sqrt() / distance;
        let between =
            (pulses.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / f64::max(n - 1.0, 1.0)).sqrt() / mean;
        [speed, speed * f64::max(by_noise, between) / n.sqrt()]
    }

    /// How ramps end at the highest level.
    ///
    /// The speed on the last stretch and on the one before is extrapolated to the level: at a soft bound nothing is left of
    /// it. If more is left than chance can make, the ramps come to an end there, and stand at a hard bound if more pulses follow
    /// than the rest of the way would take at that speed.
    fn approach(&self) -> Option<Approach> {
        let near = 1.5 * self.width;
        let unit = self.width.max(0.02 * self.span);
        if self.span < 12.0 * unit {
            return None;
        }
        let (mut fast, mut slow, mut left) = (Vec::new(), Vec::new(), 0.0);
        for curve in &self.curves {
            if let [Some(a), Some(b), Some(c)] = [8.0 * unit, 4.0 * unit, near].map(|d| self.first(curve, d))
                && a > 0
            {
                fast.push((b - a) as f64);
                slow.push((c - b) as f64);
                left += (curve.len() - c) as f64;
            }
        }
        if fast.is_empty() {
            return None;
        }
        let count = fast.len() as f64;
        let ([far, far_error], [last, last_error]) =
            (self.speed(4.0 * unit, &fast), self.speed(4.0 * unit - near, &slow));
        let from = 0.5 * (4.0 * unit + near);
        let reach = from / (6.0 * unit - from);
        let at_level = last - (far - last) * reach;
        let error = (last_error * (1.0 + reach)).hypot(far_error * reach);
        let fall = (far - last) / (6.0 * unit - from);
        let least = f64::max(at_level, 0.02 * far);
        let rest =
            if fall > 1e-6 * last / unit { (1.0 + fall * near / least).ln() / fall } else { near / least };
        Some(Approach {
            left_over: at_level / far,
            error: error / far,
            stands: left / count - 1.25 * rest - 2.0 / count.sqrt(),
        })
    }
}

/// How ramps come to the highest level.
#[derive(Clone, Copy, Debug)]
struct Approach {
    /// The speed that is left at the level, over that at a distance.
    left_over: f64,
    /// Its standard error.
    error: f64,
    /// Pulses at the level beyond those that the way there would take.
    stands: f64,
}

impl Approach {
    /// Any share from none to all may be left at a hard bound, none is at a soft one. So the number of standard errors that make the first
    /// five times as likely as the second is smaller where the error is wide: 2 for one ramp, 2.5 at most.
    fn end(self) -> End {
        let sure = (2.0 * (2.0 / self.error).ln()).max(0.0).sqrt().min(2.5);
        match self.left_over > f64::max(0.08, sure * self.error) {
            false => End::Soft,
            true if self.stands > 0.0 => End::Hard,
            true => End::Reached,
        }
    }

    /// That of all devices: a few ramps of each say together what none does alone.
    fn of_all(own: &[Self]) -> Option<Self> {
        let n = own.len() as f64;
        let mean = |of: fn(&Self) -> f64| own.iter().map(of).sum::<f64>() / n;
        let left_over = mean(|a| a.left_over);
        let variance = own.iter().map(|a| (a.left_over - left_over).powi(2)).sum::<f64>() / (n - 1.0);
        (own.len() >= 4).then(|| Self { left_over, error: (variance / n).sqrt(), stands: mean(|a| a.stands) })
    }
}

/// How ramps end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Steps shrink to nothing.
    Soft,
    /// Ramps stand at a bound where steps have not vanished.
    Hard,
    /// They come there with their last pulses: some may have run into a bound, and too few reads are left to tell.
    Reached,
}

/// The distance from a bound within which it cuts off write noise: there, (step) × (distance) is less than three times the
/// variance of that noise, and a state stays away from the bound by what it cannot overstep.
fn shadow(curve: &Curve, direction: Direction, additive: f64, of: &Smooth) -> f64 {
    let step = |d: f64| curve.step(direction, direction.sign() * (of.level - d)).max(0.0);
    let parts = (1..=100).map(|i| 0.0025 * f64::from(i) * of.span);
    parts.take_while(|d| step(*d) * d < 3.0 * additive).last().unwrap_or(0.0)
}

/// Cuts ramps where a soft bound begins to cut off their noise.
pub(crate) fn cut_shadows(ramps: &mut [Ramp], curve: &Curve, scale: Scale, found: &mut Screening) {
    for direction in [Direction::Up, Direction::Down] {
        if found.plateaus.iter().any(|(d, ..)| *d == direction) {
            continue;
        }
        let own: Vec<usize> = (0..ramps.len()).filter(|&i| ramps[i].direction == direction).collect();
        let seen: Vec<&Ramp> = own.iter().map(|&i| &ramps[i]).collect();
        let Some(smooth) = Smooth::new(&seen, scale) else { continue };
        let distance = shadow(curve, direction, scale.write.powi(2), &smooth);
        if distance > smooth.width {
            found.shadowed += cut(ramps, &own, &smooth.cuts(distance)).1;
        }
    }
}

/// Ends ramps at the given reads, unless too little would be left: the number of ramps and of reads cut.
fn cut(ramps: &mut [Ramp], own: &[usize], from: &[Option<usize>]) -> (usize, usize) {
    let (mut count, mut reads) = (0, 0);
    for (&i, from) in own.iter().zip(from) {
        if let Some(from) = from.filter(|from| *from >= 4 && *from < ramps[i].reads.len()) {
            reads += ramps[i].reads.len() - from;
            ramps[i].reads.truncate(from);
            count += 1;
        }
    }
    (count, reads)
}

/// Cuts the ramps of every device that stand at a hard bound, and says so. Devices of one kind have one kind of bound: where most
/// of them certainly run into one, all do.
pub(crate) fn cut_plateaus(devices: &mut [Vec<Ramp>], scales: &[Scale], found: &mut [Screening]) {
    for direction in [Direction::Up, Direction::Down] {
        let own = |ramps: &[Ramp]| -> Vec<usize> {
            (0..ramps.len()).filter(|&i| ramps[i].direction == direction).collect()
        };
        let smooth: Vec<Option<Smooth>> = devices
            .iter()
            .zip(scales)
            .map(|(ramps, scale)| {
                let seen: Vec<&Ramp> = own(ramps).into_iter().map(|i| &ramps[i]).collect();
                Smooth::new(&seen, *scale)
            })
            .collect();
        let seen: Vec<Option<Approach>> =
            smooth.iter().map(|s| s.as_ref().and_then(Smooth::approach)).collect();
        let known: Vec<Approach> = seen.iter().flatten().copied().collect();
        let together = Approach::of_all(&known).map(Approach::end);
        let ends: Vec<End> =
            seen.iter().map(|a| together.or(a.map(Approach::end)).unwrap_or(End::Soft)).collect();
        let most = 2 * ends.iter().filter(|end| **end == End::Hard).count() > ends.len();
        for (device, smooth) in smooth.into_iter().enumerate() {
            let Some(smooth) = smooth.filter(|_| most || ends[device] != End::Soft) else { continue };
            let places = own(&devices[device]);
            let (count, reads) = cut(&mut devices[device], &places, &smooth.cuts(CLEAR * smooth.width));
            if most || ends[device] == End::Hard {
                found[device].cut += reads;
                found[device].plateaus.push((direction, count, direction.sign() * smooth.level));
            } else {
                found[device].shadowed += reads;
            }
        }
    }
}
