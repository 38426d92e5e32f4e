//! Keras's ResNet-50 under torchvision's names.
//!
//! Keras stores kernels as (row, column, input, output) and matrices as (input, output), and its network was trained on
//! images whose channels are blue, green, red. Names and layouts are converted to torchvision's, and the channels of the first kernel are
//! reversed, so that the network takes red, green, blue: raw values from 0 to 255 minus [`MEAN`]. Build it with
//! [`ResNet::keras_resnet50`](super::ResNet::keras_resnet50).

use residuum::state::{Data, SavedTensor, Tensors};

/// What to subtract from red, green and blue (0 to 255); nothing is divided.
pub const MEAN: [f32; 3] = [123.68, 116.779, 103.939];

/// Converts a state from Keras's names to torchvision's. Tensors with unknown names keep them, so that loading
/// the result reports them.
pub fn to_torchvision(keras: Tensors) -> Tensors {
    keras
        .into_iter()
        .map(|(name, entry)| rename(&name).map_or((name, entry.clone()), |new| (new, layout(entry))))
        .collect()
}

/// `res4b_branch2a/kernel` → `layer3.1.conv1.weight`.
fn rename(name: &str) -> Option<String> {
    let (layer, tensor) = name.split_once('/')?;
    let tensor = match tensor {
        "kernel" | "gamma" => "weight",
        "bias" | "beta" => "bias",
        "moving_mean" => "running_mean",
        "moving_variance" => "running_var",
        _ => return None,
    };
    let layer = match layer {
        "conv1" => "conv1".to_owned(),
        "bn_conv1" => "bn1".to_owned(),
        "fc1000" => "fc".to_owned(),
        _ => block(layer)?,
    };
    Some(format!("{layer}.{tensor}"))
}

/// `bn4b_branch2a` → `layer3.1.bn1`; `res2a_branch1` → `layer1.0.downsample.0`.
fn block(layer: &str) -> Option<String> {
    let (is_norm, rest) = match (layer.strip_prefix("res"), layer.strip_prefix("bn")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return None,
    };
    let (block_name, branch) = rest.split_once("_branch")?;
    let [stage @ b'2'..=b'5', block @ b'a'..=b'z'] = *block_name.as_bytes() else { return None };
    let prefix = format!("layer{}.{}", stage - b'1', block - b'a');
    let part = match (branch, is_norm) {
        ("1", false) => "downsample.0".to_owned(),
        ("1", true) => "downsample.1".to_owned(),
        (main, _) => {
            let [b'2', path @ b'a'..=b'c'] = *main.as_bytes() else { return None };
            format!("{}{}", if is_norm { "bn" } else { "conv" }, path - b'a' + 1)
        }
    };
    Some(format!("{prefix}.{part}"))
}

/// Inputs and outputs first, as PyTorch has them; three input channels are colours, whose order is reversed.
fn layout(entry: SavedTensor) -> SavedTensor {
    let Data::F32(values) = &entry.data else { return entry };
    // A shape of nothing may still have a length that would take years to count to.
    if values.is_empty() {
        return entry;
    }
    let (window, inputs, outputs) = match *entry.shape {
        [inputs, outputs] => (1, inputs, outputs),
        [height, width, inputs, outputs] => (height * width, inputs, outputs),
        _ => return entry,
    };
    let colors = entry.shape.len() == 4 && inputs == 3;
    let mut transposed = Vec::with_capacity(values.len());
    for o in 0..outputs {
        for i in 0..inputs {
            let i = if colors { inputs - 1 - i } else { i };
            transposed.extend((0..window).map(|p| values[(p * inputs + i) * outputs + o]));
        }
    }
    let mut shape = vec![outputs, inputs];
    shape.extend(&entry.shape[..entry.shape.len() - 2]);
    SavedTensor { shape, data: Data::F32(transposed) }
}
