//! The devices and rules whose updates are timed, and the signals they get: x ~ U(−1, 1), d ~ size·U(−1, 1), weights from
//! U(−0.2, 0.2).

use std::time::Instant;

use residuum::readout::{BoundManagement, NoiseManagement, Settings};
use residuum::rule::{
    Columns, MixedConfig, MixedPrecision, Rates, ResidualConfig, ResidualLearning, Rule, Source,
    SymmetricPoint, TikiTaka, TikiTakaConfig, Tracking, Transfer, WarmStart,
};
use residuum::tile::{
    CellParameters, CycleNoise, Device, Exponents, Reference, Saturation, Slopes, Spread, StepModel, Tile,
    Trains,
};
use residuum::{Array, Gradient, Key, Readout};

/// The rate of updates and transfers.
pub const RATE: f32 = 0.05;
/// The rate of P.
pub const FAST_RATE: f64 = 0.01;
/// The model among [`models`] whose cells rules have: soft bounds with a reference.
pub const OF_RULES: usize = 3;
/// The sizes of errors in the two regimes: trains of 1 slot for a step of 0.001, and of 30.
pub const REGIMES: [(&str, f32); 2] = [("light", 0.02), ("heavy", 0.6)];

/// A device, and what one visit of its cells costs at least.
pub struct Model {
    /// What it is called in tables and by AIHWKIT's side.
    pub name: &'static str,
    /// Its parameters.
    pub device: Device,
    /// State, parameters of both directions and bounds, read; the state written.
    pub bytes: f64,
    /// Vector operations of one pulse, a division or square root counted as 8.
    pub pulse_operations: f64,
    /// Those that a train at once adds: a bit count and a square root, and the geometric sum unless steps are constant.
    pub train_operations: f64,
}

/// The devices, with AIHWKIT's default variation and noise.
pub fn models() -> Vec<Model> {
    let varied = |step| Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.3),
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(step, 1e-3, -0.6, 0.6)
    };
    let flat = StepModel::Linear(Slopes { spread: [Spread::normal(0.05); 2], ..Slopes::new(0.0, 0.0) });
    let power = |shape| StepModel::Power(Exponents { spread: Spread::normal(0.1), ..Exponents::new(shape) });
    let exponential =
        StepModel::Exponential(Saturation::aihwkit([0.00081, 0.36833], [12.44625, 12.78785], 0.244, 0.2425));
    let reference = Device {
        cycle_noise: CycleNoise::Additive(0.3),
        reference: Some(Reference { mean: 0.0, deviation: 0.0, at_symmetric_point: false }),
        ..varied(StepModel::soft_bounds())
    };
    // Two bytes for each of four draws, and their way to six parameters once per row.
    let rounded = Device { cell_parameters: CellParameters::I16, ..varied(StepModel::soft_bounds()) };
    let model = |name, device: Device, bytes, pulse_operations| {
        let train_operations = if device.step == StepModel::Constant { 15.0 } else { 50.0 };
        Model { name, device, bytes, pulse_operations, train_operations }
    };
    vec![
        model("constant", varied(StepModel::Constant), 24.0, 13.0),
        model("linear", varied(flat), 32.0, 17.0),
        model("soft bounds", varied(StepModel::soft_bounds()), 32.0, 17.0),
        model("soft bounds reference", reference, 40.0, 20.0),
        model("power, shape 1", varied(power(1.0)), 32.0, 55.0),
        model("power, shape 2.5", varied(power(2.5)), 32.0, 55.0),
        model("exponential", varied(exponential), 28.0, 35.0),
        model("16 bits, soft bounds", rounded, 16.0, 17.0),
    ]
}

/// A tile and the signals of one call.
pub struct Case {
    /// The tile.
    pub tile: Tile,
    /// Signals on the rows, sample by sample.
    pub rows: Vec<f32>,
    /// Signals on the columns.
    pub cols: Vec<f32>,
    weights: Vec<f32>,
    calls: u64,
}

/// Uniform in (−scale, scale).
pub fn uniform(name: &str, n: usize, scale: f32) -> Vec<f32> {
    let mut values = vec![0.0; n];
    Key::new(2).named(name).fill_uniform(&mut values);
    values.into_iter().map(|u| scale * (2.0 * u as f32 - 1.0)).collect()
}

impl Case {
    /// A tile of this shape, a batch of errors up to `size` and inputs up to 1.
    pub fn new(device: &Device, (rows, cols): (usize, usize), batch: usize, size: f32) -> Self {
        Self {
            tile: Tile::new(rows, cols, device.clone(), Key::new(1)).expect("a tile"),
            rows: uniform("d", batch * rows, size),
            cols: uniform("x", batch * cols, 1.0),
            weights: uniform("weights", rows * cols, 0.2),
            calls: 0,
        }
    }

    /// Weights times samples.
    pub fn visits(&self) -> f64 {
        (self.rows.len() * self.tile.cols()) as f64
    }

    /// ns per weight and sample of one call from the first weights.
    pub fn call(&mut self) -> f64 {
        self.calls += 1;
        let key = Key::new(4).fold(self.calls);
        self.tile.program(&self.weights, key).expect("weights");
        let start = Instant::now();
        self.tile.write(-RATE, &self.rows, &self.cols, Trains::default(), key).expect("an update");
        start.elapsed().as_secs_f64() * 1e9 / self.visits()
    }

    /// The best of many calls.
    pub fn time(&mut self) -> f64 {
        let rounds = (1e8 / self.visits()).clamp(10.0, 400.0) as usize;
        (0..rounds).map(|_| self.call()).fold(f64::INFINITY, f64::min)
    }
}

/// Share of the velocity that survives a step.
const MOMENTUM: f64 = 0.9;

/// γ of the residual rules.
const MIXING: f64 = 0.4;

/// Rules whose counterparts AIHWKIT has, on its soft bounds with a reference: fast rate 0.01, transfer rate 0.05 times the
/// reads of its transfer converters.
pub fn rules((rows, cols): (usize, usize)) -> Vec<(&'static str, Box<dyn Rule<f32>>)> {
    let device = models().swap_remove(OF_RULES).device;
    let tile = |name: &str| Tile::new(rows, cols, device.clone(), Key::new(1).named(name)).expect("a tile");
    let converters = Settings {
        noise_management: NoiseManagement::None,
        bound_management: BoundManagement::None,
        ..Settings::aihwkit()
    };
    let readout = Readout::new(converters).expect("converters");
    let transfer = |columns| Transfer { columns, readout, ..Transfer::default() };
    let tiki_taka = |columns| {
        let config = TikiTakaConfig { transfer: transfer(columns), ..TikiTakaConfig::default() };
        TikiTaka::new(tile("w"), tile("p"), config).expect("a rule")
    };
    let believing = |columns, symmetric_point| {
        let config =
            ResidualConfig { transfer: transfer(columns), symmetric_point, ..ResidualConfig::mixing(MIXING) };
        ResidualLearning::new(tile("w"), tile("p"), config).expect("a rule")
    };
    let residual = |columns| believing(columns, SymmetricPoint::Zero);
    let given = || SymmetricPoint::Given(vec![0.01; rows * cols]);
    let tracked = || {
        let tracking = Tracking { rate: 0.01, chopper: 0.05 };
        SymmetricPoint::Tracked { from: Box::new(given()), tracking }
    };
    let cascade = |warm: bool| {
        let chain: Vec<Box<dyn Array<f32>>> = vec![Box::new(tile("p1")), Box::new(tile("p2"))];
        let config = ResidualConfig {
            transfer: transfer(Columns::Some(1)),
            symmetric_point: SymmetricPoint::Zero,
            ..ResidualConfig::mixing(MIXING)
        };
        let rule = ResidualLearning::cascade(tile("w"), chain, config).expect("a rule");
        if warm { rule.warm_start(WarmStart::default()).expect("a warm start") } else { rule }
    };
    let mixed = |source| {
        let config = MixedConfig { source, ..MixedConfig::default() };
        MixedPrecision::new(tile("w"), config).expect("a rule")
    };
    vec![
        ("Tiki-Taka v1, 1 column", Box::new(tiki_taka(Columns::Some(1)))),
        ("Residual Learning, 1 column", Box::new(residual(Columns::Some(1)))),
        ("Residual Learning, all columns", Box::new(residual(Columns::All))),
        // Each later rule after the one it extends: at most 1.3 times its time.
        ("Residual W⋄, 1 column", Box::new(believing(Columns::Some(1), given()))),
        ("E-RIDER, 1 column", Box::new(believing(Columns::Some(1), tracked()))),
        ("Residual W⋄, all columns", Box::new(believing(Columns::All, given()))),
        ("E-RIDER, all columns", Box::new(believing(Columns::All, tracked()))),
        ("Cascade of 3, 1 column", Box::new(cascade(false))),
        ("Cascade of 3, warm start", Box::new(cascade(true))),
        ("Mixed precision", Box::new(mixed(Source::Sgd))),
        ("Mixed precision, momentum", Box::new(mixed(Source::momentum(MOMENTUM)))),
        ("Mixed precision, AdamW", Box::new(mixed(Source::adam_w(0.01)))),
    ]
}

/// ns per weight and sample of many steps, effective weights included: the best, the median and the mean. Where pulses are due in
/// few of the steps, only the mean has its share of them.
///
/// Rates are such that every rule moves W as far: momentum adds up a gradient ten times, and Adam's step does not grow with the
/// gradient, so that its rate is multiplied by the mean size of one.
pub fn time_rule(rule: &mut dyn Rule<f32>, (rows, cols): (usize, usize), batch: usize, size: f32) -> [f64; 3] {
    let (errors, inputs) = (uniform("d", batch * rows, size), uniform("x", batch * cols, 1.0));
    rule.program(&uniform("weights", rows * cols, 0.2), Key::new(3)).expect("weights");
    let slow = f64::from(RATE);
    let gradient = Gradient::Outer { batch, errors: &errors, inputs: &inputs };
    let fast = match rule.label() {
        label if label.ends_with("momentum") => FAST_RATE * (1.0 - MOMENTUM),
        label if label.ends_with("AdamW") => FAST_RATE * mean_magnitude(gradient),
        _ => FAST_RATE,
    };
    let rates = Rates::new(fast, if rule.label().starts_with("Residual") { slow / MIXING } else { slow });
    let visits = (rows * cols * batch) as f64;
    let rounds = (1e8 / visits).clamp(20.0, 400.0) as u64;
    let mut step = |k: u64| {
        let start = Instant::now();
        rule.step(gradient, &rates, Key::new(4).fold(k)).expect("a step");
        start.elapsed().as_secs_f64() * 1e9 / visits
    };
    let mut times: Vec<f64> = (0..rounds).map(&mut step).collect();
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2], times.iter().sum::<f64>() / times.len() as f64]
}

fn mean_magnitude(gradient: Gradient<'_, f32>) -> f64 {
    let mut sum = Vec::new();
    let dense = gradient.dense(&mut sum);
    dense.iter().map(|g| f64::from(g.abs())).sum::<f64>() / dense.len() as f64
}
