//! Rates of a network: what the stationary laws give for its device and its steps, beside what the spec has.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::spec::{Node, SpecError, TrialSpec};
use crate::tune::{Centre, Setting, own_setting, search_space};

/// The rates of a network and its rule.
#[derive(Clone, Debug)]
pub struct NetworkRates {
    /// The kind of its rule.
    pub rule: &'static str,
    /// What the laws say of the device and the steps.
    pub centre: Centre,
    /// Steps after which a weight of W is written again, on the widest tile.
    pub sweep: f64,
    /// One for each rate of the rule.
    pub rates: Vec<RateRow>,
}

/// One rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRow {
    /// Dotted path.
    pub field: String,
    /// What the laws give.
    pub law: Setting,
    /// What the spec has; none if it is not a number.
    pub own: Option<f64>,
    /// Where `tune` looks for it: from, to.
    pub searched: [Setting; 2],
}

impl NetworkRates {
    pub(super) fn new(spec: &TrialSpec, node: &Node) -> Result<Self, SpecError> {
        let (centre, space) = search_space(spec, node)?;
        let space = space.rates();
        let places = |place: f64| space.at(&vec![place; space.fields.len()]);
        let (low, law, high) = (places(0.0), places(0.5), places(1.0));
        let row = |(i, field): (usize, &str)| RateRow {
            field: field.into(),
            law: law[i].clone(),
            own: own_setting(spec, node, field).and_then(|own| own.number()),
            searched: [low[i].clone(), high[i].clone()],
        };
        let rates = space.fields.iter().map(|tunable| tunable.field.as_str()).enumerate().map(row).collect();
        Ok(Self { rule: spec.rule.name, centre, sweep: space.sweep(&law), rates })
    }

    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let c = &self.centre;
        let mut text = format!("rule      {}, K = {} steps", self.rule, c.steps);
        if c.granularity > 0.0 {
            let _ = write!(text, ", a pulse moves a weight by {:.4}", c.granularity);
        }
        if self.sweep > 1.0 {
            let _ = write!(text, ", a weight of W is written every {} steps", self.sweep);
        }
        text.push('\n');
        for RateRow { field, law, own, searched: [low, high] } in &self.rates {
            let own = own.map_or_else(String::new, |own| format!("; the spec has {own}"));
            let _ = writeln!(text, "laws      {field} = {law} (searched from {low} to {high}){own}");
        }
        let origin = if c.from_laws || self.rule == "digital" {
            "from the stationary laws at an assumed curvature of 1 to 4 and gradient noise of 0.1"
        } else {
            "a guess: the device has no symmetric point or no finite slope, so the stationary laws do not apply"
        };
        let _ = writeln!(text, "          ({origin}: where `residuum tune` begins, not a guarantee)");
        text
    }

    /// The report as JSON, schema `residuum.network-rates/1`.
    pub fn to_json(&self) -> Json {
        let c = &self.centre;
        let rate = |row: &RateRow| {
            let [low, high] = row.searched.each_ref().map(Setting::to_json);
            json!({ "field": row.field, "law": row.law.to_json(), "own": row.own, "low": low, "high": high })
        };
        json!({
            "schema": "residuum.network-rates/1",
            "version": env!("CARGO_PKG_VERSION"),
            "rule": self.rule, "steps": c.steps, "granularity": c.granularity, "columns": c.columns,
            "sweep": self.sweep, "from_laws": c.from_laws,
            "rates": self.rates.iter().map(rate).collect::<Vec<_>>(),
        })
    }
}
