use super::source::Optimizer;
use super::{EffectiveRates, Gradient, Inspect, Operations, Rates, Rule, Source, StepError, UpdateRule, of};
use crate::array::Array;
use crate::error::{ParameterError, same_length};
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// `W_{k+1} = W_k + ΔW_k` in digital memory (`recursion:digital-SGD`).
#[derive(Clone, Debug)]
pub struct Digital<T = f64> {
    weights: Vec<T>,
    optimizer: Optimizer<T>,
    dense: Vec<T>,
}

impl<T: Scalar> Digital<T> {
    /// Starts at `initial`.
    ///
    /// # Errors
    /// If an initial weight is not finite, or a parameter of the source is invalid.
    pub fn new(initial: &[T], source: Source) -> Result<Self, ParameterError> {
        T::all_finite("initial", initial)?;
        let optimizer = Optimizer::new(source, initial.len())?;
        Ok(Self { weights: initial.to_vec(), optimizer, dense: Vec::new() })
    }
}

impl<T: Scalar> UpdateRule<T> for Digital<T> {
    fn effective_weights(&self) -> &[T] {
        &self.weights
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, _: Key) -> Result<(), StepError> {
        let length = match gradient {
            Gradient::Dense(gradient) => gradient.len(),
            Gradient::Outer { batch, errors, inputs } => {
                errors.len() / batch.max(1) * (inputs.len() / batch.max(1))
            }
        };
        same_length("gradient", self.weights.len(), length).map_err(of("main"))?;
        let scale = T::from_f64(-rates.learning);
        let direction = self.optimizer.direction(gradient, &self.weights).dense(&mut self.dense);
        for (w, d) in self.weights.iter_mut().zip(direction) {
            *w += scale * *d;
        }
        Ok(())
    }
}

impl<T: Scalar> Inspect<T> for Digital<T> {
    fn label(&self) -> String {
        format!("Digital {}", self.optimizer.label())
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        Vec::new()
    }

    fn states(&self) -> Vec<(&'static str, &[T])> {
        vec![("main", &self.weights)]
    }

    fn effective_rates(&self, rates: &Rates, _: usize) -> EffectiveRates {
        EffectiveRates::single(rates.learning)
    }
}

impl<T: Scalar> State for Digital<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.vector("main.weights", &self.weights);
        self.optimizer.save(&mut tensors);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        from.read("main.weights", &mut self.weights);
        self.optimizer.restore(from);
        Ok(())
    }
}

impl<T: Scalar> Rule<T> for Digital<T> {
    fn program(&mut self, weights: &[T], _: Key) -> Result<(), ParameterError> {
        same_length("weights", self.weights.len(), weights.len())?;
        T::all_finite("weights", weights)?;
        self.weights.copy_from_slice(weights);
        self.optimizer.forget();
        Ok(())
    }
}

/// The same desired steps written to an analog array: with SGD as the source this is Analog SGD
/// (`recursion:analog-SGD`), with another it is that optimiser under in-situ dynamics.
#[derive(Debug)]
pub struct Analog<T: Scalar = f64> {
    main: Box<dyn Array<T>>,
    optimizer: Optimizer<T>,
}

impl<T: Scalar> Analog<T> {
    /// Trains the weights of `main` in place.
    ///
    /// # Errors
    /// If a parameter of the source is invalid.
    pub fn new(main: impl Array<T> + 'static, source: Source) -> Result<Self, ParameterError> {
        Ok(Self { optimizer: Optimizer::new(source, main.weights().len())?, main: Box::new(main) })
    }

    /// Analog SGD.
    pub fn sgd(main: impl Array<T> + 'static) -> Self {
        Self { optimizer: Optimizer::sgd(), main: Box::new(main) }
    }

    /// The array.
    pub fn main(&self) -> &dyn Array<T> {
        &*self.main
    }
}

impl<T: Scalar> UpdateRule<T> for Analog<T> {
    fn effective_weights(&self) -> &[T] {
        self.main.weights()
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        self.main.check_gradient(gradient).map_err(of("main"))?;
        let (scale, key) = (T::from_f64(-rates.learning), key.named("main"));
        match self.optimizer.direction(gradient, self.main.weights()) {
            Gradient::Dense(direction) => self.main.increment(scale, direction, key),
            Gradient::Outer { errors, inputs, .. } => self.main.update(scale, errors, inputs, key),
        }
        .map_err(of("main"))
    }
}

impl<T: Scalar> Inspect<T> for Analog<T> {
    fn label(&self) -> String {
        format!("Analog {}", self.optimizer.label())
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        vec![("main", &*self.main)]
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let shape = self.main.shape();
        if self.optimizer.is_sgd() {
            return Operations::outer(shape, samples);
        }
        let (per_weight, words) = self.optimizer.work();
        let mut sum = Operations::digital_gradient(shape, (steps, samples), per_weight, words);
        sum.write_rounds = steps * shape.rows as u64;
        sum
    }

    fn effective_rates(&self, rates: &Rates, _: usize) -> EffectiveRates {
        EffectiveRates::single(rates.learning)
    }
}

impl<T: Scalar> State for Analog<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.nest("main", self.main.tensors());
        self.optimizer.save(&mut tensors);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        self.main.load(&from.within("main"))?;
        self.optimizer.restore(from);
        Ok(())
    }
}

impl<T: Scalar> Rule<T> for Analog<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        self.optimizer.forget();
        Ok(())
    }

    fn set_units(&mut self, units: &[T]) {
        self.optimizer.set_units(units);
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
    }
}
