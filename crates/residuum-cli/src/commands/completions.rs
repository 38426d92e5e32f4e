use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Arguments, CompletionsArgs};
use crate::terminal;

pub fn completions(options: &CompletionsArgs) -> anyhow::Result<bool> {
    terminal::print(&script(options.shell)?)?;
    Ok(true)
}

fn script(shell: Shell) -> anyhow::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "residuum", &mut script);
    Ok(String::from_utf8(script)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::process::{Command, Stdio};

    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell).unwrap();
            for command in Arguments::command().get_subcommands() {
                assert!(
                    script.contains(command.get_name()),
                    "{shell}: {} is not completed",
                    command.get_name()
                );
            }
            assert!(script.contains("variant"), "{shell}: options are not completed");
        }
    }

    /// Whether a shell accepts a script; `None` where there is no such shell.
    fn accepts(shell: Shell, script: &str) -> Option<bool> {
        let mut child = Command::new(shell.to_string())
            .arg(if shell == Shell::Fish { "--no-execute" } else { "-n" })
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        Some(child.wait().unwrap().success())
    }

    #[test]
    fn shells_that_are_here_accept_their_script() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let whole = script(shell).unwrap();
            assert_ne!(accepts(shell, &whole), Some(false), "{shell} refuses its completions");
            let broken = format!("{whole}\nif [ x; then (\n");
            assert_ne!(accepts(shell, &broken), Some(true), "{shell} accepts anything");
        }
    }
}
