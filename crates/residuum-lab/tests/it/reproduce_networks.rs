//! Figures and tables with networks where data, weights or time are missing: every line says so, and no number stands in.

use std::fs;
use std::path::Path;

use residuum_lab::progress::Silent;
use residuum_lab::reproduce::{
    Finding, NAMES, NetworkOptions, Page, PageEntry, PaperVerdict, Profile, ReproduceOptions, Reproduction,
    paper_label, reproduce,
};

const NETWORKS: [&str; 8] = [
    "fig-mnist",
    "fig-ablation",
    "fig-weights",
    "table-mnist",
    "table-coarse-states",
    "table-wrong-references",
    "table-cifar-power",
    "table-cifar-exp",
];

fn options(folder: &Path) -> ReproduceOptions {
    let networks = NetworkOptions {
        data_root: folder.join("data"),
        base: folder.into(),
        store: folder.join("store"),
        ..NetworkOptions::default()
    };
    ReproduceOptions { profile: Profile::Quick, networks, ..ReproduceOptions::default() }
}

fn quick(name: &str, folder: &Path) -> Reproduction {
    reproduce(name, &options(folder), &Silent).unwrap()
}

fn reason(finding: &Finding) -> &str {
    match &finding.verdict {
        PaperVerdict::NotRun(reason) => reason,
        other => panic!("{}: {}", finding.statement, other.words()),
    }
}

#[test]
fn without_data_nothing_is_run_and_every_line_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for name in NETWORKS {
        let r = quick(name, folder.path());
        assert!(!r.findings.is_empty(), "{name}");
        for finding in &r.findings {
            let reason = reason(finding);
            let missing = reason.starts_with("data missing (mnist; residuum data fetch mnist)")
                || reason.starts_with("data missing (cifar10; residuum data fetch cifar10)")
                || reason.starts_with("data missing (cifar100; residuum data fetch cifar100)")
                || (name == "fig-mnist" && reason.starts_with("needs --profile full, estimated"));
            assert!(missing, "{name}: {reason}");
            assert_eq!(finding.ours, "–", "{name}: {}", finding.statement);
        }
        assert!(r.figure.is_none(), "{name}");
    }
    assert!(!folder.path().join("store").exists(), "a store for nothing");
}

#[test]
fn the_tables_of_the_paper_are_there_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let r = quick("table-mnist", folder.path());
    // The digital baseline, 18 cells under two rules, and the order.
    assert_eq!(r.findings.len(), 1 + 18 * 2 + 1);
    let of = |statement: &str| r.findings.iter().find(|f| f.statement == statement).unwrap();
    let words = "exponential response, γ_res = 0.5, τ = 0.8";
    assert_eq!(of(&format!("Analog SGD, {words}.")).paper, "94.00 ± 0.63 %");
    assert_eq!(of(&format!("Residual Learning, {words}.")).paper, "97.16 ± 0.16 %");
    assert_eq!(of("Analog SGD, power response, γ_res = 1, τ = 0.6.").paper, "< 15.00 %");
    // 6 cells under three rules, and the order on another network, which has no number of the paper beside it.
    let r = quick("table-cifar-power", folder.path());
    assert_eq!(r.findings.len(), 6 * 3 + 1);
    assert_eq!(r.findings[1].paper, "84.47 ± 3.40 %");
    let last = r.findings.last().unwrap();
    assert!(last.statement.contains("not the paper's network") && !last.paper.contains('±'), "{last:?}");
}

/// The tables of later papers: a line for each rule, and the lead they are printed for.
#[test]
fn the_tables_of_later_papers_have_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for (name, printed, lead) in [
        ("table-coarse-states", vec!["78.7 %", "95.4 %", "99.1 %", "98.5 %"], "+3.1 points."),
        ("table-wrong-references", vec!["67.9 %", "92.1 %", "96.2 %"], "+4.1 points."),
    ] {
        let papers: Vec<String> = quick(name, folder.path()).findings.into_iter().map(|f| f.paper).collect();
        assert_eq!(papers[..printed.len()], printed, "{name}");
        assert_eq!(papers[printed.len()..], [lead], "{name}");
    }
}

/// On the embedded digits, which are always there: every rule at every error, and every calibration.
#[test]
fn the_figure_of_calibration_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let r = quick("fig-calibration", folder.path());
    let (_, bytes) = r.tables.iter().find(|(stem, _)| stem == "fig-calibration").unwrap();
    let rows: Vec<csv::StringRecord> =
        csv::Reader::from_reader(&bytes[..]).records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 7 * 4 + 4);
    for row in &rows {
        let pulses: u32 = row[2].parse().unwrap();
        assert!([0, 10, 30, 80, 200].contains(&pulses), "{row:?}");
    }
    assert!(r.figure.is_some());
    assert!(r.findings.iter().all(|f| !matches!(f.verdict, PaperVerdict::NotRun(_))), "{:?}", r.findings);
}

/// A folder of CIFAR-10 whose files are there and empty.
fn empty_cifar10(folder: &Path) {
    let set = folder.join("data/cifar10");
    fs::create_dir_all(&set).unwrap();
    for n in 1..=5 {
        fs::write(set.join(format!("data_batch_{n}.bin")), b"").unwrap();
    }
    fs::write(set.join("test_batch.bin"), b"").unwrap();
}

#[test]
fn missing_weights_and_missing_time_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    empty_cifar10(folder.path());
    fs::create_dir_all(folder.path().join("weights")).unwrap();
    let weights = folder.path().join("weights/resnet34.safetensors");
    residuum_nn::state::write_safetensors(&weights, &residuum_nn::state::Tensors::new()).unwrap();
    let r = quick("table-cifar-power", folder.path());
    let reason = |what: &str| reason(r.findings.iter().find(|f| f.statement == what).unwrap());
    assert_eq!(reason("Analog SGD, cifar10, resnet18."), "weights missing (weights/resnet18.safetensors)");
    assert_eq!(reason("Analog SGD, cifar10, resnet34."), "needs --profile full, estimated 459 hours");
    assert_eq!(
        reason("Analog SGD, cifar100, resnet34."),
        "data missing (cifar100; residuum data fetch cifar100)"
    );
    // Files that are damaged are found when they are read, and said to be.
    let small = r.findings.last().unwrap();
    assert!(
        matches!(&small.verdict, PaperVerdict::NotRun(sentence) if sentence.contains("batch")),
        "{small:?}"
    );
}

#[test]
fn the_page_shows_every_item_with_its_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut page = Page::new(&options);
    for name in ["fig-bias", "table-mnist"] {
        let item = reproduce(name, &options, &Silent).unwrap();
        page.entries.push(PageEntry::new(&item, vec![format!("{name}.png")], 61.0));
    }
    page.entries.push(PageEntry::failed("fig-weights", "the disk is full".into(), 1.0));
    assert_eq!(page.entries[0].verdict(), "1 agree, 1 not stated in the paper");
    assert_eq!(page.entries[1].verdict(), "38 not run");
    assert_eq!(page.entries[2].verdict(), "not run: the disk is full");
    let text = page.to_markdown();
    for words in [
        "residuum reproduce fig-bias table-mnist fig-weights --profile quick --seed 0",
        "| [table-mnist](#table-mnist) | `table:MNIST-pow-and-exp` | 38 not run | 61 s | – |",
        "| Analog SGD, power response, γ_res = 1, τ = 0.6. | &lt; 15.00 % | – | not run: data missing (mnist; residuum data fetch mnist) |",
        "## fig-bias\n\n`residuum reproduce fig-bias --profile quick --seed 0`\n\n![fig-bias](fig-bias.png)",
        "within 1 point",
        "Not run: the disk is full",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // Every row of a table has the columns of its head.
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let bars = line.replace("\\|", "").matches('|').count();
        assert!(bars == 5 || bars == 6, "{line}");
    }
    let json = page.to_json();
    assert_eq!(json["schema"], "residuum.reproduce/2");
    assert_eq!(
        json["items"][1]["findings"][0]["verdict"],
        "not run: data missing (mnist; residuum data fetch mnist)"
    );
    assert_eq!(json["items"][2]["error"], "the disk is full");
}

#[test]
fn every_item_has_a_place_in_the_paper() {
    assert_eq!(NAMES.len(), 16);
    for name in NAMES {
        assert!(paper_label(name).contains(':'), "{name}");
    }
    assert_eq!(paper_label("fig-nothing"), "");
}

#[test]
fn bounds_have_the_exponents_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let r = quick("table-bounds", folder.path());
    let of = |what: &str| r.findings.iter().find(|f| f.statement.starts_with(what)).unwrap();
    for (what, paper, ours) in [
        (
            "power of κ₁ in the upper bound",
            "κ₁: power 1.",
            "1.0000 ± 1.000e-12 (the formula of the bound, evaluated)",
        ),
        (
            "power of κ₂ in the upper bound",
            "κ₂⁴: power 4.",
            "4.0000 ± 1.000e-12 (the formula of the bound, evaluated)",
        ),
        (
            "power of κ₂ in the lower bound",
            "κ₂²: power 2.",
            "2.0000 ± 1.000e-12 (the formula of the bound, evaluated)",
        ),
    ] {
        let finding = of(what);
        assert_eq!((finding.paper.as_str(), finding.ours.as_str()), (paper, ours), "{what}");
        assert_eq!(finding.verdict, PaperVerdict::Agrees, "{what}");
    }
    assert_eq!(of("power of K").verdict, PaperVerdict::Agrees);
    assert!(
        r.findings.iter().any(|f| f.verdict == PaperVerdict::NotStated),
        "the stationary law is not the paper's"
    );
}
