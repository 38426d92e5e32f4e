//! The paper's regularity definition, clause by clause, on responses that keep it and on ones that do not.

use residuum::response::{
    Ceiling, Constant, Exponential, Formula, Linear, Power, Regularity, SoftBounds, Tabulated, Tanh, Wavy,
};
use residuum::{Range, ResponseFunction};

fn symmetric(radius: f64) -> Range {
    Range::new(-radius, radius).unwrap()
}

fn verdict(response: &dyn ResponseFunction, range: Range) -> [bool; 3] {
    let r = Regularity::of(response, range);
    [r.positive_definite.holds, r.differentiable.holds, r.lipschitz.holds]
}

#[test]
fn bounded_devices_fail_at_their_bounds_and_pass_inside() {
    let devices: [Box<dyn ResponseFunction>; 6] = [
        Box::new(Power::new(1.0, 0.7).unwrap()),
        Box::new(Power::new(2.0, 1.0).unwrap()),
        Box::new(Power::new(3.0, 49.0).unwrap()),
        Box::new(Exponential::new(1.0, 1.0).unwrap()),
        Box::new(Linear::new(1.0, 0.3).unwrap()),
        Box::new(SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()),
    ];
    for device in &devices {
        assert_eq!(verdict(&**device, device.range()), [false, true, true], "{}", device.describe());
        let inside = device.range().fraction(0.9);
        let found = Regularity::of(&**device, inside);
        assert!(found.holds(), "{}: {found}", device.describe());
    }
    let found = Regularity::of(&*devices[1], Range::ALL);
    assert_eq!(
        found.to_string(),
        "not regular on [-1, 1]\n  \
         positive-definiteness fails: q_plus falls to 0 at w = 1 (the end of the range)\n  \
         differentiability holds: no kink or jump inside the range\n  \
         Lipschitz continuity holds: L_S = 4.000000"
    );
    let whole = Linear::new(0.6, 1.0).unwrap();
    assert!(Regularity::of(&whole, whole.range()).holds(), "q = 0.4 at the end is positive");
}

#[test]
fn a_vertical_tangent_fails_lipschitz_alone_inside_positivity() {
    for shape in [0.3, 0.5, 0.9, 0.95] {
        let device = Power::new(shape, 1.0).unwrap();
        assert_eq!(verdict(&device, device.range()), [false, true, false], "shape {shape}");
        let found = Regularity::of(&device, device.range());
        let reason = &found.lipschitz.reason;
        assert_eq!(reason, "the slope of q_plus is unbounded at w = 1 (the end of the range)");
        assert_eq!(verdict(&device, symmetric(0.99)), [true; 3], "shape {shape}");
    }
    let lifted = Formula::parse("0.1 + sqrt(1 - w)", "1", symmetric(1.0)).unwrap();
    assert_eq!(verdict(&lifted, symmetric(1.0)), [true, true, false]);
}

#[test]
fn responses_of_the_whole_line_pass_everywhere() {
    let whole: [Box<dyn ResponseFunction>; 5] = [
        Box::new(Tanh::new(1.0, 0.6, 1.0, 0.0).unwrap()),
        Box::new(Tanh::new(0.4, 0.99, 0.01, 0.3).unwrap()),
        Box::new(Ceiling::new(0.25, 1.0, 1.0).unwrap()),
        Box::new(Ceiling::new(0.01, 1.0, 0.2).unwrap()),
        Box::new(Constant::new(0.7).unwrap()),
    ];
    for response in &whole {
        let found = Regularity::of(&**response, Range::ALL);
        assert!(found.holds(), "{}: {found}", response.describe());
        assert_eq!(found.range, Range::ALL);
    }
    let wavy = Wavy::new(0.6, 0.25, 1.0).unwrap();
    assert!(Regularity::of(&wavy, wavy.range()).holds());
    let steps: Vec<f64> = (0..9).map(f64::from).collect();
    let table = Tabulated::new(&steps, &[2.0, 1.0, 1.0, 0.3, 1.5, 1.4, 1.0, 0.2, 0.1], &[1.0; 9]).unwrap();
    let found = Regularity::of(&table, table.range());
    assert!(found.holds(), "interpolation is once differentiable: {found}");
}

#[test]
fn tails_are_judged() {
    let vanishing = Formula::parse("1/(1 + w^2)", "1", Range::ALL).unwrap();
    let found = Regularity::of(&vanishing, Range::ALL);
    assert_eq!(found.positive_definite.reason, "q_plus falls to 0 as w → −∞");
    assert!(found.differentiable.holds && found.lipschitz.holds);
    let growing = Formula::parse("1", "1 + w^2", Range::new(0.0, f64::INFINITY).unwrap()).unwrap();
    let found = Regularity::of(&growing, Range::ALL);
    assert_eq!(found.positive_definite.reason, "q_minus grows without bound as w → ∞");
    assert_eq!(found.lipschitz.reason, "the slope of q_minus is unbounded as w → ∞");
}

#[test]
fn kinks_and_steps_are_named() {
    let kink = Formula::parse("1 + 0.5*abs(w)", "1", symmetric(1.0)).unwrap();
    assert_eq!(verdict(&kink, symmetric(1.0)), [true, false, true]);
    let reason = Regularity::of(&kink, symmetric(1.0)).differentiable.reason;
    assert_eq!(reason, "q_plus has a kink at w = 0: its slope changes from -0.5000 to 0.5000");
    let elsewhere = Range::new(0.1, 1.0).unwrap();
    assert_eq!(verdict(&kink, elsewhere), [true; 3]);

    let shifted = Formula::parse(
        "1",
        "exp(0.2*w) + 0.05*max(w - 0.123, 0)",
        Range::ALL.intersect(symmetric(2.0)).unwrap(),
    )
    .unwrap();
    let reason = Regularity::of(&shifted, shifted.range()).differentiable.reason;
    assert!(reason.starts_with("q_minus has a kink at w = 0.123:"), "{reason}");

    let step = Formula::parse("1 - 0.5*step(w - 0.25)", "1", symmetric(1.0)).unwrap();
    assert_eq!(verdict(&step, symmetric(1.0)), [true, false, false]);
    let found = Regularity::of(&step, symmetric(1.0));
    assert_eq!(found.differentiable.reason, "q_plus jumps by -0.500000 at w = 0.25");
    assert_eq!(found.lipschitz.reason, "q_plus jumps at w = 0.25");
}
