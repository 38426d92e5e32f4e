//! A main and a residual array with the way between them: what Tiki-Taka and Residual Learning share.

use super::super::{Gradient, Slot, StepError, slot};
use super::effective::Effective;
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
    effective: Effective,
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
        mixing: f32,
        scheme: Scheme,
        transfer: Transfer,
    ) -> Result<Self, ParameterError> {
        same_length("residual rows", main.rows(), residual.rows())?;
        same_length("residual columns", main.cols(), residual.cols())?;
        let way = Way::new(transfer, main.rows(), main.cols())?;
        let effective = Effective::new(mixing, &*main);
        let mut pair = Self { main, residual, way, scheme, effective };
        pair.renew();
        Ok(pair)
    }

    /// W⋄ of each residual cell.
    pub(super) fn set_point(&mut self, point: Vec<f32>) {
        self.effective.point = Some(point);
        self.renew();
    }

    /// W + mixing·(P − W⋄).
    pub(super) fn effective(&self) -> &[f32] {
        self.effective.weights(&*self.main)
    }

    /// Follows arrays that changed in ways that nobody noted.
    fn renew(&mut self) {
        self.effective.all_written();
        self.effective.follow(&*self.main, &*self.residual);
    }

    /// P ← P + A(−learning ∇; P); where a transfer is due, W ← W + A(transfer · (read P − W⋄); W) follows.
    pub(super) fn step(
        &mut self,
        k: u64,
        gradient: Gradient<'_, f32>,
        rates: &Rates,
        key: Key,
    ) -> Result<(), StepError> {
        let stepped = self.write(k, gradient, rates, key);
        self.effective.follow(&*self.main, &*self.residual);
        stepped
    }

    fn write(&mut self, k: u64, gradient: Gradient<'_, f32>, rates: &Rates, key: Key) -> Result<(), StepError> {
        check(gradient, self.main.rows(), self.main.cols()).map_err(at("residual", k))?;
        let samples = samples(gradient);
        let mut from = 0;
        while from < samples {
            let to = samples.min(from.saturating_add(self.way.pace.room()));
            let key = key.fold(from as u64);
            let gradient = part(gradient, from, to);
            learn(&mut *self.residual, -rates.learning, gradient, self.scheme, key.named("residual"))
                .map_err(at("residual", k))?;
            self.effective.residual_written(&*self.residual);
            if self.way.pace.is_due(to - from, to == samples) {
                let (cols, effective) = (self.main.cols(), &mut self.effective);
                let mut adjust = |read: Read<'_>| {
                    effective.column_written(read.column);
                    if let Some(point) = &effective.point {
                        subtract_column(read, point, cols);
                    }
                };
                self.way
                    .run(rates.transfer, &*self.residual, &mut *self.main, key.named("main"), &mut adjust)
                    .map_err(at("main", k))?;
            }
            from = to;
        }
        Ok(())
    }

    pub(super) fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.main.program(weights, key.named("main"))?;
        rest(&mut *self.residual, self.effective.point.as_deref(), key.named("residual"))?;
        self.way.forget();
        self.renew();
        Ok(())
    }

    pub(super) fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        vec![("main", self.main.weights()), ("residual", self.residual.weights())]
    }

    pub(super) fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent() + self.residual.pulses_sent()
    }

    pub(super) fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        self.residual.slots(&mut slot::within("residual", visit));
        self.way.state(&mut slot::within("transfer", visit));
        // The visitor may have put other values in.
        self.renew();
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
