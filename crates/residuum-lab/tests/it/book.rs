//! The book cannot rot: its specs are read by the real reader, its names are in the source, its pages are in its summary.

use std::fs;
use std::path::{Path, PathBuf};

use residuum_lab::plan::plans;
use residuum_lab::spec::{Folders, Spec};
use residuum_lab::verify;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below a folder with this ending, in order.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

fn pages() -> Vec<(PathBuf, String)> {
    let pages = files(&root().join("docs/book/src"), ".md");
    pages.into_iter().map(|p| (p.clone(), fs::read_to_string(p).unwrap())).collect()
}

/// The blocks of a page that are marked with this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(marked) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
            if marked == language {
                blocks.push(block.join("\n"));
            }
        }
    }
    blocks
}

/// What completes an example that shows only some tables of an experiment.
const TABLES: [(&str, &str); 5] = [
    ("network", "model = \"mlp\""),
    ("data", "set = \"digits\""),
    ("device", "preset = \"ecram\""),
    ("rule", "kind = \"analog\"\nlearning_rate = 0.1"),
    ("training", "epochs = 1\nbatch_size = 10"),
];

/// Reads a spec of either kind; tables that an example leaves out are filled in.
fn read(example: &str) -> Result<(), String> {
    let base = root().join("experiments");
    if example.contains("[problem]") {
        return Spec::parse(example, &base).map(drop).map_err(|e| e.to_string());
    }
    let mut text = example.to_string();
    for (name, fields) in TABLES {
        let given = |line: &str| line == format!("[{name}]") || line.starts_with(&format!("[{name}."));
        let by_variants = name == "rule" && example.contains("[[variant]]");
        if !example.lines().any(given) && !by_variants {
            text = format!("{text}\n[{name}]\n{fields}\n");
        }
    }
    plans(&text, &Folders::new(base), None, "example").map(drop).map_err(|e| e.to_string())
}

#[test]
fn every_spec_of_the_book_is_read() {
    let mut count = 0;
    for (path, page) in pages() {
        for example in blocks(&page, "toml") {
            read(&example).unwrap_or_else(|e| panic!("{}: {e}\n{example}", path.display()));
            count += 1;
        }
    }
    assert!(count >= 10, "{count} specs were found");
    assert!(read("[device]\npreset = \"ecramm\"").is_err(), "anything is read");
    assert!(read("[problem]\nkind = \"quadratic\"").is_err(), "anything is read");
}

#[test]
fn every_page_is_in_the_summary_and_every_document_in_the_book() {
    let source = root().join("docs/book/src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).unwrap();
    let pages = pages();
    for (path, _) in pages.iter().filter(|(p, _)| !p.ends_with("SUMMARY.md")) {
        let name = path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
        assert!(summary.contains(&format!("({name})")), "{name} is not in the summary");
    }
    let documents = files(&root().join("docs"), ".md");
    // The page of `reproduce` stands beside its figures, which a book does not take along.
    let apart = ["docs/book", "docs/results/reproduce"].map(|folder| root().join(folder));
    for path in documents.iter().filter(|p| !apart.iter().any(|folder| p.starts_with(folder))) {
        let name = path.strip_prefix(root().join("docs")).unwrap().to_string_lossy().into_owned();
        let included = |(_, page): &(PathBuf, String)| page.contains(&format!("../{name}}}}}"));
        assert!(pages.iter().any(included), "docs/{name} is included by no page of the book");
    }
}

/// The names in backticks of a cell of a table.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether the source defines what a path such as `theory::operator::lipschitz` says: the modules before the last name are
/// folders or files of the crate, and one of the innermost's files defines it. The path of a module ends in its file's name.
fn is_defined(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split("::").collect();
    let member = match parts[0] {
        "residuum_lab" => "residuum-lab",
        "residuum_nn" => "residuum-nn",
        _ => "residuum",
    };
    if member != "residuum" {
        parts.remove(0);
    }
    let source = root().join("crates").join(member).join("src");
    let file = |parts: &[&str]| source.join(parts.join("/")).with_extension("rs");
    let (Some(name), modules) = (parts.last(), &parts[..parts.len() - 1]) else { return false };
    if file(&parts).exists() {
        return true;
    }
    let folder = source.join(modules.join("/"));
    let candidates = [file(modules), folder.join("mod.rs")];
    let mut text: String = candidates.iter().filter_map(|p| fs::read_to_string(p).ok()).collect();
    if !modules.is_empty() && folder.is_dir() {
        text.extend(files(&folder, ".rs").iter().map(|p| fs::read_to_string(p).unwrap()));
    }
    ["fn", "struct", "enum", "trait", "const"]
        .iter()
        .any(|keyword| defines(&text, &format!("{keyword} {name}")))
}

/// Whether a text has these words, and not as the beginning of a longer name.
fn defines(text: &str, words: &str) -> bool {
    text.match_indices(words)
        .any(|(at, _)| !text[at + words.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn is_a_test(path: &str) -> bool {
    let Some((file, name)) = path.split_once("::") else { return false };
    if file == "claims" {
        // One test for each claim, by a macro, named after it.
        return verify::claims().iter().any(|claim| claim.id.replace('-', "_") == name);
    }
    ["residuum", "residuum-nn", "residuum-lab", "residuum-cli"].iter().any(|member| {
        let tests = root().join("crates").join(member).join("tests");
        [tests.join("it"), tests].iter().any(|folder| {
            let path = folder.join(file).with_extension("rs");
            fs::read_to_string(path).is_ok_and(|text| defines(&text, &format!("#[test]\nfn {name}")))
        })
    })
}

#[test]
fn theory_to_code_names_what_exists_and_every_claim() {
    let page = fs::read_to_string(root().join("docs/book/src/theory.md")).unwrap();
    let claims: Vec<&str> = verify::claims().iter().map(|c| c.id).collect();
    let mut named = Vec::new();
    let mut rows = 0;
    for row in page.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| paper |")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        assert_eq!(cells.len(), 5, "{row}");
        if cells[1] == "function" || cells[1] == "where" {
            continue;
        }
        for function in names(cells[1]) {
            assert!(is_defined(function), "{function} is not in the source: {row}");
        }
        for test in names(cells[2]) {
            assert!(is_a_test(test), "{test} is no test: {row}");
        }
        assert!(!names(cells[1]).is_empty() && !names(cells[2]).is_empty(), "{row}");
        named.extend(names(cells[3]));
        rows += 1;
    }
    assert!(rows > 50, "{rows} rows");
    for claim in &named {
        assert!(claims.contains(claim), "{claim} is no claim");
    }
    for claim in claims {
        assert!(named.contains(&claim), "the claim {claim} is not in the book");
    }
}

#[test]
fn names_that_do_not_exist_are_noticed() {
    assert!(is_defined("theory::operator::lipschitz") && is_defined("residuum_lab::verify::mistakes"));
    assert!(!is_defined("theory::operator::lipschit") && !is_defined("theory::operators::lipschitz"));
    assert!(is_a_test("operator_lemmas::the_geometric_sum_never_reaches_its_printed_bound"));
    assert!(!is_a_test("operator_lemmas::the_geometric_sum") && !is_a_test("operator_lemmas::golden"));
    assert!(is_a_test("claims::lem_lipschitz") && !is_a_test("claims::lem_lipschit"));
}

/// A crate whose library has `test = false` compiles once; a unit test inside it would never run.
#[test]
fn no_test_stands_where_none_is_run() {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let without: Vec<PathBuf> = crates
        .filter(|folder| fs::read_to_string(folder.join("Cargo.toml")).unwrap().contains("\ntest = false"))
        .collect();
    assert!(without.len() >= 3, "{without:?}");
    for source in without.iter().flat_map(|folder| files(&folder.join("src"), "rs")) {
        let text = fs::read_to_string(&source).unwrap();
        assert!(!text.contains("#[test]"), "{}: its test belongs in tests/it", source.display());
    }
}
