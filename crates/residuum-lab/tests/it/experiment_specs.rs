//! Specs of experiments with networks: what is read, what is refused and how, and what comes of it.

use std::path::Path;

use residuum::readout::{BoundManagement, NoiseManagement, Readout, Scratch, Settings};
use residuum::rule::{Columns, Every};
use residuum::tile::{
    Decay, Device, Diffusion, Drift, Exponents, Reset, Retention, SlopeBounds, Slopes, Spread, StepModel,
    presets,
};
use residuum::{Key, Schedule};
use residuum_lab::spec::{Experiment, Rate, ResidualSpec, RuleKind, ScheduleSpec, SpecError, TrialSpec};
use residuum_lab::train::{CATALOGUE, NetworkTrial, WeightsFrom};
use residuum_nn::Loss;
use residuum_nn::analog::OutputScaling;

const SPEC: &str = r#"
[network]
model = "mlp"
hidden = [8]
[data]
set = "digits"
train_per_class = 4
test_per_class = 2
[device]
response = "power"
shape = 1.0
radius = 0.6
states = 1200
[rule]
kind = "residual_learning"
learning_rate = 0.1
transfer_rate = 0.1
mixing = 0.4
[training]
epochs = 2
batch_size = 10
"#;

fn parse(text: &str) -> Result<Experiment, SpecError> {
    Experiment::parse(text, Path::new("."), None)
}

/// The only trial of the spec with one text replaced.
fn with(from: &str, to: &str) -> Result<TrialSpec, SpecError> {
    assert!(SPEC.contains(from), "{from}");
    parse(&SPEC.replace(from, to)).map(|mut e| e.trials.remove(0))
}

/// The same under Analog SGD, which has no symmetric point to choose.
fn with_analog(from: &str, to: &str) -> Result<TrialSpec, SpecError> {
    let residual = "kind = \"residual_learning\"\nlearning_rate = 0.1\ntransfer_rate = 0.1\nmixing = 0.4";
    assert!(SPEC.contains(from) && SPEC.contains(residual), "{from}");
    let text = SPEC.replace(residual, "kind = \"analog\"\nlearning_rate = 0.1").replace(from, to);
    parse(&text).map(|mut e| e.trials.remove(0))
}

/// The device of the main tiles.
fn main_of(spec: &TrialSpec) -> Device {
    spec.devices.as_ref().unwrap().main.tile().unwrap().clone()
}

fn trial(text: &str) -> TrialSpec {
    parse(text).unwrap().trials.remove(0)
}

#[test]
fn errors_name_line_field_and_value() {
    let cases = [
        ("model = \"mlp\"", "model = \"mlq\"", "line 3: network.model must be one of fcn, cnn, mlp, resnet18"),
        ("hidden = [8]", "hiden = [8]", "line 4: network.hiden is not a field; did you mean hidden?"),
        ("hidden = [8]", "hidden = [0]", "line 4: network.hidden[0] must be at least 1, got 0"),
        ("set = \"digits\"", "set = \"digit\"", "line 6: data.set must be one of digits"),
        ("test_per_class = 2", "test_per_class = 0", "line 8: data.test_per_class must be at least 1, got 0"),
        ("radius = 0.6", "radius = -0.6", "line 12: device.radius must be positive and finite, got -0.6"),
        ("states = 1200", "", "line 9: device.pulse_step or states must be given, got neither"),
        ("states = 1200", "states = 9\npulse_step = 1", "device.pulse_step or states must be given, got both"),
        (
            "states = 1200",
            "states = 9\ncycle_noise = -1",
            "line 14: device.cycle_noise must be zero or positive",
        ),
        (
            "radius = 0.6",
            "bounds = [-1, 1]",
            "line 12: device.bounds has no effect with response = \"power\": it is of soft_bounds",
        ),
        ("shape = 1.0", "shap = 1.0", "line 11: device.shap is not a field; did you mean shape?"),
        (
            "kind = \"residual_learning\"",
            "kind = \"residual\"",
            "line 15: rule.kind must be one of digital, analog",
        ),
        ("mixing = 0.4", "", "rule.mixing is missing"),
        ("mixing = 0.4", "mixing = 0", "line 18: rule.mixing must be positive and finite"),
        ("learning_rate = 0.1", "learning_rate = -1", "line 16: rule.learning_rate must be zero or positive"),
        (
            "learning_rate = 0.1",
            "learning_rate = \"x\"",
            "rule.learning_rate must be a number or a schedule such as { constant = … }",
        ),
        ("mixing = 0.4", "mixing = 0.4\ncolumns = 0", "line 19: rule.columns must be at least 1, got 0"),
        (
            "mixing = 0.4",
            "mixing = 0.4\nbuffer = {}",
            "line 19: rule.buffer has no effect with kind = \"residual_learning\"",
        ),
        (
            "mixing = 0.4",
            "mixing = 0.4\npulses = { length = 32 }",
            "rule.pulses.length must be between 1 and 31",
        ),
        ("epochs = 2", "epochs = 0", "line 20: training.epochs must be at least 1, got 0"),
        (
            "epochs = 2",
            "epochs = 2\nloss = \"negative_log_likelihood\"",
            "training.loss must be \"cross_entropy\"",
        ),
        ("epochs = 2", "epochs = 2\nlabel_smoothing = 2", "training.label_smoothing must be at least 0"),
        (
            "epochs = 2",
            "epochs = 2\nschedule = { kind = \"step\", every = 0, factor = 1 }",
            "schedule.every must be",
        ),
        (
            "epochs = 2",
            "epochs = 2\nschedule = { kind = \"step\", every = 1, factor = 50 }",
            "training.schedule.factor must be between 0 and 1, got 50",
        ),
        (
            "epochs = 2",
            "epochs = 2\nearly_stop = { patience = 1, min_delta = 5 }",
            "training.early_stop.min_delta must be between 0 and 1, got 5",
        ),
        (
            "states = 1200",
            "states = 1200\nstep_spread = 30",
            "line 14: device.step_spread must be relative to the mean, at most 3 (30 % is 0.3), got 30",
        ),
        (
            "states = 1200",
            "states = 1200\nstuck = { probability = 5 }",
            "line 14: device.stuck.probability must be between 0 and 1, got 5",
        ),
        (
            "set = \"digits\"",
            "set = \"digits\"\nflip_horizontal = 50",
            "data.flip_horizontal must be between 0 and 1",
        ),
        (
            "kind = \"residual_learning\"\nlearning_rate = 0.1\ntransfer_rate = 0.1\nmixing = 0.4",
            "kind = \"digital\"\nlearning_rate = 0.1\nmomentum = 90",
            "line 17: rule.momentum must be at least 0 and below 1, got 90",
        ),
        ("epochs = 2", "epochs = 2\nseeds = [1, 1]", "seeds must be different, got 1 twice"),
        ("[training]", "[mapping]\nomega = 0\n[training]", "mapping.omega must be positive and finite, got 0"),
        (
            "[training]",
            "[digital]\nmomentum = 1\n[training]",
            "digital.momentum must be at least 0 and below 1",
        ),
        (
            "[training]",
            "[readout]\npreset = \"aihw\"\n[training]",
            "readout.preset must be one of ideal, aihwkit",
        ),
        ("[training]", "[readout]\ninput = { steps = 3 }\n[training]", "steps must be"),
        ("[training]", "[oddity]\n[training]", "line 19: oddity is not a field"),
        ("[training]", "[profile.full.trainin]\nx = 1\n[training]", "trainin is not a field"),
    ];
    for (from, to, expected) in cases {
        let message = with(from, to).unwrap_err().to_string();
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("line "), "{to}: {message}");
    }
    with("mixing", "mixing").unwrap();
}

#[test]
fn a_symmetric_point_is_chosen_where_it_matters() {
    let message = with("states = 1200", "states = 1200\nimbalance_spread = 0.01").unwrap_err().to_string();
    let expected =
        "line 15: rule.symmetric_point must be given, since not every cell of this device has it at exactly 0";
    assert!(message.starts_with(expected), "{message}");
    for point in ["\"zero\"", "\"known\"", "{ pairs = 10 }", "{ zero_shift = { pairs = 10, averaged = 2 } }"] {
        let text = SPEC.replace("states = 1200", "states = 1200\nimbalance_spread = 0.01");
        parse(&text.replace("mixing = 0.4", &format!("mixing = 0.4\nsymmetric_point = {point}"))).unwrap();
    }
}

#[test]
fn steps_are_those_at_zero_unless_counted_as_aihwkit_does() {
    let ours = main_of(&trial(SPEC));
    assert_eq!(ours, Device::paper_power(1.0, 0.6, 1.2 / 1200.0));
    let theirs = main_of(&with("states = 1200", "states = 1200\nnormalization = \"aihwkit\"").unwrap());
    // At w = 0 AIHWKIT's step is dw_min/2^shape.
    assert!((theirs.granularity() - 0.5 * 1.2 / 1200.0).abs() < 1e-9, "{}", theirs.granularity());
    assert!((ours.granularity() - 1.2 / 1200.0).abs() < 1e-9);
}

#[test]
fn devices_and_their_imperfections() {
    let text = "preset = \"ecram\"\ncycle_noise = { additive = 0.5 }\nstep_spread = { log_normal = 0.2 }";
    let device = with_analog("response = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200", text)
        .unwrap()
        .devices
        .unwrap();
    let expected = Device {
        cycle_noise: residuum::tile::CycleNoise::Additive(0.5),
        step_spread: Spread::log_normal(0.2),
        ..presets::ecram()
    };
    assert_eq!([device.main.tile(), device.residual.tile()], [Some(&expected); 2]);

    let device =
        |text: &str| main_of(&with_analog("response = \"power\"\nshape = 1.0\nradius = 0.6", text).unwrap());
    let soft = device("response = \"soft_bounds\"\nbounds = [-0.5, 1.0]\nbound_spread = [0.1, 0.2]");
    assert_eq!(
        (soft.min, soft.max, soft.min_spread.deviation, soft.max_spread.deviation),
        (-0.5, 1.0, 0.1, 0.2)
    );
    assert!((soft.pulse_step - 1.5 / 1200.0).abs() < 1e-9);
    let paper = device("response = \"exponential\"\nshape = 2.0\nradius = 0.6");
    assert_eq!(paper, Device::paper_exponential(2.0, 0.6, 1.2 / 1200.0).unwrap());
    let formula = device("response = \"formula\"\nq_plus = \"1 - w\"\nq_minus = \"1 + w\"\nrange = [-1, 1]");
    assert!(matches!(formula.step, StepModel::Piecewise(_)) && formula.max == 1.0);
    let two = with_analog(
        "[device]\nresponse = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200",
        "[device.main]\npreset = \"ecram\"\n[device.residual]\npreset = \"idealized\"",
    );
    let two = two.unwrap().devices.unwrap();
    assert_eq!((two.main.tile(), two.residual.tile()), (Some(&presets::ecram()), Some(&presets::idealized())));
}

#[test]
fn slopes_and_exponents_differ_by_direction_and_cell() {
    let read = |text: &str| with_analog("response = \"power\"\nshape = 1.0\nradius = 0.6", text);
    let device = |text: &str| main_of(&read(text).unwrap());
    let spread =
        device("response = \"soft_bounds\"\nslope_spread = [0.1, 0.2]\nslopes = { divide_bounds = true }");
    let slopes = Slopes {
        spread: [Spread::normal(0.1), Spread::normal(0.2)],
        bounds: SlopeBounds::Divided,
        ..Slopes::soft_bounds()
    };
    assert_eq!(spread.step, StepModel::Linear(slopes));
    let grown = device(
        "response = \"linear\"\nslope = [-0.2, 0.5]\nslope_spread = { log_normal = 0.3 }\n\
         slopes = { increasing = true, reverse_down = true, reverse_offset = 0.05 }",
    );
    let slopes = Slopes {
        spread: [Spread::log_normal(0.3); 2],
        increasing: true,
        reversed: [None, Some(0.05)],
        ..Slopes::new(-0.2, 0.5)
    };
    assert_eq!(grown.step, StepModel::Linear(slopes));
    let parted = device(
        "response = \"power\"\nshape = 2.0\nshape_spread = 0.1\nshape_imbalance = 0.2\n\
         shape_imbalance_spread = 0.05\nreference = { at_symmetric_point = true }",
    );
    let exponents = Exponents {
        spread: Spread::normal(0.1),
        imbalance: 0.2,
        imbalance_spread: 0.05,
        ..Exponents::new(2.0)
    };
    assert_eq!(parted.step, StepModel::Power(exponents));
    assert!(parted.reference.unwrap().at_symmetric_point);
    let message = |text: &str| read(text).unwrap_err().to_string();
    let said = message("response = \"power\"\nshape = 2.0\nshape_imbalance = 1.5");
    assert!(said.starts_with("line ") && said.contains("shape_imbalance must be between -1 and 1"), "{said}");
    let said = message("response = \"linear\"\nslope = 0.5\nslopes = { divide_bounds = true }");
    assert!(said.contains("slope_up must be 1 where slopes divide the bounds, got 0.5"), "{said}");
    let said = message("response = \"constant\"\nslopes = {}");
    assert!(said.contains("slopes has no effect with response = \"constant\""), "{said}");
}

#[test]
fn readouts_follow_aihwkit_from_forward_to_transfer() {
    let read = |text: &str| with("[training]", &format!("{text}\n[training]")).unwrap().readout;
    let plain = read("[readout]\npreset = \"aihwkit\"");
    let settings = Settings::aihwkit();
    let backward = Settings { bound_management: BoundManagement::None, ..settings };
    let transfer = Settings { noise_management: NoiseManagement::None, ..backward };
    assert_eq!(plain.forward, Readout::new(settings).unwrap());
    assert_eq!(plain.backward, Readout::new(backward).unwrap());
    assert_eq!(plain.transfer, Readout::new(transfer).unwrap());
    let ideal = read("[readout]\npreset = \"aihwkit\"\ntransfer = \"ideal\"\n[readout.output]\nnoise = 0.1");
    assert_eq!(ideal.transfer, Readout::default());
    let mut noisy = settings;
    noisy.output.noise = 0.1;
    assert_eq!(ideal.forward, Readout::new(noisy).unwrap());
    // What the rule moves P with is the transfer's.
    let spec = with("[training]", "[readout]\npreset = \"aihwkit\"\n[training]").unwrap();
    let RuleKind::Residual(ResidualSpec { transfer, .. }) = spec.rule.kind else { panic!("{:?}", spec.rule) };
    assert_eq!(transfer.readout, plain.transfer);
}

#[test]
fn every_rule_is_built() {
    let rules = [
        ("kind = \"analog\"\nlearning_rate = 0.1", "Analog SGD"),
        ("kind = \"tiki_taka\"\nlearning_rate = { constant = 0.01 }\ntransfer_rate = 0.05", "Tiki-Taka v1"),
        (
            "kind = \"tiki_taka_2\"\nlearning_rate = 0.1\ntransfer_rate = 0.05\nbuffer = { max_pulses = 5 }",
            "Tiki-Taka v2",
        ),
        (
            "kind = \"chopped_tiki_taka\"\nlearning_rate = 0.1\ntransfer_rate = 1\nauto_scale = {}",
            "Chopped Tiki-Taka",
        ),
        ("kind = \"agad\"\nlearning_rate = 0.1\ntransfer_rate = 1\ntail_weight = 10", "AGAD"),
        (
            "kind = \"mixed_precision\"\nlearning_rate = 0.1\nquantize_inputs = { levels = 16 }",
            "Mixed precision",
        ),
        (
            "kind = \"residual_learning\"\nlearning_rate = 0.1\ntransfer_rate = 1\nmixing = 0.4",
            "Residual Learning",
        ),
        (
            "kind = \"residual_learning_2\"\nlearning_rate = 0.1\ntransfer_rate = 1\nmixing = 0.4",
            "Residual Learning v2",
        ),
        (
            "kind = \"residual_cascade\"\nlearning_rate = 0.1\ntransfer_rate = 1\nmixing = 0.4\nresiduals = 3",
            "4 arrays",
        ),
    ];
    let own = "kind = \"residual_learning\"\nlearning_rate = 0.1\ntransfer_rate = 0.1\nmixing = 0.4";
    for (text, label) in rules {
        let spec = with(own, text).unwrap();
        let rule = spec.rule.build(spec.devices.as_ref().unwrap(), [3, 5], Key::new(1));
        let rule = rule.unwrap();
        assert!(rule.label().contains(label), "{} is no {label}", rule.label());
        assert_eq!(rule.effective_weights().len(), 15);
    }
    let digital = with(own, "kind = \"digital\"\nlearning_rate = 0.1\nmomentum = 0.9").unwrap();
    assert!(digital.rule.is_digital());
    assert_eq!(digital.digital.sgd(Schedule::Constant).momentum, 0.9);
}

#[test]
fn rates_follow_the_schedule_unless_constant() {
    let spec = with(
        "kind = \"residual_learning\"\nlearning_rate = 0.1\ntransfer_rate = 0.1\nmixing = 0.4\n[training]",
        "kind = \"tiki_taka\"\nlearning_rate = { constant = 0.01 }\ntransfer_rate = 0.05\nevery = { samples = 2 }\n\
         [training]\nschedule = { kind = \"step\", every = 15, factor = 0.5 }",
    )
    .unwrap();
    assert_eq!(spec.training.schedule, ScheduleSpec::Step { every: 15, factor: 0.5, warm_up: 0 });
    let RuleKind::TikiTaka { mixing, ref transfer } = spec.rule.kind else { panic!() };
    let transfer_rate = spec.rule.transfer_rates[0];
    assert_eq!((mixing, transfer.columns, transfer.every), (0.0, Columns::Some(1), Every::Samples(2)));
    let shape = |rate| spec.training.schedule.of(rate, 30, 6);
    assert_eq!(
        transfer_rate.schedule(shape),
        Schedule::Step { initial: 0.05, every: 90, factor: 0.5, warm_up: 0 }
    );
    assert_eq!(spec.rule.learning_rate, Some(Rate::Fixed(Schedule::Constant(0.01))));
    assert_eq!(spec.rule.rates(shape).learning, Schedule::Constant(0.01));
    assert_eq!(
        ScheduleSpec::Cosine { last: 0.1, warm_up: 0 }.of(2.0, 3, 7),
        Schedule::Cosine { initial: 2.0, last: 0.2, steps: 21, warm_up: 0 }
    );
    assert_eq!(ScheduleSpec::WarmUp { epochs: 2 }.of(2.0, 3, 7), Schedule::WarmUp { rate: 2.0, steps: 14 });
}

#[test]
fn a_warm_up_precedes_steps_and_cosines() {
    let schedule = |text: &str| {
        let spec = with("epochs = 2", &format!("epochs = 2\nschedule = {{ {text} }}"));
        spec.map(|spec| spec.training.schedule.of(0.5, 10, 6))
    };
    let step = schedule("kind = \"step\", every = 4, factor = 0.1, warm_up = 2").unwrap();
    assert_eq!(step, Schedule::Step { initial: 0.5, every: 24, factor: 0.1, warm_up: 12 });
    let cosine = schedule("kind = \"cosine\", warm_up = 1").unwrap();
    assert_eq!(cosine, Schedule::Cosine { initial: 0.5, last: 0.0, steps: 60, warm_up: 6 });
    let refused = schedule("kind = \"step\", every = 4, factor = 0.1, warm_up = 0").unwrap_err().to_string();
    assert!(refused.contains("schedule.warm_up must be at least 1, got 0"), "{refused}");
    assert!(schedule("kind = \"constant\", warm_up = 1").is_err());
}

#[test]
fn cells_leak_diffuse_drift_and_are_reset() {
    let device = |text: &str| with("states = 1200", &format!("states = 1200\n{text}"));
    let text = "decay = { lifetime = 100, spread = 0.2 }\ndiffusion = { deviation = 1e-3 }\n\
                drift = { exponent = 0.05, onset_s = 20, step_s = 0.5, spread = 0.3 }\n\
                reset = { value = 0.1, deviation = 0.01 }";
    let device_of = |text: &str| main_of(&device(text).unwrap()).retention;
    let drift = Drift { step_s: 0.5, spread: 0.3, ..Drift::power_law(0.05, 20.0) };
    let expected = Retention {
        reset: Reset { value: 0.1, spread: 0.0, deviation: 0.01 },
        decay: Some(Decay { lifetime: 100.0, spread: 0.2 }),
        diffusion: Some(Diffusion { deviation: 1e-3, spread: 0.0 }),
        drift: Some(drift),
    };
    assert_eq!(device_of(text), expected);
    assert_eq!(device_of(""), Retention::default());
    for (text, expected) in [
        ("decay = { spread = 1 }", "decay.lifetime is missing"),
        ("decay = { lifetime = 0 }", "lifetime must be positive"),
        ("drift = { exponent = 0.1, onset_s = 1 }", "drift.step_s is missing"),
        ("drift = { exponent = 0.1, onset_s = 1, step_s = -1 }", "step_s must be zero or positive"),
        ("reset = { mean = 0 }", "reset.mean is not a field"),
    ] {
        let message = device(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn lines_that_differ_are_those_of_a_tile() {
    let lines = "[readout]\noutput_noise_spread = 0.5\n\
                 [readout.output]\nnoise = 0.1\nbound = 10\n[readout.nonlinearity]\nstrength = 0.1\nspread = 0.2";
    let spec = with("[training]", &format!("{lines}\n[training]")).unwrap();
    assert_eq!(spec.readout.forward.settings().output_noise_spread, 0.5);
    assert_eq!(spec.readout.forward.settings().nonlinearity.unwrap().spread, 0.2);
    let [mut a, mut b] = [1, 2].map(|tile| {
        let mut y = [0.0; 3];
        let readout = spec.readout.forward.around(Key::new(tile));
        let shape = residuum::readout::Shape { rows: 3, cols: 1 };
        readout.read(&[1.0; 3], shape, &[1.0], Key::new(7), &mut y, &mut Scratch::default());
        y
    });
    assert_ne!(a, b, "two tiles, two sets of lines");
    a.sort_unstable_by(f32::total_cmp);
    b.sort_unstable_by(f32::total_cmp);
    assert!(a[0] != a[1] && b[0] != b[1]);
}

#[test]
fn variants_cells_and_profiles_change_what_they_name() {
    let text = format!(
        "{SPEC}\n[mapping]\noutput_scaling = \"tile\"\n\
         [[cell]]\nname = \"mild\"\n[[cell]]\nname = \"harsh\"\ndevice = {{ radius = 0.1 }}\n\
         [[variant]]\nname = \"rl\"\nrule = {{ mixing = 0.8 }}\n\
         [[variant]]\nname = \"sgd\"\ntitle = \"Digital SGD\"\nrule = {{ kind = \"digital\", learning_rate = 1 }}\n\
         [profile.quick]\ntraining = {{ epochs = 1 }}\n"
    );
    let full = parse(&text).unwrap().trials;
    let names: Vec<&str> = full.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["mild-rl", "mild-sgd", "harsh-rl", "harsh-sgd"]);
    assert_eq!((full[1].title.as_str(), full[1].cell.as_deref()), ("Digital SGD", Some("mild")));
    assert!(full[1].rule.is_digital() && full[1].mapping.output_scaling == OutputScaling::PerTile);
    let RuleKind::Residual(ResidualSpec { mixing, .. }) = &full[2].rule.kind else { panic!() };
    assert_eq!((*mixing, full[2].rule.transfer_rates[0]), (0.8, Rate::Scheduled(0.1)));
    let radius = |t: &TrialSpec| main_of(t).max;
    assert_eq!((radius(&full[0]), radius(&full[2])), (0.6, 0.1));
    let quick = Experiment::parse(&text, Path::new("."), Some("quick")).unwrap().trials;
    assert_eq!((full[3].training.epochs, quick[3].training.epochs), (2, 1));
    assert_eq!(quick[3].training.loss, Loss::CrossEntropy { smoothing: 0.0 });
    // Another profile, rule or seed is another run.
    assert_ne!(full[0].description(0), quick[0].description(0));
    assert_ne!(full[0].description(0), full[2].description(0));
    assert_ne!(full[0].description(0), full[0].description(1));
    let unknown = Experiment::parse(&text, Path::new("."), Some("swift")).unwrap_err().to_string();
    assert!(unknown.contains("profile must be one of full, quick, got \"swift\""), "{unknown}");
    let double = text.replace("name = \"sgd\"", "name = \"rl\"");
    assert!(parse(&double).unwrap_err().to_string().contains("variant.name must be unique"));
    let slash = text.replace("name = \"sgd\"", "name = \"../sgd\"");
    assert!(
        parse(&slash).unwrap_err().to_string().contains("variant.name must be letters"),
        "folders are named so"
    );
}

#[test]
fn rules_of_one_seed_start_equal() {
    let text = format!(
        "{SPEC}\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nrule = {{ kind = \"digital\", learning_rate = 1 }}\n"
    );
    let trials = parse(&text).unwrap().trials;
    let start = |spec: &TrialSpec, seed| {
        let trial = NetworkTrial::prepare(spec, seed, Path::new("."), WeightsFrom::Spec).unwrap();
        let state = trial.parts.network.state(residuum_nn::state::Scope::Network);
        let order = trial.train.epoch(0).order().to_vec();
        let bias = state["3.bias"].data.as_f32().unwrap().to_vec();
        (bias, order)
    };
    assert_eq!(start(&trials[0], 7), start(&trials[1], 7));
    assert_ne!(start(&trials[0], 7).0, start(&trials[0], 8).0);
    assert_ne!(start(&trials[0], 7).1, start(&trials[0], 8).1);
}

#[test]
fn every_shipped_spec_is_read_in_both_profiles() {
    assert!(CATALOGUE.iter().any(|s| s.name == "digits"));
    for shipped in CATALOGUE {
        let read = |profile| {
            Experiment::parse(shipped.text, Path::new("."), profile)
                .unwrap_or_else(|e| panic!("{}: {e}", shipped.name))
        };
        let work = |e: &Experiment| e.trials.iter().map(|t| t.training.epochs).sum::<u64>();
        let (full, quick) = (read(None), read(Some("quick")));
        assert_eq!(full.name.as_deref(), Some(shipped.name));
        assert!(work(&quick) < work(&full), "{}: quick is not quicker", shipped.name);
    }
}

#[test]
fn keras_networks_see_red_first_in_bytes_less_the_mean() {
    use residuum_nn::data::{Dataset, Description, ImageShape};
    let text = SPEC.replace("\"digits\"", "\"cifar10\"\nnormalize = \"keras\"");
    let description = Description {
        name: "one red pixel".into(),
        shape: ImageShape::new(1, 1, 3),
        classes: 10,
        full_scale: 255,
    };
    let red = Dataset::new(description, vec![255, 0, 0], vec![0]).unwrap();
    let mut seen = [0.0; 3];
    trial(&text).data.pipelines(&red).unwrap()[1].apply(red.image(0), Key::new(0), &mut seen);
    // Conversion turns the first kernel around, so nothing is turned here.
    for (value, expected) in seen.iter().zip([255.0 - 123.68, -116.779, -103.939]) {
        assert!((value - expected).abs() < 1e-3, "{seen:?}");
    }
}
