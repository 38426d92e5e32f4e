//! The threads that calls from Python may use, and long work that Ctrl-C can stop.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{PyFailure, refuse};

/// Time between two looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(100);
/// More threads than this are a mistake.
const MOST: usize = 1024;

/// The pool, and the process it belongs to: threads do not survive a fork.
struct Pool {
    threads: usize,
    made: Option<(u32, Arc<ThreadPool>)>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { threads: 0, made: None });

thread_local! {
    /// Whether this thread is the only worker of a pool of its own.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

fn pool() -> std::sync::MutexGuard<'static, Pool> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if pool.threads == 0 {
        pool.threads = std::thread::available_parallelism().map_or(1, usize::from);
    }
    pool
}

/// Number of threads that calls may use.
#[pyfunction]
pub fn threads() -> usize {
    pool().threads
}

/// Sets how many threads calls may use, from now on; all cores at first. Does not affect results.
#[pyfunction]
pub fn set_threads(count: usize) -> Result<(), PyFailure> {
    if !(1..=MOST).contains(&count) {
        return Err(refuse(format!("threads must be between 1 and {MOST}, got {count}")));
    }
    let mut pool = pool();
    (pool.threads, pool.made) = (count, None);
    Ok(())
}

/// Runs a computation without the interpreter's lock, on the threads that are allowed.
pub fn compute<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> Result<R, PyFailure> {
    py.detach(|| guarded(|| bounded(work)))?
}

/// The same for work that is done sooner than another thread would wake up: `size` is its number of multiplications.
pub fn compute_sized<R: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce() -> R + Send,
) -> Result<R, PyFailure> {
    /// About a millisecond of work.
    const BRIEF: usize = 1 << 22;
    py.detach(|| {
        guarded(|| {
            if size < BRIEF {
                alone();
                return Ok(work());
            }
            bounded(work)
        })
    })?
}

/// Work that panics is a defect of ours, and an exception like any other: the interpreter goes on.
fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, PyFailure> {
    // What was being changed is behind a lock, which a panic poisons.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| defect(&*panic))
}

fn defect(panic: &(dyn Any + Send)) -> PyFailure {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    let said = said.unwrap_or("no message");
    PyRuntimeError::new_err(format!("a defect in Residuum, please report it with what led here: {said}")).into()
}

/// Panics with this message where work is done: tests ask what becomes of it.
#[pyfunction]
pub fn _panic(py: Python<'_>, message: String, watch: bool) -> Result<(), PyFailure> {
    let work = move || -> () { panic!("{message}") };
    if watch { watched(py, |_| work(), |_| Ok(())) } else { compute(py, work) }
}

/// Runs a computation on the threads that are allowed. With one thread it stays on the caller's: a layer of a network takes
/// microseconds, and handing it over would too.
pub fn bounded<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, PyFailure> {
    if pool().threads == 1 {
        alone();
        return Ok(work());
    }
    pooled(work)
}

/// Runs a computation on the threads of the pool.
fn pooled<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, PyFailure> {
    let mut own = pool();
    let (process, threads) = (std::process::id(), own.threads);
    let made = match &own.made {
        Some((of, made)) if *of == process => made.clone(),
        _ => {
            let made = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
            // A pool of another process has no threads to wait for.
            if let Some((_, lost)) = own.made.replace((process, made.clone())).filter(|(of, _)| *of != process)
            {
                std::mem::forget(lost);
            }
            made
        }
    };
    drop(own);
    Ok(made.install(work))
}

/// Makes this thread the one worker of a pool, once.
fn alone() {
    if ALONE.replace(true) {
        return;
    }
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    // A thread that is a worker already, as that of a callback, keeps its pool.
    if let Ok(pool) = pool {
        // Dropping it would end the worker, which is this thread.
        std::mem::forget(pool);
    }
}

/// Tells long work whether to stop.
#[derive(Debug, Default)]
pub struct StopRequest {
    stop: AtomicBool,
}

impl StopRequest {
    pub fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs long work on another thread, while this one answers Ctrl-C and calls `tick` now and then. After Ctrl-C the work is
/// asked to stop, and KeyboardInterrupt is raised when it has.
pub fn watched<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&StopRequest) -> R + Send,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
) -> Result<R, PyFailure> {
    let (watch, done) = (StopRequest::default(), (Mutex::new(None), Condvar::new()));
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = pooled(|| work(&watch));
            *done.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(());
            done.1.notify_all();
            result
        });
        loop {
            let finished = py.detach(|| {
                let over = done.0.lock().unwrap_or_else(PoisonError::into_inner);
                let (over, _) = done
                    .1
                    .wait_timeout_while(over, TICK, |over| over.is_none() && !worker.is_finished())
                    .unwrap_or_else(PoisonError::into_inner);
                over.is_some() || worker.is_finished()
            });
            if finished {
                break;
            }
            if let Err(error) = py.check_signals().and_then(|()| tick(py)) {
                raised.get_or_insert(error);
                watch.stop.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = raised {
        return Err(error.into());
    }
    match result {
        Ok(result) => result,
        Err(panic) => Err(defect(&*panic)),
    }
}
