//! residuum
pub mod interpolate;
pub mod numeric;
