//! Batches of activations: single precision, batch-major, channels innermost (NHWC).

use std::fmt;

/// The shape of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleShape {
    /// Rows of the image.
    pub height: usize,
    /// Columns of the image.
    pub width: usize,
    /// Values at every position.
    pub channels: usize,
}

impl SampleShape {
    /// An image.
    pub const fn image(height: usize, width: usize, channels: usize) -> Self {
        Self { height, width, channels }
    }

    /// A vector: one position with `features` channels.
    pub const fn flat(features: usize) -> Self {
        Self::image(1, 1, features)
    }

    /// Positions of the image.
    pub const fn positions(self) -> usize {
        // Sizes that a spec gives by mistake must not wrap to small ones.
        self.height.saturating_mul(self.width)
    }

    /// Values of one sample.
    pub const fn len(self) -> usize {
        self.positions().saturating_mul(self.channels)
    }

    /// Whether a sample is empty.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for SampleShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}×{}", self.height, self.width, self.channels)
    }
}

/// A batch of samples of one shape. The buffer is reused when the batch changes, so that steps do not allocate.
#[derive(Clone, Debug, Default)]
pub struct Tensor {
    batch: usize,
    shape: SampleShape,
    /// As many as any batch had: to shorten it would mean to fill it again.
    buffer: Vec<f32>,
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        (self.batch, self.shape) == (other.batch, other.shape) && self.values() == other.values()
    }
}

impl Tensor {
    /// A batch of zeros.
    pub fn zeros(batch: usize, shape: SampleShape) -> Self {
        Self { batch, shape, buffer: vec![0.0; batch * shape.len()] }
    }

    /// A batch from its values, sample by sample, channels innermost.
    ///
    /// # Panics
    /// If the values are not a whole number of samples.
    pub fn from_values(shape: SampleShape, values: Vec<f32>) -> Self {
        assert!(
            !shape.is_empty() && values.len().is_multiple_of(shape.len()),
            "{} values are not a whole number of samples of {shape}",
            values.len()
        );
        Self { batch: values.len() / shape.len(), shape, buffer: values }
    }

    /// Sets the batch size and shape. The values are unspecified until the caller writes them.
    pub fn resize(&mut self, batch: usize, shape: SampleShape) {
        self.batch = batch;
        self.shape = shape;
        let len = batch * shape.len();
        if self.buffer.len() < len {
            self.buffer.resize(len, 0.0);
        }
    }

    /// Copies another tensor into its own buffer.
    pub fn copy_from(&mut self, other: &Self) {
        self.resize(other.batch, other.shape);
        self.values_mut().copy_from_slice(other.values());
    }

    /// Number of samples.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// SampleShape of one sample.
    pub fn shape(&self) -> SampleShape {
        self.shape
    }

    /// All values.
    pub fn values(&self) -> &[f32] {
        &self.buffer[..self.batch * self.shape.len()]
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[..self.batch * self.shape.len()]
    }

    /// The values of one sample.
    pub fn sample(&self, index: usize) -> &[f32] {
        &self.values()[index * self.shape.len()..][..self.shape.len()]
    }
}
