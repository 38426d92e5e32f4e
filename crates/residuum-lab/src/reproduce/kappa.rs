//! `figure:toy-and-kappa`, right: Residual Learning under growing hardware condition number κ₂.
//!
//! The paper leaves mixing, noise and start open. With mixing 0.5 a larger κ₂ is worse at every step; with a larger
//! one the curves cross, which the third panel says openly.

use rayon::prelude::*;
use residuum::objective::DiagonalQuadratic;
use residuum::stats::{LinearFit, Summary, fit_line};
use residuum::{Key, ParameterError};
use serde::Serialize;

use super::{
    Finding, PaperVerdict, Profile, ReproduceError, ReproduceOptions, Reproduction, key, settings, table,
};
use crate::figure::{Axis, Band, Color, ColorRamp, Dash, Figure, Legend, Line, Marker, Panel, Points};
use crate::progress::{Cancelled, Progress};
use crate::verify::figures::ConditionSweep;

const NAME: &str = "fig-kappa";

#[derive(Clone, Debug, Serialize)]
struct Setting {
    objective: &'static str,
    golden_instance: &'static str,
    response: &'static str,
    dim: usize,
    curvature: [f64; 2],
    minimizer: [f64; 2],
    initial: f64,
    initial_residual: f64,
    radius: f64,
    learning_rate: f64,
    transfer_rate: f64,
    mixing: f64,
    /// Where the order of the curves is looked at.
    other_mixings: [f64; 5],
    deviations: [f64; 2],
    hardware_conditions: [f64; 5],
    steps: u64,
    random_instances: usize,
    table_every: usize,
}

impl Setting {
    fn new(profile: Profile) -> Self {
        Self {
            objective: "f(W) - f* = sum over coordinates of curvature/2 (W_d - minimizer_d)^2, at the effective weights",
            golden_instance: "curvature = 0.5 + 3.5 (i + 0.5)/dim, minimizer = 0.5 + frac((i + 1)(sqrt 5 - 1)/2)",
            response: "linear, slope (k - 1)/(k + 1) for hardware condition k, both arrays clipped to the radius",
            dim: 1024,
            curvature: [0.5, 4.0],
            minimizer: [0.5, 1.5],
            initial: 0.0,
            initial_residual: 0.0,
            radius: 1.0,
            learning_rate: 1e-3,
            transfer_rate: 1e-3,
            mixing: 0.5,
            other_mixings: [0.6, 0.7, 0.8, 1.0, 2.0],
            deviations: [0.0, 1.0],
            hardware_conditions: [1.0, 2.0, 4.0, 8.0, 16.0],
            steps: 1000,
            random_instances: match profile {
                Profile::Quick => 3,
                Profile::Full => 10,
            },
            table_every: 10,
        }
    }

    /// The instance without random numbers.
    fn golden(&self) -> Result<DiagonalQuadratic, ParameterError> {
        let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
        self.instance(|i| (i as f64 + 0.5) / self.dim as f64, |i| ((i + 1) as f64 * ratio).fract())
    }

    fn random(&self, key: Key) -> Result<DiagonalQuadratic, ParameterError> {
        let (curvature, minimizer) = (key.named("curvature"), key.named("minimizer"));
        self.instance(|i| curvature.uniform_at(i as u64), |i| minimizer.uniform_at(i as u64))
    }

    /// Spreads two sequences in [0, 1) over the ranges of the paper.
    fn instance(
        &self,
        curvature: impl Fn(usize) -> f64,
        minimizer: impl Fn(usize) -> f64,
    ) -> Result<DiagonalQuadratic, ParameterError> {
        let over = |[low, high]: [f64; 2], t: f64| low + (high - low) * t;
        DiagonalQuadratic::new(
            (0..self.dim).map(|i| over(self.curvature, curvature(i))).collect(),
            (0..self.dim).map(|i| over(self.minimizer, minimizer(i))).collect(),
        )
    }
}

/// The error after 0, 1, … steps, one curve for each κ₂.
type Curves = Vec<Vec<f64>>;

/// All condition numbers side by side, so that they meet the same noise.
fn curves(
    setting: &Setting,
    objective: DiagonalQuadratic,
    mixing: f64,
    deviation: f64,
    key: Key,
) -> Result<Curves, ReproduceError> {
    let sweep = ConditionSweep {
        hardware_conditions: &setting.hardware_conditions,
        radius: setting.radius,
        initial: [setting.initial, setting.initial_residual],
        rates: [setting.learning_rate, setting.transfer_rate],
        mixing,
        deviation,
        steps: setting.steps,
    };
    Ok(sweep.run(objective, key)?)
}

/// First step after which a larger κ₂ has the smaller error.
fn first_disorder(curves: &Curves) -> Option<usize> {
    (1..curves[0].len()).find(|&k| curves.windows(2).any(|pair| pair[1][k] < pair[0][k]))
}

fn last(curves: &Curves) -> Vec<f64> {
    curves.iter().filter_map(|curve| curve.last().copied()).collect()
}

fn exponent(setting: &Setting, curves: &Curves) -> LinearFit {
    let logs = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    fit_line(&logs(&setting.hardware_conditions), &logs(&last(curves)))
}

/// One noise level: the golden instance and the random ones.
struct Variant {
    deviation: f64,
    golden: Curves,
    random: Vec<Curves>,
}

struct Results {
    variants: Vec<Variant>,
    /// The golden instance, noise-free, under other mixings.
    mixed: Vec<(f64, Curves)>,
}

fn simulate(setting: &Setting, key: Key, progress: &dyn Progress) -> Result<Results, ReproduceError> {
    let instances = setting.random_instances + 1;
    // (mixing, σ, instance), where instance 0 is the golden one.
    let mut tasks: Vec<(f64, f64, usize)> = setting
        .deviations
        .iter()
        .flat_map(|&deviation| (0..instances).map(move |instance| (setting.mixing, deviation, instance)))
        .collect();
    tasks.extend(setting.other_mixings.map(|mixing| (mixing, 0.0, 0)));
    progress.begin(NAME, tasks.len() as u64);
    let mut done = tasks
        .into_par_iter()
        .map(|(mixing, deviation, instance)| {
            if progress.cancelled() {
                return Err(ReproduceError::from(Cancelled));
            }
            let key = key.fold(instance as u64);
            let objective = if instance == 0 { setting.golden()? } else { setting.random(key)? };
            let curves = curves(setting, objective, mixing, deviation, key)?;
            progress.advance(1);
            Ok(curves)
        })
        .collect::<Result<Vec<Curves>, _>>()?
        .into_iter();
    let mut variants = Vec::new();
    for deviation in setting.deviations {
        let mut curves: Vec<Curves> = done.by_ref().take(instances).collect();
        variants.push(Variant { deviation, golden: curves.remove(0), random: curves });
    }
    Ok(Results { variants, mixed: setting.other_mixings.into_iter().zip(done).collect() })
}

#[derive(Serialize)]
struct CurveRow {
    sigma: f64,
    mixing: f64,
    /// `golden`, or the number of a random instance.
    instance: String,
    kappa: f64,
    k: usize,
    gap: f64,
}

#[derive(Serialize)]
struct FinalRow {
    sigma: f64,
    mixing: f64,
    kappa: f64,
    golden_gap: f64,
    mean_gap: Option<f64>,
    se: Option<f64>,
    golden_exponent: f64,
    first_disorder: Option<usize>,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let setting = Setting::new(options.profile);
    let results = simulate(&setting, key(NAME, options), progress)?;
    Ok(Reproduction {
        name: NAME,
        training_seconds: 0.0,
        figure: Some(draw(&setting, &results)),
        tables: vec![
            table(&format!("{NAME}-final"), &final_rows(&setting, &results))?,
            table(&format!("{NAME}-curves"), &curve_rows(&setting, &results))?,
        ],
        settings: settings(NAME, options, &setting)?,
        summary: String::new(),
        findings: findings(&setting, &results),
    })
}

fn curve_rows(setting: &Setting, results: &Results) -> Vec<CurveRow> {
    let mut rows = Vec::new();
    let mut add = |sigma: f64, mixing: f64, instance: &str, curves: &Curves| {
        for (&kappa, curve) in setting.hardware_conditions.iter().zip(curves) {
            rows.extend(curve.iter().enumerate().step_by(setting.table_every).map(|(k, &gap)| CurveRow {
                sigma,
                mixing,
                instance: instance.to_owned(),
                kappa,
                k,
                gap,
            }));
        }
    };
    for variant in &results.variants {
        add(variant.deviation, setting.mixing, "golden", &variant.golden);
        for (number, curves) in variant.random.iter().enumerate() {
            add(variant.deviation, setting.mixing, &(number + 1).to_string(), curves);
        }
    }
    for (mixing, curves) in &results.mixed {
        add(0.0, *mixing, "golden", curves);
    }
    rows
}

/// Mean final gap of the random instances for the κ₂ of this index.
fn spread(variant: &Variant, index: usize) -> Summary {
    Summary::of(variant.random.iter().filter_map(|curves| curves[index].last().copied()))
}

fn final_rows(setting: &Setting, results: &Results) -> Vec<FinalRow> {
    let random = results.variants.iter().map(|v| (v.deviation, setting.mixing, &v.golden, Some(v)));
    let mixed = results.mixed.iter().map(|(mixing, curves)| (0.0, *mixing, curves, None));
    let mut rows = Vec::new();
    for (sigma, mixing, golden, variant) in random.chain(mixed) {
        let golden_exponent = exponent(setting, golden).slope;
        for (index, (&kappa, golden_gap)) in setting.hardware_conditions.iter().zip(last(golden)).enumerate() {
            let summary = variant.map(|variant| spread(variant, index));
            rows.push(FinalRow {
                sigma,
                mixing,
                kappa,
                golden_gap,
                mean_gap: summary.map(|s| s.mean),
                se: summary.map(|s| s.se),
                golden_exponent,
                first_disorder: first_disorder(golden),
            });
        }
    }
    rows
}

fn errors(setting: &Setting, variant: &Variant, title: &str) -> Panel {
    // The curves are smooth: the steps of the table are enough for the page.
    let steps: Vec<usize> = (0..=setting.steps as usize).step_by(setting.table_every).collect();
    let ks: Vec<f64> = steps.iter().map(|&k| k as f64).collect();
    let mut panel = Panel::new(title)
        .x_axis(Axis::linear("iteration k").range(0.0, setting.steps as f64))
        .y_axis(
            Axis::log("f(W\u{304}_{k}) − f^{*}")
                .range(80.0, 1400.0)
                .ticks([100.0, 200.0, 500.0, 1000.0].map(|v: f64| (v, v.to_string()))),
        )
        .legend(Legend::TopRight);
    let colors = ColorRamp::KAPPA.levels(setting.hardware_conditions.len());
    for (index, (kappa, color)) in setting.hardware_conditions.iter().zip(&colors).enumerate() {
        let extreme = |pick: fn(f64, f64) -> f64| {
            let at = |k: usize| variant.random.iter().map(|curves| curves[index][k]).reduce(pick);
            steps.iter().map(|&k| at(k).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
        };
        panel = panel
            .band(Band::new(ks.clone(), extreme(f64::min), extreme(f64::max)).color(*color).opacity(0.25))
            .line(
                Line::new(ks.clone(), steps.iter().map(|&k| variant.golden[index][k]).collect::<Vec<f64>>())
                    .color(*color)
                    .label(format!("κ_{{2}} = {kappa}")),
            );
    }
    panel
}

/// Final errors relative to κ₂ = 1, so that one panel holds a growing and a falling law.
fn finals(setting: &Setting, results: &Results) -> Panel {
    let kappas = setting.hardware_conditions;
    let relative = |curves: &Curves| {
        let gaps = last(curves);
        gaps.iter().map(|gap| gap / gaps[0]).collect::<Vec<f64>>()
    };
    let mut panel = Panel::new(format!("Final error, k = {}", setting.steps))
        .x_axis(
            Axis::log("hardware condition number κ_{2}")
                .range(0.88, 18.2)
                .ticks(kappas.map(|k| (k, k.to_string()))),
        )
        .y_axis(
            Axis::log("final error relative to κ_{2} = 1")
                .range(0.14, 2.6)
                .ticks([0.2, 0.5, 1.0, 2.0].map(|v: f64| (v, v.to_string()))),
        )
        .legend(Legend::BottomLeft);
    let styles = [(Color::BLUE, Marker::Circle), (Color::GREEN, Marker::Square)];
    for (variant, (color, marker)) in results.variants.iter().zip(styles) {
        let (fit, first) =
            (exponent(setting, &variant.golden), variant.golden[0].last().map_or(0.0, |gap| gap.ln()));
        let line =
            Line::new(kappas, kappas.map(|kappa| (fit.intercept - first + fit.slope * kappa.ln()).exp()));
        panel =
            panel.line(line.color(color).width(1.1).label(format!(
                "γ = {}, σ = {}: κ_{{2}}^{{{:.2}}}",
                setting.mixing, variant.deviation, fit.slope
            )));
        panel = panel.points(Points::new(kappas, relative(&variant.golden)).color(color).marker(marker));
    }
    if let Some((mixing, curves)) = results.mixed.last() {
        panel = panel
            .line(
                Line::new(kappas, relative(curves))
                    .color(Color::GREY)
                    .dash(Dash::Dashed)
                    .label(format!("γ = {mixing}, σ = 0: order broken")),
            )
            .points(Points::new(kappas, relative(curves)).color(Color::GREY).hollow());
    }
    panel
}

fn draw(setting: &Setting, results: &Results) -> Figure {
    let mut figure = Figure::new(3).panel_size(400.0, 360.0).description(
        "Error of Residual Learning over 1000 iterations for five hardware condition numbers, without and with \
         gradient noise, and the final errors against the condition number with fitted power laws. Lines are the \
         instance without random numbers, bands the range over random instances.",
    );
    for variant in &results.variants {
        let title = if variant.deviation > 0.0 {
            format!("With noise, σ = {}", variant.deviation)
        } else {
            "Exact gradients".to_owned()
        };
        figure = figure.panel(errors(setting, variant, &title));
    }
    figure.panel(finals(setting, results))
}

fn findings(setting: &Setting, results: &Results) -> Vec<Finding> {
    let kappas = setting.hardware_conditions.map(|k| k.to_string()).join(", ");
    let numbers = |values: &[f64]| values.iter().map(|v| format!("{v:.1}")).collect::<Vec<_>>().join(", ");
    let ordered = results.variants.iter().all(|variant| {
        first_disorder(&variant.golden).is_none_or(|_| variant.deviation > 0.0)
            && last(&variant.golden).windows(2).all(|pair| pair[0] < pair[1])
    });
    let exponents: Vec<LinearFit> = results.variants.iter().map(|v| exponent(setting, &v.golden)).collect();
    let steep = exponents.iter().all(|fit| (fit.slope - 4.0).abs() < 5.0 * fit.slope_se);
    let orders: Vec<String> = results
        .mixed
        .iter()
        .map(|(mixing, curves)| match first_disorder(curves) {
            Some(k) => format!("γ = {mixing}: broken from k = {k}"),
            None => format!("γ = {mixing}: kept"),
        })
        .collect();
    let finals: Vec<String> = results
        .variants
        .iter()
        .map(|v| format!("σ = {}: {}", v.deviation, numbers(&last(&v.golden))))
        .collect();
    vec![
        Finding {
            statement: "A larger hardware condition number slows Residual Learning down.".into(),
            paper: "Increasing κ₂ consistently degrades the convergence rate.".into(),
            ours: format!("Final errors for κ₂ = {kappas}: {}.", finals.join("; ")),
            verdict: PaperVerdict::of(ordered),
            note: format!(
                "With mixing γ = {}; ordered at every step without noise, at the last step with it.",
                setting.mixing
            ),
        },
        Finding {
            statement: "The dependence on κ₂ is that of the theorem.".into(),
            paper: "Corroborates the polynomial dependence; the bound grows as κ₂⁴.".into(),
            ours: format!(
                "Fitted exponents {}.",
                exponents
                    .iter()
                    .map(|fit| format!("{:.3} ± {:.3}", fit.slope, fit.slope_se))
                    .collect::<Vec<_>>()
                    .join(" and ")
            ),
            verdict: PaperVerdict::of(steep),
            note: "The sweep shows a monotone dependence, not a fourth power: q(W⋄) = 1 for every κ₂ and the steps \
                   are fixed, so κ₂ acts through the transient alone."
                .into(),
        },
        Finding {
            statement: "The order of the curves depends on the mixing coefficient γ.".into(),
            paper: "γ is not given.".into(),
            ours: format!("{}.", orders.join("; ")),
            verdict: PaperVerdict::NotStated,
            note: "With a large γ the smallest κ₂ overshoots, as β is as large as α, and ends worst.".into(),
        },
    ]
}
