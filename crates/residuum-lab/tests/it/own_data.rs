//! Data from files of one's own: read, split, normalised, refused with file and row.

use std::fs;
use std::path::Path;

use residuum_lab::explain::shapes;
use residuum_lab::plan::{Plan, Work, plans};
use residuum_lab::spec::{Folders, SpecError};

fn spec(data: &str) -> String {
    format!(
        "[network]\nlayers = [\"flatten\", {{ kind = \"linear\", outputs = 8 }}, \"batch_norm\", \"relu\", \"linear\"]\n[data]\n{data}\n\
         [rule]\nkind = \"digital\"\nlearning_rate = 0.1\n[training]\nepochs = 2\nbatch_size = 4\n"
    )
}

fn read(folder: &Path, data: &str) -> Result<Vec<Plan>, SpecError> {
    plans(&spec(data), &Folders::new(folder), None, "own")
}

fn refused(folder: &Path, data: &str) -> String {
    read(folder, data).unwrap_err().to_string()
}

fn table(rows: impl Iterator<Item = String>) -> String {
    ["a,b,kind".to_string()].into_iter().chain(rows).collect::<Vec<_>>().join("\n") + "\n"
}

fn forty() -> String {
    table((0..40).map(|i| format!("{},{},{}", i, 2 * i + 1, ["x", "y"][i % 2])))
}

#[test]
fn a_table_becomes_parts_by_seed_with_features_normalised_on_the_training_part() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), forty()).unwrap();
    let plan = |data: &str| read(folder.path(), data).unwrap().remove(0);
    let one = plan("csv = \"t.csv\"\nlabel = \"kind\"\nvalidation = 0.25");
    let (networks, data) = shapes(std::slice::from_ref(&one));
    assert_eq!(data[0].samples, [24, 8]);
    assert_eq!(data[0].classes, [("x".to_string(), [12, 4]), ("y".to_string(), [12, 4])]);
    assert_eq!(networks[0].parameters(), 2 * 8 + 8 + 2 * 8 + 8 * 2 + 2);
    let Work::Network(trial) = &one.work else { panic!("a network") };
    let split = trial.data.load(Path::new(".")).unwrap();
    let [pipeline, _] = trial.data.pipelines(&split.train).unwrap();
    let mut sums = [0.0; 2];
    for i in 0..split.train.len() {
        let mut out = [0.0; 2];
        pipeline.apply(split.train.sample(i), residuum::Key::new(0), &mut out);
        sums.iter_mut().zip(out).for_each(|(s, v)| *s += v);
    }
    assert!(sums.iter().all(|s| s.abs() < 1e-4), "the mean of the training part is 0, {sums:?}");
    // The same parts for every seed of a trial; others for another seed of the split.
    let ids = |data: &str| plan(data).id();
    assert_ne!(
        ids("csv = \"t.csv\"\nlabel = \"kind\""),
        ids("csv = \"t.csv\"\nlabel = \"kind\"\nsplit_seed = 1")
    );
    let other = plan("csv = \"t.csv\"\nlabel = \"kind\"\nvalidation = 0.25\nevaluate = \"validation\"");
    let (_, validation) = shapes(&[other]);
    assert_eq!((validation[0].measured, validation[0].samples), ("validation", [24, 8]));
}

#[test]
fn a_trial_is_known_by_the_contents_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = "csv = \"t.csv\"\nlabel = \"kind\"";
    fs::write(folder.path().join("t.csv"), forty()).unwrap();
    let id = |name: &str| read(folder.path(), &data.replace("t.csv", name)).unwrap()[0].id();
    let first = id("t.csv");
    fs::write(folder.path().join("u.csv"), forty()).unwrap();
    assert_eq!(id("u.csv"), first, "the same contents under another name");
    fs::write(folder.path().join("t.csv"), forty().replace("0,1,x", "0,1.5,x")).unwrap();
    assert_ne!(id("t.csv"), first);
}

#[test]
fn faults_of_a_table_are_told_with_file_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| fs::write(folder.path().join("t.csv"), text).unwrap();
    let label = "csv = \"t.csv\"\nlabel = \"kind\"";
    for (text, data, expected) in [
        (
            forty().replace("3,7,y", "3,nan,y"),
            label,
            "t.csv, row 5, column \"b\": must be a finite number, got \"nan\"",
        ),
        (
            forty().replace("3,7,y", "3,,y"),
            label,
            "t.csv, row 5, column \"b\": must be a finite number, got \"\"",
        ),
        (
            forty().replace("3,7,y", "3,7"),
            label,
            "t.csv, row 5: a row must have 3 columns like the header, got 2",
        ),
        (
            forty(),
            "csv = \"t.csv\"\nlabel = \"class\"",
            "must have a column \"class\", but its columns are a, b, kind",
        ),
        (
            forty(),
            "csv = \"t.csv\"\nlabel = \"kind\"\nclasses = 2",
            "row 2, column \"kind\": the label must be a whole number from 0 to 1, got \"x\"",
        ),
        (forty(), "csv = \"t.csv\"", "data.label must name the column of classes, or data.target"),
        (forty(), "csv = \"none.csv\"\nlabel = \"kind\"", "none.csv must be readable"),
        ("a,b,kind\n".into(), label, "must have a row after its header"),
        (
            forty().replace('x', "1").replace('y', "5"),
            "csv = \"t.csv\"\nlabel = \"kind\"\nclasses = 3",
            "row 3, column \"kind\": the label must be a whole number from 0 to 2, got \"5\"",
        ),
        (forty(), "csv = \"t.csv\"\nlabel = \"kind\"\nchannels = 3", "data.channels has no effect with csv"),
        (forty(), "csv = \"t.csv\"\nset = \"digits\"", "data must have one source"),
    ] {
        write(&text);
        let error = refused(folder.path(), data);
        assert!(error.contains(expected), "{error}\n{expected}");
        assert!(error.starts_with("line "), "{error}");
    }
}

#[test]
fn a_regression_learns_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..60).map(|i| format!("{i},{},{}", (i * 7) % 11, 100.0 + 3.0 * f64::from(i)));
    fs::write(
        folder.path().join("r.csv"),
        ["a,b,y".to_string()].into_iter().chain(rows).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let plans = read(folder.path(), "csv = \"r.csv\"\ntarget = \"y\"").unwrap();
    let Work::Network(trial) = &plans[0].work else { panic!("a network") };
    assert!(trial.data.is_regression() && trial.training.loss.is_regression());
    let split = trial.data.load(Path::new(".")).unwrap();
    let targets = split.train.targets().unwrap();
    let mean = targets.iter().sum::<f32>() / targets.len() as f32;
    assert!(mean.abs() < 1e-4, "targets are scaled on the training part, mean {mean}");
    let error = refused(folder.path(), "csv = \"r.csv\"\ntarget = \"y\"\nscale_targets = 2");
    assert!(error.contains("data.scale_targets must be true or false"), "{error}");
    let text = spec("csv = \"r.csv\"\ntarget = \"y\"") + "loss = \"cross_entropy\"\n";
    let error = plans_of(&text, folder.path());
    assert!(error.contains("training.loss must fit the data, which have target values"), "{error}");
}

fn plans_of(text: &str, folder: &Path) -> String {
    plans(text, &Folders::new(folder), None, "own").unwrap_err().to_string()
}

/// What was learned by heart must not pass for a test, and a share beside a test part has no effect.
#[test]
fn a_test_on_the_training_part_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("t.csv"), forty()).unwrap();
    fs::create_dir(at.join("d")).unwrap();
    for same in ["t.csv", "d/../t.csv"] {
        let said = refused(at, &format!("csv = \"t.csv\"\nlabel = \"kind\"\ntest = {same:?}"));
        assert!(said.contains("data.test must be another file than those to train on"), "{said}");
    }
    fs::write(at.join("u.csv"), forty()).unwrap();
    read(at, "csv = \"t.csv\"\nlabel = \"kind\"\ntest = \"u.csv\"").unwrap();
    let array = |kind: &str, shape: &str, bytes: &[u8]| {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        header += &" ".repeat(117 - header.len());
        header.push('\n');
        [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), bytes].concat()
    };
    for name in ["x", "v"] {
        fs::write(at.join(format!("{name}.npy")), array("|u1", "(12, 3)", &[7; 36])).unwrap();
    }
    for name in ["y", "w"] {
        let labels: Vec<u8> = (0..12).map(|i| i % 2).collect();
        fs::write(at.join(format!("{name}.npy")), array("|u1", "(12,)", &labels)).unwrap();
    }
    let own = "npy = { x = \"x.npy\", y = \"y.npy\", x_test = \"v.npy\", y_test = \"w.npy\" }";
    read(at, own).unwrap();
    let said = refused(at, &format!("{own}\ntest = 0.3"));
    assert!(said.contains("data.test has no effect: the data have a test part of their own"), "{said}");
}

/// Two links back to the folder would be followed 2^40 times; a pipe would be waited for.
#[cfg(unix)]
#[test]
fn a_folder_of_images_is_walked_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for class in ["a", "b"] {
        fs::create_dir_all(at.join("images").join(class)).unwrap();
    }
    assert!(
        std::process::Command::new("mkfifo").arg(at.join("images/a/notes.txt")).status().unwrap().success()
    );
    let said = refused(at, "images = \"images\"\nchannels = 1");
    assert!(said.contains("notes.txt: it must be a file, but is something else"), "{said}");
    fs::remove_file(at.join("images/a/notes.txt")).unwrap();
    for class in ["a", "b"] {
        std::os::unix::fs::symlink("..", at.join("images").join(class).join("back")).unwrap();
    }
    let said = refused(at, "images = \"images\"\nchannels = 1");
    assert!(said.contains("back must not be a link to a folder above it"), "{said}");
}
