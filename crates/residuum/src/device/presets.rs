//! Devices of the literature, with the parameters AIHWKIT 1.1.0 gives them. Only the capacitor leaks; none
//! diffuses or drifts. A reset leads to 0 ± 0.01, AIHWKIT's default, except on phase-change cells.

use super::{CycleNoise, Device, Reference, Saturation, Slopes, Spread, StepModel};
use crate::tile::{Decay, Reset, Retention};

/// Ideal except for its resets.
fn cell(step: StepModel, pulse_step: f32, min: f32, max: f32) -> Device {
    let reset = Reset { deviation: 0.01, ..Reset::default() };
    Device {
        retention: Retention { reset, ..Retention::default() },
        ..Device::ideal(step, pulse_step, min, max)
    }
}

fn linear(slope_up: f32, slope_down: f32, spread: f32) -> StepModel {
    StepModel::Linear(Slopes { spread: [Spread::normal(spread); 2], ..Slopes::new(slope_up, slope_down) })
}

/// ReRAM with an exponential step: Gong et al., Nature Communications 2018.
pub fn reram_es() -> Device {
    let saturation = Saturation::aihwkit([-1.18445, -0.081404], [5.0, 5.0], -0.5, -0.5);
    saturation.counted_as_aihwkit(Device {
        step_spread: Spread::normal(0.2),
        imbalance: 0.259359,
        imbalance_spread: 0.05,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.3),
        cycle_noise: CycleNoise::Multiplicative(5.0),
        write_noise: 75.0,
        ..cell(StepModel::Exponential(saturation), 0.00135, -1.0, 1.0)
    })
}

/// ReRAM with soft bounds, a loose fit to Gong et al., Nature Communications 2018.
pub fn reram_sb() -> Device {
    Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(0.24),
        min_spread: Spread::normal(0.4),
        cycle_noise: CycleNoise::Additive(3.75),
        write_noise: 56.0,
        reference: Some(Reference::default()),
        ..cell(StepModel::soft_bounds(), 0.002, -0.75, 1.25)
    }
}

fn reram_array(step: f32, spread: f32, bounds: [f32; 2], noise: f32, write_noise: f32) -> Device {
    Device {
        step_spread: Spread::log_normal(spread),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(bounds[0]),
        min_spread: Spread::normal(bounds[1]),
        cycle_noise: CycleNoise::Additive(noise),
        write_noise,
        reference: Some(Reference { mean: 0.0, deviation: 0.05, at_symmetric_point: true }),
        ..cell(StepModel::soft_bounds(), step, -1.0, 1.0)
    }
}

/// ReRAM array, optimised material: Gong, Rasch et al., IEDM 2022.
pub fn reram_array_om() -> Device {
    reram_array(0.0949, 0.7829, [0.3499, 0.5695], 0.4158, 1.4113)
}

/// ReRAM array, HfO₂ baseline: Gong, Rasch et al., IEDM 2022.
pub fn reram_array_hfo2() -> Device {
    reram_array(0.4622, 0.7125, [0.4295, 0.599], 0.2174, 0.5841)
}

/// Capacitor cell, which leaks within 10⁶ mini-batches: Li et al., VLSI 2018.
pub fn capacitor() -> Device {
    let leaky = cell(linear(0.05, 0.05, 0.01), 0.005, -1.0, 1.0);
    Device {
        retention: Retention { decay: Some(Decay { lifetime: 1e6, spread: 0.3 }), ..leaky.retention },
        step_spread: Spread::normal(0.1),
        imbalance_spread: 0.06,
        max_spread: Spread::normal(0.07),
        min_spread: Spread::normal(0.07),
        cycle_noise: CycleNoise::Additive(0.3),
        ..leaky
    }
}

fn electrochemical(step: StepModel, pulse_step: f32, bounds: [f32; 2], noise: f32) -> Device {
    Device {
        step_spread: Spread::normal(0.1),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(0.05),
        min_spread: Spread::normal(0.05),
        cycle_noise: CycleNoise::Multiplicative(noise),
        ..cell(step, pulse_step, bounds[0], bounds[1])
    }
}

/// Electrochemical RAM with lithium: Tang et al., IEDM 2018.
pub fn ecram() -> Device {
    electrochemical(linear(0.1153, 0.5085, 0.05), 0.002, [-0.8276, 1.1724], 0.3)
}

/// Electrochemical RAM with metal oxide: Kim et al., IEDM 2019.
pub fn ecram_mo() -> Device {
    electrochemical(linear(0.4152, 0.7342, 0.05), 0.00028214, [-0.8286, 1.1714], 2.0)
}

fn constant(pulse_step: f32, imbalance_spread: f32) -> Device {
    Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.3),
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..cell(StepModel::Constant, pulse_step, -1.0, 1.0)
    }
}

/// An idealised device of 10 000 states: Rasch, Gokmen & Haensch, 2019.
pub fn idealized() -> Device {
    constant(0.0002, 0.0)
}

/// The device that training was shown to need: Gokmen & Vlasov, Frontiers in Neuroscience 2016.
pub fn gokmen_vlasov() -> Device {
    constant(0.0016, 0.01)
}

/// One phase-change cell of a pair, to be reset when full: Nandakumar et al., Frontiers in Neuroscience 2020.
pub fn pcm() -> Device {
    let saturation = Saturation::aihwkit([-27.235, -2.235], [2.5, 2.5], -1.0, 0.0);
    saturation.counted_as_aihwkit(Device {
        step_spread: Spread::normal(0.2),
        imbalance_spread: 0.05,
        max_spread: Spread::normal(0.1),
        retention: Retention {
            reset: Reset { value: 0.01, spread: 0.02, deviation: 0.01 },
            ..Retention::default()
        },
        cycle_noise: CycleNoise::Complex { deviation: 0.6, offset: 0.042, slope: 0.108 },
        ..cell(StepModel::Exponential(saturation), 0.01, 0.0, 2.0)
    })
}
