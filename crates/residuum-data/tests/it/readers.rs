//! Readers: what they read from good files, and what they say about bad ones.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use residuum_data::{DataError, Dataset, Description, ImageShape, embedded, idx};

fn idx_file(magic: u32, lengths: &[u32], body: &[u8]) -> Vec<u8> {
    let header = [magic].iter().chain(lengths).flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
    [header.as_slice(), body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Two images of 2×3 and their labels.
fn images() -> Vec<u8> {
    idx_file(0x0803, &[2, 2, 3], &[0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 255])
}

fn labels() -> Vec<u8> {
    idx_file(0x0801, &[2], &[7, 0])
}

fn parse(images: &[u8], labels: &[u8]) -> Result<Dataset, DataError> {
    idx::parse("made", ("made-images", images), ("made-labels", labels), 10, 255)
}

fn complaint(images: &[u8], labels: &[u8]) -> String {
    parse(images, labels).unwrap_err().to_string()
}

#[test]
fn idx_files_are_read_plain_and_gzipped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::write(path("images"), images()).unwrap();
    fs::write(path("labels.gz"), gzip(&labels())).unwrap();
    let data = idx::read("made", &path("images"), &path("labels"), 10).unwrap();
    assert_eq!(data.shape(), ImageShape::new(2, 3, 1));
    assert_eq!((data.name(), data.len(), data.classes(), data.full_scale()), ("made", 2, 10, 255));
    assert_eq!(data.image(1), [10, 11, 12, 13, 14, 255]);
    assert_eq!(data.labels(), [7, 0]);
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (absent, labels) = (folder.path().join("absent"), folder.path().join("labels"));
    let error = idx::read("made", &absent, &labels, 10).unwrap_err();
    assert!(matches!(&error, DataError::Missing { path } if *path == absent), "{error}");
}

#[test]
fn every_field_of_an_idx_header_is_checked() {
    let whole = images();
    assert_eq!(
        complaint(&labels(), &labels()),
        "made-images: must have 16 bytes, got 10",
        "a header cut short must not be read past"
    );
    let float = idx_file(0x0D03, &[2, 2, 3], &[0; 12]);
    assert_eq!(
        complaint(&float, &labels()),
        "made-images: the first four bytes must be 0x00000803, got 0x00000d03"
    );
    assert_eq!(
        complaint(&images(), &images()),
        "made-labels: the first four bytes must be 0x00000801, got 0x00000803"
    );
    assert_eq!(complaint(&whole[..27], &labels()), "made-images: must have 28 bytes, got 27");
    assert_eq!(complaint(&[&whole[..], &[0]].concat(), &labels()), "made-images: must have 28 bytes, got 29");
    // Lengths whose product overflows 64 bits.
    let vast = idx_file(0x0803, &[u32::MAX; 3], &[]);
    let (n, vast) = (u128::from(u32::MAX), complaint(&vast, &labels()));
    assert_eq!(vast, format!("made-images: must have {} bytes, got 16", 16 + n * n * n));
    let three = idx_file(0x0801, &[3], &[7, 0, 1]);
    assert_eq!(
        complaint(&images(), &three),
        "made: must have one label for each image, got 2 images and 3 labels"
    );
    let wrong = idx_file(0x0801, &[2], &[7, 10]);
    assert_eq!(complaint(&images(), &wrong), "made: label 1 must be below 10, got 10");
    let none = (idx_file(0x0803, &[0, 2, 3], &[]), idx_file(0x0801, &[0], &[]));
    assert!(matches!(parse(&none.0, &none.1), Err(DataError::Empty { .. })));
    let flat = idx_file(0x0803, &[2, 0, 3], &[]);
    assert!(matches!(parse(&flat, &labels()), Err(DataError::Empty { .. })));
}

#[test]
fn a_damaged_gzip_stream_is_an_error() {
    let packed = gzip(&images());
    assert!(matches!(parse(&packed[..packed.len() - 9], &labels()), Err(DataError::Gzip { .. })));
    // The last eight bytes are the checksum and the length.
    let mut flipped = packed.clone();
    let at = flipped.len() - 6;
    flipped[at] ^= 1;
    assert!(matches!(parse(&flipped, &labels()), Err(DataError::Gzip { .. })));
    assert!(parse(&packed, &labels()).is_ok());
}

#[test]
fn a_pixel_above_full_scale_is_an_error() {
    let (images, labels) = (images(), labels());
    let error = idx::parse("made", ("i", &images), ("l", &labels), 10, 16).unwrap_err();
    assert_eq!(error.to_string(), "made: pixels must be at most 16, got 255 in image 1");
}

#[test]
fn embedded_digits_are_the_published_ones_split_by_class() {
    let digits = embedded::digits().unwrap();
    assert_eq!((digits.train.len(), digits.test.len()), (1442, 355));
    assert_eq!((digits.train.shape(), digits.train.full_scale()), (ImageShape::new(8, 8, 1), 16));
    let published = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
    let (train, test) = (digits.train.class_counts(), digits.test.class_counts());
    for class in 0..10 {
        assert_eq!(train[class] + test[class], published[class]);
        assert_eq!(test[class], published[class] / 5);
    }
    // The well-known first zero.
    assert_eq!(digits.train.labels()[0], 0);
    assert_eq!(&digits.train.image(0)[..16], [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0]);
}

#[test]
fn embedded_fashion_images_are_balanced() {
    let fashion = embedded::fashion_subset().unwrap();
    assert_eq!(fashion.train.class_counts(), [200; 10]);
    assert_eq!(fashion.test.class_counts(), [50; 10]);
    assert_eq!(fashion.train.shape(), ImageShape::new(28, 28, 1));
    let sum = |image: &[u8]| image.iter().map(|&p| u64::from(p)).sum::<u64>();
    assert_eq!((fashion.train.labels()[0], sum(fashion.train.image(0))), (9, 76247));
    assert_eq!((fashion.test.labels()[0], sum(fashion.test.image(0))), (9, 33456));
}

/// One value per image: its own index.
fn numbered(labels: &[u8], classes: usize) -> Dataset {
    let shape = ImageShape::new(1, 1, 1);
    let description = Description { name: "numbered".into(), shape, classes, full_scale: 255 };
    Dataset::new(description, (0..labels.len() as u8).collect(), labels.to_vec()).unwrap()
}

fn members(data: &Dataset) -> Vec<u8> {
    (0..data.len()).map(|i| data.image(i)[0]).collect()
}

#[test]
fn selections_keep_order_and_labels() {
    let data = numbered(&[0, 1, 1, 0, 1, 0, 1], 2);
    let two = data.first_per_class(2).unwrap();
    assert_eq!((members(&two), two.labels()), (vec![0, 1, 2, 3], [0, 1, 1, 0].as_slice()));
    let (first, second) = data.halves().unwrap();
    assert_eq!(members(&first), [0, 1, 2]);
    assert_eq!(members(&second), [3, 4, 5, 6]);
    assert_eq!(second.labels(), [0, 1, 0, 1]);
    let error = data.first_per_class(4).unwrap_err().to_string();
    assert_eq!(error, "numbered: class 0 must have 4 images to select, but has 3");
    assert!(numbered(&[0, 0, 1], 2).halves().is_err());
}

#[test]
fn channel_statistics_are_those_of_the_population() {
    let description = Description {
        name: "two channels".into(),
        shape: ImageShape::new(1, 2, 2),
        classes: 1,
        full_scale: 100,
    };
    let data = Dataset::new(description, vec![0, 10, 50, 10, 100, 10, 50, 10], vec![0, 0]).unwrap();
    let statistics = data.channel_statistics();
    assert_eq!(statistics.mean, [0.5, 0.1]);
    assert_eq!(statistics.deviation, [0.125_f32.sqrt(), 0.0]);
}
