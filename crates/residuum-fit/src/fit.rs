//! The fit as a whole: screening, every model on every device, the choice, the intervals.

mod check;
mod choice;
mod error;
mod settle;
mod spreads;
mod words;

use rayon::prelude::*;
use residuum::progress::Progress;
use residuum::{Key, Range};

pub use error::FitError;
pub use spreads::Spreads;

use check::{check, visited, weight_range};
use choice::{Seen, candidate, candidates, choose, hold_out, neighbours};
use spreads::spreads;
use words::sentences;

use crate::bootstrap::{Draws, Estimate, Sides};
use crate::curve::{Curve, CurveFamily};
use crate::filter::Prepared;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::point::FittedPoint;
use crate::scoring::{Likelihood, Maximum, NOISES, WriteNoise};
use crate::screen::{self, Screening};
use crate::starts::{Scale, Starts};

/// Choices of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The conductances that become −1 and 1; those of the smoothed reads by default.
    pub range: Option<Range>,
    /// Bootstrap draws.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Only this family, by name; the best otherwise.
    pub model: Option<String>,
    /// Whether to predict ramps left out.
    pub held_out: bool,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { range: None, draws: 200, seed: 0, model: None, held_out: true }
    }
}

/// How well ramps are predicted that a model has not seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// Mean log-likelihood of a read.
    pub log_likelihood: f64,
    /// Root mean square error of a whole ramp predicted from its first read, in weights.
    pub ramp_error: f64,
    /// What the noise of the model alone would make of it: more says that ramps differ by more than the noise of their pulses.
    pub expected_error: f64,
}

/// One model on all devices.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The word for it.
    pub name: &'static str,
    /// The family.
    pub model: CurveFamily,
    /// Curve and noise parameters, all devices together.
    pub parameters: usize,
    /// Largest log-likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// The Bayesian one.
    pub bic: f64,
    /// By which the choice is made: the Bayesian one for one device, and for several with the odds of a needless parameter that it
    /// has for one; a tanh counts one parameter more than it has.
    pub criterion: f64,
    /// Prediction of ramps left out.
    pub held_out: Option<LeftOut>,
    /// A sentence on it, where there is something to say.
    pub note: Option<String>,
    writes: WriteNoise,
    fits: Vec<Maximum>,
}

/// A fitted device. Weights are (2g − lo − hi)/(hi − lo) for `range` = [lo, hi].
#[derive(Clone, Debug)]
pub struct DeviceFit {
    /// What becomes −1 and 1.
    pub range: Range,
    /// Whether the range was given.
    pub range_given: bool,
    /// Unit of reads.
    pub unit: String,
    /// The recommended curve, of the mean device, in weights.
    pub curve: Curve,
    /// Parameters with intervals, in weights.
    pub parameters: Vec<(String, Estimate)>,
    /// All models that were tried, best first.
    pub candidates: Vec<Candidate>,
    /// The symmetric point and its kind.
    pub symmetric_point: FittedPoint,
    /// Mean step at the symmetric point, or in the middle of the range without one; in the unit of reads.
    pub step: Estimate,
    /// Range over step.
    pub states: Estimate,
    /// Deviation of a read, in the unit of reads.
    pub read_noise: Estimate,
    /// Deviation of a pulse of the mean step, in the unit of reads.
    pub write_noise: Estimate,
    /// The part that does not depend on the step, in the unit of reads.
    pub additive: Estimate,
    /// The part that grows with the step, relative to it.
    pub proportional: Estimate,
    /// How devices differ, where there are several.
    pub spread: Option<Spreads>,
    /// Where both directions were seen, in weights.
    pub visited: Range,
    /// q± with 95 % bands on a grid of `visited`: w, up, down, in steps in weights.
    pub band: Vec<(f64, Estimate, Estimate)>,
    /// What was set aside.
    pub screening: Screening,
    /// Bootstrap draws, and what was drawn.
    pub draws: (usize, &'static str),
    /// Sentences that a user should read.
    pub warnings: Vec<String>,
    /// Variances of read, additive and proportional noise, in weights.
    pub(crate) noise: [f64; 3],
    /// Measured ramps as used, in weights.
    pub ramps: Vec<Ramp>,
}

/// The range of weights.
const WEIGHTS: Range = Range { lo: -1.0, hi: 1.0 };
/// Reads needed in each direction of a device.
const LEAST: usize = 20;
/// Ramps of a direction from which ramps are drawn again; below, the noise of their pulses.
const FEW: usize = 8;
/// The power of one over the reads with which that bias of the noise falls which the restricted likelihood leaves: 1.3 to 1.7, measured
/// with 3 to 12 ramps of tables and piecewise curves.
const LEFT: f64 = 1.5;

impl DeviceFit {
    /// The recommended family.
    pub fn model_name(&self) -> &'static str {
        self.candidates[0].name
    }

    /// Conductance of a weight.
    pub fn conductance(&self, weight: f64) -> f64 {
        self.range.lo + 0.5 * (weight + 1.0) * (self.range.hi - self.range.lo)
    }

    /// Conductance per weight.
    pub fn per_weight(&self) -> f64 {
        0.5 * (self.range.hi - self.range.lo)
    }

    /// The device as one that can be simulated.
    pub fn truth(&self) -> crate::Truth {
        let [read, additive, proportional] = self.noise.map(|v| v.max(0.0).sqrt());
        let bounds = self.hard_range();
        crate::Truth { curve: self.curve.clone(), read_noise: read, additive, proportional, range: bounds }
    }

    /// Where states are cut off: hard bounds that were seen, otherwise the dynamic range of the curve.
    pub fn hard_range(&self) -> Range {
        let range = self.curve.dynamic_range();
        // Devices run into bounds of their own: the mean device has the mean of them.
        let seen = |direction: Direction| {
            let own = self.screening.plateaus.iter().filter(|(d, ..)| *d == direction);
            let (sum, count) = own.fold((0.0, 0.0), |(sum, count), (_, _, level)| (sum + level, count + 1.0));
            (count > 0.0).then_some(sum / count)
        };
        // Steps may vanish before: a ramp that noise has carried there goes no further.
        let end = |d: Direction, other: f64| {
            let level = seen(d).unwrap_or(other);
            let bound = self.curve.bound(d).filter(|b| d.sign() * (level - b) >= 0.0 && d.sign() * b > 0.0);
            // There a rounding error would make a step negative.
            bound.map_or(level, |b| b * (1.0 - 1e-12))
        };
        Range { lo: end(Direction::Down, range.lo), hi: end(Direction::Up, range.hi) }
    }
}

/// Fits every model, chooses one, and says how sure it is.
///
/// # Errors
/// If the ramps cannot be those of a device: see [`FitError`].
pub fn fit(
    measured: &Measurement,
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<DeviceFit, FitError> {
    if options.draws < 20 {
        return Err(FitError::Draws(options.draws));
    }
    check(measured)?;
    let mut screening = Screening { stuck: screen::stuck(measured), ..Screening::default() };
    let devices: Vec<usize> =
        (0..measured.devices.len()).filter(|device| !screening.stuck.contains(device)).collect();
    if devices.is_empty() {
        return Err(check::why_still(measured));
    }
    let range = weight_range(measured, &screening.stuck, options.range)?;
    let weight = |y: f64| (2.0 * y - range.lo - range.hi) / (range.hi - range.lo);
    let mut warnings = measured.notes.clone();
    let mut ramps: Vec<Vec<Ramp>> = devices
        .iter()
        .map(|&device| {
            let own = measured.of_device(device);
            own.map(|ramp| Ramp { reads: ramp.reads.iter().map(|&y| weight(y)).collect(), ..ramp.clone() })
                .collect()
        })
        .collect();
    let mut seen: Vec<Screening> = vec![Screening::default(); ramps.len()];
    let scales: Vec<Scale> = ramps.par_iter().map(|own| Starts::new(own).scale()).collect();
    screen::cut_plateaus(&mut ramps, &scales, &mut seen);
    let models = candidates();
    progress.begin("fitting", (models.len() + 1) as u64 * devices.len() as u64);

    // Outliers, and where bounds cut off the noise, are found by a curve that fits anything.
    let found: Vec<(Vec<Ramp>, Screening)> = ramps
        .into_par_iter()
        .zip(seen)
        .map(|(mut own, mut seen)| {
            let model = CurveFamily::Piecewise(7, WEIGHTS);
            for round in 0..3 {
                let prepared = Prepared::new(own.iter());
                let likelihood = Likelihood { model, ramps: &prepared, writes: WriteNoise::Both };
                let starts = Starts::new(&own);
                let best = likelihood.maximize(&starts.of(model, &likelihood));
                if round == 0 {
                    let n = model.dimension();
                    let curve = Curve { model, parameters: best.parameters[..n].to_vec() };
                    let [read, write] = [n, n + 1].map(|i| best.parameters[i].sqrt());
                    let scale = Scale { read, write, ..starts.scale() };
                    screen::cut_shadows(&mut own, &curve, scale, &mut seen);
                }
                if !screen::outliers(&likelihood, &best.parameters, &mut own, &mut seen.outliers) {
                    break;
                }
            }
            progress.advance(1);
            (own, seen)
        })
        .collect();
    let (ramps, seen): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    for own in seen {
        screening.join(own);
    }
    screening.outliers.sort_by_key(|o| (o.device, o.direction, o.cycle, o.pulse));
    let saturated = |d: Direction| screening.plateaus.iter().filter(|p| p.0 == d).count();
    let hard = [Direction::Up, Direction::Down].iter().any(|d| 2 * saturated(*d) > devices.len());
    let seen = Seen { visited: visited(&ramps), hard };

    let prepared: Vec<Prepared> = ramps.iter().map(|own| Prepared::new(own.iter())).collect();
    let starts: Vec<Starts> = ramps.par_iter().map(|own| Starts::new(own)).collect();
    let climb = |model: CurveFamily| -> Result<Candidate, FitError> {
        if progress.cancelled() {
            return Err(FitError::Cancelled);
        }
        let tried = WriteNoise::of(model).iter().map(|&writes| {
            let on = |(ramps, start): (&Prepared, &Starts)| {
                let likelihood = Likelihood { model, ramps, writes };
                likelihood.maximize(&start.of(model, &likelihood))
            };
            candidate(model, writes, prepared.par_iter().zip(&starts).map(on).collect(), &prepared, seen)
        });
        let best = tried.max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood)).ok_or(FitError::NoModel);
        progress.advance(devices.len() as u64);
        best
    };
    let fitted = models.into_iter().map(climb).collect::<Result<Vec<_>, _>>()?;
    let mut fitted = choose(fitted, None);
    let key = Key::new(options.seed).named("device fit");
    settle::settle(&mut fitted, &ramps, key);
    let reads = prepared.iter().map(|p| p.reads).min().unwrap_or(0);
    let more = fitted.first().map(|best| neighbours(best, reads)).unwrap_or_default();
    if !more.is_empty() {
        progress.begin("fitting more nodes", (more.len() * devices.len()) as u64);
    }
    fitted.extend(more.into_iter().map(climb).collect::<Result<Vec<_>, _>>()?);
    let mut fitted = choose(fitted, options.model.as_deref());
    if fitted.is_empty() {
        return Err(FitError::NoModel);
    }
    let best = &mut fitted[0];
    restrict(best, &ramps, &prepared);
    if options.held_out {
        hold_out(&mut fitted, &ramps, &mut warnings);
    }
    assemble(Parts { measured, options, key, range, seen, screening, warnings, ramps, prepared, fitted })
}

/// The noise of a device by the restricted likelihood; of several, curve and noise without their bias.
///
/// The bias of maximum likelihood is as large for the mean of many devices as for one of them, and so counts where the mean is known
/// better. It goes with one over the number of reads, so fits without a third of the ramps show it: the jackknife.
fn restrict(best: &mut Candidate, ramps: &[Vec<Ramp>], prepared: &[Prepared]) {
    let (model, writes, n) = (best.model, best.writes, best.model.dimension());
    let on = |ramps| Likelihood { model, ramps, writes };
    if let ([fit], [ramps]) = (best.fits.as_mut_slice(), prepared) {
        fit.shift = on(ramps).restricted_shift(fit);
        let noise = std::array::from_fn(|i| fit.parameters[n + i] + fit.shift[i]);
        fit.believed = Some(on(ramps).units(&with_noise(fit, noise)));
        return;
    }
    let whole = noise_of_all(on, &mut best.fits, prepared);
    best.fits.par_iter_mut().zip(prepared).for_each(|(fit, ramps)| {
        fit.believed = Some(on(ramps).units(&with_noise(fit, whole)));
    });
    let cycles = ramps.iter().flatten().map(|r| r.cycle + 1).max().unwrap_or(0);
    let parts: Vec<Vec<Prepared>> = (0..cycles.min(3))
        .map(|part| {
            let without =
                |own: &Vec<Ramp>| Prepared::new(own.iter().filter(|r| r.cycle % cycles.min(3) != part));
            ramps.iter().map(without).collect()
        })
        .collect();
    let sided = |part: &Prepared| [Direction::Up, Direction::Down].iter().all(|d| part.units.contains(d));
    if !parts.iter().flatten().all(sided) {
        return;
    }
    let mut found: Vec<Vec<Maximum>> = parts
        .iter()
        .map(|part| {
            part.par_iter().zip(&best.fits).map(|(ramps, fit)| on(ramps).maximize(&fit.parameters)).collect()
        })
        .collect();
    let count = parts.len() as f64;
    let more =
        |of: &dyn Fn(&[Prepared]) -> f64| parts.iter().map(|p| of(prepared) / of(p)).sum::<f64>() / count - 1.0;
    // Straight lines and values at nodes enter the steps linearly, and have next to none.
    if matches!(model, CurveFamily::Power | CurveFamily::Exponential | CurveFamily::Tanh) {
        for (d, fit) in best.fits.iter_mut().enumerate() {
            if found.iter().all(|f| f[d].converged && !f[d].held[..n].contains(&true)) {
                let more = more(&|p| p[d].reads as f64);
                let mean = |i: usize| found.iter().map(|f| f[d].parameters[i]).sum::<f64>() / count;
                fit.bias = (0..n).map(|i| (mean(i) - fit.parameters[i]) / more).collect();
            }
        }
    }
    let more = (1.0 + more(&|p| p.iter().map(|own| own.reads as f64).sum())).powf(LEFT) - 1.0;
    let apart: Vec<[f64; NOISES]> =
        found.iter_mut().zip(&parts).map(|(fits, part)| noise_of_all(on, fits, part)).collect();
    for noise in best.fits.iter_mut().filter_map(|fit| fit.noise.as_mut()) {
        for (i, v) in noise.iter_mut().enumerate() {
            *v -= (apart.iter().map(|own| own[i]).sum::<f64>() / count - whole[i]) / more;
        }
    }
}

/// The mean noise of several devices, and the noise of each.
///
/// The maximum of one device is biased by a part of its own error: few reads leave a part of the noise at 0 on some devices, and a large
/// estimate weighs the reads that made it large less. So every device takes one step from the same noise, the mean of all, which is
/// linear in what its reads say.
fn noise_of_all<'a>(
    on: impl Fn(&'a Prepared) -> Likelihood<'a> + Sync,
    fits: &mut [Maximum],
    prepared: &'a [Prepared],
) -> [f64; NOISES] {
    let mean = |fits: &[Maximum]| -> [f64; NOISES] {
        let own = |fit: &Maximum, i: usize| {
            fit.noise.map_or_else(|| fit.parameters[fit.parameters.len() - NOISES + i], |noise| noise[i])
        };
        std::array::from_fn(|i| fits.iter().map(|f| own(f, i)).sum::<f64>() / fits.len() as f64)
    };
    for _ in 0..3 {
        let from = mean(fits).map(|v| v.max(0.0));
        fits.par_iter_mut().zip(prepared).for_each(|(fit, ramps)| {
            fit.noise = on(ramps).restricted_from(fit, from);
        });
    }
    mean(fits)
}

/// The parameters of a maximum with other noise.
fn with_noise(fit: &Maximum, noise: [f64; NOISES]) -> Vec<f64> {
    let curve = &fit.parameters[..fit.parameters.len() - NOISES];
    curve.iter().copied().chain(noise.map(|v| v.max(0.0))).collect()
}

/// Everything of a fit but its intervals.
struct Parts<'a> {
    measured: &'a Measurement,
    options: &'a FitOptions,
    key: Key,
    range: Range,
    seen: Seen,
    screening: Screening,
    warnings: Vec<String>,
    ramps: Vec<Vec<Ramp>>,
    prepared: Vec<Prepared>,
    fitted: Vec<Candidate>,
}

fn assemble(parts: Parts<'_>) -> Result<DeviceFit, FitError> {
    let Parts { measured, options, key, range, seen, screening, mut warnings, ramps, prepared, mut fitted } =
        parts;
    let visited = seen.visited;
    let (model, n) = (fitted[0].model, fitted[0].model.dimension());
    let sides: Vec<Sides> = prepared.iter().map(sides).collect();
    let draw = |best: &Candidate| {
        let free: Vec<bool> = std::iter::repeat_n(true, n).chain(best.writes.free()).collect();
        Draws::new(&best.fits, &sides, &free, options.draws, key)
    };
    let mut draws = draw(&fitted[0]);
    let absent = without_absent_noise(&mut fitted[0], &draws, &ramps, &prepared);
    if absent.is_some() {
        draws = draw(&fitted[0]);
    }
    let best = &fitted[0];
    let noise = |i: usize| draws.estimate(|p| Some(p[i]));
    let curve = Curve { model, parameters: draws.center[..n].to_vec() };
    let curve_of = |p: &[f64]| Curve { model, parameters: p[..n].to_vec() };
    let soft = seen.is_soft(&curve);
    let names: Vec<String> = curve.named(soft).into_iter().map(|(name, _)| name).collect();
    let parameters = names
        .iter()
        .enumerate()
        .filter_map(|(i, name)| {
            let estimate = draws.estimate(|p| Some(curve_of(p).values(soft)[i]))?;
            Some((name.clone(), estimate))
        })
        .collect();
    let symmetric_point = FittedPoint::new(model, &draws, visited);
    let middle = symmetric_point.weight.map_or(0.5 * (visited.lo + visited.hi), |w| w.value);
    let per_weight = 0.5 * (range.hi - range.lo);
    let whole = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    let estimate = |f: &dyn Fn(&[f64]) -> f64| draws.estimate(|p| Some(f(p))).unwrap_or(whole);
    // Where the point is known but roughly, so is the step there.
    let step = estimate(&|p| {
        let curve = curve_of(p);
        curve.gain(symmetric_point.of(&curve, visited).unwrap_or(middle))
    });
    let states = states(step);
    let root = |e: Estimate| e.map(|v| v.max(0.0).sqrt());
    let typical = mean_square_step(&curve, visited);
    let read_noise = root(noise(n).unwrap_or(whole)).scaled(per_weight);
    let [read, constant, growing] = [n, n + 1, n + 2].map(|i| draws.center[i].max(0.0));
    let written = |of: &dyn Fn(&[f64]) -> f64, scale: f64, other: f64| {
        root(draws.variance(of, scale, other, read).unwrap_or(whole))
    };
    let write_noise = written(&|p| p[n + 1] + p[n + 2] * mean_square_step(&curve_of(p), visited), 1.0, 0.0);
    let write_noise = write_noise.scaled(per_weight);
    let parts = || {
        [
            written(&|p| p[n + 1], 1.0, growing * typical).scaled(per_weight),
            written(&|p| p[n + 2], typical, constant),
        ]
    };
    let less_by =
        |e: Estimate, variance: f64| Estimate { low: (e.low * e.low - variance.max(0.0)).max(0.0).sqrt(), ..e };
    let none_up_to = |variance: f64| Estimate { value: 0.0, low: 0.0, high: variance.max(0.0).sqrt() };
    let [additive, proportional] = match absent {
        None if best.writes == WriteNoise::Both => parts(),
        // What is left may be less by as much as the absent part may have.
        Some(Absent { writes: WriteNoise::Additive, at_most }) => {
            let unit = at_most * typical * per_weight * per_weight;
            [less_by(parts()[0], unit), none_up_to(at_most)]
        }
        Some(Absent { at_most, .. }) => {
            [none_up_to(at_most).scaled(per_weight), less_by(parts()[1], at_most / typical)]
        }
        None => {
            // Steps that are all the same cannot tell the two: either may be anything up to the whole.
            let up_to =
                |part: f64, unit: f64| Estimate { value: part, low: 0.0, high: write_noise.high / unit };
            [up_to(constant.sqrt() * per_weight, 1.0), up_to(growing.sqrt(), typical.sqrt() * per_weight)]
        }
    };
    let band = visited
        .grid(41)
        .into_iter()
        .map(|w| {
            (
                w,
                estimate(&|p| curve_of(p).step(Direction::Up, w)),
                estimate(&|p| curve_of(p).step(Direction::Down, w)),
            )
        })
        .collect();
    let spread = (best.fits.len() > 1).then(|| spreads(model, soft, &draws, middle, key));
    warnings.extend(sentences(measured, &screening, &symmetric_point, &fitted, visited));
    warnings.extend(words::beyond(&curve, soft, visited));
    warnings.extend(words::unknown_step(states));
    if absent.is_some_and(|a| a.at_most < 0.0) {
        warnings.push(
            "write noise falls as the step grows, which neither of its parts does: what is given as its additive part is the mean \
             over the steps that were seen"
                .into(),
        );
    }
    if absent.is_none() && best.writes != WriteNoise::Both {
        warnings.push(
            "steps are constant, so write noise that grows with the step cannot be told from noise that does not: the intervals \
             of both parts reach from 0 to the whole"
                .into(),
        );
    }
    let noise = [draws.center[n], draws.center[n + 1], draws.center[n + 2]];
    Ok(DeviceFit {
        range,
        range_given: options.range.is_some(),
        unit: measured.unit.clone(),
        curve,
        parameters,
        symmetric_point,
        step: step.scaled(per_weight),
        states,
        read_noise,
        write_noise,
        additive,
        proportional,
        spread,
        visited,
        band,
        screening,
        draws: (options.draws, drawn(&sides)),
        warnings,
        noise,
        ramps: ramps.into_iter().flatten().collect(),
        candidates: fitted,
    })
}

/// A part of the write noise that the reads do not have.
#[derive(Clone, Copy, Debug)]
struct Absent {
    /// What is left.
    writes: WriteNoise,
    /// Upper end of the interval of its variance; negative if it would have to be.
    at_most: f64,
}

/// Fits again without a part of the write noise whose variance comes out negative: the other part is then the whole, and its
/// interval that of the whole.
fn without_absent_noise(
    best: &mut Candidate,
    draws: &Draws,
    ramps: &[Vec<Ramp>],
    prepared: &[Prepared],
) -> Option<Absent> {
    let (model, n) = (best.model, best.model.dimension());
    if best.writes != WriteNoise::Both {
        return None;
    }
    let [additive, proportional] = [n + 1, n + 2].map(|i| draws.center[i]);
    let (writes, gone) = match (additive < 0.0, proportional < 0.0) {
        (_, true) => (WriteNoise::Additive, n + 2),
        (true, false) => (WriteNoise::Proportional, n + 1),
        (false, false) => return None,
    };
    let at_most = draws.estimate(|p| Some(p[gone])).map_or(0.0, |e| e.high);
    best.writes = writes;
    best.fits.par_iter_mut().zip(prepared).for_each(|(fit, ramps)| {
        *fit = Likelihood { model, ramps, writes }.maximize(&fit.parameters);
    });
    restrict(best, ramps, prepared);
    Some(Absent { writes, at_most })
}

/// Range over step: without an upper end where the step may vanish, and not a number where nothing is known of it.
fn states(step: Estimate) -> Estimate {
    let over = |s: f64| if s > 0.0 { 2.0 / s } else { f64::INFINITY };
    let value = if step.value > 0.0 { 2.0 / step.value } else { f64::NAN };
    Estimate { value, low: over(step.high).min(value), high: over(step.low) }
}

/// Mean of s² over the visited range and both directions.
fn mean_square_step(curve: &Curve, over: Range) -> f64 {
    let grid = over.grid(65);
    let square = |d: Direction, w: f64| curve.step(d, w).max(0.0).powi(2);
    grid.iter().map(|&w| square(Direction::Up, w) + square(Direction::Down, w)).sum::<f64>()
        / (2 * grid.len()) as f64
}

/// What is drawn of a device.
fn sides(prepared: &Prepared) -> Sides {
    let of = |d: Direction| (0..prepared.units.len()).filter(|&u| prepared.units[u] == d).collect::<Vec<_>>();
    let units = [of(Direction::Up), of(Direction::Down)];
    let few = units.iter().any(|own| own.len() < FEW);
    Sides { units, few }
}

/// The words for it.
fn drawn(sides: &[Sides]) -> &'static str {
    match (sides.len() > 1, sides.iter().any(|s| s.few)) {
        (false, false) => "ramps",
        (false, true) => "the noise of pulses by its fitted law, since ramps are few",
        (true, false) => "ramps, then devices",
        (true, true) => "the noise of pulses by its fitted law, since ramps are few, then devices",
    }
}
