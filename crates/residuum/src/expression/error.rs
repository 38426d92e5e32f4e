//! What can be wrong with a formula.

use strsim::osa_distance;
use thiserror::Error;

/// Why a text is not a formula. Columns count characters from 1.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ExpressionError {
    /// Empty or only blanks.
    #[error("formula must not be empty")]
    Empty,
    /// More text than is accepted.
    #[error("formula must have at most {limit} characters, got {length}")]
    TooLong {
        /// Characters given.
        length: usize,
        /// Characters allowed.
        limit: usize,
    },
    /// Too many levels of parentheses, signs or exponents.
    #[error("formula must nest at most {limit} levels deep, exceeded at column {column}")]
    TooDeep {
        /// Where the limit was passed.
        column: usize,
        /// Levels allowed.
        limit: usize,
    },
    /// A name that is not a variable, constant or function.
    #[error("unknown name \"{name}\" at column {column}{} (known: {})", did_you_mean(suggestion.as_deref()), known.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// Where it starts.
        column: usize,
        /// The known name it resembles.
        suggestion: Option<String>,
        /// Every known name.
        known: Vec<String>,
    },
    /// A symbol where another was expected.
    #[error("unexpected \"{found}\" at column {column}, expected {expected}")]
    Unexpected {
        /// The symbol.
        found: String,
        /// Where it starts.
        column: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// The text ends too early.
    #[error("formula ends at column {column}, expected {expected}")]
    UnexpectedEnd {
        /// The last column.
        column: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// An opening parenthesis without a closing one.
    #[error("parenthesis at column {column} is never closed")]
    Unclosed {
        /// Where it opens.
        column: usize,
    },
    /// A closing parenthesis without an opening one.
    #[error("parenthesis at column {column} closes nothing")]
    Unopened {
        /// Where it stands.
        column: usize,
    },
    /// A function with too few or too many arguments.
    #[error("function \"{function}\" at column {column} must have {expected} argument(s), got {given}")]
    Arguments {
        /// The function.
        function: String,
        /// Where its name starts.
        column: usize,
        /// Arguments it takes.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// A function without its arguments.
    #[error("function \"{function}\" at column {column} must be followed by its arguments in parentheses")]
    NotCalled {
        /// The function.
        function: String,
        /// Where its name starts.
        column: usize,
    },
    /// Arguments after a name that is not a function; often a forgotten `*`.
    #[error("\"{name}\" at column {column} is not a function; write {name}*(...) to multiply")]
    NotAFunction {
        /// The variable or constant.
        name: String,
        /// Where it starts.
        column: usize,
    },
    /// Two comparisons in a row.
    #[error(
        "comparisons must not be chained, got a second one at column {column}; multiply two comparisons instead"
    )]
    Chained {
        /// Where the second one stands.
        column: usize,
    },
    /// A number beyond the range of `f64`.
    #[error("number \"{text}\" at column {column} must be below 1.8e308")]
    NumberTooLarge {
        /// The number as written.
        text: String,
        /// Where it starts.
        column: usize,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!(", did you mean \"{name}\"?"))
}

/// The candidate nearest to `name`, if close enough to be a typo: one edit per four letters.
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (osa_distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(edits, candidate)| 4 * edits <= name.chars().count().max(candidate.chars().count()))
        .min_by_key(|(edits, candidate)| (*edits, candidate.len().abs_diff(name.len())))
        .map(|(_, candidate)| candidate)
}
