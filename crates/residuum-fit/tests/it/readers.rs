//! Formats, and files that are none.

use residuum_fit::read::{PulseFile, measurement};
use residuum_fit::{Direction, Format, Measurement, ReadError, ReadOptions};

fn source(text: &str) -> PulseFile<'_> {
    PulseFile { name: "file.csv", text, direction: None }
}

fn read(text: &str) -> Result<Measurement, ReadError> {
    measurement(&[source(text)], &ReadOptions::default())
}

fn shape(measured: &Measurement) -> Vec<(usize, &'static str, usize)> {
    measured.ramps.iter().map(|r| (r.device, r.direction.word(), r.reads.len())).collect()
}

#[test]
fn two_columns_are_up_and_down() {
    let plain = read("0.1,0.9\n0.2,0.8\n0.3,\n").unwrap();
    assert_eq!((plain.format.as_str(), shape(&plain)), ("two-columns", vec![(0, "up", 3), (0, "down", 2)]));
    let named = read("# a remark\nreset (uS)\tset (uS)\n9\t1\n8\t2\n").unwrap();
    assert_eq!(named.unit, "uS");
    assert_eq!(named.ramps[1].reads, [1.0, 2.0]);
    assert_eq!(named.ramps[1].direction, Direction::Up);
}

#[test]
fn ramps_stand_in_columns_of_a_file_for_each_direction() {
    let (up, down) = ("rmp1,rmp2\n1,1.5\n2,2.5\n,3.5\n", "rmp1\n9e-6\n8e-6\n");
    let sources = [
        PulseFile { name: "up", text: up, direction: Some(Direction::Up) },
        PulseFile { name: "down", text: down, direction: Some(Direction::Down) },
    ];
    let options = ReadOptions { read_voltage: Some(0.5), ..ReadOptions::default() };
    let measured = measurement(&sources, &options).unwrap();
    assert_eq!(shape(&measured), [(0, "up", 2), (0, "up", 3), (0, "down", 2)]);
    assert_eq!(measured.ramps[1].cycle, 1);
    assert_eq!((measured.ramps[0].reads[0], measured.unit.as_str()), (2.0, "S"));
    let unclear = read("1,2,3\n2,3,4\n").unwrap_err();
    assert!(unclear.to_string().contains("--up and --down"), "{unclear}");
}

#[test]
fn sequences_need_the_length_of_their_ramps() {
    let rows: String = (0..40).map(|i| format!("{}\n", if i < 20 { i } else { 40 - i })).collect();
    assert!(read(&rows).unwrap_err().to_string().contains("--ramp-length"));
    let options = ReadOptions { ramp_length: Some(20), ..ReadOptions::default() };
    let measured = measurement(&[source(&rows)], &options).unwrap();
    assert_eq!(shape(&measured), [(0, "up", 20), (0, "down", 20)]);
    assert!(measured.notes[0].contains("1 up, 1 down"), "{:?}", measured.notes);
    let short = ReadOptions { ramp_length: Some(3), ..ReadOptions::default() };
    assert_eq!(measurement(&[source(&rows)], &short).unwrap_err(), ReadError::Length(3));
}

#[test]
fn pairs_begin_again_or_stand_side_by_side() {
    let one: String =
        (0..12).map(|i| format!("{},{}\n", i % 6 + 1, if i < 6 { 10 + i } else { 16 - i })).collect();
    let measured = read(&one).unwrap();
    assert_eq!((measured.format.as_str(), shape(&measured)), ("pairs", vec![(0, "up", 6), (0, "down", 6)]));
    let two: String = (1..9).map(|i| format!("{i} {} {i} {}\n", 10 + i, 30 - i)).collect();
    assert_eq!(shape(&read(&two).unwrap()), [(0, "up", 8), (0, "down", 8)]);
}

#[test]
fn tidy_tables_have_any_number_of_devices_and_cycles() {
    let mut text = String::from("pulse,direction,device,conductance (uS),cycle,remark\n");
    for device in ["a", "b"] {
        for cycle in 1..=2 {
            for (direction, sign) in [("up", 1), ("RESET", -1)] {
                for pulse in [1, 2, 4] {
                    text += &format!("{pulse},{direction},{device},{},{cycle},x\n", 20 + sign * pulse);
                }
            }
        }
    }
    let measured = read(&text).unwrap();
    assert_eq!((measured.devices.len(), measured.ramps.len(), measured.unit.as_str()), (2, 8, "uS"));
    assert!(measured.ramps[0].reads[2].is_nan() && measured.ramps[0].reads[3] == 24.0);
    assert!(measured.notes[0].contains("remark"));
    let errors = [
        ("device,pulse,conductance\n1,1,2\n", "the header must name \"direction\""),
        ("pulse,direction,conductance\n1,sideways,2\n", "line 2: direction must be up or down"),
        ("pulse,direction,conductance\n1.5,up,2\n", "pulse must be a whole number"),
        ("pulse,direction,conductance\n1,up,2\n1000000000,up,3\n", "claims 1000000000 pulses for 2 reads"),
        ("pulse,direction,conductance\n1,up,2\n1,up,3\n", "pulse 1 twice"),
        ("pulse,direction,conductance\n1,up,high\n", "must be a number, got \"high\""),
    ];
    for (text, words) in errors {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn bad_cells_are_named_with_line_and_column() {
    let error = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(
        error("up,down\n1,2\nx,3\n"),
        "file.csv: line 3, column 1: must be a number, got \"x\"; only the first line may hold names"
    );
    assert!(error("1,2\n3,NaN\n").contains("line 2, column 2: must be finite"));
    assert!(error("1,2\n3,inf\n").contains("leave the cell empty"));
    assert!(error("\n# nothing\n").contains("no rows"));
    assert_eq!(measurement(&[], &ReadOptions::default()).unwrap_err(), ReadError::NoFile);
    let negative = ReadOptions { read_voltage: Some(-0.1), ..ReadOptions::default() };
    assert_eq!(measurement(&[source("1,2\n")], &negative).unwrap_err(), ReadError::Voltage(-0.1));
    let forced =
        ReadOptions { format: Some(Format::Sequence), ramp_length: Some(10), ..ReadOptions::default() };
    assert!(measurement(&[source("1,2\n")], &forced).unwrap_err().to_string().contains("must have one column"));
}

/// Six ramps of 60 reads, up and down in turn, read with other lengths.
#[test]
fn a_wrong_ramp_length_is_noticed() {
    let reads: Vec<f64> = (0..360).map(|i| f64::from(i % 120)).map(|i| i.min(120.0 - i)).collect();
    let text: String = reads.iter().map(|y| format!("{y}\n")).collect();
    let with = |length: usize| {
        let options = ReadOptions { ramp_length: Some(length), ..ReadOptions::default() };
        measurement(&[source(&text)], &options)
    };
    assert_eq!(with(60).unwrap().ramps.len(), 6);
    for length in [20, 30, 40, 120] {
        let said = with(length).map(|m| m.notes).unwrap_err().to_string();
        assert!(said.contains("go up and down in turn") && said.contains(&length.to_string()), "{said}");
    }
    // Pieces that alternate are refused by the fit, since they turn.
    let twice = residuum_fit::fit(
        &with(180).unwrap(),
        &residuum_fit::FitOptions::default(),
        &residuum::progress::Silent,
    );
    assert!(twice.unwrap_err().to_string().contains("--ramp-length"));
}

#[test]
fn decimal_commas_are_named() {
    for text in ["up;down\n1,5;2,5\n1,6;2,4\n", "1,5;2,5\n1,6;2,4\n", "1,5\t2,5\n1,6\t2,4\n"] {
        let said = read(text).unwrap_err().to_string();
        assert!(said.contains("decimal comma") && said.contains("such as \"1."), "{text:?}: {said}");
    }
    // A semicolon in a name does not part columns.
    let named = read("up; SET (uS),down (uS)\n1,9\n2,8\n3,7\n4,6\n").unwrap();
    assert_eq!((named.unit.as_str(), named.reads()), ("uS", 8));
}

#[test]
fn units_are_never_mixed_in_silence() {
    let error =
        |text: &str, options: &ReadOptions| measurement(&[source(text)], options).unwrap_err().to_string();
    let plain = ReadOptions::default();
    let volts = ReadOptions { read_voltage: Some(0.5), ..ReadOptions::default() };
    assert!(
        error("up (uS),down (mS)\n1,2\n", &plain).contains("in uS and in mS: give all of them in one unit")
    );
    assert!(error("up (uS),down (uS)\n1,2\n", &volts).contains("leave --read-voltage out"));
    for unit in ["kOhm", "Ω", "MΩ", "ohm"] {
        let said = error(&format!("up ({unit}),down ({unit})\n1,2\n"), &plain);
        assert!(said.contains("resistances: give conductances"), "{said}");
    }
    let currents = measurement(&[source("up (uA),down (µA)\n1,2\n")], &volts).unwrap();
    assert_eq!((currents.unit.as_str(), currents.ramps[0].reads[0]), ("uS", 2.0));
    let table = "device,direction,current_nA\n1,up,5\n1,down,4\n";
    assert_eq!(measurement(&[source(table)], &volts).unwrap().unit, "nS");
    let said = read(table).unwrap();
    assert!(said.notes[0].contains("--read-voltage makes conductances"), "{:?}", said.notes);
    // With both columns, the voltage says which is meant.
    let both = "device,direction,current,conductance (uS)\n1,up,5,7\n1,down,4,6\n";
    assert_eq!(measurement(&[source(both)], &volts).unwrap().ramps[0].reads, [10.0]);
    assert_eq!(read(both).unwrap().ramps[0].reads, [7.0]);
    let two = [source("up (uS),down (uS)\n1,2\n"), source("up (mS),down (mS)\n1,2\n")];
    assert!(measurement(&two, &plain).unwrap_err().to_string().contains("in uS and in mS"));
}

#[test]
fn words_and_pulse_numbers_are_told_from_reads() {
    let rows: String = (0..9).map(|i| format!("A7,{i},{}\n", 9 - i)).collect();
    let error = read(&format!("sample,up,down\n{rows}")).unwrap_err().to_string();
    assert!(error.contains("column 1 (\"sample\") holds words, such as \"A7\": take it out"), "{error}");
    // Every tenth pulse was read.
    let strided: String =
        (0..12).map(|i| format!("{},{}\n", 10 * (i % 6), if i < 6 { i } else { 12 - i })).collect();
    let measured = read(&strided).unwrap();
    assert_eq!((measured.format.as_str(), shape(&measured)), ("pairs", vec![(0, "up", 51), (0, "down", 51)]));
    let rising: String = (0..12).map(|i| format!("{},{}\n", 100 + 10 * i, 300 - 10 * i)).collect();
    assert_eq!(read(&rising).unwrap().format, "two-columns");
}

#[test]
#[ignore = "times the reader: cargo test --release -p residuum-fit --test it million -- --ignored --nocapture"]
fn a_million_rows_are_read_in_two_seconds() {
    let mut text = String::from("device,cycle,pulse,direction,conductance\n");
    for row in 0..1_000_000 {
        let (device, cycle, direction) = (row / 100_000, row / 1000 % 100, ["up", "down"][row / 500 % 2]);
        text +=
            &format!("{device},{cycle},{},{direction},{:.6}\n", row % 500, f64::from(row as u32 % 500) * 1e-3);
    }
    let begin = std::time::Instant::now();
    let measured = read(&text).unwrap();
    let took = begin.elapsed().as_secs_f64();
    assert_eq!(measured.reads(), 1_000_000);
    assert!(took < 2.0, "{took} s");
}
