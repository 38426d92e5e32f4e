//! Noise of the output lines, sample by sample.
//!
//! A sample reads from its own stream: seeding one costs as much as a hundred draws. Arrays with few outputs, as convolutions
//! have, meet thousands of samples, so there [`SHARING`] neighbours share a stream, each with its own part of it. Which draw a line
//! of a sample gets still depends on the key, the sample and the line alone.

use super::convert::Streams;
use crate::Key;
use crate::stream::{CHUNK, LANES, Stream};

/// Samples that share a stream where arrays are narrow.
const SHARING: usize = 8;

/// The draws of one bank, for samples in order.
pub(super) struct OutputNoise {
    key: Key,
    first: usize,
    round: u64,
    /// Draws kept for a sample of a narrow array; 0 for the others.
    part: usize,
    /// The samples whose draws are held.
    holds: Option<usize>,
    shared: [f32; SHARING * CHUNK],
    stream: Stream,
    /// Where the draws of the sample at hand begin.
    at: usize,
}

impl OutputNoise {
    /// For lines of `width` outputs.
    #[inline(always)]
    pub(super) fn new(streams: Streams, width: usize) -> Self {
        let narrow = [LANES, CHUNK].into_iter().find(|lines| width <= *lines);
        let Streams { noise: key, first, round, .. } = streams;
        let (shared, stream) = ([0.0; SHARING * CHUNK], Stream([[0; LANES]; 4]));
        Self { key, first, round, part: narrow.unwrap_or(0), holds: None, shared, stream, at: 0 }
    }

    /// Goes to a sample of the block.
    #[inline(always)]
    pub(super) fn start(&mut self, sample: usize) {
        let sample = self.first + sample;
        if self.part == 0 {
            self.stream = self.stream_of(sample);
            return;
        }
        let (group, place) = (sample / SHARING, sample % SHARING);
        if self.holds != Some(group) {
            self.holds = Some(group);
            let mut stream = self.stream_of(group);
            for chunk in self.shared[..SHARING * self.part].as_chunks_mut::<CHUNK>().0 {
                *chunk = stream.normals();
            }
        }
        self.at = place * self.part;
    }

    #[inline(always)]
    fn stream_of(&self, samples: usize) -> Stream {
        Stream::new(self.key.fold(samples as u64).fold(self.round))
    }

    /// The draws of the next `N` lines of the sample.
    #[inline(always)]
    pub(super) fn next<const N: usize>(&mut self) -> [f32; N] {
        let mut draws = [0.0; N];
        if self.part > 0 {
            draws.copy_from_slice(&self.shared[self.at..][..N]);
            return draws;
        }
        let (whole, rest) = draws.as_chunks_mut::<CHUNK>();
        for part in whole {
            *part = self.stream.normals();
        }
        if !rest.is_empty() {
            let normals = self.stream.normals();
            rest.copy_from_slice(&normals[..rest.len()]);
        }
        draws
    }
}
