use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use residuum_lab::files::{FIGURES, write_atomic};
use residuum_lab::reproduce::{
    NAMES, NetworkOptions, Page, PageEntry, Profile, ReproduceError, ReproduceOptions, Reproduction,
    check_names, reproduce as reproduce_item,
};
use residuum_lab::source::data_root;

use super::Context;
use crate::args::ReproduceArgs;
use crate::exit::Interrupted;
use crate::terminal;

/// Default folder for files.
const DEFAULT_OUT: &str = "residuum-out";
/// Folder of the networks' store within it.
const STORE: &str = "reproduce-store";

pub fn reproduce(context: &Context, given: &ReproduceArgs) -> anyhow::Result<bool> {
    let names: Vec<&str> = if given.names.iter().any(|n| n == "all") {
        NAMES.to_vec()
    } else {
        given.names.iter().map(String::as_str).collect()
    };
    check_names(&names)?;
    let out = context.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT));
    let options = options(context, given, out)?;
    let mut page = Page::new(&options);
    for name in names {
        let start = Instant::now();
        let entry = match reproduce_item(name, &options, &context.bar) {
            Ok(item) => {
                let files = item.save(out, given.formats.get(&FIGURES))?;
                if !context.json {
                    show(&item)?;
                }
                let names = files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_string()));
                PageEntry::new(&item, names.collect(), start.elapsed().as_secs_f64())
            }
            Err(ReproduceError::Cancelled(_)) => {
                let kept =
                    "finished items are in {}; run the same command to continue with unfinished networks";
                return Err(Interrupted(kept.replace("{}", &out.display().to_string())).into());
            }
            // A failed item does not stop the others.
            Err(error) => PageEntry::failed(name, error.to_string(), start.elapsed().as_secs_f64()),
        };
        page.entries.push(entry);
        // After every item, so that little is lost.
        write(&page, out)?;
    }
    if context.json {
        Context::print_json(&page.to_json())?;
    } else {
        terminal::print(&format!("{}\nwritten: {}\n", page.to_text(), out.join("reproduce.md").display()))?;
    }
    Ok(page.entries.iter().all(|entry| entry.findings.is_ok()))
}

fn options(context: &Context, given: &ReproduceArgs, out: &Path) -> anyhow::Result<ReproduceOptions> {
    let jobs = given.jobs.unwrap_or(context.threads);
    if jobs == 0 {
        bail!("--jobs must be at least 1, got 0");
    }
    let profile = if given.profile == "quick" { Profile::Quick } else { Profile::Full };
    let networks = NetworkOptions {
        data_root: data_root(given.data.as_deref()),
        base: PathBuf::from("."),
        store: given.store.clone().unwrap_or_else(|| out.join(STORE)),
        jobs,
        commit: crate::COMMIT.map(String::from),
    };
    Ok(ReproduceOptions { seed: context.seed.unwrap_or(0), replicas: None, profile, networks })
}

fn show(item: &Reproduction) -> anyhow::Result<()> {
    terminal::print(&format!("{}\n", item.to_text()))
}

fn write(page: &Page, out: &Path) -> anyhow::Result<()> {
    let json = format!("{}\n", serde_json::to_string_pretty(&page.to_json())?);
    write_atomic(out.join("reproduce.json"), json.as_bytes())?;
    Ok(write_atomic(out.join("reproduce.md"), page.to_markdown().as_bytes())?)
}
