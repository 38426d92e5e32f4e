//! Samples in memory with what is to be learned from them: produced by readers, consumed by batches.
//!
//! Images are bytes; tables and arrays are numbers. A sample has a class, or values for a regression.

use std::sync::Arc;

use residuum::Key;

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
        // Sizes that a file claims must not wrap to small ones.
        self.height.saturating_mul(self.width).saturating_mul(self.channels)
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

/// Samples with their classes or target values. Cloning shares the numbers.
#[derive(Clone, Debug)]
pub struct Dataset {
    description: Description,
    inputs: Inputs,
    goal: Goal,
    /// What classes are called, where they have names.
    class_names: Option<Arc<[String]>>,
}

#[derive(Clone, Debug)]
enum Inputs {
    Bytes(Arc<[u8]>),
    Values(Arc<[f32]>),
}

#[derive(Clone, Debug)]
enum Goal {
    Classes(Arc<[u32]>),
    Values { each: usize, values: Arc<[f32]> },
}

/// The input of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample<'a> {
    /// An image.
    Bytes(&'a [u8]),
    /// Numbers.
    Values(&'a [f32]),
}

impl Sample<'_> {
    /// How many numbers there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// Its bytes as they are in memory, for digests.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.to_vec(),
            Self::Values(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
}

impl<'a> From<&'a [u8]> for Sample<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

/// What is to be learned of samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Goals {
    /// The class of each.
    Classes(Vec<u32>),
    /// Values of a regression, `each` for every sample, one sample after another.
    Values {
        /// Values of a sample.
        each: usize,
        /// All of them.
        values: Vec<f32>,
    },
}

/// A data set to train on and one to test on.
#[derive(Clone, Debug)]
pub struct Split {
    /// For training.
    pub train: Dataset,
    /// For testing.
    pub test: Dataset,
}

impl ChannelStatistics {
    /// The same for a division: what is constant is divided by 1.
    pub fn divisible(self) -> Self {
        let deviation = self.deviation.into_iter().map(|d| if d > 0.0 { d } else { 1.0 }).collect();
        Self { deviation, ..self }
    }
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
        Self::of_images(description, images, labels.into_iter().map(u32::from).collect())
    }

    /// The same, with any number of classes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_images(description: Description, images: Vec<u8>, labels: Vec<u32>) -> Result<Self, DataError> {
        let Description { name, shape, full_scale, .. } = &description;
        let (name, full_scale) = (|| name.clone(), *full_scale);
        let ImageShape { height, width, channels } = *shape;
        if images.is_empty() || shape.values() == 0 || full_scale == 0 {
            let count = labels.len();
            return Err(DataError::Empty { name: name(), count, height, width, channels, full_scale });
        }
        if images.len() != labels.len() * shape.values() {
            let images = images.len() / shape.values();
            return Err(DataError::Counts { name: name(), images, labels: labels.len() });
        }
        check_labels(&description, &labels)?;
        if let Some(at) = images.iter().position(|&pixel| pixel > full_scale) {
            let index = at / shape.values();
            return Err(DataError::Pixel { name: name(), index, full_scale, pixel: images[at] });
        }
        let (inputs, goal) = (Inputs::Bytes(images.into()), Goal::Classes(labels.into()));
        Ok(Self { description, inputs, goal, class_names: None })
    }

    /// Samples of numbers, one after another, each in row, column, channel order. For a regression, `classes` of the
    /// description is 0; its full scale is not used.
    ///
    /// # Errors
    /// If there are no samples, the counts differ, a number is not finite or a label is out of range.
    pub fn of_values(description: Description, values: Vec<f32>, goals: Goals) -> Result<Self, DataError> {
        let Description { name, shape, .. } = &description;
        let ImageShape { height, width, channels } = *shape;
        let count = match &goals {
            Goals::Classes(labels) => labels.len(),
            Goals::Values { each, values } => values.len() / (*each).max(1),
        };
        if values.is_empty() || shape.values() == 0 || count == 0 {
            let (name, full_scale) = (name.clone(), description.full_scale);
            return Err(DataError::Empty { name, count, height, width, channels, full_scale });
        }
        if values.len() != count * shape.values() {
            let images = values.len() / shape.values();
            return Err(DataError::Counts { name: name.clone(), images, labels: count });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let (name, index) = (name.clone(), at / shape.values());
            return Err(DataError::Value { name, index, value: f64::from(values[at]) });
        }
        let goal = match goals {
            Goals::Classes(labels) => {
                check_labels(&description, &labels)?;
                Goal::Classes(labels.into())
            }
            Goals::Values { each, values } => {
                if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                    let (name, index) = (name.clone(), at / each);
                    return Err(DataError::Value { name, index, value: f64::from(values[at]) });
                }
                Goal::Values { each, values: values.into() }
            }
        };
        Ok(Self { description, inputs: Inputs::Values(values.into()), goal, class_names: None })
    }

    /// The same with names of its classes.
    pub fn with_class_names(self, names: Vec<String>) -> Self {
        Self { class_names: Some(names.into()), ..self }
    }

    /// The name of a class: its number where it has no other.
    pub fn class_name(&self, class: usize) -> String {
        let own = self.class_names.as_ref().and_then(|names| names.get(class).cloned());
        own.unwrap_or_else(|| class.to_string())
    }

    /// The same samples with every target value `(v − mean)/deviation`.
    ///
    /// # Panics
    /// If there are not one mean and one deviation for each target.
    pub fn with_scaled_targets(&self, mean: &[f32], deviation: &[f32]) -> Self {
        let goal = match &self.goal {
            Goal::Classes(labels) => Goal::Classes(labels.clone()),
            Goal::Values { each, values } => {
                assert_eq!([mean.len(), deviation.len()], [*each; 2], "one mean and deviation for each target");
                let scaled = values.iter().enumerate().map(|(i, v)| (v - mean[i % each]) / deviation[i % each]);
                Goal::Values { each: *each, values: scaled.collect() }
            }
        };
        Self { goal, ..self.clone() }
    }

    /// Mean and standard deviation of each target. None for classes.
    pub fn target_statistics(&self) -> Option<ChannelStatistics> {
        let Goal::Values { each, values } = &self.goal else { return None };
        Some(statistics(values, *each))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// The size of every image.
    pub fn shape(&self) -> ImageShape {
        self.description.shape
    }

    /// Number of classes; 0 for a regression.
    pub fn classes(&self) -> usize {
        self.description.classes
    }

    /// Numbers that a network gives for a sample: a score for each class, or the target values.
    pub fn outputs(&self) -> usize {
        match &self.goal {
            Goal::Classes(_) => self.classes(),
            Goal::Values { each, .. } => *each,
        }
    }

    /// The target values of a regression, sample after sample.
    pub fn targets(&self) -> Option<&[f32]> {
        match &self.goal {
            Goal::Classes(_) => None,
            Goal::Values { values, .. } => Some(values),
        }
    }

    /// The byte that stands for 1.0.
    pub fn full_scale(&self) -> u8 {
        self.description.full_scale
    }

    /// Number of samples; at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match &self.goal {
            Goal::Classes(labels) => labels.len(),
            Goal::Values { each, values } => values.len() / each,
        }
    }

    /// The input of sample `index`.
    pub fn sample(&self, index: usize) -> Sample<'_> {
        let (first, count) = (index * self.shape().values(), self.shape().values());
        match &self.inputs {
            Inputs::Bytes(bytes) => Sample::Bytes(&bytes[first..][..count]),
            Inputs::Values(values) => Sample::Values(&values[first..][..count]),
        }
    }

    /// The bytes of image `index`.
    ///
    /// # Panics
    /// If the samples are not images of bytes.
    pub fn image(&self, index: usize) -> &[u8] {
        match self.sample(index) {
            Sample::Bytes(bytes) => bytes,
            Sample::Values(_) => panic!("{} must hold bytes, got numbers", self.name()),
        }
    }

    /// The class of each sample; none for a regression.
    pub fn labels(&self) -> &[u32] {
        match &self.goal {
            Goal::Classes(labels) => labels,
            Goal::Values { .. } => &[],
        }
    }

    /// How many images each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        for &label in self.labels() {
            counts[label as usize] += 1;
        }
        counts
    }

    /// Mean and standard deviation of each channel. The sums of bytes are of integers, so the
    /// result does not depend on order.
    pub fn channel_statistics(&self) -> ChannelStatistics {
        let channels = self.shape().channels;
        let images = match &self.inputs {
            Inputs::Bytes(images) => images,
            Inputs::Values(values) => return statistics(values, channels),
        };
        let (mut sum, mut squares) = (vec![0_u64; channels], vec![0_u64; channels]);
        for pixel in images.chunks_exact(channels) {
            for (c, &value) in pixel.iter().enumerate() {
                sum[c] += u64::from(value);
                squares[c] += u64::from(value).pow(2);
            }
        }
        let n = (images.len() / channels) as f64;
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
        let size = self.shape().values();
        let inputs = match &self.inputs {
            Inputs::Bytes(bytes) => Inputs::Bytes(chosen(bytes, size, indices)),
            Inputs::Values(values) => Inputs::Values(chosen(values, size, indices)),
        };
        let goal = match &self.goal {
            Goal::Classes(labels) => Goal::Classes(chosen(labels, 1, indices)),
            Goal::Values { each, values } => {
                Goal::Values { each: *each, values: chosen(values, *each, indices) }
            }
        };
        Self { description: self.description.clone(), inputs, goal, class_names: self.class_names.clone() }
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

    /// Two disjoint parts drawn from `key`: the rest, and `share` of the samples. Of classes, each gives the same share, as
    /// nearly as whole samples allow. Samples keep their order.
    ///
    /// # Errors
    /// If one of the parts would be empty, or a class would be missing from one of them.
    pub fn split_off(&self, share: f64, key: Key) -> Result<(Self, Self), DataError> {
        let mut strata: Vec<Vec<usize>> = vec![Vec::new(); self.classes().max(1)];
        for index in 0..self.len() {
            let class = self.labels().get(index).map_or(0, |&label| label as usize);
            strata[class].push(index);
        }
        let (mut rest, mut part) = (Vec::new(), Vec::new());
        for (class, members) in strata.iter().enumerate() {
            let wanted = (share * members.len() as f64).round() as usize;
            // A class that is not there at all was reported by the reader.
            if !members.is_empty() && (wanted == 0 || wanted == members.len()) {
                let (name, class, present) = (self.name().into(), self.class_name(class), members.len());
                return Err(DataError::Share { name, class, share, present });
            }
            for (rank, &place) in key.fold(class as u64).permutation(members.len()).iter().enumerate() {
                let to = if rank < wanted { &mut part } else { &mut rest };
                to.push(members[place]);
            }
        }
        rest.sort_unstable();
        part.sort_unstable();
        Ok((self.select(&rest), self.select(&part)))
    }

    /// The images selected by their class and their rank within it.
    fn ranked(&self, wanted: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut seen = vec![0; self.classes()];
        let mut chosen = Vec::new();
        for (index, &label) in self.labels().iter().enumerate() {
            let class = label as usize;
            if wanted(seen[class], class) {
                chosen.push(index);
            }
            seen[class] += 1;
        }
        chosen
    }
}

fn check_labels(description: &Description, labels: &[u32]) -> Result<(), DataError> {
    let classes = description.classes;
    match labels.iter().position(|&label| label as usize >= classes) {
        None => Ok(()),
        Some(index) => {
            let name = description.name.clone();
            Err(DataError::Label { name, index, label: labels[index], classes })
        }
    }
}

/// The records at `indices`, each of `size` numbers.
fn chosen<T: Copy>(from: &[T], size: usize, indices: &[usize]) -> Arc<[T]> {
    indices.iter().flat_map(|&i| &from[i * size..][..size]).copied().collect()
}

/// Mean and deviation of each of `columns` columns, in double precision and in order.
fn statistics(values: &[f32], columns: usize) -> ChannelStatistics {
    let n = (values.len() / columns) as f64;
    let mut mean = vec![0.0; columns];
    for row in values.chunks_exact(columns) {
        mean.iter_mut().zip(row).for_each(|(m, &v)| *m += f64::from(v) / n);
    }
    let mut variance = vec![0.0; columns];
    for row in values.chunks_exact(columns) {
        for ((s, m), &v) in variance.iter_mut().zip(&mean).zip(row) {
            *s += (f64::from(v) - m).powi(2) / n;
        }
    }
    let deviation = variance.iter().map(|s: &f64| s.sqrt() as f32).collect();
    ChannelStatistics { mean: mean.iter().map(|&m| m as f32).collect(), deviation }
}
