//! The tables say what the readers ask for: no field too few, none too many, the same words and defaults.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Default, Kind, find, page, sections};
use crate::plan::{Plan, Work, plans};
use crate::spec::Folders;
use crate::spec::asked;

/// Read from the document as a whole, before there are fields.
const OF_THE_GRID: [&str; 4] = ["profile", "sweep", "sweep.zip", "sweep.exclude"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Specs that together ask for every field, each with the folder its paths are relative to.
fn specs() -> Vec<(String, PathBuf)> {
    let mut specs = Vec::new();
    for folder in ["experiments", "golden/run"] {
        let folder = repository().join(folder);
        let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<PathBuf> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
        files.sort();
        let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        // One of the examples is a device alone.
        let whole = texts.filter(|text| text.contains("[rule") || text.contains("rule ="));
        specs.extend(whole.map(|text| (text, folder.clone())));
    }
    let golden = repository().join("golden/run");
    for table in PROBLEM_TABLES {
        specs.push((over(PROBLEM, table), golden.clone()));
    }
    for table in NETWORK_TABLES {
        specs.push((over(NETWORK, table), golden.clone()));
    }
    specs
}

/// A file with tables laid over it: one variant.
fn over(file: &str, table: &str) -> String {
    // Two devices replace one; laid over it they would be beside it.
    let two = table.starts_with("device = { main");
    let file: Vec<&str> = file.lines().filter(|line| !(two && line.starts_with("device"))).collect();
    let words = "name = \"one\"\ntitle = \"One\"";
    format!("{}\n[[variant]]\n{words}\n{table}\n[[cell]]\n{words}\n", file.join("\n"))
}

const PROBLEM: &str = r#"
title = "t"
steps = 10
problem = { kind = "quadratic", curvature = 1.0, minimizer = 0.5 }
device = { response = "power", shape = 1.0 }
rule = { kind = "residual_learning", learning_rate = 0.01, transfer_rate = 0.01, mixing = 1.0 }
"#;

const PROBLEM_TABLES: &[&str] = &[
    "seeds = { first = 1, count = 2 }\ninitial = { main = 0.1, residual = 0.0 }",
    "problem = { kind = \"quadratic\", curvature = { uniform = [1, 2] }, minimizer = { normal = [0, 0.1] }, dim = 3 }\nrecord = { every = 2 }",
    "problem = { kind = \"least_squares\", features = [[1, 0], [0, 1]], targets = [1, 2] }\nnoise = { kind = \"mini_batch\", batch = 1 }",
    "noise = { kind = \"two_point\", deviation = 1, probability = 0.5 }",
    "noise = { kind = \"cosine\", total_deviation = 1 }",
    "device = { response = \"constant\" }",
    "device = { response = \"linear\", slope = 0.5 }",
    "device = { response = \"linear\", hardware_condition = 2 }",
    "device = { response = \"exponential\", shape = { kind = \"normal\", mean = 1, deviation = 0.01 } }",
    "device = { response = \"power\", shape = { kind = \"log_normal\", median = 1, deviation = 0.1 }, radius = { kind = \"uniform\", lo = 1, hi = 2 } }",
    "device = { response = \"power\", shape = 1, radius = { kind = \"log_spaced\", lo = 1, hi = 2 } }",
    "device = { response = \"mixture\", parts = [{ fraction = 1.0, response = \"wavy\" }] }",
    "device = { main = { response = \"ceiling\", min = 0.1 }, residual = { response = \"soft_bounds\", radius_plus = 1, radius_minus = 1 } }",
    "device = { response = \"power\", shape = 1, pulses = { pulse_step = 0.01 } }",
    "rule = { kind = \"residual_learning\", rates = \"practical\" }\nnoise = { kind = \"gaussian\", deviation = 0.1 }",
    "rule = { kind = \"analog\", learning_rate = { kind = \"constant\", rate = 1 } }",
    "rule = { kind = \"analog\", learning_rate = { kind = \"inverse\", initial = 1, half_life = 2 } }",
    "rule = { kind = \"analog\", learning_rate = { kind = \"step\", initial = 1, every = 2, factor = 0.5 } }",
    "rule = { kind = \"analog\", learning_rate = { kind = \"cosine\", initial = 1, steps = 2 } }",
    "rule = { kind = \"analog\", learning_rate = { kind = \"warm_up\", rate = 1, steps = 2 } }",
    "rule = { transfer = \"compensated\", symmetric_point = { error = 0.01 } }",
    "rule = { symmetric_point = { zero_shift = { pulse_step = 0.01, pairs = 2 } }, cell_gain = { pulse_step = 0.01, pairs = 2 } }",
];

const NETWORK: &str = r#"
name = "n"
network = { model = "mlp" }
data = { set = "digits" }
device = { response = "power", shape = 1.0, states = 100 }
rule = { kind = "residual_learning", learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4 }
training = { epochs = 1, batch_size = 10 }
mapping = {}
digital = {}
"#;

const NETWORK_TABLES: &[&str] = &[
    "network = { model = \"mlp\", weights = \"w.safetensors\", fresh_head = true }",
    "data = { set = \"digits\", directory = \".\", half = \"first\", normalize = { mean = [0.5], deviation = [0.5] } }",
    "device = { response = \"linear\", slope = 0.5, pulse_step = 0.01, bounds = [-1, 1], slope_spread = { log_normal = 0.1 } }",
    "device = { response = \"soft_bounds\", states = 100, slope_spread = [0.1, 0.2], slopes = { reverse_up = true } }",
    "device = { response = \"exp_step\", states = 100, bound_spread = [0.1, 0.2], cycle_noise = { additive = 0.1 } }",
    "device = { response = \"exponential\", shape = 1, states = 100, stuck = { probability = 0.1 }, reference = {} }",
    "device = { response = \"constant\", states = 100, reset = {}, decay = { lifetime = 9 }, diffusion = { deviation = 0.1 } }",
    "device = { response = \"constant\", states = 100, drift = { exponent = 0.1, onset_s = 1, step_s = 1 } }",
    "device = { response = \"formula\", q_plus = \"1 - w/2\", q_minus = \"1 + w/2\", range = [-1, 1], states = 100 }",
    "device = { response = \"table\", csv = \"../../experiments/measured_device.csv\", states = 100 }",
    "device = { main = { preset = \"reram_es\" }, residual = { preset = \"idealized\", step_spread = { log_normal = 0.1 } } }",
    "rule = { kind = \"digital\", learning_rate = 0.1 }",
    "rule = { kind = \"tiki_taka_2\", learning_rate = { constant = 0.1 }, transfer_rate = 0.1, buffer = {}, every = { samples = 2 } }",
    "rule = { kind = \"agad\", learning_rate = 0.1, transfer_rate = 0.1, chop = {}, auto_scale = {} }",
    "rule = { kind = \"mixed_precision\", learning_rate = 0.1, quantize_errors = {}, quantize_inputs = { levels = 4 } }",
    "rule = { kind = \"residual_cascade\", learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4, pulses = { length = 5 }, transfer_pulses = {} }",
    "rule = { symmetric_point = { pairs = 2 } }",
    "readout = { input = { bound = 1 }, output = {}, backward = { passes = \"one\", weight_noise_kind = \"constant\" }, transfer = \"ideal\" }",
    "readout = { preset = \"aihwkit\", noise_management = { kind = \"constant\", scale = 1 }, bound_management = { kind = \"worst_case\", assumed_weight = 1 } }",
    "readout = { preset = \"aihwkit\", noise_management = { kind = \"abs_max_sum\", assumed_weight = 1, max_factor = 2 } }",
    "readout = { preset = \"aihwkit\", noise_management = { kind = \"average_abs_max\", decay = 0.1 }, bound_management = \"iterative\" }",
    "readout = { preset = \"aihwkit\", noise_management = { kind = \"abs_max\" }, ir_drop = { strength = 1, conductance_ratio = 1000 } }",
    "readout = { output_line = {}, nonlinearity = { strength = 0.1 } }",
    "training = { seeds = { count = 2 }, early_stop = { patience = 1 }, schedule = { kind = \"step\", every = 1, factor = 0.5 } }",
    "training = { schedule = { kind = \"cosine\" } }",
    "training = { schedule = { kind = \"warm_up\", epochs = 1 } }",
];

/// What reading a spec asked for, with its first trial.
fn read(text: &str, base: &Path) -> Result<(Kind, Plan, asked::Asked), String> {
    asked::take();
    let mut trials = plans(text, &Folders::new(base), None, "stem").map_err(|e| format!("{e}\n{text}"))?;
    let plan = trials.remove(0);
    let kind = if let Work::Problem(_) = plan.work { Kind::Problem } else { Kind::Network };
    Ok((kind, plan, asked::take()))
}

#[test]
fn the_tables_have_every_field_that_is_read_and_no_other() {
    // One thread, so that all reading is recorded where the test looks.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let problems: Vec<String> = pool.install(|| {
        let mut problems = Vec::new();
        let mut seen: BTreeSet<(Kind, &'static str)> = BTreeSet::new();
        for (text, base) in specs() {
            let (kind, plan, asked) = match read(&text, &base) {
                Ok(read) => read,
                Err(error) => {
                    problems.push(error);
                    continue;
                }
            };
            for path in &asked.paths {
                match find(kind, path) {
                    Some(field) => _ = seen.insert((kind, field.path)),
                    None => problems.push(format!("{kind:?}: {path} is read but not in the tables")),
                }
            }
            for (path, options) in &asked.options {
                let takes = find(kind, path).map_or("", |field| field.takes);
                for option in options.iter().filter(|option| !takes.contains(&format!("`{option}`"))) {
                    problems.push(format!("{kind:?}: {path} may be {option}, which its row does not say"));
                }
            }
            let chosen = plan.resolved().iter().any(|r| r.path == "rule.rates");
            for r in plan.resolved().iter().filter(|r| !r.given) {
                let default = find(kind, &r.path).map(|field| field.default);
                match default {
                    Some(Default::Value(value)) if value != r.value => {
                        problems.push(format!("{kind:?}: {} is {} by default, not {value}", r.path, r.value));
                    }
                    Some(Default::Required) if !chosen => {
                        problems.push(format!("{kind:?}: {} has the default {}", r.path, r.value));
                    }
                    _ => {}
                }
            }
        }
        for section in sections() {
            for field in section.fields.iter().filter(|field| !OF_THE_GRID.contains(&field.path)) {
                if !section.of.iter().any(|kind| seen.contains(&(*kind, field.path))) {
                    problems.push(format!("{}: {} is in the tables but never read", section.title, field.path));
                }
            }
        }
        problems
    });
    let problems: BTreeSet<String> = problems.into_iter().collect();
    assert!(problems.is_empty(), "{}", problems.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn paths_of_arrays_parts_and_forms_find_their_rows() {
    let row = |kind, path: &str| find(kind, path).map(|field| field.path);
    assert_eq!(row(Kind::Problem, "device.residual.radius"), Some("device.radius"));
    assert_eq!(row(Kind::Problem, "device.parts[3].shape"), Some("device.shape"));
    assert_eq!(row(Kind::Problem, "device.parts[3].fraction"), Some("device.parts.fraction"));
    assert_eq!(row(Kind::Problem, "device.shape.median"), Some("distribution.median"));
    assert_eq!(row(Kind::Network, "readout.backward.output.noise"), Some("converter.noise"));
    assert_eq!(row(Kind::Network, "rule.transfer_rate.constant"), Some("rate.constant"));
    assert_eq!(row(Kind::Network, "problem.kind"), None);
    assert_eq!(row(Kind::Problem, "rule.mixin"), None);
}

#[test]
fn the_page_has_every_field_in_whole_rows() {
    let page = page();
    for field in sections().iter().flat_map(|s| s.fields) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", field.path)));
        assert_eq!(row.map(|r| r.replace("\\|", "").matches('|').count()), Some(6), "{}", field.path);
    }
}
