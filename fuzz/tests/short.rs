//! Every reader for about ten seconds in all; a longer run is one command, see `fuzz/README.md`.

use std::time::Duration;

use residuum_fuzz::memory::Counting;
use residuum_fuzz::{Limit, READERS, corpus, fuzz};

#[global_allocator]
static MEMORY: Counting = Counting;

/// One test: the allocator counts what the whole process holds.
#[test]
fn no_reader_panics_hangs_or_fills_the_memory() {
    let seconds = 9.0 / f64::from(READERS.iter().map(|reader| reader.weight).sum::<u32>());
    for reader in READERS {
        let seeds = std::fs::read_dir(corpus().join(reader.name)).map_or(0, Iterator::count);
        assert!(seeds > 0, "fuzz/corpus/{} must hold a case to begin with", reader.name);
        let time = Duration::from_secs_f64(seconds * f64::from(reader.weight));
        let tally = fuzz(reader, Limit { time, cases: u64::MAX }, 1);
        // A reader that says one thing to everything is not reached.
        assert!(tally.sentences > 1 && tally.cases > 10, "{}: {tally:?}", reader.name);
    }
}
