//! Benchmarks of residuum.
