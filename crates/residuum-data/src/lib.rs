//! Data sets: labelled images, tables and arrays in memory, transforms, and the order of samples.
//!
//! ```
//! use residuum::Key;
//! use residuum_data::{Batches, Pipeline, Transform, embedded};
//!
//! let digits = embedded::digits()?;
//! let pipeline = Pipeline::new(&digits.train, &[Transform::FlipHorizontal { probability: 0.5 }])?;
//! let batches = Batches::new(digits.train, pipeline, 10, Key::new(7))?.shuffled();
//! for batch in batches.epoch(0) {
//!     assert_eq!(batch.images.len(), batch.labels.len() * 64);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Order and transforms depend on a [`Key`](residuum::Key), the epoch and the index of the sample, never on threads:
//! batches prepared ahead by [`Prefetch`] have the same bits.

mod batches;
pub mod catalogue;
mod check;
mod cifar;
mod dataset;
pub mod disk;
pub mod embedded;
mod error;
pub mod fetch;
pub mod files;
pub mod idx;
mod prefetch;
mod resize;
mod transform;

pub use batches::{Batch, Batches, Epoch};
pub use catalogue::load;
pub use check::Verified;
pub use cifar::Cifar;
pub use dataset::{ChannelStatistics, Dataset, Description, Goals, ImageShape, Sample, Split};
pub use error::DataError;
pub use prefetch::Prefetch;
pub use transform::{Pipeline, Transform};
