//! Trials with networks: from a spec to a trained network in the folder of a store, and back from there.
//!
//! [`train_in`] trains one; [`Opened`] is one that lies in a store.

mod catalogue;
mod features;
mod layers;
mod opened;
mod run;
mod trial;

pub use catalogue::{CATALOGUE, Shipped};
pub use features::{Access, FeatureError, Flow};
pub use layers::{ArrayWeights, LayerWeights};
pub use opened::{Damage, Exported, Opened, export};
pub use run::{Place, RunError, Trained, train_in};
pub use trial::{Origin, Parts, Trial, TrialError};
