//! Ramps of a known device: for tests, and for the check that a reader believes, simulated ramps over measured ones.

use residuum::{Key, Range};

use crate::curve::Curve;
use crate::measurement::{Direction, Measurement, Ramp};

/// A device with all that a measurement of it depends on, in weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// s±.
    pub curve: Curve,
    /// Deviation of a read.
    pub read_noise: f64,
    /// Deviation of a pulse that does not depend on its step.
    pub additive: f64,
    /// Deviation of a pulse relative to its step.
    pub proportional: f64,
    /// States are cut off here.
    pub range: Range,
}

impl Truth {
    /// Reads of one ramp from `start`: one before the first pulse, one after each. Returns the last state too.
    pub fn ramp(&self, direction: Direction, start: f64, pulses: usize, key: Key) -> (Vec<f64>, f64) {
        let mut draws = vec![0.0; 3 * pulses + 1];
        key.fill_normal(&mut draws);
        let mut state = start;
        let mut reads = vec![state + self.read_noise * draws[3 * pulses]];
        for draw in draws[..3 * pulses].chunks(3) {
            let step = self.curve.step(direction, state).max(0.0);
            let moved =
                direction.sign() * (step + self.proportional * step * draw[0]) + self.additive * draw[1];
            state = self.range.clip(state + moved);
            reads.push(state + self.read_noise * draw[2]);
        }
        (reads, state)
    }
}

/// Ramps up and down in turn, each from where the one before ended; the first starts at the lower end.
pub fn simulate(truth: &Truth, pulses: usize, cycles: usize, key: Key) -> Measurement {
    simulate_devices(std::slice::from_ref(truth), pulses, cycles, key)
}

/// The same for several devices.
pub fn simulate_devices(devices: &[Truth], pulses: usize, cycles: usize, key: Key) -> Measurement {
    let mut ramps = Vec::new();
    for (device, truth) in devices.iter().enumerate() {
        let mut state = truth.range.lo;
        for cycle in 0..cycles {
            for direction in [Direction::Up, Direction::Down] {
                let key = key.fold(device as u64).fold((2 * cycle + direction.index()) as u64);
                let (reads, end) = truth.ramp(direction, state, pulses, key);
                state = end;
                ramps.push(Ramp { device, cycle, direction, reads });
            }
        }
    }
    Measurement {
        devices: (1..=devices.len()).map(|i| i.to_string()).collect(),
        ramps,
        unit: "weight".into(),
        format: "simulated".into(),
        notes: Vec::new(),
    }
}
