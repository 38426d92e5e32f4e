//! Whole networks against PyTorch: short training runs, torchvision's ResNets, safetensors both ways.

use super::torch;

use residuum::Key;
use residuum::state::SavedTensor;
use residuum_nn::layer::{
    Activation, BatchNorm2d, Conv2d, Flatten, Geometry, LinearLayer, Pool2d, Reduce, Sequential,
};
use residuum_nn::model::{DigitalFactory, Factory, ResNet, cnn, fcn, resnet};
use residuum_nn::state::{Scope, StateError, TensorFileError, Tensors, read_safetensors, write_safetensors};
use residuum_nn::{Loss, Network, Pass, SampleShape, Sgd};
use serde_json::Value;
use torch::{Trained, batch, distance, fill, floats, formula_state, golden, read, text};

const CROSS_ENTROPY: Loss = Loss::CrossEntropy { smoothing: 0.0 };

/// The network of `tiny` in `tools/torch/reference_layers.py`.
fn tiny(factory: &mut dyn Factory) -> Network {
    let weights = factory.weights("0", 4, 18, vec![0.0; 72]).unwrap();
    let bias = Some(factory.parameter("0.bias", vec![0.0; 4]));
    let (scale, shift) =
        (factory.parameter("1.weight", vec![1.0; 4]), factory.parameter("1.bias", vec![0.0; 4]));
    let head = factory.weights("5", 10, 36, vec![0.0; 360]).unwrap();
    let layers = Sequential::new()
        .with("0", Conv2d::new(weights, bias, 2, Geometry::square(3, 1, 0)))
        .with("1", BatchNorm2d::new(scale, shift, BatchNorm2d::EPSILON, BatchNorm2d::MOMENTUM))
        .with("2", Activation::Relu)
        .with("3", Pool2d::new(Reduce::Max, Geometry::square(2, 2, 0)))
        .with("4", Flatten)
        .with("5", LinearLayer::new(head, Some(factory.parameter("5.bias", vec![0.0; 10]))));
    Network::new(layers, SampleShape::image(8, 8, 2)).unwrap()
}

fn sgd(run: &Value) -> Sgd {
    let number = |name: &str| run[name].as_f64().unwrap();
    Sgd {
        momentum: number("momentum") as f32,
        weight_decay: number("weight_decay") as f32,
        ..Sgd::new(number("learning_rate"))
    }
}

/// Trains as the golden run did; gives the largest relative error of the losses and of the scores afterwards.
fn replay(run: &Value, name: &str, mut network: Network, loss: Loss, classes: u32) -> (f64, f32) {
    fill(&mut network);
    let samples = run["batch"].as_u64().unwrap() as usize;
    let SampleShape { height, width, channels } = network.input_shape();
    let shape = [samples, channels, height, width];
    let labels: Vec<u32> = (0..samples as u32).map(|b| b * 7 % classes).collect();
    let mut worst = 0.0f64;
    for (k, want) in run["losses"].as_array().unwrap().iter().enumerate() {
        let input = batch(&format!("{name}.{k}"), &shape, 1.0, 0.0);
        let got = network.train_step(&input, &labels, loss, k as u64, Key::new(1)).unwrap().loss;
        worst = worst.max((got / want.as_f64().unwrap() - 1.0).abs());
    }
    let after =
        network.forward(&batch(&format!("{name}.after"), &shape, 1.0, 0.0), Pass::evaluate(Key::new(1)));
    (worst, distance(after.values(), &floats(&run["after"])))
}

#[test]
fn training_runs_agree_with_pytorch() {
    let goldens = read("training.json");
    for run in goldens["runs"].as_array().unwrap() {
        let build = |sgd: Sgd| match text(&run["name"]) {
            "tiny" | "tiny_plain" => (tiny(&mut Trained(sgd)), CROSS_ENTROPY),
            "fcn" => (fcn(&mut Trained(sgd), Key::new(1)).unwrap(), Loss::NegativeLogLikelihood),
            "cnn" => (cnn(&mut Trained(sgd), Key::new(1)).unwrap(), Loss::NegativeLogLikelihood),
            other => panic!("no network {other}"),
        };
        let name = text(&run["name"]);
        let (network, loss) = build(sgd(run));
        let (losses, after) = replay(run, name, network, loss, 10);
        assert!(losses < 1e-5 && after < 5e-5, "{name}: {losses} {after}");
        // A tenth more momentum would be seen.
        let (network, loss) = build(Sgd { momentum: sgd(run).momentum + 0.1 * 0.9, ..sgd(run) });
        let (losses, after) = replay(run, name, network, loss, 10);
        assert!(losses > 1e-4 && after > 1e-3, "{name} has no power: {losses} {after}");
    }
}

fn model(name: &str, classes: usize) -> ResNet {
    match name {
        "resnet18" => ResNet::resnet18(classes),
        "resnet34" => ResNet::resnet34(classes),
        "resnet50" => ResNet::resnet50(classes),
        other => panic!("no network {other}"),
    }
}

#[test]
fn resnets_say_what_torchvision_says_through_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    for case in read("resnets.json")["networks"].as_array().unwrap() {
        let (name, size) = (text(&case["name"]), case["size"].as_u64().unwrap() as usize);
        let samples = case["batch"].as_u64().unwrap() as usize;
        let path = folder.path().join(format!("{name}.safetensors"));
        write_safetensors(&path, &formula_state(&case["tensors"])).unwrap();
        let input = SampleShape::image(size, size, 3);
        let mut network = resnet(model(name, 20), input, &mut DigitalFactory(None), Key::new(1)).unwrap();
        network.load(Scope::Network, &read_safetensors(&path).unwrap()).unwrap();
        let images = batch(&format!("{name}.input"), &[samples, 3, size, size], 1.0, 0.0);
        let logits = network.forward(&images, Pass::evaluate(Key::new(1)));
        let error = distance(logits.values(), &floats(&case["logits"]));
        assert!(error < 1e-4, "{name}: {error}");
        let exported = network.state(Scope::Network);
        assert_eq!(exported, formula_state(&case["tensors"]), "{name} gives back what it took");
    }
}

#[test]
fn strides_and_epsilon_of_keras_make_another_network() {
    let goldens = read("resnets.json");
    let case = &goldens["networks"][2];
    let input = SampleShape::image(64, 64, 3);
    let images = batch("resnet50.input", &[2, 3, 64, 64], 1.0, 0.0);
    for variant in [
        ResNet { stride_in_first: true, ..ResNet::resnet50(20) },
        ResNet { epsilon: 1e-3, ..ResNet::resnet50(20) },
    ] {
        let mut network = resnet(variant, input, &mut DigitalFactory(None), Key::new(1)).unwrap();
        network.load(Scope::Network, &formula_state(&case["tensors"])).unwrap();
        let logits = network.forward(&images, Pass::evaluate(Key::new(1)));
        assert!(distance(logits.values(), &floats(&case["logits"])) > 5e-4, "{variant:?}");
    }
    let keras = resnet(ResNet::keras_resnet50(1000), input, &mut DigitalFactory(None), Key::new(1)).unwrap();
    let state = keras.state(Scope::Network);
    assert_eq!(state["layer1.0.downsample.0.bias"].shape, [256]);
    let values = state.iter().map(|(_, entry)| entry.data.as_f32().map_or(0, <[f32]>::len));
    assert_eq!(values.sum::<usize>(), 25_636_712, "as many numbers as the Keras model holds");
}

#[test]
fn resnet18_trains_as_torchvisions_does() {
    let goldens = read("resnets.json");
    let run = &goldens["training"];
    let network = resnet(
        ResNet::resnet18(20),
        SampleShape::image(32, 32, 3),
        &mut DigitalFactory(Some(sgd(run))),
        Key::new(1),
    );
    let (losses, after) = replay(run, "train", network.unwrap(), CROSS_ENTROPY, 20);
    // Batches of 8 single pixels are normalised in the last stage: rounding grows there, in PyTorch as here.
    assert!(losses < 1e-4 && after < 1e-3, "{losses} {after}");
}

#[test]
fn files_of_python_load_and_ours_are_the_same() {
    let state = read_safetensors(&golden("tiny.safetensors")).unwrap();
    let mut network = tiny(&mut DigitalFactory(None));
    network.load(Scope::Network, &state).unwrap();
    let mut formula = tiny(&mut DigitalFactory(None));
    fill(&mut formula);
    assert_eq!(network.state(Scope::Network), formula.state(Scope::Network));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.safetensors");
    write_safetensors(&path, &network.state(Scope::Network)).unwrap();
    assert_eq!(read_safetensors(&path).unwrap(), state);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file stays");
}

#[test]
fn damaged_or_foreign_files_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(golden("tiny.safetensors")).unwrap();
    let path = folder.path().join("half.safetensors");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = read_safetensors(&path).unwrap_err();
    assert!(
        matches!(error, TensorFileError::Format { .. }) && error.to_string().contains("half.safetensors"),
        "{error}"
    );
    assert!(matches!(read_safetensors(&folder.path().join("none")).unwrap_err(), TensorFileError::Io { .. }));
    let header = br#"{"w":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend([0; 4]);
    std::fs::write(&path, file).unwrap();
    let error = read_safetensors(&path).unwrap_err().to_string();
    assert!(error.starts_with("tensor w of ") && error.ends_with("got F16 [2]"), "{error}");
    let unwritable = folder.path().join("no folder/x.safetensors");
    assert!(matches!(write_safetensors(&unwritable, &Tensors::new()).unwrap_err(), TensorFileError::Io { .. }));
}

#[test]
fn states_that_do_not_fit_change_nothing() {
    let mut network = tiny(&mut DigitalFactory(None));
    let before = network.state(Scope::Network);
    let mut good = tiny(&mut DigitalFactory(None));
    fill(&mut good);
    let good = good.state(Scope::Network);

    let mut missing = good.clone();
    missing.remove("5.bias");
    let error = network.load(Scope::Network, &missing).unwrap_err();
    assert_eq!(error.to_string(), "tensor 5.bias ([10]) is missing");

    let mut unexpected = good.clone();
    unexpected.insert("fc.bias", SavedTensor::f32(&[1], vec![0.0]));
    let error = network.load(Scope::Network, &unexpected).unwrap_err();
    assert_eq!(error.to_string(), "tensor fc.bias ([1]) is not part of this network");

    let mut reshaped = good.clone();
    reshaped.insert("0.weight", SavedTensor::f32(&[4, 2, 9], vec![0.0; 72]));
    let error = network.load(Scope::Network, &reshaped).unwrap_err();
    assert_eq!(error.to_string(), "tensor 0.weight must have shape [4, 2, 3, 3], got [4, 2, 9]");

    for bad in [f32::NAN, f32::INFINITY] {
        let mut weights = good.clone();
        let residuum_nn::state::Data::F32(values) = &mut weights.get_mut("0.weight").unwrap().data else {
            panic!()
        };
        values[7] = bad;
        let error = network.load(Scope::Network, &weights).unwrap_err();
        assert_eq!(error.to_string(), format!("tensor 0.weight must be finite, but its entry 7 is {bad}"));
    }

    assert_eq!(network.state(Scope::Network), before);
    // Files older than the counters lack them.
    let mut older = good.clone();
    older.remove("1.num_batches_tracked");
    network.load(Scope::Network, &older).unwrap();
    assert_eq!(network.state(Scope::Network), good);
}

#[test]
fn a_new_head_keeps_its_own_start() {
    let input = SampleShape::image(32, 32, 3);
    let build = |classes, seed| {
        resnet(ResNet::resnet18(classes), input, &mut DigitalFactory(None), Key::new(seed)).unwrap()
    };
    let trained = build(20, 1).state(Scope::Network);
    let mut tuned = build(10, 2);
    let start = tuned.state(Scope::Network);
    assert!(matches!(tuned.load(Scope::Network, &trained), Err(StateError::Shape { .. })));
    tuned.load_backbone("fc", &trained).unwrap();
    let loaded = tuned.state(Scope::Network);
    for (name, entry) in loaded.iter() {
        let source = if name.starts_with("fc.") { &start } else { &trained };
        assert_eq!(entry, &source[name], "{name}");
    }
}

#[test]
fn checkpoints_hold_what_the_optimizer_remembers() {
    let goldens = read("training.json");
    let run = &goldens["runs"][0];
    let shape = [8, 2, 8, 8];
    let labels: Vec<u32> = (0..8).map(|b| b * 7 % 10).collect();
    let train = |network: &mut Network, steps: std::ops::Range<u64>| {
        for k in steps {
            let input = batch(&format!("tiny.{k}"), &shape, 1.0, 0.0);
            network.train_step(&input, &labels, CROSS_ENTROPY, k, Key::new(1)).unwrap();
        }
    };
    let mut through = tiny(&mut Trained(sgd(run)));
    fill(&mut through);
    train(&mut through, 0..3);
    let resume = |scope: Scope, through: &mut Network| {
        let mut resumed = tiny(&mut Trained(sgd(run)));
        resumed.load(scope, &through.state(scope)).unwrap();
        resumed
    };
    let mut resumed = resume(Scope::Everything, &mut through);
    let mut forgetful = resume(Scope::Network, &mut through);
    for network in [&mut through, &mut resumed, &mut forgetful] {
        train(network, 3..6);
    }
    assert_eq!(through.state(Scope::Everything), resumed.state(Scope::Everything));
    assert_ne!(through.state(Scope::Everything), forgetful.state(Scope::Everything));
}
