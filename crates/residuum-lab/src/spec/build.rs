//! From a rule and its devices to arrays and the rule on them.

use std::sync::Arc;

use residuum::array::AnalogArray;
use residuum::cells::symmetric_points;
use residuum::rule::crossbar::{self, Carrier, Columns};
use residuum::rule::{Analog, Digital, ResidualCascade, ResidualLearning, Source, Transfer};
use residuum::theory::zero_shift;
use residuum::tile::Tile;
use residuum::{Cells, Key, ParameterError, Schedule, UpdateRule};

use super::device::{DeviceSpec, Devices};
use super::rate::Rate;
use super::rule::{
    CellGain, ResidualSpec, RuleKind, RuleSpec, SourceSpec, SymmetricPointSpec, TransferSpec, ZeroShift,
};
use super::vector::VectorSpec;
use super::Spec;

impl Spec {
    /// The rule of one seed.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn build_rule(&self, seed: u64) -> Result<Box<dyn UpdateRule>, String> {
        let key = Key::new(seed).named("rule");
        let n = self.problem.dim();
        let start = self.initial.main.build(n, key.named("main")).map_err(|e| format!("initial.main {e}"))?;
        let rate = exact_rate(self.rule.learning_rate);
        let main = |devices: &Devices| array(&devices.main, &start, "main", "initial.main", key);
        match (&self.rule.kind, &self.devices) {
            (RuleKind::Digital { source }, _) => {
                Ok(Box::new(Digital::new(&start, exact_source(source, rate)?).map_err(|e| e.to_string())?))
            }
            (_, None) => Err("device is missing: this rule writes to analog memory".into()),
            (RuleKind::Analog { source }, Some(devices)) => {
                Ok(Box::new(Analog::new(main(devices)?, exact_source(source, rate)?)))
            }
            (RuleKind::Residual(spec), Some(devices)) => {
                spec.on_exact(main(devices)?, &devices.residual, self.initial.residual.as_ref(), rate, key)
            }
            _ => Err(format!("rule.kind = {:?} needs [network]", self.rule.name)),
        }
    }
}

fn exact_rate(rate: Rate) -> Schedule {
    rate.schedule(Schedule::Constant)
}

fn exact_source(source: &SourceSpec, rate: Schedule) -> Result<Source, String> {
    match *source {
        SourceSpec::Sgd { momentum, .. } if momentum > 0.0 => {
            Source::momentum(rate, momentum).map_err(|e| format!("rule.{e}"))
        }
        SourceSpec::Sgd { .. } => Ok(Source::sgd(rate)),
        SourceSpec::Adam { decays: [first, second], epsilon, .. } => {
            Source::adam(rate, first, second, epsilon).map_err(|e| format!("rule.{e}"))
        }
    }
}

/// The array `name`, whose first state comes from `field`.
fn array(device: &DeviceSpec, start: &[f64], name: &str, field: &str, key: Key) -> Result<AnalogArray, String> {
    let cells = cells(device, start.len(), name, key)?;
    let outside = start.iter().enumerate().find(|&(i, &w)| !cells.response(i).range().contains(w));
    if let Some((i, w)) = outside {
        let range = cells.response(i).range();
        return Err(format!("{field} must be inside the dynamic range {range} of cell {i}, got {w}"));
    }
    AnalogArray::new(start, cells, device.update()).map_err(|e| format!("{name} array: {e}"))
}

fn cells(device: &DeviceSpec, n: usize, name: &str, key: Key) -> Result<Arc<dyn Cells>, String> {
    device.cells(n, key.named(name).named("device")).map_err(|e| format!("{name} array: {e}"))
}

impl ZeroShift {
    fn run(&self, array: &mut AnalogArray, key: Key) -> Result<zero_shift::Calibration, String> {
        let pulses = self.pulses.ok_or("rule.symmetric_point: pulse_step is missing")?;
        zero_shift::zero_shift(array, pulses, self.pairs, self.averaged, key).map_err(|e| e.to_string())
    }
}

impl ResidualSpec {
    fn on_exact(
        &self,
        main: AnalogArray,
        residual: &DeviceSpec,
        start: Option<&VectorSpec>,
        learning_rate: Schedule,
        key: Key,
    ) -> Result<Box<dyn UpdateRule>, String> {
        let n = main.len();
        let text = |e: ParameterError| e.to_string();
        let residual_array = |name: &str, point: &[f64]| -> Result<AnalogArray, String> {
            let Some(spec) = start else {
                return array(residual, point, name, "rule.symmetric_point", key);
            };
            let start = spec.build(n, key.named(name)).map_err(|e| format!("initial.residual {e}"))?;
            array(residual, &start, name, "initial.residual", key)
        };
        let rates: Vec<Schedule> = self.transfer_rates.iter().map(|rate| exact_rate(*rate)).collect();
        if self.cascade {
            let names = (0..rates.len()).map(|i| format!("residual {i}"));
            let arrays = names
                .map(|name| {
                    let cells = cells(residual, n, &name, key)?;
                    residual_array(&name, &symmetric_points(&*cells, n, "the residual cascade").map_err(text)?)
                })
                .collect::<Result<Vec<_>, String>>()?;
            let rule = ResidualCascade::new(main, arrays, self.mixing, learning_rate, rates);
            return Ok(Box::new(rule.map_err(text)?));
        }
        let cells = cells(residual, n, "residual", key)?;
        let point = self.point(&cells, residual, n, key)?;
        let p = residual_array("residual", &point)?;
        let gains = self.gains(&main, &p, key)?;
        let transfer = self.compensated.map_or(Transfer::Plain, |floor| Transfer::Compensated { floor });
        let mut rule =
            ResidualLearning::with_symmetric_point(main, p, point, self.mixing, learning_rate, rates[0])
                .and_then(|rule| rule.transfer(transfer))
                .map_err(text)?;
        if let Some((main, residual)) = gains {
            rule = rule.cell_gain(main, residual).map_err(text)?;
        }
        Ok(Box::new(rule))
    }

    fn point(
        &self,
        cells: &Arc<dyn Cells>,
        device: &DeviceSpec,
        n: usize,
        key: Key,
    ) -> Result<Vec<f64>, String> {
        let known = || symmetric_points(&**cells, n, "residual_learning").map_err(|e| e.to_string());
        let vector = |spec: &VectorSpec| {
            spec.build(n, key.named("symmetric_point")).map_err(|e| format!("rule.symmetric_point {e}"))
        };
        match &self.symmetric_point {
            None | Some(SymmetricPointSpec::Known) => known(),
            Some(SymmetricPointSpec::Zero) => Ok(vec![0.0; n]),
            Some(SymmetricPointSpec::Given(spec)) => vector(spec),
            Some(SymmetricPointSpec::Error(spec)) => {
                Ok(known()?.iter().zip(vector(spec)?).map(|(point, error)| point + error).collect())
            }
            Some(SymmetricPointSpec::Measured(procedure)) => {
                let start: Vec<f64> = (0..n).map(|i| cells.response(i).range().clip(0.0)).collect();
                let mut array =
                    AnalogArray::new(&start, Arc::clone(cells), device.update()).map_err(|e| e.to_string())?;
                Ok(procedure.run(&mut array, key.named("zero_shift"))?.symmetric_point)
            }
        }
    }

    fn gains(
        &self,
        main: &AnalogArray,
        residual: &AnalogArray,
        key: Key,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>, String> {
        let each = |array: &AnalogArray, name: &str| -> Result<Vec<f64>, String> {
            match &self.cell_gain {
                CellGain::Measured { procedure } => {
                    Ok(procedure.run(&mut array.clone(), key.named("cell_gain").named(name))?.gain)
                }
                _ => {
                    let points =
                        symmetric_points(array.cells(), array.len(), "cell_gain").map_err(|e| e.to_string())?;
                    Ok(points.iter().enumerate().map(|(i, &w)| array.cells().response(i).gain(w)).collect())
                }
            }
        };
        match self.cell_gain {
            CellGain::Off => Ok(None),
            _ => Ok(Some((each(main, "main")?, each(residual, "residual")?))),
        }
    }
}

impl RuleSpec {
    /// The rule on tiles of `rows × cols` cells of these devices, with `None` for a digital one; `shape` makes schedules of
    /// rates that follow the training.
    ///
    /// # Errors
    /// If a number is impossible.
    pub fn build(
        &self,
        devices: &Devices,
        [rows, cols]: [usize; 2],
        shape: impl Fn(f64) -> Schedule,
        key: Key,
    ) -> Result<Option<Box<dyn UpdateRule<f32>>>, ParameterError> {
        let tile = |device: &DeviceSpec, name: &str| {
            let device = device.tile().cloned().unwrap_or_else(residuum::tile::presets::idealized);
            Tile::new(rows, cols, device, key.named(name))
        };
        let main = || tile(&devices.main, "main");
        let residual = |name: &str| tile(&devices.residual, name);
        let (rate, pulses) = (self.learning_rate.schedule(&shape), self.pulses);
        Ok(Some(match &self.kind {
            RuleKind::Digital { .. } => return Ok(None),
            RuleKind::Analog { .. } => Box::new(crossbar::PulsedSgd::new(main()?, rate, pulses)?),
            RuleKind::TikiTaka { transfer_rate, mixing, transfer } => {
                let (transfer_rate, transfer) = (transfer_rate.schedule(shape), transfer.own(cols, key));
                let (w, p) = (main()?, residual("residual")?);
                Box::new(crossbar::TikiTaka::new(w, p, *mixing, rate, transfer_rate, pulses, transfer)?)
            }
            RuleKind::Chopped { transfer_rate, chop, auto_scale, tail_weight, transfer } => {
                let (transfer_rate, transfer) = (transfer_rate.schedule(shape), transfer.own(cols, key));
                let (w, p) = (main()?, residual("residual")?);
                let mut rule =
                    crossbar::ChoppedTikiTaka::new(w, p, rate, transfer_rate, pulses, *chop, transfer)?;
                if let Some(auto_scale) = auto_scale {
                    rule = rule.auto_scale(*auto_scale)?;
                }
                if let Some(weight) = tail_weight {
                    rule = rule.dynamic_reference(*weight)?;
                }
                Box::new(rule)
            }
            RuleKind::MixedPrecision { every, granularity, quantize: [errors, inputs] } => {
                let rule = crossbar::MixedPrecision::new(main()?, rate, *every, pulses)?.quantize(*errors, *inputs)?;
                Box::new(match granularity {
                    Some(granularity) => rule.granularity(*granularity)?,
                    None => rule,
                })
            }
            RuleKind::Residual(spec) => {
                let transfer = spec.transfer.own(cols, key);
                if !spec.cascade {
                    let transfer_rate = spec.transfer_rates[0].schedule(shape);
                    let (p, point) = spec.prepare(residual("residual")?, key.named("residual"))?;
                    let rule = crossbar::ResidualLearning::new(
                        main()?, p, spec.mixing, rate, transfer_rate, pulses, transfer,
                    )?;
                    return Ok(Some(Box::new(match point {
                        Some(point) => rule.symmetric_point(point)?,
                        None => rule,
                    })));
                }
                let residuals = (1..)
                    .zip(&spec.transfer_rates)
                    .map(|(n, transfer_rate)| {
                        let name = format!("residual {n}");
                        let (p, symmetric_point) = spec.prepare(residual(&name)?, key.named(&name))?;
                        let (array, transfer) = (Box::new(p), transfer.clone());
                        let transfer_rate = transfer_rate.schedule(&shape);
                        Ok(crossbar::Residual { array, symmetric_point, transfer_rate, transfer })
                    })
                    .collect::<Result<_, ParameterError>>()?;
                Box::new(crossbar::ResidualCascade::new(main()?, residuals, spec.mixing, rate, pulses)?)
            }
        }))
    }
}

impl TransferSpec {
    /// The transfer of one tile: of more columns than the tile has it moves all, and its lines are the tile's.
    fn own(&self, cols: usize, key: Key) -> crossbar::Transfer {
        let columns = match self.columns {
            Columns::Some(n) if n > cols => Columns::All,
            columns => columns,
        };
        crossbar::Transfer {
            columns,
            order: self.order,
            every: self.every,
            readout: self.readout.around(key.named("transfer lines")),
            carrier: self.buffer.clone().map_or(Carrier::Direct, Carrier::Buffered),
            scheme: self.pulses,
        }
    }
}

impl ResidualSpec {
    /// The residual tile at its symmetric point, with that point unless it is 0.
    fn prepare(&self, mut tile: Tile, key: Key) -> Result<(Tile, Option<Vec<f32>>), ParameterError> {
        let point = match &self.symmetric_point {
            // A cell without one stays where it is.
            Some(SymmetricPointSpec::Known) => {
                tile.symmetric_point().into_iter().map(|p| p.unwrap_or(0.0)).collect()
            }
            Some(SymmetricPointSpec::Measured(ZeroShift { pairs, averaged, .. })) => {
                let settings =
                    residuum::tile::ZeroShift { pairs: *pairs, averaged: *averaged, tolerance: None };
                tile.zero_shift(settings, key.named("zero shift"))?.symmetric_point
            }
            _ => return Ok((tile, None)),
        };
        tile.program(&point, key.named("symmetric point"))?;
        Ok((tile, Some(point)))
    }
}
