//! Threads that take part in one work after another without going to sleep in between.
//!
//! The leader publishes a work, members who look find it and take part, and the leader waits until all of them have left. rayon's `join`
//! does the same through queues and latches, and takes 2 µs; this takes a few passages of a cache line between cores.

use std::any::Any;
use std::hint;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::OnDrop;

/// What a member does, given its seat: 0 for the leader.
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// In [`Board::state`]: whether members may enter; one of those who are inside; and one work.
const OPEN: u64 = 1;
const INSIDE: u64 = 2;
const WORK: u64 = 1 << 32;

/// Looks of a leader who waits, after which other processes get the core, if they want it: tens of microseconds. They keep it for
/// milliseconds, in which many works would be done: not at every look.
const LOOKS: u32 = 1 << 10;

/// What members and their leader share.
#[derive(Debug)]
pub struct Team {
    board: Aligned<Board>,
    /// Who sits on each seat but the leader's.
    seats: Box<[AtomicBool]>,
    /// Members that are here or on their way.
    pub called: AtomicUsize,
    /// What the first member to panic panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Where works are published: on one cache line, so that who sees one has it.
#[derive(Debug, Default)]
struct Board {
    /// Which work it is, how many members are inside, and whether it is open.
    state: AtomicU64,
    /// The work, while it is open or somebody is inside.
    work: AtomicPtr<Work<'static>>,
}

/// A value on cache lines of its own: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Aligned<T>(pub T);

/// The one who may publish works. Nobody else has the right while it does: see [`Leader::lead`].
#[derive(Debug)]
pub struct Leader {
    team: Arc<Team>,
    works: u64,
}

impl Leader {
    /// The leader of a new team of so many threads.
    pub fn new(threads: usize) -> Self {
        let team = Team {
            board: Aligned::default(),
            seats: (1..threads).map(|_| AtomicBool::new(false)).collect(),
            called: AtomicUsize::new(0),
            panic: Mutex::new(None),
        };
        Self { team: Arc::new(team), works: 0 }
    }

    /// Those who can help.
    pub fn team(&self) -> &Arc<Team> {
        &self.team
    }

    /// Threads of the team, the leader with them.
    pub fn threads(&self) -> usize {
        self.team.seats.len() + 1
    }

    /// Does some work together with the members who find it in time, each in a seat of its own. Returns when all have left.
    ///
    /// # Panics
    /// If the work panics, here or at a member.
    pub fn lead(&mut self, work: Work<'_>) {
        self.works += 1;
        let (team, Board { state, work: published }) = (&*self.team, &self.team.board.0);
        // Members see this pointer between the store of an open state and the end of `close`, during all of which `work` is borrowed.
        published.store(ptr::from_ref(&work).cast_mut().cast(), Ordering::Relaxed);
        state.store((self.works % WORK * WORK) | OPEN, Ordering::Release);
        let close = OnDrop(|| team.close());
        work(0);
        drop(close);
        let panicked = team.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = panicked {
            panic::resume_unwind(payload);
        }
    }
}

impl Team {
    /// Lets nobody in any more, and waits until those inside have left.
    fn close(&self) {
        let Board { state, .. } = &self.board.0;
        state.fetch_and(!OPEN, Ordering::Relaxed);
        let mut looks = 0;
        // Acquires what members wrote before they left.
        while state.load(Ordering::Acquire) % WORK >= INSIDE {
            looks += 1;
            if looks % LOOKS == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
        if thread::panicking() {
            // The leader's own panic is passed on; a member's must not wait for the next work.
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// A free seat, if there is one.
    pub fn sit(&self) -> Option<Seat<'_>> {
        let free = |taken: &AtomicBool| !taken.swap(true, Ordering::Relaxed);
        let index = self.seats.iter().position(free)?;
        Some(Seat { team: self, index: index + 1, done: 0 })
    }
}

/// The seat of a member.
#[derive(Debug)]
pub struct Seat<'a> {
    team: &'a Team,
    index: usize,
    /// The last work in which this member took part.
    done: u64,
}

impl Seat<'_> {
    /// Takes part in a work, if there is one that this member does not know.
    pub fn help(&mut self) -> bool {
        let Team { board: Aligned(Board { state, work }), panic, .. } = self.team;
        let seen = state.load(Ordering::Relaxed);
        if seen % INSIDE != OPEN || seen / WORK == self.done {
            return false;
        }
        // Fails if the work was closed meanwhile, or somebody else came or went; then the next look finds out.
        if state.compare_exchange(seen, seen + INSIDE, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.done = seen / WORK;
        // Whatever happens, the leader must not wait for ever. Releases what was written here.
        let _leave = OnDrop(|| {
            state.fetch_sub(INSIDE, Ordering::Release);
        });
        // SAFETY: The state was open when this member was counted as inside, and it acquired what the leader had released: the pointer of
        // this work, made from a reference. `lead` has `&mut Leader`, of which a team has one, so that nobody publishes another work
        // before `close` has seen that nobody is inside; and `close` runs before `lead` returns or unwinds, so that the work, which
        // `lead` borrows, is alive until this member has left. `Work` is `Sync`.
        #[expect(
            unsafe_code,
            reason = "a work lives as long as `lead`, which no lifetime can tell to threads that outlive it"
        )]
        let work = unsafe { *work.load(Ordering::Relaxed) };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| work(self.index))) {
            panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
        true
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.team.seats[self.index - 1].store(false, Ordering::Relaxed);
    }
}
