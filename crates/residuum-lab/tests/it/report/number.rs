//! Numbers in words: digits by their error, time, seeds, chance.

use residuum_lab::report::number::{Written, column, duration, probability, ranges, written};

#[test]
fn errors_decide_the_digits() {
    let plain = |mean, error| written(mean, error).plain();
    assert_eq!(plain(97.1349, Some(0.0412)), "97.135 ± 0.041");
    assert_eq!(plain(-0.5, Some(0.25)), "−0.50 ± 0.25");
    assert_eq!(plain(1.2345e-5, Some(4.4e-7)), "(1.234 ± 0.044)×10⁻⁵");
    assert_eq!(plain(1.5e9, None), "1.500×10⁹");
    assert_eq!(plain(12.0, None), "12");
    assert_eq!(plain(0.123456, None), "0.1235");
    assert_eq!(plain(-0.00001, Some(0.01)), "0.000 ± 0.010");
    assert_eq!(plain(f64::NAN, Some(1.0)), "–");
    assert_eq!(plain(3.0, Some(0.0)), "3 ± 0");
    assert_eq!(written(-1.2345e-5, Some(4.4e-7)).latex(), "$(-1.234 \\pm 0.044)\\times 10^{-5}$");
}

#[test]
fn the_numbers_of_a_column_share_their_decimals() {
    let shown = |numbers: &[(f64, Option<f64>)]| -> Vec<String> {
        column(numbers).iter().map(Written::plain).collect()
    };
    assert_eq!(
        shown(&[(97.1349, Some(0.0412)), (11.35, Some(1.2)), (98.0, Some(0.0))]),
        ["97.135 ± 0.041", "11.350 ± 1.200", "98.000 ± 0"]
    );
    assert_eq!(
        shown(&[(1.2e7, None), (4.56e8, None), (0.0, None)]),
        ["0.1200×10⁸", "4.5600×10⁸", "0.0000×10⁸"]
    );
    assert_eq!(
        shown(&[(1_318_712.0, Some(2213.0)), (319_398.0, Some(2237.0))]),
        ["(1.3187 ± 0.0022)×10⁶", "(0.3194 ± 0.0022)×10⁶"]
    );
    assert_eq!(shown(&[(3.0, None), (12.0, None)]), ["3", "12"]);
    assert_eq!(shown(&[(f64::NAN, None), (0.5, Some(0.25))]), ["–", "0.50 ± 0.25"]);
    // Numbers of very different sizes keep their own.
    assert_eq!(shown(&[(2.302, None), (1.5e-9, None)]), ["2.302", "1.500×10⁻⁹"]);
}

#[test]
fn words_for_time_seeds_and_chance() {
    assert_eq!([3.21, 45.0, 150.0, 7300.0].map(duration), ["3.2 s", "45 s", "2 min", "2 h 1 min"]);
    assert_eq!(ranges(&[3, 0, 1, 2, 7, 8, 12]), "0–3, 7, 8, 12");
    assert_eq!([0.00001, 0.00345, 0.07418].map(probability), ["< 0.0001", "0.0034", "0.074"]);
}
