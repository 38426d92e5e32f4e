//! Looks and points of a chart.

use residuum_lab::figure::{Color, Dash};
use residuum_lab::report::{Form, Series};
use residuum_lab::style::{RuleStyle, drawn_as, rule_style, rule_styles};

#[test]
fn every_series_has_its_own_color_and_every_rule_its_look() {
    let names: Vec<String> = (0..30).map(|i| format!("setting {i}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.extend([
        "Residual Learning",
        "Residual Learning, 2",
        "Digital SGD",
        "Analog SGD",
        "tiki_taka",
        "Tiki-Taka v2",
    ]);
    names.extend(["Residual Learning, 3", "Residual Learning, 4"]);
    let styles = rule_styles(&names);
    assert_eq!(styles[30], RuleStyle { color: Color::RESIDUAL_LEARNING, dash: Dash::Solid });
    assert_eq!(styles[33].color, Color::ANALOG_SGD);
    assert_ne!(styles[30].dash, styles[33].dash);
    for (i, style) in styles.iter().enumerate() {
        assert!(
            !styles[..i].iter().any(|s| s.color == style.color),
            "{} is taken again by {}",
            style.color.css(),
            names[i]
        );
    }
    // The same rule by its kind and by its title, alone and among others.
    assert_eq!(rule_style("tiki_taka"), Some(styles[34]));
    assert_eq!(rule_style("Tiki-Taka, mixing 0.4"), Some(styles[34]));
    assert_ne!(rule_style("tiki_taka_2"), rule_style("tiki_taka"));
    assert_eq!(rule_style("something else"), None);
}

#[test]
fn points_without_a_place_are_left_out_with_their_band() {
    let series = Series {
        label: "s".into(),
        style: RuleStyle { color: Color::BLUE, dash: Dash::Solid },
        xs: vec![0.0, 1.0, 2.0, 3.0],
        ys: vec![1.0, 0.0, f64::NAN, 2.0],
        band: Some([vec![-1.0, 0.0, 0.0, 1.0], vec![2.0, 1.0, 1.0, 3.0]]),
        form: Form::Curve,
    };
    let kept = series.kept(true);
    assert_eq!((kept.xs, kept.ys), (vec![0.0, 3.0], vec![1.0, 2.0]));
    assert_eq!(kept.band, Some([vec![1e-3, 1.0], vec![2.0, 3.0]]));
}

/// RIDER and E-RIDER are no kinds of their own in a spec; what they do decides how they look.
#[test]
fn a_rule_is_drawn_as_what_it_does() {
    let spec = |chopper: Option<&'static str>| {
        move |field: &str| match field {
            "rule.kind" => Some("\"residual_learning_2\""),
            "rule.symmetric_point.track.chopper" => chopper,
            _ => None,
        }
    };
    assert_eq!(drawn_as(spec(None)), Some("residual_learning_2"));
    assert_eq!(drawn_as(spec(Some("0.0"))), Some("rider"));
    assert_eq!(drawn_as(spec(Some("0.1"))), Some("e_rider"));
    assert_eq!(drawn_as(|_| None), None);
    let words = ["residual_learning_2", "rider", "e_rider", "residual_cascade"];
    let looks = words.map(|word| rule_style(word).unwrap());
    for (i, look) in looks.iter().enumerate() {
        assert!(!looks[..i].iter().any(|other| other.color == look.color), "{}", words[i]);
    }
}
