//! The rules of the benchmark, as AIHWKIT's side of it sets them.

use std::sync::Arc;

use residuum::readout::{BoundManagement, NoiseManagement, Settings};
use residuum::rule::{Analog, Columns, TikiTaka, TikiTakaConfig, Transfer};
use residuum::tile::{CycleNoise, Device, Spread, StepModel, Tile};
use residuum::{Key, ParameterError, RateSchedules, Readout, Rule};
use residuum_nn::Sgd;
use residuum_nn::analog::{AnalogFactory, Mapping, OutputScaling, Reads, Recipe};
use residuum_nn::model::Select;

/// Of everything digital, of Analog SGD, and of transfers.
pub const RATE: f64 = 0.05;
/// Of the residual array.
const FAST_RATE: f64 = 0.01;

/// A rule on tiles.
#[derive(Clone, Copy, Debug)]
pub enum Pulses {
    /// Analog SGD.
    Sgd,
    /// One column of P to W after every mini-batch; the network sees W.
    TikiTaka,
    /// The same, and the network sees W + 0.4 P.
    Residual,
    /// The same with every column after every mini-batch: the paper's recursion.
    AllColumns,
}

/// The rule's name in the table and for the scripts.
pub fn label(rule: Option<Pulses>) -> &'static str {
    match rule {
        None => "digital",
        Some(Pulses::Sgd) => "Analog SGD",
        Some(Pulses::TikiTaka) => "Tiki-Taka",
        Some(Pulses::Residual) => "Residual Learning",
        Some(Pulses::AllColumns) => "all columns",
    }
}

impl Pulses {
    /// Whether AIHWKIT's side of the benchmark has it.
    pub fn has_opponent(self) -> bool {
        !matches!(self, Self::AllColumns)
    }

    /// All layers on tiles.
    pub fn factory(self) -> AnalogFactory {
        let forward = Settings::aihwkit();
        let backward = Settings { bound_management: BoundManagement::None, ..forward };
        let readout = |settings| Readout::new(settings).expect("valid");
        AnalogFactory {
            select: Select::All,
            recipe: Arc::new(self),
            rates: match self {
                Self::Sgd => RateSchedules::learning(RATE),
                _ => RateSchedules::new(FAST_RATE, RATE),
            },
            mapping: Mapping { output_scaling: OutputScaling::PerTile, ..Mapping::default() },
            reads: Reads { forward: readout(forward), backward: readout(backward) },
            sgd: Sgd::new(RATE),
            key: Key::new(4),
        }
    }
}

impl Recipe for Pulses {
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError> {
        let device = Device {
            step_spread: Spread::normal(0.3),
            imbalance_spread: 0.01,
            cycle_noise: CycleNoise::Multiplicative(0.3),
            ..Device::ideal(StepModel::power(1.0), 0.001, -0.6, 0.6)
        };
        let tile = |name: &str| Tile::new(rows, cols, device.clone(), key.named(name));
        let mixing = match self {
            Self::Sgd => return Ok(Box::new(Analog::sgd(tile("main")?))),
            Self::TikiTaka => 0.0,
            Self::Residual | Self::AllColumns => 0.4,
        };
        let read = Settings {
            noise_management: NoiseManagement::None,
            bound_management: BoundManagement::None,
            ..Settings::aihwkit()
        };
        let columns = if let Self::AllColumns = self { Columns::All } else { Columns::Some(1) };
        let transfer = Transfer { columns, readout: Readout::new(read)?, ..Transfer::default() };
        let (main, residual) = (tile("main")?, tile("residual")?);
        let config = TikiTakaConfig { mixing, transfer, ..TikiTakaConfig::default() };
        Ok(Box::new(TikiTaka::new(main, residual, config)?))
    }
}
