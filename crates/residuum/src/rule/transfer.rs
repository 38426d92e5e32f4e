//! Transfer from one array to the next: which columns, how often, how read, and written directly or through a buffer.

use super::operations::{Operations, WORD};
use super::tracking::{Tracker, Tracking};
use crate::array::Array;
use crate::error::{ParameterError, positive, require};
use crate::readout::{Readout, Shape};
use crate::scalar::ColumnScratch;
use crate::state::{State as _, StateError, Tensors};
use crate::{Key, Scalar};

/// How many columns one transfer moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// The whole array, as in the paper's recursion.
    All,
    /// This many, as hardware does it.
    Some(usize),
}

/// Which columns come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order, starting over after the last.
    Cyclic,
    /// The first of each transfer is random.
    Random,
}

/// How often a transfer happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After this many steps (mini-batches).
    Steps(u64),
    /// After this many samples, also within a mini-batch.
    Samples(u64),
}

/// How a read becomes pulses on the next array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Carrier {
    /// Directly: W ← W + A(rate · read; W).
    #[default]
    Direct,
    /// Through a digital sum: pulses are sent once it exceeds a threshold.
    Buffered(Buffer),
}

/// Digital memory H between two arrays.
///
/// ```text
/// H ← H + rate · read
/// n = trunc(H / threshold), at most max_pulses;  n pulses go to W
/// H ← H − (1 − momentum) n · threshold,   or momentum · H if it forgets, wherever n ≠ 0
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffer {
    /// The increment one pulse stands for; `None`: the mean step of the array that is written.
    pub threshold: Option<f64>,
    /// Fraction of what was sent that stays in the buffer.
    pub momentum: f64,
    /// Whether the remainder is discarded after a pulse, rather than kept for the next transfer.
    pub forget: bool,
    /// Maximum pulses per transfer, 1 to 31.
    pub max_pulses: u32,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { threshold: None, momentum: 0.0, forget: false, max_pulses: 1 }
    }
}

/// Transfer from one array to the next. By default the whole array after every step, read exactly, written directly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// How many columns.
    pub columns: Columns,
    /// Which.
    pub order: Order,
    /// How often.
    pub every: Every,
    /// Converters of the read.
    pub readout: Readout,
    /// Direct or buffered.
    pub carrier: Carrier,
    /// Beyond the paper: divides the desired step by the response it will meet, so that the realized one is βγ(P − W⋄) itself,
    /// which removes the √α bias (theory notes §10c). The number is the smallest response divided by, > 0: it keeps the
    /// step finite at the end of the range.
    pub compensated: Option<f64>,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            columns: Columns::All,
            order: Order::Cyclic,
            every: Every::Steps(1),
            readout: Readout::default(),
            carrier: Carrier::Direct,
            compensated: None,
        }
    }
}

impl Transfer {
    fn validate(&self, cols: usize) -> Result<(), ParameterError> {
        if let Columns::Some(n) = self.columns {
            require((1..=cols).contains(&n), "columns", "between 1 and the columns of the array", n as f64)?;
        }
        if let Some(floor) = self.compensated {
            positive("floor", floor)?;
        }
        if let Carrier::Buffered(buffer) = &self.carrier {
            if let Some(threshold) = buffer.threshold {
                positive("threshold", threshold)?;
            }
            require((0.0..=1.0).contains(&buffer.momentum), "momentum", "between 0 and 1", buffer.momentum)?;
            let pulses = f64::from(buffer.max_pulses);
            require((1..=31).contains(&buffer.max_pulses), "max_pulses", "between 1 and 31", pulses)?;
        }
        Ok(())
    }
}

/// Counts steps or samples until something is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    every: Every,
    waited: u64,
}

impl Pace {
    pub(super) fn new(every: Every) -> Result<Self, ParameterError> {
        let (Every::Steps(n) | Every::Samples(n)) = every;
        require(n > 0, "every", "at least 1", n as f64)?;
        Ok(Self { every, waited: 0 })
    }

    fn period(&self) -> u64 {
        let (Every::Steps(n) | Every::Samples(n)) = self.every;
        n
    }

    /// How often it is due in a step of `batch` samples, on average.
    pub(super) fn per_step(&self, batch: usize) -> f64 {
        let passed = if let Every::Samples(_) = self.every { batch.max(1) } else { 1 };
        passed as f64 / self.period() as f64
    }

    /// How often it was due after so many steps and samples.
    pub(super) fn times(&self, steps: u64, samples: u64) -> u64 {
        match self.every {
            Every::Steps(n) => steps / n,
            Every::Samples(n) => samples / n,
        }
    }

    /// Samples that may pass before the next check.
    pub(super) fn samples_until_check(&self) -> usize {
        match self.every {
            Every::Steps(_) => usize::MAX,
            Every::Samples(n) => n.saturating_sub(self.waited).max(1) as usize,
        }
    }

    /// Counts `samples`, and the step if it ends with them; true if a transfer is due.
    pub(super) fn is_due(&mut self, samples: usize, step_ends: bool) -> bool {
        self.waited += match self.every {
            Every::Steps(_) => u64::from(step_ends),
            Every::Samples(_) => samples as u64,
        };
        let due = self.waited >= self.period();
        if due {
            self.waited = 0;
        }
        due
    }

    pub(super) fn forget(&mut self) {
        self.waited = 0;
    }

    pub(super) fn save(&self, tensors: &mut Tensors) {
        tensors.count("waited", self.waited);
    }

    pub(super) fn restore(&mut self, from: &Tensors) {
        from.read_count("waited", &mut self.waited);
    }
}

/// A [`Transfer`] between two arrays of the same shape, with its state.
#[derive(Clone, Debug)]
pub(super) struct Link<T> {
    settings: Transfer,
    shape: Shape,
    /// W⋄ of each cell that is read; `None` where all are 0. Q where it is tracked.
    pub(super) point: Option<Vec<T>>,
    /// What follows the point while the array learns.
    pub(super) tracker: Option<Tracker<T>>,
    /// What the desired step of each cell that is written is divided by.
    pub(super) gain: Option<Vec<T>>,
    /// First column of the next transfer.
    next: u64,
    pub(super) pace: Pace,
    /// Whether pulses are held back because the rule does not trust its reads yet.
    pub(super) muted: bool,
    /// H, where there is a buffer.
    held: Vec<T>,
    column: Vec<T>,
    all: Vec<T>,
    /// The whole array as read, in steps of the converter.
    steps: Vec<i16>,
    scratch: ColumnScratch,
}

/// One column that was read: its index and its values.
pub(super) struct Read<'a, T> {
    pub column: usize,
    /// The last of the sweep over the array.
    pub last: bool,
    pub values: &'a mut [T],
}

impl<T: Scalar> Link<T> {
    pub(super) fn new(settings: &Transfer, shape: Shape) -> Result<Self, ParameterError> {
        settings.validate(shape.cols)?;
        let buffered = matches!(settings.carrier, Carrier::Buffered(_));
        Ok(Self {
            shape,
            point: None,
            tracker: None,
            gain: None,
            next: 0,
            pace: Pace::new(settings.every)?,
            muted: false,
            held: vec![T::ZERO; if buffered { shape.rows * shape.cols } else { 0 }],
            column: vec![T::ZERO; shape.rows],
            all: Vec::new(),
            steps: Vec::new(),
            scratch: ColumnScratch::default(),
            settings: *settings,
        })
    }

    pub(super) fn buffered(&self) -> bool {
        matches!(self.settings.carrier, Carrier::Buffered(_))
    }

    fn per_transfer(&self) -> usize {
        match self.settings.columns {
            Columns::All => self.shape.cols,
            Columns::Some(n) => n,
        }
    }

    /// Whether a transfer writes the whole array at once.
    fn whole(&self) -> bool {
        self.per_transfer() == self.shape.cols && self.settings.carrier == Carrier::Direct
    }

    /// Follows the point from `start` on.
    pub(super) fn track(&mut self, settings: Tracking, start: Option<Vec<T>>) -> Result<(), ParameterError> {
        let start = start.unwrap_or_else(|| vec![T::ZERO; self.shape.rows * self.shape.cols]);
        let width = (self.per_transfer() == self.shape.cols, self.shape.cols);
        self.tracker = Some(Tracker::new(settings, &start, width)?);
        self.point = Some(start);
        Ok(())
    }

    /// Steps of one sweep over the array.
    pub(super) fn sweep(&self, batch: usize) -> u64 {
        let transfers = self.shape.cols.div_ceil(self.per_transfer()) as f64;
        (transfers / self.pace.per_step(batch)).ceil() as u64
    }

    /// Fraction of the array that a step moves, averaged over a sweep.
    pub(super) fn fraction_per_step(&self, batch: usize) -> f64 {
        self.per_transfer() as f64 / self.shape.cols as f64 * self.pace.per_step(batch)
    }

    /// What hardware does for `times` transfers: columns are read and written one by one.
    pub(super) fn operations(&self, times: u64) -> Operations {
        let columns = times * self.per_transfer() as u64;
        let (rows, cells) = (self.shape.rows as u64, (self.shape.rows * self.shape.cols) as u64);
        let numbers = columns * rows;
        let (mut per_number, mut words) = (1, 0);
        if self.point.is_some() {
            (per_number, words) = (per_number + 1, words + 1);
        }
        if let Some(tracker) = &self.tracker {
            // Q is read, moved and written; a sign besides.
            per_number += 3 + u64::from(tracker.settings.chopper > 0.0);
            words += 2;
        }
        if self.buffered() {
            (per_number, words) = (per_number + 4, words + 2);
        }
        Operations {
            forward_cells: columns * cells,
            digital_to_analog: columns,
            analog_to_digital: numbers,
            read_rounds: columns,
            write_rounds: columns,
            digital: per_number * numbers,
            bytes: WORD * words * numbers,
            ..Operations::default()
        }
    }

    /// One transfer of everything: `to` moves by rate·(read − W⋄).
    fn move_all(
        &mut self,
        rate: T,
        from: &dyn Array<T>,
        to: &mut dyn Array<T>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (weights, floor) = (from.weights(), self.settings.compensated);
        let exact = self.settings.readout.is_exact();
        if exact && self.point.is_none() && self.gain.is_none() && floor.is_none() {
            return to.increment(rate, weights, key);
        }
        // What is read is written as it comes.
        if !exact && self.point.is_none() && self.gain.is_none() && floor.is_none() && to.prefers_steps() {
            self.steps.resize(weights.len(), 0);
            let (readout, read) = (&self.settings.readout, key.named("read"));
            if let Some(unit) = T::read_steps(readout, weights, self.shape, read, &mut self.steps) {
                return to.increment_steps(rate * unit, &self.steps, key);
            }
        }
        if exact {
            self.all.clear();
            self.all.extend_from_slice(weights);
        } else {
            self.all.resize(weights.len(), T::ZERO);
            let key = key.named("read");
            let (readout, scratch) = (&self.settings.readout, &mut self.scratch);
            T::read_columns(readout, weights, self.shape, key, &mut self.all, scratch);
        }
        match (&mut self.tracker, &mut self.point) {
            (Some(tracker), Some(point)) => {
                tracker.filter_all(point, &mut self.all);
                tracker.flip((0, self.shape.cols), self.shape.cols, point, key);
            }
            (_, Some(point)) => self.all.iter_mut().zip(&*point).for_each(|(d, p)| *d -= *p),
            (_, None) => {}
        }
        if let Some(gain) = &self.gain {
            self.all.iter_mut().zip(gain).for_each(|(d, g)| *d /= *g);
        }
        if let Some(floor) = floor {
            to.compensate(T::from_f64(floor), 0, 1, &mut self.all);
        }
        to.increment(rate, &self.all, key)
    }

    /// One transfer: reads columns of `from`, lets `adjust` correct what was read, and moves `to` by rate times the result.
    pub(super) fn run(
        &mut self,
        rate: T,
        from: &dyn Array<T>,
        to: &mut dyn Array<T>,
        key: Key,
        adjust: &mut dyn FnMut(Read<'_, T>),
    ) -> Result<(), ParameterError> {
        let (count, cols) = (self.per_transfer(), self.shape.cols);
        if self.settings.order == Order::Random {
            let u = key.named("first column").uniform_at(0);
            self.next = ((u * cols as f64) as u64).min(cols as u64 - 1);
        }
        let mut all = std::mem::take(&mut self.all);
        if self.whole() {
            all.resize(self.shape.rows * cols, T::ZERO);
        }
        for n in 0..count {
            let column = (self.next as usize + n) % cols;
            let mut values = std::mem::take(&mut self.column);
            let read = key.named("read").fold(column as u64);
            let (readout, scratch) = (&self.settings.readout, &mut self.scratch);
            T::read_column(readout, from.weights(), self.shape, column, read, &mut values, scratch);
            self.correct(column, to, &mut values);
            adjust(Read { column, last: column + 1 == cols, values: &mut values });
            let written = if self.whole() {
                for (all, v) in all[column..].iter_mut().step_by(cols).zip(&values) {
                    *all = *v;
                }
                Ok(())
            } else {
                self.write(rate, column, &mut values, to, key)
            };
            self.column = values;
            written?;
        }
        if self.whole() {
            to.increment(rate, &all, key)?;
        }
        self.all = all;
        if let (Some(tracker), Some(point)) = (&mut self.tracker, &self.point) {
            tracker.flip((self.next as usize, count), cols, point, key);
        }
        self.next = (self.next + count as u64) % cols as u64;
        Ok(())
    }

    /// Subtracts W⋄ and divides by gains and responses, for one column.
    fn correct(&mut self, column: usize, to: &dyn Array<T>, values: &mut [T]) {
        let cols = self.shape.cols;
        match (&mut self.tracker, &mut self.point) {
            (Some(tracker), Some(point)) => tracker.filter_column(column, cols, point, values),
            (_, Some(point)) => {
                values.iter_mut().zip(point[column..].iter().step_by(cols)).for_each(|(v, p)| *v -= *p);
            }
            (_, None) => {}
        }
        if let Some(gain) = &self.gain {
            values.iter_mut().zip(gain[column..].iter().step_by(cols)).for_each(|(v, g)| *v /= *g);
        }
        if let Some(floor) = self.settings.compensated {
            to.compensate(T::from_f64(floor), column, cols, values);
        }
    }

    /// One transfer of a chain, which corrects nothing but W⋄, gains and responses; `columns` is called for columns that are written.
    pub(super) fn transfer(
        &mut self,
        rate: T,
        from: &dyn Array<T>,
        to: &mut dyn Array<T>,
        key: Key,
        mut columns: impl FnMut(usize),
    ) -> Result<bool, ParameterError> {
        let whole = self.whole();
        if whole {
            self.move_all(rate, from, to, key)?;
        } else {
            self.run(rate, from, to, key, &mut |read| columns(read.column))?;
        }
        Ok(whole)
    }

    fn write(
        &mut self,
        rate: T,
        column: usize,
        values: &mut [T],
        to: &mut dyn Array<T>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let Carrier::Buffered(buffer) = &self.settings.carrier else {
            return to.update_column(column, rate, values, key);
        };
        let threshold = buffer.threshold.map_or_else(|| to.granularity(), T::from_f64);
        let (most, momentum) = (T::from_f64(f64::from(buffer.max_pulses)), T::from_f64(buffer.momentum));
        let held = self.held[column..].iter_mut().step_by(self.shape.cols);
        let mut any = false;
        for (held, value) in held.zip(values.iter_mut()) {
            *held += rate * *value;
            let pulses = (*held / threshold).trunc().clamp(-most, most);
            if pulses != T::ZERO {
                any = true;
                *held = if buffer.forget {
                    momentum * *held
                } else {
                    *held - (T::ONE - momentum) * pulses * threshold
                };
            }
            *value = pulses;
        }
        if any && !self.muted { to.pulse_column(column, values, buffer.max_pulses, key) } else { Ok(()) }
    }

    /// Empties the buffer.
    pub(super) fn empty(&mut self) {
        self.held.fill(T::ZERO);
    }

    /// Back to the first column, with an empty buffer.
    pub(super) fn forget(&mut self) {
        self.next = 0;
        self.pace.forget();
        self.held.fill(T::ZERO);
        self.scratch.readout.set_running_scale(None);
        if let (Some(tracker), Some(point)) = (&mut self.tracker, &self.point) {
            tracker.forget(point);
        }
    }

    pub(super) fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.count("next", self.next);
        self.pace.save(&mut tensors);
        if !self.held.is_empty() {
            tensors.matrix("held", [self.shape.rows, self.shape.cols], &self.held);
        }
        if let (Some(tracker), Some(point)) = (&self.tracker, &self.point) {
            tracker.save(point, &mut tensors);
        }
        tensors.nest("readout", self.scratch.readout.tensors());
        tensors
    }

    pub(super) fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.read_count("next", &mut self.next);
        self.pace.restore(from);
        from.read("held", &mut self.held);
        if let (Some(tracker), Some(point)) = (&mut self.tracker, &mut self.point) {
            tracker.restore(point, from);
        }
        self.scratch.readout.load(&from.within("readout"))
    }
}
