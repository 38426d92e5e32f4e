use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use residuum::{Range, ResponseFunction};
use residuum_lab::device_parameters::{device_caveat, device_parameters};
use residuum_lab::device_report::{DeviceReport, DriftProblem};
use residuum_lab::files::{save_figure, write_atomic};
use residuum_lab::spec::{catalogue, device_presets, parse_device};
use serde_json::json;

use super::Context;
use crate::args::{DeviceAction, DeviceArgs, ShowArgs};
use crate::terminal;

pub fn device(context: &Context, options: &DeviceArgs) -> anyhow::Result<bool> {
    match &options.action {
        DeviceAction::List => list(context),
        DeviceAction::Show(options) => show(context, options),
        DeviceAction::Fit(options) => super::device_fit::fit(context, options),
    }
}

fn list(context: &Context) -> anyhow::Result<bool> {
    if context.json {
        let responses: Vec<_> = catalogue()
            .iter()
            .map(|r| json!({ "response": r.name, "formula": r.formula, "parameters": r.parameters }))
            .collect();
        let presets: Vec<_> = device_presets()
            .map(|(name, device)| {
                let parameters: serde_json::Map<String, serde_json::Value> =
                    device_parameters(&device).into_iter().map(|(n, v)| (n.into(), v.into())).collect();
                json!({ "preset": name, "parameters": parameters, "caveat": device_caveat(&device) })
            })
            .collect();
        Context::print_json(
            &json!({ "schema": "residuum.devices/1", "responses": responses, "presets": presets }),
        )?;
        return Ok(true);
    }
    let mut text = String::new();
    for r in catalogue() {
        let _ = writeln!(text, "{:<12} {}\n{:<12} {}", r.name, r.formula, "", r.parameters);
    }
    text.push_str("\nDevices of the literature, preset = \"NAME\" in a spec (`residuum device show NAME` for their curves)\n");
    for (name, device) in device_presets() {
        let shown = device_parameters(&device)
            .into_iter()
            .map(|(n, v)| format!("{n} {v}"))
            .collect::<Vec<_>>()
            .join("; ");
        let _ = writeln!(text, "{name:<17} {shown}");
        if let Some(caveat) = device_caveat(&device) {
            let _ = writeln!(text, "{:<17} {caveat}", "");
        }
    }
    text.push_str("\nA device of your own: `residuum device fit` makes a file from measured pulses, device = { file = \"device.toml\" }.\n");
    text.push_str("Every parameter of a response may vary from cell to cell in a spec; see docs/spec.md.\n");
    terminal::print(&text)?;
    Ok(true)
}

fn show(context: &Context, options: &ShowArgs) -> anyhow::Result<bool> {
    let (text, base) = device_text(options)?;
    let spec = parse_device(&text, &base).with_context(|| options.device.clone())?;
    let response = spec.representative()?;
    let range = options.range.map(|(lo, hi)| Range::new(lo, hi)).transpose()?;
    let minimizer = options.minimizer.unwrap_or_else(|| default_minimizer(&*response));
    let problem = DriftProblem { curvature: options.curvature, minimizer, deviations: [0.1, 0.5, 1.0, 2.0] };
    let report = DeviceReport::new(&response, range, problem)?;
    let tile = spec.tile().map(|device| (device_parameters(device), device_caveat(device)));
    if context.json {
        let mut json = report.to_json();
        if let Some((rows, caveat)) = &tile {
            let rows = rows.iter().map(|(n, v)| ((*n).to_string(), v.as_str().into()));
            json["parameters"] = serde_json::Value::Object(rows.collect());
            json["caveat"] = (*caveat).into();
        }
        Context::print_json(&json)?;
    } else {
        let mut text = String::new();
        for (name, value) in tile.iter().flat_map(|(rows, _)| rows) {
            let _ = writeln!(text, "{name:<24} {value}");
        }
        if let Some(caveat) = tile.and_then(|(_, caveat)| caveat) {
            let _ = writeln!(text, "{caveat}");
        }
        terminal::print(&format!("{text}{}", report.to_text()))?;
    }
    if let Some(dir) = &context.out {
        let (svg, png) = save_figure(&report.figure(), dir, "device")?;
        let csv = dir.join("device.csv");
        write_atomic(&csv, report.to_csv().as_bytes())?;
        if !context.json {
            let files = [svg, png, csv].map(|p| p.display().to_string()).join(", ");
            terminal::print(&format!("\nwritten: {files}\n"))?;
        }
    } else if !context.json {
        terminal::print("\nUse --out DIR to write a plot of q±, R and R_c, and its numbers.\n")?;
    }
    Ok(true)
}

/// Half-way between the symmetric point and the upper bound.
fn default_minimizer(response: &dyn ResponseFunction) -> f64 {
    let center = response.symmetric_point().unwrap_or(0.0);
    let hi = response.range().hi;
    if hi.is_finite() { 0.5 * (center + hi) } else { center + 0.5 }
}

/// The device as TOML, and the folder its paths are relative to.
fn device_text(options: &ShowArgs) -> anyhow::Result<(String, std::path::PathBuf)> {
    let path = Path::new(&options.device);
    let here = || path.parent().unwrap_or(Path::new(".")).to_path_buf();
    match path.extension().and_then(|e| e.to_str()) {
        Some("toml" | "csv") if !options.parameters.is_empty() => {
            bail!("a device file takes no parameters, got {:?}", options.parameters[0])
        }
        Some("toml") => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((text, here()))
        }
        Some("csv") => {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            Ok((format!("response = \"table\"\ncsv = {name:?}\n"), here()))
        }
        _ => {
            let preset = device_presets().any(|(name, _)| name == options.device);
            let head = if preset { "array = \"tile\"\npreset" } else { "response" };
            let mut text = format!("{head} = {:?}\n", options.device);
            for parameter in &options.parameters {
                let Some((name, value)) = parameter.split_once('=') else {
                    bail!("a parameter must be name=value, got {parameter:?}");
                };
                let plain = value.parse::<f64>().is_ok() || value.starts_with(['[', '{', '"']);
                let value = if plain { value.to_string() } else { format!("{value:?}") };
                let _ = writeln!(text, "{name} = {value}");
            }
            Ok((text, ".".into()))
        }
    }
}
