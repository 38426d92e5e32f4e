//! A run as an array of Slurm jobs that share a store.

use std::fmt::Write as _;
use std::path::Path;

use residuum_lab::plan::Plan;

use super::Context;
use crate::args::RunArgs;

/// Most jobs of an array that was not given a size.
const MOST_TASKS: usize = 100;
/// Seconds before the end of its time at which a job is told to write its checkpoints.
const NOTICE: u32 = 60;

/// The script for `sbatch`. A job that is requeued after a lost node or preemption continues from its checkpoints.
pub fn script(context: &Context, options: &RunArgs, plans: &[Plan], store: &Path, tasks: usize) -> String {
    let trials = plans.len();
    let tasks = if tasks == 0 { trials.min(MOST_TASKS) } else { tasks.min(trials) };
    let mut command = vec!["residuum".to_string(), "run".into(), quoted(options.spec.as_deref().unwrap_or(""))];
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            command.extend([format!("--{name}"), quoted(&value)]);
        }
    };
    for variant in &options.variant {
        add("variant", Some(variant.clone()));
    }
    add("profile", options.settings.profile.clone());
    add("data", options.settings.data.as_ref().map(|path| path.display().to_string()));
    add("seed", context.seed.map(|seed| seed.to_string()));
    add("jobs", options.jobs.map(|jobs| jobs.to_string()));
    add("out", Some(store.display().to_string()));
    let name = plans.first().map_or("residuum", |plan| plan.experiment.as_str());
    let mut text = String::from("#!/bin/bash\n");
    for (option, value) in [
        ("job-name", name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "_")),
        ("array", format!("0-{}", tasks - 1)),
        ("cpus-per-task", context.threads.to_string()),
        ("output", "%x-%A_%a.log".into()),
        ("signal", format!("B:INT@{NOTICE}")),
    ] {
        let _ = writeln!(text, "#SBATCH --{option}={value}");
    }
    let _ = writeln!(text, "#SBATCH --requeue");
    let _ = writeln!(
        text,
        "# {trials} trials in {tasks} jobs; the folder of the store must be one that all nodes see."
    );
    // In the place of the shell, so that the signal reaches it.
    let _ = writeln!(
        text,
        "exec {} --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --threads \"$SLURM_CPUS_PER_TASK\" --quiet",
        command.join(" ")
    );
    text
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("runs/a-b_1.toml"), "runs/a-b_1.toml");
        assert_eq!(quoted("*-analog"), "'*-analog'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
