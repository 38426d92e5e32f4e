//! Devices with known parameters: one of each family, with read and write noise.

use residuum::{Key, Range};
use residuum_fit::{Curve, CurveFamily, DeviceFit, PointKind, Truth};

/// One synthetic device.
pub struct Case {
    /// The family that should be found; `rising` is a linear one.
    pub name: &'static str,
    /// Family and parameters.
    pub curve: fn() -> Curve,
    /// Deviations of a read, of a pulse, and of a pulse relative to its step.
    pub noise: [f64; 3],
    /// What its symmetric point is.
    pub kind: PointKind,
    /// Of a ramp.
    pub pulses: usize,
    /// Ramps in each direction.
    pub cycles: usize,
    /// Where states are cut off.
    pub range: Range,
}

const WIDE: Range = Range { lo: -1.3, hi: 1.3 };
const NODES: Range = Range { lo: -1.0, hi: 1.0 };

/// One of each family.
pub const CASES: [Case; 8] = [
    Case {
        name: "constant",
        curve: || Curve::new(CurveFamily::Constant, vec![0.0085, 0.007]),
        noise: [0.01, 0.004, 0.0],
        kind: PointKind::None,
        pulses: 200,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "linear",
        curve: || Curve::new(CurveFamily::Line, vec![0.012, 0.005, 0.004, 0.011]),
        noise: [0.01, 0.003, 0.2],
        kind: PointKind::Attracting,
        pulses: 230,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "soft_bounds",
        curve: || Curve::new(CurveFamily::Line, vec![0.022, 0.0005, 0.0, 0.018]),
        noise: [0.015, 0.002, 0.3],
        kind: PointKind::Attracting,
        pulses: 350,
        cycles: 10,
        range: Range { lo: -1.0, hi: 1.0465 },
    },
    Case {
        name: "power",
        curve: || Curve::new(CurveFamily::Power, vec![0.012, 0.010, 1.0, 1.0, 2.0]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 400,
        cycles: 10,
        range: Range { lo: -1.0, hi: 1.0 },
    },
    Case {
        name: "exponential",
        curve: || Curve::new(CurveFamily::Exponential, vec![0.010, 0.011, 1.0, 1.05, 2.0]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 400,
        cycles: 10,
        range: Range { lo: -1.05, hi: 1.0 },
    },
    Case {
        name: "tanh",
        curve: || Curve::new(CurveFamily::Tanh, vec![0.009, 0.6, 0.1, 0.35]),
        noise: [0.01, 0.002, 0.2],
        kind: PointKind::Attracting,
        pulses: 260,
        cycles: 10,
        range: WIDE,
    },
    Case {
        name: "piecewise",
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
        name: "rising",
        curve: || Curve::new(CurveFamily::Line, vec![0.004, 0.012, 0.0085, 0.0075]),
        noise: [0.01, 0.003, 0.1],
        kind: PointKind::Repelling,
        pulses: 280,
        cycles: 10,
        range: NODES,
    },
];

impl Case {
    /// The family that should be found.
    pub fn family(&self) -> &'static str {
        if self.name == "rising" { "linear" } else { self.name }
    }

    /// So many devices; several differ by a tenth in their steps, independently in both directions.
    pub fn devices(&self, count: usize, key: Key) -> Vec<Truth> {
        let device = |index: usize| {
            let mut curve = (self.curve)();
            if count > 1 {
                let key = key.named("devices").fold(index as u64);
                let common = 0.08 * key.normal_at(0);
                let factor = [1.0 + common + 0.03 * key.normal_at(1), 1.0 + common + 0.03 * key.normal_at(2)];
                scale(&mut curve, factor);
            }
            let [read_noise, additive, proportional] = self.noise;
            Truth { curve, read_noise, additive, proportional, range: self.range }
        };
        (0..count).map(device).collect()
    }

    /// Whether each interval covers the truth.
    pub fn covers(&self, found: &DeviceFit) -> Vec<(String, bool)> {
        let truth = (self.curve)();
        let soft = self.name == "soft_bounds";
        let mut said: Vec<(String, bool)> = Vec::new();
        if truth.model.is_closed() {
            for ((name, value), (_, estimate)) in truth.named(soft).into_iter().zip(&found.parameters) {
                said.push((name, estimate.covers(value)));
            }
        }
        said.push(("read_noise".into(), found.read_noise.covers(self.noise[0])));
        let square: f64 = found
            .visited
            .grid(65)
            .into_iter()
            .map(|w| {
                let up = truth.step(residuum_fit::Direction::Up, w).max(0.0);
                let down = truth.step(residuum_fit::Direction::Down, w).max(0.0);
                0.5 * (up * up + down * down) / 65.0
            })
            .sum();
        let total = (self.noise[1].powi(2) + self.noise[2].powi(2) * square).sqrt();
        said.push(("write_noise".into(), found.write_noise.covers(total)));
        said.push(("additive".into(), found.additive.covers(self.noise[1])));
        if truth.model != CurveFamily::Constant {
            said.push(("proportional".into(), found.proportional.covers(self.noise[2])));
        }
        if let (PointKind::Attracting | PointKind::Repelling, Some(point)) =
            (self.kind, found.symmetric_point.weight)
        {
            let at = residuum::numeric::find_root(|w| truth.asymmetry(w), -0.9, 0.9).unwrap_or(f64::NAN);
            said.push(("symmetric_point".into(), point.covers(at)));
        }
        said
    }
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
