//! The simulations behind the paper's small figures; the lab draws them.

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Linear, Power};
use residuum::rule::{Analog, Digital, Rates, ResidualConfig, ResidualLearning, Rule, Source};
use residuum::{Control, ExactArray, Key, Noise, Noisy, Objective, UpdateRule, minimize, minimize_observed};

use crate::ClaimError;

/// Replicas of the toy, ½h(w − W*)² with Gaussian noise, each a coordinate of one separable problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToyReplicas {
    /// h.
    pub curvature: f64,
    /// W*.
    pub minimizer: f64,
    /// W₀.
    pub initial: f64,
    /// P₀.
    pub initial_residual: f64,
    /// α and β.
    pub rates: [f64; 2],
    /// γ.
    pub mixing: f64,
    /// Of all cells.
    pub response: Power,
    /// Steps of each rule.
    pub steps: u64,
    /// σ of the noise.
    pub deviation: f64,
    /// How many.
    pub replicas: usize,
}

/// Where replicas end, one value for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToyEnds {
    /// W of Digital SGD.
    pub digital: Vec<f64>,
    /// W of Analog SGD.
    pub analog: Vec<f64>,
    /// W of Residual Learning.
    pub main: Vec<f64>,
    /// W̄ of Residual Learning.
    pub effective: Vec<f64>,
    /// P of Residual Learning.
    pub residual: Vec<f64>,
}

impl ToyReplicas {
    /// Three rules side by side on the same noise.
    ///
    /// # Errors
    /// If a number is impossible.
    pub fn run(&self, key: Key) -> Result<ToyEnds, ClaimError> {
        let initial = vec![self.initial; self.replicas];
        let main = ExactArray::uniform(&initial, self.response)?;
        let residual = ExactArray::uniform(&vec![self.initial_residual; self.replicas], self.response)?;
        let mut digital = Digital::new(&initial, Source::Sgd)?;
        let mut analog = Analog::sgd(main.clone());
        let mut learning = ResidualLearning::new(main, residual, ResidualConfig::mixing(self.mixing))?;
        let objective = DiagonalQuadratic::replicas(self.curvature, self.minimizer, self.replicas)?;
        let problem = Noisy::new(Arc::new(objective), Noise::Gaussian { deviation: self.deviation })?;
        let rates = Rates::new(self.rates[0], self.rates[1]);
        minimize(&problem, &mut [&mut digital, &mut analog, &mut learning], &rates, self.steps, key)?;
        let effective = |rule: &dyn UpdateRule| rule.effective_weights().to_vec();
        Ok(ToyEnds {
            digital: effective(&digital),
            analog: effective(&analog),
            main: learning.main().weights().to_vec(),
            effective: effective(&learning),
            residual: learning.residual().weights().to_vec(),
        })
    }
}

/// Residual Learning on one problem under several hardware condition numbers, which meet the same noise.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionSweep<'a> {
    /// κ₂ of each array.
    pub hardware_conditions: &'a [f64],
    /// Where cells are clipped.
    pub radius: f64,
    /// W₀ and P₀.
    pub initial: [f64; 2],
    /// α and β.
    pub rates: [f64; 2],
    /// γ.
    pub mixing: f64,
    /// σ of the noise.
    pub deviation: f64,
    /// Steps of each.
    pub steps: u64,
}

impl ConditionSweep<'_> {
    /// f(W̄) after 0, 1, … steps, one curve for each κ₂.
    ///
    /// # Errors
    /// If a number is impossible.
    pub fn run(&self, objective: DiagonalQuadratic, key: Key) -> Result<Vec<Vec<f64>>, ClaimError> {
        let objective = Arc::new(objective);
        let mut rules = Vec::new();
        for condition in self.hardware_conditions {
            let response = Linear::with_condition(*condition, self.radius)?;
            let array = |initial: f64| ExactArray::uniform(&vec![initial; objective.dim()], response);
            let [main, residual] = self.initial;
            let config = ResidualConfig::mixing(self.mixing);
            rules.push(ResidualLearning::new(array(main)?, array(residual)?, config)?);
        }
        let noise = match self.deviation {
            0.0 => Noise::None,
            deviation => Noise::Gaussian { deviation },
        };
        let problem = Noisy::new(objective.clone(), noise)?;
        let mut curves = vec![Vec::new(); rules.len()];
        let mut record = |_: u64, index: usize, rule: &dyn Rule| {
            curves[index].push(objective.value(rule.effective_weights()));
            Control::Continue
        };
        let mut rules: Vec<&mut dyn Rule> = rules.iter_mut().map(|rule| rule as &mut dyn Rule).collect();
        let rates = Rates::new(self.rates[0], self.rates[1]);
        minimize_observed(&problem, &mut rules, &rates, 0..self.steps, key, &mut record)?;
        Ok(curves)
    }
}
