//! Reads agree with AIHWKIT's recorded statistics, and wrong ones do not.

use super::readout_signals;

use readout_signals::{REPEATS, SHAPE, backward_input, forward_input, golden, lines, numbers, weights};
use residuum::Key;
use residuum::readout::{
    BoundManagement, Converter, IrDrop, NoiseManagement, Nonlinearity, OutputLine, Passes, Readout, Scratch,
    Settings, WeightNoise,
};
use residuum::stats::{Summary, Z};
use serde_json::Value;

/// Our settings for AIHWKIT's parameters; panics on one that we do not have, so that nothing is skipped.
fn settings(io: &Value, transposed: bool) -> Settings {
    let number = |name: &str| io[name].as_f64().expect("a number");
    let flag = |name: &str| io[name].as_bool().expect("a flag");
    if flag("is_perfect") {
        return Settings::default();
    }
    assert_eq!(number("out_scale"), 1.0);
    let converter = |side: &str| {
        let (bound, resolution) = (number(&format!("{side}_bound")), number(&format!("{side}_res")));
        let unlimited = Converter { bound: Some(bound), ..Converter::default() };
        Converter {
            stochastic: flag(&format!("{side}_sto_round")),
            noise: number(&format!("{side}_noise")),
            negative_loss: number(&format!("{side}_asymmetry")),
            ..if resolution > 0.0 {
                Converter::from_aihwkit(bound, resolution).expect("valid")
            } else {
                unlimited
            }
        }
    };
    // AIHWKIT halves until the reduction passes either limit; its absolute input resolution is 2·bound·res.
    let limit =
        number("max_bm_factor").min(number("max_bm_res") / (2.0 * number("inp_bound") * number("inp_res")));
    let max_factor = (0..32).map(|k| 1u32 << k).find(|&f| f64::from(f) > limit).expect("a power of two");
    Settings {
        input: converter("inp"),
        output: converter("out"),
        noise_management: match io["noise_management"].as_str().expect("a name") {
            "None" => NoiseManagement::None,
            "AbsMax" => NoiseManagement::AbsMax { ceiling: None },
            // Its parameters do not offer the decay.
            "AverageAbsMax" => NoiseManagement::AverageAbsMax { decay: 1e-3 },
            other => panic!("noise management {other}"),
        },
        bound_management: match io["bound_management"].as_str().expect("a name") {
            // AIHWKIT's backward pass never manages bounds.
            "Iterative" if !transposed => BoundManagement::Iterative { max_factor },
            _ => BoundManagement::None,
        },
        weight_noise: number("w_noise"),
        weight_noise_kind: match io["w_noise_type"].as_str().expect("a name") {
            "None" | "AdditiveConstant" => WeightNoise::Constant,
            "PCMRead" => WeightNoise::PhaseChange,
            other => panic!("weight noise {other}"),
        },
        ir_drop: (number("ir_drop") > 0.0)
            .then(|| IrDrop { strength: number("ir_drop"), conductance_ratio: number("ir_drop_g_ratio") }),
        passes: match io["mv_type"].as_str().expect("a name") {
            "OnePass" => Passes::One,
            "PosNegSeparate" => Passes::SignsAnalog,
            "PosNegSeparateDigitalSum" => Passes::SignsDigital,
            other => panic!("passes {other}"),
        },
        read_asymmetry: number("w_read_asymmetry_dtod"),
        output_line: (number("v_offset_std") > 0.0 || number("r_series") > 0.0).then(|| OutputLine {
            offset_spread: number("v_offset_std"),
            reference_weight: -number("v_offset_w_min"),
            series_resistance: number("r_series"),
        }),
        nonlinearity: (number("out_nonlinearity") > 0.0).then(|| Nonlinearity {
            strength: number("out_nonlinearity"),
            spread: number("out_nonlinearity_std"),
        }),
        slope_calibration: number("slope_calibration"),
        output_noise_spread: number("out_noise_std"),
    }
}

/// Reads one sample from each of `arrays` arrays; the outputs of each line.
fn lines_of_arrays(settings: Settings, transposed: bool, arrays: usize) -> Vec<Vec<f64>> {
    let (sample, n_out) = if transposed { (backward_input(), 32) } else { (forward_input(), 16) };
    let (w, scratch) = (weights(), &mut Scratch::default());
    let mut lines = vec![Vec::new(); n_out];
    for k in 0..arrays as u64 {
        let readout = Readout::of_array(settings, Key::new(12).fold(k)).expect("valid settings");
        let (key, mut outputs) = (Key::new(13).fold(k), vec![0.0; n_out]);
        if transposed {
            readout.read_transposed(&w, SHAPE, &sample, key, &mut outputs, scratch);
        } else {
            readout.read(&w, SHAPE, &sample, key, &mut outputs, scratch);
        }
        lines.iter_mut().zip(outputs).for_each(|(line, y)| line.push(f64::from(y)));
    }
    lines
}

/// The lines whose mean or standard deviation differs from the reference by more than sampling explains.
fn disagreements(case: &Value, settings: Settings, transposed: bool) -> Vec<String> {
    differing(case, &lines(settings, transposed, REPEATS), transposed)
}

fn differing(case: &Value, lines: &[Vec<f64>], transposed: bool) -> Vec<String> {
    let (mean, std) = if transposed { ("bwd_mean", "bwd_std") } else { ("mean", "std") };
    let (means, deviations) = (numbers(&case[mean]), numbers(&case[std]));
    let mut wrong = Vec::new();
    for (line, samples) in lines.iter().enumerate() {
        let ours = Summary::of(samples.iter().copied());
        // Both sides' standard errors, from our shape of the law: the reference has a tenth of the repeats.
        let both = (1.0 / 4000.0 + 1.0 / samples.len() as f64).sqrt();
        let fourth = Summary::of(samples.iter().map(|y| (y - ours.mean).powi(4))).mean;
        let std_se = if ours.std > 0.0 {
            (fourth - ours.std.powi(4)).max(0.0).sqrt() / (2.0 * ours.std) * both
        } else {
            0.0
        };
        let table = 0.0055 * ours.std;
        let printed = |value: f64| 6e-5 * value.abs() + 1e-6;
        let mean_tolerance = Z * ours.std * both + table + printed(means[line]);
        let std_tolerance = Z * std_se + table + printed(deviations[line]);
        if (ours.mean - means[line]).abs() > mean_tolerance {
            wrong.push(format!("mean {line}: {} {} ± {mean_tolerance}", ours.mean, means[line]));
        }
        if (ours.std - deviations[line]).abs() > std_tolerance {
            wrong.push(format!("std {line}: {} {} ± {std_tolerance}", ours.std, deviations[line]));
        }
    }
    wrong
}

#[test]
fn statistics_agree_with_aihwkit_in_every_recorded_setting() {
    let golden = golden();
    let cases = golden["cases"].as_object().unwrap();
    assert_eq!(cases.len(), 17);
    for (name, case) in cases {
        for transposed in [false, true] {
            let wrong = disagreements(case, settings(&case["io"], transposed), transposed);
            assert!(wrong.is_empty(), "{name}, transposed {transposed}: {wrong:#?}");
        }
    }
}

#[test]
fn wrong_settings_do_not_agree() {
    let golden = golden();
    let twin = |case: &str, transposed: bool, spoil: &dyn Fn(&mut Settings)| {
        let case = &golden["cases"][case];
        let mut wrong = settings(&case["io"], transposed);
        spoil(&mut wrong);
        disagreements(case, wrong, transposed).len()
    };
    for transposed in [false, true] {
        assert!(twin("default", transposed, &|s| s.output.noise *= 2.0) > 10, "output noise doubled");
        assert!(twin("default", transposed, &|s| s.output.noise *= 1.1) > 10, "output noise a tenth larger");
        assert!(twin("inp_noise_0.01", transposed, &|s| s.input.noise *= 4.0) > 10, "input noise");
        // Without noise one line on another step is proof enough.
        assert!(twin("no_noise", transposed, &|s| s.output.steps = Some(255)) > 0, "output resolution");
        assert!(twin("no_noise", transposed, &|s| s.input.steps = Some(63)) > 0, "input resolution");
        let unmanaged: &dyn Fn(&mut Settings) = &|s| s.noise_management = NoiseManagement::None;
        assert!(twin("default", transposed, unmanaged) > 10, "noise management off");
    }
    assert!(
        twin("out_bound_1", false, &|s| s.bound_management = BoundManagement::None) > 5,
        "bounds unmanaged"
    );
    let early: &dyn Fn(&mut Settings) = &|s| s.bound_management = BoundManagement::Iterative { max_factor: 4 };
    assert!(twin("out_bound_1", false, early) > 0, "bound management that gives up early");
}

#[test]
fn arrays_differ_as_those_of_aihwkit_do() {
    let golden = golden();
    let arrays = golden["arrays"].as_object().unwrap();
    assert_eq!(arrays.len(), 6);
    for (name, case) in arrays {
        for transposed in [false, true] {
            let settings = settings(&case["io"], transposed);
            let wrong = differing(case, &lines_of_arrays(settings, transposed, 10_000), transposed);
            assert!(wrong.is_empty(), "{name}, transposed {transposed}: {wrong:#?}");
        }
    }
}

#[test]
fn wrong_arrays_do_not_agree() {
    let golden = golden();
    let twin = |case: &str, spoil: &dyn Fn(&mut Settings)| {
        let case = &golden["arrays"][case];
        [false, true].map(|transposed| {
            let mut wrong = settings(&case["io"], transposed);
            spoil(&mut wrong);
            differing(case, &lines_of_arrays(wrong, transposed, 3000), transposed).len()
        })
    };
    let line = |s: &mut Settings| s.output_line.expect("a line");
    let cases: [(&str, &dyn Fn(&mut Settings)); 8] = [
        ("out_noise_std", &|s| s.output_noise_spread = 0.0),
        ("out_noise_std", &|s| s.output_noise_spread *= 1.6),
        ("v_offset", &|s| s.output_line = Some(OutputLine { offset_spread: 0.12, ..line(s) })),
        ("v_offset", &|s| s.output_line = Some(OutputLine { reference_weight: 0.0, ..line(s) })),
        ("v_offset_r_series", &|s| s.output_line = Some(OutputLine { series_resistance: 0.0, ..line(s) })),
        ("nonlinearity_std", &|s| s.nonlinearity = Some(Nonlinearity { strength: 0.7, spread: 0.6 })),
        ("nonlinearity_std", &|s| s.slope_calibration = 0.4),
        ("read_asymmetry", &|s| s.read_asymmetry *= 1.2),
    ];
    for (k, (case, spoil)) in cases.into_iter().enumerate() {
        let [forward, transposed] = twin(case, spoil);
        assert!(forward > 4 && transposed > 8, "{case}, spoiled as number {k}: {forward} and {transposed}");
    }
}

#[test]
fn wrong_passes_and_lines_do_not_agree() {
    let golden = golden();
    let twin = |case: &str, spoil: &dyn Fn(&mut Settings)| {
        let case = &golden["cases"][case];
        let mut wrong = settings(&case["io"], false);
        spoil(&mut wrong);
        disagreements(case, wrong, false).len()
    };
    let cases: [(&str, &dyn Fn(&mut Settings)); 8] = [
        ("w_noise", &|s| s.weight_noise *= 1.2),
        ("pcm_read", &|s| s.weight_noise_kind = WeightNoise::Constant),
        ("ir_drop", &|s| s.ir_drop = None),
        ("r_series", &|s| s.output_line = None),
        ("nonlinearity", &|s| s.slope_calibration = 0.0),
        ("asymmetry", &|s| s.output.negative_loss = 0.1),
        ("pos_neg", &|s| s.passes = Passes::One),
        ("pos_neg_digital", &|s| s.passes = Passes::SignsAnalog),
    ];
    for (case, spoil) in cases {
        let wrong = twin(case, spoil);
        assert!(wrong > 4, "{case}: {wrong} lines differ");
    }
}

#[test]
fn the_running_scale_follows_the_samples() {
    let golden = golden();
    let sequence = &golden["sequence"];
    let samples: Vec<f32> = (0..200)
        .flat_map(|s| forward_input().into_iter().map(move |x| (1.0 + 0.5 * (s as f32).sin()) * x))
        .collect();
    let worst = |noise_management, block: usize| {
        let settings = Settings { noise_management, ..settings(&sequence["io"], false) };
        let readout = Readout::new(settings).unwrap();
        let (mut outputs, scratch) = (vec![0.0; 200 * 16], &mut Scratch::default());
        for (x, y) in samples.chunks(block * 32).zip(outputs.chunks_mut(block * 16)) {
            readout.read(&weights(), SHAPE, x, Key::new(1), y, scratch);
        }
        let recorded = sequence["outputs"].as_object().unwrap().iter();
        recorded
            .flat_map(|(s, y)| {
                let ours = &outputs[s.parse::<usize>().unwrap() * 16..][..16];
                numbers(y).into_iter().zip(ours).map(|(a, b)| (a - f64::from(*b)).abs()).collect::<Vec<_>>()
            })
            .fold(0.0, f64::max)
    };
    for block in [200, 7, 1] {
        let difference = worst(NoiseManagement::AverageAbsMax { decay: 1e-3 }, block);
        assert!(difference < 1e-3, "batches of {block}: {difference}");
    }
    let spoiled = [
        NoiseManagement::AverageAbsMax { decay: 2e-2 },
        NoiseManagement::AbsMax { ceiling: None },
        NoiseManagement::Constant { scale: 0.8 },
    ];
    for management in spoiled {
        assert!(worst(management, 200) > 1e-2, "{management:?}");
    }
    // The memory is the caller's: put back, it continues as if nothing had been read in between.
    let readout = Readout::new(settings(&sequence["io"], false)).unwrap();
    let (mut scratch, mut y) = (Scratch::default(), [[0.0; 16]; 2]);
    assert_eq!(scratch.running_scale(), None);
    for y in &mut y {
        scratch.set_running_scale(Some(0.5));
        readout.read(&weights(), SHAPE, &samples[..32], Key::new(1), y, &mut scratch);
    }
    assert_eq!(y[0], y[1]);
    assert_eq!(scratch.running_scale(), Some(0.999 * 0.5 + 1e-3 * 0.8));
}
