use super::{EffectiveRates, Gradient, Slot, Source, StepError, UpdateRule, slot};
use crate::Key;
use crate::array::AnalogArray;
use crate::error::{ParameterError, all_finite, same_length};

/// `W_{k+1} = W_k + ΔW_k` in digital memory (`recursion:digital-SGD`).
#[derive(Clone, Debug)]
pub struct Digital {
    weights: Vec<f64>,
    source: Source,
    buffer: Vec<f64>,
    dense: Vec<f64>,
}

impl Digital {
    /// Starts at `initial`.
    ///
    /// # Errors
    /// If an initial weight is not finite.
    pub fn new(initial: &[f64], source: Source) -> Result<Self, ParameterError> {
        all_finite("initial", initial)?;
        Ok(Self {
            weights: initial.to_vec(),
            source: source.allocated(initial.len()),
            buffer: Vec::new(),
            dense: Vec::new(),
        })
    }
}

impl UpdateRule for Digital {
    fn dim(&self) -> usize {
        self.weights.len()
    }
    fn effective_weights(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.weights);
    }
    fn step(&mut self, k: u64, gradient: Gradient<'_>, _: Key) -> Result<(), StepError> {
        let gradient = gradient.dense(&mut self.dense);
        let (scale, direction) = self.source.desire(k, gradient, &mut self.buffer);
        for (w, d) in self.weights.iter_mut().zip(direction) {
            *w += scale * d;
        }
        Ok(())
    }
    fn program(&mut self, weights: &[f64], _: Key) -> Result<(), ParameterError> {
        same_length("weights", self.weights.len(), weights.len())?;
        all_finite("weights", weights)?;
        self.weights.copy_from_slice(weights);
        self.source.forget();
        Ok(())
    }
    fn arrays(&self) -> Vec<(&'static str, &[f64])> {
        vec![("main", &self.weights)]
    }
    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates::single(self.source.learning_rate(k))
    }
    fn pulses_sent(&self) -> u64 {
        0
    }
    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        visit("main.weights", Slot::Doubles(&mut self.weights));
        self.source.state(visit);
    }
    fn label(&self) -> String {
        format!("Digital {}", self.source.label())
    }
}

/// The same desired steps through the one door: with SGD as the source this is Analog SGD
/// (`recursion:analog-SGD`), with another it is that optimiser under in-situ dynamics.
#[derive(Clone, Debug)]
pub struct Analog {
    main: AnalogArray,
    source: Source,
    buffer: Vec<f64>,
    dense: Vec<f64>,
}

impl Analog {
    /// Trains the weights of `main` in place.
    pub fn new(main: AnalogArray, source: Source) -> Self {
        Self { source: source.allocated(main.len()), main, buffer: Vec::new(), dense: Vec::new() }
    }

    /// The array.
    pub fn main(&self) -> &AnalogArray {
        &self.main
    }
}

impl UpdateRule for Analog {
    fn dim(&self) -> usize {
        self.main.len()
    }
    fn effective_weights(&self, out: &mut [f64]) {
        out.copy_from_slice(self.main.state());
    }
    fn step(&mut self, k: u64, gradient: Gradient<'_>, key: Key) -> Result<(), StepError> {
        let gradient = gradient.dense(&mut self.dense);
        let (scale, direction) = self.source.desire(k, gradient, &mut self.buffer);
        self.main.increment(scale, direction, key.named("main"));
        Ok(())
    }
    fn program(&mut self, weights: &[f64], _: Key) -> Result<(), ParameterError> {
        self.main.program(weights)?;
        self.source.forget();
        Ok(())
    }
    fn arrays(&self) -> Vec<(&'static str, &[f64])> {
        vec![("main", self.main.state())]
    }
    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates::single(self.source.learning_rate(k))
    }
    fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent()
    }
    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        self.source.state(visit);
    }
    fn label(&self) -> String {
        format!("Analog {}", self.source.label())
    }
}
