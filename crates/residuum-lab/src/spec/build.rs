//! From a rule and its devices to arrays and the rule on them: any rule on any array, of a problem or of a tile of a network.

use std::sync::Arc;

use residuum::array::{Unreachable, ZeroShift};
use residuum::cells::symmetric_points;
use residuum::readout::Shape;
use residuum::rule::{
    AnyRule, Columns, Digital, ResidualConfig, ResidualLearning, SymmetricPoint, Transfer, Widened,
};
use residuum::tile::{OneSidedCell, ReferenceCell, Refresh, Scheme, Tile, VectorCell};
use residuum::{Array, Cells, ExactArray, Key, ParameterError, Rule, Scalar};
use thiserror::Error;

use super::Spec;
use super::device::{CellSpec, DeviceSpec, Devices};
use super::points::{Asked, true_points};
use super::rule::{CellGain, ResidualSpec, RuleKind, RuleSpec};
use super::symmetric_point::SymmetricPointSpec;
use super::vector::VectorSpec;

/// Why arrays or a rule cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RuleBuildError {
    /// A number.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A sentence that begins with the field.
    #[error("{0}")]
    Field(String),
}

impl RuleBuildError {
    /// The error as the library has it.
    pub fn into_parameter(self) -> ParameterError {
        match self {
            Self::Parameter(error) => error,
            Self::Field(message) => ParameterError::Other { message },
        }
    }
}

/// A number that arrays of a spec can hold.
pub(super) trait Number: Scalar {
    /// A tile, or several that act as one.
    fn tile(
        device: &DeviceSpec,
        shape: Shape,
        scheme: Scheme,
        key: Key,
    ) -> Result<Box<dyn Array<Self>>, RuleBuildError>;
}

impl Number for f32 {
    fn tile(
        device: &DeviceSpec,
        shape: Shape,
        scheme: Scheme,
        key: Key,
    ) -> Result<Box<dyn Array<f32>>, RuleBuildError> {
        let DeviceSpec::Tile { device, cell, ledger } = device else {
            return Err(RuleBuildError::Field("device.array must be \"tile\"".into()));
        };
        let tile = |key| {
            let mut tile = Tile::new(shape.rows, shape.cols, (**device).clone(), key)?;
            tile.count_pulses(*ledger);
            Ok::<_, ParameterError>(tile)
        };
        Ok(match cell {
            None => Box::new(tile(key)?.with_scheme(scheme)?),
            Some(CellSpec::Vector { gains, policy }) => {
                let tiles = (0..gains.len() as u64).map(|n| tile(key.fold(n))).collect::<Result<_, _>>()?;
                Box::new(VectorCell::with_gains(tiles, gains.clone(), *policy)?.with_scheme(scheme)?)
            }
            Some(CellSpec::Reference) => {
                let mut reference = tile(key.named("reference"))?;
                // What is not written holds the symmetric points of the tile that is.
                let main = tile(key)?;
                let points = main.known_symmetric_points().map_err(|e| {
                    let needs = "device.cell: a reference tile holds the symmetric point of every cell";
                    RuleBuildError::Field(format!("{needs}, but {e}"))
                })?;
                reference.program(&points, key.named("program reference"))?;
                Box::new(ReferenceCell::new(main, reference)?.with_scheme(scheme)?)
            }
            Some(CellSpec::OneSided { refresh }) => {
                let refresh = refresh.map(|(every, [upper, lower])| {
                    let default = Refresh::every(every);
                    let (upper, lower) = (upper.unwrap_or(default.upper), lower.unwrap_or(default.lower));
                    Refresh { upper, lower, ..default }
                });
                let sides = [tile(key.named("plus"))?, tile(key.named("minus"))?];
                let [plus, minus] = sides;
                Box::new(OneSidedCell::new(plus, minus, refresh)?.with_scheme(scheme)?)
            }
        })
    }
}

impl Number for f64 {
    fn tile(_: &DeviceSpec, _: Shape, _: Scheme, _: Key) -> Result<Box<dyn Array<f64>>, RuleBuildError> {
        Err(RuleBuildError::Field("device.array must be \"exact\" for weights in double precision".into()))
    }
}

/// Where arrays start.
#[derive(Clone, Copy, Default)]
pub(super) struct Start<'a> {
    /// W₀; at 0, as near as the range allows, if it is programmed later.
    pub(super) main: Option<&'a [f64]>,
    /// P₀, if it is not the symmetric point.
    pub(super) residual: Option<&'a VectorSpec>,
}

/// One rule to be built.
pub(super) struct Builder<'a> {
    pub(super) rule: &'a RuleSpec,
    pub(super) devices: &'a Devices,
    pub(super) shape: Shape,
    pub(super) start: Start<'a>,
    pub(super) key: Key,
}

impl Builder<'_> {
    pub(super) fn build<T: Number>(&self) -> Result<Box<dyn Rule<T>>, RuleBuildError> {
        self.rule.on(self)
    }

    pub(super) fn residual_learning<T: Number>(
        &self,
        spec: &ResidualSpec,
    ) -> Result<ResidualLearning<T>, RuleBuildError> {
        let RuleSpec { pulses, transfer_pulses, source, .. } = *self.rule;
        let count = self.rule.transfer_rates.len();
        let (mut residuals, mut points) = (Vec::new(), Vec::new());
        for n in 0..count {
            // Exact arrays are counted from 0, tiles from 1: the names decide their draws.
            let n_name = n + usize::from(self.devices.residual.is_tile());
            let name = if spec.cascade { format!("residual {n_name}") } else { "residual".into() };
            // The last one meets the gradient, the others transfers.
            let scheme = if n + 1 == count { pulses } else { transfer_pulses };
            let (array, point) = self.residual(spec, &name, scheme)?;
            residuals.push(array);
            points.push(point);
        }
        let config = ResidualConfig {
            mixing: spec.mixing,
            symmetric_point: SymmetricPoint::Zero,
            transfer: self.own(&spec.transfer),
            source,
            cell_gain: self.gains(spec, transfer_pulses, pulses)?,
        };
        let mut rule = ResidualLearning::cascade(self.main::<T>(transfer_pulses)?, residuals, config)?;
        for (n, point) in points.into_iter().enumerate() {
            let given = point.map_or(SymmetricPoint::Zero, SymmetricPoint::Given);
            let point = match &spec.symmetric_point {
                Some(SymmetricPointSpec::Tracked { tracking, .. }) => {
                    SymmetricPoint::Tracked { from: Box::new(given), tracking: *tracking }
                }
                _ => given,
            };
            rule = rule.symmetric_point(n, &point)?;
        }
        for (n, every) in spec.periods.iter().flatten().enumerate() {
            rule = rule.transfer(n, Transfer { every: *every, ..self.own(&spec.transfer) })?;
        }
        if let Some(warm_start) = spec.warm_start {
            rule = rule.warm_start(warm_start.settings)?;
        }
        Ok(rule)
    }

    /// A transfer as this array has it: of more columns than there are it moves all, and its lines are those of the array.
    pub(super) fn own(&self, transfer: &Transfer) -> Transfer {
        let columns = match transfer.columns {
            Columns::Some(n) if n > self.shape.cols => Columns::All,
            columns => columns,
        };
        Transfer { columns, readout: transfer.readout.around(self.key.named("transfer lines")), ..*transfer }
    }

    fn cells(&self) -> usize {
        self.shape.rows * self.shape.cols
    }

    pub(super) fn first_weights<T: Number>(&self) -> Vec<T> {
        match self.start.main {
            Some(start) => start.iter().map(|w| T::from_f64(*w)).collect(),
            None => vec![T::ZERO; self.cells()],
        }
    }

    pub(super) fn main<T: Number>(&self, scheme: Scheme) -> Result<Box<dyn Array<T>>, RuleBuildError> {
        self.array(&self.devices.main, "main", scheme, self.start.main, "initial.main")
    }

    /// The residual array of a rule without symmetric points.
    pub(super) fn plain_residual<T: Number>(
        &self,
        scheme: Scheme,
    ) -> Result<Box<dyn Array<T>>, RuleBuildError> {
        let start = self.residual_start("residual")?;
        self.array(&self.devices.residual, "residual", scheme, start.as_deref(), "initial.residual")
    }

    /// P₀, if the spec gives it.
    fn residual_start(&self, name: &str) -> Result<Option<Vec<f64>>, RuleBuildError> {
        let build = |spec: &VectorSpec| spec.build(self.cells(), self.key.named(name));
        let start = self.start.residual.map(build).transpose();
        start.map_err(|e| RuleBuildError::Field(format!("initial.residual {e}")))
    }

    /// The array `name`, whose first state, if it has one by now, comes from `field`.
    fn array<T: Number>(
        &self,
        device: &DeviceSpec,
        name: &str,
        scheme: Scheme,
        start: Option<&[f64]>,
        field: &str,
    ) -> Result<Box<dyn Array<T>>, RuleBuildError> {
        one_array(device, self.shape, scheme, start, self.key.named(name), [name, field])
    }

    fn cells_of(&self, device: &DeviceSpec, name: &str) -> Result<Arc<dyn Cells>, RuleBuildError> {
        cells_of(device, self.cells(), self.key.named(name), name)
    }

    /// A residual array at the point that the rule believes to be symmetric, and that point unless it is 0.
    fn residual<T: Number>(
        &self,
        spec: &ResidualSpec,
        name: &str,
        scheme: Scheme,
    ) -> Result<(Box<dyn Array<T>>, Option<Vec<T>>), RuleBuildError> {
        let (device, given) = (&self.devices.residual, self.residual_start(name)?);
        if device.is_tile() {
            let mut array = self.array(device, name, scheme, None, "")?;
            let point = self.point_of_tile(spec, &mut *array, name)?;
            let start = given.map(|start| start.into_iter().map(T::from_f64).collect());
            let key = self.key.named(name).named("symmetric point");
            if let Some(start) = start.as_ref().or(point.as_ref()) {
                array.program(start, key)?;
            }
            return Ok((array, point));
        }
        let point = self.point_of_exact::<T>(spec, name)?;
        let (start, field) = match &given {
            Some(start) => (start, "initial.residual"),
            None => (&point, "rule.symmetric_point"),
        };
        let array = self.array(device, name, scheme, Some(start), field)?;
        Ok((array, Some(point.into_iter().map(T::from_f64).collect())))
    }

    fn given_point(&self, spec: &VectorSpec) -> Result<Vec<f64>, RuleBuildError> {
        let point = spec.build(self.cells(), self.key.named("symmetric_point"));
        point.map_err(|e| RuleBuildError::Field(format!("rule.symmetric_point {e}")))
    }

    /// What the rule believes of a tile; a measurement pulses it.
    fn point_of_tile<T: Number>(
        &self,
        spec: &ResidualSpec,
        array: &mut dyn Array<T>,
        name: &str,
    ) -> Result<Option<Vec<T>>, RuleBuildError> {
        Ok(match spec.first_point() {
            None | Some(SymmetricPointSpec::Zero) => None,
            Some(SymmetricPointSpec::Known) => Some(true_points(array, Asked::Known)?),
            Some(SymmetricPointSpec::Given(spec)) => {
                Some(self.given_point(spec)?.into_iter().map(T::from_f64).collect())
            }
            Some(SymmetricPointSpec::Error(spec)) => {
                let errors = self.given_point(spec)?;
                let points = true_points(array, Asked::Error)?;
                Some(points.into_iter().zip(errors).map(|(p, error)| p + T::from_f64(error)).collect())
            }
            Some(SymmetricPointSpec::Measured(settings)) => {
                let key = self.key.named(name).named("zero shift");
                Some(array.zero_shift(settings, key).map_err(measuring("symmetric_point"))?.symmetric_point)
            }
            Some(SymmetricPointSpec::Tracked { .. }) => unreachable!("first_point is where tracking starts"),
        })
    }

    /// What the rule believes of exact cells, in double precision.
    fn point_of_exact<T: Number>(&self, spec: &ResidualSpec, name: &str) -> Result<Vec<f64>, RuleBuildError> {
        let (device, n) = (&self.devices.residual, self.cells());
        let cells = self.cells_of(device, name)?;
        let known = || symmetric_points(&*cells, n, "residual_learning");
        Ok(match spec.first_point() {
            None | Some(SymmetricPointSpec::Known) => known()?,
            Some(SymmetricPointSpec::Zero) => vec![0.0; n],
            Some(SymmetricPointSpec::Given(spec)) => self.given_point(spec)?,
            Some(SymmetricPointSpec::Error(spec)) => {
                known()?.iter().zip(self.given_point(spec)?).map(|(point, error)| point + error).collect()
            }
            Some(SymmetricPointSpec::Measured(settings)) => {
                let mut array = self.array::<T>(device, name, Scheme::default(), None, "")?;
                let measured = array.zero_shift(settings, self.key.named("zero_shift"));
                let measured = measured.map_err(measuring("symmetric_point"))?;
                measured.symmetric_point.into_iter().map(Scalar::to_f64).collect()
            }
            Some(SymmetricPointSpec::Tracked { .. }) => unreachable!("first_point is where tracking starts"),
        })
    }

    /// The gains of W and of the array that meets the gradient.
    fn gains<T: Number>(
        &self,
        spec: &ResidualSpec,
        main: Scheme,
        residual: Scheme,
    ) -> Result<Option<[Vec<T>; 2]>, RuleBuildError> {
        let measured = |settings: &ZeroShift, mut array: Box<dyn Array<T>>, name: &str| {
            let key = self.key.named("cell_gain").named(name);
            Ok::<_, RuleBuildError>(array.zero_shift(settings, key).map_err(measuring("cell_gain"))?.gain)
        };
        let known = |device: &DeviceSpec, array: &dyn Array<T>, name: &str| {
            if device.is_tile() {
                let points = true_points(array, Asked::Gain)?;
                let half = T::from_f64(0.5);
                let gain = |(i, w)| half * (array.response(i, false, w) + array.response(i, true, w));
                return Ok::<_, RuleBuildError>(points.into_iter().enumerate().map(gain).collect());
            }
            let cells = self.cells_of(device, name)?;
            let points = symmetric_points(&*cells, self.cells(), "cell_gain")?;
            let gain = |(i, w): (usize, &f64)| T::from_f64(cells.response(i).gain(*w));
            Ok(points.iter().enumerate().map(gain).collect())
        };
        if spec.cell_gain == CellGain::Off {
            return Ok(None);
        }
        // Arrays like those of the rule, so that a measurement leaves these where they are.
        let (w, p) = (self.main::<T>(main)?, self.residual::<T>(spec, "residual", residual)?.0);
        Ok(Some(match &spec.cell_gain {
            CellGain::Measured { procedure } => {
                [measured(procedure, w, "main")?, measured(procedure, p, "residual")?]
            }
            _ => [known(&self.devices.main, &*w, "main")?, known(&self.devices.residual, &*p, "residual")?],
        }))
    }
}

/// An array alone, at `weights`.
pub(super) fn array<T: Number>(
    device: &DeviceSpec,
    shape: Shape,
    scheme: Scheme,
    weights: &[f64],
    key: Key,
) -> Result<Box<dyn Array<T>>, RuleBuildError> {
    one_array(device, shape, scheme, Some(weights), key, ["main", "weights"])
}

/// An array of its own key; its name and the field of its first state are for errors.
fn one_array<T: Number>(
    device: &DeviceSpec,
    shape: Shape,
    scheme: Scheme,
    start: Option<&[f64]>,
    key: Key,
    [name, field]: [&str; 2],
) -> Result<Box<dyn Array<T>>, RuleBuildError> {
    if device.is_tile() {
        let mut array = T::tile(device, shape, scheme, key)?;
        if let Some(start) = start {
            let start: Vec<T> = start.iter().map(|w| T::from_f64(*w)).collect();
            let beyond = Unreachable::of(&*array, &start, |_| T::from_f64(1.0));
            if beyond.cells > 0 {
                let (cells, all, largest) = (beyond.cells, start.len(), beyond.largest);
                return Err(RuleBuildError::Field(format!(
                    "{field} must be inside the range of every cell, but {cells} of {all} cells of the {name} array cannot hold their \
                     weight, the largest of which is {largest}"
                )));
            }
            array.program(&start, key.named("initial"))?;
        }
        return Ok(array);
    }
    let n = shape.rows * shape.cols;
    let cells = cells_of(device, n, key, name)?;
    let first = |i: usize| start.map_or_else(|| cells.response(i).range().clip(0.0), |start| start[i]);
    let start: Vec<f64> = (0..n).map(first).collect();
    if let Some((i, w)) = start.iter().enumerate().find(|(i, w)| !cells.response(*i).range().contains(**w)) {
        let range = cells.response(i).range();
        let message = format!("{field} must be inside the dynamic range {range} of cell {i}, got {w}");
        return Err(RuleBuildError::Field(message));
    }
    let start: Vec<T> = start.iter().map(|w| T::from_f64(*w)).collect();
    let array = ExactArray::new(&start, cells, device.update()).and_then(|array| array.with_shape(shape));
    array.map(ExactArray::boxed).map_err(of(name))
}

fn cells_of(device: &DeviceSpec, n: usize, key: Key, name: &str) -> Result<Arc<dyn Cells>, RuleBuildError> {
    let cells = device.cells(n, key.named("device"));
    cells.map_err(|e| RuleBuildError::Field(format!("{name} array: {e}")))
}

/// Says what could not be measured.
fn measuring(field: &'static str) -> impl Fn(ParameterError) -> RuleBuildError {
    move |e| RuleBuildError::Field(format!("rule.{field}: {e}"))
}

/// Says of which array an error is.
fn of(name: &str) -> impl Fn(ParameterError) -> RuleBuildError {
    move |e| RuleBuildError::Field(format!("{name} array: {e}"))
}

impl ResidualSpec {
    /// Where the rule believes W⋄ to be at first.
    fn first_point(&self) -> Option<&SymmetricPointSpec> {
        match &self.symmetric_point {
            Some(SymmetricPointSpec::Tracked { from, .. }) => Some(from),
            point => point.as_ref(),
        }
    }
}

impl RuleSpec {
    /// The rule on arrays of `rows × cols` cells of these devices, in single precision; weights are programmed afterwards.
    ///
    /// # Errors
    /// If a number is impossible.
    pub fn build(
        &self,
        devices: &Devices,
        [rows, cols]: [usize; 2],
        key: Key,
    ) -> Result<Box<dyn Rule<f32>>, RuleBuildError> {
        let (shape, start) = (Shape { rows, cols }, Start::default());
        Builder { rule: self, devices, shape, start, key }.build()
    }
}

impl Spec {
    /// The rule of one seed: on exact arrays in double precision, on tiles in single.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn build_rule(&self, seed: u64) -> Result<Box<dyn Rule>, String> {
        self.build_with(&self.rule, seed)
    }

    /// The same with another rule.
    pub(super) fn build_with(&self, rule: &RuleSpec, seed: u64) -> Result<Box<dyn Rule>, String> {
        let key = Key::new(seed).named("rule");
        let n = self.problem.dim();
        let main = self.initial.main.build(n, key.named("main")).map_err(|e| format!("initial.main {e}"))?;
        let Some(devices) = &self.devices else {
            return match rule.kind {
                RuleKind::Digital => {
                    Ok(AnyRule::from(Digital::new(&main, rule.source).map_err(|e| e.to_string())?).boxed())
                }
                _ => Err("device is missing: this rule writes to analog memory".into()),
            };
        };
        let start = Start { main: Some(&main), residual: self.initial.residual.as_ref() };
        let builder = Builder { rule, devices, shape: Shape { rows: n, cols: 1 }, start, key };
        let text = |e: RuleBuildError| e.to_string();
        if devices.has_tiles() && !rule.is_digital() {
            return Ok(Box::new(Widened::new(builder.build().map_err(text)?)));
        }
        builder.build().map_err(text)
    }
}
