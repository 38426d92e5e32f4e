//! The weights on a network's tiles.

use residuum_nn::Network;
use residuum_nn::model::Select;
use residuum_nn::state::{Collection, Role};

/// The weights of one layer on tiles, or of one that would be under another rule.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerWeights {
    /// Name of the layer.
    pub layer: String,
    /// The weights the network computes with, output scales included.
    pub effective: Vec<f32>,
    /// The dynamic range of the main array in the same units, where the devices have one.
    pub range: Option<[f64; 2]>,
    /// Its arrays, `main` first, in the units of their cells; tiles one after the other. Under a digital rule there are none.
    pub arrays: Vec<ArrayWeights>,
}

/// The cells of one array of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayWeights {
    /// `main`, `residual`, ….
    pub name: String,
    /// Before training.
    pub start: Vec<f32>,
    /// Now.
    pub end: Vec<f32>,
}

/// The layers on tiles as they are, in the order of the network; both ends of their arrays are what is there now. Under a digital
/// rule they are those that `analog` names, so that rules can be compared.
pub(super) fn layer_weights(network: &Network, analog: &Select) -> Vec<LayerWeights> {
    let all = Collection::of(network);
    let mut layers: Vec<LayerWeights> = Vec::new();
    for (name, role, tensor) in all.iter() {
        let (Some((layer, suffix)), Some(values)) = (name.split_once(".weight"), tensor.data.as_f32()) else {
            continue;
        };
        if suffix.is_empty() && role == Role::Parameter && tensor.shape.len() > 1 {
            let range = all.range(name).map(|range| range.map(f64::from));
            let (layer, effective) = (layer.to_owned(), values.to_vec());
            layers.push(LayerWeights { layer, effective, range, arrays: Vec::new() });
            continue;
        }
        // `.tile0.main.weights`, after the matrix that it holds a part of.
        let array = suffix.strip_prefix(".tile").and_then(|tile| tile.split_once('.'));
        let Some(array) = array.and_then(|(_, tensor)| tensor.strip_suffix(".weights")) else { continue };
        let Some(own) = layers.last_mut().filter(|own| own.layer == layer) else { continue };
        match own.arrays.iter_mut().find(|known| known.name == array) {
            Some(known) => {
                known.start.extend_from_slice(values);
                known.end.extend_from_slice(values);
            }
            None => own.arrays.push(ArrayWeights {
                name: array.into(),
                start: values.to_vec(),
                end: values.to_vec(),
            }),
        }
    }
    layers.retain(|layer| !layer.arrays.is_empty() || analog.includes(&layer.layer));
    layers
}
