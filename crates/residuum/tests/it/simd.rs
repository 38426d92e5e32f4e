//! The instruction set changes no bit.

use residuum::readout::{Readout, Scratch, Settings, Shape};
use residuum::simd::at;
use residuum::tile::{
    CycleNoise, Device, Exponents, Nodes, Saturation, Scheme, Slopes, Spread, StepModel, Tile, Trains,
};
use residuum::{Array, ExactArray, Key, ResponseFunction};

use super::levels::levels;

/// Ragged in both directions.
const SHAPE: Shape = Shape { rows: 13, cols: 171 };

fn updated(step: &StepModel, noise: CycleNoise, write_noise: f32) -> Vec<u32> {
    let device = Device {
        step_spread: Spread::normal(0.3),
        max_spread: Spread::normal(0.2),
        min_spread: Spread::normal(0.2),
        cycle_noise: noise,
        write_noise,
        ..Device::ideal(step.clone(), 1e-3, -0.6, 0.6)
    };
    let mut tile = Tile::new(SHAPE.rows, SHAPE.cols, device, Key::new(1)).unwrap();
    let x: Vec<f32> = (0..2 * SHAPE.cols).map(|j| (0.37 * j as f32).sin()).collect();
    for (k, (size, scheme)) in [
        (0.02, Scheme::Stochastic(Trains::default())),
        (0.6, Scheme::Stochastic(Trains::default())),
        (0.3, Scheme::Deterministic(Trains::default())),
        (0.3, Scheme::Expected),
    ]
    .into_iter()
    .enumerate()
    {
        let d: Vec<f32> = (0..2 * SHAPE.rows).map(|i| size * (0.9 * i as f32).cos()).collect();
        tile.write(0.05, &d, &x, scheme, Key::new(2).fold(k as u64)).unwrap();
        let column: Vec<f32> = d[..SHAPE.rows].to_vec();
        tile.write_column(7 * k, 0.05, &column, scheme, Key::new(3).fold(k as u64)).unwrap();
        let matrix: Vec<f32> = (0..tile.weights().len()).map(|i| 0.1 * (0.1 * i as f32).sin()).collect();
        tile.write_matrix(0.05, &matrix, scheme, Key::new(4).fold(k as u64)).unwrap();
    }
    tile.weights().iter().map(|w| w.to_bits()).collect()
}

fn read() -> Vec<u32> {
    let weights: Vec<f32> = (0..SHAPE.rows * SHAPE.cols).map(|i| 0.3 * (0.7 * i as f32).sin()).collect();
    let x: Vec<f32> = (0..3 * SHAPE.cols).map(|j| (0.37 * j as f32).sin()).collect();
    let mut bits = Vec::new();
    for settings in [Settings::default(), Settings::aihwkit()] {
        let readout = Readout::new(settings).unwrap();
        let (mut y, mut back) = (vec![0.0; 3 * SHAPE.rows], vec![0.0; 3 * SHAPE.cols]);
        readout.read(&weights, SHAPE, &x, Key::new(5), &mut y, &mut Scratch::default());
        readout.read_transposed(&weights, SHAPE, &y, Key::new(6), &mut back, &mut Scratch::default());
        bits.extend(y.iter().chain(&back).map(|v| v.to_bits()));
    }
    bits
}

fn expected(response: impl ResponseFunction + 'static) -> Vec<u64> {
    let start: Vec<f64> = (0..101).map(|i| 0.5 * f64::from(i).sin()).collect();
    let direction: Vec<f64> = (0..101).map(|i| (0.3 * f64::from(i)).cos()).collect();
    let mut array = ExactArray::uniform(&start, response).unwrap();
    for _ in 0..20 {
        array.increment(0.01, &direction, Key::new(1)).unwrap();
    }
    array.weights().iter().map(|w| w.to_bits()).collect()
}

#[test]
fn the_instruction_set_changes_no_bit() {
    let linear = StepModel::Linear(Slopes { slope: [1.0, 0.7], ..Slopes::soft_bounds() });
    let spread = Exponents { spread: Spread::normal(0.1), ..Exponents::new(1.7) };
    let exponential =
        StepModel::Exponential(Saturation::aihwkit([0.00081, 0.36833], [12.44625, 12.78785], 0.244, 0.2425));
    let models = [
        StepModel::Constant,
        linear,
        StepModel::Power(spread),
        StepModel::Power(Exponents { imbalance: 0.3, imbalance_spread: 0.1, ..spread }),
        exponential,
        StepModel::Piecewise(Nodes { up: vec![1.5, 0.8, 0.2], down: vec![0.1, 1.2, 1.1] }),
    ];
    for (level, _) in levels("the_instruction_set_changes_no_bit") {
        for step in &models {
            for (noise, write) in [
                (CycleNoise::Multiplicative(0.3), 0.0),
                (CycleNoise::Additive(0.3), 2.0),
                (CycleNoise::Complex { deviation: 0.6, offset: 0.01, slope: 0.1 }, 0.0),
            ] {
                let widest = updated(step, noise, write);
                assert!(at(level, || updated(step, noise, write)) == widest, "{level:?}, {step:?}, {noise:?}");
            }
        }
        assert!(at(level, read) == read(), "{level:?}: reads");
        let power = || residuum::response::Power::new(1.7, 1.0).unwrap();
        assert_eq!(at(level, || expected(power())), expected(power()), "{level:?}");
        let normals = || {
            let mut out = [0.0; 100];
            Key::new(9).fill_normal(&mut out);
            out.map(f64::to_bits)
        };
        assert_eq!(at(level, normals), normals(), "{level:?}");
    }
}
