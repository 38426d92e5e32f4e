//! Batches prepared ahead on another thread. What a batch holds depends on its key alone, so its bits are the same.

use std::panic;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::{Batch, Epoch};

/// The batches of an epoch, prepared on a separate thread, or here if the system has no thread to give: only the time differs. Dropping it
/// ends the thread.
#[derive(Debug)]
pub struct Prefetch {
    /// Empty once the epoch is over, so that the thread's end is noticed once.
    ready: Option<Receiver<Batch>>,
    used: Sender<Batch>,
    left: usize,
    worker: Option<JoinHandle<()>>,
    /// The epoch itself, if there is no thread.
    here: Option<Epoch>,
}

impl Prefetch {
    /// Prepares the batches of `epoch`, at most `depth` ahead of the one requested.
    pub fn new(epoch: Epoch, depth: usize) -> Self {
        let (send, ready) = sync_channel(depth);
        let (used, reuse) = channel::<Batch>();
        let left = epoch.len();
        // The epoch follows the thread, so that it is still here if there is none.
        let (give, take) = channel::<Epoch>();
        let worker = thread::Builder::new().spawn(move || {
            let Ok(mut epoch) = take.recv() else { return };
            let mut batch = Batch::default();
            // A closed channel means that no more batches are wanted.
            while epoch.next_into(&mut batch) && send.send(batch).is_ok() {
                batch = reuse.try_recv().unwrap_or_default();
            }
        });
        match worker {
            Ok(worker) => {
                let here = give.send(epoch).err().map(|unsent| unsent.0);
                Self { ready: Some(ready), used, left, worker: Some(worker), here }
            }
            Err(_) => Self { ready: None, used, left, worker: None, here: Some(epoch) },
        }
    }

    /// Puts the next batch into `batch`, whose memory goes back to the thread; false at the end, with `batch`
    /// unchanged.
    pub fn next_into(&mut self, batch: &mut Batch) -> bool {
        match self.next() {
            Some(next) => {
                // A worker that is done takes nothing back.
                let _ = self.used.send(std::mem::replace(batch, next));
                true
            }
            None => false,
        }
    }

    fn join(&mut self) -> thread::Result<()> {
        self.ready = None;
        self.worker.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Iterator for Prefetch {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        if let Some(epoch) = &mut self.here {
            let mut batch = Batch::default();
            let more = epoch.next_into(&mut batch);
            self.left -= usize::from(more);
            return more.then_some(batch);
        }
        let batch = self.ready.as_ref().and_then(|ready| ready.recv().ok());
        self.left -= usize::from(batch.is_some());
        // An epoch cut short by a panic of the thread must not look like one that is over.
        if batch.is_none()
            && let Err(panic) = self.join()
        {
            panic::resume_unwind(panic);
        }
        batch
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Prefetch {}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // A panic is reported by `next`, where the batch would have been used.
        let _ = self.join();
    }
}
