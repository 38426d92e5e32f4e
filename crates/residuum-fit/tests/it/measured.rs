//! The measured devices that are shipped, against independent numbers.

use std::path::{Path, PathBuf};

use residuum::Range;
use residuum::progress::Silent;
use residuum_fit::read::{PulseFile, measurement};
use residuum_fit::{DeviceFit, Direction, FitOptions, Measurement, PointKind, ReadOptions, fit};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join("experiments/devices").join(name)).unwrap()
}

fn golden() -> Value {
    let text = std::fs::read_to_string(root().join("golden/device/reference.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn crosssim() -> Measurement {
    let (set, reset) = (text("crosssim-set.csv"), text("crosssim-reset.csv"));
    let sources = [
        PulseFile { name: "set", text: &set, direction: Some(Direction::Up) },
        PulseFile { name: "reset", text: &reset, direction: Some(Direction::Down) },
    ];
    measurement(&sources, &ReadOptions { read_voltage: Some(0.1), ..ReadOptions::default() }).unwrap()
}

fn quick(range: Option<Range>, model: Option<&str>) -> FitOptions {
    FitOptions { range, model: model.map(String::from), draws: 60, held_out: false, ..FitOptions::default() }
}

#[test]
fn the_cell_of_crosssim_repels() {
    let measured = crosssim();
    assert_eq!((measured.count(Direction::Up), measured.count(Direction::Down)), (39, 40));
    let found: DeviceFit = fit(&measured, &quick(None, None), &Silent).unwrap();
    let point = &found.symmetric_point;
    assert_eq!(point.kind, PointKind::Repelling, "{point:?}");
    assert!(point.agreement > 0.95);
    let at = point.weight.unwrap();
    let [low, value, high] = [at.low, at.value, at.high].map(|w| 1e3 * found.conductance(w));
    assert!(2.1 < low && value < high && high < 2.3, "{low} {value} {high} mS");
    for bin in golden()["crosssim-bins"].as_array().unwrap() {
        let middle = 0.5 * (bin["low_mS"].as_f64().unwrap() + bin["high_mS"].as_f64().unwrap());
        let w = (2e-3 * middle - found.range.lo - found.range.hi) / (found.range.hi - found.range.lo);
        for (direction, side) in [(Direction::Up, "up"), (Direction::Down, "down")] {
            let step = 1e6 * found.curve.step(direction, w.clamp(-1.0, 1.0)) * found.per_weight();
            let (mean, deviation) = (&bin[side]["mean_uS"], &bin[side]["deviation_uS"]);
            let off = (step - mean.as_f64().unwrap()).abs();
            assert!(off < deviation.as_f64().unwrap(), "{middle} mS, {side}: {step} against {mean}");
        }
    }
}

#[test]
fn the_cell_of_gong_is_fitted_as_by_an_independent_program() {
    let own = text("gong-reram.csv");
    let measured =
        measurement(&[PulseFile { name: "gong", text: &own, direction: None }], &ReadOptions::default())
            .unwrap();
    assert_eq!((measured.format.as_str(), measured.reads()), ("two-columns", 2000));
    let found = fit(&measured, &quick(Some(Range { lo: -1.0, hi: 1.0 }), Some("linear")), &Silent).unwrap();
    // The lines vanish inside the range that was given, and the device ends there.
    let ends = found.hard_range();
    assert!(
        ends.grid(9)
            .into_iter()
            .all(|w| [Direction::Up, Direction::Down].iter().all(|d| found.curve.step(*d, w) > -1e-12))
            && ends.lo < 0.0
            && ends.hi > 0.0,
        "{ends}"
    );
    let golden = golden();
    let inside = |name: &str, value: f64| {
        let e = &golden["gong-reram"]["estimates"][name];
        let (low, high) = (e["low"].as_f64().unwrap(), e["high"].as_f64().unwrap());
        assert!(low <= value && value <= high, "{name}: {value} in [{low}, {high}]");
    };
    let p = &found.curve.parameters;
    inside("up_at_0", 0.5 * (p[0] + p[1]));
    inside("up_slope", 0.5 * (p[1] - p[0]));
    inside("down_at_0", 0.5 * (p[2] + p[3]));
    inside("down_slope", 0.5 * (p[3] - p[2]));
    inside("ln_read_variance", 2.0 * found.read_noise.value.ln());
    inside("ln_write_variance", 2.0 * found.write_noise.value.ln());
}

/// Noise of a pulse is twenty times its step: as lines, the step at the crossing may be 0, and nobody is told 1e300 states.
#[test]
fn steps_that_may_be_none_have_no_largest_number_of_states() {
    let own = text("gong-reram.csv");
    let file = PulseFile { name: "gong", text: &own, direction: None };
    let measured = measurement(&[file], &ReadOptions::default()).unwrap();
    let found = fit(&measured, &quick(None, Some("linear")), &Silent).unwrap();
    assert!(found.step.low < 0.0 && found.step.value > 0.0, "{:?}", found.step);
    let states = found.states;
    assert!(states.low < states.value && states.value < 1e6 && states.high.is_infinite(), "{states:?}");
    assert!(
        found.warnings.iter().any(|w| w.contains("no upper end of the number of states")),
        "{:?}",
        found.warnings
    );
}
