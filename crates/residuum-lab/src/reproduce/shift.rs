//! `fig:shift-problem`: the penalty before and after shifting, and which weight it has.
//!
//! Analog SGD on P meets the gradient of f at W + γ(P − W⋄), not its derivative by P, which is γ times that. Its
//! penalized problem is therefore f(W + γ(P − W⋄)) + γ⟨Σ, R_c(P)⟩: the factor γ is absent from the paper's.

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::objective::DiagonalQuadratic;
use residuum::response::{Power, Tanh};
use residuum::rule::{Rates, ResidualConfig, ResidualLearning, Rule};
use residuum::stats::{Summary, density};
use residuum::theory::fixed_point::{DriftPrediction, predict_drift};
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::Sampling;
use residuum::{
    Control, ExactArray, Key, Noise, Noisy, Objective, ParameterError, Range, ResponseFunction,
    minimize_observed,
};
use serde::Serialize;

use super::{
    Finding, PaperVerdict, Profile, ReproduceError, ReproduceOptions, Reproduction, key, settings, table,
};
use crate::figure::{
    Axis, Band, Color, Compass, Contours, Dash, Figure, Grid, Legend, Line, Marker, Note, Panel, Points,
    ReferenceLine,
};
use crate::progress::{Cancelled, Progress};

const NAME: &str = "fig-shift";

/// The two-dimensional landscape.
#[derive(Clone, Debug, Serialize)]
struct Landscape {
    response: String,
    curvature: [f64; 2],
    minimizer: [f64; 2],
    deviation: f64,
    mixing: f64,
    gain: f64,
    slope: f64,
    width: f64,
    center: f64,
}

/// P alone learns while W stands still: the experiment that tells the two penalties apart.
#[derive(Clone, Debug, Serialize)]
struct Weighing {
    response: String,
    curvature: f64,
    minimizer: f64,
    /// W, kept by a transfer rate of 0.
    main: f64,
    initial_residual: f64,
    deviation: f64,
    mixing: f64,
    learning_rate: f64,
    shape: f64,
    radius: f64,
    steps: u64,
    replicas: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Setting {
    landscape: Landscape,
    weighing: Weighing,
}

impl Setting {
    fn new(profile: Profile) -> Result<Self, ParameterError> {
        let (gain, slope, width, center) = (1.0, 0.8, 0.5, -0.35);
        let (shape, radius) = (1.0, 1.0);
        Ok(Self {
            landscape: Landscape {
                response: Tanh::new(gain, slope, width, center)?.describe(),
                curvature: [1.0, 1.5],
                minimizer: [0.45, 0.3],
                deviation: 1.0,
                mixing: 0.8,
                gain,
                slope,
                width,
                center,
            },
            weighing: Weighing {
                response: Power::new(shape, radius)?.describe(),
                curvature: 1.0,
                minimizer: 0.5,
                main: 0.3,
                initial_residual: 0.0,
                deviation: 1.0,
                mixing: 0.25,
                learning_rate: 2e-3,
                shape,
                radius,
                steps: 6000,
                replicas: match profile {
                    Profile::Quick => 1000,
                    Profile::Full => 8000,
                },
            },
        })
    }
}

impl Landscape {
    fn response(&self) -> Result<Tanh, ParameterError> {
        Tanh::new(self.gain, self.slope, self.width, self.center)
    }

    fn objective(&self) -> Result<DiagonalQuadratic, ParameterError> {
        DiagonalQuadratic::new(self.curvature.to_vec(), self.minimizer.to_vec())
    }

    fn problem(&self) -> Result<Noisy, ParameterError> {
        Noisy::new(Arc::new(self.objective()?), Noise::Gaussian { deviation: self.deviation })
    }
}

/// Three candidates for the mean of P, and the mean.
struct Weighed {
    printed: f64,
    weighted: f64,
    fixed_point: f64,
    measured: Summary,
    density: (Vec<f64>, Vec<f64>),
}

fn weigh(w: &Weighing, key: Key, progress: &dyn Progress) -> Result<Weighed, ReproduceError> {
    let response = Power::new(w.shape, w.radius)?;
    let noise = Noise::Gaussian { deviation: w.deviation };
    // As a function of P, the gradient h(W + γP − W*) is that of a parabola with curvature γh.
    let lower = DiagonalQuadratic::replicas(w.mixing * w.curvature, (w.minimizer - w.main) / w.mixing, 1)?;
    let problem = Noisy::new(Arc::new(lower), noise.clone())?;
    let cells = Uniform::new(response);
    let magnitude =
        ImplicitPenalty::new(&problem, &cells, Sampling::new(Key::new(0)))?.gradient_magnitude().value[0];
    let predicted = predict_drift(&problem, &cells, Sampling::new(Key::new(0)))?;
    let stiffness = magnitude * response.asymmetry_ratio_derivative(0.0);
    let printed =
        w.mixing * w.curvature * (w.minimizer - w.main) / (w.mixing * w.mixing * w.curvature + stiffness);

    let array = |state: f64| ExactArray::uniform(&vec![state; w.replicas], response);
    let mut rule =
        ResidualLearning::new(array(w.main)?, array(w.initial_residual)?, ResidualConfig::mixing(w.mixing))?;
    let objective = DiagonalQuadratic::replicas(w.curvature, w.minimizer, w.replicas)?;
    let problem = Noisy::new(Arc::new(objective), noise)?;
    let mut watch = |k: u64, _: usize, _: &dyn Rule| {
        if k > 0 && k.is_multiple_of(100) {
            progress.advance(100);
        }
        if progress.cancelled() { Control::Stop } else { Control::Continue }
    };
    progress.begin(NAME, w.steps);
    let rates = Rates::learning(w.learning_rate);
    if minimize_observed(&problem, &mut [&mut rule], &rates, 0..w.steps, key, &mut watch)? < w.steps {
        return Err(Cancelled.into());
    }
    let samples = rule.residual().weights();
    let measured = Summary::of(samples.iter().copied());
    let grid =
        Range { lo: measured.mean - 4.5 * measured.std, hi: measured.mean + 4.5 * measured.std }.grid(161);
    let heights = density(samples, &grid);
    Ok(Weighed {
        printed,
        weighted: predicted.penalized_minimizer[0],
        fixed_point: predicted.fixed_point[0],
        measured,
        density: (grid, heights),
    })
}

#[derive(Serialize)]
struct SurfaceRow {
    variable: &'static str,
    x: f64,
    y: f64,
    objective: f64,
    penalty: f64,
}

#[derive(Serialize)]
struct PointRow {
    name: &'static str,
    x: f64,
    y: f64,
}

#[derive(Serialize)]
struct WeighedRow {
    printed_argmin: f64,
    weighted_argmin: f64,
    zero_of_drift: f64,
    replicas: usize,
    mean: f64,
    se: f64,
    std: f64,
}

/// f and the penalty over the plane, as functions of W and, with W = W*, of P.
struct Surfaces<'a> {
    landscape: &'a Landscape,
    objective: DiagonalQuadratic,
    penalty: ImplicitPenalty<'a>,
}

impl Surfaces<'_> {
    fn effective(&self, x: f64, y: f64) -> [f64; 2] {
        let ([a, b], point) = (self.landscape.minimizer, self.penalty.symmetric_point());
        [a + self.landscape.mixing * (x - point[0]), b + self.landscape.mixing * (y - point[1])]
    }

    fn before(&self, x: f64, y: f64) -> (f64, f64) {
        (self.objective.value(&[x, y]), self.penalty.implicit_penalty(&[x, y]))
    }

    fn after(&self, x: f64, y: f64) -> (f64, f64) {
        let penalty = self.landscape.mixing * self.penalty.implicit_penalty(&[x, y]);
        (self.objective.value(&self.effective(x, y)), penalty)
    }

    fn rows(&self) -> Vec<SurfaceRow> {
        let nodes = Range { lo: -1.0, hi: 1.0 }.grid(41);
        let mut rows = Vec::new();
        for &y in &nodes {
            for &x in &nodes {
                for (variable, (objective, penalty)) in [("W", self.before(x, y)), ("P", self.after(x, y))] {
                    rows.push(SurfaceRow { variable, x, y, objective, penalty });
                }
            }
        }
        rows
    }
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let setting = Setting::new(options.profile)?;
    let weighed = weigh(&setting.weighing, key(NAME, options), progress)?;
    let landscape = &setting.landscape;
    let (problem, cells) = (landscape.problem()?, Uniform::new(landscape.response()?));
    let sampling = Sampling::new(Key::new(0));
    let surfaces = Surfaces {
        landscape,
        objective: landscape.objective()?,
        penalty: ImplicitPenalty::new(&problem, &cells, sampling)?,
    };
    let drift = predict_drift(&problem, &cells, sampling)?;
    let points = [
        ("minimizer", &drift.minimizer),
        ("penalized_minimizer", &drift.penalized_minimizer),
        ("zero_of_drift", &drift.fixed_point),
        ("symmetric_point", &drift.symmetric_point),
    ]
    .map(|(name, w)| PointRow { name, x: w[0], y: w[1] });
    let Summary { n, mean, se, std } = weighed.measured;
    let weighed_row = WeighedRow {
        printed_argmin: weighed.printed,
        weighted_argmin: weighed.weighted,
        zero_of_drift: weighed.fixed_point,
        replicas: n,
        mean,
        se,
        std,
    };
    Ok(Reproduction {
        name: NAME,
        training_seconds: 0.0,
        figure: Some(draw(&setting, &surfaces, &drift, &weighed)),
        tables: vec![
            table(&format!("{NAME}-surfaces"), &surfaces.rows())?,
            table(&format!("{NAME}-points"), &points)?,
            table(&format!("{NAME}-penalty-weight"), &[weighed_row])?,
        ],
        settings: settings(NAME, options, &setting)?,
        summary: String::new(),
        findings: findings(&setting, &surfaces, &weighed),
    })
}

/// f, the penalty and their sum along the line from W⋄ (0) to W* (1), with the minimum of the sum.
fn section(title: &str, names: [&str; 3], ends: [&str; 2], of: &dyn Fn(f64) -> (f64, f64)) -> Panel {
    let xs = Range { lo: -0.6, hi: 1.6 }.grid(221);
    let curve = |value: &dyn Fn((f64, f64)) -> f64| {
        Line::new(xs.clone(), xs.iter().map(|&t| value(of(t))).collect::<Vec<_>>())
    };
    let sum = |t: f64| of(t).0 + of(t).1;
    let least = xs.iter().copied().min_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(0.0);
    let top = 1.35 * xs.iter().map(|&t| sum(t)).fold(0.0, f64::max);
    let mut panel = Panel::new(title)
        .x_axis(Axis::linear(format!("place on the line through {} (0) and W^{{*}} (1)", ends[0])))
        .y_axis(Axis::linear("value").range(-0.03 * top, top))
        .legend(Legend::Below)
        .line(curve(&|(f, _)| f).color(Color::BLUE).label(names[0]))
        .line(curve(&|(_, penalty)| penalty).color(Color::VERMILLION).dash(Dash::Dashed).label(names[1]))
        .line(curve(&|(f, penalty)| f + penalty).color(Color::BLACK).dash(Dash::DashDotted).label("their sum"))
        .points(Points::new([least], [sum(least)]).color(Color::BLACK).label(names[2]));
    for (at, name) in [(0.0, ends[0]), (1.0, ends[1])] {
        if !name.is_empty() {
            panel = panel.reference(ReferenceLine::vertical(at).color(Color::GREY).label(name).along(0.95));
        }
    }
    panel
}

fn draw(setting: &Setting, surfaces: &Surfaces, drift: &DriftPrediction, weighed: &Weighed) -> Figure {
    let (start, end) = (&drift.symmetric_point, &drift.minimizer);
    let place = |t: f64| [0, 1].map(|i| start[i] + t * (end[i] - start[i]));
    let before = |t: f64| {
        let [x, y] = place(t);
        surfaces.before(x, y)
    };
    let after = |t: f64| {
        let [x, y] = place(t);
        surfaces.after(x, y)
    };
    Figure::new(2)
        .panel_size(460.0, 380.0)
        .description(
            "The objective and its implicit penalty along a line, before shifting, with different minimizers, and after it, with \
             one minimizer; contours of the penalized objective; and the law of P, which tells the penalty with the \
             factor γ from the one without.",
        )
        .panel(section(
            "Before shifting: least between W^{⋄} and W^{*}",
            ["f(W)", "⟨Σ, R_{c}(W)⟩", "its minimum"],
            ["W^{⋄}", "W^{*}"],
            &before,
        ))
        .panel(section(
            "After shifting: P, with W = W^{*}, has one minimum",
            ["f(W^{*} + γ(P − W^{⋄}))", "γ⟨Σ, R_{c}(P)⟩", "its minimum"],
            ["P^{*} = W^{⋄}", ""],
            &after,
        ))
        .panel(contours(surfaces, drift))
        .panel(weights(&setting.weighing, weighed))
}

fn contours(surfaces: &Surfaces, drift: &DriftPrediction) -> Panel {
    let nodes = || Range { lo: -1.0, hi: 1.0 }.grid(81);
    let field = Grid::sample(nodes(), nodes(), |x, y| surfaces.penalty.penalized_objective(&[x, y]));
    let point = |w: &[f64], marker, text: &str| Note::point(w[0], w[1], marker, text);
    Panel::new("Penalized objective")
        .x_axis(Axis::linear("W_{1}"))
        .y_axis(Axis::linear("W_{2}"))
        .legend(Legend::Hidden)
        .field(Contours::new(field).color_bar("f_{Σ}(W)"))
        .note(point(&drift.minimizer, Marker::Star, "W^{*}").color(Color::BLACK))
        .note(
            point(&drift.penalized_minimizer, Marker::Circle, "W\u{303}^{*}")
                .color(Color::ANALOG_SGD)
                .side(Compass::NorthWest),
        )
        .note(
            point(&drift.fixed_point, Marker::Cross, "zero of T").color(Color::BLACK).side(Compass::SouthEast),
        )
        .note(point(&drift.symmetric_point, Marker::Diamond, "W^{⋄}").color(Color::BLACK))
}

fn weights(setting: &Weighing, weighed: &Weighed) -> Panel {
    let (grid, heights) = weighed.density.clone();
    let top = 1.3 * heights.iter().copied().fold(0.0, f64::max);
    Panel::new(format!("Weight of the penalty, γ = {}", setting.mixing))
        .x_axis(Axis::linear("P").range(0.0, 0.36))
        .y_axis(Axis::linear("density of P_{K}, W fixed").range(-0.03 * top, top))
        .legend(Legend::Hidden)
        .band(Band::area(grid, heights).color(Color::RESIDUAL_LEARNING))
        .reference(
            ReferenceLine::vertical(weighed.printed).color(Color::ANALOG_SGD).label("argmin f + ⟨Σ, R_{c}⟩"),
        )
        .reference(
            ReferenceLine::vertical(weighed.weighted)
                .color(Color::BLACK)
                .label("argmin f + γ⟨Σ, R_{c}⟩")
                .along(0.88),
        )
}

fn findings(setting: &Setting, surfaces: &Surfaces, weighed: &Weighed) -> Vec<Finding> {
    let point = surfaces.penalty.symmetric_point();
    let mut at_minimizer = vec![0.0; point.len()];
    surfaces.penalty.penalized_gradient(surfaces.penalty.minimizer(), &mut at_minimizer);
    let (f, penalty) = surfaces.after(point[0], point[1]);
    let shared = f.abs() < 1e-12 && penalty.abs() < 1e-12;
    let measured = weighed.measured;
    // Second order in α: the stationary mean differs from the zero of the drift by about α.
    let allowed = setting.weighing.learning_rate;
    vec![
        Finding {
            statement: "After shifting, objective and penalty have one minimizer.".into(),
            paper: "The symmetric and optimal points coincide.".into(),
            ours: format!(
                "Both vanish at P = W⋄ (f − f* = {f:.1e}, penalty {penalty:.1e}); before, the gradient of the \
                 penalized objective at W* is ({:.3}, {:.3}).",
                at_minimizer[0], at_minimizer[1]
            ),
            verdict: PaperVerdict::of(shared),
            note: "With W = W*; until W gets there, the shifted problem keeps a penalty.".into(),
        },
        Finding {
            statement: "The penalty of the shifted problem has weight 1.".into(),
            paper: "min over P of f(W + γ(P − W⋄)) + ⟨Σ, R_c(P)⟩.".into(),
            ours: format!(
                "E[P] = {measured} at γ = {}; weight 1 gives {:.4}, weight γ gives {:.4}, the zero of the mean \
                 drift is {:.4}.",
                setting.weighing.mixing, weighed.printed, weighed.weighted, weighed.fixed_point
            ),
            verdict: PaperVerdict::of(measured.agrees(weighed.printed, allowed)),
            note: "The weight must be γ, as P meets ∇f and not γ∇f. The solution of the bilevel problem is the same."
                .into(),
        },
    ]
}
