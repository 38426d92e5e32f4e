use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use residuum::Range;
use residuum_data::disk;
use residuum_fit::read::{self, PulseFile};
use residuum_fit::{Direction, FitOptions, Format, Measurement, ReadOptions};
use residuum_lab::device_fit::FitReport;
use residuum_lab::figure::Figure;
use residuum_lab::files::{save_figure, write_atomic};

use super::Context;
use crate::args::{FOR_PAPERS, FitArgs};
use crate::terminal;

/// Files larger than this are no measurement of one device lab: a slip in the path is likelier.
const LARGEST: u64 = 2 << 30;

pub fn fit(context: &Context, options: &FitArgs) -> anyhow::Result<bool> {
    options.formats.check(context.out.is_some(), "--out")?;
    let measured = measurement(options)?;
    let source = names(options).iter().map(|p| file_name(p)).collect::<Vec<_>>().join(", ");
    let fit_options = FitOptions {
        range: options.range.map(|(lo, hi)| Range::new(lo, hi)).transpose()?,
        draws: options.draws,
        seed: context.seed.unwrap_or(0),
        model: options.model.clone(),
        ..FitOptions::default()
    };
    let found = residuum_fit::fit(&measured, &fit_options, &context.bar).with_context(|| source.clone())?;
    let report = FitReport::new(found, measured, source)?;
    let written = write(context, options, &report)?;
    if context.json {
        Context::print_json(&report.to_json())?;
        return Ok(true);
    }
    terminal::print(&report.to_text())?;
    let hint = if written.is_empty() {
        "\nUse --to device.toml for a device that specs take, --report fit.html for a page, --out DIR for figures.\n".into()
    } else {
        format!(
            "\nwritten: {}\n",
            written.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
        )
    };
    terminal::print(&hint)?;
    Ok(true)
}

fn names(options: &FitArgs) -> Vec<PathBuf> {
    [&options.files, &options.up, &options.down].into_iter().flatten().cloned().collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

fn measurement(options: &FitArgs) -> anyhow::Result<Measurement> {
    if !options.files.is_empty() && (!options.up.is_empty() || !options.down.is_empty()) {
        bail!("give files with both directions, or a file for each direction with --up and --down, not both");
    }
    let mut texts = Vec::new();
    let directed = options.up.iter().map(|p| (p, Some(Direction::Up)));
    let directed = directed.chain(options.down.iter().map(|p| (p, Some(Direction::Down))));
    for (path, direction) in options.files.iter().map(|p| (p, None)).chain(directed) {
        let size = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
        if size > LARGEST {
            bail!(
                "{}: {size} bytes are more than the {LARGEST} that are read: is it a table of pulses?",
                path.display()
            );
        }
        let bytes = disk::read(path, LARGEST).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| anyhow::anyhow!("{}: must be text in UTF-8, not a binary file", path.display()))?;
        texts.push((file_name(path), text, direction));
    }
    let sources: Vec<PulseFile<'_>> =
        texts.iter().map(|(name, text, direction)| PulseFile { name, text, direction: *direction }).collect();
    let format = options.format.as_deref();
    let format = format.and_then(|word| Format::ALL.iter().find(|(w, _)| *w == word).map(|(_, f)| *f));
    let read_options = ReadOptions {
        format,
        ramp_length: options.ramp_length,
        read_voltage: options.read_voltage,
        unit: options.unit.clone(),
    };
    Ok(read::measurement(&sources, &read_options)?)
}

fn write(context: &Context, options: &FitArgs, report: &FitReport) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut put = |path: PathBuf, text: String| -> anyhow::Result<()> {
        write_atomic(&path, text.as_bytes())?;
        written.push(path);
        Ok(())
    };
    if let Some(path) = &options.to {
        put(path.clone(), report.to_device_file())?;
    }
    if let Some(path) = &options.report {
        put(path.clone(), report.to_html())?;
    }
    if let Some(path) = &options.aihwkit {
        put(path.clone(), report.to_aihwkit())?;
    }
    if let Some(dir) = &options.crosssim {
        let [up, down] = [Direction::Up, Direction::Down].map(|d| report.to_crosssim(d));
        let (up, down) = (up.context("--crosssim")?, down.context("--crosssim")?);
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        put(dir.join("dG_increasing.txt"), up)?;
        put(dir.join("dG_decreasing.txt"), down)?;
    }
    if let Some(dir) = &context.out {
        let single =
            |(name, _, panel)| (format!("fit-{name}"), Figure::new(1).panel_size(560.0, 400.0).panel(panel));
        let all = report.figures().into_iter().map(single);
        for (name, figure) in std::iter::once(("fit".to_string(), report.sheet())).chain(all) {
            written.extend(save_figure(&figure, dir, &name, options.formats.get(&FOR_PAPERS))?);
        }
    }
    Ok(written)
}
