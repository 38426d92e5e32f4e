//! `run` against trajectories of an independent implementation (golden/run), and its promises of determinism.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use residuum_lab::progress::Silent;
use residuum_lab::run::{run, to_csv};
use residuum_lab::spec::Spec;
use residuum_lab::store;

/// Absolute plus relative. Both sides are f64 and no map here is chaotic, so only the order of sums and the last
/// digit of library functions differ.
const TOLERANCE: f64 = 1e-9;

/// The records of each seed.
type Records = Vec<(u64, Vec<store::Row>)>;

/// Step, metric, index and value; JSON's null stands for NaN.
type Row = (u64, String, Option<u64>, Option<f64>);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/run")
}

fn parse(text: &str) -> Spec {
    Spec::parse(text, &folder()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run_text(text: &str) -> Records {
    run(&parse(text), &Silent).unwrap()
}

fn expected() -> BTreeMap<String, Vec<Row>> {
    serde_json::from_str(&std::fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

/// The first disagreement of a spec with its expected rows.
fn disagreement(name: &str, rows: &[Row]) -> Option<String> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    let spec = match Spec::parse(&text, &folder()) {
        Ok(spec) => spec,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    let records = match run(&spec, &Silent) {
        Ok(records) => records.into_iter().flat_map(|(_, rows)| rows).collect::<Vec<_>>(),
        Err(error) => return Some(format!("{name}: {error}")),
    };
    if records.len() != rows.len() {
        return Some(format!("{name}: {} records where {} are expected", records.len(), rows.len()));
    }
    records.iter().zip(rows).find_map(|(record, (step, metric, index, value))| {
        let same_row = record.step == *step && record.metric == *metric && record.index == *index;
        let close = value.map_or(record.value.is_nan(), |value| {
            (record.value - value).abs() <= TOLERANCE * (1.0 + value.abs())
        });
        (!same_row || !close)
            .then(|| format!("{name}: {record:?} where {step} {metric} {index:?} {value:?} is expected"))
    })
}

#[test]
fn trajectories_agree_with_the_independent_implementation() {
    let wrong: Vec<String> = expected().iter().filter_map(|(name, rows)| disagreement(name, rows)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_spec_has_expected_rows_and_every_row_a_spec() {
    let mut specs: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    specs.sort();
    let expected: Vec<String> = expected()
        .into_iter()
        .map(|(name, rows)| {
            assert!(!rows.is_empty(), "{name} expects nothing");
            name
        })
        .collect();
    assert_eq!(specs, expected);
}

/// Everything random at once: problem, devices, noise, pulses and calibration.
const STOCHASTIC: &str = r#"
steps = 120
seeds = SEEDS

[problem]
kind = "quadratic"
dim = 7
curvature = { uniform = [0.5, 4.0] }
minimizer = { normal = [0.0, 0.3] }

[noise]
kind = "gaussian"
deviation = 0.5

[device]
response = "soft_bounds"
radius_plus = { kind = "normal", mean = 1.0, deviation = 0.1 }
radius_minus = { kind = "uniform", lo = 0.9, hi = 1.3 }

[device.pulses]
pulse_step = 0.002
cycle_noise = 0.2

[rule]
kind = "residual_learning"
learning_rate = 0.02
transfer_rate = 0.03
mixing = 0.8
symmetric_point = { zero_shift = { pulse_step = 0.01, pairs = 200, cycle_noise = 0.1 } }

[record]
metrics = ["main", "residual", "gap", "pulses"]
every = 30
"#;

fn stochastic(seeds: &str) -> Records {
    run_text(&STOCHASTIC.replace("SEEDS", seeds))
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| to_csv(&stochastic("{ first = 1, count = 8 }")))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(2));
    assert_eq!(one.lines().count(), 1 + 8 * 5 * (7 + 7 + 2));
}

#[test]
fn a_seed_alone_equals_that_seed_in_a_list() {
    let together = stochastic("[5, 3, 8]");
    for seed in [3, 5, 8] {
        let alone = stochastic(&seed.to_string());
        let within: Records = together.iter().filter(|(own, _)| *own == seed).cloned().collect();
        assert_eq!(to_csv(&alone), to_csv(&within));
    }
    let order: Vec<u64> = together.iter().map(|(seed, _)| *seed).collect();
    assert_eq!(order, [5, 3, 8]);
    let last = |of: usize| together[of].1.iter().rfind(|r| r.index == Some(0)).unwrap().value;
    assert_ne!(last(0), last(1), "different seeds are different trials");
}

#[test]
fn rules_meet_the_same_noise() {
    let spec = |rule: &str| {
        run_text(&format!(
            "steps = 300\nseeds = [11, 12]\n[problem]\nkind = \"quadratic\"\ncurvature = [1.0, 2.0]\n\
             minimizer = {{ uniform = [-0.5, 0.5] }}\n[noise]\nkind = \"gaussian\"\ndeviation = 0.7\n\
             [device]\nresponse = \"constant\"\n[rule]\nkind = \"{rule}\"\nlearning_rate = 0.05\n\
             [record]\nmetrics = [\"main\", \"gap\"]\nevery = 50\n"
        ))
    };
    let (digital, analog) = (to_csv(&spec("digital")), to_csv(&spec("analog")));
    assert_eq!(digital, analog);
}
