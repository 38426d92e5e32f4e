//! The places a search tries, and the budget it spends.

use residuum::Key;
use residuum_lab::rates::{KnownRates, PointRates};
use residuum_lab::source::SpecSource;
use residuum_lab::spec::{Document, Folders, RulePresets, rule_presets};
use residuum_lab::store::Store;
use residuum_lab::sweep::{Silent, SweepOptions};
use residuum_lab::tune::{
    Halving, Search, Setting, Tunable, TuneError, TuneOptions, Tuned, Values, kept_trials, tune,
};

#[test]
fn a_budget_is_spent_whole_and_not_exceeded() {
    for trials in 5..200 {
        let schedule = Halving::new(trials, 20, 3);
        assert!(schedule.trials() <= trials.max(6), "{trials}: {schedule:?}");
        assert!(schedule.trials() + 4 >= trials, "{trials}: {schedule:?}");
        assert!(schedule.long >= schedule.finalists && schedule.finalists > 0, "{schedule:?}");
    }
    assert_eq!(Halving::new(60, 20, 3).trials(), 60);
}

#[test]
fn the_start_fills_the_space_more_evenly_than_chance() {
    let search = Search { dimensions: 3, key: Key::new(3) };
    let n = 27;
    // Every third of every axis has a third of the points, up to one or two.
    for j in 0..3 {
        let mut counts = [0usize; 3];
        (0..n).for_each(|i| counts[((search.quasi_random(i)[j] * 3.0) as usize).min(2)] += 1);
        assert!(counts.iter().all(|c| (7..=11).contains(c)), "{counts:?}");
    }
    assert_eq!(search.quasi_random(5), search.quasi_random(5));
    let other = Search { key: Key::new(4), ..search };
    assert_ne!(search.quasi_random(0), other.quasi_random(0));
    let near = search.around(&[0.01, 0.5, 0.99], 0.12, 0);
    assert!(near.iter().all(|p| (0.0..=1.0).contains(p)), "{near:?}");
}

#[test]
fn values_are_places_and_back() {
    let range = |centre: f64, factor: f64| Tunable::new("x", Values::Scaled { centre, factor });
    for scale in [1.0, 64.0] {
        for place in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let tunable = range(0.02, 30.0);
            let back = tunable.place(&tunable.at(place, scale), scale).unwrap();
            assert!((back - place).abs() < 2e-3, "{place}: {back}");
        }
    }
    assert_eq!(range(0.1234567, 2.0).at(0.5, 1.0), Setting::of(0.123));
    assert_eq!(range(1.0, 2.0).place(&Setting::read("\"all\"").unwrap(), 1.0), None);

    let values: Vec<Setting> = ["1", "8", "\"all\""].map(|value| Setting::read(value).unwrap()).into();
    let listed = Tunable::new("rule.columns", Values::Listed(values.clone()));
    for (i, value) in values.iter().enumerate() {
        let place = listed.place(value, 1.0).unwrap();
        assert_eq!((&listed.at(place, 5.0), listed.part(place)), (value, i));
    }
    assert_eq!([0.0, 0.34, 1.0].map(|place| listed.at(place, 1.0).to_string()), ["1", "8", "\"all\""]);
    // A known setting may have a number between those listed, but not where the user listed them.
    assert_eq!(
        [2.0, 3.0, 50.0].map(|x| listed.place(&Setting::of(x), 1.0)),
        [Some(1.0 / 6.0), Some(0.5), Some(0.5)]
    );
    assert_eq!(listed.place(&Setting::read("{ samples = 1 }").unwrap(), 1.0), None);
    let held = Tunable { open: false, ..listed.clone() };
    assert_eq!(held.place(&Setting::of(2.0), 1.0), None);
    assert_eq!(listed.place(&Setting::of(8.0), 1.0), Some(0.5));
}

#[test]
fn a_kept_length_is_one_that_was_planned() {
    assert_eq!(kept_trials("{\"trials\":24}", 60), Ok(24));
    for text in ["", "{}", "{\"trials\":4}", "{\"trials\":61}", "{\"trials\":2305843009213693952}"] {
        kept_trials(text, 60).unwrap_err();
    }
}

const RULES: [(&str, &str); 10] = [
    ("analog", "learning_rate = 0.1"),
    ("manhattan", ""),
    ("mixed_precision", "learning_rate = 0.1"),
    ("tiki_taka", "learning_rate = 0.1, transfer_rate = 0.1"),
    ("tiki_taka_2", "learning_rate = 0.1, transfer_rate = 0.1"),
    ("chopped_tiki_taka", "learning_rate = 0.1, transfer_rate = 0.1"),
    ("agad", "learning_rate = 0.1, transfer_rate = 0.1"),
    ("residual_learning", "learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4"),
    ("residual_learning_2", "learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4, columns = 3"),
    ("residual_cascade", "learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4"),
];

/// Digits under every rule, one epoch.
fn source() -> SpecSource {
    let mut text = String::from(
        "network = { model = \"mlp\", hidden = [4] }\ndata = { set = \"digits\" }\n\
         training = { epochs = 1, batch_size = 200, seeds = [0] }\n\
         device = { response = \"soft_bounds\", states = 100 }\ndigital = { learning_rate = 0.05 }\n",
    );
    for (kind, fields) in RULES {
        text += &format!("[[variant]]\nname = \"{kind}\"\nrule = {{ kind = \"{kind}\", {fields} }}\n")
            .replace(",  }", " }");
    }
    SpecSource {
        given: None,
        stem: "rules".into(),
        document: Document::parse(&text).unwrap(),
        base: ".".into(),
    }
}

fn search(trials: usize, choices: &[(&str, &[&str])]) -> Result<Vec<Tuned>, TuneError> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let read = |values: &[&str]| values.iter().map(|value| Setting::read(value).unwrap()).collect();
    let choices = choices.iter().map(|(field, values)| ((*field).to_string(), read(values))).collect();
    let options =
        TuneOptions { trials, minutes: None, seeds: 1, seed: 0, choices, starts: Vec::new(), test: false };
    tune(&source(), None, |_| true, &store, (options, &SweepOptions::new(".")), &Silent)
}

#[test]
fn every_rule_is_searched_in_the_fields_that_it_has() {
    let tuned = search(5, &[]).unwrap();
    let fields = |i: usize| {
        tuned[i].space.fields.iter().map(|t| t.field.trim_start_matches("rule.")).collect::<Vec<_>>()
    };
    assert_eq!(fields(0), ["learning_rate"]);
    assert_eq!(fields(1), ["digital.learning_rate", "threshold"]);
    assert_eq!(fields(2), ["learning_rate", "every"]);
    assert_eq!(fields(3), ["learning_rate", "transfer_rate", "every", "columns"]);
    assert_eq!(fields(6), ["learning_rate", "transfer_rate", "chop.columns", "every", "buffer.max_pulses"]);
    let pulses = &tuned[6].space.fields[4].values;
    // 0.05 of a weight in steps of 2/100.
    assert_eq!(*pulses, Values::Listed(["1", "2", "3"].map(|n| Setting::read(n).unwrap()).into()));
    assert_eq!(fields(7), ["learning_rate", "transfer_rate", "mixing", "every", "columns"]);
    assert_eq!(fields(9), ["learning_rate", "transfer_rate", "mixing", "every", "columns", "residuals"]);
    for one in &tuned {
        // The setting of the spec itself comes first, whatever the ranges, and all are in the report.
        assert_eq!(one.trials[0].settings.len(), one.space.fields.len());
        let whole = (one.to_text(), one.to_json().to_string());
        for tunable in &one.space.fields {
            assert!(whole.0.contains(&tunable.field) && whole.1.contains(&tunable.field), "{}", tunable.field);
        }
        assert!(one.trials.iter().all(|t| t.score.is_some()), "{}: {:?}", one.point, one.failure);
    }
    let own: Vec<String> = tuned[8].trials[0].settings.iter().map(ToString::to_string).collect();
    assert_eq!(own, ["0.1", "0.1", "0.4", "1", "3", "1"]);
    // A rule that moves one column in so many steps writes as much as one that moves all of them in each.
    let space = &tuned[3].space;
    let rate = |every: f64, columns: f64| space.at(&[0.5, 0.5, every, columns])[1].number().unwrap();
    let [whole, one, slow] = [rate(0.0, 1.0), rate(0.0, 0.0), rate(1.0, 1.0)];
    assert!(
        (one / whole / 64.0 - 1.0).abs() < 0.01 && (slow / whole / 10.0 - 1.0).abs() < 0.01,
        "{whole} {one} {slow}"
    );
}

#[test]
fn fields_are_held_and_added_and_skipped_for_rules_without_them() {
    let tuned = search(5, &[("rule.every", &["1"]), ("rule.order", &["\"cyclic\"", "\"random\""])]).unwrap();
    let values = |one: &Tuned, field: &str| -> Vec<String> {
        let i = one.space.fields.iter().position(|t| t.field == field);
        one.trials.iter().filter_map(|t| Some(t.settings[i?].to_string())).collect()
    };
    assert!(values(&tuned[0], "rule.order").is_empty() && values(&tuned[0], "rule.every").is_empty());
    assert!(values(&tuned[3], "rule.every").iter().all(|every| every == "1"));
    assert!(
        ["\"cyclic\"", "\"random\""]
            .iter()
            .all(|order| values(&tuned[3], "rule.order").contains(&(*order).to_string()))
    );
    let unknown = search(5, &[("rule.evry", &["1"])]).unwrap_err().to_string();
    assert!(unknown.starts_with("search: rule.evry must be a field of a rule that is searched"), "{unknown}");
    // Values that a rule refuses are settings that fail, with the reason in the report.
    let mixed = search(5, &[("rule.order", &["\"cyclic\"", "\"random\"", "\"sideways\""])]).unwrap();
    let failed = |one: &Tuned| one.to_text().contains("the first that failed: rule.order must be");
    assert!(mixed.iter().any(failed) && !failed(&mixed[0]), "{}", mixed[3].to_text());
}

/// A search of a rule on a device of the literature, from a setting of the spec that learns nothing.
fn from_what_is_known(starts: Vec<RulePresets>) -> Result<Tuned, TuneError> {
    let text = "network = { model = \"mlp\", hidden = [8] }\ndata = { set = \"digits\" }\n\
         training = { epochs = 2, batch_size = 10, seeds = [0] }\ndevice = { preset = \"ecram\" }\n\
         digital = { learning_rate = 0.05 }\nrule = { kind = \"analog\", learning_rate = 1e-9 }\n";
    let source = SpecSource {
        given: None,
        stem: "known".into(),
        document: Document::parse(text).unwrap(),
        base: ".".into(),
    };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let options =
        TuneOptions { trials: 60, minutes: None, seeds: 2, seed: 0, choices: Vec::new(), starts, test: false };
    let mut tuned = tune(&source, None, |_| true, &store, (options, &SweepOptions::new(".")), &Silent)?;
    Ok(tuned.remove(0))
}

#[test]
fn what_is_known_comes_first_and_stays_until_the_end() {
    let preset = rule_presets().find("analog", Some("ecram")).unwrap().settings();
    let rate = preset.trim_start_matches("{ learning_rate = ").trim_end_matches(" }").to_string();
    let given = |device: &str| {
        RulePresets::parse(&format!(
            "version = 1\nfound_by = \"\"\nevidence = \"\"\ntrials = 60\nseeds = 3\nchance = 0.1\n\
             [{device}.analog]\nsettings = {{ learning_rate = 2e-9 }}\naccuracy = 0.1\ndeviation = 0.0\n"
        ))
        .unwrap()
    };
    let useless = from_what_is_known(vec![given("ecram"), given("pcm")]).unwrap_err().to_string();
    assert_eq!(useless, "start: file 2 must have settings for something that is searched: analog on ecram");
    let tuned = from_what_is_known(vec![given("ecram")]).unwrap();
    let first: Vec<String> = tuned.trials[..3].iter().map(|t| t.settings[0].to_string()).collect();
    assert_eq!(first[1], rate);
    assert!(first[0].parse::<f64>() == Ok(1e-9) && first[2].parse::<f64>() == Ok(2e-9), "{first:?}");
    // All of them are tried at length, however badly they began, and the best of them with every seed.
    let tried = |settings: &str, seed: u64| {
        let long = |t: &&residuum_lab::tune::Tried| t.epochs == 2 && t.seed == seed;
        tuned.trials.iter().filter(long).any(|t| t.settings[0].to_string() == settings)
    };
    assert!(first.iter().all(|settings| tried(settings, 0)), "{:?}", tuned.trials);
    let best = |of: &[&String]| of.iter().any(|settings| tried(settings, 1));
    assert!(best(&first.iter().collect::<Vec<_>>()), "{:?}", tuned.trials);
    // A device that nobody has searched begins with the spec's own setting and the centre.
    let own = search(5, &[]).unwrap();
    assert_eq!(own[0].trials[1].place, own[0].space.centre());
}

#[test]
fn rates_of_networks_are_where_a_search_begins() {
    let source = source();
    let points = PointRates::of(&source, &Folders::new("."), None, None).unwrap();
    assert_eq!(points.len(), RULES.len());
    let rows = |i: usize| {
        let KnownRates::Network(rates) = &points[i].known else { panic!() };
        rates.rates.iter().map(|row| (row.field.as_str(), row.own)).collect::<Vec<_>>()
    };
    assert_eq!(rows(0), [("rule.learning_rate", Some(0.1))]);
    assert_eq!(
        rows(7),
        [("rule.learning_rate", Some(0.1)), ("rule.transfer_rate", Some(0.1)), ("rule.mixing", Some(0.4))]
    );
    // The rule's own columns decide what a transfer must carry: one in 64 against all of them.
    let law = |i: usize| {
        let KnownRates::Network(rates) = &points[i].known else { panic!() };
        (rates.sweep, rates.rates[1].law.number().unwrap())
    };
    let ((one, slow), (all, fast)) = (law(3), law(7));
    assert_eq!((one, all), (64.0, 1.0));
    assert!((slow / fast / 64.0 - 1.0).abs() < 0.01, "{slow} {fast}");
}
