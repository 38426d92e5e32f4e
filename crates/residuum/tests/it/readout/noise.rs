//! Narrow arrays share streams of noise between samples, but never draws.

use residuum::Key;
use residuum::readout::{Converter, Readout, Scratch, Settings, Shape};
use residuum::stats::Z;

const BATCH: usize = 4096;

/// Output noise alone: the reads of a tile of zeros.
fn noise(rows: usize) -> Vec<f64> {
    let output = Converter { noise: 1.0, ..Converter::default() };
    let readout = Readout::new(Settings { output, ..Settings::default() }).unwrap();
    let mut outputs = vec![0.0; BATCH * rows];
    let (weights, inputs) = (vec![0.0; rows * 3], vec![1.0; BATCH * 3]);
    let shape = Shape { rows, cols: 3 };
    readout.read(&weights, shape, &inputs, Key::new(7), &mut outputs, &mut Scratch::default());
    outputs.into_iter().map(f64::from).collect()
}

/// The largest correlation between draws of one line in samples up to 9 apart, or of neighbouring lines, in standard errors.
fn most_correlated(draws: &[f64], rows: usize) -> f64 {
    let mut most = 0.0_f64;
    for lag in (1..10).map(|samples| samples * rows).chain([1]) {
        let pairs = draws.len() - lag;
        let sum: f64 = draws.iter().zip(&draws[lag..]).map(|(a, b)| a * b).sum();
        most = most.max(sum.abs() / (pairs as f64).sqrt());
    }
    most
}

#[test]
fn samples_that_share_a_stream_share_no_draw() {
    for rows in [10, 16, 25, 32, 33, 80] {
        let draws = noise(rows);
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|y| y * y).sum::<f64>() / n;
        assert!(mean.abs() < Z / n.sqrt(), "{rows} rows: mean {mean}");
        // The draws' own variance is within 2e-5 of 1.
        assert!((variance - 1.0).abs() < Z * (2.0 / n).sqrt() + 2e-5, "{rows} rows: variance {variance}");
        let worst = most_correlated(&draws, rows);
        assert!(worst < Z, "{rows} rows: {worst} standard errors");
        // The broken twin: every second sample has the draws of the one before.
        let mut twin = draws;
        for pair in twin.chunks_exact_mut(2 * rows) {
            let (first, second) = pair.split_at_mut(rows);
            second.copy_from_slice(first);
        }
        assert!(most_correlated(&twin, rows) > 2.0 * Z, "{rows} rows");
    }
}
