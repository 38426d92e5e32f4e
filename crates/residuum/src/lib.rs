//! residuum
