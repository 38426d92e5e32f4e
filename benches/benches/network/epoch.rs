//! What an epoch spends beside its steps: filling batches, and evaluating a test set.

use rayon::ThreadPool;
use residuum::Key;
use residuum_nn::data::{Batch, Batches, Dataset, Pipeline};
use residuum_nn::{Loss, Network, Pass, Tensor};

use super::data::Samples;
use super::measure::{Speed, repeat, training};

/// Samples of a batch in which a run evaluates its test set.
const TEST_BATCH: usize = 200;

/// What the cells of a row are, after the network and its rule: µs for a sample.
pub const EPOCH: [&str; 8] =
    ["network", "rule", "step", "its forward", "evaluation", "2 threads", "loading", "of the step"];

/// One case: a step, its forward pass, an evaluation, also on two threads by the clock, and loading.
pub fn cells(
    names: [&str; 2],
    network: &mut Network,
    samples: &Samples,
    (batch, loss): (usize, Loss),
    [one, two]: &[ThreadPool; 2],
    seconds: f64,
) -> [String; EPOCH.len()] {
    let dataset = samples.dataset();
    let (step, forward, evaluation, loading) = one.install(|| {
        let (step, _) = training(network, samples, batch, loss, seconds);
        let forward = passes(network, samples, batch, seconds, |k| Pass::train(k, Key::new(3)));
        (step, forward, evaluation(network, samples, seconds), loading(&dataset, batch, seconds))
    });
    let on_two = two.install(|| self::evaluation(network, samples, seconds));
    let [step, forward, evaluation, loading] =
        [step, forward, evaluation, loading].map(|speed| 1e6 / speed.by_cpu);
    let [name, rule] = names.map(str::to_owned);
    let times = [step, forward, evaluation, 1e6 / on_two.by_clock].map(|micros| format!("{micros:.1}"));
    let [step_cell, forward, evaluation, on_two] = times;
    let share = format!("{:.1} %", 100.0 * loading / step);
    [name, rule, step_cell, forward, evaluation, on_two, format!("{loading:.2}"), share]
}

fn evaluation(network: &mut Network, samples: &Samples, seconds: f64) -> Speed {
    passes(network, samples, TEST_BATCH, seconds, |k| Pass::evaluate(Key::new(3).fold(k)))
}

/// Forward passes alone.
fn passes(
    network: &mut Network,
    samples: &Samples,
    batch: usize,
    seconds: f64,
    pass: impl Fn(u64) -> Pass,
) -> Speed {
    let batches: Vec<Tensor> = samples.batches(batch).map(|(input, _)| input).collect();
    let mut k = 0;
    let (speed, _) = repeat(batch, seconds, || {
        network.forward(&batches[k as usize % batches.len()], pass(k));
        k += 1;
    });
    speed
}

/// Shuffling an epoch and filling its batches from bytes.
fn loading(dataset: &Dataset, batch: usize, seconds: f64) -> Speed {
    let pipeline = Pipeline::new(dataset, &[]).expect("valid");
    let batches = Batches::new(dataset.clone(), pipeline, batch, Key::new(6)).expect("valid").shuffled();
    let (mut epoch, mut filled) = (0, Batch::default());
    let (speed, _) = repeat(dataset.len(), seconds, || {
        let mut loaded = batches.epoch(epoch);
        while loaded.next_into(&mut filled) {}
        epoch += 1;
    });
    speed
}
