//! residuum
pub mod expression;
pub mod interpolate;
pub mod numeric;
