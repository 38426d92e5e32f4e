use residuum_lab::explain::Explanation;
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::sweep::default_jobs;

use super::{Context, plans};
use crate::args::ExplainArgs;
use crate::terminal;

pub fn explain(context: &Context, options: &ExplainArgs) -> anyhow::Result<bool> {
    let plans = plans(context, &SpecSource::open(&options.spec)?, &options.settings)?;
    let jobs = options.jobs.unwrap_or_else(|| default_jobs(&plans, context.threads));
    let explanation = Explanation::new(&plans, &data_root(options.settings.data.as_deref()), jobs);
    if context.json {
        Context::print_json(&explanation.to_json())?;
    } else {
        terminal::print(&explanation.to_text())?;
    }
    Ok(true)
}
