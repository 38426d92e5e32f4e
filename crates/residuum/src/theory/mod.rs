//! The paper's theory as functions: what its lemmas claim, and the numbers they give.

pub mod coefficients;
mod counterexample;
pub mod hard_instance;
pub mod lyapunov;
pub mod operator;
pub mod practical;
