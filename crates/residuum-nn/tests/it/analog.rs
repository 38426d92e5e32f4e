//! Layers on tiles: ideal ones train as digital ones do, whatever they are cut into; real ones resume bit for bit.

mod split;

use std::sync::Arc;

use residuum::readout::{NoiseManagement, Nonlinearity, Settings};
use residuum::rule::{Analog as OnTile, Columns, ResidualConfig, ResidualLearning, SymmetricPoint, Transfer};
use residuum::tile::{CycleNoise, Decay, Device, Drift, Retention, Scheme, Spread, StepModel, Tile};
use residuum::{Key, ParameterError, RateSchedules, Readout, Rule};
use residuum_nn::analog::{AnalogFactory, AnalogWeights, Mapping, OutputScaling, Reads, Recipe};
use residuum_nn::data::{Batches, Pipeline, embedded};
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, Factory, Select, cnn, mlp};
use residuum_nn::state::{Data, Scope};
use residuum_nn::{Loss, Network, Pass, SampleShape, Sgd, Tensor, TrainStepError, Weights};

const RATE: f64 = 0.2;

#[derive(Debug)]
enum Kind {
    Ideal,
    /// Cells that lose half in a mini-batch, and never learn.
    Leaky,
    Sgd,
    Residual,
    /// Cells whose reads hide the state behind write noise.
    Noisy,
}

impl Recipe for Kind {
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError> {
        let ideal = Device::ideal(StepModel::Constant, 1e-3, -50.0, 50.0);
        let real = Device {
            step_spread: Spread::normal(0.3),
            cycle_noise: CycleNoise::Multiplicative(0.3),
            retention: Retention { drift: Some(Drift::power_law(0.1, 1.0)), ..Retention::default() },
            ..Device::paper_power(1.0, 0.6, 1e-3)
        };
        let tile = |name: &str, device: &Device| {
            let mut tile = Tile::new(rows, cols, device.clone(), key.named(name))?;
            tile.count_pulses(true);
            Ok::<_, ParameterError>(tile)
        };
        Ok(match self {
            Self::Ideal => Box::new(OnTile::sgd(tile("main", &ideal)?.with_scheme(Scheme::Expected)?)),
            Self::Leaky => {
                let decay = Some(Decay { lifetime: 2.0, spread: 0.0 });
                let retention = Retention { decay, ..Retention::default() };
                let leaky = Device { retention, ..ideal };
                Box::new(OnTile::sgd(tile("main", &leaky)?.with_scheme(Scheme::Expected)?))
            }
            Self::Sgd => Box::new(OnTile::sgd(tile("main", &real)?)),
            Self::Noisy => {
                let noisy = Device { write_noise: 5.0, ..real };
                Box::new(OnTile::sgd(tile("main", &noisy)?))
            }
            Self::Residual => {
                let config = ResidualConfig {
                    transfer: Transfer { columns: Columns::Some(4), ..Transfer::default() },
                    symmetric_point: SymmetricPoint::Zero,
                    ..ResidualConfig::mixing(0.5)
                };
                Box::new(ResidualLearning::new(tile("main", &real)?, tile("residual", &real)?, config)?)
            }
        })
    }
}

fn factory(kind: Kind, mapping: Mapping, readout: &Readout) -> AnalogFactory {
    AnalogFactory {
        select: Select::All,
        rates: RateSchedules::new(if matches!(kind, Kind::Leaky) { 0.0 } else { RATE }, 0.1),
        recipe: Arc::new(kind),
        mapping,
        reads: Reads { forward: *readout, backward: *readout },
        sgd: Sgd::new(RATE),
        key: Key::new(6),
    }
}

fn digits() -> Batches {
    let train = embedded::digits().unwrap().train;
    let pipeline = Pipeline::new(&train, &[]).unwrap();
    Batches::new(train, pipeline, 10, Key::new(1)).unwrap().shuffled()
}

fn perceptron(factory: &mut dyn Factory) -> Network {
    mlp(SampleShape::image(8, 8, 1), &[64, 20, 10], Activation::Tanh, factory, Key::new(2)).unwrap()
}

const LOSS: Loss = Loss::CrossEntropy { smoothing: 0.0 };

/// Steps `from..to` on the digits; returns the losses.
fn train(network: &mut Network, from: u64, to: u64) -> Vec<f64> {
    let shape = network.input_shape();
    let batches: Vec<_> = digits().epoch(0).collect();
    (from..to)
        .map(|k| {
            let batch = &batches[k as usize % batches.len()];
            let mut x = Tensor::zeros(batch.labels.len(), shape);
            x.values_mut().copy_from_slice(&batch.images);
            let labels = batch.labels.clone();
            network.train_step(&x, &labels, LOSS, k, Key::new(3)).unwrap().loss
        })
        .collect()
}

fn floats(network: &mut Network) -> Vec<f32> {
    let state = network.state(Scope::Network);
    state.iter().filter_map(|(_, entry)| entry.data.as_f32()).flatten().copied().collect()
}

fn farthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn ideal_tiles_train_as_digital_memory_does() {
    let mut digital = perceptron(&mut DigitalFactory(Some(Sgd::new(RATE))));
    let start = floats(&mut digital);
    train(&mut digital, 0, 60);
    let trained = floats(&mut digital);
    let cut = Mapping { max_rows: 7, max_cols: 13, ..Mapping::default() };
    // Where weights lie in the range must not change how fast they learn: a is some 0.5 to 5 here, and a rate off by a²
    // would show.
    let mapped = Mapping { omega: Some(0.06), ..cut };
    let by_row = Mapping { omega: Some(0.6), columnwise: true, ..Mapping::default() };
    for mapping in [Mapping::default(), cut, mapped, by_row] {
        let mut analog = perceptron(&mut factory(Kind::Ideal, mapping, &Readout::default()));
        assert!(farthest(&floats(&mut analog), &start) < 1e-7, "the same weights to begin with");
        train(&mut analog, 0, 60);
        let far = farthest(&floats(&mut analog), &trained);
        // 60 steps of f32 rounding in another order; the weights have moved by far more.
        assert!(far < 2e-5, "{far}");
        assert!(farthest(&start, &trained) > 0.05);
    }
}

#[test]
fn cells_that_leak_do_so_once_a_step() {
    let weight =
        |network: &mut Network| network.state(Scope::Network)["1.weight"].data.as_f32().unwrap().to_vec();
    let mut network = perceptron(&mut factory(Kind::Leaky, Mapping::default(), &Readout::default()));
    let start = weight(&mut network);
    train(&mut network, 0, 3);
    let left: Vec<f32> = start.iter().map(|w| w / 8.0).collect();
    assert!(farthest(&weight(&mut network), &left) < 1e-7);
    assert!(farthest(&start, &left) > 0.05);
}

/// Each tile has lines of its own, and the same ones at every read.
#[test]
fn lines_differ_from_tile_to_tile() {
    let mut settings = Settings::default();
    settings.output.bound = Some(10.0);
    settings.nonlinearity = Some(Nonlinearity { strength: 0.5, spread: 0.5 });
    let readout = Readout::of_array(settings, Key::new(0)).unwrap();
    let row = [1.0; 4];
    let weights = |name: &str| {
        let factory = factory(Kind::Ideal, Mapping { max_rows: 1, ..Mapping::default() }, &readout);
        AnalogWeights::new(name, [2, 4], &[row, row].concat(), &factory).unwrap()
    };
    let read = |weights: &mut AnalogWeights, key: u64| {
        let mut y = [0.0; 2];
        weights.read(&[1.0; 4], &mut y, Key::new(key));
        y
    };
    let (mut a, mut b) = (weights("a"), weights("b"));
    let first = read(&mut a, 1);
    assert_eq!(first, read(&mut a, 2), "nothing here is drawn anew");
    assert_ne!(first[0], first[1], "two tiles");
    assert_ne!(first, read(&mut b, 1), "two layers");
    assert_eq!(first, read(&mut weights("a"), 1));
}

/// With scales that only rescale, the network computes the same.
#[test]
fn mapped_weights_compute_the_same() {
    let mut plain = perceptron(&mut factory(Kind::Ideal, Mapping::default(), &Readout::default()));
    let (mut x, labels) = (Tensor::zeros(4, SampleShape::image(8, 8, 1)), [0, 1, 2, 3]);
    for (i, v) in x.values_mut().iter_mut().enumerate() {
        *v = (0.3 * i as f32).sin();
    }
    let expected = plain.evaluate(&x, &labels, LOSS, Key::new(0)).loss;
    for columnwise in [false, true] {
        for output_scaling in [OutputScaling::Off, OutputScaling::PerTile, OutputScaling::PerOutput] {
            let mapping =
                Mapping { max_rows: 6, omega: Some(0.6), columnwise, output_scaling, ..Mapping::default() };
            let mut mapped = perceptron(&mut factory(Kind::Ideal, mapping, &Readout::default()));
            let loss = mapped.evaluate(&x, &labels, LOSS, Key::new(0)).loss;
            assert!((loss - expected).abs() < 1e-6, "{loss} and {expected}");
        }
    }
}

/// The gradient of a learned scale, against the difference of two losses.
#[test]
fn learned_scales_follow_their_gradient() {
    for output_scaling in [OutputScaling::PerTile, OutputScaling::PerOutput] {
        let mapping = Mapping { output_scaling, omega: Some(0.5), ..Mapping::default() };
        let build = || perceptron(&mut factory(Kind::Ideal, mapping, &Readout::default()));
        let name = "fc1.weight.tile0.output_scale";
        let loss_with = |offset: f32| {
            let mut network = build();
            let mut state = network.state(Scope::Everything);
            let known: Vec<_> =
                state.names().filter(|k| k.ends_with("output_scale")).map(str::to_owned).collect();
            let entry = state.get_mut(&known[0]).unwrap_or_else(|| panic!("no {name} in {known:?}"));
            let Data::F32(values) = &mut entry.data else { panic!("scales are floats") };
            values[0] += offset;
            network.load(Scope::Everything, &state).unwrap();
            let before = offset;
            let loss = train(&mut network, 0, 1)[0];
            let after = network.state(Scope::Everything);
            let after = after[&known[0]].data.as_f32().unwrap();
            (loss, f64::from(after[0] - 1.0 - before))
        };
        let step = 1e-2;
        let slope = (loss_with(step).0 - loss_with(-step).0) / (2.0 * f64::from(step));
        let moved = loss_with(0.0).1;
        assert!(
            (moved + RATE * slope).abs() < 0.01 * RATE * slope.abs() + 1e-5,
            "{moved} for a slope of {slope}"
        );
        assert!(slope.abs() > 1e-3);
    }
}

#[test]
fn a_state_of_tiles_continues_to_the_bit() {
    for kind in [|| Kind::Sgd, || Kind::Residual] {
        let mapping = Mapping { max_cols: 40, output_scaling: OutputScaling::PerTile, ..Mapping::default() };
        let readout = Readout::new(Settings::aihwkit()).unwrap();
        let build = || perceptron(&mut factory(kind(), mapping, &readout));
        let mut whole = build();
        train(&mut whole, 0, 25);
        let state = whole.state(Scope::Everything);
        let rest = train(&mut whole, 25, 60);
        let mut resumed = build();
        resumed.load(Scope::Everything, &state).unwrap();
        assert_eq!(train(&mut resumed, 25, 60), rest);
        assert_eq!(whole.state(Scope::Everything), resumed.state(Scope::Everything));
    }
}

/// The running scale of the converters is part of a checkpoint: without it a resumed run reads with another.
#[test]
fn a_running_scale_continues_to_the_bit() {
    let noise_management = NoiseManagement::AverageAbsMax { decay: 0.05 };
    let readout = Readout::new(Settings { noise_management, ..Settings::aihwkit() }).unwrap();
    let build = || perceptron(&mut factory(Kind::Residual, Mapping::default(), &readout));
    let mut whole = build();
    train(&mut whole, 0, 25);
    let state = whole.state(Scope::Everything);
    let after = train(&mut whole, 25, 40);
    let mut resumed = build();
    resumed.load(Scope::Everything, &state).unwrap();
    assert_eq!(train(&mut resumed, 25, 40), after);
    // The twin: a state whose scales are those of a fresh network.
    let mut forgetful = build();
    let fresh = forgetful.state(Scope::Everything);
    let mut state = state;
    for name in fresh.names().filter(|name| name.ends_with("running_scale")) {
        state.insert(name, fresh[name].clone());
    }
    forgetful.load(Scope::Everything, &state).unwrap();
    assert_ne!(train(&mut forgetful, 25, 40), after);
}

/// Weights that are programmed draw write noise of their own in every layer, tile and seed.
#[test]
fn programmed_weights_draw_noise_of_their_layer_and_seed() {
    let noise = |name: &str, seed: u64| -> Vec<f32> {
        let mapping = Mapping { max_rows: 2, ..Mapping::default() };
        let factory =
            AnalogFactory { key: Key::new(seed), ..factory(Kind::Noisy, mapping, &Readout::default()) };
        let mut weights = AnalogWeights::new(name, [4, 3], &[0.0; 12], &factory).unwrap();
        weights.set_weights(&[0.1; 12]).unwrap();
        let mut out = vec![0.0; 12];
        weights.effective_weights(&mut out);
        out
    };
    let first = noise("fc1", 1);
    assert!(first.iter().any(|w| *w != 0.1), "there is noise");
    assert_eq!(first, noise("fc1", 1), "the same again");
    assert_ne!(first, noise("fc2", 1), "another layer");
    assert_ne!(first, noise("fc1", 2), "another seed");
    assert_ne!(first[..6], first[6..], "another tile");
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    let factory = factory(Kind::Sgd, Mapping::default(), &Readout::default());
    let mut weights = AnalogWeights::new("fc", [2, 3], &[0.1; 6], &factory).unwrap();
    let message = weights.set_weights(&[0.1, 0.1, f32::NAN, 0.1, 0.1, 0.1]).unwrap_err().to_string();
    assert_eq!(message, "weights[2] must be finite, got NaN");
    assert!(weights.set_weights(&[0.1; 5]).is_err());
}

/// No two samples of an evaluation meet the same noise, wherever its parts begin.
#[test]
fn parts_of_an_evaluation_draw_for_themselves() {
    let noisy = Readout::new(Settings::aihwkit()).unwrap();
    let mut network = cnn(&mut factory(Kind::Sgd, Mapping::default(), &noisy), Key::new(1)).unwrap();
    let (batch, shape) = (60, network.input_shape());
    let mut same = Tensor::zeros(batch, shape);
    same.values_mut().fill(0.5);
    let scores = network.forward(&same, Pass::evaluate(Key::new(2))).clone();
    let bits = |sample: usize| scores.sample(sample).iter().map(|score| score.to_bits()).collect::<Vec<_>>();
    assert_eq!((0..batch).map(bits).collect::<std::collections::HashSet<_>>().len(), batch);
}

#[test]
fn convolutions_live_on_tiles_too() {
    let mut network =
        cnn(&mut factory(Kind::Residual, Mapping::default(), &Readout::default()), Key::new(1)).unwrap();
    let shape = network.input_shape();
    let mut x = Tensor::zeros(4, shape);
    for (i, v) in x.values_mut().iter_mut().enumerate() {
        *v = (0.01 * i as f32).sin().abs();
    }
    let first =
        network.train_step(&x, &[0, 1, 2, 3], Loss::NegativeLogLikelihood, 0, Key::new(3)).unwrap().loss;
    let mut last = first;
    for k in 1..30 {
        last = network.train_step(&x, &[0, 1, 2, 3], Loss::NegativeLogLikelihood, k, Key::new(3)).unwrap().loss;
    }
    assert!(last < 0.9 * first, "{first} to {last}");
}

#[test]
fn a_refusing_tile_is_named_with_its_layer_and_step() {
    let mut network = perceptron(&mut factory(Kind::Residual, Mapping::default(), &Readout::default()));
    let mut x = Tensor::zeros(1, SampleShape::image(8, 8, 1));
    x.values_mut()[5] = f32::INFINITY;
    let error = network.train_step(&x, &[1], LOSS, 17, Key::new(3)).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("step 17"), "{message}");
    // tanh of ±∞ is ±1, so the loss is finite and the first layer's tile meets the input.
    assert!(matches!(error, TrainStepError::Refused(_)) && message.contains("tile 0 residual"), "{message}");
}
