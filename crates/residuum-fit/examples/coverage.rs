//! How often the 95 % intervals contain the truth, the right family is chosen and the kind of the symmetric point is right.
//!
//!   cargo run --release --workspace --example coverage -- --replicas 200 --devices 1,30 --store coverage.csv
//!
//! prints the table of `docs/coverage.md`. Replicas that the store has are not run again, so a study can be stopped and
//! continued; `--case NAME` runs one case, `--details` adds every quantity: how often it is covered, and how far off in the mean.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use rayon::prelude::*;
use residuum::progress::Silent;
use residuum::{Key, Range};
use residuum_fit::{FitOptions, fit, simulate_devices};

#[allow(dead_code)]
#[path = "../tests/it/cases.rs"]
mod cases;
use cases::{CASES, Case, FRESH};

struct Arguments {
    replicas: u64,
    devices: Vec<usize>,
    case: Option<String>,
    store: Option<PathBuf>,
    details: bool,
}

fn main() {
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(words) => {
            eprintln!("{words}");
            std::process::exit(2);
        }
    };
    if let Err(e) = study(&arguments) {
        eprintln!("{e}");
        std::process::exit(2);
    }
}

fn parse() -> Result<Arguments, String> {
    let mut found = Arguments { replicas: 200, devices: vec![1, 30], case: None, store: None, details: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--details" {
            found.details = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let wrong = |_| format!("{word} must be whole numbers, got {value:?}");
        match word.as_str() {
            "--replicas" => found.replicas = value.parse().map_err(wrong)?,
            "--devices" => {
                found.devices = value.split(',').map(str::parse).collect::<Result<_, _>>().map_err(wrong)?;
            }
            "--case" => found.case = Some(value),
            "--store" => found.store = Some(value.into()),
            _ => {
                return Err(format!(
                    "{word} is not an option: --replicas, --devices, --case, --store, --details"
                ));
            }
        }
    }
    Ok(found)
}

/// One replica: a line of the store.
fn replica(case: &Case, devices: usize, replica: u64) -> String {
    let key = Key::new(replica).named(case.name);
    let measured =
        simulate_devices(&case.devices(devices, key), case.pulses, case.ramps(devices), key.named("ramps"));
    let options = FitOptions {
        range: Some(Range { lo: -1.0, hi: 1.0 }),
        held_out: false,
        seed: replica,
        ..FitOptions::default()
    };
    let head = format!("{};{devices};{replica}", case.name);
    match fit(&measured, &options, &Silent) {
        Err(e) => format!("{head};error: {e};;"),
        Ok(found) => {
            // Beside each verdict, how far the estimate is off, in half widths of its interval.
            let told = case.told(&found).into_iter().map(|(name, e, truth)| {
                let off = 2.0 * (e.value - truth) / (e.high - e.low);
                format!("{name}={}/{off:.3}", u8::from(e.covers(truth)))
            });
            let covers: Vec<String> = told.collect();
            let kind = found.symmetric_point.kind.word();
            format!("{head};{};{kind};{}", found.model_name(), covers.join("|"))
        }
    }
}

fn study(arguments: &Arguments) -> std::io::Result<()> {
    let known = match &arguments.store {
        Some(path) if path.exists() => std::fs::read_to_string(path)?,
        _ => String::new(),
    };
    let mut lines: BTreeSet<String> = known.lines().map(String::from).collect();
    let done: BTreeSet<String> = lines.iter().map(|line| head(line)).collect();
    let cases =
        CASES.iter().chain(&FRESH).filter(|c| arguments.case.as_ref().is_none_or(|name| name == c.name));
    // Every truth in turn, so that a study that was stopped has as many replicas of each.
    let cases: Vec<&Case> = cases.collect();
    let jobs: Vec<(&Case, usize, u64)> = (0..arguments.replicas)
        .flat_map(|r| cases.iter().map(move |&case| (case, r)))
        .flat_map(|(case, r)| arguments.devices.iter().map(move |&devices| (case, devices, r)))
        .filter(|(case, devices, r)| !done.contains(&format!("{};{devices};{r}", case.name)))
        .collect();
    let file = match &arguments.store {
        Some(path) => Some(std::fs::OpenOptions::new().create(true).append(true).open(path)?),
        None => None,
    };
    let fresh = Mutex::new((file, Vec::new()));
    jobs.into_par_iter().try_for_each(|(case, devices, number)| -> std::io::Result<()> {
        let line = replica(case, devices, number);
        let mut kept = fresh.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(file) = &mut kept.0 {
            writeln!(file, "{line}")?;
        }
        kept.1.push(line);
        Ok(())
    })?;
    lines.extend(fresh.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).1);
    for devices in &arguments.devices {
        table(arguments, *devices, &lines);
    }
    Ok(())
}

/// Case, devices and replica of a line.
fn head(line: &str) -> String {
    line.split(';').take(3).collect::<Vec<_>>().join(";")
}

fn table(arguments: &Arguments, devices: usize, lines: &BTreeSet<String>) {
    println!(
        "| truth, {devices} device{} | replicas | right family | right kind of point | intervals that cover | lowest | highest |",
        if devices == 1 { "" } else { "s" }
    );
    println!("|---|---|---|---|---|---|---|");
    for case in CASES.iter().chain(&FRESH).filter(|c| arguments.case.as_ref().is_none_or(|name| name == c.name))
    {
        let own: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.split(';').collect::<Vec<&str>>())
            .filter(|parts| parts[0] == case.name && parts[1] == devices.to_string())
            .collect();
        if own.is_empty() {
            continue;
        }
        let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        let mut covered: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut offs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for parts in &own {
            *chosen.entry(parts[3]).or_default() += 1;
            *kinds.entry(parts[4]).or_default() += 1;
            if parts[3] != case.family {
                continue;
            }
            for (name, is) in parts[5].split('|').filter_map(|pair| pair.split_once('=')) {
                let entry = covered.entry(name).or_default();
                let (is, off) = is.split_once('/').unwrap_or((is, "nan"));
                *entry = (entry.0 + usize::from(is == "1"), entry.1 + 1);
                offs.entry(name).or_default().extend(off.parse::<f64>().ok().filter(|x| x.is_finite()));
            }
        }
        let percent = |(a, b): (usize, usize)| 100.0 * a as f64 / b.max(1) as f64;
        let share = |found: &BTreeMap<&str, usize>, wanted: &str| {
            let right = percent((found.get(wanted).copied().unwrap_or(0), own.len()));
            let others: Vec<String> =
                found.iter().filter(|(n, _)| **n != wanted).map(|(n, c)| format!("{n} {c}")).collect();
            if others.is_empty() {
                format!("{right:.1} %")
            } else {
                format!("{right:.1} % ({})", others.join(", "))
            }
        };
        let all = covered.values().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        let by = |a: &(&&str, &(usize, usize)), b: &(&&str, &(usize, usize))| {
            percent(*a.1).total_cmp(&percent(*b.1))
        };
        let named = |entry: Option<(&&str, &(usize, usize))>| {
            entry.map_or("–".into(), |(name, c)| format!("{:.1} % {name}", percent(*c)))
        };
        println!(
            "| {} | {} | {} | {} | {:.1} % | {} | {} |",
            case.name,
            own.len(),
            share(&chosen, case.family),
            share(&kinds, case.kind.word()),
            percent(all),
            named(covered.iter().min_by(by)),
            named(covered.iter().max_by(by)),
        );
        if arguments.details {
            for (name, c) in &covered {
                let own = &offs[name];
                let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
                let square = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / own.len().max(1) as f64;
                println!(
                    "    {name:<22} {:5.1} %  off by {mean:+.2} ± {:.2} half widths",
                    percent(*c),
                    square.sqrt()
                );
            }
        }
    }
    println!();
}
