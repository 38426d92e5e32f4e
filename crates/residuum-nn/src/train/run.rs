//! A run: steps, evaluation and checkpoints in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use residuum::Key;
use residuum::rule::Operations;

use super::checkpoint::{Identity, Position};
use super::evaluate::{Loaded, check_fit, tally};
use super::files::{Files, Resumption};
use super::{
    CheckpointPolicy, EpochRecord, Evaluation, Outcome, TrainError, Training, TrainingListener,
    TrainingSummary, pulse_ledger, weight_histograms,
};
use crate::Network;
use crate::checksum::checksum;
use crate::data::{Batches, Prefetch};
use crate::model::MAX_LOSS;
use crate::state::Scope;

/// A network, its data, and how to train it.
#[derive(Debug)]
pub struct Run<'a> {
    /// The network as built: a resumed run loads its state.
    pub network: &'a mut Network,
    /// Training data.
    pub train: &'a Batches,
    /// Test data, in the order of epoch 0.
    pub test: &'a Batches,
    /// Settings of the run.
    pub training: &'a Training,
    /// The source of draws in training and evaluation. Each has its own stream, so that what is evaluated, or how
    /// often, never changes what is learned.
    pub key: Key,
    /// Directory of the run's files; without it none are written, and the run cannot be resumed.
    pub directory: Option<&'a Path>,
    /// The canonical description of the run. Checkpoints store it and do not resume a run with another. What may change
    /// on resumption, such as the number of epochs, does not belong here.
    pub description: &'a str,
}

impl Run<'_> {
    /// Runs from the beginning.
    ///
    /// # Errors
    /// If network and data do not match, the directory holds a run or is not writable, or training fails.
    pub fn start(self, listener: &mut dyn TrainingListener) -> Result<TrainingSummary, TrainError> {
        self.check()?;
        let files = self.directory.map(|directory| Files::create(directory, self.identity())).transpose()?;
        let mut session = Session::new(self, files, Position::default(), Vec::new());
        // From here on the run can be resumed.
        session.checkpoint(listener)?;
        session.run(listener)
    }

    /// Continues from the newest intact checkpoint in the directory. A finished run returns its summary.
    ///
    /// # Errors
    /// As [`Run::start`], and if there is no checkpoint, or it belongs to another run.
    pub fn resume(self, listener: &mut dyn TrainingListener) -> Result<TrainingSummary, TrainError> {
        self.check()?;
        let directory = self.directory.ok_or(TrainError::NoDirectory)?;
        let (files, resumption) = Files::reopen(directory, self.identity(), |w| listener.warned(w))?;
        let Resumption { path, position, state, records } = resumption;
        self.network
            .load(Scope::Everything, &state)
            .map_err(|source| TrainError::OtherNetwork { path, source })?;
        listener.resumed(position.epoch + 1, position.step);
        Session::new(self, Some(files), position, records).run(listener)
    }

    fn check(&self) -> Result<(), TrainError> {
        self.training.validate()?;
        check_fit(self.network, self.train, "training")?;
        check_fit(self.network, self.test, "test")?;
        for (batches, what) in [(self.train, "training"), (self.test, "test")] {
            if batches.dataset().targets().is_some() != self.training.loss.is_regression() {
                return Err(TrainError::OtherGoal { what });
            }
        }
        Ok(())
    }

    fn identity(&self) -> Identity {
        Identity {
            description: self.description.to_owned(),
            description_crc32c: format!("{:08x}", checksum(self.description.as_bytes())),
            key: self.key.block(0).map(|word| format!("{word:08x}")).concat(),
            train_samples: self.train.dataset().len() as u64,
            steps_per_epoch: self.train.len() as u64,
        }
    }
}

/// Whether to continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Cancel,
}

/// A run in one process.
struct Session<'a> {
    run: Run<'a>,
    files: Option<Files>,
    position: Position,
    records: Vec<EpochRecord>,
    loaded: Loaded,
    /// When this process started the current epoch.
    since: Instant,
    /// When it wrote its last checkpoint.
    written: Option<Instant>,
}

impl<'a> Session<'a> {
    fn new(run: Run<'a>, files: Option<Files>, position: Position, records: Vec<EpochRecord>) -> Self {
        Self { run, files, position, records, loaded: Loaded::default(), since: Instant::now(), written: None }
    }

    fn run(mut self, listener: &mut dyn TrainingListener) -> Result<TrainingSummary, TrainError> {
        while !self.finished() && !self.out_of_patience() {
            if self.epoch(listener)? == Flow::Cancel {
                self.checkpoint(listener)?;
                let resume_from = self.files.as_ref().and_then(|files| files.last_checkpoint().cloned());
                return Ok(self.summary(|k| Outcome::Cancelled { k, resume_from }));
            }
        }
        self.checkpoint(listener)?;
        let epoch = self.position.epoch;
        let outcome = if self.finished() { Outcome::Finished } else { Outcome::Stopped { epoch } };
        Ok(self.summary(|_| outcome))
    }

    fn finished(&self) -> bool {
        self.position.epoch >= self.run.training.epochs
    }

    fn out_of_patience(&self) -> bool {
        self.run.training.early_stop.is_some_and(|rule| self.position.patience.exhausted(&rule))
    }

    fn summary(self, outcome: impl FnOnce(u64) -> Outcome) -> TrainingSummary {
        let steps = self.position.k;
        TrainingSummary { outcome: outcome(steps), steps, records: self.records }
    }

    /// The remaining steps of the current epoch, its evaluation and its record.
    fn epoch(&mut self, listener: &mut dyn TrainingListener) -> Result<Flow, TrainError> {
        self.since = Instant::now();
        listener.epoch_begins(self.position.epoch + 1, self.run.train.len() as u64);
        if self.steps(listener)? == Flow::Cancel {
            return Ok(Flow::Cancel);
        }
        let train_seconds = self.seconds();
        let before = self.samples_read();
        let Some(test) = self.evaluate(listener)? else { return Ok(Flow::Cancel) };
        let record = self.record(test, train_seconds, &before);
        if let Some(files) = &mut self.files {
            let wanted = self.run.training.histograms;
            let histograms = if wanted { weight_histograms(self.run.network) } else { BTreeMap::new() };
            files.record(&record, &histograms)?;
        }
        let mut patience = self.position.patience;
        if let Some(rule) = &self.run.training.early_stop {
            patience.observe(rule, &record);
        }
        // After the evaluation, so that a run cancelled there ends its epoch once.
        self.run.network.visit_weights(&mut |_, weights| weights.epoch_ended(record.train_loss));
        let (k, epoch) = (self.position.k, record.epoch);
        self.position = Position { k, epoch, patience, ..Position::default() };
        self.since = Instant::now();
        listener.evaluated(&record);
        self.records.push(record);
        let CheckpointPolicy { epoch_ends, pause, .. } = self.run.training.checkpoint;
        if epoch_ends && self.written.is_none_or(|written| written.elapsed() >= pause) {
            self.checkpoint(listener)?;
        }
        Ok(Flow::Continue)
    }

    /// The remaining steps of the current epoch.
    fn steps(&mut self, listener: &mut dyn TrainingListener) -> Result<Flow, TrainError> {
        let Training { loss, checkpoint, batch_loss_every, prefetch, .. } = *self.run.training;
        let is_due = |every: Option<u64>, k: u64| every.is_some_and(|every| k.is_multiple_of(every));
        let key = self.run.key.named("train");
        let epoch = self.run.train.epoch(self.position.epoch).starting_at(self.position.step as usize);
        let mut batches = Prefetch::new(epoch, prefetch);
        while batches.next_into(&mut self.loaded.batch) {
            if listener.cancelled() {
                return Ok(Flow::Cancel);
            }
            self.loaded.load(self.run.network.input_shape());
            let (input, samples) = (&self.loaded.input, self.loaded.input.batch());
            let outcome = self
                .run
                .network
                .train_step(input, self.loaded.targets(), loss, self.position.k, key)
                .map_err(|source| TrainError::Step { epoch: self.position.epoch + 1, source })?;
            self.position.tally.add(outcome, samples);
            self.position.k += 1;
            self.position.step += 1;
            let k = self.position.k;
            listener.step_done(k, outcome.loss, samples);
            if let Some(files) = &mut self.files
                && is_due(batch_loss_every, k)
            {
                files.batch_loss(k, outcome.loss)?;
            }
            if is_due(checkpoint.every_steps, k) {
                self.checkpoint(listener)?;
            }
        }
        Ok(Flow::Continue)
    }

    /// Evaluates the test data; `None` if cancelled.
    fn evaluate(&mut self, listener: &dyn TrainingListener) -> Result<Option<Evaluation>, TrainError> {
        let (epoch, k) = (self.position.epoch + 1, self.position.k);
        let Training { loss, prefetch, .. } = *self.run.training;
        let key = self.run.key.named("evaluate").fold(epoch);
        let tally = tally(self.run.network, self.run.test, loss, key, prefetch, || listener.cancelled());
        match tally.map(|tally| tally.evaluation()) {
            Some(Evaluation { loss: value, .. }) if value.is_nan() || value > MAX_LOSS => {
                Err(TrainError::TestDiverged { epoch, k, value })
            }
            evaluation => Ok(evaluation),
        }
    }

    /// Samples that each matrix has read in this process, if operations are counted.
    fn samples_read(&mut self) -> Vec<u64> {
        let mut read = Vec::new();
        if self.run.training.count_operations {
            self.run.network.visit_weights(&mut |_, weights| read.push(weights.samples_read()));
        }
        read
    }

    /// Operations since training began. The evaluation, of known length, tells how often a matrix is read for each image.
    fn operations(&mut self, before: &[u64]) -> BTreeMap<String, Operations> {
        let mut all = BTreeMap::new();
        let tested = self.run.test.dataset().len().max(1) as u64;
        let images = (self.position.epoch + 1) * self.run.train.dataset().len() as u64;
        let (steps, mut before) = (self.position.k, before.iter());
        self.run.network.visit_weights(&mut |name, weights| {
            // Nothing was read before where nothing is counted.
            let Some(before) = before.next() else { return };
            let per_image = (weights.samples_read() - before) / tested;
            if weights.trains() {
                all.insert(name.to_owned(), weights.operations(steps, images * per_image));
            }
        });
        all
    }

    fn record(&mut self, test: Evaluation, train_seconds: f64, before: &[u64]) -> EpochRecord {
        let operations = self.operations(before);
        let train = self.position.tally.evaluation();
        EpochRecord {
            epoch: self.position.epoch + 1,
            steps: self.position.k,
            train_loss: train.loss,
            train_accuracy: train.accuracy,
            test_loss: test.loss,
            test_accuracy: test.accuracy,
            explained: test.explained,
            learning_rate: self.run.training.learning_rate.map(|rate| rate.at(self.position.k - 1)),
            pulses: pulse_ledger(self.run.network),
            operations,
            seconds: self.seconds(),
            samples_per_second: train.samples as f64 / train_seconds.max(f64::MIN_POSITIVE),
        }
    }

    /// Wall time of the current epoch, in this process and those before.
    fn seconds(&self) -> f64 {
        self.position.seconds + self.since.elapsed().as_secs_f64()
    }

    /// Writes a checkpoint, unless it exists already or the run has no directory.
    fn checkpoint(&mut self, listener: &mut dyn TrainingListener) -> Result<(), TrainError> {
        let Some(files) = &mut self.files else { return Ok(()) };
        if files.holds(&self.position) {
            return Ok(());
        }
        let state = self.run.network.state(Scope::Everything);
        let seconds = self.position.seconds + self.since.elapsed().as_secs_f64();
        let mut position = Position { seconds, ..self.position.clone() };
        let path = files.checkpoint(&mut position, &state)?;
        listener.checkpointed(position.k, path);
        self.written = Some(Instant::now());
        Ok(())
    }
}
