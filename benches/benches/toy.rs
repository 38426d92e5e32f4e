//! The toy figure beside vectorised NumPy doing the same work, in one run on this machine.
//!
//!     cargo bench -p residuum-bench --bench toy
//!
//! Needs `python3` with NumPy (name another interpreter in `PYTHON`); says so and measures itself alone if there is
//! none.
#![allow(clippy::print_stdout, missing_docs)]

use std::process::Command;
use std::time::Instant;

use residuum_lab::progress::Silent;
use residuum_lab::reproduce::{Profile, ReproduceOptions, reproduce};

const UPDATES: f64 = 20_000.0 * 6_000.0 * 5.0 * 3.0;

fn main() {
    let threads = rayon::current_num_threads();
    let mut ours = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        let options = ReproduceOptions { profile: Profile::Full, ..ReproduceOptions::default() };
        reproduce("fig-toy", &options, &Silent).expect("the toy runs");
        ours = ours.min(start.elapsed().as_secs_f64());
    }
    println!("20 000 replicas × 6 000 steps × 5 noise levels × 3 rules");
    println!(
        "residuum, {threads} threads   {ours:7.2} s   {:.2} ns per update and thread",
        per_update(ours, threads)
    );

    // The least this takes: a third of an f64 normal per update (the rules share the noise) and, per update, one read
    // and write of a state that stays in the first-level cache.
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/opponents/toy_numpy.py");
    let start = Instant::now();
    match Command::new(&python).arg(script).output() {
        Ok(output) if output.status.success() => {
            let theirs = start.elapsed().as_secs_f64();
            println!("NumPy, 1 thread        {theirs:7.2} s   {:.2} ns per update", per_update(theirs, 1));
            println!("ratio {:.1}", theirs / ours);
        }
        _ => println!("NumPy: not run ({python} with NumPy is missing)"),
    }
}

fn per_update(seconds: f64, threads: usize) -> f64 {
    seconds * threads as f64 * 1e9 / UPDATES
}
