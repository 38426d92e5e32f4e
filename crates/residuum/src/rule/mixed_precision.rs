use super::source::Optimizer;
use super::transfer::{Every, Pace};
use super::{EffectiveRates, Gradient, Inspect, Operations, Rates, Rule, Source, StepError, UpdateRule, of};
use crate::array::Array;
use crate::error::{ParameterError, positive, require};
use crate::simd::vectorized;
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// Coarse levels for the factors of a digital outer product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantize {
    /// Number of levels between the largest value and its negative, at least 2.
    pub levels: u32,
    /// Whether rounding is stochastic.
    pub stochastic: bool,
}

/// Mixed precision (Nandakumar et al. 2020): gradients are summed in digital memory, and whole pulses of the sum go to W.
///
/// ```text
/// χ ← χ + ΔW                          −α∇f(W; ξ) of SGD, whose factors may be quantised, or the step of another Source
/// n = trunc(χ/ε);  χ ← χ − nε
/// W ← W + A(nε; W)                    row by row
/// ```
#[derive(Debug)]
pub struct MixedPrecision<T: Scalar = f64> {
    main: Box<dyn Array<T>>,
    /// ε.
    granularity: T,
    pace: Pace,
    optimizer: Optimizer<T>,
    quantize: [Option<Quantize>; 2],
    sum: Vec<T>,
    pulses: Vec<T>,
    factors: [Vec<T>; 2],
}

/// Settings of [`MixedPrecision`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixedConfig {
    /// How often pulses are sent.
    pub every: Every,
    /// ε, the increment one pulse stands for; by default the mean step of the array.
    pub granularity: Option<f64>,
    /// Levels of errors.
    pub quantize_errors: Option<Quantize>,
    /// Levels of inputs.
    pub quantize_inputs: Option<Quantize>,
    /// Where ΔW comes from; by default SGD.
    pub source: Source,
}

impl Default for MixedConfig {
    fn default() -> Self {
        Self {
            every: Every::Steps(1),
            granularity: None,
            quantize_errors: None,
            quantize_inputs: None,
            source: Source::Sgd,
        }
    }
}

impl<T: Scalar> MixedPrecision<T> {
    /// Sums gradients in digital memory and sends pulses to `main`.
    ///
    /// # Errors
    /// If ε is not positive, the interval is 0, there are fewer than 2 levels, or a number of the source is invalid.
    pub fn new(main: impl Array<T> + 'static, config: MixedConfig) -> Result<Self, ParameterError> {
        let MixedConfig { every, granularity, quantize_errors, quantize_inputs, source } = config;
        for q in [quantize_errors, quantize_inputs].into_iter().flatten() {
            require(q.levels >= 2, "levels", "at least 2", f64::from(q.levels))?;
        }
        let granularity = match granularity {
            Some(granularity) => T::from_f64(positive("granularity", granularity)?),
            None => main.granularity(),
        };
        let cells = main.weights().len();
        Ok(Self {
            granularity,
            pace: Pace::new(every)?,
            optimizer: Optimizer::new(source, cells)?,
            quantize: [quantize_errors, quantize_inputs],
            sum: vec![T::ZERO; cells],
            pulses: vec![T::ZERO; cells],
            factors: [Vec::new(), Vec::new()],
            main: Box::new(main),
        })
    }

    /// χ ← χ − rate·gradient.
    fn accumulate(&mut self, rate: T, gradient: Gradient<'_, T>, key: Key) {
        let shape = self.main.shape();
        match gradient {
            Gradient::Dense(gradient) => {
                vectorized(|| self.sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum -= rate * *g));
            }
            Gradient::Outer { errors, inputs, .. } => {
                let [e, x] = &mut self.factors;
                quantized(self.quantize[0], errors, shape.rows, key.named("errors"), e);
                quantized(self.quantize[1], inputs, shape.cols, key.named("inputs"), x);
                let sum = &mut self.sum;
                vectorized(|| {
                    for (e, x) in e.chunks_exact(shape.rows).zip(x.chunks_exact(shape.cols)) {
                        for (row, e) in sum.chunks_exact_mut(shape.cols).zip(e) {
                            if *e != T::ZERO {
                                let scale = rate * *e;
                                row.iter_mut().zip(x).for_each(|(sum, x)| *sum -= scale * *x);
                            }
                        }
                    }
                });
            }
        }
    }

    /// χ ← χ − rate·D, with D what the optimiser makes of the gradient of a whole mini-batch.
    fn accumulate_step(&mut self, rate: T, gradient: Gradient<'_, T>, key: Key) {
        let shape = self.main.shape();
        let [e, x] = &mut self.factors;
        let gradient = match gradient {
            Gradient::Outer { batch, errors, inputs } if self.quantize.iter().any(Option::is_some) => {
                quantized(self.quantize[0], errors, shape.rows, key.named("errors"), e);
                quantized(self.quantize[1], inputs, shape.cols, key.named("inputs"), x);
                Gradient::Outer { batch, errors: e, inputs: x }
            }
            gradient => gradient,
        };
        self.optimizer.accumulate(rate, gradient, self.main.weights(), &mut self.sum);
    }

    /// Sends the whole pulses of χ.
    fn transfer(&mut self, key: Key) -> Result<(), ParameterError> {
        let (sum, granularity) = (&mut self.sum, self.granularity);
        vectorized(|| {
            for (sum, pulses) in sum.iter_mut().zip(&mut self.pulses) {
                *pulses = (*sum / granularity).trunc();
                *sum -= *pulses * granularity;
            }
        });
        self.main.pulse_cells(self.granularity, &self.pulses, key)
    }
}

/// Rounds `signals` to the levels of `quantize`, scaled to the largest of each sample.
fn quantized<T: Scalar>(quantize: Option<Quantize>, signals: &[T], lines: usize, key: Key, out: &mut Vec<T>) {
    out.clear();
    out.extend_from_slice(signals);
    let Some(Quantize { levels, stochastic }) = quantize else { return };
    let (half, middle) = (T::from_f64(f64::from(levels / 2)), T::from_f64(0.5));
    for (sample, values) in out.chunks_exact_mut(lines).enumerate() {
        let peak = values.iter().fold(T::ZERO, |m, v| m.max(v.abs()));
        let width = if peak > T::ZERO { peak / half } else { T::ONE };
        for (i, v) in values.iter_mut().enumerate() {
            let offset = if stochastic {
                T::from_f64(key.fold(sample as u64).uniform_at(i as u64)) - middle
            } else {
                T::ZERO
            };
            *v = (*v / width + offset).round_ties_even().clamp(-half, half) * width;
        }
    }
}

impl<T: Scalar> UpdateRule<T> for MixedPrecision<T> {
    fn effective_weights(&self) -> &[T] {
        self.main.weights()
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        self.main.check_gradient(gradient).map_err(of("main"))?;
        let samples = gradient.samples();
        if !self.optimizer.is_sgd() {
            // What needs the sum of a batch counts its samples at once.
            let key = gradient.key(key, 0);
            self.accumulate_step(T::from_f64(rates.learning), gradient, key.named("sum"));
            if self.pace.is_due(samples, true) {
                self.transfer(key.named("main")).map_err(of("main"))?;
            }
            return Ok(());
        }
        let mut from = 0;
        while from < samples {
            let to = samples.min(from.saturating_add(self.pace.samples_until_check()));
            let key = gradient.key(key, from);
            self.accumulate(T::from_f64(rates.learning), gradient.chunk(from, to), key.named("sum"));
            if self.pace.is_due(to - from, to == samples) {
                self.transfer(key.named("main")).map_err(of("main"))?;
            }
            from = to;
        }
        Ok(())
    }
}

impl<T: Scalar> Inspect<T> for MixedPrecision<T> {
    fn label(&self) -> String {
        if self.optimizer.is_sgd() {
            return "Mixed precision".into();
        }
        format!("Mixed precision with {}", self.optimizer.label())
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        vec![("main", &*self.main)]
    }

    fn states(&self) -> Vec<(&'static str, &[T])> {
        vec![("main", self.main.weights()), ("sum", &self.sum)]
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let shape = self.main.shape();
        let (per_weight, words) = self.optimizer.work();
        // χ is read and written with every gradient; at a transfer it is divided and rows are pulsed.
        let mut sum = Operations::digital_gradient(shape, (steps, samples), per_weight + 1, words + 1);
        let transfers = self.pace.times(steps, samples);
        let cells = (shape.rows * shape.cols) as u64;
        sum.digital += 3 * transfers * cells;
        sum.bytes += 8 * transfers * cells;
        sum.write_rounds = transfers * shape.rows as u64;
        sum
    }

    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates {
        let transfers = self.pace.per_step(batch);
        let sweep = (1.0 / transfers).ceil() as u64;
        EffectiveRates { learning: rates.learning, transfer: Some(transfers), sweep }
    }
}

impl<T: Scalar> State for MixedPrecision<T> {
    fn tensors(&self) -> Tensors {
        let shape = self.main.shape();
        let mut tensors = Tensors::new();
        tensors.nest("main", self.main.tensors());
        tensors.matrix("sum", [shape.rows, shape.cols], &self.sum);
        self.pace.save(&mut tensors);
        self.optimizer.save(&mut tensors);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        self.main.load(&from.within("main"))?;
        from.read("sum", &mut self.sum);
        self.pace.restore(from);
        self.optimizer.restore(from);
        Ok(())
    }
}

impl<T: Scalar> Rule<T> for MixedPrecision<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        self.sum.fill(T::ZERO);
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
