//! Every rule on every kind of array, with every readout that remembers: saved, loaded into a fresh one, it continues bit for bit.

mod tensors;

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::objective::DiagonalQuadratic;
use residuum::readout::{Converter, NoiseManagement, Readout, Scratch, Settings, Shape};
use residuum::response::Power;
use residuum::rule::{
    Analog, AutoScale, Buffer, Carrier, Chop, ChoppedConfig, ChoppedTikiTaka, Columns, Digital, Every,
    Manhattan, MixedConfig, MixedPrecision, Order, Rates, ResidualConfig, ResidualLearning, Rule, Source,
    SymmetricPoint, TikiTaka, TikiTakaConfig, Tracking, Transfer, WarmStart,
};
use residuum::tile::{
    CycleNoise, Decay, Device, Drift, OneSidedCell, Policy, ReferenceCell, Refresh, Retention, Scheme, Spread,
    Tile, Trains, VectorCell,
};
use residuum::{
    Array, ExactArray, Gradient, Key, Noise, Noisy, Pulses, Scalar, State, Tensors, Update, UpdateRule,
    minimize,
};

const ROWS: usize = 4;
const COLS: usize = 6;

/// Makes the array of this name.
type Make<'a, T> = &'a dyn Fn(&str) -> Box<dyn Array<T>>;

fn exact<T: Scalar>(update: Update) -> Box<dyn Array<T>> {
    let cells = Arc::new(Uniform::new(Power::new(1.0, 0.6).unwrap()));
    let array = ExactArray::new(&[T::ZERO; ROWS * COLS], cells, update).unwrap();
    Box::new(array.with_shape(Shape { rows: ROWS, cols: COLS }).unwrap())
}

fn pulsed() -> Update {
    Update::Pulsed(Pulses::new(1e-3).unwrap().cycle_noise(0.3).unwrap())
}

fn tile(name: &str, scheme: Scheme) -> Tile {
    let retention = Retention {
        decay: Some(Decay { lifetime: 1e3, spread: 0.1 }),
        drift: Some(Drift { step_s: 1.0, ..Drift::power_law(0.01, 10.0) }),
        ..Retention::default()
    };
    let device = Device {
        step_spread: Spread::normal(0.3),
        cycle_noise: CycleNoise::Multiplicative(0.3),
        write_noise: 0.5,
        retention,
        ..Device::paper_power(1.0, 0.6, 1e-3)
    };
    let mut tile = Tile::new(ROWS, COLS, device, Key::new(7).named(name)).unwrap().with_scheme(scheme).unwrap();
    tile.count_pulses(true);
    tile
}

/// Converters that remember, and some that draw.
fn readouts() -> Vec<Readout> {
    let average =
        Settings { noise_management: NoiseManagement::AverageAbsMax { decay: 0.1 }, ..Settings::aihwkit() };
    let plain = Settings { input: Converter { noise: 0.01, ..Converter::default() }, ..Settings::default() };
    [Settings::default(), Settings::aihwkit(), average, plain].map(|s| Readout::new(s).unwrap()).to_vec()
}

fn rules<T: Scalar>(make: Make<'_, T>, readout: &Readout) -> Vec<Box<dyn Rule<T>>> {
    let all = Transfer { readout: *readout, ..Transfer::default() };
    let one = Transfer { columns: Columns::Some(1), order: Order::Random, every: Every::Samples(3), ..all };
    let buffered = Transfer {
        columns: Columns::Some(1),
        carrier: Carrier::Buffered(Buffer { threshold: Some(1e-3), max_pulses: 3, ..Buffer::default() }),
        every: Every::Steps(2),
        ..all
    };
    let compensated = Transfer { compensated: Some(0.1), ..all };
    let gain = || Some([vec![T::from_f64(1.1); ROWS * COLS], vec![T::from_f64(0.9); ROWS * COLS]]);
    let tracked = |transfer, chopper| -> Box<dyn Rule<T>> {
        let from = Box::new(SymmetricPoint::Given(vec![T::from_f64(0.01); ROWS * COLS]));
        let symmetric_point = SymmetricPoint::Tracked { from, tracking: Tracking { rate: 0.05, chopper } };
        let config = ResidualConfig { transfer, symmetric_point, ..ResidualConfig::mixing(0.4) };
        Box::new(ResidualLearning::new(make("main"), make("residual"), config).unwrap())
    };
    let residual = |transfer, source, cell_gain| -> Box<dyn Rule<T>> {
        let symmetric_point = SymmetricPoint::Given(vec![T::from_f64(0.01); ROWS * COLS]);
        let config = ResidualConfig { mixing: 0.4, symmetric_point, transfer, source, cell_gain };
        Box::new(ResidualLearning::new(make("main"), make("residual"), config).unwrap())
    };
    let taka = |transfer, source| -> Box<dyn Rule<T>> {
        let config = TikiTakaConfig { mixing: 0.0, transfer, source };
        Box::new(TikiTaka::new(make("main"), make("residual"), config).unwrap())
    };
    let chopped = |regular, auto_scale, tail_weight| -> Box<dyn Rule<T>> {
        let chop = Chop { columns: 0.25, regular, rows: 0.1 };
        let config = ChoppedConfig { chop, transfer: buffered, auto_scale, tail_weight };
        Box::new(ChoppedTikiTaka::new(make("main"), make("residual"), config).unwrap())
    };
    let cascade =
        ResidualConfig { mixing: 0.4, symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::default() };
    let chain = || vec![make("residual"), make("residual_2")];
    let warm = WarmStart { slow: 1, window: 1, coarse: 1, ..WarmStart::default() };
    let mixed = MixedConfig { every: Every::Samples(3), granularity: Some(1e-3), ..MixedConfig::default() };
    vec![
        Box::new(Digital::new(&[T::ZERO; ROWS * COLS], Source::adam()).unwrap()),
        Box::new(Analog::sgd(make("main"))),
        Box::new(Analog::new(make("main"), Source::momentum(0.9)).unwrap()),
        Box::new(Analog::new(make("main"), Source::adam_w(0.01)).unwrap()),
        residual(all, Source::Sgd, None),
        residual(one, Source::adam(), None),
        residual(buffered, Source::Sgd, gain()),
        residual(compensated, Source::momentum(0.5), gain()),
        taka(one, Source::Sgd),
        taka(buffered, Source::adam_w(0.1)),
        chopped(false, Some(AutoScale { momentum: 0.9, length: 5 }), None),
        chopped(true, None, Some(5.0)),
        Box::new(
            ResidualLearning::cascade(make("main"), chain(), cascade.clone())
                .unwrap()
                .transfer(1, one)
                .unwrap(),
        ),
        Box::new(MixedPrecision::new(make("main"), mixed).unwrap()),
        Box::new(Manhattan::new(make("main"), 0.05).unwrap()),
        tracked(all, 0.0),
        tracked(all, 0.2),
        tracked(one, 0.2),
        tracked(buffered, 0.2),
        Box::new(ResidualLearning::cascade(make("main"), chain(), cascade).unwrap().warm_start(warm).unwrap()),
        Box::new(
            MixedPrecision::new(make("main"), MixedConfig { source: Source::adam_w(0.01), ..mixed }).unwrap(),
        ),
        Box::new(
            MixedPrecision::new(make("main"), MixedConfig { source: Source::momentum(0.9), ..mixed }).unwrap(),
        ),
    ]
}

fn step<T: Scalar>(rule: &mut dyn Rule<T>, k: u64) {
    let key = Key::new(11).fold(k);
    let draw = |name: &str, n: usize| -> Vec<T> {
        (0..n).map(|i| T::from_f64(key.named(name).uniform_at(i as u64) - 0.5)).collect()
    };
    let (errors, inputs, dense) =
        (draw("errors", 4 * ROWS), draw("inputs", 4 * COLS), draw("dense", ROWS * COLS));
    let gradient = match k % 5 {
        3 => Gradient::Dense(&dense),
        _ => Gradient::Outer { batch: 4, errors: &errors, inputs: &inputs },
    };
    rule.step(gradient, &Rates::new(0.05, 0.25), Key::new(3).fold(k)).unwrap();
    rule.age(Key::new(4).fold(k));
    if k % 10 == 9 {
        // Rises when the first array of a warm start is to be full, and is slow later.
        rule.epoch_ended([1.0, 1.1, 1.0, 0.999, 0.9, 0.8, 0.7, 0.6][(k / 10) as usize]);
    }
}

fn walk<T: Scalar>(kind: &str, make: Make<'_, T>) {
    for readout in &readouts() {
        for (mut whole, mut resumed) in rules(make, readout).into_iter().zip(rules(make, readout)) {
            let what = format!("{} on {kind} arrays, {:?}", whole.label(), readout.settings().noise_management);
            let fresh = whole.tensors();
            (0..40).for_each(|k| step(&mut *whole, k));
            assert_ne!(whole.tensors(), fresh, "{what} moves");
            resumed.load(&whole.tensors()).unwrap();
            assert_eq!(resumed.effective_weights(), whole.effective_weights(), "{what}");
            (40..80).for_each(|k| {
                step(&mut *whole, k);
                step(&mut *resumed, k);
            });
            assert_eq!(whole.tensors(), resumed.tensors(), "{what}");
        }
    }
}

#[test]
fn every_rule_on_every_array_continues_to_the_bit() {
    walk::<f64>("exact", &|_| exact(Update::Expected));
    walk::<f64>("pulsed", &|_| exact(pulsed()));
    walk::<f32>("exact f32", &|_| exact(Update::Expected));
    walk::<f32>("tile", &|name| Box::new(tile(name, Scheme::default())));
    walk::<f32>("expected tile", &|name| Box::new(tile(name, Scheme::Expected)));
    walk::<f32>("deterministic tile", &|name| Box::new(tile(name, Scheme::Deterministic(Trains::default()))));
    let pair = |name: &str| {
        [tile(&format!("{name} a"), Scheme::default()), tile(&format!("{name} b"), Scheme::default())]
    };
    walk::<f32>("vector", &|name| Box::new(VectorCell::new(pair(name).into(), Policy::Sequential).unwrap()));
    walk::<f32>("reference", &|name| {
        let [tile, reference] = pair(name);
        Box::new(ReferenceCell::new(tile, reference).unwrap())
    });
    let average = readouts()[2];
    walk::<f32>("one-sided", &|name| {
        let [plus, minus] = pair(name);
        let refresh = Refresh { upper: 0.02, lower: 0.002, readout: average, ..Refresh::every(7) };
        Box::new(OneSidedCell::new(plus, minus, Some(refresh)).unwrap())
    });
}

/// A readout that averages the size of its samples goes on from its average, and not without it.
#[test]
fn the_running_scale_is_part_of_the_state() {
    let (readout, shape) = (&readouts()[2], Shape { rows: ROWS, cols: COLS });
    let weights: Vec<f32> = (0..ROWS * COLS).map(|i| 0.1 * (i as f32).sin()).collect();
    let read = |scratch: &mut Scratch, k: u64| {
        let inputs: Vec<f32> =
            (0..3 * COLS).map(|i| (0.3 * i as f32 + k as f32).cos() * (1.0 + k as f32)).collect();
        let mut outputs = vec![0.0; 3 * ROWS];
        readout.read(&weights, shape, &inputs, Key::new(2).fold(k), &mut outputs, scratch);
        outputs
    };
    let (mut whole, mut resumed, mut forgetful) = (Scratch::default(), Scratch::default(), Scratch::default());
    resumed.load(&whole.tensors()).unwrap();
    assert_eq!(resumed.running_scale(), None);
    (0..5).for_each(|k| drop(read(&mut whole, k)));
    resumed.load(&whole.tensors()).unwrap();
    assert_eq!(read(&mut resumed, 1), read(&mut whole, 1));
    assert_ne!(read(&mut forgetful, 2), read(&mut whole, 2));
}

#[test]
fn a_state_of_another_rule_changes_nothing() {
    let make: Make<'_, f64> = &|_| exact(Update::Expected);
    let mut all = rules(make, &Readout::default());
    (0..10).for_each(|k| all.iter_mut().for_each(|rule| step(&mut **rule, k)));
    let before = all[4].tensors();
    let other = all[1].tensors();
    let message = all[4].load(&other).unwrap_err().to_string();
    assert!(message.ends_with("is missing"), "{message}");
    assert_eq!(all[4].tensors(), before);
}

fn shared<T: Send + Sync>() {}

#[test]
fn everything_can_be_shared_between_threads() {
    shared::<ExactArray<f64>>();
    shared::<ExactArray<f32>>();
    shared::<Tile>();
    shared::<VectorCell>();
    shared::<ReferenceCell>();
    shared::<OneSidedCell>();
    shared::<Box<dyn Array<f32>>>();
    shared::<Box<dyn Rule<f32>>>();
    shared::<Box<dyn Rule<f64>>>();
    shared::<Box<dyn UpdateRule<f64>>>();
    shared::<Digital>();
    shared::<Analog<f32>>();
    shared::<ResidualLearning<f32>>();
    shared::<TikiTaka>();
    shared::<ChoppedTikiTaka>();
    shared::<MixedPrecision>();
    shared::<Noisy>();
    shared::<Tensors>();
    shared::<Readout>();
}

/// What does not fit is an error at every verb, and nothing has moved.
#[test]
fn wrong_shapes_are_errors() {
    let pair = || vec![tile("a", Scheme::default()), tile("b", Scheme::default())];
    let arrays: Vec<Box<dyn Array<f32>>> = vec![
        exact(Update::Expected),
        Box::new(tile("main", Scheme::default())),
        Box::new(VectorCell::new(pair(), Policy::All).unwrap()),
        Box::new(ReferenceCell::new(pair().remove(0), pair().remove(1)).unwrap()),
        Box::new(OneSidedCell::new(pair().remove(0), pair().remove(1), None).unwrap()),
    ];
    for mut array in arrays {
        let (key, before) = (Key::new(1), array.tensors());
        assert!(array.increment(0.1, &[0.0; 3], key).is_err());
        assert!(array.update(0.1, &[0.0; ROWS], &[0.0; COLS + 1], key).is_err());
        assert!(array.update_column(COLS, 0.1, &[0.0; ROWS], key).is_err());
        assert!(array.update_column(0, 0.1, &[0.0; ROWS + 1], key).is_err());
        assert!(array.pulse_column(COLS, &[0.0; ROWS], 1, key).is_err());
        assert!(array.pulse_cells(0.1, &[1.0; 3], key).is_err());
        assert!(array.program(&[0.0; 3], key).is_err());
        assert!(array.program(&[f32::NAN; ROWS * COLS], key).is_err());
        assert!(array.reset(0..COLS + 1, key).is_err());
        assert_eq!(array.tensors(), before, "{array:?}");
    }
    let problem = Noisy::new(Arc::new(DiagonalQuadratic::replicas(1.0, 0.5, 7).unwrap()), Noise::None).unwrap();
    let mut rule = Analog::sgd(ExactArray::uniform(&[0.0; 6], Power::new(1.0, 1.0).unwrap()).unwrap());
    let error = minimize(&problem, &mut [&mut rule], &Rates::learning(0.1), 3, Key::new(1)).unwrap_err();
    assert!(error.to_string().contains("must have 7 entries, got 6"), "{error}");
}

/// Rules that once lived on tiles alone solve a problem in f64, and by pulses.
#[test]
fn problems_run_every_rule() {
    let problem = Noisy::new(
        Arc::new(DiagonalQuadratic::replicas(1.0, 0.3, ROWS * COLS).unwrap()),
        Noise::Gaussian { deviation: 0.1 },
    )
    .unwrap();
    for update in [Update::Expected, pulsed()] {
        for mut rule in rules::<f64>(&|_| exact(update), &Readout::default()) {
            // Tracking is for noise and many steps; `verify` has its laws.
            if rule.label().contains("RIDER") {
                continue;
            }
            let mut rates = Rates::new(0.02, 0.02);
            if rule.arrays().len() > 2 {
                // W̄ of a cascade is the sum of three integrators: it is stable while β₀ < αγ² = 3.2e-3.
                rates.transfer[0] = 5e-4;
            }
            let mut borrowed: [&mut dyn UpdateRule; 1] = [&mut *rule];
            minimize(&problem, &mut borrowed, &rates, 12_000, Key::new(5)).unwrap();
            let mean = rule.effective_weights().iter().sum::<f64>() / (ROWS * COLS) as f64;
            // Most of the way from 0: without mixing two integrators in a row keep swinging a little.
            assert!((mean - 0.3).abs() < 0.15, "{} ends at {mean}", rule.label());
        }
    }
    let make: Make<'_, f32> = &|name| Box::new(tile(name, Scheme::default()));
    let mut taka = rules(make, &Readout::default()).remove(4);
    let mut borrowed: [&mut dyn UpdateRule<f32>; 1] = [&mut *taka];
    minimize(&problem, &mut borrowed, &Rates::new(0.02, 0.05), 2000, Key::new(5)).unwrap();
    let mean = taka.effective_weights().iter().sum::<f32>() / (ROWS * COLS) as f32;
    assert!((mean - 0.3).abs() < 0.12, "tiles end at {mean}");
}
