//! Stores as a user meets them: run, listed, shown, exported, reported, removed.

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const SPEC: &str = r#"
name = "small"
[network]
model = "mlp"
hidden = [8]
activation = "tanh"
[data]
set = "digits"
train_per_class = 20
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
[training]
epochs = 2
batch_size = 10
seeds = [0, 1]
[[variant]]
name = "analog"
title = "Analog SGD"
rule = { kind = "analog", learning_rate = 0.1 }
[[variant]]
name = "digital"
title = "Digital SGD, plain"
rule = { kind = "digital", learning_rate = 0.3 }
"#;

fn residuum(arguments: &[&str], folder: &Path) -> Output {
    Command::cargo_bin("residuum").unwrap().args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn told(arguments: &[&str], folder: &Path) -> String {
    let output = residuum(arguments, folder);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Warnings are welcome, progress is not.
    let stderr = text(&output.stderr);
    assert!(
        stderr.lines().all(|line| line.starts_with("warning: ")),
        "no progress without a terminal: {stderr}"
    );
    text(&output.stdout)
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    serde_json::from_str(&told(arguments, folder)).unwrap()
}

#[test]
fn a_sweep_is_listed_shown_exported_and_removed() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    let said = told(&["run", "own.toml", "--jobs", "2"], at);
    assert!(said.contains("\n4 trials: 4 done, 0 already done; in runs/small\n"), "{said}");
    assert!(told(&["run", "own.toml"], at).contains("\n4 trials: 0 done, 4 already done; in runs/small\n"));
    let store = "runs/small";
    let list = told(&["runs", "list", store], at);
    assert_eq!(list.lines().count(), 5, "{list}");
    assert!(list.ends_with("4 trials; 0 unfinished\n"), "{list}");

    let document = json(&["runs", "list", store, "variant=Analog SGD", "seed=1", "--json"], at);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1);
    let id = trials[0]["id"].as_str().unwrap();
    let shown = told(&["runs", "show", store, &id[..6]], at);
    for piece in ["small: variant=Analog SGD seed=1", "rule.learning_rate", "test_accuracy", "kappa2 1"] {
        assert!(shown.contains(piece), "{piece}: {shown}");
    }
    let document = json(&["runs", "show", store, id, "--json"], at);
    assert_eq!(document["manifest"]["seed"], 1);
    assert!(document["manifest"]["commit"].as_str().is_none_or(|commit| commit.len() == 12));

    told(&["runs", "export", store, "--to", "all.csv"], at);
    let csv = fs::read_to_string(at.join("all.csv")).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("id,experiment,variant,seed,epoch,step,metric,part,index,value"));
    assert_eq!(lines.filter(|line| line.contains(",test_accuracy,")).count(), 4 * 2);
    assert!(csv.contains(",small,\"Digital SGD, plain\",0,1,20,train_loss,,,"), "{}", &csv[..400]);

    assert_eq!(told(&["runs", "rm", store, &id[..6]], at), format!("removed {id}\n"));
    assert!(told(&["run", "own.toml"], at).contains("\n4 trials: 1 done, 3 already done; in runs/small\n"));
    let document = json(&["runs", "rm", store, "--experiment", "small", "--json"], at);
    assert_eq!(document["removed"].as_array().unwrap().len(), 4);
    let output = residuum(&["runs", "rm", store, id], at);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("which matches 0"), "{}", text(&output.stderr));
}

/// A trial keeps its network: it is tested and exported from the folder that `runs show` names.
#[test]
fn a_trial_of_a_store_is_tested_and_exported() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml", "--seed", "1"], at);
    for variant in ["Analog SGD", "Digital SGD, plain"] {
        let filter = format!("variant={variant}");
        let list = json(&["runs", "list", "runs/small", &filter, "--json"], at);
        let id = list["trials"][0]["id"].as_str().unwrap().to_string();
        let shown = told(&["runs", "show", "runs/small", &id], at);
        let trial = shown.lines().find_map(|line| line.strip_prefix("in ")).unwrap().to_string();
        let last = json(&["runs", "show", "runs/small", &id, "--json"], at)["last"].clone();
        let is_accuracy = |row: &&Value| row["metric"] == "test_accuracy";
        let recorded = last.as_array().unwrap().iter().find(is_accuracy).unwrap()["value"].clone();

        // Reads are ideal here, so a test sees what the sweep saw.
        let tested = json(&["eval", &trial, "--json"], at);
        assert_eq!(tested["test_accuracy"], recorded);
        assert_eq!((&tested["trial"], &tested["seed"]), (&Value::from(variant), &Value::from(1)));
        assert_eq!((&tested["steps"], &tested["epochs"]), (&Value::from(40), &Value::from(2)));
        let exported = json(&["export", &trial, "--to", "trial.safetensors", "--json"], at);
        // Two layers with weights and biases.
        assert_eq!(exported["tensors"], 4);
        // What was exported starts another network, which is as good before it has learned anything.
        let still = SPEC
            .replace("[network]", "[network]\nweights = \"trial.safetensors\"")
            .replace("learning_rate = 0.3", "learning_rate = 1e-30");
        fs::write(at.join("still.toml"), still).unwrap();
        let output = residuum(
            &[
                "run",
                "still.toml",
                "--variant",
                "digital",
                "--seed",
                "1",
                "--out",
                &format!("still-{}", exported["seed"].as_u64().unwrap() + variant.len() as u64),
                "--json",
                "-q",
            ],
            at,
        );
        let trained: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(trained["trials"][0]["test_accuracy"], recorded);
    }

    // A trial without its checkpoints, and a folder that is neither.
    let list = json(&["runs", "list", "runs/small", "--json"], at);
    let trial = format!("runs/small/trials/{}", list["trials"][0]["id"].as_str().unwrap());
    fs::remove_dir_all(at.join(&trial).join("run")).unwrap();
    for (path, expected) in
        [(trial.as_str(), "checkpoint"), ("runs/nowhere", "must be the folder of a trial in a run store")]
    {
        let output = residuum(&["export", path, "--to", "none.safetensors"], at);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    assert!(!at.join("none.safetensors").exists());
}

#[test]
fn a_trial_without_a_network_is_not_tested() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let problem = "steps = 5\n[problem]\nkind = \"quadratic\"\ncurvature = 1.0\nminimizer = 0.5\n[rule]\nkind = \"digital\"\nlearning_rate = 0.1\n";
    fs::write(at.join("own.toml"), problem).unwrap();
    told(&["run", "own.toml"], at);
    let list = json(&["runs", "list", "runs/own", "--json"], at);
    let trial = format!("runs/own/trials/{}", list["trials"][0]["id"].as_str().unwrap());
    let output = residuum(&["eval", &trial], at);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("must have a network, got one that minimises an objective"), "{message}");
}

#[test]
fn shards_fill_one_store() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("own.toml"), SPEC).unwrap();
    let half = |shard| json(&["run", "own.toml", "--store", "s", "--shard", shard, "--json"], folder.path());
    let first = half("0/2");
    assert_eq!((&first["total"], &first["done"]), (&2.into(), &2.into()));
    assert_eq!(half("1/2")["done"], 2);
    let said = told(&["run", "own.toml", "--out", "s"], folder.path());
    assert!(said.contains("\n4 trials: 0 done, 4 already done; in s\n"), "{said}");
    let output = residuum(&["run", "own.toml", "--shard", "2/2"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("must be I/N with I < N"), "{}", text(&output.stderr));
}

/// The script does what it says: each of its jobs, run by a shell, leaves its share of the trials.
#[cfg(unix)]
#[test]
fn a_slurm_array_fills_the_store() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("own spec.toml"), SPEC).unwrap();
    let script = told(&["run", "own spec.toml", "--out", "s", "--slurm=3", "--threads", "1"], folder.path());
    assert!(script.starts_with("#!/bin/bash\n#SBATCH --job-name=small\n#SBATCH --array=0-2\n"), "{script}");
    assert!(!folder.path().join("s/trials").exists(), "a script runs nothing");
    let program = std::path::PathBuf::from(Command::cargo_bin("residuum").unwrap().get_program());
    for task in 0..3 {
        let done = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()))
            .env("SLURM_ARRAY_TASK_ID", task.to_string())
            .env("SLURM_CPUS_PER_TASK", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    let said = told(&["run", "own spec.toml", "--out", "s"], folder.path());
    assert!(said.contains("\n4 trials: 0 done, 4 already done; in s\n"), "{said}");
    let script = told(&["run", "own spec.toml", "--slurm"], folder.path());
    assert!(script.contains("--array=0-3\n") && script.contains("4 trials in 4 jobs"), "{script}");
}

#[test]
fn a_failing_trial_is_told_and_the_others_are_run() {
    let folder = TempDir::new().unwrap();
    let wild = SPEC.replace("learning_rate = 0.3", "learning_rate = 1e38");
    fs::write(folder.path().join("wild.toml"), wild).unwrap();
    for _ in 0..2 {
        let output = residuum(&["run", "wild.toml", "--seed", "3"], folder.path());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        assert!(told.contains("\nfailed: variant=Digital SGD, plain seed=3 ("), "{told}");
        assert!(told.contains("1 failed; in runs/small"), "{told}");
    }
    let list = told(&["runs", "list", "runs/small"], folder.path());
    assert_eq!(list.lines().filter(|line| line.contains("    failed  ")).count(), 1, "{list}");
}

#[test]
fn a_folder_of_something_else_is_no_store() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("own.toml"), SPEC).unwrap();
    let output = residuum(&["run", "own.toml", "--store", "."], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: . must be a run store or an empty folder, got one with own.toml in it; choose another with --out\n"
    );
    let output = residuum(&["runs", "list", "."], folder.path());
    assert_eq!(text(&output.stderr), "error: . must be a run store: it has no store.json\n");
}

#[test]
fn a_store_becomes_a_page_and_tables() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml"], at);
    let report = |to: &str| {
        told(&["report", "runs/small", "--to", to, "--figures", "figures"], at);
        fs::read_to_string(at.join(to)).unwrap()
    };
    let (page, markdown, latex) = (report("a.html"), report("a.md"), report("a.tex"));
    for text in [&page, &markdown, &latex] {
        assert!(text.contains("Analog SGD") && text.contains("Digital SGD, plain"));
    }
    assert!(
        page.starts_with("<!DOCTYPE html>") && !page.contains("src=\"http") && !page.contains("href=\"http")
    );
    assert!(markdown.contains("| n |") && latex.contains("\\toprule"));
    assert!(fs::read_dir(at.join("figures")).unwrap().count() >= 2);

    let wrong = |arguments: &[&str]| {
        let output = residuum(arguments, at);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert_eq!(
        wrong(&["report", "nowhere", "--to", "b.html"]),
        "error: nowhere must be a run store: it has no store.json\n"
    );
    let metric = wrong(&["report", "runs/small", "--to", "b.html", "--metric", "test_acuracy"]);
    assert!(metric.contains("got \"test_acuracy\"; did you mean test_accuracy?"), "{metric}");
    assert!(wrong(&["report", "runs/small", "--to", "b.pdf"]).contains("--to must end in .html, .md or .tex"));
    assert!(!at.join("b.html").exists() && !at.join("b.pdf").exists());
}

#[test]
fn two_specs_are_compared_difference_by_difference() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("a.toml"), SPEC).unwrap();
    fs::write(at.join("b.toml"), SPEC.replace("states = 1200", "states = 300\ncycle_noise = 0.3")).unwrap();
    let table = told(&["compare", "a.toml:analog", "b.toml:analog"], at);
    for piece in
        ["device.states", "device.cycle_noise", "all: B − A", "remainder (interactions)", "2 common seeds"]
    {
        assert!(table.contains(piece), "{piece}: {table}");
    }
    let output = residuum(&["compare", "a.toml", "missing.toml"], at);
    assert_eq!((output.status.code(), text(&output.stderr).contains("missing.toml")), (Some(2), true));
}

/// Where trials record no main metric, what they record is listed, and the one that is named is compared.
#[test]
fn a_comparison_asks_for_a_metric_that_is_recorded() {
    const PROBLEM: &str = "steps = 20\n[problem]\nkind = \"quadratic\"\ncurvature = 1.0\nminimizer = 0.5\n[device]\nresponse = \"power\"\n\
         shape = 1.0\nradius = 1.0\n[rule]\nkind = \"analog\"\nlearning_rate = 0.1\n[record]\nmetrics = [\"effective_mean\"]\nevery = 10\n";
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("a.toml"), PROBLEM).unwrap();
    fs::write(at.join("b.toml"), PROBLEM.replace("shape = 1.0", "shape = 2.0")).unwrap();
    let output = residuum(&["compare", "a.toml", "b.toml"], at);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("--metric must be one that every trial records (effective_mean); got none"),
        "{message}"
    );
    let table = told(&["compare", "a.toml", "b.toml", "--metric", "effective_mean"], at);
    assert!(table.contains("device.shape"), "{table}");
}

/// A manifest is not believed about where it lies: its folder's name is the id.
#[test]
fn a_manifest_cannot_name_a_folder_to_remove() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml", "--seed", "1"], at);
    fs::create_dir(at.join("victim")).unwrap();
    fs::write(at.join("victim/precious"), "kept").unwrap();
    let list = json(&["runs", "list", "runs/small", "--json"], at);
    let id = list["trials"][0]["id"].as_str().unwrap();
    let path = at.join("runs/small/trials").join(id).join("manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, manifest.replace(id, "../../../victim")).unwrap();
    for command in [&["runs", "rm", "runs/small", "--experiment", "small"][..], &["runs", "list", "runs/small"]]
    {
        let output = residuum(command, at);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(
            message.contains("its id must be the name of its folder, got \"../../../victim\""),
            "{message}"
        );
    }
    assert!(at.join("victim/precious").exists());
    // By its folder's name it is removed.
    assert_eq!(told(&["runs", "rm", "runs/small", id], at), format!("removed {id}\n"));
}

#[test]
fn a_short_id_is_listed() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml", "--seed", "1", "--variant", "digital"], at);
    let list = json(&["runs", "list", "runs/small", "--json"], at);
    let id = list["trials"][0]["id"].as_str().unwrap();
    let trials = at.join("runs/small/trials");
    let manifest = fs::read_to_string(trials.join(id).join("manifest.json")).unwrap();
    fs::rename(trials.join(id), trials.join("é1")).unwrap();
    fs::write(trials.join("é1/manifest.json"), manifest.replace(id, "é1")).unwrap();
    assert!(told(&["runs", "list", "runs/small"], at).starts_with("é1  "));
}

/// What a spreadsheet would run is exported as words.
#[test]
fn a_formula_in_a_title_is_text_in_exported_files() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let spec = SPEC.replace("\"Digital SGD, plain\"", "'=HYPERLINK(\"http://example.org\")'");
    fs::write(at.join("own.toml"), spec).unwrap();
    told(&["run", "own.toml", "--seed", "1"], at);
    told(&["runs", "export", "runs/small", "--to", "all.csv"], at);
    let csv = fs::read_to_string(at.join("all.csv")).unwrap();
    assert!(csv.contains(",\"'=HYPERLINK(\"\"http://example.org\"\")\","), "{}", &csv[..400]);
    assert!(!csv.contains(",=HYPERLINK") && !csv.contains(",\"=HYPERLINK"));
}

/// Two files of the store that a stranger has put in place of locks.
#[cfg(unix)]
#[test]
fn locks_and_logs_do_not_follow_links() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    fs::write(at.join("victim"), "kept").unwrap();
    let arguments = ["run", "own.toml", "--seed", "1", "--variant", "digital"];
    told(&arguments, at);
    let list = json(&["runs", "list", "runs/small", "--json"], at);
    let trial = at.join("runs/small/trials").join(list["trials"][0]["id"].as_str().unwrap());
    for link in [".lock", "run/.lock", "run/events.out.tfevents.residuum"] {
        fs::remove_dir_all(&trial).unwrap();
        fs::create_dir_all(trial.join("run")).unwrap();
        std::os::unix::fs::symlink(at.join("victim"), trial.join(link)).unwrap();
        let output = residuum(&arguments, at);
        assert_eq!(output.status.code(), Some(2), "{link}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("is a symbolic link"), "{link}: {}", text(&output.stderr));
        assert_eq!(fs::read_to_string(at.join("victim")).unwrap(), "kept", "{link}");
    }
}

/// What tries whether a folder can be written must not write through a link of its name, nor remove a file.
#[cfg(unix)]
#[test]
fn a_look_whether_a_folder_is_writable_leaves_it_as_it_is() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("out")).unwrap();
    fs::write(at.join("victim"), "kept").unwrap();
    std::os::unix::fs::symlink(at.join("victim"), at.join("out/.residuum-write-test")).unwrap();
    told(&["device", "show", "power", "shape=1", "--out", "out"], at);
    assert_eq!(fs::read_to_string(at.join("victim")).unwrap(), "kept");
    assert!(at.join("out/.residuum-write-test").is_symlink());
}

/// An empty variable of a script begins every id, and must not name the only trial.
#[test]
fn an_empty_id_names_no_trial() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml", "--seed", "1", "--variant", "digital"], at);
    for command in ["rm", "show"] {
        let output = residuum(&["runs", command, "runs/small", ""], at);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(text(&output.stderr).contains("ID must match exactly one trial, got \"\""), "{command}");
    }
    assert_eq!(json(&["runs", "list", "runs/small", "--json"], at)["trials"].as_array().unwrap().len(), 1);
}

/// A file that is renamed to a device or a pipe would take its place: `--to /dev/null` would end the machine's.
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("own.toml"), SPEC).unwrap();
    told(&["run", "own.toml", "--seed", "1", "--variant", "digital"], at);
    for (name, command) in [
        ("w.safetensors", &["export", "runs/small"][..]),
        ("page.html", &["report", "runs/small"]),
        ("all.csv", &["runs", "export", "runs/small"]),
    ] {
        assert!(std::process::Command::new("mkfifo").arg(at.join(name)).status().unwrap().success());
        let output = residuum(&[command, &["--to", name]].concat(), at);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stdout));
        assert!(
            text(&output.stderr).contains("must be a file, but is something else"),
            "{}",
            text(&output.stderr)
        );
        assert!(fs::metadata(at.join(name)).unwrap().file_type().is_fifo(), "{name}");
    }
}
