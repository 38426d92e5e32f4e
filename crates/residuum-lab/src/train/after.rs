//! A trained network some time after it was programmed onto new tiles.

use std::fmt::Write as _;

use residuum::stats::Summary;
use residuum::tile::{Device, Drift, Retention};
use residuum_nn::analog::{Mapping, OutputScaling};
use residuum_nn::state::Scope;
use residuum_nn::train::{Evaluation, evaluate};

use super::opened::Opened;
use super::run::NetworkError;
use super::trial::{NetworkParts, TrialError, WeightsFrom};
use crate::figure::{Axis, Band, Color, Figure, Line, Panel};
use crate::spec::{CellSpec, DeviceSpec, Devices, RuleKind, RuleSpec, TrialSpec};

/// Test accuracy, or R², after a time, over repeats.
#[derive(Clone, Debug)]
pub struct AfterTime {
    /// Seconds since the weights were programmed.
    pub seconds: f64,
    /// As it is.
    pub plain: Summary,
    /// With outputs scaled by one factor for each matrix.
    pub compensated: Summary,
}

/// A network over time.
#[derive(Clone, Debug)]
pub struct Aged {
    /// At each time.
    pub times: Vec<AfterTime>,
    /// Whether the device drifts at all.
    pub drifts: bool,
    /// Whether R² is measured, not accuracy.
    pub regression: bool,
}

impl Opened {
    /// Programs the trained weights onto new tiles of the main device `repeats` times, lets time pass and tests.
    ///
    /// Every repeat draws new cells and new write noise. Matrices are mapped row by row to the range of the device, and read as the
    /// spec says. Leak and diffusion, which devices count in mini-batches, are left out.
    ///
    /// # Errors
    /// If the trial has no tiles, or the network cannot be built.
    pub fn after(&mut self, times: &[f64], repeats: usize) -> Result<Aged, NetworkError> {
        let spec = self.spec.clone();
        let devices = spec.devices.as_ref().filter(|_| !spec.rule.is_digital());
        let Some(DeviceSpec::Tile { device, cell, .. }) = devices.map(|devices| devices.main.clone()) else {
            return Err(NetworkError::NoTiles { id: self.manifest.id.clone() });
        };
        let drifts = device.retention.drift.is_some();
        let state = self.trial.parts.network.state(Scope::Network);
        let mut points = Vec::new();
        for &seconds in times {
            let mut scores = [Vec::new(), Vec::new()];
            for repeat in 0..repeats as u64 {
                let aged = aged_spec(&spec, (&device, cell.as_ref()), seconds);
                // A repeat is another chip: its cells differ.
                let seed = self.manifest.seed.wrapping_add((repeat + 1) << 32);
                let steps = self.trial.train.len() as u64;
                let shape = (spec.data.image().0, self.trial.train.dataset().outputs());
                let mut parts = NetworkParts::build(&aged, seed, shape, steps, WeightsFrom::Checkpoint)?;
                parts.network.load(Scope::Network, &state).map_err(|source| {
                    NetworkError::NetworkTrial(TrialError::State {
                        path: self.manifest.id.clone().into(),
                        source,
                    })
                })?;
                let key = self.trial.key.named("after").fold(repeat);
                parts.network.visit_weights(&mut |name, weights| weights.calibrate(key.named(name)));
                if seconds > 0.0 {
                    let now = key.named("age").fold(seconds.to_bits());
                    parts.network.visit_weights(&mut |name, weights| weights.age(now.named(name)));
                }
                let test = |network: &mut residuum_nn::Network| -> Result<f64, NetworkError> {
                    let key = key.named("evaluation").fold(seconds.to_bits());
                    let Evaluation { accuracy, explained, .. } =
                        evaluate(network, &self.trial.test, spec.training.loss, key)?;
                    Ok(explained.unwrap_or(accuracy))
                };
                scores[0].push(test(&mut parts.network)?);
                parts.network.visit_weights(&mut |name, weights| weights.compensate(key.named(name)));
                scores[1].push(test(&mut parts.network)?);
            }
            let [plain, compensated] = scores.map(Summary::of);
            points.push(AfterTime { seconds, plain, compensated });
        }
        Ok(Aged { times: points, drifts, regression: spec.data.is_regression() })
    }
}

/// The spec of a network on single arrays of a device that has aged for so many seconds once it ages.
fn aged_spec(spec: &TrialSpec, (device, cell): (&Device, Option<&CellSpec>), seconds: f64) -> TrialSpec {
    let mut device = device.clone();
    let drift = device.retention.drift.map(|drift| Drift { step_s: seconds as f32, ..drift });
    device.retention = Retention { drift, decay: None, diffusion: None, ..device.retention };
    // Cells that only grow come in pairs, which reach as far down as up.
    let omega = Some(if device.min < 0.0 { device.max.min(-device.min) } else { device.max });
    let main = DeviceSpec::Tile { device: Box::new(device), cell: cell.cloned(), ledger: false };
    TrialSpec {
        devices: Some(Devices { residual: main.clone(), main, pulse_energy: None }),
        rule: RuleSpec {
            name: "analog",
            kind: RuleKind::Analog,
            transfer_rates: Vec::new(),
            ..spec.rule.clone()
        },
        mapping: Mapping {
            omega,
            by_width: false,
            columnwise: true,
            output_scaling: OutputScaling::Off,
            ..spec.mapping
        },
        ..spec.clone()
    }
}

/// Longest time that a network can be looked at after, in seconds.
const LONGEST_S: f64 = 1e30;

/// A time such as `30s`, `5m`, `2h`, `1d` or `1y`, in seconds.
///
/// # Errors
/// A sentence, if it is none.
pub fn parse_time(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let unit = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "y" => 365.25 * 86_400.0,
        _ => return Err(format!("a time must end in s, m, h, d or y, got {text:?}")),
    };
    match number.parse::<f64>() {
        // Tiles reckon in single precision, where 1e39 s is infinite and every weight gone.
        Ok(value) if value >= 0.0 && value * unit <= LONGEST_S => Ok(value * unit),
        Ok(value) if value > 0.0 => Err(format!("a time must be at most {LONGEST_S:e} s, got {text:?}")),
        _ => Err(format!("a time must be a number and a unit, such as 1h, got {text:?}")),
    }
}

/// A time for people to read.
pub fn time_words(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 60.0 => (s, "s"),
        s if s < 3600.0 => (s / 60.0, "m"),
        s if s < 86_400.0 => (s / 3600.0, "h"),
        s if s < 365.0 * 86_400.0 => (s / 86_400.0, "d"),
        s => (s / (365.25 * 86_400.0), "y"),
    };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

impl Aged {
    fn what(&self) -> &'static str {
        if self.regression { "test R²" } else { "test accuracy" }
    }

    /// A row for each time.
    pub fn to_text(&self) -> String {
        let cell = |s: &Summary| {
            let deviation = if s.n > 1 { format!(" ± {:.2}", 100.0 * s.std) } else { String::new() };
            format!("{:.2}{deviation} %", 100.0 * s.mean)
        };
        let mut text = format!("{:>10}  {:>18}  {:>18}\n", "after", self.what(), "drift compensated");
        for AfterTime { seconds, plain, compensated } in &self.times {
            let _ =
                writeln!(text, "{:>10}  {:>18}  {:>18}", time_words(*seconds), cell(plain), cell(compensated));
        }
        if !self.drifts {
            text += "the device does not drift: only write noise and cells differ between repeats\n";
        }
        text
    }

    /// The same as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let summary = |s: &Summary| serde_json::json!({ "n": s.n, "mean": s.mean, "std": if s.n > 1 { Some(s.std) } else { None } });
        let time = |t: &AfterTime| serde_json::json!({ "seconds": t.seconds, "plain": summary(&t.plain), "compensated": summary(&t.compensated) });
        serde_json::json!({
            "metric": if self.regression { "test_r2" } else { "test_accuracy" }, "drifts": self.drifts,
            "times": self.times.iter().map(time).collect::<Vec<_>>(),
        })
    }

    /// Accuracy against time, with bands of one deviation.
    pub fn figure(&self, title: &str) -> Figure {
        let xs: Vec<f64> = self.times.iter().map(|t| t.seconds.max(0.1)).collect();
        let mut panel = Panel::new(title)
            .x_axis(Axis::log("seconds since programming"))
            .y_axis(Axis::linear(format!("{} (%)", self.what())));
        for (label, color, pick) in [
            ("as it is", Color::ANALOG_SGD, (|t| &t.plain) as fn(&AfterTime) -> &Summary),
            ("global drift compensation", Color::BLUE, |t| &t.compensated),
        ] {
            let at = |scale: f64| -> Vec<f64> {
                let value = |t: &AfterTime| {
                    let s = pick(t);
                    100.0 * (s.mean + scale * if s.n > 1 { s.std } else { 0.0 })
                };
                self.times.iter().map(value).collect()
            };
            panel = panel.band(Band::new(xs.clone(), at(-1.0), at(1.0)).color(color));
            panel = panel.line(Line::new(xs.clone(), at(0.0)).color(color).label(label));
        }
        Figure::new(1).panel(panel)
    }
}
