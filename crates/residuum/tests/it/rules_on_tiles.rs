//! Rules on tiles: their recursions, their errors, and that a checkpoint of their state continues them bit for bit.
#![allow(clippy::unwrap_used, clippy::large_types_passed_by_value)]

use residuum::readout::{Readout, Settings};
use residuum::response::Power;
use residuum::rule::{
    Analog, AutoScale, Buffer, Carrier, Chop, ChoppedConfig, ChoppedTikiTaka, Columns, Every, MixedConfig,
    MixedPrecision, Quantize, Rates, ResidualConfig, ResidualLearning, Rule, Source, SymmetricPoint, TikiTaka,
    TikiTakaConfig, Transfer,
};
use residuum::tile::{CycleNoise, Device, Scheme, Spread, Tile};
use residuum::{Array, ExactArray, Gradient, Inspect, Key, State, UpdateRule};

const ROWS: usize = 6;
const COLS: usize = 9;

fn device() -> Device {
    Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::paper_power(1.0, 0.6, 1e-3)
    }
}

fn tile(name: &str) -> Tile {
    Tile::new(ROWS, COLS, device(), Key::new(7).named(name)).unwrap()
}

fn one_column() -> Transfer {
    Transfer {
        columns: Columns::Some(1),
        readout: Readout::new(Settings::aihwkit()).unwrap(),
        ..Transfer::default()
    }
}

fn buffered(max_pulses: u32) -> Transfer {
    let carrier = Carrier::Buffered(Buffer { max_pulses, ..Buffer::default() });
    Transfer { carrier, ..one_column() }
}

fn chop(regular: bool) -> Chop {
    Chop { columns: 0.25, regular, rows: 0.1 }
}

const RATES: [f64; 2] = [0.05, 0.25];

fn rates() -> Rates {
    Rates::new(RATES[0], RATES[1])
}

fn config(mixing: f64, transfer: Transfer) -> ResidualConfig<f32> {
    ResidualConfig { transfer, symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::mixing(mixing) }
}

fn residual_learning(mixing: f64, transfer: Transfer) -> ResidualLearning<f32> {
    ResidualLearning::new(tile("main"), tile("residual"), config(mixing, transfer)).unwrap()
}

fn tiki_taka(mixing: f64, transfer: Transfer) -> TikiTaka<f32> {
    let config = TikiTakaConfig { mixing, transfer, ..TikiTakaConfig::default() };
    TikiTaka::new(tile("main"), tile("residual"), config).unwrap()
}

type Boxed = Box<dyn Rule<f32>>;

/// One rule of every kind, fresh.
fn rules() -> Vec<Boxed> {
    let per_sample = |transfer: Transfer| Transfer { every: Every::Samples(2), ..transfer };
    let chopped = |regular, auto_scale, tail_weight| {
        let config =
            ChoppedConfig { chop: chop(regular), transfer: per_sample(buffered(1)), auto_scale, tail_weight };
        ChoppedTikiTaka::new(tile("main"), tile("residual"), config).unwrap()
    };
    let auto = AutoScale { momentum: 0.9, length: 5 };
    let quantize = Some(Quantize { levels: 16, stochastic: true });
    let mixed = MixedConfig {
        every: Every::Samples(3),
        quantize_errors: quantize,
        quantize_inputs: quantize,
        ..MixedConfig::default()
    };
    let shifted = ResidualConfig {
        symmetric_point: SymmetricPoint::Given(vec![0.01; ROWS * COLS]),
        ..config(0.4, Transfer::default())
    };
    let beyond = ResidualConfig {
        symmetric_point: SymmetricPoint::Known,
        source: Source::momentum(0.5),
        cell_gain: Some([vec![1.1; ROWS * COLS], vec![0.9; ROWS * COLS]]),
        ..config(0.4, Transfer { compensated: Some(0.1), ..per_sample(buffered(3)) })
    };
    let residuals: Vec<Box<dyn Array<f32>>> = vec![Box::new(tile("residual")), Box::new(tile("residual_2"))];
    let cascade = ResidualLearning::cascade(tile("main"), residuals, config(0.4, one_column())).unwrap();
    vec![
        Box::new(Analog::sgd(tile("main"))),
        Box::new(Analog::new(tile("main"), Source::adam_w(0.01)).unwrap()),
        Box::new(tiki_taka(0.0, one_column())),
        Box::new(tiki_taka(0.0, buffered(3))),
        Box::new(ResidualLearning::new(tile("main"), tile("residual"), shifted).unwrap()),
        Box::new(ResidualLearning::new(tile("main"), tile("residual"), beyond).unwrap()),
        Box::new(residual_learning(0.4, per_sample(one_column()))),
        Box::new(residual_learning(0.4, buffered(2))),
        Box::new(cascade.transfer(1, Transfer::default()).unwrap()),
        Box::new(chopped(false, Some(auto), None)),
        Box::new(chopped(true, None, Some(5.0))),
        Box::new(MixedPrecision::new(tile("main"), mixed).unwrap()),
    ]
}

/// Errors and inputs of `batch` samples at step k.
fn signals(k: u64, batch: usize) -> (Vec<f32>, Vec<f32>) {
    let key = Key::new(11).fold(k);
    let draw = |name: &str, n: usize, scale: f32| -> Vec<f32> {
        (0..n).map(|i| scale * (2.0 * key.named(name).uniform_at(i as u64) as f32 - 1.0)).collect()
    };
    (draw("errors", batch * ROWS, 0.5), draw("inputs", batch * COLS, 1.0))
}

fn step(rule: &mut dyn Rule<f32>, k: u64) {
    step_at(rule, rates(), k);
}

fn step_at(rule: &mut dyn Rule<f32>, rates: Rates, k: u64) {
    let (errors, inputs) = signals(k, 4);
    let gradient = Gradient::Outer { batch: 4, errors: &errors, inputs: &inputs };
    rule.step(gradient, &rates, Key::new(3).fold(k)).unwrap();
}

fn bits(rule: &dyn Rule<f32>) -> Vec<u32> {
    rule.states().iter().flat_map(|(_, w)| w.iter().map(|v| v.to_bits())).collect()
}

#[test]
fn every_rule_moves_its_main_array() {
    for mut rule in rules() {
        let before = rule.states()[0].1.to_vec();
        for k in 0..150 {
            step(&mut *rule, k);
        }
        assert_ne!(rule.states()[0].1, before, "{}", rule.label());
        assert!(rule.pulses_sent() > 0, "{}", rule.label());
    }
}

/// The schedule of the paper's recursion, and Tiki-Taka with the same rate: two types, one sequence of bits.
#[test]
fn tiki_taka_at_the_rate_of_residual_learning_is_residual_learning() {
    for scheme in [Scheme::default(), Scheme::Expected] {
        let tile = |name: &str| {
            tile(name).with_scheme(if name == "main" { scheme } else { Scheme::default() }).unwrap()
        };
        let taka = || -> Boxed {
            let config = TikiTakaConfig { mixing: 0.4, ..TikiTakaConfig::default() };
            Box::new(TikiTaka::new(tile("main"), tile("residual"), config).unwrap())
        };
        let config = config(0.4, Transfer::default());
        let mut learning: Boxed =
            Box::new(ResidualLearning::new(tile("main"), tile("residual"), config).unwrap());
        // The twin: β alone, without γ, is another rule.
        let (mut same, mut other) = (taka(), taka());
        let dense: Vec<f32> = (0..ROWS * COLS).map(|i| 0.01 * (i as f32 - 20.0)).collect();
        for k in 0..40 {
            let absolute = Rates::new(RATES[0], RATES[1] * 0.4);
            for (rule, rates) in [(&mut learning, rates()), (&mut same, absolute), (&mut other, rates())] {
                step_at(&mut **rule, rates, k);
                rule.step(Gradient::Dense(&dense), &rates, Key::new(4).fold(k)).unwrap();
            }
        }
        assert_eq!(learning.effective_weights(), same.effective_weights());
        assert_eq!(bits(&*learning), bits(&*same));
        assert_ne!(bits(&*learning), bits(&*other));
    }
}

/// W̄ is followed where something was written; that must be everywhere where it changed.
#[test]
fn effective_weights_are_those_of_the_arrays_after_every_step() {
    const MIXING: f32 = 0.4;
    let point: Vec<f32> = (0..ROWS * COLS).map(|i| 0.01 * i as f32).collect();
    let wide = Transfer { columns: Columns::Some(COLS - 1), ..one_column() };
    let transfers = || [one_column(), wide, Transfer::default(), buffered(5)].into_iter();
    let paced = |every| transfers().map(move |t| Transfer { every, ..t });
    for transfer in transfers().chain(paced(Every::Samples(2))).chain(paced(Every::Steps(3))) {
        let plain = residual_learning(f64::from(MIXING), transfer);
        let shifted = residual_learning(f64::from(MIXING), transfer);
        let shifted = shifted.symmetric_point(0, &SymmetricPoint::Given(point.clone())).unwrap();
        let rules: [(Boxed, Option<&[f32]>); 2] = [(Box::new(plain), None), (Box::new(shifted), Some(&point))];
        for (mut rule, point) in rules {
            let mut moved = 0;
            for k in 0..60 {
                let before = rule.effective_weights().to_vec();
                if k % 7 == 3 {
                    let gradient: Vec<f32> = (0..ROWS * COLS).map(|i| (i as f32 + k as f32).sin()).collect();
                    rule.step(Gradient::Dense(&gradient), &rates(), Key::new(5).fold(k)).unwrap();
                } else {
                    step(&mut *rule, k);
                }
                let arrays = rule.states();
                let expected =
                    |i: usize| arrays[0].1[i] + MIXING * (arrays[1].1[i] - point.map_or(0.0, |point| point[i]));
                let view = rule.effective_weights();
                for (i, w) in view.iter().enumerate() {
                    assert_eq!(*w, expected(i), "weight {i} after step {k}");
                }
                moved += usize::from(view != before);
            }
            assert!(moved > 30, "{moved} of 60 steps moved a weight");
        }
    }
}

/// In expected mode a tile follows the recursion of the f64 rule; only rounding tells them apart.
#[test]
fn expected_tiles_follow_the_exact_rule() {
    let ideal = || {
        let tile = Tile::new(ROWS, COLS, Device::paper_power(1.0, 0.6, 1e-3), Key::new(1)).unwrap();
        tile.with_scheme(Scheme::Expected).unwrap()
    };
    let array = || ExactArray::uniform(&[0.0; ROWS * COLS], Power::new(1.0, 0.6).unwrap()).unwrap();
    let mut tiles = ResidualLearning::new(ideal(), ideal(), config(0.5, Transfer::default())).unwrap();
    let mut exact = ResidualLearning::new(array(), array(), ResidualConfig::mixing(0.5)).unwrap();
    let rates = Rates::new(0.05, 0.2);
    let target: Vec<f64> = (0..ROWS * COLS).map(|i| 0.3 * (0.7 * i as f64).sin()).collect();
    let mut largest = 0.0f64;
    for _ in 0..400 {
        let gradient: Vec<f64> = exact.effective_weights().iter().zip(&target).map(|(w, t)| w - t).collect();
        exact.step((&gradient).into(), &rates, Key::new(0)).unwrap();
        let at = tiles.effective_weights();
        let gradient: Vec<f32> = at.iter().zip(&target).map(|(w, t)| w - *t as f32).collect();
        tiles.step((&gradient).into(), &rates, Key::new(0)).unwrap();
        for (a, b) in exact.states()[0].1.iter().zip(tiles.states()[0].1) {
            largest = largest.max((a - f64::from(*b)).abs());
        }
    }
    let far = exact.effective_weights().iter().zip(&target).map(|(w, t)| (w - t).abs()).fold(0.0, f64::max);
    assert!(far < 0.02, "the rule converges: {far}");
    // 400 steps, each rounding four numbers below 1 to 2⁻²⁵.
    assert!(largest < 400.0 * 4.0 * 3e-8, "{largest:e}");
    assert!(largest > 0.0, "f32 rounds");
}

#[test]
fn without_mixing_residual_learning_points_to_tiki_taka() {
    let none = ResidualLearning::new(tile("a"), tile("b"), config(0.0, Transfer::default()));
    let message = none.unwrap_err().to_string();
    assert!(message.contains("mixing") && message.contains("Tiki-Taka v1"), "{message}");
}

#[test]
fn a_gradient_that_is_not_finite_is_refused_by_name_and_step() {
    for mut rule in rules() {
        for k in 0..3 {
            step(&mut *rule, k);
        }
        let before = bits(&*rule);
        let (mut errors, inputs) = signals(9, 4);
        errors[7] = f32::NAN;
        let gradient = Gradient::Outer { batch: 4, errors: &errors, inputs: &inputs };
        let error = rule.step(gradient, &rates(), Key::new(0)).unwrap_err().at(3);
        let array = if rule.arrays().len() == 1 { "main" } else { "residual" };
        let message = error.to_string();
        assert!(error.array.starts_with(array), "{}: {message}", rule.label());
        assert!(
            message.contains("step 3") && message.contains("errors[7]") && message.contains("NaN"),
            "{message}"
        );
        let mut dense = vec![0.0; ROWS * COLS];
        dense[5] = f32::INFINITY;
        let error = rule.step(Gradient::Dense(&dense), &rates(), Key::new(0)).unwrap_err();
        assert!(error.to_string().contains("gradient[5]"), "{error}");
        assert!(rule.step(Gradient::Dense(&[0.0; 3]), &rates(), Key::new(0)).is_err());
        assert_eq!(bits(&*rule), before, "{}: nothing moved", rule.label());
    }
}

#[test]
fn a_saved_state_continues_to_the_bit() {
    for (mut whole, mut resumed) in rules().into_iter().zip(rules()) {
        for k in 0..120 {
            step(&mut *whole, k);
        }
        resumed.load(&whole.tensors()).unwrap();
        for k in 120..260 {
            step(&mut *whole, k);
            step(&mut *resumed, k);
        }
        assert_eq!(whole.tensors(), resumed.tensors(), "{}", whole.label());
    }
}

#[test]
fn rules_say_how_fast_they_move() {
    let full = residual_learning(0.4, Transfer::default()).effective_rates(&rates(), 1);
    assert_eq!((full.learning, full.transfer, full.sweep), (0.05, Some(0.25 * 0.4), 1));
    let slow = Transfer { every: Every::Steps(5), ..one_column() };
    let slow = residual_learning(0.4, slow).effective_rates(&rates(), 8);
    assert_eq!(slow.sweep, 45);
    assert!((slow.transfer.unwrap() - 0.25 * 0.4 / 45.0).abs() < 1e-15);
    // A transfer after every sample happens as often as the mini-batch has samples.
    let sampled = Transfer { every: Every::Samples(1), ..one_column() };
    let sampled = residual_learning(0.4, sampled).effective_rates(&rates(), 3);
    assert_eq!(sampled.sweep, 3);
    assert!((sampled.transfer.unwrap() - 0.25 * 0.4 / 3.0).abs() < 1e-15);
    let sgd = Analog::sgd(tile("main")).effective_rates(&rates(), 1);
    assert_eq!((sgd.learning, sgd.transfer, sgd.sweep), (0.05, None, 1));
}

/// A constant gradient drives P, and W follows it column by column: after one sweep every column has moved once.
#[test]
fn a_sweep_visits_every_column_once() {
    let ideal = || {
        let tile = Tile::new(ROWS, COLS, Device::paper_power(1.0, 0.6, 1e-3), Key::new(1)).unwrap();
        tile.with_scheme(Scheme::Expected).unwrap()
    };
    let transfer = Transfer { columns: Columns::Some(2), ..Transfer::default() };
    let config = TikiTakaConfig { transfer, ..TikiTakaConfig::default() };
    let rates = Rates::new(0.0, 0.5);
    let mut residual = ideal();
    residual.program(&[0.1; ROWS * COLS], Key::new(2)).unwrap();
    let mut taka = TikiTaka::new(ideal(), residual, config).unwrap();
    let zero = vec![0.0f32; ROWS * COLS];
    for k in 0..4 {
        taka.step((&zero).into(), &rates, Key::new(0)).unwrap();
        let moved: Vec<bool> = (0..COLS).map(|j| taka.states()[0].1[j] != 0.0).collect();
        let expected: Vec<bool> = (0..COLS).map(|j| j < 2 * (k as usize + 1)).collect();
        assert_eq!(moved, expected);
    }
    // The fifth transfer takes the last column and the first again.
    taka.step((&zero).into(), &rates, Key::new(0)).unwrap();
    let main = taka.states()[0].1;
    assert!((main[8] - 0.05).abs() < 1e-6 && main[0] > 0.05, "{main:?}");
}

/// A buffer loses nothing: what it holds and what it sent add up to what was read.
#[test]
fn a_buffer_keeps_what_it_has_not_sent() {
    let constant = Device::ideal(residuum::tile::StepModel::Constant, 1e-3, -10.0, 10.0);
    let ideal = || Tile::new(ROWS, COLS, constant.clone(), Key::new(1)).unwrap();
    let mut residual = ideal();
    let target: Vec<f32> = (0..ROWS * COLS).map(|i| 0.01 * (i as f32 - 25.0)).collect();
    residual.program(&target, Key::new(2)).unwrap();
    let carrier = Carrier::Buffered(Buffer { max_pulses: 1, ..Buffer::default() });
    let transfer = Transfer { carrier, ..Transfer::default() };
    let config = TikiTakaConfig { transfer, ..TikiTakaConfig::default() };
    let mut taka = TikiTaka::new(ideal(), residual, config).unwrap();
    let rates = Rates::new(0.0, 2e-3);
    let zero = vec![0.0f32; ROWS * COLS];
    for k in 0..500 {
        taka.step((&zero).into(), &rates, Key::new(0).fold(k)).unwrap();
    }
    let state = taka.tensors();
    let numbers = |name: &str| -> Vec<f64> {
        state.get(name).unwrap().data.as_f32().unwrap().iter().map(|v| f64::from(*v)).collect()
    };
    for ((w, h), t) in numbers("main.weights").iter().zip(numbers("transfer_to_main.held")).zip(&target) {
        assert!((w + h - 500.0 * 2e-3 * f64::from(*t)).abs() < 2e-4, "{w} + {h} of {t}");
        assert!(h.abs() < 1e-3);
    }
}

/// Programming makes the effective weights what was asked, whatever happened before.
#[test]
fn a_programmed_rule_starts_where_it_was_told() {
    let target: Vec<f32> = (0..ROWS * COLS).map(|i| 0.005 * (i as f32 - 27.0)).collect();
    for mut rule in rules() {
        for k in 0..30 {
            step(&mut *rule, k);
        }
        rule.program(&target, Key::new(5)).unwrap();
        assert_eq!(rule.effective_weights(), target, "{}", rule.label());
        let error = rule.program(&[f32::NAN; ROWS * COLS], Key::new(5)).unwrap_err();
        assert!(error.to_string().contains("[0] must be finite"), "{error}");
        assert_eq!(rule.effective_weights(), target, "{}: nothing was written", rule.label());
    }
}
