//! The CIFAR readers, on made files: planes become pixels, the fine label counts, damage is named.

use std::fs;

use residuum_data::{Cifar, ImageShape};

/// A record whose red, green and blue planes hold `base`, `base + 1`, `base + 2`, but for the second pixel of the
/// third row.
fn record(labels: &[u8], base: u8) -> Vec<u8> {
    let mut planes = [[base; 1024], [base + 1; 1024], [base + 2; 1024]];
    for (c, plane) in planes.iter_mut().enumerate() {
        plane[2 * 32 + 1] = 200 + c as u8;
    }
    [labels, planes.as_flattened()].concat()
}

#[test]
fn planes_become_pixels() {
    let file = [record(&[3], 0), record(&[9], 50)].concat();
    let data = Cifar::Ten.parse("made.bin", &file).unwrap();
    assert_eq!(data.shape(), ImageShape::new(32, 32, 3));
    assert_eq!((data.labels(), data.classes(), data.name()), ([3, 9].as_slice(), 10, "cifar10"));
    assert_eq!(data.image(1)[..6], [50, 51, 52, 50, 51, 52]);
    assert_eq!(data.image(1)[3 * (2 * 32 + 1)..][..3], [200, 201, 202]);
    assert_eq!(data.image(1).iter().filter(|&&p| p >= 200).count(), 3);
}

#[test]
fn the_fine_label_counts() {
    let data = Cifar::Hundred.parse("made.bin", &record(&[19, 87], 0)).unwrap();
    assert_eq!((data.labels(), data.classes()), ([87].as_slice(), 100));
    assert_eq!(data.image(0)[..3], [0, 1, 2]);
    // Read as the other data set the file is no whole number of records.
    let error = Cifar::Ten.parse("made.bin", &record(&[19, 87], 0)).unwrap_err().to_string();
    assert_eq!(error, "made.bin: must be one or more records of 3073 bytes, got 3074 bytes");
}

#[test]
fn damage_is_named() {
    let whole = [record(&[3], 0), record(&[10], 50)].concat();
    let complaint = |bytes: &[u8]| Cifar::Ten.parse("made.bin", bytes).unwrap_err().to_string();
    assert_eq!(complaint(&whole), "made.bin: label 1 must be below 10, got 10");
    assert_eq!(
        complaint(&whole[..6000]),
        "made.bin: must be one or more records of 3073 bytes, got 6000 bytes"
    );
    assert_eq!(complaint(&[]), "made.bin: must be one or more records of 3073 bytes, got 0 bytes");
    let error = Cifar::Hundred.parse("made.bin", &record(&[0, 100], 0)).unwrap_err().to_string();
    assert_eq!(error, "made.bin: label 0 must be below 100, got 100");
}

#[test]
fn the_folder_of_the_archive_is_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for i in 1..=5 {
        fs::write(folder.path().join(format!("data_batch_{i}.bin")), record(&[i], i)).unwrap();
    }
    let error = Cifar::Ten.read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("test_batch.bin must exist"), "{error}");
    fs::write(folder.path().join("test_batch.bin"), record(&[7], 70)).unwrap();
    let split = Cifar::Ten.read(folder.path()).unwrap();
    assert_eq!((split.train.labels(), split.test.labels()), ([1, 2, 3, 4, 5].as_slice(), [7].as_slice()));
    assert_eq!((split.train.image(4)[0], split.test.image(0)[0]), (5, 70));

    fs::write(folder.path().join("train.bin"), record(&[1, 42], 1)).unwrap();
    fs::write(folder.path().join("test.bin"), record(&[1, 43], 1)).unwrap();
    let split = Cifar::Hundred.read(folder.path()).unwrap();
    assert_eq!((split.train.labels()[0], split.test.labels()[0]), (42, 43));
}
