use anyhow::anyhow;
use residuum_lab::rates::RatesReport;

use super::{Context, read_spec};
use crate::args::RatesArgs;
use crate::terminal;

/// Prints the rates from theory. If the lemma does not apply, prints the practical rates and then fails.
pub fn rates(context: &Context, options: &RatesArgs) -> anyhow::Result<bool> {
    let (spec, _) = read_spec(&options.spec, context.seed)?;
    let report = RatesReport::new(&spec).map_err(|e| anyhow!(e))?;
    if context.json {
        Context::print_json(&report.to_json())?;
    } else {
        terminal::print(&report.to_text())?;
    }
    report.lemma.map(|_| true).map_err(anyhow::Error::from)
}
