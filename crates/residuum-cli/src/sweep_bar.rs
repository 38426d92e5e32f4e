//! How far a sweep is, on stderr: a bar over all trials and a line for each that runs, or a line for what went wrong.
#![allow(clippy::print_stderr)]

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use residuum_lab::plan::Plan;
use residuum_lab::sweep::{End, Listener};

use crate::commands::sweep::words;
use crate::terminal;

/// The bar counts thousandths of trials, so that it moves within one.
const PARTS: f64 = 1000.0;
/// More lines than this would not fit a small terminal; of more jobs only some are told.
const LINES: usize = 8;

/// Shows all trials together.
pub struct SweepBar {
    /// None where there is no terminal.
    lines: Option<Lines>,
    quiet: bool,
    state: Mutex<State>,
}

struct Lines {
    all: MultiProgress,
    bar: ProgressBar,
}

#[derive(Default)]
struct State {
    total: usize,
    settled: usize,
    running: Vec<Running>,
    /// A line for each trial at a time. It stays when its trial ends, for the next: lines that come and go flicker.
    places: Vec<ProgressBar>,
}

/// A trial that runs.
struct Running {
    name: String,
    share: f64,
    /// Which line it has, if there was one left.
    place: Option<usize>,
}

impl SweepBar {
    pub fn new(quiet: bool) -> Self {
        let lines = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let template = "{prefix} {bar:24} {share:>3} %  {elapsed}{left}";
            let style = style(template).with_key("share", share).with_key("left", left);
            let all = MultiProgress::new();
            let bar = all.add(ProgressBar::new(0).with_style(style));
            Lines { all, bar }
        });
        Self { lines, quiet, state: Mutex::default() }
    }

    /// Takes everything away.
    pub fn finish(&self) {
        if let Some(lines) = &self.lines {
            for place in &self.state().places {
                place.finish_and_clear();
            }
            lines.bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &State) {
        let Some(Lines { bar, .. }) = &self.lines else { return };
        let done = state.settled as f64 + state.running.iter().map(|r| r.share).sum::<f64>();
        bar.set_prefix(format!("{}/{} trials", state.settled, state.total));
        bar.set_position((PARTS * done) as u64);
    }

    /// The words of a trial with how far it is come first: a narrow terminal cuts the end.
    fn tell(state: &State, running: &Running) {
        if let Some(place) = running.place {
            let percent = (100.0 * running.share) as u32;
            state.places[place].set_message(format!("{percent:>4} %  {}", running.name));
        }
    }

    fn note(&self, text: &str) {
        match &self.lines {
            // A terminal that refuses a line refuses the next error too.
            Some(lines) => drop(lines.all.println(text)),
            None if !self.quiet => eprintln!("{text}"),
            None => {}
        }
    }
}

impl State {
    /// A line that no trial has, made if there are few.
    fn place(&mut self, lines: &Lines) -> Option<usize> {
        let taken = |place: usize| self.running.iter().any(|r| r.place == Some(place));
        let free = (0..self.places.len()).find(|&place| !taken(place));
        if free.is_none() && self.places.len() < LINES {
            let line = lines.all.add(ProgressBar::new_spinner().with_style(style("{wide_msg}")));
            self.places.push(line);
            return Some(self.places.len() - 1);
        }
        free
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Whole per cent that are done: 100 only at the end.
fn share(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = write!(out, "{}", (100.0 * state.fraction()) as u32);
}

/// The time that is left, once it can be told.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.eta().as_secs() > 0 {
        let _ = write!(out, " · {:#} left", HumanDuration(state.eta()));
    }
}

impl Listener for SweepBar {
    fn begins(&self, total: usize, settled: usize) {
        let mut state = self.state();
        (state.total, state.settled) = (total, settled);
        self.show(&state);
        if let Some(Lines { bar, .. }) = &self.lines {
            bar.set_length((PARTS * total as f64) as u64);
            // What was there before says nothing about the speed.
            bar.reset_eta();
        }
    }

    fn trial_begins(&self, plan: &Plan) {
        let Some(lines) = &self.lines else { return };
        let mut state = self.state();
        let place = state.place(lines);
        let running = Running { name: words(&plan.labels, plan.seed), share: 0.0, place };
        Self::tell(&state, &running);
        state.running.push(running);
        self.show(&state);
    }

    fn trial_advances(&self, plan: &Plan, share: f64) {
        if self.lines.is_none() {
            return;
        }
        let mut state = self.state();
        let name = words(&plan.labels, plan.seed);
        if let Some(n) = state.running.iter().position(|r| r.name == name) {
            state.running[n].share = share;
            Self::tell(&state, &state.running[n]);
        }
        self.show(&state);
    }

    fn trial_ends(&self, plan: &Plan, end: &End) {
        let name = words(&plan.labels, plan.seed);
        let mut state = self.state();
        if let Some(n) = state.running.iter().position(|r| r.name == name) {
            // The line is empty until the next trial takes it.
            if let Some(place) = state.running.swap_remove(n).place {
                state.places[place].set_message("");
            }
        }
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
