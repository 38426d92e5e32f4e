//! The way from tfjs shards to torchvision's names.

use residuum::Key;
use residuum::state::{SavedTensor, Tensors};
use residuum_nn::SampleShape;
use residuum_nn::model::{DigitalFactory, ResNet, keras::to_torchvision, resnet};
use residuum_nn::state::{Scope, TensorFileError, read_tfjs};

/// A model of two tensors in three shards whose cuts fall inside numbers.
fn write(folder: &std::path::Path, numbers: usize) -> std::path::PathBuf {
    let bytes: Vec<u8> = (0..numbers).flat_map(|i| (i as f32 + 0.5).to_le_bytes()).collect();
    let shards = [&bytes[..7], &bytes[7..21], &bytes[21..]];
    for (i, shard) in shards.iter().enumerate() {
        std::fs::write(folder.join(format!("shard{i}.bin")), shard).unwrap();
    }
    let model = r#"{"modelTopology": {}, "weightsManifest": [{"paths": ["shard0.bin", "shard1.bin", "shard2.bin"],
        "weights": [{"name": "fc1000/bias", "shape": [3], "dtype": "float32"},
                    {"name": "fc1000/kernel", "shape": [2, 3], "dtype": "float32"}]}]}"#;
    let path = folder.join("model.json");
    std::fs::write(&path, model).unwrap();
    path
}

fn entry(shape: &[usize], values: Vec<f32>) -> SavedTensor {
    SavedTensor::f32(shape, values)
}

#[test]
fn shards_are_one_stream_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let state = read_tfjs(&write(folder.path(), 9)).unwrap();
    assert_eq!(state["fc1000/bias"], entry(&[3], vec![0.5, 1.5, 2.5]));
    assert_eq!(state["fc1000/kernel"], entry(&[2, 3], vec![3.5, 4.5, 5.5, 6.5, 7.5, 8.5]));
    let torch = to_torchvision(state);
    assert_eq!(torch["fc.weight"], entry(&[3, 2], vec![3.5, 6.5, 4.5, 7.5, 5.5, 8.5]));
    assert_eq!(torch["fc.bias"], entry(&[3], vec![0.5, 1.5, 2.5]));
}

#[test]
fn shards_of_another_size_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), 8);
    let error = read_tfjs(&path).unwrap_err();
    assert!(matches!(error, TensorFileError::Shards { expected: 36, given: 32, .. }), "{error}");
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(read_tfjs(&path).unwrap_err(), TensorFileError::Json { .. }));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(read_tfjs(&path).unwrap_err(), TensorFileError::Io { .. }));
}

#[test]
fn kernels_turn_and_colors_change_their_order() {
    // Two positions, two inputs, two outputs: value = 100 position + 10 input + output.
    let keras = |inputs: usize| {
        let value = |i: usize| (100 * (i / (inputs * 2)) + 10 * (i / 2 % inputs) + i % 2) as f32;
        entry(&[1, 2, inputs, 2], (0..4 * inputs).map(value).collect())
    };
    let turn = |name: &str, inputs| to_torchvision(Tensors::from([(name.to_owned(), keras(inputs))]));
    let inner = turn("res2a_branch2b/kernel", 2);
    let want = vec![0.0, 100.0, 10.0, 110.0, 1.0, 101.0, 11.0, 111.0];
    assert_eq!(inner["layer1.0.conv2.weight"], entry(&[2, 2, 1, 2], want));
    let stem = turn("conv1/kernel", 3);
    let want = vec![20.0, 120.0, 10.0, 110.0, 0.0, 100.0, 21.0, 121.0, 11.0, 111.0, 1.0, 101.0];
    assert_eq!(stem["conv1.weight"], entry(&[2, 3, 1, 2], want));
}

/// Keras's names of all layers of its ResNet-50.
fn keras_names() -> Vec<String> {
    let mut layers = vec!["conv1".to_owned(), "bn_conv1".to_owned(), "fc1000".to_owned()];
    for (stage, blocks) in [(2, 3), (3, 4), (4, 6), (5, 3)] {
        for block in 0..blocks {
            let letter = char::from(b'a' + block);
            let branches = ["2a", "2b", "2c", "1"];
            for branch in &branches[..if block == 0 { 4 } else { 3 }] {
                layers.extend(["res", "bn"].map(|kind| format!("{kind}{stage}{letter}_branch{branch}")));
            }
        }
    }
    let tensors = |layer: &String| -> Vec<String> {
        let names: &[&str] = if layer.starts_with("bn") {
            &["gamma", "beta", "moving_mean", "moving_variance"]
        } else {
            &["kernel", "bias"]
        };
        names.iter().map(|tensor| format!("{layer}/{tensor}")).collect()
    };
    layers.iter().flat_map(tensors).collect()
}

#[test]
fn every_name_finds_its_place() {
    let names = keras_names();
    assert_eq!(names.len(), 320);
    let state: Tensors = names.into_iter().map(|name| (name, entry(&[1], vec![0.0]))).collect();
    let mut renamed: Vec<String> = to_torchvision(state).names().map(str::to_owned).collect();
    renamed.sort();
    let model = ResNet::keras_resnet50(1000);
    let network = resnet(model, SampleShape::image(32, 32, 3), &mut DigitalFactory(None), Key::new(1)).unwrap();
    let mut expected: Vec<String> = network.state(Scope::Network).names().map(str::to_owned).collect();
    expected.sort();
    expected.retain(|name| !name.ends_with("num_batches_tracked"));
    assert_eq!(renamed, expected);
    for name in ["res6a_branch2a/kernel", "res2a_branch3a/kernel", "dense/kernel", "conv1/other", "conv1"] {
        let state = Tensors::from([(name.to_owned(), entry(&[1], vec![0.0]))]);
        assert_eq!(to_torchvision(state.clone()), state, "{name} is nobody's");
    }
}
