//! `fig:response-factor`: response functions, and the asymmetry that each brings.

use residuum::response::{Exponential, Power, SoftBounds, Tanh, Wavy};
use residuum::{ParameterError, Range, ResponseFunction};
use serde::Serialize;

use super::{Finding, PaperVerdict, ReproduceError, ReproduceOptions, Reproduction, settings, table};
use crate::figure::{Axis, Color, Dash, Figure, Legend, Line, Marker, Note, Panel, ReferenceLine};

const NAME: &str = "fig-response";
const POINTS: usize = 241;

/// A response with the name it has in the figure and the file.
struct Example {
    title: &'static str,
    response: Box<dyn ResponseFunction>,
    /// Part of the line that is drawn: where the response is regular.
    shown: Range,
}

/// One of the paper's families, as a line in the second row.
struct Family {
    label: &'static str,
    response: Box<dyn ResponseFunction>,
    color: Color,
    /// The wider device, which the paper calls the more asymmetric one.
    wide: bool,
}

fn examples() -> Result<Vec<Example>, ParameterError> {
    let example = |title, response: Box<dyn ResponseFunction>, shown| Example { title, response, shown };
    Ok(vec![
        example("Linear", Box::new(SoftBounds::new(1.3, 0.8, 1.5, 1.2)?), Range { lo: -1.0, hi: 1.0 }),
        example(
            "Non-linear, monotone",
            Box::new(Tanh::new(1.0, 0.7, 0.45, -0.2)?),
            Range { lo: -1.0, hi: 1.0 },
        ),
        example("Non-monotone", Box::new(Wavy::new(0.6, 0.25, 1.0)?), Range { lo: -1.0, hi: 1.0 }),
    ])
}

fn families() -> Result<Vec<Family>, ParameterError> {
    let family =
        |label, response: Box<dyn ResponseFunction>, color, wide| Family { label, response, color, wide };
    Ok(vec![
        family("power ½", Box::new(Power::new(0.5, 1.0)?), Color::SKY_BLUE, false),
        family("power 1", Box::new(Power::new(1.0, 1.0)?), Color::BLUE, false),
        family("power 2", Box::new(Power::new(2.0, 1.0)?), Color::hex(0x1d1f5e), false),
        family("exponential 1", Box::new(Exponential::new(1.0, 1.0)?), Color::ORANGE, false),
        family("power 1, τ = 2", Box::new(Power::new(1.0, 2.0)?), Color::GREEN, true),
    ])
}

#[derive(Serialize)]
struct Row {
    response: &'static str,
    w: f64,
    q_plus: f64,
    q_minus: f64,
    gain: f64,
    asymmetry: f64,
    asymmetry_ratio: f64,
    asymmetry_potential: f64,
}

#[derive(Serialize)]
struct Device {
    name: &'static str,
    formula: String,
    shown: [f64; 2],
    /// `None` where the branches do not cross.
    symmetric_point: Option<f64>,
}

#[derive(Serialize)]
struct Setting {
    points: usize,
    devices: Vec<Device>,
}

fn rows<'a>(
    name: &'static str,
    response: &'a dyn ResponseFunction,
    shown: Range,
) -> impl Iterator<Item = Row> + 'a {
    shown.grid(POINTS).into_iter().map(move |w| Row {
        response: name,
        w,
        q_plus: response.q_plus(w),
        q_minus: response.q_minus(w),
        gain: response.gain(w),
        asymmetry: response.asymmetry(w),
        asymmetry_ratio: response.asymmetry_ratio(w),
        asymmetry_potential: response.asymmetry_potential(w),
    })
}

pub(super) fn run(options: &ReproduceOptions) -> Result<Reproduction, ReproduceError> {
    let (examples, families) = (examples()?, families()?);
    let mut listed: Vec<(&'static str, &dyn ResponseFunction, Range)> =
        examples.iter().map(|e| (e.title, &*e.response, e.shown)).collect();
    listed.extend(families.iter().map(|f| (f.label, &*f.response, f.response.range())));
    let devices = listed.iter().map(|&(name, response, shown)| Device {
        name,
        formula: response.describe(),
        shown: [shown.lo, shown.hi],
        symmetric_point: response.symmetric_point(),
    });
    let setting = Setting { points: POINTS, devices: devices.collect() };
    let rows: Vec<Row> =
        listed.iter().flat_map(|&(name, response, shown)| rows(name, response, shown)).collect();
    Ok(Reproduction {
        name: NAME,
        training_seconds: 0.0,
        figure: Some(draw(&examples, &families)),
        tables: vec![table(NAME, &rows)?],
        settings: settings(NAME, options, &setting)?,
        summary: String::new(),
        findings: findings(&examples, &families),
    })
}

fn curve(range: Range, f: impl Fn(f64) -> f64) -> Line {
    let xs = range.grid(POINTS);
    let ys: Vec<f64> = xs.iter().map(|&w| f(w)).collect();
    Line::new(xs, ys)
}

fn example_panel(example: &Example) -> Panel {
    let r = &*example.response;
    let mut panel = Panel::new(example.title)
        .x_axis(Axis::linear("state w"))
        .y_axis(Axis::linear("response").range(0.0, 2.25))
        .legend(Legend::TopRight)
        .line(curve(example.shown, |w| r.q_plus(w)).color(Color::VERMILLION).label("q_{+}"))
        .line(curve(example.shown, |w| r.q_minus(w)).color(Color::BLUE).label("q_{−}"))
        .line(curve(example.shown, |w| r.gain(w)).color(Color::GREY).width(1.2).dash(Dash::Dashed).label("F"));
    if let Some(point) = r.symmetric_point() {
        panel = panel
            .reference(ReferenceLine::vertical(point).dash(Dash::Dotted).label("w^{⋄}").along(0.06))
            .note(Note::point(point, r.gain(point), Marker::Diamond, ""));
    }
    panel
}

fn draw(examples: &[Example], families: &[Family]) -> Figure {
    let unit = Range { lo: -1.0, hi: 1.0 };
    let axis = || Axis::linear("state w").range(-1.0, 1.0);
    let mut branches = Panel::new("The paper's families")
        .x_axis(axis())
        .y_axis(Axis::linear("q_{+} solid, q_{−} dashed").range(0.0, 4.0))
        .legend(Legend::Below);
    let mut ratios =
        Panel::new("Asymmetry ratio").x_axis(axis()).y_axis(Axis::linear("R(w)")).legend(Legend::Below);
    let mut potentials =
        Panel::new("Asymmetry potential").x_axis(axis()).y_axis(Axis::linear("R_{c}(w)")).legend(Legend::Below);
    for family in families {
        let r = &*family.response;
        let color = family.color;
        let named = |line: Line| {
            let line = line.color(color).label(family.label);
            if family.wide { line.dash(Dash::DashDotted) } else { line }
        };
        ratios = ratios.line(named(curve(unit, |w| r.asymmetry_ratio(w))));
        potentials = potentials.line(named(curve(unit, |w| r.asymmetry_potential(w))));
        if !family.wide {
            branches = branches
                .line(named(curve(unit, |w| r.q_plus(w))))
                .line(curve(unit, |w| r.q_minus(w)).color(color).dash(Dash::Dashed));
        }
    }
    examples
        .iter()
        .fold(Figure::new(3), |figure, example| figure.panel(example_panel(example)))
        .panel_size(400.0, 330.0)
        .description(
            "First row: three responses with their branches, gain and symmetric point. Second row: the power and \
             exponential families with their asymmetry ratio and its potential; the wider device is the milder one.",
        )
        .panel(branches)
        .panel(ratios)
        .panel(potentials)
}

fn findings(examples: &[Example], families: &[Family]) -> Vec<Finding> {
    let holds = PaperVerdict::of;
    let conditions: Vec<f64> =
        examples.iter().map(|e| e.response.bounds(e.shown).hardware_condition()).collect();
    let slopes: Vec<f64> = families.iter().map(|f| f.response.asymmetry_ratio_derivative(0.0)).collect();
    let list = |of: &dyn Fn(&Family) -> f64| {
        families.iter().map(|f| format!("{:.2} ({})", of(f), f.label)).collect::<Vec<_>>().join(", ")
    };
    let regular = families.iter().all(|f| f.response.bounds(f.response.range()).min > 0.0);
    let [half, one, two, _, wide] = [0, 1, 2, 3, 4].map(|i| slopes[i]);
    vec![
        Finding {
            statement: "Linear, non-linear and non-monotone responses meet the definition of regularity."
                .into(),
            paper: "Three examples from the class.".into(),
            ours: format!(
                "κ₂ = {} on the range shown.",
                conditions.iter().map(|c| format!("{c:.2}")).collect::<Vec<_>>().join(", ")
            ),
            verdict: holds(conditions.iter().all(|c| c.is_finite())),
            note: "On a bounded range: a linear response is positive on no larger one.".into(),
        },
        Finding {
            statement: "A larger shape γ_res makes the device more asymmetric.".into(),
            paper: "The larger τ and γ_res are, the higher the asymmetry.".into(),
            ours: format!("R'(0) = {half}, {one}, {two} for γ_res = ½, 1, 2 at τ = 1."),
            verdict: holds(half < one && one < two),
            note: "R'(0) = γ_res/τ.".into(),
        },
        Finding {
            statement: "A larger radius τ makes the device more asymmetric.".into(),
            paper: "The larger τ and γ_res are, the higher the asymmetry.".into(),
            ours: format!("R'(0) = {one} at τ = 1 and {wide} at τ = 2, both with γ_res = 1."),
            verdict: holds(wide > one),
            note: "The opposite holds: a wider device is milder at every state.".into(),
        },
        Finding {
            statement: "The power and exponential responses of the experiments meet the definition.".into(),
            paper: "q± ≥ q_min > 0 everywhere is assumed.".into(),
            ours: format!(
                "q_min over the whole of [−τ, τ] is {}.",
                list(&|f| f.response.bounds(f.response.range()).min)
            ),
            verdict: holds(regular),
            note: format!(
                "κ₂ is finite on a smaller range only: on |w| ≤ 0.8 τ it is {}.",
                list(&|f| f.response.bounds(f.response.range().fraction(0.8)).hardware_condition())
            ),
        },
    ]
}
