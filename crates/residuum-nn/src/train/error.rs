//! Why a run cannot start or continue.

use std::io;
use std::path::PathBuf;

use residuum::ParameterError;
use thiserror::Error;

use crate::model::MAX_LOSS;
use crate::state::{StateError, TensorFileError};
use crate::{SampleShape, TrainStepError};

/// Why a run cannot start or continue. Earlier checkpoints are left unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// An invalid parameter of the run.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Images of the wrong shape.
    #[error("the network takes {expected}, but the {what} data gives {given}")]
    Shape {
        /// `training` or `test`.
        what: &'static str,
        /// What the network takes.
        expected: SampleShape,
        /// What the data gives.
        given: SampleShape,
    },
    /// More classes than the network has scores for.
    #[error("the network must have a score for each of the {classes} classes of the {what} data, got {given}")]
    Classes {
        /// `training` or `test`.
        what: &'static str,
        /// Classes of the data.
        classes: usize,
        /// Scores of the network.
        given: usize,
    },
    /// Classes for a loss of values, or the other way round.
    #[error("the {what} data must have labels for a loss of classes, and target values for a loss of values")]
    OtherGoal {
        /// `training` or `test`.
        what: &'static str,
    },
    /// The loss explodes, or the weights reject the step.
    #[error("epoch {epoch}: {source}")]
    Step {
        /// The epoch, counted from 1.
        epoch: u64,
        /// Which step, and why.
        source: TrainStepError,
    },
    /// The test loss explodes.
    #[error("the test loss must stay below {MAX_LOSS:e}, but after epoch {epoch} (step {k}) it is {value:e}")]
    TestDiverged {
        /// The epoch, counted from 1.
        epoch: u64,
        /// Steps done.
        k: u64,
        /// The loss.
        value: f64,
    },
    /// A file or folder of the run could not be read or written.
    #[error("{} must be readable and writable: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A checkpoint could not be written.
    #[error("the checkpoint after step {k} could not be written{}: {source}", kept_text(kept.as_ref()))]
    Checkpoint {
        /// Steps done.
        k: u64,
        /// The previous checkpoint, which is intact.
        kept: Option<PathBuf>,
        /// Why.
        source: TensorFileError,
    },
    /// Another process is using the directory.
    #[error("{} is in use by another run", directory.display())]
    Busy {
        /// The directory of the run.
        directory: PathBuf,
    },
    /// The directory already holds a run.
    #[error("{} must be empty or new, but holds a run; resume it, or choose another directory", directory.display())]
    AlreadyStarted {
        /// The directory of the run.
        directory: PathBuf,
    },
    /// Resuming a run without a directory.
    #[error("a run without a directory has no checkpoint to resume from; start it instead")]
    NoDirectory,
    /// Nothing to resume.
    #[error("{} holds no checkpoint to resume from; start the run instead", directory.display())]
    NoCheckpoint {
        /// The directory of the run.
        directory: PathBuf,
    },
    /// All checkpoints are damaged.
    #[error("no checkpoint in {} is intact; {} was tried last: {reason}", directory.display(), last.display())]
    AllDamaged {
        /// The directory of the run.
        directory: PathBuf,
        /// The oldest checkpoint.
        last: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint of an unknown format version.
    #[error("checkpoint {} must have format version {supported}, got {stored}", path.display())]
    Version {
        /// The checkpoint.
        path: PathBuf,
        /// The version of its format.
        stored: u32,
        /// The supported version.
        supported: u32,
    },
    /// A checkpoint of a run with another description.
    #[error(
        "checkpoint {} belongs to another run: line {line} of its description is {stored:?}, here it is {given:?}",
        path.display()
    )]
    OtherDescription {
        /// The checkpoint.
        path: PathBuf,
        /// The first line that differs, counted from 1.
        line: usize,
        /// That line in the checkpoint; empty beyond its end.
        stored: String,
        /// That line here; empty beyond its end.
        given: String,
    },
    /// A checkpoint of a run with another seed, other data or another batch size.
    #[error("checkpoint {} belongs to another run: its {what} is {stored}, here it is {given}", path.display())]
    OtherRun {
        /// The checkpoint.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// Its value in the checkpoint.
        stored: String,
        /// Its value here.
        given: String,
    },
    /// A checkpoint of another network.
    #[error("checkpoint {} belongs to another network: {source}", path.display())]
    OtherNetwork {
        /// The checkpoint.
        path: PathBuf,
        /// The tensor that does not fit.
        source: StateError,
    },
}

fn kept_text(kept: Option<&PathBuf>) -> String {
    kept.map_or_else(String::new, |path| format!(" (resume from {}, which is intact)", path.display()))
}

impl TrainError {
    /// For `map_err`: an I/O error at `path`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }
}
