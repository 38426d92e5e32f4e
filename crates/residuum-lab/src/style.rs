//! What a rule looks like: one colour and one dash in every figure.

use crate::figure::{Axis, Color, Dash};

/// Colour and dash of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleStyle {
    /// Its colour.
    pub color: Color,
    /// How its line is broken, so that curves stay apart in print and for colour-blind readers.
    pub dash: Dash,
}

impl RuleStyle {
    const fn new(color: Color, dash: Dash) -> Self {
        Self { color, dash }
    }
}

impl Default for RuleStyle {
    /// Of what is no rule.
    fn default() -> Self {
        Self::new(Color::GREY, Dash::Solid)
    }
}

/// Every kind of rule with its look. A kind whose word contains another's stands before it.
const RULES: [(&str, RuleStyle); 12] = [
    ("digital", RuleStyle::new(Color::DIGITAL_SGD, Dash::Dotted)),
    ("residual_cascade", RuleStyle::new(Color::hex(0x7b5cd6), Dash::DashDotted)),
    ("residual_learning", RuleStyle::new(Color::RESIDUAL_LEARNING, Dash::Solid)),
    ("e_rider", RuleStyle::new(Color::GREEN, Dash::DashDotted)),
    ("rider", RuleStyle::new(Color::hex(0x44aa99), Dash::Dotted)),
    ("chopped_tiki_taka", RuleStyle::new(Color::ORANGE, Dash::DashDotted)),
    ("tiki_taka_2", RuleStyle::new(Color::hex(0x661100), Dash::Dashed)),
    ("tiki_taka", RuleStyle::new(Color::PURPLE, Dash::DashDotted)),
    ("agad", RuleStyle::new(Color::hex(0x117733), Dash::Dashed)),
    ("mixed_precision", RuleStyle::new(Color::SKY_BLUE, Dash::DashDotted)),
    ("manhattan", RuleStyle::new(Color::hex(0x7a5c00), Dash::Dotted)),
    ("analog", RuleStyle::new(Color::ANALOG_SGD, Dash::Dashed)),
];

/// The kind of rule that words speak of: its name in specs, or a title such as "Tiki-Taka, mixing 0.4".
fn kind(words: &str) -> Option<usize> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let words: String = words.chars().map(plain).collect();
    RULES.iter().position(|(kind, _)| words.contains(kind))
}

/// An axis for errors in per cent, logarithmic, from just below the smallest of them to 100 %: networks that reach 97 and 98 % are as far
/// apart as those that reach 50 and 67 %.
pub fn error_axis(label: &str, errors: impl IntoIterator<Item = f64>) -> Axis {
    const MARKS: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let least = errors.into_iter().fold(MARKS[5], f64::min);
    let low = MARKS.into_iter().rev().find(|mark| *mark <= least).unwrap_or(MARKS[0]);
    let ticks = MARKS.into_iter().filter(|mark| *mark >= low).map(|mark| (mark, mark.to_string()));
    Axis::log(label).range(low, MARKS[6]).ticks(ticks)
}

/// The look of one rule, by its kind or title; none for words that name no rule.
pub fn rule_style(words: &str) -> Option<RuleStyle> {
    kind(words).map(|i| RULES[i].1)
}

/// The word that decides the look of a trial, from its resolved fields: Residual Learning that follows the symmetric point is RIDER,
/// and with a chopper E-RIDER; all others are their kind.
pub fn drawn_as<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let chopper = field("rule.symmetric_point.track.chopper").and_then(|value| value.parse::<f64>().ok());
    match chopper {
        Some(probability) if probability > 0.0 => Some("e_rider"),
        Some(_) => Some("rider"),
        None => field("rule.kind").map(|kind| kind.trim_matches('"')),
    }
}

/// A look for each of some curves, by the words for its rule. The first of a kind has the kind's own; two more are shades of it;
/// further ones, and words that name no rule, take colours that no rule among them has. No two colours are equal.
pub fn rule_styles(words: &[&str]) -> Vec<RuleStyle> {
    const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::DashDotted, Dash::Dotted];
    let kinds: Vec<Option<usize>> = words.iter().map(|words| kind(words)).collect();
    let after = |dash: Dash, by: usize| {
        let place = DASHES.iter().position(|d| *d == dash).unwrap_or(0);
        DASHES[(place + by) % DASHES.len()]
    };
    let shade = |i: usize| {
        let RuleStyle { color, dash } = RULES[kinds[i]?].1;
        let dash = after(dash, kinds[..i].iter().filter(|k| **k == kinds[i]).count());
        match kinds[..i].iter().filter(|k| **k == kinds[i]).count() {
            0 => Some(RuleStyle { color, dash }),
            1 => Some(RuleStyle { color: color.mix(Color::WHITE, 0.45), dash }),
            2 => Some(RuleStyle { color: color.mix(Color::hex(0x8a8a8a), 0.55), dash }),
            _ => None,
        }
    };
    let own: Vec<Option<RuleStyle>> = (0..words.len()).map(shade).collect();
    let rounds = (0..).flat_map(|round| {
        let paler =
            move |color: Color| color.mix(Color::hex(0x8a8a8a), f64::from(round) / f64::from(round + 2));
        Color::CYCLE.into_iter().map(paler).enumerate()
    });
    let taken = |color: &Color| own.iter().flatten().any(|style| style.color == *color);
    let mut free = rounds.filter(|(_, color)| !taken(color));
    let mut next = || match free.next() {
        Some((i, color)) => RuleStyle { color, dash: DASHES[i % DASHES.len()] },
        None => RuleStyle::default(),
    };
    own.iter().map(|style| style.unwrap_or_else(&mut next)).collect()
}
