//! Exit codes: 0 done, 1 a check failed, 2 misuse or failure, 130 interrupted.
//!
//! The code depends on the error's type, never on its text.

use std::error::Error;

use residuum_data::fetch::FetchError;
use residuum_lab::progress::Cancelled;
use residuum_lab::reproduce::ReproduceError;
use residuum_lab::run::ProblemRunError;
use residuum_lab::verify::VerifyError;
use thiserror::Error as ErrorKind;

/// The user stopped the work; the text says what is kept and how to continue.
#[derive(Debug, ErrorKind)]
#[error("interrupted; {0}")]
pub struct Interrupted(pub String);

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    CheckFailed,
    Failed,
    Interrupted,
}

impl Exit {
    /// From a command's outcome: whether its checks passed, or the error that stopped it.
    pub fn of(outcome: &anyhow::Result<bool>) -> Self {
        match outcome {
            Ok(true) => Self::Done,
            Ok(false) => Self::CheckFailed,
            Err(error) if error.chain().any(is_interruption) => Self::Interrupted,
            Err(_) => Self::Failed,
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => 0,
            Exit::CheckFailed => 1,
            Exit::Failed => 2,
            Exit::Interrupted => 130,
        }
    }
}

/// The chain skips transparent errors, so they are matched here.
fn is_interruption(error: &(dyn Error + 'static)) -> bool {
    error.is::<Interrupted>()
        || error.is::<Cancelled>()
        || matches!(error.downcast_ref(), Some(ProblemRunError::Cancelled(_)))
        || matches!(error.downcast_ref(), Some(VerifyError::Cancelled(_)))
        || matches!(error.downcast_ref(), Some(ReproduceError::Cancelled(_)))
        || matches!(error.downcast_ref(), Some(FetchError::Interrupted))
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn types_decide_and_words_do_not() {
        let code = |error: anyhow::Error| Exit::of(&Err(error));
        // The word "interrupted" in a file name or a message is not an interruption.
        assert_eq!(code(anyhow!("interrupted.toml: line 1: steps is missing")), Exit::Failed);
        assert_eq!(code(anyhow!("x").context("interrupted; nothing was written")), Exit::Failed);
        let lab: [anyhow::Error; 5] = [
            Cancelled.into(),
            ProblemRunError::from(Cancelled).into(),
            VerifyError::from(Cancelled).into(),
            ReproduceError::from(Cancelled).into(),
            Interrupted("run the same command to continue".into()).into(),
        ];
        for error in lab {
            assert_eq!(code(error), Exit::Interrupted);
        }
        let wrapped: anyhow::Result<bool> = Err(Cancelled).context("while the trials ran");
        assert_eq!(Exit::of(&wrapped), Exit::Interrupted);
        assert_eq!((Exit::of(&Ok(true)), Exit::of(&Ok(false))), (Exit::Done, Exit::CheckFailed));
    }
}
