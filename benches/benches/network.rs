//! Samples per second of one training step (forward, loss, backward, learning): digital beside PyTorch, on tiles by pulses
//! beside AIHWKIT, on the same data in the same run.
//!
//! One thread is timed by its CPU time where the system tells it (Linux), which other work does not stretch: best round of
//! half a second, because the system keeps that time by ticks. More threads are timed by the clock on the wall, best round;
//! on a busy machine those rows mean little.
//!
//!     TORCH_PYTHON=env/bin/python AIHWKIT_PYTHON=env/bin/python MNIST=folder \
//!         cargo bench -p residuum-bench --bench network -- [--quick] [WORD ...]
//!
//! Every variable may be missing: then a column stays empty, or images are drawn with as many dark pixels as MNIST has.
//! Rows that hold every WORD are measured.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "network/data.rs"]
mod data;
#[path = "network/recipes.rs"]
mod recipes;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use residuum::Key;
use residuum_nn::model::{DigitalFactory, Factory, ResNet, cnn, fcn, resnet};
use residuum_nn::{Loss, Network, SampleShape, Sgd, Tensor};

use data::Samples;
use recipes::Pulses;

const NLL: Loss = Loss::NegativeLogLikelihood;
const ENTROPY: Loss = Loss::CrossEntropy { smoothing: 0.0 };

type Clock<'a> = &'a (dyn Fn() -> f64 + Sync);
type Build = fn(&mut dyn Factory) -> Network;

/// One row: a network, its batch, and the rule of its tiles; none in digital memory.
type Case = (&'static str, Build, usize, Loss, Option<Pulses>);

fn build_fcn(factory: &mut dyn Factory) -> Network {
    fcn(factory, Key::new(1)).expect("valid")
}

fn build_cnn(factory: &mut dyn Factory) -> Network {
    cnn(factory, Key::new(1)).expect("valid")
}

fn build_resnet18(factory: &mut dyn Factory) -> Network {
    resnet(ResNet::resnet18(10), SampleShape::image(32, 32, 3), factory, Key::new(1)).expect("valid")
}

const CASES: [Case; 15] = [
    ("fcn b10", build_fcn, 10, NLL, None),
    ("fcn b10", build_fcn, 10, NLL, Some(Pulses::Sgd)),
    ("fcn b10", build_fcn, 10, NLL, Some(Pulses::TikiTaka)),
    ("fcn b10", build_fcn, 10, NLL, Some(Pulses::Residual)),
    ("fcn b10", build_fcn, 10, NLL, Some(Pulses::AllColumns)),
    ("fcn b128", build_fcn, 128, NLL, None),
    ("cnn b8", build_cnn, 8, NLL, None),
    ("cnn b8", build_cnn, 8, NLL, Some(Pulses::Sgd)),
    ("cnn b8", build_cnn, 8, NLL, Some(Pulses::TikiTaka)),
    ("cnn b8", build_cnn, 8, NLL, Some(Pulses::Residual)),
    ("cnn b64", build_cnn, 64, NLL, None),
    ("resnet18 32px b16", build_resnet18, 16, ENTROPY, None),
    ("resnet18 32px b16", build_resnet18, 16, ENTROPY, Some(Pulses::Sgd)),
    ("resnet18 32px b16", build_resnet18, 16, ENTROPY, Some(Pulses::TikiTaka)),
    ("resnet18 32px b16", build_resnet18, 16, ENTROPY, Some(Pulses::Residual)),
];

fn main() {
    // Cargo adds a flag of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let quick = words.iter().any(|word| word == "--quick");
    let seconds = if quick { 1.0 } else { 3.0 };
    let wanted = |(name, _, _, _, rule): &Case| {
        let label = format!("{name} {}", recipes::label(*rule));
        words.iter().filter(|word| !word.starts_with("--")).all(|word| label.contains(word.as_str()))
    };
    let cases: Vec<Case> = CASES.into_iter().filter(wanted).collect();
    let digits = data::digits();
    let photos = data::photos();
    let folder = data::export(&[("digits", &digits), ("photos", &photos)]);

    println!("Training steps, samples/s at best in {seconds} s; images of 28 pixels: {}\n", digits.name);
    println!(
        "{:<18} {:<18} {:>7} {:>9} {:>9} {:>7} {:>8} {:>9}",
        "", "", "", "", "PyTorch,", "", "time of", "memory"
    );
    println!(
        "{:<18} {:<18} {:>7} {:>9} {:>9} {:>7} {:>8} {:>9}",
        "network", "rule", "threads", "residuum", "AIHWKIT", "ratio", "digital", "grew, kB"
    );
    let start = Instant::now();
    let wall = || start.elapsed().as_secs_f64();
    let cpu = || cpu_seconds().unwrap_or_else(wall);
    let clocks: [(usize, Clock<'_>); 2] = [(1, &cpu), (2, &wall)];
    for (threads, clock) in clocks {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut digital = None;
        for (name, build, batch, loss, rule) in &cases {
            let network = match rule {
                None => build(&mut DigitalFactory(Some(Sgd::new(recipes::RATE)))),
                Some(pulses) => build(&mut pulses.factory()),
            };
            let samples = if network.input_shape() == digits.shape { &digits } else { &photos };
            let (ours, grown) = pool.install(|| measure(network, samples, *batch, *loss, clock, seconds));
            let (variable, script) = match rule {
                None => ("TORCH_PYTHON", "torch/bench_torch.py"),
                Some(_) => ("AIHWKIT_PYTHON", "aihwkit/bench_networks.py"),
            };
            let label = recipes::label(*rule);
            let theirs = rule
                .is_none_or(Pulses::has_opponent)
                .then(|| ask(variable, script, &[name, label], threads, seconds, &folder))
                .flatten();
            if rule.is_none() {
                digital = Some((name, ours));
            }
            let slower = digital.filter(|(of, _)| *of == name).map(|(_, digital)| digital / ours);
            println!(
                "{name:<18} {label:<18} {threads:>7} {ours:9.0} {:>9} {:>7} {:>8} {:>9}",
                theirs.map_or("-".into(), |t| format!("{t:.0}")),
                theirs.map_or("-".into(), |t| format!("{:.2}×", ours / t)),
                slower.map_or("-".into(), |s| format!("{s:.2}×")),
                grown.map_or("-".into(), |kilobytes| kilobytes.to_string()),
            );
        }
    }
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

/// Samples per second of the best round of half a second, and the kilobytes by which memory grew after the first round.
fn measure(
    mut network: Network,
    samples: &Samples,
    batch: usize,
    loss: Loss,
    clock: Clock<'_>,
    seconds: f64,
) -> (f64, Option<i64>) {
    let batches: Vec<(Tensor, &[u32])> = samples.batches(batch).collect();
    let mut k = 0;
    let mut step = || {
        let (input, labels) = &batches[k as usize % batches.len()];
        network.train_step(input, labels, loss, k, Key::new(3)).expect("the rates are small");
        k += 1;
    };
    (0..3).for_each(|_| step());
    let (mut best, mut resident, start) = (f64::INFINITY, None, Instant::now());
    while start.elapsed().as_secs_f64() < seconds {
        let (mut steps, before, begun) = (0, clock(), Instant::now());
        while steps == 0 || begun.elapsed().as_secs_f64() < 0.5 {
            step();
            steps += 1;
        }
        best = best.min((clock() - before) / f64::from(steps));
        resident = resident.or_else(resident_kilobytes);
    }
    let grown = resident_kilobytes().zip(resident).map(|(after, before)| after - before);
    (batch as f64 / best, grown)
}

/// Seconds that this thread has been running, if the system tells.
fn cpu_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// Memory of this process, if the system tells.
fn resident_kilobytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("VmRSS"))?.split_whitespace().nth(1)?.parse().ok()
}

/// Samples per second of the same step in the Python that `variable` names, if it does.
fn ask(
    variable: &str,
    script: &str,
    case: &[&str; 2],
    threads: usize,
    seconds: f64,
    data: &Path,
) -> Option<f64> {
    let python = std::env::var_os(variable)?;
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools");
    let output = Command::new(python)
        .arg(tools.join(script))
        .args(case)
        .arg(threads.to_string())
        .arg(seconds.to_string())
        .arg(data)
        .output()
        .expect("the Python must run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8_lossy(&output.stdout);
    Some(line.trim().parse().expect("the script prints one number"))
}
