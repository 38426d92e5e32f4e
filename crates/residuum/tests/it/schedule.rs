//! Rates as functions of the step.

use residuum::schedule::Schedule;

#[test]
fn schedules_are_what_they_say() {
    assert_eq!(Schedule::from(0.3).at(7), 0.3);
    assert_eq!(Schedule::Inverse { initial: 1.0, half_life: 10.0 }.at(10), 0.5);
    let step = Schedule::Step { initial: 1.0, every: 5, factor: 0.1, warm_up: 0 };
    assert_eq!((step.at(4), step.at(5)), (1.0, 0.1));
    let cosine = Schedule::Cosine { initial: 1.0, last: 0.2, steps: 10, warm_up: 0 };
    assert!((cosine.at(5) - 0.6).abs() < 1e-15 && cosine.at(99) == 0.2);
    assert_eq!(Schedule::WarmUp { rate: 2.0, steps: 4 }.at(0), 0.5);
    let warmed = Schedule::Step { initial: 8.0, every: 3, factor: 0.5, warm_up: 4 };
    assert_eq!([0, 1, 2, 3, 5, 6].map(|k| warmed.at(k)), [2.0, 4.0, 6.0, 4.0, 4.0, 2.0]);
    let warmed = Schedule::Cosine { initial: 1.0, last: 0.2, steps: 10, warm_up: 2 };
    assert_eq!((warmed.at(0), warmed.at(5)), (0.5, cosine.at(5)));
}

#[test]
fn impossible_schedules_are_refused() {
    assert!(Schedule::Constant(-1.0).validate().is_err());
    assert!(Schedule::Constant(f64::NAN).validate().is_err());
    let e = Schedule::Step { initial: 1.0, every: 0, factor: 0.5, warm_up: 0 }.validate().unwrap_err();
    assert_eq!(e.to_string(), "every must be at least 1, got 0");
    assert!(Schedule::Step { initial: -1.0, every: 1, factor: 0.5, warm_up: 1 }.validate().is_err());
    assert!(Schedule::WarmUp { rate: 1.0, steps: 0 }.validate().is_err());
}
