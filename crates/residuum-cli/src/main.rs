//! The `residuum` command: parsing, progress and exit codes. What it does is in the library crates.

mod args;
#[cfg(test)]
mod book;
mod commands;
mod sweep_bar;
mod terminal;
mod training_bar;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

/// 0 done, 1 a check failed, 2 misuse or failure, 130 interrupted.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            let interrupted = error.chain().any(|e| e.to_string().starts_with("interrupted"));
            terminal::report_error(&error);
            ExitCode::from(if interrupted { 130 } else { 2 })
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let context = commands::Context::new(&arguments.common)?;
    match &arguments.command {
        None => commands::train::main_job(&context),
        Some(Command::Run(options)) => commands::run::run(&context, options),
        Some(Command::Check(options)) => commands::check::check(&context, options),
        Some(Command::Explain(options)) => commands::explain::explain(&context, options),
        Some(Command::Sweep(options)) => commands::sweep::sweep(&context, options),
        Some(Command::Runs(options)) => commands::runs::runs(&context, options),
        Some(Command::Train(options)) => commands::train::train(&context, options),
        Some(Command::Eval(options)) => commands::eval::eval(&context, options),
        Some(Command::Export(options)) => commands::export::export(&context, options),
        Some(Command::Convert(options)) => commands::convert::convert(&context, options),
        Some(Command::Rates(options)) => commands::rates::rates(&context, options),
        Some(Command::Device(options)) => commands::device::device(&context, options),
        Some(Command::Verify(options)) => commands::verify::verify(&context, options),
        Some(Command::Reproduce(options)) => commands::reproduce::reproduce(&context, options),
        Some(Command::Report(options)) => commands::report::report(&context, options),
        Some(Command::Compare(options)) => commands::compare::compare(&context, options),
        Some(Command::Data(options)) => commands::data::data(&context, options),
        Some(Command::Completions(options)) => commands::completions::completions(options),
        Some(Command::Man(_)) => commands::man::man(&context),
    }
}
