//! The array and the signals of AIHWKIT's reference, and reads of them.
#![allow(dead_code, missing_docs, clippy::expect_used)]

use residuum::Key;
use residuum::readout::{Readout, Scratch, Settings, Shape};
use serde_json::Value;

pub const SHAPE: Shape = Shape { rows: 16, cols: 32 };
/// Ten times the repeats of the reference, so that its error dominates.
pub const REPEATS: usize = 40_000;

pub fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../../golden/aihwkit/forward_statistics.json"))
        .expect("the reference is JSON")
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|v| v.as_f64().expect("a number")).collect()
}

pub fn weights() -> Vec<f32> {
    (0..16 * 32)
        .map(|k| {
            let (i, j) = ((k / 32) as f32, (k % 32) as f32);
            0.5 * (0.7 * i + 0.31 * j + 0.2 * i * j / 7.0).sin()
        })
        .collect()
}

pub fn forward_input() -> Vec<f32> {
    (0..32).map(|j| 0.8 * (0.5 * j as f32).cos()).collect()
}

pub fn backward_input() -> Vec<f32> {
    (0..16).map(|i| 0.3 * (1.3 * i as f32).cos()).collect()
}

/// Reads one sample `repeats` times; the outputs of each line.
pub fn lines(settings: Settings, transposed: bool, repeats: usize) -> Vec<Vec<f64>> {
    let readout = Readout::new(settings).expect("valid settings");
    let (sample, n_out) = if transposed { (backward_input(), 32) } else { (forward_input(), 16) };
    let inputs = sample.repeat(repeats);
    let mut outputs = vec![0.0; repeats * n_out];
    let (w, key, scratch) = (weights(), Key::new(11), &mut Scratch::default());
    if transposed {
        readout.read_transposed(&w, SHAPE, &inputs, key, &mut outputs, scratch);
    } else {
        readout.read(&w, SHAPE, &inputs, key, &mut outputs, scratch);
    }
    (0..n_out).map(|i| outputs[i..].iter().step_by(n_out).map(|&y| f64::from(y)).collect()).collect()
}
