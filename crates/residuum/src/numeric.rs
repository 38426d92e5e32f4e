//! Small numerical tools: quadrature, root finding, minimization, dense linear algebra, the error function.
//!
//! Everything here is deterministic and sized for the questions the theory asks: integrals of a
//! response ratio, zeros of a mean drift, eigenvalues of a small Hessian. None of it is meant for
//! large systems.

mod erf;
mod linear;
mod minimize;
mod newton;
mod quadrature;
mod root;

pub use erf::{erf, erfc};
pub use linear::{solve, symmetric_eigenvalues};
pub use minimize::{Minimum, minimize_bracket};
pub use newton::{NewtonOptions, NumericError, newton};
pub use quadrature::{Integral, integrate, integrate_with_error};
pub use root::{find_root, roots};
