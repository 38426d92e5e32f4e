//! How far a sweep is, on stderr: one bar over all trials, or a line for what went wrong.
#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use residuum_lab::plan::Plan;
use residuum_lab::sweep::{End, Listener};

use crate::commands::sweep::words;
use crate::terminal;

/// The bar counts thousandths of trials, so that it moves within one.
const PARTS: f64 = 1000.0;

/// Shows all trials together.
pub struct SweepBar {
    bar: Option<ProgressBar>,
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: usize,
    settled: usize,
    /// Share done of every trial that runs, by its words.
    running: BTreeMap<String, f64>,
}

impl SweepBar {
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let template = "{prefix} {bar:24} {percent:>3} %  {elapsed} · {eta} left  {wide_msg}";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        Self { bar, quiet, state: Mutex::default() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &State) {
        let Some(bar) = &self.bar else { return };
        let done = state.settled as f64 + state.running.values().sum::<f64>();
        bar.set_position((PARTS * done) as u64);
        bar.set_prefix(format!("{}/{} trials", state.settled, state.total));
        let running = state.running.iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
        bar.set_message(running.collect::<Vec<_>>().join(" · "));
    }

    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.quiet => eprintln!("{text}"),
            None => {}
        }
    }
}

impl Listener for SweepBar {
    fn begins(&self, total: usize, settled: usize) {
        let mut state = self.state();
        (state.total, state.settled) = (total, settled);
        if let Some(bar) = &self.bar {
            bar.set_length((PARTS * total as f64) as u64);
            bar.set_position((PARTS * settled as f64) as u64);
            // What was there before says nothing about the speed.
            bar.reset_eta();
        }
        self.show(&state);
    }

    fn trial_begins(&self, plan: &Plan) {
        if self.bar.is_some() {
            let mut state = self.state();
            state.running.insert(words(&plan.labels, plan.seed), 0.0);
            self.show(&state);
        }
    }

    fn trial_advances(&self, plan: &Plan, share: f64) {
        if self.bar.is_some() {
            let mut state = self.state();
            state.running.insert(words(&plan.labels, plan.seed), share);
            self.show(&state);
        }
    }

    fn trial_ends(&self, plan: &Plan, end: &End) {
        let name = words(&plan.labels, plan.seed);
        let mut state = self.state();
        state.running.remove(&name);
        state.settled += usize::from(*end != End::Interrupted);
        self.show(&state);
    }

    fn warned(&self, plan: &Plan, warning: &str) {
        self.note(&format!("warning: {}: {warning}", words(&plan.labels, plan.seed)));
    }

    fn cancelled(&self) -> bool {
        terminal::interrupted()
    }
}
