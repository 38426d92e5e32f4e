use std::path::Path;

use residuum_lab::reproduce::{NAMES, Options, Profile, Reproduction, reproduce as reproduce_figure};
use serde_json::json;

use super::Context;
use crate::args::ReproduceOptions;
use crate::terminal;

/// Where figures go unless the user says otherwise.
const DEFAULT_OUT: &str = "residuum-out";

pub fn reproduce(context: &Context, options: &ReproduceOptions) -> anyhow::Result<bool> {
    let profile = if options.profile == "quick" { Profile::Quick } else { Profile::Full };
    let names: Vec<&str> = if options.names.iter().any(|n| n == "all") {
        NAMES.to_vec()
    } else {
        options.names.iter().map(String::as_str).collect()
    };
    residuum_lab::reproduce::check_names(&names)?;
    let mut documents = Vec::new();
    for name in names {
        let result = figure(context, name, profile)?;
        let files = result.save(out(context))?;
        if context.json {
            documents.push(result.to_json());
        } else {
            terminal::print(&result.to_text())?;
            let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
            terminal::print(&format!("\nwritten: {}\n\n", files.join(", ")))?;
        }
    }
    if context.json {
        Context::print_json(&json!({ "schema": "residuum.reproduce/1", "figures": documents }))?;
    }
    Ok(true)
}

fn figure(context: &Context, name: &str, profile: Profile) -> anyhow::Result<Reproduction> {
    let options = Options { seed: context.seed.unwrap_or(0), replicas: None, profile };
    Ok(reproduce_figure(name, &options, &context.bar)?)
}

fn out(context: &Context) -> &Path {
    context.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT))
}
