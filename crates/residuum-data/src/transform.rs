//! From bytes to network inputs: scaling to [0, 1], then a list of transforms, each drawn from the sample's own key.

use residuum::simd::vectorized;
use residuum::{Key, ParameterError};

use super::resize::Resize;
use super::{Dataset, ImageShape, Sample};

/// One preprocessing step. Values are in [0, 1] before the first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transform {
    /// (x − mean) / deviation, by channel.
    Normalize {
        /// One mean per channel.
        mean: Vec<f32>,
        /// One positive deviation per channel.
        deviation: Vec<f32>,
    },
    /// Mirrors left and right with this probability.
    FlipHorizontal {
        /// In [0, 1].
        probability: f64,
    },
    /// Mirrors top and bottom with this probability.
    FlipVertical {
        /// In [0, 1].
        probability: f64,
    },
    /// A window of this size at a random position in the image with `padding` zeros on every side. Before
    /// [`Normalize`](Self::Normalize) the zeros are black, after it they are the mean.
    RandomCrop {
        /// Height of the window.
        height: usize,
        /// Width of the window.
        width: usize,
        /// Zeros added on every side.
        padding: usize,
    },
    /// Bilinear resizing, pixels as squares, edges repeated, no anti-aliasing: PyTorch's `interpolate` with
    /// `align_corners=False`.
    Resize {
        /// New height.
        height: usize,
        /// New width.
        width: usize,
    },
    /// Reverses the channels: RGB becomes BGR.
    ReverseChannels,
}

/// Validated transforms for images of one size.
#[derive(Clone, Debug)]
pub struct Pipeline {
    input: ImageShape,
    output: ImageShape,
    /// The byte that becomes 1.
    full_scale: f32,
    steps: Vec<Step>,
    /// Values of the largest intermediate image.
    largest: usize,
}

#[derive(Clone, Debug)]
struct Step {
    action: Action,
    from: ImageShape,
    to: ImageShape,
}

#[derive(Clone, Debug)]
enum Action {
    /// Means and deviations repeated over a row of values, so that whole rows are processed at once.
    Affine {
        mean: Vec<f32>,
        deviation: Vec<f32>,
    },
    Flip {
        vertical: bool,
        probability: f64,
    },
    Crop {
        padding: usize,
    },
    Resize(Resize),
    ReverseChannels,
}

/// Buffers for intermediate images of a [`Pipeline`], kept between samples to avoid allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    image: Vec<f32>,
    spare: Vec<f32>,
    lines: Vec<f32>,
}

impl Pipeline {
    /// Transforms in this order for the images of `dataset`.
    pub fn new(dataset: &Dataset, transforms: &[Transform]) -> Result<Self, ParameterError> {
        let input = dataset.shape();
        let full_scale = f32::from(dataset.full_scale());
        let mut steps: Vec<Step> = Vec::with_capacity(transforms.len());
        let mut shape = input;
        for transform in transforms {
            let step = Step::new(transform, shape)?;
            shape = step.to;
            steps.push(step);
        }
        let largest = steps.iter().map(|s| s.to.values()).fold(input.values(), usize::max);
        Ok(Self { input, output: shape, full_scale, steps, largest })
    }

    /// The size of the input images.
    pub fn input(&self) -> ImageShape {
        self.input
    }

    /// The size of the output images.
    pub fn output(&self) -> ImageShape {
        self.output
    }

    /// Transforms a sample into `out`; numbers stay as they are before the first transform. All randomness comes from `key`.
    pub fn apply<'a>(&self, sample: impl Into<Sample<'a>>, key: Key, out: &mut [f32]) {
        self.apply_with(sample.into(), key, out, &mut Workspace::default());
    }

    pub(super) fn apply_with(&self, sample: Sample<'_>, key: Key, out: &mut [f32], workspace: &mut Workspace) {
        assert_eq!(sample.len(), self.input.values(), "numbers of a sample and values of its shape");
        assert_eq!(out.len(), self.output.values(), "room for an image and values of its shape");
        if self.steps.is_empty() {
            return self.fill(sample, out);
        }
        let Workspace { image, spare, lines } = workspace;
        image.resize(self.largest, 0.0);
        spare.resize(self.largest, 0.0);
        self.fill(sample, &mut image[..self.input.values()]);
        for (index, step) in (0_u64..).zip(&self.steps) {
            let (from, to) = (&mut image[..step.from.values()], &mut spare[..step.to.values()]);
            let moved = step.apply(from, key.fold(index), to, lines);
            if moved {
                std::mem::swap(image, spare);
            }
        }
        out.copy_from_slice(&image[..out.len()]);
    }

    /// The numbers of a sample, bytes as fractions of the full scale.
    fn fill(&self, sample: Sample<'_>, out: &mut [f32]) {
        match sample {
            Sample::Values(values) => out.copy_from_slice(values),
            Sample::Bytes(bytes) => vectorized(
                #[inline(always)]
                || {
                    for (value, &byte) in out.iter_mut().zip(bytes) {
                        *value = f32::from(byte) / self.full_scale;
                    }
                },
            ),
        }
    }
}

impl Step {
    fn new(transform: &Transform, from: ImageShape) -> Result<Self, ParameterError> {
        let (action, to) = match *transform {
            Transform::Normalize { ref mean, ref deviation } => {
                channel_values("mean", mean, from.channels, f32::is_finite, "finite")?;
                let positive = |d: f32| d > 0.0 && d.is_finite();
                channel_values("deviation", deviation, from.channels, positive, "positive and finite")?;
                (
                    Action::Affine { mean: mean.repeat(from.width), deviation: deviation.repeat(from.width) },
                    from,
                )
            }
            Transform::FlipHorizontal { probability } => (flip(false, probability)?, from),
            Transform::FlipVertical { probability } => (flip(true, probability)?, from),
            Transform::RandomCrop { height, width, padding } => {
                positive("crop height", height)?;
                positive("crop width", width)?;
                let must = "at most the image's with its padding";
                require(height <= from.height + 2 * padding, "crop height", must, height as f64)?;
                require(width <= from.width + 2 * padding, "crop width", must, width as f64)?;
                (Action::Crop { padding }, ImageShape { height, width, ..from })
            }
            Transform::Resize { height, width } => {
                positive("resize height", height)?;
                positive("resize width", width)?;
                (Action::Resize(Resize::new(from, height, width)), ImageShape { height, width, ..from })
            }
            Transform::ReverseChannels => (Action::ReverseChannels, from),
        };
        Ok(Self { action, from, to })
    }

    /// Changes `image` in place, or writes to `spare` and returns true.
    fn apply(&self, image: &mut [f32], key: Key, spare: &mut [f32], lines: &mut Vec<f32>) -> bool {
        let ImageShape { height, width, channels } = self.from;
        match &self.action {
            Action::Affine { mean, deviation } => {
                for row in image.chunks_exact_mut(width * channels) {
                    for ((value, mean), deviation) in row.iter_mut().zip(mean).zip(deviation) {
                        *value = (*value - mean) / deviation;
                    }
                }
            }
            Action::ReverseChannels => image.chunks_exact_mut(channels).for_each(<[f32]>::reverse),
            Action::Flip { probability, .. } if key.uniform_at(0) >= *probability => {}
            Action::Flip { vertical: true, .. } => {
                let line = width * channels;
                for row in 0..height / 2 {
                    let (top, bottom) = image.split_at_mut((height - 1 - row) * line);
                    top[row * line..][..line].swap_with_slice(&mut bottom[..line]);
                }
            }
            Action::Flip { vertical: false, .. } => {
                for row in image.chunks_exact_mut(width * channels) {
                    for column in 0..width / 2 {
                        let (left, right) = row.split_at_mut((width - 1 - column) * channels);
                        left[column * channels..][..channels].swap_with_slice(&mut right[..channels]);
                    }
                }
            }
            Action::Crop { padding } => {
                let top = key.below_at(height + 2 * padding - self.to.height + 1, 0);
                let left = key.below_at(width + 2 * padding - self.to.width + 1, 1);
                self.crop(image, spare, top, left, *padding);
                return true;
            }
            Action::Resize(resize) => {
                resize.apply(image, spare, lines);
                return true;
            }
        }
        false
    }

    /// The window whose corner is at (`top`, `left`) of the padded image.
    fn crop(&self, image: &[f32], out: &mut [f32], top: usize, left: usize, padding: usize) {
        let ImageShape { height, width, channels } = self.from;
        out.fill(0.0);
        // Columns of the window that lie inside the image.
        let first = padding.saturating_sub(left).min(self.to.width);
        let last = (padding + width).saturating_sub(left).min(self.to.width);
        for (row, line) in out.chunks_exact_mut(self.to.width * channels).enumerate() {
            let Some(source) = (top + row).checked_sub(padding).filter(|&r| r < height) else { continue };
            if first < last {
                let start = (source * width + left + first - padding) * channels;
                let count = (last - first) * channels;
                line[first * channels..][..count].copy_from_slice(&image[start..start + count]);
            }
        }
    }
}

fn flip(vertical: bool, probability: f64) -> Result<Action, ParameterError> {
    require((0.0..=1.0).contains(&probability), "flip probability", "in [0, 1]", probability)?;
    Ok(Action::Flip { vertical, probability })
}

fn channel_values(
    name: &'static str,
    values: &[f32],
    channels: usize,
    holds: impl Fn(f32) -> bool,
    must: &'static str,
) -> Result<(), ParameterError> {
    if values.len() != channels {
        return Err(ParameterError::Length { name, expected: channels, given: values.len() });
    }
    values.iter().try_for_each(|&v| require(holds(v), name, must, f64::from(v)))
}

fn positive(name: &'static str, size: usize) -> Result<(), ParameterError> {
    require(size > 0, name, "positive", size as f64)
}

pub(super) fn require(
    holds: bool,
    name: &'static str,
    must: &'static str,
    value: f64,
) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::OutOfDomain { name, must, value }) }
}
