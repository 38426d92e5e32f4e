//! Numerical tools.

mod erf;
mod linear;
mod minimize;
mod newton;
mod quadrature;
mod root;
