//! Bilinear resizing with pixels as squares: the centre of output pixel i lies at s = (i + ½)·in/out − ½ of the
//! input, and the ends repeat. This is PyTorch's `interpolate(mode="bilinear", align_corners=False)`, without
//! anti-aliasing.

use super::ImageShape;

/// A prepared resizing from one size to another.
#[derive(Clone, Debug)]
pub(super) struct Resize {
    from: ImageShape,
    to: ImageShape,
    rows: Vec<Tap>,
    columns: Vec<Tap>,
}

/// The two input positions an output position lies between, and how far it is from the first.
#[derive(Clone, Copy, Debug)]
struct Tap {
    low: usize,
    high: usize,
    fraction: f32,
}

impl Resize {
    pub(super) fn new(from: ImageShape, height: usize, width: usize) -> Self {
        let to = ImageShape { height, width, ..from };
        Self { from, to, rows: taps(from.height, height), columns: taps(from.width, width) }
    }

    /// Across first, into `lines`, then down: every row is widened once, and rows are mixed whole.
    pub(super) fn apply(&self, image: &[f32], out: &mut [f32], lines: &mut Vec<f32>) {
        let channels = self.from.channels;
        let (narrow, wide) = (self.from.width * channels, self.to.width * channels);
        lines.resize(self.from.height * wide, 0.0);
        for (row, line) in image.chunks_exact(narrow).zip(lines.chunks_exact_mut(wide)) {
            for (column, pixel) in self.columns.iter().zip(line.chunks_exact_mut(channels)) {
                let (left, right) = (&row[column.low * channels..], &row[column.high * channels..]);
                for ((value, l), r) in pixel.iter_mut().zip(left).zip(right) {
                    *value = lerp(*l, *r, column.fraction);
                }
            }
        }
        for (row, line) in self.rows.iter().zip(out.chunks_exact_mut(wide)) {
            let (above, below) = (&lines[row.low * wide..][..wide], &lines[row.high * wide..][..wide]);
            for ((value, a), b) in line.iter_mut().zip(above).zip(below) {
                *value = lerp(*a, *b, row.fraction);
            }
        }
    }
}

#[inline(always)]
fn lerp(a: f32, b: f32, fraction: f32) -> f32 {
    (1.0 - fraction) * a + fraction * b
}

fn taps(from: usize, to: usize) -> Vec<Tap> {
    let scale = from as f32 / to as f32;
    let tap = |i: usize| {
        let source = (scale * (i as f32 + 0.5) - 0.5).max(0.0);
        let low = (source as usize).min(from - 1);
        Tap { low, high: (low + 1).min(from - 1), fraction: source - low as f32 }
    };
    (0..to).map(tap).collect()
}
