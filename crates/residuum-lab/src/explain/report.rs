//! An explanation as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Cost, DataShapes, Explanation, NetworkShapes, PointMotion, shapes_text};

/// Points whose rates are printed; JSON has all.
const SHOWN_POINTS: usize = 12;
/// Values of a swept parameter that are printed.
const SHOWN_VALUES: usize = 6;

impl Explanation {
    /// The explanation for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}: {} point(s), {} trial(s)\n\n", self.experiment, self.points, self.trials);
        let rows: Vec<[String; 5]> = self
            .parameters
            .iter()
            .map(|p| {
                let mut value =
                    p.values.iter().take(SHOWN_VALUES).map(|v| shortened(v)).collect::<Vec<_>>().join(" | ");
                if p.values.len() > SHOWN_VALUES {
                    value += " | …";
                }
                [p.path.clone(), value, p.unit.into(), p.origin.word().into(), p.meaning.into()]
            })
            .collect();
        let heads = ["parameter", "value", "unit", "origin", "meaning"].map(String::from);
        let width = |i: usize| rows.iter().chain([&heads]).map(|r| r[i].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        for row in [&heads].into_iter().chain(&rows) {
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(text, "{cell:<width$}  ");
            }
            let _ = writeln!(text, "{}", row[4]);
        }
        if !self.networks.is_empty() {
            text.push('\n');
            text += &shapes_text(&self.networks, &self.data);
        }
        self.write_rates(&mut text);
        match &self.cost {
            Ok(cost) => write_cost(&mut text, cost),
            Err(e) => {
                let _ = writeln!(text, "\ncost unknown: {e}");
            }
        }
        for missing in &self.missing {
            let _ = writeln!(text, "\nwarning: {missing}");
        }
        text
    }

    fn write_rates(&self, text: &mut String) {
        if !self.rates.is_empty() {
            let _ = writeln!(text, "\neffective rates at the first step, where q = 1");
        }
        for PointMotion { point, columns, rates } in self.rates.iter().take(SHOWN_POINTS) {
            let wide = columns.map_or_else(String::new, |columns| format!("tiles of {columns} columns: "));
            let transfer =
                rates.transfer.map_or_else(String::new, |t| format!(", transfer {} per step", short(t)));
            let of = if point.is_empty() { "" } else { "  " };
            let _ = writeln!(
                text,
                "  {point}{of}{wide}learning {} per step{transfer}; every weight of W is written in {} step(s)",
                short(rates.learning),
                rates.sweep
            );
        }
        if self.rates.len() > SHOWN_POINTS {
            let _ = writeln!(text, "  … {} points in total", self.rates.len());
        }
        for preset in &self.presets {
            let _ = writeln!(text, "preset    {preset}");
        }
        if let Some(theory) = &self.theory {
            let _ = writeln!(text, "theory: {theory}");
        }
    }

    /// The explanation as JSON, schema `residuum.explain/1`.
    pub fn to_json(&self) -> Value {
        let parameters: Vec<Value> = self
            .parameters
            .iter()
            .map(|p| {
                json!({ "field": p.path, "values": p.values, "unit": p.unit, "origin": p.origin.word(), "meaning": p.meaning })
            })
            .collect();
        let rates: Vec<Value> = self
            .rates
            .iter()
            .map(|PointMotion { point, columns, rates: r }| {
                json!({
                    "point": point, "columns": columns, "learning": r.learning, "transfer": r.transfer,
                    "sweep": r.sweep,
                })
            })
            .collect();
        let cost = match &self.cost {
            Ok(c) => json!({
                "step_seconds": c.step_seconds, "trial_seconds": c.trial_seconds, "total_seconds": c.total_seconds,
                "jobs": c.jobs, "wall_seconds": c.wall_seconds, "kinds": c.kinds,
                "bytes": {
                    "state": c.memory.state, "devices": c.memory.devices, "data": c.memory.data,
                    "activations": c.memory.activations, "total": c.memory.total(),
                },
            }),
            Err(e) => json!({ "error": e }),
        };
        json!({
            "schema": "residuum.explain/1",
            "version": env!("CARGO_PKG_VERSION"),
            "experiment": self.experiment,
            "points": self.points,
            "trials": self.trials,
            "parameters": parameters,
            "effective_rates": rates,
            "presets": self.presets,
            "theory": self.theory,
            "networks": self.networks.iter().map(NetworkShapes::to_json).collect::<Vec<_>>(),
            "data": self.data.iter().map(DataShapes::to_json).collect::<Vec<_>>(),
            "cost": cost,
            "missing_data": self.missing.iter().map(|m| m.set.clone()).collect::<Vec<_>>(),
        })
    }
}

fn write_cost(text: &mut String, cost: &Cost) {
    let m = &cost.memory;
    let _ = writeln!(
        text,
        "\ntime      {} per step and {} in total for the first trial; {} for all trials, {} at a time (estimated from a few steps of each of {} \
         kind(s))\n\
         memory    {} for the largest trial: state {}, cells {}, data {}, activations {}",
        duration(cost.step_seconds),
        duration(cost.trial_seconds),
        duration(cost.wall_seconds),
        cost.jobs,
        cost.kinds,
        bytes(m.total()),
        bytes(m.state),
        bytes(m.devices),
        bytes(m.data),
        bytes(m.activations),
    );
}

/// Four digits, without rounding noise.
pub fn short(x: f64) -> String {
    format!("{x:.3e}").parse().map_or_else(|_| x.to_string(), |rounded: f64| rounded.to_string())
}

/// Cuts long lists.
fn shortened(value: &str) -> String {
    const LONGEST: usize = 40;
    if value.chars().count() <= LONGEST {
        return value.into();
    }
    let kept: String = value.chars().take(LONGEST - 1).collect();
    format!("{kept}…")
}

/// Seconds in the unit that fits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// An amount of memory in the unit that fits.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        n if n < 1e3 => format!("{n} B"),
        n if n < 1e6 => format!("{:.1} kB", n / 1e3),
        n if n < 1e9 => format!("{:.1} MB", n / 1e6),
        n => format!("{:.1} GB", n / 1e9),
    }
}
