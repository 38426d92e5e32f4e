//! What trials cost: a few steps of the first one are timed, its numbers are counted.

use std::time::Instant;

use residuum::Key;
use residuum_nn::layer::Pass;
use residuum_nn::state::{Data, Scope};
use residuum_nn::{Network, Tensor};

use crate::plan::{Plan, Work};
use crate::progress::Silent;
use crate::run::run;
use crate::spec::{DataSpec, Spec, TrialSpec};
use crate::train::{Origin, Parts};

/// Measuring goes on until a sample takes this long, in seconds.
const ENOUGH: f64 = 0.3;
/// Longest single measurement that is asked for, in seconds.
const LONGEST: f64 = 1.0;
/// A test batch, as trials have it.
const TEST_BATCH: usize = 200;

/// Time and memory of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Seconds of one step of the first trial on this machine.
    pub step_seconds: f64,
    /// Seconds of the first trial.
    pub trial_seconds: f64,
    /// Seconds of all trials one after the other, where a step of each costs as much as one of the first.
    pub total_seconds: f64,
    /// Memory of the first trial.
    pub memory: Memory,
}

/// Bytes of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Arrays, what the rule and the optimiser remember, and biases.
    pub state: u64,
    /// Parameters of cells: four numbers for each cell of every array.
    pub devices: u64,
    /// Samples, or records.
    pub data: u64,
    /// What a step holds of a batch: inputs and outputs of layers, what they keep for the backward pass, errors.
    pub activations: u64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.state + self.devices + self.data + self.activations
    }
}

impl Cost {
    /// Estimates what the trials cost from a few steps of the first.
    pub(super) fn estimate(plans: &[Plan]) -> Result<Self, String> {
        let Some(first) = plans.first() else { return Err("there is no trial".into()) };
        match &first.work {
            Work::Problem(spec) => of_problem(spec, first.seed, plans),
            Work::Network(spec) => of_network(spec, first.seed, plans),
        }
    }
}

/// Seconds that some work takes.
fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

fn of_problem(spec: &Spec, seed: u64, plans: &[Plan]) -> Result<Cost, String> {
    let time = |steps: u64| -> Result<f64, String> {
        let mut short = Spec { steps, seeds: vec![seed], ..spec.clone() };
        short.record.tail_from = short.record.tail_from.min(steps);
        let (seconds, records) = seconds(|| run(&short, &Silent));
        records.map(|_| seconds).map_err(|e| e.to_string())
    };
    let start_up = time(0)?;
    let (mut steps, mut taken) = (1.min(spec.steps), start_up);
    while steps > 0 {
        taken = time(steps)?;
        if taken > ENOUGH || steps == spec.steps {
            break;
        }
        steps = (4 * steps).min(spec.steps);
    }
    let step_seconds = (taken - start_up).max(0.0) / steps.max(1) as f64;
    let trial = |steps: u64| start_up + steps as f64 * step_seconds;
    let steps_of = |plan: &Plan| if let Work::Problem(spec) = &plan.work { spec.steps } else { 0 };
    let n = spec.problem.dim() as u64;
    let rule = spec.build_rule(seed)?;
    let arrays = rule.states().len() as u64;
    let memory = Memory {
        state: 8 * n * arrays,
        devices: if spec.devices.is_some() { 32 * n * arrays } else { 0 },
        data: size_of::<crate::run::Record>() as u64 * spec.record.rows(n as usize),
        // Gradient, noise, effective weights and tail sum.
        activations: 4 * 8 * n,
    };
    let total_seconds = plans.iter().map(|plan| trial(steps_of(plan))).sum();
    Ok(Cost { step_seconds, trial_seconds: trial(spec.steps), total_seconds, memory })
}

fn of_network(spec: &TrialSpec, seed: u64, plans: &[Plan]) -> Result<Cost, String> {
    let (image, classes) = spec.data.image();
    let [train, test] = samples(&spec.data)?;
    let batch = spec.training.batch_size.min(train);
    let steps = train.div_ceil(batch);
    let mut parts =
        Parts::build(spec, seed, (image, classes), steps as u64, Origin::Spec).map_err(|e| e.to_string())?;
    let key = Key::new(seed).named("estimate");
    let features = match &mut parts.backbone {
        Some(backbone) => forward_seconds(backbone, 1, key),
        None => 0.0,
    };
    let step_seconds = step_seconds(&mut parts.network, spec, batch, key)?;
    let test_seconds = forward_seconds(&mut parts.network, TEST_BATCH.min(test), key);
    let epoch = steps as f64 * step_seconds + test as f64 * test_seconds;
    let prepare = (train + test) as f64 * features;
    let trial = |epochs: u64| prepare + epochs as f64 * epoch;
    let epochs = |plan: &Plan| if let Work::Network(spec) = &plan.work { spec.training.epochs } else { 0 };
    Ok(Cost {
        step_seconds,
        trial_seconds: trial(spec.training.epochs),
        total_seconds: plans.iter().map(|plan| trial(epochs(plan))).sum(),
        memory: memory(&mut parts, spec, batch, train + test),
    })
}

/// Images to train and to test on, without a look at files.
fn samples(data: &DataSpec) -> Result<[usize; 2], String> {
    let (_, classes) = data.image();
    let [train, test] = match data.set {
        "mnist" | "fashion-mnist" => [60_000, 10_000],
        "cifar10" | "cifar100" => [50_000, 10_000],
        // Embedded: no folder is looked into.
        _ => {
            let split = data.load(std::path::Path::new(".")).map_err(|e| e.to_string())?;
            return Ok([split.train.len(), split.test.len()]);
        }
    };
    let train = if data.half.is_some() { train / 2 } else { train };
    let limited = |all: usize, per_class: Option<usize>| per_class.map_or(all, |n| (n * classes).min(all));
    Ok([limited(train, data.per_class[0]), limited(test, data.per_class[1])])
}

/// Images of noise, since the time hardly depends on what is seen.
fn images(network: &Network, batch: usize, key: Key) -> Tensor {
    let shape = network.input_shape();
    let mut values = vec![0.0; batch * shape.len()];
    key.named("images").fill_uniform(&mut values);
    Tensor::from_values(shape, values.into_iter().map(|v| v as f32).collect())
}

/// Seconds a sample of reading a network, in batches if that is quick.
fn forward_seconds(network: &mut Network, batch: usize, key: Key) -> f64 {
    let one = images(network, 1, key);
    let (single, ()) = seconds(|| _ = network.forward(&one, Pass::evaluate(key)));
    if single * batch as f64 > LONGEST {
        return single;
    }
    let many = images(network, batch, key);
    let (all, ()) = seconds(|| _ = network.forward(&many, Pass::evaluate(key)));
    all / batch as f64
}

/// Seconds of a training step; of large ones a single sample is measured.
fn step_seconds(network: &mut Network, spec: &TrialSpec, batch: usize, key: Key) -> Result<f64, String> {
    let classes = network.classes() as u32;
    let loss = spec.training.loss;
    let mut k = 0;
    let mut time = |network: &mut Network, images: &Tensor| -> Result<f64, String> {
        let labels: Vec<u32> = (0..images.batch() as u32).map(|i| i % classes).collect();
        let (seconds, outcome) = seconds(|| network.train_step(images, &labels, loss, k, key));
        k += 1;
        outcome.map(|_| seconds).map_err(|e| e.to_string())
    };
    let one = images(network, 1, key);
    let single = time(network, &one)?;
    if single * batch as f64 > LONGEST {
        return Ok(single * batch as f64);
    }
    let many = images(network, batch, key);
    let (mut taken, mut count) = (0.0, 0);
    while taken < ENOUGH && count < 1000 {
        taken += time(network, &many)?;
        count += 1;
    }
    Ok(taken / f64::from(count))
}

fn memory(parts: &mut Parts, spec: &TrialSpec, batch: usize, samples: usize) -> Memory {
    let (image, _) = spec.data.image();
    let mut memory = Memory { data: (samples * image.len()) as u64, ..Memory::default() };
    for network in [Some(&mut parts.network), parts.backbone.as_mut()].into_iter().flatten() {
        for (_, tensor) in network.state(Scope::Everything).iter() {
            let size = if matches!(tensor.data, Data::F32(_) | Data::U32(_)) { 4 } else { 8 };
            memory.state += size * tensor.data.len() as u64;
        }
    }
    if spec.devices.is_some() && !spec.rule.is_digital() {
        // State is one number a cell; its parameters are four.
        memory.devices = 4 * memory.state;
    }
    memory.activations = (4 * batch * parts.network.held()) as u64;
    memory
}
