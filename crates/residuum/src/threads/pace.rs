//! Whether a work that comes again and again is quicker on all threads or on one, by the time that it takes.

use std::time::Duration;

/// Works of one mode are timed together for so long, over which a thread that waits for its core shows.
const BLOCK: Duration = Duration::from_millis(2);
/// What is not counted after a change, when threads wake up and caches fill; a longer work is.
const CHANGE: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(5);
/// The first works, which make room for what they need.
const BEGINNING: u32 = 2;
/// Pairs of blocks in one comparison: one of them may have been disturbed.
const PAIRS: usize = 3;
/// How much longer than the mode in use another must take to be given up after one pair.
const HOPELESS: f64 = 1.25;
/// All threads must take less than this part of the time of one to be called, and to stay: a core that saves nothing is better left to others.
const CALLED: f64 = 0.96;
const STAYS: f64 = 0.99;
/// Works between two comparisons, in pairs of blocks: first after a change, and at most.
const FIRST_REST: u32 = 64;
const LONGEST_REST: u32 = 1024;
/// They are as many for each work whose time a comparison lost.
const LOST: u32 = 256;

/// Chooses between all threads and one for a work that comes again and again, such as the steps of a training: it tries both, keeps the
/// quicker, and looks again from time to time, ever more seldom while the answer is the same. One object for each kind of work.
///
/// A comparison takes less than a hundredth of the time, and less the longer the work goes on.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The mode in use: whether on all threads.
    all: bool,
    state: State,
    /// The last rest, in pairs of blocks.
    rest: u32,
    /// Since the last change of mode.
    since: Duration,
}

#[derive(Clone, Debug)]
enum State {
    /// Nothing is compared for so many works.
    Rests(u32),
    /// The mode in use, then the other, pair by pair; and the time of the other over that in use for each pair so far.
    Compares { other: bool, times: [Block; 2], ratios: [f64; PAIRS], pairs: usize },
}

/// Works of one mode.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    time: Duration,
    works: u32,
}

impl Default for Pace {
    /// On all threads, and soon to be compared.
    fn default() -> Self {
        Self { all: true, state: State::Rests(BEGINNING), rest: FIRST_REST, since: Duration::ZERO }
    }
}

impl Pace {
    /// Whether the next work should have all threads.
    pub fn all(&self) -> bool {
        match self.state {
            State::Compares { other: true, .. } => !self.all,
            _ => self.all,
        }
    }

    /// The next work has been done, in this time.
    pub fn took(&mut self, time: Duration) {
        self.since += time;
        let counts = self.since > CHANGE || time > LONG;
        match &mut self.state {
            State::Rests(left) => {
                *left -= 1;
                if *left == 0 {
                    self.compare([0.0; PAIRS], 0);
                }
            }
            State::Compares { other, times, ratios, pairs } if counts => {
                let block = &mut times[usize::from(*other)];
                block.time += time;
                block.works += 1;
                if block.time < BLOCK {
                    return;
                }
                self.since = Duration::ZERO;
                if !*other {
                    *other = true;
                    return;
                }
                let [here, there] = times.map(|block| block.time.as_secs_f64() / f64::from(block.works));
                // The next comparison should not come before this one is a small part of all works, with what the slower mode lost.
                let works = times.map(|block| block.works);
                let lost = f64::from(works[1]) * ((there / here).max(here / there) - 1.0);
                let rest = [works[0] + works[1], lost as u32];
                let (mut ratios, pairs) = (*ratios, *pairs);
                ratios[pairs] = there / here;
                if ratios[pairs] > HOPELESS {
                    self.rests(false, rest);
                } else if pairs + 1 < PAIRS {
                    self.compare(ratios, pairs + 1);
                } else {
                    ratios.sort_by(f64::total_cmp);
                    let median = ratios[PAIRS / 2];
                    // Time on all threads over time on one.
                    let gain = if self.all { 1.0 / median } else { median };
                    self.rests(if self.all { gain > STAYS } else { gain < CALLED }, rest);
                }
            }
            State::Compares { .. } => {}
        }
    }

    fn compare(&mut self, ratios: [f64; PAIRS], pairs: usize) {
        self.state = State::Compares { other: false, times: Default::default(), ratios, pairs };
    }

    /// Until the next comparison, after a pair of blocks with so many works that lost the time of so many.
    fn rests(&mut self, changes: bool, [pair, lost]: [u32; 2]) {
        self.all ^= changes;
        self.rest = if changes { FIRST_REST } else { (2 * self.rest).min(LONGEST_REST) };
        // Counted in works: time would be counted while the process stands still, and a pair that was interrupted would rest for hours.
        let [confirmed, cheap] = [pair.saturating_mul(self.rest), lost.saturating_mul(LOST)];
        self.state = State::Rests(confirmed.max(cheap).min(pair.saturating_mul(LONGEST_REST)));
    }
}
