//! Networks: weights of other programs, states and checkpoints.

use std::fs;
use std::path::Path;

use residuum::Key;
use residuum_nn::checkpoint::{Checkpoints, Position};
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, keras, mlp};
use residuum_nn::state::{Scope, parse_safetensors, read_tfjs};
use residuum_nn::{SampleShape, Sgd};
use serde::{Deserialize, Serialize};

use super::{in_file, parts, said};

/// A model of TensorFlow.js beside a shard of 24 bytes.
pub(super) fn tfjs(case: &[u8], folder: &Path) -> String {
    in_file(case, folder, "model.json", |path| match fs::write(folder.join("shard.bin"), [0; 24]) {
        Err(e) => format!("the harness cannot write: {e}"),
        Ok(()) => said(read_tfjs(path).map(|t| keras::to_torchvision(t).len())),
    })
}

/// The state of a small network.
pub(super) fn state(case: &[u8]) -> String {
    let mut digital = DigitalFactory(Some(Sgd::new(0.1)));
    let network = mlp(SampleShape::image(1, 2, 1), &[2, 3, 2], Activation::Tanh, &mut digital, Key::new(1));
    let (Ok(mut network), Ok(state)) = (network, parse_safetensors(case, Path::new("w"))) else {
        return "no state".into();
    };
    said(network.load(Scope::Network, &state).and(network.load(Scope::Everything, &state)))
}

/// A position of nobody's run.
#[derive(Clone, Serialize, Deserialize)]
struct Anywhere {
    step: u64,
    #[serde(default)]
    text: String,
}

impl Position for Anywhere {
    fn name(&self) -> String {
        format!("step-{:012}", self.step)
    }
}

/// A checkpoint: its manifest and its state.
pub(super) fn checkpoint(case: &[u8], folder: &Path) -> String {
    let [manifest, state] = parts(case);
    let place = folder.join("checkpoints/step-000000000001");
    let written = fs::create_dir_all(&place)
        .and_then(|()| fs::write(place.join("manifest.json"), manifest))
        .and_then(|()| fs::write(place.join("state.safetensors"), state));
    if let Err(e) = written {
        return format!("the harness cannot write: {e}");
    }
    let mut reasons = String::new();
    let newest =
        Checkpoints::<Anywhere>::new(folder.join("checkpoints")).newest(|_, reason| reasons.push_str(reason));
    format!("{}{reasons}", said(newest))
}
