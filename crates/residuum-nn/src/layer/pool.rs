//! Pooling: the largest or the mean value of a window, by channel.

use std::ops::Range;

use rayon::prelude::*;
use residuum::threads;

use super::{Geometry, Layer, Pass, ShapeError, no_tensors};
use crate::kernel::vectorized;
use crate::{SampleShape, Tensor, TrainStepError};

/// The reduction over a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The largest value; padding never wins. The error goes to the first of equal values.
    Max,
    /// The mean; padding counts as zeros, as in PyTorch.
    Average,
}

/// Pooling over sliding windows.
#[derive(Clone, Debug)]
pub struct Pool2d {
    reduce: Reduce,
    geometry: Geometry,
    /// Where the largest values were: positions of the image.
    winners: Vec<u32>,
}

no_tensors!(Pool2d, GlobalAvgPool);

impl Pool2d {
    /// A pool. Its padding must be at most half its window, so that every window meets the image, and its window without
    /// dilation.
    ///
    /// # Panics
    /// If the padding is larger, or the window dilated.
    pub fn new(reduce: Reduce, geometry: Geometry) -> Self {
        let Geometry { height, width, padding, dilation, .. } = geometry;
        let fits = 2 * padding[0] <= height && 2 * padding[1] <= width;
        assert!(fits, "the padding must be at most half the window, got {padding:?}");
        assert_eq!(dilation, [1; 2], "a pool has no dilation");
        Self { reduce, geometry, winners: Vec::new() }
    }

    /// Calls `visit(output position, its window)` for every output position.
    #[inline(always)]
    fn windows(
        geometry: Geometry,
        image: SampleShape,
        out: SampleShape,
        mut visit: impl FnMut(usize, &Window),
    ) {
        let clip = |axis: usize, index: usize, kernel: usize, size: usize| {
            let (start, padding) = (index * geometry.stride[axis], geometry.padding[axis]);
            start.saturating_sub(padding)..(start + kernel - padding).min(size)
        };
        for y in 0..out.height {
            let rows = clip(0, y, geometry.height, image.height);
            for x in 0..out.width {
                let cols = clip(1, x, geometry.width, image.width);
                visit(y * out.width + x, &Window { rows: rows.clone(), cols, width: image.width });
            }
        }
    }

    fn mean_factor(&self) -> f32 {
        1.0 / (self.geometry.height * self.geometry.width) as f32
    }
}

impl Layer for Pool2d {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        let expected = self.geometry.least_image();
        self.geometry.output(input, input.channels).ok_or(ShapeError {
            layer: "a pool",
            expected,
            given: input,
        })
    }

    fn held(&self, input: SampleShape, _: bool) -> usize {
        // The winners.
        self.geometry.output(input, input.channels).map_or(0, |out| out.len())
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        let (image, geometry) = (input.shape(), self.geometry);
        let out = geometry.output(image, image.channels).expect("shapes are checked when a network is built");
        output.resize(input.batch(), out);
        self.winners.resize(input.batch() * out.len(), 0);
        let (channels, share, reduce) = (image.channels, self.mean_factor(), self.reduce);
        let sample = |((y, winners), x): ((&mut [f32], &mut [u32]), &[f32])| {
            vectorized(
                #[inline(always)]
                || {
                    // Inlined for certain: as a function of its own it has no vectors of the machine.
                    Self::windows(
                        geometry,
                        image,
                        out,
                        #[inline(always)]
                        |to, window| {
                            let y = &mut y[to * channels..][..channels];
                            if reduce == Reduce::Average {
                                y.fill(0.0);
                                window.each(|from| {
                                    let x = &x[from * channels..][..channels];
                                    for c in 0..channels {
                                        y[c] += share * x[c];
                                    }
                                });
                                return;
                            }
                            let winners = &mut winners[to * channels..][..channels];
                            let whole = channels / LANES * LANES;
                            for c in (0..whole).step_by(LANES) {
                                window.largest::<LANES>(&x[c..], channels, &mut y[c..], &mut winners[c..]);
                            }
                            for c in whole..channels {
                                window.largest::<1>(&x[c..], channels, &mut y[c..], &mut winners[c..]);
                            }
                        },
                    );
                },
            );
        };
        let (threads, some) = samples_per_task(input);
        let outputs = output.values_mut().par_chunks_mut(some * out.len());
        let outputs = outputs.zip(self.winners.par_chunks_mut(some * out.len()));
        let tasks = outputs.zip(input.values().par_chunks(some * image.len()));
        threads::each(threads, tasks, |((y, winners), x): ((&mut [f32], &mut [u32]), &[f32])| {
            let outputs = y.chunks_exact_mut(out.len()).zip(winners.chunks_exact_mut(out.len()));
            outputs.zip(x.chunks_exact(image.len())).for_each(sample);
        });
    }

    fn backward(
        &mut self,
        input: &Tensor,
        output: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        _: Pass,
    ) -> Result<(), TrainStepError> {
        let Some(input_errors) = input_errors else { return Ok(()) };
        let (image, out, geometry) = (input.shape(), output.shape(), self.geometry);
        input_errors.resize(input.batch(), image);
        let (channels, share, reduce) = (image.channels, self.mean_factor(), self.reduce);
        let sample = |((x, winners), e): ((&mut [f32], &[u32]), &[f32])| {
            x.fill(0.0);
            if reduce == Reduce::Max {
                for (e, winners) in e.chunks_exact(channels).zip(winners.chunks_exact(channels)) {
                    for c in 0..channels {
                        x[winners[c] as usize * channels + c] += e[c];
                    }
                }
            } else {
                Self::windows(geometry, image, out, |from, window| {
                    let e = &e[from * channels..][..channels];
                    window.each(|to| {
                        let x = &mut x[to * channels..][..channels];
                        for c in 0..channels {
                            x[c] += share * e[c];
                        }
                    });
                });
            }
        };
        let (threads, some) = samples_per_task(input);
        let inputs = input_errors.values_mut().par_chunks_mut(some * image.len());
        let inputs = inputs.zip(self.winners.par_chunks(some * out.len()));
        let tasks = inputs.zip(errors.values().par_chunks(some * out.len()));
        threads::each(threads, tasks, |((x, winners), e): ((&mut [f32], &[u32]), &[f32])| {
            let inputs = x.chunks_exact_mut(image.len()).zip(winners.chunks_exact(out.len()));
            inputs.zip(e.chunks_exact(out.len())).for_each(sample);
        });
        Ok(())
    }
}

/// Channels whose largest values are kept in registers.
const LANES: usize = 8;

/// The part of a window that lies inside the image.
struct Window {
    rows: Range<usize>,
    cols: Range<usize>,
    /// Of the image.
    width: usize,
}

impl Window {
    /// Visits its positions in the image.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(usize)) {
        for row in self.rows.clone() {
            for col in self.cols.clone() {
                visit(row * self.width + col);
            }
        }
    }

    /// The largest values of the first `N` of `channels` channels, and where they are.
    #[inline(always)]
    fn largest<const N: usize>(&self, x: &[f32], channels: usize, y: &mut [f32], winners: &mut [u32]) {
        let (mut most, mut won) = ([f32::NEG_INFINITY; N], [0; N]);
        // No closure: it would keep both from registers.
        for row in self.rows.clone() {
            for col in self.cols.clone() {
                let from = row * self.width + col;
                let Some(x) = x[from * channels..].first_chunk::<N>() else { continue };
                let (before, before_won) = (most, won);
                for c in 0..N {
                    let wins = (x[c] > before[c]) | x[c].is_nan();
                    most[c] = if wins { x[c] } else { before[c] };
                    won[c] = if wins { from as u32 } else { before_won[c] };
                }
            }
        }
        y[..N].copy_from_slice(&most);
        winners[..N].copy_from_slice(&won);
    }
}

/// What a value of the image costs, in multiply–adds.
const VALUE: usize = 8;

/// How many threads all samples are worth, and how many samples each takes.
fn samples_per_task(input: &Tensor) -> (usize, usize) {
    let threads = threads::worth(VALUE * input.values().len());
    (threads, input.batch().div_ceil(threads).max(1))
}

/// The mean over all positions, by channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalAvgPool;

impl Layer for GlobalAvgPool {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Ok(SampleShape::flat(input.channels))
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        let SampleShape { channels, .. } = input.shape();
        output.resize(input.batch(), SampleShape::flat(channels));
        let share = 1.0 / input.shape().positions() as f32;
        for (b, y) in output.values_mut().chunks_exact_mut(channels).enumerate() {
            y.fill(0.0);
            for x in input.sample(b).chunks_exact(channels) {
                y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
            }
            for y in y {
                *y *= share;
            }
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        _: Pass,
    ) -> Result<(), TrainStepError> {
        let Some(input_errors) = input_errors else { return Ok(()) };
        let shape = input.shape();
        input_errors.resize(input.batch(), shape);
        let share = 1.0 / shape.positions() as f32;
        for (b, image) in input_errors.values_mut().chunks_exact_mut(shape.len()).enumerate() {
            for x in image.chunks_exact_mut(shape.channels) {
                x.iter_mut().zip(errors.sample(b)).for_each(|(x, e)| *x = share * e);
            }
        }
        Ok(())
    }
}
