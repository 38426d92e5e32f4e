//! The fit as a whole: screening, every model on every device, the choice, the intervals.

use rayon::prelude::*;
use residuum::{Key, Range};
use thiserror::Error;

use crate::bootstrap::{Draws, Estimate};
use crate::curve::{Curve, Model};
use crate::filter::Prepared;
use crate::measurement::{Direction, Measurement, Ramp};
use crate::point::{Kind, SymmetricPoint};
use crate::scoring::{Likelihood, Maximum, NOISES};
use crate::screen::{self, Screening, changes};
use crate::starts::Starts;

/// Hears how far a fit has come; the library itself never prints.
pub trait Progress: Sync {
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

impl Progress for Quiet {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self) {}
}

/// Why a measurement cannot be fitted.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FitError {
    /// One direction is missing.
    #[error(
        "a device needs ramps in both directions, got only {given} ramps{of}: measure or give the {missing} pulses too"
    )]
    OneDirection {
        /// What there is.
        given: &'static str,
        /// What is missing.
        missing: &'static str,
        /// Of which device.
        of: String,
    },
    /// Too few pulses.
    #[error("a fit needs at least {needed} reads in each direction, got {given} {direction} reads{of}")]
    TooFew {
        /// The least.
        needed: usize,
        /// The number there.
        given: usize,
        /// The direction.
        direction: &'static str,
        /// Of which device.
        of: String,
    },
    /// Up and down reads do not meet.
    #[error(
        "up reads lie in {up} and down reads in {down}, which do not overlap: give both in the same unit (--read-voltage if \
         one of them is a current)"
    )]
    Apart {
        /// Of up reads.
        up: Range,
        /// Of down reads.
        down: Range,
    },
    /// Devices in different units.
    #[error(
        "reads of device {small} are {factor:.0} times smaller than those of device {large}: give all devices in the same unit"
    )]
    Units {
        /// The one with small reads.
        small: String,
        /// The one with large reads.
        large: String,
        /// Their ratio.
        factor: f64,
    },
    /// Ramps that go the other way.
    #[error(
        "{name} goes {way} by {change:.4e} although its pulses are {direction} pulses: swap up and down, or give the length of \
         the ramps if one column holds several (--ramp-length)"
    )]
    WrongWay {
        /// The ramp.
        name: String,
        /// Where it goes.
        way: &'static str,
        /// By how much.
        change: f64,
        /// Where it should.
        direction: &'static str,
    },
    /// A ramp that turns.
    #[error(
        "{name} turns at its read {turn} of {reads}: a ramp holds pulses of one direction; cut it there, or give the length of \
         the ramps (--ramp-length)"
    )]
    Turns {
        /// The ramp.
        name: String,
        /// Where.
        turn: usize,
        /// Its length.
        reads: usize,
    },
    /// No device moves.
    #[error("no device moves by more than its noise: nothing can be fitted")]
    Stuck,
    /// An invalid range.
    #[error("range must be finite with lo < hi and contain reads, got {0}")]
    Range(Range),
    /// Too few draws.
    #[error("draws must be at least 20, got {0}")]
    Draws(usize),
    /// No model could be fitted.
    #[error("no model describes these ramps: the likelihood has no maximum for any of them")]
    NoModel,
    /// Stopped by the user.
    #[error("interrupted; nothing was written")]
    Cancelled,
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
pub struct HeldOut {
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
    pub model: Model,
    /// Curve and noise parameters, all devices together.
    pub parameters: usize,
    /// Largest log-likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// The Bayesian one, by which the choice is made.
    pub bic: f64,
    /// Prediction of ramps left out.
    pub held_out: Option<HeldOut>,
    /// A sentence on it, where there is something to say.
    pub note: Option<String>,
    fits: Vec<Maximum>,
}

/// How devices differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Spreads {
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Covariance of the parameters between devices, without what the ramps of one device leave open; row by row.
    pub covariance: Vec<f64>,
    /// Deviation of the mean step, relative.
    pub step: Estimate,
    /// Deviation of half the difference of up and down steps, relative to the mean step.
    pub imbalance: Estimate,
    /// Deviation of the lower and the upper bound relative to the mean, where the model has bounds.
    pub bounds: Option<[f64; 2]>,
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
    pub symmetric_point: SymmetricPoint,
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
/// Ramps of a direction from which whole ramps are drawn again; below, blocks of them.
const FEW: usize = 8;
/// Blocks of a direction that are drawn instead.
const BLOCKS: usize = 20;

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
        let mut range = self.curve.dynamic_range();
        for (direction, _, level) in &self.screening.plateaus {
            match direction {
                Direction::Up => range.hi = *level,
                Direction::Down => range.lo = *level,
            }
        }
        range
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
    for own in &mut ramps {
        let (step, read_noise) = Starts::new(own).scale();
        screen::cut_plateaus(own, step, read_noise, &mut screening);
    }
    let visited = visited(&ramps);
    let models = candidates();
    progress.begin("fitting", (models.len() + 2) as u64 * devices.len() as u64);

    // Outliers are found by a curve that fits anything.
    let found: Vec<(Vec<Ramp>, Vec<screen::Outlier>)> = ramps
        .into_par_iter()
        .map(|mut own| {
            let mut found = Vec::new();
            for _ in 0..3 {
                let prepared = Prepared::new(own.iter(), usize::MAX);
                let model = Model::Piecewise(7, WEIGHTS);
                let likelihood = Likelihood { model, ramps: &prepared, proportional: true };
                let best = likelihood.maximize(&Starts::new(&own).of(model, &likelihood));
                if !screen::outliers(&likelihood, &best.parameters, &mut own, &mut found) {
                    break;
                }
            }
            progress.advance();
            (own, found)
        })
        .collect();
    let (ramps, outliers): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    screening.outliers = outliers.into_iter().flatten().collect();
    screening.outliers.sort_by_key(|o| (o.device, o.direction, o.cycle, o.pulse));

    let (prepared, unit_word) = prepare(&ramps);
    let starts: Vec<Starts> = ramps.par_iter().map(|own| Starts::new(own)).collect();
    let mut fitted: Vec<Candidate> = Vec::new();
    for model in models {
        if progress.cancelled() {
            return Err(FitError::Cancelled);
        }
        let proportional = model != Model::Constant;
        let fits: Vec<Maximum> = prepared
            .par_iter()
            .zip(&starts)
            .map(|(ramps, start)| {
                let likelihood = Likelihood { model, ramps, proportional };
                let best = likelihood.maximize(&start.of(model, &likelihood));
                progress.advance();
                best
            })
            .collect();
        fitted.push(candidate(model, fits, &prepared, visited));
    }
    let mut fitted = choose(fitted, options.model.as_deref(), prepared.iter().map(|p| p.reads).sum());
    if fitted.is_empty() {
        return Err(FitError::NoModel);
    }
    if options.held_out {
        hold_out(&mut fitted, &ramps, &mut warnings);
    }
    assemble(Parts {
        measured,
        options,
        range,
        visited,
        screening,
        warnings,
        ramps,
        prepared,
        unit_word,
        fitted,
    })
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
    unit_word: &'static str,
    fitted: Vec<Candidate>,
}

fn assemble(parts: Parts<'_>) -> Result<DeviceFit, FitError> {
    let Parts {
        measured,
        options,
        range,
        visited,
        screening,
        mut warnings,
        ramps,
        prepared,
        unit_word,
        fitted,
    } = parts;
    let best = &fitted[0];
    let (model, n) = (best.model, best.model.dimension());
    let sides: Vec<[Vec<usize>; 2]> = prepared
        .iter()
        .map(|p| {
            [Direction::Up, Direction::Down].map(|d| (0..p.units.len()).filter(|&u| p.units[u] == d).collect())
        })
        .collect();
    let mut free = vec![true; n + NOISES];
    free[n + 2] = model != Model::Constant;
    let key = Key::new(options.seed).named("device fit");
    let draws = Draws::new(&best.fits, &sides, &free, false, options.draws, key);
    let held = |i: usize| free[i] && best.fits.iter().any(|f| f.held[i]);
    let loose =
        (n..n + NOISES).any(held).then(|| Draws::new(&best.fits, &sides, &free, true, options.draws, key));
    // A noise that ends at 0 is not known to be 0.
    let noise = |i: usize| {
        let from = loose.as_ref().filter(|_| held(i)).unwrap_or(&draws);
        from.estimate(|p| Some(p[i])).unwrap_or(Estimate { value: 0.0, low: 0.0, high: 0.0 })
    };
    let curve = Curve { model, parameters: draws.center[..n].to_vec() };
    let curve_of = |p: &[f64]| Curve { model, parameters: p[..n].to_vec() };
    let soft = curve.is_soft(visited);
    let names: Vec<String> = curve.named(soft).into_iter().map(|(name, _)| name).collect();
    let parameters = names
        .iter()
        .enumerate()
        .filter_map(|(i, name)| {
            let estimate = draws.estimate(|p| Some(curve_of(p).named(soft)[i].1))?;
            Some((name.clone(), estimate))
        })
        .collect();
    let symmetric_point = SymmetricPoint::new(model, &draws, visited);
    let middle = symmetric_point.weight.map_or(0.5 * (visited.lo + visited.hi), |w| w.value);
    let per_weight = 0.5 * (range.hi - range.lo);
    let whole = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    let estimate = |f: &dyn Fn(&[f64]) -> f64| draws.estimate(|p| Some(f(p))).unwrap_or(whole);
    let step = estimate(&|p| curve_of(p).gain(middle));
    let states = Estimate { value: 2.0 / step.value, low: 2.0 / step.high, high: 2.0 / step.low.max(1e-300) };
    let root = |e: Estimate| e.map(|v| v.max(0.0).sqrt());
    let typical = mean_square_step(&curve, visited);
    let read_noise = root(noise(n)).scaled(per_weight);
    let additive = root(noise(n + 1)).scaled(per_weight);
    let proportional = root(noise(n + 2));
    let write_noise = root(estimate(&|p| p[n + 1] + p[n + 2] * typical)).scaled(per_weight);
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
        draws: (options.draws, if best.fits.len() > 1 { "ramps, then devices" } else { unit_word }),
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

/// Refuses what cannot be ramps of a device.
fn check(measured: &Measurement) -> Result<(), FitError> {
    let both = [Direction::Up, Direction::Down];
    for device in 0..measured.devices.len() {
        let of = if measured.devices.len() > 1 {
            format!(" of device {}", measured.devices[device])
        } else {
            String::new()
        };
        let reads = both.map(|d| {
            measured.of_device(device).filter(|r| r.direction == d).map(|r| r.taken().count()).sum::<usize>()
        });
        if let Some(missing) = (0..2).find(|&side| reads[side] == 0) {
            let (given, missing) = (both[1 - missing].word(), both[missing].word());
            return Err(FitError::OneDirection { given, missing, of });
        }
        if let Some(side) = (0..2).find(|&side| reads[side] < LEAST) {
            return Err(FitError::TooFew {
                needed: LEAST,
                given: reads[side],
                direction: both[side].word(),
                of,
            });
        }
    }
    let range_of = |d: Direction| {
        let own = measured.ramps.iter().filter(|r| r.direction == d).flat_map(Ramp::taken);
        own.fold(Range { lo: f64::INFINITY, hi: f64::NEG_INFINITY }, |r, y| Range {
            lo: r.lo.min(y),
            hi: r.hi.max(y),
        })
    };
    let [up, down] = both.map(range_of);
    if up.hi < down.lo || down.hi < up.lo {
        return Err(FitError::Apart { up, down });
    }
    units_agree(measured)?;
    let stuck = screen::stuck(measured);
    let moving = measured.ramps.iter().filter(|r| !stuck.contains(&r.device));
    let usual = moving.clone().map(|r| screen::net_change(r).abs()).fold(0.0, f64::max);
    for ramp in moving {
        let change = screen::net_change(ramp);
        if change < -0.2 * usual {
            let way = if ramp.direction == Direction::Up { "down" } else { "up" };
            let name = ramp.name(&measured.devices);
            return Err(FitError::WrongWay {
                name,
                way,
                change: change.abs(),
                direction: ramp.direction.word(),
            });
        }
        if let Some(turn) = turn(ramp, usual) {
            return Err(FitError::Turns { name: ramp.name(&measured.devices), turn, reads: ramp.reads.len() });
        }
    }
    Ok(())
}

fn units_agree(measured: &Measurement) -> Result<(), FitError> {
    let size = |device: usize| {
        let own: Vec<f64> = measured.of_device(device).flat_map(Ramp::taken).map(f64::abs).collect();
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    let sizes: Vec<f64> = (0..measured.devices.len()).map(size).collect();
    let by = |a: &usize, b: &usize| sizes[*a].total_cmp(&sizes[*b]);
    let (Some(small), Some(large)) = ((0..sizes.len()).min_by(by), (0..sizes.len()).max_by(by)) else {
        return Ok(());
    };
    let factor = sizes[large] / sizes[small];
    // Conductances of one technology differ less; units differ by thousands.
    if sizes[small] > 0.0 && factor > 300.0 {
        let (small, large) = (measured.devices[small].clone(), measured.devices[large].clone());
        return Err(FitError::Units { small, large, factor });
    }
    Ok(())
}

/// Where a ramp turns back by a third of the usual change or more, after having gone as far.
fn turn(ramp: &Ramp, usual: f64) -> Option<usize> {
    let taken: Vec<f64> = ramp.taken().collect();
    let k = (taken.len() / 20).max(3);
    if taken.len() < 4 * k {
        return None;
    }
    let sign = ramp.direction.sign();
    let smooth: Vec<f64> = taken.windows(k).map(|w| sign * w.iter().sum::<f64>() / k as f64).collect();
    let (at, top) = smooth.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (first, last) = (smooth[0], smooth[smooth.len() - 1]);
    (top - first > 0.3 * usual && top - last > 0.33 * usual).then_some(at + k / 2)
}

/// The conductances of ±1: as given, or the ends of the reads after a running median, which an outlier does not move.
fn weight_range(measured: &Measurement, stuck: &[usize], given: Option<Range>) -> Result<Range, FitError> {
    let mut ends = Range { lo: f64::INFINITY, hi: f64::NEG_INFINITY };
    for ramp in measured.ramps.iter().filter(|r| !stuck.contains(&r.device)) {
        let taken: Vec<f64> = ramp.taken().collect();
        for window in taken.windows(5.min(taken.len())) {
            let mut sorted = window.to_vec();
            sorted.sort_by(f64::total_cmp);
            let middle = sorted[sorted.len() / 2];
            ends = Range { lo: ends.lo.min(middle), hi: ends.hi.max(middle) };
        }
    }
    match given {
        Some(range) if range.lo < range.hi && range.is_finite() && range.lo < ends.hi && ends.lo < range.hi => {
            Ok(range)
        }
        Some(range) => Err(FitError::Range(range)),
        None if ends.lo < ends.hi => Ok(ends),
        None => Err(FitError::Stuck),
    }
}

/// Where both directions were seen.
fn visited(ramps: &[Vec<Ramp>]) -> Range {
    let ends = |d: Direction| {
        let own = ramps.iter().flatten().filter(|r| r.direction == d).flat_map(changes);
        own.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (x, _)| (lo.min(x), hi.max(x)))
    };
    let ([a, b], [c, e]) = (ends(Direction::Up).into(), ends(Direction::Down).into());
    let (lo, hi) = (f64::max(a, c), f64::min(b, e));
    if lo < hi { Range { lo, hi } } else { Range { lo: -1.0, hi: 1.0 } }
}

/// Nodes lie equally spaced over all weights, as a tile has them.
fn candidates() -> Vec<Model> {
    vec![
        Model::Constant,
        Model::Line,
        Model::Power,
        Model::Exponential,
        Model::Tanh,
        Model::Piecewise(3, WEIGHTS),
        Model::Piecewise(4, WEIGHTS),
        Model::Piecewise(5, WEIGHTS),
        Model::Piecewise(7, WEIGHTS),
        Model::Piecewise(9, WEIGHTS),
        Model::Table(17, WEIGHTS),
    ]
}

/// Ramps in units for the bootstrap, and the word for what is drawn.
fn prepare(ramps: &[Vec<Ramp>]) -> (Vec<Prepared>, &'static str) {
    let fewest = |own: &Vec<Ramp>| {
        [Direction::Up, Direction::Down]
            .map(|d| own.iter().filter(|r| r.direction == d).count())
            .into_iter()
            .min()
    };
    let few = ramps.iter().filter_map(fewest).min().unwrap_or(0) < FEW;
    let prepared = ramps
        .iter()
        .map(|own| {
            let reads: usize = own.iter().filter(|r| r.direction == Direction::Up).map(|r| r.reads.len()).sum();
            Prepared::new(own.iter(), if few { (reads / BLOCKS).max(8) } else { usize::MAX })
        })
        .collect();
    (prepared, if few { "blocks of pulses, since ramps are few" } else { "ramps" })
}

fn candidate(model: Model, fits: Vec<Maximum>, prepared: &[Prepared], visited: Range) -> Candidate {
    let devices = fits.len();
    let noises = if model == Model::Constant { 2 } else { NOISES };
    let parameters = devices * (model.dimension() + noises);
    let log_likelihood: f64 = fits.iter().map(|f| f.log_likelihood).sum();
    let reads: usize = prepared.iter().map(|p| p.reads).sum();
    let mean: Vec<f64> = (0..model.dimension())
        .map(|i| fits.iter().map(|f| f.parameters[i]).sum::<f64>() / devices as f64)
        .collect();
    let curve = Curve { model, parameters: mean };
    let at_limit = |i: usize| 2 * fits.iter().filter(|f| f.held[i]).count() > devices;
    let note = match model {
        Model::Power | Model::Exponential if (0..model.dimension()).any(at_limit) => Some(
            "a parameter ends at its limit: the steps do not shrink towards a bound as this model wants"
                .to_string(),
        ),
        Model::Tanh if (0..4).any(at_limit) => {
            Some("a parameter ends at its limit: the steps do not level off as this model wants".to_string())
        }
        _ if fits.iter().any(|f| !f.converged) => {
            Some("the climb did not converge on every device".to_string())
        }
        _ => None,
    };
    Candidate {
        name: curve.name(visited),
        model,
        parameters,
        log_likelihood,
        aic: 2.0 * parameters as f64 - 2.0 * log_likelihood,
        bic: parameters as f64 * (reads as f64).ln() - 2.0 * log_likelihood,
        held_out: None,
        note,
        fits,
    }
}

/// The best first: by BIC, of the piecewise curves only the best one. A tanh that is wide is a pair of straight lines with as
/// many parameters, so it must be better by what one parameter of every device costs.
fn choose(mut fitted: Vec<Candidate>, asked: Option<&str>, reads: usize) -> Vec<Candidate> {
    fitted.retain(|c| c.bic.is_finite());
    fitted.sort_by(|a, b| a.bic.total_cmp(&b.bic));
    let margin = (reads as f64).ln() * fitted.first().map_or(1, |c| c.fits.len()) as f64;
    if let Some(line) = fitted.iter().position(|c| c.model == Model::Line)
        && fitted[0].model == Model::Tanh
        && fitted[line].bic - fitted[0].bic < margin
    {
        let own = fitted.remove(line);
        fitted.insert(0, own);
    }
    let mut seen = Vec::new();
    fitted.retain(|c| {
        let first = !seen.contains(&c.name);
        seen.push(c.name);
        first
    });
    if let Some(name) = asked {
        let is_line = |c: &Candidate| ["linear", "soft_bounds"].contains(&name) && c.model == Model::Line;
        if let Some(at) = fitted.iter().position(|c| c.name == name || is_line(c)) {
            let own = fitted.remove(at);
            fitted.insert(0, own);
        }
    }
    fitted
}

/// Fits every second ramp and predicts the others, both ways round.
fn hold_out(fitted: &mut [Candidate], ramps: &[Vec<Ramp>], warnings: &mut Vec<String>) {
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
        .map(|own| [0, 1].map(|half| Prepared::new(own.iter().filter(|r| r.cycle % 2 == half), usize::MAX)))
        .collect();
    fitted.par_iter_mut().for_each(|candidate| {
        let (mut log_likelihood, mut reads, mut squares, mut count) = (0.0, 0, 0.0, 0usize);
        for (device, half) in halves.iter().enumerate() {
            for left_out in 0..2 {
                let proportional = candidate.model != Model::Constant;
                let on = |ramps| Likelihood { model: candidate.model, ramps, proportional };
                let best = on(&half[1 - left_out]).maximize(&candidate.fits[device].parameters);
                log_likelihood += on(&half[left_out])
                    .value(&best.parameters, &mut crate::filter::Surprises::new(half[left_out].size));
                reads += half[left_out].reads;
                let n = candidate.model.dimension();
                let curve = Curve { model: candidate.model, parameters: best.parameters[..n].to_vec() };
                for ramp in used[device].iter().filter(|r| r.cycle % 2 == left_out) {
                    let (sum, own) = free_run(&curve, ramp);
                    squares += sum;
                    count += own;
                }
            }
        }
        candidate.held_out = Some(HeldOut {
            log_likelihood: log_likelihood / reads.max(1) as f64,
            ramp_error: (squares / count.max(1) as f64).sqrt(),
        });
    });
}

/// Squared errors of a ramp predicted from its first reads.
fn free_run(curve: &Curve, ramp: &Ramp) -> (f64, usize) {
    let Some(first) = ramp.reads.iter().position(|y| !y.is_nan()) else { return (0.0, 0) };
    let (mut state, mut sum, mut count) = (ramp.reads[first], 0.0, 0);
    for y in &ramp.reads[first + 1..] {
        state += ramp.direction.sign() * curve.step(ramp.direction, state).max(0.0);
        if !y.is_nan() {
            sum += (y - state).powi(2);
            count += 1;
        }
    }
    (sum, count)
}

fn spreads(model: Model, soft: bool, draws: &Draws, middle: f64) -> Spreads {
    let n = model.dimension();
    let curves: Vec<Curve> =
        draws.devices.iter().map(|(p, _)| Curve { model, parameters: p[..n].to_vec() }).collect();
    let named: Vec<Vec<f64>> =
        curves.iter().map(|c| c.named(soft).into_iter().map(|(_, v)| v).collect()).collect();
    let names: Vec<String> = curves[0].named(soft).into_iter().map(|(name, _)| name).collect();
    let count = curves.len() as f64;
    let m = names.len();
    let mean: Vec<f64> = (0..m).map(|i| named.iter().map(|v| v[i]).sum::<f64>() / count).collect();
    let mut covariance = vec![0.0; m * m];
    for (device, values) in named.iter().enumerate() {
        // How the named parameters follow the fitted ones, by differences.
        let slopes = jacobian(&curves[device], soft);
        let own = &draws.devices[device].1;
        let size = (own.len() as f64).sqrt() as usize;
        for i in 0..m {
            for j in 0..m {
                let between = (values[i] - mean[i]) * (values[j] - mean[j]) / (count - 1.0);
                let within: f64 = (0..n)
                    .flat_map(|a| (0..n).map(move |b| (a, b)))
                    .map(|(a, b)| slopes[i * n + a] * own[a * size + b] * slopes[j * n + b])
                    .sum();
                covariance[i * m + j] += between - within / count;
            }
        }
    }
    let deviation = |values: Vec<f64>, own: f64| {
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let value = (variance - own).max(0.0).sqrt();
        // The deviation of a sample of normal numbers, on the scale of its logarithm.
        let factor = (crate::bootstrap::student(curves.len() - 1) / (2.0 * (count - 1.0)).sqrt()).exp();
        let ends =
            [variance / (factor * factor), variance * factor * factor].map(|v| (v - own).max(0.0).sqrt());
        Estimate { value, low: ends[0].min(value), high: ends[1].max(value) }
    };
    let gain = curves.iter().map(|c| c.gain(middle)).sum::<f64>() / count;
    let steps: Vec<f64> = curves.iter().map(|c| c.gain(middle) / gain).collect();
    let tilts: Vec<f64> = curves.iter().map(|c| -c.asymmetry(middle) / gain).collect();
    let own = |f: &dyn Fn(&Curve) -> f64| {
        let each = draws.devices.iter().zip(&curves).map(|((_, within), curve)| {
            let size = (within.len() as f64).sqrt() as usize;
            let slopes: Vec<f64> = (0..n)
                .map(|a| {
                    let mut moved = curve.clone();
                    let h = 1e-5 * curve.parameters[a].abs().max(1e-6);
                    moved.parameters[a] += h;
                    (f(&moved) - f(curve)) / h
                })
                .collect();
            (0..n)
                .flat_map(|a| (0..n).map(move |b| (a, b)))
                .map(|(a, b)| slopes[a] * within[a * size + b] * slopes[b])
                .sum::<f64>()
        });
        each.sum::<f64>() / count
    };
    let relative = |i: usize| covariance[i * m + i].max(0.0).sqrt() / mean[i].abs();
    let place = |name: &str| names.iter().position(|n| n == name);
    let bounds = place("radius_minus").zip(place("radius_plus")).map(|(a, b)| [relative(a), relative(b)]);
    Spreads {
        step: deviation(steps, own(&|c| c.gain(middle) / gain)),
        imbalance: deviation(tilts, own(&|c| -c.asymmetry(middle) / gain)),
        names,
        covariance,
        bounds,
    }
}

/// ∂(named parameter i)/∂(fitted parameter a), row by row.
fn jacobian(curve: &Curve, soft: bool) -> Vec<f64> {
    let (n, base) = (curve.parameters.len(), curve.named(soft));
    let mut slopes = vec![0.0; base.len() * n];
    for a in 0..n {
        let mut moved = curve.clone();
        let h = 1e-5 * curve.parameters[a].abs().max(1e-6);
        moved.parameters[a] += h;
        for (i, (_, value)) in moved.named(soft).into_iter().enumerate() {
            slopes[i * n + a] = (value - base[i].1) / h;
        }
    }
    slopes
}

/// What a user should read.
fn sentences(
    measured: &Measurement,
    screening: &Screening,
    point: &SymmetricPoint,
    fitted: &[Candidate],
    visited: Range,
) -> Vec<String> {
    let mut said = Vec::new();
    if !screening.stuck.is_empty() {
        let names: Vec<&str> = screening.stuck.iter().map(|&d| measured.devices[d].as_str()).collect();
        said.push(format!("stuck and left out: device {} (of {})", names.join(", "), measured.devices.len()));
    }
    for o in screening.outliers.iter().take(10) {
        let ramp = Ramp { device: o.device, cycle: o.cycle, direction: o.direction, reads: Vec::new() };
        said.push(format!(
            "outlier left out: {}, read {} ({:.0} standard deviations off)",
            ramp.name(&measured.devices),
            o.pulse + 1,
            o.deviations
        ));
    }
    if screening.outliers.len() > 10 {
        said.push(format!("{} more outliers left out", screening.outliers.len() - 10));
    }
    for direction in [Direction::Up, Direction::Down] {
        let own: Vec<_> = screening.plateaus.iter().filter(|p| p.0 == direction).collect();
        if !own.is_empty() {
            let level = own.iter().map(|p| p.2).sum::<f64>() / own.len() as f64;
            let ramps: usize = own.iter().map(|p| p.1).sum();
            said.push(format!(
                "{ramps} {} ramps saturate: they stand at the weight {level:.3}, a hard bound; reads from there on tell the bound, \
                 not the steps",
                direction.word()
            ));
        }
    }
    match point.kind {
        Kind::Repelling => said.push(
            "the symmetric point repels: alternating pulses lead away from it, zero-shifting does not find it, and the \
             implicit penalty has its maximum there; the definition of regular responses does not exclude it, since it asks \
             nothing of the sign of G′"
                .into(),
        ),
        Kind::None => said.push(format!(
            "up and down steps do not cross between the weights {:.2} and {:.2}: there is no symmetric point there",
            visited.lo, visited.hi
        )),
        Kind::Several if point.everywhere => {
            said.push("up and down steps are equal everywhere within their errors: every state is a symmetric point".into());
        }
        Kind::Several => said.push(format!(
            "up and down steps cross {} times: pulses lead to {} of these points",
            point.crossings.len(),
            point.crossings.iter().filter(|c| c.attracting).count()
        )),
        Kind::Attracting => {}
    }
    if point.agreement < 0.95 {
        said.push(format!(
            "the kind of the symmetric point is not sure: {:.0} % of the bootstrap draws agree",
            100.0 * point.agreement
        ));
    }
    if let [best, second, ..] = fitted
        && second.bic - best.bic < 6.0
        && second.bic >= best.bic
    {
        said.push(format!(
            "{} describes the data almost as well as {}: more ramps would tell",
            second.name, best.name
        ));
    }
    said
}
