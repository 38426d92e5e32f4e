//! Formulas of a response: crossings, and what is refused.

use residuum::response::Formula;
use residuum::{Range, ResponseFunction};

const UNIT: Range = Range { lo: -1.0, hi: 1.0 };

fn message(q_plus: &str, q_minus: &str, range: Range) -> String {
    Formula::parse(q_plus, q_minus, range).expect_err(q_plus).to_string()
}

#[test]
fn errors_say_which_branch_where_and_what() {
    assert!(message("1 - w", "1 + v", UNIT).starts_with("q_minus: unknown name \"v\""));
    let dip = message("1", "(w - 0.3333)^2 - 0.0000001", UNIT);
    assert!(dip.starts_with("q_minus must be positive inside [-1, 1]"), "{dip}");
    assert!(dip.contains("q_minus(0.3333"), "{dip}");
    assert_eq!(
        message("1 - w", "0.5 + w", UNIT),
        "q_minus must be positive inside [-1, 1] (0 is allowed at its very ends), but q_minus(-1) = -0.5"
    );
    assert!(message("1/w^2", "1", UNIT).contains("q_plus(0) = inf"));
    assert!(message("sqrt(0.5 - w)", "1", UNIT).contains("NaN"));
    assert_eq!(
        message("1 - w^2", "1 - w^2", UNIT),
        "q_plus and q_minus must not both be 0, got 0 and 0 at w = -1"
    );
    let vanishing = message("exp(-w)", "1", Range::ALL);
    assert!(vanishing.starts_with("q_plus must be"), "{vanishing}");
}

#[test]
fn symmetric_point_is_the_nearest_crossing() {
    let at = |plus: &str, minus: &str, range| Formula::parse(plus, minus, range).unwrap().symmetric_point();
    assert_eq!(at("1", "1 + 0.1*w", UNIT), Some(0.0));
    let two = at("1", "1 + 0.2*(w - 0.5)*(w + 0.25)", UNIT).unwrap();
    assert!((two + 0.25).abs() < 1e-14, "{two}");
    assert_eq!(at("1", "1.5", UNIT), None);
    assert_eq!(at("2 + w", "2 + w", Range { lo: 0.5, hi: 2.0 }), Some(0.5));
    assert_eq!(at("1 - 0.5*tanh(w - 300)", "1 + 0.5*tanh(w - 300)", Range::ALL), Some(300.0));
}
