//! Columns of numbers: ramps side by side, one after the other, with or without pulse numbers.

use super::grid::{Grid, number, unit};
use super::tidy::{self, is_tidy};
use super::{Format, MOST_GAPS, PulseFile, ReadError, ReadOptions};
use crate::measurement::{Direction, Measurement, Ramp};
use crate::screen::net_change;

/// The layout of a file.
pub(super) fn recognise(source: &PulseFile<'_>, grid: &Grid<'_>) -> Result<Format, ReadError> {
    if grid.header.as_deref().is_some_and(is_tidy) {
        return Ok(Format::Tidy);
    }
    grid.refuse_words(source.name)?;
    if source.direction.is_some() {
        return Ok(Format::Ramps);
    }
    let counted = |column: usize| counts(grid, column);
    Ok(match grid.columns {
        1 => Format::Sequence,
        n if n % 2 == 0 && (0..n).step_by(2).all(counted) => Format::Pairs,
        2 => Format::TwoColumns,
        columns => {
            return Err(ReadError::Unclear {
                file: source.name.into(),
                columns,
                what: "ramps whose direction is not known",
                cure: "give the file of each direction with --up and --down, or a table with the columns \
                       device,cycle,pulse,direction,conductance",
            });
        }
    })
}

/// Whether a column counts pulses: whole numbers from the first pulses on that rise by the same, or begin again.
fn counts(grid: &Grid<'_>, column: usize) -> bool {
    let values: Vec<Option<f64>> =
        grid.rows.iter().map(|(_, cells)| cells.get(column).and_then(|c| c.parse().ok())).collect();
    let known: Vec<f64> = values.iter().map_while(|v| *v).collect();
    let &[first, second, _, _, _, ..] = known.as_slice() else { return false };
    let stride = second - first;
    let steps = known.windows(2).filter(|pair| pair[1] - pair[0] == stride).count();
    let begins = stride == 1.0 || (stride > 1.0 && [0.0, 1.0, stride].contains(&first));
    begins && known.iter().all(|v| v.fract() == 0.0) && 10 * steps >= 8 * (known.len() - 1)
}

/// A column of numbers, up to its last; empty cells before are reads that were not taken.
fn column(source: &PulseFile<'_>, grid: &Grid<'_>, at: usize) -> Result<Vec<f64>, ReadError> {
    let mut values = Vec::with_capacity(grid.rows.len());
    for (line, cells) in &grid.rows {
        let cell = cells.get(at).copied().unwrap_or("");
        values.push(number(source.name, *line, at, cell)?.unwrap_or(f64::NAN));
    }
    let length = values.iter().rposition(|v| !v.is_nan()).map_or(0, |last| last + 1);
    values.truncate(length);
    Ok(values)
}

pub(super) fn read(
    source: &PulseFile<'_>,
    grid: &Grid<'_>,
    format: Format,
    options: &ReadOptions,
) -> Result<Measurement, ReadError> {
    let wrong =
        |what: &'static str| ReadError::Option { file: source.name.into(), format: format.word(), what };
    if options.ramp_length.is_some() && format != Format::Sequence {
        return Err(wrong("has its ramps apart: leave --ramp-length out, or say --format sequence"));
    }
    grid.refuse_words(source.name)?;
    let mut notes = Vec::new();
    let columns =
        |which: &[usize]| which.iter().map(|&at| column(source, grid, at)).collect::<Result<Vec<_>, _>>();
    let named = |at: usize| grid.header.as_ref().and_then(|h| h.get(at)).map(String::as_str);
    let ramps = match format {
        Format::TwoColumns => {
            if grid.columns != 2 {
                return Err(wrong("must have two columns"));
            }
            let reads = columns(&[0, 1])?;
            // Up stands first, unless the names say otherwise.
            let swapped = named(0).and_then(tidy::direction) == Some(Direction::Down)
                || named(0).is_some_and(|n| {
                    ["down", "reset", "ltd", "dep"].iter().any(|w| n.to_ascii_lowercase().starts_with(w))
                });
            let order =
                if swapped { [Direction::Down, Direction::Up] } else { [Direction::Up, Direction::Down] };
            reads.into_iter().zip(order).map(|(reads, d)| (Some(d), reads)).collect()
        }
        Format::Ramps => {
            let direction =
                source.direction.ok_or_else(|| wrong("needs a file for each direction: --up and --down"))?;
            let all: Vec<usize> = (0..grid.columns).collect();
            columns(&all)?.into_iter().filter(|r| !r.is_empty()).map(|r| (Some(direction), r)).collect()
        }
        Format::Sequence => {
            if grid.columns != 1 {
                return Err(wrong("must have one column"));
            }
            let length = options.ramp_length.ok_or_else(|| {
                wrong("is one column of reads: give the number of reads in each ramp with --ramp-length")
            })?;
            let reads = column(source, grid, 0)?;
            if reads.len() < 2 * length {
                return Err(wrong("must have at least two ramps of --ramp-length reads, one up and one down"));
            }
            if reads.len() % length != 0 {
                let rest = reads.len() % length;
                notes.push(format!("the last {rest} reads are less than a ramp of {length} and were left out"));
            }
            reads.chunks_exact(length).map(|r| (None, r.to_vec())).collect()
        }
        Format::Pairs => pairs(source, grid)?,
        Format::Tidy => Vec::new(),
    };
    let mut counts = [0, 0];
    let mut guessed = 0;
    let ramps: Vec<Ramp> = ramps
        .into_iter()
        .map(|(direction, reads)| {
            let ramp = Ramp { device: 0, cycle: 0, direction: Direction::Up, reads };
            guessed += usize::from(direction.is_none());
            let direction =
                direction.unwrap_or(if net_change(&ramp) >= 0.0 { Direction::Up } else { Direction::Down });
            let cycle = counts[direction.index()];
            counts[direction.index()] += 1;
            Ramp { cycle, direction, ..ramp }
        })
        .collect();
    // A length that is not that of the ramps cuts them into pieces that do not go up and down in turn.
    let again = ramps.windows(2).position(|pair| pair[0].direction == pair[1].direction);
    if let Some(first) = again.filter(|_| format == Format::Sequence) {
        return Err(ReadError::Turn {
            file: source.name.into(),
            first: first + 1,
            way: ramps[first].direction.word(),
            length: options.ramp_length.unwrap_or(0),
        });
    }
    if guessed > 0 {
        notes.push(format!(
            "the direction of each ramp was taken from where it goes: {} up, {} down",
            counts[0], counts[1]
        ));
    }
    // Pulse numbers have no unit of conductance.
    let reads = (0..grid.columns).filter(|at| format != Format::Pairs || at % 2 == 1);
    let units: Vec<String> = reads.filter_map(|at| named(at).and_then(unit)).collect();
    for other in units.iter().skip(1) {
        super::one_unit(source.name, [&units[0], other])?;
    }
    let unit = units.into_iter().next().unwrap_or_else(|| "unit of the file".into());
    Ok(Measurement { devices: vec!["1".into()], ramps, unit, format: String::new(), notes })
}

/// Ramps of pulse numbers and reads; where the numbers begin again another ramp does.
fn pairs(source: &PulseFile<'_>, grid: &Grid<'_>) -> Result<Vec<(Option<Direction>, Vec<f64>)>, ReadError> {
    let mut ramps = Vec::new();
    for at in (0..grid.columns.saturating_sub(1)).step_by(2) {
        let (pulses, reads) = (column(source, grid, at)?, column(source, grid, at + 1)?);
        let mut rows: Vec<(f64, f64)> = pulses.into_iter().zip(reads).filter(|(p, _)| !p.is_nan()).collect();
        while !rows.is_empty() {
            let length = rows.windows(2).position(|w| w[1].0 <= w[0].0).map_or(rows.len(), |i| i + 1);
            let rest = rows.split_off(length);
            let (first, last) = (rows[0].0, rows[length - 1].0);
            let claimed = last - first + 1.0;
            if claimed > (MOST_GAPS * length as u64) as f64
                || first < 0.0
                || rows.iter().any(|r| r.0.fract() != 0.0)
            {
                return Err(ReadError::Claimed {
                    file: source.name.into(),
                    ramp: format!("ramp {}", ramps.len() + 1),
                    pulses: claimed as u64,
                    reads: length,
                    most: MOST_GAPS,
                });
            }
            let mut reads = vec![f64::NAN; claimed as usize];
            for (pulse, read) in rows {
                reads[(pulse - first) as usize] = read;
            }
            ramps.push((None, reads));
            rows = rest;
        }
    }
    Ok(ramps)
}
