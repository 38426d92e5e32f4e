//! Reads keep their promises.

mod buffers;
mod noise;
mod product;

use super::readout_signals;

use readout_signals::{REPEATS, SHAPE, backward_input, forward_input, golden, lines, numbers, weights};
use residuum::Key;
use residuum::readout::{
    BoundManagement, Converter, IrDrop, NoiseManagement, Nonlinearity, OutputLine, Passes, Readout, Scratch,
    Settings, Shape,
};
use residuum::stats::{Summary, Z};

#[test]
fn the_default_is_the_exact_product() {
    let (w, x, d) = (weights(), forward_input(), backward_input());
    let (mut y, mut z) = ([0.0; 16], [0.0; 32]);
    let readout = Readout::default();
    readout.read(&w, SHAPE, &x, Key::new(1), &mut y, &mut Scratch::default());
    readout.read_transposed(&w, SHAPE, &d, Key::new(1), &mut z, &mut Scratch::default());
    let exact = numbers(&golden()["exact"]);
    for i in 0..16 {
        let sum: f64 = (0..32).map(|j| f64::from(w[i * 32 + j]) * f64::from(x[j])).sum();
        assert!((f64::from(y[i]) - sum).abs() < 2e-6, "{} {sum}", y[i]);
        assert!((f64::from(y[i]) - exact[i]).abs() < 2e-5, "{} {}", y[i], exact[i]);
    }
    for j in 0..32 {
        let sum: f64 = (0..16).map(|i| f64::from(w[i * 32 + j]) * f64::from(d[i])).sum();
        assert!((f64::from(z[j]) - sum).abs() < 1e-6, "{} {sum}", z[j]);
    }
}

/// Every imperfection at once.
fn everything() -> Settings {
    let mut s = Settings::aihwkit();
    s.input = Converter { stochastic: true, noise: 0.01, negative_loss: 0.02, ..s.input };
    s.output = Converter { bound: Some(2.0), stochastic: true, negative_loss: 0.01, ..s.output };
    s.weight_noise = 0.02;
    s.ir_drop = Some(IrDrop { strength: 1.0, conductance_ratio: 1e4 });
    s.output_line = Some(OutputLine { offset_spread: 0.0, reference_weight: 1.0, series_resistance: 0.01 });
    s.nonlinearity = Some(Nonlinearity { strength: 0.1, spread: 0.0 });
    s.slope_calibration = 0.5;
    s
}

#[test]
fn threads_do_not_change_a_bit() {
    // Batches that threads share by samples (or by outputs, on five threads), and few samples whose outputs they share.
    for (rows, cols, batch) in [(120, 200, 61), (1100, 1010, 1), (1100, 1010, 3)] {
        let shape = Shape { rows, cols };
        let w: Vec<f32> = (0..rows * cols).map(|k| 0.3 * (0.37 * k as f32).sin()).collect();
        let signals: Vec<f32> = (0..batch * 1100).map(|k| (k % 7) as f32 * (0.11 * k as f32).cos()).collect();
        let digital = Settings { passes: Passes::SignsDigital, read_asymmetry: 0.1, ..everything() };
        for settings in [Settings::default(), Settings::aihwkit(), everything(), digital] {
            let readout = Readout::of_array(settings, Key::new(3)).unwrap();
            let read = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let (mut y, mut z) = (vec![f32::NAN; batch * rows], vec![f32::NAN; batch * cols]);
                    let (key, scratch) = (Key::new(4), &mut Scratch::default());
                    readout.read(&w, shape, &signals[..batch * cols], key, &mut y, scratch);
                    readout.read_transposed(&w, shape, &signals[..batch * rows], key, &mut z, scratch);
                    (y, z)
                })
            };
            let alone = read(1);
            assert!(alone.0.iter().chain(&alone.1).all(|v| v.is_finite()));
            for threads in [2, 3, 5] {
                assert!(read(threads) == alone, "{threads} threads, {rows}×{cols}, batch {batch}");
            }
        }
    }
}

#[test]
fn a_sample_reads_the_same_whatever_the_batch() {
    let readout = Readout::new(everything()).unwrap();
    let w = weights();
    // Samples of different size: some clip and repeat, some do not, one is zero.
    let batch: Vec<f32> = (0..6 * 32).map(|k| (k / 32) as f32 * (0.37 * k as f32).sin()).collect();
    let read = |inputs: &[f32], scratch: &mut Scratch| {
        let mut y = vec![f32::NAN; inputs.len() / 2];
        readout.read(&w, SHAPE, inputs, Key::new(4), &mut y, scratch);
        y
    };
    let scratch = &mut Scratch::default();
    let whole = read(&batch, scratch);
    assert_eq!(whole, read(&batch, scratch), "again, with a used scratch");
    for s in 1..=6 {
        assert_eq!(whole[..s * 16], read(&batch[..s * 32], scratch), "the first {s} samples alone");
    }
    let mut other = vec![0.0; 96];
    readout.read(&w, SHAPE, &batch, Key::new(5), &mut other, scratch);
    assert_ne!(whole[16..], other[16..], "another key, other noise");
    let twice = [&batch[32..64], &batch[32..64]].concat();
    let y = read(&twice, scratch);
    assert_ne!(y[..16], y[16..], "equal samples do not share their noise");
}

#[test]
fn a_column_reads_as_the_one_hot_sample() {
    let w = weights();
    let scratch = &mut Scratch::default();
    let mut no_input_noise = everything();
    no_input_noise.input.noise = 0.0;
    no_input_noise.ir_drop = None;
    no_input_noise.output_line = None;
    no_input_noise.output.bound = Some(0.3);
    let passes = Settings { passes: Passes::SignsAnalog, ..no_input_noise };
    let worst = Settings {
        bound_management: BoundManagement::IterativeWorstCase { max_factor: 16, assumed_weight: 0.6 },
        ..no_input_noise
    };
    for settings in [Settings::default(), Settings::aihwkit(), no_input_noise, worst, passes, everything()] {
        let readout = Readout::new(settings).unwrap();
        for column in 0..32 {
            let key = Key::new(9).fold(column as u64);
            let (mut one_hot, mut full, mut alone) = ([0.0; 32], [0.0; 16], [0.0; 16]);
            one_hot[column] = 1.0;
            readout.read(&w, SHAPE, &one_hot, key, &mut full, scratch);
            readout.read_column(&w, SHAPE, column, key, &mut alone, scratch);
            assert_eq!(full, alone, "column {column} of {settings:?}");
        }
    }
}

/// All columns at once: what each column reads, in the same distribution.
#[test]
fn all_columns_read_as_each_does() {
    let (w, scratch) = (weights(), &mut Scratch::default());
    let transfer = Settings {
        noise_management: NoiseManagement::None,
        bound_management: BoundManagement::None,
        ..Settings::aihwkit()
    };
    let mut quiet = transfer;
    quiet.output.noise = 0.0;
    let mut each = vec![0.0; w.len()];
    let mut all = vec![0.0; w.len()];
    for settings in [
        Settings::default(),
        quiet,
        Settings { noise_management: NoiseManagement::Constant { scale: 2.0 }, ..quiet },
    ] {
        let readout = Readout::new(settings).unwrap();
        readout.read_columns(&w, SHAPE, Key::new(1), &mut all, scratch);
        for column in 0..SHAPE.cols {
            let mut values = vec![0.0; SHAPE.rows];
            readout.read_column(&w, SHAPE, column, Key::new(2), &mut values, scratch);
            each[column..].iter_mut().step_by(SHAPE.cols).zip(values).for_each(|(out, v)| *out = v);
        }
        assert_eq!(all, each, "{settings:?}");
    }
    // Noise that rounding hides is seen where the steps are fine.
    let mut fine = transfer;
    fine.output.steps = None;
    for (settings, sigma) in [(fine, fine.output.noise), (everything(), 0.0)] {
        let readout = Readout::new(settings).unwrap();
        let reads: Vec<Vec<f32>> = (0..REPEATS as u64)
            .map(|k| {
                let mut all = vec![0.0; w.len()];
                readout.read_columns(&w, SHAPE, Key::new(3).fold(k), &mut all, scratch);
                all
            })
            .collect();
        if sigma == 0.0 {
            assert!(reads[0] != reads[1], "imperfections that need a whole read are not lost");
            continue;
        }
        for cell in [0, 33, 511] {
            let s = Summary::of(reads.iter().map(|read| f64::from(read[cell])));
            assert!(s.agrees(f64::from(w[cell]), 0.0), "{s} instead of {}", w[cell]);
            assert!((s.std / sigma - 1.0).abs() < Z / (2.0 * REPEATS as f64).sqrt(), "{s}");
        }
        let across =
            Summary::of(reads.iter().map(|read| f64::from(read[5] - w[5]) * f64::from(read[6] - w[6])));
        assert!(across.agrees(0.0, 0.0), "cells are independent: {across}");
    }
}

/// Steps of the converter are the values it tells, noise and all; where reads are no whole steps there are none.
#[test]
fn steps_are_the_reads_of_all_columns() {
    let (mut w, scratch) = (weights(), &mut Scratch::default());
    // Beyond the bound of 12.
    (w[0], w[1]) = (40.0, -40.0);
    let transfer = Settings {
        noise_management: NoiseManagement::None,
        bound_management: BoundManagement::None,
        ..Settings::aihwkit()
    };
    let scaled = Settings { noise_management: NoiseManagement::Constant { scale: 2.0 }, ..transfer };
    let (mut values, mut steps) = (vec![0.0; w.len()], vec![0; w.len()]);
    for settings in [transfer, scaled] {
        let readout = Readout::new(settings).unwrap();
        readout.read_columns(&w, SHAPE, Key::new(4), &mut values, scratch);
        let unit = readout.read_steps(&w, SHAPE, Key::new(4), &mut steps).unwrap();
        for (value, steps) in values.iter().zip(&steps) {
            assert!(
                (value - unit * f32::from(*steps)).abs() <= 1e-5 * value.abs(),
                "{value}: {steps} of {unit}"
            );
        }
        assert!(steps.contains(&1) && (steps[0], steps[1]) == (255, -255), "{steps:?}");
    }
    let [mut fine, mut odd, mut rounded] = [transfer; 3];
    (fine.output.steps, odd.output.steps) = (None, Some(511));
    rounded.output.stochastic = true;
    for settings in [fine, odd, rounded, Settings::aihwkit(), everything()] {
        let readout = Readout::new(settings).unwrap();
        assert_eq!(readout.read_steps(&w, SHAPE, Key::new(4), &mut steps), None, "{settings:?}");
    }
}

#[test]
fn weight_noise_grows_with_the_norm_of_the_input() {
    let sigma = 0.03;
    let x = forward_input();
    let norm = x.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
    for samples in lines(Settings { weight_noise: sigma, ..Settings::default() }, false, REPEATS) {
        let s = Summary::of(samples);
        assert!((s.std / (sigma * norm) - 1.0).abs() < Z / (2.0 * REPEATS as f64).sqrt(), "{s}");
    }
}

#[test]
fn stochastic_rounding_keeps_the_mean() {
    // A coarse converter: to the nearest step every output would be off by up to half of it, 1.
    let output = Converter { bound: Some(10.0), steps: Some(10), stochastic: true, ..Converter::default() };
    let mut s = Settings { output, ..Settings::default() };
    let exact = numbers(&golden()["exact"]);
    for (samples, exact) in lines(s, false, REPEATS).into_iter().zip(&exact) {
        assert!(samples.iter().all(|y| y % 2.0 == 0.0));
        assert!(Summary::of(samples).agrees(*exact, 1e-5));
    }
    s.output.stochastic = false;
    let nearest = lines(s, false, 1);
    assert!(nearest.iter().zip(&exact).all(|(y, e)| y[0] == (e / 2.0).round() * 2.0));
}

#[test]
fn voltage_drop_follows_its_formula() {
    let (strength, ratio) = (1.3, 800.0);
    let drop = Some(IrDrop { strength, conductance_ratio: ratio });
    let settings = Settings { ir_drop: drop, ..Settings::default() };
    let w: Vec<f64> = weights().into_iter().map(f64::from).collect();
    for transposed in [false, true] {
        let x = if transposed { backward_input() } else { forward_input() };
        let n = x.len();
        for (line, y) in lines(settings, transposed, 1).iter().enumerate() {
            let weight = |j: usize| if transposed { w[j * 32 + line] } else { w[line * 32 + j] };
            let sum = |f: &dyn Fn(usize, f64) -> f64| (0..n).map(|j| f(j, f64::from(x[j]))).sum::<f64>();
            let a = sum(&|j, x| (weight(j) * x).abs()) * n as f64 / ratio;
            let shaped = sum(&|j, x| weight(j) * x * (1.0 - (1.0 - j as f64 / n as f64).powi(2)));
            let lost = strength * (0.5 * a - 0.2 * a * a + 0.05 * a * a * a) * shaped;
            let want = sum(&|j, x| weight(j) * x) - lost;
            assert!((y[0] - want).abs() < 4e-6, "line {line}: {} {want}, lost {lost}", y[0]);
        }
    }
}

#[test]
fn negative_values_lose_their_fraction() {
    let mut s = Settings::default();
    s.output.negative_loss = 0.25;
    let exact = lines(Settings::default(), false, 1);
    for (y, e) in lines(s, false, 1).iter().zip(&exact) {
        let want = if e[0] < 0.0 { 0.75 * e[0] } else { e[0] };
        assert!((y[0] - want).abs() < 1e-6, "{} {want}", y[0]);
    }
    let mut s = Settings::default();
    s.input.negative_loss = 0.5;
    let mut y = [0.0];
    let shape = Shape { rows: 1, cols: 2 };
    let readout = Readout::new(s).unwrap();
    readout.read(&[1.0, 1.0], shape, &[1.0, -1.0], Key::new(1), &mut y, &mut Scratch::default());
    assert_eq!(y, [0.5]);
}

#[test]
fn noise_management_scales_as_it_says() {
    // One exact input step of 1/2 at scale 1 makes the scale visible: inputs round to multiples of scale/2.
    let read = |noise_management, x: [f32; 2]| {
        let input = Converter { bound: Some(1.0), steps: Some(4), ..Converter::default() };
        let settings = Settings { input, noise_management, ..Settings::default() };
        let mut y = [f32::NAN; 2];
        let shape = Shape { rows: 2, cols: 2 };
        let identity = [1.0, 0.0, 0.0, 1.0];
        let readout = Readout::new(settings).unwrap();
        readout.read(&identity, shape, &x, Key::new(1), &mut y, &mut Scratch::default());
        y
    };
    let close = |y: [f32; 2], want: [f32; 2]| (0..2).all(|i| (y[i] - want[i]).abs() < 1e-6);
    assert!(close(read(NoiseManagement::None, [3.0, 0.6]), [1.0, 0.5]));
    assert!(close(read(NoiseManagement::AbsMax { ceiling: None }, [-3.0, 0.6]), [-3.0, 0.0]));
    assert!(close(read(NoiseManagement::AbsMax { ceiling: Some(2.0) }, [-3.0, 0.6]), [-2.0, 1.0]));
    assert!(close(read(NoiseManagement::Max { ceiling: None }, [-3.0, 0.6]), [-0.6, 0.6]));
    assert!(close(read(NoiseManagement::Max { ceiling: None }, [-3.0, -0.6]), [0.0, 0.0]));
    assert!(close(read(NoiseManagement::Constant { scale: 4.0 }, [3.2, 0.9]), [4.0, 0.0]));
    let sum = NoiseManagement::AbsMaxSum { assumed_weight: 2.0, max_factor: 1.5 };
    assert!(close(read(sum, [1.0, 0.9]), [0.75, 0.75]), "scale min(2·1.9, 1.5·1) = 1.5");
    let zero = read(NoiseManagement::AbsMax { ceiling: None }, [0.0, 0.0]);
    assert_eq!(zero, [0.0, 0.0]);
    let tiny = f32::from_bits(3);
    assert_eq!(read(NoiseManagement::AbsMax { ceiling: None }, [tiny, 0.0]), [tiny, 0.0]);
}

#[test]
fn nan_is_never_turned_into_a_number() {
    let managements = [
        NoiseManagement::None,
        NoiseManagement::AbsMax { ceiling: Some(1.0) },
        NoiseManagement::Max { ceiling: Some(1.0) },
        NoiseManagement::Constant { scale: 1.0 },
        NoiseManagement::AbsMaxSum { assumed_weight: 1.0, max_factor: 4.0 },
        NoiseManagement::AverageAbsMax { decay: 0.1 },
    ];
    for noise_management in managements {
        let readout = Readout::new(Settings { noise_management, ..everything() }).unwrap();
        let mut inputs = forward_input().repeat(3);
        inputs[32..64].fill(0.0);
        inputs[40] = f32::NAN; // All else is zero: a maximum that skips NaN would find nothing to read.
        let mut y = vec![0.0; 48];
        readout.read(&weights(), SHAPE, &inputs, Key::new(2), &mut y, &mut Scratch::default());
        assert!(y[16..32].iter().all(|v| v.is_nan()), "{noise_management:?}: {:?}", &y[16..32]);
        assert!(y[..16].iter().chain(&y[32..]).all(|v| v.is_finite()), "the neighbours are untouched");

        let mut w = weights();
        w[5 * 32 + 7] = f32::NAN;
        readout.read(&w, SHAPE, &forward_input(), Key::new(2), &mut y[..16], &mut Scratch::default());
        assert!(y[5].is_nan() && y[4].is_finite());
        readout.read_column(&w, SHAPE, 7, Key::new(2), &mut y[..16], &mut Scratch::default());
        assert!(y[5].is_nan());
    }
    let infinite = Readout::new(Settings::aihwkit()).unwrap();
    let mut inputs = forward_input();
    inputs[3] = f32::INFINITY;
    let mut y = [0.0; 16];
    infinite.read(&weights(), SHAPE, &inputs, Key::new(2), &mut y, &mut Scratch::default());
    assert!(y.iter().all(|v| !v.is_finite()), "{y:?}");
}

#[test]
fn settings_no_readout_can_have_are_named() {
    let message = |spoil: &dyn Fn(&mut Settings)| {
        let mut s = Settings::aihwkit();
        spoil(&mut s);
        Readout::new(s).unwrap_err().to_string()
    };
    let cases: [(&dyn Fn(&mut Settings), &str); 16] = [
        (&|s| s.input.bound = Some(-1.0), "input.bound must be positive and finite, got -1"),
        (&|s| s.output.bound = Some(f64::NAN), "output.bound must be positive and finite, got NaN"),
        (&|s| s.input.steps = Some(0), "input.steps must be at least 1, got 0"),
        (&|s| s.input.bound = None, "input.steps must be unset unless the bound is set, got 126"),
        (&|s| s.output.noise = -0.1, "output.noise must be zero or positive"),
        (&|s| s.output.negative_loss = 1.0, "output.negative_loss must be in [0, 1), got 1"),
        (&|s| s.weight_noise = f64::INFINITY, "weight_noise must be zero or positive, and finite, got inf"),
        (
            &|s| s.noise_management = NoiseManagement::Constant { scale: 0.0 },
            "noise_management.scale must be positive",
        ),
        (
            &|s| s.bound_management = BoundManagement::Iterative { max_factor: 0 },
            "bound_management.max_factor must be at least 1, got 0",
        ),
        (
            &|s| (s.output.bound, s.output.steps) = (None, None),
            "bound_management must be None unless output.bound is set",
        ),
        (
            &|s| s.ir_drop = Some(IrDrop { strength: 1.0, conductance_ratio: 0.0 }),
            "ir_drop.conductance_ratio must be positive",
        ),
        (
            &|s| s.input = Converter { stochastic: true, ..Converter::default() },
            "input.steps must be set when rounding is stochastic",
        ),
        (
            &|s| s.noise_management = NoiseManagement::AverageAbsMax { decay: 0.0 },
            "noise_management.decay must be in (0, 1], got 0",
        ),
        (
            &|s| s.slope_calibration = 0.5,
            "slope_calibration must be zero unless nonlinearity or output_line is set, got 0.5",
        ),
        (
            &|s| s.output_noise_spread = 0.3,
            "output_noise_spread must be zero unless the readout is made for one array, got 0.3",
        ),
        (
            &|s| s.nonlinearity = Some(Nonlinearity { strength: -1.0, spread: 0.0 }),
            "nonlinearity.strength must be zero or positive",
        ),
    ];
    for (spoil, expected) in cases {
        let message = message(spoil);
        assert!(message.starts_with(expected), "{message:?} should start with {expected:?}");
    }
    let one_pass = Settings { read_asymmetry: 0.1, ..Settings::aihwkit() };
    let ignored = Readout::of_array(one_pass, Key::new(1)).unwrap_err().to_string();
    assert!(ignored.starts_with("read_asymmetry must be zero unless the passes are separate"), "{ignored}");
    assert_eq!(Converter::from_aihwkit(1.0, 1.0 / 126.0).unwrap().steps, Some(126));
    assert_eq!(Converter::from_aihwkit(1.0, 126.0).unwrap().steps, Some(126));
    let fraction = Converter::from_aihwkit(1.0, 0.3).unwrap_err().to_string();
    assert!(fraction.starts_with("resolution must be the inverse of a whole number"), "{fraction}");
}

#[test]
fn the_worst_case_scale_avoids_every_clip_it_promises_to() {
    // Weights at the assumed magnitude: the second read cannot clip, so no third one halves the input again.
    let s = Settings {
        output: Converter { bound: Some(1.0), ..Converter::default() },
        noise_management: NoiseManagement::AbsMax { ceiling: None },
        bound_management: BoundManagement::IterativeWorstCase { max_factor: 64, assumed_weight: 0.5 },
        ..Settings::default()
    };
    let exact = lines(Settings::default(), false, 1);
    for (y, e) in lines(s, false, 1).iter().zip(&exact) {
        assert!((y[0] - e[0]).abs() < 1e-5, "{} {}", y[0], e[0]);
    }
    let clipped = lines(Settings { bound_management: BoundManagement::None, ..s }, false, 1);
    assert!(clipped.iter().all(|y| y[0].abs() <= 0.8 + 1e-6));
}
