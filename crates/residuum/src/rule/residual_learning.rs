use super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule, slot};
use crate::Key;
use crate::array::AnalogArray;
use crate::cells::symmetric_points;
use crate::error::{ParameterError, all_finite, positive, same_length};
use crate::schedule::Schedule;

/// How the main array is moved by the residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// The paper's: the desired step βγ(P − W⋄) is scaled by the main array's response.
    Plain,
    /// Beyond the paper: the desired step is divided by the response it will meet, so that the realized one is
    /// βγ(P − W⋄). Removes the √α bias (theory notes §10c). Below `floor` the response is not divided by.
    Compensated {
        /// Smallest response divided by, > 0; keeps the step finite at the end of the range.
        floor: f64,
    },
}

/// Residual Learning: P learns the residual of W, and W follows P.
///
/// ```text
/// W̄_k     = W_k + γ(P_k − W⋄)
/// P_{k+1} = P_k + A(−α ∇f(W̄_k; ξ_k); P_k)          recursion:HD-P
/// W_{k+1} = W_k + A(βγ(P_{k+1} − W⋄); W_k)          recursion:HD-W
/// ```
#[derive(Clone, Debug)]
pub struct ResidualLearning {
    main: AnalogArray,
    residual: AnalogArray,
    symmetric_point: Vec<f64>,
    mixing: f64,
    learning_rate: Schedule,
    transfer_rate: Schedule,
    transfer: Transfer,
    cell_gain: Option<[Vec<f64>; 2]>,
    offset: Vec<f64>,
    dense: Vec<f64>,
}

impl ResidualLearning {
    /// γ = `mixing`, α = `learning_rate`, β = `transfer_rate`; W⋄ is that of the residual array's cells.
    ///
    /// # Errors
    /// If the arrays differ in length, `mixing` is not positive, or a residual cell has no symmetric point.
    pub fn new(
        main: AnalogArray,
        residual: AnalogArray,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        transfer_rate: impl Into<Schedule>,
    ) -> Result<Self, ParameterError> {
        let symmetric_point = symmetric_points(residual.cells(), residual.len(), "residual learning")?;
        Self::with_symmetric_point(main, residual, symmetric_point, mixing, learning_rate, transfer_rate)
    }

    /// The same with a symmetric point that was measured, or is wrong on purpose.
    ///
    /// # Errors
    /// If lengths differ, `mixing` is not positive, or a symmetric point is not finite.
    pub fn with_symmetric_point(
        main: AnalogArray,
        residual: AnalogArray,
        symmetric_point: Vec<f64>,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        transfer_rate: impl Into<Schedule>,
    ) -> Result<Self, ParameterError> {
        same_length("residual", main.len(), residual.len())?;
        same_length("symmetric_point", main.len(), symmetric_point.len())?;
        all_finite("symmetric_point", &symmetric_point)?;
        Ok(Self {
            offset: vec![0.0; main.len()],
            dense: Vec::new(),
            main,
            residual,
            symmetric_point,
            mixing: positive("mixing", mixing)?,
            learning_rate: learning_rate.into().validate()?,
            transfer_rate: transfer_rate.into().validate()?,
            transfer: Transfer::Plain,
            cell_gain: None,
        })
    }

    /// Another way to move the main array.
    ///
    /// # Errors
    /// If the floor of a compensated transfer is not positive.
    pub fn transfer(mut self, transfer: Transfer) -> Result<Self, ParameterError> {
        if let Transfer::Compensated { floor } = transfer {
            positive("floor", floor)?;
        }
        self.transfer = transfer;
        Ok(self)
    }

    /// Beyond the paper: each cell's desired step is divided by its measured gain, which removes the κ₂ dependence
    /// that any scalar step has on an array of unequal gains (theory notes §10b).
    ///
    /// # Errors
    /// If a length differs or a gain is not positive.
    pub fn cell_gain(mut self, main: Vec<f64>, residual: Vec<f64>) -> Result<Self, ParameterError> {
        for gains in [&main, &residual] {
            same_length("cell_gain", self.main.len(), gains.len())?;
            for &g in gains {
                positive("cell_gain", g)?;
            }
        }
        self.cell_gain = Some([main, residual]);
        Ok(self)
    }

    /// W.
    pub fn main(&self) -> &AnalogArray {
        &self.main
    }

    /// P.
    pub fn residual(&self) -> &AnalogArray {
        &self.residual
    }

    /// W⋄ as the rule believes it to be.
    pub fn symmetric_point(&self) -> &[f64] {
        &self.symmetric_point
    }

    fn compensate(&mut self, floor: f64) {
        let cells = self.main.cells();
        for (i, (desired, &w)) in self.offset.iter_mut().zip(self.main.state()).enumerate() {
            let response = cells.response(i);
            let q = if *desired >= 0.0 { response.q_plus(w) } else { response.q_minus(w) };
            *desired /= q.max(floor);
        }
    }
}

impl UpdateRule for ResidualLearning {
    fn dim(&self) -> usize {
        self.main.len()
    }

    fn effective_weights(&self, out: &mut [f64]) {
        let (w, p) = (self.main.state(), self.residual.state());
        for (i, out) in out.iter_mut().enumerate() {
            *out = w[i] + self.mixing * (p[i] - self.symmetric_point[i]);
        }
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_>, key: Key) -> Result<(), StepError> {
        let gradient = gradient.dense(&mut self.dense);
        match &self.cell_gain {
            None => self.residual.increment(-self.learning_rate.at(k), gradient, key.named("residual")),
            Some([_, gain]) => {
                divide(gradient, gain, &mut self.offset);
                self.residual.increment(-self.learning_rate.at(k), &self.offset, key.named("residual"));
            }
        }
        subtract(self.residual.state(), &self.symmetric_point, &mut self.offset);
        if let Some([gain, _]) = &self.cell_gain {
            self.offset.iter_mut().zip(gain).for_each(|(d, g)| *d /= g);
        }
        if let Transfer::Compensated { floor } = self.transfer {
            self.compensate(floor);
        }
        self.main.increment(self.transfer_rate.at(k) * self.mixing, &self.offset, key.named("main"));
        Ok(())
    }

    fn program(&mut self, weights: &[f64], _: Key) -> Result<(), ParameterError> {
        self.main.program(weights)?;
        self.residual.program(&self.symmetric_point)
    }

    fn arrays(&self) -> Vec<(&'static str, &[f64])> {
        vec![("main", self.main.state()), ("residual", self.residual.state())]
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        let transfer = self.transfer_rate.at(k) * self.mixing;
        EffectiveRates { learning: self.learning_rate.at(k), transfer: Some(transfer), sweep: 1 }
    }

    fn pulses_sent(&self) -> u64 {
        self.main.pulses_sent() + self.residual.pulses_sent()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.main.slots(&mut slot::within("main", visit));
        self.residual.slots(&mut slot::within("residual", visit));
    }

    fn label(&self) -> String {
        "Residual Learning".into()
    }
}

pub(super) fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}

fn divide(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a / b;
    }
}
