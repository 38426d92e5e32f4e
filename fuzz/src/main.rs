//! Fuzzes the readers: `cargo run --release -p residuum-fuzz -- --seconds 60`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Duration;

use residuum_fuzz::memory::Counting;
use residuum_fuzz::{Limit, READERS, Reader, Tally, fuzz, give};

#[global_allocator]
static MEMORY: Counting = Counting;

const USAGE: &str = "residuum-fuzz [--seconds N] [--cases N] [--seed N] [--only READER] [--replay FILE]";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (mut seconds, mut cases, mut seed, mut only, mut replay) = (60.0, u64::MAX, 0, None, None);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let read = match word.as_str() {
            "--seconds" => value.parse().map(|n| seconds = n).is_ok(),
            "--cases" => value.parse().map(|n| cases = n).is_ok(),
            "--seed" => value.parse().map(|n| seed = n).is_ok(),
            "--only" => READERS.iter().any(|r| r.name == value) && only.replace(value).is_none(),
            "--replay" => replay.replace(value).is_none(),
            _ => false,
        };
        if !read {
            let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
            eprintln!("{USAGE}\nreaders: {}", names.join(", "));
            return ExitCode::from(2);
        }
    }
    if let Some(path) = replay {
        return again(&path);
    }
    let chosen: Vec<&Reader> = READERS.iter().filter(|r| only.as_ref().is_none_or(|o| o == r.name)).collect();
    println!(
        "{:<16} {:>12} {:>10} {:>10} {:>12} {:>12}",
        "reader", "cases", "sentences", "per s", "peak kB", "slowest ms"
    );
    let mut all = 0;
    for reader in &chosen {
        let share =
            seconds * f64::from(reader.weight) / chosen.iter().map(|r| f64::from(r.weight)).sum::<f64>();
        let Tally { cases, sentences, peak, slowest, time } =
            fuzz(reader, Limit { time: Duration::from_secs_f64(share), cases }, seed);
        let (rate, slowest) = (cases as f64 / time.as_secs_f64(), slowest.as_secs_f64() * 1e3);
        println!(
            "{:<16} {cases:>12} {sentences:>10} {rate:>10.0} {:>12} {slowest:>12.1}",
            reader.name,
            peak / 1000
        );
        all += cases;
    }
    println!("{all} cases: no panic, no hang, no allocation beyond the caps");
    ExitCode::SUCCESS
}

/// One case again, by the name of its file.
fn again(path: &str) -> ExitCode {
    let name = std::path::Path::new(path).file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let reader = READERS.iter().find(|r| name.strip_prefix(r.name).is_some_and(|rest| rest.starts_with('-')));
    let (Some(reader), Ok(case), Ok(folder)) = (reader, std::fs::read(path), tempfile::tempdir()) else {
        eprintln!("{path} must be a case that was found");
        return ExitCode::from(2);
    };
    let (said, peak, time) = give(reader, &case, folder.path());
    println!("{said}\n{peak} bytes, {time:?}");
    ExitCode::SUCCESS
}
