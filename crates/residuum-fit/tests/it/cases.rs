//! Devices with known parameters: one of each family, with read and write noise, and some that are harder.

use residuum::{Key, Range};
use residuum_fit::{Curve, CurveFamily, DeviceFit, Direction, Estimate, PointKind, Truth};

/// One synthetic device.
pub struct Case {
    /// What it is called in tables.
    pub name: &'static str,
    /// The family that should be found.
    pub family: &'static str,
    /// Family and parameters.
    pub curve: fn() -> Curve,
    /// Deviations of a read, of a pulse, and of a pulse relative to its step.
    pub noise: [f64; 3],
    /// What its symmetric point is.
    pub kind: PointKind,
    /// Of a ramp.
    pub pulses: usize,
    /// Ramps in each direction of a device that is measured alone.
    pub cycles: usize,
    /// Where states are cut off.
    pub range: Range,
}

const WIDE: Range = Range { lo: -1.3, hi: 1.3 };
const NODES: Range = Range { lo: -1.0, hi: 1.0 };

fn line(values: [f64; 4]) -> Curve {
    Curve::new(CurveFamily::Line, values.to_vec())
}

/// Values that go up and down between neighbours, the same for both directions: no smooth curve describes them.
fn jagged() -> Curve {
    const SIGNS: [f64; 17] =
        [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0];
    let value = |start: f64, rise: f64, i: usize| start + rise * i as f64 + 0.0014 * SIGNS[i];
    let up = (0..17).map(|i| value(0.0115, -0.0004, i));
    Curve::new(CurveFamily::Table(17, NODES), up.chain((0..17).map(|i| value(0.005, 0.0004, i))).collect())
}

/// One of each family, then others.
pub const CASES: [Case; 15] = [
    Case {
        name: "constant",
        family: "constant",
        curve: || Curve::new(CurveFamily::Constant, vec![0.0085, 0.007]),
        noise: [0.01, 0.004, 0.0],
        kind: PointKind::None,
        pulses: 200,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "linear",
        family: "linear",
        curve: || line([0.012, 0.005, 0.004, 0.011]),
        noise: [0.01, 0.003, 0.2],
        kind: PointKind::Attracting,
        pulses: 230,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "soft bounds",
        family: "soft_bounds",
        curve: || line([0.022, 0.0005, 0.0, 0.018]),
        noise: [0.015, 0.002, 0.3],
        kind: PointKind::Attracting,
        pulses: 350,
        cycles: 10,
        range: Range { lo: -1.0, hi: 1.0465 },
    },
    Case {
        name: "power",
        family: "power",
        curve: || Curve::new(CurveFamily::Power, vec![0.012, 0.010, 1.0, 1.0, 2.0]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 400,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "exponential",
        family: "exponential",
        curve: || Curve::new(CurveFamily::Exponential, vec![0.010, 0.011, 1.0, 1.05, 2.0]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 400,
        cycles: 10,
        range: Range { lo: -1.05, hi: 1.0 },
    },
    Case {
        name: "tanh",
        family: "tanh",
        curve: || Curve::new(CurveFamily::Tanh, vec![0.009, 0.6, 0.1, 0.35]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "piecewise",
        family: "piecewise",
        curve: || {
            let up = [0.006, 0.012, 0.007, 0.009, 0.012];
            let down = [0.012, 0.007, 0.013, 0.006, 0.006];
            Curve::new(CurveFamily::Piecewise(5, NODES), [up, down].concat())
        },
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Several,
        pulses: 220,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "table",
        family: "table",
        curve: jagged,
        noise: [0.005, 0.002, 0.1],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "linear, rising",
        family: "linear",
        curve: || line([0.004, 0.012, 0.0085, 0.0075]),
        noise: [0.01, 0.003, 0.1],
        kind: PointKind::Repelling,
        pulses: 280,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "constant, equal steps",
        family: "constant",
        curve: || Curve::new(CurveFamily::Constant, vec![0.01, 0.01]),
        noise: [0.01, 0.0, 0.3],
        kind: PointKind::Several,
        pulses: 260,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "linear, hard bounds",
        family: "linear",
        curve: || line([0.015, 0.005, 0.005, 0.015]),
        noise: [0.02, 0.0, 0.3],
        kind: PointKind::Attracting,
        pulses: 300,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "soft bounds, one ramp",
        family: "soft_bounds",
        curve: || line([0.02, 0.0, 0.0, 0.016]),
        noise: [0.02, 0.0, 0.5],
        kind: PointKind::Attracting,
        pulses: 1000,
        cycles: 1,
        range: NODES,
    },
    Case {
        name: "power, three ramps",
        family: "power",
        curve: || Curve::new(CurveFamily::Power, vec![0.010, 0.010, 1.0, 1.0, 3.0]),
        noise: [0.01, 0.0, 0.3],
        kind: PointKind::Attracting,
        pulses: 500,
        cycles: 3,
        range: NODES,
    },
    Case {
        name: "piecewise, seven nodes",
        family: "piecewise",
        curve: || {
            let up = [0.014, 0.009, 0.012, 0.008, 0.009, 0.004, 0.005];
            let down = [0.004, 0.008, 0.006, 0.009, 0.012, 0.010, 0.014];
            Curve::new(CurveFamily::Piecewise(7, NODES), [up, down].concat())
        },
        noise: [0.01, 0.003, 0.0],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: NODES,
    },
    // Steps that nearly vanish at a hard bound: not soft bounds, whose ramps would go on.
    Case {
        name: "linear, steep to hard bounds",
        family: "linear",
        curve: || line([0.019, 0.001, 0.001, 0.019]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 400,
        cycles: 10,
        range: NODES,
    },
];

/// None was looked at while the estimator was made; they judge it: other parameters, noises, lengths and numbers of ramps.
#[allow(dead_code, reason = "of the study alone")]
pub const FRESH: [Case; 9] = [
    Case {
        name: "constant, coarse",
        family: "constant",
        curve: || Curve::new(CurveFamily::Constant, vec![0.02, 0.025]),
        noise: [0.005, 0.006, 0.0],
        kind: PointKind::None,
        pulses: 90,
        cycles: 6,
        range: WIDE,
    },
    Case {
        name: "linear, long ramps",
        family: "linear",
        curve: || line([0.008, 0.003, 0.0025, 0.009]),
        noise: [0.006, 0.001, 0.35],
        kind: PointKind::Attracting,
        pulses: 420,
        cycles: 5,
        range: WIDE,
    },
    Case {
        name: "soft bounds, skewed",
        family: "soft_bounds",
        curve: || line([0.03, 0.0, 0.0, 0.012]),
        noise: [0.008, 0.003, 0.15],
        kind: PointKind::Attracting,
        pulses: 300,
        cycles: 8,
        range: NODES,
    },
    Case {
        name: "power, bounds apart",
        family: "power",
        curve: || Curve::new(CurveFamily::Power, vec![0.009, 0.012, 1.1, 0.95, 2.5]),
        noise: [0.012, 0.001, 0.25],
        kind: PointKind::Attracting,
        pulses: 380,
        cycles: 12,
        range: Range { lo: -0.95, hi: 1.1 },
    },
    Case {
        name: "exponential, concave",
        family: "exponential",
        curve: || Curve::new(CurveFamily::Exponential, vec![0.012, 0.010, 1.0, 1.0, -1.5]),
        noise: [0.008, 0.002, 0.1],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: NODES,
    },
    Case {
        name: "tanh, off the middle",
        family: "tanh",
        curve: || Curve::new(CurveFamily::Tanh, vec![0.011, 0.75, -0.2, 0.5]),
        noise: [0.006, 0.003, 0.0],
        kind: PointKind::Attracting,
        pulses: 240,
        cycles: 8,
        range: WIDE,
    },
    Case {
        name: "piecewise, four nodes",
        family: "piecewise",
        curve: || {
            let up = [0.013, 0.006, 0.010, 0.005];
            let down = [0.005, 0.009, 0.006, 0.012];
            Curve::new(CurveFamily::Piecewise(4, NODES), [up, down].concat())
        },
        noise: [0.012, 0.002, 0.1],
        kind: PointKind::Several,
        pulses: 250,
        cycles: 12,
        range: NODES,
    },
    Case {
        name: "linear, both repelling",
        family: "linear",
        curve: || line([0.006, 0.011, 0.010, 0.007]),
        noise: [0.02, 0.004, 0.0],
        kind: PointKind::Repelling,
        pulses: 300,
        cycles: 9,
        range: NODES,
    },
    Case {
        name: "table, thirteen nodes",
        family: "table",
        curve: || {
            const WAVES: [f64; 13] = [-1.0, 1.0, -1.0, 0.5, 1.0, -1.0, 1.0, -0.5, -1.0, 1.0, -1.0, 1.0, -1.0];
            let value = |start: f64, rise: f64, i: usize| start + rise * i as f64 + 0.0018 * WAVES[i];
            let up = (0..13).map(|i| value(0.0125, -0.0005, i));
            let down = (0..13).map(|i| value(0.006, 0.0005, i));
            Curve::new(CurveFamily::Table(13, NODES), up.chain(down).collect())
        },
        noise: [0.008, 0.003, 0.15],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: NODES,
    },
];

/// Deviations between devices: of a gain that both directions share, and of one for each.
pub const SPREADS: [f64; 2] = [0.08, 0.03];
/// Ramps in each direction of a device among several.
pub const CYCLES_OF_MANY: usize = 3;

/// Whether an interval covers the truth, by the name of the quantity.
pub type Covers = Vec<(String, bool)>;
/// An interval and the truth, by the name of the quantity.
pub type Told = Vec<(String, Estimate, f64)>;

impl Case {
    /// So many devices; several differ in their steps.
    pub fn devices(&self, count: usize, key: Key) -> Vec<Truth> {
        let device = |index: usize| {
            let mut curve = (self.curve)();
            if count > 1 {
                let key = key.named("devices").fold(index as u64);
                let common = SPREADS[0] * key.normal_at(0);
                let factor = [1, 2].map(|i| 1.0 + common + SPREADS[1] * key.normal_at(i));
                scale(&mut curve, factor);
            }
            let [read_noise, additive, proportional] = self.noise;
            Truth { curve, read_noise, additive, proportional, range: self.range }
        };
        (0..count).map(device).collect()
    }

    /// Ramps of each direction and device.
    pub fn ramps(&self, devices: usize) -> usize {
        if devices == 1 { self.cycles } else { self.cycles.min(CYCLES_OF_MANY) }
    }

    /// Whether each interval covers the truth.
    pub fn covers(&self, found: &DeviceFit) -> Covers {
        self.told(found).into_iter().map(|(name, estimate, truth)| (name, estimate.covers(truth))).collect()
    }

    /// Each interval beside the truth.
    pub fn told(&self, found: &DeviceFit) -> Told {
        let truth = (self.curve)();
        let mut said: Told = Vec::new();
        let mut say = |name: &str, estimate: Estimate, value: f64| {
            said.push((name.to_string(), estimate, value));
        };
        if truth.model == found.curve.model {
            // The last nodes of a table may lie where no ramp has been.
            for ((name, value), (_, estimate)) in
                truth.named(self.family == "soft_bounds").into_iter().zip(&found.parameters)
            {
                say(&name, *estimate, value);
            }
        }
        for (at, words) in [(10, "lower"), (20, "middle"), (30, "upper")] {
            let (w, up, down) = found.band[at];
            say(&format!("up step, {words}"), up, truth.step(Direction::Up, w));
            say(&format!("down step, {words}"), down, truth.step(Direction::Down, w));
        }
        let [read, additive, proportional] = self.noise;
        say("read noise", found.read_noise, read);
        let square: f64 = found
            .visited
            .grid(65)
            .into_iter()
            .flat_map(|w| [Direction::Up, Direction::Down].map(|d| truth.step(d, w).max(0.0).powi(2) / 130.0))
            .sum();
        let total = (additive.powi(2) + proportional.powi(2) * square).sqrt();
        say("write noise", found.write_noise, total);
        say("additive", found.additive, additive);
        say("proportional", found.proportional, proportional);
        let middle = match (self.kind, found.symmetric_point.weight) {
            (PointKind::Attracting | PointKind::Repelling, Some(point)) => {
                let at = residuum::numeric::find_root(|w| truth.asymmetry(w), -0.9, 0.9).unwrap_or(f64::NAN);
                say("symmetric point", point, at);
                Some(at)
            }
            (PointKind::None, None) => Some(0.5 * (found.visited.lo + found.visited.hi)),
            _ => None,
        };
        if let Some(at) = middle {
            say("step", found.step, truth.gain(at));
            say("states", found.states, 2.0 / truth.gain(at));
        }
        if let Some(spread) = &found.spread {
            let at = middle.or(found.symmetric_point.weight.map(|w| w.value)).unwrap_or(0.0);
            let [step, imbalance] = spreads_at(&truth, at);
            say("spread of steps", spread.step, step);
            if truth.model != CurveFamily::Tanh {
                say("spread of imbalance", spread.imbalance, imbalance);
            }
        }
        said
    }
}

/// Deviations of the mean of both steps and of half their difference, relative to that mean, at a state. With shares a and b of
/// the mean they are (1 + c)(a + b) + ae₊ + be₋ and (1 + c)(a − b) + ae₊ − be₋, where c is common and e± are their own.
fn spreads_at(truth: &Curve, w: f64) -> [f64; 2] {
    let [up, down] = [Direction::Up, Direction::Down].map(|d| truth.step(d, w));
    let (a, b) = (up / (up + down), down / (up + down));
    // One gain serves both directions of a tanh.
    let own = SPREADS[1] * if truth.model == CurveFamily::Tanh { 1.0 } else { a.hypot(b) };
    [SPREADS[0].hypot(own), (SPREADS[0] * (a - b)).hypot(own)]
}

/// Multiplies the steps of each direction.
fn scale(curve: &mut Curve, factor: [f64; 2]) {
    let p = &mut curve.parameters;
    match curve.model {
        CurveFamily::Constant => (0..2).for_each(|i| p[i] *= factor[i]),
        CurveFamily::Line => (0..4).for_each(|i| p[i] *= factor[i / 2]),
        CurveFamily::Power | CurveFamily::Exponential => (0..2).for_each(|i| p[i] *= factor[i]),
        // One gain serves both directions.
        CurveFamily::Tanh => p[0] *= factor[0],
        CurveFamily::Piecewise(n, _) | CurveFamily::Table(n, _) => {
            (0..2 * n).for_each(|i| p[i] *= factor[i / n]);
        }
    }
}
