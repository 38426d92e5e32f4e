//! Beyond the paper: ways to lose the √α bias, and the hard instance under tuned steps.

use residuum::rule::{ResidualCascade, Transfer};
use residuum::stats::Z;
use residuum::theory::hard_instance::HardInstance;
use residuum::theory::residual_law::{LocalModel, Rates, StationaryLaw};
use residuum::{Schedule, UpdateRule};

use super::check::Check;
use super::context::Context;
use super::simulate::{Ends, Toy, array, mean_from, replicate, residual_learning};
use super::{Claim, ClaimError, Outcome, devices};

const GROUP: &str = "beyond";

pub(super) const CLAIMS: &[Claim] = &[
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
    rates: Rates,
    law: StationaryLaw,
    steps: u64,
    replicas: usize,
}

impl Setting {
    fn new(context: &Context, mixing: f64) -> Result<Self, ClaimError> {
        let (toy, device) = (Toy::gaussian(1.0), devices::power(1.0)?);
        let alpha = context.pick(0.004, 0.016);
        let rates = Rates { learning_rate: alpha / mixing, transfer_rate: 0.5 * alpha, mixing };
        let model = LocalModel::new(toy.curvature, 1.0, toy.minimizer, &*device, &*device)?;
        let law = model.stationary(rates)?;
        // Eight time constants of W before the last quarter begins.
        let steps = (11.0 / law.slow_rate) as u64;
        Ok(Self { toy, rates, law, steps, replicas: context.pick(8000, 2000) })
    }

    fn run(
        &self,
        context: &Context,
        name: &str,
        build: impl Fn(usize) -> Result<Box<dyn UpdateRule>, residuum::ParameterError> + Sync,
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

fn compensated(context: &Context) -> Outcome {
    let setting = Setting::new(context, 1.0)?;
    let device = devices::power(1.0)?;
    let ends = setting.run(context, "compensated-transfer", |n| {
        let rule = residual_learning(context, &setting.toy, &device, setting.rates, n)?;
        Ok(Box::new(rule.transfer(Transfer::Compensated { floor: 0.05 })?))
    })?;
    let (law, target) = (setting.law, setting.toy.minimizer);
    let main = mean_from(&ends.main, target);
    let effective = mean_from(&ends.tail, target);
    Ok(vec![
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
        let residuals = vec![array(0.0, bench.clone(), n)?, array(0.0, bench, n)?];
        let beta = context.rate(setting.rates.transfer_rate);
        let transfer = vec![Schedule::from(0.5 * beta), Schedule::from(beta)];
        Ok(Box::new(ResidualCascade::new(
            main,
            residuals,
            1.0,
            context.rate(setting.rates.learning_rate),
            transfer,
        )?))
    })?;
    let effective = mean_from(&ends.tail, setting.toy.minimizer);
    let plain = setting.law.effective_bias;
    Ok(vec![
        Check::mean("E[W̄] − W*, tail average", effective, 0.0, setting.next_order(plain)),
        Check::mean("the same against the law of one residual array", effective, plain, 0.0)
            .expected_to_differ(),
    ])
}

fn large_mixing(context: &Context) -> Outcome {
    let device = devices::power(1.0)?;
    let mut checks = Vec::new();
    let mut found = Vec::new();
    for mixing in [1.0, 4.0] {
        let setting = Setting::new(context, mixing)?;
        let ends = setting.run(context, "large-mixing", |n| {
            Ok(Box::new(residual_learning(context, &setting.toy, &device, setting.rates, n)?))
        })?;
        let effective = mean_from(&ends.tail, setting.toy.minimizer);
        let law = setting.law.effective_bias;
        let what = format!("E[W̄] − W* at γ = {mixing}, tail average");
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
        Ok(Box::new(residual_learning(context, &setting.toy, &device, setting.rates, n)?))
    })?;
    let law = setting.law.effective_bias;
    let [last, tail] = [&ends.effective, &ends.tail].map(|w| mean_from(w, setting.toy.minimizer));
    Ok(vec![
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
pub(super) fn tuned_power(context: &Context) -> Result<(f64, f64), ClaimError> {
    let found = tuned(context)?;
    let (first, last) = (found[0].1, found[found.len() - 1].1);
    let span = found[found.len() - 1].0.ln();
    let power = (last.mean / first.mean).ln() / span;
    Ok((power, Z * (last.se / last.mean).hypot(first.se / first.mean) / span))
}

fn tuned(context: &Context) -> Result<Vec<(f64, residuum::stats::Summary)>, ClaimError> {
    let (steps, replicas) = context.pick((20_000, 4_000), (4_000, 1_000));
    [1.0, 8.0, 64.0]
        .into_iter()
        .map(|condition| {
            let instance = HardInstance::new(condition, 1.0, 1.0, 1.0, 1.0)?;
            let rates = context.rates(instance.tuned(steps));
            let key = context.key("tuned-steps").fold(condition as u64);
            Ok((condition, instance.simulate(rates, replicas, steps, key)?.lyapunov))
        })
        .collect()
}

fn tuned_steps(context: &Context) -> Outcome {
    let steps = context.pick(20_000.0f64, 4_000.0);
    let unit = steps.ln() / steps;
    let mut checks = Vec::new();
    for (condition, found) in tuned(context)? {
        // αγμq_max = 8 unit: E[V] = αγσ²/4 on the lower level and β/(αγ) = 1/8 of it on the upper, up to that order
        // again and the finite step.
        let level = 2.0 * unit;
        let what = format!("E[V_K] at κ₂ = {condition}");
        checks.push(Check::mean(what, found, 1.125 * level, level * (0.125 + 8.0 * unit)));
    }
    let (power, tolerance) = tuned_power(context)?;
    checks.push(Check::equals("power of κ₂ in E[V_K]", power, 0.0, tolerance));
    Ok(checks)
}
