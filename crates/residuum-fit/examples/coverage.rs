//! How often the 95 % intervals contain the truth, the right family is chosen and the kind of the symmetric point is right.
//!
//!   cargo run --release -p residuum-fit --example coverage -- [replicas] [devices] [case]
//!
//! The figures of `docs/book/src/tutorial/measured.md` come from 200 replicas of 1 and of 30 devices.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;

use residuum::{Key, Range};
use residuum_fit::{FitOptions, Quiet, fit, simulate_devices};

#[path = "../tests/it/cases.rs"]
mod cases;
use cases::{CASES, Case};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (replicas, devices) = (number(200), number(1));
    let only = std::env::args().nth(3);
    for case in CASES.iter().filter(|c| only.as_ref().is_none_or(|name| name == c.name)) {
        study(case, replicas, devices);
    }
}

fn study(case: &Case, replicas: usize, devices: usize) {
    let mut covered: BTreeMap<String, usize> = BTreeMap::new();
    let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut kinds, mut named) = (0, 0);
    for replica in 0..replicas {
        let key = Key::new(replica as u64).named(case.name);
        let measured = simulate_devices(&case.devices(devices, key), case.pulses, case.cycles, key);
        let options = FitOptions {
            range: Some(Range { lo: -1.0, hi: 1.0 }),
            held_out: false,
            seed: replica as u64,
            ..FitOptions::default()
        };
        let found = match fit(&measured, &options, &Quiet) {
            Ok(found) => found,
            Err(e) => {
                println!("{}: {e}", case.name);
                continue;
            }
        };
        *chosen.entry(found.model_name()).or_default() += 1;
        kinds += usize::from(found.symmetric_point.kind == case.kind);
        if found.model_name() != case.family() {
            continue;
        }
        named += 1;
        for (name, covers) in case.covers(&found) {
            *covered.entry(name).or_default() += usize::from(covers);
        }
    }
    println!("{} ({devices} devices): family {chosen:?}, kind right in {kinds}/{replicas}", case.name);
    for (name, count) in covered {
        println!("    {name:<14} {:5.1} %", 100.0 * count as f64 / named.max(1) as f64);
    }
}
