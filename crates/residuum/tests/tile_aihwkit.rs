//! AIHWKIT's classes and ours: shipped defaults, units of update management, and the way back.

#![allow(clippy::unwrap_used)]

mod aihwkit;

use residuum::ResponseFunction;
use residuum::response::{Exponential, Power};
use residuum::tile::aihwkit::{
    Class, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds, SoftBoundsPmax,
    SoftBoundsReference,
};
use residuum::tile::{CycleNoise, Device, Reference, StepModel, presets};
use serde_json::Value;

/// Name and entry of every device in the list of AIHWKIT's parameters.
fn shipped() -> Vec<(String, Value)> {
    let path = format!("{}/../../golden/aihwkit/parameters.json", env!("CARGO_MANIFEST_DIR"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document["devices"].as_object().unwrap().iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

fn defaults() -> [(&'static str, Class); 9] {
    [
        ("ConstantStepDevice", Class::ConstantStep(Pulsed::default())),
        ("LinearStepDevice", Class::LinearStep(LinearStep::default())),
        ("SoftBoundsDevice", Class::SoftBounds(SoftBounds::default())),
        ("SoftBoundsPmaxDevice", Class::SoftBoundsPmax(SoftBoundsPmax::default())),
        ("SoftBoundsReferenceDevice", Class::SoftBoundsReference(SoftBoundsReference::default())),
        ("ExpStepDevice", Class::ExpStep(ExpStep::default())),
        ("PowStepDevice", Class::PowStep(PowStep::default())),
        ("PowStepReferenceDevice", Class::PowStepReference(PowStepReference::default())),
        ("PiecewiseStepDevice", Class::PiecewiseStep(PiecewiseStep::default())),
    ]
}

#[test]
fn defaults_are_the_shipped_ones() {
    let shipped = shipped();
    for (name, class) in defaults() {
        let (_, entry) = shipped.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(aihwkit::class(&entry["fields"]), class, "{name}");
    }
}

#[test]
fn units_and_states_are_aihwkits() {
    let shipped = shipped();
    assert_eq!(shipped.len(), 19);
    for (name, entry) in shipped {
        let device = aihwkit::class(&entry["fields"]).to_device().unwrap();
        let theirs = entry["weight_granularity"].as_f64().unwrap();
        let ours = f64::from(device.granularity());
        assert!((ours / theirs - 1.0).abs() < 2e-6, "{name}: {ours} instead of {theirs}");
        let states = entry["num_states"].as_f64().unwrap();
        let ours = f64::from(device.max - device.min) / ours;
        assert!((ours / states - 1.0).abs() < 2e-6, "{name}: {ours} states instead of {states}");
    }
}

/// Every shipped device and every preset comes back as it went.
#[test]
fn conversions_go_round() {
    for (name, entry) in shipped() {
        let class = aihwkit::class(&entry["fields"]);
        let device = class.to_device().unwrap();
        let back = Class::from_device(&device).unwrap();
        assert_eq!(back.to_device().unwrap(), device, "{name}");
        let derived = matches!(class, Class::SoftBoundsPmax(_));
        // A single node becomes two, and the range of stuck cells says nothing where none is stuck.
        let one_node = name == "PiecewiseStepDevice";
        let unused_range = name.starts_with("ReRamArray");
        if !(derived || one_node || unused_range) {
            assert_eq!(back, class, "{name}");
        }
    }
    for device in [presets::reram_es(), presets::pcm(), presets::reram_array_om(), presets::capacitor()] {
        assert_eq!(Class::from_device(&device).unwrap().to_device().unwrap(), device);
    }
}

/// Every field of a class decides something: one that is changed changes the device.
#[test]
fn no_parameter_is_lost() {
    let differs = |changed: Class, from: Class| {
        assert_ne!(changed.to_device().unwrap(), from.to_device().unwrap(), "{changed:?}");
        assert_eq!(Class::from_device(&changed.to_device().unwrap()).unwrap(), changed);
    };
    let changes: [fn(&mut Pulsed); 11] = [
        |p| p.dw_min = 0.002,
        |p| p.dw_min_dtod = 0.1,
        |p| p.dw_min_dtod_log_normal = true,
        |p| p.dw_min_std = 0.2,
        |p| p.up_down = 0.1,
        |p| p.up_down_dtod = 0.2,
        |p| p.w_max = 0.9,
        |p| p.w_max_dtod = 0.1,
        |p| p.w_min = -0.9,
        |p| p.w_min_dtod = 0.1,
        |p| (p.corrupt_devices_prob, p.corrupt_devices_range) = (0.1, 0.3),
    ];
    for change in changes {
        let mut pulsed = Pulsed::default();
        change(&mut pulsed);
        differs(Class::ConstantStep(pulsed), Class::ConstantStep(Pulsed::default()));
        let exponential = ExpStep { pulsed, dw_min_std_add: 0.1, ..ExpStep::default() };
        differs(
            Class::ExpStep(exponential),
            Class::ExpStep(ExpStep { pulsed: Pulsed::default(), ..exponential }),
        );
    }
    let linear = LinearStep::default();
    for changed in [
        LinearStep { gamma_up: 0.3, ..linear },
        LinearStep { gamma_down: 0.3, ..linear },
        LinearStep { gamma_up_dtod: 0.1, gamma_down_dtod: 0.1, ..linear },
        LinearStep { mean_bound_reference: false, ..linear },
        LinearStep { mult_noise: false, ..linear },
        LinearStep { write_noise_std: 2.0, ..linear },
    ] {
        differs(Class::LinearStep(changed), Class::LinearStep(linear));
    }
    let reference = SoftBoundsReference::default();
    for changed in [
        SoftBoundsReference { reference_mean: 0.1, ..reference },
        SoftBoundsReference { reference_std: 0.1, ..reference },
        SoftBoundsReference { subtract_symmetry_point: true, ..reference },
        SoftBoundsReference { mult_noise: true, ..reference },
    ] {
        differs(Class::SoftBoundsReference(changed), Class::SoftBoundsReference(reference));
    }
}

/// The paper's power response: their step is 2^shape times ours, because theirs is 1 at the far bound.
#[test]
fn the_power_response_carries_its_factor() {
    let device = Device::paper_power(2.0, 0.6, 1e-3);
    let Class::PowStep(class) = Class::from_device(&device).unwrap() else { panic!("a power step") };
    assert!((class.pulsed.dw_min - 4e-3).abs() < 1e-9 && class.pow_gamma == 2.0);
    let response = Class::PowStep(class).to_device().unwrap().response().unwrap();
    assert!((response.q_plus(0.2) - Power::new(2.0, f64::from(0.6f32)).unwrap().q_plus(0.2)).abs() < 1e-6);
}

#[test]
fn what_cannot_be_said_is_named() {
    let message = |class: Class| class.to_device().unwrap_err().to_string();
    let class = Class::PowStep(PowStep { pow_up_down: 0.1, ..PowStep::default() });
    assert_eq!(message(class), "pow_up_down must be 0 to become a device of a tile, got 0.10000000149011612");
    let class = Class::SoftBounds(SoftBounds { reverse_up: true, ..SoftBounds::default() });
    assert_eq!(message(class), "reverse_up must be false (0) to become a device of a tile, got 1");
    let class = Class::LinearStep(LinearStep { gamma_down_dtod: 0.5, ..LinearStep::default() });
    assert_eq!(
        message(class),
        "gamma_down_dtod must be equal to gamma_up_dtod to become a device of a tile, got 0.5"
    );
    let class = Class::ConstantStep(Pulsed { enforce_consistency: false, ..Pulsed::default() });
    assert_eq!(message(class), "enforce_consistency must be true (1) to become a device of a tile, got 0");
    let class = Class::ConstantStep(Pulsed { w_max: -1.0, ..Pulsed::default() });
    assert!(message(class).starts_with("min must be finite and below max"));

    let message = |device: Device| Class::from_device(&device).unwrap_err().to_string();
    let additive = Device { cycle_noise: CycleNoise::Additive(0.25), ..Device::paper_power(1.0, 1.0, 1e-3) };
    assert_eq!(
        message(additive),
        "cycle_noise must be multiplicative for this step to become an AIHWKIT device, got 0.25"
    );
    let reference = Some(Reference::default());
    let referenced = Device { reference, ..Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0) };
    let said = "reference must be used with soft bounds or power steps to become an AIHWKIT device, got 0";
    assert_eq!(message(referenced), said);
    let table = StepModel::Piecewise { up: vec![1.0, 0.5], down: vec![1.0, 1.0, 1.0] };
    let said = "piecewise nodes must be as many up as down to become an AIHWKIT device, got 2";
    assert_eq!(message(Device::ideal(table, 1e-3, -1.0, 1.0)), said);
    // Their unit is one node of the up table, which here is not the step at q = 1.
    let shifted = Power::new(1.0, 1.0).unwrap();
    let ours = Device { granularity: Some(2e-3), ..Device::from_response(&shifted, 1e-3).unwrap() };
    assert!(message(ours).starts_with("granularity must be what AIHWKIT derives"));
}

/// The exponential response of the paper is none of `ExpStepDevice`, but a table carries it over.
#[test]
fn the_papers_exponential_travels_as_a_table() {
    let device = Device::paper_exponential(2.0, 1.0, 1e-3).unwrap();
    let Class::PiecewiseStep(class) = Class::from_device(&device).unwrap() else { panic!("a table") };
    let middle = class.piecewise_up.len() / 2;
    assert!((class.piecewise_up[middle] - 1.0).abs() < 1e-6);
    let core = Exponential::new(2.0, 1.0).unwrap();
    assert!((f64::from(class.piecewise_up[0]) - core.q_plus(-1.0)).abs() < 1e-6);
}
