//! Event files and ledgers hold what was measured, in the framing that TensorBoard reads.

use super::train_common;

use std::fs;

use residuum_nn::state::Scope;
use residuum_nn::train::{Training, Unwatched, weight_histograms};
use train_common::weights::network;
use train_common::{Setup, Shown, events, read_events};

#[test]
fn events_show_the_records_the_weights_and_the_pulses() {
    let folder = tempfile::tempdir().unwrap();
    let training = Training { histograms: true, batch_loss_every: Some(23), ..Setup::new(2).training };
    let setup = Setup { training, ..Setup::new(2) };
    let mut network = network(&setup, None);
    let summary = setup.run(&mut network, Some(folder.path())).start(&mut Unwatched).unwrap();
    let all = events(folder.path());
    assert_eq!(all[0].version, "brain.Event:2");
    let steps: Vec<u64> = all.iter().map(|event| event.step).collect();
    assert_eq!(steps, [0, 23, 46, 1, 69, 92, 2], "losses of batches by step, epochs by epoch");
    assert!(all.is_sorted_by(|a, b| a.wall_time <= b.wall_time) && all[0].wall_time > 1.7e9);
    for (event, record) in [&all[3], &all[6]].into_iter().zip(&summary.records) {
        let scalar = |tag: &str| match event.values[tag] {
            Shown::Scalar(value) => value,
            Shown::Histogram(..) => panic!("{tag}"),
        };
        assert_eq!(scalar("train/loss"), record.train_loss as f32);
        assert_eq!(scalar("train/accuracy"), record.train_accuracy as f32);
        assert_eq!(scalar("test/loss"), record.test_loss as f32);
        assert_eq!(scalar("test/accuracy"), record.test_accuracy as f32);
        assert_eq!(scalar("learning_rate"), record.learning_rate.unwrap() as f32);
        assert_eq!(record.pulses.clone().into_iter().collect::<Vec<_>>(), [("3".into(), 3 * record.steps)]);
        assert_eq!(scalar("pulses/3"), (3 * record.steps) as f32);
    }

    let mut weights = [0.0; 160];
    let state = network.state(Scope::Network);
    let values = state["3.weight"].data.as_f32().unwrap();
    weights.copy_from_slice(values);
    let Shown::Histogram(numbers, limits, counts) = &all[6].values["weights/3"] else { panic!() };
    let exact = weights.map(f64::from);
    assert_eq!(numbers[2], 160.0);
    assert_eq!(numbers[0], exact.into_iter().fold(f64::INFINITY, f64::min));
    assert_eq!(numbers[1], exact.into_iter().fold(f64::NEG_INFINITY, f64::max));
    assert!((numbers[3] - exact.iter().sum::<f64>()).abs() < 1e-12);
    assert!((numbers[4] - exact.iter().map(|w| w * w).sum::<f64>()).abs() < 1e-12);
    assert_eq!((limits.len(), limits[0], limits[64]), (66, -0.25, 0.25), "bins cover the dynamic range");
    for (i, &count) in counts.iter().enumerate() {
        let lower = if i == 0 { f64::NEG_INFINITY } else { limits[i - 1] };
        let inside = exact.iter().filter(|&&w| w > lower && w <= limits[i]).count();
        assert_eq!(inside as f64, count, "bin {i}");
    }
    let saturated = exact.iter().filter(|w| w.abs() >= 0.245).count() as f32 / 160.0;
    assert!(saturated > 0.0);
    assert_eq!(all[6].values["saturation/3"], Shown::Scalar(saturated));
    assert!(!all[6].values.contains_key("saturation/1"), "digital weights have no range");

    let histograms = weight_histograms(&network);
    assert_eq!(histograms.keys().collect::<Vec<_>>(), ["1", "3"]);
    assert_eq!((histograms["1"].range, histograms["3"].range), (None, Some([-0.25, 0.25])));

    // Counters come back with the checkpoint.
    let again = setup
        .run(&mut train_common::weights::network(&setup, None), Some(folder.path()))
        .resume(&mut Unwatched)
        .unwrap();
    assert_eq!(again, summary);
}

/// The reader above notices a wrong file.
#[test]
fn a_changed_bit_or_a_missing_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    Setup::new(1).start(Some(folder.path()), &mut Unwatched).unwrap();
    let bytes = fs::read(folder.path().join("events.out.tfevents.residuum")).unwrap();
    assert_eq!(read_events(&bytes).unwrap().len(), 2);
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 4;
        assert!(read_events(&changed).is_err(), "byte {i}");
    }
    assert!(read_events(&bytes[..bytes.len() - 1]).is_err());
}
