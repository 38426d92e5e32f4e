//! Samples per second of one digital training step (forward, loss, backward, SGD), beside PyTorch when there is one.
//!
//!     TORCH_PYTHON=env/bin/python cargo bench -p residuum-bench --bench network
#![allow(clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use residuum::Key;
use residuum_nn::model::{DigitalFactory, ResNet, cnn, fcn, resnet};
use residuum_nn::{Loss, Network, Sgd, Shape, Tensor};

/// Seconds of steps; the fastest counts, because disturbances only add time.
const SECONDS: f64 = 3.0;
const NLL: Loss = Loss::NegativeLogLikelihood;

type Build = fn() -> Network;

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
    println!("Digital training steps, samples/s of the fastest step in {SECONDS} s\n");
    println!("{:<20} {:>7} {:>10} {:>10} {:>7}", "network", "threads", "residuum", "PyTorch", "ratio");
    for threads in [1, 2] {
        let torch = pytorch(threads);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for (name, build, batch, loss) in CASES {
            let ours = pool.install(|| measure(build(), batch, loss));
            let theirs = torch.as_ref().and_then(|t| t[name].as_f64());
            let rest = theirs
                .map_or_else(|| format!("{:>10} {:>7}", "-", "-"), |t| format!("{t:10.0} {:6.2}×", ours / t));
            println!("{name:<20} {threads:>7} {ours:10.0} {rest}");
        }
    }
}

fn measure(mut network: Network, batch: usize, loss: Loss) -> f64 {
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
        let before = Instant::now();
        step();
        best = best.min(before.elapsed().as_secs_f64());
    }
    batch as f64 / best
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
