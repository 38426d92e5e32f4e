//! The step of one pulse against the state, s±(w) in weights: the families that are fitted.
//!
//! Every family has a gain of its own for each direction, and bounds where its steps vanish may lie anywhere: measured devices are
//! rarely as symmetric as the closed forms of [`residuum::response`], which are special cases.

use residuum::Range;

use crate::measurement::Direction;

/// A family of curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CurveFamily {
    /// s± are constants.
    Constant,
    /// A straight line for each direction: `linear`, or `soft_bounds` where the lines vanish at the ends of the range.
    Line,
    /// s₊ = a(1 − w/τ₊)^γ, s₋ = b(1 + w/τ₋)^γ.
    Power,
    /// s₊ = a(e^{k(τ₊ − w)} − 1)/(e^{kτ₊} − 1), s₋ = b(e^{k(w + τ₋)} − 1)/(e^{kτ₋} − 1): convex for k > 0, concave for k < 0.
    Exponential,
    /// s± = a(1 ∓ δ tanh((w − c)/ω)).
    Tanh,
    /// Linear interpolation of a few equally spaced values on a range.
    Piecewise(usize, Range),
    /// The same with many values: what the data say without a model.
    Table(usize, Range),
}

/// A member of a family.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Which family.
    pub model: CurveFamily,
    /// Its parameters; [`Curve::named`] gives them names.
    pub parameters: Vec<f64>,
}

/// Where a bound that no data show is sought at most, in weights.
const FAR: f64 = 20.0;
/// The share of the range between soft bounds that ramps fill at least.
const MOST: f64 = 0.7;

impl CurveFamily {
    /// The number of parameters.
    pub fn dimension(self) -> usize {
        match self {
            Self::Constant => 2,
            Self::Line | Self::Tanh => 4,
            Self::Power | Self::Exponential => 5,
            Self::Piecewise(nodes, _) | Self::Table(nodes, _) => 2 * nodes,
        }
    }

    /// Whether a parameter matters for steps in this direction.
    pub(crate) fn affects(self, parameter: usize, direction: Direction) -> bool {
        let up = direction == Direction::Up;
        match (self, parameter) {
            (Self::Constant, i) => (i == 0) == up,
            (Self::Line, i) => (i < 2) == up,
            (Self::Power | Self::Exponential, i @ 0..4) => (i % 2 == 0) == up,
            (Self::Piecewise(nodes, _) | Self::Table(nodes, _), i) => (i < nodes) == up,
            (Self::Power | Self::Exponential | Self::Tanh, _) => true,
        }
    }

    /// Where a parameter may lie.
    pub(crate) fn limits(self, parameter: usize) -> (f64, f64) {
        const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
        match (self, parameter) {
            (Self::Power | Self::Exponential, 0 | 1) | (Self::Tanh, 0) => (0.0, f64::INFINITY),
            (Self::Power | Self::Exponential, 2 | 3) => (0.3, FAR),
            (Self::Power, _) => (0.05, 30.0),
            (Self::Exponential, _) => (-30.0, 30.0),
            (Self::Tanh, 1) => (-0.999, 0.999),
            (Self::Tanh, 2) => (-3.0, 3.0),
            (Self::Tanh, _) => (0.03, FAR),
            _ => FREE,
        }
    }

    /// Whether it is a closed form, as opposed to values at nodes.
    pub fn is_closed(self) -> bool {
        !matches!(self, Self::Piecewise(..) | Self::Table(..))
    }
}

/// (e^{kx} − 1)/k, which is x for k = 0; 0 for x < 0.
fn growth(k: f64, x: f64) -> f64 {
    let x = x.max(0.0);
    if (k * x).abs() < 1e-9 { x } else { (k * x).exp_m1() / k }
}

/// ∂/∂k of [`growth`].
fn growth_by_rate(k: f64, x: f64) -> f64 {
    if (k * x).abs() < 1e-4 { x * x * (0.5 + k * x / 3.0) } else { (x * (k * x).exp() - growth(k, x)) / k }
}

/// The node to the left of a state, and how far the state is on the way to the next one.
fn between(nodes: usize, range: Range, w: f64) -> (usize, f64) {
    let at = ((w - range.lo) / (range.hi - range.lo)).clamp(0.0, 1.0) * (nodes - 1) as f64;
    let left = (at as usize).min(nodes - 2);
    (left, at - left as f64)
}

impl Curve {
    /// A curve of this family.
    ///
    /// # Panics
    /// If the number of parameters is not that of the family.
    pub fn new(model: CurveFamily, parameters: Vec<f64>) -> Self {
        assert_eq!(parameters.len(), model.dimension(), "{model:?} has another number of parameters");
        Self { model, parameters }
    }

    /// The size of a step from state w, before it is cut off at 0.
    pub fn step(&self, direction: Direction, w: f64) -> f64 {
        let p = &self.parameters;
        let up = direction == Direction::Up;
        let side = direction.index();
        match self.model {
            CurveFamily::Constant => p[side],
            CurveFamily::Line => {
                let (at_low, at_high) = (p[2 * side], p[2 * side + 1]);
                0.5 * (at_low + at_high) + 0.5 * (at_high - at_low) * w
            }
            CurveFamily::Power => {
                let distance = 1.0 - direction.sign() * w / p[2 + side];
                p[side] * distance.max(0.0).powf(p[4])
            }
            CurveFamily::Exponential => {
                let (bound, k) = (p[2 + side], p[4]);
                p[side] * growth(k, bound - direction.sign() * w) / growth(k, bound)
            }
            CurveFamily::Tanh => p[0] * (1.0 - direction.sign() * p[1] * ((w - p[2]) / p[3]).tanh()),
            CurveFamily::Piecewise(nodes, range) | CurveFamily::Table(nodes, range) => {
                let values = if up { &p[..nodes] } else { &p[nodes..] };
                let (left, part) = between(nodes, range, w);
                values[left] + (values[left + 1] - values[left]) * part
            }
        }
    }

    /// How a step from state w follows each parameter.
    pub(crate) fn gradient(&self, direction: Direction, w: f64, into: &mut [f64]) {
        let p = &self.parameters;
        let (side, sign) = (direction.index(), direction.sign());
        into.fill(0.0);
        match self.model {
            CurveFamily::Constant => into[side] = 1.0,
            CurveFamily::Line => {
                into[2 * side] = 0.5 * (1.0 - w);
                into[2 * side + 1] = 0.5 * (1.0 + w);
            }
            CurveFamily::Power => {
                let (bound, shape) = (p[2 + side], p[4]);
                let distance = 1.0 - sign * w / bound;
                if distance > 0.0 {
                    let unit = distance.powf(shape);
                    let step = p[side] * unit;
                    into[side] = unit;
                    into[2 + side] = step * shape / distance * sign * w / (bound * bound);
                    into[4] = step * distance.ln();
                }
            }
            CurveFamily::Exponential => {
                let (bound, k) = (p[2 + side], p[4]);
                let x = (bound - sign * w).max(0.0);
                let (here, whole) = (growth(k, x), growth(k, bound));
                let inside = if x > 0.0 { (k * x).exp() } else { 0.0 };
                into[side] = here / whole;
                into[2 + side] = p[side] * (inside * whole - here * (k * bound).exp()) / (whole * whole);
                into[4] = p[side] * (growth_by_rate(k, x) * whole - here * growth_by_rate(k, bound))
                    / (whole * whole);
            }
            CurveFamily::Tanh => {
                let t = ((w - p[2]) / p[3]).tanh();
                let flat = sign * p[0] * p[1] * (1.0 - t * t) / p[3];
                into.copy_from_slice(&[
                    1.0 - sign * p[1] * t,
                    -sign * p[0] * t,
                    flat,
                    flat * (w - p[2]) / p[3],
                ]);
            }
            CurveFamily::Piecewise(nodes, range) | CurveFamily::Table(nodes, range) => {
                let (left, part) = between(nodes, range, w);
                into[side * nodes + left] = 1.0 - part;
                into[side * nodes + left + 1] = part;
            }
        }
    }

    /// G in steps: half of the down step minus the up step.
    pub fn asymmetry(&self, w: f64) -> f64 {
        0.5 * (self.step(Direction::Down, w) - self.step(Direction::Up, w))
    }

    /// F in steps: the mean of both.
    pub fn gain(&self, w: f64) -> f64 {
        0.5 * (self.step(Direction::Down, w) + self.step(Direction::Up, w))
    }

    /// Where the steps of a direction vanish, if they do: the upper bound for up, the lower one for down.
    pub fn bound(&self, direction: Direction) -> Option<f64> {
        let p = &self.parameters;
        let side = direction.index();
        match self.model {
            CurveFamily::Line => {
                let (at_low, at_high) = (p[2 * side], p[2 * side + 1]);
                let falls = direction.sign() * (at_high - at_low) < 0.0;
                falls.then(|| (at_low + at_high) / (at_low - at_high))
            }
            CurveFamily::Power | CurveFamily::Exponential => Some(direction.sign() * p[2 + side]),
            _ => None,
        }
    }

    /// Whether straight lines are soft bounds: both fall, and ramps fill most of the range between the states where they vanish. One
    /// direction may be slower than the other and end further from its bound.
    pub fn is_soft(&self, visited: Range) -> bool {
        let bounds = self.bound(Direction::Down).zip(self.bound(Direction::Up));
        let filled = bounds.is_some_and(|(lo, hi)| lo < hi && visited.hi - visited.lo >= MOST * (hi - lo));
        self.model == CurveFamily::Line && filled
    }

    /// The word for the family; straight lines have two.
    pub fn name(&self, visited: Range) -> &'static str {
        if self.is_soft(visited) { "soft_bounds" } else { self.name_unless_soft() }
    }

    /// The word for the family where straight lines are no soft bounds.
    pub(crate) fn name_unless_soft(&self) -> &'static str {
        match self.model {
            CurveFamily::Constant => "constant",
            CurveFamily::Line => "linear",
            CurveFamily::Power => "power",
            CurveFamily::Exponential => "exponential",
            CurveFamily::Tanh => "tanh",
            CurveFamily::Piecewise(..) => "piecewise",
            CurveFamily::Table(..) => "table",
        }
    }

    /// Names and values of the parameters, as users know them; `soft` says how straight lines are told.
    pub fn named(&self, soft: bool) -> Vec<(String, f64)> {
        self.names(soft).into_iter().zip(self.values(soft)).collect()
    }

    /// The names alone.
    fn names(&self, soft: bool) -> Vec<String> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        match self.model {
            CurveFamily::Constant => own(&["step_plus", "step_minus"]),
            CurveFamily::Line if soft => own(&["step_plus", "step_minus", "radius_plus", "radius_minus"]),
            CurveFamily::Line => own(&["step_plus", "step_minus", "slope_plus", "slope_minus"]),
            CurveFamily::Power => own(&["step_plus", "step_minus", "radius_plus", "radius_minus", "shape"]),
            CurveFamily::Exponential => {
                own(&["step_plus", "step_minus", "radius_plus", "radius_minus", "rate"])
            }
            CurveFamily::Tanh => own(&["step", "slope", "center", "width"]),
            CurveFamily::Piecewise(nodes, _) | CurveFamily::Table(nodes, _) => {
                ["up", "down"].iter().flat_map(|side| (1..=nodes).map(move |i| format!("{side}_{i}"))).collect()
            }
        }
    }

    /// The values alone.
    pub(crate) fn values(&self, soft: bool) -> Vec<f64> {
        let p = &self.parameters;
        if self.model != CurveFamily::Line {
            return p.clone();
        }
        let (plus, minus) = (0.5 * (p[0] + p[1]), 0.5 * (p[2] + p[3]));
        let slopes = [0.5 * (p[0] - p[1]) / plus, 0.5 * (p[3] - p[2]) / minus];
        let [a, b] = if soft { slopes.map(|slope| 1.0 / slope) } else { slopes };
        vec![plus, minus, a, b]
    }

    /// q₊ and q₋ as expressions in w, in units of a step; `None` for values at nodes.
    pub fn expressions(&self, unit: f64) -> Option<[String; 2]> {
        let p = &self.parameters;
        let q = |value: f64| value / unit;
        Some(match self.model {
            CurveFamily::Constant => [format!("{:?}", q(p[0])), format!("{:?}", q(p[1]))],
            CurveFamily::Line => [0, 2].map(|i| {
                let slope = 0.5 * (p[i + 1] - p[i]);
                let sign = if slope < 0.0 { '-' } else { '+' };
                format!("{:?} {sign} {:?}*w", q(0.5 * (p[i] + p[i + 1])), q(slope.abs()))
            }),
            CurveFamily::Power => [
                format!("{:?}*(1 - w/{:?})^{:?}", q(p[0]), p[2], p[4]),
                format!("{:?}*(1 + w/{:?})^{:?}", q(p[1]), p[3], p[4]),
            ],
            CurveFamily::Exponential => {
                let k = if p[4].abs() < 1e-6 { 1e-6 } else { p[4] };
                let branch = |a: f64, bound: f64, sign: char| {
                    format!("{:?}*(exp({k:?}*({bound:?} {sign} w)) - 1)", q(a) / (k * bound).exp_m1())
                };
                [branch(p[0], p[2], '-'), branch(p[1], p[3], '+')]
            }
            CurveFamily::Tanh => ['-', '+'].map(|sign| {
                format!("{:?}*(1 {sign} {:?}*tanh((w - {:?})/{:?}))", q(p[0]), p[1], p[2], p[3])
                    .replace("- -", "+ ")
                    .replace("+ -", "- ")
            }),
            CurveFamily::Piecewise(..) | CurveFamily::Table(..) => return None,
        })
    }

    /// The range on which the device lives: its bounds where they are near, otherwise that of the weights.
    pub fn dynamic_range(&self) -> Range {
        // A bound that lies much further out is not one that the data know; one inside the weights always ends them, since
        // steps would be negative beyond.
        let soft = self.model != CurveFamily::Line || self.is_soft(Range { lo: -1.0, hi: 1.0 });
        let end = |direction: Direction| {
            let bound = self.bound(direction).map(|b| direction.sign() * b);
            let near = bound.filter(|b| (0.05..1.0).contains(b) || (soft && (1.0..1.5).contains(b)));
            direction.sign() * near.unwrap_or(1.0)
        };
        Range { lo: end(Direction::Down), hi: end(Direction::Up) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_contain_one_another_where_they_should() {
        let line = Curve::new(CurveFamily::Line, vec![0.02, 0.0, 0.0, 0.02]);
        let power = Curve::new(CurveFamily::Power, vec![0.01, 0.01, 1.0, 1.0, 1.0]);
        let exponential = Curve::new(CurveFamily::Exponential, vec![0.01, 0.01, 1.0, 1.0, 0.0]);
        for i in 0..=20 {
            let w = -1.0 + 0.1 * f64::from(i);
            for direction in [Direction::Up, Direction::Down] {
                let s = line.step(direction, w);
                assert!((s - power.step(direction, w)).abs() < 1e-15);
                assert!((s - exponential.step(direction, w)).abs() < 1e-12);
            }
        }
        let visited = Range { lo: -0.95, hi: 0.97 };
        assert_eq!((line.name(visited), line.bound(Direction::Up)), ("soft_bounds", Some(1.0)));
        assert_eq!(Curve::new(CurveFamily::Line, vec![0.015, 0.005, 0.005, 0.015]).name(visited), "linear");
        let named = line.named(true);
        assert_eq!(named[2], ("radius_plus".to_string(), 1.0));
    }

    #[test]
    fn gradients_are_differences_of_steps() {
        let nodes = CurveFamily::Piecewise(3, Range { lo: -1.0, hi: 1.0 });
        let curves = [
            Curve::new(CurveFamily::Constant, vec![0.02, 0.01]),
            Curve::new(CurveFamily::Line, vec![0.02, 0.004, 0.003, 0.02]),
            Curve::new(CurveFamily::Power, vec![0.01, 0.012, 1.2, 1.1, 1.7]),
            Curve::new(CurveFamily::Exponential, vec![0.01, 0.012, 1.2, 1.1, 1.4]),
            Curve::new(CurveFamily::Exponential, vec![0.01, 0.012, 1.2, 1.1, 1e-5]),
            Curve::new(CurveFamily::Tanh, vec![0.01, 0.5, -0.2, 0.7]),
            Curve::new(nodes, vec![0.01, 0.02, 0.015, 0.02, 0.01, 0.01]),
        ];
        for curve in curves {
            let mut found = vec![0.0; curve.parameters.len()];
            for (direction, w) in [(Direction::Up, -0.43), (Direction::Down, 0.61), (Direction::Up, 0.87)] {
                curve.gradient(direction, w, &mut found);
                for (i, slope) in found.iter().enumerate() {
                    let h = 1e-6 * curve.parameters[i].abs().max(1e-3);
                    let moved = |h: f64| {
                        let mut other = curve.clone();
                        other.parameters[i] += h;
                        other.step(direction, w)
                    };
                    let difference = (moved(h) - moved(-h)) / (2.0 * h);
                    let scale = slope.abs().max(1e-3);
                    assert!(
                        (slope - difference).abs() < 1e-5 * scale,
                        "{:?} {i}: {slope} {difference}",
                        curve.model
                    );
                    assert!(curve.model.affects(i, direction) || *slope == 0.0);
                }
            }
        }
    }

    #[test]
    fn expressions_are_the_steps() {
        use residuum::ResponseFunction as _;
        use residuum::response::Formula;
        let curves = [
            Curve::new(CurveFamily::Constant, vec![0.02, 0.01]),
            Curve::new(CurveFamily::Line, vec![0.02, 0.004, 0.003, 0.02]),
            Curve::new(CurveFamily::Power, vec![0.01, 0.012, 1.2, 1.1, 1.7]),
            Curve::new(CurveFamily::Exponential, vec![0.01, 0.012, 1.2, 1.1, 1.4]),
            Curve::new(CurveFamily::Exponential, vec![0.01, 0.012, 1.2, 1.1, -2.0]),
            Curve::new(CurveFamily::Tanh, vec![0.01, 0.5, -0.2, 0.7]),
            Curve::new(CurveFamily::Tanh, vec![0.01, -0.5, 0.2, 0.7]),
        ];
        for curve in curves {
            let [plus, minus] = curve.expressions(0.01).unwrap();
            let range = curve.dynamic_range();
            let formula =
                Formula::parse(&plus, &minus, range).unwrap_or_else(|e| panic!("{plus}; {minus}: {e}"));
            for w in range.grid(11) {
                let (up, down) = (curve.step(Direction::Up, w), curve.step(Direction::Down, w));
                assert!((0.01 * formula.q_plus(w) - up).abs() < 1e-12, "{plus} at {w}");
                assert!((0.01 * formula.q_minus(w) - down).abs() < 1e-12, "{minus} at {w}");
            }
        }
    }
}
