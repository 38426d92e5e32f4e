//! `table:mu-sc-classical-bounds`: the exponents of the bounds beside what they come to and what is measured.

use serde::Serialize;

use super::{Finding, PaperVerdict, Profile, ReproduceError, ReproduceOptions, Reproduction, settings, table};
use crate::progress::Progress;
use crate::verify::{self, Check, verify};

const NAME: &str = "table-bounds";
const CLAIMS: [&str; 3] = ["table-bounds", "thm-convergence", "thm-lower-bound"];

#[derive(Serialize)]
struct Setting {
    claims: [&'static str; 3],
    upper_bound: &'static str,
    lower_bound: &'static str,
}

const SETTING: Setting = Setting {
    claims: CLAIMS,
    upper_bound: "kappa_1 kappa_2^4 sigma^2/(mu K), logarithms aside",
    lower_bound: "kappa_2^2 sigma^2/(mu K), logarithms aside",
};

#[derive(Serialize)]
struct Row<'a> {
    claim: &'a str,
    what: &'a str,
    measured: f64,
    relation: &'a str,
    predicted: f64,
    tolerance: f64,
    verdict: &'a str,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let asked = verify::VerifyOptions { seed: options.seed, quick: options.profile == Profile::Quick };
    let report = verify(&CLAIMS.map(String::from), &asked, progress)?;
    let checks =
        || report.claims.iter().flat_map(|claim| claim.checks.iter().map(move |c| (claim.claim.id, c)));
    let rows: Vec<Row<'_>> = checks()
        .filter_map(|(claim, check)| {
            let c = check.comparison?;
            Some(Row {
                claim,
                what: &check.what,
                measured: c.measured,
                relation: c.relation.sign(),
                predicted: c.predicted,
                tolerance: c.tolerance,
                verdict: check.verdict.name(),
            })
        })
        .collect();
    Ok(Reproduction {
        name: NAME,
        figure: None,
        training_seconds: 0.0,
        tables: vec![table(NAME, &rows)?],
        settings: settings(NAME, options, &SETTING)?,
        summary: String::new(),
        findings: checks().filter_map(|(claim, check)| finding(claim, check)).collect(),
    })
}

/// What the table of the paper says about a check of the claim `table-bounds`.
fn printed(what: &str) -> &'static str {
    match what {
        "power of K in E[V_K]/ln X" => "Both bounds fall as 1/K: power −1.",
        "power of κ₁ in the upper bound" => "κ₁: power 1.",
        "power of κ₂ in the upper bound" => "κ₂⁴: power 4.",
        "power of κ₂ in the lower bound" => "κ₂²: power 2.",
        _ => "",
    }
}

fn finding(claim: &str, check: &Check) -> Option<Finding> {
    let c = check.comparison?;
    // What the theory notes add to the theorems is no number of the paper's.
    let ours_only = check.what.contains("σ²/4");
    let printed = printed(&check.what);
    let value = format!("{} {}", c.relation.sign(), significant(c.predicted));
    let paper = match (claim, printed) {
        (_, _) if ours_only => format!("Not stated; our stationary law gives {}.", significant(c.predicted)),
        ("table-bounds", words) if !words.is_empty() => words.to_string(),
        ("thm-lower-bound", _) => format!("{value}, the theorem as corrected."),
        _ => format!("{value}, the theorem's bound."),
    };
    let verdict = match (check.verdict, ours_only) {
        (verify::Verdict::Note, _) => return None,
        (verify::Verdict::Holds, true) => PaperVerdict::NotStated,
        (verify::Verdict::Holds, false) => PaperVerdict::Agrees,
        _ => PaperVerdict::DiffersBy(significant(c.measured - c.predicted)),
    };
    let is_formula = claim == "table-bounds" && check.what.contains("bound");
    let source = if is_formula { "the formula of the bound, evaluated" } else { "measured" };
    Some(Finding {
        statement: format!("{}.", check.what),
        paper,
        ours: format!("{} ± {} ({source})", significant(c.measured), significant(c.tolerance)),
        verdict,
        note: "± is the tolerance: 4.9 standard errors and what the theory leaves out.".into(),
    })
}

/// Four significant digits.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-2..1e4).contains(&size) { format!("{value:.4}") } else { format!("{value:.3e}") }
}
