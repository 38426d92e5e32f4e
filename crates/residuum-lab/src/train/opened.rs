//! A network loaded from a store. Its checkpoints are only read, even while the trial is running.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use residuum_nn::Network;
use residuum_nn::state;
use residuum_nn::train::{Evaluation, TrainingListener, Unwatched, Warning, evaluate, restore};

use super::features::Access;
use super::run::NetworkError;
use super::trial::{NetworkParts, NetworkTrial, WeightsFrom};
use crate::plan::{Work, replan};
use crate::spec::{Folders, TrialSpec};
use crate::store::{Store, TrialManifest};

/// Retries if a checkpoint vanishes while it is read, because the trial is running.
const RETRIES: usize = 20;

/// What to do if the newest checkpoint is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Fail.
    Refuse,
    /// Use the newest intact one.
    AllowOlder,
}

/// A trained network of a store, from its newest checkpoint.
#[derive(Debug)]
pub struct Opened {
    /// The manifest of the trial.
    pub manifest: TrialManifest,
    /// Its spec.
    pub spec: Arc<TrialSpec>,
    /// Steps done.
    pub steps: u64,
    pub(super) trial: NetworkTrial,
}

impl Opened {
    /// Opens a trial. `root` holds the folders of data sets. Paths in its spec are relative to `base`: files of device tables,
    /// and the weights of a frozen backbone, which checkpoints do not hold.
    ///
    /// # Errors
    /// If it has no network, or its data or checkpoint cannot be read.
    pub fn new(
        store: &Store,
        id: &str,
        root: &Path,
        base: &Path,
        damage: Damage,
    ) -> Result<Self, NetworkError> {
        let (manifest, spec) = network_of(store, id, base)?;
        let mut trial = NetworkTrial::prepare(&spec, manifest.seed, root, WeightsFrom::Checkpoint)?;
        trial.take_features(&spec.network.model, Some((store.path(), Access::Read)), &mut Unwatched)?;
        let steps = newest(&mut trial.parts.network, &store.run_folder(id), damage)?;
        Ok(Self { manifest, spec, steps, trial })
    }

    /// Whole epochs done.
    pub fn epochs(&self) -> u64 {
        self.steps / self.trial.train.len() as u64
    }

    /// Loss and accuracy on the test images. Draws come from a key of their own.
    ///
    /// # Errors
    /// If the data do not fit.
    pub fn evaluate(&mut self) -> Result<Evaluation, NetworkError> {
        let NetworkTrial { parts, test, key, .. } = &mut self.trial;
        Ok(evaluate(&mut parts.network, test, self.spec.training.loss, key.named("evaluation"))?)
    }
}

/// What [`export`] wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The manifest of the trial.
    pub manifest: TrialManifest,
    /// Steps done.
    pub steps: u64,
    /// Number of tensors.
    pub tensors: usize,
}

/// Writes the parameters that the network of a trial computes with (effective weights of tiles) as safetensors, frozen layers
/// included. The data are not needed. Paths in the spec are relative to `base`, as for [`Opened::new`].
///
/// # Errors
/// If the trial has no network, its checkpoint cannot be read, or the file cannot be written.
pub fn export(
    store: &Store,
    id: &str,
    to: &Path,
    base: &Path,
    damage: Damage,
) -> Result<Exported, NetworkError> {
    let (manifest, spec) = network_of(store, id, base)?;
    // The length of an epoch only affects rates, and nothing is learned here.
    let mut parts = NetworkParts::build(&spec, manifest.seed, spec.data.image(), 1, WeightsFrom::Checkpoint)?;
    let steps = newest(&mut parts.network, &store.run_folder(id), damage)?;
    let state = parts.state();
    state::write_safetensors(to, &state)?;
    Ok(Exported { manifest, steps, tensors: state.len() })
}

fn network_of(store: &Store, id: &str, base: &Path) -> Result<(TrialManifest, Arc<TrialSpec>), NetworkError> {
    let manifest = store.manifest(id)?;
    let plan = replan(&manifest, &Folders::new(base))
        .map_err(|source| NetworkError::Spec { id: id.into(), source })?;
    match plan.work {
        Work::Network(spec) => Ok((manifest, spec)),
        Work::Problem(_) => Err(NetworkError::NoNetwork { id: id.into() }),
    }
}

/// Loads the newest checkpoint and gives the steps done.
fn newest(network: &mut Network, folder: &Path, damage: Damage) -> Result<u64, NetworkError> {
    let mut tries = 0;
    loop {
        let mut damaged = Damaged::default();
        let restored = restore(network, folder, &mut damaged);
        // A running trial removes its old checkpoints.
        let vanished = damaged.0.iter().any(|(path, _)| !path.exists());
        if vanished && tries < RETRIES {
            tries += 1;
            continue;
        }
        let steps = restored?;
        return match damaged.0.into_iter().next() {
            Some((path, reason)) if damage == Damage::Refuse => {
                Err(NetworkError::Damaged { path, reason, steps })
            }
            _ => Ok(steps),
        };
    }
}

/// Checkpoints that could not be read, newest first.
#[derive(Default)]
struct Damaged(Vec<(PathBuf, String)>);

impl TrainingListener for Damaged {
    fn warned(&mut self, warning: &Warning) {
        if let Warning::DamagedCheckpoint { path, reason } = warning {
            self.0.push((path.clone(), reason.clone()));
        }
    }
}
