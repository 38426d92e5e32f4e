//! Threads that are called to help share small work, wait without sleeping, and leave.

mod pace;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use rayon::ThreadPool;
use rayon::prelude::*;
use residuum::threads::{Divisible, Helpers, Pace, each, share, share_unevenly, worth};

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

/// A work on all threads, whatever its pace would say.
fn during<R>(helpers: &mut Helpers, work: impl FnOnce() -> R) -> R {
    helpers.during(&mut Pace::default(), work)
}

#[test]
fn smaller_work_is_worth_threads_that_are_awake() {
    let mut helpers = Helpers::default();
    pool(3).install(|| {
        let small = 1 << 20;
        assert_eq!(during(&mut helpers, || [worth(small), worth(1 << 10)]), [3, 1]);
        assert_eq!([worth(small), worth(1 << 30)], [1, 3]);
    });
    // Nobody can help who is alone, or belongs to no pool.
    assert_eq!(pool(1).install(|| during(&mut helpers, || worth(1 << 30))), 1);
    assert_eq!(during(&mut Helpers::default(), || worth(1 << 20)), 1);
}

#[test]
fn every_task_is_done_once() {
    for threads in 1..6 {
        let mut helpers = Helpers::default();
        let pool = pool(threads);
        for n in [0, 1, 2, 7, 64, 1000] {
            let mut done = vec![0; n];
            let tasks =
                |done: &mut Vec<usize>| each(threads, done.par_iter_mut().enumerate(), |(i, d)| *d += i + 1);
            pool.install(|| {
                tasks(&mut done);
                during(&mut helpers, || (0..20).for_each(|_| tasks(&mut done)));
            });
            assert!(done.iter().enumerate().all(|(i, d)| *d == 21 * (i + 1)), "{threads} threads, {n} tasks");
        }
    }
}

/// Helpers do come: a task that waits for another is done beside it.
#[test]
fn tasks_are_done_at_the_same_time() {
    for threads in 2..5 {
        let mut helpers = Helpers::default();
        let arrived = AtomicUsize::new(0);
        let seen: Mutex<HashSet<ThreadId>> = Mutex::default();
        pool(threads).install(|| {
            during(&mut helpers, || {
                each(threads, (0..threads).into_par_iter(), |_| {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < threads {
                        thread::yield_now();
                    }
                    seen.lock().expect("no panic").insert(thread::current().id());
                });
            });
        });
        assert_eq!(seen.into_inner().expect("no panic").len(), threads);
    }
}

/// A work that enters the pool may be taken by a helper of the work before, which looks for others in vain: then the other thread helps it.
#[test]
fn works_that_enter_the_pool_one_by_one_have_helpers() {
    let (pool, mut helpers) = (pool(2), Helpers::default());
    for _ in 0..300 {
        let arrived = AtomicUsize::new(0);
        pool.install(|| {
            during(&mut helpers, || {
                assert_eq!(worth(1 << 20), 2);
                each(2, (0..2).into_par_iter(), |_| {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < 2 {
                        thread::yield_now();
                    }
                });
            });
        });
    }
}

/// A part that panics must not leave the others waiting for it, nor its panic to the next work.
#[test]
fn a_panic_of_any_part_is_passed_on_once() {
    let pool = pool(3);
    let mut helpers = Helpers::default();
    for round in 0..300 {
        let (bad, done) = (round % 12, AtomicUsize::new(0));
        let work = |i: usize| {
            assert_ne!(i, bad, "part {i}");
            done.fetch_add(1, Ordering::Relaxed);
        };
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| during(&mut helpers, || each(3, (0..12).into_par_iter(), work)));
        }));
        let message = caught.expect_err("a part panicked");
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains(&format!("part {bad}")), "{message}");
        let sum = AtomicUsize::new(0);
        pool.install(|| {
            during(&mut helpers, || {
                each(3, (0..12).into_par_iter(), |i: usize| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(sum.into_inner(), 66);
    }
}

/// All parts panic, the leader's and the members': one panic goes on.
#[test]
fn panics_of_all_parts_end() {
    let (pool, mut helpers) = (pool(4), Helpers::default());
    for _ in 0..100 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                during(&mut helpers, || each(4, (0..64).into_par_iter(), |i: usize| panic!("part {i}")));
            });
        }));
        assert!(caught.expect_err("parts panicked").downcast_ref::<String>().is_some());
        let count = AtomicUsize::new(0);
        pool.install(|| {
            during(&mut helpers, || {
                each(4, (0..64).into_par_iter(), |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(count.into_inner(), 64);
    }
}

/// A part that shares its own work does it alone, the leader's parts as well as the members', and one that calls helpers calls nobody.
#[test]
fn parts_of_parts_are_done_in_place() {
    let (pool, mut helpers, count) = (pool(3), Helpers::default(), AtomicUsize::new(0));
    pool.install(|| {
        for _ in 0..200 {
            during(&mut helpers, || {
                each(3, (0..9).into_par_iter(), |_| {
                    assert_eq!(worth(1 << 30), 1);
                    let here = thread::current().id();
                    let inner = || {
                        each(3, (0..5).into_par_iter(), |_| {
                            assert_eq!(thread::current().id(), here);
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    };
                    inner();
                    during(&mut Helpers::default(), inner);
                });
            });
        }
    });
    assert_eq!(count.into_inner(), 200 * 9 * 10);
}

/// Works that call helpers side by side, in a pool whose threads are all busy, come to an end: who waits does not become a helper
/// of another.
#[test]
fn works_beside_each_other_end() {
    let (pool, parts) = (pool(3), AtomicUsize::new(0));
    pool.install(|| {
        (0..12).into_par_iter().for_each(|_: i32| {
            let mut helpers = Helpers::default();
            for _ in 0..50 {
                during(&mut helpers, || {
                    each(3, vec![1; 5].into_par_iter(), |part| {
                        parts.fetch_add(part, Ordering::Relaxed);
                    });
                });
            }
        });
    });
    assert_eq!(parts.into_inner(), 12 * 50 * 5);
}

/// What rayon shares itself during a work is shared: who waits for parts of the work also looks there.
#[test]
fn rayon_works_beside_helpers() {
    let (pool, mut helpers) = (pool(3), Helpers::default());
    let sums: Vec<u32> = pool.install(|| {
        (0..100)
            .map(|k| {
                during(&mut helpers, || (0..1000_u32).into_par_iter().with_max_len(10).map(|i| i * k).sum())
            })
            .collect()
    });
    assert!(sums.iter().zip(0..).all(|(sum, k)| *sum == 499_500 * k));
}

/// Helpers of one object may serve pools of other sizes, and threads outside of any.
#[test]
fn a_team_follows_its_pool() {
    let mut helpers = Helpers::default();
    for threads in [2, 3, 1, 2, 4] {
        let count = AtomicUsize::new(0);
        let mut work = || {
            during(&mut helpers, || {
                each(threads, (0..100).into_par_iter(), |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
        };
        pool(threads).install(&mut work);
        work();
        assert_eq!(count.into_inner(), 200);
    }
}

/// Parts of a slice, with how often it was cut.
struct Parts<'a>(&'a mut [u32]);

impl Divisible for Parts<'_> {
    fn split_at(self, n: usize) -> (Self, Self) {
        let (here, there) = self.0.split_at_mut(n);
        (Self(here), Self(there))
    }
}

/// A share stays where it was begun, even if its first part waits until all others are done; where parts may take differently long, others
/// take the rest of it.
#[test]
fn shares_stay_together_unless_parts_are_uneven() {
    let (pool, mut helpers) = (pool(2), Helpers::default());
    let mut who = |uneven: bool| {
        let here = Mutex::new(vec![None; 16]);
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut parts: Vec<u32> = (0..16).collect();
        let run = |Parts(some): Parts<'_>| {
            for part in some.iter() {
                // Both threads have begun before one goes on; then the second share waits at its first part.
                if part % 8 == 0 {
                    begun.fetch_add(1, Ordering::Relaxed);
                    while begun.load(Ordering::Relaxed) < 2 {
                        thread::yield_now();
                    }
                }
                while *part == 8 && ended.load(Ordering::Relaxed) < if uneven { 14 } else { 8 } {
                    thread::yield_now();
                }
                here.lock().expect("no panic")[*part as usize] = Some(thread::current().id());
                ended.fetch_add(1, Ordering::Relaxed);
            }
        };
        pool.install(|| {
            during(&mut helpers, || {
                let parts = Parts(&mut parts);
                if uneven { share_unevenly(2, parts, 16, &run) } else { share(2, parts, 16, &run) }
            });
        });
        let here = here.into_inner().expect("no panic");
        assert!(here.iter().all(Option::is_some));
        [&here[..8], &here[8..]].map(|share| share.iter().collect::<HashSet<_>>().len())
    };
    for _ in 0..50 {
        assert_eq!(who(false), [1, 1]);
        assert_eq!(who(true), [1, 2]);
    }
}

/// Thousands of works of a few nanoseconds: members come late, when a work is over or the next has begun, and see their own.
#[test]
fn short_works_follow_each_other() {
    for threads in 2..5 {
        let (mut helpers, mut values) = (Helpers::default(), vec![0; 37]);
        pool(threads).install(|| {
            for _ in 0..100 {
                during(&mut helpers, || {
                    for k in 0..200 {
                        let parts = 1 + k % 37;
                        share(threads, Parts(&mut values[..parts]), parts, &|Parts(values)| {
                            for v in values {
                                *v += 1;
                            }
                        });
                    }
                });
            }
        });
        let expected = (0..37).map(|i| 100 * (0..200).filter(|k| k % 37 >= i).count() as u32);
        assert!(values.into_iter().eq(expected), "{threads} threads");
    }
}
