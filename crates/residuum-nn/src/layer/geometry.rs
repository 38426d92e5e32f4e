//! Sliding windows: their size, and the positions they take.

use crate::SampleShape;

/// A sliding window. Pairs are (rows, columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of the window.
    pub height: usize,
    /// Columns of the window.
    pub width: usize,
    /// Positions between windows.
    pub stride: [usize; 2],
    /// Positions added on every side of the image: zeros for a convolution, nothing for a pool.
    pub padding: [usize; 2],
    /// Positions between neighbouring values of a window.
    pub dilation: [usize; 2],
}

impl Geometry {
    /// A square window.
    pub const fn square(size: usize, stride: usize, padding: usize) -> Self {
        Self { height: size, width: size, stride: [stride; 2], padding: [padding; 2], dilation: [1; 2] }
    }

    /// A window over a sequence: an image of one row.
    pub const fn line(size: usize, stride: usize, padding: usize) -> Self {
        Self { height: 1, width: size, stride: [1, stride], padding: [0, padding], dilation: [1; 2] }
    }

    /// The same window with other distances between its values; those of a row of height 1 do not matter.
    pub const fn dilated(self, by: usize) -> Self {
        Self { dilation: [by; 2], ..self }
    }

    /// Values of a window in one channel.
    pub const fn positions(&self) -> usize {
        self.height.saturating_mul(self.width)
    }

    /// Rows and columns from the first to the last value of a window.
    pub const fn reach(&self) -> [usize; 2] {
        [
            (self.height - 1).saturating_mul(self.dilation[0]).saturating_add(1),
            (self.width - 1).saturating_mul(self.dilation[1]).saturating_add(1),
        ]
    }

    /// Windows over an image of this shape, or `None` if no window fits.
    pub fn output(&self, image: SampleShape, channels: usize) -> Option<SampleShape> {
        let [rows, columns] = self.reach();
        let count = |axis: usize, size: usize, reach: usize| {
            let room = size.saturating_add(self.padding[axis].saturating_mul(2)).checked_sub(reach)?;
            Some((room / self.stride[axis]).saturating_add(1))
        };
        Some(SampleShape::image(count(0, image.height, rows)?, count(1, image.width, columns)?, channels))
    }

    /// What an image must have, for an error.
    pub(crate) fn least_image(&self) -> String {
        let ([rows, columns], [above, beside]) = (self.reach(), self.padding);
        format!("at least {rows}×{columns} positions, {above}×{beside} of padding on every side included")
    }
}
