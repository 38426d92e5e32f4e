//! The same seeds give the same bits as ever: records of every rule and device against digests in `golden/frozen`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use residuum_lab::plan::plans;
use residuum_lab::spec::Folders;
use residuum_lab::store::Store;
use residuum_lab::sweep::{Silent, SweepOptions, sweep};
use sha2::{Digest as _, Sha256};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/frozen")
}

/// `spec,variant,seed,digest` of every trial of a spec.
fn digests(path: &Path) -> Vec<String> {
    let spec = path.file_stem().unwrap().to_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    let plans = plans(&text, &Folders::new(path.parent().unwrap()), None, spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let summary = sweep(&plans, &store, &SweepOptions::new("."), &Silent).unwrap();
    assert!(summary.failed.is_empty(), "{:?}", summary.failed);
    let line = |plan: &residuum_lab::plan::Plan| {
        let bytes = fs::read(store.folder(&plan.id()).join("records.csv")).unwrap();
        let digest =
            Sha256::digest(&bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let variant = &plan.labels.iter().find(|(field, _)| field == "variant").unwrap().1;
        format!("{spec},{variant},{},{digest}", plan.seed)
    };
    plans.iter().map(line).collect()
}

#[test]
fn records_have_the_bits_of_before() {
    let specs = fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path());
    let mut specs: Vec<PathBuf> = specs.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    specs.sort();
    let mut found: Vec<String> = specs.iter().flat_map(|spec| digests(spec)).collect();
    found.sort();
    let path = golden().join("digests.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("spec,variant,seed,sha256\n{}\n", found.join("\n"))).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let mut expected: Vec<&str> = text.lines().skip(1).collect();
    expected.sort_unstable();
    let moved: Vec<&String> = found.iter().filter(|line| !expected.contains(&line.as_str())).collect();
    assert!(moved.is_empty(), "records moved:\n{moved:#?}");
    assert_eq!(found.len(), expected.len());
}
