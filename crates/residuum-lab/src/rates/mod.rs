//! Rates for every point of a spec. For a problem: those the convergence theorem prescribes, or why there are none, and practical
//! ones. For a network, to which no theorem applies: those of the stationary laws at an assumed curvature, where `tune` begins.

mod network;
mod problem;

use residuum::theory::coefficients::CoefficientError;
use serde_json::{Value as Json, json};
use thiserror::Error;

pub use network::{NetworkRates, RateRow};
pub use problem::RatesReport;

use crate::plan::{Work, plans_of, points};
use crate::source::SpecSource;
use crate::spec::{Document, Folders, SpecError};

/// Why there are no rates.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum RatesError {
    /// The spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A point of it.
    #[error("{}{sentence}", at(point.as_deref()))]
    Point {
        /// Its name; none if there is one point.
        point: Option<String>,
        /// What theory needs.
        sentence: String,
    },
}

fn at(point: Option<&str>) -> String {
    point.map_or_else(String::new, |point| format!("{point}: "))
}

/// The rates of one point.
#[derive(Clone, Debug)]
pub struct PointRates {
    /// Its name; none if there is one point.
    pub point: Option<String>,
    /// What is known of them.
    pub known: KnownRates,
}

/// What theory knows of the rates of a point.
#[derive(Clone, Debug)]
pub enum KnownRates {
    /// A problem with known constants.
    Problem(Box<RatesReport>),
    /// A network.
    Network(NetworkRates),
    /// A rule without analog arrays or without rates: the sentence says which.
    None(String),
}

impl PointRates {
    /// The rates of every point of a spec; `seed` takes the place of its seeds.
    ///
    /// # Errors
    /// The first fault of the spec, or what theory lacks.
    pub fn of(
        source: &SpecSource,
        folders: &Folders,
        profile: Option<&str>,
        seed: Option<u64>,
    ) -> Result<Vec<Self>, RatesError> {
        let all = source.document.points(profile)?;
        let several = all.len() > 1;
        let mut found = Vec::new();
        for (name, node) in all {
            let plans = plans_of(&Document(node.clone()), folders, None, &source.stem)?;
            let Some(plan) = points(&plans).next() else { continue };
            let point = name.or_else(|| Some(plan.name.clone())).filter(|_| several);
            let known = match &plan.work {
                Work::Network(spec) => KnownRates::Network(NetworkRates::new(spec, &node)?),
                Work::Problem(spec) if spec.devices.is_none() && several => {
                    KnownRates::None(format!("{} has no analog arrays to choose rates for", plan.work.rule()))
                }
                Work::Problem(spec) => {
                    let mut spec = (**spec).clone();
                    spec.seeds = seed.map_or(spec.seeds, |seed| vec![seed]);
                    let report = RatesReport::new(&spec);
                    let wrong = |sentence| RatesError::Point { point: point.clone(), sentence };
                    KnownRates::Problem(Box::new(report.map_err(wrong)?))
                }
            };
            found.push(Self { point, known });
        }
        Ok(found)
    }

    /// The condition of the convergence theorem that fails, if it speaks of this point.
    pub fn lemma_error(&self) -> Option<&CoefficientError> {
        if let KnownRates::Problem(report) = &self.known { report.lemma.as_ref().err() } else { None }
    }

    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let name = self.point.as_ref().map_or_else(String::new, |point| format!("{point}\n"));
        let known = match &self.known {
            KnownRates::Problem(report) => report.to_text(),
            KnownRates::Network(report) => report.to_text(),
            KnownRates::None(sentence) => format!("{sentence}\n"),
        };
        name + &known
    }

    /// The report as JSON, schema `residuum.rates/1` for a problem and `residuum.network-rates/1` for a network.
    pub fn to_json(&self) -> Json {
        let mut known = match &self.known {
            KnownRates::Problem(report) => report.to_json(),
            KnownRates::Network(report) => report.to_json(),
            KnownRates::None(sentence) => json!({ "schema": "residuum.rates/1", "error": sentence }),
        };
        if let Some(point) = &self.point {
            known["point"] = json!(point);
        }
        known
    }
}
