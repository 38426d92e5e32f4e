//! Numbers and lines of the report.

use residuum_claims::testing::{number, wrap};

#[test]
fn numbers_are_short() {
    let cases =
        [(-0.0, "0"), (2.0, "2"), (0.46042, "0.46042"), (-123.4567891, "-123.457"), (1.5e-7, "1.500e-7")];
    for (x, text) in cases {
        assert_eq!(number(x), text);
    }
}

#[test]
fn wrapping_keeps_every_word_and_the_width() {
    let text = "a sentence with several words of moderate length";
    let lines = wrap(text, 16);
    assert_eq!(lines.join(" "), text);
    assert!(lines.len() > 2 && lines.iter().all(|l| l.chars().count() <= 16), "{lines:?}");
}
