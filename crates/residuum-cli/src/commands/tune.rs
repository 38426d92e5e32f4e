use std::fmt::Display;
use std::path::Path;

use anyhow::bail;
use residuum_lab::execute::default_store;
use residuum_lab::explain::missing_data;
use residuum_lab::files::{FIGURES, save_figure, write_whole};
use residuum_lab::plan::selected;
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::spec::RulePresets;
use residuum_lab::store::Store;
use residuum_lab::sweep::SweepOptions;
use residuum_lab::tune::{Setting, TuneError, TuneOptions, preset_file, tune as search};
use residuum_nn::data::disk::{DOCUMENT, read_text};
use residuum_nn::model::Select;

use super::{Context, plans};
use crate::args::TuneArgs;
use crate::exit::Interrupted;
use crate::live::Live;
use crate::terminal;

pub fn tune(context: &Context, options: &TuneArgs) -> anyhow::Result<bool> {
    if options.jobs == Some(0) {
        bail!("--jobs must be at least 1, got 0");
    }
    // A budget that is too small is told by the search.
    if options.seeds == 0 || options.seeds > options.trials.max(5) {
        bail!("--seeds must be between 1 and the {} trials, got {}", options.trials, options.seeds);
    }
    // A spec has no larger seeds, and the finalists are tried with those that follow, each in a trial.
    let most = i64::MAX as u64 - options.trials.clamp(options.seeds, 1_000_000) as u64;
    if let Some(seed) = context.seed.filter(|seed| *seed > most) {
        bail!("--seed must be at most {most} to tune, got {seed}");
    }
    let source = SpecSource::open(&options.spec)?;
    // Reads every point, and says which names there are.
    let plans = selected(plans(context, &source, &options.settings)?, &options.variant)?;
    let root = data_root(options.settings.data.as_deref());
    if let Some(missing) = missing_data(&plans, &root).first() {
        bail!("{missing}");
    }
    let out = options.store.clone().or_else(|| context.out.clone());
    let store = Store::create(out.unwrap_or_else(|| default_store(&plans)))?;
    let sweep = SweepOptions {
        jobs: options.jobs.unwrap_or(context.threads),
        threads: context.threads,
        commit: crate::COMMIT.map(String::from),
        ..SweepOptions::new(&root)
    };
    let settings = TuneOptions {
        trials: options.trials,
        minutes: options.minutes,
        seeds: options.seeds,
        seed: context.seed.unwrap_or(0),
        choices: options.search.clone(),
        starts: options.start.iter().map(|path| starts(path)).collect::<anyhow::Result<_>>()?,
        test: options.presets.is_some(),
    };
    let patterns = Select::Names(options.variant.clone());
    let wanted = |name: &str| options.variant.is_empty() || patterns.includes(name);
    let live = Live::new(context.quiet);
    let profile = options.settings.profile.as_deref();
    let tuned = search(&source, profile, wanted, &store, (settings, &sweep), &live);
    live.finish();
    let tuned = match tuned {
        Err(TuneError::Interrupted) => {
            return Err(Interrupted("finished trials are kept; run the same command to continue".into()).into());
        }
        tuned => tuned?,
    };
    let mut json = Vec::new();
    for one in &tuned {
        let file = store.path().join(format!("tuned-{}.toml", one.point));
        write_whole(&file, one.spec.as_bytes())?;
        let name = format!("tuned-{}", one.point);
        let figures = save_figure(&one.figure(), store.path(), &name, options.formats.get(&FIGURES))?;
        let figures: Vec<String> = figures.iter().map(|path| path.display().to_string()).collect();
        if context.json {
            json.push(one.to_json());
        } else {
            terminal::print(&format!(
                "{}\nspec to run:  {}\nsensitivity:  {}\n\n",
                one.to_text(),
                file.display(),
                figures.join(", ")
            ))?;
        }
    }
    if let Some(file) = &options.presets {
        let text = preset_file(&tuned, &command(options, context.seed)).map_err(anyhow::Error::msg)?;
        write_whole(file, text.as_bytes())?;
    }
    if context.json {
        Context::print_json(&json.into())?;
    }
    Ok(true)
}

/// What of the command decides the numbers.
fn command(options: &TuneArgs, seed: Option<u64>) -> String {
    let TuneArgs { spec, trials, seeds, .. } = options;
    let list = |values: &[Setting]| values.iter().map(Setting::to_string).collect::<Vec<_>>().join(", ");
    let searched =
        options.search.iter().map(|(field, values)| format!(" --search '{field}=[{}]'", list(values)));
    let starts = options.start.iter().map(|path| format!(" --start {}", path.display()));
    let seed = seed.map(|seed| format!(" --seed {seed}"));
    format!(
        "residuum tune {spec} --trials {trials} --seeds {seeds}{}",
        seed.into_iter().chain(searched).chain(starts).collect::<String>()
    )
}

/// Settings that an earlier search wrote.
fn starts(path: &Path) -> anyhow::Result<RulePresets> {
    let wrong = |e: &dyn Display| anyhow::anyhow!("--start {}: {e}", path.display());
    let text = read_text(path, DOCUMENT).map_err(|e| wrong(&e))?;
    RulePresets::parse(&text).map_err(|e| wrong(&e))
}
