//! How far training is, on stderr: a bar on a terminal, a line for each epoch elsewhere.
#![allow(clippy::print_stderr)]

use std::fmt;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use residuum_nn::train::{EpochRecord, Listener, Warning};

use crate::terminal;

/// Shows one run. The bar counts steps; samples are counted beside it for their rate.
#[derive(Debug)]
pub struct TrainingBar {
    label: String,
    epochs: u64,
    bar: Option<ProgressBar>,
    /// Whether epochs are told line by line.
    lines: bool,
    /// Steps of the first epoch that were done before this process took it up.
    position: u64,
    samples: Arc<AtomicU64>,
    last: String,
}

impl TrainingBar {
    /// For a run of `epochs`; with `lines`, epochs are told line by line where there is no terminal.
    pub fn new(label: &str, epochs: u64, quiet: bool, lines: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let samples = Arc::new(AtomicU64::new(0));
        let bar = (!quiet && terminal).then(|| {
            let (counted, start) = (Arc::clone(&samples), Instant::now());
            let rate = move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let seconds = start.elapsed().as_secs_f64().max(1e-3);
                let _ = write!(out, "{:.0}", counted.load(Ordering::Relaxed) as f64 / seconds);
            };
            let template = "{prefix:>24} {bar:24} {percent:>3} %  {rate} samples/s · {eta} left  {msg}";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::no_length().with_style(style.with_key("rate", rate)).with_prefix(label.to_string())
        });
        let lines = lines && !quiet && !terminal;
        Self { label: label.into(), epochs, bar, lines, position: 0, samples, last: String::new() }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line above the bar, or alone.
    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }
}

impl Listener for TrainingBar {
    fn prepared(&mut self, done: usize, of: usize) {
        match &self.bar {
            // No length again at the end: that of the steps comes next.
            Some(bar) if done == of => bar.unset_length(),
            Some(bar) => {
                bar.set_length(of as u64);
                bar.set_position(done as u64);
                bar.set_message("features of frozen layers");
            }
            None if self.lines => eprintln!("{}: features of {done}/{of} images", self.label),
            None => {}
        }
    }

    fn resumed(&mut self, epoch: u64, position: u64) {
        self.position = position;
        if self.bar.is_some() || self.lines {
            self.note(&format!("{}: resumed in epoch {epoch}, after {position} of its steps", self.label));
        }
    }

    fn epoch_begins(&mut self, epoch: u64, steps: u64) {
        let Some(bar) = &self.bar else { return };
        if bar.length().is_none() {
            bar.set_length(self.epochs * steps);
            bar.set_position((epoch - 1) * steps + self.position);
            bar.reset_eta();
        }
        bar.set_message(format!("epoch {epoch}/{} {}", self.epochs, self.last));
    }

    fn step_done(&mut self, _: u64, _: f64, samples: usize) {
        if let Some(bar) = &self.bar {
            self.samples.fetch_add(samples as u64, Ordering::Relaxed);
            bar.inc(1);
        }
    }

    fn evaluated(&mut self, record: &EpochRecord) {
        self.last = format!("· loss {:.4}, test {:.2} %", record.train_loss, 100.0 * record.test_accuracy);
        if self.lines {
            let (epoch, epochs, rate) = (record.epoch, self.epochs, record.samples_per_second);
            eprintln!("{}: epoch {epoch}/{epochs} {}, {rate:.0} samples/s", self.label, self.last);
        }
    }

    fn warned(&mut self, warning: &Warning) {
        self.note(&format!("warning: {warning}"));
    }

    fn cancelled(&self) -> bool {
        terminal::interrupted()
    }
}
