//! The loop: sample a gradient where the rule wants it, let the rule step, let the observer look.

use crate::Key;
use crate::objective::GradientOracle;
use crate::rule::{Gradient, StepError, UpdateRule};

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Take the next step.
    Continue,
    /// End the run here.
    Stop,
}

/// Looks at rules before the first step (k = 0) and after every step.
pub trait Observer {
    /// `rule` (number `index` of those run together) has taken `k` steps.
    fn observe(&mut self, k: u64, index: usize, rule: &dyn UpdateRule) -> Control;
}

impl<F: FnMut(u64, usize, &dyn UpdateRule) -> Control> Observer for F {
    fn observe(&mut self, k: u64, index: usize, rule: &dyn UpdateRule) -> Control {
        self(k, index, rule)
    }
}

/// Runs the rules side by side for `steps` steps on common random numbers: all meet the same ξ_k.
///
/// Running rules together gives the bits of running them one by one; it only saves drawing the noise again.
/// Returns the number of steps taken, which is smaller than `steps` if an observer stopped the run.
///
/// # Errors
/// If a rule's array refuses a step.
///
/// # Panics
/// If a rule and the oracle differ in dimension.
pub fn minimize(
    oracle: &dyn GradientOracle,
    rules: &mut [&mut dyn UpdateRule],
    steps: u64,
    key: Key,
    observer: &mut dyn Observer,
) -> Result<u64, StepError> {
    minimize_from(oracle, rules, 0, steps, key, observer)
}

/// Goes on with rules that have taken `done` steps until they have taken `steps`.
///
/// The draws of step k depend on the key and k alone, so a run taken in pieces has the bits of one taken in one go. What was
/// seen after step `done` is not shown again; only before the very first step the observer looks first.
///
/// # Errors
/// If a rule's array refuses a step.
///
/// # Panics
/// If a rule and the oracle differ in dimension.
pub fn minimize_from(
    oracle: &dyn GradientOracle,
    rules: &mut [&mut dyn UpdateRule],
    done: u64,
    steps: u64,
    key: Key,
    observer: &mut dyn Observer,
) -> Result<u64, StepError> {
    let n = oracle.dim();
    for rule in rules.iter() {
        assert_eq!(rule.dim(), n, "rule and problem differ in dimension");
    }
    let (noise_key, rule_key) = (key.named("gradient"), key.named("rule"));
    let mut at = vec![0.0; n];
    let mut noise = vec![0.0; n];
    let mut gradient = vec![0.0; n];
    let mut look = |k: u64, rules: &[&mut dyn UpdateRule]| {
        let mut control = Control::Continue;
        for (index, rule) in rules.iter().enumerate() {
            if observer.observe(k, index, &**rule) == Control::Stop {
                control = Control::Stop;
            }
        }
        control
    };
    if done == 0 && look(0, rules) == Control::Stop {
        return Ok(0);
    }
    for k in done..steps {
        let shared = oracle.shared_noise(k, noise_key, &mut noise);
        for rule in rules.iter_mut() {
            rule.effective_weights(&mut at);
            if shared {
                oracle.with_noise(&at, &noise, &mut gradient);
            } else {
                oracle.sample(k, &at, noise_key, &mut gradient);
            }
            rule.step(k, Gradient::Dense(&gradient), rule_key.fold(k))?;
        }
        if look(k + 1, rules) == Control::Stop {
            return Ok(k + 1);
        }
    }
    Ok(steps)
}
