//! Threads that are called to help share small work, wait without sleeping, and leave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use residuum::threads::{Helpers, each, join, worth};

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

#[test]
fn smaller_work_is_worth_threads_that_are_awake() {
    let mut helpers = Helpers::default();
    pool(3).install(|| {
        let small = 1 << 20;
        assert_eq!(helpers.during(|| [worth(small), worth(1 << 10)]), [3, 1]);
        assert_eq!([worth(small), worth(1 << 30)], [1, 3]);
    });
    // Nobody can help who is alone, or belongs to no pool.
    assert_eq!(pool(1).install(|| helpers.during(|| worth(1 << 30))), 1);
    assert_eq!(Helpers::default().during(|| worth(1 << 20)), 1);
}

#[test]
fn every_task_is_done_once() {
    for threads in 1..4 {
        let mut helpers = Helpers::default();
        for n in [0, 1, 2, 7, 64] {
            let mut done = vec![0; n];
            let tasks =
                |done: &mut Vec<usize>| each(done.iter_mut().enumerate().collect(), &|(i, d)| *d += i + 1);
            pool(threads).install(|| {
                tasks(&mut done);
                helpers.during(|| tasks(&mut done));
            });
            assert!(done.iter().enumerate().all(|(i, d)| *d == 2 * (i + 1)), "{threads} threads, {n} tasks");
        }
    }
}

/// A part that panics must not leave the other waiting for it.
#[test]
fn a_panic_of_either_part_is_passed_on() {
    let pool = pool(2);
    for first in [true, false] {
        let mut helpers = Helpers::default();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.install(|| helpers.during(|| join(|| assert!(!first, "first"), || assert!(first, "second"))))
        }));
        let message = caught.expect_err("a part panicked");
        let message = message.downcast_ref::<&str>().copied();
        assert_eq!(message, Some(if first { "first" } else { "second" }));
    }
}

/// Works that call helpers side by side, each waiting for parts that others have taken, come to an end: who waits does not become a helper
/// of another.
#[test]
fn works_beside_each_other_end() {
    let (pool, parts) = (pool(3), AtomicUsize::new(0));
    pool.install(|| {
        each((0..12).collect(), &|_: i32| {
            let mut helpers = Helpers::default();
            for _ in 0..50 {
                helpers.during(|| {
                    each(vec![1; 5], &|part| {
                        parts.fetch_add(part, Ordering::Relaxed);
                    });
                });
            }
        });
    });
    assert_eq!(parts.into_inner(), 12 * 50 * 5);
}

/// Helpers who find nothing to do leave, and the next works are done alone.
#[test]
fn helpers_without_work_stay_away() {
    let mut helpers = Helpers::default();
    pool(2).install(|| {
        let (begun, mut alone) = (Instant::now(), 0);
        while alone < 2 {
            let called = helpers.during(|| worth(1 << 20)) > 1;
            alone = if called { 0 } else { alone + 1 };
            assert!(begun.elapsed() < Duration::from_mins(1), "helpers are still called for nothing");
        }
    });
}
