//! Layers on tiles with everything that a checkpoint must not lose: two arrays, noise, counters, learned scales, clocks.

use std::sync::Arc;

use residuum::readout::Settings;
use residuum::rule::{
    Columns, ResidualConfig, ResidualLearning, SymmetricPoint, TikiTaka, TikiTakaConfig, Transfer,
};
use residuum::tile::{CycleNoise, Decay, Device, Drift, Retention, Spread, Tile};
use residuum::{Key, ParameterError, RateSchedules, Readout, Rule};
use residuum_nn::Sgd;
use residuum_nn::analog::{AnalogFactory, Mapping, OutputScaling, Reads, Recipe};
use residuum_nn::model::Select;

/// A rule on tiles.
#[derive(Clone, Copy, Debug)]
pub enum Tiles {
    Residual,
    TikiTaka,
}

impl Tiles {
    pub fn factory(self, sgd: Sgd) -> AnalogFactory {
        let readout = Readout::new(Settings::aihwkit()).unwrap();
        AnalogFactory {
            select: Select::All,
            recipe: Arc::new(self),
            rates: RateSchedules::new(0.1, 0.1),
            mapping: Mapping {
                max_cols: 40,
                omega: Some(0.4),
                output_scaling: OutputScaling::PerTile,
                ..Mapping::default()
            },
            reads: Reads { forward: readout, backward: readout },
            sgd,
            key: Key::new(6),
        }
    }
}

impl Recipe for Tiles {
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError> {
        let device = Device {
            step_spread: Spread::normal(0.3),
            cycle_noise: CycleNoise::Multiplicative(0.3),
            write_noise: 0.5,
            retention: Retention {
                decay: Some(Decay { lifetime: 1e4, spread: 0.3 }),
                drift: Some(Drift { step_s: 1.0, ..Drift::power_law(0.01, 10.0) }),
                ..Retention::default()
            },
            ..Device::paper_power(1.0, 0.6, 1e-3)
        };
        let tile = |name: &str| {
            let mut tile = Tile::new(rows, cols, device.clone(), key.named(name))?;
            tile.count_pulses(true);
            Ok::<_, ParameterError>(tile)
        };
        let (main, residual) = (tile("main")?, tile("residual")?);
        let transfer = Transfer { columns: Columns::Some(3), ..Transfer::default() };
        Ok(match self {
            Self::Residual => {
                let symmetric_point = SymmetricPoint::Zero;
                let config = ResidualConfig { transfer, symmetric_point, ..ResidualConfig::mixing(0.4) };
                Box::new(ResidualLearning::new(main, residual, config)?)
            }
            Self::TikiTaka => Box::new(TikiTaka::new(
                main,
                residual,
                TikiTakaConfig { transfer, ..TikiTakaConfig::default() },
            )?),
        })
    }
}
