//! The device for other tools: AIHWKIT's nearest class as Python, CrossSim's look-up tables.

use std::fmt::Write as _;

use residuum::Range;
use residuum_fit::{CurveFamily, Direction};
use thiserror::Error;

use super::FitReport;

/// Numbers of nodes of a piecewise device in AIHWKIT, which takes fewer than 64 on a GPU.
const NODES: std::ops::Range<usize> = 17..64;
/// States and quantiles of a look-up table, of which CrossSim takes the nearest.
const TABLE: [usize; 2] = [201, 201];

/// A class of AIHWKIT with what sets it apart.
struct Nearest {
    class: &'static str,
    /// Steps up and down where the factor of the class is 1.
    scale: [f64; 2],
    range: Range,
    own: Vec<(&'static str, String)>,
    /// Whether it has noise that does not grow with the step, and noise of reads.
    has: (bool, bool),
    remark: String,
}

impl FitReport {
    /// Python that makes the nearest device of AIHWKIT, and says what it leaves out.
    pub fn to_aihwkit(&self) -> String {
        let f = &self.fit;
        let near = self.nearest();
        let (class, [up, down]) = (near.class, near.scale);
        // AIHWKIT weakens one direction only: the stronger one sets the step.
        let step = up.max(down);
        let up_down = if down < up { 1.0 - down / up } else { up / down - 1.0 };
        let additive = near.has.0 && f.additive.value / f.per_weight() > f.proportional.value * self.pulse_step;
        let noise = f.write_noise.value / f.per_weight() / if additive { step } else { self.pulse_step };
        let spread = f.spread.as_ref();
        let bounds =
            spread.and_then(|s| s.bounds).filter(|b| b.iter().all(|x| x.is_finite())).unwrap_or([0.0, 0.0]);
        let mut fields = vec![
            ("dw_min", format!("{step:.6e}")),
            ("dw_min_dtod", format!("{:.5}", spread.map_or(0.0, |s| s.step.value))),
            ("dw_min_std", format!("{noise:.5}")),
            ("up_down", format!("{up_down:.6}")),
            ("up_down_dtod", format!("{:.5}", spread.map_or(0.0, |s| s.imbalance.value))),
            ("w_max", format!("{:.6}", near.range.hi)),
            ("w_min", format!("{:.6}", near.range.lo)),
            ("w_max_dtod", format!("{:.5}", bounds[1])),
            ("w_min_dtod", format!("{:.5}", bounds[0])),
        ];
        if near.has.0 {
            fields.push(("mult_noise", python(!additive).into()));
        }
        if near.has.1 {
            fields.push(("write_noise_std", format!("{:.5}", f.read_noise.value / f.per_weight() / step)));
        }
        fields.extend(near.own);
        let mut text = format!(
            "# Fitted by Residuum from {}: the nearest class of AIHWKIT. {}\n\
             from aihwkit.simulator.configs import SingleRPUConfig\nfrom aihwkit.simulator.configs.devices import {class}\n\n\
             device = {class}(\n",
            self.source, near.remark
        );
        for (name, value) in fields {
            let _ = writeln!(text, "    {name}={value},");
        }
        text.push_str(")\nrpu_config = SingleRPUConfig(device=device)\n");
        text
    }

    fn nearest(&self) -> Nearest {
        let f = &self.fit;
        let (p, range) = (&f.curve.parameters, f.hard_range());
        let soft = f.model_name() == "soft_bounds";
        let exact = |class: &'static str, scale: [f64; 2], range: Range| Nearest {
            class,
            scale,
            range,
            own: Vec::new(),
            has: (false, true),
            remark: format!("Its steps are those of the fitted {} curve.", f.model_name()),
        };
        let near_bounds = p.len() == 5 && p[2].max(p[3]) < 2.0;
        match f.curve.model {
            CurveFamily::Constant => {
                let remark = "It has no noise of reads; LinearStepDevice with gamma_up = gamma_down = 0 has (write_noise_std).";
                Nearest {
                    has: (false, false),
                    remark: remark.into(),
                    ..exact("ConstantStepDevice", [p[0], p[1]], range)
                }
            }
            CurveFamily::Line => {
                let middle = [0.5 * (p[0] + p[1]), 0.5 * (p[2] + p[3])];
                // What is lost of a step per weight towards its bound.
                let slope = [0.5 * (p[0] - p[1]) / middle[0], 0.5 * (p[3] - p[2]) / middle[1]];
                if soft {
                    let range = Range { lo: -1.0 / slope[1], hi: 1.0 / slope[0] };
                    return Nearest { has: (true, true), ..exact("SoftBoundsDevice", middle, range) };
                }
                let gamma = [slope[0] * range.hi, -slope[1] * range.lo];
                let own = vec![
                    ("gamma_up", format!("{:.6}", gamma[0])),
                    ("gamma_down", format!("{:.6}", gamma[1])),
                    ("gamma_up_dtod", "0.0".into()),
                    ("gamma_down_dtod", "0.0".into()),
                    ("allow_increasing", python(gamma.iter().any(|g| *g < 0.0)).into()),
                ];
                Nearest { own, has: (true, true), ..exact("LinearStepDevice", middle, range) }
            }
            CurveFamily::Power if near_bounds => {
                let whole = p[2] + p[3];
                let scale = [p[0] * (whole / p[2]).powf(p[4]), p[1] * (whole / p[3]).powf(p[4])];
                let own = vec![("pow_gamma", format!("{:.6}", p[4])), ("pow_gamma_dtod", "0.0".into())];
                Nearest { own, ..exact("PowStepDevice", scale, Range { lo: -p[3], hi: p[2] }) }
            }
            // 1 − A e^{γz} is concave: of the fitted exponentials, those with a negative rate.
            CurveFamily::Exponential if near_bounds && p[4] < 0.0 => {
                let left = [p[2], p[3]].map(|bound| (p[4] * bound).exp());
                let gamma = -0.5 * p[4] * (p[2] + p[3]);
                let own = vec![
                    ("A_up", format!("{:.6}", left[0])),
                    ("A_down", format!("{:.6}", left[1])),
                    ("gamma_up", format!("{gamma:.6}")),
                    ("gamma_down", format!("{gamma:.6}")),
                    ("a", "1.0".into()),
                    ("b", "0.0".into()),
                ];
                let scale = [p[0] / (1.0 - left[0]), p[1] / (1.0 - left[1])];
                Nearest { own, ..exact("ExpStepDevice", scale, Range { lo: -p[3], hi: p[2] }) }
            }
            _ => self.piecewise(range),
        }
    }

    /// Values at nodes, for any curve.
    fn piecewise(&self, range: Range) -> Nearest {
        let f = &self.fit;
        let sides = [Direction::Up, Direction::Down];
        let q = |d: Direction, w: f64| (f.curve.step(d, w) / self.pulse_step).max(0.0);
        let values = |d: Direction, nodes: usize| range.grid(nodes).into_iter().map(move |w| q(d, w));
        // Nodes of their own that lie between those of the fit cut its corners: as many as come nearest to it.
        let furthest = |nodes: usize| {
            let corners = sides.iter().flat_map(|&d| {
                let own: Vec<f64> = values(d, nodes).collect();
                range.grid(1001).into_iter().map(move |w| {
                    let at = (w - range.lo) / (range.hi - range.lo) * (nodes - 1) as f64;
                    let left = (at as usize).min(nodes - 2);
                    (own[left] + (own[left + 1] - own[left]) * (at - left as f64) - q(d, w)).abs()
                })
            });
            corners.fold(0.0, f64::max)
        };
        let nodes = NODES.min_by(|a, b| furthest(*a).total_cmp(&furthest(*b))).unwrap_or(NODES.start);
        let list = |d: Direction| {
            let words: Vec<String> = values(d, nodes).map(|q| format!("{q:.6}")).collect();
            format!("[{}]", words.join(", "))
        };
        let remark = match f.model_name() {
            "piecewise" | "table" => "It interpolates the fitted values.".to_string(),
            name => {
                format!("AIHWKIT has no {name} curve of this form; its values at {nodes} nodes stand for it.")
            }
        };
        Nearest {
            class: "PiecewiseStepDevice",
            scale: [self.pulse_step; 2],
            range,
            own: vec![("piecewise_up", list(Direction::Up)), ("piecewise_down", list(Direction::Down))],
            has: (false, true),
            remark,
        }
    }

    /// CrossSim's look-up table of one direction: a title, conductances, cumulative probabilities, then a row of changes for each
    /// probability. Written as `dG_increasing.txt` and `dG_decreasing.txt`; `tools/device/check_crosssim.py` has CrossSim read them.
    ///
    /// # Errors
    /// If states are not positive: CrossSim divides by conductances.
    pub fn to_crosssim(&self, direction: Direction) -> Result<String, NoTableError> {
        let f = &self.fit;
        let lowest = f.conductance(f.visited.lo);
        if lowest <= 0.0 {
            return Err(NoTableError { lowest, unit: f.unit.clone() });
        }
        let states = f.visited.grid(TABLE[0]);
        let join = |values: Vec<String>| values.join(",");
        let mut text = format!(
            "conductances; cumulative probabilities; changes by one pulse, a row for each probability ({})\n",
            f.unit
        );
        let _ =
            writeln!(text, "{}", join(states.iter().map(|w| format!("{:.9e}", f.conductance(*w))).collect()));
        let shares: Vec<f64> = (0..TABLE[1]).map(|i| i as f64 / (TABLE[1] - 1) as f64).collect();
        let _ = writeln!(text, "{}", join(shares.iter().map(|p| format!("{p:.9}")).collect()));
        let (additive, proportional) = (f.additive.value, f.proportional.value);
        for share in &shares {
            // A draw takes the nearest row, so the ends stand for half a step each, and have its middle.
            let outermost = 0.25 / (TABLE[1] - 1) as f64;
            let z = normal_quantile(share.clamp(outermost, 1.0 - outermost));
            let row = states.iter().map(|w| {
                let step = f.curve.step(direction, *w).max(0.0) * f.per_weight();
                let deviation = additive.hypot(proportional * step);
                format!("{:.9e}", direction.sign() * step + z * deviation)
            });
            let _ = writeln!(text, "{}", join(row.collect()));
        }
        Ok(text)
    }
}

/// States that are no conductances.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "a look-up table of CrossSim needs conductances above 0, and the states of this device begin at {lowest:.4} {unit}: give reads as \
     conductances, not normalised ones"
)]
pub struct NoTableError {
    /// The lowest state.
    pub lowest: f64,
    /// Its unit.
    pub unit: String,
}

/// As Python writes it.
fn python(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
}

/// The normal quantile, by bisection of the error function.
fn normal_quantile(share: f64) -> f64 {
    let distribution = |z: f64| 0.5 * residuum::numeric::erfc(-z / std::f64::consts::SQRT_2);
    residuum::numeric::find_root(|z| distribution(z) - share, -9.0, 9.0).unwrap_or(0.0)
}
