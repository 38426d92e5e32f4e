//! Attribution: the effect of each difference between two specs, switched one at a time.
//!
//! With m(S) the end of a metric under the spec S, and A and B the two specs, the difference `i` has two effects on common seeds:
//!
//! ```text
//! alone:    m(A with i of B) − m(A)
//! removed:  m(B) − m(B with i of A)
//! ```
//!
//! Their sums need not give m(B) − m(A); the remainder is reported as the interaction.

use std::path::Path;

use residuum::stats::Summary;
use thiserror::Error;

use crate::plan::{Plan, plans};
use crate::report::paired::{LEVEL, Paired, holm};
use crate::report::table::{Column, Table, TableCell};
use crate::report::{Report, ReportOptions, StoredTrial, end, head_of, main_metric};
use crate::spec::{Difference, Document, Folders, Node, SpecError};

/// Specs with more differences than this are different experiments.
const MAX_DIFFERENCES: usize = 64;

/// Why two specs cannot be compared.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One of them is not a valid spec, or does not have exactly one trial.
    #[error("{side}: {source}")]
    Spec {
        /// `A` or `B`.
        side: char,
        /// What is wrong.
        source: SpecError,
    },
    /// They are the same.
    #[error("A and B must compute different things, got the same")]
    Same,
    /// They have too little in common.
    #[error("A and B must differ in at most {MAX_DIFFERENCES} fields, got {0}")]
    TooMany(usize),
}

/// A spec and one of its trials.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The spec.
    pub document: &'a Document,
    /// The folder that its paths are relative to.
    pub base: &'a Path,
    /// Cell, variant and swept values, joined by `-`; needed if there are several trials.
    pub trial: Option<&'a str>,
}

/// A field in which the two specs differ, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its dotted path.
    pub field: String,
    /// Its value in A; none if the default holds.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
    /// Why it cannot be switched alone, if it cannot.
    pub alone_refused: Option<String>,
    /// Why it cannot be removed alone, if it cannot.
    pub removed_refused: Option<String>,
}

/// A spec to run.
#[derive(Clone, Debug)]
pub struct Point {
    /// For tables: `A`, `B`, `A + field`, `B − field`.
    pub name: String,
    /// Its trials, one for each seed; none if it was refused.
    pub plans: Vec<Plan>,
}

/// Two specs and those between them.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// What differs.
    pub switches: Vec<Switch>,
    /// A, B, then every switch alone, then every switch removed.
    pub points: Vec<Point>,
}

impl Attribution {
    /// Finds what differs, and plans every point with the seeds of A. `data_root` is the folder of all data sets.
    ///
    /// # Errors
    /// If either spec is invalid, or they differ in nothing or in too much.
    pub fn new(
        a: Side<'_>,
        b: Side<'_>,
        data_root: &Path,
        profile: Option<&str>,
        stem: &str,
    ) -> Result<Self, CompareError> {
        let read = |side: char, from: Side<'_>| {
            let node = from.document.0.trial(from.trial, profile);
            // A field may move into the spec of the other folder.
            node.map(|node| node.rebased(from.base)).map_err(|source| CompareError::Spec { side, source })
        };
        let (first, second) = (read('A', a)?, read('B', b)?);
        let second = second.with_seeds_of(&first);
        let folders = Folders::new("").with_data(data_root);
        let plan = |node: &Node| plans(&node.to_toml(), &folders, None, stem);
        let ends = [(&first, 'A'), (&second, 'B')]
            .map(|(node, side)| plan(node).map_err(|source| CompareError::Spec { side, source }));
        let [of_a, of_b] = ends;
        let (of_a, of_b) = (of_a?, of_b?);

        let differences = first.differences(&second);
        if differences.len() > MAX_DIFFERENCES {
            return Err(CompareError::TooMany(differences.len()));
        }
        let (mut switches, mut alone, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for Difference { path, sides: [in_a, in_b] } in &differences {
            let up = plan(&first.with(path, in_b.as_ref()));
            let down = plan(&second.with(path, in_a.as_ref()));
            // A field set to its default changes nothing.
            if same(&up, &of_a) && same(&down, &of_b) {
                continue;
            }
            let field = path.join(".");
            alone.push(Point { name: format!("A + {field}"), plans: up.clone().unwrap_or_default() });
            removed.push(Point { name: format!("B − {field}"), plans: down.clone().unwrap_or_default() });
            switches.push(Switch {
                field,
                a: in_a.as_ref().map(Node::inline),
                b: in_b.as_ref().map(Node::inline),
                alone_refused: up.err().map(|e| e.message),
                removed_refused: down.err().map(|e| e.message),
            });
        }
        if switches.is_empty() {
            return Err(CompareError::Same);
        }
        let mut points = vec![Point { name: "A".into(), plans: of_a }, Point { name: "B".into(), plans: of_b }];
        points.extend(alone);
        points.extend(removed);
        Ok(Self { switches, points })
    }

    /// All trials, each once.
    pub fn plans(&self) -> Vec<Plan> {
        let mut seen = std::collections::BTreeSet::new();
        self.points.iter().flat_map(|p| &p.plans).filter(|plan| seen.insert(plan.id())).cloned().collect()
    }

    /// The effects as a report: `trials` are those of [`Attribution::plans`] that have records, in any order. Without a metric, the
    /// main one of the experiment is taken.
    pub fn report(&self, trials: &[StoredTrial], metric: Option<&str>, title: &str) -> Report {
        let named = self.named(trials, title);
        let options = ReportOptions {
            title: Some(title.to_string()),
            metrics: metric.map(String::from).into_iter().collect(),
            ..ReportOptions::default()
        };
        let mut report = Report::new(&named, &options);
        for section in &mut report.sections {
            section.tables.retain(|table| !table.name.starts_with("paired"));
            if let Some(metric) = metric.or_else(|| main_metric(&named)) {
                section.tables.insert(0, self.table(trials, metric));
            }
        }
        report
    }

    /// The trials of each point under its name.
    fn named(&self, trials: &[StoredTrial], title: &str) -> Vec<StoredTrial> {
        let mut named = Vec::new();
        for point in &self.points {
            for plan in &point.plans {
                let id = plan.id();
                for trial in trials.iter().filter(|t| t.manifest.id == id) {
                    let mut own = trial.clone();
                    own.manifest.id = format!("{}, {id}", point.name);
                    own.manifest.experiment = title.into();
                    own.manifest.labels = vec![("variant".into(), point.name.clone())];
                    named.push(own);
                }
            }
        }
        named
    }

    /// The ends of a point, seed by seed.
    fn ends(&self, point: usize, trials: &[StoredTrial], metric: &str) -> Vec<(u64, f64)> {
        let plans = &self.points[point].plans;
        let of = |plan: &Plan| {
            let id = plan.id();
            let trial = trials.iter().find(|t| t.manifest.id == id)?;
            Some((plan.seed, end(trial, metric)?))
        };
        plans.iter().filter_map(of).collect()
    }

    /// The table of effects on one metric.
    pub fn table(&self, trials: &[StoredTrial], metric: &str) -> Table {
        let n = self.switches.len();
        let ends: Vec<Vec<(u64, f64)>> = (0..self.points.len()).map(|i| self.ends(i, trials, metric)).collect();
        let effect = |to: usize, from: usize| Paired::new(&ends[to], &ends[from]);
        let alone: Vec<Paired> = (0..n).map(|i| effect(2 + i, 0)).collect();
        let removed: Vec<Paired> = (0..n).map(|i| effect(1, 2 + n + i)).collect();
        let total = effect(1, 0);
        let tested: Vec<Option<f64>> = alone.iter().chain(&removed).chain([&total]).map(|p| p.p).collect();
        let adjusted = holm(&tested);

        let cells = |paired: &Paired, p: Option<f64>| {
            let best = p.is_some_and(|p| p < LEVEL);
            match TableCell::estimate(paired.difference) {
                TableCell::Estimate { summary, .. } => [
                    TableCell::Estimate { summary, best },
                    p.map_or(TableCell::Missing, TableCell::Probability),
                ],
                other => [other, TableCell::Missing],
            }
        };
        let words = |value: &Option<String>| TableCell::Text(value.clone().unwrap_or_else(|| "default".into()));
        let mut rows = Vec::new();
        for (i, switch) in self.switches.iter().enumerate() {
            let mut row = vec![TableCell::Text(switch.field.clone()), words(&switch.a), words(&switch.b)];
            row.extend(cells(&alone[i], adjusted[i]));
            row.extend(cells(&removed[i], adjusted[n + i]));
            rows.push(row);
        }
        let mut all = vec![
            TableCell::Text("all: B − A".into()),
            TableCell::Text(String::new()),
            TableCell::Text(String::new()),
        ];
        all.extend(cells(&total, adjusted[2 * n]));
        all.extend(cells(&total, adjusted[2 * n]));
        rows.push(all);
        let remainder = |steps: &dyn Fn(usize) -> [usize; 2]| self.remainder(&ends, steps);
        let mut left = vec![
            TableCell::Text("remainder (interactions)".into()),
            TableCell::Text(String::new()),
            TableCell::Text(String::new()),
        ];
        left.extend([
            remainder(&|i| [2 + i, 0]),
            TableCell::Missing,
            remainder(&|i| [1, 2 + n + i]),
            TableCell::Missing,
        ]);
        rows.push(left);
        Table {
            name: "effects".into(),
            caption: format!("Effects on {}", head_of(metric)),
            columns: vec![
                Column::words("difference"),
                Column::words("A"),
                Column::words("B"),
                Column::numbers("alone"),
                Column::numbers("p (Holm)"),
                Column::numbers("removed"),
                Column::numbers("p (Holm)"),
            ],
            rows,
            notes: self.notes(total.difference.n),
        }
    }

    /// The total minus the sum of effects, over the seeds that every point has.
    fn remainder(&self, ends: &[Vec<(u64, f64)>], steps: &dyn Fn(usize) -> [usize; 2]) -> TableCell {
        let at =
            |point: usize, seed: u64| ends[point].iter().find(|(s, _)| *s == seed).map(|(_, value)| *value);
        let left = |seed: u64| {
            let mut remainder = at(1, seed)? - at(0, seed)?;
            for i in 0..self.switches.len() {
                let [to, from] = steps(i);
                remainder -= at(to, seed)? - at(from, seed)?;
            }
            Some(remainder)
        };
        TableCell::estimate(Summary::of(ends[0].iter().filter_map(|(seed, _)| left(*seed))))
    }

    fn notes(&self, n: usize) -> Vec<String> {
        let mut notes = vec![format!(
            "Alone: A with this one difference, less A. Removed: B, less B without it. Mean ± standard error of paired differences \
             over {n} common seeds; p: paired t-test, two-sided, Holm-corrected for the whole table; in bold: p < {} %. Left for \
             interactions: B − A less the sum of the effects.",
            100.0 * LEVEL
        )];
        for switch in &self.switches {
            for (refused, words) in
                [(&switch.alone_refused, "switched alone"), (&switch.removed_refused, "removed")]
            {
                if let Some(message) = refused {
                    notes.push(format!("{} cannot be {words}: {message}", switch.field));
                }
            }
        }
        notes
    }
}

/// Whether a spec makes the same trials as the given ones.
fn same(one: &Result<Vec<Plan>, SpecError>, other: &[Plan]) -> bool {
    let ids = |plans: &[Plan]| plans.iter().map(Plan::id).collect::<Vec<_>>();
    one.as_ref().is_ok_and(|plans| ids(plans) == ids(other))
}
