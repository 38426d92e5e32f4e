//! Monotone interpolation against scipy, and its laws.

use proptest::prelude::*;
use residuum::interpolate::Pchip;
use residuum::numeric::integrate;

const NODES: [f64; 7] = [-1.0, -0.6, -0.5, 0.0, 0.3, 0.35, 1.0];
const VALUES: [f64; 7] = [1.7, 1.5, 1.1, 1.2, 0.4, 0.4, 0.1];

fn curve() -> Pchip {
    Pchip::new(&NODES, &VALUES).expect("valid input")
}

#[test]
fn values_slopes_and_integral_agree_with_scipy() {
    // scipy 1.17.1: p = PchipInterpolator(NODES, VALUES); rows are x, p(x), p.derivative()(x).
    let table = [
        (-1.0, 1.7, 0.0),
        (-0.9, 1.688486842105263, -0.23355263157894726),
        (-0.7, 1.5904605263157894, -0.7598684210526315),
        (-0.55, 1.2868421052631582, -5.736842105263158),
        (-0.3, 1.1352000000000002, 0.2879999999999996),
        (-0.1, 1.1896, 0.19199999999999962),
        (0.1, 0.9925925925925925, -3.5555555555555554),
        (0.32, 0.4, 0.0),
        (0.5, 0.3831458482346056, -0.2229663827296963),
        (0.9, 0.18284673905975685, -0.7660446062812929),
    ];
    for (x, value, slope) in table {
        assert!((curve().value(x) - value).abs() < 1e-15, "value at {x}");
        assert!((curve().derivative(x) - slope).abs() < 2e-14, "slope at {x}");
    }
    // p.integrate(-0.8, 0.7)
    assert!((curve().integral(-0.8, 0.7) - 1.4106918774804558).abs() < 1e-15);
}

#[test]
fn the_integral_matches_quadrature_and_is_additive() {
    for (a, b) in [(-1.0, 1.0), (-0.55, -0.52), (0.9, -0.2), (0.3, 0.3)] {
        let expected = integrate(|x| curve().value(x), a, b, 1e-14);
        assert!((curve().integral(a, b) - expected).abs() < 1e-13, "from {a} to {b}");
    }
    // No cancellation on a short interval: relative accuracy is kept.
    let short = curve().integral(0.5, 0.5 + 2f64.powi(-40));
    assert!((short / (curve().value(0.5) * 2f64.powi(-40)) - 1.0).abs() < 1e-11);
}

#[test]
fn linear_data_are_reproduced() {
    let line = |x: f64| 0.25 - 1.5 * x;
    let nodes = [-1.0, -0.5, 0.25, 0.375, 2.0];
    for count in 2..=nodes.len() {
        let curve = Pchip::new(&nodes[..count], &nodes.map(line)[..count]).expect("valid input");
        for i in 0..=100 {
            let x = nodes[0] + (nodes[count - 1] - nodes[0]) * f64::from(i) / 100.0;
            assert!((curve.value(x) - line(x)).abs() <= 8.0 * f64::EPSILON, "at {x}");
            assert!((curve.derivative(x) + 1.5).abs() <= 16.0 * f64::EPSILON, "at {x}");
        }
        assert!((curve.lipschitz(-1.0, nodes[count - 1]) - 1.5).abs() <= 16.0 * f64::EPSILON);
    }
}

#[test]
fn extremes_and_lipschitz_constant_bound_a_dense_sample_tightly() {
    for (a, b) in [(-1.0, 1.0), (-0.58, -0.1), (0.05, 0.1), (0.31, 0.33)] {
        let curve = curve();
        let (minimum, maximum) = (curve.minimum(a, b), curve.maximum(b, a));
        let steepest = curve.lipschitz(a, b);
        let (mut least, mut most, mut steep) = (f64::INFINITY, f64::NEG_INFINITY, 0f64);
        for i in 0..=20_000 {
            let x = a + (b - a) * f64::from(i) / 20_000.0;
            least = least.min(curve.value(x));
            most = most.max(curve.value(x));
            steep = steep.max(curve.derivative(x).abs());
        }
        assert!(minimum <= least && least - minimum < 1e-6, "{minimum} against {least}");
        assert!(maximum >= most && maximum - most < 1e-6, "{maximum} against {most}");
        assert!(steepest >= steep - 1e-12 && steepest - steep < 1e-3, "{steepest} against {steep}");
    }
}

#[test]
fn outside_the_nodes_the_ends_continue() {
    assert!(curve().contains(-1.0) && curve().contains(1.0) && curve().contains(0.2));
    assert!(!curve().contains(1.0 + 1e-12) && !curve().contains(f64::NAN));
    assert_eq!((curve().value(-3.0), curve().value(5.0)), (1.7, 0.1));
    assert!(curve().value(f64::NAN).is_nan());
    assert_eq!(curve().nodes(), NODES);
}

#[test]
fn bad_tables_are_refused_with_index_and_value() {
    let cases: [(&[f64], &[f64], &str); 6] = [
        (&[0.0], &[0.0, 1.0], "values must have one entry per node, got 2 values for 1 nodes"),
        (&[0.0], &[1.0], "nodes must have at least 2 entries, got 1"),
        (&[0.0, f64::INFINITY], &[0.0, 1.0], "nodes must be finite, got inf at index 1"),
        (&[0.0, 1.0], &[f64::NAN, 1.0], "values must be finite, got NaN at index 0"),
        (&[0.0, 0.5, 0.5], &[0.0, 1.0, 2.0], "nodes must be strictly increasing, got 0.5 after 0.5 at index 2"),
        (
            &[0.0, 1e-300, 1.0],
            &[0.0, 1e10, 2.0],
            "values must not jump between nodes, got an infinite slope or width before index 1",
        ),
    ];
    for (nodes, values, message) in cases {
        assert_eq!(Pchip::new(nodes, values).expect_err("refused input").to_string(), message);
    }
}

fn tables() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((0.01..1.0f64, -1.0..1.0f64), 2..12).prop_map(|steps| {
        let mut x = -1.0;
        let nodes = steps.iter().map(|(width, _)| {
            x += width;
            x
        });
        (nodes.collect(), steps.iter().map(|&(_, value)| value).collect())
    })
}

proptest! {
    #[test]
    fn nodes_are_met_exactly((nodes, values) in tables()) {
        let curve = Pchip::new(&nodes, &values).expect("valid input");
        for (x, value) in nodes.iter().zip(values) {
            prop_assert_eq!(curve.value(*x), value);
        }
    }

    #[test]
    fn every_piece_is_monotone((nodes, values) in tables()) {
        let curve = Pchip::new(&nodes, &values).expect("valid input");
        for (x, y) in nodes.windows(2).zip(values.windows(2)) {
            let direction = (y[1] - y[0]).signum();
            let mut previous = y[0];
            for i in 1..=50 {
                // Rounding must not carry the last point into the next piece.
                let at = x[1].min(x[0] + (x[1] - x[0]) * f64::from(i) / 50.0);
                let value = curve.value(at);
                prop_assert!(direction * (value - previous) >= -1e-15);
                prop_assert!((value - y[0]) * (value - y[1]) <= 0.0);
                previous = value;
            }
        }
    }

    #[test]
    fn the_derivative_is_the_central_difference((nodes, values) in tables(), share in 0.0..1.0f64) {
        let curve = Pchip::new(&nodes, &values).expect("valid input");
        for pair in nodes.windows(2) {
            let h = 1e-5 * (pair[1] - pair[0]);
            let x = pair[0] + 2.0 * h + share * (pair[1] - pair[0] - 4.0 * h);
            let difference = (curve.value(x + h) - curve.value(x - h)) / (2.0 * h);
            let scale = 2.0 / (pair[1] - pair[0]);
            prop_assert!((curve.derivative(x) - difference).abs() < 1e-8 * scale);
        }
    }
}
