//! Named tensors: what a network holds, under torchvision's names, for export, import and checkpoints.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

mod file;
mod tfjs;

pub use file::{FileError, read_safetensors, write_safetensors};
pub use tfjs::read_tfjs;

/// What a tensor is to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Learned: exported and imported.
    Parameter,
    /// Measured, such as running means: exported and imported.
    Buffer,
    /// Known to a training run only, such as velocities or the arrays behind effective weights: checkpoints.
    Optimizer,
}

/// Someone who is shown every tensor of a network, in a fixed order.
pub trait Visitor {
    /// Whether this visitor changes what it is shown. If it does not, copies may be shown and thrown away.
    fn writes(&self) -> bool;

    /// A tensor with its name, its role, its shape (PyTorch's: outputs, inputs, height, width) and its values.
    fn tensor(&mut self, name: &str, role: Role, shape: &[usize], values: &mut [f32]);

    /// A counter.
    fn counter(&mut self, name: &str, role: Role, value: &mut u64);

    /// The dynamic range of the tensor `name`, in its units, where devices give it one. Nothing to save or restore.
    fn range(&mut self, name: &str, range: [f32; 2]) {
        let _ = (name, range);
    }
}

/// A thing with named tensors.
pub trait Visit {
    /// Shows every tensor; names start with `path`.
    fn visit(&mut self, path: &str, visitor: &mut dyn Visitor);
}

/// The numbers of one entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// A tensor.
    F32(Vec<f32>),
    /// A counter.
    U64(u64),
}

/// One named tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its shape; empty for a counter.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Values,
}

/// Named tensors by name.
pub type State = BTreeMap<String, Entry>;

/// A state that does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StateError {
    /// A tensor of the network that the state lacks.
    #[error("tensor {name} ({shape:?}) is missing")]
    Missing {
        /// The tensor.
        name: String,
        /// Its shape in the network.
        shape: Vec<usize>,
    },
    /// A tensor of the state that the network does not know.
    #[error("tensor {name} ({shape:?}) is not part of this network")]
    Unexpected {
        /// The tensor.
        name: String,
        /// Its shape in the state.
        shape: Vec<usize>,
    },
    /// A tensor of another shape.
    #[error("tensor {name} must have shape {expected:?}, got {given:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape in the network.
        expected: Vec<usize>,
        /// Its shape in the state.
        given: Vec<usize>,
    },
}

/// Which tensors are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Parameters and buffers: the network.
    Network,
    /// Those and what the optimiser remembers: a checkpoint.
    Everything,
}

impl Scope {
    fn holds(self, role: Role) -> bool {
        self == Self::Everything || role != Role::Optimizer
    }
}

/// Copies the tensors of `network` out.
pub fn export(network: &mut dyn Visit, scope: Scope) -> State {
    struct Export(Scope, State);
    impl Visitor for Export {
        fn writes(&self) -> bool {
            false
        }

        fn tensor(&mut self, name: &str, role: Role, shape: &[usize], values: &mut [f32]) {
            if self.0.holds(role) {
                let entry = Entry { shape: shape.to_vec(), values: Values::F32(values.to_vec()) };
                self.1.insert(name.to_owned(), entry);
            }
        }

        fn counter(&mut self, name: &str, role: Role, value: &mut u64) {
            if self.0.holds(role) {
                self.1.insert(name.to_owned(), Entry { shape: Vec::new(), values: Values::U64(*value) });
            }
        }
    }
    let mut export = Export(scope, State::new());
    network.visit("", &mut export);
    export.1
}

/// Copies the tensors of `state` into `network`. Either all of them fit, or nothing is changed. Counters may be missing:
/// older files lack them.
///
/// # Errors
/// If a tensor is missing, unknown or of another shape.
pub fn import(network: &mut dyn Visit, scope: Scope, state: &State) -> Result<(), StateError> {
    let mut check = Check { scope, state, unseen: state.keys().map(String::as_str).collect(), result: Ok(()) };
    network.visit("", &mut check);
    check.result?;
    if let Some(name) = check.unseen.first() {
        return Err(StateError::Unexpected { name: (*name).to_owned(), shape: state[*name].shape.clone() });
    }
    network.visit("", &mut Import { scope, state });
    Ok(())
}

struct Check<'a> {
    scope: Scope,
    state: &'a State,
    unseen: BTreeSet<&'a str>,
    result: Result<(), StateError>,
}

impl Check<'_> {
    fn fail(&mut self, error: StateError) {
        if self.result.is_ok() {
            self.result = Err(error);
        }
    }
}

impl Visitor for Check<'_> {
    fn writes(&self) -> bool {
        false
    }

    fn tensor(&mut self, name: &str, role: Role, shape: &[usize], _: &mut [f32]) {
        self.unseen.remove(name);
        if !self.scope.holds(role) {
            return;
        }
        match self.state.get(name) {
            None => self.fail(StateError::Missing { name: name.to_owned(), shape: shape.to_vec() }),
            Some(Entry { shape: given, values: Values::F32(_) }) if given == shape => {}
            Some(Entry { shape: given, .. }) => self.fail(StateError::Shape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                given: given.clone(),
            }),
        }
    }

    fn counter(&mut self, name: &str, _: Role, _: &mut u64) {
        self.unseen.remove(name);
        if let Some(Entry { shape, values: Values::F32(_) }) = self.state.get(name) {
            let given = shape.clone();
            self.fail(StateError::Shape { name: name.to_owned(), expected: Vec::new(), given });
        }
    }
}

struct Import<'a> {
    scope: Scope,
    state: &'a State,
}

impl Visitor for Import<'_> {
    fn writes(&self) -> bool {
        true
    }

    fn tensor(&mut self, name: &str, role: Role, _: &[usize], values: &mut [f32]) {
        if let Some(Entry { values: Values::F32(given), .. }) = self.state.get(name)
            && self.scope.holds(role)
        {
            values.copy_from_slice(given);
        }
    }

    fn counter(&mut self, name: &str, role: Role, value: &mut u64) {
        if let Some(Entry { values: Values::U64(given), .. }) = self.state.get(name)
            && self.scope.holds(role)
        {
            *value = *given;
        }
    }
}
