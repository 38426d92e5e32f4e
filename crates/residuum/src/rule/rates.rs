//! Rates of a step, and where they come from.

use crate::ParameterError;
use crate::schedule::Schedule;

/// Maximum number of links in a cascade.
pub const MAX_LINKS: usize = 8;

/// Rates of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// α: change of the array that meets the gradient, per unit of gradient.
    pub learning: f64,
    /// β of each link, main array first: λ of the Tiki-Taka rules (absolute), β of the residual ones (multiplied by γ).
    pub transfer: [f64; MAX_LINKS],
}

impl Rates {
    /// α, without transfers between arrays.
    pub fn learning(learning: f64) -> Self {
        Self { learning, transfer: [0.0; MAX_LINKS] }
    }

    /// α, and the same β on every link.
    pub fn new(learning: f64, transfer: f64) -> Self {
        Self { learning, transfer: [transfer; MAX_LINKS] }
    }
}

/// Rates as functions of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSchedules {
    /// α.
    pub learning: Schedule,
    /// β of each link, main array first; the last applies to all links that follow.
    pub transfer: Vec<Schedule>,
}

impl RateSchedules {
    /// α alone.
    pub fn learning(learning: impl Into<Schedule>) -> Self {
        Self { learning: learning.into(), transfer: Vec::new() }
    }

    /// α and one β for all links.
    pub fn new(learning: impl Into<Schedule>, transfer: impl Into<Schedule>) -> Self {
        Self { learning: learning.into(), transfer: vec![transfer.into()] }
    }

    /// Checks the numbers of all schedules.
    ///
    /// # Errors
    /// If a rate is negative, a length is zero, or there are too many.
    pub fn validate(self) -> Result<Self, ParameterError> {
        self.learning.validate()?;
        for schedule in &self.transfer {
            schedule.validate()?;
        }
        let links = self.transfer.len();
        crate::error::require(links <= MAX_LINKS, "number of transfer rates", "at most 8", links as f64)?;
        Ok(self)
    }

    /// The rates of step k.
    pub fn at(&self, k: u64) -> Rates {
        let mut rates = Rates::learning(self.learning.at(k));
        if let Some(last) = self.transfer.last() {
            for (n, rate) in rates.transfer.iter_mut().enumerate() {
                *rate = self.transfer.get(n).unwrap_or(last).at(k);
            }
        }
        rates
    }
}

/// A source of the rates of step k for several rules that run side by side.
pub trait RatePlan {
    /// The rates of rule number `rule` at step k.
    fn rates(&self, rule: usize, k: u64) -> Rates;
}

impl RatePlan for Rates {
    fn rates(&self, _: usize, _: u64) -> Rates {
        *self
    }
}

impl RatePlan for RateSchedules {
    fn rates(&self, _: usize, k: u64) -> Rates {
        self.at(k)
    }
}

/// One for each rule; the last applies to all rules that follow.
impl<P: RatePlan> RatePlan for [P] {
    fn rates(&self, rule: usize, k: u64) -> Rates {
        self.get(rule).or(self.last()).map_or_else(Rates::default, |plan| plan.rates(0, k))
    }
}

impl<P: RatePlan, const N: usize> RatePlan for [P; N] {
    fn rates(&self, rule: usize, k: u64) -> Rates {
        self.as_slice().rates(rule, k)
    }
}

impl<P: RatePlan> RatePlan for Vec<P> {
    fn rates(&self, rule: usize, k: u64) -> Rates {
        self.as_slice().rates(rule, k)
    }
}

impl From<Rates> for RateSchedules {
    fn from(rates: Rates) -> Self {
        Self {
            learning: rates.learning.into(),
            transfer: rates.transfer.iter().map(|rate| Schedule::from(*rate)).collect(),
        }
    }
}
