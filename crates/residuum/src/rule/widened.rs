//! Rules in single precision where numbers are double.

use super::{EffectiveRates, Gradient, Inspect, Rates, Rule, StepError, UpdateRule};
use crate::array::Array;
use crate::state::{State, StateError, Tensors};
use crate::{Key, ParameterError};

/// A rule in single precision as a problem in double precision sees it.
#[derive(Debug)]
pub struct Widened {
    rule: Box<dyn Rule<f32>>,
    effective: Vec<f64>,
    states: Vec<(&'static str, Vec<f64>)>,
    /// The gradient, or errors and inputs.
    narrow: [Vec<f32>; 2],
}

impl Widened {
    /// Begins with the state of the rule.
    pub fn new(rule: Box<dyn Rule<f32>>) -> Self {
        let mut wide = Self { rule, effective: Vec::new(), states: Vec::new(), narrow: Default::default() };
        wide.look();
        wide
    }

    fn look(&mut self) {
        let copy = |to: &mut Vec<f64>, from: &[f32]| {
            to.clear();
            to.extend(from.iter().map(|w| f64::from(*w)));
        };
        copy(&mut self.effective, self.rule.effective_weights());
        let states = self.rule.states();
        self.states.resize(states.len(), ("", Vec::new()));
        for ((name, to), (own, from)) in self.states.iter_mut().zip(states) {
            *name = own;
            copy(to, from);
        }
    }
}

impl UpdateRule for Widened {
    fn effective_weights(&self) -> &[f64] {
        &self.effective
    }

    fn step(&mut self, gradient: Gradient<'_>, rates: &Rates, key: Key) -> Result<(), StepError> {
        let narrow = |to: &mut Vec<f32>, from: &[f64]| {
            to.clear();
            to.extend(from.iter().map(|x| *x as f32));
        };
        let [first, second] = &mut self.narrow;
        let gradient = match gradient {
            Gradient::Dense(gradient) => {
                narrow(first, gradient);
                Gradient::Dense(first)
            }
            Gradient::Outer { batch, errors, inputs } => {
                narrow(first, errors);
                narrow(second, inputs);
                Gradient::Outer { batch, errors: first, inputs: second }
            }
        };
        self.rule.step(gradient, rates, key)?;
        // A step of a problem is a mini-batch of a network.
        self.rule.age(key.named("age"));
        self.look();
        Ok(())
    }
}

impl Inspect for Widened {
    fn label(&self) -> String {
        self.rule.label()
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<f64>)> {
        Vec::new()
    }

    fn states(&self) -> Vec<(&'static str, &[f64])> {
        self.states.iter().map(|(name, state)| (*name, state.as_slice())).collect()
    }

    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates {
        self.rule.effective_rates(rates, batch)
    }

    fn pulses_sent(&self) -> u64 {
        self.rule.pulses_sent()
    }

    fn range(&self) -> Option<[f64; 2]> {
        self.rule.range().map(|range| range.map(f64::from))
    }
}

impl State for Widened {
    fn tensors(&self) -> Tensors {
        self.rule.tensors()
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        self.rule.load(from)?;
        self.look();
        Ok(())
    }
}

impl Rule for Widened {
    fn program(&mut self, weights: &[f64], key: Key) -> Result<(), ParameterError> {
        let narrow: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
        self.rule.program(&narrow, key)?;
        self.look();
        Ok(())
    }

    fn age(&mut self, key: Key) {
        self.rule.age(key);
        self.look();
    }

    fn epoch_ended(&mut self, loss: f64) {
        self.rule.epoch_ended(loss);
    }
}
