//! The places a search tries, and the budget it spends.

use residuum::Key;
use residuum_lab::tune::{Halving, Search, Tunable, kept_trials};

#[test]
fn a_budget_is_spent_whole_and_not_exceeded() {
    for trials in 5..200 {
        let schedule = Halving::new(trials, 20, 3);
        assert!(schedule.trials() <= trials.max(6), "{trials}: {schedule:?}");
        assert!(schedule.trials() + 4 >= trials, "{trials}: {schedule:?}");
        assert!(schedule.long >= schedule.finalists && schedule.finalists > 0, "{schedule:?}");
    }
    assert_eq!(Halving::new(60, 20, 3).trials(), 60);
}

#[test]
fn the_start_fills_the_space_more_evenly_than_chance() {
    let space: Vec<Tunable> = (0..3).map(|_| Tunable { field: "x", centre: 1.0, factor: 10.0 }).collect();
    let search = Search { space: &space, key: Key::new(3) };
    let n = 27;
    // Every third of every axis has a third of the points, up to one or two.
    for j in 0..3 {
        let mut counts = [0usize; 3];
        (0..n).for_each(|i| counts[((search.quasi_random(i)[j] * 3.0) as usize).min(2)] += 1);
        assert!(counts.iter().all(|c| (7..=11).contains(c)), "{counts:?}");
    }
    assert_eq!(search.quasi_random(5), search.quasi_random(5));
    let other = Search { key: Key::new(4), ..search };
    assert_ne!(search.quasi_random(0), other.quasi_random(0));
    let near = search.around(&[0.01, 0.5, 0.99], 0);
    assert!(near.iter().all(|p| (0.0..=1.0).contains(p)), "{near:?}");
}

#[test]
fn values_are_places_and_back() {
    let tunable = Tunable { field: "x", centre: 0.02, factor: 30.0 };
    for place in [0.0, 0.2, 0.5, 0.9, 1.0] {
        assert!((tunable.place(tunable.at(place)) - place).abs() < 2e-3);
    }
    assert_eq!(Tunable { field: "x", centre: 0.1234567, factor: 2.0 }.at(0.5), 0.123);
}

#[test]
fn a_kept_length_is_one_that_was_planned() {
    assert_eq!(kept_trials("{\"trials\":24}", 60), Ok(24));
    for text in ["", "{}", "{\"trials\":4}", "{\"trials\":61}", "{\"trials\":2305843009213693952}"] {
        kept_trials(text, 60).unwrap_err();
    }
}
