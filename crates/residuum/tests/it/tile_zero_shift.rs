//! Zero-shifting tiles of varied cells against the theory of one cell: rate, floor, noise, cost.

use residuum::Key;
use residuum::array::{Array, Calibration, Unreachable, ZeroShift};
use residuum::response::{Power, SoftBounds};
use residuum::stats::{Summary, Z};
use residuum::theory::zero_shift::CyclePrediction;
use residuum::tile::{CycleNoise, Device, Nodes, Saturation, Spread, StepModel, Stuck, Tile, presets};

const SIDE: usize = 40;
const N: usize = SIDE * SIDE;
const STEP: f32 = 0.005;
/// Where cells start, counted from their symmetric points.
const START: f32 = 0.06;

fn soft_bounds() -> StepModel {
    StepModel::soft_bounds()
}

/// No two cells alike: steps, bounds and, for soft bounds, imbalance.
fn varied(step: StepModel, noise: f32) -> Device {
    let is_power = matches!(step, StepModel::Power { .. });
    // The scale of a power step is its size at the far bound.
    let pulse_step = if is_power { STEP * 2f32.powf(1.5) } else { STEP };
    Device {
        step_spread: Spread::normal(0.15),
        imbalance_spread: if is_power { 0.0 } else { 0.1 },
        max_spread: Spread::normal(0.1),
        min_spread: Spread::normal(0.1),
        cycle_noise: CycleNoise::Multiplicative(noise),
        ..Device::ideal(step, pulse_step, -0.6, 0.6)
    }
}

fn tile(device: Device) -> Tile {
    Tile::new(SIDE, SIDE, device, Key::new(1)).unwrap()
}

fn power() -> StepModel {
    StepModel::power(1.5)
}

/// What each cell becomes, by experiment: programmed to `from`, then one pulse.
fn pulsed(tile: &Tile, from: &[f32], up: bool) -> Vec<f64> {
    let mut tile = tile.clone();
    tile.program(from, Key::new(2)).unwrap();
    let start = tile.weights().to_vec();
    tile.pulse_all(up, Key::new(3));
    tile.weights().iter().zip(&start).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect()
}

/// A cell as the theory sees it: the cycle, and the symmetric point the cycle is counted from.
struct Cell {
    cycle: CyclePrediction,
    /// W⋄ in the coordinates of the prediction minus W⋄ of the tile.
    shift: f64,
    point: f64,
}

impl Cell {
    fn middle(&self) -> f64 {
        self.point + self.cycle.midpoint_error
    }
}

/// Every cell measured on its noiseless twin (the same draw of the array) and handed to the theory.
fn cells(step: &StepModel, noise: f32, factor: f64) -> Vec<Cell> {
    let ideal = tile(varied(step.clone(), 0.0));
    let bound = |far: f32| {
        let mut tile = ideal.clone();
        tile.program(&[far; N], Key::new(2)).unwrap();
        tile.weights().to_vec()
    };
    let (max, min) = (bound(100.0), bound(-100.0));
    let centre: Vec<f32> = if matches!(step, StepModel::Power { .. }) {
        max.iter().zip(&min).map(|(a, b)| f32::midpoint(*a, *b)).collect()
    } else {
        vec![0.0; N]
    };
    let (up, down) = (pulsed(&ideal, &centre, true), pulsed(&ideal, &centre, false));
    let points = ideal.symmetric_point();
    (0..N)
        .map(|i| {
            let (max, min, noise) = (f64::from(max[i]), f64::from(min[i]), f64::from(noise));
            let (cycle, predicted) = if matches!(step, StepModel::Power { .. }) {
                let response = Power::new(1.5, 0.5 * (max - min)).unwrap();
                (CyclePrediction::new(&response, factor * up[i], noise).unwrap(), f64::from(centre[i]))
            } else {
                // Steps in units of the up step at 0.
                let response = SoftBounds::new(1.0, -down[i] / up[i], max, -min).unwrap();
                let point = residuum::ResponseFunction::symmetric_point(&response).unwrap();
                (CyclePrediction::new(&response, factor * up[i], noise).unwrap(), point)
            };
            let point = f64::from(points[i].unwrap());
            Cell { cycle, shift: predicted - point, point }
        })
        .collect()
}

/// A tile with every cell `START` above its symmetric point.
fn started(step: &StepModel, noise: f32) -> Tile {
    let mut tile = tile(varied(step.clone(), noise));
    let start: Vec<f32> = tile.symmetric_point().into_iter().map(|p| p.unwrap() + START).collect();
    tile.program(&start, Key::new(4)).unwrap();
    tile
}

#[test]
fn symmetric_points_are_where_steps_are_equal() {
    let exponential = StepModel::Exponential(Saturation::aihwkit([0.3, 0.2], [3.0, 2.5], 1.0, 0.0));
    let piecewise = StepModel::Piecewise(Nodes { up: vec![1.5, 1.0, 0.1], down: vec![0.2, 0.7, 1.4] });
    for step in [soft_bounds(), power(), exponential, piecewise] {
        let tile = tile(varied(step.clone(), 0.0));
        let points = tile.symmetric_point();
        let found = points.iter().flatten().count();
        assert!(found > N * 9 / 10, "{step:?}: {found}");
        let difference = |by: f32| {
            let at: Vec<f32> = points.iter().map(|p| p.unwrap_or(0.0) + by).collect();
            let (up, down) = (pulsed(&tile, &at, true), pulsed(&tile, &at, false));
            let sums = up.iter().zip(&down).zip(&points).filter(|(_, p)| p.is_some());
            sums.map(|((u, d), _)| (u + d).abs()).fold(0.0, f64::max)
        };
        // Two differences of f32 near 0.6, each rounded twice.
        assert!(difference(0.0) < 2.5e-7, "{step:?}: {}", difference(0.0));
        assert!(difference(0.02) > 2.5e-7, "the twin: beside the point steps differ");
    }
}

#[test]
fn devices_without_a_symmetric_point_say_so() {
    let mut tile = tile(Device::ideal(StepModel::Constant, STEP, -0.6, 0.6));
    assert!(tile.symmetric_point().iter().all(Option::is_none), "equal everywhere");
    let found = tile.zero_shift(&ZeroShift::pairs(3), Key::new(1)).unwrap();
    assert_eq!(found.error(&tile.symmetric_points()), None);
    let uneven = Device { imbalance: 0.2, ..Device::ideal(StepModel::Constant, STEP, -0.6, 0.6) };
    assert!(self::tile(uneven).symmetric_point().iter().all(Option::is_none), "equal nowhere");
}

#[test]
fn measured_cells_have_the_symmetric_points_of_the_theory() {
    for step in [soft_bounds(), power()] {
        for cell in cells(&step, 0.0, 1.0) {
            // A measured step is off by 6e-8 of 5e-3, and moves the point by at most 0.6 times that.
            assert!(cell.shift.abs() < 2.0 * 0.6 * 6e-8 / 5e-3 + 2e-7, "{step:?}: {}", cell.shift);
        }
    }
}

/// Residuals after n pairs: measured, predicted.
fn residuals(step: &StepModel, pairs: u64, factor: f64) -> (f64, f64) {
    let mut tile = started(step, 0.0);
    let found = tile.zero_shift(&ZeroShift::pairs(pairs), Key::new(5)).unwrap();
    let left = |cell: &Cell| {
        // From the state after a down pulse, half a swing below the middle.
        let error = cell.cycle.midpoint_error;
        let distance = f64::from(START) - (error - 0.5 * cell.cycle.swing());
        (error + distance * cell.cycle.contraction.powf(pairs as f64)).abs()
    };
    let predicted = cells(step, 0.0, factor).iter().map(left).sum::<f64>() / N as f64;
    let residual = found.error(&tile.symmetric_points()).unwrap();
    assert_eq!((residual.cells, found.pairs, found.pulses), (N, pairs, 2 * pairs * N as u64));
    assert!(residual.median <= residual.quantile_95 && residual.quantile_95 <= residual.max);
    (residual.mean, predicted)
}

#[test]
fn residuals_shrink_at_the_predicted_rate_to_the_predicted_floor() {
    for step in [soft_bounds(), power()] {
        for pairs in [10, 40, 100, 200, 300] {
            let (measured, predicted) = residuals(&step, pairs, 1.0);
            // The theory neglects a² per pair, a = d/0.6 the relative change of a step, and a once; power 1.5 is curved by
            // (0.06/0.6)²/24 besides.
            let a = f64::from(STEP) / 0.6;
            let moving = f64::from(START) * (-2.0 * a * pairs as f64).exp();
            let allowed =
                moving * (2.0 * a + 1.5 * a * a * pairs as f64 + 1e-3) + 4.0 * f64::from(STEP).powi(2);
            println!(
                "{step:?}, {pairs} pairs: {measured:.3e}, predicted {predicted:.3e}, allowed {allowed:.1e}"
            );
            assert!((measured - predicted).abs() < allowed);
            let (_, twin) = residuals(&step, pairs, 1.2);
            assert!(
                pairs > 100 || (measured - twin).abs() > allowed,
                "the twin: a step a fifth longer is seen"
            );
        }
    }
}

#[test]
fn without_noise_every_cell_ends_in_its_cycle() {
    for step in [soft_bounds(), power()] {
        let found = started(&step, 0.0).zero_shift(&ZeroShift::pairs(2000), Key::new(5)).unwrap();
        let bound = 4.0 * f64::from(STEP).powi(2);
        let cells = cells(&step, 0.0, 1.0);
        let worst = |of: &dyn Fn(&Cell) -> f64| {
            found
                .symmetric_point
                .iter()
                .zip(&cells)
                .map(|(w, c)| (f64::from(*w) - of(c)).abs())
                .fold(0.0, f64::max)
        };
        assert!(worst(&Cell::middle) < bound, "{step:?}: {}", worst(&Cell::middle));
        // The twin: for uneven cells the floor is not the symmetric point itself.
        assert!(!matches!(step, StepModel::Linear { .. }) || worst(&|c| c.point) > bound);
    }
}

/// Variance of the mean of `n` successive states of an autoregression of unit variance.
fn averaging(contraction: f64, n: f64) -> f64 {
    let forgotten = 1.0 - contraction;
    ((1.0 + contraction) / forgotten
        - 2.0 * contraction * (1.0 - contraction.powf(n)) / (n * forgotten * forgotten))
        / n
}

#[test]
fn noise_leaves_the_predicted_deviation_and_averaging_takes_it_down() {
    for step in [soft_bounds(), power()] {
        for (noise, averaged) in [(0.3f32, 1u64), (1.0, 1), (0.3, 50), (0.3, 400)] {
            let settings = ZeroShift { averaged, ..ZeroShift::pairs(800 + averaged) };
            let found = started(&step, noise).zero_shift(&settings, Key::new(6)).unwrap();
            let scaled = |noise: f32| {
                let cells = cells(&step, noise, 1.0);
                Summary::of(found.symmetric_point.iter().zip(&cells).map(|(w, c)| {
                    let variance = averaging(c.cycle.contraction, averaged as f64);
                    (f64::from(*w) - c.middle()) / (c.cycle.deviation * variance.sqrt())
                }))
            };
            let (summary, n) = (scaled(noise), N as f64);
            // The theory neglects terms of relative size a(1 + σ²), in the mean as well.
            let neglected = 2.0 * f64::from(STEP) / 0.6 * (1.0 + f64::from(noise * noise));
            let allowed = Z / (2.0 * n).sqrt() + neglected;
            println!("{step:?}, noise {noise}, {averaged} averaged: {summary}, std {:.3}", summary.std);
            assert!(summary.agrees(0.0, neglected), "{step:?}, {noise}, {averaged}: {summary}");
            assert!((summary.std - 1.0).abs() < allowed, "{step:?}, {noise}, {averaged}: {}", summary.std);
            assert!((scaled(1.3 * noise).std - 1.0).abs() > allowed, "the twin: other noise is seen");
        }
    }
}

/// Reads see write noise, cells do not: the estimate has its deviation over the root of the reads, and nothing else.
#[test]
fn write_noise_blurs_the_estimate_and_not_the_cells() {
    let device = Device { write_noise: 20.0, ..varied(soft_bounds(), 0.0) };
    let mut tile = tile(device);
    tile.count_pulses(true);
    let settings = ZeroShift { averaged: 50, ..ZeroShift::pairs(1000) };
    let found = tile.zero_shift(&settings, Key::new(9)).unwrap();
    let cells = cells(&soft_bounds(), 0.0, 1.0);
    let blur = Summary::of(found.symmetric_point.iter().zip(&cells).map(|(w, c)| f64::from(*w) - c.middle()));
    let predicted = f64::from(20.0 * STEP) / 100f64.sqrt();
    let allowed = Z / (2.0 * N as f64).sqrt();
    assert!((blur.std / predicted - 1.0).abs() < allowed, "{} {predicted}", blur.std);
    assert!((blur.std / (1.3 * predicted) - 1.0).abs() > allowed, "the twin: more noise is seen");
    for (w, cell) in tile.hidden().iter().zip(&cells) {
        let after_down = cell.middle() - 0.5 * cell.cycle.swing();
        assert!((f64::from(*w) - after_down).abs() < 4.0 * f64::from(STEP).powi(2));
    }
    let ledger = tile.ledger().unwrap();
    assert_eq!((ledger.up, ledger.down, ledger.worst_cell()), (1000 * N as u64, 1000 * N as u64, 2000));
}

#[test]
fn pulses_stop_when_cells_stand_still() {
    let settings = ZeroShift { averaged: 10, tolerance: Some(1e-5), ..ZeroShift::pairs(5000) };
    let found = started(&soft_bounds(), 0.0).zero_shift(&settings, Key::new(7)).unwrap();
    assert!(found.pairs < 1000 && found.pairs.is_multiple_of(10), "{}", found.pairs);
    assert_eq!(found.pulses, 2 * found.pairs * N as u64);
    let cells = cells(&soft_bounds(), 0.0, 1.0);
    let left: f64 = found
        .symmetric_point
        .iter()
        .zip(&cells)
        .map(|(w, c)| (f64::from(*w) - c.middle()).abs() * (1.0 - c.cycle.contraction))
        .sum::<f64>()
        / N as f64;
    // What is left to go is the movement per pair over 1 − λ; the cycle is known to d².
    let cycle = 4.0 * f64::from(STEP).powi(2) * 2.0 * f64::from(STEP) / 0.6;
    assert!(left < 1e-5 + cycle, "{left:.2e}");
    let looser = ZeroShift { tolerance: Some(1e-4), ..settings };
    let early = started(&soft_bounds(), 0.0).zero_shift(&looser, Key::new(7)).unwrap();
    assert!(early.pairs < found.pairs);
    // ln 10 more at 1 − λ ≈ 2a per pair, faster and slower cells apart.
    let more = (found.pairs - early.pairs) as f64 / (10f64.ln() * 0.6 / (2.0 * f64::from(STEP)));
    assert!((0.8..1.4).contains(&more), "{more}");
}

#[test]
fn a_subtracted_symmetric_point_leaves_the_spread_of_the_reference() {
    let tile = Tile::new(64, 64, presets::reram_array_om(), Key::new(8)).unwrap();
    let points: Vec<f64> = tile.symmetric_point().into_iter().flatten().map(f64::from).collect();
    let summary = Summary::of(points.iter().copied());
    assert!(summary.n > 4000, "{}", summary.n);
    assert!(summary.agrees(0.0, 0.0), "{summary}");
    assert!((summary.std / 0.05 - 1.0).abs() < Z / (2.0 * summary.n as f64).sqrt(), "{}", summary.std);
}

#[test]
fn settings_and_residuals_are_checked() {
    let mut tile = tile(varied(soft_bounds(), 0.3));
    let mut message = |pairs, averaged, tolerance| {
        let settings = ZeroShift { averaged, tolerance, ..ZeroShift::pairs(pairs) };
        tile.zero_shift(&settings, Key::new(1)).unwrap_err().to_string()
    };
    assert_eq!(message(5, 6, None), "averaged must be between 1 and the number of pairs, got 6");
    assert_eq!(message(0, 0, None), "averaged must be between 1 and the number of pairs, got 0");
    assert_eq!(message(5, 1, Some(0.0)), "tolerance must be positive and finite, got 0");
    assert_eq!(tile.pulses_sent(), 0);
    let found = |symmetric_point: Vec<f32>| {
        let (swing, gain) = (Vec::new(), Vec::new());
        Calibration { symmetric_point, swing, gain, pairs: 1, pulses: 0 }
    };
    let truth = [Some(0.5), Some(4.0), Some(4.0), None];
    let residual = found(vec![1.0, 2.0, 5.0, 9.0]).error(&truth).unwrap();
    assert_eq!((residual.cells, residual.median, residual.max), (3, 1.0, 2.0));
    assert!((residual.mean - 3.5 / 3.0).abs() < 1e-12);
    assert_eq!(found(vec![1.0]).error(&[None]), None);
}

/// Where up steps grow and down steps shrink, pulses drive a cell away from where they are equal.
fn repelling() -> Device {
    let step = StepModel::Piecewise(Nodes { up: vec![0.5, 1.0, 1.5], down: vec![1.5, 1.0, 0.5] });
    Device::ideal(step, STEP, -0.6, 0.6)
}

#[test]
fn a_point_that_does_not_exist_is_not_known() {
    let refused = |device: Device| tile(device).known_symmetric_points().unwrap_err().to_string();
    let message = refused(repelling());
    assert!(
        message.starts_with(&format!("{N} of {N} cells have no symmetric point: of cell 0, ")),
        "{message}"
    );
    assert!(message.contains("but pulses drive it away from there"), "{message}");
    let uneven = Device { imbalance: 0.2, ..Device::ideal(StepModel::Constant, STEP, -0.6, 0.6) };
    assert!(refused(uneven).contains("equal nowhere in its range"));
    // Twins: a point that attracts, and cells in which every state is symmetric.
    assert_eq!(tile(Device::paper_power(1.0, 0.6, STEP)).known_symmetric_points().unwrap(), vec![0.0; N]);
    let even = Device::ideal(StepModel::Constant, STEP, -0.6, 0.6);
    assert_eq!(tile(even.clone()).known_symmetric_points().unwrap(), vec![0.0; N]);
    let stuck = Device { stuck: Some(Stuck { probability: 1.0, range: 0.5 }), ..even };
    let tile = tile(stuck);
    assert_eq!(tile.known_symmetric_points().unwrap(), tile.weights(), "a stuck cell is where it is");
}

#[test]
fn weights_beyond_a_cell_are_counted() {
    let tile = Tile::new(1, 4, Device::paper_power(1.0, 0.6, STEP), Key::new(1)).unwrap();
    let beyond = Unreachable::of(&tile, &[0.6, 0.61, -0.9, 0.0], |_| 2.0);
    assert_eq!(beyond, Unreachable { cells: 2, largest: -1.8 });
    assert_eq!(Unreachable::of(&tile, &[0.6, -0.6, 0.1, 0.0], |_| 1.0), Unreachable { cells: 0, largest: 0.0 });
}
