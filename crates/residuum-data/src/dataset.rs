//! Labelled images in memory, as bytes: produced by readers, consumed by batches.

use std::sync::Arc;

use super::DataError;

/// The size of an image. Values are stored by row, then by column, then by channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Values of a pixel: 1 for grey, 3 for red, green, blue.
    pub channels: usize,
}

impl ImageShape {
    /// An image of `height` × `width` pixels of `channels` values.
    pub const fn new(height: usize, width: usize, channels: usize) -> Self {
        Self { height, width, channels }
    }

    /// Number of values of an image.
    pub const fn values(self) -> usize {
        self.height * self.width * self.channels
    }
}

/// Properties of a data set apart from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its name, for messages.
    pub name: String,
    /// The size of every image.
    pub shape: ImageShape,
    /// Number of classes; labels are below it.
    pub classes: usize,
    /// The byte that stands for 1.0: 255 almost everywhere, 16 for the 8×8 digits.
    pub full_scale: u8,
}

/// Labelled images. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Dataset {
    description: Description,
    images: Arc<[u8]>,
    labels: Arc<[u8]>,
}

/// A data set to train on and one to test on.
#[derive(Clone, Debug)]
pub struct Split {
    /// For training.
    pub train: Dataset,
    /// For testing.
    pub test: Dataset,
}

/// Mean and standard deviation of each channel, in units of full scale.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelStatistics {
    /// Means.
    pub mean: Vec<f32>,
    /// Standard deviations (of the population).
    pub deviation: Vec<f32>,
}

impl Dataset {
    /// Images one after another, each in row, column, channel order, with one label each.
    pub fn new(description: Description, images: Vec<u8>, labels: Vec<u8>) -> Result<Self, DataError> {
        let Description { name, shape, classes, full_scale } = &description;
        let (name, classes, full_scale) = (|| name.clone(), *classes, *full_scale);
        let ImageShape { height, width, channels } = *shape;
        if images.is_empty() || shape.values() == 0 || full_scale == 0 {
            let count = labels.len();
            return Err(DataError::Empty { name: name(), count, height, width, channels, full_scale });
        }
        if images.len() != labels.len() * shape.values() {
            let images = images.len() / shape.values();
            return Err(DataError::Counts { name: name(), images, labels: labels.len() });
        }
        if let Some(index) = labels.iter().position(|&l| usize::from(l) >= classes) {
            return Err(DataError::Label { name: name(), index, label: labels[index], classes });
        }
        if let Some(at) = images.iter().position(|&pixel| pixel > full_scale) {
            let index = at / shape.values();
            return Err(DataError::Pixel { name: name(), index, full_scale, pixel: images[at] });
        }
        Ok(Self { description, images: images.into(), labels: labels.into() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// The size of every image.
    pub fn shape(&self) -> ImageShape {
        self.description.shape
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.description.classes
    }

    /// The byte that stands for 1.0.
    pub fn full_scale(&self) -> u8 {
        self.description.full_scale
    }

    /// Number of images; at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The bytes of image `index`.
    pub fn image(&self, index: usize) -> &[u8] {
        let values = self.shape().values();
        &self.images[index * values..][..values]
    }

    /// The class of each image.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// How many images each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        for &label in &*self.labels {
            counts[usize::from(label)] += 1;
        }
        counts
    }

    /// Mean and standard deviation of each channel. The sums are of integers, so the result does not depend on order.
    pub fn channel_statistics(&self) -> ChannelStatistics {
        let channels = self.shape().channels;
        let (mut sum, mut squares) = (vec![0_u64; channels], vec![0_u64; channels]);
        for pixel in self.images.chunks_exact(channels) {
            for (c, &value) in pixel.iter().enumerate() {
                sum[c] += u64::from(value);
                squares[c] += u64::from(value).pow(2);
            }
        }
        let n = (self.images.len() / channels) as f64;
        let scale = f64::from(self.full_scale());
        let mean: Vec<f64> = sum.iter().map(|&s| s as f64 / n).collect();
        let variance = mean.iter().zip(&squares).map(|(m, &s)| s as f64 / n - m * m);
        let deviation = variance.map(|v| (v.sqrt() / scale) as f32).collect();
        ChannelStatistics { mean: mean.iter().map(|m| (m / scale) as f32).collect(), deviation }
    }

    /// The images at `indices`, in that order, as a new data set.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len), or `indices` is empty.
    pub fn select(&self, indices: &[usize]) -> Self {
        assert!(!indices.is_empty(), "{}: a selection needs at least one image", self.name());
        let images: Vec<u8> = indices.iter().flat_map(|&i| self.image(i)).copied().collect();
        let labels: Vec<u8> = indices.iter().map(|&i| self.labels[i]).collect();
        Self { description: self.description.clone(), images: images.into(), labels: labels.into() }
    }

    /// The first `n` images of every class, in their original order.
    pub fn first_per_class(&self, n: usize) -> Result<Self, DataError> {
        let counts = self.class_counts();
        if let Some(class) = counts.iter().position(|&present| present < n || n == 0) {
            let (name, present) = (self.name().to_string(), counts[class]);
            return Err(DataError::TooFew { name, class, wanted: n.max(1), present });
        }
        Ok(self.select(&self.ranked(|rank, _| rank < n)))
    }

    /// Two disjoint halves: the first half of every class, and the rest. A class of odd size gives its
    /// middle image to the second half.
    pub fn halves(&self) -> Result<(Self, Self), DataError> {
        let counts = self.class_counts();
        if let Some(class) = counts.iter().position(|&present| present == 1) {
            return Err(DataError::TooFew { name: self.name().to_string(), class, wanted: 2, present: 1 });
        }
        let first = self.ranked(|rank, class| rank < counts[class] / 2);
        let second = self.ranked(|rank, class| rank >= counts[class] / 2);
        Ok((self.select(&first), self.select(&second)))
    }

    /// Every `n`-th image of each class for testing, the others for training.
    pub(super) fn every_nth_for_test(&self, n: usize) -> Split {
        let test = self.ranked(|rank, _| rank % n == n - 1);
        let train = self.ranked(|rank, _| rank % n != n - 1);
        Split { train: self.select(&train), test: self.select(&test) }
    }

    /// The images selected by their class and their rank within it.
    fn ranked(&self, wanted: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut seen = vec![0; self.classes()];
        let mut chosen = Vec::new();
        for (index, &label) in self.labels.iter().enumerate() {
            let class = usize::from(label);
            if wanted(seen[class], class) {
                chosen.push(index);
            }
            seen[class] += 1;
        }
        chosen
    }
}
