//! The `residuum` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    residuum_cli::main(std::env::args_os()).into()
}
