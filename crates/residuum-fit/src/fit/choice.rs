//! Which model: likelihoods, criteria, ramps left out.

use rayon::prelude::*;
use residuum::Range;

use super::{Candidate, FEW, LeftOut, WEIGHTS};
use crate::curve::{Curve, CurveFamily};
use crate::filter::{Prepared, Surprises};
use crate::measurement::{Direction, Ramp};
use crate::scoring::{Likelihood, Maximum, WriteNoise};

/// What is tried on every device.
pub(super) fn candidates() -> Vec<CurveFamily> {
    let closed = [
        CurveFamily::Constant,
        CurveFamily::Line,
        CurveFamily::Power,
        CurveFamily::Exponential,
        CurveFamily::Tanh,
    ];
    closed.into_iter().chain([3, 5, 9, 17].map(with_nodes)).collect()
}

/// Most values of a curve that is called piecewise; one with more is a table.
const FEW_NODES: usize = 10;

/// Nodes lie equally spaced over all weights, as a tile has them.
fn with_nodes(nodes: usize) -> CurveFamily {
    if nodes <= FEW_NODES { CurveFamily::Piecewise(nodes, WEIGHTS) } else { CurveFamily::Table(nodes, WEIGHTS) }
}

/// Numbers of nodes around the best one, where no closed form is better.
pub(super) fn neighbours(best: &Candidate, reads: usize) -> Vec<CurveFamily> {
    let (CurveFamily::Piecewise(nodes, _) | CurveFamily::Table(nodes, _)) = best.model else {
        return Vec::new();
    };
    let others: &[usize] = match nodes {
        3 => &[4],
        5 => &[4, 6, 7],
        9 => &[4, 6, 7, 8, 10, 11, 13],
        // Many reads prefer the finest grid to a coarser one whose nodes lie elsewhere: the right one may have few.
        _ => &[4, 6, 7, 8, 10, 11, 13, 15, 21, 25, 33],
    };
    others.iter().copied().filter(|n| 40 * n < reads).map(with_nodes).collect()
}

pub(super) fn candidate(
    model: CurveFamily,
    writes: WriteNoise,
    fits: Vec<Maximum>,
    prepared: &[Prepared],
    seen: Seen,
) -> Candidate {
    let devices = fits.len();
    let own = model.dimension() + writes.free().iter().filter(|free| **free).count();
    let parameters = devices * own;
    // A tanh that is wide is a pair of straight lines with as many parameters: it must be better by what one of them costs.
    let wide = usize::from(model == CurveFamily::Tanh);
    let log_likelihood: f64 = fits.iter().map(|f| f.log_likelihood).sum();
    let mean: Vec<f64> = (0..model.dimension())
        .map(|i| fits.iter().map(|f| f.parameters[i]).sum::<f64>() / devices as f64)
        .collect();
    let curve = Curve { model, parameters: mean };
    let at_limit = |i: usize| 2 * fits.iter().filter(|f| f.held[i]).count() > devices;
    let note = match model {
        CurveFamily::Power | CurveFamily::Exponential if (0..model.dimension()).any(at_limit) => Some(
            "a parameter ends at its limit: the steps do not shrink towards a bound as this model wants"
                .to_string(),
        ),
        CurveFamily::Tanh if (0..4).any(at_limit) => {
            Some("a parameter ends at its limit: the steps do not level off as this model wants".to_string())
        }
        _ if fits.iter().any(|f| !f.converged) => {
            Some("the climb did not converge on every device".to_string())
        }
        _ => None,
    };
    Candidate {
        name: if seen.is_soft(&curve) { "soft_bounds" } else { curve.name_unless_soft() },
        model,
        parameters,
        log_likelihood,
        aic: 2.0 * parameters as f64 - 2.0 * log_likelihood,
        bic: own as f64 * prepared.iter().map(ln_reads).sum::<f64>() - 2.0 * log_likelihood,
        criterion: (own + wide) as f64 * price(prepared) - 2.0 * log_likelihood,
        held_out: None,
        note,
        writes,
        fits,
    }
}

/// What one parameter of every device costs in −2 ln L.
///
/// That of one device costs L = ln(reads), by the Bayesian criterion. For k needless parameters of D devices −2 ln L falls by a
/// χ² of kD degrees, which chance makes larger than kD + 2√(kDx) + 2x with odds of at most e⁻ˣ. The odds at which D = 1 costs kL
/// have √x = ½√k b with b = √(2L − 1) − 1; the same odds for D devices cost k(D + √D b + ½b²), far less than kDL, which few ramps of
/// many devices could not pay. What it lets pass, `settle` tries on simulated devices.
fn price(prepared: &[Prepared]) -> f64 {
    let devices = prepared.len() as f64;
    let whole = prepared.iter().map(ln_reads).sum::<f64>();
    if prepared.len() < FEW {
        return whole;
    }
    let each = whole / devices;
    let b = (2.0 * each.max(1.0) - 1.0).sqrt() - 1.0;
    devices + devices.sqrt() * b + 0.5 * b * b
}

fn ln_reads(device: &Prepared) -> f64 {
    (device.reads.max(1) as f64).ln()
}

/// What decides how straight lines are called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Where both directions were seen.
    pub(super) visited: Range,
    /// Whether most devices run into hard bounds, so that steps do not vanish where the states end.
    pub(super) hard: bool,
}

impl Seen {
    pub(super) fn is_soft(self, curve: &Curve) -> bool {
        !self.hard && curve.is_soft(self.visited)
    }
}

/// The best first; of the piecewise curves only the best one.
pub(super) fn choose(mut fitted: Vec<Candidate>, asked: Option<&str>) -> Vec<Candidate> {
    fitted.retain(|c| c.criterion.is_finite());
    fitted.sort_by(|a, b| a.criterion.total_cmp(&b.criterion));
    let mut seen = Vec::new();
    fitted.retain(|c| {
        let first = !seen.contains(&c.name);
        seen.push(c.name);
        first
    });
    if let Some(name) = asked {
        let is_line = |c: &Candidate| ["linear", "soft_bounds"].contains(&name) && c.model == CurveFamily::Line;
        if let Some(at) = fitted.iter().position(|c| c.name == name || is_line(c)) {
            let own = fitted.remove(at);
            fitted.insert(0, own);
        }
    }
    fitted
}

/// Fits every second ramp and predicts the others, both ways round.
pub(super) fn hold_out(fitted: &mut [Candidate], ramps: &[Vec<Ramp>], warnings: &mut Vec<String>) {
    let enough = ramps.iter().all(|own| {
        [Direction::Up, Direction::Down].iter().all(|d| own.iter().filter(|r| r.direction == *d).count() >= 2)
    });
    if !enough {
        warnings.push("one ramp in a direction: none can be left out to test predictions on".into());
        return;
    }
    // The halves of a few devices say as much as those of all.
    let used = &ramps[..ramps.len().min(6)];
    let halves: Vec<[Prepared; 2]> = used
        .iter()
        .map(|own| [0, 1].map(|half| Prepared::new(own.iter().filter(|r| r.cycle % 2 == half))))
        .collect();
    fitted.par_iter_mut().for_each(|candidate| {
        let (mut log_likelihood, mut reads, mut squares, mut expected, mut count) = (0.0, 0, 0.0, 0.0, 0usize);
        for (device, half) in halves.iter().enumerate() {
            for left_out in 0..2 {
                let on = |ramps| Likelihood { model: candidate.model, ramps, writes: candidate.writes };
                let best = on(&half[1 - left_out]).maximize(&candidate.fits[device].parameters);
                log_likelihood +=
                    on(&half[left_out]).value(&best.parameters, &mut Surprises::new(half[left_out].size));
                reads += half[left_out].reads;
                let n = candidate.model.dimension();
                let curve = Curve { model: candidate.model, parameters: best.parameters[..n].to_vec() };
                let noise = [best.parameters[n], best.parameters[n + 1], best.parameters[n + 2]];
                for ramp in used[device].iter().filter(|r| r.cycle % 2 == left_out) {
                    let (sum, own, reads) = free_run(&curve, noise, ramp);
                    squares += sum;
                    expected += own;
                    count += reads;
                }
            }
        }
        candidate.held_out = Some(LeftOut {
            log_likelihood: log_likelihood / reads.max(1) as f64,
            ramp_error: (squares / count.max(1) as f64).sqrt(),
            expected_error: (expected / count.max(1) as f64).sqrt(),
        });
    });
}

/// Squared errors of a ramp predicted from its first read, and what the noise of the model makes them.
fn free_run(curve: &Curve, noise: [f64; 3], ramp: &Ramp) -> (f64, f64, usize) {
    let Some(first) = ramp.reads.iter().position(|y| !y.is_nan()) else { return (0.0, 0.0, 0) };
    let [read, additive, proportional] = noise.map(|v| v.max(0.0));
    let (mut state, mut spread) = (ramp.reads[first], read);
    let (mut sum, mut expected, mut count) = (0.0, 0.0, 0);
    let sign = ramp.direction.sign();
    for y in &ramp.reads[first + 1..] {
        let step = curve.step(ramp.direction, state).max(0.0);
        let slope = (curve.step(ramp.direction, state + 1e-4).max(0.0) - step) / 1e-4;
        spread = (1.0 + sign * slope).powi(2) * spread + additive + proportional * step * step;
        state += sign * step;
        if !y.is_nan() {
            sum += (y - state).powi(2);
            expected += spread + read;
            count += 1;
        }
    }
    (sum, expected, count)
}
