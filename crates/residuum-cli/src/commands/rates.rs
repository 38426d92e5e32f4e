use residuum_lab::rates::PointRates;
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::spec::Folders;

use super::Context;
use crate::args::RatesArgs;
use crate::terminal;

/// Prints the rates of every point. If the lemma does not apply to a problem, prints the practical rates and then fails.
pub fn rates(context: &Context, options: &RatesArgs) -> anyhow::Result<bool> {
    let source = SpecSource::open(&options.spec)?;
    let folders = Folders::new(&source.base).with_data(data_root(options.settings.data.as_deref()));
    let points = PointRates::of(&source, &folders, options.settings.profile.as_deref(), context.seed)?;
    if context.json {
        let all: Vec<_> = points.iter().map(PointRates::to_json).collect();
        Context::print_json(&if let [one] = all.as_slice() { one.clone() } else { all.into() })?;
    } else {
        let texts: Vec<String> = points.iter().map(PointRates::to_text).collect();
        terminal::print(&texts.join("\n"))?;
    }
    match points.iter().find_map(PointRates::lemma_error) {
        Some(error) => Err(error.clone().into()),
        None => Ok(true),
    }
}
