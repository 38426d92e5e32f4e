//! A fitted device, told: as text, as JSON, as a file that specs take, as figures and a page, and for other tools.

mod elsewhere;
mod figures;
mod file;
mod page;
mod text;
mod theory;

use std::sync::Arc;

use residuum::response::{Formula, FormulaError, Regularity, Tabulated, TabulatedError};
use residuum::{Bounds, ResponseFunction};
use residuum_fit::{DeviceFit, Direction, Estimate, Measurement, nonlinearity};
use serde_json::{Value, json};
use thiserror::Error;

pub use elsewhere::NoTableError;
pub use theory::Prediction;

/// A fit with what follows from it.
#[derive(Debug)]
pub struct FitReport {
    /// What was found.
    pub fit: DeviceFit,
    /// What was measured.
    pub measured: Measurement,
    /// Where it came from, in words: names of files.
    pub source: String,
    /// q± of the mean device, 1 where a step is [`FitReport::pulse_step`].
    pub response: Arc<dyn ResponseFunction>,
    /// The mean step at the symmetric point, or in the middle of the range, in weights.
    pub pulse_step: f64,
    /// q_min, q_max and L_S where the device was seen.
    pub bounds: Bounds,
    /// The paper's definition, clause by clause.
    pub regularity: Regularity,
    /// NeuroSim's labels, up and down.
    pub nonlinearity: [Option<f64>; 2],
    /// Where training would end on a scalar problem.
    pub predictions: Vec<Prediction>,
}

/// Why a fit is no device.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum NoDeviceError {
    /// The curve is no response.
    #[error("the fitted curve is no response: {0}; try another --model, or a --range that the ramps cover")]
    Formula(FormulaError),
    /// The table is none.
    #[error("the fitted table is no response: {0}; try another --model, or a --range that the ramps cover")]
    Table(TabulatedError),
}

impl FitReport {
    /// Looks at a fit as a device to train on.
    ///
    /// # Errors
    /// If the fitted curve is no response function, as when its steps are negative somewhere.
    pub fn new(fit: DeviceFit, measured: Measurement, source: String) -> Result<Self, NoDeviceError> {
        let pulse_step = fit.step.value / fit.per_weight();
        let response = response(&fit, pulse_step)?;
        let seen = fit.visited.intersect(response.range()).unwrap_or(fit.visited);
        let labels = [Direction::Up, Direction::Down].map(|d| {
            let span = fit.visited.hi - fit.visited.lo;
            let from = if d == Direction::Up { fit.visited.lo } else { fit.visited.hi };
            let label = nonlinearity(|x| fit.curve.step(d, from + d.sign() * x * span) / span);
            // Equal steps leave rounding errors.
            label.map(|label| if label.abs() < 1e-9 { 0.0 } else { label })
        });
        let predictions = theory::predict(&response, &fit);
        Ok(Self {
            bounds: response.bounds(seen),
            regularity: Regularity::of(&*response, seen),
            nonlinearity: labels,
            predictions,
            response,
            pulse_step,
            fit,
            measured,
            source,
        })
    }

    /// The fit as JSON, schema `residuum.device-fit/1`: conductances in the unit of the file, parameters in weights.
    pub fn to_json(&self) -> Value {
        let f = &self.fit;
        let point = &f.symmetric_point;
        let at = point.weight.map(|w| w.map_linear(|w| f.conductance(w)));
        let mut symmetric =
            json!({ "value": at.map(|e| e.value), "low": at.map(|e| e.low), "high": at.map(|e| e.high) });
        symmetric["kind"] = point.kind.word().into();
        symmetric["unit"] = f.unit.as_str().into();
        symmetric["weight"] = point.weight.map_or(Value::Null, estimate);
        symmetric["agreement"] = point.agreement.into();
        symmetric["everywhere"] = point.everywhere.into();
        symmetric["crossings"] = point
            .crossings
            .iter()
            .map(|c| json!({ "value": f.conductance(c.at), "weight": c.at, "attracting": c.attracting }))
            .collect();
        let with_unit = |e: Estimate| {
            let mut value = estimate(e);
            value["unit"] = f.unit.as_str().into();
            value
        };
        let mut write_noise = with_unit(f.write_noise);
        write_noise["additive"] = with_unit(f.additive);
        write_noise["proportional"] = estimate(f.proportional);
        let parameters: serde_json::Map<String, Value> =
            f.parameters.iter().map(|(name, e)| (name.clone(), estimate(*e))).collect();
        let candidates: Vec<Value> = f
            .candidates
            .iter()
            .map(|c| {
                json!({ "model": c.name, "parameters": c.parameters, "log_likelihood": c.log_likelihood, "aic": c.aic,
                        "bic": c.bic, "criterion": c.criterion, "held_out_log_likelihood": c.held_out.map(|h| h.log_likelihood),
                        "held_out_ramp_error": c.held_out.map(|h| h.ramp_error),
                        "expected_ramp_error": c.held_out.map(|h| h.expected_error), "note": c.note })
            })
            .collect();
        let band: Vec<Value> = f
            .band
            .iter()
            .map(|(w, up, down)| {
                let per = f.per_weight();
                json!({ "conductance": f.conductance(*w), "weight": w, "up": estimate(up.scaled(per)), "down": estimate(down.scaled(per)) })
            })
            .collect();
        let drift: Vec<Value> = self.predictions.iter().map(Prediction::to_json).collect();
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        json!({
            "schema": "residuum.device-fit/1",
            "version": env!("CARGO_PKG_VERSION"),
            "source": self.source,
            "format": self.measured.format,
            "devices": self.measured.devices.len(),
            "ramps": { "up": self.measured.count(Direction::Up), "down": self.measured.count(Direction::Down) },
            "reads": self.measured.reads(),
            "unit": f.unit,
            "range": { "low": f.range.lo, "high": f.range.hi, "given": f.range_given },
            "model": f.model_name(),
            "why": self.why(),
            "parameters": parameters,
            "symmetric_point": symmetric,
            "step": with_unit(f.step),
            "states": estimate(f.states),
            "read_noise": with_unit(f.read_noise),
            "write_noise": write_noise,
            "device_spread": self.spread_json(),
            "warnings": f.warnings,
            "saturation": f.screening.plateaus.iter().map(|(d, ramps, level)| json!({
                "direction": d.word(), "ramps": ramps, "value": f.conductance(*level), "weight": level })).collect::<Vec<_>>(),
            "stuck": f.screening.stuck.iter().map(|&d| self.measured.devices[d].as_str()).collect::<Vec<_>>(),
            "outliers": f.screening.outliers.iter().map(|o| json!({
                "device": self.measured.devices[o.device], "cycle": o.cycle + 1, "direction": o.direction.word(),
                "read": o.pulse + 1, "deviations": o.deviations, "jump": o.jump })).collect::<Vec<_>>(),
            "bootstrap": { "draws": f.draws.0, "drawn": f.draws.1 },
            "candidates": candidates,
            "curve": band,
            "nonlinearity": { "up": self.nonlinearity[0], "down": self.nonlinearity[1] },
            "asymmetry": self.largest_asymmetry(),
            "implicit_penalty": self.penalty().into_iter().map(|[w, ratio, penalty]| json!({
                "conductance": f.conductance(w), "weight": w, "asymmetry_ratio": finite(ratio), "penalty": finite(penalty)
            })).collect::<Vec<_>>(),
            "hardware_condition": finite(self.bounds.hardware_condition()),
            "visited": [f.visited.lo, f.visited.hi],
            "regular": self.regularity.holds(),
            "regularity": self.regularity.to_string(),
            "drift": drift,
        })
    }

    fn spread_json(&self) -> Value {
        let Some(s) = &self.fit.spread else { return Value::Null };
        let rows = |of: fn(&Estimate) -> f64| -> Vec<Vec<f64>> {
            s.covariance.chunks(s.names.len()).map(|row| row.iter().map(of).collect()).collect()
        };
        json!({ "parameters": s.names, "covariance": rows(|e| e.value),
                "covariance_low": rows(|e| e.low), "covariance_high": rows(|e| e.high),
                "deviations": s.deviations.iter().copied().map(estimate).collect::<Vec<_>>(), "step": estimate(s.step), "imbalance": estimate(s.imbalance),
                "bounds": s.bounds })
    }

    /// Largest |R| where the device was seen.
    pub fn largest_asymmetry(&self) -> f64 {
        let points = self.bounds.range.grid(129);
        points
            .into_iter()
            .map(|w| self.response.asymmetry_ratio(w).abs())
            .filter(|r| r.is_finite())
            .fold(0.0, f64::max)
    }

    /// w, R and the implicit penalty R_c, which a mean |ε| of 1 adds to the objective, where the device was seen.
    pub fn penalty(&self) -> Vec<[f64; 3]> {
        let r = &self.response;
        let row = |w: f64| [w, r.asymmetry_ratio(w), r.asymmetry_potential(w)];
        self.bounds.range.grid(21).into_iter().map(row).collect()
    }

    /// The implicit penalty, in a sentence.
    fn penalty_words(&self) -> String {
        let rows = self.penalty();
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return String::new() };
        let by = |a: &&[f64; 3], b: &&[f64; 3]| a[2].total_cmp(&b[2]);
        let at = rows.iter().min_by(by).map_or(0.0, |row| row[0]);
        format!(
            "R_c is {} at the weight {} and {} at {}, smallest near {}; gradient noise adds E|ε|·R_c to the objective of Analog SGD",
            number(first[2]),
            number(first[0]),
            number(last[2]),
            number(last[0]),
            number(at)
        )
    }

    /// The word for what decides: with several devices, a parameter of each costs less than by BIC.
    fn criterion(&self) -> &'static str {
        if self.fit.spread.is_some() { "criterion" } else { "BIC" }
    }

    /// Why this model, in a sentence.
    pub fn why(&self) -> String {
        let [best, others @ ..] = self.fit.candidates.as_slice() else { return String::new() };
        let Some(second) = others.iter().min_by(|a, b| a.criterion.total_cmp(&b.criterion)) else {
            return String::new();
        };
        let (by, criterion) = (second.criterion - best.criterion, self.criterion());
        let how = if by < 0.0 {
            format!("asked for, although {} has a {criterion} smaller by {:.0}", second.name, -by)
        } else {
            format!("smallest {criterion}; the next, {}, is worse by {by:.0}", second.name)
        };
        let misses = self.worst();
        format!("{how}. {misses}")
    }

    /// What the model gets wrong: ramps that it has not seen, and the states where its steps are furthest off.
    fn worst(&self) -> String {
        let f = &self.fit;
        let unit = |w: f64| number(w * f.per_weight());
        let ramps = f.candidates[0].held_out.map_or("Its ramps left out could not be tested.".into(), |error| {
            let least = f.candidates.iter().filter_map(|c| c.held_out).map(|h| h.ramp_error);
            format!(
                "Whole ramps that it has not seen are predicted from their first read within {} {} (root mean square; its own noise \
                 explains {}, the best model here reaches {}).",
                unit(error.ramp_error),
                f.unit,
                unit(error.expected_error),
                unit(least.fold(f64::INFINITY, f64::min))
            )
        });
        format!("{ramps} {}", self.furthest())
    }

    /// Where binned steps are furthest from the curve, in their standard errors.
    fn furthest(&self) -> String {
        let f = &self.fit;
        let bins = [Direction::Up, Direction::Down].into_iter().flat_map(|d| {
            let (at, mean, error) = self.binned(d);
            let rows = at.into_iter().zip(mean).zip(error);
            rows.filter(|(_, error)| *error > 0.0)
                .map(move |((w, mean), error)| (d, w, mean, (mean - f.curve.step(d, w)) / error))
        });
        let bins: Vec<(Direction, f64, f64, f64)> = bins.collect();
        let Some((d, w, mean, z)) = bins.iter().max_by(|a, b| a.3.abs().total_cmp(&b.3.abs())) else {
            return String::new();
        };
        // One in a thousand by chance, over all bins.
        if z.abs() < 4.5 {
            return format!(
                "In none of {} bins of states do steps differ from it by more than chance (at most {:.1} standard errors)",
                bins.len(),
                z.abs()
            );
        }
        let step = f.curve.step(*d, *w);
        format!(
            "It misses most near {} {}: {} steps are {} there, {} by the curve ({:.0} standard errors)",
            number(f.conductance(*w)),
            f.unit,
            d.word(),
            number(mean * f.per_weight()),
            number(step * f.per_weight()),
            z.abs()
        )
    }
}

fn response(fit: &DeviceFit, unit: f64) -> Result<Arc<dyn ResponseFunction>, NoDeviceError> {
    let range = fit.hard_range();
    Ok(match fit.curve.expressions(unit) {
        Some([plus, minus]) => Arc::new(Formula::parse(&plus, &minus, range).map_err(NoDeviceError::Formula)?),
        None => {
            let points = file::points(fit, unit);
            let column = |i: usize| points.iter().map(|p| p[i]).collect::<Vec<f64>>();
            Arc::new(Tabulated::new(&column(0), &column(1), &column(2)).map_err(NoDeviceError::Table)?)
        }
    })
}

fn estimate(e: Estimate) -> Value {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    json!({ "value": finite(e.value), "low": finite(e.low), "high": finite(e.high) })
}

/// Four significant digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if x.is_nan() {
        return "unknown".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if (1e-3..1e5).contains(&x.abs()) {
        let digits = (3 - x.abs().log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    } else {
        format!("{x:.3e}")
    }
}
