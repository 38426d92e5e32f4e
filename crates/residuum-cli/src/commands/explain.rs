use residuum_lab::explain::Explanation;

use super::Context;
use super::spec_file::SpecFile;
use super::train::data_root;
use crate::args::ExplainOptions;
use crate::terminal;

pub fn explain(context: &Context, options: &ExplainOptions) -> anyhow::Result<bool> {
    let plans = SpecFile::open(&options.spec)?.plans(context, &options.settings)?;
    let explanation = Explanation::new(&plans, &data_root(options.settings.data.as_deref()));
    if context.json {
        Context::print_json(&explanation.to_json())?;
    } else {
        terminal::print(&explanation.to_text())?;
    }
    Ok(true)
}
