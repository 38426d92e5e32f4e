//! The results, as a table and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::check::{Check, Comparison, Verdict};
use crate::{Claim, VerifyOptions};

/// The evidence for one claim.
#[derive(Clone, Debug)]
pub struct ClaimReport {
    /// The claim.
    pub claim: Claim,
    /// Its checks.
    pub checks: Vec<Check>,
}

impl ClaimReport {
    /// Whether no check fails.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.verdict != Verdict::Fails)
    }
}

/// The evidence for all claims asked for.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// How it was made.
    pub options: VerifyOptions,
    /// One entry per claim, in the order of the paper.
    pub claims: Vec<ClaimReport>,
}

/// Widths of the columns behind the description.
const MEASURED: usize = 11;
const PREDICTED: usize = 25;
const SLACK: usize = 8;
const VERDICT: usize = 16;
/// The description is not squeezed below this.
const NARROWEST: usize = 24;

impl VerifyReport {
    /// Whether every claim holds as corrected. Sentences that are false as printed do not count against it.
    pub fn passed(&self) -> bool {
        self.claims.iter().all(ClaimReport::passed)
    }

    /// Number of checks with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().flat_map(|c| &c.checks).filter(|check| check.verdict == verdict).count()
    }

    /// A table per claim, `width` characters wide (at least about 80).
    pub fn to_text(&self, width: usize) -> String {
        let what = width.saturating_sub(MEASURED + PREDICTED + SLACK + VERDICT + 10).max(NARROWEST);
        let line = what + MEASURED + PREDICTED + SLACK + VERDICT + 8;
        let mut text = String::new();
        for report in &self.claims {
            head(&mut text, &report.claim, line);
            for check in &report.checks {
                row(&mut text, check, what, line);
            }
            text.push('\n');
        }
        let [holds, fails, printed, notes] =
            [Verdict::Holds, Verdict::Fails, Verdict::AsPrintedFails, Verdict::Note].map(|v| self.count(v));
        let _ = writeln!(
            text,
            "{} claims: {holds} checks hold, {fails} fail, {printed} are false as printed (as expected), {notes} notes",
            self.claims.len()
        );
        text
    }

    /// The report under the schema `residuum.verify/1`. Numbers that are not finite are `null`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "residuum.verify/1",
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.options.seed,
            "quick": self.options.quick,
            "passed": self.passed(),
            "claims": self.claims.iter().map(claim_json).collect::<Vec<_>>(),
        })
    }
}

fn claim_json(report: &ClaimReport) -> Value {
    let Claim { id, group, title, label, statement, .. } = report.claim;
    json!({
        "id": id,
        "group": group,
        "title": title,
        "label": label,
        "statement": statement,
        "passed": report.passed(),
        "checks": report.checks.iter().map(check_json).collect::<Vec<_>>(),
    })
}

fn check_json(check: &Check) -> Value {
    let number = |get: fn(&Comparison) -> f64| check.comparison.as_ref().map(get);
    json!({
        "what": check.what,
        "measured": number(|c| c.measured),
        "relation": check.comparison.map(|c| c.relation.sign()),
        "predicted": number(|c| c.predicted),
        "tolerance": number(|c| c.tolerance),
        "slack": check.comparison.and_then(|c| c.slack()),
        "verdict": check.verdict.name(),
    })
}

fn head(text: &mut String, claim: &Claim, line: usize) {
    let title = format!("{}: {}", claim.id, claim.title);
    let label = if claim.label.is_empty() { String::new() } else { format!("[{}]", claim.label) };
    let gap = line.saturating_sub(title.chars().count() + label.chars().count()).max(2);
    let _ = writeln!(text, "{}", format!("{title}{}{label}", " ".repeat(gap)).trim_end());
    for part in wrap(claim.statement, line - 2) {
        let _ = writeln!(text, "  {part}");
    }
}

fn row(text: &mut String, check: &Check, what: usize, line: usize) {
    let Some(Comparison { measured, relation, predicted, tolerance }) = check.comparison else {
        let words = check.verdict.words();
        let parts = wrap(&check.what, line - words.len() - 4);
        for (i, part) in parts.iter().enumerate() {
            let _ = if i == 0 {
                writeln!(text, "  {words}: {part}")
            } else {
                writeln!(text, "  {}  {part}", " ".repeat(words.len()))
            };
        }
        return;
    };
    let allowed = match tolerance {
        0.0 => String::new(),
        whole if whole.fract() == 0.0 => format!(" ± {whole}"),
        small => format!(" ± {small:.1e}"),
    };
    let claim = format!("{} {}{allowed}", relation.sign(), number(predicted));
    let slack = check.comparison.and_then(|c| c.slack()).map_or(String::new(), times);
    for (i, part) in wrap(&check.what, what).iter().enumerate() {
        let line = if i == 0 {
            format!(
                "  {part:<what$}  {:>MEASURED$}  {claim:<PREDICTED$}  {slack:>SLACK$}  {}",
                number(measured),
                check.verdict.words()
            )
        } else {
            format!("  {part}")
        };
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// A factor in two or three digits.
fn times(factor: f64) -> String {
    match factor {
        f if f < 10.0 => format!("{f:.2}×"),
        f if f < 1e6 => format!("{f:.0}×"),
        f => format!("{f:.0e}×"),
    }
}

/// Six significant digits, in the shorter of the two usual notations.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        // Without the sign that a zero may carry.
        "0".into()
    } else if x.fract() == 0.0 && size < 1e7 {
        format!("{x:.0}")
    } else if (1e-3..1e6).contains(&size) {
        let decimals = (5 - size.log10().floor() as i32).clamp(0, 8) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    } else {
        format!("{x:.3e}")
    }
}

/// Breaks at spaces; a word longer than the line gets one of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let used = lines[last].chars().count();
        if used == 0 {
            lines[last].push_str(word);
        } else if used + 1 + word.chars().count() <= width {
            lines[last].push(' ');
            lines[last].push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines
}
