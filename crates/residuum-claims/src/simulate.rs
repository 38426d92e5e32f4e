//! Independent replicas of a scalar problem, one per coordinate, in blocks that run in parallel.

use std::sync::Arc;

use rayon::prelude::*;
use residuum::cells::Uniform;
use residuum::error::ParameterError;
use residuum::numeric::find_root;
use residuum::objective::DiagonalQuadratic;
use residuum::rule::{self, Analog, ResidualConfig, ResidualLearning, Rule};
use residuum::stats::Summary;
use residuum::theory::residual_law::LawRates;
use residuum::{Control, ExactArray, Key, Noise, Noisy, ResponseFunction, Update, minimize_observed};

use crate::ClaimError;
use crate::context::{Bench, Context, Device};
use residuum::progress::Cancelled;

/// Replicas simulated together. Part of the meaning of a key: changing it changes every seeded number.
const BLOCK: usize = 250;

/// Steps between two checks for cancellation.
const PATIENCE: u64 = 256;

/// Where the replicas of one rule ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// W.
    pub(crate) main: Vec<f64>,
    /// P; empty for rules without one.
    pub(crate) residual: Vec<f64>,
    /// W̄.
    pub(crate) effective: Vec<f64>,
    /// Average of W̄ over the last quarter of the steps.
    pub(crate) tail: Vec<f64>,
    /// Average of W̄² over the same steps.
    pub(crate) tail_square: Vec<f64>,
}

impl Ends {
    fn append(&mut self, mut other: Self) {
        self.main.append(&mut other.main);
        self.residual.append(&mut other.residual);
        self.effective.append(&mut other.effective);
        self.tail.append(&mut other.tail);
        self.tail_square.append(&mut other.tail_square);
    }
}

/// Mean of a sample.
pub(crate) fn mean(sample: &[f64]) -> Summary {
    Summary::of(sample.iter().copied())
}

/// Mean of a sample, measured from `origin`.
pub(crate) fn mean_from(sample: &[f64], origin: f64) -> Summary {
    Summary::of(sample.iter().map(|x| x - origin))
}

/// A rule and its rates.
pub(crate) type Rated = (Box<dyn Rule>, rule::Rates);

/// A problem and the rules that meet it on common random numbers.
pub(crate) type Setting = (Noisy, Vec<Rated>);

/// Runs `replicas` copies of what `build` makes for a given number of coordinates, `width` coordinates per replica.
pub(crate) fn replicate(
    context: &Context,
    key: Key,
    (replicas, width): (usize, usize),
    steps: u64,
    build: impl Fn(usize) -> Result<Setting, ParameterError> + Sync,
) -> Result<Vec<Ends>, ClaimError> {
    // Wrong hardware shows with fewer.
    let wrong = matches!(context.bench, Bench::SwappedBranches | Bench::Overstep);
    let replicas = if wrong { replicas.div_ceil(4) } else { replicas };
    let per_block = (BLOCK / width).max(1);
    let blocks: Vec<Vec<Ends>> = (0..replicas.div_ceil(per_block))
        .into_par_iter()
        .map(|block| {
            let size = per_block.min(replicas - block * per_block);
            let (problem, mut rules) = build(size * width)?;
            run(context, &problem, &mut rules, steps, key.fold(block as u64))
        })
        .collect::<Result<_, ClaimError>>()?;
    let mut all = vec![Ends::default(); blocks.first().map_or(0, Vec::len)];
    for block in blocks {
        all.iter_mut().zip(block).for_each(|(all, ends)| all.append(ends));
    }
    Ok(all)
}

/// Runs the rules on one problem and returns where they end.
pub(crate) fn run(
    context: &Context,
    problem: &Noisy,
    rules: &mut [Rated],
    steps: u64,
    key: Key,
) -> Result<Vec<Ends>, ClaimError> {
    let dim = problem.objective().dim();
    let from = steps - steps / 4;
    let mut sums = vec![vec![(0.0, 0.0); dim]; rules.len()];
    let mut look = |k: u64, index: usize, rule: &dyn Rule| {
        if k > from {
            for (sum, w) in sums[index].iter_mut().zip(rule.effective_weights()) {
                *sum = (sum.0 + w, sum.1 + w * w);
            }
        }
        let stop = k.is_multiple_of(PATIENCE) && context.progress.cancelled();
        if stop { Control::Stop } else { Control::Continue }
    };
    let rates: Vec<rule::Rates> = rules.iter().map(|(_, rates)| *rates).collect();
    let mut borrowed: Vec<&mut dyn Rule> = Vec::with_capacity(rules.len());
    for (rule, _) in rules.iter_mut() {
        borrowed.push(&mut **rule);
    }
    if minimize_observed(problem, &mut borrowed, &rates, 0..steps, key, &mut look)? < steps {
        return Err(Cancelled.into());
    }
    let share = 1.0 / (steps / 4).max(1) as f64;
    let ends = rules.iter().zip(sums).map(|((rule, _), sum)| {
        let arrays = rule.states();
        Ends {
            main: arrays[0].1.to_vec(),
            residual: arrays.get(1).map_or(Vec::new(), |(_, state)| state.to_vec()),
            effective: rule.effective_weights().to_vec(),
            tail: sum.iter().map(|s| share * s.0).collect(),
            tail_square: sum.iter().map(|s| share * s.1).collect(),
        }
    });
    Ok(ends.collect())
}

/// The toy of the paper's first figure: ½h(w − W*)² under one noise law.
#[derive(Clone, Debug)]
pub(crate) struct Toy {
    pub(crate) curvature: f64,
    pub(crate) minimizer: f64,
    pub(crate) initial: f64,
    pub(crate) noise: Noise,
}

impl Toy {
    /// h = 1, W* = ½, started at 0.8, so that ending below ½ is attraction and not slowness.
    pub(crate) fn gaussian(deviation: f64) -> Self {
        Self { curvature: 1.0, minimizer: 0.5, initial: 0.8, noise: Noise::Gaussian { deviation } }
    }

    pub(crate) fn problem(&self, n: usize) -> Result<Noisy, ParameterError> {
        let objective = DiagonalQuadratic::replicas(self.curvature, self.minimizer, n)?;
        Noisy::new(Arc::new(objective), self.noise.clone())
    }

    /// E|∇f(w; ξ)|.
    pub(crate) fn magnitude(&self, w: f64) -> f64 {
        self.noise.expected_magnitude(self.curvature * (w - self.minimizer)).unwrap_or(f64::NAN)
    }

    /// T(w) on a device.
    pub(crate) fn drift(&self, device: &dyn ResponseFunction, w: f64) -> f64 {
        self.curvature * (w - self.minimizer) + self.magnitude(w) * device.asymmetry_ratio(w)
    }

    /// The zero of T between W⋄ and W*, NaN if there is none.
    pub(crate) fn fixed_point(&self, device: &dyn ResponseFunction) -> f64 {
        let point = device.symmetric_point().unwrap_or(0.0);
        find_root(|w| self.drift(device, w), point, self.minimizer).unwrap_or(f64::NAN)
    }

    /// How far the stationary mean of Analog SGD lies from the zero of T at finite α: −b''Var/(2b') with b = F·T, the
    /// mean velocity; and what is left of the start after `steps` steps.
    pub(crate) fn finite_rate_bias(
        &self,
        device: &dyn ResponseFunction,
        rate: f64,
        steps: u64,
        deviation: f64,
    ) -> f64 {
        let zero = self.fixed_point(device);
        let velocity = |w: f64| device.gain(w) * self.drift(device, w);
        let h = 1e-3;
        let slope = (velocity(zero + h) - velocity(zero - h)) / (2.0 * h);
        let bend = (velocity(zero + h) - 2.0 * velocity(zero) + velocity(zero - h)) / (h * h);
        let remaining = (-rate * slope * steps as f64).exp() * (self.initial - zero).abs();
        (0.5 * bend * deviation * deviation / slope).abs() + remaining
    }
}

/// An array of equal cells with the expected update.
pub(crate) fn array(initial: f64, device: Device, n: usize) -> Result<ExactArray, ParameterError> {
    ExactArray::new(&vec![initial; n], Arc::new(Uniform(device)), Update::Expected)
}

/// Analog SGD from the toy's start on the device under test.
pub(crate) fn analog(
    context: &Context,
    toy: &Toy,
    device: &Device,
    rate: f64,
    n: usize,
) -> Result<Rated, ParameterError> {
    let main = array(toy.initial, context.device(device), n)?;
    Ok((Box::new(Analog::sgd(main)), rule::Rates::learning(context.rate(rate))))
}

/// Residual Learning with both arrays on the device under test.
pub(crate) fn residual_learning(
    context: &Context,
    toy: &Toy,
    device: &Device,
    rates: LawRates,
    n: usize,
) -> Result<Rated, ParameterError> {
    let config = ResidualConfig::mixing(rates.mixing);
    residual_learning_by(context, toy, device, (rates, config), n)
}

/// The same with other numbers.
pub(crate) fn residual_learning_by(
    context: &Context,
    toy: &Toy,
    device: &Device,
    (rates, config): (LawRates, ResidualConfig),
    n: usize,
) -> Result<Rated, ParameterError> {
    let bench = context.device(device);
    let point = device.symmetric_point().unwrap_or(0.0);
    let (main, residual) = (array(toy.initial, bench.clone(), n)?, array(point, bench, n)?);
    Ok((Box::new(ResidualLearning::new(main, residual, config)?), of_step(context, rates)))
}

/// α and β of a step, as this bench has them.
pub(crate) fn of_step(context: &Context, rates: LawRates) -> rule::Rates {
    rule::Rates::new(context.rate(rates.learning_rate), context.rate(rates.transfer_rate))
}
