//! How much work repays another thread, and threads that stay awake for it.
//!
//! A thread of a rayon pool that finds no work for some 20 µs goes to sleep, and waking it takes 50 to 120 µs (two cores of a virtual
//! machine): longer than most of what a training step could hand to it. While [`Helpers`] are called for a piece of work, the other
//! threads of the pool look for parts of it without going to sleep, and far smaller parts repay them. Neither changes a bit: what a
//! thread computes never depends on which thread it is.
//!
//! ```
//! use residuum::threads::{Helpers, worth};
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let mut helpers = Helpers::default();
//! let small = 1 << 20;
//! pool.install(|| {
//!     assert_eq!(worth(small), 1);
//!     assert_eq!(helpers.during(|| worth(small)), 2);
//! });
//! # Ok::<(), rayon::ThreadPoolBuildError>(())
//! ```

use std::cell::Cell;
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use rayon::Yield;

/// Multiply–adds that repay waking other threads: some 100 µs of work.
const ASLEEP: usize = 1 << 22;
/// Those that repay threads which are awake: 20 to 30 µs. Handing over a part takes 2.
const AWAKE: usize = 1 << 19;
/// Looks for work in vain before a thread goes to sleep: about a millisecond.
const PATIENCE: u32 = 1 << 12;
/// Looks after which other processes get the core, if they want it: tens of microseconds.
const LOOKS: u32 = 128;
/// Pauses between two looks, so that those who look leave the processor to those who work.
const PAUSES: u32 = 8;
/// Pieces of work for which nobody is called after those who came found nothing to do, at most.
const LONGEST_REST: u32 = 1 << 12;

/// Parts of a list of tasks for each thread: some take longer than others, and the wait for the last should be short.
const PARTS: usize = 4;

thread_local! {
    /// Whether this thread has called helpers, or is one.
    static ENGAGED: Cell<bool> = const { Cell::new(false) };
}

/// How many threads so many multiply–adds, or what takes as long, are worth: one, or all of the pool.
pub fn worth(multiply_adds: usize) -> usize {
    let least = if ENGAGED.get() { AWAKE } else { ASLEEP };
    if multiply_adds < least { 1 } else { rayon::current_num_threads() }
}

/// Does both, the second on another thread if one is free: rayon's `join`, but who waits while helpers are called stays awake.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if !ENGAGED.get() {
        return rayon::join(a, b);
    }
    let state = AtomicU8::new(WAITING);
    let first = || {
        let first = a();
        // Taken by another thread: rayon would sleep until it is done. Otherwise it is the next job of this one.
        look_for_work(|| state.load(Ordering::Acquire) != TAKEN);
        first
    };
    let second = || {
        state.store(TAKEN, Ordering::Release);
        let _done = OnDrop(|| state.store(DONE, Ordering::Release));
        b()
    };
    rayon::join(first, second)
}

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const DONE: u8 = 2;

/// Does `run` with every task, threads sharing them.
pub fn each<T: Send>(tasks: Vec<T>, run: &(impl Fn(T) + Sync)) {
    let few = tasks.len().div_ceil(PARTS * rayon::current_num_threads());
    halves(tasks, few, run);
}

/// The same, `few` tasks at a time.
fn halves<T: Send>(mut tasks: Vec<T>, few: usize, run: &(impl Fn(T) + Sync)) {
    if tasks.len() <= few {
        return tasks.into_iter().for_each(run);
    }
    let others = tasks.split_off(tasks.len() / 2);
    join(|| halves(tasks, few, run), || halves(others, few, run));
}

/// Does what work there is until `over`, or until there has been none for a while; returns whether there was any.
fn look_for_work(over: impl Fn() -> bool) -> bool {
    let (mut found, mut in_vain) = (false, 0);
    while !over() && in_vain < PATIENCE {
        if let Some(Yield::Executed) = rayon::yield_now() {
            (found, in_vain) = (true, 0);
        } else {
            in_vain += 1;
            // Other processes may need the core. They keep it for milliseconds, in which many parts would be done: not at every look.
            if in_vain.is_multiple_of(LOOKS) {
                thread::yield_now();
            } else {
                (0..PAUSES).for_each(|_| hint::spin_loop());
            }
        }
    }
    found
}

/// The other threads of the pool, called to help with one piece of work after another, such as the steps of a training.
///
/// They stay for a millisecond after the last part they found, then sleep until the next call. If they found none at all, the next
/// calls are left out, ever more of them: small networks have nothing to share.
#[derive(Debug, Default)]
pub struct Helpers {
    shared: Arc<Shared>,
    /// Calls to leave out, and how many were left out last.
    rest: u32,
    rested: u32,
}

#[derive(Debug, Default)]
struct Shared {
    /// Helpers that are here or on their way.
    called: AtomicUsize,
    /// What those who left had: [`NOTHING`] or [`SOMETHING`] to do.
    found: AtomicU8,
}

const NOTHING: u8 = 1;
const SOMETHING: u8 = 2;

impl Helpers {
    /// Does some work with the other threads of the pool awake. A thread that belongs to no pool, or is alone in its own, works alone.
    pub fn during<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let owner = rayon::current_thread_index().filter(|_| rayon::current_num_threads() > 1);
        let called = owner.is_some_and(|owner| self.call(owner));
        let _engaged = called.then(engage);
        work()
    }

    /// Calls those who are not here; `false` if it is not worth while.
    fn call(&mut self, owner: usize) -> bool {
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        let others = rayon::current_num_threads() - 1;
        let missing = others.saturating_sub(self.shared.called.load(Ordering::Relaxed));
        if missing == 0 {
            return true;
        }
        match self.shared.found.swap(0, Ordering::Relaxed) {
            NOTHING => {
                self.rested = (2 * self.rested).clamp(1, LONGEST_REST);
                self.rest = self.rested;
                return false;
            }
            SOMETHING => self.rested = 0,
            _ => {}
        }
        self.shared.called.fetch_add(missing, Ordering::Relaxed);
        for _ in 0..missing {
            let shared = Arc::clone(&self.shared);
            rayon::spawn(move || {
                shared.help(owner);
                shared.called.fetch_sub(1, Ordering::Relaxed);
            });
        }
        true
    }
}

impl Shared {
    /// Looks for work until there has been none for a while. Who called for help, waits for a part of it, or helps already, has no time
    /// for that.
    fn help(&self, owner: usize) {
        if ENGAGED.get() || rayon::current_thread_index() == Some(owner) {
            return;
        }
        let _engaged = engage();
        let found = if look_for_work(|| false) { SOMETHING } else { NOTHING };
        self.found.fetch_max(found, Ordering::Relaxed);
    }
}

/// Engages this thread, until it is dropped.
fn engage() -> OnDrop<impl FnMut()> {
    let before = ENGAGED.replace(true);
    OnDrop(move || ENGAGED.set(before))
}

/// Does something when it is dropped, also after a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
