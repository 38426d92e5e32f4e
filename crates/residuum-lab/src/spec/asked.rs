//! What was asked for while reading, so that a test can compare it with the reference.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) paths: BTreeSet<String>,
    pub(crate) options: BTreeMap<String, Vec<&'static str>>,
}

thread_local! {
    static ASKED: RefCell<Asked> = RefCell::default();
}

pub(super) fn field(path: String) {
    ASKED.with_borrow_mut(|asked| asked.paths.insert(path));
}

pub(super) fn options(path: String, options: &[&'static str]) {
    ASKED.with_borrow_mut(|asked| asked.options.insert(path, options.to_vec()));
}

/// What was asked for in this thread since the last call.
pub(crate) fn take() -> Asked {
    ASKED.take()
}
