use super::super::cascade::NAMES;
use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use super::pair::{add_residual, rest, samples, subtract_column};
use super::residual_learning::mixed;
use super::transfer::{Transfer, Way};
use super::{at, check, learn, part};
use crate::Key;
use crate::error::{ParameterError, require, same_length};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};

/// Residual Learning with a chain of residual tiles: each learns what the next one still misses.
///
/// With P¹ next to W and Pᴺ meeting the gradient:
///
/// ```text
/// W̄ = W + Σₙ γⁿ (Pⁿ − W⋄)
/// Pᴺ ← Pᴺ + A(−α ∇f(W̄; ξ); Pᴺ)
/// Pⁿ ← Pⁿ + A(βₙ γ (Pⁿ⁺¹ − W⋄); Pⁿ)     n = N−1 … 1, the columns of this transfer
/// W  ← W  + A(β₀ γ (P¹ − W⋄); W)
/// ```
/// One residual tile is [`ResidualLearning`](super::ResidualLearning) to the bit.
#[derive(Debug)]
pub struct ResidualCascade {
    /// `arrays[0]` is W, `arrays[n]` is Pⁿ; `links[n]` leads from `arrays[n + 1]` to `arrays[n]`.
    arrays: Vec<Box<dyn Crossbar>>,
    links: Vec<Link>,
    mixing: f64,
    learning_rate: Schedule,
    scheme: Scheme,
}

/// A residual tile of a [`ResidualCascade`] and its way to the tile before it.
#[derive(Debug)]
pub struct Residual {
    /// The tile.
    pub array: Box<dyn Crossbar>,
    /// W⋄ of each of its cells; `None` where all are 0.
    pub symmetric_point: Option<Vec<f32>>,
    /// β towards the tile before it.
    pub transfer_rate: Schedule,
    /// How it gets there.
    pub transfer: Transfer,
}

#[derive(Debug)]
struct Link {
    way: Way,
    symmetric_point: Option<Vec<f32>>,
    transfer_rate: Schedule,
}

impl ResidualCascade {
    /// `residuals[0]` is next to `main`, the last one meets the gradient.
    ///
    /// # Errors
    /// If there is no residual tile or more than eight, shapes differ, `mixing` is not positive, or a rate or transfer is
    /// impossible.
    pub fn new(
        main: impl Crossbar + 'static,
        residuals: Vec<Residual>,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        scheme: impl Into<Scheme>,
    ) -> Result<Self, ParameterError> {
        mixed(mixing)?;
        let count = residuals.len();
        let possible = (1..NAMES.len()).contains(&count);
        require(possible, "number of residual arrays", "between 1 and 8", count as f64)?;
        let (rows, cols) = (main.rows(), main.cols());
        let mut arrays: Vec<Box<dyn Crossbar>> = vec![Box::new(main)];
        let mut links = Vec::new();
        for Residual { array, symmetric_point, transfer_rate, transfer } in residuals {
            same_length("residual rows", rows, array.rows())?;
            same_length("residual columns", cols, array.cols())?;
            if let Some(point) = &symmetric_point {
                same_length("symmetric_point", rows * cols, point.len())?;
            }
            let transfer_rate = transfer_rate.validate()?;
            links.push(Link { way: Way::new(transfer, rows, cols)?, symmetric_point, transfer_rate });
            arrays.push(array);
        }
        let learning_rate = learning_rate.into().validate()?;
        Ok(Self { arrays, links, mixing, learning_rate, scheme: scheme.into() })
    }
}

impl UpdateRule<f32> for ResidualCascade {
    fn dim(&self) -> usize {
        self.arrays[0].weights().len()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(self.arrays[0].weights());
        let mut factor = 1.0;
        for (p, link) in self.arrays[1..].iter().zip(&self.links) {
            factor *= self.mixing;
            add_residual(factor as f32, p.weights(), link.symmetric_point.as_deref(), out);
        }
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_, f32>, key: Key) -> Result<(), StepError> {
        let last = self.links.len();
        let (rows, cols) = (self.arrays[0].rows(), self.arrays[0].cols());
        check(gradient, rows, cols).map_err(at(NAMES[last], k))?;
        let samples = samples(gradient);
        let mut from = 0;
        while from < samples {
            let room = self.links.iter().map(|l| l.way.pace.room()).min().unwrap_or(usize::MAX);
            let to = samples.min(from.saturating_add(room));
            let key = key.fold(from as u64);
            let rate = -self.learning_rate.at(k) as f32;
            let gradient = part(gradient, from, to);
            learn(&mut *self.arrays[last], rate, gradient, self.scheme, key.named(NAMES[last]))
                .map_err(at(NAMES[last], k))?;
            for n in (0..last).rev() {
                let link = &mut self.links[n];
                if link.way.pace.is_due(to - from, to == samples) {
                    let rate = (link.transfer_rate.at(k) * self.mixing) as f32;
                    let (before, after) = self.arrays.split_at_mut(n + 1);
                    let point = link.symmetric_point.as_deref();
                    link.way
                        .run(rate, &*after[0], &mut *before[n], key.named(NAMES[n]), &mut |read| {
                            if let Some(point) = point {
                                subtract_column(read, point, cols);
                            }
                        })
                        .map_err(at(NAMES[n], k))?;
                }
            }
            from = to;
        }
        Ok(())
    }

    fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.arrays[0].program(weights, key.named("main"))?;
        for ((array, link), name) in self.arrays[1..].iter_mut().zip(&mut self.links).zip(&NAMES[1..]) {
            rest(&mut **array, link.symmetric_point.as_deref(), key.named(name))?;
            link.way.forget();
        }
        Ok(())
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some(self.arrays[0].range())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        NAMES.iter().copied().zip(self.arrays.iter().map(|a| a.weights())).collect()
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        let Link { way, transfer_rate, .. } = &self.links[0];
        EffectiveRates {
            learning: self.learning_rate.at(k),
            transfer: Some(transfer_rate.at(k) * self.mixing * way.share()),
            sweep: way.sweep(),
        }
    }

    fn age(&mut self, key: Key) {
        for (name, array) in NAMES.iter().zip(&mut self.arrays) {
            array.age(key.named(name));
        }
    }

    fn pulses_sent(&self) -> u64 {
        self.arrays.iter().map(|a| a.pulses_sent()).sum()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        for (name, array) in NAMES.iter().zip(&mut self.arrays) {
            array.slots(&mut slot::within(name, visit));
        }
        for (name, link) in NAMES.iter().zip(&mut self.links) {
            link.way.state(&mut slot::within(&format!("transfer_to_{name}"), visit));
        }
    }

    fn label(&self) -> String {
        format!("Residual cascade ({} tiles)", self.arrays.len())
    }
}
