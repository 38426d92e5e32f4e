//! `[data]`: the images, how they are transformed, and how many are used.

use std::path::{Path, PathBuf};

use residuum::{Key, ParameterError};
use residuum_nn::SampleShape;
use residuum_nn::data::catalogue::{Known, Origin, SETS, find, load};
use residuum_nn::data::{ChannelStatistics, DataError, Dataset, Pipeline, Split, Transform};
use residuum_nn::model::keras;
use thiserror::Error;

use super::node::SpecError;
use super::own_data::{IdxTable, NpyTable, OwnData, TestPart, test_part};
use super::section::{Optional, Or, Required, section};
use super::stamps::{Stamps, changed_sentence};
use super::table::{At, Table};
use super::types::{TakesExt as _, choice, count, flag, list, number, path, table, text, word};

/// Sources of numbers, not of images.
const NUMBERS: &[&str] = &["csv", "npz", "npy"];
/// Sources of images.
const IMAGES: &[&str] = &["set", "images", "idx"];

/// Longest side of an image, in pixels; more is taken for a mistake.
const MAX_SIDE: u64 = 4096;

section! {
    /// The samples, how they are transformed, and how many are used: a published set, or files of one's own.
    pub(crate) struct DataTable by source or set or csv or npz or npy or images or idx {
        /// a published data set; the first two are built in, `residuum data fetch` gets the others
        set: Option<&'static str> = word(SETS.map(|set| set.name)), "–", Optional("files of one's own");
        /// folder of the files of the set, relative to the spec
        directory: Option<PathBuf> = path(), "–", Optional("the folder of the set in the data folder"), of source ["set"];
        /// a table of text whose first line names its columns, relative to the spec
        csv: Option<PathBuf> = path(), "–", Optional("another source");
        /// an archive of NumPy with the arrays `x` and `y` (or `x_train`, `y_train`), perhaps `x_test` and `y_test`
        npz: Option<PathBuf> = path(), "–", Optional("another source");
        /// arrays of NumPy, one file each
        npy: Option<NpyTable> = table::<NpyTable>(), "–", Optional("another source");
        /// a folder that has a folder of PNG or JPEG images for each class
        images: Option<PathBuf> = path(), "–", Optional("another source");
        /// files in the format of MNIST
        idx: Option<IdxTable> = table::<IdxTable>(), "–", Optional("another source");
        /// the column of classes
        label: Option<String> = text("name of a column"), "–", Optional("`target`"), of source ["csv"];
        /// the columns of values to predict: a regression
        target: Option<Vec<String>> = text("name of a column").map(|name| vec![name])
            .or(list(text("name"), "a list of columns", [1, usize::MAX])), "–", Optional("`label`"), of source ["csv"];
        /// the columns of inputs
        features: Option<Vec<String>> = list(text("name"), "a list of columns", [1, usize::MAX]), "–", Optional("all others"), of source ["csv"];
        /// what separates columns
        delimiter: Option<String> = text("one character"), "–", Optional("`,`"), of source ["csv"];
        /// whether `y` holds values to predict, not classes
        regression: bool = flag(), "–", Or("false"), of source ["npz" "npy"];
        /// labels are the whole numbers below this
        classes: Option<usize> = count().at_least(2).size(), "classes", Optional("every label that occurs is a class"), of source ["csv" "npz" "npy" "idx"];
        /// the shape of a sample: rows, columns, channels
        shape: Option<Vec<usize>> = list(count().at_least(1).size(), "a list of rows, columns and channels", [3, 3]), "values",
            Optional("a vector, or the shape of the array"), of source NUMBERS;
        /// values of a pixel: 1 for grey, 3 for colour
        channels: usize = count().at_least(1).at_most(3).size(), "channels", Or("3"), of source ["images"];
        /// whether targets are scaled to mean 0 and deviation 1 over the training part
        scale_targets: bool = flag(), "–", Or("true"), of source NUMBERS;
        /// what to test on: a share of the samples drawn by `split_seed`, or another file (of `csv`) or folder (of `images`)
        test: Option<TestPart> = test_part(), "share", Optional("0.2, unless the files have a test part"), of source ["csv" "npz" "npy" "images" "idx"];
        /// share of the training samples that is held out from training
        validation: Option<f64> = number().share(), "share", Optional("none");
        /// what is measured after each epoch
        evaluate: Option<&'static str> = word(["test", "validation"]), "–", Optional("`test`");
        /// decides the test and validation parts; seeds of trials do not
        split_seed: Option<u64> = count(), "–", Optional("0");
        /// use only the first so many images of each class for training
        train_per_class: Option<usize> = count().at_least(1).size(), "images", Optional("all");
        /// use only the first so many images of each class for testing
        test_per_class: Option<usize> = count().at_least(1).size(), "images", Optional("all");
        /// use only this half of each class of the training images
        half: Option<Half> = choice([("first", Half::First), ("second", Half::Second)]), "–", Optional("both");
        /// normalisation of values in [0, 1]: none; mean 0 and deviation 1 per channel; ImageNet's means and deviations;
        /// bytes minus ImageNet's means, for the weights that `residuum convert` writes
        normalize: Normalize = choice([
            ("none", Normalize::None), ("channels", Normalize::Channels), ("imagenet", Normalize::imagenet()), ("keras", Normalize::Keras),
        ]).or(table::<NormalizeTable>().map(|t| Normalize::By { mean: t.mean, deviation: t.deviation })), "–", Or("\"none\""), of source IMAGES;
        /// normalisation of values: none; mean 0 and deviation 1 of each feature (or channel) over the training part
        normalize_values @ "normalize": Normalize = choice([("none", Normalize::None), ("channels", Normalize::Channels)]), "–",
            Or("\"channels\""), of source NUMBERS;
        /// side length after bilinear resizing, before everything else
        resize: Option<usize> = count().at_least(1).at_most(MAX_SIDE).size(), "pixels", Optional("off"), of source IMAGES;
        /// horizontal flip during training
        flip_horizontal: f64 = number().share(), "probability", Or("0.0");
        /// vertical flip during training
        flip_vertical: f64 = number().share(), "probability", Or("0.0");
        /// zero padding around the image before a random crop to its old size, during training
        crop_padding: Option<usize> = count().at_least(1).at_most(MAX_SIDE).size(), "pixels", Optional("off");
    }
}

section! {
    /// Custom means and deviations.
    pub(crate) struct NormalizeTable {
        /// one number per channel, subtracted
        mean: Vec<f32> = list(number().map(|x| x as f32), "a list of numbers", [0, usize::MAX]), "value", Required;
        /// one number per channel, to divide by
        deviation: Vec<f32> = list(number().map(|x| x as f32), "a list of numbers", [0, usize::MAX]), "value", Required;
    }
}

/// A step of more images than there are.
pub(crate) fn batch_sentence(batch_size: usize, train: usize) -> String {
    format!("training.batch_size must be at most the {train} training images, got {batch_size}")
}

/// The data of a spec.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSpec {
    /// Name of the set; `files` for files of one's own.
    pub set: &'static str,
    /// The files of one's own.
    pub own: Option<OwnData>,
    /// What is held out from training, and what is measured.
    pub held_out: HeldOut,
    /// Whether targets are scaled to mean 0 and deviation 1.
    pub scale_targets: bool,
    /// Where its files lie, if the spec says so.
    pub directory: Option<PathBuf>,
    /// Images of each class to train on and to test on.
    pub per_class: [Option<usize>; 2],
    /// Which half of the training images.
    pub half: Option<Half>,
    /// What happens to values.
    pub normalize: Normalize,
    /// Side in pixels.
    pub resize: Option<usize>,
    /// What happens at random while training.
    pub augment: Augment,
    /// Its files when the spec was read.
    pub(crate) stamps: Stamps,
}

/// The parts of the training samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// Share held out from training.
    pub validation: Option<f64>,
    /// Whether that part is measured instead of the test samples.
    pub evaluated: bool,
    /// Which samples they are.
    pub seed: u64,
}

/// One half of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first of every class.
    First,
    /// The rest.
    Second,
}

/// What happens to values in [0, 1].
#[derive(Clone, Debug, PartialEq)]
pub enum Normalize {
    /// Nothing.
    None,
    /// Mean 0 and deviation 1 for each channel over the training images.
    Channels,
    /// These means and deviations.
    By {
        /// For each channel.
        mean: Vec<f32>,
        /// For each channel.
        deviation: Vec<f32>,
    },
    /// In units of bytes, minus ImageNet's means. Red comes first: conversion turns Keras's first kernel around.
    Keras,
}

/// What happens at random while training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Augment {
    /// Probability that left becomes right.
    pub flip_horizontal: f64,
    /// Probability that top becomes bottom.
    pub flip_vertical: f64,
    /// Zeros around the image before a random crop.
    pub crop_padding: Option<usize>,
}

/// Why the data of a spec cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataSpecError {
    /// The files.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The transforms.
    #[error("data: {0}")]
    Parameter(#[from] ParameterError),
    /// Other files than when the spec was read.
    #[error("data: {}", changed_sentence(path))]
    Replaced {
        /// The file.
        path: PathBuf,
    },
}

impl DataSpec {
    pub(crate) fn new(fields: DataTable, at: &At<'_>) -> Result<Self, SpecError> {
        let own = OwnData::read(&fields, at)?;
        let held_out = HeldOut {
            validation: fields.validation,
            evaluated: fields.evaluate == Some("validation"),
            seed: fields.split_seed.unwrap_or(0),
        };
        let table = at.table()?;
        if held_out.evaluated && held_out.validation.is_none() {
            return Err(
                table.error("data.evaluate = \"validation\" needs data.validation, the share that is held out")
            );
        }
        if let Some(share) = held_out.validation.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return Err(table.error(format!("data.validation must be above 0 and below 1, got {share}")));
        }
        let mut spec = Self {
            stamps: Stamps::default(),
            set: fields.set.unwrap_or("files"),
            held_out,
            scale_targets: fields.scale_targets,
            directory: fields.directory,
            per_class: [fields.train_per_class, fields.test_per_class],
            half: fields.half,
            normalize: if NUMBERS.iter().any(|source| table.has(source)) {
                fields.normalize_values
            } else {
                fields.normalize
            },
            resize: fields.resize,
            augment: Augment {
                flip_horizontal: fields.flip_horizontal,
                flip_vertical: fields.flip_vertical,
                crop_padding: fields.crop_padding,
            },
            own,
        };
        let files = at.context.folders.files_of(&spec);
        spec.stamps = Stamps::of(files.iter().map(PathBuf::as_path));
        if let Some(digest) = at.context.folders.data(&spec) {
            table.contents("files", digest);
        }
        // What is held out is decided here, where the line is at hand.
        if let (Some(own), Some(_)) = (&spec.own, held_out.validation) {
            spec.parts((*own.split).clone()).map_err(|e| table.error(format!("data.validation: {e}")))?;
        }
        Ok(spec)
    }

    /// What is measured after each epoch: `test` or `validation`.
    pub fn evaluated_part(&self) -> &'static str {
        if self.held_out.evaluated { "validation" } else { "test" }
    }

    /// Whether values are predicted, not classes.
    pub fn is_regression(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.split.train.targets().is_some())
    }

    /// What a network is given, and how many classes there are, without a look at the files.
    pub fn image(&self) -> (SampleShape, usize) {
        if let Some(own) = &self.own {
            let (train, shape) = (&own.split.train, own.split.train.shape());
            let [height, width] = self.resize.map_or([shape.height, shape.width], |side| [side, side]);
            return (SampleShape::image(height, width, shape.channels), train.outputs());
        }
        let Known { image, classes, .. } = self.known();
        let [height, width] = self.resize.map_or([image.height, image.width], |side| [side, side]);
        (SampleShape::image(height, width, image.channels), classes)
    }

    /// What is known of the set.
    pub(crate) fn known(&self) -> Known {
        // The spec takes the words of this list only.
        Known::named(self.set).unwrap_or(SETS[0])
    }

    /// Numbers of training samples and of those that are measured, without reading files.
    ///
    /// # Errors
    /// If an embedded set has too few images of a class.
    pub(crate) fn samples(&self) -> Result<[usize; 2], DataSpecError> {
        if self.own.is_some() || matches!(self.known().origin, Origin::Embedded(_)) {
            // Neither needs a folder.
            let split = self.load(Path::new("."))?;
            return Ok([split.train.len(), split.test.len()]);
        }
        let Known { classes, images: [train, test], .. } = self.known();
        let train = if self.half.is_some() { train / 2 } else { train };
        let limited = |all: usize, per_class: Option<usize>| {
            per_class.map_or(all, |n| n.saturating_mul(classes).min(all))
        };
        let [train, test] = [limited(train, self.per_class[0]), limited(test, self.per_class[1])];
        let held_out = self.held_out.validation.map_or(0, |share| (share * train as f64) as usize);
        Ok([train - held_out, if self.held_out.evaluated { held_out } else { test }])
    }

    /// Refuses a step of more samples than there are, and a set with too few of a class.
    pub(super) fn check_batch(&self, batch_size: usize, root: &Table<'_>) -> Result<(), SpecError> {
        if self.own.is_none() {
            let Known { classes, images: [train, _], .. } = self.known();
            let least = if self.half.is_some() { train / 4 } else { train / 2 };
            let is_whole = self.per_class == [None, None] && self.held_out.validation.is_none();
            // Nothing is read where a glance is enough.
            if self.directory.is_some() || (is_whole && batch_size <= least) {
                return Ok(());
            }
            let most = |per_class: Option<usize>| per_class.is_none_or(|n| n <= train / classes / 4);
            if self.per_class.into_iter().all(most) && batch_size <= classes {
                return Ok(());
            }
        }
        let [train, _] = self.samples().map_err(|e| root.error(format!("data: {e}")))?;
        if batch_size > train {
            return Err(root.error(batch_sentence(batch_size, train)));
        }
        Ok(())
    }

    /// Whether an image is the same in every epoch.
    pub fn is_fixed(&self) -> bool {
        self.augment == Augment::default()
    }

    /// The images to train and to test on. `root` holds the folders of all sets that are not embedded.
    ///
    /// # Errors
    /// If files are missing or damaged, or a class has too few images.
    pub fn load(&self, root: &Path) -> Result<Split, DataSpecError> {
        let split = match (&self.own, &self.directory) {
            (Some(own), _) => (*own.split).clone(),
            (None, Some(folder)) => find(self.set)?.read(folder)?,
            (None, None) => load(self.set, root)?,
        };
        // The id of the trial says which data: others must not pass for them.
        if let Some(path) = self.stamps.changed() {
            return Err(DataSpecError::Replaced { path: path.into() });
        }
        Ok(self.parts(split)?)
    }

    /// The part to train on and the part that is measured.
    fn parts(&self, mut split: Split) -> Result<Split, DataError> {
        if let Some(half) = self.half {
            let (first, second) = split.train.halves()?;
            split.train = if half == Half::First { first } else { second };
        }
        for (set, count) in [&mut split.train, &mut split.test].into_iter().zip(self.per_class) {
            if let Some(count) = count {
                *set = set.first_per_class(count)?;
            }
        }
        if let Some(share) = self.held_out.validation {
            let key = Key::new(self.held_out.seed).named("validation");
            let (train, validation) = split.train.split_off(share, key)?;
            split.train = train;
            if self.held_out.evaluated {
                split.test = validation;
            }
        }
        if let Some(ChannelStatistics { mean, deviation }) =
            split.train.target_statistics().filter(|_| self.scale_targets).map(ChannelStatistics::divisible)
        {
            split.train = split.train.with_scaled_targets(&mean, &deviation);
            split.test = split.test.with_scaled_targets(&mean, &deviation);
        }
        Ok(split)
    }

    /// What happens to an image before the network sees it, while training and while testing.
    ///
    /// # Errors
    /// If the transforms do not fit the images.
    pub fn pipelines(&self, train: &Dataset) -> Result<[Pipeline; 2], ParameterError> {
        let mut fixed = Vec::new();
        if let Some(side) = self.resize {
            fixed.push(Transform::Resize { height: side, width: side });
        }
        let Augment { flip_horizontal, flip_vertical, crop_padding } = self.augment;
        let mut random = fixed.clone();
        for (probability, flip) in [
            (flip_horizontal, Transform::FlipHorizontal { probability: flip_horizontal }),
            (flip_vertical, Transform::FlipVertical { probability: flip_vertical }),
        ] {
            if probability > 0.0 {
                random.push(flip);
            }
        }
        if let Some(padding) = crop_padding {
            let shape = train.shape();
            let (height, width) = self.resize.map_or((shape.height, shape.width), |side| (side, side));
            random.push(Transform::RandomCrop { height, width, padding });
        }
        let scaling = self.scaling(train);
        let with = |transforms: Vec<Transform>| Pipeline::new(train, &[transforms, scaling.clone()].concat());
        Ok([with(random)?, with(fixed)?])
    }

    fn scaling(&self, train: &Dataset) -> Vec<Transform> {
        let normalize = |mean: Vec<f32>, deviation: Vec<f32>| Transform::Normalize { mean, deviation };
        match &self.normalize {
            Normalize::None => Vec::new(),
            Normalize::Channels => {
                let statistics = train.channel_statistics().divisible();
                vec![normalize(statistics.mean, statistics.deviation)]
            }
            Normalize::By { mean, deviation } => vec![normalize(mean.clone(), deviation.clone())],
            Normalize::Keras => {
                vec![normalize(keras::MEAN.map(|m| m / 255.0).to_vec(), vec![1.0 / 255.0; 3])]
            }
        }
    }
}

impl Normalize {
    fn imagenet() -> Self {
        Self::By { mean: vec![0.485, 0.456, 0.406], deviation: vec![0.229, 0.224, 0.225] }
    }
}
