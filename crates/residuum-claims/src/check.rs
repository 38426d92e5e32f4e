//! One comparison of a measured number with a predicted one.

use residuum::stats::{Summary, Z};

/// The expected relation of a measured number to the predicted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// |measured − predicted| ≤ tolerance.
    Equals,
    /// measured ≤ predicted + tolerance.
    AtMost,
    /// measured ≥ predicted − tolerance.
    AtLeast,
}

impl Relation {
    /// The sign that stands between the two numbers in a table.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::AtMost => "≤",
            Self::AtLeast => "≥",
        }
    }
}

/// Two numbers, their expected relation, and the tolerance for chance and derived bias.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// What the experiment gave.
    pub measured: f64,
    /// Its expected relation to the prediction.
    pub relation: Relation,
    /// The predicted value or bound.
    pub predicted: f64,
    /// Rounding, `Z` standard errors and derived bias together.
    pub tolerance: f64,
}

impl Comparison {
    /// Whether the relation holds; never for NaN.
    pub fn holds(&self) -> bool {
        let excess = self.measured - self.predicted;
        match self.relation {
            Relation::Equals => excess.abs() <= self.tolerance,
            Relation::AtMost => excess <= self.tolerance,
            Relation::AtLeast => -excess <= self.tolerance,
        }
    }

    /// How many times the measured number would fit under its bound, or the bound under it; `None` for equalities and
    /// for bounds of 0.
    pub fn slack(&self) -> Option<f64> {
        let slack = match self.relation {
            Relation::Equals => return None,
            Relation::AtMost => self.predicted / self.measured,
            Relation::AtLeast => self.measured / self.predicted,
        };
        (slack.is_finite() && self.predicted != 0.0 && slack > 0.0).then_some(slack)
    }
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds.
    Holds,
    /// The claim does not hold.
    Fails,
    /// The sentence printed in the paper is false here, as was expected of it.
    AsPrintedFails,
    /// A remark; nothing was compared.
    Note,
}

impl Verdict {
    /// The words of the table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "FAILS",
            Self::AsPrintedFails => "false as printed",
            Self::Note => "note",
        }
    }

    /// The name in machine-readable reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::AsPrintedFails => "as-printed-fails",
            Self::Note => "note",
        }
    }
}

/// One line of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was compared, or what is to be remarked.
    pub what: String,
    /// The numbers; `None` for a remark.
    pub comparison: Option<Comparison>,
    /// What was found.
    pub verdict: Verdict,
}

impl Check {
    fn compare(what: impl Into<String>, comparison: Comparison) -> Self {
        let verdict = if comparison.holds() { Verdict::Holds } else { Verdict::Fails };
        Self { what: what.into(), comparison: Some(comparison), verdict }
    }

    /// measured = predicted, up to `tolerance`.
    pub fn equals(what: impl Into<String>, measured: f64, predicted: f64, tolerance: f64) -> Self {
        Self::compare(what, Comparison { measured, relation: Relation::Equals, predicted, tolerance })
    }

    /// measured ≤ bound, up to `tolerance`.
    pub fn at_most(what: impl Into<String>, measured: f64, bound: f64, tolerance: f64) -> Self {
        Self::compare(what, Comparison { measured, relation: Relation::AtMost, predicted: bound, tolerance })
    }

    /// measured ≥ bound, up to `tolerance`.
    pub fn at_least(what: impl Into<String>, measured: f64, bound: f64, tolerance: f64) -> Self {
        Self::compare(what, Comparison { measured, relation: Relation::AtLeast, predicted: bound, tolerance })
    }

    /// A mean is the predicted one, up to `Z` standard errors and a derived bias.
    pub(crate) fn mean(what: impl Into<String>, sample: Summary, predicted: f64, bias: f64) -> Self {
        Self::equals(what, sample.mean, predicted, sample.tolerance(bias))
    }

    /// A mean is at most a bound, beyond chance: `Z` standard errors count against it, so that no error of sampling
    /// can hide a bound that is too low.
    pub fn mean_at_most(what: impl Into<String>, sample: Summary, bound: f64) -> Self {
        Self::at_most(what, sample.mean + Z * sample.se, bound, 0.0)
    }

    /// A mean is at least a bound, beyond chance: `Z` standard errors count against it.
    pub fn mean_at_least(what: impl Into<String>, sample: Summary, bound: f64) -> Self {
        Self::at_least(what, sample.mean - Z * sample.se, bound, 0.0)
    }

    /// A remark.
    pub(crate) fn note(what: impl Into<String>) -> Self {
        Self { what: what.into(), comparison: None, verdict: Verdict::Note }
    }

    /// The same comparison as one that must not hold, because it would make the claim empty.
    pub(crate) fn expected_to_differ(self) -> Self {
        let differs = self.verdict == Verdict::Fails && self.is_number();
        let what = format!("{}: must differ", self.what);
        Self { what, verdict: if differs { Verdict::Holds } else { Verdict::Fails }, ..self }
    }

    fn is_number(&self) -> bool {
        self.comparison.is_some_and(|c| !c.measured.is_nan())
    }

    /// The same comparison as a sentence of the paper that is known to be wrong: it must fail. One that holds after
    /// all, or that could not be evaluated, refutes the correction, and so is a real failure.
    pub fn misprinted(self) -> Self {
        let refuted = self.verdict == Verdict::Fails && self.is_number();
        Self { verdict: if refuted { Verdict::AsPrintedFails } else { Verdict::Fails }, ..self }
    }
}
