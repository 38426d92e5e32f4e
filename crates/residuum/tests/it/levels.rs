//! Instruction sets to compare. One that the CPU lacks is told aloud, past the capture of the test's output, as a comparison that was
//! not made is no comparison; with `RESIDUUM_ALL_LEVELS` set it is a failure.

use std::io::Write as _;

use residuum::simd::Level;

/// Those that this CPU has, narrowest first, with their names.
pub fn levels(test: &str) -> Vec<(Level, &'static str)> {
    let (here, missing): (Vec<_>, Vec<_>) = Level::ALL.into_iter().partition(|(level, _)| level.is_available());
    if let [_, ..] = missing.as_slice() {
        let names: Vec<&str> = missing.iter().map(|(_, name)| *name).collect();
        let sentence = format!("{test}: not compared with {}, which this CPU does not have", names.join(", "));
        assert!(std::env::var_os("RESIDUUM_ALL_LEVELS").is_none(), "{sentence}");
        // `eprintln!` would be captured.
        let _ = writeln!(std::io::stderr(), "NOTE: {sentence}");
    }
    here
}
