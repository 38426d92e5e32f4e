//! What lies on the tiles of a network.

use std::collections::BTreeMap;

use residuum_nn::Network;
use residuum_nn::model::Select;
use residuum_nn::state::{Role, Visit, Visitor};

/// The weights of one layer on tiles, or of one that would be under another rule.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerWeights {
    /// Name of the layer.
    pub layer: String,
    /// What the network computes with, scales of the outputs included.
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
pub(super) fn layer_weights(network: &mut Network, analog: &Select) -> Vec<LayerWeights> {
    let mut collect = Collect::default();
    network.visit("", &mut collect);
    collect.layers.retain(|layer| !layer.arrays.is_empty() || analog.includes(&layer.layer));
    for layer in &mut collect.layers {
        layer.range = collect.ranges.get(&format!("{}.weight", layer.layer)).copied();
    }
    collect.layers
}

#[derive(Default)]
struct Collect {
    layers: Vec<LayerWeights>,
    ranges: BTreeMap<String, [f64; 2]>,
}

impl Visitor for Collect {
    fn writes(&self) -> bool {
        false
    }

    fn tensor(&mut self, name: &str, role: Role, shape: &[usize], values: &mut [f32]) {
        let Some((layer, rest)) = name.split_once(".weight") else { return };
        if rest.is_empty() && role == Role::Parameter && shape.len() > 1 {
            let effective = values.to_vec();
            self.layers.push(LayerWeights { layer: layer.into(), effective, range: None, arrays: Vec::new() });
            return;
        }
        // `.tile0.main.weights`, shown after the matrix that it holds a part of.
        let array = rest.strip_prefix(".tile").and_then(|rest| rest.split_once('.'));
        let Some(array) = array.and_then(|(_, slot)| slot.strip_suffix(".weights")) else { return };
        let Some(own) = self.layers.last_mut().filter(|own| own.layer == layer) else { return };
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

    fn counter(&mut self, _: &str, _: Role, _: &mut u64) {}

    fn range(&mut self, name: &str, [lo, hi]: [f32; 2]) {
        self.ranges.insert(name.to_owned(), [lo.into(), hi.into()]);
    }
}
