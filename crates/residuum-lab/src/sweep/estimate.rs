//! The cost of trials: times a few steps of one trial of each kind, and counts the numbers it holds.

use std::sync::Arc;
use std::time::Instant;

use residuum::Key;
use residuum_nn::layer::Pass;
use residuum_nn::state::{Data, Scope};
use residuum_nn::{Network, Targets, Tensor};

use crate::plan::{Plan, Work};
use crate::progress::Silent;
use crate::run::run;
use crate::spec::{DeviceSpec, Devices, Resolved, Spec, TrialSpec};
use crate::store::Row;
use crate::train::{NetworkParts, WeightsFrom};

/// About how long measuring all kinds takes, in seconds, unless a single step takes longer.
const ENOUGH_FOR_ALL: f64 = 2.0;
/// Measuring one kind continues until a sample takes this long, in seconds.
const ENOUGH: [f64; 2] = [0.02, 0.3];
/// Longest single measurement, in seconds.
const LONGEST: f64 = 1.0;
/// Most kinds that are measured; others are assumed to cost as much as the most similar one.
const MOST_KINDS: usize = 24;
/// A test batch, as trials have it.
const TEST_BATCH: usize = 200;

/// Time and memory of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Seconds of one step of the first trial on this machine.
    pub step_seconds: f64,
    /// Seconds of the first trial.
    pub trial_seconds: f64,
    /// Seconds of all trials one after the other.
    pub total_seconds: f64,
    /// Trials at a time.
    pub jobs: usize,
    /// Seconds of all trials, `jobs` at a time.
    pub wall_seconds: f64,
    /// Kinds of trials that differ in the cost of a step.
    pub kinds: usize,
    /// Memory of the largest trial that was measured.
    pub memory: Memory,
}

/// Bytes of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Arrays, the state of the rule and the optimiser, and biases.
    pub state: u64,
    /// Parameters of cells: what the device has for each cell of every array; four numbers on an exact one.
    pub devices: u64,
    /// Samples, or records.
    pub data: u64,
    /// What a step keeps for a batch: inputs and outputs of layers, data for the backward pass, errors.
    pub activations: u64,
}

impl Memory {
    /// Total.
    pub fn total(&self) -> u64 {
        self.state + self.devices + self.data + self.activations
    }
}

impl Cost {
    /// Estimates what the trials cost, `jobs` at a time, from a few steps of one of each kind.
    ///
    /// # Errors
    /// If there is no trial, or one of those measured cannot be run.
    pub fn estimate(plans: &[Plan], jobs: usize) -> Result<Self, String> {
        let jobs = jobs.max(1);
        let (kinds, of_plan) = kinds(plans);
        let measured = kinds.len().min(MOST_KINDS);
        let enough = (ENOUGH_FOR_ALL / measured.max(1) as f64).clamp(ENOUGH[0], ENOUGH[1]);
        let threads = (rayon::current_num_threads() / jobs).max(1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
        let probe = |kind: &SpecKind<'_>| match &kind.plan.work {
            Work::Problem(spec) => of_problem(spec, kind.plan.seed, enough),
            Work::Network(spec) => of_network(spec, kind.plan.seed, enough),
        };
        let probes: Vec<Probe> =
            pool.install(|| kinds[..measured].iter().map(probe).collect::<Result<_, _>>())?;
        let Some(first) = probes.first() else { return Err("there must be a trial, got none".into()) };
        let like: Vec<&Probe> = kinds.iter().map(|kind| &probes[kind.most_like(&kinds[..measured])]).collect();
        let seconds: Vec<f64> =
            plans.iter().zip(&of_plan).map(|(plan, &kind)| like[kind].seconds(plan)).collect();
        Ok(Self {
            step_seconds: first.step,
            trial_seconds: seconds[0],
            total_seconds: seconds.iter().sum(),
            jobs,
            wall_seconds: wall(&seconds, jobs),
            kinds: kinds.len(),
            memory: probes.iter().map(|p| p.memory).max_by_key(Memory::total).unwrap_or_default(),
        })
    }
}

/// Seconds until the last of `jobs` workers is done, each taking the next trial when it is free.
pub fn wall(seconds: &[f64], jobs: usize) -> f64 {
    let mut busy_until = vec![0.0_f64; jobs.min(seconds.len()).max(1)];
    for trial in seconds {
        if let Some(next) = busy_until.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *next += trial;
        }
    }
    busy_until.into_iter().fold(0.0, f64::max)
}

/// Trials whose steps cost the same.
struct SpecKind<'a> {
    plan: &'a Plan,
    /// What determines the cost.
    fields: Vec<String>,
}

impl SpecKind<'_> {
    /// Index of the kind most similar to this one: its own, if it is among them.
    fn most_like(&self, others: &[SpecKind<'_>]) -> usize {
        let common = |other: &SpecKind<'_>| other.fields.iter().filter(|f| self.fields.contains(f)).count();
        let differs = |other: &SpecKind<'_>| self.fields.len().max(other.fields.len()) - common(other);
        (0..others.len()).min_by_key(|&i| differs(&others[i])).unwrap_or(0)
    }
}

/// The kinds of some trials in order of appearance, and the kind of each trial.
fn kinds(plans: &[Plan]) -> (Vec<SpecKind<'_>>, Vec<usize>) {
    let mut kinds: Vec<SpecKind> = Vec::new();
    let mut of_plan: Vec<usize> = Vec::with_capacity(plans.len());
    for (i, plan) in plans.iter().enumerate() {
        // Seeds of one point follow one another and share their spec.
        if i > 0 && same_work(&plans[i - 1].work, &plan.work) {
            of_plan.push(of_plan[i - 1]);
            continue;
        }
        let fields: Vec<String> = plan.resolved().iter().filter_map(costly).collect();
        let known = kinds.iter().position(|kind| kind.fields == fields);
        of_plan.push(known.unwrap_or(kinds.len()));
        if known.is_none() {
            kinds.push(SpecKind { plan, fields });
        }
    }
    (kinds, of_plan)
}

fn same_work(a: &Work, b: &Work) -> bool {
    match (a, b) {
        (Work::Problem(a), Work::Problem(b)) => Arc::ptr_eq(a, b),
        (Work::Network(a), Work::Network(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// A parameter that affects the cost of a step, as text: choices and sizes, not rates and spreads.
fn costly(r: &Resolved) -> Option<String> {
    let (table, field) = r.path.split_once('.').unwrap_or(("", &r.path));
    let is_size = matches!(table, "network" | "data" | "mapping") || field == "dim" || field == "batch_size";
    let is_number = r.value.parse::<f64>().is_ok();
    let is_aside =
        table.is_empty() || field.ends_with("contents") || field.contains("seeds") || field == "epochs";
    // By default a longer trial records no more than a short one.
    let is_size = is_size || (table == "record" && r.given);
    let is_aside = is_aside || (table == "record" && !r.given);
    if is_aside || (is_number && !is_size) {
        return None;
    }
    // The cost depends on the length of a vector, not on its values.
    let value = match table {
        "problem" if r.value.starts_with('[') => r.value.matches(',').count().to_string(),
        _ => r.value.clone(),
    };
    Some(format!("{} = {value}", r.path))
}

/// Measurements of one kind.
struct Probe {
    /// Seconds of a step.
    step: f64,
    /// Seconds before the first step.
    start_up: f64,
    /// Seconds of a step of a problem, or of an epoch.
    unit: f64,
    memory: Memory,
}

impl Probe {
    /// Seconds of a trial of this kind.
    fn seconds(&self, plan: &Plan) -> f64 {
        let units = match &plan.work {
            Work::Problem(spec) => spec.steps,
            Work::Network(spec) => spec.training.epochs,
        };
        self.start_up + units as f64 * self.unit
    }
}

/// Seconds that some work takes.
fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

fn of_problem(spec: &Spec, seed: u64, enough: f64) -> Result<Probe, String> {
    let time = |steps: u64| -> Result<f64, String> {
        let mut short = Spec { steps, seeds: vec![seed], ..spec.clone() };
        short.record.tail_from = short.record.tail_from.min(steps);
        let (seconds, records) = seconds(|| run(&short, &Silent));
        records.map(|_| seconds).map_err(|e| e.to_string())
    };
    let start_up = time(0)?;
    let (mut steps, mut taken) = (1.min(spec.steps), start_up);
    // Longer than the trial itself if need be: ten steps take less than what the clock and the machine add, and a kind may have
    // longer trials.
    while steps > 0 && taken <= enough {
        match time(4 * steps) {
            Ok(seconds) => (steps, taken) = (4 * steps, seconds),
            // What explodes after its end has been measured before it.
            Err(_) if 4 * steps > spec.steps => break,
            Err(error) => return Err(error),
        }
    }
    let step = (taken - start_up).max(0.0) / steps.max(1) as f64;
    let n = spec.problem.dim() as u64;
    let arrays = spec.build_rule(seed)?.states().len() as u64;
    let memory = Memory {
        state: 8 * n * arrays,
        devices: spec.devices.as_ref().map_or(0, |devices| parameter_bytes(devices, 8) * n * arrays),
        data: size_of::<Row>() as u64 * spec.record.rows(n as usize),
        // Gradient, noise, effective weights and tail sum.
        activations: 4 * 8 * n,
    };
    Ok(Probe { step, start_up, unit: step, memory })
}

fn of_network(spec: &TrialSpec, seed: u64, enough: f64) -> Result<Probe, String> {
    let (image, classes) = spec.data.image();
    let [train, test] = spec.data.samples().map_err(|e| e.to_string())?;
    let batch = spec.training.batch_size.min(train);
    let steps = train.div_ceil(batch);
    let mut parts = NetworkParts::build(spec, seed, (image, classes), steps as u64, WeightsFrom::Spec)
        .map_err(|e| e.to_string())?;
    let key = Key::new(seed).named("estimate");
    let features = match &mut parts.backbone {
        Some(backbone) => forward_seconds(backbone, 1, key),
        None => 0.0,
    };
    let step = step_seconds(&mut parts.network, spec, batch, enough, key)?;
    let test_seconds = forward_seconds(&mut parts.network, TEST_BATCH.min(test), key);
    Ok(Probe {
        step,
        start_up: (train + test) as f64 * features,
        unit: steps as f64 * step + test as f64 * test_seconds,
        memory: memory(&mut parts, spec, batch, train + test),
    })
}

/// Images of noise: the time hardly depends on the content.
fn images(network: &Network, batch: usize, key: Key) -> Tensor {
    let shape = network.input_shape();
    let mut values = vec![0.0; batch * shape.len()];
    key.named("images").fill_uniform(&mut values);
    Tensor::from_values(shape, values.into_iter().map(|v| v as f32).collect())
}

/// Seconds per sample of reading a network, in batches if that is fast.
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

/// Seconds of a training step; for large ones, only a single sample is measured.
fn step_seconds(
    network: &mut Network,
    spec: &TrialSpec,
    batch: usize,
    enough: f64,
    key: Key,
) -> Result<f64, String> {
    let classes = network.classes() as u32;
    let loss = spec.training.loss;
    let mut k = 0;
    let mut time = |network: &mut Network, images: &Tensor| -> Result<f64, String> {
        let labels: Vec<u32> = (0..images.batch() as u32).map(|i| i % classes).collect();
        let values = vec![0.5; images.batch() * classes as usize];
        let targets = if loss.is_regression() { Targets::Values(&values) } else { Targets::Classes(&labels) };
        let (seconds, outcome) = seconds(|| network.train_step(images, targets, loss, k, key));
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
    while taken < enough && count < 1000 {
        taken += time(network, &many)?;
        count += 1;
    }
    Ok(taken / f64::from(count))
}

/// Bytes of the parameters of one cell, the larger of those of W and of P; four numbers of `size` bytes on exact arrays.
fn parameter_bytes(devices: &Devices, size: u64) -> u64 {
    let of = |device: &DeviceSpec| device.tile().map_or(4 * size, |tile| tile.parameter_bytes() as u64);
    of(&devices.main).max(of(&devices.residual))
}

fn memory(parts: &mut NetworkParts, spec: &TrialSpec, batch: usize, samples: usize) -> Memory {
    let (image, _) = spec.data.image();
    let mut memory = Memory { data: (samples * image.len()) as u64, ..Memory::default() };
    for network in [Some(&mut parts.network), parts.backbone.as_mut()].into_iter().flatten() {
        for (_, tensor) in network.state(Scope::Everything).iter() {
            let size = if matches!(tensor.data, Data::F32(_) | Data::U32(_)) { 4 } else { 8 };
            memory.state += size * tensor.data.len() as u64;
        }
    }
    if let Some(devices) = &spec.devices
        && !spec.rule.is_digital()
    {
        // One number of state per cell.
        memory.devices = memory.state / 4 * parameter_bytes(devices, 4);
    }
    memory.activations = (4 * batch * parts.network.held()) as u64;
    memory
}
