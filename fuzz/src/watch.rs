//! The case at work, and what becomes of one that does harm.
#![allow(clippy::print_stderr)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::Reader;

/// The longest that a reader may take.
pub const LONGEST: Duration = Duration::from_secs(5);

/// How often the watch looks.
const TICK: Duration = Duration::from_millis(250);

static CASE: Mutex<(&str, Vec<u8>)> = Mutex::new(("", Vec::new()));
/// Number of the case at work, 0 between cases.
static AT_WORK: AtomicU64 = AtomicU64::new(0);
static CASES: AtomicU64 = AtomicU64::new(0);
static WATCHED: Once = Once::new();

/// A reader gets a case.
pub(crate) fn begins(reader: &Reader, case: &[u8]) {
    WATCHED.call_once(|| {
        thread::spawn(watch);
        // A panic is reported once, by `found`.
        std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    });
    let mut at_work = CASE.lock().unwrap_or_else(PoisonError::into_inner);
    at_work.0 = reader.name;
    at_work.1.clear();
    at_work.1.extend_from_slice(case);
    AT_WORK.store(CASES.fetch_add(1, Relaxed) + 1, Relaxed);
}

/// It has answered.
pub(crate) fn ends() {
    AT_WORK.store(0, Relaxed);
}

/// Ends the program when one case has been at work for too long.
fn watch() {
    let (mut seen, mut ticks) = (0, 0);
    loop {
        thread::sleep(TICK);
        let now = AT_WORK.load(Relaxed);
        ticks = if now != 0 && now == seen { ticks + 1 } else { 0 };
        seen = now;
        if TICK * ticks >= LONGEST {
            found(&format!("takes longer than {} s", LONGEST.as_secs()));
        }
    }
}

/// Writes the case at work to `found/` and ends the program.
pub(crate) fn found(harm: &str) -> ! {
    let at_work = CASE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let name = format!("{}-{:08x}.case", at_work.0, at_work.1.len() as u64 ^ (CASES.load(Relaxed) << 20));
    let path = folder.join(name);
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &at_work.1));
    let place = if written.is_ok() { path.display().to_string() } else { "nowhere".into() };
    eprintln!("reader {} {harm}; the case of {} bytes is in {place}", at_work.0, at_work.1.len());
    std::process::exit(101)
}
