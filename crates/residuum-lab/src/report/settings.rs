//! What was run and on what: the manifests of a study in a few lines, and every parameter.

use super::ends::head;
use super::number::{duration, ranges};
use super::study::{Study, is_aside};
use super::table::{Column, Table, TableCell};
use super::{SharedSettings, StoredTrial};
use crate::store::StoredParameter;

/// More values of one field than this are counted, not listed.
const LISTED: usize = 12;

/// What the trials of a study have in common, and the time spent on them.
pub(super) fn provenance(study: &Study<'_>) -> Vec<(String, String)> {
    let trials: Vec<&StoredTrial> = trials(study);
    let each = |f: &dyn Fn(&StoredTrial) -> Option<String>| {
        let mut values: Vec<String> = Vec::new();
        for value in trials.iter().filter_map(|t| f(t)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join("; ")
    };
    let seeds: Vec<u64> = trials.iter().map(|t| t.manifest.seed).collect();
    let seconds: f64 = trials.iter().map(|t| t.manifest.seconds).sum();
    let rows: usize = trials.iter().map(|t| t.rows.len()).sum();
    let facts = [
        ("trials", trials.len().to_string()),
        ("seeds", ranges(&seeds)),
        ("records", rows.to_string()),
        ("version", each(&|t| Some(t.manifest.version.clone()))),
        ("version of the numbers", each(&|t| Some(t.manifest.value_version.to_string()))),
        ("commit", each(&|t| t.manifest.commit.clone())),
        ("CPU", each(&|t| t.manifest.cpu.clone())),
        ("threads", each(&|t| Some(t.manifest.threads.to_string()))),
        ("computing time", duration(seconds)),
    ];
    facts.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.to_string(), v)).collect()
}

fn trials<'a>(study: &Study<'a>) -> Vec<&'a StoredTrial> {
    study.blocks.iter().flat_map(|b| &b.arms).flat_map(|a| a.runs.iter().copied()).collect()
}

/// Every parameter: shared ones with their value, the others with all their values.
pub(super) fn settings(study: &Study<'_>) -> SharedSettings {
    let trials = trials(study);
    let mut fields: Vec<(&StoredParameter, Vec<&str>, usize)> = Vec::new();
    for trial in &trials {
        for parameter in trial.manifest.spec.iter().filter(|p| !is_aside(&p.field)) {
            match fields.iter_mut().find(|(p, _, _)| p.field == parameter.field) {
                Some((_, values, count)) => {
                    *count += 1;
                    if !values.contains(&parameter.value.as_str()) {
                        values.push(&parameter.value);
                    }
                }
                None => fields.push((parameter, vec![&parameter.value], 1)),
            }
        }
    }
    let is_shared = |(_, values, count): &&(&StoredParameter, Vec<&str>, usize)| {
        values.len() == 1 && *count == trials.len()
    };
    let shared = fields.iter().filter(is_shared).map(|(p, _, _)| (*p).clone()).collect();
    let varied = fields
        .iter()
        .filter(|f| !is_shared(f))
        .map(|(p, values, count)| {
            let mut shown = values.iter().take(LISTED).copied().collect::<Vec<_>>().join(" | ");
            if values.len() > LISTED {
                shown = format!("{shown} | … {} in total", values.len());
            }
            if *count < trials.len() {
                shown += " | –";
            }
            (p.field.clone(), shown)
        })
        .collect();
    SharedSettings { shared, varied }
}

/// Every trial with its final values, for other programs.
pub(super) fn trials_table(study: &Study<'_>, measures: &[super::measure::Measure]) -> Table {
    let mut columns: Vec<Column> = study.others.iter().map(|l| Column::words(head(l))).collect();
    columns.extend(study.compared.iter().map(|l| Column::words(head(l))));
    columns.extend(["seed", "seconds"].map(Column::numbers));
    columns.extend(measures.iter().map(|m| Column::numbers(&m.head)));
    columns.push(Column::words("id"));
    let mut rows = Vec::new();
    for block in &study.blocks {
        for arm in &block.arms {
            for trial in &arm.runs {
                let mut cells: Vec<TableCell> =
                    block.values.iter().map(|v| TableCell::Text(v.clone())).collect();
                cells.extend(study.compared.iter().map(|_| TableCell::Text(arm.name.clone())));
                cells.push(TableCell::Count(trial.manifest.seed));
                cells.push(TableCell::Number(trial.manifest.seconds));
                cells
                    .extend(measures.iter().map(|m| m.of(trial).map_or(TableCell::Missing, TableCell::Number)));
                cells.push(TableCell::Text(trial.manifest.id.clone()));
                rows.push(cells);
            }
        }
    }
    Table { name: "trials".into(), caption: "Every trial".into(), columns, rows, notes: Vec::new() }
}
