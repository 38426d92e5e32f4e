//! `[device]`: the response of the cells, how they vary, and how updates reach them.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use residuum::cells::{Cells, Confined, Mixed, Uniform};
use residuum::population::{self, Distribution, PopulationError};
use residuum::response::{
    Ceiling, Constant, Exponential, Formula, Linear, Power, SoftBounds, Tabulated, Tanh, Wavy,
};
use residuum::{Key, ParameterError, Pulses, Range, ResponseFunction, Rounding, Update};

use super::folders::digest;
use super::reader::{Fields, SpecError, Value};

/// The cells of an array and how they are written.
#[derive(Clone, Debug)]
pub struct DeviceSpec {
    /// What the cells do.
    pub response: ResponseSpec,
    /// Expected update or pulses.
    pub update: Update,
}

/// The response of a population.
#[derive(Clone, Debug)]
pub enum ResponseSpec {
    /// A closed form; each parameter is one number for all cells or a distribution over them.
    Family {
        /// Which formula.
        family: Family,
        /// Its parameters, in the order of [`Family::parameters`].
        parameters: Vec<Distribution>,
        /// A dynamic range smaller than the formula's own.
        range: Option<Range>,
    },
    /// A measured table or a formula in text: the same for all cells.
    Shared(Arc<dyn ResponseFunction>),
    /// Fractions of cells with different responses.
    Mixture(Vec<(f64, Arc<dyn ResponseFunction>)>),
}

/// The closed-form responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// q± = value.
    Constant,
    /// q± = 1 ∓ slope·w/radius.
    Linear,
    /// The same, parametrised by κ₂.
    LinearCondition,
    /// q± = (1 ∓ w/radius)^shape.
    Power,
    /// q± = (e^{shape(1 ∓ w/radius)} − 1)/(e^{shape} − 1).
    Exponential,
    /// q± = gain(1 ∓ slope·tanh((w − center)/width)).
    Tanh,
    /// q₊ = gain_plus(1 − w/radius_plus), q₋ = gain_minus(1 + w/radius_minus).
    SoftBounds,
    /// The hard instance.
    Ceiling,
    /// The non-monotone example.
    Wavy,
}

impl Family {
    /// Names and defaults of the parameters; `None` means that the spec must give it.
    pub fn parameters(self) -> &'static [(&'static str, Option<f64>)] {
        match self {
            Self::Constant => &[("value", Some(1.0))],
            Self::Linear => &[("slope", None), ("radius", Some(1.0))],
            Self::LinearCondition => &[("hardware_condition", None), ("radius", Some(1.0))],
            Self::Power | Self::Exponential => &[("shape", None), ("radius", Some(1.0))],
            Self::Tanh => &[("gain", Some(1.0)), ("slope", None), ("width", Some(1.0)), ("center", Some(0.0))],
            Self::SoftBounds => &[
                ("gain_plus", Some(1.0)),
                ("gain_minus", Some(1.0)),
                ("radius_plus", None),
                ("radius_minus", None),
            ],
            Self::Ceiling => &[("min", None), ("max", Some(1.0)), ("width", Some(1.0))],
            Self::Wavy => &[("amplitude", Some(0.6)), ("skew", Some(0.25)), ("radius", Some(1.0))],
        }
    }

    fn cells(
        self,
        n: usize,
        key: Key,
        parameters: &[Distribution],
        range: Option<Range>,
    ) -> Result<Arc<dyn Cells>, PopulationError> {
        let population = Population { names: self.parameters(), parameters, n, key, range };
        match self {
            Self::Constant => population.build(|p| Constant::new(p[0])),
            Self::Linear => population.build(|p| Linear::new(p[0], p[1])),
            Self::LinearCondition => population.build(|p| Linear::with_condition(p[0], p[1])),
            Self::Power => population.build(|p| Power::new(p[0], p[1])),
            Self::Exponential => population.build(|p| Exponential::new(p[0], p[1])),
            Self::Tanh => population.build(|p| Tanh::new(p[0], p[1], p[2], p[3])),
            Self::SoftBounds => population.build(|p| SoftBounds::new(p[0], p[1], p[2], p[3])),
            Self::Ceiling => population.build(|p| Ceiling::new(p[0], p[1], p[2])),
            Self::Wavy => population.build(|p| Wavy::new(p[0], p[1], p[2])),
        }
    }
}

struct Population<'a> {
    names: &'static [(&'static str, Option<f64>)],
    parameters: &'a [Distribution],
    n: usize,
    key: Key,
    range: Option<Range>,
}

impl Population<'_> {
    fn build<R: ResponseFunction + 'static>(
        &self,
        make: impl Fn(&[f64]) -> Result<R, ParameterError>,
    ) -> Result<Arc<dyn Cells>, PopulationError> {
        match self.range {
            None => self.cells(make),
            Some(range) => self.cells(|p| Confined::new(make(p)?, range)),
        }
    }

    fn cells<R: ResponseFunction + 'static>(
        &self,
        make: impl Fn(&[f64]) -> Result<R, ParameterError>,
    ) -> Result<Arc<dyn Cells>, PopulationError> {
        let constants: Option<Vec<f64>> = self
            .parameters
            .iter()
            .map(|d| if let Distribution::Constant(value) = d { Some(*value) } else { None })
            .collect();
        if let Some(values) = constants {
            return Ok(Arc::new(Uniform::new(make(&values)?)));
        }
        let cells = population::vary(self.n, self.key, |cell| {
            let drawn = self.parameters.iter().zip(self.names).map(|(d, (name, _))| cell.draw(name, d));
            make(&drawn.collect::<Result<Vec<f64>, _>>()?)
        })?;
        Ok(Arc::new(cells))
    }
}

pub(crate) const RESPONSES: [&str; 11] = [
    "constant",
    "linear",
    "power",
    "exponential",
    "tanh",
    "soft_bounds",
    "ceiling",
    "wavy",
    "table",
    "formula",
    "mixture",
];

impl DeviceSpec {
    pub(crate) fn read(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        Ok(Self { response: ResponseSpec::read(fields, base)?, update: read_update(fields)? })
    }

    /// The cells of an array of `n`; `key` decides device-to-device variation.
    ///
    /// # Errors
    /// If a parameter, given or drawn, makes no response.
    pub fn cells(&self, n: usize, key: Key) -> Result<Arc<dyn Cells>, PopulationError> {
        self.response.cells(n, key)
    }
}

impl ResponseSpec {
    pub(crate) fn read(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        let spec = match fields.choice("response", &RESPONSES)? {
            "constant" => Self::family(fields, Family::Constant)?,
            "linear" if fields.has("hardware_condition") == fields.has("slope") => {
                let given = if fields.has("slope") { "both" } else { "neither" };
                let path = fields.path("slope");
                return Err(fields.error(format!("{path} or hardware_condition must be given, got {given}")));
            }
            "linear" if fields.has("hardware_condition") => Self::family(fields, Family::LinearCondition)?,
            "linear" => Self::family(fields, Family::Linear)?,
            "power" => Self::family(fields, Family::Power)?,
            "exponential" => Self::family(fields, Family::Exponential)?,
            "tanh" => Self::family(fields, Family::Tanh)?,
            "soft_bounds" => Self::family(fields, Family::SoftBounds)?,
            "ceiling" => Self::family(fields, Family::Ceiling)?,
            "wavy" => Self::family(fields, Family::Wavy)?,
            "table" => {
                let path = base.join(fields.text("csv")?);
                let text = std::fs::read_to_string(&path).map_err(|e| {
                    fields.error(format!("{}: cannot read {}: {e}", fields.path("csv"), path.display()))
                })?;
                fields.contents("csv", digest(text.as_bytes()));
                let table = Tabulated::from_csv(&text)
                    .map_err(|e| fields.error(format!("{}: {}: {e}", fields.path("csv"), path.display())))?;
                Self::Shared(Arc::new(table))
            }
            "formula" => {
                let range = read_range(fields, "range")?.ok_or_else(|| {
                    fields.error(format!("{} is missing: give [lo, hi]", fields.path("range")))
                })?;
                let formula = Formula::parse(fields.text("q_plus")?, fields.text("q_minus")?, range)
                    // The sentence begins with the name of the curve.
                    .map_err(|e| fields.error(fields.path(&e.to_string())))?;
                Self::Shared(Arc::new(formula))
            }
            _ => Self::mixture(fields, base)?,
        };
        // Whatever cannot be a device of one cell can be none of many; refuse it while the line is at hand.
        spec.cells(1, Key::new(0)).map_err(|e| blame(fields, &e))?;
        Ok(spec)
    }

    fn family(fields: &Fields<'_>, family: Family) -> Result<Self, SpecError> {
        let parameters = family
            .parameters()
            .iter()
            .map(|&(name, default)| read_parameter(fields, name, default))
            .collect::<Result<_, _>>()?;
        Ok(Self::Family { family, parameters, range: read_range(fields, "range")? })
    }

    fn mixture(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        let node = fields.required("parts")?;
        let Value::List(items) = &node.value else {
            return Err(node.error(format!(
                "{} must be a list of tables, got {}",
                fields.path("parts"),
                node.show()
            )));
        };
        let mut parts = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let part = fields.nested(&format!("parts[{i}]"), item)?;
            let fraction = part.number("fraction")?;
            let response = match Self::read(&part, base)? {
                Self::Shared(response) => response,
                Self::Family { family, parameters, range }
                    if parameters.iter().all(|d| matches!(d, Distribution::Constant(_))) =>
                {
                    let cells =
                        family.cells(1, Key::new(0), &parameters, range).map_err(|e| blame(&part, &e))?;
                    Arc::new(CellOf(cells))
                }
                _ => {
                    return Err(item.error(format!(
                        "{}: the parts of a mixture have fixed parameters",
                        part.path("response")
                    )));
                }
            };
            part.finish()?;
            parts.push((fraction, response));
        }
        Ok(Self::Mixture(parts))
    }

    /// The cells of an array of `n`.
    ///
    /// # Errors
    /// If a parameter, given or drawn, makes no response.
    pub fn cells(&self, n: usize, key: Key) -> Result<Arc<dyn Cells>, PopulationError> {
        match self {
            Self::Family { family, parameters, range } => family.cells(n, key, parameters, *range),
            Self::Shared(response) => Ok(Arc::new(Uniform(Arc::clone(response)))),
            Self::Mixture(parts) => {
                let fractions: Vec<f64> = parts.iter().map(|(fraction, _)| *fraction).collect();
                let part_of = population::assign(n, key.named("part"), &fractions)?;
                let responses = parts.iter().map(|(_, r)| Arc::clone(r)).collect();
                Ok(Arc::new(Mixed::new(responses, part_of)?))
            }
        }
    }

    /// One response that stands for the population: the shared one, the one at the centre of the distributions, or
    /// the first part of a mixture.
    ///
    /// # Errors
    /// If the centre of the distributions is no device.
    pub fn representative(&self) -> Result<Arc<dyn ResponseFunction>, PopulationError> {
        Ok(match self {
            Self::Shared(response) => Arc::clone(response),
            Self::Mixture(parts) => Arc::clone(&parts[0].1),
            Self::Family { family, parameters, range } => {
                let centers: Vec<Distribution> =
                    parameters.iter().map(|d| Distribution::Constant(center(d))).collect();
                Arc::new(CellOf(family.cells(1, Key::new(0), &centers, *range)?))
            }
        })
    }

    /// One line for reports.
    pub fn describe(&self) -> String {
        match self {
            Self::Mixture(parts) => {
                let mut text = String::from("mixture of");
                for (fraction, response) in parts {
                    let _ = write!(text, " {:.0} % {};", 100.0 * fraction, response.describe());
                }
                text.trim_end_matches(';').into()
            }
            _ => self.cells(1, Key::new(0)).map_or_else(|e| e.to_string(), |c| c.response(0).describe()),
        }
    }
}

/// Where a distribution is centred.
fn center(distribution: &Distribution) -> f64 {
    match *distribution {
        Distribution::Constant(value) => value,
        Distribution::Normal { mean, .. } => mean,
        Distribution::LogNormal { median, .. } => median,
        Distribution::Uniform { lo, hi } => 0.5 * (lo + hi),
        Distribution::LogSpaced { lo, hi } => (lo * hi).sqrt(),
    }
}

fn blame(fields: &Fields<'_>, error: &PopulationError) -> SpecError {
    match error {
        PopulationError::Parameter(e) => fields.blame(e),
        other => fields.error(format!("{}: {other}", fields.path("response"))),
    }
}

/// A one-cell population seen as the response of its cell.
#[derive(Debug)]
struct CellOf(Arc<dyn Cells>);

impl ResponseFunction for CellOf {
    fn q_plus(&self, w: f64) -> f64 {
        self.0.response(0).q_plus(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.0.response(0).q_minus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.response(0).q_plus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.response(0).q_minus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.response(0).range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.0.response(0).symmetric_point()
    }
    fn describe(&self) -> String {
        self.0.response(0).describe()
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        self.0.response(0).asymmetry_potential(w)
    }
    fn bounds(&self, over: Range) -> residuum::Bounds {
        self.0.response(0).bounds(over)
    }
}

fn read_parameter(
    fields: &Fields<'_>,
    name: &'static str,
    default: Option<f64>,
) -> Result<Distribution, SpecError> {
    let Some(node) = fields.given(name) else {
        return match default {
            Some(value) => {
                fields.defaulted(name, format!("{value:?}"));
                Ok(Distribution::Constant(value))
            }
            None => Err(fields.missing(name)),
        };
    };
    if let Some(value) = node.as_number() {
        return Ok(Distribution::Constant(value));
    }
    let Value::Table(_) = node.value else {
        let path = fields.path(name);
        return Err(node.error(format!("{path} must be a number or a distribution, got {}", node.show())));
    };
    let table = fields.nested(name, node)?;
    let distribution = match table.choice("kind", &["normal", "log_normal", "uniform", "log_spaced"])? {
        "normal" => Distribution::Normal { mean: table.number("mean")?, deviation: table.number("deviation")? },
        "log_normal" => {
            Distribution::LogNormal { median: table.number("median")?, deviation: table.number("deviation")? }
        }
        "uniform" => Distribution::Uniform { lo: table.number("lo")?, hi: table.number("hi")? },
        _ => Distribution::LogSpaced { lo: table.number("lo")?, hi: table.number("hi")? },
    };
    distribution.validate().map_err(|e| table.blame(&e))?;
    table.finish()?;
    Ok(distribution)
}

pub(crate) fn read_range(fields: &Fields<'_>, name: &'static str) -> Result<Option<Range>, SpecError> {
    let Some(node) = fields.given(name) else { return Ok(None) };
    let wrong =
        || node.error(format!("{} must be [lo, hi] with lo < hi, got {}", fields.path(name), node.show()));
    let Value::List(items) = &node.value else { return Err(wrong()) };
    let [lo, hi] = items.as_slice() else { return Err(wrong()) };
    match (lo.as_number(), hi.as_number()) {
        (Some(lo), Some(hi)) => Range::new(lo, hi).map(Some).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn read_update(fields: &Fields<'_>) -> Result<Update, SpecError> {
    let Some(table) = fields.optional_table("pulses")? else {
        fields.defaulted("pulses", "none: the expected update");
        return Ok(Update::Expected);
    };
    let cycle_noise = table.number_or("cycle_noise", 0.0)?;
    let pulses = Pulses::new(table.number("pulse_step")?)
        .and_then(|p| p.cycle_noise(cycle_noise))
        .map_err(|e| table.blame(&e))?;
    let rounding = match table.choice_or("rounding", &["stochastic", "nearest"], "stochastic")? {
        "nearest" => Rounding::Nearest,
        _ => Rounding::Stochastic,
    };
    table.finish()?;
    Ok(Update::Pulsed(pulses.rounding(rounding)))
}

/// A line of the catalogue of responses.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueEntry {
    /// The word in a spec.
    pub name: &'static str,
    /// q±.
    pub formula: &'static str,
    /// Fields, with defaults.
    pub parameters: &'static str,
}

/// The responses a spec can name.
pub fn catalogue() -> &'static [CatalogueEntry] {
    &[
        CatalogueEntry { name: "constant", formula: "q± = value", parameters: "value = 1, range = none" },
        CatalogueEntry {
            name: "linear",
            formula: "q± = 1 ∓ slope·w/radius",
            parameters: "slope or hardware_condition, radius = 1",
        },
        CatalogueEntry {
            name: "power", formula: "q± = (1 ∓ w/radius)^shape", parameters: "shape, radius = 1"
        },
        CatalogueEntry {
            name: "exponential",
            formula: "q± = (exp(shape(1 ∓ w/radius)) − 1)/(exp(shape) − 1)",
            parameters: "shape, radius = 1",
        },
        CatalogueEntry {
            name: "tanh",
            formula: "q± = gain(1 ∓ slope·tanh((w − center)/width)), regular on the whole line",
            parameters: "slope, gain = 1, width = 1, center = 0",
        },
        CatalogueEntry {
            name: "soft_bounds",
            formula: "q₊ = gain_plus(1 − w/radius_plus), q₋ = gain_minus(1 + w/radius_minus)",
            parameters: "radius_plus, radius_minus, gain_plus = 1, gain_minus = 1",
        },
        CatalogueEntry {
            name: "ceiling",
            formula: "q₊ falls from max to min as cos² over 0 ≤ w ≤ width, q₋(w) = q₊(−w): the hard instance",
            parameters: "min, max = 1, width = 1",
        },
        CatalogueEntry {
            name: "wavy",
            formula: "q± = 1 ∓ amplitude·sin(¾πw/radius)(1 ∓ skew·w/radius): not monotone",
            parameters: "amplitude = 0.6, skew = 0.25, radius = 1",
        },
        CatalogueEntry {
            name: "table",
            formula: "shape-preserving interpolation of measured points",
            parameters: "csv: a file with the columns w,q_plus,q_minus",
        },
        CatalogueEntry {
            name: "formula",
            formula: "two expressions in w",
            parameters: "q_plus, q_minus, range = [lo, hi]",
        },
        CatalogueEntry {
            name: "mixture",
            formula: "fractions of cells with different responses",
            parameters: "parts = [{ fraction, response, … }, …]",
        },
    ]
}
