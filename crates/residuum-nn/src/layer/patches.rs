//! Unfolding images into rows: one row for each position of a sliding window, and the transpose of that.
//!
//! A row holds the window in the order (row, column, channel), so that an image with its channels innermost is copied in
//! runs. Positions outside the image are zeros.

use super::Geometry;
use crate::{Shape, kernel};

/// The geometry of a window sliding over images of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patches {
    pub image: Shape,
    pub out: Shape,
    pub geometry: Geometry,
}

impl Patches {
    /// Values of one window.
    pub fn window(&self) -> usize {
        self.geometry.height * self.geometry.width * self.image.channels
    }

    /// Whether the unfolded image is the image itself.
    pub fn trivial(&self) -> bool {
        let Geometry { height, width, stride, padding } = self.geometry;
        (height, width, stride, padding) == (1, 1, 1, 0)
    }

    /// The columns of a kernel row that fall inside the image for output column `x`: `dx` range and the image column of
    /// the first.
    #[inline(always)]
    fn inside(out: usize, size: usize, kernel: usize, geometry: &Geometry) -> (usize, usize, usize) {
        let start = (out * geometry.stride).cast_signed() - geometry.padding.cast_signed();
        let first = (-start).clamp(0, kernel.cast_signed()).cast_unsigned();
        let last = (size.cast_signed() - start).clamp(0, kernel.cast_signed()).cast_unsigned();
        (first, last.max(first), start.max(0).cast_unsigned())
    }

    /// Unfolds a batch of images: `rows` is `batch · positions × window`.
    pub fn unfold(&self, images: &[f32], rows: &mut [f32]) {
        let (window, channels) = (self.window(), self.image.channels);
        let run = self.geometry.width * channels;
        // One strip is the windows of one output row.
        let strip = self.out.width * window;
        kernel::for_rows(rows, strip, |first, strips| {
            for (index, strip) in strips.chunks_exact_mut(strip).enumerate() {
                let (sample, y) = ((first + index) / self.out.height, (first + index) % self.out.height);
                let image = &images[sample * self.image.len()..][..self.image.len()];
                let (dy_first, dy_last, row) =
                    Self::inside(y, self.image.height, self.geometry.height, &self.geometry);
                for (x, window) in strip.chunks_exact_mut(window).enumerate() {
                    let (dx_first, dx_last, col) =
                        Self::inside(x, self.image.width, self.geometry.width, &self.geometry);
                    let length = (dx_last - dx_first) * channels;
                    for (dy, line) in window.chunks_exact_mut(run).enumerate() {
                        if dy < dy_first || dy >= dy_last {
                            line.fill(0.0);
                            continue;
                        }
                        let from = ((row + dy - dy_first) * self.image.width + col) * channels;
                        let (left, rest) = line.split_at_mut(dx_first * channels);
                        let (middle, right) = rest.split_at_mut(length);
                        left.fill(0.0);
                        middle.copy_from_slice(&image[from..][..length]);
                        right.fill(0.0);
                    }
                }
            }
        });
    }

    /// The transpose of [`Patches::unfold`]: adds every value of every window to the position it came from.
    pub fn fold(&self, rows: &[f32], images: &mut [f32]) {
        let (window, channels) = (self.window(), self.image.channels);
        let run = self.geometry.width * channels;
        let per_image = self.out.positions() * window;
        kernel::for_blocks(images, self.image.len(), |first, images| {
            for (index, image) in images.chunks_exact_mut(self.image.len()).enumerate() {
                image.fill(0.0);
                let rows = &rows[(first + index) * per_image..][..per_image];
                for (position, window) in rows.chunks_exact(window).enumerate() {
                    let (y, x) = (position / self.out.width, position % self.out.width);
                    let (dy_first, dy_last, row) =
                        Self::inside(y, self.image.height, self.geometry.height, &self.geometry);
                    let (dx_first, dx_last, col) =
                        Self::inside(x, self.image.width, self.geometry.width, &self.geometry);
                    let length = (dx_last - dx_first) * channels;
                    for dy in dy_first..dy_last {
                        let to = ((row + dy - dy_first) * self.image.width + col) * channels;
                        let from = dy * run + dx_first * channels;
                        for (pixel, value) in image[to..][..length].iter_mut().zip(&window[from..][..length]) {
                            *pixel += value;
                        }
                    }
                }
            }
        });
    }
}
