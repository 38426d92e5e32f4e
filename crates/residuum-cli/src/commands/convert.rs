use anyhow::bail;
use residuum_nn::model::keras;
use residuum_nn::state::{read_tfjs, write_safetensors};
use serde_json::json;

use super::Context;
use crate::args::ConvertArgs;
use crate::terminal;

pub fn convert(context: &Context, options: &ConvertArgs) -> anyhow::Result<bool> {
    let given = read_tfjs(&options.model)?;
    let state = keras::to_torchvision(given.clone());
    // A tensor without a counterpart keeps its name.
    if let Some((name, entry)) = state.iter().find(|(name, _)| given.contains(name)) {
        let file = options.model.display();
        bail!("{file} must be a Keras ResNet, got an unknown tensor {name} ({:?})", entry.shape);
    }
    write_safetensors(&options.to, &state)?;
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.convert/1",
            "tensors": state.len(),
            "file": options.to,
        }))?;
    } else {
        terminal::print(&format!("written: {} ({} tensors)\n", options.to.display(), state.len()))?;
    }
    Ok(true)
}
