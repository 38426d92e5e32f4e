//! The tables of a study: final values of every arm, and paired differences on common seeds.

use super::findings::chance;
use super::measure::{Goal, Measure};
use super::number::Written;
use super::paired::{LEVEL, Paired, holm};
use super::study::{Block, Study};
use super::table::{Column, Table, TableCell};
use crate::store::SpecKind;

/// With more arms than this, each is compared only with the best.
const ALL_PAIRS: usize = 6;

/// One comparison of two arms of a block.
struct Contrast {
    block: usize,
    /// Indices of the arms, the better one first if there is one.
    arms: [usize; 2],
    paired: Paired,
    /// After Holm's correction within the table.
    p: Option<f64>,
}

/// The comparisons of one measure.
pub(super) struct Contrasts {
    list: Vec<Contrast>,
}

impl Contrasts {
    pub fn new(study: &Study<'_>, measure: &Measure) -> Self {
        let mut list = Vec::new();
        for (index, block) in study.blocks.iter().enumerate() {
            let ranked = ranked(block, measure);
            let ends: Vec<Vec<(u64, f64)>> = block.arms.iter().map(|arm| measure.ends(arm)).collect();
            for (i, &a) in ranked.iter().enumerate() {
                for &b in &ranked[i + 1..] {
                    if i == 0 || ranked.len() <= ALL_PAIRS {
                        let paired = Paired::new(&ends[a], &ends[b]);
                        list.push(Contrast { block: index, arms: [a, b], paired, p: None });
                    }
                }
            }
        }
        let adjusted = holm(&list.iter().map(|c| c.paired.p).collect::<Vec<_>>());
        for (contrast, p) in list.iter_mut().zip(adjusted) {
            contrast.p = p;
        }
        Self { list }
    }

    /// The arm of a block that is ahead of the runner-up by more than chance.
    pub fn best(&self, block: usize, measure: &Measure) -> Option<usize> {
        // Comparisons stand in the order of the ranking: the first of a block is best against runner-up.
        let first = self.list.iter().find(|c| c.block == block).filter(|_| measure.goal != Goal::Open)?;
        first.p.filter(|p| *p < LEVEL).map(|_| first.arms[0])
    }

    /// The difference between the first and the second, and whether chance would do it; how often, where there are several blocks.
    pub fn sentence(&self, study: &Study<'_>, measure: &Measure) -> Option<String> {
        let first_of = |block: usize| self.list.iter().find(|c| c.block == block);
        let firsts: Vec<&Contrast> = (0..study.blocks.len()).filter_map(first_of).collect();
        let told: Vec<&&Contrast> = firsts.iter().filter(|c| c.p.is_some()).collect();
        let clear = told.iter().filter(|c| c.p.is_some_and(|p| p < LEVEL)).count();
        match (firsts.as_slice(), told.len()) {
            (_, 0) => None,
            ([only], _) => {
                let [a, b] = only.arms.map(|i| study.blocks[only.block].arms[i].name.as_str());
                let difference = Written::of(&only.paired.difference).plain();
                let chance = only.p.map_or_else(String::new, |p| format!(", {}", chance(p)));
                Some(format!(
                    "{a} − {b}: {difference} in {} (paired over {} seeds, Holm-corrected{chance}).",
                    measure.head, only.paired.difference.n
                ))
            }
            (_, n) => Some(format!(
                "The first is ahead of the second by more than chance in {clear} of {n} settings (paired t-tests, Holm, {} %).",
                100.0 * LEVEL
            )),
        }
    }

    /// As a table; none if there is nothing to compare.
    pub fn table(&self, study: &Study<'_>, measure: &Measure) -> Option<Table> {
        if self.list.iter().all(|c| c.paired.difference.n == 0) {
            return None;
        }
        let mut columns: Vec<Column> = study.others.iter().map(|label| Column::words(head(label))).collect();
        columns.extend([
            Column::words("difference"),
            Column::numbers(format!("Δ {}", measure.head)),
            Column::numbers("n"),
            Column::numbers("t"),
            Column::numbers("p"),
            Column::numbers("p (Holm)"),
        ]);
        let row = |c: &Contrast| {
            let block = &study.blocks[c.block];
            let [a, b] = c.arms.map(|i| block.arms[i].name.as_str());
            let mut cells: Vec<TableCell> = block.values.iter().map(|v| TableCell::Text(v.clone())).collect();
            cells.push(TableCell::Text(format!("{a} − {b}")));
            let best = c.p.is_some_and(|p| p < LEVEL);
            cells.push(TableCell::Estimate { summary: c.paired.difference, best });
            cells.push(TableCell::Count(c.paired.difference.n as u64));
            cells.push(c.paired.t.map_or(TableCell::Missing, TableCell::Number));
            cells.extend([c.paired.p, c.p].map(|p| p.map_or(TableCell::Missing, TableCell::Probability)));
            cells
        };
        let rows = self.list.iter().filter(|c| c.paired.difference.n > 0).map(row).collect();
        let mut notes = vec![format!(
            "Differences of trials with the same seed, which meet the same data, devices and noise: mean ± standard error over n \
             seeds. p: paired t-test, two-sided; Holm: corrected for all rows of this table. In bold: p (Holm) < {} %.",
            100.0 * LEVEL
        )];
        if study.blocks.iter().any(|b| b.arms.len() > ALL_PAIRS) {
            notes.push(format!("With more than {ALL_PAIRS}, each is compared only with the best."));
        }
        Some(Table {
            name: format!("paired-{}", measure.metric),
            caption: format!("Paired differences: {}", measure.head),
            columns,
            rows,
            notes,
        })
    }
}

/// The arms of a block that have the measure, best first; in their order if neither way is better.
fn ranked(block: &Block<'_>, measure: &Measure) -> Vec<usize> {
    let means: Vec<f64> = block.arms.iter().map(|arm| measure.summary(arm).mean).collect();
    let mut order: Vec<usize> = (0..means.len()).filter(|&i| !means[i].is_nan()).collect();
    match measure.goal {
        Goal::Higher => order.sort_by(|&a, &b| means[b].total_cmp(&means[a])),
        Goal::Lower => order.sort_by(|&a, &b| means[a].total_cmp(&means[b])),
        Goal::Open => {}
    }
    order
}

/// The measure that is tested by default: the first that has a direction.
pub(super) fn tested(measures: &[Measure], asked: bool) -> Vec<&Measure> {
    let directed = measures.iter().filter(|m| m.goal != Goal::Open);
    if asked { directed.collect() } else { directed.take(1).collect() }
}

/// Where every arm ended; the best of a block is marked where the comparison allows it.
pub(super) fn table(study: &Study<'_>, measures: &[Measure], tested: &[(&Measure, Contrasts)]) -> Table {
    let mut columns: Vec<Column> = study.others.iter().map(|label| Column::words(head(label))).collect();
    columns.extend(study.compared.iter().map(|label| Column::words(head(label))));
    columns.push(Column::numbers("n"));
    columns.extend(measures.iter().map(|m| Column::numbers(&m.head)));
    let mut rows = Vec::new();
    for (index, block) in study.blocks.iter().enumerate() {
        for (arm_index, arm) in block.arms.iter().enumerate() {
            let mut cells: Vec<TableCell> = block.values.iter().map(|v| TableCell::Text(v.clone())).collect();
            cells.extend(study.compared.iter().map(|_| TableCell::Text(arm.name.clone())));
            cells.push(TableCell::Count(arm.runs.len() as u64));
            for measure in measures {
                let contrasts = tested.iter().find(|(m, _)| *m == measure);
                let best = contrasts.is_some_and(|(m, c)| c.best(index, m) == Some(arm_index));
                cells.push(match TableCell::estimate(measure.summary(arm)) {
                    TableCell::Estimate { summary, .. } => TableCell::Estimate { summary, best },
                    other => other,
                });
            }
            rows.push(cells);
        }
    }
    Table {
        name: "ends".into(),
        caption: "Where the trials ended".into(),
        columns,
        rows,
        notes: notes(study, tested),
    }
}

fn notes(study: &Study<'_>, tested: &[(&Measure, Contrasts)]) -> Vec<String> {
    let over = match study.kind {
        SpecKind::Network => {
            "Mean ± standard error over n seeds. Accuracies and losses are averaged over the last sixth of the epochs (five at most); \
             pulses are those of all layers since the start."
        }
        SpecKind::Problem => {
            "Mean ± standard error over n seeds, after the last step; entries of vectors are averaged."
        }
    };
    let mut notes = vec![over.to_string()];
    let heads: Vec<&str> = tested.iter().map(|(m, _)| m.head.as_str()).collect();
    if !heads.is_empty() && study.blocks.iter().any(|b| b.arms.len() > 1) {
        notes.push(format!(
            "In bold ({}): ahead of the runner-up by a paired t-test over common seeds (two or more) at {} %, Holm-corrected \
             within the table of differences. Where nothing is bold, the seeds do not tell the first from the second.",
            heads.join(", "),
            100.0 * LEVEL
        ));
    }
    notes
}

/// A label as the head of a column.
pub(super) fn head(label: &str) -> String {
    if label == "variant" { "rule".into() } else { label.replace('_', " ") }
}
