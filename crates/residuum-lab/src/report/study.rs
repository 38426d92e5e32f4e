//! Trials sorted for comparison: an experiment is a list of blocks, a block a list of arms, an arm a list of seeds.
//!
//! The arms of a block differ in one label, the one compared (usually the rule); everything else in their labels is equal.

use std::collections::{BTreeMap, BTreeSet};

use super::StoredTrial;
use crate::store::{SpecKind, StoredParameter};
use crate::style::drawn_as;

/// Labels that name what is compared, the first that an experiment has.
const COMPARED: [&str; 3] = ["variant", "rule.kind", "rule"];
/// Fields that differ between trials without making them different experiments.
const NOT_SETTINGS: [&str; 4] = ["seeds", "training.seeds", "title", "name"];

/// The trials of one experiment.
#[derive(Debug)]
pub(super) struct Study<'a> {
    pub name: &'a str,
    pub kind: SpecKind,
    /// The label whose values are compared, if the trials have any.
    pub compared: Option<String>,
    /// The other labels, in order of appearance.
    pub others: Vec<String>,
    pub blocks: Vec<Block<'a>>,
}

/// Trials that may be compared with one another.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// A value for each of the other labels.
    pub values: Vec<String>,
    pub arms: Vec<Arm<'a>>,
}

/// Trials that differ only in their seeds.
#[derive(Debug)]
pub(super) struct Arm<'a> {
    /// The value of the compared label.
    pub name: String,
    /// In the order of their seeds.
    pub runs: Vec<&'a StoredTrial>,
}

impl Arm<'_> {
    /// The kind of its rule, if its trials say so.
    pub fn rule(&self) -> Option<&str> {
        let value = value(self.runs.first()?, "rule.kind")?;
        Some(value.trim_matches('"'))
    }

    /// The word for its rule that decides how it is drawn.
    pub fn drawn_as(&self) -> Option<&str> {
        let first = self.runs.first()?;
        drawn_as(|field| value(first, field))
    }
}

impl Block<'_> {
    /// Its labels in words: `radius = 0.6, shape = 2`, or the value alone where the label says nothing.
    pub fn words(&self, others: &[String]) -> String {
        let words = |(label, value): (&String, &String)| match label.as_str() {
            "cell" | SETTINGS => value.clone(),
            label => format!("{} = {value}", short(label)),
        };
        others.iter().zip(&self.values).filter(|(_, v)| !v.is_empty()).map(words).collect::<Vec<_>>().join(", ")
    }
}

/// The last part of a field's name: what tells a reader enough.
pub(super) fn short(label: &str) -> String {
    label.rsplit('.').next().unwrap_or(label).replace('_', " ")
}

/// The label added for trials with equal labels but different settings.
const SETTINGS: &str = "settings";

/// Sorts trials into studies, each in the original order. Duplicates count once.
pub(super) fn studies<'a>(trials: &'a [StoredTrial], compared: Option<&str>) -> Vec<Study<'a>> {
    let mut sorted: Vec<(&str, SpecKind, Vec<&StoredTrial>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for trial in trials.iter().filter(|t| seen.insert(t.manifest.id.as_str())) {
        let (name, kind) = (trial.manifest.experiment.as_str(), trial.manifest.kind);
        match sorted.iter_mut().find(|(n, k, _)| (*n, *k) == (name, kind)) {
            Some((_, _, members)) => members.push(trial),
            None => sorted.push((name, kind, vec![trial])),
        }
    }
    sorted.into_iter().map(|(name, kind, members)| study(name, kind, &members, compared)).collect()
}

fn study<'a>(name: &'a str, kind: SpecKind, members: &[&'a StoredTrial], wanted: Option<&str>) -> Study<'a> {
    let has = |label: &&str| members.iter().any(|t| t.manifest.labels.iter().any(|(l, _)| l == label));
    let compared = wanted.filter(has).or_else(|| COMPARED.into_iter().find(has)).map(String::from);
    let labels = labels(members, compared.as_deref());
    let mut names: Vec<String> = Vec::new();
    for (label, _) in labels.iter().flatten() {
        if !names.contains(label) {
            names.push(label.clone());
        }
    }
    let others: Vec<String> = names.into_iter().filter(|n| Some(n) != compared.as_ref()).collect();

    let mut blocks: Vec<Block> = Vec::new();
    for (trial, labels) in members.iter().zip(&labels) {
        let value = |label: &String| labels.iter().find(|(l, _)| l == label).map(|(_, v)| v.clone());
        let values: Vec<String> = others.iter().map(|label| value(label).unwrap_or_default()).collect();
        let arm = compared.as_ref().and_then(value).unwrap_or_default();
        let at = blocks.iter().position(|b| b.values == values).unwrap_or_else(|| {
            blocks.push(Block { values, arms: Vec::new() });
            blocks.len() - 1
        });
        let arms = &mut blocks[at].arms;
        match arms.iter_mut().find(|a| a.name == arm) {
            Some(arm) => arm.runs.push(trial),
            None => arms.push(Arm { name: arm, runs: vec![trial] }),
        }
    }
    for arm in blocks.iter_mut().flat_map(|b| &mut b.arms) {
        arm.runs.sort_by_key(|t| t.manifest.seed);
    }
    Study { name, kind, compared, others, blocks }
}

/// The labels of each trial. Trials that differ in a setting no label says (an edited spec in an old store) must not be averaged:
/// they get one that does. A setting of all arms makes blocks, so that arms of one version are compared; a setting of the rule, or
/// one in which arms differ anyway, makes arms, which are compared with those that were not edited.
fn labels(members: &[&StoredTrial], compared: Option<&str>) -> Vec<Vec<(String, String)>> {
    // Fields that differ among trials of equal labels, each compared with the first of them.
    let mut edited: BTreeMap<&[(String, String)], (&StoredTrial, BTreeSet<&str>)> = BTreeMap::new();
    for trial in members {
        let (first, fields) = edited.entry(&trial.manifest.labels).or_insert_with(|| (trial, BTreeSet::new()));
        fields.extend(differing(&first.manifest.spec, &trial.manifest.spec));
    }
    let all: BTreeSet<&str> = edited.values().flat_map(|(_, fields)| fields.iter().copied()).collect();
    let is_edited = |trial: &StoredTrial, field: &str| {
        edited.get(trial.manifest.labels.as_slice()).is_some_and(|(_, f)| f.contains(field))
    };
    let of_arms: BTreeSet<&str> = all
        .iter()
        .copied()
        .filter(|field| {
            let versions: BTreeSet<Option<&str>> =
                members.iter().filter(|t| is_edited(t, field)).map(|t| value(t, field)).collect();
            compared.is_some()
                && (field.starts_with("rule.") || members.iter().any(|t| !versions.contains(&value(t, field))))
        })
        .collect();
    let words = |trial: &StoredTrial, fields: &mut dyn Iterator<Item = &str>| {
        let word = |field: &str| format!("{field} = {}", value(trial, field).unwrap_or("default"));
        fields.map(word).collect::<Vec<_>>().join(", ")
    };
    let labelled = |trial: &&StoredTrial| {
        let mut labels = trial.manifest.labels.clone();
        let own = words(trial, &mut of_arms.iter().copied().filter(|field| is_edited(trial, field)));
        if let Some((_, arm)) = labels.iter_mut().find(|(label, _)| Some(label.as_str()) == compared)
            && !own.is_empty()
        {
            *arm = format!("{arm}, {own}");
        }
        let settings = words(trial, &mut all.difference(&of_arms).copied());
        if !settings.is_empty() {
            labels.push((SETTINGS.into(), settings));
        }
        labels
    };
    members.iter().map(labelled).collect()
}

/// The value of a setting.
fn value<'a>(trial: &'a StoredTrial, field: &str) -> Option<&'a str> {
    trial.manifest.spec.iter().find(|p| p.field == field).map(|p| p.value.as_str())
}

/// Settings in which two trials differ.
fn differing<'a>(a: &'a [StoredParameter], b: &'a [StoredParameter]) -> Vec<&'a str> {
    // Two trials of one grid list the same fields in the same order: that case is the only one that must be fast.
    if a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.field == b.field && (a.value == b.value || is_aside(&a.field)))
    {
        return Vec::new();
    }
    let lacks = |p: &StoredParameter, list: &[StoredParameter]| {
        !is_aside(&p.field) && !list.iter().any(|q| q.field == p.field && q.value == p.value)
    };
    let only_a = a.iter().filter(|p| lacks(p, b));
    only_a.chain(b.iter().filter(|p| lacks(p, a))).map(|p| p.field.as_str()).collect()
}

/// Whether a field does not affect the numbers of a trial.
pub(super) fn is_aside(field: &str) -> bool {
    let whole = field.trim_end_matches(".first").trim_end_matches(".count");
    NOT_SETTINGS.contains(&whole)
}
