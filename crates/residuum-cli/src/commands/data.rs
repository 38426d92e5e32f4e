use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use residuum::Control;
use residuum_lab::progress::Progress as _;
use residuum_nn::data::Verified;
use residuum_nn::data::catalogue::{Entry, catalogue, default_root, find};
use residuum_nn::data::fetch::{self, Event, Fetched, FileOrigin, Patience};
use serde_json::{Value, json};

use super::Context;
use crate::args::{DataAction, DataArgs, FetchArgs};
use crate::terminal;

const SCHEMA: &str = "residuum.data/1";

pub fn data(context: &Context, options: &DataArgs) -> anyhow::Result<bool> {
    let root = options.dir.clone().or_else(default_root);
    let root = root.ok_or_else(|| anyhow!("no data folder found; give --dir DIR or set RESIDUUM_DATA"))?;
    match &options.action {
        DataAction::List => list(context, &root),
        DataAction::Fetch(options) => get(context, &root, options),
        DataAction::Verify { names } => verify(context, &root, names),
    }
}

fn list(context: &Context, root: &Path) -> anyhow::Result<bool> {
    let entries = catalogue();
    if context.json {
        let row = |e: &Entry| {
            json!({
                "name": e.name, "title": e.title, "page": e.page, "licence": e.licence,
                "folder": root.join(&e.name), "state": state(e, root).name(),
                "bytes": e.downloads.iter().flat_map(|d| &d.files).map(|f| f.bytes).sum::<u64>(),
            })
        };
        let rows: Vec<Value> = entries.iter().map(row).collect();
        Context::print_json(&json!({ "schema": SCHEMA, "folder": root, "sets": rows }))?;
        return Ok(true);
    }
    let mut text = String::new();
    let mut line = |name: &str, state: &str, description: &str| {
        let _ = writeln!(text, "{name:<20} {state:<10} {description}");
    };
    for e in &entries {
        line(&e.name, state(e, root).name(), &e.title);
        line("", "", &format!("{}; {}", e.licence, e.page));
    }
    line("digits", "built in", "handwritten digits, 8×8 grey, 1 442 + 355, 10 classes");
    line("fashion-mnist-subset", "built in", "articles of clothing, 28×28 grey, 2 000 + 500, 10 classes");
    let _ = writeln!(text, "\nfolder: {}", root.display());
    terminal::print(&text)?;
    Ok(true)
}

/// How much of a data set is on disk, judging by file lengths; only `verify` reads the files.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Here,
    Incomplete,
    Absent,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Incomplete => "incomplete",
            Self::Absent => "absent",
        }
    }
}

fn state(entry: &Entry, root: &Path) -> State {
    let folder = root.join(&entry.name);
    let files = || entry.downloads.iter().flat_map(|d| &d.files);
    let length = |name: &str| std::fs::metadata(folder.join(name)).ok().map(|m| m.len());
    if files().all(|f| length(&f.name) == Some(f.bytes)) {
        State::Here
    } else if files().any(|f| length(&f.name).is_some()) {
        State::Incomplete
    } else {
        State::Absent
    }
}

fn get(context: &Context, root: &Path, options: &FetchArgs) -> anyhow::Result<bool> {
    // Check all names before downloading anything.
    let entries = match options.names.as_slice() {
        [all] if all == "all" => catalogue(),
        names => names.iter().map(|name| find(name)).collect::<Result<_, _>>()?,
    };
    let mut documents = Vec::new();
    for entry in &entries {
        let folder = root.join(&entry.name);
        let files = match &options.from {
            Some(from) => fetch::import(entry, from, &folder),
            None => download(context, entry, &folder, &options.mirror),
        };
        let files = files.with_context(|| entry.name.clone())?;
        // After the checksums, read the set as training will.
        let split = entry.read(&folder).with_context(|| entry.name.clone())?;
        if context.json {
            documents.push(json!({
                "name": entry.name, "folder": folder, "train": split.train.len(), "test": split.test.len(),
                "files": files.iter().map(row).collect::<Vec<_>>(),
            }));
            continue;
        }
        let mut text = format!("{} in {}\n", entry.name, folder.display());
        for f in &files {
            let _ = writeln!(text, "  {:<26} {:<11} {}", f.file, origin(f.origin), sureness(f.verified));
        }
        let _ = writeln!(text, "  {} training images, {} test images", split.train.len(), split.test.len());
        terminal::print(&text)?;
    }
    if context.json {
        Context::print_json(&json!({ "schema": SCHEMA, "fetched": documents }))?;
    }
    Ok(true)
}

fn row(f: &Fetched) -> Value {
    json!({ "file": f.file, "origin": origin(f.origin), "verified": sureness(f.verified) })
}

fn download(
    context: &Context,
    entry: &Entry,
    folder: &Path,
    mirrors: &[String],
) -> Result<Vec<Fetched>, fetch::FetchError> {
    let mut file = String::new();
    fetch::fetch(entry, folder, mirrors, Patience::default(), &mut |event| {
        match event {
            Event::File(name) => file = name.to_string(),
            Event::Begin { done, total } => {
                context.bar.begin(&file, total.unwrap_or(done));
                context.bar.advance(done);
            }
            Event::Advance(bytes) => context.bar.advance(bytes),
            Event::Retry { refusal, wait } => {
                context.bar.note(&format!("{file}: {refusal}; retrying in {} s", wait.as_secs()));
            }
            _ => {}
        }
        if context.bar.cancelled() { Control::Stop } else { Control::Continue }
    })
}

fn verify(context: &Context, root: &Path, names: &[String]) -> anyhow::Result<bool> {
    let entries: Vec<Entry> = if names.is_empty() {
        catalogue().into_iter().filter(|e| state(e, root) != State::Absent).collect()
    } else {
        names.iter().map(|name| find(name)).collect::<Result<_, _>>()?
    };
    let mut passed = true;
    let mut documents = Vec::new();
    let mut text = String::new();
    for entry in &entries {
        let folder: PathBuf = root.join(&entry.name);
        let files = fetch::verify(entry, &folder);
        let _ = writeln!(text, "{} in {}", entry.name, folder.display());
        for (file, outcome) in files {
            passed &= outcome.is_ok();
            let (ok, verdict) = match &outcome {
                Ok(verified) => (true, sureness(*verified).to_string()),
                Err(error) => (false, error.to_string()),
            };
            let _ = writeln!(text, "  {} {file:<26} {verdict}", if ok { "ok  " } else { "FAIL" });
            documents.push(json!({ "set": entry.name, "file": file, "whole": ok, "told": verdict }));
        }
    }
    if entries.is_empty() {
        let _ = writeln!(text, "no data sets in {}", root.display());
    }
    if context.json {
        Context::print_json(&json!({ "schema": SCHEMA, "passed": passed, "files": documents }))?;
    } else {
        terminal::print(&text)?;
    }
    Ok(passed)
}

fn origin(origin: FileOrigin) -> &'static str {
    match origin {
        FileOrigin::Present => "on disk",
        FileOrigin::Downloaded => "downloaded",
        FileOrigin::Imported => "imported",
    }
}

fn sureness(verified: Verified) -> &'static str {
    match verified {
        Verified::Checksum => "checksum verified",
        Verified::Structure => "checksum unknown, structure verified",
    }
}
