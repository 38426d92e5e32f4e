//! The `residuum` command.

mod memory;

use std::process::ExitCode;

#[global_allocator]
static MEMORY: memory::Memory = memory::Memory;

fn main() -> ExitCode {
    residuum_cli::main(std::env::args_os()).into()
}
