//! Decay, diffusion, drift and reset of tiles against AIHWKIT 1.1.0 (`golden/aihwkit/retention_statistics.json`): mean and
//! standard deviation over 64 × 64 cells after each operation, for three draws of the array.

use residuum::Key;
use residuum::rule::{
    Analog, MixedConfig, MixedPrecision, ResidualConfig, ResidualLearning, Rule, SymmetricPoint, TikiTaka,
    TikiTakaConfig,
};
use residuum::stats::{Summary, Z};
use residuum::tile::{
    Decay, Device, Diffusion, Drift, Policy, Reset, Retention, StepModel, Stuck, Tile, VectorCell,
};
use serde_json::Value;

const SIDE: usize = 64;

fn cases() -> Vec<Value> {
    let path = format!("{}/../../golden/aihwkit/retention_statistics.json", env!("CARGO_MANIFEST_DIR"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document["cases"].as_array().unwrap().clone()
}

/// AIHWKIT's parameters in ours; steps do not matter.
fn device(config: &Value) -> Device {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0) as f32;
    let named = |name: &str| number(&config[name]);
    let power = &config["drift"];
    let drift = Drift {
        exponent: number(&power["nu"]),
        spread: number(&power["nu_dtod"]),
        exponent_noise: number(&power["nu_std"]),
        onset_s: number(&power["t_0"]),
        state_noise: number(&power["w_noise_std"]),
        step_s: 0.0,
    };
    Device {
        write_noise: named("write_noise_std"),
        retention: Retention {
            reset: Reset { value: named("reset"), spread: named("reset_dtod"), deviation: named("reset_std") },
            decay: (named("lifetime") > 0.0)
                .then(|| Decay { lifetime: named("lifetime"), spread: named("lifetime_dtod") }),
            diffusion: (named("diffusion") > 0.0)
                .then(|| Diffusion { deviation: named("diffusion"), spread: named("diffusion_dtod") }),
            drift: (drift.exponent > 0.0).then_some(drift),
        },
        ..Device::ideal(StepModel::Constant, named("dw_min"), named("w_min"), named("w_max"))
    }
}

/// Mean, standard deviation and what a standard deviation of 4096 such cells is known to, relative to itself.
fn moments(weights: &[f32]) -> (Summary, f64) {
    let sample = || weights.iter().map(|w| f64::from(*w));
    let summary = Summary::of(sample());
    let fourth = sample().map(|w| (w - summary.mean).powi(4)).sum::<f64>() / summary.n as f64;
    let kurtosis = fourth / summary.std.powi(4).max(1e-30);
    (summary, ((kurtosis - 1.0).max(0.0) / (4.0 * summary.n as f64)).sqrt())
}

/// What a tile shows after each operation: visible, then hidden where write noise hides it.
fn operate(case: &Value, device: &Device, seed: u64) -> Vec<Vec<(Summary, f64)>> {
    let key = Key::new(seed);
    let mut tile = Tile::new(SIDE, SIDE, device.clone(), key.named("device")).unwrap();
    tile.program(&[0.3; SIDE * SIDE], key.named("start")).unwrap();
    let mut rewritten = false;
    let mut seen = Vec::new();
    for (k, operation) in (0u64..).zip(case["operations"].as_array().unwrap()) {
        let (key, argument) = (key.fold(k), &operation[1]);
        match operation[0].as_str().unwrap() {
            "decay" => (0..argument.as_u64().unwrap()).for_each(|n| tile.decay(1, key.fold(n))),
            "diffuse" => (0..argument.as_u64().unwrap()).for_each(|n| tile.diffuse(1, key.fold(n))),
            // After a write, AIHWKIT starts the clock at the end of the next call; here time passes for written cells too.
            "drift" if rewritten => rewritten = false,
            "drift" => tile.drift(argument.as_f64().unwrap(), key).unwrap(),
            "reset" => {
                let [first, count] = [0, 1].map(|n| argument[n].as_u64().unwrap() as usize);
                tile.reset(first..first + count, key).unwrap();
            }
            "write" => {
                tile.program(&[argument.as_f64().unwrap() as f32; SIDE * SIDE], key).unwrap();
                rewritten = true;
            }
            other => panic!("{other}"),
        }
        let mut looks = vec![moments(tile.weights())];
        if device.write_noise > 0.0 {
            looks.push(moments(tile.hidden()));
        }
        seen.push(looks);
    }
    seen
}

/// The largest distance from the references in units of what is allowed: 1 is the limit.
fn distance(case: &Value, change: impl Fn(&mut Device)) -> f64 {
    let mut device = device(&case["config"]);
    // Before the change, which is not to widen what is allowed.
    let noise_per_call = {
        let Retention { reset, diffusion, drift, .. } = device.retention;
        // w₀ ln(t) t^(−ν) ≤ w₀/(eν) is how the drifted weight depends on ν.
        let drift = drift.map_or(0.0, |d| 0.3 / std::f32::consts::E * d.exponent_noise + d.state_noise);
        let write = device.write_noise * device.pulse_step;
        f64::from(reset.deviation + drift + write)
            .hypot(diffusion.map_or(0.0, |d| f64::from(d.deviation * (1.0 + d.spread))))
    };
    change(&mut device);
    let ours = operate(case, &device, 11);
    let curves = case["curves"].as_array().unwrap();
    let count = curves.len() as f64;
    let mut worst = 0.0f64;
    let mut calls = 0.0;
    for (k, looks) in ours.iter().enumerate() {
        calls +=
            case["operations"][k][1].as_f64().filter(|_| case["operations"][k][0] == "diffuse").unwrap_or(1.0);
        for (look, (summary, relative)) in looks.iter().enumerate() {
            let theirs = |moment: usize| {
                curves.iter().map(|c| c["points"][k][2 * look + moment].as_f64().unwrap()).sum::<f64>() / count
            };
            let (mean, std) = (theirs(0), theirs(1));
            // Both sides sample 4096 cells. AIHWKIT's normals come from a table of 32 768, whose mean is off by a normal of
            // deviation 0.0055, the same way at every call, and its deviation by 0.4 %.
            let both = (1.0 + 1.0 / count).sqrt();
            let summed = if case["operations"][k][0] == "diffuse" { calls } else { 1.0 };
            let table = 0.0055 * noise_per_call * summed / count.sqrt();
            let mean_allowed = Z * (std / 64.0 * both).hypot(table) + 2e-6;
            let std_allowed = Z * (relative * std * both).hypot(0.004 * std) + 2e-6;
            worst = worst.max((summary.mean - mean).abs() / mean_allowed);
            worst = worst.max((summary.std - std).abs() / std_allowed);
        }
    }
    worst
}

#[test]
fn retention_is_aihwkits() {
    let cases = cases();
    assert_eq!(cases.len(), 22);
    for case in &cases {
        let d = distance(case, |_| ());
        println!("{}: {d:.2}", case["name"]);
        assert!(d <= 1.0, "{}: {d:.2} times what is allowed", case["name"]);
    }
}

/// The twins: each parameter, wrong, is seen.
#[test]
fn wrong_retention_is_seen() {
    let cases = cases();
    let seen = |name: &str, change: &dyn Fn(&mut Retention)| {
        let case = cases.iter().find(|c| c["name"] == name).unwrap();
        let d = distance(case, |device| change(&mut device.retention));
        assert!(d > 1.0, "{name}: {d:.2}");
    };
    seen("decay", &|r| r.decay.as_mut().unwrap().lifetime *= 1.01);
    seen("decay to a reset value", &|r| r.reset.value *= 1.01);
    seen("decay, lifetimes spread", &|r| r.decay.as_mut().unwrap().spread *= 1.15);
    seen("decay, lifetimes at and below 1", &|r| r.decay.as_mut().unwrap().spread *= 1.3);
    seen("decay, reset values spread", &|r| r.reset.spread *= 1.15);
    seen("diffusion", &|r| r.diffusion.as_mut().unwrap().deviation *= 1.1);
    seen("diffusion, spread folded", &|r| r.diffusion.as_mut().unwrap().spread *= 1.3);
    seen("drift", &|r| r.drift.as_mut().unwrap().exponent *= 1.01);
    seen("drift", &|r| r.drift.as_mut().unwrap().onset_s *= 1.01);
    seen("drift, exponents spread", &|r| r.drift.as_mut().unwrap().spread *= 1.15);
    seen("drift, noise of the exponent", &|r| r.drift.as_mut().unwrap().exponent_noise *= 1.15);
    seen("drift, noise of the state", &|r| r.drift.as_mut().unwrap().state_noise *= 1.15);
    seen("reset", &|r| r.reset.deviation *= 1.15);
    seen("reset, values spread", &|r| r.reset.spread *= 1.15);
    seen("reset into a bound", &|r| r.reset.value *= 0.98);
}

fn ideal(retention: Retention) -> Device {
    Device { retention, ..Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0) }
}

fn leaky(lifetime: f32) -> Retention {
    Retention { decay: Some(Decay { lifetime, spread: 0.3 }), ..Retention::default() }
}

#[test]
fn many_mini_batches_at_once_are_the_same_leak() {
    let mut at_once = Tile::new(20, 30, ideal(leaky(50.0)), Key::new(1)).unwrap();
    at_once.program(&[0.7; 600], Key::new(2)).unwrap();
    let mut one_by_one = at_once.clone();
    at_once.decay(40, Key::new(3));
    (0..40).for_each(|k| one_by_one.decay(1, Key::new(3).fold(k)));
    for (a, b) in at_once.weights().iter().zip(one_by_one.weights()) {
        assert!((a - b).abs() < 40.0 * 6e-8 && *a < 0.55, "{a} {b}");
    }
    // What f32 rounds away in single mini-batches is there when they are taken together.
    let mut slow = Tile::new(
        1,
        1,
        ideal(Retention { decay: Some(Decay { lifetime: 1e8, spread: 0.0 }), ..Retention::default() }),
        Key::new(1),
    )
    .unwrap();
    slow.program(&[0.7], Key::new(2)).unwrap();
    (0..1000).for_each(|k| slow.decay(1, Key::new(3).fold(k)));
    assert_eq!(slow.weights(), [0.7]);
    slow.decay(100_000_000, Key::new(4));
    assert!((slow.weights()[0] - 0.7 / std::f32::consts::E).abs() < 1e-6);
}

/// A mini-batch is one leak, one step of the walk, and so many seconds of drift; a rule lets all its arrays age.
#[test]
fn arrays_age_with_their_rule() {
    let retention = Retention {
        diffusion: Some(Diffusion { deviation: 1e-3, spread: 0.2 }),
        drift: Some(Drift { step_s: 5.0, ..Drift::power_law(0.1, 2.0) }),
        ..leaky(50.0)
    };
    let tile = |key| {
        let mut tile = Tile::new(4, 5, ideal(retention), Key::new(key)).unwrap();
        tile.program(&[0.7; 20], Key::new(2)).unwrap();
        tile
    };
    let (key, mut aged, mut by_hand) = (Key::new(3), tile(1), tile(1));
    aged.age(key);
    by_hand.decay(1, key.named("decay"));
    by_hand.diffuse(1, key.named("diffuse"));
    let before_drift = by_hand.weights().to_vec();
    by_hand.drift(5.0, key.named("drift")).unwrap();
    assert_eq!(aged.weights(), by_hand.weights());
    assert_ne!(before_drift, by_hand.weights());

    let residual = ResidualConfig { symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::mixing(0.4) };
    let rules: [Box<dyn Rule<f32>>; 5] = [
        Box::new(Analog::sgd(tile(1))),
        Box::new(TikiTaka::new(tile(1), tile(2), TikiTakaConfig::default()).unwrap()),
        Box::new(ResidualLearning::new(tile(1), tile(2), residual).unwrap()),
        Box::new(MixedPrecision::new(tile(1), MixedConfig::default()).unwrap()),
        Box::new(Analog::sgd(VectorCell::new(vec![tile(1), tile(2)], Policy::All).unwrap())),
    ];
    for mut rule in rules {
        let copy = |rule: &dyn Rule<f32>| -> Vec<Vec<f32>> {
            rule.states().iter().map(|(_, weights)| weights.to_vec()).collect()
        };
        let before = copy(&*rule);
        rule.age(key);
        // What is kept in digital memory starts at 0 and does not age.
        let analog = before.iter().zip(copy(&*rule)).filter(|(before, _)| before.iter().any(|w| *w != 0.0));
        let analog: Vec<_> = analog.collect();
        assert!(!analog.is_empty());
        for (before, after) in analog {
            // 2 % of leak and the drift to (5/2)^−0.1, against a walk of 0.1 %.
            let share = after.iter().sum::<f32>() / before.iter().sum::<f32>();
            assert!((0.85..0.95).contains(&share), "{}: {share}", rule.label());
        }
    }
}

#[test]
fn diffusion_over_many_mini_batches_has_their_variance() {
    let walk =
        Retention { diffusion: Some(Diffusion { deviation: 0.01, spread: 0.0 }), ..Retention::default() };
    let std = |calls: u64, each: u32| {
        let mut tile = Tile::new(SIDE, SIDE, ideal(walk), Key::new(1)).unwrap();
        (0..calls).for_each(|k| tile.diffuse(each, Key::new(5).fold(k)));
        moments(tile.weights()).0.std
    };
    let allowed = Z / (2.0f64 * 4096.0).sqrt();
    assert!((std(1, 25) / 0.05 - 1.0).abs() < allowed);
    assert!((std(25, 1) / 0.05 - 1.0).abs() < allowed);
    assert!((std(1, 30) / 0.05 - 1.0).abs() > allowed, "the twin: five mini-batches more");
}

#[test]
fn two_drifts_are_one_long_one_and_a_pulse_starts_the_clock_anew() {
    let drift =
        Retention { drift: Some(Drift { spread: 0.4, ..Drift::power_law(0.1, 2.0) }), ..Retention::default() };
    let mut tile = Tile::new(8, 8, ideal(drift), Key::new(1)).unwrap();
    tile.program(&[0.5; 64], Key::new(2)).unwrap();
    let mut long = tile.clone();
    tile.drift(10.0, Key::new(3)).unwrap();
    tile.drift(30.0, Key::new(4)).unwrap();
    long.drift(40.0, Key::new(3)).unwrap();
    assert_eq!(tile.weights(), long.weights());
    tile.pulse_all(true, Key::new(5));
    let pulsed = tile.weights().to_vec();
    tile.drift(1.9, Key::new(6)).unwrap();
    assert_eq!(tile.weights(), pulsed, "within the onset nothing moves");
    tile.drift(38.1, Key::new(7)).unwrap();
    for ((after, start), first) in tile.weights().iter().zip(&pulsed).zip(long.weights()) {
        // The same age and exponent as before, from another start.
        assert!((after / start - first / 0.5).abs() < 1e-6, "{after} {start} {first}");
    }
    assert_eq!(
        tile.drift(-1.0, Key::new(8)).unwrap_err().to_string(),
        "elapsed_s must be zero or positive, and finite, got -1"
    );
}

#[test]
fn resets_touch_the_chosen_cells_only() {
    let reset =
        Retention { reset: Reset { value: 0.1, spread: 0.02, deviation: 0.03 }, ..Retention::default() };
    let device = Device { write_noise: 5.0, ..ideal(reset) };
    let mut tile = Tile::new(6, 10, device, Key::new(1)).unwrap();
    tile.program(&[0.5; 60], Key::new(2)).unwrap();
    let before = tile.clone();
    tile.reset(2..5, Key::new(3)).unwrap();
    for i in 0..60 {
        let touched = (2..5).contains(&(i % 10));
        assert_eq!(tile.hidden()[i] != before.hidden()[i], touched);
        assert_eq!(tile.weights()[i] != before.weights()[i], touched);
        assert!(!touched || (tile.hidden()[i] - 0.1).abs() < 0.25);
    }
    let mut chosen = before.clone();
    chosen.reset_where(|row, column| row == 3 && column == 4, Key::new(3));
    assert_eq!(chosen.hidden()[34], tile.hidden()[34], "the choice of others does not matter");
    assert_eq!(chosen.hidden().iter().zip(before.hidden()).filter(|(a, b)| a != b).count(), 1);
    assert_eq!(tile.pulses_sent(), 0);
    let message = tile.reset(5..11, Key::new(1)).unwrap_err().to_string();
    assert_eq!(message, "columns must be below the number of columns, got 10");
}

/// Everything on: 1 thread and 2 threads give the same bits, stuck cells stay.
#[test]
fn retention_is_the_same_on_any_number_of_threads() {
    let retention = Retention {
        reset: Reset { value: 0.1, spread: 0.02, deviation: 0.03 },
        decay: Some(Decay { lifetime: 20.0, spread: 0.3 }),
        diffusion: Some(Diffusion { deviation: 0.01, spread: 0.3 }),
        drift: Some(Drift {
            spread: 0.3,
            exponent_noise: 0.1,
            state_noise: 0.01,
            ..Drift::power_law(0.1, 1.0)
        }),
    };
    let device =
        Device { stuck: Some(Stuck { probability: 0.1, range: 0.5 }), write_noise: 3.0, ..ideal(retention) };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tile = Tile::new(100, 130, device.clone(), Key::new(3)).unwrap();
            let start = tile.hidden().to_vec();
            tile.reset(0..100, Key::new(4)).unwrap();
            tile.decay(3, Key::new(5));
            tile.diffuse(2, Key::new(6));
            tile.drift(30.0, Key::new(7)).unwrap();
            let stayed = tile.hidden().iter().zip(&start).filter(|(a, b)| a == b).count();
            (tile.weights().to_vec(), stayed)
        })
    };
    let (weights, stayed) = run(1);
    // Binomial(13 000, 0.1): 1300 ± 34.
    assert!((stayed as f64 - 1300.0).abs() < Z * 34.2, "{stayed}");
    assert_eq!((weights, stayed), run(2));
}

#[test]
fn what_is_not_named_does_not_happen() {
    let mut tile = Tile::new(4, 4, Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0), Key::new(1)).unwrap();
    tile.program(&[0.5; 16], Key::new(2)).unwrap();
    tile.decay(5, Key::new(3));
    tile.diffuse(5, Key::new(4));
    tile.drift(1e6, Key::new(5)).unwrap();
    assert_eq!(tile.weights(), [0.5; 16]);
    tile.reset(0..4, Key::new(6)).unwrap();
    assert_eq!(tile.weights(), [0.0; 16], "an ideal reset leads to 0");
    let message = |retention: Retention| ideal(retention).validate().unwrap_err().to_string();
    assert_eq!(message(leaky(0.0)), "lifetime must be positive and finite, got 0");
    let drift = Some(Drift::power_law(0.1, 0.0));
    assert_eq!(
        message(Retention { drift, ..Retention::default() }),
        "onset_s must be positive and finite, got 0"
    );
}
