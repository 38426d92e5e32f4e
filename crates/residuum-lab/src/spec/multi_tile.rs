//! Multi-tile Residual Learning in a spec: the warm start of a cascade, and what follows from the number of states.

use residuum::rule::{Every, WarmStart};

use super::device::Devices;
use super::node::SpecError;
use super::rate::Rate;
use super::rule::{RuleKind, RuleSpec};
use super::section::{Optional, Or, section};
use super::table::{At, Table};
use super::types::{count, number};

section! {
    /// Arrays of a cascade are filled one by one, the main one first: the array that learns transfers straight into it, until the loss
    /// says that it is full. Then the plain schedule begins.
    pub(crate) struct WarmStartTable {
        /// of an epoch; a network has its own
        epoch: Option<u64> = count().at_least(1), "steps", Optional("required with `[problem]`");
        /// arrays, from the main one on, that are full when the loss of an epoch rises
        coarse: u64 = count(), "arrays", Or("4");
        /// by more than this
        rise: f64 = number().checked_later(" ≥ 0"), "loss", Or("1e-4");
        /// epochs that decide of the finer arrays
        window: u64 = count().at_least(1).at_most(64), "epochs", Or("5");
        /// of them, how many must be slow
        slow: u64 = count().at_least(1), "epochs", Or("2");
        /// an epoch is slow if the loss falls by less
        improvement: f64 = number().checked_later(" ≥ 0"), "loss", Or("0.01");
    }
}

/// A warm start, and how long an epoch of a problem is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmStartSpec {
    /// Steps of an epoch; `None` with a network.
    pub epoch: Option<u64>,
    /// When an array is full.
    pub settings: WarmStart,
}

pub(super) fn warm_start(fields: &WarmStartTable, at: &At<'_>) -> Result<WarmStartSpec, SpecError> {
    let WarmStartTable { epoch, coarse, rise, window, slow, improvement } = *fields;
    let settings = WarmStart { coarse, rise, window, slow, improvement };
    match settings.validate() {
        Ok(settings) => Ok(WarmStartSpec { epoch, settings }),
        Err(e) => Err(at.table()?.blame(&e)),
    }
}

/// What a cascade leaves to the number of states of its residual devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByStates {
    /// γ.
    pub mixing: bool,
    /// β of every link.
    pub rates: bool,
    /// The period of every link.
    pub periods: bool,
}

/// Growth of β from one link to the next slower one.
const RATE_GROWTH: f64 = 1.2;

/// β of the fastest link is this for each state: the coarser the pulses, the fewer a transfer may send.
const RATE_BY_STATE: f64 = 0.02;

/// Its largest value, that of 18 states and more.
const LARGEST_RATE: f64 = 0.35;

/// γ of a cascade: 1/√6, the largest for which its theory holds.
const LARGEST_MIXING: f64 = 0.408;

/// Steps between transfers of the fastest link.
const FIRST_PERIOD: u64 = 2;

impl RuleSpec {
    /// Fills in what a cascade leaves to the number of states, n = range/step: β = min(n/50, 0.35)·1.2ᵐ and periods 2·⌊n/2⌋ᵐ, with m = 0 for
    /// the link from the array that learns; and γ = 1/√6, the largest of the theory, whatever n. Periods and growth are the
    /// paper's for MNIST. Its γ = 1/n lets γP reach half a pulse of W only at the very bounds of P, and its rates, which the schedule does not
    /// scale, outlast the array that repairs them: measured in `docs/results/later-rules.md`.
    pub(super) fn follow_states(
        &mut self,
        devices: Option<&Devices>,
        root: &Table<'_>,
    ) -> Result<(), SpecError> {
        let links = self.transfer_rates.len();
        let RuleKind::Residual(residual) = &mut self.kind else { return Ok(()) };
        let ByStates { mixing, rates, periods } = residual.by_states;
        if mixing {
            residual.mixing = LARGEST_MIXING;
            root.defaulted("rule.mixing", format!("{LARGEST_MIXING:?}"));
        }
        if !(periods || rates) {
            return Ok(());
        }
        let states = devices.and_then(|devices| devices.residual.states()).ok_or_else(|| {
            root.error(
                "rule.transfer_rate is missing, and this device has no states to choose it by: give it, or say \
                 array = \"tile\" with states or pulse_step",
            )
        })?;
        if states < 2.0 {
            return Err(root.error(format!(
                "device.states must be at least 2 for a cascade that takes rates and periods from them, got {states}"
            )));
        }
        // m of the link to array n.
        let powers = (0..links).map(|n| (links - 1 - n).cast_signed() as i32);
        if periods {
            let ratio = (states / 2.0).floor().max(2.0);
            let period = |m: i32| (FIRST_PERIOD as f64 * ratio.powi(m)).min(1e15) as u64;
            residual.periods = Some(powers.clone().map(|m| Every::Steps(period(m))).collect());
            let list: Vec<String> = powers.clone().map(|m| period(m).to_string()).collect();
            root.defaulted("rule.periods", format!("[{}]", list.join(", ")));
        }
        if rates {
            let first = (RATE_BY_STATE * states).min(LARGEST_RATE);
            let rates: Vec<f64> = powers.map(|m| first * RATE_GROWTH.powi(m)).collect();
            let list: Vec<String> = rates.iter().map(|rate| format!("{rate:?}")).collect();
            self.transfer_rates = rates.into_iter().map(Rate::Scheduled).collect();
            root.defaulted("rule.transfer_rates", format!("[{}]", list.join(", ")));
        }
        Ok(())
    }
}
