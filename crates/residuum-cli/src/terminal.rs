//! Progress and errors, on stderr.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use residuum_lab::progress::Progress;

/// Set by Ctrl-C, read by long work.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// How often long work has looked.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// How long work that looks now and then may take to stop. What it would still have saved, it has nearly saved: a run is
/// resumed from its last checkpoint in any case.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes Ctrl-C ask long work to stop; a second one ends the program at once, and so does the first if nothing has begun
/// that would look, or if nothing looks for a while.
pub fn listen_for_interrupts() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        let looks = LOOKS.load(Ordering::Relaxed);
        if INTERRUPTED.swap(true, Ordering::Relaxed) || looks == 0 {
            end_at_once();
        }
        // Without a thread to watch, a second Ctrl-C still ends it.
        let _ = std::thread::Builder::new().spawn(move || {
            let mut seen = looks;
            loop {
                std::thread::sleep(PATIENCE);
                let looks = LOOKS.load(Ordering::Relaxed);
                if looks == std::mem::replace(&mut seen, looks) {
                    end_at_once();
                }
            }
        });
    })?;
    Ok(())
}

fn end_at_once() -> ! {
    eprintln!("error: interrupted");
    std::process::exit(130)
}

/// Whether Ctrl-C asked long work to stop.
pub fn interrupted() -> bool {
    LOOKS.fetch_add(1, Ordering::Relaxed);
    INTERRUPTED.load(Ordering::Relaxed)
}

/// A progress bar on stderr, or nothing.
#[derive(Debug)]
pub struct Bar {
    bar: Mutex<Option<ProgressBar>>,
    visible: bool,
}

impl Bar {
    /// Shows nothing if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { bar: Mutex::new(None), visible: !quiet && std::io::stderr().is_terminal() }
    }

    /// A line above the bar.
    pub fn note(&self, text: &str) {
        if let Ok(slot) = self.bar.lock()
            && let Some(bar) = slot.as_ref()
        {
            bar.println(text);
        }
    }
}

impl Progress for Bar {
    fn begin(&self, label: &str, total: u64) {
        if !self.visible {
            return;
        }
        let style = ProgressStyle::with_template("{msg:>16} {bar:32} {percent:>3} %  {elapsed} · {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(total).with_style(style).with_message(label.to_string());
        if let Ok(mut slot) = self.bar.lock()
            && let Some(old) = slot.replace(bar)
        {
            old.finish_and_clear();
        }
    }

    fn advance(&self, units: u64) {
        if let Ok(slot) = self.bar.lock()
            && let Some(bar) = slot.as_ref()
        {
            bar.inc(units);
        }
    }

    fn cancelled(&self) -> bool {
        interrupted()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(slot) = self.bar.lock()
            && let Some(bar) = slot.as_ref()
        {
            bar.finish_and_clear();
        }
    }
}

/// Prints a result. A closed pipe (`residuum … | head`) ends the program quietly.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

/// Prints the error that stops the program.
pub fn report_error(error: &anyhow::Error) {
    eprintln!("error: {}", sentence(error.as_ref()));
}

/// An error with its causes, as one sentence. A cause that the message already ends with is not repeated.
pub fn sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        if !text.ends_with(&cause.to_string()) {
            text = format!("{text}: {cause}");
        }
        next = cause.source();
    }
    text
}
