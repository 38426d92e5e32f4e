use std::path::Path;

use anyhow::bail;
use residuum_lab::files::{FIGURES, write_atomic};
use residuum_lab::report::{Bands, Report, ReportOptions, check_metrics, load};
use serde_json::json;

use super::Context;
use crate::args::ReportArgs;
use crate::terminal;

pub fn report(context: &Context, options: &ReportArgs) -> anyhow::Result<bool> {
    let render = renderer(&options.to)?;
    options.formats.check(options.figures.is_some(), "--figures")?;
    let mut trials = Vec::new();
    for store in &options.stores {
        trials.extend(load(store)?);
    }
    if trials.is_empty() {
        bail!("STORE must hold finished trials, got none");
    }
    check_metrics(&trials, &options.metric)?;
    let spread = if options.band == "range" { Bands::Range } else { Bands::StandardError };
    let settings = ReportOptions {
        title: options.title.clone(),
        compared: options.by.clone(),
        metrics: options.metric.clone(),
        spread,
    };
    let report = Report::new(&trials, &settings);
    let text = render(&report);
    write_atomic(&options.to, text.as_bytes())?;
    let figures = match &options.figures {
        Some(dir) => report.save_figures(dir, options.formats.get(&FIGURES))?,
        None => Vec::new(),
    };
    if context.json {
        let value = json!({
            "schema": "residuum.report/1", "trials": trials.len(), "file": options.to, "bytes": text.len(), "figures": figures
        });
        Context::print_json(&value)?;
    } else {
        let files = if figures.is_empty() { String::new() } else { format!(", {} figures", figures.len()) };
        terminal::print(&format!(
            "{}: {} trials, {} kB{files}\n",
            options.to.display(),
            trials.len(),
            text.len() / 1000
        ))?;
    }
    Ok(true)
}

/// The format, by the file's extension.
pub(super) fn renderer(path: &Path) -> anyhow::Result<fn(&Report) -> String> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("html" | "htm") => Ok(Report::to_html),
        Some("md") => Ok(Report::to_markdown),
        Some("tex") => Ok(Report::to_latex),
        _ => bail!("--to must end in .html, .md or .tex, got {}", path.display()),
    }
}
