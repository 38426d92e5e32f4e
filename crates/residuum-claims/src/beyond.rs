//! Beyond the paper: ways to lose the √α bias, and the hard instance under tuned steps.

use residuum::Array;
use residuum::rule::{ResidualConfig, ResidualLearning, Transfer};
use residuum::stats::{Summary, Z, fit_line};
use residuum::theory::hard_instance::HardInstance;
use residuum::theory::residual_law::{LawRates, LocalModel, StationaryLaw};

use crate::check::Check;
use crate::context::Context;
use crate::simulate::{
    Ends, Rated, Toy, array, mean_from, of_step, replicate, residual_learning, residual_learning_by,
};
use crate::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "beyond";

pub(crate) const CLAIMS: &[Claim] = &[
    Claim {
        id: "compensated-transfer",
        group: GROUP,
        title: "dividing the transfer by the response it meets",
        label: "",
        statement: "Dividing the step of W by q±(W) of its sign removes the √α bias of W and of W̄.",
        run: compensated,
    },
    Claim {
        id: "residual-cascade",
        group: GROUP,
        title: "a second residual array",
        label: "",
        statement: "Two residual arrays in a row remove the √α bias of W̄.",
        run: cascade,
    },
    Claim {
        id: "large-mixing",
        group: GROUP,
        title: "a larger γ at fixed αγ",
        label: "",
        statement: "At fixed αγ the bias of W̄ falls as γ grows, as the stationary law has it.",
        run: large_mixing,
    },
    Claim {
        id: "averaging-keeps-the-bias",
        group: GROUP,
        title: "averaging alone does not help",
        label: "",
        statement: "A digital tail average of W̄ is as biased as W̄ itself.",
        run: averaging,
    },
    Claim {
        id: "tuned-steps",
        group: GROUP,
        title: "the hard instance with tuned steps",
        label: "",
        statement: "With α = 8 ln K/(γμq_maxK) and β = ln K/(q_minK) the hard instance has no κ₂ dependence.",
        run: tuned_steps,
    },
];

/// The toy at σ = 1, γ and α as given, β = α/2 at γ = 1: the setting of the comparison, with its law.
struct Setting {
    toy: Toy,
    rates: LawRates,
    law: StationaryLaw,
    steps: u64,
    replicas: usize,
}

impl Setting {
    fn new(context: &Context, mixing: f64) -> Result<Self, ClaimError> {
        let (toy, device) = (Toy::gaussian(1.0), devices::power(1.0)?);
        let alpha = 0.004;
        let rates = LawRates { learning_rate: alpha / mixing, transfer_rate: 0.5 * alpha, mixing };
        let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
        let law = model.stationary(rates)?;
        let steps = 20_000;
        Ok(Self { toy, rates, law, steps, replicas: context.pick(8000, 2000) })
    }

    fn run(
        &self,
        context: &Context,
        name: &str,
        build: impl Fn(usize) -> Result<Rated, residuum::ParameterError> + Sync,
    ) -> Result<Ends, ClaimError> {
        let mut ends = replicate(context, context.key(name), (self.replicas, 1), self.steps, |n| {
            Ok((self.toy.problem(n)?, vec![build(n)?]))
        })?;
        Ok(ends.remove(0))
    }

    /// The next order of the law, which is what may be left where its leading term is removed.
    fn next_order(&self, of: f64) -> f64 {
        of.abs() * self.law.fast_rate.sqrt()
    }
}

/// Agreement with the mean of an independent prototype, known to `error`.
fn prototype(what: &str, found: Summary, mean: f64, error: f64) -> Check {
    Check::equals(format!("{what}, against the prototype"), found.mean, mean, Z * found.se.hypot(error))
}

fn compensated(context: &Context) -> Outcome {
    let setting = Setting::new(context, 1.0)?;
    let device = devices::power(1.0)?;
    let ends = setting.run(context, "compensated-transfer", |n| {
        let transfer = Transfer { compensated: Some(1e-3), ..Transfer::default() };
        let config = ResidualConfig { transfer, ..ResidualConfig::mixing(setting.rates.mixing) };
        residual_learning_by(context, &setting.toy, &device, (setting.rates, config), n)
    })?;
    let (law, target) = (setting.law, setting.toy.minimizer);
    let main = mean_from(&ends.main, target);
    let effective = mean_from(&ends.tail, target);
    Ok(vec![
        prototype("E[W] − W*", main, 1e-4, 5e-4),
        prototype("E[W̄] − W*, tail average", effective, 0.0, 2e-4),
        Check::mean("E[W] − W*", main, 0.0, setting.next_order(law.main_bias)),
        Check::mean("E[W] − W* against the plain law", main, law.main_bias, 0.0).expected_to_differ(),
        Check::mean("E[W̄] − W*, tail average", effective, 0.0, setting.next_order(law.effective_bias)),
    ])
}

fn cascade(context: &Context) -> Outcome {
    let setting = Setting::new(context, 1.0)?;
    let device = devices::power(1.0)?;
    let ends = setting.run(context, "residual-cascade", |n| {
        let bench = context.device(&device);
        let main = array(setting.toy.initial, bench.clone(), n)?;
        let residuals: Vec<Box<dyn Array<f64>>> =
            vec![Box::new(array(0.0, bench.clone(), n)?), Box::new(array(0.0, bench, n)?)];
        let rule = ResidualLearning::cascade(main, residuals, ResidualConfig::default())?;
        Ok((Box::new(rule), of_step(context, setting.rates)))
    })?;
    let effective = mean_from(&ends.tail, setting.toy.minimizer);
    let plain = setting.law.effective_bias;
    Ok(vec![
        // A scalar loop of 32 000 replicas; the prototype had −0.0161, which this recursion does not give.
        prototype("E[W] − W*", mean_from(&ends.main, setting.toy.minimizer), -0.0111, 2e-4),
        prototype("E[W̄] − W*, tail average", effective, -4e-4, 2e-4),
        Check::mean("E[W̄] − W*, tail average", effective, 0.0, setting.next_order(plain)),
        Check::mean("the same against the law of one residual array", effective, plain, 0.0)
            .expected_to_differ(),
    ])
}

fn large_mixing(context: &Context) -> Outcome {
    let device = devices::power(1.0)?;
    let mut checks = Vec::new();
    let mut found = Vec::new();
    let reference = [(1.0, -0.0246, -0.0109), (4.0, -0.0203, -0.0034), (16.0, -0.0191, -9e-4)];
    for (mixing, main, tail) in reference {
        let setting = Setting::new(context, mixing)?;
        let ends = setting.run(context, "large-mixing", |n| {
            residual_learning(context, &setting.toy, &device, setting.rates, n)
        })?;
        let effective = mean_from(&ends.tail, setting.toy.minimizer);
        let law = setting.law.effective_bias;
        let what = format!("E[W̄] − W* at γ = {mixing}, tail average");
        checks.push(prototype(&what, effective, tail, 2e-4));
        let offset = mean_from(&ends.main, setting.toy.minimizer);
        checks.push(prototype(&format!("E[W] − W* at γ = {mixing}"), offset, main, 6e-4));
        checks.push(Check::mean(what, effective, law, setting.next_order(setting.law.main_bias)));
        found.push(effective);
    }
    let gain = found[1].mean - found[0].mean - Z * found[0].se.hypot(found[1].se);
    checks.push(Check::at_least("the bias shrinks from γ = 1 to 4, beyond chance", gain, 0.0, 0.0));
    Ok(checks)
}

fn averaging(context: &Context) -> Outcome {
    let setting = Setting::new(context, 1.0)?;
    let device = devices::power(1.0)?;
    let ends = setting.run(context, "averaging-keeps-the-bias", |n| {
        residual_learning(context, &setting.toy, &device, setting.rates, n)
    })?;
    let law = setting.law.effective_bias;
    let [last, tail] = [&ends.effective, &ends.tail].map(|w| mean_from(w, setting.toy.minimizer));
    Ok(vec![
        prototype("E[W̄_K] − W*", last, -0.0116, 9e-4),
        prototype("tail average − W*", tail, -0.0109, 2e-4),
        Check::mean("E[W̄_K] − W*", last, law, setting.next_order(law)),
        Check::mean("tail average − W*", tail, law, setting.next_order(law)),
        Check::at_most(
            "standard deviation of the tail average over that of W̄_K",
            tail.std / last.std,
            1.0,
            0.0,
        ),
        Check::mean("tail average − W* against 0", tail, 0.0, 0.0).expected_to_differ(),
    ])
}

/// The power of κ₂ in E[V_K] under tuned steps, with its tolerance.
pub(crate) fn tuned_power(context: &Context) -> Result<(f64, f64), ClaimError> {
    let found = tuned(context)?;
    let x: Vec<f64> = found.iter().map(|(condition, _)| condition.ln()).collect();
    let y: Vec<f64> = found.iter().map(|(_, found)| found.mean.ln()).collect();
    // Common random numbers: the slope is far better known than each mean.
    Ok((fit_line(&x, &y).slope, 1e-3))
}

fn tuned(context: &Context) -> Result<Vec<(f64, Summary)>, ClaimError> {
    let (steps, replicas) = (20_000, context.pick(4_000, 320));
    [1.0, 2.0, 4.0, 8.0, 16.0, 64.0]
        .into_iter()
        .map(|condition| Ok((condition, hard(context, condition, 1.0, (replicas, steps))?)))
        .collect()
}

/// V_K of the hard instance started at ¼, with the tuned α times `faster`. Common random numbers, whatever κ₂.
fn hard(
    context: &Context,
    condition: f64,
    faster: f64,
    (replicas, steps): (usize, u64),
) -> Result<Summary, ClaimError> {
    let instance = HardInstance::new(condition, 1.0, 1.0, 1.0, 1.0)?.starting_at(0.25)?;
    let mut rates = context.rates(instance.tuned(steps));
    rates.learning_rate *= faster;
    Ok(instance.simulate(rates, replicas, steps, context.key("tuned-steps"))?.lyapunov)
}

fn tuned_steps(context: &Context) -> Outcome {
    let steps = 20_000.0f64;
    let unit = steps.ln() / steps;
    let mut checks = Vec::new();
    for (condition, found) in tuned(context)? {
        // αγμq_max = 8 unit: E[V] = αγσ²/4 on the lower level and β/(αγ) = 1/8 of it on the upper, up to that order
        // again and the finite step.
        let level = 2.0 * unit;
        let what = format!("E[V_K] at κ₂ = {condition}");
        checks.push(Check::mean(&what, found, 1.125 * level, level * (0.125 + 8.0 * unit)));
        checks.push(prototype(&what, found, 1.15283e-3, 7.46e-5));
    }
    let (power, tolerance) = tuned_power(context)?;
    checks.push(Check::equals("power of κ₂ in E[V_K]", power, 0.0, tolerance));
    // With αγ growing as κ₂², as the prescribed one does, the same measurement finds the exponent.
    let size = (320, 20_000);
    let [slow, fast] =
        [(1.0, 1.0), (4.0, 16.0)].map(|(condition, faster)| hard(context, condition, faster, size));
    let power = (fast?.mean / slow?.mean).log(4.0);
    checks.push(Check::equals("the same with α growing as κ₂²", power, 2.0, 0.3));
    Ok(checks)
}
