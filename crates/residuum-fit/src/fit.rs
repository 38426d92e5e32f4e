//! The fit as a whole: screening, every model on every device, the choice, the intervals.

mod check;
mod choice;
mod error;
mod spreads;
mod words;

use rayon::prelude::*;
use residuum::{Key, Range};

pub use error::FitError;
pub use spreads::Spreads;

use check::{check, visited, weight_range};
use choice::{candidate, candidates, choose, hold_out, neighbours};
use spreads::spreads;
use words::sentences;

use crate::bootstrap::{Draws, Estimate, Sides};
use crate::curve::{Curve, CurveFamily};
use crate::filter::Prepared;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::point::FittedPoint;
use crate::scoring::{Likelihood, Maximum, WriteNoise};
use crate::screen::{self, Screening};
use crate::starts::Starts;

/// Hears how far a fit has come; the library itself never prints.
pub trait FitProgress: Sync {
    /// `total` units of work begin.
    fn begin(&self, label: &str, total: u64);
    /// One more is done.
    fn advance(&self);
    /// Whether to stop.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl FitProgress for Quiet {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self) {}
}

/// Choices of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The conductances that become −1 and 1; those of the smoothed reads by default.
    pub range: Option<Range>,
    /// Bootstrap draws.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Only this family, by name; the best by BIC otherwise.
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
    /// The Bayesian one, by which the choice is made.
    pub bic: f64,
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
        Range { lo: seen(Direction::Down).unwrap_or(range.lo), hi: seen(Direction::Up).unwrap_or(range.hi) }
    }
}

/// Fits every model, chooses one, and says how sure it is.
///
/// # Errors
/// If the ramps cannot be those of a device: see [`FitError`].
pub fn fit(
    measured: &Measurement,
    options: &FitOptions,
    progress: &dyn FitProgress,
) -> Result<DeviceFit, FitError> {
    if options.draws < 20 {
        return Err(FitError::Draws(options.draws));
    }
    check(measured)?;
    let mut screening = Screening { stuck: screen::stuck(measured), ..Screening::default() };
    let devices: Vec<usize> =
        (0..measured.devices.len()).filter(|device| !screening.stuck.contains(device)).collect();
    if devices.is_empty() {
        return Err(FitError::Stuck);
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
    for (own, seen) in ramps.iter_mut().zip(&mut seen) {
        let (step, read_noise) = Starts::new(own).scale();
        screen::cut_plateaus(own, step, read_noise, seen);
    }
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
                    let noise = [best.parameters[n], best.parameters[n + 1]];
                    screen::cut_shadows(&mut own, &curve, noise, starts.scale().0, &mut seen);
                }
                if !screen::outliers(&likelihood, &best.parameters, &mut own, &mut seen.outliers) {
                    break;
                }
            }
            progress.advance();
            (own, seen)
        })
        .collect();
    let (ramps, seen): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    for own in seen {
        screening.join(own);
    }
    screening.outliers.sort_by_key(|o| (o.device, o.direction, o.cycle, o.pulse));
    let visited = visited(&ramps);

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
            candidate(model, writes, prepared.par_iter().zip(&starts).map(on).collect(), &prepared, visited)
        });
        let best = tried.max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood)).ok_or(FitError::NoModel);
        for _ in &devices {
            progress.advance();
        }
        best
    };
    let margin = choice::cost(&prepared);
    let fitted = models.into_iter().map(climb).collect::<Result<Vec<_>, _>>()?;
    let mut fitted = choose(fitted, None, margin);
    let reads = prepared.iter().map(|p| p.reads).min().unwrap_or(0);
    let more = fitted.first().map(|best| neighbours(best, reads)).unwrap_or_default();
    if !more.is_empty() {
        progress.begin("fitting more nodes", (more.len() * devices.len()) as u64);
    }
    fitted.extend(more.into_iter().map(climb).collect::<Result<Vec<_>, _>>()?);
    let mut fitted = choose(fitted, options.model.as_deref(), margin);
    if fitted.is_empty() {
        return Err(FitError::NoModel);
    }
    let best = &mut fitted[0];
    let (model, writes) = (best.model, best.writes);
    best.fits.par_iter_mut().zip(&prepared).for_each(|(fit, ramps)| {
        fit.shift = Likelihood { model, ramps, writes }.restricted_shift(fit);
    });
    if options.held_out {
        hold_out(&mut fitted, &ramps, &mut warnings);
    }
    assemble(Parts { measured, options, range, visited, screening, warnings, ramps, prepared, fitted })
}

/// Everything of a fit but its intervals.
struct Parts<'a> {
    measured: &'a Measurement,
    options: &'a FitOptions,
    range: Range,
    visited: Range,
    screening: Screening,
    warnings: Vec<String>,
    ramps: Vec<Vec<Ramp>>,
    prepared: Vec<Prepared>,
    fitted: Vec<Candidate>,
}

fn assemble(parts: Parts<'_>) -> Result<DeviceFit, FitError> {
    let Parts { measured, options, range, visited, screening, mut warnings, ramps, prepared, fitted } = parts;
    let best = &fitted[0];
    let (model, n) = (best.model, best.model.dimension());
    let sides: Vec<Sides> = prepared.iter().map(sides).collect();
    let free: Vec<bool> = std::iter::repeat_n(true, n).chain(best.writes.free()).collect();
    let key = Key::new(options.seed).named("device fit");
    let draws = Draws::new(&best.fits, &sides, &free, options.draws, key);
    let noise = |i: usize| draws.estimate(|p| Some(p[i]));
    let curve = Curve { model, parameters: draws.center[..n].to_vec() };
    let curve_of = |p: &[f64]| Curve { model, parameters: p[..n].to_vec() };
    let soft = curve.is_soft(visited);
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
    let states = Estimate { value: 2.0 / step.value, low: 2.0 / step.high, high: 2.0 / step.low.max(1e-300) };
    let root = |e: Estimate| e.map(|v| v.max(0.0).sqrt());
    let typical = mean_square_step(&curve, visited);
    let read_noise = root(noise(n).unwrap_or(whole)).scaled(per_weight);
    let [read, constant, growing] = [n, n + 1, n + 2].map(|i| draws.center[i].max(0.0));
    let written = |of: &dyn Fn(&[f64]) -> f64, scale: f64, other: f64| {
        root(draws.variance(of, scale, other, read).unwrap_or(whole))
    };
    let write_noise = written(&|p| p[n + 1] + p[n + 2] * typical, 1.0, 0.0).scaled(per_weight);
    let [additive, proportional] = if best.writes == WriteNoise::Both {
        [
            written(&|p| p[n + 1], 1.0, growing * typical).scaled(per_weight),
            written(&|p| p[n + 2], typical, constant),
        ]
    } else {
        // Steps that are all the same cannot tell the two: either may be anything up to the whole.
        let up_to = |part: f64, unit: f64| Estimate { value: part, low: 0.0, high: write_noise.high / unit };
        [up_to(constant.sqrt() * per_weight, 1.0), up_to(growing.sqrt(), typical.sqrt() * per_weight)]
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
    let spread = (best.fits.len() > 1).then(|| spreads(model, soft, &draws, middle));
    warnings.extend(sentences(measured, &screening, &symmetric_point, &fitted, visited));
    if best.writes != WriteNoise::Both {
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
