//! What the layers of a network leave in the records.

use residuum::tile::Device;
use residuum_lab::spec::{DeviceSpec, Devices};
use residuum_lab::store::Row;
use residuum_lab::testing::sweep::{At, histogram_rows, layer_rows};
use residuum_lab::train::{ArrayWeights, LayerWeights};

const AT: At = At { epoch: 3, step: 60 };

fn value(rows: &[Row], metric: &str, part: &str, index: Option<u64>) -> f64 {
    let found = |r: &&Row| r.metric == metric && r.part == part && r.index == index;
    rows.iter().find(found).unwrap_or_else(|| panic!("{metric} of {part}")).value
}

#[test]
fn drift_is_positive_towards_the_symmetric_point_and_kappa_covers_both_ends() {
    let device = Device::paper_power(1.0, 1.0, 0.001);
    let device = DeviceSpec::Tile { device: Box::new(device), cell: None, ledger: false };
    let devices = Devices { main: device.clone(), residual: device, pulse_energy: None };
    let main = ArrayWeights { name: "main".into(), start: vec![0.5, -0.25], end: vec![0.25, -0.125] };
    let layer = |main: ArrayWeights| LayerWeights {
        layer: "fc".into(),
        effective: vec![0.5, -2.0],
        range: Some([-1.0, 1.0]),
        arrays: vec![main],
    };
    let mut rows = Vec::new();
    layer_rows(AT, &layer(main.clone()), &devices, &mut rows);
    assert_eq!(value(&rows, "drift", "fc", None), 0.5 * (0.25 + 0.125));
    // q± = 1 ∓ w over [−0.25, 0.5]: from 0.5 to 1.5.
    assert!((value(&rows, "kappa2", "fc", None) - 3.0).abs() < 1e-6);
    let back = ArrayWeights { start: main.end, end: main.start, ..main };
    rows.clear();
    layer_rows(AT, &layer(back), &devices, &mut rows);
    assert_eq!(value(&rows, "drift", "fc", None), -0.5 * (0.25 + 0.125));
}

#[test]
fn histograms_cover_the_range_and_every_weight() {
    let mut rows = Vec::new();
    histogram_rows(AT, "fc", &[-1.0, -0.99, 0.0, 1.0, f32::NAN], Some([-1.0, 1.0]), &mut rows);
    let count = |rows: &[Row], bin| value(rows, "weight_count", "fc", Some(bin));
    assert_eq!((count(&rows, 0), count(&rows, 32), count(&rows, 63)), (2.0, 1.0, 1.0));
    assert_eq!((rows[0].epoch, rows[0].step, rows[0].value), (Some(3), 60, -1.0));
    rows.clear();
    histogram_rows(AT, "fc", &[-3.0, 0.5], Some([-1.0, 1.0]), &mut rows);
    assert_eq!((value(&rows, "weight_low", "fc", None), value(&rows, "weight_high", "fc", None)), (-3.0, 1.0));
    assert_eq!((count(&rows, 0), count(&rows, 56)), (1.0, 1.0));
    rows.clear();
    histogram_rows(AT, "fc", &[0.25; 7], None, &mut rows);
    assert_eq!(count(&rows, 0), 7.0);
    assert!(rows.iter().all(|r| r.metric != "range_low"));
}
