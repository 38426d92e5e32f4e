//! Samples per second of one digital training step (forward, loss, backward, SGD), beside PyTorch when there is one.
//!
//! One thread is timed by its CPU time where the system tells it (Linux), which other work does not stretch: best round of
//! half a second, because the system keeps that time by ticks. More threads are timed by the clock on the wall, fastest
//! step; on a busy machine those rows mean little.
//!
//!     TORCH_PYTHON=env/bin/python cargo bench -p residuum-bench --bench network
#![allow(clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use residuum::Key;
use residuum_nn::model::{DigitalFactory, ResNet, cnn, fcn, resnet};
use residuum_nn::{Loss, Network, Sgd, Shape, Tensor};

/// Seconds of steps; the fastest count, because disturbances only add time.
const SECONDS: f64 = 3.0;
const NLL: Loss = Loss::NegativeLogLikelihood;

type Build = fn() -> Network;
type Clock<'a> = &'a (dyn Fn() -> f64 + Sync);

fn factory() -> DigitalFactory {
    DigitalFactory(Some(Sgd::new(0.01)))
}

fn build_fcn() -> Network {
    fcn(&mut factory(), Key::new(1)).expect("valid")
}

fn build_cnn() -> Network {
    cnn(&mut factory(), Key::new(1)).expect("valid")
}

fn build_resnet18() -> Network {
    resnet(ResNet::resnet18(10), Shape::image(32, 32, 3), &mut factory(), Key::new(1)).expect("valid")
}

const CASES: [(&str, Build, usize, Loss); 5] = [
    ("fcn b10", build_fcn, 10, NLL),
    ("fcn b128", build_fcn, 128, NLL),
    ("cnn b8", build_cnn, 8, NLL),
    ("cnn b64", build_cnn, 64, NLL),
    ("resnet18 32px b16", build_resnet18, 16, Loss::CrossEntropy { smoothing: 0.0 }),
];

fn main() {
    println!("Digital training steps, samples/s at best in {SECONDS} s\n");
    println!("{:<20} {:>7} {:>10} {:>10} {:>7}", "network", "threads", "residuum", "PyTorch", "ratio");
    let start = Instant::now();
    let wall = || start.elapsed().as_secs_f64();
    let cpu = || cpu_seconds().unwrap_or_else(wall);
    let clocks: [(usize, Clock<'_>, f64); 2] = [(1, &cpu, 0.5), (2, &wall, 0.0)];
    for (threads, clock, least) in clocks {
        let torch = pytorch(threads);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for (name, build, batch, loss) in CASES {
            let ours = pool.install(|| measure(build(), batch, loss, clock, least));
            let theirs = torch.as_ref().and_then(|t| t[name].as_f64());
            let rest = theirs
                .map_or_else(|| format!("{:>10} {:>7}", "-", "-"), |t| format!("{t:10.0} {:6.2}×", ours / t));
            println!("{name:<20} {threads:>7} {ours:10.0} {rest}");
        }
    }
}

/// Samples per second of the best round of `least` seconds, or of the fastest step.
fn measure(mut network: Network, batch: usize, loss: Loss, clock: Clock<'_>, least: f64) -> f64 {
    let mut draws = vec![0.0; batch * network.input_shape().len()];
    Key::new(2).fill_uniform(&mut draws);
    let input = Tensor::from_values(network.input_shape(), draws.into_iter().map(|u| u as f32).collect());
    let labels: Vec<u32> = (0..batch as u32).map(|b| b % 10).collect();
    let mut k = 0;
    let mut step = || {
        network.train_step(&input, &labels, loss, k, Key::new(3)).expect("the rates are small");
        k += 1;
    };
    (0..3).for_each(|_| step());
    let (mut best, start) = (f64::INFINITY, Instant::now());
    while start.elapsed().as_secs_f64() < SECONDS {
        let (mut steps, before, begun) = (0, clock(), Instant::now());
        while steps == 0 || begun.elapsed().as_secs_f64() < least {
            step();
            steps += 1;
        }
        best = best.min((clock() - before) / f64::from(steps));
    }
    batch as f64 / best
}

/// Seconds that this thread has been running, if the system tells.
fn cpu_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// The same steps in PyTorch, in this run and on this machine, if `TORCH_PYTHON` names a Python that has it.
fn pytorch(threads: usize) -> Option<serde_json::Value> {
    let python = std::env::var_os("TORCH_PYTHON")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/torch/bench_torch.py");
    let output =
        Command::new(python).arg(script).arg(threads.to_string()).output().expect("TORCH_PYTHON must run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("the script prints JSON"))
}
