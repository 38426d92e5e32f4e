//! Whether ramps can be those of a device, and the map to weights.

use residuum::Range;

use super::{FitError, LEAST};
use crate::measurement::{Direction, Measurement, Ramp};
use crate::screen::{self, changes};

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
    if up.hi < down.lo || down.hi < up.lo {
        return Err(FitError::Apart { up, down });
    }
    units_agree(measured)?;
    let stuck = screen::stuck(measured);
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

fn units_agree(measured: &Measurement) -> Result<(), FitError> {
    let size = |device: usize| {
        let own: Vec<f64> = measured.of_device(device).flat_map(Ramp::taken).map(f64::abs).collect();
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    let sizes: Vec<f64> = (0..measured.devices.len()).map(size).collect();
    let by = |a: &usize, b: &usize| sizes[*a].total_cmp(&sizes[*b]);
    let (Some(small), Some(large)) = ((0..sizes.len()).min_by(by), (0..sizes.len()).max_by(by)) else {
        return Ok(());
    };
    let factor = sizes[large] / sizes[small];
    // Conductances of one technology differ less; units differ by thousands.
    if sizes[small] > 0.0 && factor > 300.0 {
        let (small, large) = (measured.devices[small].clone(), measured.devices[large].clone());
        return Err(FitError::Units { small, large, factor });
    }
    Ok(())
}

/// Where a ramp turns back by a third of the usual change or more, after having gone as far.
fn turn(ramp: &Ramp, usual: f64) -> Option<usize> {
    let taken: Vec<f64> = ramp.taken().collect();
    let k = (taken.len() / 20).max(3);
    if taken.len() < 4 * k {
        return None;
    }
    let sign = ramp.direction.sign();
    let smooth: Vec<f64> = taken.windows(k).map(|w| sign * w.iter().sum::<f64>() / k as f64).collect();
    let (at, top) = smooth.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
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
            Ok(range)
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
