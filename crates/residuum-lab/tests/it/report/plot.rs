//! Colours and points of a chart.

use residuum_lab::figure::Color;
use residuum_lab::report::Series;
use residuum_lab::testing::report::colors;

#[test]
fn every_series_has_its_own_color() {
    let names: Vec<String> = (0..30).map(|i| format!("rule {i}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.extend(["Residual Learning", "Residual Learning, 2", "Digital SGD", "Analog SGD"]);
    let colors = colors(&names);
    assert_eq!(colors[30], Color::RESIDUAL_LEARNING);
    assert_eq!(colors[33], Color::ANALOG_SGD);
    for (i, color) in colors.iter().enumerate() {
        assert!(!colors[..i].contains(color), "{} is taken again by {}", color.css(), names[i]);
    }
}

#[test]
fn points_without_a_place_are_left_out_with_their_band() {
    let series = Series {
        label: "s".into(),
        color: Color::BLUE,
        xs: vec![0.0, 1.0, 2.0, 3.0],
        ys: vec![1.0, 0.0, f64::NAN, 2.0],
        band: Some([vec![-1.0, 0.0, 0.0, 1.0], vec![2.0, 1.0, 1.0, 3.0]]),
        filled: false,
    };
    let kept = series.kept(true);
    assert_eq!((kept.xs, kept.ys), (vec![0.0, 3.0], vec![1.0, 2.0]));
    assert_eq!(kept.band, Some([vec![1e-3, 1.0], vec![2.0, 3.0]]));
}
