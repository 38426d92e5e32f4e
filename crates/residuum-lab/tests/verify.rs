//! The verification as its users meet it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use residuum_lab::progress::{Progress, Silent};
use residuum_lab::verify::{Options, Report, Verdict, VerifyError, claims, verify};

const QUICK: Options = Options { seed: 1, quick: true };

static REPORT: LazyLock<Report> = LazyLock::new(|| verify(&[], &QUICK, &Silent).expect("claims run"));

#[test]
fn every_claim_holds_and_every_printed_mistake_fails() {
    let failed: Vec<String> = REPORT
        .claims
        .iter()
        .flat_map(|c| c.checks.iter().map(move |check| (c.claim.id, check)))
        .filter(|(_, check)| check.verdict == Verdict::Fails)
        .map(|(id, check)| format!("{id}: {check:?}"))
        .collect();
    assert!(REPORT.passed() && failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(REPORT.claims.len(), claims().len());
    // M1-M4, M7-M10, M12-M14, M16 and M17 at least once each.
    assert!(REPORT.count(Verdict::AsPrintedFails) >= 13);
    assert!(REPORT.claims.iter().all(|c| !c.checks.is_empty()));
}

#[test]
fn ids_are_unique_and_kebab_case() {
    let mut ids: Vec<&str> = claims().iter().map(|c| c.id).collect();
    for id in &ids {
        let kebab = id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(kebab && !id.starts_with('-') && !id.ends_with('-') && !id.contains("--"), "{id}");
    }
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let mistakes = ids.iter().filter(|id| id.starts_with("mistake-")).count();
    assert_eq!(mistakes, 20);
}

#[test]
fn an_unknown_claim_is_answered_with_names() {
    let error = verify(&["thm-implicit-penality".into()], &QUICK, &Silent).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("did you mean thm-implicit-penalty?") && text.contains("lem-lipschitz"), "{text}");
}

#[test]
fn the_schema_is_stable() {
    let json = REPORT.to_json();
    let keys =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(json["schema"], "residuum.verify/1");
    assert_eq!(keys(&json), ["schema", "version", "seed", "quick", "passed", "claims"]);
    assert_eq!(keys(&json["claims"][0]), ["id", "group", "title", "label", "statement", "passed", "checks"]);
    let check = &json["claims"][0]["checks"][0];
    assert_eq!(keys(check), ["what", "measured", "relation", "predicted", "tolerance", "verdict"]);
    assert_eq!(check["verdict"], "holds");
}

#[test]
fn the_table_keeps_its_width_and_names_every_claim() {
    let text = REPORT.to_text(120);
    for report in &REPORT.claims {
        assert!(text.contains(report.claim.id));
    }
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 120, "{longest}");
}

#[test]
fn the_report_does_not_depend_on_the_number_of_threads() {
    let ids: Vec<String> = ["weight-drift", "lem-confinement", "residual-target"].map(String::from).into();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| verify(&ids, &QUICK, &Silent).unwrap().to_json())
    };
    assert_eq!(on(1), on(3));
}

/// Stops after the first claim.
struct Impatient(AtomicU64);

impl Progress for Impatient {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, units: u64) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[test]
fn work_stops_when_asked() {
    let error = verify(&[], &QUICK, &Impatient(AtomicU64::new(0))).unwrap_err();
    assert!(matches!(error, VerifyError::Cancelled(_)), "{error}");
}
