//! The device for other tools: AIHWKIT's nearest class as Python, CrossSim's look-up tables.

use std::fmt::Write as _;

use residuum_fit::{CurveFamily, Direction};

use super::FitReport;

/// Nodes of a piecewise device in AIHWKIT, which takes fewer than 64 on a GPU.
const NODES: usize = 33;
/// States and quantiles of a look-up table.
const TABLE: [usize; 2] = [50, 101];

impl FitReport {
    /// Python that makes the nearest device of AIHWKIT, and says what it leaves out.
    pub fn to_aihwkit(&self) -> String {
        let f = &self.fit;
        let range = f.hard_range();
        let (class, own, remark) = self.nearest();
        let step = self.pulse_step;
        let noise = f.write_noise.value / f.per_weight() / step;
        let mut fields = vec![("dw_min", format!("{step:.6e}"))];
        let spread = f.spread.as_ref();
        fields.push(("dw_min_dtod", format!("{:.5}", spread.map_or(0.0, |s| s.step.value))));
        fields.push(("dw_min_std", format!("{noise:.5}")));
        fields.push(("up_down_dtod", format!("{:.5}", spread.map_or(0.0, |s| s.imbalance.value))));
        fields.push(("w_max", format!("{:.6}", range.hi)));
        fields.push(("w_min", format!("{:.6}", range.lo)));
        let bounds =
            spread.and_then(|s| s.bounds).filter(|b| b.iter().all(|x| x.is_finite())).unwrap_or([0.0, 0.0]);
        fields.push(("w_max_dtod", format!("{:.5}", bounds[1])));
        fields.push(("w_min_dtod", format!("{:.5}", bounds[0])));
        fields.push(("write_noise_std", format!("{:.5}", f.read_noise.value / f.per_weight() / step)));
        fields.extend(own);
        let mut text = format!(
            "# Fitted by Residuum from {}: the nearest class of AIHWKIT. {remark}\n\
             from aihwkit.simulator.configs import SingleRPUConfig\nfrom aihwkit.simulator.configs.devices import {class}\n\n\
             device = {class}(\n",
            self.source
        );
        for (name, value) in fields {
            let _ = writeln!(text, "    {name}={value},");
        }
        text.push_str(")\nrpu_config = SingleRPUConfig(device=device)\n");
        text
    }

    /// The class, its own parameters, and a remark.
    fn nearest(&self) -> (&'static str, Vec<(&'static str, String)>, String) {
        let f = &self.fit;
        let range = f.hard_range();
        let at_zero = |d: Direction| f.curve.step(d, 0.0) / self.pulse_step;
        let (up, down) = (at_zero(Direction::Up), at_zero(Direction::Down));
        // AIHWKIT shortens one direction only: the longer one sets the step.
        let straight = f.curve.model == CurveFamily::Line;
        let list = |d: Direction| {
            let values: Vec<String> = range
                .grid(NODES)
                .into_iter()
                .map(|w| format!("{:.5}", (f.curve.step(d, w) / self.pulse_step).max(0.0)))
                .collect();
            format!("[{}]", values.join(", "))
        };
        let remark = match f.model_name() {
            "piecewise" | "table" => "It interpolates the fitted values.".to_string(),
            name if straight => {
                format!(
                    "The {name} curve becomes a piecewise one, so that up and down steps keep their own gains ({up:.4}, {down:.4} at 0)."
                )
            }
            name => {
                format!("AIHWKIT has no {name} curve of this form; its values at {NODES} nodes stand for it.")
            }
        };
        let own = vec![("piecewise_up", list(Direction::Up)), ("piecewise_down", list(Direction::Down))];
        ("PiecewiseStepDevice", own, remark)
    }

    /// CrossSim's look-up table of one direction: a title, conductances, cumulative probabilities, then a row of changes for each
    /// probability. Written as `dG_increasing.txt` and `dG_decreasing.txt`.
    pub fn to_crosssim(&self, direction: Direction) -> String {
        let f = &self.fit;
        let states = f.visited.grid(TABLE[0]);
        let join = |values: Vec<String>| values.join(",");
        let mut text = format!(
            "conductances; cumulative probabilities; changes by one pulse, a row for each probability ({})\n",
            f.unit
        );
        let _ =
            writeln!(text, "{}", join(states.iter().map(|w| format!("{:.9e}", f.conductance(*w))).collect()));
        let shares: Vec<f64> = (0..TABLE[1]).map(|i| i as f64 / (TABLE[1] - 1) as f64).collect();
        let _ = writeln!(text, "{}", join(shares.iter().map(|p| format!("{p:.4}")).collect()));
        let (additive, proportional) = (f.additive.value, f.proportional.value);
        for share in &shares {
            // The ends stand for the outermost half per cent.
            let z = normal_quantile(share.clamp(0.005, 0.995));
            let row = states.iter().map(|w| {
                let step = f.curve.step(direction, *w).max(0.0) * f.per_weight();
                let deviation = additive.hypot(proportional * step);
                format!("{:.9e}", direction.sign() * step + z * deviation)
            });
            let _ = writeln!(text, "{}", join(row.collect()));
        }
        text
    }
}

/// The normal quantile, by bisection of the error function.
fn normal_quantile(share: f64) -> f64 {
    let distribution = |z: f64| 0.5 * residuum::numeric::erfc(-z / std::f64::consts::SQRT_2);
    residuum::numeric::find_root(|z| distribution(z) - share, -9.0, 9.0).unwrap_or(0.0)
}
