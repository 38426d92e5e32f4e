//! Whether a model that only many devices together ask for is more than chance: devices of the simpler kind are simulated.
//!
//! Few ramps of a device say little of a curve with many parameters, and what −2 ln L then falls by chance is no longer the χ² that
//! criteria count on. So each device is simulated once as the simpler model has it, with the ramps that were measured, and fitted by
//! both models: that is what chance makes.

use rayon::prelude::*;
use residuum::{Key, Range};

use super::{Candidate, FEW};
use crate::Truth;
use crate::curve::Curve;
use crate::filter::Prepared;
use crate::measurement::{Direction, Ramp};
use crate::scoring::Likelihood;
use crate::starts::Starts;

/// Standard errors by which devices must gain more than simulated ones: one in thirty thousand by chance.
const SURE: f64 = 4.0;
/// Models that are tried against the simpler one.
const TRIED: usize = 3;

/// `fitted` in the order of the criterion. Where the Bayesian one prefers another model, those before it must gain more than chance, or
/// are judged by it.
pub(super) fn settle(fitted: &mut [Candidate], ramps: &[Vec<Ramp>], key: Key) {
    if ramps.len() < FEW {
        return;
    }
    let by = |a: &usize, b: &usize| fitted[*a].bic.total_cmp(&fitted[*b].bic);
    let Some(simple) = (0..fitted.len()).min_by(by) else { return };
    let (before, rest) = fitted.split_at_mut(simple);
    let simple = &rest[0];
    for (place, rich) in before.iter_mut().enumerate() {
        if place < TRIED && gains(simple, rich, ramps, key) {
            break;
        }
        rich.criterion = simple.criterion + rich.bic - simple.bic;
        let words = format!("it gains no more than on simulated devices that are {}", simple.name);
        rich.note.get_or_insert(words);
    }
    fitted.sort_by(|a, b| a.criterion.total_cmp(&b.criterion));
}

/// Whether 2 ln of the ratio of likelihoods is larger than on devices of the simpler kind.
fn gains(simple: &Candidate, rich: &Candidate, ramps: &[Vec<Ramp>], key: Key) -> bool {
    let gain = |d: usize| 2.0 * (rich.fits[d].log_likelihood - simple.fits[d].log_likelihood);
    let seen: Vec<f64> = (0..ramps.len()).map(gain).collect();
    // By chance the gain is one for each parameter at least.
    let more = (rich.parameters as f64 - simple.parameters as f64) / ramps.len() as f64;
    if beyond(&seen, &vec![more; seen.len()]) < SURE {
        return false;
    }
    let simulated: Vec<f64> = (0..ramps.len())
        .into_par_iter()
        .map(|d| {
            let own = again(simple, d, &ramps[d], key.named("settle").fold(d as u64));
            let (prepared, starts) = (Prepared::new(own.iter()), Starts::new(&own));
            let top = |c: &Candidate| {
                let likelihood = Likelihood { model: c.model, ramps: &prepared, writes: c.writes };
                likelihood.maximize(&starts.of(c.model, &likelihood)).log_likelihood
            };
            2.0 * (top(rich) - top(simple))
        })
        .collect();
    beyond(&seen, &simulated) > SURE
}

/// By how many standard errors the mean of some numbers is larger than that of others.
fn beyond(seen: &[f64], others: &[f64]) -> f64 {
    let n = seen.len() as f64;
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / n;
        (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
    };
    let ((a, va), (b, vb)) = (moments(seen), moments(others));
    (a - b) / (va + vb).sqrt()
}

/// The ramps of a device as the model has them, each from its first read, with reads where there are reads.
fn again(of: &Candidate, device: usize, ramps: &[Ramp], key: Key) -> Vec<Ramp> {
    let (n, p) = (of.model.dimension(), &of.fits[device].parameters);
    let curve = Curve { model: of.model, parameters: p[..n].to_vec() };
    let far = 3.0;
    let end = |d: Direction| curve.bound(d).filter(|b| d.sign() * b > 0.0).unwrap_or(d.sign() * far);
    let truth = Truth {
        read_noise: p[n].max(0.0).sqrt(),
        additive: p[n + 1].max(0.0).sqrt(),
        proportional: p[n + 2].max(0.0).sqrt(),
        range: Range { lo: end(Direction::Down), hi: end(Direction::Up) },
        curve,
    };
    let one = |(number, ramp): (usize, &Ramp)| {
        let first = ramp.reads.iter().position(|y| !y.is_nan()).unwrap_or(0);
        let measured = &ramp.reads[first..];
        let start = truth.range.clip(measured.first().copied().unwrap_or(0.0));
        let pulses = measured.len().saturating_sub(1);
        let mut reads = truth.ramp(ramp.direction, start, pulses, key.fold(number as u64)).0;
        reads.truncate(measured.len());
        reads.iter_mut().zip(measured).filter(|(_, y)| y.is_nan()).for_each(|(new, _)| *new = f64::NAN);
        Ramp { reads, ..ramp.clone() }
    };
    ramps.iter().enumerate().map(one).collect()
}
