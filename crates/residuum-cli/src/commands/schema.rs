use super::Context;

pub fn schema() -> anyhow::Result<bool> {
    Context::print_json(&residuum_lab::spec::schema())?;
    Ok(true)
}
