//! What trials show, in sentences: for the end of a run, and for the head of a report.

use residuum::stats::Summary;

use super::ends::Contrasts;
use super::measure::{Goal, Measure, measures};
use super::number::{Written, probability, written};
use super::study::{Arm, Block, Study};
use crate::store::SpecKind;

/// Below this test accuracy, a network of ten classes has learned practically nothing.
const FAILED: f64 = 0.5;
/// Accuracies closer than this count as equal.
const MATCH: f64 = 0.01;
/// Rounding error of a difference of shares.
const ROUNDING: f64 = 1e-12;
/// With more blocks than this, a headline counts them instead of telling each.
const TOLD: usize = 2;

/// What the points are judged by, if anything.
pub(super) fn judged(study: &Study<'_>) -> Option<Measure> {
    let goal = if study.kind == SpecKind::Network { Goal::Higher } else { Goal::Lower };
    measures(study, &[]).into_iter().find(|m| m.goal == goal)
}

/// The points that are compared with one another, under the words of their block. Where no block has more than one, all are.
fn groups(study: &Study<'_>) -> Vec<(String, Vec<End>)> {
    let measure = judged(study);
    let end = |title: String, arm: &Arm<'_>| End {
        title,
        is_digital: arm.rule() == Some("digital"),
        summary: measure.as_ref().map_or_else(|| Summary::of([]), |m| m.summary(arm)),
    };
    if study.blocks.iter().all(|b| b.arms.len() == 1) {
        let of = |b: &Block<'_>| end(joined(&b.words(&study.others), &b.arms[0].name), &b.arms[0]);
        return vec![(String::new(), study.blocks.iter().map(of).collect())];
    }
    let of = |b: &Block<'_>| b.arms.iter().map(|arm| end(arm.name.clone(), arm)).collect();
    study.blocks.iter().map(|b| (b.words(&study.others), of(b))).collect()
}

/// One sentence for each block.
pub(super) fn findings(study: &Study<'_>) -> Vec<String> {
    let said = |ends: &[End]| match study.kind {
        SpecKind::Network => Some(accuracies(ends)),
        SpecKind::Problem => smallest(ends, &judged(study)?),
    };
    let of = |(words, ends): &(String, Vec<End>)| {
        let sentence = said(ends)?;
        Some(if words.is_empty() { sentence } else { format!("{words}: {sentence}") })
    };
    groups(study).iter().filter_map(of).collect()
}

/// The main finding of a report: what was seen, by how much, and whether the seeds tell it from chance.
pub(super) fn headline(study: &Study<'_>, tested: Option<(&Measure, &Contrasts)>) -> Vec<String> {
    let groups = groups(study);
    let Some(measure) = judged(study) else { return Vec::new() };
    let mut sentences = match (groups.len(), groups.first()) {
        (1, Some((_, ends))) if ends.len() > 1 && study.blocks.len() == ends.len() => {
            extremes(ends, &measure).into_iter().collect()
        }
        (n, _) if n <= TOLD => findings(study),
        _ => tally(&groups, &measure),
    };
    if let Some((tested, contrasts)) = tested.filter(|(m, _)| m.metric == measure.metric) {
        sentences.extend(contrasts.sentence(study, tested));
    }
    sentences
}

/// Where along a sweep the measure is best and worst.
fn extremes(ends: &[End], measure: &Measure) -> Option<String> {
    let known = || ends.iter().filter(|end| !end.summary.mean.is_nan());
    let by = |a: &&End, b: &&End| a.summary.mean.total_cmp(&b.summary.mean);
    let (high, low) = (known().max_by(by)?, known().min_by(by)?);
    let (best, worst) = if measure.goal == Goal::Higher { (high, low) } else { (low, high) };
    let of = |end: &End| format!("{} at {}", Written::of(&end.summary).plain(), end.title);
    Some(format!("Best {}: {}; worst: {}.", measure.head, of(best), of(worst)))
}

/// Which arm is ahead in how many settings, and between which values each lies.
fn tally(groups: &[(String, Vec<End>)], measure: &Measure) -> Vec<String> {
    let higher = measure.goal == Goal::Higher;
    let mut names: Vec<&str> = Vec::new();
    let mut wins: Vec<(usize, &str)> = Vec::new();
    for (_, ends) in groups {
        let known = ends.iter().filter(|end| !end.summary.mean.is_nan());
        let by = |a: &&End, b: &&End| a.summary.mean.total_cmp(&b.summary.mean);
        let best = if higher { known.max_by(by) } else { known.min_by(by) };
        let Some(best) = best else { continue };
        match wins.iter_mut().find(|(_, name)| *name == best.title) {
            Some((count, _)) => *count += 1,
            None => wins.push((1, &best.title)),
        }
        for end in ends {
            if !names.contains(&end.title.as_str()) {
                names.push(&end.title);
            }
        }
    }
    // The most wins first; equal ones in the order of the spec.
    wins.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let total: usize = wins.iter().map(|(count, _)| count).sum();
    if total == 0 {
        return Vec::new();
    }
    let won = |(i, (count, name)): (usize, &(usize, &str))| {
        let of = if i == 0 { format!(" of {total} settings") } else { String::new() };
        format!("{name} in {count}{of}")
    };
    let won: Vec<String> = wins.iter().enumerate().map(won).collect();
    let span = |name: &&str| {
        let own = || {
            let ends = groups.iter().flat_map(|(_, ends)| ends).filter(|e| e.title == *name);
            ends.map(|e| e.summary.mean).filter(|x| !x.is_nan())
        };
        let (low, high) = (own().reduce(f64::min)?, own().reduce(f64::max)?);
        // Accuracies with one decimal, as sentences at the end of a run have them.
        let shown =
            |x: f64| if higher { format!("{x:.1}").replace('-', "−") } else { written(x, None).plain() };
        Some(format!("{name} {} to {}", shown(low), shown(high)))
    };
    let spans: Vec<String> = names.iter().filter_map(span).collect();
    let order = if higher { "Highest" } else { "Lowest" };
    vec![
        format!("{order} {}: {}.", measure.head, won.join(", ")),
        format!("Between settings: {}.", spans.join("; ")),
    ]
}

/// A probability in words: `p = 0.0033`, `p < 0.0001`.
pub(super) fn chance(p: f64) -> String {
    let p = probability(p);
    if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") }
}

pub(super) fn joined(block: &str, arm: &str) -> String {
    [block, arm].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A mean with the deviation between seeds.
pub(super) fn deviating(summary: &Summary) -> String {
    written(summary.mean, (summary.n > 1).then_some(summary.std)).plain()
}

/// A point as sentences speak of it.
struct End {
    title: String,
    is_digital: bool,
    /// Of what points are judged by; accuracies in per cent.
    summary: Summary,
}

impl End {
    fn accuracy(&self) -> f64 {
        self.summary.mean / 100.0
    }

    fn words(&self) -> String {
        format!("{} ({:.1} %)", self.title, self.summary.mean)
    }
}

/// Which problem came closest.
fn smallest(ends: &[End], measure: &Measure) -> Option<String> {
    let known = ends.iter().filter(|end| !end.summary.mean.is_nan());
    let best = known.min_by(|a, b| a.summary.mean.total_cmp(&b.summary.mean))?;
    let (head, value) = (&measure.head, deviating(&best.summary));
    Some(match ends {
        [_] => format!("The {head} ends at {value}."),
        _ => format!("{} ends with the smallest {head}, {value}.", best.title),
    })
}

/// Which networks failed, and which matched the digital one, or did best if there is none.
fn accuracies(ends: &[End]) -> String {
    match ends {
        [] => "Nothing was run.".into(),
        [only] => format!("{} reaches {:.1} %.", only.title, only.summary.mean),
        _ => match ends.iter().position(|end| end.is_digital) {
            Some(place) => against(&ends[place], &others(ends, place)),
            None => ranked(ends),
        },
    }
}

fn others(ends: &[End], place: usize) -> Vec<&End> {
    ends.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, end)| end).collect()
}

/// The points for which it holds, with the singular or plural verb.
fn list(ends: &[&End], holds: impl Fn(f64) -> bool, verbs: [&str; 2]) -> Option<String> {
    let named: Vec<String> = ends.iter().filter(|e| holds(e.accuracy())).map(|e| e.words()).collect();
    let verb = verbs[usize::from(named.len() > 1)];
    (!named.is_empty()).then(|| format!("{} {verb}", named.join(", ")))
}

/// The others beside the digital network.
fn against(digital: &End, others: &[&End]) -> String {
    let (first, goal) = (digital.words(), digital.accuracy());
    if goal < FAILED {
        let all_fail = others.iter().all(|e| e.accuracy() < FAILED);
        let best = others.iter().max_by(|a, b| a.accuracy().total_cmp(&b.accuracy()));
        let all = if all_fail { ", and so do all others" } else { "" };
        return format!(
            "{first} fails{all}; the best of them is {}.",
            best.map_or(String::new(), |e| e.words())
        );
    }
    let failed = list(others, |a| a < FAILED, ["fails", "fail"]);
    let matched = list(others, |a| a >= FAILED && (a - goal).abs() <= MATCH + ROUNDING, ["matches", "match"]);
    let ahead = list(others, |a| a > goal + MATCH + ROUNDING, ["is ahead of", "are ahead of"]);
    let level = [matched, ahead].into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (failed, level.is_empty()) {
        (None, true) => format!("{first} is ahead of the others."),
        (None, false) => format!("{level} {first}."),
        (Some(failed), true) => format!("{failed}; {first} is ahead of the others."),
        (Some(failed), false) => format!("{failed} where {level} {first}."),
    }
}

/// Networks on tiles among themselves.
fn ranked(ends: &[End]) -> String {
    let best = (0..ends.len()).max_by(|&a, &b| ends[a].accuracy().total_cmp(&ends[b].accuracy()));
    let place = best.unwrap_or(0);
    let (first, goal) = (ends[place].words(), ends[place].accuracy());
    if goal < FAILED {
        return format!("All fail; the best of them is {first}.");
    }
    let others = others(ends, place);
    let matched = list(&others, |a| a >= (goal - MATCH - ROUNDING).max(FAILED), ["matches", "match"]);
    let failed = list(&others, |a| a < FAILED, ["fails", "fail"]);
    match (failed, matched) {
        (None, None) => format!("{first} is ahead of the others."),
        (None, Some(matched)) => format!("{matched} {first}, the best."),
        (Some(failed), None) => format!("{failed}; {first} is the best."),
        (Some(failed), Some(matched)) => format!("{failed} where {matched} {first}, the best."),
    }
}
