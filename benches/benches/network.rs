//! Samples per second of one training step (forward, loss, backward, learning): digital beside PyTorch, on tiles by pulses
//! beside AIHWKIT, on the same data in the same run; and what an epoch spends beside its steps.
//!
//! One thread is timed by its CPU time where the system tells it (Linux), which other work does not stretch: best round of
//! half a second, because the system keeps that time by ticks. Two threads, and how much faster they are than one, are timed by the clock
//! on the wall, best round; on a busy machine those columns mean little, and on one whose cores are far apart less: how long a cache line takes
//! from one to the other and back is measured before and after.
//!
//!     TORCH_PYTHON=env/bin/python AIHWKIT_PYTHON=env/bin/python MNIST=folder \
//!         cargo bench -p residuum-bench --bench network -- [--quick] [--markdown] [WORD ...]
//!
//! Every variable may be missing: then a column stays empty, or images are drawn with as many dark pixels as MNIST has.
//! Rows that hold every WORD are measured; `epoch` among them asks for the second table alone.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "network/data.rs"]
mod data;
#[path = "network/epoch.rs"]
mod epoch;
#[path = "network/measure.rs"]
mod measure;
#[path = "network/recipes.rs"]
mod recipes;
#[path = "network/table.rs"]
mod table;

use std::path::Path;

use rayon::{ThreadPool, ThreadPoolBuilder};
use residuum::Key;
use residuum_bench::machine::round_trip;
use residuum_nn::model::{DigitalFactory, Factory, ResNet, cnn, fcn, resnet};
use residuum_nn::{Loss, Network, SampleShape, Sgd};

use data::Samples;
use epoch::EPOCH;
use measure::{Speed, ask, training};
use recipes::Pulses;
use table::{Row, STEPS, Style};

const NLL: Loss = Loss::NegativeLogLikelihood;
const ENTROPY: Loss = Loss::CrossEntropy { smoothing: 0.0 };

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

/// Cases whose evaluation and batches are measured too.
const EPOCHS: [&str; 2] = ["fcn b10", "cnn b8"];

fn main() {
    // Cargo adds a flag of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let flag = |name: &str| words.iter().any(|word| word == name);
    let seconds = if flag("--quick") { 1.0 } else { 3.0 };
    let (style, epochs_alone) = (Style { markdown: flag("--markdown") }, flag("epoch"));
    let wanted = |(name, _, _, _, rule): &Case| {
        let label = format!("{name} {}", recipes::label(*rule));
        let mut words = words.iter().filter(|word| !word.starts_with("--") && *word != "epoch");
        words.all(|word| label.contains(word.as_str()))
    };
    let cases: Vec<Case> = CASES.into_iter().filter(wanted).collect();
    let (digits, photos) = (data::digits(), data::photos());
    let folder = data::export(&[("digits", &digits), ("photos", &photos)]);
    let pools = [1, 2].map(|n| ThreadPoolBuilder::new().num_threads(n).build().expect("threads"));
    let samples = |network: &Network| if network.input_shape() == digits.shape { &digits } else { &photos };

    let head = "Training steps, samples/s at best in";
    println!("{head} {seconds} s; images of 28 pixels: {}\n", digits.name);
    if !epochs_alone {
        style.head(&STEPS);
        let mut digital = None;
        for case in &cases {
            let row = steps(case, samples, &pools, seconds, &folder, digital);
            if case.4.is_none() {
                digital = Some((case.0, row.ours[0]));
            }
            style.row(&row.cells());
        }
    }
    println!("\nAn epoch beside its steps, µs of CPU for a sample; two threads by the clock\n");
    style.head(&EPOCH);
    for (name, build, batch, loss, rule) in cases.into_iter().filter(|case| EPOCHS.contains(&case.0)) {
        let (names, mut network) = ([name, recipes::label(rule)], network(build, rule));
        style.row(&epoch::cells(names, &mut network, &digits, (batch, loss), &pools, seconds));
    }
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

fn network(build: Build, rule: Option<Pulses>) -> Network {
    match rule {
        None => build(&mut DigitalFactory(Some(Sgd::new(recipes::RATE)))),
        Some(pulses) => build(&mut pulses.factory()),
    }
}

/// One case on one thread and on two, here and at the opponent's.
fn steps<'a>(
    &(name, build, batch, loss, rule): &Case,
    samples: impl Fn(&Network) -> &'a Samples + Sync,
    pools: &[ThreadPool; 2],
    seconds: f64,
    folder: &Path,
    digital: Option<(&str, Speed)>,
) -> Row<'static> {
    let label = recipes::label(rule);
    let measure = |pool: &ThreadPool| {
        let mut network = network(build, rule);
        let samples = samples(&network);
        pool.install(|| training(&mut network, samples, batch, loss, seconds))
    };
    let (one, before) = (measure(&pools[0]), round_trip());
    let (measured, apart) = ([one, measure(&pools[1])], [before, round_trip()]);
    let (variable, script) = match rule {
        None => ("TORCH_PYTHON", "torch/bench_torch.py"),
        Some(_) => ("AIHWKIT_PYTHON", "aihwkit/bench_networks.py"),
    };
    let has_opponent = rule.is_none_or(Pulses::has_opponent);
    let theirs = [1, 2].map(|threads| {
        has_opponent.then(|| ask(variable, script, &[name, label], threads, seconds, folder)).flatten()
    });
    let digital = digital.filter(|(of, _)| *of == name && rule.is_some()).map(|(_, speed)| speed);
    let (ours, grown) = (measured.map(|(speed, _)| speed), measured[0].1);
    Row { network: name, rule: label, ours, theirs, digital, apart, grown }
}
