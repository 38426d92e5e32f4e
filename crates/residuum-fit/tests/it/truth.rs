//! Synthetic truth: the right family, the right kind, intervals that cover. `examples/coverage.rs` is the same at full size.

use rayon::prelude::*;
use residuum::progress::Silent;
use residuum::{Key, Range};
use residuum_fit::{DeviceFit, Direction, Estimate, FitError, FitOptions, PointKind, fit, simulate_devices};

use crate::cases::{CASES, Case};

const WEIGHTS: Option<Range> = Some(Range { lo: -1.0, hi: 1.0 });

fn options() -> FitOptions {
    FitOptions { range: WEIGHTS, held_out: false, draws: 100, ..FitOptions::default() }
}

fn replica(case: &Case, devices: usize, seed: u64) -> DeviceFit {
    let key = Key::new(seed).named(case.name);
    let measured = simulate_devices(&case.devices(devices, key), case.pulses, case.ramps(devices), key);
    fit(&measured, &options(), &Silent).unwrap()
}

/// Shares of right families, right kinds and covering intervals, each as (right, all).
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    families: (usize, usize),
    kinds: (usize, usize),
    intervals: (usize, usize),
    /// The twins: the family of the largest likelihood, intervals of half the width.
    likeliest: usize,
    halved: usize,
}

impl Tally {
    fn of(case: &Case, devices: usize, seed: u64) -> Self {
        let mut found = replica(case, devices, seed);
        let likeliest = found.candidates.iter().max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood));
        let mut tally = Self {
            kinds: (usize::from(found.symmetric_point.kind == case.kind), 1),
            families: (usize::from(found.model_name() == case.family), 1),
            likeliest: usize::from(likeliest.is_some_and(|c| c.name == case.family)),
            ..Self::default()
        };
        if tally.families.0 == 0 {
            return tally;
        }
        let count = |found: &DeviceFit| case.covers(found).iter().filter(|(_, covers)| *covers).count();
        tally.intervals = (count(&found), case.covers(&found).len());
        let half = |e: &mut Estimate| {
            e.low = 0.5 * (e.low + e.value);
            e.high = 0.5 * (e.high + e.value);
        };
        found.parameters.iter_mut().for_each(|(_, e)| half(e));
        found.band.iter_mut().for_each(|(_, up, down)| [up, down].into_iter().for_each(half));
        found.symmetric_point.weight.iter_mut().for_each(half);
        let [a, b] = [&mut found.step, &mut found.states];
        let noises =
            [&mut found.read_noise, &mut found.write_noise, &mut found.additive, &mut found.proportional];
        [a, b].into_iter().chain(noises).for_each(half);
        tally.halved = count(&found);
        tally
    }

    fn and(self, other: Self) -> Self {
        let sum = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        Self {
            families: sum(self.families, other.families),
            kinds: sum(self.kinds, other.kinds),
            intervals: sum(self.intervals, other.intervals),
            likeliest: self.likeliest + other.likeliest,
            halved: self.halved + other.halved,
        }
    }
}

/// Whether a count is what chance leaves of a share, with so many of the trials independent.
fn at_least(right: usize, all: usize, share: f64, independent: f64) -> bool {
    let tolerance = residuum::stats::Z * (share * (1.0 - share) / (all as f64 * independent)).sqrt();
    right as f64 / all as f64 > share - tolerance
}

/// The full study is `examples/coverage.rs`; its table is in `docs/coverage.md`.
#[test]
fn families_kinds_and_intervals_are_right() {
    let jobs: Vec<(&Case, usize, u64)> = CASES[..10]
        .iter()
        .flat_map(|case| (0..6).map(move |seed| (case, 1, seed)))
        .chain(CASES[..10].iter().map(|case| (case, 8, 100)))
        .collect();
    let tally = jobs.into_par_iter().map(|(case, devices, seed)| Tally::of(case, devices, seed));
    let tally = tally.reduce(Tally::default, Tally::and);
    let (all, count) = (tally.families.1, tally.intervals.1);
    assert!(at_least(tally.families.0, all, 0.95, 1.0), "families {tally:?}");
    assert!(!at_least(tally.likeliest, all, 0.95, 1.0), "the likeliest families pass too: {tally:?}");
    assert!(at_least(tally.kinds.0, all, 0.99, 1.0), "kinds {tally:?}");
    // The intervals of a replica hang together: as if a fifth of them were independent.
    assert!(at_least(tally.intervals.0, count, 0.95, 0.2), "intervals {tally:?}");
    assert!(!at_least(tally.halved, count, 0.95, 0.2), "intervals half as wide pass too: {tally:?}");
}

/// A table of 17 nodes and few ramps of each device: the Bayesian price of its parameters is more than they show, all devices together
/// ask for it, and simulated ones that are linear do not. Noise is not too small although 34 values follow some of it.
#[test]
fn many_devices_with_few_ramps_tell_a_table_from_lines() {
    let case = CASES.iter().find(|c| c.name == "table").unwrap();
    let found = replica(case, 12, 1);
    assert_eq!(found.model_name(), "table", "{:?}", found.warnings);
    let write = case.told(&found).into_iter().find(|(name, ..)| name == "write noise").unwrap();
    let error = 0.5 * (write.1.high - write.1.low) / 1.96;
    assert!((write.1.value - write.2).abs() < residuum::stats::Z * error, "{write:?}");
    // The twin: one ramp of soft bounds, on which a table gains as much and more by chance, is not called a table.
    let case = CASES.iter().find(|c| c.name == "soft bounds, one ramp").unwrap();
    let found = replica(case, 10, 1);
    assert_eq!(found.model_name(), "soft_bounds");
    let table = found.candidates.iter().find(|c| c.name == "table").unwrap();
    assert!(table.aic < found.candidates[0].aic, "by AIC the table would win, so this tests nothing");
    assert!(table.note.as_ref().is_some_and(|n| n.contains("simulated devices")), "{:?}", table.note);
}

#[test]
fn several_devices_differ_as_they_were_made() {
    let case = &CASES[1];
    let found = replica(case, 12, 3);
    assert_eq!((found.model_name(), found.symmetric_point.kind), ("linear", PointKind::Attracting));
    let spread = found.spread.as_ref().unwrap();
    // Common 8 %, own 3 % in each direction: 8.3 % of the mean step, 2.1 % of imbalance.
    assert!(spread.step.covers((0.0064f64 + 0.00045).sqrt()), "{:?}", spread.step);
    assert!(spread.imbalance.covers(0.0212), "{:?}", spread.imbalance);
    assert_eq!(spread.covariance.len(), 16);
    let missed: Vec<String> = case.covers(&found).into_iter().filter(|(_, c)| !c).map(|(n, _)| n).collect();
    assert!(missed.len() <= 2, "{missed:?}");
}

/// Fitted, simulated and fitted again. Of two estimates with errors of their own the difference has the variance of both; the
/// intervals are ±1.96 deviations and the tolerance 4.9.
#[test]
fn a_fitted_device_simulated_and_fitted_again_is_the_same() {
    for (case, pulses) in [(&CASES[2], 350), (&CASES[5], 260), (&CASES[8], 280)] {
        let first = replica(case, 1, 9);
        let again = |truth: residuum_fit::Truth| {
            let measured = simulate_devices(&[truth], pulses, 10, Key::new(77));
            fit(&measured, &FitOptions { model: Some(case.family.into()), ..options() }, &Silent).unwrap()
        };
        let second = again(first.truth());
        assert_eq!(
            (first.model_name(), first.symmetric_point.kind),
            (second.model_name(), second.symmetric_point.kind)
        );
        let quantities = |f: &DeviceFit| {
            let own = f.parameters.iter().cloned();
            let noises = [("read noise", f.read_noise), ("write noise", f.write_noise), ("step", f.step)];
            own.chain(noises.map(|(n, e)| (n.to_string(), e))).collect::<Vec<_>>()
        };
        let apart = |a: &DeviceFit, b: &DeviceFit| {
            let half = |e: &Estimate| 0.5 * (e.high - e.low) / 1.96;
            let pairs = quantities(a).into_iter().zip(quantities(b));
            pairs
                .map(|((name, a), (_, b))| ((a.value - b.value).abs() / half(&a).hypot(half(&b)), name))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap()
        };
        let (off, name) = apart(&first, &second);
        assert!(off < residuum::stats::Z, "{}: {name} differs by {off} standard errors", case.name);
        // The twin: a device whose steps are a tenth larger is another one.
        let mut larger = first.truth();
        let scale = if case.family == "tanh" { 1 } else { larger.curve.parameters.len() };
        larger.curve.parameters[..scale].iter_mut().for_each(|p| *p *= 1.1);
        assert!(apart(&first, &again(larger)).0 > residuum::stats::Z, "{}", case.name);
    }
}

#[test]
fn bootstraps_are_the_same_for_a_seed() {
    let (a, b) = (replica(&CASES[0], 2, 1), replica(&CASES[0], 2, 1));
    assert_eq!(a.parameters, b.parameters);
    assert_eq!(a.read_noise, b.read_noise);
}

#[test]
fn outliers_and_stuck_devices_are_named() {
    let case = &CASES[1];
    let key = Key::new(5);
    let mut measured = simulate_devices(&case.devices(3, key), case.pulses, case.ramps(3), key);
    for ramp in measured.ramps.iter_mut().filter(|r| r.device == 1) {
        let first = ramp.reads[0];
        ramp.reads.iter_mut().for_each(|y| *y = first + 1e-3 * (*y - first));
    }
    measured.ramps[0].reads[50] += 0.9;
    let found = fit(&measured, &options(), &Silent).unwrap();
    assert_eq!(found.screening.stuck, [1]);
    assert!(
        found.screening.outliers.iter().any(|o| o.pulse == 50 && o.cycle == 0),
        "{:?}",
        found.screening.outliers
    );
    assert!(found.warnings.iter().any(|w| w.contains("stuck and left out: device 2")), "{:?}", found.warnings);
    assert!(found.warnings.iter().any(|w| w.contains("device 1, up ramp 1, read 51")), "{:?}", found.warnings);
}

#[test]
fn a_dead_device_is_stuck_and_not_in_another_unit() {
    let case = &CASES[1];
    let key = Key::new(8);
    let mut measured = simulate_devices(&case.devices(4, key), 100, 2, key);
    for ramp in &mut measured.ramps {
        let dead = ramp.device == 2;
        ramp.reads.iter_mut().for_each(|y| *y = if dead { 1e-6 * (1.0 + 0.01 * *y) } else { 3.0 + *y });
    }
    let found = fit(&measured, &FitOptions { range: None, ..options() }, &Silent).unwrap();
    assert_eq!(found.screening.stuck, [2]);
}

#[test]
fn a_jump_is_no_outlier() {
    let case = &CASES[1];
    let key = Key::new(5);
    let mut measured = simulate_devices(&case.devices(1, key), case.pulses, 4, key);
    measured.ramps[0].reads[120..].iter_mut().for_each(|y| *y -= 0.4);
    let found = fit(&measured, &options(), &Silent).unwrap();
    let seen = &found.screening.outliers;
    assert!(seen.iter().any(|o| o.jump && o.pulse == 120), "{seen:?}");
    assert!(found.warnings.iter().any(|w| w.starts_with("jump, after which")), "{:?}", found.warnings);
}

/// Steps at a hard bound that are a tenth of those in the middle: the ramps stand where soft bounds would still move.
#[test]
fn steep_lines_that_end_at_hard_bounds_are_no_soft_bounds() {
    let case = CASES.iter().find(|c| c.name == "linear, steep to hard bounds").unwrap();
    let found = replica(case, 1, 2);
    assert_eq!(found.model_name(), "linear", "{:?}", found.warnings);
    let range = found.hard_range();
    assert!((range.lo + 1.0).abs() < 0.02 && (range.hi - 1.0).abs() < 0.02, "{range}");
    // The twin goes on to where its steps vanish.
    let mut twin = case.devices(1, Key::new(2));
    twin[0].range = Range { lo: -1.3, hi: 1.3 };
    let measured = simulate_devices(&twin, case.pulses, 10, Key::new(2));
    let soft = fit(&measured, &options(), &Silent).unwrap();
    assert_eq!(soft.model_name(), "soft_bounds", "{:?}", soft.warnings);
    assert!(soft.hard_range().hi > 1.08, "{}", soft.hard_range());
}

/// At the very end of the range of soft bounds, steps are 0 and never less by a rounding error, which would be no response.
#[test]
fn soft_bounds_end_where_steps_are_not_negative() {
    for (up, down) in [(0.017, 0.013), (0.0211, 0.0193), (0.0307, 0.0123), (0.0119, 0.0173)] {
        let curve = residuum_fit::Curve::new(residuum_fit::CurveFamily::Line, vec![up, 1e-4, 3e-4, down]);
        let truth = residuum_fit::Truth { curve, ..CASES[2].devices(1, Key::new(1)).swap_remove(0) };
        let found = fit(&simulate_devices(&[truth], 400, 3, Key::new(4)), &options(), &Silent).unwrap();
        let (ends, unit) = (found.hard_range(), found.step.value / found.per_weight());
        let [plus, minus] = found.curve.expressions(unit).unwrap();
        assert!(residuum::response::Formula::parse(&plus, &minus, ends).is_ok(), "{plus}, {minus} on {ends}");
    }
}

#[test]
fn noise_that_is_not_there_leaves_the_whole_to_the_other() {
    let mut case = CASES[2].devices(1, Key::new(1));
    case[0].proportional = 0.0;
    let absent = (0..6).filter(|seed| {
        let measured = simulate_devices(&case, 350, 6, Key::new(*seed));
        let found = fit(&measured, &options(), &Silent).unwrap();
        assert!(found.additive.value <= found.write_noise.value * (1.0 + 1e-9), "{seed}");
        let absent = found.proportional.value == 0.0;
        assert!(!absent || found.additive.value == found.write_noise.value, "{seed}: {:?}", found.additive);
        absent
    });
    // Its variance comes out negative in half of the measurements; in none of six or in all with odds of one in 32.
    let absent = absent.count();
    assert!((1..6).contains(&absent), "{absent}");
}

#[test]
fn what_cannot_be_ramps_is_refused() {
    let case = &CASES[1];
    let key = Key::new(6);
    let good = simulate_devices(&case.devices(2, key), 100, 2, key);
    let error = |change: &dyn Fn(&mut residuum_fit::Measurement)| {
        let mut measured = good.clone();
        change(&mut measured);
        fit(&measured, &options(), &Silent).unwrap_err()
    };
    let one = error(&|m| m.ramps.retain(|r| r.direction == Direction::Up));
    assert!(
        matches!(one, FitError::OneDirection { .. }) && one.to_string().contains("down pulses too"),
        "{one}"
    );
    let few = error(&|m| m.ramps.iter_mut().for_each(|r| r.reads.truncate(5)));
    assert!(matches!(few, FitError::TooFew { given: 10, .. }), "{few}");
    let mixed = error(&|m| {
        m.ramps.iter_mut().filter(|r| r.device == 1).for_each(|r| r.reads.iter_mut().for_each(|y| *y *= 1e6));
    });
    assert!(mixed.to_string().contains("same unit"), "{mixed}");
    let of_a_ramp = error(&|m| m.ramps[2].reads.iter_mut().for_each(|y| *y *= 1e4));
    assert!(matches!(of_a_ramp, FitError::Units { .. }), "{of_a_ramp}");
    let huge = error(&|m| m.ramps.iter_mut().for_each(|r| r.reads.iter_mut().for_each(|y| *y *= 1e307)));
    assert!(matches!(huge, FitError::Size { .. }) && huge.to_string().len() < 150, "{huge}");
    for (range, words) in
        [((-1e9, 1e9), "fill to a twentieth"), ((-0.2, 0.2), "leave by no more"), ((4.0, 5.0), "contain reads")]
    {
        let range = Range { lo: range.0, hi: range.1 };
        let said =
            fit(&good, &FitOptions { range: Some(range), ..options() }, &Silent).unwrap_err().to_string();
        assert!(said.contains(words) && said.len() < 250, "{said}");
    }
    let still = error(&|m| m.ramps.iter_mut().for_each(|r| r.reads.iter_mut().for_each(|y| *y = 1.0)));
    assert_eq!(still, FitError::Stuck);
    let waves = error(&|m| {
        for ramp in &mut m.ramps {
            let sign = ramp.direction.sign();
            ramp.reads.iter_mut().enumerate().for_each(|(t, y)| *y = -sign * (0.062 * t as f64).cos());
        }
    });
    assert!(waves.to_string().contains("turns at its read"), "{waves}");
    let apart = error(&|m| {
        m.ramps
            .iter_mut()
            .filter(|r| r.direction == Direction::Up)
            .for_each(|r| r.reads.iter_mut().for_each(|y| *y += 50.0));
    });
    assert!(apart.to_string().contains("do not overlap"), "{apart}");
    let swapped = error(&|m| m.ramps[0].direction = Direction::Down);
    assert!(swapped.to_string().contains("swap up and down"), "{swapped}");
    let turning = error(&|m| {
        let tail = m.ramps[1].reads.clone();
        m.ramps[0].reads.extend(tail);
    });
    assert!(
        turning.to_string().contains("turns at its read") || turning.to_string().contains("goes down"),
        "{turning}"
    );
}
