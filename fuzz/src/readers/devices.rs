//! Devices: formulas and measured pulses.

use residuum::Range;
use residuum::response::Formula;
use residuum_fit::read::{PulseFile, measurement};
use residuum_fit::{Direction, Format, ReadOptions};

use super::said;

/// The two branches of a response, one in each line.
pub(super) fn formula(text: &str) -> String {
    let (up, down) = text.split_once('\n').unwrap_or((text, "1 + w"));
    let Ok(range) = Range::new(-0.6, 0.6) else { return "no range".into() };
    said(Formula::parse(up, down, range))
}

/// A file of measured pulses: in the layout that is recognised, then as each of the layouts, then as one of two files.
pub(super) fn pulses(text: &str) -> String {
    let source = |direction| PulseFile { name: "pulses.csv", text, direction };
    let read = |format, sources: &[PulseFile<'_>]| {
        let options = ReadOptions {
            format,
            ramp_length: (format == Some(Format::Sequence)).then_some(10),
            read_voltage: (format == Some(Format::Tidy)).then_some(0.1),
            unit: None,
        };
        said(measurement(sources, &options).map(|m| m.ramps.len()))
    };
    let mut all = read(None, &[source(None)]);
    for (_, format) in Format::ALL {
        all += &read(Some(format), &[source(None)]);
    }
    all + &read(Some(Format::Ramps), &[source(Some(Direction::Up)), source(Some(Direction::Down))])
}
