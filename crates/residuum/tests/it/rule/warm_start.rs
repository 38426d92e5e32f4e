//! When a warm start moves on.

use residuum::rule::WarmStart;
use residuum::testing::rule::Warming;

#[test]
fn coarse_arrays_wait_for_a_rise_and_finer_ones_for_slow_epochs() {
    let mut warming = Warming::new(WarmStart { coarse: 1, ..WarmStart::default() }, 2).unwrap();
    let stages: Vec<_> = [1.0, 0.9, 0.9, 0.90005, 0.9002, 0.8, 0.7, 0.695, 0.6, 0.595, 0.5]
        .map(|loss| {
            warming.epoch_ended(loss);
            warming.stage()
        })
        .to_vec();
    let (first, second) = ([Some(0); 4], [Some(1); 5]);
    assert_eq!(stages, [&first[..], &second[..], &[None, None]].concat());
}

#[test]
fn impossible_numbers_are_named() {
    let wrong = |change: fn(&mut WarmStart)| {
        let mut settings = WarmStart::default();
        change(&mut settings);
        settings.validate().unwrap_err().to_string()
    };
    assert_eq!(wrong(|w| w.rise = -1.0), "rise must be finite and not negative, got -1");
    assert_eq!(wrong(|w| w.window = 0), "window must be between 1 and 64, got 0");
    assert_eq!(wrong(|w| w.slow = 6), "slow must be between 1 and window, got 6");
}
