//! One tile's worth of a matrix: its rule, its scales, and the buffers of its reads.

use std::ops::Range;

use residuum::array::Unreachable;
use residuum::readout::{Scratch, Shape};
use residuum::rule::Operations;
use residuum::{Gradient, Key, ParameterError, Rates, Rule, State, StepError};

use super::{AnalogFactory, Mapping, OutputScaling, Reads};
use crate::kernel;
use crate::state::{Collection, Role, StateError, Tensors};
use crate::weights::Parameter;

#[derive(Debug)]
pub(super) struct Block {
    rows: Range<usize>,
    cols: Range<usize>,
    rule: Box<dyn Rule<f32>>,
    /// a: what weights were divided by when they were mapped; one for the tile or one for each row.
    mapped: Vec<f32>,
    /// What the cells cannot hold of what they were programmed to.
    unreachable: Unreachable<f32>,
    /// s: learned; one, one for each row, or none.
    learned: Option<Parameter>,
    /// Outputs of the last read before s, for the gradient of s.
    raw: Vec<f32>,
    inputs: Vec<f32>,
    errors: Vec<f32>,
    /// Converters with this tile's own lines.
    reads: Reads,
    scratch: [Scratch; 2],
}

impl Block {
    pub(super) fn new(
        [rows, cols]: [Range<usize>; 2],
        initial: &[f32],
        stride: usize,
        factory: &AnalogFactory,
        key: Key,
    ) -> Result<Self, ParameterError> {
        let AnalogFactory { mapping, reads, sgd, .. } = *factory;
        let rule = factory.recipe.build(rows.len(), cols.len(), key)?;
        if rule.effective_weights().len() != rows.len() * cols.len() {
            let (expected, given) = (rows.len() * cols.len(), rule.effective_weights().len());
            return Err(ParameterError::Length { name: "weights of the rule", expected, given });
        }
        let scales = match mapping.output_scaling {
            OutputScaling::Off => None,
            OutputScaling::PerTile => Some(1),
            OutputScaling::PerOutput => Some(rows.len()),
        };
        let mut block = Self {
            mapped: Vec::new(),
            unreachable: Unreachable::default(),
            learned: scales.map(|n| Parameter::new(vec![1.0; n], Some(sgd))),
            rows,
            cols,
            rule,
            raw: Vec::new(),
            inputs: Vec::new(),
            errors: Vec::new(),
            reads: reads.around(key.named("lines")),
            scratch: [Scratch::default(), Scratch::default()],
        };
        block.program(initial, stride, mapping, key.named("program"))?;
        Ok(block)
    }

    /// The rule, and the rows and columns it holds.
    pub(super) fn rule(&self) -> (Range<usize>, Range<usize>, &dyn Rule<f32>) {
        (self.rows.clone(), self.cols.clone(), &*self.rule)
    }

    pub(super) fn running_scale(&self) -> Option<f32> {
        self.scratch[0].running_scale()
    }

    pub(super) fn set_running_scale(&mut self, scale: Option<f32>) {
        self.scratch[0].set_running_scale(scale);
    }

    fn shape(&self) -> Shape {
        Shape { rows: self.rows.len(), cols: self.cols.len() }
    }

    /// Programs this tile's block of the whole matrix `all`.
    pub(super) fn program(
        &mut self,
        all: &[f32],
        stride: usize,
        mapping: Mapping,
        key: Key,
    ) -> Result<(), ParameterError> {
        let mut weights: Vec<f32> = Vec::with_capacity(self.rows.len() * self.cols.len());
        for row in self.rows.clone() {
            weights.extend_from_slice(&all[row * stride..][self.cols.clone()]);
        }
        self.mapped = match mapping.omega {
            None => vec![1.0],
            Some(omega) if mapping.by_width => {
                let Some([low, high]) = self.rule.range() else {
                    let message = "by_width must have cells with bounds: these have none".into();
                    return Err(ParameterError::Other { message });
                };
                // σ_W belongs to all inputs of the layer, not to those of this tile.
                vec![omega / (stride as f32).sqrt() / (0.5 * (high - low))]
            }
            Some(omega) => {
                let peak = |w: &[f32]| match w.iter().fold(0.0f32, |m, w| m.max(w.abs())) {
                    // Nothing to map: the scale of zeros is free.
                    0.0 => 1.0,
                    peak => peak / omega,
                };
                if mapping.columnwise {
                    weights.chunks_exact(self.cols.len()).map(peak).collect()
                } else {
                    vec![peak(&weights)]
                }
            }
        };
        for (row, a) in weights.chunks_exact_mut(self.cols.len()).zip(self.mapped.iter().cycle()) {
            for w in row {
                *w /= a;
            }
        }
        if let Some(learned) = &mut self.learned {
            learned.values.fill(1.0);
        }
        self.rule.set_units(&self.mapped);
        self.unreachable = self.beyond(&weights);
        self.rule.program(&weights, key)
    }

    /// What the cells of the main array cannot hold, in the weights of the layer.
    fn beyond(&self, weights: &[f32]) -> Unreachable<f32> {
        let arrays = self.rule.arrays();
        let Some((_, main)) = arrays.iter().find(|(name, _)| *name == "main") else {
            return Unreachable::default();
        };
        // One scale for the tile, or one for each row.
        let scale = |cell: usize| self.mapped[cell / self.cols.len() % self.mapped.len()];
        Unreachable::of(*main, weights, scale)
    }

    /// What the cells could not hold of the weights they were last programmed to.
    pub(super) fn unreachable(&self) -> Unreachable<f32> {
        self.unreachable
    }

    pub(super) fn operations(&self, steps: u64, samples: u64) -> Operations {
        let mut sum = Operations::products(self.shape(), self.rule.arrays_read(), samples);
        sum += self.rule.operations(steps, samples);
        sum
    }

    pub(super) fn epoch_ended(&mut self, loss: f64) {
        self.rule.epoch_ended(loss);
    }

    /// s·a of each row of the tile.
    fn scale(&self, row: usize) -> f32 {
        let pick = |values: &[f32]| if values.len() == 1 { values[0] } else { values[row] };
        pick(&self.mapped) * self.learned.as_ref().map_or(1.0, |s| pick(&s.values))
    }

    /// W x, if this tile is the whole matrix.
    pub(super) fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        let (shape, readout) = (self.shape(), self.reads.forward);
        readout.read(self.rule.effective_weights(), shape, inputs, key, outputs, &mut self.scratch[0]);
        self.keep_raw(outputs);
        self.scale_samples(outputs, |a, s| a * s);
    }

    /// Its part of W x from its lines of the inputs, kept for [`Block::add_outputs`].
    pub(super) fn read_part(&mut self, inputs: &[f32], all_cols: usize, key: Key) {
        let mut own = std::mem::take(&mut self.inputs);
        take_lines(inputs, all_cols, &self.cols, &mut own);
        let mut sums = std::mem::take(&mut self.errors);
        sums.resize(inputs.len() / all_cols * self.rows.len(), 0.0);
        self.read(&own, &mut sums, key);
        (self.inputs, self.errors) = (own, sums);
    }

    /// Adds its part to the outputs of some samples, from number `first` on.
    pub(super) fn add_outputs(&self, first: usize, outputs: &mut [f32], all_rows: usize) {
        add_lines(&self.errors[first * self.rows.len()..], outputs, all_rows, &self.rows);
    }

    /// Wᵀ δ, if this tile is the whole matrix.
    pub(super) fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], all_rows: usize, key: Key) {
        let (shape, readout) = (self.shape(), self.reads.backward);
        let mut own = std::mem::take(&mut self.errors);
        self.take_errors(errors, all_rows, &mut own, |a, s| a * s);
        let weights = self.rule.effective_weights();
        readout.read_transposed(weights, shape, &own, key, outputs, &mut self.scratch[1]);
        self.errors = own;
    }

    /// Its part of Wᵀ δ from its lines of the errors, kept for [`Block::add_errors`].
    pub(super) fn read_transposed_part(&mut self, errors: &[f32], all_rows: usize, key: Key) {
        let mut sums = std::mem::take(&mut self.inputs);
        sums.resize(errors.len() / all_rows * self.cols.len(), 0.0);
        self.read_transposed(errors, &mut sums, all_rows, key);
        self.inputs = sums;
    }

    /// Adds its part to the errors of some samples, from number `first` on.
    pub(super) fn add_errors(&self, first: usize, outputs: &mut [f32], all_cols: usize) {
        add_lines(&self.inputs[first * self.cols.len()..], outputs, all_cols, &self.cols);
    }

    /// One step of the rule, with errors as the tile sees them, and of the learned scales.
    pub(super) fn step(
        &mut self,
        k: u64,
        errors: &[f32],
        inputs: &[f32],
        [all_rows, all_cols]: [usize; 2],
        rates: &Rates,
        key: Key,
    ) -> Result<(), StepError> {
        let batch = errors.len() / all_rows;
        let mut own_errors = std::mem::take(&mut self.errors);
        let mut own_inputs = std::mem::take(&mut self.inputs);
        let whole = self.cols.len() == all_cols;
        if !whole {
            take_lines(inputs, all_cols, &self.cols, &mut own_inputs);
        }
        // The rule learns from δ·s/a. A step of −α∂L/∂w of the weight w = aW is one of −α∂L/∂w/a of the state W: where
        // weights lie in the range changes no rate. (δ·s·a, the gradient by W, would scale the rate by a².)
        let scale = |a, s| s / a;
        if self.rows.len() == all_rows {
            self.scale_gradient(errors);
            self.take_errors(errors, all_rows, &mut own_errors, scale);
        } else {
            take_lines(errors, all_rows, &self.rows, &mut own_errors);
            self.scale_gradient(&own_errors);
            self.scale_samples(&mut own_errors, scale);
        }
        let inputs = if whole { inputs } else { &own_inputs };
        let gradient = Gradient::Outer { batch, errors: &own_errors, inputs };
        let stepped = self.rule.step(gradient, rates, key);
        (self.errors, self.inputs) = (own_errors, own_inputs);
        stepped?;
        self.age(key);
        if let Some(learned) = &mut self.learned {
            learned.step(k);
        }
        Ok(())
    }

    /// The time of one step passes.
    pub(super) fn age(&mut self, key: Key) {
        self.rule.age(key.named("age"));
    }

    /// The gradient of s, where the block learns it.
    fn scale_gradient(&mut self, errors: &[f32]) {
        let Some(mut learned) = self.learned.take() else { return };
        if learned.trains() {
            assert_eq!(errors.len(), self.raw.len(), "a step follows the read of its own batch");
            self.add_scale_gradient(errors, &self.raw, &mut learned.gradient);
        }
        self.learned = Some(learned);
    }

    /// ∂L/∂s = Σ_b δ · a · raw, output by output; then over the outputs where they share one scale.
    fn add_scale_gradient(&self, errors: &[f32], raw: &[f32], gradient: &mut [f32]) {
        let rows = self.rows.len();
        let mut of_outputs = vec![0.0; rows];
        kernel::column_dots(errors, raw, &mut of_outputs);
        let mapped = self.mapped.iter().cycle();
        of_outputs.iter_mut().zip(mapped).for_each(|(sum, a)| *sum *= a);
        match gradient {
            [shared] => *shared = of_outputs.iter().sum(),
            _ => gradient.copy_from_slice(&of_outputs),
        }
    }

    /// The same for scales that someone else learns, from the outputs that [`Block::raw`] gave.
    pub(super) fn outside_gradient(
        &mut self,
        errors: &[f32],
        all_rows: usize,
        raw: &[f32],
        gradient: &mut [f32],
    ) {
        let mut own = std::mem::take(&mut self.errors);
        take_lines(errors, all_rows, &self.rows, &mut own);
        self.add_scale_gradient(&own, raw, gradient);
        self.errors = own;
    }

    /// The outputs of the last read before s.
    pub(super) fn raw(&self) -> &[f32] {
        &self.raw
    }

    /// s, if it is learned.
    pub(super) fn learned(&mut self) -> Option<&mut Parameter> {
        self.learned.as_mut()
    }

    fn keep_raw(&mut self, outputs: &[f32]) {
        if self.learned.is_some() {
            self.raw.resize(outputs.len(), 0.0);
            kernel::map(&mut self.raw, outputs, |v| v);
        }
    }

    /// The errors of this tile, multiplied by `scale` of a and s: in one pass if it has all of them and one scale.
    fn take_errors(
        &self,
        errors: &[f32],
        all_rows: usize,
        own: &mut Vec<f32>,
        scale: impl Fn(f32, f32) -> f32,
    ) {
        match (self.one_scale(&scale), self.rows.len() == all_rows) {
            (Some(scale), true) => {
                own.resize(errors.len(), 0.0);
                kernel::map(own, errors, |e| e * scale);
            }
            _ => {
                take_lines(errors, all_rows, &self.rows, own);
                self.scale_samples(own, scale);
            }
        }
    }

    /// `scale` of a and s, if all rows share it.
    fn one_scale(&self, scale: impl Fn(f32, f32) -> f32) -> Option<f32> {
        let learned = self.learned.as_ref().map_or(&[1.0][..], |s| &s.values);
        if let ([a], [s]) = (&self.mapped[..], learned) { Some(scale(*a, *s)) } else { None }
    }

    /// Multiplies outputs, or errors, by `scale` of a and s.
    fn scale_samples(&self, values: &mut [f32], scale: impl Fn(f32, f32) -> f32) {
        if let Some(scale) = self.one_scale(&scale) {
            if scale != 1.0 {
                kernel::for_rows(values, 1, |_, values| values.iter_mut().for_each(|v| *v *= scale));
            }
            return;
        }
        let learned = self.learned.as_ref().map_or(&[1.0][..], |s| &s.values);
        for sample in values.chunks_exact_mut(self.rows.len()) {
            let (mapped, learned) = (self.mapped.iter().cycle(), learned.iter().cycle());
            for ((v, a), s) in sample.iter_mut().zip(mapped).zip(learned) {
                *v *= scale(*a, *s);
            }
        }
    }

    /// Bounds of the effective weights that the main array alone can reach, the widest of all rows.
    pub(super) fn range(&self) -> Option<[f32; 2]> {
        let range = self.rule.range()?;
        let widest = (0..self.rows.len()).map(|row| self.scale(row).abs()).fold(0.0, f32::max);
        Some(range.map(|w| widest * w))
    }

    /// s·a·W̄ into its block of the whole matrix.
    pub(super) fn effective_weights(&self, out: &mut [f32], stride: usize) {
        let weights = self.rule.effective_weights().chunks_exact(self.cols.len());
        for (n, (row, w)) in self.rows.clone().zip(weights).enumerate() {
            let scale = self.scale(n);
            for (out, w) in out[row * stride..][self.cols.clone()].iter_mut().zip(w) {
                *out = scale * w;
            }
        }
    }

    fn scales(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.vector("mapped", &self.mapped);
        if let Some(learned) = &self.learned {
            let mut all = Collection::default();
            learned.collect("output_scale", Role::Optimizer, &mut all);
            for (name, _, tensor) in all.iter() {
                tensors.insert(name, tensor.clone());
            }
        }
        tensors
    }
}

impl State for Block {
    fn tensors(&self) -> Tensors {
        let mut tensors = self.rule.tensors();
        tensors.extend(self.scales());
        for (scratch, name) in self.scratch.iter().zip(READS) {
            tensors.nest(name, scratch.tensors());
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        let (rule, scales) = (self.rule.tensors(), self.scales());
        self.rule.load(&from.filtered(|name| rule.get(name).is_some()))?;
        from.filtered(|name| scales.get(name).is_some()).fit(&scales)?;
        from.read("mapped", &mut self.mapped);
        self.rule.set_units(&self.mapped);
        if let Some(learned) = &mut self.learned {
            learned.restore("output_scale", from);
        }
        for (scratch, name) in self.scratch.iter_mut().zip(READS) {
            scratch.load(&from.within(name))?;
        }
        Ok(())
    }
}

/// Names of the running scales of both reads.
const READS: [&str; 2] = ["read", "read_transposed"];

/// The lines `range` of every sample of `all` lines.
fn take_lines(from: &[f32], all: usize, range: &Range<usize>, to: &mut Vec<f32>) {
    to.clear();
    if range.len() == all {
        to.extend_from_slice(from);
    } else {
        for sample in from.chunks_exact(all) {
            to.extend_from_slice(&sample[range.clone()]);
        }
    }
}

/// Adds to the lines `range` of every sample of `all` lines.
fn add_lines(from: &[f32], to: &mut [f32], all: usize, range: &Range<usize>) {
    for (from, to) in from.chunks_exact(range.len()).zip(to.chunks_exact_mut(all)) {
        for (to, from) in to[range.clone()].iter_mut().zip(from) {
            *to += from;
        }
    }
}
