use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use super::pair::samples;
use super::transfer::{Every, Pace};
use super::{at, check, part};
use crate::Key;
use crate::error::{ParameterError, positive, require};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};

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
/// χ ← χ − α ∇f(W; ξ)                 its factors may be quantised
/// n = trunc(χ/ε);  χ ← χ − nε
/// W ← W + A(nε; W)                    row by row
/// ```
#[derive(Debug)]
pub struct MixedPrecision {
    main: Box<dyn Crossbar>,
    learning_rate: Schedule,
    scheme: Scheme,
    /// ε.
    granularity: f32,
    pace: Pace,
    quantize: [Option<Quantize>; 2],
    sum: Vec<f32>,
    pulses: Vec<f32>,
    one_hot: Vec<f32>,
    factors: [Vec<f32>; 2],
}

impl MixedPrecision {
    /// α = `learning_rate`; ε is the mean step of `main`; `scheme` writes it.
    ///
    /// # Errors
    /// If the rate or the interval is impossible.
    pub fn new(
        main: impl Crossbar + 'static,
        learning_rate: impl Into<Schedule>,
        every: Every,
        scheme: impl Into<Scheme>,
    ) -> Result<Self, ParameterError> {
        Ok(Self {
            learning_rate: learning_rate.into().validate()?,
            scheme: scheme.into(),
            granularity: main.granularity(),
            pace: Pace::new(every)?,
            quantize: [None; 2],
            sum: vec![0.0; main.weights().len()],
            pulses: vec![0.0; main.cols()],
            one_hot: vec![0.0; main.rows()],
            factors: [Vec::new(), Vec::new()],
            main: Box::new(main),
        })
    }

    /// Another ε.
    ///
    /// # Errors
    /// If it is not positive.
    pub fn granularity(mut self, granularity: f64) -> Result<Self, ParameterError> {
        self.granularity = positive("granularity", granularity)? as f32;
        Ok(self)
    }

    /// Quantised errors and inputs.
    ///
    /// # Errors
    /// If there are fewer than 2 levels.
    pub fn quantize(
        mut self,
        errors: Option<Quantize>,
        inputs: Option<Quantize>,
    ) -> Result<Self, ParameterError> {
        for q in [errors, inputs].into_iter().flatten() {
            require(q.levels >= 2, "levels", "at least 2", f64::from(q.levels))?;
        }
        self.quantize = [errors, inputs];
        Ok(self)
    }

    /// χ ← χ − rate·gradient.
    fn accumulate(&mut self, rate: f32, gradient: Gradient<'_, f32>, key: Key) {
        let (rows, cols) = (self.main.rows(), self.main.cols());
        match gradient {
            Gradient::Dense(gradient) => {
                for (sum, g) in self.sum.iter_mut().zip(gradient) {
                    *sum -= rate * g;
                }
            }
            Gradient::Outer { errors, inputs, .. } => {
                let [e, x] = &mut self.factors;
                quantized(self.quantize[0], errors, rows, key.named("errors"), e);
                quantized(self.quantize[1], inputs, cols, key.named("inputs"), x);
                for (e, x) in e.chunks_exact(rows).zip(x.chunks_exact(cols)) {
                    for (row, e) in self.sum.chunks_exact_mut(cols).zip(e) {
                        if *e != 0.0 {
                            let scale = rate * e;
                            for (sum, x) in row.iter_mut().zip(x) {
                                *sum -= scale * x;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Sends the whole pulses of χ.
    fn transfer(&mut self, key: Key) -> Result<(), ParameterError> {
        let cols = self.pulses.len();
        for (row, sums) in self.sum.chunks_exact_mut(cols).enumerate() {
            let mut any = false;
            for (sum, pulses) in sums.iter_mut().zip(&mut self.pulses) {
                *pulses = (*sum / self.granularity).trunc();
                *sum -= *pulses * self.granularity;
                any |= *pulses != 0.0;
            }
            if any {
                self.one_hot[row] = 1.0;
                let key = key.fold(row as u64);
                self.main.update(self.granularity, &self.one_hot, &self.pulses, self.scheme, key)?;
                self.one_hot[row] = 0.0;
            }
        }
        Ok(())
    }
}

/// `signals` sample by sample on the levels of `quantize`, scaled to the largest of each sample.
fn quantized(quantize: Option<Quantize>, signals: &[f32], lines: usize, key: Key, out: &mut Vec<f32>) {
    out.clear();
    out.extend_from_slice(signals);
    let Some(Quantize { levels, stochastic }) = quantize else { return };
    let half = (levels / 2) as f32;
    for (sample, values) in out.chunks_exact_mut(lines).enumerate() {
        let peak = values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let width = if peak > 0.0 { peak / half } else { 1.0 };
        for (i, v) in values.iter_mut().enumerate() {
            let offset =
                if stochastic { key.fold(sample as u64).uniform_at(i as u64) as f32 - 0.5 } else { 0.0 };
            *v = (*v / width + offset).round_ties_even().clamp(-half, half) * width;
        }
    }
}

impl UpdateRule<f32> for MixedPrecision {
    fn dim(&self) -> usize {
        self.main.weights().len()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(self.main.weights());
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_, f32>, key: Key) -> Result<(), StepError> {
        check(gradient, self.main.rows(), self.main.cols()).map_err(at("main", k))?;
        let samples = samples(gradient);
        let mut from = 0;
        while from < samples {
            let to = samples.min(from.saturating_add(self.pace.room()));
            let key = key.fold(from as u64);
            self.accumulate(self.learning_rate.at(k) as f32, part(gradient, from, to), key.named("sum"));
            if self.pace.is_due(to - from, to == samples) {
                self.transfer(key.named("main")).map_err(at("main", k))?;
            }
            from = to;
        }
        Ok(())
    }

    fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        self.sum.fill(0.0);
        Ok(())
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some(self.main.range())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        vec![("main", self.main.weights()), ("sum", &self.sum)]
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates {
            learning: self.learning_rate.at(k),
            transfer: Some(1.0 / self.pace.period() as f64),
            sweep: self.pace.period(),
        }
    }

    fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
    }

    fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        visit("sum", Slot::Floats(&mut self.sum));
        self.pace.state(visit);
    }

    fn label(&self) -> String {
        "Mixed precision".into()
    }
}
