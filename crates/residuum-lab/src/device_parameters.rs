//! What a tile's device has besides its response, in words.

use residuum::tile::{CycleNoise, Device, Spread};

/// Every parameter that is not ideal, with its name in a spec.
pub fn device_parameters(device: &Device) -> Vec<(&'static str, String)> {
    let spread =
        |s: Spread| if s.log_normal { format!("log-normal, {}", s.deviation) } else { s.deviation.to_string() };
    let mut rows = vec![
        ("pulse_step", device.pulse_step.to_string()),
        ("bounds", format!("[{}, {}]", device.min, device.max)),
        ("states", format!("{:.0}", (device.max - device.min) / device.granularity())),
    ];
    let mut put = |name: &'static str, holds: bool, value: String| {
        if holds {
            rows.push((name, value));
        }
    };
    put("step_spread", device.step_spread.deviation > 0.0, spread(device.step_spread));
    let bounds = [device.min_spread, device.max_spread];
    put(
        "bound_spread",
        bounds.iter().any(|s| s.deviation > 0.0),
        format!("{} and {}", spread(bounds[0]), spread(bounds[1])),
    );
    put("imbalance", device.imbalance != 0.0, device.imbalance.to_string());
    put("imbalance_spread", device.imbalance_spread > 0.0, device.imbalance_spread.to_string());
    let noise = match device.cycle_noise {
        CycleNoise::Multiplicative(s) => format!("{s}, relative to the step"),
        CycleNoise::Additive(s) => format!("{s} steps"),
        CycleNoise::Complex { deviation, offset, slope } => {
            format!("{deviation}·(|step| + {offset} + {slope}·|w|)")
        }
    };
    put("cycle_noise", device.cycle_noise.deviation() > 0.0, noise);
    put("write_noise", device.write_noise > 0.0, format!("{} steps", device.write_noise));
    if let Some(r) = device.reference {
        let point = if r.at_symmetric_point { ", added to each cell's symmetric point" } else { "" };
        put("reference", true, format!("mean {}, deviation {}{point}", r.mean, r.deviation));
    }
    if let Some(stuck) = device.stuck {
        put("stuck", true, format!("probability {}", stuck.probability));
    }
    if let Some(decay) = device.retention.decay {
        put("decay", true, format!("lifetime {} steps", decay.lifetime));
    }
    rows
}

/// What such a device cannot hold, in a sentence.
pub fn device_caveat(device: &Device) -> Option<&'static str> {
    (device.min >= 0.0).then_some(
        "one-sided: it holds no weight below 0, so a network on single cells would lose every negative weight; pair it with \
         cell = { kind = \"one_sided\" }",
    )
}
