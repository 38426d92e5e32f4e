//! Neural networks whose layers live on analog tiles or in digital memory.

pub mod data;
