//! The name that was meant.

use residuum::testing::expression::closest;
use strsim::osa_distance;

#[test]
fn edit_distance_counts_each_kind_of_slip_once() {
    for (from, to, edits) in
        [("tanh", "tanh", 0), ("tahn", "tanh", 1), ("sqr", "sqrt", 1), ("coss", "cos", 1), ("", "abs", 3)]
    {
        assert_eq!(osa_distance(from, to), edits, "{from} to {to}");
        assert_eq!(osa_distance(to, from), edits, "{to} to {from}");
    }
}

#[test]
fn short_names_need_an_exact_match_up_to_case() {
    let names = ["tan", "w", "sqrt"];
    assert_eq!(closest("tau", names.into_iter()), None);
    assert_eq!(closest("W", names.into_iter()), Some("w"));
    assert_eq!(closest("Sqr", names.into_iter()), Some("sqrt"));
}
