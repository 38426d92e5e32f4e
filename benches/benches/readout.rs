//! Cost of analog reads on one core, beside the product alone and beside AIHWKIT.
//!
//!     cargo bench -p residuum-bench --bench readout
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;

use residuum::Key;
use residuum::readout::{BoundManagement, Readout, Scratch, Settings, Shape};
use residuum_bench::best_of;

/// Rows, columns, batch, and AIHWKIT 1.1.0's best forward and backward in ns per weight × sample: recorded elsewhere
/// (another machine: an AMD EPYC with AVX2, one thread, CPU time, default `IOParameters`), so compare orders only.
const CASES: [(usize, usize, usize, f64, f64); 7] = [
    (256, 784, 1, 0.118, 0.141),
    (256, 784, 10, 0.0867, 0.120),
    (256, 784, 128, 0.0953, 0.127),
    (512, 512, 10, 0.0998, 0.0973),
    (1024, 1024, 10, 0.0822, 0.081),
    (1024, 1024, 128, 0.0986, 0.0849),
    (32, 400, 128, 0.142, 0.393),
];

type Read = fn(&Readout, &[f32], Shape, &[f32], Key, &mut [f32], &mut Scratch);

fn main() {
    println!("Analog reads, f32, one core: ns per weight × sample (best of 25)");
    println!("AIHWKIT's defaults: 126 and 510 steps, output noise 0.06, abs-max, iterative bounds (forward)\n");
    println!(
        "{:<18} {:<9} {:>8} {:>8} {:>9} {:>22} {:>7}",
        "shape, batch", "direction", "product", "read", "overhead", "AIHWKIT (recorded", "ratio"
    );
    println!("{:<18} {:<9} {:>8} {:>8} {:>9} {:>22}", "", "", "alone", "", "", "elsewhere)");
    let ideal = Readout::default();
    let managed = Readout::new(Settings::aihwkit()).expect("valid");
    let unmanaged = Settings { bound_management: BoundManagement::None, ..Settings::aihwkit() };
    let unmanaged = Readout::new(unmanaged).expect("valid");
    for (rows, cols, batch, forward, backward) in CASES {
        let shape = Shape { rows, cols };
        let directions: [(&str, Read, usize, usize, &Readout, f64); 2] = [
            ("forward", Readout::read, cols, rows, &managed, forward),
            ("backward", Readout::read_transposed, rows, cols, &unmanaged, backward),
        ];
        for (name, read, n_in, n_out, readout, recorded) in directions {
            // Weights so small that no sum comes near the bound: bound management looks, but repeats nothing.
            let weights = uniform(Key::new(1), rows * cols, 0.2);
            let inputs = uniform(Key::new(2), batch * n_in, 1.0);
            let mut outputs = vec![0.0; batch * n_out];
            let mut scratch = Scratch::default();
            let mut time = |readout: &Readout| {
                let calls = (1 << 24) / (rows * cols * batch) + 1;
                let mut k = 0;
                let seconds = best_of(25, || {
                    for _ in 0..calls {
                        k += 1;
                        read(readout, &weights, shape, &inputs, Key::new(k), &mut outputs, &mut scratch);
                        black_box(&mut outputs);
                    }
                });
                seconds * 1e9 / (calls * rows * cols * batch) as f64
            };
            let (alone, ours) = (time(&ideal), time(readout));
            println!(
                "{:<18} {name:<9} {alone:8.4} {ours:8.4} {:8.2}× {recorded:22.4} {:6.1}×",
                format!("{rows}×{cols}, {batch}"),
                ours / alone,
                recorded / ours,
            );
        }
    }
    columns(&managed);
}

/// One-hot transfer reads: a strided copy instead of a product.
fn columns(readout: &Readout) {
    let shape = Shape { rows: 512, cols: 512 };
    let weights = uniform(Key::new(1), 512 * 512, 0.5);
    let mut outputs = vec![0.0; 512];
    let mut scratch = Scratch::default();
    let column = best_of(25, || {
        for j in 0..512 {
            readout.read_column(&weights, shape, j, Key::new(j as u64), &mut outputs, &mut scratch);
            black_box(&mut outputs);
        }
    });
    let mut one_hot = vec![0.0; 512];
    let full = best_of(25, || {
        for j in 0..512 {
            one_hot.fill(0.0);
            one_hot[j] = 1.0;
            readout.read(&weights, shape, &one_hot, Key::new(j as u64), &mut outputs, &mut scratch);
            black_box(&mut outputs);
        }
    });
    let per_read = 1e6 / 512.0;
    println!(
        "\nOne column of 512×512: {:.2} µs as a column, {:.2} µs as a one-hot read",
        column * per_read,
        full * per_read
    );
}

fn uniform(key: Key, n: usize, magnitude: f64) -> Vec<f32> {
    let mut out = vec![0.0; n];
    key.fill_uniform(&mut out);
    out.into_iter().map(|u| (magnitude * (2.0 * u - 1.0)) as f32).collect()
}
