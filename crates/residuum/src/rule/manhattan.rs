use super::{EffectiveRates, Gradient, Inspect, Operations, Rates, Rule, StepError, UpdateRule, of};
use crate::array::Array;
use crate::error::{ParameterError, non_negative};
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// The Manhattan rule (Zamanidoost et al. 2015): in-situ training by the sign of the gradient. It has no learning rate, and
/// its circuits need no amplitudes.
///
/// ```text
/// W ← W − A(ε sign ∇f(W; ξ); W)   where |∇f| > threshold      ε: one pulse
/// ```
///
/// The gradient is that of the whole mini-batch.
#[derive(Debug)]
pub struct Manhattan<T: Scalar = f64> {
    main: Box<dyn Array<T>>,
    threshold: T,
    dense: Vec<T>,
    pulses: Vec<T>,
}

impl<T: Scalar> Manhattan<T> {
    /// Sends one pulse to every cell of `main` whose gradient exceeds `threshold` in magnitude.
    ///
    /// # Errors
    /// If `threshold` is negative or not finite.
    pub fn new(main: impl Array<T> + 'static, threshold: f64) -> Result<Self, ParameterError> {
        let threshold = T::from_f64(non_negative("threshold", threshold)?);
        Ok(Self { main: Box::new(main), threshold, dense: Vec::new(), pulses: Vec::new() })
    }
}

impl<T: Scalar> UpdateRule<T> for Manhattan<T> {
    fn effective_weights(&self) -> &[T] {
        self.main.weights()
    }

    fn step(&mut self, gradient: Gradient<'_, T>, _: &Rates, key: Key) -> Result<(), StepError> {
        self.main.check_gradient(gradient).map_err(of("main"))?;
        let pulse = |g: &T| match () {
            () if *g > self.threshold => -T::ONE,
            () if *g < -self.threshold => T::ONE,
            () => T::ZERO,
        };
        self.pulses.clear();
        self.pulses.extend(gradient.dense(&mut self.dense).iter().map(pulse));
        self.main.pulse_cells(self.main.granularity(), &self.pulses, key.named("main")).map_err(of("main"))
    }
}

impl<T: Scalar> Inspect<T> for Manhattan<T> {
    fn label(&self) -> String {
        "Manhattan".into()
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        vec![("main", &*self.main)]
    }

    /// A pulse, whatever the gradient.
    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let shape = self.main.shape();
        let mut sum = Operations::digital_gradient(shape, (steps, samples), 1, 0);
        sum.write_rounds = steps * shape.rows as u64;
        sum
    }

    fn effective_rates(&self, _: &Rates, _: usize) -> EffectiveRates {
        EffectiveRates::single(self.main.granularity().to_f64())
    }
}

impl<T: Scalar> State for Manhattan<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.nest("main", self.main.tensors());
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        self.main.load(&from.within("main"))
    }
}

impl<T: Scalar> Rule<T> for Manhattan<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
    }
}
