//! Mutable state as named tensors: what a checkpoint stores of rules, arrays, converters, networks and runs.
//!
//! [`State::tensors`] returns every number that a step changes and a later step depends on; [`State::load`] puts them into
//! an object that was built the same way, which then continues bit for bit.

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::Arc;

use thiserror::Error;

use crate::Scalar;

/// Data of one numeric type.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Small counters.
    U32(Vec<u32>),
    /// Counters.
    U64(Vec<u64>),
}

impl Data {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::F32(_) => "F32",
            Self::F64(_) => "F64",
            Self::U32(_) => "U32",
            Self::U64(_) => "U64",
        }
    }

    /// The single-precision data, if it has that type.
    pub fn as_f32(&self) -> Option<&[f32]> {
        f32::from_data(self)
    }
}

/// Data with a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTensor {
    /// Sizes of the dimensions; empty for a scalar.
    pub shape: Vec<usize>,
    /// The entries, in row-major order.
    pub data: Data,
}

impl SavedTensor {
    /// Single-precision numbers.
    pub fn f32(shape: &[usize], values: Vec<f32>) -> Self {
        Self { shape: shape.to_vec(), data: Data::F32(values) }
    }

    /// A counter.
    pub fn count(value: u64) -> Self {
        Self { shape: Vec::new(), data: Data::U64(vec![value]) }
    }
}

/// Tensors by name, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Tensors {
    entries: Vec<(String, Arc<SavedTensor>)>,
    positions: BTreeMap<String, usize>,
}

/// A state that does not match the object it is loaded into.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StateError {
    /// A tensor is missing.
    #[error("tensor {name} ({shape:?}) is missing")]
    Missing {
        /// The tensor.
        name: String,
        /// The shape it must have.
        shape: Vec<usize>,
    },
    /// A tensor that the object does not have.
    #[error("tensor {name} ({shape:?}) is not part of this {whole}")]
    Unexpected {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The object.
        whole: &'static str,
    },
    /// A tensor of the wrong shape.
    #[error("tensor {name} must have shape {expected:?}, got {given:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// The shape it must have.
        expected: Vec<usize>,
        /// The shape it has.
        given: Vec<usize>,
    },
    /// A tensor of the wrong numeric type.
    #[error("tensor {name} must hold {expected}, got {given}")]
    Type {
        /// The tensor.
        name: String,
        /// The type it must have.
        expected: &'static str,
        /// The type it has.
        given: &'static str,
    },
    /// A weight that is NaN or infinite.
    #[error("tensor {name} must be finite, but its entry {index} is {value}")]
    NotFinite {
        /// The tensor.
        name: String,
        /// Index of the entry in row-major order.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Values that the hardware rejects.
    #[error("tensor {name}: {source}")]
    Refused {
        /// The tensor.
        name: String,
        /// Why.
        source: crate::ParameterError,
    },
}

/// An object whose state can be saved and restored.
pub trait State {
    /// Everything that changes and that a later operation depends on.
    fn tensors(&self) -> Tensors;

    /// Restores the state of an object built the same way.
    ///
    /// # Errors
    /// If a tensor is missing, unexpected, or of the wrong shape or type; then nothing is changed.
    fn load(&mut self, from: &Tensors) -> Result<(), StateError>;
}

impl Tensors {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a tensor, or replaces the one of this name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: impl Into<Arc<SavedTensor>>) {
        let (name, tensor) = (name.into(), tensor.into());
        if let Some(at) = self.positions.get(&name) {
            self.entries[*at].1 = tensor;
        } else {
            self.positions.insert(name.clone(), self.entries.len());
            self.entries.push((name, tensor));
        }
    }

    /// Adds a vector.
    pub fn vector<T: Scalar>(&mut self, name: &str, values: &[T]) {
        self.insert(name, SavedTensor { shape: vec![values.len()], data: T::into_data(values.to_vec()) });
    }

    /// Adds a row-major matrix.
    pub fn matrix<T: Scalar>(&mut self, name: &str, shape: [usize; 2], values: &[T]) {
        self.insert(name, SavedTensor { shape: shape.to_vec(), data: T::into_data(values.to_vec()) });
    }

    /// Adds a counter.
    pub fn count(&mut self, name: &str, value: u64) {
        self.insert(name, SavedTensor { shape: Vec::new(), data: Data::U64(vec![value]) });
    }

    /// Adds small counters.
    pub fn counts(&mut self, name: &str, values: &[u32]) {
        self.insert(name, SavedTensor { shape: vec![values.len()], data: Data::U32(values.to_vec()) });
    }

    /// Adds all of `other` under `prefix.name`.
    pub fn nest(&mut self, prefix: &str, other: Self) {
        for (name, tensor) in other.entries {
            self.insert(format!("{prefix}.{name}"), tensor);
        }
    }

    /// The tensors whose names start with `prefix.`, with the prefix removed. Copies no data.
    #[must_use]
    pub fn within(&self, prefix: &str) -> Self {
        let mut found = Self::default();
        for (name, tensor) in &self.entries {
            if let Some(own) = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) {
                found.insert(own, Arc::clone(tensor));
            }
        }
        found
    }

    /// The tensors whose names satisfy `keep`.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut found = Self::default();
        for (name, tensor) in self.entries.iter().filter(|(name, _)| keep(name)) {
            found.insert(name.as_str(), Arc::clone(tensor));
        }
        found
    }

    /// The tensor of this name.
    pub fn get(&self, name: &str) -> Option<&SavedTensor> {
        self.positions.get(name).map(|at| &*self.entries[*at].1)
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.positions.contains_key(name)
    }

    /// The tensor of this name, mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut SavedTensor> {
        self.positions.get(name).map(|at| Arc::make_mut(&mut self.entries[*at].1))
    }

    /// Removes the tensor of this name.
    pub fn remove(&mut self, name: &str) -> Option<SavedTensor> {
        let found = self.positions.get(name).map(|at| (*self.entries[*at].1).clone())?;
        *self = self.filtered(|own| own != name);
        Some(found)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// All tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SavedTensor)> {
        self.entries.iter().map(|(name, tensor)| (name.as_str(), &**tensor))
    }

    /// Adds all tensors of `other`.
    pub fn extend(&mut self, other: Self) {
        for (name, tensor) in other.entries {
            self.insert(name, tensor);
        }
    }

    /// Checks that names, shapes and types are those of `expected`.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn fit(&self, expected: &Self) -> Result<(), StateError> {
        for (name, own) in expected.iter() {
            let Some(given) = self.get(name) else {
                return Err(StateError::Missing { name: name.into(), shape: own.shape.clone() });
            };
            same(name, own, given)?;
        }
        match self.iter().find(|(name, _)| expected.get(name).is_none()) {
            None => Ok(()),
            Some((name, tensor)) => {
                Err(StateError::Unexpected { name: name.into(), shape: tensor.shape.clone(), whole: "object" })
            }
        }
    }

    /// Copies the tensor `name` to `out`; does nothing if there is none of that type and length, which
    /// [`fit`](Self::fit) reports beforehand.
    pub fn read<T: Scalar>(&self, name: &str, out: &mut [T]) {
        if let Some(values) = self.get(name).and_then(|tensor| T::from_data(&tensor.data))
            && values.len() == out.len()
        {
            out.copy_from_slice(values);
        }
    }

    /// Copies a counter in the same way.
    pub fn read_count(&self, name: &str, out: &mut u64) {
        if let Some(Data::U64(values)) = self.get(name).map(|tensor| &tensor.data)
            && let [value] = values[..]
        {
            *out = value;
        }
    }

    /// Copies small counters in the same way.
    pub fn read_counts(&self, name: &str, out: &mut [u32]) {
        if let Some(Data::U32(values)) = self.get(name).map(|tensor| &tensor.data)
            && values.len() == out.len()
        {
            out.copy_from_slice(values);
        }
    }
}

/// Checks the shape and type of a tensor.
///
/// # Errors
/// If either differs.
pub fn same(name: &str, expected: &SavedTensor, given: &SavedTensor) -> Result<(), StateError> {
    let name = || name.to_owned();
    if expected.data.type_name() != given.data.type_name() {
        let (expected, given) = (expected.data.type_name(), given.data.type_name());
        return Err(StateError::Type { name: name(), expected, given });
    }
    if expected.shape != given.shape || expected.data.len() != given.data.len() {
        let (expected, given) = (expected.shape.clone(), given.shape.clone());
        return Err(StateError::Shape { name: name(), expected, given });
    }
    Ok(())
}

/// Equal if they hold the same tensors under the same names, in any order.
impl PartialEq for Tensors {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, tensor)| other.get(name) == Some(tensor))
    }
}

impl Index<&str> for Tensors {
    type Output = SavedTensor;

    /// # Panics
    /// If there is no tensor of this name.
    fn index(&self, name: &str) -> &SavedTensor {
        match self.get(name) {
            Some(tensor) => tensor,
            None => panic!("no tensor {name}"),
        }
    }
}

impl IntoIterator for Tensors {
    type Item = (String, SavedTensor);
    type IntoIter = std::vec::IntoIter<(String, SavedTensor)>;

    fn into_iter(self) -> Self::IntoIter {
        let owned: Vec<_> =
            self.entries.into_iter().map(|(name, tensor)| (name, Arc::unwrap_or_clone(tensor))).collect();
        owned.into_iter()
    }
}

impl<const N: usize> From<[(String, SavedTensor); N]> for Tensors {
    fn from(entries: [(String, SavedTensor); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl FromIterator<(String, SavedTensor)> for Tensors {
    fn from_iter<I: IntoIterator<Item = (String, SavedTensor)>>(entries: I) -> Self {
        let mut tensors = Self::default();
        for (name, tensor) in entries {
            tensors.insert(name, tensor);
        }
        tensors
    }
}
