//! A table with one row per read and named columns.

use std::collections::BTreeMap;

use super::grid::{Grid, number, unit};
use super::{MOST_GAPS, PulseFile, ReadError, ReadOptions};
use crate::measurement::{Direction, Measurement, Ramp};

/// The direction that a word means.
pub(super) fn direction(word: &str) -> Option<Direction> {
    match word.to_ascii_lowercase().as_str() {
        "up" | "set" | "ltp" | "potentiation" | "p" | "+" | "1" | "+1" | "1.0" => Some(Direction::Up),
        "down" | "reset" | "ltd" | "depression" | "d" | "-" | "-1" | "-1.0" => Some(Direction::Down),
        _ => None,
    }
}

/// The place of a column whose name is, or begins with, a word.
pub(super) fn column(header: &[String], word: &str) -> Option<usize> {
    let is = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        name == word || name.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '(', '[', '_']))
    };
    header.iter().position(|name| is(name))
}

/// Whether a header is that of a tidy table.
pub(super) fn is_tidy(header: &[String]) -> bool {
    column(header, "direction").is_some()
        || (column(header, "pulse").is_some()
            && (column(header, "device").is_some() || column(header, "cycle").is_some()))
}

pub(super) fn read(
    source: &PulseFile<'_>,
    grid: &Grid<'_>,
    options: &ReadOptions,
) -> Result<Measurement, ReadError> {
    let file = source.name;
    if options.ramp_length.is_some() {
        let what = "has its ramps apart: leave --ramp-length out, or say --format sequence";
        return Err(ReadError::Option { file: file.into(), format: "tidy", what });
    }
    let empty = Vec::new();
    let header = grid.header.as_ref().unwrap_or(&empty);
    let needed = |name: &'static str| {
        let given = if header.is_empty() { "nothing".to_string() } else { header.join(", ") };
        column(header, name).ok_or(ReadError::Column { file: file.into(), column: name, given })
    };
    // With both, the voltage says which is meant.
    let current = column(header, "current").filter(|_| options.read_voltage.is_some());
    let value = match current.or(column(header, "conductance")).or(column(header, "current")) {
        Some(at) => at,
        None => needed("conductance")?,
    };
    let way = needed("direction")?;
    let (device, cycle, pulse) = (column(header, "device"), column(header, "cycle"), column(header, "pulse"));
    let mut devices: Vec<String> = Vec::new();
    let mut cycles: Vec<String> = Vec::new();
    // Reads by device, cycle and direction, each with its pulse.
    let mut groups: BTreeMap<(usize, usize, Direction), Vec<(u64, f64)>> = BTreeMap::new();
    let (mut last_device, mut last_cycle) = (0, 0);
    for (line, cells) in &grid.rows {
        let cell = |at: usize| cells.get(at).copied().unwrap_or("");
        let place = |known: &mut Vec<String>, last: &mut usize, name: &str| {
            if known.get(*last).is_none_or(|n| n != name) {
                *last = known.iter().position(|n| n == name).unwrap_or_else(|| {
                    known.push(name.to_string());
                    known.len() - 1
                });
            }
            *last
        };
        let own_device = place(&mut devices, &mut last_device, device.map_or("1", cell));
        let own_cycle = place(&mut cycles, &mut last_cycle, cycle.map_or("1", cell));
        let own_way = direction(cell(way)).ok_or_else(|| ReadError::Direction {
            file: file.into(),
            line: *line,
            text: cell(way).into(),
        })?;
        let read = number(file, *line, value, cell(value))?;
        let group = groups.entry((own_device, own_cycle, own_way)).or_default();
        let own_pulse = match pulse {
            None => group.len() as u64,
            Some(at) => {
                let whole = cell(at).parse::<f64>().ok().filter(|p| *p >= 0.0 && p.fract() == 0.0 && *p < 1e15);
                whole.ok_or_else(|| ReadError::Pulse {
                    file: file.into(),
                    line: *line,
                    text: cell(at).into(),
                })? as u64
            }
        };
        group.push((own_pulse, read.unwrap_or(f64::NAN)));
    }
    let mut ramps = Vec::new();
    let mut numbers: BTreeMap<(usize, Direction), usize> = BTreeMap::new();
    for ((device, cycle, direction), mut reads) in groups {
        let ramp = || format!("device {}, cycle {}, {}", devices[device], cycles[cycle], direction.word());
        reads.sort_by_key(|(pulse, _)| *pulse);
        if let Some(pair) = reads.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(ReadError::Twice { file: file.into(), ramp: ramp(), pulse: pair[0].0 });
        }
        let (first, last) = (reads[0].0, reads[reads.len() - 1].0);
        let (pulses, most) = (last - first + 1, MOST_GAPS);
        if pulses > most * reads.len() as u64 {
            return Err(ReadError::Claimed {
                file: file.into(),
                ramp: ramp(),
                pulses,
                reads: reads.len(),
                most,
            });
        }
        let mut row = vec![f64::NAN; pulses as usize];
        for (pulse, read) in reads {
            row[(pulse - first) as usize] = read;
        }
        let number = numbers.entry((device, direction)).or_default();
        ramps.push(Ramp { device, cycle: *number, direction, reads: row });
        *number += 1;
    }
    let used = [device, cycle, pulse, Some(way), Some(value)];
    let unused: Vec<&str> =
        header.iter().enumerate().filter(|(i, _)| !used.contains(&Some(*i))).map(|(_, n)| n.as_str()).collect();
    let notes =
        if unused.is_empty() { vec![] } else { vec![format!("columns not used: {}", unused.join(", "))] };
    let is_current = Some(value) == column(header, "current");
    let plain = if is_current { "A" } else { "unit of the file" };
    let unit = unit(&header[value]).unwrap_or_else(|| plain.into());
    Ok(Measurement { devices, ramps, unit, format: String::new(), notes })
}
