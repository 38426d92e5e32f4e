//! The file of rule presets, from searches of every rule on every device.

use std::fmt::Write as _;

use super::Tuned;
use crate::spec::RULE_PRESETS_VERSION;

/// The file of settings that `rule = { preset = … }` takes, with their evidence: `found_by` is the command of the search.
///
/// # Errors
/// Searches without anything measured on the test samples, with different budgets, or two of one rule and device.
pub fn preset_file(tuned: &[Tuned], found_by: &str) -> Result<String, String> {
    let Some(first) = tuned.first() else { return Err("presets need at least one search".into()) };
    let mut text = format!(
        "# Settings of rules on the devices of the literature, found by the command below. Do not edit.\n\
         version = {RULE_PRESETS_VERSION}\nfound_by = {found_by:?}\nevidence = {:?}\ntrials = {}\nseeds = {}\nchance = {:?}\n",
        first.evidence,
        first.schedule.trials(),
        first.test.map_or(0, |test| test.n),
        first.chance,
    );
    let mut seen = Vec::new();
    for one in tuned {
        if (&one.evidence, one.schedule.trials()) != (&first.evidence, first.schedule.trials()) {
            return Err(format!(
                "presets need one budget for all, but {} has another than {}",
                one.point, first.point
            ));
        }
        let Some(test) = one.test else {
            return Err(format!("presets need a test accuracy, but {} has none", one.point));
        };
        let name = match (&one.device, one.rule.as_str()) {
            (_, "digital") => "digital".to_string(),
            (Some(device), rule) => format!("{device}.{rule}"),
            (None, rule) => {
                return Err(format!("presets need device.preset, but {} ({rule}) has none", one.point));
            }
        };
        if seen.contains(&name) {
            return Err(format!("presets need each rule once on a device, got {name} twice"));
        }
        let _ = write!(
            text,
            "\n[{name}]\nsettings = {}\naccuracy = {:.4}\ndeviation = {:.4}\nvalidation = {:.4}\n",
            one.settings, test.mean, test.std, one.score.mean
        );
        seen.push(name);
    }
    Ok(text)
}
