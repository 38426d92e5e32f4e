//! Analog reads on one thread: ns per weight and sample, beside AIHWKIT in the same run and beside what the machine allows.
//!
//!     cargo bench -p residuum-bench --bench readout
//!     AIHWKIT_PYTHON=…/bin/python cargo bench -p residuum-bench --bench readout      with AIHWKIT in the same run
//!
//! Default converters are AIHWKIT's: 126 and 510 steps, output noise 0.06, abs-max noise management, iterative bound
//! management forward. The floor of a read is the larger of its multiply–adds at the measured peak and its bytes at the
//! measured speed of a working set of that size, plus its random numbers at their measured cost.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;

use residuum::Key;
use residuum::readout::{BoundManagement, Converter, Readout, Scratch, Settings, Shape};
use residuum_bench::best_of;
use residuum_bench::machine::multiply_add;
use serde_json::Value;

const SHAPES: [(usize, usize); 4] = [(256, 784), (512, 512), (1024, 1024), (32, 400)];
const BATCHES: [usize; 3] = [1, 10, 128];
/// AIHWKIT 1.1.0's OpenBLAS does not know CPUs newer than itself and falls back to plain C there. It is told each of
/// these, and the faster counts.
const CORES: [&str; 2] = ["Haswell", "SkylakeX"];

type Read = fn(&Readout, &[f32], Shape, &[f32], Key, &mut [f32], &mut Scratch);

fn main() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool(1).install(|| {
        let theirs = opponent();
        let machine = Machine::measure();
        println!(
            "\nns per weight and sample, one thread, best of many calls. Peak {:.4} ns per multiply–add, {:.2} ns per normal draw\n",
            machine.multiply_add, machine.normal
        );
        println!(
            "{:<10} {:<8} {:<9} {:>5} {:>8} {:>8} {:>6} {:>8} {:>6}",
            "converters", "", "tile", "batch", "ours", "AIHWKIT", "ratio", "floor", "of it"
        );
        for name in ["default IO", "ideal"] {
            for (rows, cols) in SHAPES {
                for batch in BATCHES {
                    for operation in ["forward", "backward"] {
                        row(name, operation, Shape { rows, cols }, batch, &theirs, &machine);
                    }
                }
            }
        }
        columns();
    });
    println!("\nThreads, default converters, forward: time on one thread over time on n");
    for (rows, cols, batch) in [(1024, 1024, 1), (1024, 1024, 10), (1024, 1024, 128), (256, 784, 128)] {
        let case = Case::new("default IO", "forward", Shape { rows, cols }, batch);
        let alone = pool(1).install(|| case.time());
        let many = rayon::current_num_threads();
        let together = pool(many).install(|| case.time());
        println!("{:<10} batch {batch:>3}: {:.2} on {many}", format!("{rows}×{cols}"), alone / together);
    }
}

fn row(name: &str, operation: &str, shape: Shape, batch: usize, theirs: &[Value], machine: &Machine) {
    let case = Case::new(name, operation, shape, batch);
    let ours = case.time();
    let (floor, tile) = (machine.floor(&case), format!("{}×{}", shape.rows, shape.cols));
    let beside = theirs
        .iter()
        .filter(|r| {
            r["name"] == name
                && r["operation"] == operation
                && r["rows"] == shape.rows
                && (r["columns"] == shape.cols && r["batch"] == batch)
        })
        .flat_map(|r| [&r["ns"], &r["ns_cpu"]])
        .filter_map(Value::as_f64)
        .reduce(f64::min);
    let beside =
        beside.map_or_else(|| format!("{:>8} {:>6}", "", ""), |t| format!("{t:>8.4} {:>5.1}×", t / ours));
    println!(
        "{name:<10} {operation:<8} {tile:<9} {batch:>5} {ours:>8.4} {beside} {floor:>8.4} {:>5.0}%",
        100.0 * floor / ours
    );
}

/// One read to be timed.
struct Case {
    readout: Readout,
    read: Read,
    shape: Shape,
    batch: usize,
    n_in: usize,
    n_out: usize,
    magnitude: f64,
}

impl Case {
    fn new(name: &str, operation: &str, shape: Shape, batch: usize) -> Self {
        let forward = operation == "forward";
        let mut settings = if name == "ideal" { Settings::default() } else { Settings::aihwkit() };
        if !forward {
            settings.bound_management = BoundManagement::None;
        }
        let (n_in, n_out) = if forward { (shape.cols, shape.rows) } else { (shape.rows, shape.cols) };
        let read: Read = if forward { Readout::read } else { Readout::read_transposed };
        let magnitude = if forward { 1.0 } else { 0.1 };
        Self {
            readout: Readout::new(settings).expect("valid settings"),
            read,
            shape,
            batch,
            n_in,
            n_out,
            magnitude,
        }
    }

    /// Nanoseconds per weight and sample.
    fn time(&self) -> f64 {
        let weights = uniform(Key::new(1), self.n_in * self.n_out, 0.2);
        let inputs = uniform(Key::new(2), self.batch * self.n_in, self.magnitude);
        let mut outputs = vec![0.0; self.batch * self.n_out];
        let mut scratch = Scratch::default();
        let work = self.n_in * self.n_out * self.batch;
        let calls = (1 << 22) / work + 1;
        let mut k = 0;
        let seconds = best_of(40, || {
            for _ in 0..calls {
                k += 1;
                let key = Key::new(k);
                (self.read)(&self.readout, &weights, self.shape, &inputs, key, &mut outputs, &mut scratch);
                black_box(&mut outputs);
            }
        });
        seconds * 1e9 / (calls * work) as f64
    }
}

/// What the machine can do, in nanoseconds.
struct Machine {
    multiply_add: f64,
    normal: f64,
}

impl Machine {
    fn measure() -> Self {
        // A normal draw is what noise adds to reads of an array with a single input.
        let reads = |noise| {
            let output = Converter { noise, ..Converter::default() };
            // A bound keeps the read without noise from the shortcut of ideal reads.
            let input = Converter { bound: Some(2.0), ..Converter::default() };
            let readout =
                Readout::new(Settings { input, output, ..Settings::default() }).expect("valid settings");
            let (weights, inputs, mut outputs) = (vec![0.1; 4096], vec![0.5; 8], vec![0.0; 8 * 4096]);
            let (shape, mut scratch) = (Shape { rows: 4096, cols: 1 }, Scratch::default());
            best_of(50, || {
                readout.read(&weights, shape, &inputs, Key::new(1), &mut outputs, &mut scratch);
                black_box(&mut outputs);
            })
        };
        Self { multiply_add: multiply_add(), normal: (reads(0.1) - reads(0.0)) * 1e9 / (8.0 * 4096.0) }
    }

    /// The least time of a read, per weight and sample.
    fn floor(&self, case: &Case) -> f64 {
        let Case { n_in, n_out, batch, .. } = *case;
        let floats = n_in * n_out + batch * (n_in + n_out);
        let values = vec![1.0f32; floats + 16];
        // From a cache line on: vectors that lie across two would read at less than full speed.
        let values = &values[values.as_ptr().align_offset(64).min(16)..][..floats];
        let calls = (1 << 20) / floats + 1;
        let bytes = best_of(20, || {
            for _ in 0..calls {
                black_box(pulp::Arch::new().dispatch(|| {
                    let mut partial = [0.0f32; 128];
                    for chunk in black_box(values).chunks_exact(128) {
                        for (sum, v) in partial.iter_mut().zip(chunk) {
                            *sum += *v;
                        }
                    }
                    partial.iter().sum::<f32>()
                }));
            }
        }) * 1e9
            / calls as f64;
        let work = (n_in * n_out * batch) as f64;
        let noisy = case.readout.settings().output.noise > 0.0;
        let draws = if noisy { (batch * n_out) as f64 * self.normal } else { 0.0 };
        (bytes.max(work * self.multiply_add) + draws) / work
    }
}

/// AIHWKIT's rows, measured now by the interpreter named in `AIHWKIT_PYTHON` (see `tools/aihwkit/README.md`).
fn opponent() -> Vec<Value> {
    let Ok(python) = std::env::var("AIHWKIT_PYTHON") else {
        println!("AIHWKIT: not run (AIHWKIT_PYTHON is not set)");
        return Vec::new();
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/aihwkit/bench_tiles.py");
    let run = |core: &str| {
        let mut command = std::process::Command::new(&python);
        let output = command.args([script, "--passes"]).env("OPENBLAS_CORETYPE", core).output();
        let output = output.expect("AIHWKIT's bench runs");
        let document: Value = serde_json::from_slice(&output.stdout).expect("AIHWKIT's bench prints JSON");
        document["rows"].as_array().cloned().unwrap_or_default()
    };
    CORES.into_iter().flat_map(run).collect()
}

/// One-hot transfer reads: a strided copy instead of a product.
fn columns() {
    let readout = Readout::new(Settings::aihwkit()).expect("valid settings");
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
