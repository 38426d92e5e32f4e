//! A main and a residual array with the way between them: what Tiki-Taka and Residual Learning share.

use super::super::{Gradient, Slot, StepError, slot};
use super::transfer::{Read, Transfer, Way};
use super::{at, check, learn, part};
use crate::Key;
use crate::error::{ParameterError, same_length};
use crate::tile::{Crossbar, Scheme};

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) main: Box<dyn Crossbar>,
    pub(super) residual: Box<dyn Crossbar>,
    pub(super) way: Way,
    scheme: Scheme,
}

/// Rates of one step.
pub(super) struct Rates {
    pub(super) learning: f32,
    pub(super) transfer: f32,
}

impl Pair {
    pub(super) fn new(
        main: Box<dyn Crossbar>,
        residual: Box<dyn Crossbar>,
        scheme: Scheme,
        transfer: Transfer,
    ) -> Result<Self, ParameterError> {
        same_length("residual rows", main.rows(), residual.rows())?;
        same_length("residual columns", main.cols(), residual.cols())?;
        let way = Way::new(transfer, main.rows(), main.cols())?;
        Ok(Self { main, residual, way, scheme })
    }

    /// P ← P + A(−learning ∇; P); where a transfer is due, W ← W + A(transfer · adjust(read P); W) follows.
    pub(super) fn step(
        &mut self,
        k: u64,
        gradient: Gradient<'_, f32>,
        rates: &Rates,
        key: Key,
        adjust: &mut dyn FnMut(Read<'_>),
    ) -> Result<(), StepError> {
        check(gradient, self.main.rows(), self.main.cols()).map_err(at("residual", k))?;
        let samples = samples(gradient);
        let mut from = 0;
        while from < samples {
            let to = samples.min(from.saturating_add(self.way.pace.room()));
            let key = key.fold(from as u64);
            let gradient = part(gradient, from, to);
            learn(&mut *self.residual, -rates.learning, gradient, self.scheme, key.named("residual"))
                .map_err(at("residual", k))?;
            if self.way.pace.is_due(to - from, to == samples) {
                self.way
                    .run(rates.transfer, &*self.residual, &mut *self.main, key.named("main"), adjust)
                    .map_err(at("main", k))?;
            }
            from = to;
        }
        Ok(())
    }

    pub(super) fn program(
        &mut self,
        weights: &[f32],
        point: Option<&[f32]>,
        key: Key,
    ) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        rest(&mut *self.residual, point, key.named("residual"))?;
        self.way.forget();
        Ok(())
    }

    /// W + mixing·(P − point).
    pub(super) fn effective_weights(&self, mixing: f32, point: Option<&[f32]>, out: &mut [f32]) {
        let (main, residual) = (self.main.weights(), self.residual.weights());
        match point {
            _ if mixing == 0.0 => out.copy_from_slice(main),
            // One pass over the arrays: they rarely fit a cache.
            None => {
                for ((out, w), p) in out.iter_mut().zip(main).zip(residual) {
                    *out = w + mixing * p;
                }
            }
            Some(point) => {
                out.copy_from_slice(main);
                add_residual(mixing, residual, Some(point), out);
            }
        }
    }

    pub(super) fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        vec![("main", self.main.weights()), ("residual", self.residual.weights())]
    }

    pub(super) fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent() + self.residual.pulses_sent()
    }

    pub(super) fn age(&mut self, key: Key) {
        self.main.age(key.named("main"));
        self.residual.age(key.named("residual"));
    }

    pub(super) fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        self.residual.slots(&mut slot::within("residual", visit));
        self.way.state(&mut slot::within("transfer", visit));
    }
}

/// Writes a residual array to its symmetric point.
pub(super) fn rest(array: &mut dyn Crossbar, point: Option<&[f32]>, key: Key) -> Result<(), ParameterError> {
    match point {
        Some(point) => array.program(point, key),
        None => array.program(&vec![0.0; array.weights().len()], key),
    }
}

/// out ← out + mixing·(residual − point).
pub(super) fn add_residual(mixing: f32, residual: &[f32], point: Option<&[f32]>, out: &mut [f32]) {
    match point {
        None => {
            for (out, p) in out.iter_mut().zip(residual) {
                *out += mixing * p;
            }
        }
        Some(point) => {
            for ((out, p), point) in out.iter_mut().zip(residual).zip(point) {
                *out += mixing * (p - point);
            }
        }
    }
}

/// values ← values − point, for one column of `cols`.
pub(super) fn subtract_column(Read { column, values, .. }: Read<'_>, point: &[f32], cols: usize) {
    for (v, p) in values.iter_mut().zip(point[column..].iter().step_by(cols)) {
        *v -= p;
    }
}

/// Samples of a gradient; one that has an entry per weight counts as one.
pub(super) fn samples(gradient: Gradient<'_, f32>) -> usize {
    match gradient {
        Gradient::Dense(_) => 1,
        Gradient::Outer { batch, .. } => batch,
    }
}
