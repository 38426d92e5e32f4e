//! Grids: which trials a spec makes, what they are called, and what is refused before any of them begins.

use std::collections::BTreeSet;
use std::time::Instant;

use residuum_lab::plan::{Plan, Work, plans, points, seeded};
use residuum_lab::spec::{Folders, RuleKind};
use residuum_lab::train::CATALOGUE;

const PROBLEM: &str = r#"
steps = 10
seeds = [1, 2]
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[device]
response = "power"
shape = 1.0
radius = 1.0
[rule]
kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.01
mixing = 1.0
"#;

const NETWORK: &str = r#"
name = "small"
[network]
model = "mlp"
[data]
set = "digits"
[device]
response = "power"
shape = 1.0
radius = 0.6
states = 1200
[rule]
kind = "residual_learning"
learning_rate = 0.1
transfer_rate = 0.1
mixing = 0.4
[training]
epochs = 2
batch_size = 10
"#;

fn read(text: &str) -> Vec<Plan> {
    plans(text, &Folders::new("."), None, "stem").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn problem(sweep: &str) -> Vec<Plan> {
    read(&format!("{PROBLEM}{sweep}"))
}

fn refusal(text: &str) -> String {
    plans(text, &Folders::new("."), None, "stem").unwrap_err().to_string()
}

fn labels(plan: &Plan) -> String {
    let words: Vec<String> = plan.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    words.join(" ")
}

fn mixing(plan: &Plan) -> f64 {
    let rule = match &plan.work {
        Work::Problem(spec) => &spec.rule,
        Work::Network(spec) => &spec.rule,
    };
    match &rule.kind {
        RuleKind::Residual(rule) => rule.mixing,
        _ => f64::NAN,
    }
}

#[test]
fn a_spec_without_a_sweep_is_one_point() {
    let both = problem("");
    assert_eq!(both.iter().map(|p| p.seed).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((both[0].experiment.as_str(), labels(&both[0])), ("stem", String::new()));
    let network = read(NETWORK);
    assert_eq!((network.len(), network[0].experiment.as_str()), (1, "small"));
    assert_eq!(labels(&network[0]), "variant=residual_learning");
}

#[test]
fn axes_multiply_zips_move_together_and_points_are_left_out() {
    let sweep = r#"
[sweep]
"device.radius" = [0.6, 0.7]
"rule.learning_rate" = [0.01, 0.1]
[[sweep.zip]]
"device.shape" = [1, 2]
"rule.mixing" = [0.4, 0.2]
[[sweep.exclude]]
"device.radius" = 0.7
"rule.learning_rate" = 0.1
"#;
    let all = problem(sweep);
    assert_eq!(all.len(), 2 * (2 * 2 * 2 - 2));
    let seen: Vec<String> = all.iter().filter(|p| p.seed == 1).map(labels).collect();
    assert_eq!(
        seen,
        [
            "device.radius=0.6 rule.learning_rate=0.01 device.shape=1 rule.mixing=0.4",
            "device.radius=0.6 rule.learning_rate=0.01 device.shape=2 rule.mixing=0.2",
            "device.radius=0.6 rule.learning_rate=0.1 device.shape=1 rule.mixing=0.4",
            "device.radius=0.6 rule.learning_rate=0.1 device.shape=2 rule.mixing=0.2",
            "device.radius=0.7 rule.learning_rate=0.01 device.shape=1 rule.mixing=0.4",
            "device.radius=0.7 rule.learning_rate=0.01 device.shape=2 rule.mixing=0.2",
        ]
    );
    // Values arrive where the labels say.
    for plan in &all {
        assert!(labels(plan).ends_with(&format!("rule.mixing={:?}", mixing(plan))), "{}", labels(plan));
    }
    // Unquoted keys say the same.
    let ids = |plans: Vec<Plan>| plans.iter().map(Plan::id).collect::<Vec<_>>();
    assert_eq!(ids(problem(&sweep.replace('"', ""))), ids(all));
}

#[test]
fn tables_are_swept_by_name_and_fields_of_them_after_that() {
    let sweep = r#"
[sweep]
"rule.learning_rate" = [0.01, 0.1]
rule = [
  { title = "Analog SGD", kind = "analog", learning_rate = 1.0 },
  { name = "residual", mixing = 0.25 },
]
[[sweep.exclude]]
rule = "Analog SGD"
"rule.learning_rate" = 0.1
"#;
    let all: Vec<Plan> = problem(sweep).into_iter().filter(|p| p.seed == 1).collect();
    let seen: Vec<String> = all.iter().map(labels).collect();
    assert_eq!(
        seen,
        [
            "rule.learning_rate=0.01 rule=Analog SGD",
            "rule.learning_rate=0.01 rule=residual",
            "rule.learning_rate=0.1 rule=residual",
        ]
    );
    assert!(all[0].description().contains("rule.kind = \"analog\"\nrule.learning_rate = 0.01"));
    assert!(!all[0].description().contains("mixing"), "a table that names its kind replaces the other");
    assert!(all[2].description().contains("rule.learning_rate = 0.1\nrule.mixing = 0.25"));
}

#[test]
fn variants_cells_and_profiles_come_before_the_sweep() {
    let text = format!(
        "{NETWORK}{}",
        r#"
[[cell]]
name = "small"
device = { radius = 0.3 }
[[cell]]
name = "large"
[[variant]]
name = "residual"
title = "Residual Learning"
[[variant]]
name = "digital"
rule = { kind = "digital", learning_rate = 0.3 }
[sweep]
"training.batch_size" = [1, 2]
[[sweep.exclude]]
cell = "large"
variant = "digital"
[profile.quick]
training = { epochs = 1, seeds = { first = 5, count = 2 } }
[profile.quick.sweep]
"training.batch_size" = [4]
"#
    );
    assert_eq!(read(&text).len(), (2 * 2 - 1) * 2);
    let quick = plans(&text, &Folders::new("."), Some("quick"), "stem").unwrap();
    assert_eq!(quick.len(), (2 * 2 - 1) * 2);
    assert_eq!(labels(&quick[0]), "cell=small variant=Residual Learning training.batch_size=4");
    assert_eq!((quick[0].seed, quick[1].seed), (5, 6));
    assert!(quick[0].description().contains("device.radius = 0.3"));
    assert!(quick[0].description().contains("training.epochs = 1"));
    // Problems have variants as well.
    let problems = problem("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nrule = { mixing = 0.5 }\n");
    assert_eq!(problems.iter().map(mixing).collect::<Vec<_>>(), [1.0, 1.0, 0.5, 0.5]);
}

#[test]
fn an_id_is_of_the_numbers_and_nothing_else() {
    let id = |text: &str| read(text)[0].id();
    let own = id(PROBLEM);
    // Other seeds beside it, a name, a default in words, and another way to write a number.
    assert_eq!(
        id(&PROBLEM.replace("seeds = [1, 2]", "seeds = { first = 1, count = 9 }\nname = \"other\"")),
        own
    );
    assert_eq!(id(&PROBLEM.replace("curvature = 1.0", "curvature = 1")), own);
    assert_eq!(id(&format!("{PROBLEM}[sweep]\n\"rule.mixing\" = [1, 2]\n")), own);
    // Every digit counts, in long lists too.
    assert_ne!(id(&PROBLEM.replace("mixing = 1.0", "mixing = 1.0000000000000002")), own);
    let list = |last: &str| {
        id(&PROBLEM.replace("minimizer = 0.5", &format!("minimizer = [0.1, 0.1, 0.1, 0.1, {last}]")))
    };
    assert_ne!(list("0.2"), list("0.3"));
    assert_eq!(list("0.2"), list("0.2"));
}

/// Of every file that a spec can name, the contents count and the path does not.
#[test]
fn an_id_follows_the_contents_of_files_and_not_their_paths() {
    let problem = |from: &str, to: &str| PROBLEM.replace(from, to);
    let device = "response = \"power\"\nshape = 1.0\nradius = 1.0";
    let table = "response = \"table\"\ncsv = \"FILE\"";
    let curve = |q: &str| format!("w,q_plus,q_minus\n-1,{q},1\n0,1,1\n1,1,2\n");
    let matrix = problem(
        "kind = \"quadratic\"\ncurvature = 1.0\nminimizer = 0.5",
        "kind = \"least_squares\"\nfeatures = { csv = \"FILE\" }\ntargets = 1.0",
    );
    let cases = [
        (
            problem("minimizer = 0.5", "minimizer = { csv = \"FILE\" }"),
            ["w\n0.1\n0.2\n".into(), "w\n0.1\n0.3\n".into()],
        ),
        (problem(device, table), [curve("2"), curve("2.5")]),
        (matrix, ["a,b\n1,2\n3,4\n".into(), "a,b\n1,2\n3,5\n".into()]),
        (
            format!("{PROBLEM}[noise]\nkind = \"recorded\"\ncsv = \"FILE\"\n"),
            ["n\n0.1\n0.2\n".into(), "n\n0.1\n0.3\n".into()],
        ),
        (NETWORK.replace("response = \"power\"\nshape = 1.0\nradius = 0.6", table), [curve("2"), curve("2.5")]),
        (
            NETWORK.replace("model = \"mlp\"", "model = \"mlp\"\nweights = \"FILE\""),
            [weights("some"), weights("Some")],
        ),
    ];
    for (text, [contents, changed]) in cases {
        let folder = tempfile::TempDir::new().unwrap();
        let id = |file: &str, contents: &str| {
            std::fs::write(folder.path().join(file), contents).unwrap();
            let text = text.replace("FILE", file);
            let folders = Folders::new(folder.path());
            plans(&text, &folders, None, "stem").unwrap_or_else(|e| panic!("{e}\n{text}"))[0].id()
        };
        let first = id("a", &contents);
        assert_ne!(id("a", &changed), first, "{text}");
        assert_eq!(id("a", &contents), first, "{text}");
        assert_eq!(id("b", &contents), first, "{text}");
        assert_ne!(id("b", &changed), first, "{text}");
    }
}

/// A file of no weights that says this word.
fn weights(word: &str) -> String {
    let header = format!("{{\"__metadata__\":{{\"is\":\"{word}\"}}}}");
    let length = (header.len() as u64).to_le_bytes();
    String::from_utf8(length.into()).unwrap() + &header
}

/// The same numbers in another shape are another file, and so are the same rows in another order.
#[test]
fn an_id_follows_the_shape_of_numbers() {
    let folder = tempfile::TempDir::new().unwrap();
    for (file, contents) in
        [("two", "a,b\n1,2\n3,4\n"), ("four", "a,b,c,d\n1,2,3,4\n"), ("p", "w\n1\n2\n"), ("q", "w\n3\n4\n")]
    {
        std::fs::write(folder.path().join(file), contents).unwrap();
    }
    let id = |matrix: &str| {
        let new = format!("kind = \"least_squares\"\nfeatures = {matrix}\ntargets = 1.0\nridge = 0.1");
        let text = PROBLEM.replace("kind = \"quadratic\"\ncurvature = 1.0\nminimizer = 0.5", &new);
        plans(&text, &Folders::new(folder.path()), None, "stem").unwrap_or_else(|e| panic!("{e}"))[0].id()
    };
    assert_ne!(id("{ csv = \"two\" }"), id("{ csv = \"four\" }"));
    assert_ne!(id("[{ csv = \"p\" }, { csv = \"q\" }]"), id("[{ csv = \"q\" }, { csv = \"p\" }]"));
}

/// A file is looked into once for a whole grid, and again for the next command.
#[test]
fn a_file_is_looked_into_once() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |contents: &str| std::fs::write(folder.path().join("w"), contents).unwrap();
    let text = NETWORK.replace("model = \"mlp\"", "model = \"mlp\"\nweights = \"w\"");
    let id = |folders: &Folders| plans(&text, folders, None, "stem").unwrap()[0].id();
    let fresh = || Folders::new(folder.path());
    // A file that is not there is missed when the trial begins.
    let missing = id(&fresh());
    write(&weights("one"));
    let folders = fresh();
    let one = id(&folders);
    write(&weights("two"));
    assert_eq!(id(&folders), one);
    assert_ne!(id(&fresh()), one);
    assert_ne!(missing, one);
}

/// Data sets go by their names where they are the published ones or embedded; other files of the same names are other data.
#[test]
fn an_id_follows_the_data() {
    let folder = tempfile::TempDir::new().unwrap();
    let files = [
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
    ];
    let write = |root: &str, odd: &str| {
        let at = folder.path().join(root).join("mnist");
        std::fs::create_dir_all(&at).unwrap();
        for file in files {
            std::fs::write(at.join(file), if file == odd { "other" } else { file }).unwrap();
        }
    };
    let id = |data: &str, folders: &Folders| {
        let text = NETWORK.replace("set = \"digits\"", data);
        plans(&text, folders, None, "stem").unwrap()[0].id()
    };
    let rooted = |root: &str| Folders::new(folder.path()).with_data(folder.path().join(root));
    let by_name = id("set = \"mnist\"", &rooted("nowhere"));
    write("a", "");
    write("b", "");
    let own = id("set = \"mnist\"", &rooted("a"));
    assert_ne!(own, by_name);
    assert_eq!(id("set = \"mnist\"", &rooted("b")), own);
    assert_eq!(id("set = \"mnist\"\ndirectory = \"b/mnist\"", &rooted("nowhere")), own);
    for file in files {
        write("a", file);
        assert_ne!(id("set = \"mnist\"", &rooted("a")), own, "{file}");
        assert_ne!(id("set = \"mnist\"\ndirectory = \"a/mnist\"", &rooted("b")), own, "{file}");
    }
    let embedded = id("set = \"digits\"", &rooted("a"));
    assert_eq!(id("set = \"digits\"", &rooted("nowhere")), embedded);
}

/// One seed for all points, as the command line asks for it.
#[test]
fn a_seed_replaces_those_of_the_spec() {
    let all = problem("[sweep]\n\"device.radius\" = [0.6, 0.8]\n");
    assert_eq!((all.len(), points(&all).count()), (4, 2));
    let some = seeded(&all, 7);
    assert_eq!(some.iter().map(|plan| plan.seed).collect::<Vec<_>>(), [7, 7]);
    assert_eq!(points(&some).count(), 2);
    let seeds: Vec<&str> =
        some[0].resolved().iter().filter(|r| r.path.starts_with("seeds")).map(|r| r.value.as_str()).collect();
    assert_eq!(seeds, ["[7]"]);
    // The trial is that of a spec with this seed.
    let written =
        read(&PROBLEM.replace("seeds = [1, 2]", "seeds = [7]").replace("radius = 1.0", "radius = 0.6"));
    assert_eq!(some[0].id(), written[0].id());
    assert_ne!(some[0].id(), all[0].id());
}

#[test]
fn bad_sweeps_are_refused_with_line_and_field() {
    // PROBLEM has 16 lines.
    let cases = [
        (
            "[sweep]\n\"device.radiuss\" = [0.6]",
            "line 18: device.radiuss is not a field; did you mean radius? (at device.radiuss = 0.6)",
        ),
        ("[sweep]\n\"devise.radius\" = [0.6]", "line 18: devise is not a field; did you mean device?"),
        (
            "[sweep]\n\"device.radius\" = [0.6, -60]",
            "line 18: device.radius must be positive and finite, got -60 (at device.radius = -60)",
        ),
        (
            "[sweep]\n\"device.radius\" = 0.6",
            "line 18: sweep: device.radius must be a list of at least one value, got 0.6",
        ),
        (
            "[sweep]\n\"device.radius\" = []",
            "line 18: sweep: device.radius must be a list of at least one value, got []",
        ),
        ("[sweep]\n\"seeds\" = [1, 2]", "line 18: sweep: seeds must not be an axis"),
        ("[sweep]\n\"title\" = [\"a\"]", "line 18: sweep: title is not a field of a trial"),
        ("[sweep]\n\"device.radius.deep\" = [1]", "line 18: deep must be a field of a table"),
        (
            "[sweep]\n\"device.radius\" = [0.6, 0.6]",
            "line 17: sweep must make different trials, got one twice: at device.radius = 0.6 and at device.radius = 0.6",
        ),
        (
            "[[sweep.zip]]\n\"device.shape\" = [1, 2]\n\"rule.mixing\" = [0.4, 0.2, 0.1]",
            "line 19: sweep.zip: device.shape and rule.mixing must have equally many values, got 2 and 3",
        ),
        (
            "[sweep]\n\"device.shape\" = [1, 2]\n[[sweep.zip]]\n\"device.shape\" = [3, 4]",
            "line 20: sweep: device.shape must be one axis, got two",
        ),
        ("[sweep]\nzip = 3", "line 18: sweep.zip must be tables, [[sweep.zip]], got 3"),
        ("[[sweep.zip]]", "line 17: sweep.zip must have an axis, got none"),
        (
            "[sweep]\n\"device.radius\" = [0.6]\n[[sweep.exclude]]\n\"device.shape\" = 1",
            "line 20: sweep.exclude: device.shape must be one of device.radius, cell, variant",
        ),
        (
            "[sweep]\n\"device.radius\" = [0.6]\n[[sweep.exclude]]\n\"device.radius\" = 0.9",
            "line 20: sweep.exclude: device.radius must be one of its values in the sweep, got 0.9",
        ),
        (
            "[[sweep.zip]]\n\"device.shape\" = [1, 2]\n\"rule.mixing\" = [1, 2]\n[[sweep.exclude]]\ndevice.shape = 1\nrule.mixing = 2",
            "line 20: sweep.exclude must match a point of the grid, got an entry that matches none",
        ),
        (
            "[sweep]\n\"device.radius\" = [0.6]\n[[sweep.exclude]]\n\"device.radius\" = 0.6",
            "line 17: sweep.exclude must leave at least one point of the grid, got none",
        ),
    ];
    for (sweep, expected) in cases {
        let message = refusal(&format!("{PROBLEM}{sweep}\n"));
        assert!(message.starts_with(expected), "{sweep}\n  {message}\n  {expected}");
    }
    let neither = refusal("steps = 3\n");
    assert!(neither.starts_with("line 1: problem or network is missing"), "{neither}");
    // The whole grid is read: the last of many points is as good a place for a slip as the first.
    let radii: Vec<String> = (1..1500).map(|i| format!("{i}.0")).chain(["0.0".into()]).collect();
    let message = refusal(&format!("{PROBLEM}[sweep]\n\"device.radius\" = [{}]\n", radii.join(", ")));
    assert!(
        message.contains("device.radius must be positive and finite, got 0 (at device.radius = 0.0)"),
        "{message}"
    );
}

#[test]
fn a_grid_of_a_billion_trials_is_refused_at_once() {
    let values: Vec<String> = (1..=1000).map(|i| format!("{i}.0")).collect();
    let values = values.join(", ");
    let start = Instant::now();
    let message = refusal(&format!(
        "{PROBLEM}[sweep]\n\"device.radius\" = [{values}]\n\"device.shape\" = [{values}]\n\"rule.mixing\" = [{values}]\n"
    ));
    assert_eq!(message, "line 17: sweep must make at most 1000000 trials, got 1000000000");
    let seeds = PROBLEM.replace("[1, 2]", "{ count = 1000000 }");
    let message = refusal(&format!("{seeds}[sweep]\n\"device.radius\" = [{values}]\n"));
    assert_eq!(message, "line 17: sweep must make at most 1000000 trials, got 1000000000");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn ten_thousand_points_are_read_quickly() {
    let values: Vec<String> = (1..=100).map(|i| format!("{i}.0")).collect();
    let values = values.join(", ");
    let start = Instant::now();
    let all = problem(&format!("[sweep]\n\"device.radius\" = [{values}]\n\"rule.mixing\" = [{values}]\n"));
    let ids: BTreeSet<String> = all.iter().map(Plan::id).collect();
    assert_eq!(ids.len(), 20_000);
    // A second or two on an idle machine.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn every_shipped_experiment_is_a_grid_of_different_trials() {
    for shipped in CATALOGUE {
        for profile in [None, Some("quick")] {
            let all = plans(shipped.text, &Folders::new("../../experiments"), profile, shipped.name)
                .unwrap_or_else(|e| panic!("{}: {e}", shipped.name));
            assert!(!all.is_empty() && all.iter().all(|p| p.experiment == shipped.name));
        }
    }
}

#[test]
fn a_swept_field_is_left_out_where_the_rule_does_not_have_it() {
    let rules = "[[variant]]\nname = \"plain\"\nrule = { kind = \"analog\", learning_rate = 0.1 }\n[[variant]]\nname = \"residual\"\n\
                 rule = { kind = \"residual_learning\", learning_rate = 0.1, transfer_rate = 0.1, mixing = 1.0 }\n\
                 [sweep]\n\"rule.mixing\" = [0.1, 0.2, 0.4]\n\"rule.learning_rate\" = [0.01, 0.1]\n";
    let names: BTreeSet<String> = problem(rules).into_iter().map(|plan| plan.name).collect();
    let expected = ["plain-0.01", "plain-0.1"]
        .into_iter()
        .map(String::from)
        .chain(["0.1", "0.2", "0.4"].iter().flat_map(|g| ["0.01", "0.1"].map(|a| format!("residual-{g}-{a}"))));
    assert_eq!(names, expected.collect());
    // A field that no rule of the grid has is still a mistake.
    let error = refusal(&format!("{PROBLEM}[sweep]\n\"rule.tail_weight\" = [1.0, 2.0]\n"));
    assert!(error.contains("rule.tail_weight has no effect with kind"), "{error}");
}
