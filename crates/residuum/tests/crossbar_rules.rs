//! Rules on tiles: their recursions, their errors, and that a checkpoint of their state continues them to the bit.
#![allow(clippy::unwrap_used)]

use residuum::readout::{Readout, Settings};
use residuum::response::Power;
use residuum::rule::crossbar::{
    AutoScale, Buffer, Carrier, Chop, ChoppedTikiTaka, Columns, Every, MixedPrecision, PulsedSgd, Quantize,
    Residual, ResidualCascade, ResidualLearning, TikiTaka, Transfer,
};
use residuum::rule::{self, Slot};
use residuum::tile::{CycleNoise, Device, Scheme, Spread, Tile, Trains};
use residuum::{AnalogArray, Gradient, Key, Schedule, UpdateRule};

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

fn residual_learning(mixing: f64, transfer: Transfer) -> ResidualLearning {
    let trains = Trains::default();
    ResidualLearning::new(tile("main"), tile("residual"), mixing, 0.05, 0.25, trains, transfer).unwrap()
}

fn link(name: &str, transfer: Transfer) -> Residual {
    Residual {
        array: Box::new(tile(name)),
        symmetric_point: None,
        transfer_rate: Schedule::Constant(0.25),
        transfer,
    }
}

type Boxed = Box<dyn UpdateRule<f32>>;

/// One rule of every kind, fresh.
fn rules() -> Vec<Boxed> {
    let trains = Trains::default();
    let per_sample = |transfer: Transfer| Transfer { every: Every::Samples(2), ..transfer };
    let chopped = |regular| {
        ChoppedTikiTaka::new(
            tile("main"),
            tile("residual"),
            0.1,
            0.05,
            trains,
            chop(regular),
            per_sample(buffered(1)),
        )
        .unwrap()
    };
    let auto = AutoScale { momentum: 0.9, length: 5 };
    let quantize = Some(Quantize { levels: 16, stochastic: true });
    vec![
        Box::new(PulsedSgd::new(tile("main"), 0.05, trains).unwrap()),
        Box::new(TikiTaka::new(tile("main"), tile("residual"), 0.0, 0.05, 0.1, trains, one_column()).unwrap()),
        Box::new(TikiTaka::new(tile("main"), tile("residual"), 0.0, 0.05, 0.1, trains, buffered(3)).unwrap()),
        Box::new(residual_learning(0.4, Transfer::default()).symmetric_point(vec![0.01; ROWS * COLS]).unwrap()),
        Box::new(residual_learning(0.4, per_sample(one_column()))),
        Box::new(residual_learning(0.4, buffered(2))),
        Box::new(
            ResidualCascade::new(
                tile("main"),
                vec![link("residual", one_column()), link("residual_2", Transfer::default())],
                0.4,
                0.05,
                trains,
            )
            .unwrap(),
        ),
        Box::new(chopped(false).auto_scale(auto).unwrap()),
        Box::new(chopped(true).dynamic_reference(5.0).unwrap()),
        Box::new(
            MixedPrecision::new(tile("main"), 0.05, Every::Samples(3), trains)
                .unwrap()
                .quantize(quantize, quantize)
                .unwrap(),
        ),
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

fn step(rule: &mut dyn UpdateRule<f32>, k: u64) {
    let (errors, inputs) = signals(k, 4);
    let gradient = Gradient::Outer { batch: 4, errors: &errors, inputs: &inputs };
    rule.step(k, gradient, Key::new(3).fold(k)).unwrap();
}

fn bits(rule: &dyn UpdateRule<f32>) -> Vec<u32> {
    rule.arrays().iter().flat_map(|(_, w)| w.iter().map(|v| v.to_bits())).collect()
}

#[test]
fn every_rule_moves_its_main_array() {
    for mut rule in rules() {
        let before = rule.arrays()[0].1.to_vec();
        for k in 0..150 {
            step(&mut *rule, k);
        }
        assert_ne!(rule.arrays()[0].1, before, "{}", rule.label());
        assert!(rule.pulses_sent() > 0, "{}", rule.label());
    }
}

/// The schedule of the paper's recursion, and Tiki-Taka with the same rate: two types, one sequence of bits.
#[test]
fn tiki_taka_at_the_rate_of_residual_learning_is_residual_learning() {
    let trains = Trains::default();
    let taka = |rate: f64, transfer: Transfer| -> Boxed {
        Box::new(TikiTaka::new(tile("main"), tile("residual"), 0.4, 0.05, rate, trains, transfer).unwrap())
    };
    for transfer in [Transfer::default(), Transfer { scheme: Scheme::Expected, ..Transfer::default() }] {
        let mut learning: Boxed = Box::new(residual_learning(0.4, transfer.clone()));
        let mut same = taka(0.25 * 0.4, transfer.clone());
        // The twin: β alone, without γ, is another rule.
        let mut other = taka(0.25, transfer);
        let dense: Vec<f32> = (0..ROWS * COLS).map(|i| 0.01 * (i as f32 - 20.0)).collect();
        for k in 0..40 {
            for rule in [&mut learning, &mut same, &mut other] {
                step(&mut **rule, k);
                rule.step(k, Gradient::Dense(&dense), Key::new(4).fold(k)).unwrap();
            }
        }
        let mut at = [vec![0.0; ROWS * COLS], vec![0.0; ROWS * COLS]];
        learning.effective_weights(&mut at[0]);
        same.effective_weights(&mut at[1]);
        assert_eq!(at[0], at[1]);
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
    let transfers = || [one_column(), wide.clone(), Transfer::default(), buffered(5)].into_iter();
    let paced = |every| transfers().map(move |t| Transfer { every, ..t });
    for transfer in transfers().chain(paced(Every::Samples(2))).chain(paced(Every::Steps(3))) {
        let shifted = residual_learning(f64::from(MIXING), transfer.clone()).symmetric_point(point.clone());
        let rules: [(Boxed, Option<&[f32]>); 2] = [
            (Box::new(residual_learning(f64::from(MIXING), transfer)), None),
            (Box::new(shifted.unwrap()), Some(&point)),
        ];
        for (mut rule, point) in rules {
            let mut moved = 0;
            for k in 0..60 {
                let before = rule.effective_view().unwrap().to_vec();
                if k % 7 == 3 {
                    let gradient: Vec<f32> = (0..ROWS * COLS).map(|i| (i as f32 + k as f32).sin()).collect();
                    rule.step(k, Gradient::Dense(&gradient), Key::new(5).fold(k)).unwrap();
                } else {
                    step(&mut *rule, k);
                }
                let arrays = rule.arrays();
                let expected =
                    |i: usize| arrays[0].1[i] + MIXING * (arrays[1].1[i] - point.map_or(0.0, |point| point[i]));
                let view = rule.effective_view().unwrap();
                for (i, w) in view.iter().enumerate() {
                    assert_eq!(*w, expected(i), "weight {i} after step {k}");
                }
                moved += usize::from(view != before);
            }
            assert!(moved > 30, "{moved} of 60 steps moved a weight");
        }
    }
}

#[test]
fn a_cascade_of_one_is_residual_learning() {
    for transfer in [Transfer::default(), one_column(), buffered(2)] {
        let mut learning = residual_learning(0.4, transfer.clone());
        let links = vec![link("residual", transfer)];
        let mut cascade = ResidualCascade::new(tile("main"), links, 0.4, 0.05, Trains::default()).unwrap();
        for k in 0..60 {
            step(&mut learning, k);
            step(&mut cascade, k);
        }
        assert_eq!(bits(&learning), bits(&cascade));
    }
}

/// In expected mode a tile follows the recursion of the f64 rule; only rounding tells them apart.
#[test]
fn expected_tiles_follow_the_exact_rule() {
    let ideal = || Tile::new(ROWS, COLS, Device::paper_power(1.0, 0.6, 1e-3), Key::new(1)).unwrap();
    let array = || AnalogArray::uniform(&[0.0; ROWS * COLS], Power::new(1.0, 0.6).unwrap()).unwrap();
    let transfer = Transfer { scheme: Scheme::Expected, ..Transfer::default() };
    let mut tiles =
        ResidualLearning::new(ideal(), ideal(), 0.5, 0.05, 0.2, Scheme::Expected, transfer).unwrap();
    let mut exact = rule::ResidualLearning::new(array(), array(), 0.5, 0.05, 0.2).unwrap();
    let target: Vec<f64> = (0..ROWS * COLS).map(|i| 0.3 * (0.7 * i as f64).sin()).collect();
    let (mut at, mut at32) = (vec![0.0; ROWS * COLS], vec![0.0f32; ROWS * COLS]);
    let mut largest = 0.0f64;
    for k in 0..400 {
        exact.effective_weights(&mut at);
        let gradient: Vec<f64> = at.iter().zip(&target).map(|(w, t)| w - t).collect();
        exact.step(k, (&gradient).into(), Key::new(0)).unwrap();
        tiles.effective_weights(&mut at32);
        let gradient: Vec<f32> = at32.iter().zip(&target).map(|(w, t)| w - *t as f32).collect();
        tiles.step(k, (&gradient).into(), Key::new(0)).unwrap();
        for (a, b) in exact.arrays()[0].1.iter().zip(tiles.arrays()[0].1) {
            largest = largest.max((a - f64::from(*b)).abs());
        }
    }
    exact.effective_weights(&mut at);
    let far = at.iter().zip(&target).map(|(w, t)| (w - t).abs()).fold(0.0, f64::max);
    assert!(far < 0.02, "the rule converges: {far}");
    // 400 steps, each rounding four numbers below 1 to 2⁻²⁵.
    assert!(largest < 400.0 * 4.0 * 3e-8, "{largest:e}");
    assert!(largest > 0.0, "f32 rounds");
}

#[test]
fn without_mixing_residual_learning_points_to_tiki_taka() {
    let trains = Trains::default();
    let none = ResidualLearning::new(tile("a"), tile("b"), 0.0, 0.05, 0.2, trains, Transfer::default());
    let message = none.unwrap_err().to_string();
    assert!(message.contains("mixing") && message.contains("Tiki-Taka v1"), "{message}");
    let none = ResidualCascade::new(tile("a"), vec![link("b", Transfer::default())], 0.0, 0.05, trains);
    assert!(none.unwrap_err().to_string().contains("Tiki-Taka v1"));
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
        let error = rule.step(3, gradient, Key::new(0)).unwrap_err();
        let array =
            if rule.arrays().len() == 1 || rule.label() == "Mixed precision" { "main" } else { "residual" };
        let message = error.to_string();
        assert!(error.array.starts_with(array), "{}: {message}", rule.label());
        assert!(
            message.contains("step 3") && message.contains("errors[7]") && message.contains("NaN"),
            "{message}"
        );
        let mut dense = vec![0.0; ROWS * COLS];
        dense[5] = f32::INFINITY;
        let error = rule.step(4, Gradient::Dense(&dense), Key::new(0)).unwrap_err();
        assert!(error.to_string().contains("gradient[5]"), "{error}");
        assert!(rule.step(5, Gradient::Dense(&[0.0; 3]), Key::new(0)).is_err());
        assert_eq!(bits(&*rule), before, "{}: nothing moved", rule.label());
    }
}

/// Everything that `state` hands out, by name.
fn saved(rule: &mut dyn UpdateRule<f32>) -> Vec<(String, Vec<f64>)> {
    let mut all = Vec::new();
    rule.state(&mut |name, slot| {
        let values = match slot {
            Slot::Floats(v) => v.iter().map(|v| f64::from(*v)).collect(),
            Slot::Doubles(v) => v.to_vec(),
            Slot::Count(n) => vec![*n as f64],
            Slot::Counts(v) => v.iter().map(|v| f64::from(*v)).collect(),
        };
        all.push((name.to_owned(), values));
    });
    all
}

#[test]
fn a_saved_state_continues_to_the_bit() {
    for (mut whole, mut resumed) in rules().into_iter().zip(rules()) {
        for k in 0..120 {
            step(&mut *whole, k);
        }
        let held = saved(&mut *whole);
        for k in 120..260 {
            step(&mut *whole, k);
        }
        let mut at = held.iter();
        resumed.state(&mut |name, slot| {
            let (saved, values) = at.next().unwrap();
            assert_eq!(saved, name);
            match slot {
                Slot::Floats(v) => v.iter_mut().zip(values).for_each(|(v, s)| *v = *s as f32),
                Slot::Doubles(v) => v.copy_from_slice(values),
                Slot::Count(n) => *n = values[0] as u64,
                Slot::Counts(v) => v.iter_mut().zip(values).for_each(|(v, s)| *v = *s as u32),
            }
        });
        for k in 120..260 {
            step(&mut *resumed, k);
        }
        let (a, b) = (saved(&mut *whole), saved(&mut *resumed));
        assert_eq!(a, b, "{}", whole.label());
    }
}

#[test]
fn rules_say_how_fast_they_move() {
    let full = residual_learning(0.4, Transfer::default()).effective_rates(0);
    assert_eq!((full.learning, full.transfer, full.sweep), (0.05, Some(0.25 * 0.4), 1));
    let slow = residual_learning(0.4, Transfer { every: Every::Steps(5), ..one_column() }).effective_rates(0);
    assert_eq!(slow.sweep, 45);
    assert!((slow.transfer.unwrap() - 0.25 * 0.4 / 45.0).abs() < 1e-15);
    let sgd = PulsedSgd::new(tile("main"), 0.05, Trains::default()).unwrap().effective_rates(0);
    assert_eq!((sgd.learning, sgd.transfer, sgd.sweep), (0.05, None, 1));
}

/// A constant gradient drives P, and W follows it column by column: after one sweep every column has moved once.
#[test]
fn a_sweep_visits_every_column_once() {
    let ideal = || Tile::new(ROWS, COLS, Device::paper_power(1.0, 0.6, 1e-3), Key::new(1)).unwrap();
    let transfer = Transfer { columns: Columns::Some(2), scheme: Scheme::Expected, ..Transfer::default() };
    let mut residual = ideal();
    residual.program(&[0.1; ROWS * COLS], Key::new(2)).unwrap();
    let mut taka = TikiTaka::new(ideal(), residual, 0.0, 0.0, 0.5, Scheme::Expected, transfer).unwrap();
    let zero = vec![0.0f32; ROWS * COLS];
    for k in 0..4 {
        taka.step(k, (&zero).into(), Key::new(0)).unwrap();
        let moved: Vec<bool> = (0..COLS).map(|j| taka.arrays()[0].1[j] != 0.0).collect();
        let expected: Vec<bool> = (0..COLS).map(|j| j < 2 * (k as usize + 1)).collect();
        assert_eq!(moved, expected);
    }
    // The fifth transfer takes the last column and the first again.
    taka.step(4, (&zero).into(), Key::new(0)).unwrap();
    let main = taka.arrays()[0].1;
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
    let mut taka = TikiTaka::new(ideal(), residual, 0.0, 0.0, 2e-3, Trains::default(), transfer).unwrap();
    let zero = vec![0.0f32; ROWS * COLS];
    for k in 0..500 {
        taka.step(k, (&zero).into(), Key::new(0).fold(k)).unwrap();
    }
    let state = saved(&mut taka);
    let held = &state.iter().find(|(name, _)| name == "transfer.held").unwrap().1;
    let main = &state.iter().find(|(name, _)| name == "main.weights").unwrap().1;
    for ((w, h), t) in main.iter().zip(held).zip(&target) {
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
        let mut at = vec![0.0; ROWS * COLS];
        rule.effective_weights(&mut at);
        assert_eq!(at, target, "{}", rule.label());
        let error = rule.program(&[f32::NAN; ROWS * COLS], Key::new(5)).unwrap_err();
        assert!(error.to_string().contains("[0] must be finite"), "{error}");
        rule.effective_weights(&mut at);
        assert_eq!(at, target, "{}: nothing was written", rule.label());
    }
}
