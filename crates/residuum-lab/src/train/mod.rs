//! Trials with networks: from a spec to a trained network in the folder of a store, and back from there.
//!
//! [`train_in`] trains one; [`Opened`] is one loaded from a store. [`TileMatrix`] is one layer for a training loop elsewhere.

mod after;
mod catalogue;
mod features;
mod layers;
mod matrix;
mod opened;
mod run;
mod trial;

pub use after::{AfterTime, Aged, parse_time, time_words};
pub use catalogue::{CATALOGUE, Shipped};
pub use features::{Access, FeatureError, Flow};
pub use layers::{ArrayWeights, LayerWeights};
pub use matrix::{Scaled, TileMatrix};
pub use opened::{Damage, Exported, Opened, export};
pub use run::{NetworkError, Trained, TrialFolders, train_in};
pub use trial::{NetworkParts, NetworkTrial, TrialError, WeightsFrom};
