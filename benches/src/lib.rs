//! What the benchmarks share: a timer that takes the best of several rounds, because disturbances only add time; the rates of the
//! machine; the devices and rules on tiles.

pub mod machine;
pub mod tiles;

use std::time::Instant;

/// Seconds of the fastest of `rounds` calls, after one call to warm up.
pub fn best_of(rounds: usize, mut work: impl FnMut()) -> f64 {
    work();
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}
