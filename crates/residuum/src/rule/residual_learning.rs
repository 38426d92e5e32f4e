use super::effective::Effective;
use super::source::Optimizer;
use super::symmetric_point::SymmetricPoint;
use super::transfer::{Link, Transfer};
use super::warm_start::{WarmStart, Warming};
use super::{
    EffectiveRates, Gradient, Inspect, MAX_LINKS, Operations, Rates, Rule, Source, StepError, UpdateRule, of,
};
use crate::array::Array;
use crate::error::{ParameterError, positive, require, same_length};
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// Residual Learning: P learns the residual of W, and W follows P.
///
/// ```text
/// W̄_k     = W_k + γ(P_k − W⋄)
/// P_{k+1} = P_k + A(−α ∇f(W̄_k; ξ_k); P_k)          recursion:HD-P
/// W_{k+1} = W_k + A(βγ(P_{k+1} − W⋄); W_k)          recursion:HD-W, the columns of this transfer
/// ```
/// With the whole array in every transfer this is the paper's recursion, with some columns the schedule of its hardware; with a
/// buffer it is version 2.
///
/// A [cascade](Self::cascade) has a chain of residual arrays, P¹ next to W and Pᴺ meeting the gradient; each learns what the
/// next one still misses, and two remove the √α bias of one to leading order (theory notes §10c):
///
/// ```text
/// W̄ = W + Σₙ γⁿ (Pⁿ − W⋄)
/// Pᴺ ← Pᴺ + A(−α ∇f(W̄; ξ); Pᴺ)
/// Pⁿ ← Pⁿ + A(βₙ γ (Pⁿ⁺¹ − W⋄); Pⁿ)     n = N−1 … 1
/// W  ← W  + A(β₀ γ (P¹ − W⋄); W)
/// ```
/// Each link may have its own period and rate, and a [warm start](Self::warm_start) fills the arrays one by one: multi-tile
/// Residual Learning (Li et al. 2025). W⋄ may be [tracked](SymmetricPoint::Tracked) instead of known: RIDER and E-RIDER.
#[derive(Debug)]
pub struct ResidualLearning<T: Scalar = f64> {
    /// `arrays[0]` is W, `arrays[n]` is Pⁿ; `links[n]` leads from `arrays[n + 1]` to `arrays[n]`.
    pub(super) arrays: Vec<Box<dyn Array<T>>>,
    pub(super) links: Vec<Link<T>>,
    /// What transfer rates are multiplied by: γ, or 1 where they are absolute.
    factor: f64,
    optimizer: Optimizer<T>,
    effective: Effective<T>,
    /// What the desired step of each cell that meets the gradient is divided by.
    gain: Option<Vec<T>>,
    warming: Option<Warming>,
    dense: [Vec<T>; 2],
}

/// Settings of [`ResidualLearning`].
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualConfig<T = f64> {
    /// γ, positive.
    pub mixing: f64,
    /// W⋄ that the rule subtracts; by default the cells' own.
    pub symmetric_point: SymmetricPoint<T>,
    /// From each array to the one before it; by default the whole array after every step.
    pub transfer: Transfer,
    /// Where the desired step of P comes from; by default SGD.
    pub source: Source,
    /// Beyond the paper: each cell's desired step is divided by its measured gain, first those of W, then those of the array
    /// that meets the gradient. Removes the κ₂ dependence that any scalar step has on an array of unequal gains (theory notes
    /// §10b).
    pub cell_gain: Option<[Vec<T>; 2]>,
}

impl<T> Default for ResidualConfig<T> {
    fn default() -> Self {
        Self {
            mixing: 1.0,
            symmetric_point: SymmetricPoint::Known,
            transfer: Transfer::default(),
            source: Source::Sgd,
            cell_gain: None,
        }
    }
}

impl<T> ResidualConfig<T> {
    /// γ, and defaults for everything else.
    pub fn mixing(mixing: f64) -> Self {
        Self { mixing, ..Self::default() }
    }
}

/// Names of the arrays.
const NAMES: [&str; MAX_LINKS + 1] = [
    "main",
    "residual",
    "residual_2",
    "residual_3",
    "residual_4",
    "residual_5",
    "residual_6",
    "residual_7",
    "residual_8",
];

impl<T: Scalar> ResidualLearning<T> {
    /// One residual array.
    ///
    /// # Errors
    /// If the arrays differ in shape, `mixing` is not positive (without mixing the rule is [`TikiTaka`](super::TikiTaka)), a
    /// cell has no symmetric point, or the transfer is invalid.
    pub fn new(
        main: impl Array<T> + 'static,
        residual: impl Array<T> + 'static,
        config: ResidualConfig<T>,
    ) -> Result<Self, ParameterError> {
        Self::cascade(main, vec![Box::new(residual)], config)
    }

    /// A chain of residual arrays: `residuals[0]` is next to `main`, the last one meets the gradient. A given symmetric point
    /// is that of each of them; a link may differ by [`symmetric_point`](Self::symmetric_point).
    ///
    /// # Errors
    /// As [`ResidualLearning::new`], or if there is no residual array or more than eight.
    pub fn cascade(
        main: impl Array<T> + 'static,
        residuals: Vec<Box<dyn Array<T>>>,
        config: ResidualConfig<T>,
    ) -> Result<Self, ParameterError> {
        require(
            config.mixing > 0.0 && config.mixing.is_finite(),
            "mixing",
            "positive and finite (without mixing the rule is Tiki-Taka v1: use TikiTaka)",
            config.mixing,
        )?;
        let factor = config.mixing;
        Self::chain(Box::new(main), residuals, config, factor)
    }

    /// The chain with transfer rates multiplied by `factor`.
    pub(super) fn chain(
        main: Box<dyn Array<T>>,
        mut residuals: Vec<Box<dyn Array<T>>>,
        config: ResidualConfig<T>,
        factor: f64,
    ) -> Result<Self, ParameterError> {
        let ResidualConfig { mixing, symmetric_point, transfer, source, cell_gain } = config;
        let (count, shape, cells) = (residuals.len(), main.shape(), main.weights().len());
        require(
            (1..=MAX_LINKS).contains(&count),
            "number of residual arrays",
            "between 1 and 8",
            count as f64,
        )?;
        let mut links = Vec::new();
        for residual in &mut residuals {
            same_length("residual rows", shape.rows, residual.shape().rows)?;
            same_length("residual columns", shape.cols, residual.shape().cols)?;
            let mut link = Link::new(&transfer, shape)?;
            assume(&mut link, &symmetric_point, &mut **residual, count)?;
            links.push(link);
        }
        let mut gain = None;
        if let Some([of_main, of_residual]) = cell_gain {
            for gains in [&of_main, &of_residual] {
                same_length("cell_gain", cells, gains.len())?;
                for g in gains {
                    positive("cell_gain", g.to_f64())?;
                }
            }
            links[0].gain = Some(of_main);
            gain = Some(of_residual);
        }
        let effective = Effective::new(mixing, count, &*main);
        let optimizer = Optimizer::new(source, cells)?;
        let arrays = std::iter::once(main).chain(residuals).collect();
        let mut rule = Self {
            arrays,
            links,
            factor,
            optimizer,
            effective,
            gain,
            warming: None,
            dense: Default::default(),
        };
        rule.refresh();
        Ok(rule)
    }

    /// Another symmetric point of residual array `n` (0 is next to W): each array of a cascade may have its own.
    ///
    /// # Errors
    /// If there is no such array, or as [`SymmetricPoint::resolve`].
    pub fn symmetric_point(mut self, n: usize, point: &SymmetricPoint<T>) -> Result<Self, ParameterError> {
        require(n < self.links.len(), "residual array", "below the number of residual arrays", n as f64)?;
        let count = self.links.len();
        assume(&mut self.links[n], point, &mut *self.arrays[n + 1], count)?;
        self.refresh();
        Ok(self)
    }

    /// Fills the arrays of a cascade one by one before the plain schedule begins. The losses come by [`Rule::epoch_ended`].
    ///
    /// # Errors
    /// If a number is invalid.
    pub fn warm_start(mut self, settings: WarmStart) -> Result<Self, ParameterError> {
        self.warming = Some(Warming::new(settings, self.links.len())?);
        Ok(self)
    }

    /// The array that a warm start is filling, main array 0; `None` once the plain schedule has begun.
    pub fn warm_start_stage(&self) -> Option<usize> {
        self.warming.as_ref().and_then(Warming::stage)
    }

    /// Another transfer from residual array `n` to the array before it.
    ///
    /// # Errors
    /// If there is no such array, or the transfer is invalid.
    pub fn transfer(mut self, n: usize, transfer: Transfer) -> Result<Self, ParameterError> {
        require(n < self.links.len(), "residual array", "below the number of residual arrays", n as f64)?;
        let mut link = Link::new(&transfer, self.arrays[0].shape())?;
        let old = &mut self.links[n];
        (link.point, link.gain) = (old.point.take(), old.gain.take());
        if let Some(tracker) = old.tracker.take() {
            let point = link.point.take();
            link.track(tracker.settings, point)?;
        }
        self.links[n] = link;
        self.refresh();
        Ok(self)
    }

    /// W.
    pub fn main(&self) -> &dyn Array<T> {
        &*self.arrays[0]
    }

    /// P, the one next to W.
    pub fn residual(&self) -> &dyn Array<T> {
        &*self.arrays[1]
    }

    /// W⋄ of P as assumed by the rule, Q where it is tracked; `None` where all are 0.
    pub fn assumed_symmetric_point(&self) -> Option<&[T]> {
        self.links[0].point.as_deref()
    }

    /// Recomputes the effective weights after unrecorded changes to the arrays.
    fn refresh(&mut self) {
        self.effective.all_written();
        self.effective.follow(&self.arrays, &self.links);
    }

    /// The samples between two transfers go to the last array, then due transfers follow.
    fn write(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        let last = self.links.len();
        let samples = gradient.samples();
        // The optimiser and per-cell gains need the sum of a batch; SGD alone writes it as it comes.
        let direction = self.optimizer.direction(gradient, self.effective.weights(&*self.arrays[0]));
        let direction = match &self.gain {
            None => direction,
            Some(gain) => {
                let [sum, divided] = &mut self.dense;
                divided.clear();
                divided.extend(direction.dense(sum).iter().zip(gain).map(|(d, g)| *d / *g));
                Gradient::Dense(divided)
            }
        };
        let count = direction.samples();
        let stage = self.warming.as_ref().and_then(Warming::stage);
        let mut from = 0;
        while from < count {
            let room = self.links.iter().map(|l| l.pace.samples_until_check()).min().unwrap_or(usize::MAX);
            let to = count.min(from.saturating_add(room));
            let key = gradient.key(key, from);
            let array = &mut self.arrays[last];
            let (mut scale, mut chunk) = (T::from_f64(-rates.learning), direction.chunk(from, to));
            if let Some(tracker) = &mut self.links[last - 1].tracker {
                scale = tracker.sign().map_or(scale, |sign| sign * scale);
                chunk = tracker.chop(chunk);
            }
            match chunk {
                Gradient::Dense(direction) => array.increment(scale, direction, key.named(NAMES[last])),
                Gradient::Outer { errors, inputs, .. } => {
                    array.update(scale, errors, inputs, key.named(NAMES[last]))
                }
            }
            .map_err(of(NAMES[last]))?;
            self.effective.residual_written(&**array);
            // A gradient with one entry per weight stands for all samples of its batch.
            let passed = if count == samples { to - from } else { samples };
            // While an array is filled, the array that learns transfers into it and the others wait.
            for n in (if stage.is_some() { last - 1 } else { 0 }..last).rev() {
                if self.links[n].pace.is_due(passed, to == count) {
                    let target = stage.unwrap_or(n);
                    let rate = T::from_f64(rates.transfer[n] * self.factor);
                    let (before, after) = self.arrays.split_at_mut(n + 1);
                    let effective = &mut self.effective;
                    let all = self.links[n]
                        .transfer(rate, &*after[0], &mut *before[target], key.named(NAMES[target]), |column| {
                            effective.column_written(column);
                        })
                        .map_err(of(NAMES[target]))?;
                    if all {
                        self.effective.all_written();
                    }
                }
            }
            from = to;
        }
        Ok(())
    }
}

/// Sets the point that a link subtracts, and how it is followed.
fn assume<T: Scalar>(
    link: &mut Link<T>,
    point: &SymmetricPoint<T>,
    array: &mut dyn Array<T>,
    residuals: usize,
) -> Result<(), ParameterError> {
    link.point = point.resolve(array)?;
    link.tracker = None;
    if let SymmetricPoint::Tracked { tracking, .. } = point {
        require(
            residuals == 1,
            "number of residual arrays",
            "1 where the symmetric point is tracked: the others of a cascade meet no noise that would draw them to theirs",
            residuals as f64,
        )?;
        let start = link.point.take();
        link.track(*tracking, start)?;
    }
    Ok(())
}

impl<T: Scalar> UpdateRule<T> for ResidualLearning<T> {
    fn effective_weights(&self) -> &[T] {
        self.effective.weights(&*self.arrays[0])
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        let last = self.links.len();
        self.arrays[last].check_gradient(gradient).map_err(of(NAMES[last]))?;
        if let Some(warming) = &mut self.warming {
            warming.count(gradient.samples());
        }
        let stepped = self.write(gradient, rates, key);
        self.effective.follow(&self.arrays, &self.links);
        stepped
    }
}

impl<T: Scalar> Inspect<T> for ResidualLearning<T> {
    fn label(&self) -> String {
        let version = if self.links[0].buffered() { " v2" } else { "" };
        match (self.links.len(), &self.links[0].tracker) {
            (1, Some(tracker)) if tracker.settings.chopper > 0.0 => format!("E-RIDER{version}"),
            (1, Some(_)) => format!("RIDER{version}"),
            (1, None) => format!("Residual Learning{version}"),
            (n, _) => format!("Residual cascade ({} arrays)", n + 1),
        }
    }

    fn states(&self) -> Vec<(&'static str, &[T])> {
        let arrays = self.arrays().into_iter().map(|(name, array)| (name, array.weights()));
        let tracked = self.links.iter().filter(|link| link.tracker.is_some());
        arrays.chain(tracked.filter_map(|link| Some(("symmetric_point", link.point.as_deref()?)))).collect()
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        NAMES.iter().copied().zip(self.arrays.iter().map(|array| &**array)).collect()
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let shape = self.arrays[0].shape();
        let mut sum = if self.optimizer.is_sgd() && self.gain.is_none() {
            Operations::outer(shape, samples)
        } else {
            let (per_weight, words) = self.optimizer.work();
            let mut digital = Operations::digital_gradient(shape, (steps, samples), per_weight, words);
            digital.write_rounds = steps * shape.rows as u64;
            digital
        };
        let last = self.links.len() - 1;
        for (n, link) in self.links.iter().enumerate() {
            // Until the arrays of a warm cascade are filled, the last link works alone.
            let waited = if n < last { self.warming.as_ref().map_or([0, 0], Warming::waited) } else { [0, 0] };
            let times = link.pace.times(steps.saturating_sub(waited[0]), samples.saturating_sub(waited[1]));
            sum += link.operations(times);
        }
        sum
    }

    fn arrays_read(&self) -> u64 {
        self.effective.arrays_read(self.arrays.len(), self.links[0].point.is_some())
    }

    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates {
        EffectiveRates {
            learning: rates.learning,
            transfer: Some(rates.transfer[0] * self.factor * self.links[0].fraction_per_step(batch)),
            sweep: self.links[0].sweep(batch),
        }
    }
}

impl<T: Scalar> State for ResidualLearning<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        for (name, array) in NAMES.iter().zip(&self.arrays) {
            tensors.nest(name, array.tensors());
        }
        for (name, link) in NAMES.iter().zip(&self.links) {
            tensors.nest(&format!("transfer_to_{name}"), link.tensors());
        }
        self.optimizer.save(&mut tensors);
        if let Some(warming) = &self.warming {
            warming.save(&mut tensors);
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        for (name, array) in NAMES.iter().zip(&mut self.arrays) {
            array.load(&from.within(name))?;
        }
        for (name, link) in NAMES.iter().zip(&mut self.links) {
            link.load(&from.within(&format!("transfer_to_{name}")))?;
        }
        self.optimizer.restore(from);
        if let Some(warming) = &mut self.warming {
            warming.restore(from);
        }
        self.refresh();
        Ok(())
    }
}

impl<T: Scalar> Rule<T> for ResidualLearning<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.arrays[0].program(weights, key.named("main"))?;
        for ((array, link), name) in self.arrays[1..].iter_mut().zip(&mut self.links).zip(&NAMES[1..]) {
            match &link.point {
                Some(point) => array.program(point, key.named(name))?,
                None => array.program(&vec![T::ZERO; array.weights().len()], key.named(name))?,
            }
            link.forget();
        }
        self.optimizer.forget();
        if let Some(warming) = &mut self.warming {
            warming.forget();
        }
        self.refresh();
        Ok(())
    }

    fn epoch_ended(&mut self, loss: f64) {
        if let Some(warming) = &mut self.warming
            && warming.epoch_ended(loss)
            && let Some(link) = self.links.last_mut()
        {
            // What the buffer holds was meant for the array that is full.
            link.empty();
        }
    }

    fn set_units(&mut self, units: &[T]) {
        self.optimizer.set_units(units);
    }

    fn age(&mut self, key: Key) {
        let mut aged = false;
        for (name, array) in NAMES.iter().zip(&mut self.arrays) {
            aged |= array.age(key.named(name));
        }
        if aged {
            self.refresh();
        }
    }
}
