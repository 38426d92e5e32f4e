//! Every claim of `residuum verify` as a test, and the report as its users meet it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use residuum::progress::{Progress, Silent};
use residuum_claims::{Verdict, VerifyError, VerifyOptions, VerifyReport, claims, verify};

const QUICK: VerifyOptions = VerifyOptions { seed: 1, quick: true };

static REPORT: LazyLock<VerifyReport> = LazyLock::new(|| verify(&[], &QUICK, &Silent).expect("claims run"));

/// One test per claim. The report is made once, its claims in parallel, by whichever test comes first.
macro_rules! claims_hold {
    ($($test:ident: $id:literal,)*) => {
        $(#[test]
        fn $test() {
            let report = REPORT.claims.iter().find(|report| report.claim.id == $id).expect("a claim of this name");
            let failed: Vec<String> = report
                .checks
                .iter()
                .filter(|check| check.verdict == Verdict::Fails)
                .map(|check| format!("{check:?}"))
                .collect();
            assert!(report.passed() && failed.is_empty(), "{}", failed.join("\n"));
            assert!(!report.checks.is_empty());
        })*

        #[test]
        fn every_claim_has_its_test() {
            let ids: Vec<&str> = claims().iter().map(|claim| claim.id).collect();
            assert_eq!(ids, [$($id),*]);
        }
    };
}

claims_hold! {
    analog_update: "analog-update",
    weight_drift: "weight-drift",
    lem_lipschitz: "lem-lipschitz",
    lem_coercivity: "lem-coercivity",
    lem_quadratic_growth: "lem-quadratic-growth",
    def_regularity: "def-regularity",
    def_implicit_penalty: "def-implicit-penalty",
    thm_implicit_penalty: "thm-implicit-penalty",
    analog_sgd_limit: "analog-sgd-limit",
    thm_bilevel: "thm-bilevel",
    thm_penalized_bilevel: "thm-penalized-bilevel",
    residual_target: "residual-target",
    residual_learning_exact: "residual-learning-exact",
    stationary_law: "stationary-law",
    lem_effective_descent: "lem-effective-descent",
    lem_main_descent: "lem-main-descent",
    lem_coefficients: "lem-coefficients",
    one_step_contraction: "one-step-contraction",
    thm_convergence: "thm-convergence",
    table_bounds: "table-bounds",
    practical_rates: "practical-rates",
    lem_conditional_mean: "lem-conditional-mean",
    lem_mean_square: "lem-mean-square",
    lem_confinement: "lem-confinement",
    thm_lower_bound: "thm-lower-bound",
    zero_shifting: "zero-shifting",
    symmetric_point_error: "symmetric-point-error",
    pulses_and_flow: "pulses-and-flow",
    pulsed_limit: "pulsed-limit",
    toy_example: "toy-example",
    kappa_sweep: "kappa-sweep",
    asymmetry_radius: "asymmetry-radius",
    mistake_1: "mistake-1",
    mistake_2: "mistake-2",
    mistake_3: "mistake-3",
    mistake_4: "mistake-4",
    mistake_5: "mistake-5",
    mistake_6: "mistake-6",
    mistake_7: "mistake-7",
    mistake_8: "mistake-8",
    mistake_9: "mistake-9",
    mistake_10: "mistake-10",
    mistake_11: "mistake-11",
    mistake_12: "mistake-12",
    mistake_13: "mistake-13",
    mistake_14: "mistake-14",
    mistake_15: "mistake-15",
    mistake_16: "mistake-16",
    mistake_17: "mistake-17",
    mistake_18: "mistake-18",
    mistake_19: "mistake-19",
    mistake_20: "mistake-20",
    compensated_transfer: "compensated-transfer",
    residual_cascade: "residual-cascade",
    large_mixing: "large-mixing",
    averaging_keeps_the_bias: "averaging-keeps-the-bias",
    tuned_steps: "tuned-steps",
    cell_gains: "cell-gains",
    tail_averaging: "tail-averaging",
    e_rider_law: "e-rider-law",
    tracked_point: "tracked-point",
    multi_tile_gap: "multi-tile-gap",
    calibration_pulses: "calibration-pulses",
}

#[test]
fn printed_mistakes_fail() {
    assert!(REPORT.passed());
    // M1-M4, M7-M10, M12-M14, M16 and M17 at least once each.
    assert!(REPORT.count(Verdict::AsPrintedFails) >= 13);
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
    assert_eq!(keys(check), ["what", "measured", "relation", "predicted", "tolerance", "slack", "verdict"]);
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
