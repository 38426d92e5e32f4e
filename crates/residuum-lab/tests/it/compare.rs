//! Attribution between two specs: what differs, what is run, and what the table says.

use std::path::Path;

use residuum_lab::compare::{Attribution, CompareError, Side};
use residuum_lab::report::table::TableCell;
use residuum_lab::report::{StoredTrial, load};
use residuum_lab::spec::Document;
use residuum_lab::store::{Row, SpecKind, Store, TrialManifest};
use residuum_lab::sweep::{Silent, SweepOptions, sweep};

const A: &str = r#"
steps = 200
seeds = [1, 2, 3, 4]
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[noise]
kind = "gaussian"
deviation = 0.5
[device]
response = "power"
shape = 1.0
radius = 1.0
[rule]
kind = "analog"
learning_rate = 0.02
[record]
metrics = ["gap"]
every = 200
"#;

fn between(b: &str) -> Result<Attribution, CompareError> {
    let [a, b] = [A, b].map(|text| Document::parse(text).unwrap());
    let side = |document| Side { document, base: Path::new("."), trial: None };
    Attribution::new(side(&a), side(&b), Path::new("."), None, "compare")
}

/// A trial whose gap is what `gap` makes of its seed.
fn trial(id: String, seed: u64, gap: f64) -> StoredTrial {
    let rows = vec![Row {
        epoch: None,
        step: 200,
        metric: "gap".into(),
        part: String::new(),
        index: None,
        value: gap,
    }];
    StoredTrial {
        manifest: TrialManifest {
            schema: "residuum.trial/1".into(),
            id,
            experiment: "compare".into(),
            name: String::new(),
            kind: SpecKind::Problem,
            labels: Vec::new(),
            place: 0,
            seed,
            spec: Vec::new(),
            version: "0.1.0".into(),
            value_version: 1,
            commit: None,
            threads: 1,
            cpu: None,
            seconds: 1.0,
        },
        rows,
    }
}

fn switched() -> String {
    A.replace("deviation = 0.5", "deviation = 1.0")
        .replace("radius = 1.0", "radius = 0.8")
        .replace("[1, 2, 3, 4]", "[9]")
}

#[test]
fn every_difference_is_switched_alone_and_removed() {
    let attribution = between(&switched()).unwrap();
    let fields: Vec<&str> = attribution.switches.iter().map(|s| s.field.as_str()).collect();
    assert_eq!(fields, ["noise.deviation", "device.radius"]);
    let names: Vec<&str> = attribution.points.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names,
        ["A", "B", "A + noise.deviation", "A + device.radius", "B − noise.deviation", "B − device.radius"]
    );
    // With two differences, one switched alone is the other removed; and the seeds are those of A throughout.
    assert_eq!(attribution.plans().len(), 4 * 4);
    assert!(attribution.points.iter().all(|p| p.plans.iter().map(|p| p.seed).eq([1, 2, 3, 4])));
    assert_eq!(between(A).unwrap_err(), CompareError::Same);
    assert!(matches!(between("steps = -1"), Err(CompareError::Spec { side: 'B', .. })));
}

/// Each spec reads its own files, also where one of its fields stands in the other.
#[test]
fn paths_are_relative_to_their_own_spec() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = A.replace(
        "response = \"power\"\nshape = 1.0\nradius = 1.0",
        "response = \"table\"\ncsv = \"device.csv\"",
    );
    for (side, q) in [("a", "2"), ("b", "2.5"), ("c", "2")] {
        std::fs::create_dir(at(side)).unwrap();
        std::fs::write(at(side).join("device.csv"), format!("w,q_plus,q_minus\n-1,{q},1\n0,1,1\n1,1,2\n"))
            .unwrap();
    }
    let compared = |b: &str| {
        let (one, other) = (at("a"), at(b));
        let document = Document::parse(&text).unwrap();
        let side = |base| Side { document: &document, base, trial: None };
        Attribution::new(side(&one), side(&other), Path::new("."), None, "compare")
    };
    let attribution = compared("b").unwrap();
    let fields: Vec<&str> = attribution.switches.iter().map(|s| s.field.as_str()).collect();
    assert_eq!(fields, ["device.csv"]);
    let id = |point: usize| attribution.points[point].plans[0].id();
    // A with the table of B is B, and the other way round.
    assert_eq!((id(2), id(3)), (id(1), id(0)));
    assert_ne!(id(0), id(1));
    // The same table in another folder is no difference; nor was another one while both were read from the folder of A.
    assert_eq!(compared("c").unwrap_err(), CompareError::Same);
    assert_eq!(compared("a").unwrap_err(), CompareError::Same);
}

/// Gaps of 1, noise worth 2, radius worth 3, both together 1 more, and a seed's own luck that pairing removes.
#[test]
fn effects_and_interactions_by_hand() {
    let attribution = between(&switched()).unwrap();
    let mut trials = Vec::new();
    for (point, level) in attribution.points.iter().zip([1.0, 7.0, 3.0, 4.0, 4.0, 3.0]) {
        for plan in &point.plans {
            let luck = 100.0 * plan.seed as f64;
            let wobble = if point.name == "B" { 0.1 * (plan.seed % 2) as f64 } else { 0.0 };
            trials.push(trial(plan.id(), plan.seed, level + luck + wobble));
        }
    }
    let table = attribution.table(&trials, "gap");
    let mean = |row: usize, column: usize| table.rows[row][column].key().unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} should be {b}");
    // Alone: no wobble; removed and all have its mean, 0.05.
    close(mean(0, 3), 2.0);
    close(mean(1, 3), 3.0);
    close(mean(0, 5), 3.05);
    close(mean(1, 5), 4.05);
    close(mean(2, 3), 6.05);
    close(mean(3, 3), 6.05 - 5.0);
    close(mean(3, 5), 6.05 - 7.1);
    // Differences 6.1, 6, 6.1, 6: standard error 0.1/√12.
    let TableCell::Estimate { summary, best } = &table.rows[2][3] else { panic!("no estimate") };
    close(summary.se, 0.1 / 12f64.sqrt());
    assert!(*best && summary.n == 4);
    // Broken twin: without pairing the luck of the seeds would swamp every effect.
    let unpaired = residuum::stats::Summary::of([100.0, 200.0, 300.0, 400.0]);
    assert!(unpaired.se > 6.05);
    let page = attribution.report(&trials, None, "a < b").to_html();
    assert!(page.contains("Effects on gap") && page.contains("B − device.radius") && page.contains("a &lt; b"));
}

/// Through a store: what was run is what the table is about.
#[test]
fn points_are_run_into_a_store() {
    let attribution = between(&switched()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path().join("store")).unwrap();
    let summary = sweep(&attribution.plans(), &store, &SweepOptions::new("."), &Silent).unwrap();
    assert_eq!((summary.done, summary.failed.len()), (16, 0));
    let trials = load(store.path()).unwrap();
    let table = attribution.table(&trials, "gap");
    // More noise and a smaller radius both make Analog SGD drift further.
    assert!(table.rows[2][3].key().unwrap() > 0.0);
    assert_eq!(table.rows.len(), 4);
    let report = attribution.report(&trials, Some("gap"), "noise and radius");
    assert_eq!(report.sections[0].tables[0], table);
}
