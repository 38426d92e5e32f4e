//! Pulsed updates of tiles, one thread: ns per weight and sample, and per pulse.
//!
//!     cargo bench -p residuum-bench --bench tile
//!     AIHWKIT_PYTHON=…/bin/python cargo bench -p residuum-bench --bench tile      with AIHWKIT in the same run
//!
//! Regimes as in the AIHWKIT baseline: rate 0.05, x ~ U(−1, 1), d ~ s·U(−1, 1); light s = 0.02 (trains of 1), heavy
//! s = 0.6 (trains of 30). Devices carry AIHWKIT's default variation and cycle-to-cycle noise.
#![allow(clippy::print_stdout, missing_docs)]

use residuum::Key;
use residuum::tile::{CycleNoise, Device, Spread, StepModel, Tile, Trains};
use residuum_bench::best_of;
use serde_json::Value;

/// AIHWKIT's rows, measured now by the interpreter named in `AIHWKIT_PYTHON` (see `tools/aihwkit/README.md`).
fn opponent() -> Vec<Value> {
    let Ok(python) = std::env::var("AIHWKIT_PYTHON") else {
        println!("AIHWKIT: not run (AIHWKIT_PYTHON is not set)");
        return Vec::new();
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/aihwkit/bench_tiles.py");
    let output =
        std::process::Command::new(python).args([script, "--quick"]).output().expect("AIHWKIT's bench runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("AIHWKIT's bench prints JSON");
    document["rows"].as_array().cloned().unwrap_or_default()
}

fn varied(step: StepModel) -> Device {
    Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        max_spread: 0.3,
        min_spread: 0.3,
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(step, 1e-3, -0.6, 0.6)
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let linear = |slope| StepModel::Linear {
        slope_up: slope,
        slope_down: slope,
        spread: 0.05,
        own_bounds: slope == 1.0,
    };
    let exponential = StepModel::Exponential {
        amplitude: [0.00081, 0.36833],
        rate: [12.44625, 12.78785],
        stretch: 0.244,
        shift: 0.2425,
    };
    let devices = [
        ("constant", varied(StepModel::Constant)),
        ("linear", varied(linear(0.5))),
        ("soft bounds", varied(linear(1.0))),
        ("power, shape 1", varied(StepModel::Power { shape: 1.0, spread: 0.1 })),
        ("exponential", varied(exponential)),
    ];
    let measured = opponent();
    println!(
        "{:<16} {:<7} {:>10} {:>6} {:>10} {:>10} {:>10} {:>7}",
        "device", "regime", "tile", "batch", "ns/weight", "ns/pulse", "AIHWKIT", "ratio"
    );
    for (name, device) in &devices {
        for (regime, size) in [("light", 0.02), ("heavy", 0.6)] {
            for (rows, cols, batch) in [(256, 784, 10), (1024, 1024, 10)] {
                let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).expect("a tile");
                let mut signals = vec![0.0; batch * (rows + cols)];
                Key::new(2).fill_uniform(&mut signals);
                let mut signals: Vec<f32> = signals.into_iter().map(|u| 2.0 * u as f32 - 1.0).collect();
                signals[..batch * rows].iter_mut().for_each(|d| *d *= size);
                let (d, x) = signals.split_at(batch * rows);
                let mut k = 0;
                let before = tile.pulses_sent();
                let seconds = pool.install(|| {
                    best_of(5, || {
                        k += 1;
                        tile.update(-0.05, d, x, Trains::default(), Key::new(3).fold(k)).expect("an update");
                    })
                });
                let pulses = (tile.pulses_sent() - before) as f64 / k as f64;
                let visits = (rows * cols * batch) as f64;
                let ns = seconds * 1e9 / visits;
                // CPU time of AIHWKIT's best round: it favours the opponent on a busy machine.
                let theirs = measured
                    .iter()
                    .find(|r| {
                        r["name"] == *name
                            && r["regime"] == regime
                            && r["operation"] == "update"
                            && (r["rows"] == rows && r["columns"] == cols && r["batch"] == batch)
                    })
                    .and_then(|r| r["ns_cpu"].as_f64());
                let beside = theirs.map_or_else(String::new, |t| format!("{t:>10.1} {:>7.1}", t / ns));
                println!(
                    "{name:<16} {regime:<7} {:>10} {batch:>6} {ns:>10.3} {:>10.2} {beside}",
                    format!("{rows}×{cols}"),
                    seconds * 1e9 / pulses
                );
            }
        }
    }
}
