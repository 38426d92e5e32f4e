//! Unfolding images into rows: one row for each position of a sliding window, and the transpose of that.
//!
//! A row holds the window in the order (row, column, channel), so that an image with its channels innermost is copied in
//! runs. Positions outside the image are zeros.

use super::Geometry;
use crate::{SampleShape, kernel};

/// The geometry of a window sliding over images of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patches {
    pub image: SampleShape,
    pub out: SampleShape,
    pub geometry: Geometry,
}

impl Patches {
    /// Values of one window.
    pub fn window(&self) -> usize {
        self.geometry.positions() * self.image.channels
    }

    /// Whether the unfolded image is the image itself.
    pub fn trivial(&self) -> bool {
        let Geometry { height, width, stride, padding, .. } = self.geometry;
        (height, width, stride, padding) == (1, 1, [1; 2], [0; 2])
    }

    /// The values of a window that fall inside the image along one axis (0 for rows) for output position `out`: their range,
    /// and the image position of the first.
    #[inline(always)]
    fn inside(&self, axis: usize, out: usize) -> (usize, usize, usize) {
        let (size, kernel) = match axis {
            0 => (self.image.height, self.geometry.height),
            _ => (self.image.width, self.geometry.width),
        };
        let Geometry { stride, padding, dilation, .. } = &self.geometry;
        let dilation = dilation[axis].cast_signed();
        let start = (out * stride[axis]).cast_signed() - padding[axis].cast_signed();
        // The first value at or after `position`. Almost every window is dense, and a division for each would take as long as its copy.
        let reached = |position: isize| {
            let values = if dilation == 1 {
                position - start
            } else {
                (position - start + dilation - 1).div_euclid(dilation)
            };
            values.clamp(0, kernel.cast_signed()).cast_unsigned()
        };
        let (first, last) = (reached(0), reached(size.cast_signed()));
        let begin = start + dilation * first.cast_signed();
        (first, last.max(first), begin.max(0).cast_unsigned())
    }

    /// Whether the values of a window's row lie side by side in the image.
    fn is_dense(&self) -> bool {
        self.geometry.dilation[1] == 1
    }

    /// Unfolds a batch of images: `rows` is `batch · positions × window`.
    pub fn unfold(&self, images: &[f32], rows: &mut [f32]) {
        // One strip is the windows of one output row.
        let strip = self.out.width * self.window();
        let bare = self.geometry.padding == [0; 2] && self.is_dense();
        let run = if bare { self.geometry.width * self.image.channels } else { 0 };
        kernel::for_rows(rows, strip, |first, strips| {
            for (index, strip) in strips.chunks_exact_mut(strip).enumerate() {
                let (sample, y) = ((first + index) / self.out.height, (first + index) % self.out.height);
                let image = &images[sample * self.image.len()..][..self.image.len()];
                match run {
                    3 => self.unfold_short::<3>(image, y, strip),
                    5 => self.unfold_short::<5>(image, y, strip),
                    7 => self.unfold_short::<7>(image, y, strip),
                    _ => self.unfold_strip(image, y, strip),
                }
            }
        });
    }

    /// The windows of output row `y`, without padding, a row of which is `RUN` values: so few that to look for where they are would take
    /// longer than to copy them.
    fn unfold_short<const RUN: usize>(&self, image: &[f32], y: usize, strip: &mut [f32]) {
        let Geometry { height, stride, dilation, .. } = self.geometry;
        let width = self.image.width * self.image.channels;
        for dy in 0..height {
            let line = &image[(y * stride[0] + dy * dilation[0]) * width..][..width];
            let runs = line.windows(RUN).step_by(stride[1] * self.image.channels);
            let windows = strip[dy * RUN..].chunks_mut(self.window());
            for (from, to) in runs.zip(windows) {
                to[..RUN].copy_from_slice(&from[..RUN]);
            }
        }
    }

    /// The windows of output row `y`.
    fn unfold_strip(&self, image: &[f32], y: usize, strip: &mut [f32]) {
        let (window, channels) = (self.window(), self.image.channels);
        let run = self.geometry.width * channels;
        let step = self.geometry.dilation[1] * channels;
        let (dy_first, dy_last, row) = self.inside(0, y);
        for x in 0..self.out.width {
            let (dx_first, dx_last, col) = self.inside(1, x);
            let whole = self.is_dense() && dx_last - dx_first == self.geometry.width;
            for dy in 0..self.geometry.height {
                let line = &mut strip[x * window + dy * run..];
                if dy < dy_first || dy >= dy_last {
                    line[..run].fill(0.0);
                    continue;
                }
                let row = row + (dy - dy_first) * self.geometry.dilation[0];
                let from = (row * self.image.width + col) * channels;
                if whole {
                    copy(&image[from..], line, run);
                    continue;
                }
                let (left, rest) = line[..run].split_at_mut(dx_first * channels);
                let (middle, right) = rest.split_at_mut((dx_last - dx_first) * channels);
                left.fill(0.0);
                right.fill(0.0);
                if self.is_dense() {
                    middle.copy_from_slice(&image[from..][..middle.len()]);
                    continue;
                }
                for (i, value) in middle.chunks_exact_mut(channels).enumerate() {
                    value.copy_from_slice(&image[from + i * step..][..channels]);
                }
            }
        }
    }

    /// The transpose of [`Patches::unfold`]: adds every value of every window to the position it came from.
    pub fn fold(&self, rows: &[f32], images: &mut [f32]) {
        let (window, channels) = (self.window(), self.image.channels);
        let run = self.geometry.width * channels;
        let step = self.geometry.dilation[1] * channels;
        let per_image = self.out.positions() * window;
        kernel::for_blocks(images, self.image.len(), VALUE * rows.len(), |first, images| {
            for (index, image) in images.chunks_exact_mut(self.image.len()).enumerate() {
                image.fill(0.0);
                let rows = &rows[(first + index) * per_image..][..per_image];
                for (position, window) in rows.chunks_exact(window).enumerate() {
                    let (y, x) = (position / self.out.width, position % self.out.width);
                    let ((dy_first, dy_last, row), (dx_first, dx_last, col)) =
                        (self.inside(0, y), self.inside(1, x));
                    let length = (dx_last - dx_first) * channels;
                    for dy in dy_first..dy_last {
                        let row = row + (dy - dy_first) * self.geometry.dilation[0];
                        let to = (row * self.image.width + col) * channels;
                        let line = &window[dy * run + dx_first * channels..][..length];
                        if self.is_dense() {
                            image[to..][..length]
                                .iter_mut()
                                .zip(line)
                                .for_each(|(pixel, value)| *pixel += value);
                            continue;
                        }
                        for (i, values) in line.chunks_exact(channels).enumerate() {
                            let pixels = image[to + i * step..][..channels].iter_mut();
                            pixels.zip(values).for_each(|(pixel, value)| *pixel += value);
                        }
                    }
                }
            }
        });
    }
}

/// What a value of a window costs on its way back, in multiply–adds.
const VALUE: usize = 4;
/// Values that one move of a vector copies.
const VECTOR: usize = 8;

/// Copies the first `n` values. Where there is room for a whole vector, a short run takes one move instead of a call, and what it
/// writes beyond the run is overwritten by the runs that follow.
#[inline(always)]
fn copy(from: &[f32], to: &mut [f32], n: usize) {
    match (from.first_chunk::<VECTOR>(), to.first_chunk_mut::<VECTOR>()) {
        (Some(from), Some(to)) if n <= VECTOR => *to = *from,
        _ => to[..n].copy_from_slice(&from[..n]),
    }
}
