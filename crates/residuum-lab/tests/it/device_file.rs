//! Device files: written by a fit, taken by specs, exact and pulsed.

use residuum::progress::Silent;
use residuum::tile::Tile;
use residuum::{Key, Range};
use residuum_fit::{Curve, CurveFamily, Direction, FitOptions, Measurement, Ramp, Truth, fit, simulate};
use residuum_lab::device_fit::FitReport;
use residuum_lab::spec::parse_device;

fn report(model: CurveFamily, parameters: Vec<f64>, name: Option<&str>) -> FitReport {
    let range = Range { lo: -1.0, hi: 1.0 };
    let truth = Truth {
        curve: Curve::new(model, parameters),
        read_noise: 0.01,
        additive: 0.002,
        proportional: 0.1,
        range,
    };
    let measured = simulate(&truth, 300, 4, Key::new(3));
    let options =
        FitOptions { range: Some(range), draws: 30, model: name.map(String::from), ..FitOptions::default() };
    let found = fit(&measured, &options, &Silent).unwrap();
    FitReport::new(found, measured, "made".into()).unwrap()
}

#[test]
fn every_array_takes_the_file_and_is_the_fitted_device() {
    let folder = tempfile::tempdir().unwrap();
    for (model, parameters, name) in [
        (CurveFamily::Line, vec![0.02, 0.001, 0.001, 0.02], Some("soft_bounds")),
        (CurveFamily::Power, vec![0.012, 0.01, 1.0, 1.0, 2.0], Some("power")),
        (CurveFamily::Line, vec![0.02, 0.001, 0.001, 0.02], Some("table")),
    ] {
        let report = report(model, parameters, name);
        std::fs::write(folder.path().join("device.toml"), report.to_device_file()).unwrap();
        for array in ["exact", "tile"] {
            let text = format!("file = \"device.toml\"\narray = \"{array}\"\n");
            let device = parse_device(&text, folder.path()).unwrap_or_else(|e| panic!("{array}: {e}"));
            let response = device.representative().unwrap();
            for w in report.fit.visited.grid(9) {
                let expected = report.response.q_plus(w);
                // A tile holds a table in single precision.
                assert!(
                    (response.q_plus(w) - expected).abs() < 2e-3 * expected.abs().max(0.1),
                    "{array} at {w}"
                );
            }
            if let Some(tile) = device.tile() {
                assert!((f64::from(tile.pulse_step) / report.pulse_step - 1.0).abs() < 1e-6);
                assert!(tile.write_noise > 0.0 && tile.cycle_noise.deviation() > 0.0);
            }
        }
        let shown = parse_device(&report.to_device_file(), folder.path()).unwrap();
        assert!(shown.is_tile());
    }
}

/// CrossSim's rules: the same states and probabilities in both files, equally far apart, and means by the sum of changes times the
/// differences of probabilities. `tools/device/check_crosssim.py` has CrossSim itself read the files.
#[test]
fn a_table_for_crosssim_has_the_fitted_steps_and_noise() {
    let truth = Truth {
        curve: Curve::new(CurveFamily::Line, vec![0.015, 0.006, 0.005, 0.012]),
        read_noise: 0.01,
        additive: 0.002,
        proportional: 0.1,
        range: Range { lo: -1.0, hi: 1.0 },
    };
    let mut measured = simulate(&truth, 300, 4, Key::new(3));
    measured.ramps.iter_mut().flat_map(|r| &mut r.reads).for_each(|y| *y = 2e-6 * (3.0 + *y));
    let options = FitOptions { draws: 30, model: Some("linear".into()), ..FitOptions::default() };
    let found = fit(&measured, &options, &Silent).unwrap();
    let report = FitReport::new(found, measured, "made".into()).unwrap();
    let f = &report.fit;
    let tables = [Direction::Up, Direction::Down].map(|d| {
        let text = report.to_crosssim(d).unwrap();
        let row = |line: &str| line.split(',').map(|x| x.parse::<f64>().unwrap()).collect::<Vec<f64>>();
        text.lines().skip(1).map(row).collect::<Vec<_>>()
    });
    assert_eq!(tables[0][..2], tables[1][..2]);
    for values in &tables[0][..2] {
        let steps: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).collect();
        let ends = steps.iter().fold((f64::MAX, f64::MIN), |(lo, hi), s| (lo.min(*s), hi.max(*s)));
        assert!(ends.0 > 0.0 && ends.1 - ends.0 < 1e-4 * ends.1, "{ends:?}");
    }
    for (table, d) in tables.iter().zip([Direction::Up, Direction::Down]) {
        let (shares, rows) = (&table[1], &table[2..]);
        assert_eq!((rows.len(), shares[0], shares[shares.len() - 1]), (shares.len(), 0.0, 1.0));
        for (i, state) in table[0].iter().enumerate() {
            let w = (2.0 * state - f.range.lo - f.range.hi) / (f.range.hi - f.range.lo);
            let step = f.curve.step(d, w) * f.per_weight();
            let noise = f.additive.value.hypot(f.proportional.value * step);
            // A draw takes the nearest row: those at the ends half as often.
            let n = (rows.len() - 1) as f64;
            let drawn = |of: &dyn Fn(f64) -> f64| {
                let ends = 0.5 * (of(rows[0][i]) + of(rows[rows.len() - 1][i]));
                (rows[1..rows.len() - 1].iter().map(|row| of(row[i])).sum::<f64>() + ends) / n
            };
            let mean = drawn(&|x| x);
            let deviation = drawn(&|x| (x - mean).powi(2)).sqrt();
            assert!((mean - d.sign() * step).abs() < 1e-6 * step, "{} at {state}: {mean} {step}", d.word());
            // Rows stand for the middle of what they are drawn for, which takes a little from the deviation.
            assert!((deviation / noise - 1.0).abs() < 0.02, "{} at {state}: {deviation} {noise}", d.word());
        }
    }
}

/// Ramps of the cells of a tile, by its own pulses: up and down after it has been brought to its lower end.
fn pulsed(text: &str) -> Measurement {
    let device = parse_device(text, std::path::Path::new(".")).unwrap();
    let mut tile = Tile::new(1, 12, device.tile().unwrap().clone(), Key::new(8)).unwrap();
    let mut sent = 0;
    let mut send = |tile: &mut Tile, up: bool| {
        sent += 1;
        tile.pulse_all(up, Key::new(9).fold(sent));
    };
    (0..600).for_each(|_| send(&mut tile, false));
    let mut ramps = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let mut reads = vec![Vec::new(); 12];
        for _ in 0..300 {
            send(&mut tile, direction == Direction::Up);
            reads.iter_mut().zip(tile.weights()).for_each(|(own, w)| own.push(f64::from(*w)));
        }
        let own = reads.into_iter().enumerate();
        ramps.extend(own.map(|(cycle, reads)| Ramp { device: 0, cycle, direction, reads }));
    }
    let (unit, format) = ("weight".into(), "pulsed".into());
    Measurement { devices: vec!["1".into()], ramps, unit, format, notes: Vec::new() }
}

/// A fitted device, written to its file, pulsed as a tile and fitted again: steps and read noise are the same within 4.9 standard errors
/// of both fits. (A tile has one of the two write noises, so their parts are not compared.)
#[test]
fn the_pulses_of_a_fitted_tile_are_fitted_by_the_same_device() {
    let first = report(CurveFamily::Line, vec![0.018, 0.004, 0.003, 0.016], Some("linear"));
    let text = first.to_device_file();
    let again = |text: &str| {
        let options = FitOptions {
            range: Some(first.fit.range),
            draws: 60,
            model: Some("linear".into()),
            held_out: false,
            ..FitOptions::default()
        };
        fit(&pulsed(text), &options, &Silent).unwrap()
    };
    let apart = |second: &residuum_fit::DeviceFit| {
        let own = |f: &residuum_fit::DeviceFit| {
            let steps = f.parameters.iter().map(|p| p.1);
            steps.chain([f.read_noise, f.step]).collect::<Vec<_>>()
        };
        let error = |e: &residuum_fit::Estimate| 0.5 * (e.high - e.low) / 1.96;
        let pairs = own(&first.fit).into_iter().zip(own(second));
        pairs.map(|(a, b)| (a.value - b.value).abs() / error(&a).hypot(error(&b))).fold(0.0, f64::max)
    };
    let off = apart(&again(&text));
    assert!(off < residuum::stats::Z, "{off} standard errors");
    // The twin has steps that are a quarter larger.
    let line = text.lines().find(|l| l.starts_with("pulse_step")).unwrap();
    let larger = text.replace(line, &format!("pulse_step = {:?}", 1.25 * first.pulse_step));
    assert!(apart(&again(&larger)) > residuum::stats::Z);
}

#[test]
fn slips_in_a_device_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = |text: &str, beside: &str| {
        std::fs::write(folder.path().join("d.toml"), text).unwrap();
        parse_device(&format!("file = \"d.toml\"\n{beside}"), folder.path()).unwrap_err().to_string()
    };
    assert!(
        error("[device]\nresponse = \"constant\"\n", "response = \"power\"")
            .contains("must not stand beside file")
    );
    assert!(error("[devise]\n", "").contains("devise is not a table of a device file"));
    assert!(error("[tile]\npulse_step = 0.1\n", "").contains("[device] is missing"));
    // In the table that this spec has no use for, too.
    let device = "[device]\nresponse = \"constant\"\n\n";
    let said = error(&format!("{device}[tile]\npulse_step = 0.1\npulse_stepp = 0.1\n"), "array = \"exact\"");
    assert!(said.contains("line 6: tile.pulse_stepp is not a field of a device"), "{said}");
    let said = error(&format!("{device}[exact]\npulse_step = 0.1\n"), "array = \"tile\"");
    assert!(said.contains("line 5: exact.pulse_step is not a field of this array"), "{said}");
    let good = format!("{device}[tile]\npulse_step = 0.1\n");
    std::fs::write(folder.path().join("d.toml"), good).unwrap();
    parse_device("file = \"d.toml\"\narray = \"exact\"", folder.path()).unwrap();
    assert!(
        parse_device("file = \"none.toml\"", folder.path()).unwrap_err().to_string().contains("cannot read it")
    );
}

/// The largest difference between the fitted steps and those of the class as this library knows AIHWKIT's, in mean steps.
fn furthest(report: &FitReport, python: &str) -> f64 {
    let class = python.lines().find_map(|l| l.strip_prefix("device = ")?.strip_suffix('(')).unwrap();
    let fields = python.lines().filter_map(|l| l.strip_prefix("    ")?.strip_suffix(',')?.split_once('='));
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{name} = {}", value.replace("True", "true").replace("False", "false")))
        .collect();
    let text = format!("array = \"tile\"\naihwkit = {{ class = {class:?}, {} }}\n", fields.join(", "));
    let device = parse_device(&text, std::path::Path::new(".")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let response = device.representative().unwrap();
    let unit = f64::from(device.tile().unwrap().granularity());
    let inside = report.fit.visited.intersect(response.range()).unwrap().fraction(0.97);
    let off = inside.grid(41).into_iter().flat_map(|w| {
        let step = |d: Direction| report.fit.curve.step(d, w);
        let theirs = [response.q_plus(w) * unit, response.q_minus(w) * unit];
        [(theirs[0] - step(Direction::Up)).abs(), (theirs[1] - step(Direction::Down)).abs()]
    });
    off.fold(0.0, f64::max) / report.pulse_step
}

#[test]
fn other_tools_get_the_same_device() {
    let classes = [
        (CurveFamily::Constant, vec![0.012, 0.01], "constant", "ConstantStepDevice"),
        (CurveFamily::Line, vec![0.015, 0.006, 0.005, 0.012], "linear", "LinearStepDevice"),
        (CurveFamily::Power, vec![0.012, 0.01, 1.0, 1.0, 2.0], "power", "PowStepDevice"),
        (CurveFamily::Exponential, vec![0.012, 0.01, 1.0, 1.0, -2.0], "exponential", "ExpStepDevice"),
        (CurveFamily::Tanh, vec![0.01, 0.5, 0.1, 0.4], "tanh", "PiecewiseStepDevice"),
    ];
    for (model, parameters, name, class) in classes {
        let report = report(model, parameters, Some(name));
        let python = report.to_aihwkit();
        assert!(python.contains(&format!("device = {class}(")), "{python}");
        let off = furthest(&report, &python);
        // Six digits are written; a piecewise device has straight lines between its nodes.
        let most = if class == "PiecewiseStepDevice" { 5e-3 } else { 1e-4 };
        assert!(off < most, "{name}: {off} of a step\n{python}");
        // The twin: with the bound of another device, or without the imbalance, steps are not the fitted ones.
        let line = python.lines().find(|l| l.contains("dw_min=")).unwrap();
        assert!(furthest(&report, &python.replace(line, "    dw_min=0.02,")) > most, "{name}");
    }
    let report = report(CurveFamily::Line, vec![0.02, 0.001, 0.001, 0.02], Some("soft_bounds"));
    let python = report.to_aihwkit();
    assert!(python.contains("SoftBoundsDevice(") && python.contains("mult_noise="), "{python}");
    assert!(furthest(&report, &python) < 1e-4, "{python}");
    // Weights are no conductances.
    let refused = report.to_crosssim(Direction::Down).unwrap_err().to_string();
    assert!(refused.contains("conductances above 0") && refused.len() < 200, "{refused}");
    let json = report.to_json();
    // The page of the schema has every field, and no other.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/device-fit.md");
    let page = std::fs::read_to_string(page).unwrap();
    let told = page.lines().filter_map(|row| row.strip_prefix("| `")?.split_once('`').map(|(name, _)| name));
    let mut told: Vec<&str> = told.collect();
    told.sort_unstable();
    let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(told, keys);
    let page = report.to_html();
    assert!(
        page.starts_with("<!DOCTYPE html>")
            && !page.contains("http-equiv")
            && page.matches("<svg").count() == 4
    );
}
