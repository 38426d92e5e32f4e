//! Synthetic truth: the right family, the right kind, intervals that cover. `examples/coverage.rs` is the same at full size.

use residuum::{Key, Range};
use residuum_fit::{DeviceFit, Direction, FitError, FitOptions, PointKind, Quiet, fit, simulate_devices};

use crate::cases::{CASES, Case};

const WEIGHTS: Option<Range> = Some(Range { lo: -1.0, hi: 1.0 });

fn options() -> FitOptions {
    FitOptions { range: WEIGHTS, held_out: false, draws: 100, ..FitOptions::default() }
}

fn replica(case: &Case, devices: usize, seed: u64) -> DeviceFit {
    let key = Key::new(seed).named(case.name);
    let measured = simulate_devices(&case.devices(devices, key), case.pulses, case.cycles, key);
    fit(&measured, &options(), &Quiet).unwrap()
}

#[test]
fn families_kinds_and_intervals_are_right() {
    const REPLICAS: u64 = 4;
    let (mut families, mut kinds, mut covered, mut halved, mut intervals) = (0, 0, 0, 0, 0);
    for case in &CASES {
        for seed in 0..REPLICAS {
            let mut found = replica(case, 1, seed);
            kinds += usize::from(found.symmetric_point.kind == case.kind);
            if found.model_name() != case.family() {
                continue;
            }
            families += 1;
            let said = case.covers(&found);
            intervals += said.len();
            covered += said.iter().filter(|(_, covers)| *covers).count();
            // The twin: intervals of half the width.
            let half = |e: &mut residuum_fit::Estimate| {
                e.low = 0.5 * (e.low + e.value);
                e.high = 0.5 * (e.high + e.value);
            };
            found.parameters.iter_mut().for_each(|(_, e)| half(e));
            let noises =
                [&mut found.read_noise, &mut found.write_noise, &mut found.additive, &mut found.proportional];
            noises.into_iter().for_each(half);
            halved += case.covers(&found).iter().filter(|(_, covers)| *covers).count();
        }
    }
    let all = REPLICAS as usize * CASES.len();
    // At 2 % a wrong family is seen 0.6 times; at 1 % a wrong kind 0.3 times.
    assert!(families + 3 >= all, "{families} families of {all}");
    assert!(kinds + 2 >= all, "{kinds} kinds of {all}");
    // The intervals of a replica hang together: as if a third of them were independent.
    let share = |n: usize| n as f64 / intervals as f64;
    let tolerance = residuum::stats::Z * (0.95 * 0.05 / (intervals as f64 / 3.0)).sqrt();
    assert!(share(covered) > 0.95 - tolerance, "{covered} of {intervals}, tolerance {tolerance:.3}");
    assert!(share(halved) < 0.95 - tolerance, "half as wide: {halved} of {intervals}");
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

#[test]
fn a_fitted_device_simulated_and_fitted_again_is_the_same() {
    let first = replica(&CASES[2], 1, 9);
    let again = simulate_devices(&[first.truth()], 350, 10, Key::new(77));
    let second = fit(&again, &options(), &Quiet).unwrap();
    assert_eq!(first.model_name(), second.model_name());
    for ((name, a), (_, b)) in first.parameters.iter().zip(&second.parameters) {
        // Two estimates with errors of their own: the intervals, widened by √2 and to 4.9 deviations.
        let (wide, off) =
            (std::f64::consts::SQRT_2 * 0.5 * (b.high - b.low) * 4.9 / 1.96, (a.value - b.value).abs());
        assert!(off <= wide, "{name}: {a:?} {b:?}");
    }
    assert!(
        second.read_noise.covers(first.read_noise.value)
            || second.read_noise.value > 0.9 * first.read_noise.value
    );
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
    let mut measured = simulate_devices(&case.devices(3, key), case.pulses, case.cycles, key);
    for ramp in measured.ramps.iter_mut().filter(|r| r.device == 1) {
        let first = ramp.reads[0];
        ramp.reads.iter_mut().for_each(|y| *y = first + 1e-3 * (*y - first));
    }
    measured.ramps[0].reads[50] += 0.9;
    let found = fit(&measured, &options(), &Quiet).unwrap();
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
fn what_cannot_be_ramps_is_refused() {
    let case = &CASES[1];
    let key = Key::new(6);
    let good = simulate_devices(&case.devices(2, key), 100, 2, key);
    let error = |change: &dyn Fn(&mut residuum_fit::Measurement)| {
        let mut measured = good.clone();
        change(&mut measured);
        fit(&measured, &options(), &Quiet).unwrap_err()
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
