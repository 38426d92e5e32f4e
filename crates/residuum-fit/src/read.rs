//! Files of measured pulses, in the formats of the field.
//!
//! | format | rows |
//! |---|---|
//! | `two-columns` | an up and a down ramp side by side (AIHWKIT) |
//! | `ramps` | one ramp per column, a file for each direction (CrossSim) |
//! | `sequence` | one column, ramps of a fixed length one after the other |
//! | `pairs` | pulse number and conductance, for one ramp after the other or side by side (NeuroSim) |
//! | `tidy` | columns named `device`, `cycle`, `pulse`, `direction`, `conductance` (or `current`) |

mod grid;
mod layouts;
mod tidy;

use thiserror::Error;

use crate::measurement::{Direction, Measurement};
use grid::Grid;

/// How a file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An up and a down ramp side by side.
    TwoColumns,
    /// One ramp per column.
    Ramps,
    /// One column of ramps one after the other.
    Sequence,
    /// Pulse numbers beside conductances.
    Pairs,
    /// Named columns.
    Tidy,
}

impl Format {
    /// All of them with the words for them.
    pub const ALL: [(&'static str, Self); 5] = [
        ("two-columns", Self::TwoColumns),
        ("ramps", Self::Ramps),
        ("sequence", Self::Sequence),
        ("pairs", Self::Pairs),
        ("tidy", Self::Tidy),
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(word, _)| word)
    }
}

/// What a user says of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The layout, instead of the one that is recognised.
    pub format: Option<Format>,
    /// Reads of a ramp in a sequence.
    pub ramp_length: Option<usize>,
    /// Volts: reads are currents, to be divided by it.
    pub read_voltage: Option<f64>,
    /// The unit of conductances, instead of the one a header names.
    pub unit: Option<String>,
}

/// One file.
#[derive(Clone, Debug, PartialEq)]
pub struct PulseFile<'a> {
    /// Its name, for errors.
    pub name: &'a str,
    /// Its contents.
    pub text: &'a str,
    /// The direction of all its ramps, if the user said so.
    pub direction: Option<Direction>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing in it.
    #[error("{file}: no rows; a file of pulses has one read in each row")]
    Empty {
        /// The file.
        file: String,
    },
    /// A cell that is no number.
    #[error(
        "{file}: line {line}, column {column}: must be a number, got {text:?}; only the first line may hold names"
    )]
    Number {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The cell.
        text: String,
    },
    /// A comma for a point.
    #[error("{file}: {text:?} has a decimal comma: write numbers with a point, such as {:?}", text.replacen(',', ".", 1))]
    Comma {
        /// The file.
        file: String,
        /// The cell.
        text: String,
    },
    /// A column of words.
    #[error(
        "{file}: column {column} ({name:?}) holds words, such as {text:?}: take it out, or give a table with the columns \
         device,cycle,pulse,direction,conductance"
    )]
    Words {
        /// The file.
        file: String,
        /// From 1.
        column: usize,
        /// Its name, if it has one.
        name: String,
        /// One of them.
        text: String,
    },
    /// Reads in two units.
    #[error("{file}: reads are in {first} and in {second}: give all of them in one unit")]
    Mixed {
        /// The file.
        file: String,
        /// One unit.
        first: String,
        /// Another.
        second: String,
    },
    /// Resistances.
    #[error(
        "{file}: its header says that reads are in {unit}, resistances: give conductances, one over them, or currents with --read-voltage"
    )]
    Resistances {
        /// The file.
        file: String,
        /// The unit.
        unit: String,
    },
    /// A voltage for what are conductances.
    #[error("{file}: its header says that reads are in {unit}, conductances already: leave --read-voltage out")]
    Conductances {
        /// The file.
        file: String,
        /// The unit.
        unit: String,
    },
    /// NaN or infinity.
    #[error(
        "{file}: line {line}, column {column}: must be finite, got {text:?}; leave the cell empty where no read was taken"
    )]
    NotFinite {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The cell.
        text: String,
    },
    /// A layout that is not clear.
    #[error("{file}: {columns} columns of numbers are {what}: {cure}")]
    Unclear {
        /// The file.
        file: String,
        /// How many.
        columns: usize,
        /// What is not known of them.
        what: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// An option that the layout needs or cannot have.
    #[error("{file}: the format {format} {what}")]
    Option {
        /// The file.
        file: String,
        /// The layout.
        format: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// A column that a tidy table must have.
    #[error(
        "{file}: the header must name {column:?} (it names {given}); columns: device, cycle, pulse, direction, conductance"
    )]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
        /// The header.
        given: String,
    },
    /// A direction that is none.
    #[error("{file}: line {line}: direction must be up or down (or set/reset, ltp/ltd, 1/-1), got {text:?}")]
    Direction {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// The cell.
        text: String,
    },
    /// A pulse number that is no count.
    #[error("{file}: line {line}: pulse must be a whole number from 0 on, got {text:?}")]
    Pulse {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// The cell.
        text: String,
    },
    /// Pulses without reads.
    #[error(
        "{file}: {ramp} claims {pulses} pulses for {reads} reads: number the pulses between reads (at most {most} without a \
         read), or give one row per read without pulse numbers"
    )]
    Claimed {
        /// The file.
        file: String,
        /// Which.
        ramp: String,
        /// How many it claims.
        pulses: u64,
        /// How many there are.
        reads: usize,
        /// The most that are taken.
        most: u64,
    },
    /// A pulse twice.
    #[error("{file}: {ramp} has pulse {pulse} twice: give every read a pulse of its own, or another cycle")]
    Twice {
        /// The file.
        file: String,
        /// Which.
        ramp: String,
        /// The pulse.
        pulse: u64,
    },
    /// A voltage that is none.
    #[error("the read voltage must be positive and finite, got {0}")]
    Voltage(f64),
    /// Ramps of a sequence that do not alternate.
    #[error(
        "{file}: the reads of ramps {first} and {} both go {way}, and those of a sequence go up and down in turn: is {length} the number \
         of reads in each ramp (--ramp-length)? Otherwise give a table with the columns device,cycle,pulse,direction,conductance",
        first + 1
    )]
    Turn {
        /// The file.
        file: String,
        /// The first of the two, from 1.
        first: usize,
        /// Where they go.
        way: &'static str,
        /// As given.
        length: usize,
    },
    /// A length that is none.
    #[error("the ramp length must be at least 10, got {0}")]
    Length(usize),
    /// No file.
    #[error("no file of measured pulses: give one, or one for each direction (--up, --down)")]
    NoFile,
}

/// Reads without a pulse that a ramp may have for each that it has.
pub(crate) const MOST_GAPS: u64 = 100;

/// Reads files of one measurement; several files of one layout are several devices, unless they are of a direction each.
///
/// # Errors
/// If a cell, the layout or an option is not what it must be: see [`ReadError`].
pub fn measurement(sources: &[PulseFile<'_>], options: &ReadOptions) -> Result<Measurement, ReadError> {
    if sources.is_empty() {
        return Err(ReadError::NoFile);
    }
    if let Some(voltage) = options.read_voltage.filter(|v| !(*v > 0.0 && v.is_finite())) {
        return Err(ReadError::Voltage(voltage));
    }
    if let Some(length) = options.ramp_length.filter(|n| *n < 10) {
        return Err(ReadError::Length(length));
    }
    let directed = sources.iter().any(|s| s.direction.is_some());
    let mut whole: Option<Measurement> = None;
    for (index, source) in sources.iter().enumerate() {
        let grid = Grid::split(source)?;
        let format = match options.format {
            Some(format) => format,
            None => layouts::recognise(source, &grid)?,
        };
        let mut part = match format {
            Format::Tidy => tidy::read(source, &grid, options)?,
            _ => layouts::read(source, &grid, format, options)?,
        };
        part.format = format.word().into();
        if let Some(before) = &whole {
            one_unit(source.name, [&before.unit, &part.unit])?;
            if before.format != part.format {
                let words =
                    format!("{} is read as {}, the first file as {}", source.name, part.format, before.format);
                part.notes.push(words);
            }
        }
        let mut together = match whole.take() {
            None => Measurement { ramps: Vec::new(), devices: Vec::new(), ..part.clone() },
            Some(before) => before,
        };
        let alone = sources.len() == 1 || directed;
        let first = if directed { 0 } else { together.devices.len() };
        for (place, name) in part.devices.iter().enumerate() {
            let name = if alone || format == Format::Tidy { name.clone() } else { source.name.to_string() };
            if first + place >= together.devices.len() {
                together.devices.push(name);
            }
        }
        // Ramps of a second file of one direction come after those of the first.
        let before = |direction: Direction| {
            together.ramps.iter().filter(|r| directed && r.direction == direction).count()
        };
        let before = [before(Direction::Up), before(Direction::Down)];
        for mut ramp in part.ramps.drain(..) {
            ramp.device += first;
            ramp.cycle += before[ramp.direction.index()];
            together.ramps.push(ramp);
        }
        if index > 0 {
            together.notes.extend(part.notes);
        }
        whole = Some(together);
    }
    let mut whole = whole.ok_or(ReadError::NoFile)?;
    if grid::is_resistance(&whole.unit) {
        return Err(ReadError::Resistances { file: sources[0].name.into(), unit: whole.unit });
    }
    let current = grid::over_volts(&whole.unit);
    if let Some(voltage) = options.read_voltage {
        if current.is_none() && grid::is_unit(&whole.unit) {
            return Err(ReadError::Conductances { file: sources[0].name.into(), unit: whole.unit });
        }
        for y in whole.ramps.iter_mut().flat_map(|r| &mut r.reads) {
            *y /= voltage;
        }
        let unit = if current.is_some() { whole.unit.as_str() } else { "A, since no header says otherwise" };
        whole.notes.push(format!("reads are currents in {unit}: conductance = current / {voltage} V"));
        whole.unit = current.unwrap_or_else(|| "S".into());
    } else if current.is_some() && options.unit.is_none() {
        whole.notes.push(format!(
            "reads are currents in {}, and so is what follows: --read-voltage makes conductances",
            whole.unit
        ));
    }
    if let Some(unit) = &options.unit {
        if grid::is_unit(&whole.unit) && whole.unit != *unit {
            whole.notes.push(format!(
                "reads would be in {}, and --unit says {unit}: numbers are taken as they are, none is converted",
                whole.unit
            ));
        }
        whole.unit.clone_from(unit);
    }
    Ok(whole)
}

/// Refuses two different units of conductance or current.
fn one_unit(file: &str, units: [&str; 2]) -> Result<(), ReadError> {
    let [first, second] = units.map(|unit| unit.replace(['µ', 'μ'], "u"));
    if first != second && grid::is_unit(&first) && grid::is_unit(&second) {
        return Err(ReadError::Mixed { file: file.into(), first, second });
    }
    Ok(())
}
