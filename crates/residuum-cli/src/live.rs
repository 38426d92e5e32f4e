//! Progress of the trials on stderr: on a terminal an overall bar and a line per running trial, elsewhere a log line now and then.
#![allow(clippy::print_stderr)]

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use residuum_lab::execute::words;
use residuum_lab::plan::Plan;
use residuum_lab::sweep::{End, Listener};

use crate::terminal;

/// The bar counts thousandths of a trial, so that it also moves during one.
const PARTS: f64 = 1000.0;
/// Most trials shown at a time; more would not fit a small terminal.
const LINES: usize = 8;
/// Shortest time between two log lines.
const PAUSE: Duration = Duration::from_secs(1);
/// The same as a share of the time since the start, so that the log of a long run stays readable.
const PAUSE_SHARE: f64 = 0.01;

/// Progress display for all trials.
pub struct Live {
    /// `None` without a terminal.
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
    /// One line per running trial, reused by the next one: lines that come and go flicker.
    places: Vec<ProgressBar>,
    /// When the work began, and when the last log line was written.
    since: Option<Instant>,
    written: Option<Instant>,
}

/// A running trial.
struct Running {
    name: String,
    since: Instant,
    /// Share already done when this process took it over.
    before: Option<f64>,
    share: f64,
    measured: Option<String>,
    /// Its line, if one was free.
    place: Option<usize>,
}

impl Running {
    fn new(plan: &Plan, place: Option<usize>) -> Self {
        let name = words(&plan.labels, plan.seed);
        Self { name, since: Instant::now(), before: None, share: 0.0, measured: None, place }
    }

    /// Progress, metric and time left, then the name: a narrow terminal cuts off the end.
    fn line(&self) -> String {
        let percent = (100.0 * self.share) as u32;
        let measured = self.measured.as_deref().unwrap_or("");
        let left = self.left().map_or_else(String::new, |left| format!("{:#} left", HumanDuration(left)));
        format!("{percent:>4} %  {measured:<20}  {left:<10}  {}", self.name)
    }

    /// Time left, once it can be estimated.
    fn left(&self) -> Option<Duration> {
        let done = self.share - self.before?;
        let left = self.since.elapsed().as_secs_f64() * (1.0 - self.share) / done;
        (done > 0.0 && left >= 1.0).then(|| Duration::try_from_secs_f64(left).ok())?
    }
}

impl Live {
    /// Shows nothing if `quiet`.
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

    /// Clears the display.
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

    /// Updates a running trial and its line.
    fn update(&self, plan: &Plan, change: impl FnOnce(&mut Running)) {
        let mut state = self.state();
        let name = words(&plan.labels, plan.seed);
        let Some(n) = state.running.iter().position(|r| r.name == name) else { return };
        change(&mut state.running[n]);
        if let Some(place) = state.running[n].place {
            state.places[place].set_message(state.running[n].line());
        }
        self.show(&state);
    }

    /// Writes a log line, if there is no terminal and the last one is old enough.
    fn log(&self, text: impl FnOnce() -> String) {
        if self.lines.is_some() || self.quiet {
            return;
        }
        let mut state = self.state();
        let Some(since) = state.since else { return };
        let pause = PAUSE.max(since.elapsed().mul_f64(PAUSE_SHARE));
        if state.written.unwrap_or(since).elapsed() >= pause {
            state.written = Some(Instant::now());
            eprintln!("{}/{} trials; {}", state.settled, state.total, text());
        }
    }

    fn note(&self, text: &str) {
        match &self.lines {
            // If the terminal fails here, there is nowhere to report it.
            Some(lines) => drop(lines.all.println(text)),
            None if !self.quiet => eprintln!("{text}"),
            None => {}
        }
    }
}

impl State {
    /// A free line; adds one if the limit allows.
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

/// Percentage done, rounded down: 100 only at the end.
fn share(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = write!(out, "{}", (100.0 * state.fraction()) as u32);
}

/// Time left, once it can be estimated.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.eta().as_secs() > 0 {
        let _ = write!(out, " · {:#} left", HumanDuration(state.eta()));
    }
}

/// A metric and its value, for people to read.
fn measured(metric: &str, value: f64) -> String {
    match metric {
        "test_accuracy" => format!("test {:.2} %", 100.0 * value),
        "validation_accuracy" => format!("validation {:.2} %", 100.0 * value),
        "test_r2" | "validation_r2" => format!("{} R² {:.2} %", metric.trim_end_matches("_r2"), 100.0 * value),
        _ => format!("{} {value:.4e}", metric.replace('_', " ")),
    }
}

impl Listener for Live {
    fn begins(&self, total: usize, settled: usize) {
        let mut state = self.state();
        (state.total, state.settled, state.since) = (total, settled, Some(Instant::now()));
        self.show(&state);
        if let Some(Lines { bar, .. }) = &self.lines {
            bar.set_length((PARTS * total as f64) as u64);
            // Trials finished earlier say nothing about the speed.
            bar.reset_eta();
        }
    }

    fn trial_begins(&self, plan: &Plan) {
        let Some(lines) = &self.lines else { return };
        let mut state = self.state();
        let place = state.place(lines);
        state.running.push(Running::new(plan, place));
        drop(state);
        self.update(plan, |_| ());
    }

    fn trial_advances(&self, plan: &Plan, share: f64) {
        if self.lines.is_some() {
            self.update(plan, |running| {
                running.before.get_or_insert(share);
                running.share = share;
            });
        }
    }

    fn trial_measured(&self, plan: &Plan, metric: &str, value: f64) {
        self.log(|| format!("{}: {}", words(&plan.labels, plan.seed), measured(metric, value)));
        if self.lines.is_some() {
            self.update(plan, |running| running.measured = Some(measured(metric, value)));
        }
    }

    fn trial_ends(&self, plan: &Plan, end: &End) {
        let name = words(&plan.labels, plan.seed);
        let mut state = self.state();
        if let Some(n) = state.running.iter().position(|r| r.name == name) {
            // The line stays empty until the next trial uses it.
            if let Some(place) = state.running.swap_remove(n).place {
                state.places[place].set_message("");
            }
        }
        state.settled += usize::from(*end != End::Interrupted);
        self.show(&state);
        drop(state);
        self.log(|| match end {
            End::Failed { .. } => format!("{name}: failed"),
            _ => format!("{name}: done"),
        });
    }

    fn warned(&self, plan: &Plan, warning: &str) {
        self.note(&format!("warning: {}: {warning}", words(&plan.labels, plan.seed)));
    }

    fn cancelled(&self) -> bool {
        terminal::interrupted()
    }
}
