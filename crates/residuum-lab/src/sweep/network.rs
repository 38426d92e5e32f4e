//! A trained network as records.

use residuum::Range;
use residuum_nn::train::EpochRecord;

use crate::spec::{Devices, HardwareSpec, TrialSpec};
use crate::store::Row;
use crate::train::{ArrayWeights, LayerWeights, Trained};

/// Bins of a histogram of weights.
const BINS: usize = 64;

/// The records of a network: after every epoch losses, accuracies, rate and pulses; after the last, for each layer on tiles, how
/// its weights lie in their range, κ₂ over the weights it had, and how far it drifted.
///
/// | metric | part | value |
/// |---|---|---|
/// | `train_loss`, `train_accuracy`, `test_loss`, `test_accuracy`, `learning_rate` | – | after an epoch; `validation_…` instead of `test_…` where the spec evaluates that part |
/// | `test_r2` | – | after an epoch, instead of accuracies, for a regression: the share of the targets' variance that is explained |
/// | `pulses` | layer | pulses its devices have taken |
/// | `energy` | layer | joules, if the spec gives `device.pulse_energy` |
/// | `reads`, `conversions`, `digital_operations`, `digital_bytes` | layer | since training began, if the spec has `[hardware]` |
/// | `training_time`, `training_energy` | – | seconds and joules of all layers on that hardware |
/// | `weight_count` | layer, layer.main, layer.residual, … | weights in bin `index` of 64 between `weight_low` and `weight_high`: effective weights, or cells of an array |
/// | `range_low`, `range_high` | the same | dynamic range of the mean device, in the same units |
/// | `kappa2` | layer | q_max/q_min of the mean main device between the smallest and the largest weight of the main array before and after training |
/// | `drift` | layer | mean of \|w − w⋄\| before training minus that after, over the main array: positive where weights were pulled towards the symmetric point |
pub fn network_rows(trained: &Trained, spec: &TrialSpec) -> Vec<Row> {
    let records = &trained.summary.records;
    let devices = spec.devices.as_ref();
    let pulse_energy = devices.and_then(|devices| devices.pulse_energy);
    let (part, hardware) = (spec.data.evaluated_part(), spec.hardware.as_ref());
    let mut rows: Vec<Row> = Vec::new();
    for record in records {
        rows.extend(epoch_rows(record, part, pulse_energy));
        if let Some(hardware) = hardware {
            ledger_rows(record, hardware, &mut rows);
        }
    }
    if let (Some(last), Some(devices)) = (records.last(), devices) {
        let at = At { epoch: last.epoch, step: last.steps };
        for layer in &trained.layers {
            layer_rows(at, layer, devices, &mut rows);
        }
    }
    rows
}

/// When a row was recorded.
#[derive(Clone, Copy)]
pub struct At {
    /// The epoch, from 1.
    pub epoch: u64,
    /// The steps until then.
    pub step: u64,
}

impl At {
    fn row(self, metric: &str, part: &str, value: f64) -> Row {
        let Self { epoch, step } = self;
        Row { epoch: Some(epoch), step, metric: metric.into(), part: part.into(), index: None, value }
    }
}

fn epoch_rows(record: &EpochRecord, part: &str, pulse_energy: Option<f64>) -> Vec<Row> {
    let at = At { epoch: record.epoch, step: record.steps };
    let of_part = |metric: &str, value: f64| at.row(&format!("{part}_{metric}"), "", value);
    let mut rows = vec![at.row("train_loss", "", record.train_loss)];
    match record.explained {
        None => rows.extend([
            at.row("train_accuracy", "", record.train_accuracy),
            of_part("loss", record.test_loss),
            of_part("accuracy", record.test_accuracy),
        ]),
        Some(share) => rows.extend([of_part("loss", record.test_loss), of_part("r2", share)]),
    }
    rows.extend(record.learning_rate.map(|rate| at.row("learning_rate", "", rate)));
    rows.extend(record.pulses.iter().map(|(layer, &pulses)| at.row("pulses", layer, pulses as f64)));
    if let Some(joules) = pulse_energy {
        let energy = |(layer, &pulses): (&String, &u64)| at.row("energy", layer, joules * pulses as f64);
        rows.extend(record.pulses.iter().map(energy));
    }
    rows
}

/// What training has cost so far.
fn ledger_rows(record: &EpochRecord, hardware: &HardwareSpec, rows: &mut Vec<Row>) {
    let at = At { epoch: record.epoch, step: record.steps };
    let (mut time, mut energy) = (0.0, 0.0);
    for (layer, operations) in &record.operations {
        let pulses = record.pulses.get(layer).copied().unwrap_or(0);
        for (metric, value) in [
            ("reads", operations.read_rounds),
            ("conversions", operations.digital_to_analog + operations.analog_to_digital),
            ("digital_operations", operations.digital),
            ("digital_bytes", operations.bytes),
        ] {
            rows.push(at.row(metric, layer, value as f64));
        }
        time += hardware.time(operations);
        energy += hardware.energy(operations, pulses);
    }
    rows.push(at.row("training_time", "", time));
    rows.push(at.row("training_energy", "", energy));
}

/// The histograms, condition and drift of a layer.
pub fn layer_rows(at: At, layer: &LayerWeights, devices: &Devices, rows: &mut Vec<Row>) {
    let name = &layer.layer;
    histogram_rows(at, name, &layer.effective, layer.range, rows);
    for array in &layer.arrays {
        let device = if array.name == "main" { &devices.main } else { &devices.residual };
        histogram_rows(at, &format!("{name}.{}", array.name), &array.end, device.range(), rows);
    }
    if let Some(main) = layer.arrays.first()
        && let Ok(response) = devices.main.representative()
    {
        if let Some(visited) = visited(main) {
            let visited =
                Range { lo: response.range().clip(visited.lo), hi: response.range().clip(visited.hi) };
            rows.push(at.row("kappa2", name, response.bounds(visited).hardware_condition()));
        }
        if let Some(point) = response.symmetric_point() {
            rows.push(at.row("drift", name, drift(main, point)));
        }
    }
}

/// From the smallest to the largest weight, before and after training.
fn visited(array: &ArrayWeights) -> Option<Range> {
    let all = || array.start.iter().chain(&array.end).map(|&w| f64::from(w)).filter(|w| w.is_finite());
    Some(Range { lo: all().reduce(f64::min)?, hi: all().reduce(f64::max)? })
}

/// Mean of |w₀ − w⋄| − |w_K − w⋄|.
fn drift(array: &ArrayWeights, point: f64) -> f64 {
    let distance = |w: &f32| (f64::from(*w) - point).abs();
    let closer = array.start.iter().zip(&array.end).map(|(start, end)| distance(start) - distance(end));
    closer.sum::<f64>() / array.end.len() as f64
}

/// Counts of equal bins that cover the range and every weight: the same for all trials that keep within the range.
pub fn histogram_rows(at: At, part: &str, weights: &[f32], range: Option<[f64; 2]>, rows: &mut Vec<Row>) {
    let finite = || weights.iter().map(|&w| f64::from(w)).filter(|w| w.is_finite());
    let (Some(min), Some(max)) = (finite().reduce(f64::min), finite().reduce(f64::max)) else { return };
    let [low, high] = range.map_or([min, max], |[low, high]| [low.min(min), high.max(max)]);
    let mut counts = [0u64; BINS];
    for w in finite() {
        let place = (w - low) / (high - low) * BINS as f64;
        // The highest weight belongs to the last bin; a single value has no width and goes to the first.
        counts[(place as usize).min(BINS - 1)] += 1;
    }
    rows.push(at.row("weight_low", part, low));
    rows.push(at.row("weight_high", part, high));
    for (bin, &count) in counts.iter().enumerate() {
        rows.push(Row { index: Some(bin as u64), ..at.row("weight_count", part, count as f64) });
    }
    if let Some([low, high]) = range {
        rows.push(at.row("range_low", part, low));
        rows.push(at.row("range_high", part, high));
    }
}
