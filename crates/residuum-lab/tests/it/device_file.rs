//! Device files: written by a fit, taken by specs, exact and pulsed.

use residuum::{Key, Range};
use residuum_fit::{Curve, CurveFamily, FitOptions, Quiet, Truth, fit, simulate};
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
    let found = fit(&measured, &options, &Quiet).unwrap();
    FitReport::new(found, measured, "made".into()).unwrap()
}

#[test]
fn every_array_takes_the_file_and_is_the_fitted_device() {
    let folder = tempfile::tempdir().unwrap();
    for (model, parameters, name) in [
        (CurveFamily::Line, vec![0.02, 0.001, 0.001, 0.02], None),
        (CurveFamily::Power, vec![0.012, 0.01, 1.0, 1.0, 2.0], None),
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
    assert!(
        parse_device("file = \"none.toml\"", folder.path()).unwrap_err().to_string().contains("cannot read it")
    );
}

#[test]
fn other_tools_get_the_same_device() {
    let report = report(CurveFamily::Line, vec![0.02, 0.001, 0.001, 0.02], None);
    let python = report.to_aihwkit();
    assert!(python.contains("PiecewiseStepDevice(") && python.contains("dw_min="), "{python}");
    let table = report.to_crosssim(residuum_fit::Direction::Down);
    let rows: Vec<Vec<f64>> =
        table.lines().skip(1).map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!((rows.len(), rows[0].len(), rows[1].len(), rows[2].len()), (103, 50, 101, 50));
    // The median of the changes is the step.
    let (state, change) = (rows[0][25], rows[52][25]);
    let step = report.fit.curve.step(residuum_fit::Direction::Down, state);
    assert!((change + step).abs() < 1e-6, "{change} {step}");
    let json = report.to_json();
    for key in [
        "model",
        "parameters",
        "symmetric_point",
        "step",
        "states",
        "read_noise",
        "write_noise",
        "device_spread",
        "warnings",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    let page = report.to_html();
    assert!(
        page.starts_with("<!DOCTYPE html>")
            && !page.contains("http-equiv")
            && page.matches("<svg").count() == 4
    );
}
