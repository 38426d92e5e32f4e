//! How much work repays another thread, and threads that stay awake for it.
//!
//! A thread of a rayon pool that finds no work for some 20 µs goes to sleep, and waking it takes 50 to 120 µs (two cores of a virtual
//! machine): longer than most of what a training step could hand to it. While [`Helpers`] are called for a piece of work, the other
//! threads of the pool look for parts of it without going to sleep, and far smaller parts repay them. Whether they do at all is
//! measured: a [`Pace`] keeps to one thread what takes longer on several, on this machine and beside what else runs there.
//! Neither changes a bit: what a thread computes never depends on which thread it is.
//!
//! ```
//! use residuum::threads::{Helpers, Pace, worth};
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let (mut helpers, mut pace) = (Helpers::default(), Pace::default());
//! let small = 1 << 20;
//! pool.install(|| {
//!     assert_eq!(worth(small), 1);
//!     assert_eq!(helpers.during(&mut pace, || worth(small)), 2);
//! });
//! # Ok::<(), rayon::ThreadPoolBuildError>(())
//! ```

mod pace;
mod team;

use std::cell::{Cell, RefCell};
use std::hint;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rayon::Yield;
use rayon::iter::IndexedParallelIterator;
use rayon::iter::plumbing::{Producer, ProducerCallback};

pub use pace::Pace;
use team::{Aligned, Leader, Team};

/// Multiply–adds that repay waking other threads: some 100 µs of work.
const ASLEEP: usize = 1 << 22;
/// Those that repay threads which are awake: a few microseconds. Handing over a part takes a half.
const AWAKE: usize = 1 << 17;
/// Looks for work in vain before a thread goes to sleep: about a millisecond.
const PATIENCE: u32 = 1 << 15;
/// Looks after which other works of the pool, and other processes, get the core, if they want it: tens of microseconds.
const LOOKS: u32 = 1 << 10;
/// A thread takes one in so many of the parts that are left of its share where some take longer than others, and the wait for the last
/// should be short.
const PARTS: usize = 4;

thread_local! {
    static ROLE: Cell<Role> = const { Cell::new(Role::Free) };
    /// The team that this thread leads.
    static LEADER: RefCell<Option<Leader>> = const { RefCell::new(None) };
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nothing that other threads are called for: rayon has them.
    Free,
    /// A work for which so many threads are awake.
    Leads(usize),
    /// A part, or a work that is quicker on one thread.
    Alone,
}

/// How many threads so many multiply–adds, or what takes as long, are worth: one, or all of the pool.
pub fn worth(multiply_adds: usize) -> usize {
    match ROLE.get() {
        Role::Leads(threads) if multiply_adds >= AWAKE => threads,
        Role::Free if multiply_adds >= ASLEEP => rayon::current_num_threads(),
        _ => 1,
    }
}

/// Work that can be cut into parts.
pub trait Divisible: Send + Sized {
    /// The first `n` parts, and the others.
    fn split_at(self, n: usize) -> (Self, Self);
}

/// Does `run` with every task, on as many threads as all of them are [`worth`]: on one in order, on several sharing them.
pub fn each<I: IndexedParallelIterator>(threads: usize, tasks: I, run: impl Fn(I::Item) + Sync) {
    struct Each<F>([usize; 2], F);
    impl<T, F: Fn(T) + Sync> ProducerCallback<T> for Each<F> {
        type Output = ();

        fn callback<P: Producer<Item = T>>(self, tasks: P) {
            let [threads, count] = self.0;
            share(threads, Tasks(tasks), count, &|tasks: Tasks<P>| tasks.0.into_iter().for_each(&self.1));
        }
    }
    let count = tasks.len();
    tasks.with_producer(Each([threads, count], run));
}

/// The tasks of [`each`].
struct Tasks<P>(P);

impl<P: Producer> Divisible for Tasks<P> {
    fn split_at(self, n: usize) -> (Self, Self) {
        let (first, others) = self.0.split_at(n);
        (Self(first), Self(others))
    }
}

/// Does `run` with all of some work that consists of so many parts, on as many threads as it is [`worth`]: on one all at once, on several
/// with a share of the parts each.
///
/// While helpers are called, the same thread has the same parts whenever there are as many, with what they read and wrote in its cache: to
/// bring a part to another core may take longer than the work. Only a share that nobody has begun is done by another thread.
pub fn share<S: Divisible>(threads: usize, work: S, parts: usize, run: &(impl Fn(S) + Sync)) {
    divide(Shares::Whole, threads, work, parts, run);
}

/// The same for parts of which some may take much longer than others: who is done takes some from the ends of others' shares.
pub fn share_unevenly<S: Divisible>(threads: usize, work: S, parts: usize, run: &(impl Fn(S) + Sync)) {
    divide(Shares::Shrinking, threads, work, parts, run);
}

/// How a thread takes its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shares {
    Whole,
    /// One in [`PARTS`] of what is left at a time, so that others may take the end.
    Shrinking,
}

fn divide<S: Divisible>(shares: Shares, threads: usize, work: S, parts: usize, run: &(impl Fn(S) + Sync)) {
    match ROLE.get() {
        Role::Leads(_) if threads > 1 && parts > 1 => together(shares, work, parts, threads, run),
        Role::Free if threads > 1 => halves(work, parts, parts.div_ceil(PARTS * threads), run),
        _ => run(work),
    }
}

/// Rayon's way: threads steal halves, down to `few` parts.
fn halves<S: Divisible>(work: S, parts: usize, few: usize, run: &(impl Fn(S) + Sync)) {
    if parts <= few {
        return run(work);
    }
    let half = parts / 2;
    let (here, there) = work.split_at(half);
    rayon::join(|| halves(here, half, few, run), || halves(there, parts - half, few, run));
}

/// Shares for each thread of the team. Who is done with the own one looks for what is left of others'.
fn together<S: Divisible>(kind: Shares, work: S, parts: usize, threads: usize, run: &(impl Fn(S) + Sync)) {
    let mut rest = Some((work, parts));
    let cut = |thread: usize| {
        let (work, parts) = rest.take()?;
        let own = parts / (threads - thread);
        if thread + 1 == threads {
            return Some((work, parts));
        }
        let (first, others) = work.split_at(own);
        rest = Some((others, parts - own));
        Some((first, own))
    };
    let shares: Vec<_> = (0..threads).map(cut).map(|share| Aligned(Mutex::new(share))).collect();
    let take = |owner: usize, thread: usize| {
        let mut share = shares[owner].0.lock().unwrap_or_else(PoisonError::into_inner);
        let (work, parts) = share.take()?;
        let few = if kind == Shares::Whole { parts } else { parts.div_ceil(PARTS) };
        if few == parts {
            return Some(work);
        }
        let own = owner == thread;
        let (first, others) = work.split_at(if own { few } else { parts - few });
        let (taken, left) = if own { (first, others) } else { (others, first) };
        *share = Some((left, parts - few));
        Some(taken)
    };
    // The leader begins with its share at once: to look at it would only cost the way there.
    let first = usize::from(kind == Shares::Whole);
    let all = |thread: usize| {
        for owner in (thread..threads).chain(first..thread) {
            while let Some(work) = take(owner, thread) {
                run(work);
            }
        }
    };
    in_role(Role::Alone, || LEADER.with_borrow_mut(|leader| leader.as_mut().map(|leader| leader.lead(&all))));
}

/// The other threads of the pool, called to help with one piece of work after another, such as the steps of a training.
///
/// They stay for a millisecond after the last part they found, then sleep until the next call.
#[derive(Debug, Default)]
pub struct Helpers {
    leader: Option<Leader>,
}

impl Helpers {
    /// Does some work with the other threads of the pool awake, or on this one alone if that is the quicker way by what `pace` has seen of
    /// such works. A thread that belongs to no pool, is alone in its own, or does a part of another work calls nobody.
    pub fn during<R>(&mut self, pace: &mut Pace, work: impl FnOnce() -> R) -> R {
        let threads = rayon::current_num_threads();
        let Some(owner) = rayon::current_thread_index().filter(|_| threads > 1 && ROLE.get() == Role::Free)
        else {
            return work();
        };
        let all = pace.all();
        let begun = Instant::now();
        let done = if all { self.lead(owner, threads, work) } else { in_role(Role::Alone, work) };
        pace.took(begun.elapsed());
        done
    }

    fn lead<R>(&mut self, owner: usize, threads: usize, work: impl FnOnce() -> R) -> R {
        let leader = self.leader.take().filter(|leader| leader.threads() == threads);
        let leader = leader.unwrap_or_else(|| Leader::new(threads));
        call(leader.team(), owner, threads - 1);
        LEADER.set(Some(leader));
        let _back = OnDrop(|| self.leader = LEADER.take());
        in_role(Role::Leads(threads), work)
    }
}

/// Calls those who are not here.
fn call(team: &Arc<Team>, owner: usize, others: usize) {
    let missing = others.saturating_sub(team.called.load(Ordering::Relaxed));
    team.called.fetch_add(missing, Ordering::Relaxed);
    for _ in 0..missing {
        let team = Arc::clone(team);
        rayon::spawn(move || {
            // Who leads or helps already, and waits for others, has no time for that.
            if ROLE.get() == Role::Free && rayon::current_thread_index() != Some(owner) {
                in_role(Role::Alone, || stay(&team));
            }
            team.called.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Helps until there has been no work for a while.
fn stay(team: &Team) {
    let Some(mut seat) = team.sit() else { return };
    let mut in_vain = 0;
    while in_vain < PATIENCE {
        if seat.help() {
            in_vain = 0;
            continue;
        }
        in_vain += 1;
        if !in_vain.is_multiple_of(LOOKS) {
            hint::spin_loop();
            continue;
        }
        // Another work of the pool may be one that leads this team, such as the next step of a training that enters the pool for each:
        // it must not count on the thread that does it, nor do everything alone.
        drop(seat);
        team.called.fetch_sub(1, Ordering::Relaxed);
        let other = in_role(Role::Free, rayon::yield_now);
        team.called.fetch_add(1, Ordering::Relaxed);
        if let Some(Yield::Executed) = other {
            in_vain = 0;
        } else {
            thread::yield_now();
        }
        let Some(again) = team.sit() else { return };
        seat = again;
    }
}

/// Does something in a role, and returns to the one before.
fn in_role<R>(role: Role, work: impl FnOnce() -> R) -> R {
    let before = ROLE.replace(role);
    let _back = OnDrop(|| ROLE.set(before));
    work()
}

/// Does something when it is dropped, also after a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
