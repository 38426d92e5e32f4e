//! `[data]`: the images, how they are transformed, and how many are used.

use std::path::{Path, PathBuf};

use residuum::ParameterError;
use residuum_nn::Shape;
use residuum_nn::data::catalogue::{Known, Origin, SETS, find, load};
use residuum_nn::data::{DataError, Dataset, Pipeline, Split, Transform};
use residuum_nn::model::keras;
use thiserror::Error;

use super::node::SpecError;
use super::section::{Optional, Or, Required, section};
use super::table::{At, Table};
use super::types::{TakesExt as _, choice, count, list, number, path, table, word};

/// Longest side of an image, in pixels; more is taken for a mistake.
const MAX_SIDE: u64 = 4096;

section! {
    /// The images, how they are transformed, and how many are used.
    pub(crate) struct DataTable {
        /// the data set; the first two are built in, `residuum data fetch` gets the others
        set: &'static str = word(SETS.map(|set| set.name)), "–", Required;
        /// folder of the files, relative to the spec
        directory: Option<PathBuf> = path(), "–", Optional("the folder of the set in the data folder");
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
        ]).or(table::<NormalizeTable>().map(|t| Normalize::By { mean: t.mean, deviation: t.deviation })), "–", Or("\"none\"");
        /// side length after bilinear resizing, before everything else
        resize: Option<usize> = count().at_least(1).at_most(MAX_SIDE).size(), "pixels", Optional("off");
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
    /// Name of the set.
    pub set: &'static str,
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
}

impl DataSpec {
    pub(crate) fn new(fields: DataTable, at: &At<'_>) -> Self {
        let spec = Self {
            set: fields.set,
            directory: fields.directory,
            per_class: [fields.train_per_class, fields.test_per_class],
            half: fields.half,
            normalize: fields.normalize,
            resize: fields.resize,
            augment: Augment {
                flip_horizontal: fields.flip_horizontal,
                flip_vertical: fields.flip_vertical,
                crop_padding: fields.crop_padding,
            },
        };
        if let (Some(digest), Ok(table)) = (at.context.folders.data(&spec), at.table()) {
            table.contents("files", digest);
        }
        spec
    }

    /// What a network is given, and how many classes there are, without a look at the files.
    pub fn image(&self) -> (Shape, usize) {
        let Known { image, classes, .. } = self.known();
        let [height, width] = self.resize.map_or([image.height, image.width], |side| [side, side]);
        (Shape::image(height, width, image.channels), classes)
    }

    /// What is known of the set.
    pub(crate) fn known(&self) -> Known {
        // The spec takes the words of this list only.
        Known::named(self.set).unwrap_or(SETS[0])
    }

    /// Numbers of training and test images, without reading files.
    ///
    /// # Errors
    /// If an embedded set has too few images of a class.
    pub(crate) fn samples(&self) -> Result<[usize; 2], DataSpecError> {
        let Known { classes, images: [train, test], origin, .. } = self.known();
        if let Origin::Embedded(_) = origin {
            // Embedded sets need no folder.
            let split = self.load(Path::new("."))?;
            return Ok([split.train.len(), split.test.len()]);
        }
        let train = if self.half.is_some() { train / 2 } else { train };
        let limited = |all: usize, per_class: Option<usize>| {
            per_class.map_or(all, |n| n.saturating_mul(classes).min(all))
        };
        Ok([limited(train, self.per_class[0]), limited(test, self.per_class[1])])
    }

    /// Refuses a step of more images than there are, and a set with too few of a class.
    pub(super) fn check_batch(&self, batch_size: usize, root: &Table<'_>) -> Result<(), SpecError> {
        let Known { classes, images: [train, _], .. } = self.known();
        let least = if self.half.is_some() { train / 4 } else { train / 2 };
        let is_whole = self.per_class == [None, None];
        // Nothing is read where a glance is enough.
        if self.directory.is_some() || (is_whole && batch_size <= least) {
            return Ok(());
        }
        let most = |per_class: Option<usize>| per_class.is_none_or(|n| n <= train / classes / 4);
        if self.per_class.into_iter().all(most) && batch_size <= classes {
            return Ok(());
        }
        let [train, _] = self.samples().map_err(|e| root.error(format!("data: {e}")))?;
        match batch_size > train {
            true => Err(root.error(batch_sentence(batch_size, train))),
            false => Ok(()),
        }
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
        let mut split = match &self.directory {
            Some(folder) => find(self.set)?.read(folder)?,
            None => load(self.set, root)?,
        };
        if let Some(half) = self.half {
            let (first, second) = split.train.halves()?;
            split.train = if half == Half::First { first } else { second };
        }
        for (set, count) in [&mut split.train, &mut split.test].into_iter().zip(self.per_class) {
            if let Some(count) = count {
                *set = set.first_per_class(count)?;
            }
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
                let statistics = train.channel_statistics();
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
