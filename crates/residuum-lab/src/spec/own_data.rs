//! Data of one's own, named in `[data]`: read while the spec is read, so that a fault in them is one of the spec.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use residuum::Key;
use residuum_nn::data::files::{
    ArrayPlace, Arrays, TableColumns, array_names, read_arrays, read_folder, read_idx, read_table,
};
use residuum_nn::data::{DataError, Dataset, ImageShape, Split};

use super::data::DataTable;
use super::node::SpecError;
use super::section::{Optional, Required, section};
use super::stamps::{Stamps, changed_sentence};
use super::table::{At, Table};
use super::types::{TakesExt as _, number, path};

section! {
    /// Arrays of NumPy, one file each.
    pub(crate) struct NpyTable {
        /// inputs to train on: one sample for each entry of the first dimension
        x: PathBuf = path(), "–", Required;
        /// their labels, or targets
        y: PathBuf = path(), "–", Required;
        /// inputs to test on
        x_test: Option<PathBuf> = path(), "–", Optional("a share of `x`");
        /// their labels, or targets
        y_test: Option<PathBuf> = path(), "–", Optional("with `x_test`");
    }
}

section! {
    /// Files in the format of MNIST.
    pub(crate) struct IdxTable {
        /// images to train on
        images: PathBuf = path(), "–", Required;
        /// their labels
        labels: PathBuf = path(), "–", Required;
        /// images to test on
        test_images: Option<PathBuf> = path(), "–", Optional("a share of `images`");
        /// their labels
        test_labels: Option<PathBuf> = path(), "–", Optional("with `test_images`");
    }
}

/// What to test on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TestPart {
    /// A share of the samples.
    Share(f64),
    /// Another file or folder.
    Path(PathBuf),
}

/// `data.test`.
pub(crate) fn test_part() -> impl super::section::Takes<Value = TestPart> {
    number().share().map(TestPart::Share).or(path().map(TestPart::Path))
}

/// Share of the samples to test on if nothing is said.
const TEST_SHARE: f64 = 0.2;

/// Data that were read from files of one's own. Cloning shares them.
#[derive(Clone)]
pub struct OwnData {
    /// What to train on and what to test on.
    pub(crate) split: Arc<Split>,
}

impl fmt::Debug for OwnData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnData").field(&self.split.train.name()).finish()
    }
}

impl PartialEq for OwnData {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.split, &other.split)
    }
}

/// The files that a table names, with the fields that name them.
type Files = Vec<(&'static str, PathBuf)>;

impl OwnData {
    /// Reads the files of a table; none if it names a published set. Their contents become part of what a trial is known by.
    pub(crate) fn read(fields: &DataTable, at: &At<'_>) -> Result<Option<Self>, SpecError> {
        let table = at.table()?;
        let Some(source) = OwnSource::of(fields, &table)? else { return Ok(None) };
        let folders = at.context.folders;
        let seed = fields.split_seed.unwrap_or(0);
        let key = format!("{source:?} {seed}");
        let read = || {
            let stamps = Stamps::of(source.files.iter().map(|(_, path)| path.as_path()));
            for (_, path) in &source.files {
                if let Some(fault) = folders.fault(path) {
                    return Err(format!("{}: {fault}", path.display()));
                }
            }
            let split = source.read(seed).map_err(|e| e.to_string())?;
            // What was read must be what its digest says.
            match stamps.changed() {
                Some(path) => Err(changed_sentence(path)),
                None => Ok(Self { split: Arc::new(split) }),
            }
        };
        let field = source.files[0].0;
        let blame = |message: String| {
            let line = table.node(field.split('.').next().unwrap_or(field)).and_then(|node| node.line);
            SpecError { line, message: format!("data.{field}: {message}") }
        };
        let own = folders.own_data(&key, read).map_err(blame)?;
        for (field, path) in &source.files {
            if let Some(digest) = folders.file(path) {
                table.contents(field, digest);
            }
        }
        Ok(Some(own))
    }
}

/// What is to be read.
#[derive(Debug)]
struct OwnSource {
    what: What,
    /// All files, for their digests; the first is named in errors.
    files: Files,
    test: f64,
}

#[derive(Debug)]
enum What {
    Table { train: PathBuf, test: Option<PathBuf>, columns: TableColumns },
    Arrays { train: Arrays, test: Option<Arrays> },
    Folder { train: PathBuf, test: Option<PathBuf>, channels: usize },
    Idx { train: [PathBuf; 2], test: Option<[PathBuf; 2]>, classes: Option<usize> },
}

impl OwnSource {
    fn of(fields: &DataTable, table: &Table<'_>) -> Result<Option<Self>, SpecError> {
        let given: Vec<&str> = (["set", "csv", "npz", "npy", "images", "idx"].into_iter())
            .filter(|name| table.has(name))
            .collect();
        match given.as_slice() {
            [] => return Err(table.missing("set")),
            ["set"] => return Ok(None),
            [_] => {}
            several => {
                let message = format!("data must have one source, got {}", several.join(", "));
                return Err(table.error(message));
            }
        }
        let (share, test) = match &fields.test {
            Some(TestPart::Share(share)) => (*share, None),
            Some(TestPart::Path(path)) => (TEST_SHARE, Some(path.clone())),
            None => (TEST_SHARE, None),
        };
        if !(share > 0.0 && share < 1.0) {
            return Err(table.error(format!("data.test must be above 0 and below 1, got {share}")));
        }
        let shape = fields.shape.as_ref().map(|s| ImageShape::new(s[0], s[1], s[2]));
        let mut files: Files = Vec::new();
        let classes = fields.classes;
        let only_share = |what: &str| match test {
            None => Ok(()),
            Some(_) => {
                Err(table.error(format!("data.test must be a share for {what}, which has its own test part")))
            }
        };
        let what = if let Some(csv) = &fields.csv {
            files.push(("csv", csv.clone()));
            files.extend(test.clone().map(|path| ("test", path)));
            let targets = fields.target.clone().unwrap_or_default();
            if fields.label.is_some() != targets.is_empty() {
                return Err(table.error(
                    "data.label must name the column of classes, or data.target that of values: one of them",
                ));
            }
            let columns = TableColumns {
                label: fields.label.clone(),
                targets,
                features: fields.features.clone().unwrap_or_default(),
                delimiter: delimiter(fields.delimiter.as_deref(), table)?,
                classes,
                shape,
            };
            What::Table { train: csv.clone(), test, columns }
        } else if let Some(npz) = &fields.npz {
            files.push(("npz", npz.clone()));
            only_share("npz")?;
            let place = |name: &str| ArrayPlace { path: npz.clone(), name: Some(name.into()) };
            let arrays = |[x, y]: [&str; 2]| Arrays {
                inputs: place(x),
                goals: place(y),
                regression: fields.regression,
                classes,
                shape,
            };
            let names = array_names(npz).map_err(|e| table.error(format!("data.npz: {e}")))?;
            let has = |name: &str| names.iter().any(|own| own == name);
            let train = if has("x_train") { ["x_train", "y_train"] } else { ["x", "y"] };
            let test = has("x_test").then(|| arrays(["x_test", "y_test"]));
            What::Arrays { train: arrays(train), test }
        } else if let Some(npy) = &fields.npy {
            only_share("npy")?;
            let place = |path: &PathBuf| ArrayPlace { path: path.clone(), name: None };
            let arrays = |x: &PathBuf, y: &PathBuf| Arrays {
                inputs: place(x),
                goals: place(y),
                regression: fields.regression,
                classes,
                shape,
            };
            files.extend([("npy.x", npy.x.clone()), ("npy.y", npy.y.clone())]);
            let test = pair(npy.x_test.as_ref(), npy.y_test.as_ref(), "npy.x_test", "npy.y_test", table)?;
            if let Some([x, y]) = &test {
                files.extend([("npy.x_test", x.clone()), ("npy.y_test", y.clone())]);
            }
            What::Arrays { train: arrays(&npy.x, &npy.y), test: test.map(|[x, y]| arrays(&x, &y)) }
        } else if let Some(idx) = &fields.idx {
            only_share("idx")?;
            files.extend([("idx.images", idx.images.clone()), ("idx.labels", idx.labels.clone())]);
            let test = pair(
                idx.test_images.as_ref(),
                idx.test_labels.as_ref(),
                "idx.test_images",
                "idx.test_labels",
                table,
            )?;
            if let Some([images, labels]) = &test {
                files.extend([("idx.test_images", images.clone()), ("idx.test_labels", labels.clone())]);
            }
            What::Idx { train: [idx.images.clone(), idx.labels.clone()], test, classes }
        } else {
            let folder = fields.images.clone().unwrap_or_default();
            files.push(("images", folder.clone()));
            files.extend(test.clone().map(|path| ("test", path)));
            What::Folder { train: folder, test, channels: fields.channels }
        };
        let (trained, tested): (Vec<_>, Vec<_>) = files.iter().partition(|(field, _)| !field.contains("test"));
        let own_part = matches!(&what, What::Arrays { test: Some(_), .. }) || !tested.is_empty();
        if own_part && matches!(fields.test, Some(TestPart::Share(_))) {
            return Err(table.error("data.test has no effect: the data have a test part of their own"));
        }
        // What was learned by heart would pass for what was learned.
        let place = |path: &PathBuf| path.canonicalize().ok();
        let shared = tested.iter().find(|(_, path)| {
            trained.iter().any(|(_, own)| place(own).is_some_and(|own| place(path) == Some(own)))
        });
        if let Some((field, path)) = shared {
            let message =
                format!("data.{field} must be another file than those to train on, got {}", path.display());
            return Err(table.error(message));
        }
        Ok(Some(Self { what, files, test: share }))
    }

    fn read(&self, seed: u64) -> Result<Split, DataError> {
        let (train, test) = match &self.what {
            What::Table { train, test, columns } => {
                let train = read_table(train, columns, None)?;
                let test = test.as_ref().map(|test| read_table(test, columns, Some(&train))).transpose()?;
                (train, test)
            }
            What::Arrays { train, test } => {
                let train = read_arrays(train, None)?;
                let test = test.as_ref().map(|test| read_arrays(test, Some(&train))).transpose()?;
                (train, test)
            }
            What::Folder { train, test, channels } => {
                let train = read_folder(train, *channels, None)?;
                let test = test.as_ref().map(|test| read_folder(test, *channels, Some(&train))).transpose()?;
                (train, test)
            }
            What::Idx { train: [images, labels], test, classes } => {
                let train = read_idx(images, labels, *classes)?;
                let all = Some(train.classes());
                let test = test.as_ref().map(|[images, labels]| read_idx(images, labels, all)).transpose()?;
                (train, test)
            }
        };
        match test {
            Some(test) => fits(&train, &test).map(|()| Split { train, test }),
            None => {
                let (train, test) = train.split_off(self.test, Key::new(seed).named("test"))?;
                Ok(Split { train, test })
            }
        }
    }
}

/// A test part has the samples of the training part.
fn fits(train: &Dataset, test: &Dataset) -> Result<(), DataError> {
    if (train.shape(), train.outputs()) == (test.shape(), test.outputs()) {
        return Ok(());
    }
    let show = |set: &Dataset| {
        let ImageShape { height, width, channels } = set.shape();
        format!("{height}×{width}×{channels} with {} output(s)", set.outputs())
    };
    Err(DataError::Row {
        file: test.name().into(),
        place: String::new(),
        message: format!("samples must be like those to train on, {}, got {}", show(train), show(test)),
    })
}

fn pair(
    first: Option<&PathBuf>,
    second: Option<&PathBuf>,
    a: &str,
    b: &str,
    table: &Table<'_>,
) -> Result<Option<[PathBuf; 2]>, SpecError> {
    match (first, second) {
        (Some(first), Some(second)) => Ok(Some([first.clone(), second.clone()])),
        (None, None) => Ok(None),
        (Some(_), None) => Err(table.missing(b)),
        (None, Some(_)) => Err(table.missing(a)),
    }
}

fn delimiter(text: Option<&str>, table: &Table<'_>) -> Result<Option<u8>, SpecError> {
    match text.map(str::as_bytes) {
        None => Ok(None),
        Some(b"\\t") => Ok(Some(b'\t')),
        Some([one]) => Ok(Some(*one)),
        Some(_) => Err(table.error("data.delimiter must be one character, such as \";\" or \"\\t\"")),
    }
}
