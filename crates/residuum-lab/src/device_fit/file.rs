//! The device as a file that every spec takes: `device = { file = "device.toml" }`.

use std::fmt::Write as _;

use residuum_fit::{DeviceFit, Direction};

use super::FitReport;

/// Nodes of a table: w, q₊, q₋.
pub(super) fn points(fit: &DeviceFit, unit: f64) -> Vec<[f64; 3]> {
    let range = fit.hard_range();
    let (residuum_fit::CurveFamily::Piecewise(nodes, _) | residuum_fit::CurveFamily::Table(nodes, _)) =
        fit.curve.model
    else {
        return Vec::new();
    };
    // A step that noise has made negative is one that is not there.
    let q = |d: Direction, w: f64| (fit.curve.step(d, w) / unit).max(1e-3);
    range.grid(nodes).into_iter().map(|w| [w, q(Direction::Up, w), q(Direction::Down, w)]).collect()
}

impl FitReport {
    /// The file. `[device]` is the response, `[tile]` what a pulsed array has besides; `[fit]` says where they come from.
    pub fn to_device_file(&self) -> String {
        let f = &self.fit;
        let (range, unit) = (f.hard_range(), self.pulse_step);
        let mut text = String::from(
            "# A device fitted by `residuum device fit`. Use it in any spec: device = { file = \"device.toml\" }\n\n\
             [device]\n",
        );
        match f.curve.expressions(unit) {
            Some([plus, minus]) => {
                let _ = writeln!(
                    text,
                    "# {}: q is 1 where a pulse moves a weight by [tile].pulse_step\nresponse = \"formula\"\nq_plus = {plus:?}\n\
                     q_minus = {minus:?}\nrange = [{:?}, {:?}]",
                    f.model_name(),
                    range.lo,
                    range.hi
                );
            }
            None => {
                let _ = writeln!(text, "# w, q_plus, q_minus\nresponse = \"table\"\npoints = [");
                for [w, plus, minus] in points(f, unit) {
                    let _ = writeln!(text, "    [{w:?}, {plus:?}, {minus:?}],");
                }
                text.push_str("]\n");
            }
        }
        let _ = writeln!(text, "\n[tile]\npulse_step = {unit:?}");
        let per_weight = f.per_weight();
        let step = self.pulse_step;
        let (additive, proportional) = (f.additive.value / per_weight / step, f.proportional.value);
        // A tile has one of the two noises: the larger, with the variance of both at the mean step.
        let total = f.write_noise.value / per_weight / step;
        if proportional > additive {
            let _ = writeln!(text, "# write noise, relative to the step\ncycle_noise = {total:?}");
        } else if total > 0.0 {
            let _ = writeln!(
                text,
                "# write noise, in steps, whatever the step has become\ncycle_noise = {{ additive = {total:?} }}"
            );
        }
        let read = f.read_noise.value / per_weight / step;
        let _ = writeln!(
            text,
            "# read noise, in steps: the reads of the measurement were taken once after each pulse, so it stays until the next one\n\
             write_noise = {read:?}"
        );
        if let Some(s) = &f.spread {
            let _ = writeln!(
                text,
                "step_spread = {:?}\nimbalance_spread = {:?}",
                s.step.value.min(2.0),
                s.imbalance.value.min(2.0)
            );
            if let Some([lo, hi]) = s.bounds.filter(|b| b.iter().all(|s| s.is_finite() && *s < 1.0)) {
                let _ = writeln!(text, "bound_spread = [{lo:?}, {hi:?}]");
            }
        }
        if !f.screening.stuck.is_empty() {
            let share = f.screening.stuck.len() as f64 / self.measured.devices.len() as f64;
            let _ = writeln!(text, "stuck = {{ probability = {share:?} }}");
        }
        text.push_str(&self.provenance());
        text
    }

    /// What the fit found, for readers of the file; a spec does not use it.
    fn provenance(&self) -> String {
        let f = &self.fit;
        let mut text = format!(
            "\n# What was found; specs do not read this table. Weights are (2g − lo − hi)/(hi − lo) for range = [lo, hi].\n[fit]\n\
             schema = \"residuum.device-file/1\"\nversion = {:?}\nsource = {:?}\nmodel = {:?}\nunit = {:?}\nrange = [{:?}, {:?}]\n",
            env!("CARGO_PKG_VERSION"),
            self.source,
            f.model_name(),
            f.unit,
            f.range.lo,
            f.range.hi
        );
        let _ = writeln!(text, "symmetric_point = {:?}", f.symmetric_point.kind.word());
        if let Some(w) = f.symmetric_point.weight {
            let _ = writeln!(text, "symmetric_weight = [{:?}, {:?}, {:?}]", w.low, w.value, w.high);
        }
        let _ = writeln!(text, "visited = [{:?}, {:?}]", f.visited.lo, f.visited.hi);
        for (name, e) in f.parameters.iter().filter(|_| f.curve.model.is_closed()) {
            let _ = writeln!(text, "{name} = [{:?}, {:?}, {:?}]", e.low, e.value, e.high);
        }
        text
    }
}
