//! AIHWKIT's classes and ours: shipped defaults, units of update management, and the way back.

use super::aihwkit;

use residuum::ResponseFunction;
use residuum::response::{Exponential, Power};
use residuum::tile::aihwkit::{
    Class, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds, SoftBoundsPmax,
    SoftBoundsReference,
};
use residuum::tile::{CycleNoise, Device, Nodes, Reference, Slopes, Spread, StepModel, presets};
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

/// A field that AIHWKIT's classes have, ours have too; what they leave out decides nothing about a device.
#[test]
fn no_field_is_left_out() {
    let other = |value: &Value| match value {
        Value::Bool(on) => Some(Value::Bool(!on)),
        Value::Number(number) => Some((number.as_f64().unwrap() + 2.0).into()),
        Value::Array(_) => Some(vec![0.5, 0.7].into()),
        Value::Object(drift) => {
            let mut drift = drift.clone();
            drift.insert("nu".into(), 0.1.into());
            Some(drift.into())
        }
        // Derived from others.
        _ => None,
    };
    for (name, entry) in shipped() {
        let class = aihwkit::class(&entry["fields"]);
        for (field, value) in entry["fields"].as_object().unwrap() {
            let Some(value) = other(value) else { continue };
            let mut fields = entry["fields"].clone();
            // Whole numbers stay whole: one field counts pulses.
            fields[field] = if field == "n_estimation_steps" { 50.into() } else { value };
            let left_out = ["construction_seed", "count_pulses"].contains(&field.as_str());
            assert_eq!(aihwkit::class(&fields) == class, left_out, "{name}: {field}");
        }
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
        LinearStep { gamma_up_dtod: 0.1, ..linear },
        LinearStep { gamma_down_dtod: 0.1, ..linear },
        LinearStep { allow_increasing: true, ..linear },
        LinearStep { reverse_up: true, ..linear },
        LinearStep { reverse_down: true, reverse_offset: 0.2, ..linear },
        LinearStep { mean_bound_reference: false, ..linear },
        LinearStep { mult_noise: false, ..linear },
        LinearStep { write_noise_std: 2.0, ..linear },
    ] {
        differs(Class::LinearStep(changed), Class::LinearStep(linear));
    }
    let soft = SoftBounds::default();
    for changed in [
        SoftBounds { reverse_up: true, reverse_offset: 0.2, ..soft },
        SoftBounds { reverse_up: true, reverse_down: true, ..soft },
    ] {
        differs(Class::SoftBounds(changed), Class::SoftBounds(soft));
    }
    let power = PowStep::default();
    for changed in [PowStep { pow_up_down: -0.2, ..power }, PowStep { pow_up_down_dtod: 0.2, ..power }] {
        differs(Class::PowStep(changed), Class::PowStep(power));
    }
    let power = PowStepReference::default();
    for changed in [
        PowStepReference { pow_up_down: 0.2, ..power },
        PowStepReference { pow_up_down_dtod: 0.2, ..power },
        PowStepReference { subtract_symmetry_point: true, ..power },
    ] {
        differs(Class::PowStepReference(changed), Class::PowStepReference(power));
    }
    let reference = SoftBoundsReference::default();
    for changed in [
        SoftBoundsReference { reference_mean: 0.1, ..reference },
        SoftBoundsReference { reference_std: 0.1, ..reference },
        SoftBoundsReference { subtract_symmetry_point: true, ..reference },
        SoftBoundsReference { mult_noise: true, ..reference },
        SoftBoundsReference { slope_up_dtod: 0.1, ..reference },
        SoftBoundsReference { slope_down_dtod: 0.1, ..reference },
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
    let class = Class::ConstantStep(Pulsed { enforce_consistency: false, ..Pulsed::default() });
    assert_eq!(message(class), "enforce_consistency must be true (1) to become a device of a tile, got 0");
    let class = Class::ConstantStep(Pulsed { perfect_bias: true, ..Pulsed::default() });
    assert_eq!(message(class), "perfect_bias must be false (0) to become a device of a tile, got 1");
    let class = Class::ConstantStep(Pulsed { drift_nu: 0.5, ..Pulsed::default() });
    assert_eq!(message(class), "nu of drift must be 0 to become a device of a tile, got 0.5");
    let quiet = SoftBounds { apply_write_noise_on_set: false, ..SoftBounds::default() };
    assert!(Class::SoftBounds(quiet).to_device().is_ok());
    let class = Class::SoftBounds(SoftBounds { write_noise_std: 2.0, ..quiet });
    assert_eq!(
        message(class),
        "apply_write_noise_on_set must be true (1) where there is write noise to become a device of a tile, got 0"
    );
    let power = PowStepReference { subtract_symmetry_point: true, ..PowStepReference::default() };
    let class = Class::PowStepReference(PowStepReference { n_estimation_steps: 50, ..power });
    assert_eq!(
        message(class),
        "n_estimation_steps must be -1, the point itself to become a device of a tile, got 50"
    );
    let small = Pulsed { dw_min: 0.0005, ..Pulsed::default() };
    let class = Class::PowStepReference(PowStepReference { pulsed: small, ..power });
    assert!(message(class).starts_with("dw_min must be at least (w_max - w_min)/2000 to find"));
    let leaking = Pulsed { lifetime: 100.0, ..Pulsed::default() };
    let class = Class::PowStepReference(PowStepReference { pulsed: leaking, ..power });
    assert_eq!(
        message(class),
        "lifetime must be 0 with subtract_symmetry_point to become a device of a tile, got 100"
    );
    let class = Class::PowStep(PowStep { pow_up_down: -1.0, ..PowStep::default() });
    assert_eq!(message(class), "shape_imbalance must be between -1 and 1, got -1");
    let class = Class::ConstantStep(Pulsed { w_max: -1.0, ..Pulsed::default() });
    assert!(message(class).starts_with("min must be finite and below max"));

    let message = |device: Device| Class::from_device(&device).unwrap_err().to_string();
    let additive = Device { cycle_noise: CycleNoise::Additive(0.25), ..Device::paper_power(1.0, 1.0, 1e-3) };
    assert_eq!(
        message(additive),
        "cycle_noise must be multiplicative for this step to become an AIHWKIT device, got 0.25"
    );
    let linear = |slopes: Slopes| Device::ideal(StepModel::Linear(slopes), 1e-3, -1.0, 1.0);
    let reversed = |up, down| linear(Slopes { reversed: [Some(up), Some(down)], ..Slopes::soft_bounds() });
    let said = "reversed must be the same offset for both directions to become an AIHWKIT device, got 0.5";
    assert_eq!(message(reversed(0.25, 0.5)), said);
    let additive = Device { cycle_noise: CycleNoise::Additive(0.25), ..reversed(0.5, 0.5) };
    let said = "reversed must be unset under additive noise to become an AIHWKIT device, got 0.5";
    assert_eq!(message(additive), said);
    let spread = Slopes { spread: [Spread::normal(0.1); 2], ..Slopes::soft_bounds() };
    let referenced = Device { reference: Some(Reference::default()), ..linear(spread) };
    assert!(
        message(referenced).starts_with("slope_up must be 1 in both directions with the cell's own bounds")
    );
    let reference = Some(Reference::default());
    let referenced = Device { reference, ..Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0) };
    let said = "reference must be used with soft bounds or power steps to become an AIHWKIT device, got 0";
    assert_eq!(message(referenced), said);
    let table = StepModel::Piecewise(Nodes { up: vec![1.0, 0.5], down: vec![1.0, 1.0, 1.0] });
    let said = "piecewise nodes must be as many up as down to become an AIHWKIT device, got 2";
    assert_eq!(message(Device::ideal(table, 1e-3, -1.0, 1.0)), said);
    // Their unit is one node of the up table, which here is not the step at q = 1.
    let shifted = Power::new(1.0, 1.0).unwrap();
    let ours = Device { granularity: Some(2e-3), ..Device::from_response(&shifted, 1e-3).unwrap() };
    assert!(message(ours).starts_with("granularity must be the value AIHWKIT derives"));
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
