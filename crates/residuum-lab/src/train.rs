//! Experiments with networks: from a spec to trained networks, their curves and tables.
//!
//! [`train`] runs one trial of an [`Experiment`](crate::spec::Experiment) with one seed; [`Comparison`] puts the records of
//! many side by side; [`Opened`] is a run that lies in a folder.

mod catalogue;
mod comparison;
mod features;
mod kept;
mod layers;
mod run;
mod trial;

pub use catalogue::{CATALOGUE, Shipped};
pub(crate) use comparison::tail;
pub use comparison::{Comparison, Curve};
pub use features::{FeatureError, Flow};
pub use layers::{ArrayWeights, LayerWeights};
pub use run::{Exported, Opened, RunError, RunManifest, Source, Trained, export, train, train_in};
pub use trial::{Origin, Parts, Trial, TrialError};
