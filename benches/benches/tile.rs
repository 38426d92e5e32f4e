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
//! visit needs one normal (measured as what noise adds to a tile in that cache) and the operations counted in `Model`. A rule
//! adds its transfer: two normals, the operations of a count and a train, and the bytes of both arrays for each cell moved. At the end
//! the same as tables in Markdown: ns, and how far from the roofline.
#![allow(clippy::print_stdout, missing_docs)]

use residuum::Key;
use residuum::tile::{CycleNoise, Device, StepModel, Tile, Trains};
use residuum_bench::best_of;
use residuum_bench::machine::{operation, traffic};
use residuum_bench::tiles::{Case, FAST_RATE, Model, OF_RULES, RATE, REGIMES, models, rules, time_rule};
use serde_json::Value;

const LONGEST: f32 = 31.0;
const SHAPES: [(usize, usize); 4] = [(256, 784), (512, 512), (1024, 1024), (32, 400)];
const BATCHES: [usize; 3] = [1, 10, 128];
/// Larger batches of the heavy regime repeat what this one shows.
const HEAVIEST: usize = 10;

/// A transferred cell is read and rounded (20 operations), its pulses are counted (20) and sent at once (70).
const TRANSFER_OPERATIONS: f64 = 110.0;
/// P read; state, parameters and bounds of W read, its state written; the effective weight written.
const TRANSFER_BYTES: f64 = 48.0;

/// Rates of this machine: ns of a byte in the first-level cache, of a lane operation, of a normal number.
struct Machine {
    near: f64,
    lane: f64,
    normal: f64,
}

/// What a call needs at least, in ns per weight and sample.
#[derive(Clone, Copy)]
struct Floor {
    traffic: f64,
    normals: f64,
    arithmetic: f64,
}

impl Floor {
    fn all(self) -> f64 {
        self.traffic.max(self.normals + self.arithmetic)
    }

    /// Of an update; `far` is ns per byte of a buffer as large as the tile.
    fn of_update(
        model: &Model,
        (slots, visits): (f64, f64),
        batch: usize,
        far: f64,
        machine: &Machine,
    ) -> Self {
        // Rows of which no line fires in the whole batch are not touched.
        let touched = 1.0 - (1.0 - (visits / slots).min(1.0)).powf(batch as f64 * slots);
        let operations = model.pulse_operations + if slots > 3.0 { model.train_operations } else { 0.0 };
        Self {
            traffic: model.bytes * (far * touched / batch as f64 + visits * machine.near),
            normals: visits * machine.normal,
            arithmetic: visits * operations * machine.lane,
        }
    }

    /// The same and the transfer of this share of the weights after every batch.
    fn and_transfer(self, share: f64, batch: usize, far: f64, machine: &Machine) -> Self {
        let moved = share / batch as f64;
        Self {
            traffic: self.traffic + moved * TRANSFER_BYTES * far,
            normals: self.normals + moved * 2.0 * machine.normal,
            arithmetic: self.arithmetic + moved * TRANSFER_OPERATIONS * machine.lane,
        }
    }
}

/// Rows of Markdown: ns per weight and sample, and times the roofline.
#[derive(Default)]
struct Markdown(Vec<(String, Vec<String>)>);

impl Markdown {
    fn add(&mut self, name: &str, ours: f64, floor: Floor) {
        if self.0.last().is_none_or(|(last, _)| last != name) {
            self.0.push((name.into(), Vec::new()));
        }
        if let Some((_, cells)) = self.0.last_mut() {
            cells.push(format!("{ours:.3} = {:.1}×", ours / floor.all()));
        }
    }

    fn print(&self, shape: (usize, usize)) {
        let columns = self.0.first().map_or(0, |(_, cells)| cells.len());
        let heads = ["light, batch 1", "10", "128", "heavy, batch 1", "10"];
        let heads: Vec<&str> =
            if columns == 4 { vec![heads[0], heads[1], heads[3], heads[4]] } else { heads.to_vec() };
        println!("\n| {}×{} | {} |\n|---|{}", shape.0, shape.1, heads.join(" | "), "---|".repeat(heads.len()));
        for (name, cells) in &self.0 {
            println!("| {name} | {} |", cells.join(" | "));
        }
        println!();
    }
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

/// Slots of a train, and how often a row is visited per sample: slots in which it fires, or once for a train at once.
fn plan(case: &Case) -> (f64, f64) {
    plan_at(case, RATE)
}

fn plan_at(case: &Case, rate: f32) -> (f64, f64) {
    let peak = |x: &[f32]| x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let batch = case.rows.len() / case.tile.rows();
    let (mut slots, mut visits) = (0.0, 0.0);
    for b in 0..batch {
        let d = &case.rows[b * case.tile.rows()..][..case.tile.rows()];
        let x = &case.cols[b * case.tile.cols()..][..case.tile.cols()];
        let needed = rate * peak(d) * peak(x) / case.tile.device().granularity();
        let length = needed.ceil().clamp(1.0, LONGEST);
        // Where neither side saturates a line fires with probability (needed/slots)^½ times its share of the peak.
        let scale = (needed / length).sqrt() / peak(d);
        let fires: f32 = d.iter().map(|d| (scale * d.abs()).min(1.0)).sum::<f32>() / d.len() as f32;
        slots += f64::from(length) / batch as f64;
        visits += if length <= 3.0 { f64::from(length * fires) } else { 1.0 } / batch as f64;
    }
    (slots, visits)
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
    let machine = Machine { near: traffic(16e3), lane: operation(), normal: one.install(normal) };
    println!("roofline = max(bytes·(far·touched/batch + visits·near), visits·(normal + operations·lane))");
    let Machine { near, lane, normal } = &machine;
    println!("near {near:.4} ns/byte (16 kB), lane {lane:.4} ns, normal {normal:.3} ns");
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
    let mut tables: Vec<Markdown> = Vec::new();
    for &(rows, cols) in &shapes {
        let mut table = Markdown::default();
        for model in models().iter().filter(|m| m.name.contains(&filter)) {
            let Model { name, device, bytes, .. } = model;
            let far = traffic((rows * cols) as f64 * bytes);
            for (regime, size) in REGIMES {
                for batch in BATCHES.into_iter().take(if quick { 2 } else { 3 }) {
                    if regime == "heavy" && batch > HEAVIEST {
                        continue;
                    }
                    let mut case = Case::new(device, (rows, cols), batch, size);
                    let ours = one.install(|| case.time());
                    let (slots, visits) = plan(&case);
                    let beside = beside(ours, measured_at(&measured, name, regime, (rows, cols), batch));
                    let floor = Floor::of_update(model, (slots, visits), batch, far, &machine);
                    let Floor { traffic, normals, arithmetic } = floor;
                    println!(
                        "{name:<22} {regime:<6} {:>9} {batch:>5} {slots:>5.1} {visits:>6.2} {ours:>8.3} {beside}  \
                         {traffic:>7.3} {normals:>7.3} {arithmetic:>7.3} {:>6.1}",
                        format!("{rows}×{cols}"),
                        ours / floor.all()
                    );
                    table.add(name, ours, floor);
                }
            }
        }
        tables.push(table);
    }
    println!(
        "{:<31} {:<6} {:>9} {:>5} {:>8} {:>8} {:>8} {:>9} {:>6} {:>6}",
        "rule", "regime", "tile", "batch", "ours ns", "median", "mean", "AIHWKIT", "ratio", "× roof"
    );
    for (&shape, table) in shapes.iter().zip(&mut tables) {
        let cells = (shape.0 * shape.1) as f64;
        let models = models();
        let model = &models[OF_RULES];
        let far = traffic(cells * model.bytes);
        for (name, mut rule) in rules(shape).into_iter().filter(|(name, _)| name.contains(&filter)) {
            for (regime, size) in REGIMES {
                for batch in BATCHES.into_iter().take(if quick { 2 } else { 3 }) {
                    if regime == "heavy" && batch > HEAVIEST {
                        continue;
                    }
                    let [ours, median, mean] = one.install(|| time_rule(&mut *rule, shape, batch, size));
                    let beside = beside(ours, measured_at(&measured, name, regime, shape, batch));
                    let tile = format!("{}×{}", shape.0, shape.1);
                    // What moves one or all columns from P to W; other rules have no floor of their own.
                    let share = match name {
                        _ if name.starts_with("Cascade") || name.starts_with("Mixed") => None,
                        _ if name.ends_with("all columns") => Some(1.0),
                        _ => Some(1.0 / shape.1 as f64),
                    };
                    let floor = share.map(|share| {
                        let planned = plan_at(&Case::new(&model.device, shape, batch, size), FAST_RATE as f32);
                        let update = Floor::of_update(model, planned, batch, far, &machine);
                        update.and_transfer(share, batch, far, &machine)
                    });
                    let over = floor.map_or("–".into(), |floor| format!("{:.1}", ours / floor.all()));
                    println!(
                        "{name:<31} {regime:<6} {tile:>9} {batch:>5} {ours:>8.3} {median:>8.3} {mean:>8.3} {beside} {over:>6}"
                    );
                    if let Some(floor) = floor {
                        table.add(name, ours, floor);
                    }
                }
            }
        }
    }
    for (shape, table) in shapes.iter().zip(&tables) {
        table.print(*shape);
    }
    let two = pool(2);
    for &(rows, cols) in shapes.iter().filter(|s| !quick && s.0 >= 512) {
        for Model { name, device, .. } in models().iter().filter(|m| m.name.contains(&filter)) {
            for (regime, size) in REGIMES {
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
