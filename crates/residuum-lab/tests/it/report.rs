//! Reports: the numbers on the page against numbers computed here, and a page that is whole, closed and small.

mod layers;
mod number;
mod outcome;
mod paired;
mod plot;
mod table;

use std::fmt::Write as _;

use residuum_lab::figure::FigureFormat;
use residuum_lab::report::number::Written;
use residuum_lab::report::paired::{LEVEL, Paired};
use residuum_lab::report::table::{Table, TableCell};
use residuum_lab::report::{Bands, Report, ReportOptions, StoredTrial, load};
use residuum_lab::store::{Row, SpecKind, Store, StoredParameter, TrialClaim, TrialManifest};

fn trial(kind: SpecKind, experiment: &str, labels: &[(&str, &str)], seed: u64, rows: Vec<Row>) -> StoredTrial {
    let labels: Vec<(String, String)> = labels.iter().map(|(l, v)| ((*l).into(), (*v).into())).collect();
    let spec =
        |field: &str, value: &str| StoredParameter { field: field.into(), value: value.into(), given: true };
    StoredTrial {
        manifest: TrialManifest {
            schema: "residuum.trial/1".into(),
            id: format!("{experiment}{labels:?}{seed}"),
            experiment: experiment.into(),
            name: String::new(),
            kind,
            labels,
            place: 0,
            seed,
            spec: vec![spec("steps", "100"), spec("seeds", &seed.to_string())],
            version: "0.1.0".into(),
            value_version: 1,
            commit: None,
            threads: 1,
            cpu: Some("a <CPU> & more".into()),
            seconds: 2.0,
        },
        rows,
    }
}

fn row(epoch: Option<u64>, step: u64, metric: &str, part: &str, value: f64) -> Row {
    Row { epoch, step, metric: metric.into(), part: part.into(), index: None, value }
}

/// Twelve epochs; the accuracy of the last two is what counts.
fn network(rule: &str, seed: u64, ends: [f64; 2]) -> StoredTrial {
    let mut rows = Vec::new();
    for epoch in 1..=12 {
        let accuracy = if epoch > 10 { ends[(epoch - 11) as usize] } else { 0.1 };
        rows.push(row(Some(epoch), 10 * epoch, "train_loss", "", 1.0 / epoch as f64));
        rows.push(row(Some(epoch), 10 * epoch, "test_accuracy", "", accuracy));
        for (layer, per_epoch) in [("a", 100.0), ("b", 11.0)] {
            rows.push(row(Some(epoch), 10 * epoch, "pulses", layer, per_epoch * epoch as f64));
        }
    }
    for (metric, value) in [("kappa2", 2.5), ("drift", 0.125), ("range_low", -0.6), ("range_high", 0.6)] {
        rows.push(row(Some(12), 120, metric, "a.main", value));
    }
    for (metric, value) in [("weight_low", -0.5), ("weight_high", 0.5)] {
        rows.push(row(Some(12), 120, metric, "a.main", value));
    }
    for bin in 0..10 {
        rows.push(Row { index: Some(bin), ..row(Some(12), 120, "weight_count", "a.main", 5.0) });
    }
    trial(SpecKind::Network, "net", &[("variant", rule)], seed, rows)
}

fn three_seeds(rule: &str, means: [f64; 3]) -> Vec<StoredTrial> {
    means.iter().zip(0..).map(|(m, seed)| network(rule, seed, [m - 0.01, m + 0.01])).collect()
}

fn find<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.sections.iter().flat_map(|s| &s.tables).find(|t| t.name == name).unwrap()
}

fn best(report: &Report) -> Vec<bool> {
    find(report, "ends").rows.iter().map(|row| row.iter().any(TableCell::is_best)).collect()
}

#[test]
fn accuracies_are_means_over_the_last_sixth_and_over_seeds() {
    let trials = [three_seeds("A", [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.81, 0.85])].concat();
    let report = Report::new(&trials, &ReportOptions::default());
    // By hand: mean 92, deviation 2, standard error 2/√3 = 1.1547.
    let ends = find(&report, "ends");
    let cell = &ends.rows[0][2];
    assert_eq!(cell.plain(), "92.0 ± 1.2");
    assert!((cell.key().unwrap() - 92.0).abs() < 1e-10);
    assert_eq!(ends.rows[0][1], TableCell::Count(3));
    assert_eq!(ends.rows[0].last().unwrap().key(), Some(1332.0));
    // Differences 10, 11, 9: mean 10, deviation 1, t = 10√3 = 17.32, p = 1 − t/√(t² + 2) = 0.003317.
    let paired = find(&report, "paired-test_accuracy");
    let shown: Vec<String> = paired.rows[0].iter().map(TableCell::plain).collect();
    assert_eq!(shown, ["A − B", "10.00 ± 0.58", "3", "17.32", "0.0033", "0.0033"]);
    for text in [report.to_html(), report.to_markdown()] {
        for number in ["92.0 ± 1.2", "10.00 ± 0.58", "17.32", "0.0033"] {
            assert!(text.contains(number), "{number} is missing");
        }
    }
    assert!(report.to_latex().contains("\\boldmath $92.0 \\pm 1.2$"));
    assert_eq!(best(&report), [true, false]);
}

/// Accuracy against energy and time, a point for each epoch; without a ledger there is no such figure.
#[test]
fn what_accuracy_costs_is_drawn_from_the_ledger() {
    let costs = |trials: &[StoredTrial]| {
        let report = Report::new(trials, &ReportOptions::default());
        report.sections[0].plots.iter().find(|plot| plot.name == "costs").cloned()
    };
    let mut trials = [three_seeds("A", [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.81, 0.85])].concat();
    assert!(costs(&trials).is_none());
    for trial in trials.iter_mut().filter(|t| t.manifest.labels[0].1 == "A") {
        let seed = trial.manifest.seed as f64;
        for epoch in 1..=12 {
            // 2, 3 and 4 joules an epoch.
            let energy = (2.0 + seed) * epoch as f64;
            trial.rows.push(row(Some(epoch), 10 * epoch, "training_energy", "", energy));
            trial.rows.push(row(Some(epoch), 10 * epoch, "training_time", "", 1e-3 * epoch as f64));
        }
    }
    let plot = costs(&trials).unwrap();
    assert_eq!(plot.charts.len(), 2);
    let [energy, time] = &plot.charts[..] else { panic!("{plot:?}") };
    assert_eq!(
        (energy.x.as_str(), time.x.as_str()),
        ("energy of the hardware (J)", "time of the hardware (s)")
    );
    // B has no ledger.
    assert_eq!(energy.series.len(), 1);
    let curve = &energy.series[0];
    assert_eq!((curve.label.as_str(), curve.xs.len()), ("A", 12));
    assert!((curve.xs[11] - 36.0).abs() < 1e-12 && (curve.ys[11] - 93.0).abs() < 1e-10, "{curve:?}");
    assert!((time.series[0].xs[0] - 1e-3).abs() < 1e-15);
}

/// Broken twin of the mark: the same means with seeds that disagree, or with one seed, or with seeds that do not meet.
#[test]
fn nothing_is_marked_that_the_seeds_do_not_tell_apart() {
    let marked = |a: Vec<StoredTrial>, b: Vec<StoredTrial>| {
        best(&Report::new(&[a, b].concat(), &ReportOptions::default()))
    };
    let noisy = marked(three_seeds("A", [0.9, 0.92, 0.94]), three_seeds("B", [0.94, 0.89, 0.92]));
    assert_eq!(noisy, [false, false]);
    let one = marked(vec![network("A", 0, [0.9, 0.9])], vec![network("B", 0, [0.5, 0.5])]);
    assert_eq!(one, [false, false]);
    let mut apart = three_seeds("B", [0.8, 0.81, 0.85]);
    apart.iter_mut().zip(100..).for_each(|(t, seed)| t.manifest.seed = seed);
    assert_eq!(marked(three_seeds("A", [0.9, 0.92, 0.94]), apart), [false, false]);
}

/// Three arms, three tests: a difference that is significant alone (p = 0.028) is not after the correction.
#[test]
fn the_mark_is_corrected_for_all_rows_of_the_table() {
    let a = [90.0, 92.0, 94.0];
    let b = [89.0, 90.2, 92.7];
    let alone = Paired::of(a.iter().zip(b).map(|(a, b)| a - b));
    assert!(alone.p.unwrap() < LEVEL && alone.p.unwrap() > LEVEL / 3.0, "{:?}", alone.p);
    let share = |x: [f64; 3]| x.map(|v| v / 100.0);
    let two = [three_seeds("A", share(a)), three_seeds("B", share(b))].concat();
    assert_eq!(best(&Report::new(&two, &ReportOptions::default())), [true, false]);
    // Two more tests that find nothing themselves.
    let three = [two, three_seeds("C", [0.95, 0.80, 0.90])].concat();
    assert_eq!(best(&Report::new(&three, &ReportOptions::default())), [false, false, false]);
}

#[test]
fn trials_with_other_settings_are_not_averaged() {
    let mut trials = three_seeds("A", [0.9, 0.92, 0.94]);
    let mut edited = network("A", 0, [0.5, 0.5]);
    edited.manifest.spec[0].value = "200".into();
    edited.manifest.id += "edited";
    trials.push(edited);
    // The same trial from a second store counts once.
    trials.push(trials[0].clone());
    let report = Report::new(&trials, &ReportOptions::default());
    let rows = &find(&report, "ends").rows;
    let shown: Vec<(String, String)> = rows.iter().map(|r| (r[0].plain(), r[2].plain())).collect();
    assert_eq!(shown, [("steps = 100".to_string(), "3".to_string()), ("steps = 200".into(), "1".into())]);
}

/// A store with trials of two versions of a spec, of which the second was not run to its end.
#[test]
fn versions_of_a_spec_keep_their_settings_and_their_differences() {
    let with = |mut trial: StoredTrial, field: &str, value: &str| {
        trial.manifest.id += value;
        trial.manifest.spec.retain(|p| p.field != field);
        trial.manifest.spec.push(StoredParameter { field: field.into(), value: value.into(), given: true });
        trial
    };
    let shown = |trials: &[StoredTrial]| {
        let report = Report::new(trials, &ReportOptions::default());
        let text = |table: &str, columns: [usize; 2]| -> Vec<[String; 2]> {
            find(&report, table).rows.iter().map(|r| columns.map(|i| r[i].plain())).collect()
        };
        (text("ends", [0, 1]), text("paired-test_accuracy", [0, 1]))
    };
    // All of A was run again with more steps, B not yet: B belongs to the first version.
    let (a, b) = (three_seeds("A", [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.83, 0.84]));
    let again: Vec<StoredTrial> = a.iter().map(|t| with(t.clone(), "steps", "200")).collect();
    let (ends, paired) = shown(&[a.clone(), b.clone(), again].concat());
    let pair = |a: &str, b: &str| [a.to_string(), b.to_string()];
    assert_eq!(ends, [pair("steps = 100", "A"), pair("steps = 100", "B"), pair("steps = 200", "A")]);
    assert_eq!(paired, [pair("steps = 100", "A − B")]);

    // A rate of A was edited: B is compared with both.
    let rated = |value: &str| -> Vec<StoredTrial> {
        a.iter().map(|t| with(t.clone(), "rule.learning_rate", value)).collect()
    };
    let other: Vec<StoredTrial> = b.iter().map(|t| with(t.clone(), "rule.learning_rate", "0.3")).collect();
    let report = Report::new(&[rated("0.1"), other, rated("0.2")].concat(), &ReportOptions::default());
    let names: Vec<String> = find(&report, "ends").rows.iter().map(|r| r[0].plain()).collect();
    assert_eq!(names, ["A, rule.learning_rate = 0.1", "B", "A, rule.learning_rate = 0.2"]);
    assert_eq!(find(&report, "paired-test_accuracy").rows.len(), 3);
}

#[test]
fn layers_pulses_and_ranges_are_told() {
    let report = Report::new(&three_seeds("A", [0.9, 0.92, 0.94]), &ReportOptions::default());
    let pulses: Vec<String> = find(&report, "pulses").rows.iter().map(|r| r[2].plain()).collect();
    assert_eq!(pulses, ["1200 ± 0", "132 ± 0", "1332 ± 0"]);
    let hardware: Vec<String> = find(&report, "hardware").rows[0].iter().map(TableCell::plain).collect();
    assert_eq!(hardware[..4], ["A", "a.main", "2.500 ± 0", "0.1250 ± 0"]);
    let weights = report.sections[0].plots.iter().find(|p| p.name == "weights").unwrap();
    assert_eq!(weights.charts[0].bounds.iter().map(|b| b.0).collect::<Vec<_>>(), [-0.6, 0.6]);
    // Uniform weights on [-0.5, 0.5] have density one.
    assert!(weights.charts[0].series[0].ys.iter().all(|y| (y - 1.0).abs() < 1e-9));
}

/// Energy has a column where a trial tells it, and no other has a number there.
#[test]
fn energy_stands_beside_pulses_where_it_is_known() {
    let mut trials = three_seeds("A", [0.9, 0.92, 0.94]);
    assert_eq!(find(&Report::new(&trials, &ReportOptions::default()), "pulses").columns.len(), 3);
    for trial in &mut trials {
        let priced = |r: &Row| Row { metric: "energy".into(), value: 1e-12 * r.value, ..r.clone() };
        let energy: Vec<Row> = trial.rows.iter().filter(|r| r.metric == "pulses").map(priced).collect();
        trial.rows.extend(energy);
    }
    trials.extend(three_seeds("B", [0.9, 0.92, 0.94]));
    let report = Report::new(&trials, &ReportOptions::default());
    let table = find(&report, "pulses");
    assert_eq!(table.columns.len(), 4);
    let energies: Vec<Option<f64>> = table.rows.iter().map(|r| r[3].key()).collect();
    let close = |cell: Option<f64>, joules: f64| cell.is_some_and(|e| (e - joules).abs() < 1e-15);
    assert!(close(energies[0], 1.2e-9) && close(energies[1], 1.32e-10) && close(energies[2], 1.332e-9));
    assert_eq!(energies[3..], [None; 3]);
}

#[test]
fn curves_are_means_with_bands() {
    let trials = three_seeds("A", [0.9, 0.92, 0.94]);
    let end = |spread| {
        let report = Report::new(&trials, &ReportOptions { spread, ..ReportOptions::default() });
        let series = report.sections[0].plots[0].charts[0].series[0].clone();
        let [low, high] = series.band.unwrap();
        (*series.xs.last().unwrap(), *series.ys.last().unwrap(), *low.last().unwrap(), *high.last().unwrap())
    };
    let close = |a: (f64, f64, f64, f64), b: (f64, f64, f64, f64)| {
        [a.0 - b.0, a.1 - b.1, a.2 - b.2, a.3 - b.3].iter().all(|d| d.abs() < 1e-9)
    };
    let se = 2.0 / 3f64.sqrt();
    assert!(close(end(Bands::StandardError), (12.0, 93.0, 93.0 - se, 93.0 + se)));
    assert!(close(end(Bands::Range), (12.0, 93.0, 91.0, 95.0)));
}

/// A figure for each metric, and one of the main metric against the field that was swept.
#[test]
fn a_swept_number_is_an_axis() {
    let swept = |radius: &str, rule: &str, mean: f64| {
        let mut trial = network(rule, 0, [mean, mean]);
        trial.manifest.labels.insert(0, ("device.radius".into(), radius.into()));
        trial.manifest.id += radius;
        trial
    };
    let cells = [("0.6", 0.9, 0.5), ("1.2", 0.8, 0.7), ("0.3", 0.95, 0.2)];
    let mut trials: Vec<StoredTrial> =
        cells.iter().flat_map(|(r, a, b)| [swept(r, "A", *a), swept(r, "B", *b)]).collect();
    let report = Report::new(&trials, &ReportOptions::default());
    let names: Vec<&str> = report.sections[0].plots.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["against-radius", "curves-test-accuracy", "curves-train-loss", "weights"]);
    let series = &report.sections[0].plots[0].charts[0].series;
    assert_eq!((series[0].label.as_str(), &series[0].xs), ("A", &vec![0.3, 0.6, 1.2]));
    assert!(series[1].ys.iter().zip([20.0, 50.0, 70.0]).all(|(y, end)| (y - end).abs() < 1e-9));
    assert_eq!(report.sections[0].headline[0], "Highest test accuracy (%): A in 3 of 3 settings.");
    // A field that moves with another is drawn with it, not against single points.
    for trial in &mut trials {
        let states = format!("{}00", trial.manifest.labels[0].1.replace('.', ""));
        trial.manifest.labels.insert(1, ("device.states".into(), states));
    }
    let plots = &Report::new(&trials, &ReportOptions::default()).sections[0].plots;
    let against: Vec<(&str, &str, usize)> = plots
        .iter()
        .filter(|p| p.name.starts_with("against"))
        .map(|p| (p.name.as_str(), p.charts[0].x.as_str(), p.charts.len()))
        .collect();
    assert_eq!(against, [("against-radius", "radius, with it states", 1)]);
    // Broken twin: words are no axis.
    for trial in &mut trials {
        trial.manifest.labels.remove(1);
    }
    trials[0].manifest.labels[0].1 = "wide".into();
    let plots = &Report::new(&trials, &ReportOptions::default()).sections[0].plots;
    assert!(!plots.iter().any(|p| p.name.starts_with("against")));
}

#[test]
fn the_headline_tells_the_finding_with_its_numbers() {
    let trials = [three_seeds("A", [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.81, 0.85])].concat();
    let report = Report::new(&trials, &ReportOptions::default());
    let headline = report.sections[0].headline.join(" ");
    assert_eq!(
        headline,
        "A (92.0 %) is ahead of the others. A − B: 10.00 ± 0.58 in test accuracy (%) (paired over 3 seeds, Holm-corrected, p = 0.0033)."
    );
    assert!(report.to_html().contains(&headline) && report.to_markdown().contains("A − B: 10.00 ± 0.58"));
}

/// Rows stand as the spec has them, not by the alphabet.
#[test]
fn rows_follow_the_spec() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    for (place, rule) in ["Z", "M", "A"].into_iter().enumerate() {
        let mut trial = network(rule, 0, [0.9, 0.9]);
        trial.manifest.id = format!("{}", 9 - place);
        trial.manifest.place = place;
        let TrialClaim::Ours(lease) = store.claim(&trial.manifest.id).unwrap() else { panic!() };
        lease.finish(&trial.manifest, &trial.rows).unwrap();
    }
    let report = Report::new(&load(folder.path()).unwrap(), &ReportOptions::default());
    let names: Vec<String> = find(&report, "ends").rows.iter().map(|row| row[0].plain()).collect();
    assert_eq!(names, ["Z", "M", "A"]);
}

/// A vector of a problem becomes a density around where it lies.
#[test]
fn entries_of_vectors_become_densities() {
    let rows = |shift: f64| {
        let entry = |i: u64| Row { index: Some(i), ..row(None, 100, "effective", "", shift + 0.01 * i as f64) };
        let mut rows: Vec<Row> = (0..40).map(entry).collect();
        rows.push(row(None, 100, "gap", "", 0.5));
        rows
    };
    let trials = [("A", 0.0), ("B", 3.0)]
        .map(|(rule, shift)| trial(SpecKind::Problem, "toy", &[("rule.kind", rule)], 1, rows(shift)));
    let report = Report::new(&trials, &ReportOptions::default());
    let plot = report.sections[0].plots.iter().find(|p| p.name == "densities").unwrap();
    for (series, middle) in plot.charts[0].series.iter().zip([0.195, 3.195]) {
        let mass: f64 = series.ys.iter().sum();
        let mean = series.xs.iter().zip(&series.ys).map(|(x, y)| x * y).sum::<f64>() / mass;
        assert!((mean - middle).abs() < 0.02, "{mean} should be {middle}");
    }
}

/// Start and end tags of a page must nest; attributes hold no bare brackets.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 4] = ["meta", "link", "br", "hr"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closes what is not open");
            continue;
        }
        let name = tag.split([' ', '\n', '/']).next().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "not a tag: <{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of <{tag}>");
        if tag.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        if name == "script" || name == "style" {
            rest = rest.split_once(&format!("</{name}>")).unwrap().1;
            continue;
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// What a hostile or careless spec may write into labels.
const NASTY: &str = "<script>alert(1)</script> & \"q\" 'a' |x| \\y_z% {b} # é 中 W̄";

#[test]
fn pages_are_whole_closed_and_escaped() {
    let mut trials = [three_seeds(NASTY, [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.81, 0.85])].concat();
    for trial in &mut trials {
        trial.manifest.experiment = format!("ex {NASTY}");
        trial.manifest.spec.push(StoredParameter { field: NASTY.into(), value: NASTY.into(), given: false });
    }
    let report = Report::new(&trials, &ReportOptions::default());
    let page = report.to_html();
    assert_well_formed(&page);
    assert!(!page.contains("<script>alert"), "text of a spec became markup");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;q&quot;"));
    // Names of XML namespaces are addresses that nobody visits.
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "@import", "url(//", "href=\"/"] {
        assert!(!addresses.contains(outside), "{outside} in the page");
    }
    for needed in
        ["scope=\"col\"", "scope=\"row\"", "role=\"img\"", "<title>", "<desc>", "lang=\"en\"", "a &lt;CPU&gt;"]
    {
        assert!(page.contains(needed), "{needed} is missing");
    }
    // The ids of all clip paths differ.
    let mut ids: Vec<&str> = page.split("id=\"").skip(1).map(|t| t.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is used twice");
    assert_eq!(page, Report::new(&trials, &ReportOptions::default()).to_html());
}

/// Broken twin: the check of the page sees a tag that is not closed and text that is not escaped.
#[test]
#[should_panic(expected = "closes what is not open")]
fn a_page_that_is_not_whole_is_noticed() {
    assert_well_formed("<!DOCTYPE html><html><p>a < b</p></html>".replace("a < b", "<b>").as_str());
}

#[test]
fn latex_and_markdown_tables_keep_their_columns() {
    let trials = [three_seeds(NASTY, [0.9, 0.92, 0.94]), three_seeds("B", [0.8, 0.81, 0.85])].concat();
    let report = Report::new(&trials, &ReportOptions::default());
    let latex = report.to_latex();
    assert!(latex.is_ascii() || latex.chars().all(|c| c.is_ascii() || ('\u{c0}'..='\u{17f}').contains(&c)));
    for table in latex.split("\\begin{tabular}{").skip(1) {
        let (places, rest) = table.split_once('}').unwrap();
        let body = rest.split("\\end{tabular}").next().unwrap();
        for line in body.lines().filter(|l| l.ends_with("\\\\")) {
            let cells = line.replace("\\&", "").matches('&').count() + 1;
            assert_eq!(cells, places.len(), "{line}");
        }
        assert_eq!(body.replace("\\$", "").matches('$').count() % 2, 0);
    }
    let depth = latex.replace("\\{", "").replace("\\}", "").chars().fold(0i32, |depth, c| {
        assert!(depth >= 0);
        depth + i32::from(c == '{') - i32::from(c == '}')
    });
    assert_eq!(depth, 0);
    for table in &report.sections[0].tables {
        let text = table.to_markdown();
        let lines = text.lines().filter(|l| l.starts_with('|'));
        for line in lines {
            let bars = line.replace("\\|", "").matches('|').count();
            assert_eq!(bars, table.columns.len() + 1, "{line}");
        }
    }
}

/// A store on disk; a trial without records is not done.
#[test]
fn stores_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut trials = three_seeds("A", [0.9, 0.92, 0.94]);
    for (i, trial) in trials.iter_mut().enumerate() {
        trial.manifest.id = i.to_string();
        let TrialClaim::Ours(lease) = store.claim(&trial.manifest.id).unwrap() else {
            panic!("nobody else is here")
        };
        if i < 2 {
            lease.finish(&trial.manifest, &trial.rows).unwrap();
        }
    }
    assert_eq!(load(folder.path()).unwrap(), trials[..2]);
    std::fs::write(folder.path().join("trials/0/records.csv"), "nonsense\n").unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("records.csv") && error.contains("line 1"), "{error}");
    assert!(load(&folder.path().join("nowhere")).is_err());
}

/// Ten thousand records and long curves stay under the limits.
#[test]
fn large_stores_give_small_pages() {
    let long = |rule: &str, seed: u64| {
        let value = |k: u64| (-(k as f64) / 200.0).exp() + 0.01;
        let rows = (0..1000).map(|k| row(None, 10 * k, "gap", "", value(k))).collect();
        trial(SpecKind::Problem, "long", &[("variant", rule)], seed, rows)
    };
    let mut trials = Vec::new();
    for seed in 0..5 {
        trials.extend(["A", "B"].map(|rule| long(rule, seed)));
    }
    assert_eq!(trials.iter().map(|t| t.rows.len()).sum::<usize>(), 10_000);
    let report = Report::new(&trials, &ReportOptions::default());
    let page = report.to_html();
    assert!(page.len() < 500_000, "{} bytes", page.len());
    let curve = &report.sections[0].plots[0].charts[0].series[0];
    assert!(curve.xs.len() <= 200 && *curve.xs.last().unwrap() == 9990.0 && curve.xs[0] == 0.0);
    // Many settings: every one has its row, only some have a chart.
    let mut many = Vec::new();
    for i in 0..400 {
        let mut label = String::new();
        let _ = write!(label, "{i}");
        let rows = (0..25).map(|k| row(None, k, "gap", "", 1.0 / (k + 1 + i) as f64)).collect();
        many.push(trial(SpecKind::Problem, "many", &[("rate", &label), ("variant", "A")], 0, rows));
    }
    let report = Report::new(&many, &ReportOptions::default());
    assert_eq!(find(&report, "ends").rows.len(), 400);
    let page = report.to_html();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("of 400 settings"));
}

#[test]
fn figures_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let report = Report::new(&three_seeds("A", [0.9, 0.92, 0.94]), &ReportOptions::default());
    let paths = report.save_figures(folder.path(), &FigureFormat::ALL).unwrap();
    // Accuracy, loss and weights, each in four formats.
    assert_eq!(paths.len(), 12);
    for path in paths {
        assert!(std::fs::metadata(path).unwrap().len() > 1000);
    }
    assert_eq!(Written::of(&residuum::stats::Summary::of([1.0, 1.0])).plain(), "1 ± 0");
}
