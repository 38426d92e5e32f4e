use std::sync::Arc;

use crate::cells::Cells;
use crate::population::{Population, PopulationError};

/// A closed form with its parameters by name: what specs, their reference and the tests of laws know of it.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The word in a spec.
    pub name: &'static str,
    /// q±, in one line.
    pub formula: &'static str,
    /// In the order in which `cells` has their values.
    pub parameters: &'static [ResponseParameter],
    /// Makes the cells: `|p| p.build(|x| Power::new(x[0], x[1]))`.
    pub cells: fn(&Population<'_>) -> Result<Arc<dyn Cells>, PopulationError>,
}

/// A parameter of a [`Family`], with all that its field in a spec says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseParameter {
    /// Its name in a spec, and that of its draws.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Unit, or `–`.
    pub unit: &'static str,
    /// Its limits, in words that follow "number".
    pub limits: &'static str,
    /// Whether it must be given.
    pub given: Given,
    /// The default; where there is none, a value that makes sense.
    pub value: f64,
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// No: it has a default.
    MayBe,
    /// Yes.
    MustBe,
    /// Either this one or the other one of this name.
    Or(&'static str),
}

impl ResponseParameter {
    /// The exponent of a power or of an exponential.
    pub(crate) const SHAPE: Self = Self {
        name: "shape",
        meaning: "the exponent",
        unit: "–",
        limits: " > 0",
        given: Given::MustBe,
        value: 1.0,
    };

    /// τ.
    pub(crate) const RADIUS: Self = Self {
        name: "radius",
        meaning: "τ: weights live in [−τ, τ]",
        unit: "weight",
        limits: " > 0",
        given: Given::MayBe,
        value: 1.0,
    };

    /// One without unit and limits, with a default.
    pub(crate) const fn new(name: &'static str, meaning: &'static str, value: f64) -> Self {
        Self { name, meaning, unit: "–", limits: "", given: Given::MayBe, value }
    }

    /// With limits in words: ` > 0`.
    pub(crate) const fn limits(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }

    /// With the unit of a weight.
    pub(crate) const fn weight(self) -> Self {
        Self { unit: "weight", ..self }
    }

    /// That must be given.
    pub(crate) const fn required(self) -> Self {
        Self { given: Given::MustBe, ..self }
    }

    /// That must be given unless another one is.
    pub(crate) const fn or(self, other: &'static str) -> Self {
        Self { given: Given::Or(other), ..self }
    }
}
