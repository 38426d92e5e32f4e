//! Pulsed updates of tiles and steps of rules on one thread beside AIHWKIT: ns per weight and sample, and what the parts of
//! a visit cost.
//!
//!     AIHWKIT_PYTHON=…/bin/python cargo bench -p residuum-bench --bench tile [-- [--quick] [--shape=RxC] [NAME]]
//!
//! NAME keeps the devices and rules whose name contains it; `--quick` one shape and two batches,
//! `--shape` one shape. Without AIHWKIT_PYTHON our side
//! runs alone. Regimes as in the AIHWKIT baseline: rate 0.05, x ~ U(−1, 1), d ~ s·U(−1, 1); light s = 0.02 (trains of 1
//! for a step of 0.001), heavy s = 0.6 (trains of 30). Devices carry AIHWKIT's default variation and noise, and weights
//! start uniform in (−0.2, 0.2).
//!
//! The roofline is max(traffic, normals + arithmetic), each part from a rate measured in the same run: traffic moves the
//! bytes of rows that fire once per batch through a buffer as large as the tile, and once per visit near the core; a
//! visit needs one normal (measured as what noise adds to a tile in that cache) and the operations counted in `Model`.
#![allow(clippy::print_stdout, missing_docs)]

use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};
use residuum::readout::{BoundManagement, NoiseManagement, Settings};
use residuum::rule::{
    Columns, MixedConfig, MixedPrecision, Rates, ResidualConfig, ResidualLearning, Rule, Source,
    SymmetricPoint, TikiTaka, TikiTakaConfig, Tracking, Transfer, WarmStart,
};
use residuum::tile::{
    CycleNoise, Device, Exponents, Reference, Saturation, Slopes, Spread, StepModel, Tile, Trains,
};
use residuum::{Array, Gradient, Key, Readout};
use residuum_bench::best_of;
use serde_json::Value;

const RATE: f32 = 0.05;
const LONGEST: f32 = 31.0;
const SHAPES: [(usize, usize); 4] = [(256, 784), (512, 512), (1024, 1024), (32, 400)];
const BATCHES: [usize; 3] = [1, 10, 128];
/// Larger batches of the heavy regime repeat what this one shows.
const HEAVIEST: usize = 10;

/// A device, and what one visit of its cells costs at least.
struct Model {
    name: &'static str,
    device: Device,
    /// State, parameters of both directions and bounds, read; the state written.
    bytes: f64,
    /// Vector operations of one pulse, a division or square root counted as 8.
    pulse_operations: f64,
}

/// A train at once adds a bit count, the geometric sum and a square root.
const TRAIN_OPERATIONS: f64 = 50.0;

fn models() -> Vec<Model> {
    let varied = |step| Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.3),
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(step, 1e-3, -0.6, 0.6)
    };
    let flat = StepModel::Linear(Slopes { spread: [Spread::normal(0.05); 2], ..Slopes::new(0.0, 0.0) });
    let power = |shape| StepModel::Power(Exponents { spread: Spread::normal(0.1), ..Exponents::new(shape) });
    let exponential = StepModel::Exponential(Saturation {
        amplitude: [0.00081, 0.36833],
        rate: [12.44625, 12.78785],
        stretch: 0.244,
        shift: 0.2425,
    });
    let reference = Device {
        cycle_noise: CycleNoise::Additive(0.3),
        reference: Some(Reference { mean: 0.0, deviation: 0.0, at_symmetric_point: false }),
        ..varied(StepModel::soft_bounds())
    };
    let model = |name, device, bytes, pulse_operations| Model { name, device, bytes, pulse_operations };
    vec![
        model("constant", varied(StepModel::Constant), 24.0, 13.0),
        model("linear", varied(flat), 32.0, 17.0),
        model("soft bounds", varied(StepModel::soft_bounds()), 32.0, 17.0),
        model("soft bounds reference", reference, 40.0, 20.0),
        model("power, shape 1", varied(power(1.0)), 32.0, 55.0),
        model("power, shape 2.5", varied(power(2.5)), 32.0, 55.0),
        model("exponential", varied(exponential), 28.0, 35.0),
    ]
}

/// AIHWKIT's rows, measured now by the interpreter named in `AIHWKIT_PYTHON` (see `tools/aihwkit/README.md`).
fn opponent(quick: bool, shape: Option<(usize, usize)>, filter: &str) -> Vec<Value> {
    let Ok(python) = std::env::var("AIHWKIT_PYTHON") else {
        println!("AIHWKIT: not run (AIHWKIT_PYTHON is not set)");
        return Vec::new();
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/aihwkit/bench_tiles.py");
    let mut command = std::process::Command::new(python);
    command.args([script, "--updates", "--only", filter]);
    if quick {
        command.arg("--quick");
    }
    if let Some((rows, cols)) = shape {
        command.arg(format!("--shape={rows}x{cols}"));
    }
    let output = command.output().expect("AIHWKIT's bench runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("AIHWKIT's bench prints JSON");
    document["rows"].as_array().cloned().unwrap_or_default()
}

/// A loop of this crate, compiled for the widest vectors of the machine as those of the library are.
enum Probe<'a> {
    /// w ← w + c·s: 12 bytes per number.
    Traffic(&'a mut [f32], &'a [f32]),
    /// 32 operations per number.
    Arithmetic(&'a mut [f32]),
}

impl WithSimd for Probe<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self {
            Self::Traffic(w, s) => {
                for (w, s) in w.iter_mut().zip(s) {
                    *w += 1e-9 * s;
                }
            }
            Self::Arithmetic(w) => {
                for w in w.iter_mut() {
                    let mut x = *w;
                    for _ in 0..16 {
                        x = x * 0.999 + 0.001;
                    }
                    *w = x;
                }
            }
        }
    }
}

/// ns per byte of a working set of this many bytes.
fn traffic(bytes: f64) -> f64 {
    let n = (bytes / 8.0) as usize;
    let repeats = (4_000_000 / n).max(1);
    let (mut w, s) = (vec![0.0f32; n], vec![1.0f32; n]);
    let seconds = best_of(5, || (0..repeats).for_each(|_| Arch::new().dispatch(Probe::Traffic(&mut w, &s))));
    seconds * 1e9 / (repeats * n * 12) as f64
}

/// ns per operation on one lane.
fn operation() -> f64 {
    let mut w = vec![1.0f32; 2048];
    let seconds = best_of(5, || (0..1000).for_each(|_| Arch::new().dispatch(Probe::Arithmetic(&mut w))));
    seconds * 1e9 / (1000 * 2048 * 32) as f64
}

/// ns per normal number: what noise adds to pulses on every cell of one row.
fn normal() -> f64 {
    let visit = |noise: f32| {
        let device = Device {
            cycle_noise: CycleNoise::Multiplicative(noise),
            ..Device::ideal(StepModel::Constant, 1e-3, -0.6, 0.6)
        };
        let mut tile = Tile::new(1, 1024, device, Key::new(1)).expect("a tile");
        let inputs = vec![1.0; 102_400];
        let mut k = 0;
        best_of(1000, || {
            k += 1;
            tile.write(1e-3, &[1.0; 100], &inputs, Trains::default(), Key::new(2).fold(k)).expect("an update");
        }) * 1e9
            / 102_400.0
    };
    visit(0.3) - visit(0.0)
}

/// A tile and the signals of one call.
struct Case {
    tile: Tile,
    rows: Vec<f32>,
    cols: Vec<f32>,
    weights: Vec<f32>,
    calls: u64,
}

fn uniform(name: &str, n: usize, scale: f32) -> Vec<f32> {
    let mut values = vec![0.0; n];
    Key::new(2).named(name).fill_uniform(&mut values);
    values.into_iter().map(|u| scale * (2.0 * u as f32 - 1.0)).collect()
}

impl Case {
    fn new(device: &Device, (rows, cols): (usize, usize), batch: usize, size: f32) -> Self {
        Self {
            tile: Tile::new(rows, cols, device.clone(), Key::new(1)).expect("a tile"),
            rows: uniform("d", batch * rows, size),
            cols: uniform("x", batch * cols, 1.0),
            weights: uniform("weights", rows * cols, 0.2),
            calls: 0,
        }
    }

    fn visits(&self) -> f64 {
        (self.rows.len() * self.tile.cols()) as f64
    }

    /// ns per weight and sample of one call from the first weights.
    fn call(&mut self) -> f64 {
        self.calls += 1;
        let key = Key::new(4).fold(self.calls);
        self.tile.program(&self.weights, key).expect("weights");
        let start = Instant::now();
        self.tile.write(-RATE, &self.rows, &self.cols, Trains::default(), key).expect("an update");
        start.elapsed().as_secs_f64() * 1e9 / self.visits()
    }

    /// The best of many calls.
    fn time(&mut self) -> f64 {
        let rounds = (1e8 / self.visits()).clamp(10.0, 400.0) as usize;
        (0..rounds).map(|_| self.call()).fold(f64::INFINITY, f64::min)
    }

    /// Slots of a train, and how often a row is visited per sample: slots in which it fires, or once for a train at once.
    fn plan(&self) -> (f64, f64) {
        let peak = |x: &[f32]| x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let batch = self.rows.len() / self.tile.rows();
        let (mut slots, mut visits) = (0.0, 0.0);
        for b in 0..batch {
            let d = &self.rows[b * self.tile.rows()..][..self.tile.rows()];
            let x = &self.cols[b * self.tile.cols()..][..self.tile.cols()];
            let needed = RATE * peak(d) * peak(x) / self.tile.device().granularity();
            let length = needed.ceil().clamp(1.0, LONGEST);
            // Where neither side saturates a line fires with probability (needed/slots)^½ times its share of the peak.
            let scale = (needed / length).sqrt() / peak(d);
            let fires: f32 = d.iter().map(|d| (scale * d.abs()).min(1.0)).sum::<f32>() / d.len() as f32;
            slots += f64::from(length) / batch as f64;
            visits += if length <= 3.0 { f64::from(length * fires) } else { 1.0 } / batch as f64;
        }
        (slots, visits)
    }
}

/// γ of the residual rules.
const MIXING: f64 = 0.4;

/// Rules whose counterparts AIHWKIT has, on its soft bounds with a reference: fast rate 0.01, transfer rate 0.05 times the
/// reads of its transfer converters.
fn rules((rows, cols): (usize, usize)) -> Vec<(&'static str, Box<dyn Rule<f32>>)> {
    let device = models().swap_remove(3).device;
    let tile = |name: &str| Tile::new(rows, cols, device.clone(), Key::new(1).named(name)).expect("a tile");
    let converters = Settings {
        noise_management: NoiseManagement::None,
        bound_management: BoundManagement::None,
        ..Settings::aihwkit()
    };
    let readout = Readout::new(converters).expect("converters");
    let transfer = |columns| Transfer { columns, readout, ..Transfer::default() };
    let tiki_taka = |columns| {
        let config = TikiTakaConfig { transfer: transfer(columns), ..TikiTakaConfig::default() };
        TikiTaka::new(tile("w"), tile("p"), config).expect("a rule")
    };
    let believing = |columns, symmetric_point| {
        let config =
            ResidualConfig { transfer: transfer(columns), symmetric_point, ..ResidualConfig::mixing(MIXING) };
        ResidualLearning::new(tile("w"), tile("p"), config).expect("a rule")
    };
    let residual = |columns| believing(columns, SymmetricPoint::Zero);
    let given = || SymmetricPoint::Given(vec![0.01; rows * cols]);
    let tracked = || {
        let tracking = Tracking { rate: 0.01, chopper: 0.05 };
        SymmetricPoint::Tracked { from: Box::new(given()), tracking }
    };
    let cascade = |warm: bool| {
        let chain: Vec<Box<dyn Array<f32>>> = vec![Box::new(tile("p1")), Box::new(tile("p2"))];
        let config = ResidualConfig {
            transfer: transfer(Columns::Some(1)),
            symmetric_point: SymmetricPoint::Zero,
            ..ResidualConfig::mixing(MIXING)
        };
        let rule = ResidualLearning::cascade(tile("w"), chain, config).expect("a rule");
        if warm { rule.warm_start(WarmStart::default()).expect("a warm start") } else { rule }
    };
    let mixed = |source| {
        let config = MixedConfig { source, ..MixedConfig::default() };
        MixedPrecision::new(tile("w"), config).expect("a rule")
    };
    vec![
        ("Tiki-Taka v1, 1 column", Box::new(tiki_taka(Columns::Some(1)))),
        ("Residual Learning, 1 column", Box::new(residual(Columns::Some(1)))),
        ("Residual Learning, all columns", Box::new(residual(Columns::All))),
        // Each later rule after the one it extends: at most 1.3 times its time.
        ("Residual W⋄, 1 column", Box::new(believing(Columns::Some(1), given()))),
        ("E-RIDER, 1 column", Box::new(believing(Columns::Some(1), tracked()))),
        ("Residual W⋄, all columns", Box::new(believing(Columns::All, given()))),
        ("E-RIDER, all columns", Box::new(believing(Columns::All, tracked()))),
        ("Cascade of 3, 1 column", Box::new(cascade(false))),
        ("Cascade of 3, warm start", Box::new(cascade(true))),
        ("Mixed precision", Box::new(mixed(Source::Sgd))),
        ("Mixed precision, momentum", Box::new(mixed(Source::momentum(0.9)))),
        ("Mixed precision, AdamW", Box::new(mixed(Source::adam_w(0.01)))),
    ]
}

/// ns per weight and sample of the best of many steps, effective weights included; and their median.
fn time_rule(rule: &mut dyn Rule<f32>, (rows, cols): (usize, usize), batch: usize, size: f32) -> [f64; 2] {
    let (errors, inputs) = (uniform("d", batch * rows, size), uniform("x", batch * cols, 1.0));
    rule.program(&uniform("weights", rows * cols, 0.2), Key::new(3)).expect("weights");
    let slow = f64::from(RATE);
    let rates = Rates::new(0.01, if rule.label().starts_with("Residual") { slow / MIXING } else { slow });
    let visits = (rows * cols * batch) as f64;
    let rounds = (1e8 / visits).clamp(20.0, 400.0) as u64;
    let mut step = |k: u64| {
        let start = Instant::now();
        let gradient = Gradient::Outer { batch, errors: &errors, inputs: &inputs };
        rule.step(gradient, &rates, Key::new(4).fold(k)).expect("a step");
        start.elapsed().as_secs_f64() * 1e9 / visits
    };
    let mut times: Vec<f64> = (0..rounds).map(&mut step).collect();
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2]]
}

/// CPU time of AIHWKIT's best call: it favours the opponent on a busy machine.
fn measured_at(rows: &[Value], name: &str, regime: &str, shape: (usize, usize), batch: usize) -> Option<f64> {
    let same = |r: &&Value| {
        r["name"] == name
            && r["regime"] == regime
            && (r["rows"] == shape.0 && r["columns"] == shape.1 && r["batch"] == batch)
    };
    rows.iter().find(same)?["ns_cpu"].as_f64()
}

/// Beside each other: ours, theirs, and the ratio.
fn beside(ours: f64, theirs: Option<f64>) -> String {
    theirs.map_or_else(|| format!("{:>9} {:>6}", "–", "–"), |t| format!("{t:>9.2} {:>6.1}", t / ours))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let quick = arguments.iter().any(|a| a == "--quick");
    let filter = arguments.iter().find(|a| !a.starts_with("--")).cloned().unwrap_or_default();
    let shape = arguments
        .iter()
        .find_map(|a| a.strip_prefix("--shape=")?.split_once('x'))
        .map(|(rows, cols)| (rows.parse().expect("a number"), cols.parse().expect("a number")));
    let shapes: Vec<(usize, usize)> =
        shape.map_or_else(|| SHAPES[..if quick { 1 } else { 4 }].to_vec(), |s| vec![s]);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let one = pool(1);
    let measured = opponent(quick, shape, &filter);
    let (first_level, per_operation) = (traffic(16e3), operation());
    let per_normal = one.install(normal);
    println!("roofline = max(bytes·(far·touched/batch + visits·near), visits·(normal + operations·lane))");
    println!("near {first_level:.4} ns/byte (16 kB), lane {per_operation:.4} ns, normal {per_normal:.3} ns");
    println!(
        "{:<22} {:<6} {:>9} {:>5} {:>5} {:>6} {:>8} {:>9} {:>6}  {:>7} {:>7} {:>7} {:>6}",
        "device",
        "regime",
        "tile",
        "batch",
        "slots",
        "visits",
        "ours ns",
        "AIHWKIT",
        "ratio",
        "traffic",
        "normals",
        "arithm.",
        "× roof"
    );
    for &(rows, cols) in &shapes {
        for Model { name, device, bytes, pulse_operations } in
            models().iter().filter(|m| m.name.contains(&filter))
        {
            let far = traffic((rows * cols) as f64 * bytes);
            for (regime, size) in [("light", 0.02), ("heavy", 0.6)] {
                for batch in BATCHES.into_iter().take(if quick { 2 } else { 3 }) {
                    if regime == "heavy" && batch > HEAVIEST {
                        continue;
                    }
                    let mut case = Case::new(device, (rows, cols), batch, size);
                    let ours = one.install(|| case.time());
                    let (slots, visits) = case.plan();
                    let beside = beside(ours, measured_at(&measured, name, regime, (rows, cols), batch));
                    // Rows of which no line fires in the whole batch are not touched.
                    let touched = 1.0 - (1.0 - (visits / slots).min(1.0)).powf(batch as f64 * slots);
                    let moved = bytes * (far * touched / batch as f64 + visits * first_level);
                    let normals = visits * per_normal;
                    let operations = pulse_operations + if slots > 3.0 { TRAIN_OPERATIONS } else { 0.0 };
                    let arithmetic = visits * operations * per_operation;
                    let roofline = moved.max(normals + arithmetic);
                    println!(
                        "{name:<22} {regime:<6} {:>9} {batch:>5} {slots:>5.1} {visits:>6.2} {ours:>8.3} {beside}  \
                         {moved:>7.3} {normals:>7.3} {arithmetic:>7.3} {:>6.1}",
                        format!("{rows}×{cols}"),
                        ours / roofline
                    );
                }
            }
        }
    }
    println!(
        "{:<31} {:<6} {:>9} {:>5} {:>8} {:>8} {:>9} {:>6}",
        "rule", "regime", "tile", "batch", "ours ns", "median", "AIHWKIT", "ratio"
    );
    for &shape in &shapes {
        for (name, mut rule) in rules(shape).into_iter().filter(|(name, _)| name.contains(&filter)) {
            for (regime, size) in [("light", 0.02), ("heavy", 0.6)] {
                for batch in BATCHES.into_iter().take(if quick { 2 } else { 3 }) {
                    if regime == "heavy" && batch > HEAVIEST {
                        continue;
                    }
                    let [ours, median] = one.install(|| time_rule(&mut *rule, shape, batch, size));
                    let beside = beside(ours, measured_at(&measured, name, regime, shape, batch));
                    let tile = format!("{}×{}", shape.0, shape.1);
                    println!("{name:<31} {regime:<6} {tile:>9} {batch:>5} {ours:>8.3} {median:>8.3} {beside}");
                }
            }
        }
    }
    let two = pool(2);
    for &(rows, cols) in shapes.iter().filter(|s| !quick && s.0 >= 512) {
        for Model { name, device, .. } in models().iter().filter(|m| m.name.contains(&filter)) {
            for (regime, size) in [("light", 0.02), ("heavy", 0.6)] {
                let mut case = Case::new(device, (rows, cols), 10, size);
                // Turn by turn, so that both see the machine as it is.
                let (mut alone, mut shared) = (f64::INFINITY, f64::INFINITY);
                for _ in 0..5 {
                    alone = alone.min(one.install(|| case.time()));
                    shared = shared.min(two.install(|| case.time()));
                }
                println!("threads 1 → 2: {name}, {regime}, {rows}×{cols}: {:.2} times", alone / shared);
            }
        }
    }
}
