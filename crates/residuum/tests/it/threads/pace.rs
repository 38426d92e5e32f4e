//! Which number of threads is kept, by times that are given instead of measured.

use std::time::Duration;

use residuum::threads::Pace;

/// Times in µs of the works of a process: on one thread, and on all.
struct Machine {
    pace: Pace,
    works: u64,
    /// How many of the works so far had all threads.
    on_all: u64,
    spent: f64,
}

impl Machine {
    fn new() -> Self {
        Self { pace: Pace::default(), works: 0, on_all: 0, spent: 0.0 }
    }

    /// So many works; `times` are those of work `k` on one thread and on all.
    fn run(&mut self, works: u64, times: impl Fn(u64) -> [f64; 2]) -> &mut Self {
        (self.on_all, self.spent) = (0, 0.0);
        for _ in 0..works {
            let all = self.pace.all();
            let time = times(self.works)[usize::from(all)];
            self.pace.took(Duration::from_nanos((1e3 * time) as u64));
            self.works += 1;
            self.on_all += u64::from(all);
            self.spent += time;
        }
        self
    }
}

/// Sizes of works, from small steps to long ones.
const SIZES: [f64; 5] = [5.0, 60.0, 700.0, 9_000.0, 300_000.0];

/// What a comparison costs beside the better of both.
#[test]
fn the_quicker_way_is_kept_at_little_cost() {
    for micros in SIZES {
        // As many works as the first comparisons need to be a small part.
        let works = 1000 + (4e6 / micros) as u64;
        for factor in [0.5, 0.7, 0.9, 1.1, 1.5, 3.0, 30.0] {
            let times = [micros, factor * micros];
            let mut machine = Machine::new();
            machine.run(works, |_| times);
            let (best, spent) = (works as f64 * times[0].min(times[1]), machine.spent);
            // It begins on all threads: two works, then three blocks before it knows.
            let begun = if factor > 1.0 { (5.0 * times[1] + 8e3) * (factor - 1.0) / factor } else { 0.0 };
            assert!(spent < 1.015 * best + begun, "{micros} µs, {factor}: {}", spent / best);
            machine.run(works, |_| times);
            // One long work may be tried the slower way.
            let once = times[0].max(times[1]);
            assert!(machine.spent < 1.01 * best + once, "{micros} µs, {factor}: {}", machine.spent / best);
            assert_eq!(machine.on_all > works / 2, factor < 1.0, "{micros} µs, {factor}");
        }
    }
}

/// Who saves nothing leaves the core to others.
#[test]
fn threads_that_save_nothing_stay_away() {
    let mut machine = Machine::new();
    machine.run(20_000, |_| [100.0, 100.0]).run(20_000, |_| [100.0, 100.0]);
    assert!(machine.on_all < 1000, "{}", machine.on_all);
    // A saving of 2 % neither calls them nor sends them away.
    assert!(machine.run(200_000, |_| [100.0, 98.0]).on_all < 10_000);
    let mut machine = Machine::new();
    machine.run(20_000, |_| [100.0, 80.0]);
    assert!(machine.run(200_000, |_| [100.0, 98.0]).on_all > 190_000);
}

/// Another process takes one of the cores, and leaves it again.
#[test]
fn it_changes_its_mind() {
    let mut machine = Machine::new();
    let (free, busy) = ([100.0, 60.0], [100.0, 170.0]);
    for _ in 0..3 {
        assert!(machine.run(100_000, |_| free).on_all > 50_000);
        assert!(machine.run(100_000, |_| free).on_all > 95_000);
        assert!(machine.run(100_000, |_| busy).on_all < 60_000);
        assert!(machine.run(100_000, |_| busy).on_all < 5_000);
    }
}

/// A helper that loses its core for 3 ms makes one step in thirty wait for it: the others are as quick as ever, so neither the least time
/// nor the median shows it.
#[test]
fn rare_long_waits_count() {
    let mut machine = Machine::new();
    let times = |k: u64| [100.0, if k % 30 == 7 { 3060.0 } else { 60.0 }];
    machine.run(20_000, times);
    let on_all = machine.run(100_000, times).on_all;
    assert!(on_all < 10_000, "{on_all}");
}

/// One work in a thousand is interrupted for 5 ms, on any number of threads.
#[test]
fn interruptions_do_not_change_it() {
    for factor in [0.7, 1.3] {
        let times = |k: u64| [100.0, factor * 100.0].map(|t| if k % 997 == 500 { t + 5000.0 } else { t });
        let mut machine = Machine::new();
        machine.run(20_000, times);
        let on_all = machine.run(500_000, times).on_all;
        assert_eq!(on_all > 450_000, factor < 1.0, "{factor}: {on_all}");
        assert!(!(50_000..450_000).contains(&on_all), "{factor}: {on_all}");
    }
}

/// A process that stands still for a minute, or an hour, does not keep a wrong choice for as long.
#[test]
fn a_stop_is_forgotten() {
    for stopped in [7, 30, 60, 90, 150] {
        let mut machine = Machine::new();
        let times = |k: u64| [100.0, 60.0].map(|t| if k == stopped { 3.6e9 } else { t });
        machine.run(100_000, times);
        assert!(machine.run(100_000, times).on_all > 90_000, "{stopped}");
        assert!(machine.run(100_000, |_| [100.0, 200.0]).on_all < 60_000, "{stopped}");
    }
}
