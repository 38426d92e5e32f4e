//! Keeps the book current: every command line in it must parse, and its command-line reference is the program's help.
//!
//! After changing a help text run `UPDATE_DOCS=1 cargo test --release -p residuum-cli --lib`.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::Arguments;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The help of a command and its subcommands, as a page.
fn describe(command: &clap::Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_string();
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
    write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
    for inner in command.get_subcommands() {
        describe(inner, page);
    }
}

fn reference() -> String {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut page = String::from("# Command line\n\nThis page is what `--help` prints, command by command.\n");
    describe(&program, &mut page);
    page
}

#[test]
fn the_reference_of_the_command_line_is_up_to_date() {
    let (path, reference) = (docs().join("cli.md"), reference());
    assert!(reference.contains("## `residuum data fetch`") && reference.contains("--resume"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &reference).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == reference, "docs/cli.md is not what --help prints: see the top of this file");
}

/// Words of a command line up to a comment, a pipe or a redirection, without quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut started = false;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => (quote, started) = (Some(c), true),
            (None, ' ') => {
                if started {
                    words.push(std::mem::take(&mut word));
                }
                started = false;
            }
            (None, '#' | '|' | '>') if !started => return words,
            _ => {
                word.push(c);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}

/// Why the program rejects a command line.
fn refusal(line: &str) -> Option<clap::Error> {
    let answered = [ErrorKind::DisplayVersion, ErrorKind::DisplayHelp];
    Arguments::try_parse_from(words(line)).err().filter(|e| !answered.contains(&e.kind()))
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|p| p.is_dir());
    let pages = files.into_iter().filter(|p| p.extension().is_some_and(|e| e == "md"));
    pages.chain(folders.iter().flat_map(|f| markdown(f))).collect()
}

#[test]
fn every_command_line_of_the_book_is_taken() {
    let mut count = 0;
    let mut pages: Vec<PathBuf> =
        ["tutorial", "how-to", "python"].iter().flat_map(|folder| markdown(&docs().join(folder))).collect();
    pages.extend(["introduction.md", "faq.md", "gallery.md", "theory.md"].map(|page| docs().join(page)));
    pages.push(docs().join("../README.md"));
    for path in pages {
        let page = fs::read_to_string(&path).unwrap();
        for line in page.lines().filter(|l| *l == "residuum" || l.starts_with("residuum ")) {
            let refused = refusal(line);
            assert!(refused.is_none(), "{}: {line}\n{}", path.display(), refused.unwrap());
            count += 1;
        }
        // In running text a command may be named without its required arguments.
        for line in page.split('`').skip(1).step_by(2).filter(|span| span.starts_with("residuum ")) {
            let only_named =
                [ErrorKind::MissingRequiredArgument, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
            let refused = refusal(line).filter(|e| !only_named.contains(&e.kind()));
            assert!(refused.is_none(), "{}: {line}\n{}", path.display(), refused.unwrap());
        }
    }
    assert!(count > 30, "{count} command lines were found");
}

#[test]
fn wrong_command_lines_are_noticed() {
    assert!(refusal("residuum train digits --seed 3 > log # why").is_none());
    assert!(refusal("residuum trian digits").is_some());
    assert!(refusal("residuum train digits --variants a").is_some());
    assert_eq!(
        words("residuum train x --variant '*-a b' | tail"),
        ["residuum", "train", "x", "--variant", "*-a b"]
    );
}
