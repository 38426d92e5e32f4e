//! Symmetric points: where up and down steps cross, and whether pulses lead there.

use residuum::{Range, numeric};

use crate::bootstrap::{Draws, Estimate};
use crate::curve::{Curve, CurveFamily};

/// What alternating pulses do near the symmetric point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// G rises through it: they lead to it.
    Attracting,
    /// G falls through it: they lead away.
    Repelling,
    /// Up and down steps do not cross where the device was seen.
    None,
    /// They cross more than once, or are equal everywhere.
    Several,
}

impl PointKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Attracting => "attracting",
            Self::Repelling => "repelling",
            Self::None => "none",
            Self::Several => "several",
        }
    }
}

/// One crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The state, in weights.
    pub at: f64,
    /// Whether G rises through it.
    pub attracting: bool,
}

/// The symmetric point of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPoint {
    /// Its kind.
    pub kind: PointKind,
    /// Where it is, in weights; of several, the attracting one nearest to the middle.
    pub weight: Option<Estimate>,
    /// All crossings.
    pub crossings: Vec<Crossing>,
    /// The share of bootstrap draws with the same kind.
    pub agreement: f64,
    /// Whether up and down steps are equal everywhere within their errors.
    pub everywhere: bool,
}

/// Parts of the range in which the crossings of the fitted curve are sought, and those of curves drawn again.
const PARTS: [usize; 2] = [256, 64];
/// Standard errors that make a difference of steps one, of a normal number: one in two hundred by chance.
const SURE: f64 = 2.807;

/// Sign changes of G on a range, at most one in each part.
pub(crate) fn crossings(curve: &Curve, over: Range, parts: usize) -> Vec<Crossing> {
    let grid = over.grid(parts + 1);
    let g = |w: f64| curve.asymmetry(w);
    let mut found = Vec::new();
    let values: Vec<f64> = grid.iter().map(|w| g(*w)).collect();
    for (pair, value) in grid.windows(2).zip(values.windows(2)) {
        let (a, b) = (value[0], value[1]);
        if a * b < 0.0 || (a == 0.0 && b != 0.0) {
            let at = if a == 0.0 { Some(pair[0]) } else { numeric::find_root(g, pair[0], pair[1]) };
            found.extend(at.map(|at| Crossing { at, attracting: b > a }));
        }
    }
    found
}

fn kind_of(found: &[Crossing]) -> PointKind {
    match found {
        [] => PointKind::None,
        [one] if one.attracting => PointKind::Attracting,
        [_] => PointKind::Repelling,
        _ => PointKind::Several,
    }
}

/// The crossing that stands for the device.
fn main_crossing(found: &[Crossing]) -> Option<Crossing> {
    let nearest = |wanted: bool| {
        let own = found.iter().filter(move |c| c.attracting == wanted);
        own.min_by(|a, b| a.at.abs().total_cmp(&b.at.abs())).copied()
    };
    nearest(true).or_else(|| nearest(false))
}

impl FittedPoint {
    /// Of a curve with its draws, on the range where both directions were seen.
    pub(crate) fn new(model: CurveFamily, draws: &Draws, over: Range) -> Self {
        let n = model.dimension();
        let curve = |p: &[f64]| Curve { model, parameters: p[..n].to_vec() };
        let center = curve(&draws.center);
        let sure = sure_signs(&center, draws, over);
        let everywhere = sure.iter().all(|(_, sign)| *sign == 0) && center_is_flat(&center, over);
        if everywhere {
            return Self {
                kind: PointKind::Several,
                weight: None,
                crossings: Vec::new(),
                agreement: 1.0,
                everywhere,
            };
        }
        let found_of = |curve: &Curve, parts: usize| {
            let own = crossings(curve, over, parts);
            if model.is_closed() { own } else { kept(&own, &sure) }
        };
        let found = found_of(&center, PARTS[0]);
        let kind = kind_of(&found);
        let mut point = Self { kind, weight: None, crossings: found, agreement: 1.0, everywhere };
        point.weight =
            main_crossing(&point.crossings).and_then(|_| draws.estimate(|p| point.of(&curve(p), over)));
        point.agreement = draws.share(|p| kind_of(&found_of(&curve(p), PARTS[1])) == kind);
        point
    }

    /// The same crossing of another curve.
    pub(crate) fn of(&self, curve: &Curve, over: Range) -> Option<f64> {
        let main = main_crossing(&self.crossings)?;
        let same = crossings(curve, over, PARTS[1]).into_iter().filter(|c| c.attracting == main.attracting);
        same.min_by(|a, b| (a.at - main.at).abs().total_cmp(&(b.at - main.at).abs())).map(|c| c.at)
    }
}

/// Whether steps differ by less along the range than between directions could be told.
fn center_is_flat(curve: &Curve, over: Range) -> bool {
    let gains: Vec<f64> = over.grid(9).into_iter().map(|w| curve.asymmetry(w).abs() / curve.gain(w)).collect();
    gains.iter().copied().fold(0.0, f64::max) < 0.1
}

/// The sign of G on a grid where it is beyond doubt, otherwise 0.
fn sure_signs(curve: &Curve, draws: &Draws, over: Range) -> Vec<(f64, i8)> {
    let n = curve.parameters.len();
    let beyond = draws.quantile(SURE);
    over.grid(65)
        .into_iter()
        .map(|w| {
            let sureness =
                draws.sureness(|p| Curve { model: curve.model, parameters: p[..n].to_vec() }.asymmetry(w));
            (w, if sureness.abs() > beyond { sureness.signum() as i8 } else { 0 })
        })
        .collect()
}

/// Crossings between states where the signs are beyond doubt and differ; noise crosses zero too. One of each cluster.
fn kept(found: &[Crossing], sure: &[(f64, i8)]) -> Vec<Crossing> {
    let known: Vec<(f64, i8)> = sure.iter().copied().filter(|(_, sign)| *sign != 0).collect();
    let mut kept = Vec::new();
    for pair in known.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let attracting = pair[1].1 > 0;
        let inside =
            found.iter().filter(|c| pair[0].0 <= c.at && c.at <= pair[1].0 && c.attracting == attracting);
        let middle = 0.5 * (pair[0].0 + pair[1].0);
        kept.extend(inside.min_by(|a, b| (a.at - middle).abs().total_cmp(&(b.at - middle).abs())).copied());
    }
    kept
}
