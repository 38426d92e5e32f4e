use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use residuum::{Range, ResponseFunction};
use residuum_lab::device_parameters::{device_caveat, device_parameters};
use residuum_lab::device_report::{DeviceReport, DriftProblem};
use residuum_lab::files::{save_figure, write_atomic};
use residuum_lab::spec::{catalogue, device_presets, fitted, has_device, parse_device};
use residuum_lab::train::CATALOGUE;
use serde_json::json;

use super::Context;
use crate::args::{DeviceAction, DeviceArgs, FOR_PAPERS, ListDevicesArgs, ShowArgs};
use crate::terminal;

pub fn device(context: &Context, options: &DeviceArgs) -> anyhow::Result<bool> {
    match &options.action {
        DeviceAction::List(options) => list(context, options),
        DeviceAction::Show(options) => show(context, options),
        DeviceAction::Fit(options) => super::device_fit::fit(context, options),
    }
}

fn list(context: &Context, options: &ListDevicesArgs) -> anyhow::Result<bool> {
    let files = device_files(options)?;
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
            &json!({ "schema": "residuum.devices/1", "responses": responses, "presets": presets, "files": files.iter()
                .map(|(path, words)| json!({ "file": path, "device": words })).collect::<Vec<_>>(),
                "specs": CATALOGUE.iter().filter(|s| has_device(s.text)).map(|s| s.name).collect::<Vec<_>>() }),
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
    let specs: Vec<&str> = CATALOGUE.iter().filter(|s| has_device(s.text)).map(|s| s.name).collect();
    let _ = writeln!(text, "\nDevices of the built-in specs, by the name of the spec\n{}", specs.join(", "));
    if !files.is_empty() {
        text.push_str("\nDevice files, and specs with a [device]\n");
        for (path, words) in &files {
            let _ = writeln!(text, "{path:<28} {words}");
        }
    }
    text.push_str("\nA device of your own: `residuum device fit` makes a file from measured pulses, device = { file = \"device.toml\" }.\n");
    text.push_str("Every parameter of a response may vary from cell to cell in a spec; see docs/spec.md.\n");
    terminal::print(&text)?;
    Ok(true)
}

/// The documents with a device that were named, or lie in folders that were; those of the current folder by default.
fn device_files(options: &ListDevicesArgs) -> anyhow::Result<Vec<(String, String)>> {
    let here = [PathBuf::from(".")];
    let named = if options.paths.is_empty() { &here[..] } else { &options.paths };
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let own = entries.filter_map(|entry| entry.ok().map(|e| e.path()));
            files.extend(own.filter(|p| p.is_file() && p.extension().is_some_and(|e| e == "toml")));
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
        // Of a folder, what cannot be read is no device; what was named must be one.
        let text = match text {
            Ok(text) if has_device(&text) => text,
            Err(e) if options.paths.contains(&path) => return Err(e),
            Ok(_) if options.paths.contains(&path) => bail!("{}: has no [device]", path.display()),
            _ => continue,
        };
        let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
        found.push((name, in_a_line(&text, &path)));
    }
    Ok(found)
}

fn in_a_line(text: &str, path: &Path) -> String {
    if let Some(rows) = fitted(text) {
        let value = |name: &str| rows.iter().find(|(n, _)| n == name).map_or("–", |(_, v)| v.as_str());
        return format!(
            "fitted: {}, symmetric point {}, from {}",
            value("model"),
            value("symmetric_point"),
            value("source")
        );
    }
    let device = parse_device(text, path.parent().unwrap_or(Path::new(".")));
    match device.map(|d| d.representative().map(|r| (d.tile().map(device_parameters), r.describe()))) {
        Ok(Ok((Some(rows), _))) => {
            rows.into_iter().map(|(n, v)| format!("{n} {v}")).collect::<Vec<_>>().join("; ")
        }
        Ok(Ok((None, words))) => words,
        Ok(Err(e)) => format!("cannot be shown by itself: {e}"),
        Err(e) => format!("cannot be shown by itself: {e}"),
    }
}

fn show(context: &Context, options: &ShowArgs) -> anyhow::Result<bool> {
    options.formats.check(context.out.is_some(), "--out")?;
    let (text, base) = device_text(options)?;
    let spec = parse_device(&text, &base).with_context(|| options.device.clone())?;
    let fit = fitted(&text);
    // A tile holds the curve as a table in single precision; what was fitted is the response itself.
    let exact = fit.as_ref().and_then(|_| {
        let name = Path::new(&options.device).file_name()?.to_str()?;
        parse_device(&format!("file = {name:?}\narray = \"exact\"\n"), &base).ok()
    });
    let response = exact.as_ref().unwrap_or(&spec).representative()?;
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
        if let Some(rows) = fit {
            json["fit"] =
                rows.into_iter().map(|(n, v)| (n, v.into())).collect::<serde_json::Map<_, _>>().into();
        }
        Context::print_json(&json)?;
    } else {
        let mut text = String::new();
        for (name, value) in fit.iter().flatten().filter(|(name, _)| name != "schema") {
            let _ = writeln!(text, "{:<24} {value}", format!("fit: {name}"));
        }
        for (name, value) in tile.iter().flat_map(|(rows, _)| rows) {
            let _ = writeln!(text, "{name:<24} {value}");
        }
        if let Some(caveat) = tile.and_then(|(_, caveat)| caveat) {
            let _ = writeln!(text, "{caveat}");
        }
        terminal::print(&format!("{text}{}", report.to_text()))?;
    }
    if let Some(dir) = &context.out {
        let mut files = save_figure(&report.figure(), dir, "device", options.formats.get(&FOR_PAPERS))?;
        let csv = dir.join("device.csv");
        write_atomic(&csv, report.to_csv().as_bytes())?;
        if !context.json {
            files.push(csv);
            let files: Vec<String> = files.iter().map(|p| p.display().to_string()).collect();
            terminal::print(&format!("\nwritten: {}\n", files.join(", ")))?;
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
            if let Some(shipped) = CATALOGUE.iter().find(|s| s.name == options.device) {
                if !options.parameters.is_empty() {
                    bail!("the device of a spec takes no parameters, got {:?}", options.parameters[0]);
                }
                return Ok((shipped.text.into(), ".".into()));
            }
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
