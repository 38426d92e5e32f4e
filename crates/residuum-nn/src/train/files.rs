//! The directory of a run: metrics, events, checkpoints, and the lock that keeps a second run out.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use residuum_data::disk::open_own;

use super::checkpoint::{Contents, Identity, Position};
use super::events::{self, EventSummary};
use super::log::Log;
use super::{EpochRecord, Histogram, TrainError, Warning};
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints};
use crate::state::Tensors;

const METRICS: &str = "metrics.jsonl";
const EVENTS: &str = "events.out.tfevents.residuum";

/// The files of a run.
pub(super) struct Files {
    identity: Identity,
    metrics: Log,
    events: Log,
    checkpoints: Checkpoints<Contents>,
    /// Held, not read: the system releases it when the process ends for any reason.
    _lock: File,
}

/// Where a resumed run continues.
pub(super) struct Resumption {
    pub path: PathBuf,
    pub position: Position,
    pub state: Tensors,
    pub records: Vec<EpochRecord>,
}

impl Files {
    /// The files of a new run.
    pub fn create(directory: &Path, identity: Identity) -> Result<Self, TrainError> {
        fs::create_dir_all(directory).map_err(TrainError::io(directory))?;
        let lock = lock(directory)?;
        let checkpoints = checkpoints(directory);
        // The first checkpoint comes before the first record, so records without one belong to something else.
        let metrics = directory.join(METRICS);
        if !checkpoints.list().map_err(in_run(directory))?.is_empty()
            || fs::metadata(&metrics).is_ok_and(|file| file.len() > 0)
        {
            return Err(TrainError::AlreadyStarted { directory: directory.into() });
        }
        let metrics = Log::open(metrics, 0, |_| true, |_| ())?;
        let events = open_events(directory, 0, |_| ())?;
        Ok(Self { identity, metrics, events, checkpoints, _lock: lock })
    }

    /// The files of a run that continues from its newest intact checkpoint.
    pub fn reopen(
        directory: &Path,
        identity: Identity,
        mut warn: impl FnMut(&Warning),
    ) -> Result<(Self, Resumption), TrainError> {
        if !directory.is_dir() {
            return Err(TrainError::NoCheckpoint { directory: directory.into() });
        }
        let lock = lock(directory)?;
        let mut checkpoints = checkpoints(directory);
        let Checkpoint { path, position: Contents { identity: stored, position }, state } =
            newest(&mut checkpoints, directory, &mut warn)?;
        check_identity(&path, &stored, &identity)?;
        checkpoints.tidy();
        let mut records = Vec::new();
        let parse = |bytes: &[u8]| {
            let lines = bytes.split_inclusive(|&b| b == b'\n');
            lines.map(serde_json::from_slice).collect::<Result<Vec<EpochRecord>, _>>()
        };
        let sound = |bytes: &[u8]| parse(bytes).map(|read| records = read).is_ok();
        let metrics = Log::open(directory.join(METRICS), position.metrics_bytes, sound, &mut warn)?;
        let events = open_events(directory, position.events_bytes, &mut warn)?;
        let files = Self { identity, metrics, events, checkpoints, _lock: lock };
        Ok((files, Resumption { path, position, state, records }))
    }

    /// Records an epoch.
    pub fn record<'a>(
        &mut self,
        record: &EpochRecord,
        histograms: impl IntoIterator<Item = (&'a String, &'a Histogram)>,
    ) -> Result<(), TrainError> {
        let mut line = serde_json::to_vec(record)
            .map_err(|error| TrainError::Io { path: METRICS.into(), source: error.into() })?;
        line.push(b'\n');
        self.metrics.append(&line)?;
        let mut summary = EventSummary::default()
            .scalar("train/loss", record.train_loss)
            .scalar("train/accuracy", record.train_accuracy)
            .scalar("test/loss", record.test_loss)
            .scalar("test/accuracy", record.test_accuracy)
            .scalar("time/samples_per_second", record.samples_per_second);
        if let Some(rate) = record.learning_rate {
            summary = summary.scalar("learning_rate", rate);
        }
        for (layer, &pulses) in &record.pulses {
            summary = summary.scalar(&format!("pulses/{layer}"), pulses as f64);
        }
        for (layer, histogram) in histograms {
            summary = summary.histogram(&format!("weights/{layer}"), histogram);
            if histogram.range.is_some() {
                summary = summary.scalar(&format!("saturation/{layer}"), histogram.saturation());
            }
        }
        self.events.append(&summary.record(record.epoch, wall_time_s()))
    }

    /// Writes the loss of one batch for TensorBoard.
    pub fn batch_loss(&mut self, k: u64, loss: f64) -> Result<(), TrainError> {
        self.events.append(&EventSummary::default().scalar("batch/loss", loss).record(k, wall_time_s()))
    }

    /// Whether the newest checkpoint is that of `position`.
    pub fn holds(&self, position: &Position) -> bool {
        self.checkpoints.holds(&position.name())
    }

    /// The newest checkpoint.
    pub fn last_checkpoint(&self) -> Option<&PathBuf> {
        self.checkpoints.last()
    }

    /// Writes a checkpoint.
    pub fn checkpoint(&mut self, position: &mut Position, state: &Tensors) -> Result<&Path, TrainError> {
        position.metrics_bytes = self.metrics.sync()?;
        position.events_bytes = self.events.sync()?;
        let kept = self.checkpoints.last().cloned();
        let contents = Contents { identity: self.identity.clone(), position: position.clone() };
        self.checkpoints.write(&contents, state).map_err(|error| match error {
            CheckpointError::Write(source) => TrainError::Checkpoint { k: position.k, kept, source },
            other => in_run(Path::new(""))(other),
        })
    }
}

/// The checkpoints of the run in `directory`.
pub(super) fn checkpoints(directory: &Path) -> Checkpoints<Contents> {
    Checkpoints::new(directory.join("checkpoints"))
}

/// The newest intact checkpoint.
pub(super) fn newest(
    checkpoints: &mut Checkpoints<Contents>,
    directory: &Path,
    mut warn: impl FnMut(&Warning),
) -> Result<Checkpoint<Contents>, TrainError> {
    let damaged = |path: &Path, reason: &str| {
        warn(&Warning::DamagedCheckpoint { path: path.to_owned(), reason: reason.to_owned() });
    };
    let found = checkpoints.newest(damaged).map_err(in_run(directory))?;
    found.ok_or_else(|| TrainError::NoCheckpoint { directory: directory.to_owned() })
}

/// Converts a checkpoint error to an error of the run.
fn in_run(directory: &Path) -> impl Fn(CheckpointError) -> TrainError {
    let directory = directory.to_owned();
    move |error| match error {
        CheckpointError::Io { path, source } => TrainError::Io { path, source },
        CheckpointError::Version { path, stored, supported } => TrainError::Version { path, stored, supported },
        CheckpointError::AllDamaged { last, reason } => {
            TrainError::AllDamaged { directory: directory.clone(), last, reason }
        }
        CheckpointError::Write(source) => TrainError::Checkpoint { k: 0, kept: None, source },
    }
}

/// Keeps other processes out of the directory. A process that is being started shares the locks of the one that starts it for
/// a moment, so that a lock just released may still look taken: it is tried again for a while.
fn lock(directory: &Path) -> Result<File, TrainError> {
    let path = directory.join(".lock");
    let file = open_own(&path).map_err(TrainError::io(&path))?;
    for _ in 0..20 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(source)) => return Err(TrainError::Io { path, source }),
        }
    }
    Err(TrainError::Busy { directory: directory.into() })
}

fn open_events(directory: &Path, keep: u64, warn: impl FnOnce(&Warning)) -> Result<Log, TrainError> {
    let mut log = Log::open(directory.join(EVENTS), keep, |_| true, warn)?;
    if log.length() == 0 {
        log.append(&events::header(wall_time_s()))?;
    }
    Ok(log)
}

/// Seconds since 1970. TensorBoard wants them; no number of the run depends on them.
fn wall_time_s() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Reports what differs between the run of a checkpoint and this one.
fn check_identity(path: &Path, stored: &Identity, given: &Identity) -> Result<(), TrainError> {
    let path = path.to_owned();
    if stored.description != given.description {
        let (mut ours, mut theirs) = (given.description.lines(), stored.description.lines());
        for line in 1.. {
            let (theirs, ours) = (theirs.next(), ours.next());
            // Texts that differ only in their final line ending are reported after the last line.
            if theirs != ours || theirs.is_none() {
                let [stored, given] = [theirs, ours].map(|line| line.unwrap_or_default().to_owned());
                return Err(TrainError::OtherDescription { path, line, stored, given });
            }
        }
    }
    let differences = [
        ("key (the seed)", stored.key.clone(), given.key.clone()),
        ("number of training samples", stored.train_samples.to_string(), given.train_samples.to_string()),
        ("number of steps in an epoch", stored.steps_per_epoch.to_string(), given.steps_per_epoch.to_string()),
    ];
    match differences.into_iter().find(|(_, stored, given)| stored != given) {
        Some((what, stored, given)) => Err(TrainError::OtherRun { path, what, stored, given }),
        None => Ok(()),
    }
}
