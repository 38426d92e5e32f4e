//! The operator A, what one step of it does on average, and the lemmas about it.

use residuum::error::ParameterError;
use residuum::objective::DenseQuadratic;
use residuum::rule::{Digital, Rates, Rule, Source};
use residuum::stats::Summary;
use residuum::theory::lyapunov::Bowl;
use residuum::theory::operator::{FiniteNoise, Inequality, Operator};
use residuum::{Array, Key, Noise, Objective};

use crate::check::Check;
use crate::context::Context;
use crate::simulate::{Toy, analog, array, mean_from, replicate};
use crate::{Claim, Outcome, devices};

/// What sums of a few dozen products may lose, relative to the size of their terms.
pub(crate) const ROUNDING: f64 = 4096.0 * f64::EPSILON;

const GROUP: &str = "operator";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "analog-update",
        group: GROUP,
        title: "the operator and its decomposition",
        label: "biased-update",
        statement: "A(Δ; z), which is Δ q₊(z) for Δ ≥ 0 and Δ q₋(z) otherwise, equals Δ F(z) − |Δ| G(z).",
        run: decomposition,
    },
    Claim {
        id: "weight-drift",
        group: GROUP,
        title: "drift at a critical point",
        label: "equality:analog-SGD-drift",
        statement: "At W* Digital SGD stands still on average, while Analog SGD moves by −αE|∇f(W*; ξ)| G(W*), towards W⋄.",
        run: weight_drift,
    },
    Claim {
        id: "lem-lipschitz",
        group: GROUP,
        title: "Lipschitz continuity of A",
        label: "lemma:lip-analog-update",
        statement: "‖A(Δ₁; Z) − A(Δ₂; Z)‖ ≤ q_max ‖Δ₁ − Δ₂‖.",
        run: lipschitz,
    },
    Claim {
        id: "lem-coercivity",
        group: GROUP,
        title: "coercivity of A, plain, perturbed and noisy",
        label: "lemma:A-op-noisy",
        statement: "The three lower bounds on ⟨Δ, A(Δ; Z)⟩, ⟨Δ, A(Δ + δ; Z)⟩ and its expectation over zero-mean δ.",
        run: coercivity,
    },
    Claim {
        id: "lem-quadratic-growth",
        group: GROUP,
        title: "quadratic growth and the PL condition",
        label: "lemma:QG",
        statement: "Strong convexity gives ‖W − W*‖² ≤ (2/μ)(f(W) − f*) and 2μ(f(W) − f*) ≤ ‖∇f(W)‖².",
        run: quadratic_growth,
    },
];

fn decomposition(context: &Context) -> Outcome {
    let (mut formula, mut written, mut draws) = (0.0f64, 0.0f64, 0);
    for (i, device) in devices::all()?.iter().enumerate() {
        let key = context.key("analog-update").fold(i as u64);
        let (bench, range) = (context.device(device), devices::visited(device));
        let n = context.pick(4000, 1000);
        let states: Vec<f64> =
            (0..n).map(|j| range.lo + (range.hi - range.lo) * key.uniform_at(2 * j)).collect();
        let desired: Vec<f64> = (0..n).map(|j| 0.2 * key.uniform_at(2 * j + 1) - 0.1).collect();
        let mut cells = array(0.0, bench.clone(), states.len())?;
        cells.program(&states, key)?;
        cells.increment(1.0, &desired, key)?;
        for ((&w, &d), &after) in states.iter().zip(&desired).zip(cells.weights()) {
            let claimed = d * device.gain(w) - d.abs() * device.asymmetry(w);
            let scale = d.abs() * (device.gain(w) + device.asymmetry(w).abs());
            formula = formula.max((bench.realized(d, w) - claimed).abs() / scale);
            written = written.max((after - device.range().clip(w + claimed)).abs());
            draws += 1;
        }
    }
    // F, G and both products round once each; a state of size 2 rounds once more. Vectorised square roots and
    // exponentials are good to 4 units in the last place.
    let formula_error = 16.0 * f64::EPSILON;
    Ok(vec![
        Check::at_most(
            format!("relative error of the formula, worst of {draws} draws"),
            formula,
            0.0,
            formula_error,
        ),
        Check::at_most("error of the state an array ends in, worst draw", written, 0.0, formula_error),
    ])
}

fn weight_drift(context: &Context) -> Outcome {
    let (device, rate) = (devices::power(1.0)?, 0.01);
    let mut checks = Vec::new();
    let laws = [
        ("Gaussian", Noise::Gaussian { deviation: 1.0 }),
        ("two-point", Noise::TwoPoint { deviation: 1.0, probability: 0.2 }),
    ];
    for (law, noise) in laws {
        for minimizer in [0.5, -0.5] {
            let toy = Toy { curvature: 1.0, minimizer, initial: minimizer, noise: noise.clone() };
            let key = context.key("weight-drift").named(law);
            let ends = replicate(context, key, (context.pick(2_000_000, 200_000), 1), 1, |n| {
                let digital = Box::new(Digital::new(&vec![minimizer; n], Source::Sgd)?);
                let digital = (digital as Box<dyn Rule>, Rates::learning(rate));
                Ok((toy.problem(n)?, vec![analog(context, &toy, &device, rate, n)?, digital]))
            })?;
            let per_rate = |w: &[f64]| Summary::of(w.iter().map(|w| (w - minimizer) / rate));
            let predicted = -toy.magnitude(minimizer) * device.asymmetry(minimizer);
            let what = |rule| format!("{rule}: E[W₁ − W*]/α at W* = {minimizer}, {law} noise");
            checks.push(Check::mean(what("Analog SGD"), per_rate(&ends[0].main), predicted, 0.0));
            if minimizer > 0.0 {
                checks.push(Check::mean(what("Digital SGD"), per_rate(&ends[1].main), 0.0, 0.0));
                let toward = mean_from(&ends[0].main, minimizer);
                checks.push(Check::at_most("Analog SGD steps towards W⋄ = 0", toward.mean, 0.0, 0.0));
            }
        }
    }
    Ok(checks)
}

/// A random operator with arguments for its lemmas. Half of the branch values sit at the extremes, where the lemmas
/// are tight.
pub(crate) struct Case {
    pub(crate) operator: Operator,
    pub(crate) desired: Vec<f64>,
    pub(crate) perturbation: Vec<f64>,
    pub(crate) noise: FiniteNoise,
}

impl Case {
    pub(crate) fn draw(key: Key) -> Result<Self, ParameterError> {
        let dim = 1 + key.below_at(6, 0);
        let (condition, least) = (100f64.powf(key.uniform_at(1)), 10f64.powf(2.0 * key.uniform_at(4) - 1.0));
        let branch = |name: &str| -> Vec<f64> {
            let key = key.named(name);
            let share = |d: usize| match key.below_at(4, 2 * d as u64) {
                0 => 0.0,
                1 => 1.0,
                _ => key.uniform_at(2 * d as u64 + 1),
            };
            (0..dim).map(|d| least * condition.powf(share(d))).collect()
        };
        let vector = |name: &str, index: u64| -> Vec<f64> {
            let mut out = vec![0.0; dim];
            key.named(name).fold(index).fill_normal(&mut out);
            out
        };
        let atoms = 2 + key.below_at(3, 2) as u64;
        let weights = (0..atoms).map(|a| 0.05 + key.named("weights").uniform_at(a)).collect();
        // Perturbations from far below to far above the desired increment.
        let scale = 10f64.powf(4.0 * key.uniform_at(3) - 2.0);
        let scaled = |v: Vec<f64>| v.into_iter().map(|x| scale * x).collect::<Vec<_>>();
        Ok(Self {
            operator: Operator::new(branch("plus"), branch("minus"))?,
            desired: vector("desired", 0),
            perturbation: scaled(vector("perturbation", 0)),
            noise: FiniteNoise::new((0..atoms).map(|a| scaled(vector("atom", a))).collect(), weights)?,
        })
    }

    pub(crate) fn many(context: &Context, name: &str) -> Result<Vec<Self>, ParameterError> {
        let key = context.key(name);
        (0..context.pick(40_000, 20_000)).map(|i| Self::draw(key.fold(i))).collect()
    }
}

/// The largest violation, relative to the size of the terms.
pub(crate) fn worst(cases: impl IntoIterator<Item = Inequality>) -> f64 {
    cases.into_iter().map(|i| i.violation()).fold(f64::NEG_INFINITY, f64::max)
}

/// An inequality that must hold in every case.
pub(crate) fn never_violated(
    context: &Context,
    what: &str,
    cases: impl IntoIterator<Item = Inequality>,
) -> Check {
    let claimed = cases.into_iter().map(|case| context.lemma(case));
    Check::at_most(format!("{what}: largest violation"), worst(claimed), 0.0, ROUNDING)
}

/// The share of cases that break an inequality.
pub(crate) fn share_violated(cases: impl ExactSizeIterator<Item = Inequality>) -> f64 {
    let all = cases.len() as f64;
    cases.filter(|case| case.violation() > ROUNDING).count() as f64 / all
}

/// The lemma with its constant a quarter larger breaks in one case of a hundred or more: it is not loose.
fn hardly_loose(what: &str, cases: impl ExactSizeIterator<Item = Inequality>) -> Check {
    let harder = cases.map(|case| Inequality { smaller: 1.25 * case.smaller, ..case });
    let share = share_violated(harder);
    Check::at_least(format!("{what}: share of cases a constant 1.25 times larger breaks"), share, 0.01, 0.0)
}

fn lipschitz(context: &Context) -> Outcome {
    let cases = Case::many(context, "lem-lipschitz")?;
    let claimed = || cases.iter().map(|c| c.operator.lipschitz(&c.desired, &c.perturbation));
    Ok(vec![
        never_violated(context, "in Δ", claimed()),
        hardly_loose("in Δ", claimed()),
        Check::note("The lemma's text says “in its second argument”; Δ is the first (M6)."),
    ])
}

fn coercivity(context: &Context) -> Outcome {
    let cases = Case::many(context, "lem-coercivity")?;
    let plain = || cases.iter().map(|c| c.operator.coercivity(&c.desired));
    let perturbed = || cases.iter().map(|c| c.operator.perturbed_coercivity(&c.desired, &c.perturbation));
    let realized = cases.iter().map(|c| c.operator.perturbed_coercivity_realized(&c.desired, &c.perturbation));
    let noisy = || cases.iter().map(|c| c.operator.noisy_coercivity(&c.desired, &c.noise));
    let quarter = perturbed().map(|case| Inequality { smaller: case.smaller + 0.25 * case.scale, ..case });
    let closest = worst(noisy());
    Ok(vec![
        never_violated(context, "(i) plain", plain()),
        hardly_loose("(i) plain", plain()),
        never_violated(context, "(ii) perturbed", perturbed()),
        Check::at_least(
            "(ii) perturbed: share of cases that a quarter of the terms more breaks",
            share_violated(quarter),
            0.1,
            0.0,
        ),
        never_violated(context, "(ii) by the realized update", realized),
        never_violated(context, "(iii) noisy", noisy()),
        Check::at_least("(iii) noisy: closest approach, relative to the terms", closest, -0.1, 0.0),
    ])
}

fn quadratic_growth(context: &Context) -> Outcome {
    let key = context.key("lem-quadratic-growth");
    let n = context.pick(20_000u64, 2_000);
    let (mut growth, mut slope) = (Vec::new(), Vec::new());
    for condition in [1.0, 4.0, 16.0] {
        let bowl = Bowl::new(1.0, condition)?;
        for i in 0..n {
            let x = 10.0 * key.uniform_at(i) - 5.0;
            growth.push(Inequality::between(&[x * x], &[2.0 * bowl.value(x)]));
            slope.push(Inequality::between(&[2.0 * bowl.value(x)], &[bowl.slope(x).powi(2)]));
        }
    }
    let dense = DenseQuadratic::new(vec![2.0, 0.5, 0.1, 0.5, 1.0, -0.3, 0.1, -0.3, 4.0], vec![0.0; 3])?;
    let mu = dense.curvature().map_or(f64::NAN, |(min, _)| min);
    for i in 0..n {
        let (mut w, mut g) = ([0.0; 3], [0.0; 3]);
        key.fold(i).fill_normal(&mut w);
        dense.gradient(&w, &mut g);
        let [distance, steepness] = [w, g].map(|v| v.iter().map(|x| x * x).sum::<f64>());
        growth.push(Inequality::between(&[distance], &[2.0 / mu * dense.value(&w)]));
        slope.push(Inequality::between(&[2.0 * mu * dense.value(&w)], &[steepness]));
    }
    Ok(vec![
        never_violated(context, "quadratic growth", growth),
        never_violated(context, "PL condition", slope),
    ])
}
