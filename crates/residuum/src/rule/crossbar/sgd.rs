use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use super::{at, check, learn};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};
use crate::{Key, ParameterError};

/// Analog SGD on a crossbar: `W ← W + A(−α∇f(W; ξ); W)`, by pulses or in expectation.
#[derive(Debug)]
pub struct PulsedSgd {
    main: Box<dyn Crossbar>,
    learning_rate: Schedule,
    scheme: Scheme,
}

impl PulsedSgd {
    /// α = `learning_rate`.
    ///
    /// # Errors
    /// If the rate is impossible.
    pub fn new(
        main: impl Crossbar + 'static,
        learning_rate: impl Into<Schedule>,
        scheme: impl Into<Scheme>,
    ) -> Result<Self, ParameterError> {
        let learning_rate = learning_rate.into().validate()?;
        Ok(Self { main: Box::new(main), learning_rate, scheme: scheme.into() })
    }
}

impl UpdateRule<f32> for PulsedSgd {
    fn dim(&self) -> usize {
        self.main.weights().len()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(self.main.weights());
    }

    fn effective_view(&self) -> Option<&[f32]> {
        Some(self.main.weights())
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_, f32>, key: Key) -> Result<(), StepError> {
        check(gradient, self.main.rows(), self.main.cols()).map_err(at("main", k))?;
        let rate = -self.learning_rate.at(k) as f32;
        learn(&mut *self.main, rate, gradient, self.scheme, key.named("main")).map_err(at("main", k))
    }

    fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some(self.main.range())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        vec![("main", self.main.weights())]
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates::single(self.learning_rate.at(k))
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
    }

    fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
    }

    fn label(&self) -> String {
        "Analog SGD".into()
    }
}
