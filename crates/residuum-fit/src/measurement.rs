//! What was measured: ramps of reads.

use residuum::Range;

/// Which way the pulses of a ramp go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Potentiation, SET.
    Up,
    /// Depression, RESET.
    Down,
}

impl Direction {
    /// +1 or −1.
    pub fn sign(self) -> f64 {
        match self {
            Self::Up => 1.0,
            Self::Down => -1.0,
        }
    }

    /// 0 for up, 1 for down.
    pub fn index(self) -> usize {
        usize::from(self == Self::Down)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// Reads after successive pulses of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp {
    /// Index into [`Measurement::devices`].
    pub device: usize,
    /// Its number among the ramps of this device and direction, from 0.
    pub cycle: usize,
    /// Which way the pulses go.
    pub direction: Direction,
    /// One read per pulse; NaN where none was taken.
    pub reads: Vec<f64>,
}

impl Ramp {
    /// The reads that were taken.
    pub fn taken(&self) -> impl Iterator<Item = f64> {
        self.reads.iter().copied().filter(|y| !y.is_nan())
    }

    /// A name for warnings.
    pub(crate) fn name(&self, devices: &[String]) -> String {
        let ramp = format!("{} ramp {}", self.direction.word(), self.cycle + 1);
        if devices.len() > 1 { format!("device {}, {ramp}", devices[self.device]) } else { ramp }
    }
}

/// Ramps of one or several devices, in one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Names of the devices.
    pub devices: Vec<String>,
    /// In the order of the file.
    pub ramps: Vec<Ramp>,
    /// The unit of reads, in words: `S`, or `units of the file`.
    pub unit: String,
    /// The format, in words.
    pub format: String,
    /// What the reader decided, one sentence each.
    pub notes: Vec<String>,
}

impl Measurement {
    /// The smallest and the largest read.
    pub fn range(&self) -> Option<Range> {
        let (lo, hi) = self
            .ramps
            .iter()
            .flat_map(Ramp::taken)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)));
        (lo < hi).then_some(Range { lo, hi })
    }

    /// The number of reads.
    pub fn reads(&self) -> usize {
        self.ramps.iter().map(|ramp| ramp.taken().count()).sum()
    }

    /// The ramps of one device.
    pub fn of_device(&self, device: usize) -> impl Iterator<Item = &Ramp> {
        self.ramps.iter().filter(move |ramp| ramp.device == device)
    }

    /// The number of ramps in a direction, of all devices.
    pub fn count(&self, direction: Direction) -> usize {
        self.ramps.iter().filter(|ramp| ramp.direction == direction).count()
    }
}
