//! From one array to the next: which columns, how often, read how, and written at once or through a digital buffer.

use super::super::Slot;
use crate::Key;
use crate::error::{ParameterError, positive, require};
use crate::readout::{self, Readout, Shape};
use crate::tile::{Crossbar, Management, Scheme, Trains};

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
    /// One after the other, from the first again after the last.
    Cyclic,
    /// The first of each transfer is drawn.
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

/// How what was read becomes pulses on the next array.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier {
    /// At once: W ← W + A(rate · read; W).
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
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// What one pulse stands for; `None`: the mean step of the array that is written.
    pub threshold: Option<f32>,
    /// Part of what was sent that stays.
    pub momentum: f32,
    /// Whether the rest is forgotten after a pulse, rather than kept for the next transfer.
    pub forget: bool,
    /// Most pulses of one transfer, 1 to 31.
    pub max_pulses: u32,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { threshold: None, momentum: 0.0, forget: false, max_pulses: 1 }
    }
}

/// The way from one array to the next. By default the whole array after every step, read exactly, written at once by pulse
/// trains.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// How many columns.
    pub columns: Columns,
    /// Which.
    pub order: Order,
    /// How often.
    pub every: Every,
    /// Converters of the read.
    pub readout: Readout,
    /// How it arrives.
    pub carrier: Carrier,
    /// How increments become pulses, without a buffer.
    pub scheme: Scheme,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            columns: Columns::All,
            order: Order::Cyclic,
            every: Every::Steps(1),
            readout: Readout::default(),
            carrier: Carrier::Direct,
            scheme: Trains::default().into(),
        }
    }
}

impl Transfer {
    fn validate(&self, cols: usize) -> Result<(), ParameterError> {
        if let Columns::Some(n) = self.columns {
            require((1..=cols).contains(&n), "columns", "between 1 and the columns of the array", n as f64)?;
        }
        if let Carrier::Buffered(buffer) = &self.carrier {
            if let Some(threshold) = buffer.threshold {
                positive("threshold", f64::from(threshold))?;
            }
            let momentum = f64::from(buffer.momentum);
            require((0.0..=1.0).contains(&momentum), "momentum", "between 0 and 1", momentum)?;
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

    pub(super) fn period(&self) -> u64 {
        let (Every::Steps(n) | Every::Samples(n)) = self.every;
        n
    }

    /// Samples that may pass before the next look.
    pub(super) fn room(&self) -> usize {
        match self.every {
            Every::Steps(_) => usize::MAX,
            Every::Samples(n) => (n - self.waited) as usize,
        }
    }

    /// Notes that `samples` have passed, and whether the step ends with them; true if it is time.
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

    pub(super) fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        visit("waited", Slot::Count(&mut self.waited));
    }
}

/// A [`Transfer`] under way between two arrays of one shape.
#[derive(Clone, Debug)]
pub(super) struct Way {
    settings: Transfer,
    shape: Shape,
    /// First column of the next transfer.
    next: u64,
    pub(super) pace: Pace,
    /// Whether pulses are held back: a rule that does not trust its reads yet.
    pub(super) muted: bool,
    /// H, where there is a buffer.
    held: Vec<f32>,
    column: Vec<f32>,
    all: Vec<f32>,
    scratch: readout::Scratch,
}

/// One column on its way: its index and what was read of it.
pub(super) struct Read<'a> {
    pub column: usize,
    /// The last of the sweep over the array.
    pub last: bool,
    pub values: &'a mut [f32],
}

impl Way {
    pub(super) fn new(settings: Transfer, rows: usize, cols: usize) -> Result<Self, ParameterError> {
        settings.validate(cols)?;
        let buffered = matches!(settings.carrier, Carrier::Buffered(_));
        Ok(Self {
            shape: Shape { rows, cols },
            next: 0,
            pace: Pace::new(settings.every)?,
            muted: false,
            held: vec![0.0; if buffered { rows * cols } else { 0 }],
            column: vec![0.0; rows],
            all: Vec::new(),
            scratch: readout::Scratch::default(),
            settings,
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

    /// Steps of one sweep over the array, for mini-batches of one sample where transfers follow samples.
    pub(super) fn sweep(&self) -> u64 {
        self.pace.period() * self.shape.cols.div_ceil(self.per_transfer()) as u64
    }

    /// Fraction of the array that a step moves, averaged over a sweep.
    pub(super) fn share(&self) -> f64 {
        self.per_transfer() as f64 / self.shape.cols as f64 / self.pace.period() as f64
    }

    /// One transfer: reads columns of `from`, lets `adjust` correct what was read, and moves `to` by rate times the result.
    pub(super) fn run(
        &mut self,
        rate: f32,
        from: &dyn Crossbar,
        to: &mut dyn Crossbar,
        key: Key,
        adjust: &mut dyn FnMut(Read<'_>),
    ) -> Result<(), ParameterError> {
        let count = self.per_transfer();
        if self.settings.order == Order::Random {
            let u = key.named("first column").uniform_at(0);
            self.next = ((u * self.shape.cols as f64) as u64).min(self.shape.cols as u64 - 1);
        }
        let whole = count == self.shape.cols && self.settings.carrier == Carrier::Direct;
        let mut all = std::mem::take(&mut self.all);
        if whole {
            all.resize(self.shape.rows * self.shape.cols, 0.0);
        }
        for n in 0..count {
            let column = (self.next as usize + n) % self.shape.cols;
            let mut values = std::mem::take(&mut self.column);
            self.settings.readout.read_column(
                from.weights(),
                self.shape,
                column,
                key.named("read").fold(column as u64),
                &mut values,
                &mut self.scratch,
            );
            adjust(Read { column, last: column + 1 == self.shape.cols, values: &mut values });
            let written = if whole {
                for (all, v) in all[column..].iter_mut().step_by(self.shape.cols).zip(&values) {
                    *all = *v;
                }
                Ok(())
            } else {
                self.write(rate, column, &mut values, to, key.named("write").fold(column as u64))
            };
            self.column = values;
            written?;
        }
        if whole {
            to.increment(rate, &all, self.settings.scheme, key.named("write"))?;
        }
        self.all = all;
        self.next = (self.next + count as u64) % self.shape.cols as u64;
        Ok(())
    }

    fn write(
        &mut self,
        rate: f32,
        column: usize,
        values: &mut [f32],
        to: &mut dyn Crossbar,
        key: Key,
    ) -> Result<(), ParameterError> {
        let Carrier::Buffered(buffer) = &self.settings.carrier else {
            return to.update_column(column, rate, values, self.settings.scheme, key);
        };
        let granularity = to.granularity();
        let threshold = buffer.threshold.unwrap_or(granularity);
        let most = buffer.max_pulses as f32;
        let held = self.held[column..].iter_mut().step_by(self.shape.cols);
        let mut any = false;
        for (held, value) in held.zip(values.iter_mut()) {
            *held += rate * *value;
            let pulses = (*held / threshold).trunc().clamp(-most, most);
            if pulses != 0.0 {
                any = true;
                *held = if buffer.forget {
                    buffer.momentum * *held
                } else {
                    *held - (1.0 - buffer.momentum) * pulses * threshold
                };
            }
            *value = pulses;
        }
        if any && !self.muted {
            // A train as long as the most pulses, with equal scales: one pulse is certain if one is the most.
            let trains = Trains { length: buffer.max_pulses, management: Management::Fixed };
            to.update_column(column, granularity, values, trains.into(), key)?;
        }
        Ok(())
    }

    /// Back to the first column, with nothing held.
    pub(super) fn forget(&mut self) {
        self.next = 0;
        self.pace.waited = 0;
        self.held.fill(0.0);
    }

    pub(super) fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        visit("next", Slot::Count(&mut self.next));
        self.pace.state(visit);
        if !self.held.is_empty() {
            visit("held", Slot::Floats(&mut self.held));
        }
    }
}
