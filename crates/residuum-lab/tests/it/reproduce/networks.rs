//! Trials of networks for a figure: trained once, and said what they are.

use std::path::Path;

use residuum_lab::progress::Silent;
use residuum_lab::reproduce::paper::Printed;
use residuum_lab::reproduce::{NetworkOptions, PaperVerdict, Profile, ReproduceOptions};
use residuum_lab::testing::reproduce::{NetworkPoints, Wanted, obtain};

/// The embedded digits, through the same code as the paper's networks.
fn digits(folder: &Path, jobs: usize, seed: u64) -> NetworkPoints {
    let networks =
        NetworkOptions { store: folder.join("store"), jobs, data_root: folder.into(), ..Default::default() };
    let options = ReproduceOptions { seed, profile: Profile::Quick, networks, ..ReproduceOptions::default() };
    let wanted = Wanted::new("digits", ["digital", "analog", "residual"]);
    let [points] = obtain(&[wanted], &options, "digits", &Silent).unwrap();
    points
}

fn accuracies(points: &NetworkPoints) -> Vec<Vec<Vec<f64>>> {
    points.iter().map(|point| point.curves("test_accuracy")).collect()
}

#[test]
fn trials_are_trained_once_and_say_what_they_are() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = digits(one.path(), 2, 0);
    assert_eq!(first.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["digital", "analog", "residual"]);
    let digital = first.get("digital").unwrap();
    assert_eq!(digital.words, "3 of 30 epochs, seed 0");
    assert!(!digital.complete, "a tenth of the epochs is not the whole training");
    assert_eq!(digital.curves("test_accuracy")[0].len(), 3);
    let measured = digital.measured().unwrap();
    assert!(measured.mean() > 80.0, "{}", digital.accuracy());
    // The digits' number is no agreement with a number it is far from.
    assert!(matches!(measured.against(Printed::Below(15.0), None), PaperVerdict::DiffersBy(_)));
    // A second call trains nothing: what was measured the first time is there, to the microsecond.
    let again = digits(one.path(), 1, 0);
    assert_eq!(again.seconds().to_bits(), first.seconds().to_bits());
    assert_eq!(accuracies(&again), accuracies(&first));
    // Neither the number of jobs nor the store changes a number; the seed does.
    assert_eq!(accuracies(&digits(two.path(), 1, 0)), accuracies(&first));
    let other = digits(two.path(), 1, 7);
    assert_eq!(other.get("digital").unwrap().words, "3 of 30 epochs, seed 7");
    assert_ne!(accuracies(&other), accuracies(&first));
}

#[test]
fn weights_are_counted_under_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let points = digits(folder.path(), 2, 0);
    for name in ["digital", "analog"] {
        let (_, rows) = &points.get(name).unwrap().runs.as_ref().unwrap()[0];
        let counted = |part: &str| rows.iter().filter(|r| r.metric == "weight_count" && r.part == part).count();
        let parts: Vec<&str> =
            rows.iter().filter(|r| r.metric == "weight_low").map(|r| r.part.as_str()).collect();
        let layers: Vec<&&str> = parts.iter().filter(|part| !part.contains(".main")).collect();
        assert_eq!(layers.len(), 2, "{name}: {parts:?}");
        assert!(layers.iter().all(|layer| counted(layer) == 64));
        assert_eq!(parts.len() > layers.len(), name == "analog", "{name}: {parts:?}");
    }
}

#[test]
fn what_a_profile_leaves_out_is_said() {
    let networks = NetworkOptions { data_root: "nowhere".into(), ..NetworkOptions::default() };
    let options = ReproduceOptions { profile: Profile::Quick, networks, ..ReproduceOptions::default() };
    let wanted = || [Wanted::new("cifar10-small", ["power-analog"])];
    let [points] = obtain(&wanted(), &options, "cifar10-small", &Silent).unwrap();
    let point = points.iter().next().unwrap();
    assert!(point.words.contains("5 of 20 epochs, data.train_per_class = 2000"), "{}", point.words);
    assert!(!point.complete);
    assert_eq!(point.runs.as_ref().unwrap_err(), "data missing (cifar10; residuum data fetch cifar10)");
    let full = ReproduceOptions { profile: Profile::Full, ..options };
    let [points] = obtain(&wanted(), &full, "cifar10-small", &Silent).unwrap();
    let point = points.iter().next().unwrap();
    assert_eq!(point.words, "20 epochs, seeds 0, 1, 2");
    assert!(point.complete);
}
