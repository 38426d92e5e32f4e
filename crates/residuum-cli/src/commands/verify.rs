use std::fmt::Write as _;

use residuum_lab::files::write_atomic;
use residuum_lab::verify::{VerifyOptions, claims, verify as verify_claims};

use super::Context;
use crate::args::VerifyArgs;
use crate::terminal;

/// Width of the table; fits a page and most terminals.
const WIDTH: usize = 120;

pub fn verify(context: &Context, options: &VerifyArgs) -> anyhow::Result<bool> {
    if options.list {
        let mut text = String::new();
        for claim in claims() {
            let _ = writeln!(text, "{:<28} {}", claim.id, claim.title);
        }
        terminal::print(&text)?;
        return Ok(true);
    }
    let settings = VerifyOptions { seed: context.seed.unwrap_or(0), quick: options.quick };
    let report = verify_claims(&options.claims, &settings, &context.bar)?;
    let json = serde_json::to_string_pretty(&report.to_json())?;
    if let Some(dir) = &context.out {
        write_atomic(dir.join("verify.json"), json.as_bytes())?;
        write_atomic(dir.join("verify.txt"), report.to_text(WIDTH).as_bytes())?;
    }
    terminal::print(&if context.json { format!("{json}\n") } else { report.to_text(WIDTH) })?;
    Ok(report.passed())
}
