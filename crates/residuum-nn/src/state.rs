//! Named tensors of a network, under torchvision's names, for export, import and checkpoints.

use std::collections::BTreeMap;

use residuum::array::Unreachable;
pub use residuum::state::{Data, StateError, Tensors};
use residuum::state::{SavedTensor, same};

mod file;
mod tfjs;

pub use file::{TensorFileError, parse_safetensors, read_safetensors, write_safetensors};
pub use tfjs::read_tfjs;

/// What a tensor is to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Learned: exported and imported.
    Parameter,
    /// Measured, such as running means: exported and imported.
    Buffer,
    /// Internal to a training run, such as velocities or the arrays behind effective weights: checkpoints only.
    Optimizer,
}

/// An object with named tensors of different roles: a layer, a network.
pub trait Named {
    /// Adds every tensor to `out`; names start with `path`.
    fn collect(&self, path: &str, out: &mut Collection);

    /// Loads the tensors that `from` has under these names, already checked to fit.
    ///
    /// # Errors
    /// If the hardware rejects a number.
    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError>;
}

/// The tensors of a network in order, with their roles.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    tensors: Tensors,
    roles: BTreeMap<String, Role>,
    ranges: BTreeMap<String, [f32; 2]>,
    unreachable: BTreeMap<String, Unreachable<f32>>,
}

impl Collection {
    /// Everything that `network` holds.
    pub fn of(network: &dyn Named) -> Self {
        let mut all = Self::default();
        network.collect("", &mut all);
        all
    }

    /// Adds a tensor with its shape (PyTorch's: outputs, inputs, height, width).
    pub fn tensor(&mut self, name: &str, role: Role, shape: &[usize], values: Vec<f32>) {
        self.insert(name, role, SavedTensor::f32(shape, values));
    }

    /// Adds a counter.
    pub fn counter(&mut self, name: &str, role: Role, value: u64) {
        self.insert(name, role, SavedTensor::count(value));
    }

    /// Adds the state of an object under `path`.
    pub fn nest(&mut self, path: &str, role: Role, tensors: Tensors) {
        for (name, tensor) in tensors {
            self.insert(&format!("{path}.{name}"), role, tensor);
        }
    }

    fn insert(&mut self, name: &str, role: Role, tensor: SavedTensor) {
        self.roles.insert(name.to_owned(), role);
        self.tensors.insert(name, tensor);
    }

    /// Records the dynamic range of the tensor `name`, in its units, where devices have one.
    pub fn note_range(&mut self, name: &str, range: [f32; 2]) {
        self.ranges.insert(name.to_owned(), range);
    }

    /// The dynamic range of a tensor, where devices have one.
    pub fn range(&self, name: &str) -> Option<[f32; 2]> {
        self.ranges.get(name).copied()
    }

    /// Records what the cells of the tensor `name` could not be programmed to; several notes add up.
    pub fn note_unreachable(&mut self, name: &str, weights: Unreachable<f32>) {
        if weights.cells > 0 {
            self.unreachable.entry(name.to_owned()).or_default().add(weights);
        }
    }

    /// The tensors whose cells could not be programmed to their weights.
    pub fn unreachable(&self) -> impl Iterator<Item = (&str, Unreachable<f32>)> {
        self.unreachable.iter().map(|(name, weights)| (name.as_str(), *weights))
    }

    /// All tensors with their roles, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Role, &SavedTensor)> {
        self.tensors.iter().map(|(name, tensor)| (name, self.roles[name], tensor))
    }

    fn role(&self, name: &str) -> Option<Role> {
        self.roles.get(name).copied()
    }
}

/// Which tensors to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Parameters and buffers: the network.
    Network,
    /// Those and the optimiser state: a checkpoint.
    Everything,
}

impl Scope {
    fn holds(self, role: Role) -> bool {
        self == Self::Everything || role != Role::Optimizer
    }
}

/// Copies the tensors of `network` out.
pub fn export(network: &dyn Named, scope: Scope) -> Tensors {
    let Collection { tensors, roles, .. } = Collection::of(network);
    tensors.filtered(|name| scope.holds(roles[name]))
}

/// Copies the tensors of `state` into `network`. Either all of them fit, or nothing is changed. Counters of the network may be
/// missing: older files lack them.
///
/// # Errors
/// If a tensor is missing, unknown, of another shape or type, or a weight is not finite.
pub fn import(network: &mut dyn Named, scope: Scope, state: &Tensors) -> Result<(), StateError> {
    let own = Collection::of(network);
    for (name, role, expected) in own.iter().filter(|(_, role, _)| scope.holds(*role)) {
        match state.get(name) {
            Some(given) => same(name, expected, given)?,
            None if role == Role::Buffer && expected.shape.is_empty() => {}
            None => return Err(StateError::Missing { name: name.into(), shape: expected.shape.clone() }),
        }
    }
    for (name, tensor) in state.iter() {
        match own.role(name) {
            None => {
                let shape = tensor.shape.clone();
                return Err(StateError::Unexpected { name: name.into(), shape, whole: "network" });
            }
            Some(Role::Optimizer) => {}
            Some(_) => finite(name, tensor)?,
        }
    }
    network.restore("", &state.filtered(|name| own.role(name).is_some_and(|role| scope.holds(role))))
}

/// Checks that parameters and buffers are finite.
fn finite(name: &str, tensor: &SavedTensor) -> Result<(), StateError> {
    let Data::F32(values) = &tensor.data else { return Ok(()) };
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(StateError::NotFinite { name: name.into(), index, value: f64::from(values[index]) }),
    }
}
