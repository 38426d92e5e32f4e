//! What a rule looks like: one colour and one dash in every figure.

use crate::figure::{Color, Dash};

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

/// Every kind of rule with its look. A kind whose word contains another's stands before it.
const RULES: [(&str, RuleStyle); 10] = [
    ("digital", RuleStyle::new(Color::DIGITAL_SGD, Dash::Dotted)),
    ("residual_learning", RuleStyle::new(Color::RESIDUAL_LEARNING, Dash::Solid)),
    ("e_rider", RuleStyle::new(Color::GREEN, Dash::Solid)),
    ("chopped_tiki_taka", RuleStyle::new(Color::ORANGE, Dash::DashDotted)),
    ("tiki_taka_2", RuleStyle::new(Color::hex(0x882255), Dash::Dashed)),
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

/// The look of one rule, by its kind or title; none for words that name no rule.
pub fn rule_style(words: &str) -> Option<RuleStyle> {
    kind(words).map(|i| RULES[i].1)
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
            2 => Some(RuleStyle { color: color.mix(Color::BLACK, 0.45), dash }),
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
        None => RuleStyle { color: Color::GREY, dash: Dash::Solid },
    };
    own.iter().map(|style| style.unwrap_or_else(&mut next)).collect()
}
