//! The other side of `tools/torch/common.py`: numbers by formula, and golden files.
#![allow(dead_code)]

use std::path::PathBuf;

use residuum::ParameterError;
use residuum::state::SavedTensor;
use residuum_nn::model::Factory;
use residuum_nn::state::{Collection, Data, Named, Role, Scope, Tensors, import};
use residuum_nn::weights::Parameter;
use residuum_nn::{DigitalWeights, SampleShape, Sgd, Tensor, Weights};
use serde_json::Value;

pub fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/torch").join(name)
}

pub fn read(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

pub fn floats(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
}

pub fn sizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Numbers in [−1, 1) that depend on a name and an index alone.
pub fn uniform(name: &str, count: usize) -> Vec<f32> {
    let seed = name.bytes().fold(0x811C_9DC5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    let draw = |i: usize| {
        let mut h = seed.wrapping_add((i as u32).wrapping_mul(0x9E37_79B9));
        h = (h ^ (h >> 16)).wrapping_mul(0x85EB_CA6B);
        h = (h ^ (h >> 13)).wrapping_mul(0xC2B2_AE35);
        h ^= h >> 16;
        (h >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(draw).collect()
}

/// The value of a named tensor of a network.
pub fn formula_value(name: &str, shape: &[usize]) -> Vec<f32> {
    let mut values = uniform(name, shape.iter().product());
    let (scale, shift) = if shape.len() > 1 {
        ((3.0 / shape[1..].iter().product::<usize>() as f64).sqrt() as f32, 0.0)
    } else if name.ends_with("running_var") || name.ends_with("weight") {
        (0.25, 1.0)
    } else {
        (0.125, 0.0)
    };
    for v in &mut values {
        *v = shift + scale * *v;
    }
    values
}

/// A batch in PyTorch's order (batch, channel, row, column) as ours.
pub fn from_torch(shape: &[usize], values: &[f32]) -> Tensor {
    let (channels, height, width) = match *shape {
        [_, c] => (c, 1, 1),
        [_, c, l] => (c, 1, l),
        [_, c, h, w] => (c, h, w),
        _ => panic!("{shape:?}"),
    };
    let mut out = Tensor::zeros(shape[0], SampleShape::image(height, width, channels));
    let positions = height * width;
    for (i, v) in out.values_mut().iter_mut().enumerate() {
        let (b, rest) = (i / (positions * channels), i % (positions * channels));
        *v = values[(b * channels + rest % channels) * positions + rest / channels];
    }
    out
}

/// `scale · uniform(name) + shift` as a batch.
pub fn batch(name: &str, shape: &[usize], scale: f32, shift: f32) -> Tensor {
    let values: Vec<f32> = uniform(name, shape.iter().product()).iter().map(|u| scale * u + shift).collect();
    from_torch(shape, &values)
}

/// DigitalWeights parameters trained by one SGD.
pub struct Trained(pub Sgd);

impl Factory for Trained {
    fn weights(
        &mut self,
        _: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        Ok(Box::new(DigitalWeights::new(rows, cols, initial, Some(self.0))?))
    }

    fn parameter(&mut self, _: &str, initial: Vec<f32>) -> Parameter {
        Parameter::new(initial, Some(self.0))
    }
}

/// Gives every tensor its formula value.
pub fn fill(network: &mut dyn Named) {
    let mut state = Tensors::new();
    for (name, _, tensor) in Collection::of(network).iter().filter(|entry| entry.1 != Role::Optimizer) {
        let data = match tensor.data {
            Data::F32(_) => Data::F32(formula_value(name, &tensor.shape)),
            _ => Data::U64(vec![0]),
        };
        state.insert(name, SavedTensor { shape: tensor.shape.clone(), data });
    }
    import(network, Scope::Network, &state).unwrap();
}

/// The state of formula values with these names and shapes.
pub fn formula_state(tensors: &Value) -> Tensors {
    let entry = |pair: &Value| {
        let (name, shape) = (text(&pair[0]), sizes(&pair[1]));
        let counter = name.ends_with("num_batches_tracked");
        let data = if counter { Data::U64(vec![0]) } else { Data::F32(formula_value(name, &shape)) };
        (name.to_owned(), SavedTensor { shape, data })
    };
    tensors.as_array().unwrap().iter().map(entry).collect()
}

/// The largest difference, as a share of the largest value expected.
pub fn distance(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(0.0f32, |m, w| m.max(w.abs())).max(f32::MIN_POSITIVE);
    got.iter().zip(want).fold(0.0f32, |m, (g, w)| if g.is_nan() { f32::INFINITY } else { m.max((g - w).abs()) })
        / scale
}
