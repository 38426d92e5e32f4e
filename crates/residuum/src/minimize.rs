//! The loop: sample a gradient where the rule wants it, let the rule step, call the observer.

use std::ops::Range;

use crate::error::same_length;
use crate::objective::GradientOracle;
use crate::rule::{Gradient, RatePlan, Rule, StepError, UpdateRule};
use crate::{Key, Scalar};

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Take the next step.
    Continue,
    /// End the run here.
    Stop,
}

/// Observes rules before the first step (k = 0) and after every step.
pub trait Observer<T: Scalar = f64> {
    /// `rule` (number `index` of those run together) has taken `k` steps.
    fn observe(&mut self, k: u64, index: usize, rule: &dyn Rule<T>) -> Control;
}

impl<T: Scalar, F: FnMut(u64, usize, &dyn Rule<T>) -> Control> Observer<T> for F {
    fn observe(&mut self, k: u64, index: usize, rule: &dyn Rule<T>) -> Control {
        self(k, index, rule)
    }
}

/// Runs the rules side by side for `steps` steps on common random numbers: all meet the same ξ_k.
///
/// Running rules together gives the same bits as running them one by one; it only saves drawing the noise again.
///
/// # Errors
/// If a rule and the problem differ in dimension, or a rule's array rejects a step.
pub fn minimize<T: Scalar>(
    oracle: &dyn GradientOracle,
    rules: &mut [&mut dyn UpdateRule<T>],
    rates: &dyn RatePlan,
    steps: u64,
    key: Key,
) -> Result<(), StepError> {
    run(oracle, rules, rates, 0..steps, key, |_, _| Control::Continue)?;
    Ok(())
}

/// The same with an observer, from step `steps.start` up to `steps.end`; returns how many steps the rules
/// have taken, which is fewer if the observer stopped the run.
///
/// The draws of step k depend on the key and k alone, so a run split into several calls has the same bits as a single one. What was
/// observed after step `steps.start` is not shown again; the observer is called first only before the very first step.
///
/// # Errors
/// As [`minimize`].
pub fn minimize_observed<T: Scalar>(
    oracle: &dyn GradientOracle,
    rules: &mut [&mut dyn Rule<T>],
    rates: &dyn RatePlan,
    steps: Range<u64>,
    key: Key,
    observer: &mut dyn Observer<T>,
) -> Result<u64, StepError> {
    run(oracle, rules, rates, steps, key, |k, rules| {
        let mut control = Control::Continue;
        for (index, rule) in rules.iter().enumerate() {
            if observer.observe(k, index, &**rule) == Control::Stop {
                control = Control::Stop;
            }
        }
        control
    })
}

fn run<T: Scalar, R: UpdateRule<T> + ?Sized>(
    oracle: &dyn GradientOracle,
    rules: &mut [&mut R],
    rates: &dyn RatePlan,
    steps: Range<u64>,
    key: Key,
    mut look: impl FnMut(u64, &[&mut R]) -> Control,
) -> Result<u64, StepError> {
    let n = oracle.dim();
    for rule in rules.iter() {
        same_length("effective weights of the rule", n, rule.effective_weights().len())
            .map_err(|source| StepError { array: "main".into(), step: Some(steps.start), source })?;
    }
    let (noise_key, rule_key) = (key.named("gradient"), key.named("rule"));
    let (mut noise, mut gradient) = (vec![0.0; n], vec![0.0; n]);
    let (mut wide, mut narrow) = (Vec::new(), Vec::new());
    if steps.start == 0 && look(0, rules) == Control::Stop {
        return Ok(0);
    }
    for k in steps.clone() {
        let shared = oracle.shared_noise(k, noise_key, &mut noise);
        for (index, rule) in rules.iter_mut().enumerate() {
            let at = T::as_f64s(rule.effective_weights(), &mut wide);
            if shared {
                oracle.with_noise(at, &noise, &mut gradient);
            } else {
                oracle.sample(k, at, noise_key, &mut gradient);
            }
            let gradient = Gradient::Dense(T::of_f64s(&gradient, &mut narrow));
            rule.step(gradient, &rates.rates(index, k), rule_key.fold(k)).map_err(|e| e.at(k))?;
        }
        if look(k + 1, rules) == Control::Stop {
            return Ok(k + 1);
        }
    }
    Ok(steps.end)
}
