//! Tables of a response: crossings and bounds.

use residuum::response::{Bounds, Tabulated};
use residuum::{Range, ResponseFunction};

#[test]
fn crossing_is_the_nearest_of_several() {
    // The branches cross at 0.5 (between nodes, by symmetry of the data) and on the node −0.25.
    let nodes = [-1.0, -0.25, 0.0, 1.0];
    let plus = [1.0, 1.0, 1.0, 1.0];
    let response = Tabulated::new(&nodes, &plus, &[0.5, 1.0, 1.5, 0.5]).unwrap();
    assert_eq!(response.symmetric_point(), Some(-0.25));
    let lifted = Tabulated::new(&nodes, &plus, &[1.5, 1.4, 1.5, 0.5]).unwrap();
    let crossing = lifted.symmetric_point().unwrap();
    assert!(crossing > 0.0 && lifted.asymmetry(crossing).abs() < 1e-15, "{crossing}");
    assert_eq!(Tabulated::new(&nodes, &plus, &[1.5; 4]).unwrap().symmetric_point(), None);
}

#[test]
fn straight_branches_cross_where_algebra_says() {
    // q₊ = 1.3(1 − w/1.5) and q₋ = 0.8(1 + w/1.2) cross at 0.5/(1.3/1.5 + 0.8/1.2).
    let nodes = [-1.2, -0.3, 0.7, 1.5];
    let plus = nodes.map(|w| 1.3 * (1.0 - w / 1.5));
    let minus = nodes.map(|w: f64| (0.8 * (1.0 + w / 1.2)).max(0.0));
    let response = Tabulated::new(&nodes, &plus, &minus).unwrap();
    let expected = 0.5 / (1.3 / 1.5 + 0.8 / 1.2);
    assert!((response.symmetric_point().unwrap() - expected).abs() < 1e-14);
}

#[test]
fn branches_that_coincide_are_symmetric_at_zero() {
    let same = [0.7, 0.9, 1.1];
    let around = Tabulated::new(&[-1.0, 0.5, 1.0], &same, &same).unwrap();
    assert_eq!(around.symmetric_point(), Some(0.0));
    let above = Tabulated::new(&[0.2, 0.5, 1.0], &same, &same).unwrap();
    assert_eq!(above.symmetric_point(), Some(0.2));
}

#[test]
fn bounds_are_those_of_a_dense_scan() {
    let nodes = [-1.0, -0.4, 0.1, 0.3, 1.0];
    let response = Tabulated::new(&nodes, &[1.9, 1.5, 1.4, 0.4, 0.0], &[0.1, 0.2, 1.0, 1.1, 1.6]).unwrap();
    for over in [response.range(), Range { lo: -0.7, hi: 0.25 }] {
        let (exact, scanned) = (response.bounds(over), Bounds::scan(&response, over));
        assert!((exact.min - scanned.min).abs() < 1e-12 && (exact.max - scanned.max).abs() < 1e-12);
        assert!((exact.lipschitz - scanned.lipschitz).abs() < 1e-6 * exact.lipschitz);
        assert!(exact.lipschitz >= scanned.lipschitz - 1e-12);
    }
    assert_eq!(response.bounds(response.range()).hardware_condition(), f64::INFINITY);
}
