//! The readers under test: one line each.
//!
//! To add a reader, add a line to [`READERS`] and a folder `fuzz/corpus/NAME` with a valid case or two. A reader of bytes or
//! text is called as it is; one that opens a file goes through [`in_file`]. Several files make one case through [`parts`].

use std::fs;
use std::path::Path;

use residuum::expression::Expression;
use residuum::response::{Formula, Tabulated};
use residuum::{Key, Range};
use residuum_data::Cifar;
use residuum_data::idx;
use residuum_lab::plan::{plans, replan};
use residuum_lab::report::{Report, ReportOptions, load};
use residuum_lab::spec::{Document, Folders, Spec, parse_device};
use residuum_lab::store::{Store, TrialManifest, rows_from_csv};
use residuum_lab::table::NumberTable;
use residuum_nn::checkpoint::{Checkpoints, Position};
use residuum_nn::layer::Activation;
use residuum_nn::model::{DigitalFactory, keras, mlp};
use residuum_nn::state::{Scope, parse_safetensors, read_tfjs};
use residuum_nn::{SampleShape, Sgd};
use serde::{Deserialize, Serialize};

/// A reader, and what it may take.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// The most memory that a case of at most 64 kB may take, in bytes.
    pub most_bytes: usize,
    /// Its share of the time.
    pub weight: u32,
    /// Words of its language.
    pub words: &'static [&'static str],
    /// Reads a case and says what came of it. The folder is for files.
    pub read: fn(&[u8], &Path) -> String,
}

const MB: usize = 1 << 20;
/// What a spec may ask for before it is refused: problems of ten million weights, and a check that builds them.
const SPEC: usize = 4000 * MB;

/// Every reader.
pub const READERS: &[Reader] = &[
    Reader::new("expression", 2 * MB, 2, EXPRESSION, |case, _| {
        said(
            Expression::parse(&text(case), &["w", "n"])
                .map(|e| (e.eval(&[0.3, 2.0]), e.derivative("w").eval(&[0.3, 2.0]))),
        )
    }),
    Reader::new("formula", 4 * MB, 1, EXPRESSION, |case, _| formula(&text(case))),
    Reader::new("table", 16 * MB, 1, &["w", "q_plus", "q_minus", "#"], |case, _| {
        said(NumberTable::parse(&text(case), Path::new("table.csv")).map(|t| t.columns))
    }),
    Reader::new("response_table", 16 * MB, 1, &["w", "q_plus", "q_minus", "#"], |case, _| {
        said(Tabulated::from_csv(&text(case)))
    }),
    Reader::new("records", 16 * MB, 1, &["gap", "loss"], |case, _| {
        said(rows_from_csv(&text(case)).map(|rows| rows.len()))
    }),
    Reader::new("idx", 80 * MB, 2, &[], |case, _| {
        with_parts(case, |[images, labels]| {
            said(idx::parse("set", ("images", images), ("labels", labels), 10, 255).map(|d| d.len()))
        })
    }),
    Reader::new("cifar10", 80 * MB, 1, &[], |case, _| said(Cifar::Ten.parse("batch", case).map(|d| d.len()))),
    Reader::new("cifar100", 80 * MB, 1, &[], |case, _| {
        said(Cifar::Hundred.parse("batch", case).map(|d| d.len()))
    }),
    Reader::new(
        "safetensors",
        16 * MB,
        2,
        &["F32", "F64", "I64", "shape", "dtype", "data_offsets"],
        |case, _| said(parse_safetensors(case, Path::new("w.safetensors")).map(|t| t.len())),
    ),
    Reader::new("network_state", 16 * MB, 1, &["F32", "F64", "shape", "dtype", "data_offsets"], |case, _| {
        network_state(case)
    }),
    Reader::new(
        "tfjs",
        16 * MB,
        1,
        &["weightsManifest", "paths", "weights", "shape", "dtype", "float32", "shard.bin"],
        |case, folder| {
            in_file(case, folder, "model.json", |path| {
                let shard = fs::write(folder.join("shard.bin"), [0; 24]);
                shard.map_or_else(
                    |e| e.to_string(),
                    |()| said(read_tfjs(path).map(|t| keras::to_torchvision(t).len())),
                )
            })
        },
    ),
    Reader::new("checkpoint", 16 * MB, 1, &["version", "contents", "position", "state_crc32c"], checkpoint),
    Reader::new(
        "manifest",
        SPEC,
        2,
        &["residuum.trial/1", "problem", "network", "given", "value", "field"],
        manifest,
    ),
    Reader::new(
        "store",
        SPEC,
        2,
        &["residuum.store/1", "gap", "main", "test_accuracy", "1e300", "inf", "nan"],
        store,
    ),
    Reader::new("device", 64 * MB, 2, SPEC_WORDS, |case, folder| {
        said(parse_device(&text(case), folder).map(|_| ()))
    }),
    Reader::new(
        "aihwkit",
        64 * MB,
        1,
        &[
            "class",
            "PowStepDevice",
            "SoftBoundsDevice",
            "ExpStepDevice",
            "PiecewiseStepDevice",
            "dw_min",
            "w_max",
        ],
        |case, folder| {
            in_file(case, folder, "device.json", |_| {
                said(parse_device("array = \"tile\"\naihwkit = \"device.json\"", folder).map(|_| ()))
            })
        },
    ),
    Reader::new("spec_problem", SPEC, 4, SPEC_WORDS, |case, folder| {
        said(plans(&text(case), &Folders::new(folder), None, "spec").map(|p| p.len()))
    }),
    Reader::new("spec_network", SPEC, 4, SPEC_WORDS, |case, folder| {
        said(plans(&text(case), &Folders::new(folder), None, "spec").map(|p| p.len()))
    }),
    Reader::new("grid", SPEC, 3, SPEC_WORDS, |case, folder| {
        said(plans(&text(case), &Folders::new(folder), Some("quick"), "spec").map(|p| p.len()))
    }),
    Reader::new("spec_json", SPEC, 1, SPEC_WORDS, |case, folder| {
        said(serde_json::from_slice(case).map_err(|e| e.to_string()).and_then(|value| {
            Document::from_value(&value)
                .and_then(|d| Spec::of(&d, folder))
                .map(|_| ())
                .map_err(|e| e.to_string())
        }))
    }),
];

const EXPRESSION: &[&str] = &[
    "w", "n", "exp", "ln", "sqrt", "abs", "min", "max", "tanh", "sin", "cos", "pi", "^", "(", ")", "*", "/",
    ",",
];

const SPEC_WORDS: &[&str] = &[
    "steps",
    "seeds",
    "count",
    "problem",
    "network",
    "device",
    "rule",
    "record",
    "noise",
    "initial",
    "training",
    "data",
    "mapping",
    "readout",
    "digital",
    "sweep",
    "variant",
    "cell",
    "profile",
    "kind",
    "quadratic",
    "least_squares",
    "logistic",
    "curvature",
    "hessian",
    "minimizer",
    "dim",
    "features",
    "targets",
    "ridge",
    "uniform",
    "normal",
    "csv",
    "response",
    "preset",
    "pcm",
    "reram_es",
    "power",
    "soft_bounds",
    "linear",
    "exp_step",
    "formula",
    "mixture",
    "table",
    "shape",
    "radius",
    "bounds",
    "states",
    "pulse_step",
    "array",
    "tile",
    "exact",
    "pulses",
    "cycle_noise",
    "write_noise",
    "reference",
    "stuck",
    "drift",
    "decay",
    "diffusion",
    "analog",
    "residual_learning",
    "residual_cascade",
    "tiki_taka",
    "agad",
    "mixed_precision",
    "manhattan",
    "learning_rate",
    "transfer_rate",
    "mixing",
    "rates",
    "practical",
    "lemma",
    "symmetric_point",
    "zero_shift",
    "pairs",
    "averaged",
    "known",
    "zero",
    "error",
    "cell_gain",
    "metrics",
    "every",
    "indices",
    "tail_from",
    "gap",
    "main",
    "residual",
    "model",
    "mlp",
    "fcn",
    "cnn",
    "resnet18",
    "hidden",
    "frozen",
    "head",
    "all",
    "none",
    "weights",
    "set",
    "digits",
    "mnist",
    "cifar10",
    "train_per_class",
    "half",
    "normalize",
    "resize",
    "epochs",
    "batch_size",
    "loss",
    "schedule",
    "early_stop",
    "checkpoint_every",
    "max_rows",
    "max_cols",
    "omega",
    "output_scaling",
    "vector",
    "one_sided",
    "tiles",
    "gains",
    "policy",
    "true",
    "false",
    "[[",
    "]]",
    "= [",
    "= {",
    "}",
];

impl Reader {
    const fn new(
        name: &'static str,
        most_bytes: usize,
        weight: u32,
        words: &'static [&'static str],
        read: fn(&[u8], &Path) -> String,
    ) -> Self {
        Self { name, most_bytes, weight, words, read }
    }
}

/// What came of it, in words.
pub fn said<T, E: std::fmt::Display>(outcome: Result<T, E>) -> String {
    outcome.map_or_else(|e| e.to_string(), |_| "read".into())
}

/// A case as text; what is not UTF-8 is replaced, as readers of text never see it.
pub fn text(case: &[u8]) -> String {
    String::from_utf8_lossy(case).into_owned()
}

/// Writes the case to a file of this name for a reader that opens one.
pub fn in_file(case: &[u8], folder: &Path, name: &str, read: impl FnOnce(&Path) -> String) -> String {
    let path = folder.join(name);
    match fs::write(&path, case) {
        Ok(()) => read(&path),
        Err(e) => format!("the harness cannot write: {e}"),
    }
}

/// What separates the files of a case.
const BETWEEN: &[u8] = b"\n----8<----\n";

/// The files of a case; those that are missing are empty.
pub fn parts<const N: usize>(case: &[u8]) -> [&[u8]; N] {
    let mut rest = case;
    std::array::from_fn(|n| {
        let end = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN).filter(|_| n + 1 < N);
        let (part, after) = end.map_or((rest, &[][..]), |end| (&rest[..end], &rest[end + BETWEEN.len()..]));
        rest = after;
        part
    })
}

fn with_parts<const N: usize>(case: &[u8], read: impl FnOnce([&[u8]; N]) -> String) -> String {
    read(parts(case))
}

fn formula(text: &str) -> String {
    let (up, down) = text.split_once('\n').unwrap_or((text, "1 + w"));
    let Ok(range) = Range::new(-0.6, 0.6) else { return "no range".into() };
    said(Formula::parse(up, down, range))
}

fn network_state(case: &[u8]) -> String {
    let mut digital = DigitalFactory(Some(Sgd::new(0.1)));
    let network = mlp(SampleShape::image(1, 2, 1), &[2, 3, 2], Activation::Tanh, &mut digital, Key::new(1));
    let (Ok(mut network), Ok(state)) = (network, parse_safetensors(case, Path::new("w"))) else {
        return "no state".into();
    };
    said(network.load(Scope::Network, &state).and(network.load(Scope::Everything, &state)))
}

/// A position of nobody's run.
#[derive(Clone, Serialize, Deserialize)]
struct Anywhere {
    step: u64,
    #[serde(default)]
    text: String,
}

impl Position for Anywhere {
    fn name(&self) -> String {
        format!("step-{:012}", self.step)
    }
}

fn checkpoint(case: &[u8], folder: &Path) -> String {
    let [manifest, state] = parts(case);
    let place = folder.join("checkpoints/step-000000000001");
    let written = fs::create_dir_all(&place)
        .and_then(|()| fs::write(place.join("manifest.json"), manifest))
        .and_then(|()| fs::write(place.join("state.safetensors"), state));
    if let Err(e) = written {
        return format!("the harness cannot write: {e}");
    }
    let mut reasons = String::new();
    let newest =
        Checkpoints::<Anywhere>::new(folder.join("checkpoints")).newest(|_, reason| reasons.push_str(reason));
    format!("{}{reasons}", said(newest))
}

fn manifest(case: &[u8], folder: &Path) -> String {
    match serde_json::from_slice::<TrialManifest>(case) {
        Err(e) => e.to_string(),
        Ok(manifest) => said(replan(&manifest, &Folders::new(folder)).map(|_| ())),
    }
}

/// A store of one trial: its header, manifest, records and failure; then everything that reads it.
fn store(case: &[u8], folder: &Path) -> String {
    let [header, manifest, records, failure] = parts(case);
    let trial = folder.join("store/trials/0123456789abcdef");
    let written = fs::create_dir_all(&trial)
        .and_then(|()| fs::write(folder.join("store/store.json"), header))
        .and_then(|()| fs::write(trial.join("manifest.json"), manifest))
        .and_then(|()| fs::write(trial.join("records.csv"), records))
        .and_then(|()| fs::write(trial.join("failed.json"), failure));
    if let Err(e) = written {
        return format!("the harness cannot write: {e}");
    }
    let path = folder.join("store");
    let listed = Store::open(&path).and_then(|store| {
        store.failures()?;
        store.find("01")
    });
    match load(&path) {
        Err(e) => format!("{}; {e}", said(listed)),
        Ok(trials) => {
            let report = Report::new(&trials, &ReportOptions::default());
            let pages = [report.to_html(), report.to_markdown(), report.to_latex()];
            format!("{}; {} pages", said(listed), pages.len())
        }
    }
}
