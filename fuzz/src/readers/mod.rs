//! The readers under test: one line each.
//!
//! To add a reader, add a line to [`READERS`] and a folder `fuzz/corpus/NAME` with a valid case or two. A reader of bytes or
//! text is called as it is; one that opens a file goes through [`in_file`]. Several files make one case through [`parts`].

mod devices;
mod networks;
mod own_data;
mod stores;
mod words;

use std::fs;
use std::path::Path;

use residuum::expression::Expression;
use residuum::response::Tabulated;
use residuum_data::{Cifar, idx};
use residuum_lab::plan::plans;
use residuum_lab::spec::{Document, Folders, Spec, fitted, has_device, parse_device};
use residuum_lab::store::rows_from_csv;
use residuum_lab::table::NumberTable;
use residuum_lab::train::parse_time;
use residuum_lab::tune::kept_trials;
use residuum_nn::state::parse_safetensors;
use residuum_nn::train::EpochRecord;

use words::{ARRAY, DATA_WORDS, EXPRESSION, LAYER_WORDS, PULSES, SPEC_WORDS};

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
    Reader::new("formula", 4 * MB, 1, EXPRESSION, |case, _| devices::formula(&text(case))),
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
        networks::state(case)
    }),
    Reader::new(
        "tfjs",
        16 * MB,
        1,
        &["weightsManifest", "paths", "weights", "shape", "dtype", "float32", "shard.bin"],
        networks::tfjs,
    ),
    Reader::new(
        "checkpoint",
        16 * MB,
        1,
        &["version", "contents", "position", "state_crc32c"],
        networks::checkpoint,
    ),
    Reader::new(
        "manifest",
        SPEC,
        2,
        &["residuum.trial/1", "problem", "network", "given", "value", "field"],
        stores::manifest,
    ),
    Reader::new(
        "store",
        SPEC,
        2,
        &["residuum.store/1", "gap", "main", "test_accuracy", "1e300", "inf", "nan"],
        stores::store,
    ),
    Reader::new("device", 64 * MB, 2, SPEC_WORDS, |case, folder| {
        let text = text(case);
        let known = (has_device(&text), fitted(&text).map(|rows| rows.len()));
        format!("{known:?} {}", said(parse_device(&text, folder).map(|_| ())))
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
    Reader::new("device_file", 64 * MB, 2, SPEC_WORDS, |case, folder| {
        in_file(case, folder, "device.toml", |_| {
            let device = |array| parse_device(&format!("file = \"device.toml\"\narray = \"{array}\""), folder);
            format!("{}; {}", said(device("exact").map(|_| ())), said(device("tile").map(|_| ())))
        })
    }),
    Reader::new("archive", 16 * MB, 1, &["train.bin", "test.bin", "ustar"], own_data::archive),
    Reader::new("time", MB, 1, &["s", "min", "h", "d", "y", "e", "inf", "nan"], |case, _| {
        said(parse_time(&text(case)).map(|seconds| assert!((0.0..=1e30).contains(&seconds))))
    }),
    Reader::new("pulses", 64 * MB, 2, PULSES, |case, _| devices::pulses(&text(case))),
    Reader::new("data_table", 16 * MB, 1, DATA_WORDS, own_data::table),
    Reader::new("npy", 16 * MB, 1, ARRAY, own_data::npy),
    Reader::new("npz", 1500 * MB, 1, ARRAY, own_data::npz),
    Reader::new("png", 600 * MB, 1, &["IHDR", "IDAT", "PLTE", "tRNS", "IEND"], |case, folder| {
        own_data::image(case, folder, "a.png")
    }),
    Reader::new("jpeg", 600 * MB, 1, &["JFIF", "Exif"], |case, folder| own_data::image(case, folder, "a.jpg")),
    Reader::new("spec_data", SPEC, 2, DATA_WORDS, own_data::spec),
    Reader::new("spec_layers", SPEC, 3, LAYER_WORDS, |case, folder| {
        said(plans(&text(case), &Folders::new(folder), None, "spec").map(|p| p.len()))
    }),
    Reader::new("tune", MB, 1, &["trials", "{", "}"], |case, _| said(kept_trials(&text(case), 1000))),
    Reader::new("metrics", 2 * MB, 1, &["epoch", "train_loss", "pulses", "null"], |case, _| {
        let lines = case.split_inclusive(|&b| b == b'\n').map(serde_json::from_slice::<EpochRecord>);
        said(lines.collect::<Result<Vec<_>, _>>())
    }),
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
