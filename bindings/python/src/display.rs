//! Progress of long work: in a terminal by the command's own display, in a notebook by a function of the package.

use std::sync::Mutex;
use std::sync::PoisonError;

use pyo3::prelude::*;
use residuum_cli::{Bar, Live};
use residuum_lab::execute::words;
use residuum_lab::plan::Plan;
use residuum_lab::progress::Progress;
use residuum_lab::sweep::{End, Listener};

use crate::threads::StopRequest;

/// Shows progress, and says when to stop.
pub struct Display {
    /// What is shown on stderr.
    live: Live,
    bar: Bar,
    /// Whether a notebook shows it instead.
    notebook: Option<Py<PyAny>>,
    state: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    label: String,
    total: f64,
    settled: f64,
    running: Vec<(String, f64)>,
    last: String,
    shown: String,
}

impl Display {
    /// `notebook` is called with a line of text; without it, progress goes to stderr.
    pub fn new(quiet: bool, notebook: Option<Py<PyAny>>) -> Self {
        let hidden = quiet || notebook.is_some();
        let notebook = notebook.filter(|_| !quiet);
        Self { live: Live::new(hidden), bar: Bar::new(hidden), notebook, state: Mutex::default() }
    }

    /// Removes what is on stderr, and what is in the notebook.
    pub fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.live.finish();
        match &self.notebook {
            Some(show) => show.call1(py, ("",)).map(drop),
            None => Ok(()),
        }
    }

    /// Shows the state in the notebook, if it is another one.
    pub fn tick(&self, py: Python<'_>) -> PyResult<()> {
        let Some(show) = &self.notebook else { return Ok(()) };
        let line = {
            let mut state = self.state();
            let line = state.line();
            if line == state.shown {
                return Ok(());
            }
            state.shown.clone_from(&line);
            line
        };
        show.call1(py, (line,)).map(drop)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn line(&self) -> String {
        let done = self.settled + self.running.iter().map(|(_, share)| share).sum::<f64>();
        let percent = if self.total > 0.0 { (100.0 * done / self.total) as u32 } else { 0 };
        let last = if self.last.is_empty() { String::new() } else { format!("; {}", self.last) };
        if self.label == "trials" {
            return format!("{}/{} trials, {percent} %{last}", self.settled, self.total);
        }
        format!("{}: {percent} %{last}", self.label)
    }
}

/// A display together with the word that stops the work.
pub struct Listening<'a> {
    pub display: &'a Display,
    pub watch: &'a StopRequest,
}

impl Listener for Listening<'_> {
    fn begins(&self, total: usize, settled: usize) {
        self.display.live.begins(total, settled);
        let counts = Counts {
            label: "trials".into(),
            total: total as f64,
            settled: settled as f64,
            ..Counts::default()
        };
        *self.display.state() = counts;
    }

    fn trial_begins(&self, plan: &Plan) {
        self.display.live.trial_begins(plan);
        self.display.state().running.push((words(&plan.labels, plan.seed), 0.0));
    }

    fn trial_advances(&self, plan: &Plan, share: f64) {
        self.display.live.trial_advances(plan, share);
        let name = words(&plan.labels, plan.seed);
        if let Some(running) = self.display.state().running.iter_mut().find(|(own, _)| *own == name) {
            running.1 = share;
        }
    }

    fn trial_measured(&self, plan: &Plan, metric: &str, value: f64) {
        self.display.live.trial_measured(plan, metric, value);
        self.display.state().last = format!("{}: {metric} {value:.4}", words(&plan.labels, plan.seed));
    }

    fn trial_ends(&self, plan: &Plan, end: &End) {
        self.display.live.trial_ends(plan, end);
        let mut state = self.display.state();
        let name = words(&plan.labels, plan.seed);
        state.running.retain(|(own, _)| *own != name);
        state.settled += f64::from(u8::from(*end != End::Interrupted));
    }

    fn warned(&self, plan: &Plan, warning: &str) {
        self.display.live.warned(plan, warning);
    }

    fn cancelled(&self) -> bool {
        self.watch.cancelled()
    }
}

impl Progress for Listening<'_> {
    fn begin(&self, label: &str, total: u64) {
        self.display.bar.begin(label, total);
        *self.display.state() = Counts { label: label.into(), total: total as f64, ..Counts::default() };
    }

    fn advance(&self, units: u64) {
        self.display.bar.advance(units);
        self.display.state().settled += units as f64;
    }

    fn cancelled(&self) -> bool {
        self.watch.cancelled()
    }
}
