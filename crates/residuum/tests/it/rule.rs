//! Single rules and their parts.

mod gradient;
mod manhattan;
mod warm_start;
