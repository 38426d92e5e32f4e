//! Where trials ended against a swept number: a plot for each field with numbers for values.

use std::collections::BTreeMap;

use residuum::stats::Summary;

use super::curves::{CHARTED, LOG_RATIO, Palette, capital, plot};
use super::measure::Measure;
use super::plot::{Across, Chart, Form, Plot, Series};
use super::study::{Block, Study, short};

/// More values than this are not marked one by one.
const MARKED: usize = 9;

/// The plots of some measures against every label whose values are numbers.
pub(super) fn against(study: &Study<'_>, measures: &[&Measure]) -> Vec<Plot> {
    let palette = Palette::new(study);
    let of = |(place, label): (usize, &String)| {
        let numbers = values(study, place)?;
        let together = together(study, place);
        if together.iter().any(|i| *i < place && values(study, *i).is_some()) {
            // Drawn already, against the first number of those that move together.
            return None;
        }
        let others = together.iter().filter(|i| **i != place).map(|i| &study.others[*i]);
        let names: Vec<String> = [label].into_iter().chain(others).map(|label| short(label)).collect();
        let axis = names.join(", with it ");
        let charts = |measure: &&Measure| charts(study, (place, &together, &axis), &numbers, measure, &palette);
        let charts: Vec<Chart> = measures.iter().flat_map(charts).collect();
        let heads: Vec<&str> = measures.iter().map(|m| m.head.as_str()).collect();
        let caption = format!(
            "{} after training against {}: mean over seeds, bars ± one standard error.",
            capital(&heads.join(", ")),
            names.join(" and ")
        );
        plot(&format!("against-{}", super::slug(&short(label))), caption, charts)
    };
    study.others.iter().enumerate().filter_map(of).collect()
}

/// This label and those whose values always change with it, as in a `[[sweep.zip]]`: none of them can be held while it moves.
fn together(study: &Study<'_>, place: usize) -> Vec<usize> {
    let moves = |i: &usize| {
        let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
        study.blocks.iter().map(|b| (&b.values[place], &b.values[*i])).all(|(own, other)| {
            there.insert(own, other).is_none_or(|known| known == other)
                && back.insert(other, own).is_none_or(|known| known == own)
        })
    };
    (0..study.others.len()).filter(moves).collect()
}

/// The values of a label, ascending, if all are numbers and there are several.
fn values(study: &Study<'_>, place: usize) -> Option<Vec<(f64, String)>> {
    let mut values: Vec<(f64, String)> = Vec::new();
    for block in &study.blocks {
        let text = &block.values[place];
        let number: f64 = text.parse().ok().filter(|x: &f64| x.is_finite())?;
        if !values.iter().any(|(known, _)| *known == number) {
            values.push((number, text.clone()));
        }
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    (values.len() > 1).then_some(values)
}

/// A chart for each combination of the other labels.
fn charts(
    study: &Study<'_>,
    (place, together, axis): (usize, &[usize], &str),
    values: &[(f64, String)],
    measure: &Measure,
    palette: &Palette,
) -> Vec<Chart> {
    let held = |all: &[String]| -> Vec<String> {
        all.iter().enumerate().filter(|(i, _)| !together.contains(i)).map(|(_, v)| v.clone()).collect()
    };
    let rest = |block: &Block<'_>| held(&block.values);
    let others = held(&study.others);
    let mut groups: Vec<Vec<String>> = Vec::new();
    for block in &study.blocks {
        if !groups.contains(&rest(block)) {
            groups.push(rest(block));
        }
    }
    let chart = |group: &Vec<String>| {
        let blocks: Vec<&Block<'_>> = study.blocks.iter().filter(|b| rest(b) == *group).collect();
        let mut names: Vec<&str> = Vec::new();
        for arm in blocks.iter().flat_map(|b| &b.arms) {
            if !names.contains(&arm.name.as_str()) {
                names.push(&arm.name);
            }
        }
        let all: Vec<Series> =
            names.iter().map(|name| series(&blocks, place, name, measure, palette)).collect();
        let ends = || all.iter().flat_map(|s| &s.ys).copied();
        let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
        let log = low > 0.0 && high > LOG_RATIO * low;
        let across = match (values.first(), values.last()) {
            (Some((first, _)), Some((last, _))) if values.len() <= MARKED => {
                Across::Swept { values: values.to_vec(), log: *first > 0.0 && *last > LOG_RATIO * first }
            }
            _ => Across::Evenly,
        };
        let words = Block { values: group.clone(), arms: Vec::new() }.words(&others);
        let series: Vec<Series> = all.into_iter().map(|s| s.kept(log)).filter(|s| !s.xs.is_empty()).collect();
        Chart {
            title: if words.is_empty() { measure.head.clone() } else { words },
            x: axis.to_string(),
            across,
            y: measure.head.clone(),
            log,
            series,
            bounds: Vec::new(),
        }
    };
    // A single place along the axis is no curve; the table has it.
    let is_curve = |chart: &Chart| chart.series.iter().any(|s| s.xs.len() > 1);
    groups.iter().take(CHARTED).map(chart).filter(is_curve).collect()
}

/// The ends of one arm over the swept values.
fn series(blocks: &[&Block<'_>], place: usize, name: &str, measure: &Measure, palette: &Palette) -> Series {
    let mut points: Vec<(f64, Summary)> = Vec::new();
    for block in blocks {
        let arm = block.arms.iter().find(|arm| arm.name == name);
        let at: Option<f64> = block.values[place].parse().ok();
        if let (Some(arm), Some(at)) = (arm, at) {
            points.push((at, measure.summary(arm)));
        }
    }
    points.retain(|(_, summary)| summary.n > 0);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = |f: &dyn Fn(&Summary) -> f64| points.iter().map(|(_, s)| f(s)).collect::<Vec<_>>();
    let error = |s: &Summary| if s.n > 1 { s.se } else { 0.0 };
    let several = points.iter().any(|(_, s)| s.n > 1);
    Series {
        label: name.to_string(),
        style: palette.of(name),
        xs: points.iter().map(|(at, _)| *at).collect(),
        ys: of(&|s| s.mean),
        band: several.then(|| [of(&|s| s.mean - error(s)), of(&|s| s.mean + error(s))]),
        form: Form::Marked,
    }
}
