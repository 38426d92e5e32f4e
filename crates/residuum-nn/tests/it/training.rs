//! Networks learn, and threads change no bit of it.

use residuum::Key;
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, ResNet, Select, SplitFactory, cnn, fcn, mlp, resnet};
use residuum_nn::state::{Data, Scope};
use residuum_nn::{Loss, Network, Pass, SampleShape, Sgd, Tensor, TrainStepError};

/// Noisy copies of one random image per class.
fn images(shape: SampleShape, classes: usize, batch: usize, key: Key) -> (Tensor, Vec<u32>) {
    let labels: Vec<u32> = (0..batch).map(|b| key.named("label").below_at(classes, b as u64) as u32).collect();
    let mut x = Tensor::zeros(batch, shape);
    for (b, sample) in x.values_mut().chunks_exact_mut(shape.len()).enumerate() {
        let image = Key::new(99).fold(u64::from(labels[b]));
        for (i, x) in sample.iter_mut().enumerate() {
            let noise = key.fold(b as u64).uniform_at(i as u64) - 0.5;
            *x = (image.uniform_at(i as u64) + 0.3 * noise) as f32;
        }
    }
    (x, labels)
}

const CROSS_ENTROPY: Loss = Loss::CrossEntropy { smoothing: 0.0 };

#[test]
fn a_perceptron_learns_and_one_that_never_steps_does_not() {
    let shape = SampleShape::image(8, 8, 1);
    let accuracy = |sgd: Option<Sgd>| {
        let mut factory = DigitalFactory(sgd);
        let mut network = mlp(shape, &[64, 32, 10], Activation::Tanh, &mut factory, Key::new(1)).unwrap();
        for k in 0..150 {
            let (x, labels) = images(shape, 10, 20, Key::new(2).fold(k));
            network.train_step(&x, &labels, CROSS_ENTROPY, k, Key::new(3)).unwrap();
        }
        let (x, labels) = images(shape, 10, 500, Key::new(4));
        network.evaluate(&x, &labels, CROSS_ENTROPY, Key::new(5)).correct
    };
    let sgd = Sgd { momentum: 0.5, ..Sgd::new(0.05) };
    assert!(accuracy(Some(sgd)) > 490);
    assert!(accuracy(None) < 150);
}

#[test]
fn matrices_are_shown_under_their_names() {
    let input = SampleShape::image(32, 32, 3);
    let mut network = resnet(ResNet::resnet50(10), input, &mut DigitalFactory(None), Key::new(1)).unwrap();
    let mut seen = Vec::new();
    network.visit_weights(&mut |name, weights| seen.push((name.to_owned(), weights.rows(), weights.cols())));
    assert_eq!(seen.len(), 1 + 3 * 16 + 4 + 1);
    assert_eq!(seen[0], ("conv1".to_owned(), 64, 147));
    assert!(seen.contains(&("layer2.0.downsample.0".to_owned(), 512, 256)));
    assert_eq!(seen[53], ("fc".to_owned(), 10, 2048));
}

#[test]
fn layers_that_do_not_fit_are_refused_in_words() {
    let mut factory = DigitalFactory(None);
    let error = mlp(SampleShape::flat(10), &[64, 10], Activation::Relu, &mut factory, Key::new(1)).unwrap_err();
    assert_eq!(error.to_string(), "a linear layer must be given 64 values, got 1×1×10");
    let sgd = Sgd { momentum: 1.0, ..Sgd::new(0.1) };
    let error = fcn(&mut DigitalFactory(Some(sgd)), Key::new(1)).unwrap_err();
    assert_eq!(error.to_string(), "1: momentum must be at least 0 and below 1, got 1");
}

#[test]
fn divergence_is_an_error_that_names_the_step() {
    let shape = SampleShape::image(8, 8, 1);
    let mut factory = DigitalFactory(Some(Sgd::new(1e30)));
    let mut network = mlp(shape, &[64, 32, 10], Activation::Relu, &mut factory, Key::new(1)).unwrap();
    let (x, labels) = images(shape, 10, 20, Key::new(2));
    let error =
        (0..5).find_map(|k| network.train_step(&x, &labels, CROSS_ENTROPY, k, Key::new(3)).err()).unwrap();
    assert!(matches!(error, TrainStepError::Diverged { k: 1.., .. }), "{error}");
}

/// Loss bits and the bits of all parameters after a few steps on `threads` threads.
fn run(threads: usize, batch: usize, build: impl Fn() -> Network + Send + Sync) -> (Vec<u64>, Vec<u32>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut network = build();
        let losses = (0..3).map(|k| {
            let (x, labels) = images(network.input_shape(), 10, batch, Key::new(2).fold(k));
            let loss =
                if network.input_shape().height == 32 { CROSS_ENTROPY } else { Loss::NegativeLogLikelihood };
            network.train_step(&x, &labels, loss, k, Key::new(3)).unwrap().loss.to_bits()
        });
        let losses = losses.collect();
        let state = network.state(Scope::Everything).into_iter();
        let bits = state.flat_map(|(_, entry)| match entry.data {
            Data::F32(values) => values.into_iter().map(f32::to_bits).collect::<Vec<u32>>(),
            Data::U64(values) => values.into_iter().map(|value| value as u32).collect(),
            other => panic!("{other:?}"),
        });
        (losses, bits.collect())
    })
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let sgd = Sgd { momentum: 0.9, weight_decay: 1e-4, ..Sgd::new(0.01) };
    let resnet18 = || {
        resnet(ResNet::resnet18(10), SampleShape::image(32, 32, 3), &mut DigitalFactory(Some(sgd)), Key::new(1))
            .unwrap()
    };
    let builders: [(usize, &(dyn Fn() -> Network + Send + Sync)); 3] = [
        (128, &|| fcn(&mut DigitalFactory(Some(Sgd::new(0.1))), Key::new(1)).unwrap()),
        (40, &|| cnn(&mut DigitalFactory(Some(Sgd::new(0.1))), Key::new(1)).unwrap()),
        (4, &resnet18),
    ];
    for (batch, build) in builders {
        let one = run(1, batch, build);
        for threads in [2, 3] {
            assert!(run(threads, batch, build) == one, "batch {batch}, {threads} threads");
        }
    }
}

#[test]
fn a_frozen_backbone_stays_as_it_is_to_the_last_running_mean() {
    let input = SampleShape::image(32, 32, 3);
    let sgd = Sgd { momentum: 0.9, weight_decay: 1e-3, ..Sgd::new(0.01) };
    let changed = |chosen: &str| -> Vec<String> {
        let chosen = Select::parse(chosen, "fc");
        let (mut inside, mut outside) = (DigitalFactory(Some(sgd)), DigitalFactory(None));
        let mut factory = SplitFactory { chosen, inside: &mut inside, outside: &mut outside };
        let mut network = resnet(ResNet::resnet18(10), input, &mut factory, Key::new(1)).unwrap();
        let before = network.state(Scope::Network);
        let (x, labels) = images(input, 10, 4, Key::new(2));
        network.train_step(&x, &labels, CROSS_ENTROPY, 0, Key::new(3)).unwrap();
        let after = network.state(Scope::Network);
        let mut names: Vec<String> =
            before.into_iter().filter(|(name, entry)| &after[name] != entry).map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(changed("head"), ["fc.bias", "fc.weight"]);
    assert_eq!(changed("none"), [""; 0]);
    // A layer in the middle learns although nothing below it does.
    assert_eq!(changed("layer3.0.downsample.*").len(), 6);
    assert!(changed("all").len() > 100);
}

/// A large batch is evaluated in parts: each sample has the scores that it has by itself, whichever part it is in.
#[test]
fn an_evaluation_in_parts_gives_each_sample_its_scores() {
    let mut network = cnn(&mut DigitalFactory(None), Key::new(1)).unwrap();
    let shape = network.input_shape();
    let (x, _) = images(shape, 10, 101, Key::new(2));
    let all = network.forward(&x, Pass::evaluate(Key::new(3))).clone();
    assert_eq!((all.batch(), all.sample(0).len()), (101, 10));
    let mut alone = Tensor::zeros(1, shape);
    let mut most = [0.0f32; 2];
    for sample in 0..101 {
        alone.values_mut().copy_from_slice(x.sample(sample));
        let scores = network.forward(&alone, Pass::evaluate(Key::new(3)));
        // The twin: those of a neighbour.
        for (most, of) in most.iter_mut().zip([sample, (sample + 1) % 101]) {
            let distances = all.sample(of).iter().zip(scores.values()).map(|(a, b)| (a - b).abs());
            *most = distances.fold(*most, f32::max);
        }
    }
    // Sums of at most 512 terms below 1, in another order.
    assert!(most[0] < 1e-4 && most[1] > 1e-2, "{most:?}");
}
