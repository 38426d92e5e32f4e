//! Stores: manifests, and everything that reads a trial.

use std::fs;
use std::path::Path;

use residuum_lab::plan::replan;
use residuum_lab::report::{Report, ReportOptions, load};
use residuum_lab::spec::Folders;
use residuum_lab::store::{Store, TrialManifest};

use super::{parts, said};

/// The manifest of a trial, and the plan it comes from.
pub(super) fn manifest(case: &[u8], folder: &Path) -> String {
    match serde_json::from_slice::<TrialManifest>(case) {
        Err(e) => e.to_string(),
        Ok(manifest) => said(replan(&manifest, &Folders::new(folder)).map(|_| ())),
    }
}

/// A store of one trial: its header, manifest, records and failure; then everything that reads it.
pub(super) fn store(case: &[u8], folder: &Path) -> String {
    let [header, manifest, records, failure] = parts(case);
    let trial = folder.join("store/trials/0123456789abcdef");
    let written = fs::create_dir_all(&trial)
        .and_then(|()| fs::write(folder.join("store/store.json"), header))
        .and_then(|()| fs::write(trial.join("manifest.json"), manifest))
        .and_then(|()| fs::write(trial.join("records.csv"), records))
        .and_then(|()| fs::write(trial.join("failed.json"), failure));
    if let Err(e) = written {
        return format!("the harness cannot write: {e}");
    }
    let path = folder.join("store");
    let listed = Store::open(&path).and_then(|store| {
        store.failures()?;
        store.find("01")
    });
    match load(&path) {
        Err(e) => format!("{}; {e}", said(listed)),
        Ok(trials) => {
            let report = Report::new(&trials, &ReportOptions::default());
            let pages = [report.to_html(), report.to_markdown(), report.to_latex()];
            format!("{}; {} pages", said(listed), pages.len())
        }
    }
}
