//! Kernels that lose their vectors, or work that is suddenly done twice, fail here and not in a table that someone reads months later.
//!
//!     cargo test --release -p residuum-bench --test bounds -- --nocapture
//!
//! Times are counted in lane operations: what one multiplication or addition of one lane costs in a plain vector loop of this machine, measured
//! in turns with the kernels. In that unit machines with vectors of 256 and of 512 bits agree within some 15 % on most rows. The best of many
//! short calls is taken, which other work on the machine cannot shorten and rarely stretches; what a call reads fits in a core's own cache,
//! for what it would read from the shared one takes twice as long when a neighbour reads there too. A kernel may take [`MARGIN`] times
//! what is stored: this finds a lost vector, not a loss of 3 %, for which there are the benchmarks.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use residuum::readout::{Readout, Scratch, Settings, Shape};
use residuum::response::Power;
use residuum::simd::{self, Level};
use residuum::{Key, ResponseFunction};
use residuum_bench::machine::operation;
use residuum_bench::tiles::{Case, REGIMES, models, rules, time_rule, uniform};
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, LayerKind, LayerList, MNIST};
use residuum_nn::{Loss, Sgd, Tensor};

/// How many times what is stored a kernel may take, at the level of vectors at which it was stored.
const MARGIN: f64 = 1.5;
const STORED_AT: Level = Level::Avx2;
/// The same at other levels, whose ratios are not stored: what is four times too slow is found there, what is twice is not.
const MARGIN_ELSEWHERE: f64 = 3.0;
/// How often a kernel that seems slow is measured again before it is called slow: a neighbour on the machine goes away, a lost vector stays.
const REPEATS: usize = 8;
/// The time that it is given to go away, before each repeat.
const PAUSE: Duration = Duration::from_secs(2);
/// Turns that everything gets.
const TURNS: usize = 6;
/// Calls in a turn.
const CALLS: usize = 4;
/// Calls of less than a millisecond: on a busy machine most of them run undisturbed.
const SHAPE: (usize, usize) = (16, 784);
const BATCH: usize = 10;

/// Lane operations for each weight and sample, number or draw.
const STORED: [(&str, f64); 25] = [
    ("constant, light", 22.0),
    ("constant, heavy", 68.0),
    ("linear, light", 23.0),
    ("linear, heavy", 125.0),
    ("soft bounds, light", 18.0),
    ("soft bounds, heavy", 128.0),
    ("soft bounds reference, light", 18.0),
    ("soft bounds reference, heavy", 140.0),
    ("power, shape 1, light", 40.0),
    ("power, shape 1, heavy", 223.0),
    ("power, shape 2.5, light", 148.0),
    ("power, shape 2.5, heavy", 228.0),
    ("exponential, light", 41.0),
    ("exponential, heavy", 180.0),
    ("16 bits, soft bounds, light", 27.0),
    ("16 bits, soft bounds, heavy", 131.0),
    ("Residual Learning, 1 column", 10.0),
    ("Residual Learning, all columns", 38.0),
    ("read", 1.5),
    ("read transposed", 1.8),
    ("exact power, shape 2.5", 230.0),
    ("normal, f64", 170.0),
    ("uniform, f64", 78.0),
    ("digital 784-64-10, batch 10, a sample", 142_000.0),
    ("digital CNN, batch 1, a sample", 5_700_000.0),
];

/// One kernel: nanoseconds per unit of one short call.
struct Kernel {
    name: String,
    call: Box<dyn FnMut() -> f64 + Send>,
}

fn kernel(name: impl Into<String>, units: usize, mut work: impl FnMut() + Send + 'static) -> Kernel {
    let call = move || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / units as f64
    };
    Kernel { name: name.into(), call: Box::new(call) }
}

/// Updates of tiles and steps of rules.
fn tiles() -> Vec<Kernel> {
    let mut all = Vec::new();
    for model in models() {
        for (regime, size) in REGIMES {
            let mut case = Case::new(&model.device, SHAPE, BATCH, size);
            all.push(Kernel { name: format!("{}, {regime}", model.name), call: Box::new(move || case.call()) });
        }
    }
    let columns = rules(SHAPE).into_iter().filter(|(name, _)| name.starts_with("Residual Learning"));
    all.extend(columns.map(|(name, mut rule)| Kernel {
        name: name.into(),
        call: Box::new(move || time_rule(&mut *rule, SHAPE, BATCH, REGIMES[0].1)[0]),
    }));
    all
}

fn others() -> Vec<Kernel> {
    let (rows, cols) = (64, 784);
    let mut all = Vec::new();
    for (name, n_in, n_out) in [("read", cols, rows), ("read transposed", rows, cols)] {
        let readout = Readout::new(Settings::aihwkit()).expect("valid");
        let (weights, inputs) = (uniform("w", rows * cols, 0.2), uniform("x", BATCH * n_in, 0.1));
        let (mut outputs, mut scratch) = (vec![0.0; BATCH * n_out], Scratch::default());
        let read = if n_in == cols { Readout::read } else { Readout::read_transposed };
        all.push(kernel(name, BATCH * rows * cols, move || {
            let shape = Shape { rows, cols };
            read(&readout, &weights, shape, &inputs, Key::new(1), &mut outputs, &mut scratch);
            black_box(&mut outputs);
        }));
    }
    let (response, n) = (Power::new(2.5, 1.0).expect("valid"), 1 << 12);
    let (mut state, direction) = (vec![0.1; n], vec![1.0; n]);
    all.push(kernel("exact power, shape 2.5", n, move || {
        response.realize(1e-9, &direction, response.range(), &mut state);
        black_box(&mut state);
    }));
    for name in ["normal, f64", "uniform, f64"] {
        let mut out = vec![0.0; n];
        all.push(kernel(name, n, move || {
            if name.starts_with('n') {
                Key::new(3).fill_normal(&mut out);
            } else {
                Key::new(3).fill_uniform(&mut out);
            }
            black_box(&mut out);
        }));
    }
    let dense = LayerList::mlp(&[64, 10], Activation::Sigmoid).then(LayerKind::LogSoftmax);
    let networks = [
        ("digital 784-64-10, batch 10, a sample", 10, dense),
        ("digital CNN, batch 1, a sample", 1, LayerList::cnn()),
    ];
    for (name, batch, layers) in networks {
        let mut factory = DigitalFactory(Some(Sgd::new(0.05)));
        let mut network = layers.build(MNIST, &mut factory, Key::new(1)).expect("valid");
        let input = Tensor::from_values(MNIST, uniform("x", batch * MNIST.len(), 1.0));
        let labels: Vec<u32> = (0..batch as u32).map(|i| i % 10).collect();
        let mut k = 0;
        all.push(kernel(name, batch, move || {
            let loss = Loss::NegativeLogLikelihood;
            network.train_step(&input, &labels, loss, k, Key::new(3)).expect("a small rate");
            k += 1;
        }));
    }
    all
}

/// Lane operations of each kernel.
fn measure(kernels: &mut [Kernel], turns: usize) -> Vec<f64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let (mut lane, mut best) = (f64::INFINITY, vec![f64::INFINITY; kernels.len()]);
    pool.install(|| {
        for _ in 0..turns {
            lane = lane.min(operation());
            for (best, kernel) in best.iter_mut().zip(kernels.iter_mut()) {
                // The first call fetches into the cache what the kernels before it put out.
                *best = (0..CALLS).map(|_| (kernel.call)()).fold(*best, f64::min);
            }
        }
    });
    best.iter().map(|best| best / lane).collect()
}

fn stored(name: &str) -> f64 {
    let found = STORED.iter().find(|(stored, _)| *stored == name);
    found.unwrap_or_else(|| panic!("{name:?} must have a stored time")).1
}

/// The kernels, then the same tiles with vectors of 128 bits alone, which must be found too slow: a bound that lets them pass would
/// let a compiler's lost vector pass as well.
#[test]
fn kernels_take_no_longer_than_is_stored() {
    let mut kernels: Vec<Kernel> = tiles().into_iter().chain(others()).collect();
    assert_eq!(kernels.len(), STORED.len(), "every stored time belongs to a kernel");
    let margin = if simd::level() == STORED_AT { MARGIN } else { MARGIN_ELSEWHERE };
    println!(
        "{:<38} {:>10} {:>8}   (lane operations; at most {margin} times what is stored)",
        "kernel", "measured", "stored"
    );
    let mut slow = kernels.iter().map(|kernel| kernel.name.clone()).collect::<Vec<_>>();
    for repeat in 0..=REPEATS {
        if repeat > 0 {
            std::thread::sleep(PAUSE);
        }
        kernels.retain(|kernel| slow.contains(&kernel.name));
        slow.clear();
        let times = measure(&mut kernels, TURNS);
        for (kernel, time) in kernels.iter().zip(&times) {
            let stored = stored(&kernel.name);
            println!("{:<38} {time:>10.1} {stored:>8.1}", kernel.name);
            if *time > margin * stored {
                slow.push(kernel.name.clone());
            }
        }
        if slow.is_empty() {
            break;
        }
    }
    assert!(
        slow.is_empty(),
        "more than {margin} times what is stored, {} times measured: {}",
        REPEATS + 1,
        slow.join("; ")
    );
    if simd::level() == STORED_AT {
        let mut kernels = tiles();
        let narrow = simd::at(Level::Scalar, || measure(&mut kernels, 1));
        for (kernel, time) in kernels.iter().zip(&narrow) {
            let bound = MARGIN * stored(&kernel.name);
            assert!(*time > bound, "{} without vectors: {time:.1} passes the bound {bound:.1}", kernel.name);
        }
    } else {
        println!("the twin without vectors is measured at {STORED_AT:?} alone");
    }
}
