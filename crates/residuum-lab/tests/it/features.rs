//! Heads trained on features that were computed once, against heads trained through their frozen backbones.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use residuum_lab::plan::{Plan, Work, plans, seeded};
use residuum_lab::spec::{Folders, TrialSpec};
use residuum_lab::store::{Row, Store};
use residuum_lab::sweep::{self, SweepOptions, sweep};
use residuum_lab::train::{Damage, NetworkTrial, TrialFolders, WeightsFrom, export, train_in};
use residuum_nn::state::{Data, Tensors, read_safetensors};
use residuum_nn::train::{Outcome, TrainingListener, Unwatched};
use tempfile::TempDir;

/// A residual network with frozen layers as named, its head on tiles; batches of the size in which features are computed.
fn resnet(frozen: &str) -> String {
    format!(
        r#"
[network]
model = "resnet18"
analog = "head"
frozen = "{frozen}"
[data]
set = "digits"
resize = 32
train_per_class = 6
test_per_class = 2
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
[readout]
preset = "aihwkit"
[rule]
kind = "residual_learning"
learning_rate = 0.1
transfer_rate = 0.1
mixing = 0.4
[training]
epochs = 2
batch_size = 20
"#
    )
}

const PERCEPTRON: &str = r#"
[network]
model = "mlp"
hidden = [16]
analog = "head"
frozen = "backbone"
[data]
set = "digits"
[rule]
kind = "digital"
learning_rate = 0.1
[training]
epochs = 1
batch_size = 10
"#;

fn plan(text: &str) -> Plan {
    seeded(&plans(text, &Folders::new("."), None, "features").unwrap(), 3).remove(0)
}

fn trial(text: &str) -> TrialSpec {
    let Work::Network(spec) = plan(text).work else { panic!("a network") };
    (*spec).clone()
}

/// Trains in the folder of a store, as far as the listener lets it.
fn train(text: &str, store: &Path, listener: &mut dyn TrainingListener) -> Outcome {
    let (plan, store) = (plan(text), Store::create(store).unwrap());
    let place = TrialFolders {
        data_root: Path::new("."),
        folder: &store.run_folder(&plan.id()),
        shared: store.path(),
        checkpoint_every: Duration::ZERO,
    };
    train_in(&trial(text), 3, &plan.description(), place, listener).unwrap().summary.outcome
}

/// Trains in a store and gives the records and the exported tensors.
fn run(text: &str, path: &Path, listener: &mut dyn TrainingListener) -> (Vec<Row>, Tensors) {
    assert_eq!(train(text, path, listener), Outcome::Finished);
    let (plan, store) = (plan(text), Store::create(path).unwrap());
    let id = plan.id();
    sweep(&[plan], &store, &SweepOptions::new("."), &sweep::Silent).unwrap();
    let file = path.join("exported.safetensors");
    let exported = export(&store, &id, &file, Path::new("."), Damage::Refuse).unwrap();
    let (rows, state) = (store.records(&id).unwrap(), read_safetensors(&file).unwrap());
    assert_eq!((Some(exported.steps), exported.tensors), (rows.last().map(|r| r.step), state.len()));
    (rows, state)
}

/// The pulses of a layer after the last epoch.
fn pulses(rows: &[Row], layer: &str) -> f64 {
    rows.iter().rfind(|r| r.metric == "pulses" && r.part == layer).map_or(0.0, |r| r.value)
}

/// The files of all features.
fn parts(runs: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let is_features = |p: &PathBuf| p.file_name().unwrap().to_string_lossy().starts_with("features-");
    let mut files: Vec<PathBuf> =
        entries(runs).into_iter().filter(is_features).flat_map(|folder| entries(&folder)).collect();
    files.sort();
    files
}

/// Counts calls, and cancels after so many.
#[derive(Default)]
struct Counter {
    prepared: Vec<(usize, usize)>,
    patience: Option<usize>,
    /// How often it may be asked before it cancels.
    answers: Option<usize>,
    asked: Cell<usize>,
}

impl TrainingListener for Counter {
    fn prepared(&mut self, done: usize, of: usize) {
        self.prepared.push((done, of));
    }

    fn cancelled(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.patience.is_some_and(|patience| self.prepared.len() >= patience)
            || self.answers.is_some_and(|answers| self.asked.get() > answers)
    }
}

#[test]
fn the_head_learns_the_same_to_the_bit() {
    let folder = TempDir::new().unwrap();
    let names = "conv1, bn1, layer*";
    let mut watched = Counter::default();
    let once = run(&resnet("backbone"), folder.path(), &mut watched);
    assert_eq!(watched.prepared, [(60, 80), (80, 80)]);
    let files = parts(folder.path());
    assert_eq!(files.len(), 2);
    // Named layer by layer, the backbone takes part in every step.
    let mut watched = Counter::default();
    let through = run(&resnet(names), folder.path(), &mut watched);
    assert!(watched.prepared.is_empty());
    assert_eq!(once, through);
    assert!(once.1.contains("layer4.1.bn2.running_var") && once.1.contains("fc.weight"));
    // The tiles took part in it, and a backbone that learns is another matter.
    assert!(pulses(&once.0, "fc") > 0.0);
    let learning = run(&resnet("none"), folder.path(), &mut Unwatched);
    assert_ne!(once, learning);
    assert_eq!(parts(folder.path()), files);
}

#[test]
fn features_go_on_where_they_were_broken_off() {
    let folder = TempDir::new().unwrap();
    let whole = run(PERCEPTRON, &folder.path().join("whole"), &mut Unwatched);

    let cut = folder.path().join("cut");
    let mut listener = Counter { patience: Some(3), ..Counter::default() };
    assert!(matches!(train(PERCEPTRON, &cut, &mut listener), Outcome::Cancelled { k: 0, .. }));
    assert!(!cut.join("trials").join(plan(PERCEPTRON).id()).exists(), "nothing was begun");
    let files = parts(&cut);
    assert_eq!(files.len(), 3);
    let written = |file: &Path| fs::metadata(file).unwrap().modified().unwrap();
    let before = written(&files[0]);
    // A damaged part is computed again, a whole one is not.
    fs::write(&files[1], b"damaged").unwrap();
    assert_eq!(run(PERCEPTRON, &cut, &mut Unwatched), whole);
    assert_eq!(written(&files[0]), before);
    assert!(read_safetensors(&files[1]).is_ok());
    let all = parts(&cut);
    assert_eq!(all.len(), 8 + 2, "1442 and 355 images in parts of 200");

    // Features that lie there are used: other numbers in them train another head.
    let mut state = read_safetensors(&files[0]).unwrap();
    let name = state.names().next().unwrap().to_owned();
    let entry = state.get_mut(&name).unwrap();
    entry.data = Data::F32(vec![0.5; entry.shape.iter().product()]);
    residuum_nn::state::write_safetensors(&files[0], &state).unwrap();
    let again = PERCEPTRON.replace("epochs = 1", "epochs = 1\ncheckpoint_every = 99");
    assert_ne!(run(&again, &cut, &mut Unwatched), whole);
}

#[test]
fn another_subset_or_start_or_scale_has_features_of_its_own() {
    let folder = TempDir::new().unwrap();
    let count = || parts(folder.path()).len();
    let mut expected = 10;
    run(PERCEPTRON, folder.path(), &mut Unwatched);
    assert_eq!(count(), expected);
    // Another rule has not.
    run(&PERCEPTRON.replace("0.1", "0.2"), folder.path(), &mut Unwatched);
    assert_eq!(count(), expected);
    // The test images stay the same here.
    run(&PERCEPTRON.replace("\"digits\"", "\"digits\"\ntrain_per_class = 20"), folder.path(), &mut Unwatched);
    expected += 1;
    assert_eq!(count(), expected);
    for (old, new) in [
        ("\"digits\"", "\"digits\"\nnormalize = \"channels\""),
        ("[16]", "[15]"),
        ("[16]", "[16]\nactivation = \"tanh\""),
    ] {
        run(&PERCEPTRON.replace(old, new), folder.path(), &mut Unwatched);
        expected += 10;
        assert_eq!(count(), expected, "{new}");
    }
    // What is random in the images is drawn anew in every epoch.
    let random = PERCEPTRON.replace("\"digits\"", "\"digits\"\nflip_horizontal = 0.5");
    run(&random, folder.path(), &mut Unwatched);
    assert_eq!(count(), expected);
}

#[test]
fn features_are_broken_off_between_batches() {
    let folder = TempDir::new().unwrap();
    // A part is ten batches of 20.
    let mut listener = Counter { answers: Some(5), ..Counter::default() };
    let outcome = train(PERCEPTRON, folder.path(), &mut listener);
    assert!(matches!(outcome, Outcome::Cancelled { k: 0, .. }));
    assert_eq!((listener.asked.get(), listener.prepared.len(), parts(folder.path()).len()), (6, 0, 0));
}

#[test]
fn frozen_tiles_take_no_pulse() {
    let device = "[device]\nresponse = \"power\"\nshape = 1.0\nradius = 1.0\nstates = 1200\n\
                  [mapping]\nomega = 0.5\noutput_scaling = \"tile\"\n[rule]";
    let text = PERCEPTRON.replace("analog = \"head\"", "analog = \"all\"").replace("[rule]", device);
    for rule in ["analog", "digital"] {
        let text = text.replace("\"digital\"", &format!("\"{rule}\""));
        let folder = TempDir::new().unwrap();
        let start =
            NetworkTrial::prepare(&trial(&text), 3, Path::new("."), WeightsFrom::Spec).unwrap().parts.state();
        let (records, end) = run(&text, folder.path(), &mut Unwatched);
        assert_eq!(start["1.weight"], end["1.weight"], "{rule}");
        assert_eq!(start["1.bias"], end["1.bias"], "{rule}");
        assert_ne!(start["3.weight"], end["3.weight"], "{rule}");
        if rule == "analog" {
            assert_eq!(pulses(&records, "1"), 0.0);
            assert!(pulses(&records, "3") > 0.0);
        }
        // What learns moves.
        let learning = run(&text.replace("\"backbone\"", "\"none\""), folder.path(), &mut Unwatched).1;
        assert_ne!(start["1.weight"], learning["1.weight"], "{rule}");
    }
}
