//! Every reader of Residuum under mutated input, in one process and on a stable compiler.
//!
//! A case is bytes: a file of `corpus/`, or an earlier case that made its reader say something new, changed in a few places. The
//! reader may refuse it in any words. It must not panic, take longer than [`LONGEST`], or hold more than the memory its line in
//! [`readers::READERS`] states. A case that does is written to `found/` and ends the program.
//!
//! ```sh
//! cargo run --release -p residuum-fuzz -- --seconds 600        # all readers, ten minutes
//! cargo run --release -p residuum-fuzz -- --only spec --cases 100000
//! cargo run --release -p residuum-fuzz -- --replay fuzz/found/spec-….case
//! ```
//!
//! What a reader says guides the search: a case whose sentence, without its numbers and names, was not heard before is kept and
//! changed further. No coverage is measured, so no special compiler is needed.

pub mod memory;
mod mutate;
pub mod readers;
mod watch;

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use mutate::Draws;
pub use readers::{READERS, Reader};
pub use watch::LONGEST;

/// Most cases that are kept to be changed further; beyond, an old one gives way.
const MOST_KEPT: usize = 2000;
/// Longest case in bytes.
const LONGEST_CASE: usize = 1 << 16;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// After so long.
    pub time: Duration,
    /// After so many cases.
    pub cases: u64,
}

/// What one reader was given.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many cases.
    pub cases: u64,
    /// Different sentences.
    pub sentences: usize,
    /// The most memory that a case took, in bytes.
    pub peak: usize,
    /// The longest case.
    pub slowest: Duration,
    /// Time spent.
    pub time: Duration,
}

/// The folder of the corpus.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The cases of a reader's folder, and no case at all.
fn seeds(reader: &Reader) -> Vec<Vec<u8>> {
    let folder = corpus().join(reader.name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut cases: Vec<Vec<u8>> = paths.iter().filter_map(|path| fs::read(path).ok()).collect();
    cases.push(Vec::new());
    cases
}

/// Gives one case to a reader, under watch.
///
/// # Panics
/// Never: a reader that panics, hangs or takes too much memory ends the program.
pub fn give(reader: &Reader, case: &[u8], folder: &Path) -> (String, usize, Duration) {
    watch::begins(reader, case);
    memory::begin(reader.most_bytes);
    let start = Instant::now();
    let said = catch_unwind(AssertUnwindSafe(|| (reader.read)(case, folder)));
    let (time, peak) = (start.elapsed(), memory::end());
    watch::ends();
    match said {
        Ok(said) => (said, peak, time),
        Err(_) => watch::found("panics"),
    }
}

/// Gives mutated cases to a reader until the limit; the seed decides which.
pub fn fuzz(reader: &Reader, limit: Limit, seed: u64) -> Tally {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("a folder for files must be writable: {e}"));
    let mut pool = seeds(reader);
    let (mut heard, mut tally) = (HashSet::new(), Tally::default());
    let mut draws = Draws::new(seed ^ hash(reader.name));
    let start = Instant::now();
    // What is in the corpus comes first, as it is.
    let untouched = pool.len() as u64;
    while tally.cases < limit.cases {
        // The clock costs more than the quickest readers.
        if tally.cases.is_multiple_of(64) && start.elapsed() >= limit.time && tally.cases >= untouched {
            break;
        }
        let mut case = pool[draws.below(pool.len())].clone();
        if tally.cases < untouched {
            case.clone_from(&pool[tally.cases as usize]);
        } else {
            let other = draws.below(pool.len());
            mutate::change(&mut case, &pool[other], reader.words, &mut draws);
            case.truncate(LONGEST_CASE);
        }
        let (said, peak, time) = give(reader, &case, folder.path());
        tally.cases += 1;
        tally.peak = tally.peak.max(peak);
        tally.slowest = tally.slowest.max(time);
        if heard.insert(hash(&plain(&said))) {
            if pool.len() < MOST_KEPT {
                pool.push(case);
            } else {
                let old = draws.below(pool.len());
                pool[old] = case;
            }
        }
    }
    tally.sentences = heard.len();
    tally.time = start.elapsed();
    tally
}

/// A sentence without what differs from case to case: numbers, and everything in quotes.
fn plain(said: &str) -> String {
    let mut plain = String::with_capacity(said.len().min(200));
    let mut quoted = false;
    for c in said.chars().take(400) {
        if c == '"' || c == '`' {
            quoted = !quoted;
        } else if !quoted && !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+') {
            plain.push(c);
        }
        if plain.len() >= 160 {
            break;
        }
    }
    plain
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
