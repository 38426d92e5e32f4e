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
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // What tools leave behind is not ours.
        if path.is_dir() && (name.starts_with('.') || ["target", "node_modules"].contains(&name.as_str())) {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// The pages of the book.
fn pages() -> Vec<(PathBuf, String)> {
    let pages = files(&root().join("docs"), ".md");
    pages.into_iter().map(|p| (p.clone(), fs::read_to_string(p).unwrap())).collect()
}

/// Pages whose specs readers copy: whole ones, or tables of one.
fn lessons() -> Vec<(PathBuf, String)> {
    let own = ["docs/tutorial", "docs/how-to", "docs/python"].map(|folder| root().join(folder));
    pages().into_iter().filter(|(path, _)| own.iter().any(|folder| path.starts_with(folder))).collect()
}

/// Every document of the repository that readers meet.
fn documents() -> Vec<(PathBuf, String)> {
    let own = files(&root(), ".md").into_iter().filter(|p| p.parent() == Some(root().as_path()));
    let others = ["docs", "tools", "experiments", "bindings/python"].map(|f| files(&root().join(f), ".md"));
    let all = own.chain(others.into_iter().flatten());
    all.map(|p| (p.clone(), fs::read_to_string(p).unwrap())).collect()
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
    for (path, page) in lessons() {
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
fn every_page_is_in_the_summary_and_holds_its_own_text() {
    let source = root().join("docs");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).unwrap();
    let pages = pages();
    for (path, _) in pages.iter().filter(|(p, _)| !p.ends_with("SUMMARY.md")) {
        let name = path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
        assert!(summary.contains(&format!("({name})")), "{name} is not in the summary");
    }
    for (path, page) in documents() {
        assert!(!page.contains("{{#"), "{} is whole only in a book", path.display());
    }
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Targets of the links and pictures of a page, outside of its blocks of code.
fn links(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        }
        // Code between backticks holds no links.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.match_indices("](").filter(|_| !inside);
        found.extend(targets.filter_map(|(at, _)| Some(prose[at + 2..].split_once(')')?.0.to_string())));
    }
    found
}

/// Why a link of a page leads nowhere in the repository; links to other sites are not followed.
fn dead(path: &Path, page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = link.split_once('#').map_or((link, None), |(file, f)| (file, Some(f)));
    let target = if file.is_empty() { path.to_path_buf() } else { path.parent().unwrap().join(file) };
    if !target.exists() {
        return Some(format!("{} is not there", target.display()));
    }
    let fragment = fragment.filter(|_| target.extension().is_some_and(|e| e == "md"))?;
    let text = if file.is_empty() { page.to_string() } else { fs::read_to_string(&target).unwrap() };
    let mut headings = text.lines().filter(|l| l.starts_with('#')).map(|l| anchor(l.trim_start_matches('#')));
    (!headings.any(|a| a == fragment)).then(|| format!("{} has no heading #{fragment}", target.display()))
}

#[test]
fn no_link_is_dead() {
    let mut count = 0;
    let mut faults = Vec::new();
    for (path, page) in documents() {
        for link in links(&page) {
            count += 1;
            faults.extend(dead(&path, &page, &link).map(|why| format!("{}: ({link}) {why}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 80, "{count} links were found");
    // Broken twins: a file and a heading that are not there.
    let (path, page) = (root().join("README.md"), "# One\n");
    assert!(dead(&path, page, "docs/nothing.md").is_some() && dead(&path, page, "#two").is_some());
    assert_eq!(dead(&path, page, "#one"), None);
    assert_eq!(links("a [b](c.md) `[d](e.md)`\n```\n[f](g.md)\n```\n"), ["c.md"]);
}

/// A page cut at its headings, each part with its heading.
fn sections(page: &str) -> Vec<String> {
    let (mut parts, mut inside) = (vec![String::new()], false);
    for line in page.lines() {
        inside ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !inside {
            parts.push(String::new());
        }
        let part = parts.last_mut().unwrap();
        part.push_str(line);
        part.push('\n');
    }
    parts
}

/// Whether a part of a page has a command that a reader can call: between backticks, in a block, or indented.
fn has_command(part: &str) -> bool {
    const PROGRAMS: [&str; 7] =
        ["residuum ", "cargo run", "cargo bench", "cargo test", "python", "tools/", "--bench "];
    let is_command = |words: &str| {
        let words = words.trim_start().trim_start_matches("AIHWKIT_PYTHON=… ");
        PROGRAMS.iter().any(|program| words.starts_with(program))
    };
    part.split('`').skip(1).step_by(2).any(is_command) || part.lines().any(is_command)
}

/// Pictures of a part of a page, as their targets.
fn pictures(part: &str) -> Vec<&str> {
    let starts = part.lines().filter(|line| line.starts_with("!["));
    starts.filter_map(|line| Some(line.split_once("](")?.1.split_once(')')?.0)).collect()
}

/// What was measured can be measured again: a picture, and a table of results, stands in a section with its command; no picture lies
/// about that no page shows.
#[test]
fn every_figure_and_table_has_its_command_beside_it() {
    let mut shown: Vec<PathBuf> = Vec::new();
    let mut faults = Vec::new();
    let front = root().join("README.md");
    let front = (front.clone(), fs::read_to_string(front).unwrap());
    for (path, page) in pages().into_iter().chain([front]) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let measured =
            ["docs/results", "docs/performance.md", "docs/coverage.md"].iter().any(|p| name.starts_with(p));
        for part in sections(&page) {
            let own = pictures(&part);
            shown.extend(own.iter().map(|target| path.parent().unwrap().join(target)));
            let is_table = measured && part.contains("\n|---") && !part.contains("| item | paper |");
            if (is_table || !own.is_empty()) && !has_command(&part) {
                faults.push(format!("{name}: {}", part.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(faults.is_empty(), "no command stands beside what these sections show:\n{}", faults.join("\n"));
    assert!(shown.len() > 15, "{shown:?}");
    let shown: Vec<PathBuf> = shown.iter().map(|path| path.canonicalize().unwrap()).collect();
    for picture in files(&root().join("docs"), ".png") {
        assert!(shown.contains(&picture.canonicalize().unwrap()), "no page shows {}", picture.display());
    }
    // Broken twins.
    assert!(!has_command("A table of `learning_rate`\n") && has_command("# Reads (`--bench readout`)\n"));
    assert_eq!(sections("a\n# b\n```\n# c\n```\n## d\n").len(), 3);
    assert_eq!(pictures("![a](b.png)\nvec![0.8; n](c)\n"), ["b.png"]);
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
        "residuum_claims" => "residuum-claims",
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
    ["residuum", "residuum-claims", "residuum-nn", "residuum-lab", "residuum-cli"].iter().any(|member| {
        let tests = root().join("crates").join(member).join("tests");
        [tests.join("it"), tests].iter().any(|folder| {
            let path = folder.join(file).with_extension("rs");
            fs::read_to_string(path).is_ok_and(|text| defines(&text, &format!("#[test]\nfn {name}")))
        })
    })
}

#[test]
fn theory_to_code_names_what_exists_and_every_claim() {
    let page = fs::read_to_string(root().join("docs/theory.md")).unwrap();
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
    assert!(is_defined("theory::operator::lipschitz") && is_defined("residuum_claims::mistakes"));
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
