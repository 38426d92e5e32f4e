//! TensorBoard's event files, written directly.
//!
//! A file is a sequence of TFRecords, each a protocol-buffer message `Event`:
//!
//! ```text
//! TFRecord:  length u64 | masked crc32c of length | data | masked crc32c of data        little endian
//! Event:     wall_time = 1: double, step = 2: int64, file_version = 3: string, summary = 5: Summary
//! Summary:   value = 1: repeated Value
//! Value:     tag = 1: string, simple_value = 2: float, histo = 5: HistogramProto
//! HistogramProto:  min, max, num, sum, sum_squares = 1 to 5: double, bucket_limit = 6, bucket = 7: packed double
//! ```
//!
//! Events of the same shape have the same length at any time, so a run that is truncated and resumed puts its bytes
//! at the same offsets.

use super::histogram::Histogram;
use crate::checksum::masked;

/// A protocol-buffer message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Field number and wire type: 0 varint, 1 eight bytes, 2 a length and bytes, 5 four bytes.
    fn tag(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    fn integer(mut self, field: u64, value: u64) -> Self {
        self.tag(field, 0);
        self.varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Self {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.tag(field, 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn doubles(self, field: u64, values: impl Iterator<Item = f64>) -> Self {
        self.bytes(field, &values.flat_map(f64::to_le_bytes).collect::<Vec<_>>())
    }
}

/// The values shown for one step.
#[derive(Default)]
pub struct EventSummary(Message);

impl EventSummary {
    /// A number under a name.
    pub fn scalar(self, tag: &str, value: f64) -> Self {
        self.value(&Message::default().bytes(1, tag.as_bytes()).float(2, value as f32))
    }

    /// A distribution under a name.
    pub fn histogram(self, tag: &str, histogram: &Histogram) -> Self {
        let Histogram { min, max, sum, sum_squares, limits, counts, .. } = histogram;
        let histo = Message::default()
            .double(1, *min)
            .double(2, *max)
            .double(3, histogram.len() as f64)
            .double(4, *sum)
            .double(5, *sum_squares)
            .doubles(6, limits.iter().copied())
            .doubles(7, counts.iter().map(|&n| n as f64));
        self.value(&Message::default().bytes(1, tag.as_bytes()).bytes(5, &histo.0))
    }

    fn value(self, value: &Message) -> Self {
        Self(self.0.bytes(1, &value.0))
    }

    /// The record of this summary. `wall_time_s` counts from 1970.
    pub fn record(&self, step: u64, wall_time_s: f64) -> Vec<u8> {
        frame(&Message::default().double(1, wall_time_s).integer(2, step).bytes(5, &self.0.0).0)
    }
}

/// The record every event file begins with.
pub(super) fn header(wall_time_s: f64) -> Vec<u8> {
    frame(&Message::default().double(1, wall_time_s).bytes(3, b"brain.Event:2").0)
}

fn frame(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length, &masked(&length).to_le_bytes()[..], data, &masked(data).to_le_bytes()].concat()
}
