//! What a device engineer wants to know about a response before training.

use std::fmt::Write as _;
use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::objective::DiagonalQuadratic;
use residuum::response::Regularity;
use residuum::theory::fixed_point::predict_drift;
use residuum::theory::magnitude::Sampling;
use residuum::{Bounds, Key, Noise, Noisy, ParameterError, Range, ResponseFunction};
use serde_json::{Value, json};

use crate::figure::{Axis, Color, Dash, Figure, Legend, Line, Panel, ReferenceLine};

/// The scalar problem on which drift is predicted: ½h(w − w*)² with Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftProblem {
    /// h.
    pub curvature: f64,
    /// w*.
    pub minimizer: f64,
    /// Noise levels σ.
    pub deviations: [f64; 4],
}

/// A response, analysed over one range.
#[derive(Debug)]
pub struct DeviceReport<'a> {
    response: &'a dyn ResponseFunction,
    range: Range,
    bounds: Bounds,
    regularity: Regularity,
    drift: Vec<Drift>,
    problem: DriftProblem,
}

#[derive(Clone, Copy, Debug)]
struct Drift {
    deviation: f64,
    penalized_minimizer: Option<f64>,
    fixed_point: Option<f64>,
}

impl<'a> DeviceReport<'a> {
    /// Analyses `response` over `range` (0.8 of the dynamic range if `None`) and predicts Analog SGD's drift.
    ///
    /// # Errors
    /// If the range is outside the dynamic range, or the problem is invalid.
    pub fn new(
        response: &'a Arc<dyn ResponseFunction>,
        range: Option<Range>,
        problem: DriftProblem,
    ) -> Result<Self, ParameterError> {
        let dynamic = response.range();
        // An unbounded device is analysed around its symmetric point.
        let center = response.symmetric_point().unwrap_or(0.0);
        let looked =
            if dynamic.is_finite() { dynamic.fraction(0.8) } else { Range::new(center - 2.0, center + 2.0)? };
        let range = range.unwrap_or(looked);
        for end in [range.lo, range.hi] {
            if !dynamic.contains(end) {
                let must = "inside the dynamic range of the device";
                return Err(ParameterError::OutOfDomain { name: "range", must, value: end });
            }
        }
        let cells = Uniform(Arc::clone(response));
        let drift = problem
            .deviations
            .iter()
            .map(|&deviation| {
                let objective = DiagonalQuadratic::new(vec![problem.curvature], vec![problem.minimizer])?;
                let noisy = Noisy::new(Arc::new(objective), Noise::Gaussian { deviation })?;
                let predicted = predict_drift(&noisy, &cells, Sampling::new(Key::new(0))).ok();
                Ok(Drift {
                    deviation,
                    penalized_minimizer: predicted.as_ref().map(|p| p.penalized_minimizer[0]),
                    fixed_point: predicted.as_ref().map(|p| p.fixed_point[0]),
                })
            })
            .collect::<Result<_, ParameterError>>()?;
        Ok(Self {
            response: &**response,
            range,
            bounds: response.bounds(range),
            regularity: Regularity::of(&**response, range),
            drift,
            problem,
        })
    }

    fn points(&self) -> Vec<f64> {
        self.range.grid(9)
    }

    fn condition(&self) -> String {
        match self.bounds.why_infinite() {
            Some(reason) => format!("∞ ({reason})"),
            None => number(self.bounds.hardware_condition()),
        }
    }

    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let r = self.response;
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            let _ = writeln!(text, "{label:<24} {value}");
        };
        line("response", r.describe());
        line("dynamic range", r.range().to_string());
        line("symmetric point w⋄", r.symmetric_point().map_or("none: q₊ and q₋ do not cross".into(), number));
        if let Some(w) = r.symmetric_point() {
            line("its kind", kind(r, w).into());
            line("gain F(w⋄)", number(r.gain(w)));
            line("asymmetry slope R'(w⋄)", number(r.asymmetry_ratio_derivative(w)));
        }
        line("", String::new());
        line("over the range", self.range.to_string());
        line("q_min, q_max", format!("{}, {}", number(self.bounds.min), number(self.bounds.max)));
        line("L_S", number(self.bounds.lipschitz));
        line("κ₂ = q_max/q_min", self.condition());
        let _ = writeln!(text, "\n{}", self.regularity);
        let _ = writeln!(
            text,
            "\n{:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "w", "q₊", "q₋", "F", "G", "R", "R_c"
        );
        for w in self.points() {
            let row = [w, r.q_plus(w), r.q_minus(w), r.gain(w), r.asymmetry(w), r.asymmetry_ratio(w)];
            for x in row {
                let _ = write!(text, "{:>10} ", number(x));
            }
            let _ = writeln!(text, "{:>10}", number(r.asymmetry_potential(w)));
        }
        let p = self.problem;
        let _ = writeln!(
            text,
            "\nPredicted end of Analog SGD on f = {}/2·(w − {})² with Gaussian gradient noise σ\n\
             {:>10} {:>16} {:>16} {:>12}",
            number(p.curvature),
            number(p.minimizer),
            "σ",
            "W̃* (leading)",
            "zero of T",
            "drift"
        );
        for d in &self.drift {
            let show = |x: Option<f64>| x.map_or("outside".into(), number);
            let shift = d.fixed_point.map(|w| w - p.minimizer);
            let _ = writeln!(
                text,
                "{:>10} {:>15} {:>16} {:>12}",
                number(d.deviation),
                show(d.penalized_minimizer),
                show(d.fixed_point),
                show(shift)
            );
        }
        text
    }

    /// The report as JSON, schema `residuum.device/1`.
    pub fn to_json(&self) -> Value {
        let r = self.response;
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let curve: Vec<Value> = self
            .points()
            .into_iter()
            .map(|w| {
                json!({ "w": w, "q_plus": r.q_plus(w), "q_minus": r.q_minus(w), "gain": r.gain(w),
                        "asymmetry": r.asymmetry(w), "asymmetry_ratio": r.asymmetry_ratio(w),
                        "asymmetry_potential": r.asymmetry_potential(w) })
            })
            .collect();
        let drift: Vec<Value> = self
            .drift
            .iter()
            .map(|d| {
                json!({ "deviation": d.deviation, "penalized_minimizer": d.penalized_minimizer,
                        "fixed_point": d.fixed_point })
            })
            .collect();
        json!({
            "schema": "residuum.device/1",
            "version": env!("CARGO_PKG_VERSION"),
            "response": r.describe(),
            "dynamic_range": [finite(r.range().lo), finite(r.range().hi)],
            "symmetric_point": r.symmetric_point(),
            "symmetric_point_kind": r.symmetric_point().map_or("none", |w| kind(r, w).split(':').next().unwrap_or_default()),
            "range": [self.range.lo, self.range.hi],
            "q_min": self.bounds.min,
            "q_max": self.bounds.max,
            "response_lipschitz": finite(self.bounds.lipschitz),
            "hardware_condition": finite(self.bounds.hardware_condition()),
            "why_infinite": self.bounds.why_infinite(),
            "regular": self.regularity.holds(),
            "regularity": self.regularity.to_string(),
            "curve": curve,
            "drift_problem": { "curvature": self.problem.curvature, "minimizer": self.problem.minimizer },
            "drift": drift,
        })
    }

    /// The curves behind the figure: `w,q_plus,q_minus,gain,asymmetry,asymmetry_ratio,asymmetry_potential`.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from("w,q_plus,q_minus,gain,asymmetry,asymmetry_ratio,asymmetry_potential\n");
        let r = self.response;
        for w in self.range.grid(201) {
            let _ = writeln!(
                csv,
                "{w},{},{},{},{},{},{}",
                r.q_plus(w),
                r.q_minus(w),
                r.gain(w),
                r.asymmetry(w),
                r.asymmetry_ratio(w),
                r.asymmetry_potential(w)
            );
        }
        csv
    }

    /// q±, and R with R_c, side by side.
    pub fn figure(&self) -> Figure {
        let r = self.response;
        let xs = self.range.grid(201);
        let curve = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { xs.iter().map(|&w| f(w)).collect() };
        let mark = |panel: Panel| match r.symmetric_point() {
            Some(w) if self.range.contains(w) => {
                panel.reference(ReferenceLine::vertical(w).label("w^{⋄}").color(Color::GREY))
            }
            _ => panel,
        };
        let responses = Panel::new("Response")
            .x_axis(Axis::linear("w"))
            .y_axis(Axis::linear("multiplier of a write"))
            .legend(Legend::Below)
            .line(Line::new(xs.clone(), curve(&|w| r.q_plus(w))).color(Color::VERMILLION).label("q_{+}"))
            .line(Line::new(xs.clone(), curve(&|w| r.q_minus(w))).color(Color::BLUE).label("q_{−}"))
            .line(
                Line::new(xs.clone(), curve(&|w| r.gain(w))).color(Color::GREY).dash(Dash::Dashed).label("F"),
            );
        let penalty = Panel::new("Asymmetry and its penalty")
            .x_axis(Axis::linear("w"))
            .y_axis(Axis::linear("R, R_{c}"))
            .legend(Legend::Below)
            .line(Line::new(xs.clone(), curve(&|w| r.asymmetry_ratio(w))).color(Color::PURPLE).label("R = G/F"))
            .line(
                Line::new(xs.clone(), curve(&|w| r.asymmetry_potential(w))).color(Color::GREEN).label("R_{c}"),
            );
        Figure::new(2).title(r.describe()).panel(mark(responses)).panel(mark(penalty))
    }
}

/// The sign of G′ decides where pairs of up and down pulses lead. A table may have a kink there, so by differences.
fn slope(r: &dyn ResponseFunction, w: f64) -> f64 {
    let h = 1e-3 * if r.range().is_finite() { r.range().hi - r.range().lo } else { 1.0 };
    r.asymmetry(r.range().clip(w + h)) - r.asymmetry(r.range().clip(w - h))
}

fn kind(r: &dyn ResponseFunction, w: f64) -> &'static str {
    match slope(r, w) {
        s if s > 0.0 => "attracting: G rises through it, pairs of pulses lead to it",
        s if s < 0.0 => {
            "repelling: G falls through it, pairs of pulses lead away, and zero-shifting does not find it"
        }
        _ => "neither attracting nor repelling: G is flat there",
    }
}

/// Six significant digits, without trailing noise.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) {
        let digits = if x == 0.0 { 0 } else { (5 - x.abs().log10().floor() as i32).max(0) as usize };
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    } else {
        format!("{x:.4e}")
    }
}
