//! A symmetric point that is followed while the residual array learns.

use super::gradient::Gradient;
use crate::error::{ParameterError, require};
use crate::state::Tensors;
use crate::{Key, Scalar};

/// How Residual Learning follows the symmetric point of P by a digital filter: RIDER, and with choppers E-RIDER (Xiao et al.
/// 2026).
///
/// ```text
/// W̄ = W + γ c (P − Q̃)                        the gradient is taken here
/// P ← P + A(−α c ∇f(W̄; ξ); P)
/// Q ← Q + η (P − Q)                           in digital memory, of the columns that a transfer reads
/// W ← W + A(βγ c (P − Q̃); W)
/// c flips with probability p after a transfer, and then Q̃ ← Q       (without choppers c = 1 and Q̃ = Q)
/// ```
/// The noise of the gradient draws P to its symmetric point whatever the sign c, and what P learns changes sign with c: so Q, the
/// slow mean of P, tends to W⋄, and c(P − Q̃) keeps what was learned since the last flip. A transfer of all columns has one
/// sign for the array, as in the paper; one of fewer has a sign for each column, which flips after its reads. W̄ has Q̃ and not Q,
/// because a product with W̄ is read from arrays: Q̃, written at flips, can be one of them. Without choppers Q also
/// swallows what P learned, and W keeps an error: see `docs/findings.md`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracking {
    /// η: share of the newest read in Q, from 0 to 1.
    pub rate: f64,
    /// p: probability that the sign flips after a transfer; 0 is RIDER.
    pub chopper: f64,
}

impl Tracking {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If one is outside 0 to 1.
    pub fn validate(self) -> Result<Self, ParameterError> {
        for (name, value) in [("rate", self.rate), ("chopper", self.chopper)] {
            require((0.0..=1.0).contains(&value), name, "between 0 and 1", value)?;
        }
        Ok(self)
    }
}

/// The digital memory of a [`Tracking`] besides Q, which is the assumed point of its link.
#[derive(Clone, Debug)]
pub(super) struct Tracker<T> {
    pub(super) settings: Tracking,
    rate: T,
    /// Q̃; empty without choppers, where it is Q.
    before: Vec<T>,
    /// c: one for the array, or one for each column.
    signs: Vec<T>,
    /// Inputs, or gradients, with the signs of their columns.
    chopped: Vec<T>,
}

impl<T: Scalar> Tracker<T> {
    /// For transfers that move `whole` arrays or else fewer than `cols` columns, starting at the point Q₀.
    pub(super) fn new(
        settings: Tracking,
        point: &[T],
        (whole, cols): (bool, usize),
    ) -> Result<Self, ParameterError> {
        let settings = settings.validate()?;
        let before = if settings.chopper > 0.0 { point.to_vec() } else { Vec::new() };
        let signs = vec![T::ONE; if whole || settings.chopper == 0.0 { 1 } else { cols }];
        Ok(Self { settings, rate: T::from_f64(settings.rate), before, signs, chopped: Vec::new() })
    }

    /// Q̃, given Q.
    pub(super) fn held<'a>(&'a self, point: &'a [T]) -> &'a [T] {
        if self.before.is_empty() { point } else { &self.before }
    }

    /// c where the whole array has one sign.
    pub(super) fn sign(&self) -> Option<T> {
        if let [sign] = self.signs[..] { Some(sign) } else { None }
    }

    /// c of every column, where they differ.
    pub(super) fn column_signs(&self) -> Option<&[T]> {
        (self.signs.len() > 1).then_some(&self.signs)
    }

    /// The gradient with the signs of its columns. Where there is one sign, the caller has it in the scale of its write.
    pub(super) fn chop<'a>(&'a mut self, gradient: Gradient<'a, T>) -> Gradient<'a, T> {
        if self.signs.len() == 1 {
            return gradient;
        }
        let Self { signs, chopped, .. } = self;
        let values = match gradient {
            Gradient::Dense(values) => values,
            Gradient::Outer { inputs, .. } => inputs,
        };
        chopped.clear();
        for row in values.chunks_exact(signs.len()) {
            chopped.extend(row.iter().zip(&*signs).map(|(v, c)| *v * *c));
        }
        match gradient {
            Gradient::Dense(_) => Gradient::Dense(chopped),
            Gradient::Outer { batch, errors, .. } => Gradient::Outer { batch, errors, inputs: chopped },
        }
    }

    /// P as read becomes c(P − Q̃), and Q takes its share of it: all columns, which have one sign.
    pub(super) fn filter_all(&mut self, point: &mut [T], values: &mut [T]) {
        let rate = self.rate;
        if self.before.is_empty() {
            for (v, q) in values.iter_mut().zip(point) {
                *q += rate * (*v - *q);
                *v -= *q;
            }
            return;
        }
        let sign = self.signs[0];
        for ((v, q), before) in values.iter_mut().zip(point).zip(&self.before) {
            *q += rate * (*v - *q);
            *v = sign * (*v - *before);
        }
    }

    /// The same for one column of `cols`.
    pub(super) fn filter_column(&mut self, column: usize, cols: usize, point: &mut [T], values: &mut [T]) {
        let rate = self.rate;
        let sign = self.sign().unwrap_or_else(|| self.signs[column]);
        for (row, v) in values.iter_mut().enumerate() {
            let cell = row * cols + column;
            let q = &mut point[cell];
            *q += rate * (*v - *q);
            *v = sign * (*v - self.before.get(cell).copied().unwrap_or(*q));
        }
    }

    /// After a transfer of `count` columns from `first` on: their sign may flip, and Q̃ is Q then.
    pub(super) fn flip(&mut self, (first, count): (usize, usize), cols: usize, point: &[T], key: Key) {
        let p = self.settings.chopper;
        if p == 0.0 || key.named("chopper").uniform_at(0) >= p {
            return;
        }
        if let [sign] = &mut self.signs[..] {
            *sign = -*sign;
            self.before.copy_from_slice(point);
            return;
        }
        for column in (first..first + count).map(|column| column % cols) {
            self.signs[column] = -self.signs[column];
            for cell in (column..point.len()).step_by(cols) {
                self.before[cell] = point[cell];
            }
        }
    }

    /// Goes on from the point as it is now, with positive signs.
    pub(super) fn forget(&mut self, point: &[T]) {
        self.signs.fill(T::ONE);
        if !self.before.is_empty() {
            self.before.copy_from_slice(point);
        }
    }

    pub(super) fn save(&self, point: &[T], tensors: &mut Tensors) {
        tensors.vector("tracked_point", point);
        if !self.before.is_empty() {
            tensors.vector("point_before_flip", &self.before);
            tensors.vector("signs", &self.signs);
        }
    }

    pub(super) fn restore(&mut self, point: &mut [T], from: &Tensors) {
        from.read("tracked_point", point);
        from.read("point_before_flip", &mut self.before);
        from.read("signs", &mut self.signs);
    }
}
