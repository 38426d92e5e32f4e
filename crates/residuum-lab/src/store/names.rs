//! Runs under names that people read: `tensorboard/` has a link to the events of every network, named by what distinguishes its trial.

use std::fs;
use std::path::{Path, PathBuf};

use super::{RUN, Store, TRIALS};

const NAMES: &str = "tensorboard";
/// Labels whose values speak for themselves.
const PLAIN: [&str; 4] = ["variant", "cell", "rule.kind", "rule"];
/// Most letters of a name; file systems end at 255 bytes.
const LONGEST: usize = 120;

/// What distinguishes a trial, in words fit for a file: `Analog SGD, radius 0.6, seed 0`.
pub fn run_name(labels: &[(String, String)], seed: u64) -> String {
    let word = |(label, value): &(String, String)| match label.as_str() {
        label if PLAIN.contains(&label) => value.clone(),
        label => format!("{} {value}", label.rsplit('.').next().unwrap_or(label).replace('_', " ")),
    };
    let words: Vec<String> = labels.iter().map(word).chain([format!("seed {seed}")]).collect();
    let plain = |c: char| if c.is_control() || "/\\:*?\"<>|".contains(c) { '_' } else { c };
    words.join(", ").chars().map(plain).take(LONGEST).collect()
}

impl Store {
    /// Links the run of a network under its name. It helps readers of the store; training does not depend on it, so a file system
    /// without links is no error.
    pub(crate) fn name_run(&self, id: &str, name: &str) {
        let folder = self.path().join(NAMES);
        let target = Path::new("..").join(TRIALS).join(id).join(RUN);
        let is_free = |link: &Path| fs::read_link(link).map_or_else(|_| !link.exists(), |to| to == target);
        // An edited spec makes other trials with the same labels.
        let short = id.get(..8).unwrap_or(id);
        let links = [folder.join(name), folder.join(format!("{name} ({short})"))];
        if let Some(link) = links.into_iter().find(|link| is_free(link))
            && fs::create_dir_all(&folder).is_ok()
        {
            let _ = link_to(&target, &link);
        }
    }

    /// Removes the names of a trial that is gone.
    pub(crate) fn forget_run(&self, id: &str) {
        let target = Path::new("..").join(TRIALS).join(id).join(RUN);
        let links = fs::read_dir(self.path().join(NAMES)).into_iter().flatten().flatten();
        let own: Vec<PathBuf> = links
            .map(|link| link.path())
            .filter(|link| fs::read_link(link).is_ok_and(|to| to == target))
            .collect();
        for link in own {
            let _ = fs::remove_file(link);
        }
    }
}

#[cfg(unix)]
fn link_to(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn link_to(_: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}
