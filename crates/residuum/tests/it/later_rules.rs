//! Tracking the symmetric point, the warm start of a cascade, and mixed precision with any source: by hand, and what they reduce to.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::levels::levels;
use residuum::cells::Uniform;
use residuum::readout::Shape;
use residuum::response::{Constant, Power};
use residuum::rule::{
    Buffer, Carrier, Columns, Every, MixedConfig, MixedPrecision, Rates, ResidualConfig, ResidualLearning,
    Rule, Source, SymmetricPoint, Tracking, Transfer, WarmStart,
};
use residuum::tile::{Device, Spread, Tile};
use residuum::{
    Array, ExactArray, Gradient, Inspect as _, Key, Pulses, Scalar, State as _, Update, UpdateRule as _,
};

const ROWS: usize = 3;
const COLS: usize = 5;

fn exact<T: Scalar>(update: Update) -> Box<dyn Array<T>> {
    let cells = Arc::new(Uniform::new(Power::new(1.0, 0.6).unwrap()));
    let array = ExactArray::new(&[T::ZERO; ROWS * COLS], cells, update).unwrap();
    Box::new(array.with_shape(Shape { rows: ROWS, cols: COLS }).unwrap())
}

fn tile(name: &str) -> Box<dyn Array<f32>> {
    let device = Device { step_spread: Spread::normal(0.3), ..Device::paper_power(1.0, 0.6, 1e-3) };
    Box::new(Tile::new(ROWS, COLS, device, Key::new(7).named(name)).unwrap())
}

/// A linear array of these weights, rows × columns.
fn plain(weights: &[f64], cols: usize) -> ExactArray {
    let shape = Shape { rows: weights.len() / cols, cols };
    ExactArray::uniform(weights, Constant::new(1.0).unwrap()).unwrap().with_shape(shape).unwrap()
}

fn step<T: Scalar>(rule: &mut dyn Rule<T>, k: u64) {
    let key = Key::new(11).fold(k);
    let draw = |name: &str, n: usize| -> Vec<T> {
        (0..n).map(|i| T::from_f64(key.named(name).uniform_at(i as u64) - 0.5)).collect()
    };
    let (errors, inputs) = (draw("errors", 4 * ROWS), draw("inputs", 4 * COLS));
    let gradient = Gradient::Outer { batch: 4, errors: &errors, inputs: &inputs };
    rule.step(gradient, &Rates::new(0.05, 0.25), Key::new(3).fold(k)).unwrap();
}

fn transfers() -> [Transfer; 4] {
    let all = Transfer::default();
    let some = Transfer { columns: Columns::Some(2), every: Every::Samples(3), ..all };
    let buffered = Transfer { carrier: Carrier::Buffered(Buffer::default()), every: Every::Steps(2), ..some };
    [all, some, buffered, Transfer { compensated: Some(0.1), ..all }]
}

fn tracked<T: Scalar>(from: f64, rate: f64, chopper: f64) -> SymmetricPoint<T> {
    let from = Box::new(SymmetricPoint::Given(vec![T::from_f64(from); ROWS * COLS]));
    SymmetricPoint::Tracked { from, tracking: Tracking { rate, chopper } }
}

/// Runs both for a while and compares what they compute with, and the arrays.
fn same<T: Scalar>(mut a: impl Rule<T>, mut b: impl Rule<T>, what: &str) -> bool {
    (0..50).for_each(|k| {
        step(&mut a, k);
        step(&mut b, k);
    });
    let arrays =
        |rule: &dyn Rule<T>| -> Vec<_> { rule.arrays().iter().map(|(_, array)| array.tensors()).collect() };
    assert!(a.effective_weights().iter().any(|w| *w != T::ZERO), "{what} moves");
    a.effective_weights() == b.effective_weights() && arrays(&a) == arrays(&b)
}

fn reduces<T: Scalar>(kind: &str, make: &dyn Fn(&str) -> Box<dyn Array<T>>) {
    for transfer in transfers() {
        let rule = |symmetric_point| {
            let config = ResidualConfig { transfer, symmetric_point, ..ResidualConfig::mixing(0.4) };
            ResidualLearning::new(make("main"), make("residual"), config).unwrap()
        };
        let what = format!("{kind} {transfer:?}");
        let fixed = || rule(SymmetricPoint::Given(vec![T::from_f64(0.01); ROWS * COLS]));
        assert!(same(fixed(), rule(tracked(0.01, 0.0, 0.0)), &what), "{what}");
        // Each of the two alone makes another rule.
        assert!(!same(fixed(), rule(tracked(0.01, 0.05, 0.0)), &what), "{what}");
        assert!(!same(fixed(), rule(tracked(0.01, 0.0, 0.5)), &what), "{what}");
        let zero = || rule(SymmetricPoint::Zero);
        assert!(same(zero(), rule(tracked(0.0, 0.0, 0.0)), &what), "{what}");
    }
}

#[test]
fn without_filter_and_chopper_the_point_is_fixed_to_the_bit() {
    reduces::<f64>("exact", &|_| exact(Update::Expected));
    reduces::<f64>("pulsed", &|_| exact(Update::Pulsed(Pulses::new(1e-3).unwrap())));
    reduces::<f32>("tile", &tile);
}

/// Two steps of E-RIDER with p = 1 on linear cells, by hand.
#[test]
fn e_rider_by_hand() {
    let point = SymmetricPoint::Tracked {
        from: Box::new(SymmetricPoint::Given(vec![0.5, 0.25])),
        tracking: Tracking { rate: 0.5, chopper: 1.0 },
    };
    let config = ResidualConfig { symmetric_point: point, ..ResidualConfig::mixing(0.5) };
    let mut rule = ResidualLearning::new(plain(&[1.0, 2.0], 1), plain(&[0.5, 0.25], 1), config).unwrap();
    assert_eq!(rule.label(), "E-RIDER");
    assert_eq!(rule.effective_weights(), [1.0, 2.0]);
    let rates = Rates::new(0.5, 0.5);
    rule.step(Gradient::Dense(&[1.0, -1.0]), &rates, Key::new(1)).unwrap();
    // P = [0, 0.75], Q = [0.25, 0.5], Q̃ still [0.5, 0.25]: W moves by ¼(P − Q̃) = [−0.125, 0.125]; then c = −1 and Q̃ = Q.
    assert_eq!(rule.arrays()[1].1.weights(), [0.0, 0.75]);
    assert_eq!(rule.assumed_symmetric_point().unwrap(), [0.25, 0.5]);
    assert_eq!(rule.main().weights(), [0.875, 2.125]);
    // W̄ = W − ½(P − Q̃).
    assert_eq!(rule.effective_weights(), [0.875 + 0.125, 2.125 - 0.125]);
    rule.step(Gradient::Dense(&[1.0, 0.0]), &rates, Key::new(2)).unwrap();
    // P goes up where the gradient is positive: [0.5, 0.75]; Q = [0.375, 0.625]; W moves by −¼(P − Q̃) = [−0.0625, −0.0625].
    assert_eq!(rule.arrays()[1].1.weights(), [0.5, 0.75]);
    assert_eq!(rule.assumed_symmetric_point().unwrap(), [0.375, 0.625]);
    assert_eq!(rule.main().weights(), [0.8125, 2.0625]);
    assert_eq!(rule.effective_weights(), [0.8125 + 0.5 * 0.125, 2.0625 + 0.5 * 0.125]);
}

/// Columns that are read apart have signs of their own, and W̄ follows them.
#[test]
fn signs_of_columns_are_in_the_effective_weights() {
    let transfer = Transfer { columns: Columns::Some(2), ..Transfer::default() };
    let config =
        ResidualConfig { transfer, symmetric_point: tracked(0.02, 0.1, 0.5), ..ResidualConfig::mixing(0.4) };
    let mut rule =
        ResidualLearning::<f64>::new(exact(Update::Expected), exact(Update::Expected), config).unwrap();
    let mut mixed = 0;
    for k in 0..60 {
        step(&mut rule, k);
        let tensors = rule.tensors();
        let read = |name: &str, n| {
            let mut out = vec![0.0f64; n];
            tensors.read(name, &mut out);
            out
        };
        let signs = read("transfer_to_main.signs", COLS);
        mixed += usize::from(signs.iter().any(|c| *c != signs[0]));
        let q = read("transfer_to_main.point_before_flip", ROWS * COLS);
        let (w, p) = (rule.main().weights(), rule.residual().weights());
        for i in 0..ROWS * COLS {
            let expected = w[i] + signs[i % COLS] * 0.4 * (p[i] - q[i]);
            assert!((rule.effective_weights()[i] - expected).abs() < 1e-15, "step {k} weight {i}");
        }
    }
    assert!(mixed > 10, "{mixed}");
}

#[test]
fn a_cascade_does_not_track() {
    let residuals = vec![exact::<f64>(Update::Expected), exact(Update::Expected)];
    let config = ResidualConfig { symmetric_point: tracked(0.0, 0.1, 0.1), ..ResidualConfig::mixing(0.4) };
    let error = ResidualLearning::cascade(exact(Update::Expected), residuals, config).unwrap_err().to_string();
    assert!(
        error.starts_with("number of residual arrays must be 1 where the symmetric point is tracked"),
        "{error}"
    );
    let config = ResidualConfig { symmetric_point: tracked(0.0, 0.1, 1.5), ..ResidualConfig::mixing(0.4) };
    let error =
        ResidualLearning::<f64>::new(exact(Update::Expected), exact(Update::Expected), config).unwrap_err();
    assert_eq!(error.to_string(), "chopper must be between 0 and 1, got 1.5");
}

/// With one residual array there is nothing to fill before the plain schedule.
#[test]
fn a_warm_cascade_of_one_is_residual_learning_to_the_bit() {
    for transfer in transfers() {
        let config = || ResidualConfig {
            transfer,
            symmetric_point: SymmetricPoint::Given(vec![0.01; ROWS * COLS]),
            ..ResidualConfig::mixing(0.4)
        };
        let plain = ResidualLearning::new(tile("main"), tile("residual"), config()).unwrap();
        let warm = ResidualLearning::cascade(tile("main"), vec![tile("residual")], config()).unwrap();
        let warm = warm.warm_start(WarmStart::default()).unwrap();
        assert!(same::<f32>(plain, warm, "cascade of one"), "{transfer:?}");
    }
}

#[test]
fn a_warm_start_fills_the_coarsest_array_first() {
    let chain = (0..3).map(|n| tile(&format!("residual {n}"))).collect();
    let config = ResidualConfig { symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::mixing(0.4) };
    let mut rule = ResidualLearning::cascade(tile("main"), chain, config)
        .unwrap()
        .warm_start(WarmStart { coarse: 1, ..WarmStart::default() })
        .unwrap();
    let mut before: Vec<Vec<f32>> = rule.states().iter().map(|(_, w)| w.to_vec()).collect();
    let mut moved = |rule: &ResidualLearning<f32>| {
        let now: Vec<Vec<f32>> = rule.states().iter().map(|(_, w)| w.to_vec()).collect();
        let moved: Vec<bool> = now.iter().zip(&before).map(|(now, before)| now != before).collect();
        before = now;
        moved
    };
    let mut k = 0;
    let mut epoch = |rule: &mut ResidualLearning<f32>, loss: f64| {
        (0..5).for_each(|i| step(rule, 5 * k + i));
        k += 1;
        rule.epoch_ended(loss);
    };
    epoch(&mut rule, 1.0);
    assert_eq!((moved(&rule), rule.warm_start_stage()), (vec![true, false, false, true], Some(0)));
    epoch(&mut rule, 1.1);
    assert_eq!((moved(&rule), rule.warm_start_stage()), (vec![true, false, false, true], Some(1)));
    epoch(&mut rule, 1.0);
    epoch(&mut rule, 0.995);
    assert_eq!((moved(&rule), rule.warm_start_stage()), (vec![false, true, false, true], Some(1)));
    epoch(&mut rule, 0.99);
    moved(&rule);
    for loss in [0.99, 0.99, 0.99] {
        assert_eq!(rule.warm_start_stage(), Some(2));
        epoch(&mut rule, loss);
    }
    assert_eq!((moved(&rule), rule.warm_start_stage()), (vec![false, false, true, true], None));
    epoch(&mut rule, 2.0);
    assert_eq!((moved(&rule), rule.warm_start_stage()), (vec![true; 4], None));
}

/// χ of one step of momentum and of Adam, by hand; momentum 0 is SGD.
#[test]
fn mixed_precision_takes_the_step_of_its_source() {
    let rule = |source| {
        let config = MixedConfig { granularity: Some(0.25), source, ..MixedConfig::default() };
        MixedPrecision::new(plain(&[0.0, 0.0], 1), config).unwrap()
    };
    let sum = |rule: &MixedPrecision| rule.states()[1].1.to_vec();
    let (rates, key) = (Rates::learning(0.5), Key::new(1));
    let mut momentum = rule(Source::momentum(0.5));
    momentum.step(Gradient::Dense(&[1.0, -0.25]), &rates, key).unwrap();
    // χ = −½g = [−0.5, 0.125]: two pulses down, none up.
    assert_eq!((momentum.effective_weights(), sum(&momentum)), (&[-0.5, 0.0][..], vec![0.0, 0.125]));
    momentum.step(Gradient::Dense(&[0.0, -0.25]), &rates, key).unwrap();
    // m = [0.5, −0.375]: χ = [−0.25, 0.125 + 0.1875].
    assert_eq!((momentum.effective_weights(), sum(&momentum)), (&[-0.75, 0.25][..], vec![0.0, 0.0625]));
    let mut adam = rule(Source::adam());
    adam.step(Gradient::Dense(&[3.0, -0.01]), &rates, key).unwrap();
    // The first step of Adam is α against the sign, whatever the gradient, up to ε/|g| = 1e-6.
    assert!((adam.effective_weights()[0] + 0.5 + sum(&adam)[0]).abs() <= 0.25 + 1e-6);
    assert!((adam.effective_weights()[1] + sum(&adam)[1] - 0.5).abs() < 1e-6);
    let outer = Gradient::Outer { batch: 2, errors: &[0.5, -0.25], inputs: &[0.5, 1.0, 0.25, -0.5] };
    let mixed = |source| {
        let config = MixedConfig { granularity: Some(1e-3), source, ..MixedConfig::default() };
        let mut rule = MixedPrecision::new(plain(&[0.0, 0.0], 2), config).unwrap();
        (0..9).for_each(|_| rule.step(outer, &rates, key).unwrap());
        rule.tensors()
    };
    let mut weights = [[0.0f64; 2]; 3];
    for (out, source) in weights.iter_mut().zip([Source::Sgd, Source::momentum(0.0), Source::momentum(0.5)]) {
        mixed(source).read("main.weights", out);
    }
    assert_eq!(weights[0], weights[1]);
    // With momentum ½ nine equal gradients count 9·2 − 2(1 − 2⁻⁹) times, up to one pulse: the equality above is no accident of the rule.
    let times = (18.0 - 2.0 * (1.0 - 0.5f64.powi(9))) / 9.0;
    for (sgd, momentum) in weights[0].iter().zip(weights[2]) {
        assert!(*sgd != 0.0 && (momentum - times * sgd).abs() < 4e-3, "{sgd} {momentum}");
    }
}

/// Adam as it is printed, in one step per entry, is what the rows of the kernel do; every instruction set does the same to the bit.
#[test]
fn adam_by_rows_is_adam_as_printed() {
    let (rows, cols, batch) = (3, 37, 4);
    let numbers = |name: &str, n: usize| -> Vec<f32> {
        let key = Key::new(5).named(name);
        (0..n).map(|i| key.uniform_at(i as u64) as f32 - 0.5).collect()
    };
    let (decays, epsilon, weight_decay, rate) = ([0.9, 0.999], 1e-8, 0.1, 0.05);
    let units = [0.5f32, 2.0, 3.0];
    let run = || {
        let start = numbers("weights", rows * cols);
        let config = MixedConfig {
            granularity: Some(1e6),
            source: Source::adam_w(weight_decay),
            ..MixedConfig::default()
        };
        let array = ExactArray::uniform(&start, Constant::new(1.0).unwrap()).unwrap();
        let array = array.with_shape(Shape { rows, cols }).unwrap();
        let mut rule = MixedPrecision::new(array, config).unwrap();
        rule.set_units(&units);
        for k in 0..20 {
            let errors = numbers(&format!("e{k}"), batch * rows);
            let inputs = numbers(&format!("x{k}"), batch * cols);
            let gradient = Gradient::Outer { batch, errors: &errors, inputs: &inputs };
            rule.step(gradient, &Rates::learning(rate), Key::new(1)).unwrap();
        }
        rule.states()[1].1.to_vec()
    };
    let found = run();
    let start = numbers("weights", rows * cols);
    for (i, found) in found.iter().enumerate() {
        let (row, col) = (i / cols, i % cols);
        let unit = f64::from(units[row]);
        let (mut m, mut v, mut sum) = (0.0, 0.0, 0.0);
        for k in 0..20 {
            let (e, x) = (numbers(&format!("e{k}"), batch * rows), numbers(&format!("x{k}"), batch * cols));
            let g: f64 = (0..batch).map(|b| f64::from(e[b * rows + row]) * f64::from(x[b * cols + col])).sum();
            let g = unit * g;
            m = decays[0] * m + (1.0 - decays[0]) * g;
            v = decays[1] * v + (1.0 - decays[1]) * g * g;
            let [c1, c2] = decays.map(|decay: f64| 1.0 - decay.powi(k + 1));
            sum -= rate * ((m / c1) / ((v / c2).sqrt() + epsilon) / unit + weight_decay * f64::from(start[i]));
        }
        // Twenty sums of single precision; D is at most 1/unit.
        assert!((f64::from(*found) - sum).abs() < 2e-5 / unit.min(1.0), "{i}: {found} {sum}");
    }
    for (level, name) in levels("adam_by_rows_is_adam_as_printed") {
        assert_eq!(residuum::simd::at(level, run), found, "{name}");
    }
}

/// α of Adam is a change of what a weight stands for, however the weight is mapped.
#[test]
fn adam_knows_what_a_weight_stands_for() {
    let gradients = [[0.3, -2.0], [0.1, 0.5], [-0.7, 0.2]];
    for source in [Source::adam(), Source::adam_w(0.1), Source::momentum(0.9)] {
        let run = |units: &[f64]| {
            let mut rule =
                residuum::rule::Analog::new(plain(&[0.5 / units[0], -0.25 / units[1]], 1), source).unwrap();
            rule.set_units(units);
            for gradient in gradients {
                let mapped = [gradient[0] / units[0], gradient[1] / units[1]];
                rule.step(Gradient::Dense(&mapped), &Rates::learning(0.1), Key::new(1)).unwrap();
            }
            let w = rule.effective_weights().to_vec();
            [w[0] * units[0], w[1] * units[1]]
        };
        let (one, mapped) = (run(&[1.0, 1.0]), run(&[0.25, 8.0]));
        for (a, b) in one.iter().zip(mapped) {
            assert!((a - b).abs() < 1e-12, "{source:?}: {one:?} {mapped:?}");
        }
    }
}
