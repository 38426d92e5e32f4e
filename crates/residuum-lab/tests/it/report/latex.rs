//! Text in LaTeX stands for itself.

use residuum_lab::testing::report::escape;

#[test]
fn everything_stands_for_itself() {
    assert_eq!(
        escape("a_b & 5 % of {x}^2\\"),
        "a\\_b \\& 5 \\% of \\{x\\}\\textasciicircum{}2\\textbackslash{}"
    );
    assert_eq!(escape("κ₂ ≤ 3 – W̄ é 中"), "$\\kappa$${}_2$ $\\le$ 3 -- $\\bar{W}$ é {[}U+4E2D]");
}
