//! The paper's figures run end to end: numbers against independent references, files, threads, refusals.

mod ablation;
mod cifar;
mod later;
mod mnist;
mod networks;
mod paper;
mod verdict;
mod weights;

use std::collections::BTreeMap;
use std::fs;

use residuum::stats::Z;
use residuum_lab::files::FIGURES;
use residuum_lab::progress::{Progress, Silent};
use residuum_lab::reproduce::{
    NAMES, PaperVerdict, Profile, ReproduceError, ReproduceOptions, Reproduction, reproduce,
};

use PaperVerdict::{Agrees, Differs, NotStated};

fn quick(name: &str) -> Reproduction {
    let options = ReproduceOptions { seed: 11, profile: Profile::Quick, ..ReproduceOptions::default() };
    reproduce(name, &options, &Silent).unwrap()
}

type Record = BTreeMap<String, String>;

fn records(reproduction: &Reproduction, stem: &str) -> Vec<Record> {
    let (_, bytes) = reproduction.tables.iter().find(|(name, _)| name == stem).unwrap();
    csv::Reader::from_reader(bytes.as_slice()).deserialize().map(Result::unwrap).collect()
}

fn number(record: &Record, field: &str) -> f64 {
    record[field].parse().unwrap()
}

/// What every figure owes: verdicts, tables with enough finite numbers, settings that can be read back.
fn check_whole(name: &str, verdicts: &[PaperVerdict], numbers: usize) -> Reproduction {
    let r = quick(name);
    assert_eq!(r.name, name);
    let found: Vec<PaperVerdict> = r.findings.iter().map(|f| f.verdict.clone()).collect();
    assert_eq!(found, verdicts, "{:#?}", r.findings);
    let mut count = 0;
    for (stem, bytes) in &r.tables {
        assert!(stem.starts_with(name), "{stem}");
        for row in csv::Reader::from_reader(bytes.as_slice()).records() {
            for value in row.unwrap().iter().filter_map(|field| field.parse::<f64>().ok()) {
                assert!(value.is_finite(), "{stem}: {value}");
                count += 1;
            }
        }
    }
    assert!(count >= numbers, "{name}: only {count} numbers");
    let settings: toml::Table = r.settings.parse().unwrap();
    assert_eq!(settings["figure"].as_str(), Some(name));
    assert_eq!(settings["seed"].as_str(), Some("11"));
    assert_eq!(settings["profile"].as_str(), Some("quick"));
    assert!(settings["settings"].as_table().is_some_and(|t| !t.is_empty()));
    let svg = r.figure.as_ref().unwrap().to_svg();
    assert!(svg.contains("<path") && !svg.contains("NaN"));
    r
}

#[test]
fn toy_means_are_where_theory_sees_them() {
    let r = check_whole("fig-toy", &[Agrees, Agrees, NotStated, Agrees, Differs], 4000);
    let rows = records(&r, "fig-toy-summary");
    assert_eq!(rows.len(), 25);
    for row in &rows {
        let [sigma, mean, se, predicted] = ["sigma", "mean", "se", "predicted"].map(|f| number(row, f));
        match row["rule"].as_str() {
            // A constant step leaves a difference of order α = 2e-3.
            "analog_sgd" => {
                assert!((mean - predicted).abs() <= Z * se + 2e-3, "σ = {sigma}: {mean} vs {predicted}");
                assert!((mean - 0.5).abs() > 10.0 * (Z * se + 2e-3), "no drift at σ = {sigma}: {mean}");
            }
            "digital_sgd" => assert!((mean - 0.5).abs() <= Z * se, "σ = {sigma}: {mean}"),
            // The stationary law is leading order: 10 % of it, where the noise is not too large.
            _ if sigma <= 2.0 => {
                let centre = if row["variable"] == "residual" { 0.0 } else { 0.5 };
                let law = (predicted - centre).abs();
                assert!((mean - predicted).abs() <= 0.1 * law + Z * se, "σ = {sigma}: {mean} vs {predicted}");
            }
            _ => {}
        }
    }
}

#[test]
fn toy_densities_integrate_to_one() {
    let mut areas: BTreeMap<String, (f64, Option<(f64, f64)>)> = BTreeMap::new();
    for row in records(&quick("fig-toy"), "fig-toy-densities") {
        let (w, height) = (number(&row, "w"), number(&row, "density"));
        let series = ["rule", "variable", "sigma"].map(|f| row[f].clone()).join(" ");
        let (area, before) = areas.entry(series).or_insert((0.0, None));
        if let Some((x, y)) = before.replace((w, height)) {
            *area += 0.5 * (w - x) * (height + y);
        }
    }
    assert_eq!(areas.len(), 25);
    for (series, (area, _)) in areas {
        assert!((area - 1.0).abs() < 2e-3, "{series}: {area}");
    }
}

#[test]
fn toy_does_not_depend_on_the_number_of_threads() {
    // Not a multiple of the block, so that the last block is short.
    let options = |seed| ReproduceOptions {
        seed,
        replicas: Some(1300),
        profile: Profile::Quick,
        ..ReproduceOptions::default()
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| reproduce("fig-toy", &options(3), &Silent)).unwrap()
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(one.tables, two.tables);
    assert_eq!(one.findings, two.findings);
    assert_eq!(one.figure.unwrap().to_svg(), two.figure.unwrap().to_svg());
    assert_ne!(reproduce("fig-toy", &options(4), &Silent).unwrap().tables, one.tables);
}

#[test]
fn kappa_meets_the_golden_numbers() {
    let r = check_whole("fig-kappa", &[Agrees, Differs, NotStated], 10_000);
    // From an independent prototype: κ₂, then the error of the golden instance after 500 and 1000 steps.
    let golden = [
        (1.0, 316.408708, 100.145430),
        (2.0, 352.733722, 123.659510),
        (4.0, 393.583289, 149.075026),
        (8.0, 430.383108, 173.138947),
        (16.0, 455.461523, 193.042209),
    ];
    let rows = records(&r, "fig-kappa-curves");
    let gap = |kappa: f64, k: &str| {
        let wanted = |row: &&Record| {
            row["instance"] == "golden"
                && row["k"] == k
                && (number(row, "kappa"), number(row, "sigma"), number(row, "mixing")) == (kappa, 0.0, 0.5)
        };
        number(rows.iter().find(wanted).unwrap(), "gap")
    };
    for (kappa, half, last) in golden {
        assert!((gap(kappa, "500") / half - 1.0).abs() < 1e-6, "κ₂ = {kappa}");
        assert!((gap(kappa, "1000") / last - 1.0).abs() < 1e-6, "κ₂ = {kappa}");
    }
    for row in records(&r, "fig-kappa-final").iter().filter(|row| number(row, "sigma") == 0.0) {
        let mixing = number(row, "mixing");
        assert_eq!(row["first_disorder"].is_empty(), mixing <= 0.7, "{row:?}");
        if mixing == 0.5 {
            assert!((number(row, "golden_exponent") - 0.24).abs() < 0.005, "{row:?}");
        }
    }
}

#[test]
fn response_figure_shows_the_wider_device_as_the_milder_one() {
    let r = check_whole("fig-response", &[Agrees, Agrees, Differs, Differs], 10_000);
    let rows = records(&r, "fig-response");
    let at = |name: &str, field: &str| {
        let wanted = |row: &&Record| row["response"] == name && (number(row, "w") - 0.5).abs() < 1e-9;
        number(rows.iter().find(wanted).unwrap(), field)
    };
    assert!((at("power 2", "asymmetry_ratio") - 0.8).abs() < 1e-12);
    assert!((at("power 2", "asymmetry_potential") - 0.223143551314).abs() < 1e-9);
    assert!((at("exponential 1", "asymmetry_ratio") - 0.685880473301).abs() < 1e-9);
    assert!(at("power 1, τ = 2", "asymmetry_ratio") < at("power 1", "asymmetry_ratio"));
    assert!(at("power 1, τ = 2", "asymmetry_potential") < at("power 1", "asymmetry_potential"));
}

#[test]
fn bias_meets_its_closed_form() {
    let r = check_whole("fig-bias", &[Agrees, NotStated], 1000);
    for row in records(&r, "fig-bias-turns") {
        let (scan, law) = (number(&row, "largest_turn_degrees"), number(&row, "predicted_degrees"));
        // The scan sees every half degree only: it may miss a little of the largest turn, but never exceed it.
        assert!(scan <= law + 1e-9 && scan > law - 0.2, "{row:?}");
    }
}

#[test]
fn shift_tells_the_two_penalties_apart() {
    let r = check_whole("fig-shift", &[Agrees, Differs], 10_000);
    let row = &records(&r, "fig-shift-penalty-weight")[0];
    let [mean, se] = ["mean", "se"].map(|f| number(row, f));
    assert!((number(row, "printed_argmin") - 0.0581).abs() < 1e-4);
    assert!((number(row, "weighted_argmin") - 0.1909).abs() < 1e-4);
    assert!((number(row, "zero_of_drift") - 0.1892).abs() < 1e-4);
    assert!((mean - number(row, "zero_of_drift")).abs() <= Z * se + 2e-3, "{mean} ± {se}");
    assert!((mean - number(row, "printed_argmin")).abs() > 20.0 * se, "{mean} ± {se}");
}

#[test]
fn saving_writes_every_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("new/figures");
    let r = quick("fig-bias");
    let paths = r.save(&dir, &FIGURES).unwrap();
    assert_eq!(r.save(&dir, &FIGURES).unwrap(), paths);
    let mut listed: Vec<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    listed.sort();
    assert_eq!(
        listed,
        ["fig-bias-steps.csv", "fig-bias-turns.csv", "fig-bias.png", "fig-bias.svg", "fig-bias.toml"]
    );
    assert_eq!(paths.len(), listed.len());
    assert_eq!(fs::read(dir.join("fig-bias.svg")).unwrap(), r.figure.as_ref().unwrap().to_svg().into_bytes());
    assert_eq!(fs::read(dir.join("fig-bias-turns.csv")).unwrap(), r.tables[1].1);
    assert_eq!(fs::read_to_string(dir.join("fig-bias.toml")).unwrap(), r.settings);
    assert!(fs::read(dir.join("fig-bias.png")).unwrap().starts_with(b"\x89PNG"));

    let blocked = folder.path().join("taken");
    fs::write(&blocked, b"").unwrap();
    let error = r.save(&blocked, &FIGURES).unwrap_err();
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(fs::read(&blocked).unwrap(), b"");
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let error = reproduce("fig-toys", &ReproduceOptions::default(), &Silent).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("\"fig-toys\"") && NAMES.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn one_replica_is_refused() {
    let options = ReproduceOptions { replicas: Some(1), ..ReproduceOptions::default() };
    let error = reproduce("fig-toy", &options, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "replicas must be at least 2, got 1");
}

#[test]
fn long_figures_stop_when_asked() {
    struct Stop;
    impl Progress for Stop {
        fn begin(&self, _: &str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    for name in ["fig-toy", "fig-kappa", "fig-shift", "fig-tracking"] {
        let stopped = reproduce(name, &ReproduceOptions::default(), &Stop);
        assert!(matches!(stopped, Err(ReproduceError::Cancelled(_))), "{name}");
    }
}
