//! The responses of exact arrays: closed forms whose parameters may vary between cells, tables, formulas, mixtures.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use residuum::cells::{Cells, Mixed, Uniform};
use residuum::population::{self, Distribution, Population, PopulationError};
use residuum::response::{FAMILIES, Family, Formula, Given, ResponseParameter, Tabulated};
use residuum::{Key, Range, ResponseFunction};
use residuum_nn::data::disk::{DATA, read_text};
use serde_json::{Value as Json, json};

use super::device::{DeviceTable, STEP_MODELS};
use super::folders::digest;
use super::node::{Node, SpecError, Value};
use super::section::{
    Declaration, Default, Field, FieldCondition, Optional, Or, Presence, Required, RequiredIf, Section as _,
    Slot, Takes, section,
};
use super::table::{At, Table};
use super::types::{TakesExt as _, number, table, word};

/// The responses a spec can name, with their formulas: the closed forms of the library, and others.
pub(super) fn responses() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = [
        (
            "exp_step",
            "AIHWKIT's exponential step: 1 − amplitude·e^{±rate·z}, z = 2·stretch·w/(max − min) + shift",
        ),
        ("table", "shape-preserving interpolation of measured points"),
        ("formula", "two expressions in w"),
        ("mixture", "fractions of cells with different responses"),
    ];
    FAMILIES.iter().map(|family| (family.name, family.formula)).chain(others)
}

/// The responses that a tile holds as a table of their curve.
pub(super) fn curves() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let own = FAMILIES.iter().map(|family| family.name);
        let own = own.filter(|name| !STEP_MODELS.contains(name) && *name != "exponential");
        own.chain(["table", "formula"]).collect()
    });
    &NAMES
}

/// The responses whose range a spec can confine on any array.
pub(super) fn ranged() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let own = FAMILIES.iter().map(|family| family.name);
        std::iter::once("formula")
            .chain(own.filter(|name| !["constant", "soft_bounds"].contains(name)))
            .collect()
    });
    &NAMES
}

/// The parameters of the closed forms, as fields of `[device]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfFamily;

/// A parameter of one or several closed forms.
struct Shared {
    parameter: &'static ResponseParameter,
    families: Vec<&'static str>,
    /// Whether a tile has its own field for it.
    only_exact: bool,
    /// The default, in TOML notation.
    default: String,
    /// Words for the lack of one.
    instead: String,
}

fn shared() -> &'static [Shared] {
    static SHARED: LazyLock<Vec<Shared>> = LazyLock::new(|| {
        let mut all: Vec<Shared> = Vec::new();
        for family in FAMILIES {
            let only_exact = STEP_MODELS.contains(&family.name);
            for parameter in family.parameters {
                match all.iter_mut().find(|s| s.parameter == parameter && s.only_exact == only_exact) {
                    Some(shared) => shared.families.push(family.name),
                    None => all.push(Shared {
                        parameter,
                        families: vec![family.name],
                        only_exact,
                        default: format!("{:?}", parameter.value),
                        instead: match parameter.given {
                            Given::Or(other) => format!("from `{other}`"),
                            _ => String::new(),
                        },
                    }),
                }
            }
        }
        all
    });
    &SHARED
}

impl<T: Takes<Value = Distribution>> Presence<T> for OfFamily {
    /// By name, in the order of the family; of two of which either is given, the one that is.
    type Output = Vec<(&'static str, Distribution)>;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<Self::Output, SpecError> {
        let Slot { table, .. } = slot;
        let declared = DeviceTable::declaration();
        let mut values = Vec::new();
        let own = (FAMILIES.iter())
            .find(|family| table.node("response").is_some_and(|node| node.is_text(family.name)));
        for parameter in own.map_or(&[][..], |family| family.parameters) {
            let of_it =
                |s: &&'static Shared| s.parameter == parameter && table.applies(declared, &s.conditions());
            let Some(shared) = shared().iter().find(of_it) else { continue };
            let (name, takes) = (parameter.name, self::parameter(parameter.limits));
            let slot = Slot { table, name, takes: &takes, applies: true };
            let value = match parameter.given {
                Given::MayBe => Some(Or(&shared.default).resolve(slot)?),
                Given::MustBe => RequiredIf.resolve(slot)?,
                Given::Or(other) if table.has(name) == table.has(other) => {
                    let (given, path) = (if table.has(name) { "both" } else { "neither" }, table.path(name));
                    return Err(table.error(format!("{path} or {other} must be given, got {given}")));
                }
                Given::Or(_) => Optional(&shared.instead).resolve(slot)?,
            };
            values.extend(value.map(|value| (name, value)));
        }
        Ok(values)
    }

    fn default(&self) -> Default {
        Default::Words("by the response")
    }

    fn fields(&self, _: Field) -> Vec<Field> {
        shared().iter().map(Shared::field).collect()
    }
}

impl Shared {
    fn conditions(&'static self) -> Vec<FieldCondition> {
        let mut conditions = vec![FieldCondition { field: "response", values: &self.families }];
        conditions.extend(self.only_exact.then_some(FieldCondition { field: "array", values: &["exact"] }));
        conditions
    }

    fn field(&'static self) -> Field {
        let ResponseParameter { name, meaning, unit, limits, given, .. } = *self.parameter;
        let (takes, conditions) = (parameter(limits), self.conditions());
        match given {
            Given::MayBe => Field::new(name, &takes, &Or(&self.default), unit, meaning, &conditions),
            Given::MustBe => Field::new(name, &takes, &RequiredIf, unit, meaning, &conditions),
            Given::Or(_) => Field::new(name, &takes, &Optional(&self.instead), unit, meaning, &conditions),
        }
    }
}

section! {
    /// A number for all cells, or a distribution over them.
    pub(crate) struct DistributionTable by kind as "a distribution" {
        /// which distribution; `log_spaced` runs over the index and is not random
        kind: &'static str = word(["normal", "log_normal", "uniform", "log_spaced"]), "–", Required;
        /// over the cells
        mean: Option<f64> = number(), "that of the field", RequiredIf, of kind ["normal"];
        /// over the cells
        median: Option<f64> = number().checked_later(" > 0"), "that of the field", RequiredIf, of kind ["log_normal"];
        /// between cells; of the logarithm for `log_normal`
        deviation: Option<f64> = number().checked_later(" ≥ 0"), "that of the field; none for `log_normal`", RequiredIf,
            of kind ["normal" "log_normal"];
        /// lower end
        lo: Option<f64> = number(), "that of the field", RequiredIf, of kind ["uniform" "log_spaced"];
        /// upper end
        hi: Option<f64> = number().checked_later(" > lo"), "that of the field", RequiredIf, of kind ["uniform" "log_spaced"];
    }
}

/// A parameter of a response: a number for all cells, or a distribution over them. `limits` are for the reference.
pub(super) fn parameter(limits: &'static str) -> impl Takes<Value = Distribution> {
    number()
        .checked_later(limits)
        .map(Distribution::Constant)
        .or(table::<DistributionTable>().then(distribution))
}

fn distribution(fields: &DistributionTable, at: &At<'_>) -> Result<Distribution, SpecError> {
    let table = at.table()?;
    let needed = |value: Option<f64>, name: &str| value.ok_or_else(|| table.missing(name));
    let deviation = || needed(fields.deviation, "deviation");
    let ends = || Ok((needed(fields.lo, "lo")?, needed(fields.hi, "hi")?));
    let distribution = match fields.kind {
        "normal" => Distribution::Normal { mean: needed(fields.mean, "mean")?, deviation: deviation()? },
        "log_normal" => {
            Distribution::LogNormal { median: needed(fields.median, "median")?, deviation: deviation()? }
        }
        "uniform" => ends().map(|(lo, hi)| Distribution::Uniform { lo, hi })?,
        _ => ends().map(|(lo, hi)| Distribution::LogSpaced { lo, hi })?,
    };
    distribution.validate().map_err(|e| table.blame(&e))?;
    Ok(distribution)
}

/// The response of a population.
#[derive(Clone, Debug)]
pub enum ResponseSpec {
    /// A closed form.
    Family {
        /// Which.
        family: &'static Family,
        /// One number for all cells or a distribution over them, by name.
        parameters: Vec<(&'static str, Distribution)>,
        /// A dynamic range smaller than the formula's own.
        range: Option<Range>,
    },
    /// A measured table or a formula in text: the same for all cells.
    Shared(Arc<dyn ResponseFunction>),
    /// Fractions of cells with different responses.
    Mixture(Vec<(f64, Arc<dyn ResponseFunction>)>),
}

impl ResponseSpec {
    /// The response that the fields of a device name.
    pub(super) fn new(response: &str, f: &DeviceTable, at: &Table<'_>) -> Result<Self, SpecError> {
        let spec = match (FAMILIES.into_iter().find(|family| family.name == response), response) {
            (Some(family), _) => {
                let (parameters, range) = (f.parameters.clone(), f.range.or(f.exact_range));
                Ok(Self::Family { family, parameters, range })
            }
            (_, "table") => measured(f, at),
            (_, "formula") => formula(f, at),
            _ => f.parts.clone().map(Self::Mixture).ok_or_else(|| at.missing("parts")),
        }?;
        // Whatever cannot be a device of one cell can be none of many; refuse it while the line is at hand.
        spec.cells(1, Key::new(0)).map_err(|e| blame(at, &e))?;
        Ok(spec)
    }

    /// The cells of an array of `n`.
    ///
    /// # Errors
    /// If a parameter, given or drawn, makes no response.
    pub fn cells(&self, n: usize, key: Key) -> Result<Arc<dyn Cells>, PopulationError> {
        match self {
            Self::Family { family, parameters, range } => {
                (family.cells)(&Population { parameters, n, key, range: *range })
            }
            Self::Shared(response) => Ok(Arc::new(Uniform(Arc::clone(response)))),
            Self::Mixture(parts) => {
                let fractions: Vec<f64> = parts.iter().map(|(fraction, _)| *fraction).collect();
                let part_of = population::assign(n, key.named("part"), &fractions)?;
                let responses = parts.iter().map(|(_, r)| Arc::clone(r)).collect();
                Ok(Arc::new(Mixed::new(responses, part_of)?))
            }
        }
    }

    /// Whether all cells are alike.
    pub fn is_uniform(&self) -> bool {
        match self {
            Self::Family { parameters, .. } => parameters.iter().all(|(_, d)| d.constant().is_some()),
            Self::Shared(_) => true,
            Self::Mixture(parts) => parts.len() == 1,
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
                let centers: Vec<(&'static str, Distribution)> =
                    parameters.iter().map(|(name, d)| (*name, Distribution::Constant(d.center()))).collect();
                let one = Population { parameters: &centers, n: 1, key: Key::new(0), range: *range };
                Arc::new(CellOf((family.cells)(&one)?))
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

fn measured(f: &DeviceTable, at: &Table<'_>) -> Result<ResponseSpec, SpecError> {
    if let Some(rows) = &f.points {
        if at.has("csv") {
            return Err(at.error(format!("{} must not stand beside csv: give one of them", at.path("points"))));
        }
        let column = |i: usize| rows.iter().map(|row| row[i]).collect::<Vec<f64>>();
        let table = Tabulated::new(&column(0), &column(1), &column(2));
        let table = table.map_err(|e| at.error(format!("{}: {e}", at.path("points"))))?;
        return Ok(ResponseSpec::Shared(Arc::new(table)));
    }
    let path = f.csv.as_ref().ok_or_else(|| at.missing("csv"))?;
    let field = at.path("csv");
    let text =
        read_text(path, DATA).map_err(|e| at.error(format!("{field}: cannot read {}: {e}", path.display())))?;
    at.contents("csv", digest(text.as_bytes()));
    let table =
        Tabulated::from_csv(&text).map_err(|e| at.error(format!("{field}: {}: {e}", path.display())))?;
    Ok(ResponseSpec::Shared(Arc::new(table)))
}

fn formula(f: &DeviceTable, at: &Table<'_>) -> Result<ResponseSpec, SpecError> {
    let range = f.range.ok_or_else(|| at.error(format!("{} is missing: give [lo, hi]", at.path("range"))))?;
    let curve = |curve: &Option<String>, name: &str| curve.clone().ok_or_else(|| at.missing(name));
    let formula = Formula::parse(&curve(&f.q_plus, "q_plus")?, &curve(&f.q_minus, "q_minus")?, range)
        // The sentence begins with the name of the curve.
        .map_err(|e| at.error(at.path(&e.to_string())))?;
    Ok(ResponseSpec::Shared(Arc::new(formula)))
}

section! {
    /// Fractions of cells with different responses. The other fields of a part are those of a device, with fixed parameters.
    pub(crate) struct PartTable {
        /// how many cells are like this
        fraction: f64 = number().checked_later(", 0 to 1"), "share of the cells", Required;
    }
}

/// The parts of a mixture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts;

impl Takes for Parts {
    type Value = Vec<(f64, Arc<dyn ResponseFunction>)>;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::List(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Self::Value, SpecError> {
        let Value::List(items) = &at.node.value else { return Err(at.must(&self.noun())) };
        items.iter().enumerate().map(|(i, item)| part(&at.item(i, item))).collect()
    }

    fn noun(&self) -> String {
        "a list of tables".into()
    }

    fn schema(&self) -> Json {
        let fraction = number().schema();
        json!({ "type": "array", "items": { "type": "object", "properties": { "fraction": fraction } } })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![PartTable::declaration]
    }
}

fn part(at: &At<'_>) -> Result<(f64, Arc<dyn ResponseFunction>), SpecError> {
    at.table()?;
    let share = at.node.entries().iter().filter(|(name, _)| name == "fraction").cloned().collect();
    let share = Node { line: at.node.line, value: Value::Table(share) };
    let mut rest = at.node.without(&["fraction"]);
    // A mixture is of exact cells, also where arrays are tiles unless they say otherwise: in a network.
    if let Value::Table(entries) = &mut rest.value
        && !entries.iter().any(|(name, _)| name == "array")
    {
        entries.push(("array".into(), Node { line: at.node.line, value: Value::Text("exact".into()) }));
    }
    let PartTable { fraction } = PartTable::read(&at.with(&share).table()?)?;
    let at = at.with(&rest);
    let table = at.table()?;
    let fields = DeviceTable::read(&table)?;
    if fields.array != Some("exact") {
        return Err(table.error(format!("{} must be \"exact\" in a mixture", table.path("array"))));
    }
    let name = fields.response.ok_or_else(|| table.missing("response"))?;
    let response = ResponseSpec::new(name, &fields, &table)?;
    if !response.is_uniform() {
        let path = table.path("response");
        return Err(table.error(format!("{path}: the parts of a mixture have fixed parameters")));
    }
    Ok((fraction, response.representative().map_err(|e| blame(&table, &e))?))
}

fn blame(at: &Table<'_>, error: &PopulationError) -> SpecError {
    match error {
        PopulationError::Parameter(e) => at.blame(e),
        other => at.error(format!("{}: {other}", at.path("response"))),
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

/// A line of the catalogue of responses.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    /// The word in a spec.
    pub name: &'static str,
    /// q±.
    pub formula: &'static str,
    /// Fields, with defaults.
    pub parameters: String,
}

/// The responses a spec can name.
pub fn catalogue() -> Vec<CatalogueEntry> {
    let parameters = |name: &str| {
        let own = DeviceTable::declaration().fields.iter().filter(|field| {
            let of = |tag: &str| field.conditions.iter().find(|c| c.field == tag);
            of("response").is_some_and(|c| c.values.contains(&name))
                && of("array").is_none_or(|c| c.values.contains(&"exact"))
        });
        let shown = own.map(|field| match field.default {
            Default::Value(value) => format!("{} = {value}", field.name),
            _ => field.name.to_string(),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let entry = |(name, formula)| CatalogueEntry { name, formula, parameters: parameters(name) };
    responses().map(entry).collect()
}
