//! Every response against its golden numbers, the closed forms, and the laws of the trait.

mod breaks;
mod formula;
mod s_curve;
mod scan;
mod table;
mod tabulated;

use super::laws;

use laws::check_laws;
use proptest::prelude::*;
use residuum::cells::Confined;
use residuum::population::{Distribution, Population};
use residuum::response::{
    Ceiling, Constant, Exponential, FAMILIES, Formula, Given, Linear, Power, ResponseParameter, SoftBounds,
    Tabulated, Tanh, Wavy,
};
use residuum::{Key, Range, ResponseFunction};
use serde_json::Value;

type Response = Box<dyn ResponseFunction>;

fn close(what: &str, given: f64, expected: f64, relative: f64) {
    let error = (given - expected).abs();
    assert!(error <= relative * expected.abs(), "{what}: got {given}, expected {expected}, off by {error:e}");
}

fn symmetric(radius: f64) -> Range {
    Range::new(-radius, radius).unwrap()
}

fn build(family: &str, parameters: &Value) -> Response {
    let p = |name: &str| parameters[name].as_f64().unwrap_or_else(|| panic!("{family} lacks {name}"));
    match family {
        "power" => Box::new(Power::new(p("shape"), p("radius")).unwrap()),
        "exponential" => Box::new(Exponential::new(p("shape"), p("radius")).unwrap()),
        "linear" => Box::new(Linear::with_condition(p("hardware_condition"), p("radius")).unwrap()),
        "constant" => Box::new(Constant::new(p("value")).unwrap()),
        "wavy" => Box::new(Wavy::new(p("amplitude"), p("skew"), p("radius")).unwrap()),
        "tanh" => {
            let slope = (p("hardware_condition") - 1.0) / (p("hardware_condition") + 1.0);
            Box::new(Tanh::new(p("gain"), slope, p("width"), p("center")).unwrap())
        }
        "soft_bounds" => Box::new(
            SoftBounds::new(p("gain_plus"), p("gain_minus"), p("radius_plus"), p("radius_minus")).unwrap(),
        ),
        "ceiling" => Box::new(Ceiling::new(p("min"), p("max"), p("width")).unwrap()),
        other => panic!("no family {other}"),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Half a unit of the twelfth digit, the last one stored.
const STORED: f64 = 5.1e-12;

#[test]
fn golden_values() {
    let golden: Value = serde_json::from_str(include_str!("../golden/responses.json")).unwrap();
    let golden = golden.as_array().unwrap();
    assert_eq!(golden.len(), 16);
    for entry in golden {
        let r = build(entry["family"].as_str().unwrap(), &entry["parameters"]);
        let name = r.describe();
        let column = |key: &str, f: &dyn Fn(f64) -> f64| {
            for (w, expected) in numbers(&entry["w"]).into_iter().zip(numbers(&entry[key])) {
                // R and R_c inherit the rounding of q relative to 1, not to themselves.
                let error = (f(w) - expected).abs();
                assert!(error <= STORED * expected.abs() + 1e-15, "{name}, {key}({w}): {} {expected}", f(w));
            }
        };
        column("q_plus", &|w| r.q_plus(w));
        column("q_minus", &|w| r.q_minus(w));
        column("gain", &|w| r.gain(w));
        column("asymmetry", &|w| r.asymmetry(w));
        column("asymmetry_ratio", &|w| r.asymmetry_ratio(w));
        column("asymmetry_potential", &|w| r.asymmetry_potential(w));
        let symmetric_point = r.symmetric_point().unwrap();
        close(&name, symmetric_point, entry["symmetric_point"].as_f64().unwrap(), STORED);
        if let Some(slope) = entry["ratio_slope_at_symmetric_point"].as_f64() {
            close(&name, r.asymmetry_ratio_derivative(symmetric_point), slope, STORED);
        }
        let at = entry["realized"]["at"].as_f64().unwrap();
        let realized = numbers(&entry["realized"]["realized"]);
        for (desired, expected) in numbers(&entry["realized"]["desired"]).into_iter().zip(realized) {
            close(&name, r.realized(desired, at), expected, STORED);
        }
        for limits in entry["bounds"].as_array().unwrap() {
            let number = |key: &str| limits[key].as_f64().unwrap();
            let bounds = r.bounds(symmetric(number("radius")));
            // The extremes of the wavy response were read off a grid in the reference.
            let tolerance = if entry["family"] == "wavy" { 1e-10 } else { STORED };
            close(&name, bounds.min, number("min"), tolerance);
            close(&name, bounds.max, number("max"), tolerance);
            close(&name, bounds.hardware_condition(), number("hardware_condition"), tolerance);
            close(&name, bounds.lipschitz, number("lipschitz"), 1e-4);
        }
    }
}

#[test]
fn printed_reference_values() {
    let printed: Vec<(Response, [f64; 4], Option<f64>)> = vec![
        (
            Box::new(Power::new(0.5, 1.0).unwrap()),
            [std::f64::consts::FRAC_1_SQRT_2, 1.22474487139, 0.267949192431, 0.0646381320205],
            Some(3.0),
        ),
        (Box::new(Power::new(1.0, 1.0).unwrap()), [0.5, 1.5, 0.5, 0.125], Some(9.0)),
        (Box::new(Power::new(2.0, 1.0).unwrap()), [0.25, 2.25, 0.8, 0.223143551314], Some(81.0)),
        (
            Box::new(Exponential::new(1.0, 1.0).unwrap()),
            [0.377540668798, 2.0262619395, 0.685880473301, 0.183904723048],
            None,
        ),
        (Box::new(Linear::with_condition(4.0, 1.0).unwrap()), [0.7, 1.3, 0.3, 0.075], None),
    ];
    for (r, expected, condition) in &printed {
        let given = [r.q_plus(0.5), r.q_minus(0.5), r.asymmetry_ratio(0.5), r.asymmetry_potential(0.5)];
        for (given, expected) in given.into_iter().zip(expected) {
            close(&r.describe(), given, *expected, STORED);
        }
        if let Some(condition) = condition {
            close(&r.describe(), r.bounds(symmetric(0.8)).hardware_condition(), *condition, 1e-12);
        }
    }
    // These two are printed to four digits.
    close("exponential", printed[3].0.bounds(symmetric(0.8)).hardware_condition(), 22.81, 2e-4);
    close("linear", printed[4].0.bounds(symmetric(0.8)).hardware_condition(), 2.846, 2e-4);
}

#[test]
fn closed_forms() {
    for radius in [0.1, 0.6, 1.0, 3.0] {
        for rho in [0.2, 0.5, 0.8, 0.95] {
            let over = symmetric(rho * radius);
            for shape in [0.5, 0.7, 1.0, 1.7, 2.0, 3.0] {
                let r = Power::new(shape, radius).unwrap();
                let (name, bounds) = (r.describe(), r.bounds(over));
                close(&name, bounds.min, (1.0 - rho).powf(shape), 1e-12);
                close(&name, bounds.max, (1.0 + rho).powf(shape), 1e-12);
                let steepest = if shape >= 1.0 { 1.0 + rho } else { 1.0 - rho };
                close(&name, bounds.lipschitz, shape / radius * steepest.powf(shape - 1.0), 1e-12);
                close(&name, r.asymmetry_ratio(rho * radius), (shape * rho.atanh()).tanh(), 1e-12);
                close(&name, r.asymmetry_ratio_derivative(0.0), shape / radius, 1e-12);
            }
            for shape in [0.5f64, 1.0, 2.0, 3.0] {
                let r = Exponential::new(shape, radius).unwrap();
                let (name, bounds) = (r.describe(), r.bounds(over));
                let q = |s: f64| (shape * (1.0 + s * rho)).exp_m1() / shape.exp_m1();
                close(&name, bounds.min, q(-1.0), 1e-12);
                close(&name, bounds.max, q(1.0), 1e-12);
                let lipschitz = shape / radius * (shape * (1.0 + rho)).exp() / shape.exp_m1();
                close(&name, bounds.lipschitz, lipschitz, 1e-12);
                let potential = radius / shape * (0.5 * (q(-1.0) + q(1.0))).ln();
                close(&name, r.asymmetry_potential(-rho * radius), potential, 1e-12);
                close(&name, r.asymmetry_ratio_derivative(0.0), shape / radius / -(-shape).exp_m1(), 1e-12);
            }
            let r = Linear::with_condition(9.0, radius).unwrap();
            let bounds = r.bounds(over);
            close("linear", bounds.min, 1.0 - 0.8 * rho, 1e-12);
            close("linear", bounds.max, 1.0 + 0.8 * rho, 1e-12);
            close("linear", bounds.lipschitz, 0.8 / radius, 1e-12);
            close("linear", r.bounds(symmetric(radius)).hardware_condition(), 9.0, 1e-12);
        }
    }
    // The wavy response's printed extremes, and the point where q₊ is smallest.
    let wavy = Wavy::new(0.6, 0.25, 1.0).unwrap();
    assert!(wavy.q_plus_derivative(0.6137).abs() < 1e-3);
    close("wavy", wavy.asymmetry_ratio_derivative(0.0), 0.75 * std::f64::consts::PI * 0.6, 1e-12);
}

/// The general antiderivative of the power response against its closed forms at neighbouring shapes.
#[test]
fn potential_by_quadrature_meets_the_closed_forms() {
    for shape in [0.5, 1.0, 2.0, 3.0] {
        let (closed, general) =
            (Power::new(shape, 0.7).unwrap(), Power::new(shape * (1.0 + 1e-13), 0.7).unwrap());
        for w in [-0.7, -0.69, -0.3, 0.01, 0.2, 0.6999, 0.7] {
            let (closed, general) = (closed.asymmetry_potential(w), general.asymmetry_potential(w));
            assert!((closed - general).abs() < 1e-12, "shape {shape}, w = {w}: {closed} {general}");
        }
    }
}

fn dense_table(of: &dyn ResponseFunction, nodes: usize) -> Tabulated {
    let nodes = of.range().grid(nodes);
    let column = |q: &dyn Fn(f64) -> f64| nodes.iter().map(|&w| q(w)).collect::<Vec<_>>();
    Tabulated::new(&nodes, &column(&|w| of.q_plus(w)), &column(&|w| of.q_minus(w))).unwrap()
}

fn every_response() -> Vec<Response> {
    let whole = "1 - 0.6*tanh(w - 0.2)";
    vec![
        Box::new(Constant::new(0.7).unwrap()),
        Box::new(Constant::new(1.0).unwrap().within(symmetric(0.5))),
        Box::new(Linear::new(0.0, 1.0).unwrap()),
        Box::new(Linear::new(0.6, 2.0).unwrap()),
        Box::new(Linear::new(1.0, 0.3).unwrap()),
        Box::new(Power::new(0.5, 1.0).unwrap()),
        Box::new(Power::new(0.8, 0.6).unwrap()),
        Box::new(Power::new(1.0, 49.0).unwrap()),
        Box::new(Power::new(1.5, 1.0).unwrap()),
        Box::new(Power::new(2.0, 0.1).unwrap()),
        Box::new(Power::new(3.0, 1.0).unwrap()),
        Box::new(Exponential::new(0.5, 1.0).unwrap()),
        Box::new(Exponential::new(3.0, 0.1).unwrap()),
        Box::new(Tanh::new(1.2, 0.6, 0.5, 0.3).unwrap()),
        Box::new(SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()),
        Box::new(Ceiling::new(0.25, 1.0, 1.0).unwrap()),
        Box::new(Wavy::new(0.6, 0.25, 1.0).unwrap()),
        Box::new(Confined::new(Power::new(0.5, 1.0).unwrap(), symmetric(0.8)).unwrap()),
        Box::new(Confined::new(Tanh::new(1.0, 0.9, 1.0, 0.0).unwrap(), Range::new(0.5, 2.0).unwrap()).unwrap()),
        Box::new(
            Tabulated::new(&[-1.0, -0.2, 0.1, 2.0], &[1.9, 1.2, 0.9, 0.0], &[0.1, 0.8, 1.2, 1.3]).unwrap(),
        ),
        Box::new(Tabulated::new(&[0.0, 1.0], &[1.0, 2.0], &[0.5, 0.1]).unwrap()),
        Box::new(dense_table(&Wavy::new(0.6, 0.25, 1.0).unwrap(), 41)),
        Box::new(Formula::parse("(1 - w/0.6)^2", "(1 + w/0.6)^2", symmetric(0.6)).unwrap()),
        Box::new(Formula::parse(whole, "1 + 0.3*tanh(w - 0.2)", Range::ALL).unwrap()),
        Box::new(Formula::parse("exp(-w)", "1.3 + 0.5*sin(3*w)", Range::new(-1.0, 2.0).unwrap()).unwrap()),
    ]
}

#[test]
fn every_response_keeps_the_laws() {
    for response in every_response() {
        check_laws(&*response).unwrap_or_else(|broken| panic!("{}: {broken}", response.describe()));
    }
}

/// Every closed form that specs can name, at its own values and around them, alike in all cells and varied.
#[test]
fn every_family_keeps_the_laws() {
    for family in FAMILIES {
        let mut kept = 0;
        let optional = |p: &&ResponseParameter| !matches!(p.given, Given::Or(other) if other < p.name);
        let parameters: Vec<&ResponseParameter> = family.parameters.iter().filter(optional).collect();
        for varied in 0..parameters.len() {
            for factor in [0.5, 0.9, 1.0, 1.3, 2.0] {
                let value = |(i, p): (usize, &&ResponseParameter)| {
                    let value = p.value * if i == varied { factor } else { 1.0 };
                    (p.name, Distribution::Constant(value))
                };
                let parameters: Vec<_> = parameters.iter().enumerate().map(value).collect();
                let cells = |n, range| {
                    (family.cells)(&Population { parameters: &parameters, n, key: Key::new(3), range })
                };
                // A value may be impossible; the one that the family names is not.
                let Ok(alike) = cells(1, None) else { continue };
                let confined = cells(1, Some(symmetric(0.4))).unwrap();
                for response in [alike.response(0), confined.response(0)] {
                    check_laws(response).unwrap_or_else(|broken| panic!("{}: {broken}", response.describe()));
                }
                kept += usize::from(factor == 1.0);
            }
            let mut spread: Vec<_> =
                parameters.iter().map(|p| (p.name, Distribution::Constant(p.value))).collect();
            let middle = parameters[varied].value;
            spread[varied].1 = Distribution::Uniform { lo: 0.97 * middle, hi: 1.01 * middle };
            let population = Population { parameters: &spread, n: 5, key: Key::new(3), range: None };
            let cells = (family.cells)(&population).unwrap();
            assert_eq!(cells.len(), Some(5), "{}", family.name);
            check_laws(cells.response(4)).unwrap_or_else(|broken| panic!("{}: {broken}", family.name));
        }
        assert_eq!(kept, parameters.len(), "{} at its own values", family.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn drawn_responses_keep_the_laws(
        shape in 0.3f64..5.0,
        radius in 0.01f64..50.0,
        slope in 0.0f64..0.99,
        center in -2.0f64..2.0,
        gains in (0.2f64..3.0, 0.2f64..3.0),
    ) {
        let drawn: [Response; 6] = [
            Box::new(Power::new(shape, radius).unwrap()),
            Box::new(Exponential::new(shape, radius).unwrap()),
            Box::new(Linear::new(slope, radius).unwrap()),
            Box::new(Tanh::new(gains.0, slope, radius, center).unwrap()),
            Box::new(SoftBounds::new(gains.0, gains.1, radius, 0.7 * radius).unwrap()),
            Box::new(Wavy::new(slope, 0.9 * (1.0 - slope), radius).unwrap()),
        ];
        for response in drawn {
            prop_assert_eq!(check_laws(&*response), Ok(()), "{}", response.describe());
        }
    }

    #[test]
    fn branches_vanish_exactly_at_the_bounds(shape in 0.3f64..5.0, radius in 1e-3f64..1e3) {
        let vanishing: [Response; 3] = [
            Box::new(Power::new(shape, radius).unwrap()),
            Box::new(Exponential::new(shape, radius).unwrap()),
            Box::new(Linear::new(1.0, radius).unwrap()),
        ];
        for r in vanishing {
            prop_assert_eq!((r.q_plus(radius), r.q_minus(-radius)), (0.0, 0.0));
            prop_assert_eq!((r.asymmetry_ratio(radius), r.asymmetry_ratio(-radius)), (1.0, -1.0));
            prop_assert!(r.asymmetry_potential(radius).is_finite() && r.asymmetry_potential(-radius).is_finite());
            prop_assert_eq!(r.bounds(r.range()).hardware_condition(), f64::INFINITY);
        }
    }

    #[test]
    fn drawn_tables_keep_the_laws(
        rows in prop::collection::vec((0.05f64..1.0, 0.1f64..2.0, 0.1f64..2.0), 2..12),
        start in -2.0f64..0.0,
    ) {
        let mut nodes = vec![start];
        nodes.extend(rows[1..].iter().scan(start, |w, row| { *w += row.0; Some(*w) }));
        let (plus, minus): (Vec<f64>, Vec<f64>) = rows.iter().map(|row| (row.1, row.2)).unzip();
        let table = Tabulated::new(&nodes, &plus, &minus).unwrap();
        prop_assert_eq!(check_laws(&table), Ok(()), "{:?}", table);
        // A crossing exists wherever the data change order, and none nearer to 0 is missed by a dense scan.
        let scanned = residuum::numeric::roots(|w| table.asymmetry(w), nodes[0], nodes[nodes.len() - 1], 2001);
        let nearest = scanned.into_iter().map(f64::abs).min_by(f64::total_cmp);
        if let Some(nearest) = nearest {
            prop_assert!(table.symmetric_point().unwrap().abs() <= nearest + 1e-14);
        }
    }
}

/// The paper's text says that a larger τ means more asymmetry; the algebra says less.
#[test]
fn a_larger_radius_means_less_asymmetry() {
    for shape in [0.5, 1.0, 2.0, 3.0] {
        let ratios: Vec<f64> =
            [0.6, 1.0, 2.0, 8.0].map(|radius| Power::new(shape, radius).unwrap().asymmetry_ratio(0.5)).to_vec();
        assert!(ratios.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0), "shape {shape}: {ratios:?}");
    }
}

#[test]
fn formula_equals_the_response_it_spells() {
    let range = symmetric(0.6);
    let (spelled, power) =
        (Formula::parse("(1 - w/0.6)^2", "(1 + w/0.6)^2", range).unwrap(), Power::new(2.0, 0.6).unwrap());
    assert_eq!(spelled.symmetric_point(), Some(0.0));
    for w in range.grid(997) {
        let pairs = [
            (spelled.q_plus(w), power.q_plus(w)),
            (spelled.q_minus(w), power.q_minus(w)),
            (spelled.q_plus_derivative(w), power.q_plus_derivative(w)),
            (spelled.asymmetry_potential(w), power.asymmetry_potential(w)),
        ];
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-14 * b.abs().max(1.0), "w = {w}: {a} {b}");
        }
    }
    assert_eq!(spelled.bounds(range).hardware_condition(), f64::INFINITY);
}

/// Monotone data with spacing h are met to second order in h at worst: error ≤ max|q''| h²/4.
#[test]
fn dense_table_approximates_the_response_it_samples() {
    let power = Power::new(3.0, 1.0).unwrap();
    for nodes in [21, 201] {
        let table = dense_table(&power, nodes);
        let h = 2.0 / (nodes - 1) as f64;
        // |q''| = 6(1 ∓ w) ≤ 12.
        let bound = 12.0 * h * h / 4.0;
        for w in power.range().grid(1777) {
            assert!((table.q_plus(w) - power.q_plus(w)).abs() <= bound, "{nodes} nodes, w = {w}");
            assert!((table.asymmetry_potential(w) - power.asymmetry_potential(w)).abs() <= bound);
        }
        assert!(table.symmetric_point().unwrap().abs() < 1e-14);
    }
}

/// Outside the bounds the bare formulas give NaN (shape ½), negative (1) or again positive responses (2).
#[test]
fn no_state_escapes_however_large_the_increments() {
    for shape in [0.5, 0.9, 1.0, 2.0, 3.0] {
        let r = Power::new(shape, 0.37).unwrap();
        let mut direction = vec![0.0; 257];
        let mut state = vec![0.0; 257];
        let mut touched = 0;
        for k in 0..400 {
            Key::new(9).fold(k).fill_normal(&mut direction);
            r.realize(0.7, &direction, r.range(), &mut state);
            assert!(state.iter().all(|w| r.range().contains(*w)), "shape {shape}, step {k}");
            touched += state.iter().filter(|w| w.abs() == 0.37).count();
        }
        assert!(touched > 0, "the test must reach the bounds");
        for w in [0.37, -0.37] {
            let past = w * 1.1;
            assert!(r.q_plus(past) >= 0.0 && r.q_minus(past) >= 0.0, "no NaN, no negative response");
            assert_eq!(r.realized(0.1 * w.signum(), past), 0.0, "no response comes back beyond the bound");
            assert!(r.asymmetry_ratio(w).abs() == 1.0);
        }
    }
}
