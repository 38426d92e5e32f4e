//! One file per command; each returns whether its checks passed.

pub mod check;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod data;
pub mod device;
mod device_fit;
pub mod eval;
pub mod explain;
pub mod export;
pub mod man;
pub mod rates;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod runs;
pub mod schema;
mod slurm;
pub mod tune;
pub mod verify;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use residuum_lab::files::probe;
use residuum_lab::plan::Plan;
use residuum_lab::source::{SpecSource, data_root};

use crate::args::{Common, SpecSettings};
use crate::terminal::{self, Bar};

/// What every command needs.
/// More than any machine has cores; a slip would fill the memory with stacks.
const MOST_THREADS: usize = 1024;

#[derive(Debug)]
pub struct Context {
    pub seed: Option<u64>,
    pub json: bool,
    pub out: Option<PathBuf>,
    pub threads: usize,
    pub quiet: bool,
    pub bar: Bar,
}

impl Context {
    pub fn new(common: &Common) -> anyhow::Result<Self> {
        if let Some(threads) = common.threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
            bail!("--threads must be between 1 and {MOST_THREADS}, got {threads}");
        }
        rayon::ThreadPoolBuilder::new().num_threads(common.threads.unwrap_or(0)).build_global()?;
        terminal::listen_for_interrupts()?;
        residuum::simd::requested().map_err(anyhow::Error::msg)?;
        // Find out before the work, not after it, that the folder is not writable.
        if let Some(dir) = &common.out {
            check_writable(dir)?;
        }
        Ok(Self {
            seed: common.seed,
            json: common.json,
            out: common.out.clone(),
            threads: rayon::current_num_threads(),
            quiet: common.quiet,
            bar: Bar::new(common.quiet),
        })
    }

    pub fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(value)?))
    }
}

fn check_writable(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("--out: cannot create {}", dir.display()))?;
    probe(dir, 0).with_context(|| format!("--out: cannot write in {}", dir.display()))
}

/// The trials of a spec; --seed replaces its own seeds.
pub fn plans(context: &Context, source: &SpecSource, settings: &SpecSettings) -> anyhow::Result<Vec<Plan>> {
    let data = data_root(settings.data.as_deref());
    Ok(source.plans(&data, settings.profile.as_deref(), context.seed)?)
}
