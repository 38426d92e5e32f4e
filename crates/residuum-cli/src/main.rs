//! The `residuum` command: parsing, progress and exit codes. The work is done in the library crates.

mod args;
#[cfg(test)]
mod book;
mod commands;
mod exit;
mod live;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use exit::Exit;

fn main() -> ExitCode {
    let outcome = run(&Arguments::parse());
    if let Err(error) = &outcome {
        terminal::report_error(error);
    }
    Exit::of(&outcome).into()
}

fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let context = commands::Context::new(&arguments.common)?;
    match &arguments.command {
        None => commands::run::main_job(&context),
        Some(Command::Run(options)) => commands::run::run(&context, options),
        Some(Command::Check(options)) => commands::check::check(&context, options),
        Some(Command::Explain(options)) => commands::explain::explain(&context, options),
        Some(Command::Schema(_)) => commands::schema::schema(),
        Some(Command::Runs(options)) => commands::runs::runs(&context, options),
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
