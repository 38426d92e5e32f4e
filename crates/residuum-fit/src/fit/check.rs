//! Whether ramps can be those of a device, and the map to weights.

use residuum::Range;

use super::{FitError, LEAST};
use crate::measurement::{Direction, Measurement, Ramp};
use crate::screen::{self, changes};

/// Sizes of reads that neither overflow nor vanish when they are squared.
const SIZES: Range = Range { lo: 1e-100, hi: 1e100 };

/// Refuses what cannot be ramps of a device.
pub(super) fn check(measured: &Measurement) -> Result<(), FitError> {
    let both = [Direction::Up, Direction::Down];
    for device in 0..measured.devices.len() {
        let of = if measured.devices.len() > 1 {
            format!(" of device {}", measured.devices[device])
        } else {
            String::new()
        };
        let reads = both.map(|d| {
            measured.of_device(device).filter(|r| r.direction == d).map(|r| r.taken().count()).sum::<usize>()
        });
        if let Some(missing) = (0..2).find(|&side| reads[side] == 0) {
            let (given, missing) = (both[1 - missing].word(), both[missing].word());
            return Err(FitError::OneDirection { given, missing, of });
        }
        if let Some(side) = (0..2).find(|&side| reads[side] < LEAST) {
            return Err(FitError::TooFew {
                needed: LEAST,
                given: reads[side],
                direction: both[side].word(),
                of,
            });
        }
    }
    let range_of = |d: Direction| {
        let own = measured.ramps.iter().filter(|r| r.direction == d).flat_map(Ramp::taken);
        own.fold(Range { lo: f64::INFINITY, hi: f64::NEG_INFINITY }, |r, y| Range {
            lo: r.lo.min(y),
            hi: r.hi.max(y),
        })
    };
    let [up, down] = both.map(range_of);
    let largest = [up.lo, up.hi, down.lo, down.hi].map(f64::abs).into_iter().fold(0.0, f64::max);
    if largest != 0.0 && !SIZES.contains(largest) {
        return Err(FitError::Size { largest, least: SIZES.lo, most: SIZES.hi });
    }
    if up.hi < down.lo || down.hi < up.lo {
        return Err(FitError::Apart { up, down });
    }
    let stuck = screen::stuck(measured);
    units_agree(measured, &stuck)?;
    let moving = measured.ramps.iter().filter(|r| !stuck.contains(&r.device));
    let usual = moving.clone().map(|r| screen::net_change(r).abs()).fold(0.0, f64::max);
    for ramp in moving {
        let change = screen::net_change(ramp);
        if change < -0.2 * usual {
            let way = if ramp.direction == Direction::Up { "down" } else { "up" };
            let name = ramp.name(&measured.devices);
            return Err(FitError::WrongWay {
                name,
                way,
                change: change.abs(),
                direction: ramp.direction.word(),
            });
        }
        if let Some(turn) = turn(ramp, usual) {
            return Err(FitError::Turns { name: ramp.name(&measured.devices), turn, reads: ramp.reads.len() });
        }
    }
    Ok(())
}

/// Ramps of one technology differ by less; units differ by thousands.
fn units_agree(measured: &Measurement, stuck: &[usize]) -> Result<(), FitError> {
    let moving = measured.ramps.iter().filter(|r| !stuck.contains(&r.device));
    let sized: Vec<(f64, f64, &Ramp)> = moving
        .map(|r| {
            let (sum, count) = r.taken().fold((0.0, 0.0), |(sum, count), y| (sum + y.abs(), count + 1.0));
            (sum / f64::max(count, 1.0), screen::net_change(r).abs(), r)
        })
        .filter(|(size, change, _)| *size > 0.0 && *change > 0.0)
        .collect();
    let by = |a: &&(f64, f64, &Ramp), b: &&(f64, f64, &Ramp)| a.0.total_cmp(&b.0);
    let (Some(small), Some(large)) = (sized.iter().min_by(by), sized.iter().max_by(by)) else {
        return Ok(());
    };
    let factor = large.0 / small.0;
    if factor > 300.0 && large.1 / small.1 > 100.0 {
        let [small, large] = [small, large].map(|r| r.2.name(&measured.devices));
        return Err(FitError::Units { small, large, factor });
    }
    Ok(())
}

/// Why no device moves: its ramps go to and fro, or there is only noise.
pub(super) fn why_still(measured: &Measurement) -> FitError {
    for ramp in &measured.ramps {
        let taken: Vec<f64> = ramp.taken().collect();
        let k = (taken.len() / 20).max(3);
        let means = || taken.windows(k).map(|w| w.iter().sum::<f64>() / k as f64);
        let range = means().fold(f64::MIN, f64::max) - means().fold(f64::MAX, f64::min);
        let noise = taken.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<f64>() / taken.len().max(1) as f64;
        if range > 8.0 * (noise / k as f64).sqrt()
            && let Some(turn) = turn(ramp, range)
        {
            return FitError::Turns { name: ramp.name(&measured.devices), turn, reads: ramp.reads.len() };
        }
    }
    FitError::Stuck
}

/// Where a ramp turns back by a third of the usual change or more, after having gone as far, or by two thirds on its way.
fn turn(ramp: &Ramp, usual: f64) -> Option<usize> {
    let taken: Vec<f64> = ramp.taken().collect();
    let k = (taken.len() / 20).max(3);
    if taken.len() < 4 * k {
        return None;
    }
    let sign = ramp.direction.sign();
    let smooth: Vec<f64> = taken.windows(k).map(|w| sign * w.iter().sum::<f64>() / k as f64).collect();
    let (at, top) = smooth.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (mut before, mut furthest) = ((0, smooth[0]), (0, 0.0));
    for (at, &now) in smooth.iter().enumerate() {
        before = if now > before.1 { (at, now) } else { before };
        furthest = if before.1 - now > furthest.1 { (before.0, before.1 - now) } else { furthest };
    }
    if furthest.1 > 0.67 * usual {
        return Some(furthest.0 + k / 2);
    }
    let (first, last) = (smooth[0], smooth[smooth.len() - 1]);
    (top - first > 0.3 * usual && top - last > 0.33 * usual).then_some(at + k / 2)
}

/// The conductances of ±1: as given, or the ends of the reads after a running median, which an outlier does not move.
pub(super) fn weight_range(
    measured: &Measurement,
    stuck: &[usize],
    given: Option<Range>,
) -> Result<Range, FitError> {
    let mut ends = Range { lo: f64::INFINITY, hi: f64::NEG_INFINITY };
    for ramp in measured.ramps.iter().filter(|r| !stuck.contains(&r.device)) {
        let taken: Vec<f64> = ramp.taken().collect();
        for window in taken.windows(5.min(taken.len())) {
            let mut sorted = window.to_vec();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted[sorted.len() / 2];
            ends = Range { lo: ends.lo.min(middle), hi: ends.hi.max(middle) };
        }
    }
    match given {
        Some(range) if range.lo < range.hi && range.is_finite() && range.lo < ends.hi && ends.lo < range.hi => {
            // The filter knows states up to a quarter of the width beyond the range; reads and their noise must stay within.
            let (width, beyond) = (range.hi - range.lo, f64::max(ends.hi - range.hi, range.lo - ends.lo));
            let fits = beyond <= 0.2 * width && ends.hi - ends.lo >= 0.05 * width;
            if fits { Ok(range) } else { Err(FitError::Map { range, reads: ends }) }
        }
        Some(range) => Err(FitError::Range(range)),
        None if ends.lo < ends.hi => Ok(ends),
        None => Err(FitError::Stuck),
    }
}

/// Where both directions were seen.
pub(super) fn visited(ramps: &[Vec<Ramp>]) -> Range {
    let ends = |d: Direction| {
        let own = ramps.iter().flatten().filter(|r| r.direction == d).flat_map(changes);
        own.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (x, _)| (lo.min(x), hi.max(x)))
    };
    let ([a, b], [c, e]) = (ends(Direction::Up).into(), ends(Direction::Down).into());
    let (lo, hi) = (f64::max(a, c), f64::min(b, e));
    if lo < hi { Range { lo, hi } } else { Range { lo: -1.0, hi: 1.0 } }
}
