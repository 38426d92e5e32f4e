//! The `residuum` command: parsing, progress and exit codes. The work is done in the library crates.
//!
//! It is a library so that the Python package carries the same command.

mod args;
#[cfg(test)]
mod book;
mod commands;
mod exit;
mod live;
mod terminal;

use std::ffi::OsString;

use clap::Parser;

use args::{Arguments, Command};
use exit::Exit;

pub use live::Live;
pub use terminal::{Bar, sentence};

/// The commit the program was built from, if known.
pub const COMMIT: Option<&str> = option_env!("RESIDUUM_COMMIT");

/// Runs the command with these words, its own name first, and returns its exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(asked) => {
            // Help and versions too arrive as errors. If the terminal fails here, there is nowhere to report it.
            let _ = asked.print();
            return asked.exit_code() as u8;
        }
    };
    let outcome = run(&arguments);
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
        Some(Command::Tune(options)) => commands::tune::tune(&context, options),
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
