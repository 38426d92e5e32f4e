//! Laws of the theory.

mod magnitude;
mod residual_law;
mod tracked_law;
