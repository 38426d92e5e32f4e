//! What tiles do where it is known exactly: small pulses follow the flow, trains on constant cells are SGD, and the
//! expected update is the operator of the core.

use residuum::response::{Exponential, Power, SoftBounds, Tabulated};
use residuum::stats::Z;
use residuum::theory::pulse_flow::{flow, flow_minus_step, pulses_minus_flow};
use residuum::tile::{Device, Scheme, StepModel, Tile, Trains};
use residuum::{Array, ExactArray, Key, ResponseFunction};

fn soft_bounds() -> SoftBounds {
    SoftBounds::new(1.0, 0.8, 1.25, 1.0).unwrap()
}

fn measured() -> Tabulated {
    Tabulated::new(&[-1.0, -0.4, 0.1, 0.5, 1.0], &[1.7, 1.4, 0.9, 0.6, 0.0], &[0.1, 0.5, 1.1, 1.2, 1.6])
        .unwrap()
}

/// Noiseless devices with pulses of `step`, and the core's response of the same curve.
fn devices(step: f32) -> Vec<(Device, Box<dyn ResponseFunction>)> {
    let slopes = StepModel::soft_bounds();
    vec![
        (Device::paper_power(1.0, 1.0, step), Box::new(Power::new(1.0, 1.0).unwrap())),
        (Device::paper_power(2.0, 1.0, step), Box::new(Power::new(2.0, 1.0).unwrap())),
        (Device::paper_power(0.5, 1.0, step), Box::new(Power::new(0.5, 1.0).unwrap())),
        (Device::paper_exponential(2.0, 1.0, step).unwrap(), Box::new(Exponential::new(2.0, 1.0).unwrap())),
        (Device { imbalance: 0.2, ..Device::ideal(slopes, step, -1.0, 1.25) }, Box::new(soft_bounds())),
        (Device::from_response(&measured(), step).unwrap(), Box::new(measured())),
    ]
}

/// Where a cell at `w` ends after |desired|/step pulses.
fn by_pulses(device: &Device, w: f32, desired: f64) -> f64 {
    let mut tile = Tile::new(1, 1, device.clone(), Key::new(1)).unwrap();
    tile.program(&[w], Key::new(1)).unwrap();
    let n = (desired.abs() / f64::from(device.granularity())).round() as u64;
    for k in 0..n {
        tile.pulse_all(desired > 0.0, Key::new(2).fold(k));
    }
    assert_eq!(tile.pulses_sent(), n);
    f64::from(tile.weights()[0])
}

/// As pulses get smaller their end tends to the flow, with the first order.
#[test]
fn pulses_tend_to_the_flow() {
    let w = 0.25f32;
    for desired in [0.3, -0.3] {
        let error = |step: f32| -> Vec<f64> {
            let ends = devices(step).into_iter();
            ends.map(|(device, core)| by_pulses(&device, w, desired) - flow(&*core, f64::from(w), desired))
                .collect()
        };
        let (coarse, fine) = (error(4e-3), error(1e-3));
        for (k, (_, core)) in devices(1e-3).iter().enumerate() {
            // d|Δ|/2 times the largest q q' of these curves on the way, 4.
            assert!(fine[k].abs() < 6e-4, "{}: {}", core.describe(), fine[k]);
            let ratio = coarse[k] / fine[k];
            assert!((ratio - 4.0).abs() < 0.3, "{}: error ratio {ratio}", core.describe());
        }
    }
}

/// The leading term of pulses minus flow, and of flow minus one scaled step, which does not vanish with the pulse.
#[test]
fn short_trains_follow_the_leading_term() {
    let (w, step) = (0.25f32, 5e-4f32);
    for (device, core) in devices(step) {
        for desired in [0.02, -0.02] {
            let start = f64::from(w);
            let (end, exact) = (by_pulses(&device, w, desired), flow(&*core, start, desired));
            let predicted = pulses_minus_flow(&*core, start, desired, f64::from(step));
            let found = end - exact;
            // 15 % for the next order, and rounding of 40 steps.
            let rounding = 40.0 * f64::from(f32::EPSILON) / 8.0;
            let allowed = 0.15 * predicted.abs() + rounding;
            assert!((found - predicted).abs() < allowed, "{}: {found} {predicted}", core.describe());
            // The twin: the expected update is one step of the response at the start.
            let mut tile = Tile::new(1, 1, device.clone(), Key::new(1)).unwrap();
            tile.program(&[w], Key::new(1)).unwrap();
            tile.write_matrix(1.0, &[desired as f32], Scheme::Expected, Key::new(1)).unwrap();
            let once = f64::from(tile.weights()[0]);
            let predicted = flow_minus_step(&*core, start, desired);
            assert!((exact - once - predicted).abs() < 0.15 * predicted.abs() + 1e-6, "{}", core.describe());
            assert!((once - end).abs() > 5.0 * (end - exact).abs(), "one step passes for pulses");
        }
    }
}

/// Some updates: batches of row and column signals, with the sum of what is desired and of its magnitude.
struct Run {
    signals: Vec<(Vec<f32>, Vec<f32>)>,
    desired: Vec<f64>,
    length: Vec<f64>,
}

const SIDE: usize = 24;
const RATE: f32 = 0.01;

fn run() -> Run {
    let draw = |name: &str, k: u64| -> Vec<f32> {
        let key = Key::new(5).named(name).fold(k);
        (0..2 * SIDE).map(|i| key.uniform_at(i as u64) as f32 * 1.2 - 0.2).collect()
    };
    let signals: Vec<_> = (0..150).map(|k| (draw("rows", k), draw("cols", k))).collect();
    let (mut desired, mut length) = (vec![0.0; SIDE * SIDE], vec![0.0; SIDE * SIDE]);
    for (d, x) in &signals {
        for (d, x) in d.chunks(SIDE).zip(x.chunks(SIDE)) {
            for cell in 0..SIDE * SIDE {
                let one = f64::from(-RATE) * f64::from(d[cell / SIDE]) * f64::from(x[cell % SIDE]);
                desired[cell] += one;
                length[cell] += one.abs();
            }
        }
    }
    Run { signals, desired, length }
}

/// The largest distance from the desired weights in units of what is allowed, which `allowed` makes of a path's length.
fn distance(run: &Run, scheme: Scheme, allowed: impl Fn(f64) -> f64) -> f64 {
    let device = Device::ideal(StepModel::Constant, 1e-3, -10.0, 10.0);
    let mut tile = Tile::new(SIDE, SIDE, device, Key::new(6)).unwrap();
    for (k, (d, x)) in (0u64..).zip(&run.signals) {
        tile.write(-RATE, d, x, scheme, Key::new(7).fold(k)).unwrap();
    }
    let cells = tile.weights().iter().zip(&run.desired).zip(&run.length);
    cells.map(|((w, d), length)| (f64::from(*w) - d).abs() / allowed(*length)).fold(0.0, f64::max)
}

/// Constant cells: pulses have the mean of SGD. A count of mean n has a variance of at most n, so a path of length l
/// made of steps s has the variance l·s.
#[test]
fn trains_on_constant_cells_are_sgd() {
    let run = run();
    let noise = |length: f64| Z * (length * 1e-3).sqrt() + 1e-6;
    let found = distance(&run, Scheme::default(), noise);
    assert!(found < 1.0, "{found}");
    // The test would see it: trains too short for the update lose a part of it.
    let short = Trains { length: 2, ..Trains::default() };
    assert!(distance(&run, Scheme::Stochastic(short), noise) > 1.0);
    // 300 samples, each rounded to single precision at weights below 1.
    let rounding = |length: f64| 300.0 * f64::from(f32::EPSILON) * (0.25 + length);
    let found = distance(&run, Scheme::Expected, rounding);
    assert!(found < 1.0, "{found}");
    assert!(distance(&run, Scheme::Deterministic(Trains::default()), rounding) > 1.0);
}

/// Largest distance of 200 expected updates of a tile from the array of the core with that response.
fn from_the_core(device: &Device, core: impl ResponseFunction + 'static) -> f64 {
    let (rows, cols) = (6, 7);
    let start: Vec<f32> = (0..rows * cols).map(|i| (i as f32 / 21.0 - 1.0) * 0.8).collect();
    let wide: Vec<f64> = start.iter().map(|w| f64::from(*w)).collect();
    let mut array = ExactArray::uniform(&wide, core).unwrap();
    let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).unwrap();
    tile.program(&start, Key::new(1)).unwrap();
    for k in 0..200 {
        let direction: Vec<f32> =
            (0..rows * cols).map(|i| Key::new(8).fold(k).uniform_at(i as u64) as f32 * 2.0 - 1.0).collect();
        let wide: Vec<f64> = direction.iter().map(|d| f64::from(*d)).collect();
        array.increment(f64::from(0.05f32), &wide, Key::new(1)).unwrap();
        tile.write_matrix(0.05, &direction, Scheme::Expected, Key::new(1)).unwrap();
    }
    assert_eq!(tile.pulses_sent(), 0);
    tile.weights().iter().zip(array.weights()).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_expected_update_is_the_cores() {
    // Each step rounds the weight to 2⁻²⁵ and takes a response that is within 2e-6: 200·3e-8 + 200·0.05·2e-6, which the
    // pull to the symmetric point shortens.
    let allowed = 2e-5;
    let power = |shape: f64| Power::new(shape, 1.0).unwrap();
    let pairs = [
        ("power 1", from_the_core(&Device::paper_power(1.0, 1.0, 1e-3), power(1.0))),
        ("power 2", from_the_core(&Device::paper_power(2.0, 1.0, 1e-3), power(2.0))),
        ("exponential", {
            let device = Device::paper_exponential(2.0, 1.0, 1e-3).unwrap();
            from_the_core(&device, Exponential::new(2.0, 1.0).unwrap())
        }),
        ("soft bounds", from_the_core(&devices(1e-3)[4].0, soft_bounds())),
        (
            "soft bounds, table",
            from_the_core(&Device::from_response(&soft_bounds(), 1e-3).unwrap(), soft_bounds()),
        ),
        ("tabulated", from_the_core(&Device::from_response(&measured(), 1e-3).unwrap(), measured())),
        ("its own response", {
            let device = Device { imbalance: -0.3, ..Device::paper_power(1.7, 1.0, 2e-3) };
            from_the_core(&device, device.response().unwrap())
        }),
    ];
    for (name, found) in pairs {
        assert!(found < allowed, "{name}: {found}");
    }
    let twin = from_the_core(&Device::paper_power(1.01, 1.0, 1e-3), power(1.0));
    assert!(twin > 10.0 * allowed, "a shape 1 % off passes: {twin}");
}
