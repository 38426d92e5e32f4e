//! Arrays of NumPy and folders of images.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use residuum::Key;
use residuum_data::files::{ArrayPlace, Arrays, TableColumns, read_arrays, read_folder, read_idx, read_table};
use residuum_data::{DataError, Dataset, Sample};

/// A `.npy` file of version 1.
fn npy(kind: &str, shape: &str, fortran: bool, bytes: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
    header += &" ".repeat(64 - (header.len() + 11) % 64);
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

fn arrays(folder: &Path, regression: bool, classes: Option<usize>) -> Arrays {
    let place = |name: &str| ArrayPlace { path: folder.join(name), name: None };
    Arrays { inputs: place("x.npy"), goals: place("y.npy"), regression, classes, shape: None }
}

fn values(data: &Dataset, index: usize) -> Vec<f32> {
    match data.sample(index) {
        Sample::Values(values) => values.to_vec(),
        Sample::Bytes(_) => panic!("numbers were read"),
    }
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn arrays_are_read_in_any_order_and_type() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    write("x.npy", npy("<f4", "(2, 3)", false, &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    write(
        "y.npy",
        npy("<i8", "(2,)", false, &[7_i64, 3].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
    );
    let data = read_arrays(&arrays(folder.path(), false, None), None).unwrap();
    assert_eq!((data.labels(), data.classes(), data.class_name(0)), ([1, 0].as_slice(), 2, "3".to_string()));
    assert_eq!(values(&data, 1), [4.0, 5.0, 6.0]);
    write("x.npy", npy("<f4", "(2, 3)", true, &f32s(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])));
    assert_eq!(values(&read_arrays(&arrays(folder.path(), false, None), None).unwrap(), 1), [4.0, 5.0, 6.0]);
    write("x.npy", npy("|u1", "(2, 1, 3)", false, &[0, 51, 255, 0, 0, 102]));
    let bytes = read_arrays(&arrays(folder.path(), false, None), None).unwrap();
    assert_eq!((values(&bytes, 0), bytes.shape().width), (vec![0.0, 0.2, 1.0], 3));
    write("y.npy", npy("<f4", "(2, 2)", false, &f32s(&[0.5, 1.5, 2.5, 3.5])));
    let regression = read_arrays(&arrays(folder.path(), true, None), None).unwrap();
    assert_eq!((regression.outputs(), regression.targets().unwrap()), (2, [0.5, 1.5, 2.5, 3.5].as_slice()));
}

#[test]
fn faults_of_arrays_are_told_with_file_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    let refused = |classes| read_arrays(&arrays(folder.path(), false, classes), None).unwrap_err().to_string();
    let labels = |labels: &[u8]| npy("|u1", &format!("({},)", labels.len()), false, labels);
    write("x.npy", npy("<f4", "(2, 2)", false, &f32s(&[1.0, 2.0, f32::NAN, 4.0])));
    write("y.npy", labels(&[0, 1]));
    assert!(refused(None).contains("x.npy, row 1: values must be finite, got NaN"), "{}", refused(None));
    write("x.npy", npy("<f4", "(2, 2)", false, &f32s(&[1.0, 2.0, 3.0, 4.0])));
    write("y.npy", labels(&[0, 5]));
    let error = refused(Some(3));
    assert!(error.contains("y.npy, row 1: the label must be a whole number from 0 to 2, got \"5\""), "{error}");
    write("y.npy", labels(&[0, 1, 1]));
    assert!(
        refused(None).contains("y.npy: must have one entry for each of 2 samples, got 3"),
        "{}",
        refused(None)
    );
    write("y.npy", npy("<f4", "(2,)", false, &f32s(&[0.0, 0.5])));
    assert!(refused(None).contains("the label must be a whole number, got 0.5"), "{}", refused(None));
    write("x.npy", b"no array".to_vec());
    assert!(refused(None).contains("x.npy: must be an intact array of NumPy"), "{}", refused(None));
    write("x.npy", npy("<c8", "(2, 2)", false, &[0; 32]));
    assert!(refused(None).contains("must hold real numbers"), "{}", refused(None));
}

/// A PNG of 8-bit pixels.
fn png(width: u32, height: u32, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0_u32, |crc, &b| {
            (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 })
        })
    };
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8], body: &[u8]| {
        file.extend((body.len() as u32).to_be_bytes());
        let all = [kind, body].concat();
        file.extend(&all);
        file.extend(crc(&all).to_be_bytes());
    };
    let color = if channels == 1 { 0 } else { 2 };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, color, 0, 0, 0]].concat();
    chunk(b"IHDR", &header);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks_exact(width as usize * channels) {
        packed.write_all(&[0]).unwrap();
        packed.write_all(row).unwrap();
    }
    chunk(b"IDAT", &packed.finish().unwrap());
    chunk(b"IEND", &[]);
    file
}

#[test]
fn a_folder_of_images_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (class, file, value) in [("cat", "a.png", 10), ("cat", "b.png", 20), ("dog", "a.png", 30)] {
        fs::create_dir_all(root.join(class)).unwrap();
        fs::write(root.join(class).join(file), png(2, 1, 1, &[value, value + 1])).unwrap();
    }
    let data = read_folder(root, 1, None).unwrap();
    assert_eq!((data.labels(), data.class_name(1)), ([0, 0, 1].as_slice(), "dog".to_string()));
    assert_eq!((data.image(2), data.shape().width), ([30, 31].as_slice(), 2));
    let refused = |channels| read_folder(root, channels, None).unwrap_err().to_string();
    assert!(
        refused(3).contains("a.png: must have 3 channel(s) as data.channels says, got 1"),
        "{}",
        refused(3)
    );
    fs::write(root.join("dog/b.png"), png(1, 1, 3, &[1, 2, 3])).unwrap();
    assert!(
        refused(1).contains("b.png: must have 1 channel(s) as data.channels says, got 3"),
        "{}",
        refused(1)
    );
    fs::write(root.join("dog/b.png"), png(1, 1, 1, &[1])).unwrap();
    assert!(refused(1).contains("all images must have 1×2 pixels like the first, got 1×1"), "{}", refused(1));
    fs::write(root.join("dog/b.png"), b"no image").unwrap();
    assert!(refused(1).contains("b.png: must be an intact image"), "{}", refused(1));
    fs::remove_file(root.join("dog/b.png")).unwrap();
    fs::create_dir(root.join("emu")).unwrap();
    assert!(refused(1).contains("emu: a class must have an image"), "{}", refused(1));
}

#[test]
fn grey_jpegs_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/grey.jpg");
    for class in ["a", "b"] {
        fs::create_dir(folder.path().join(class)).unwrap();
        fs::copy(&file, folder.path().join(class).join("x.jpg")).unwrap();
    }
    let data = read_folder(folder.path(), 1, None).unwrap();
    // Pixels were 16(x + y); compression loses a little.
    for (i, &pixel) in data.image(0).iter().enumerate() {
        let expected = 16 * i32::try_from(i % 8 + i / 8).unwrap();
        assert!((i32::from(pixel) - expected).abs() <= 6, "{i}: {pixel} {expected}");
    }
}

#[test]
fn a_share_is_split_off_by_seed_from_every_class() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..30).map(|i| format!("{i},{}\n", ["a", "b", "c"][i % 3])).collect();
    let rows = rows.concat();
    let path = folder.path().join("t.csv");
    fs::write(&path, format!("x,kind\n{rows}")).unwrap();
    let columns = TableColumns { label: Some("kind".into()), ..TableColumns::default() };
    let data = read_table(&path, &columns, None).unwrap();
    let (rest, part) = data.split_off(0.2, Key::new(1)).unwrap();
    assert_eq!((rest.class_counts(), part.class_counts()), (vec![8; 3], vec![2; 3]));
    let all = |data: &Dataset| (0..data.len()).map(|i| values(data, i)[0] as i32).collect::<Vec<_>>();
    let mut both = [all(&rest), all(&part)].concat();
    both.sort_unstable();
    assert_eq!(both, (0..30).collect::<Vec<_>>());
    assert_eq!(all(&data.split_off(0.2, Key::new(1)).unwrap().1), all(&part));
    assert_ne!(all(&data.split_off(0.2, Key::new(2)).unwrap().1), all(&part));
    assert!(matches!(data.split_off(0.01, Key::new(1)), Err(DataError::Share { .. })));
}

#[test]
fn idx_files_say_how_many_classes_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let header = |magic: u32, sizes: &[u32]| {
        [&[magic], sizes].concat().iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()
    };
    let (images, labels) = (folder.path().join("images"), folder.path().join("labels"));
    fs::write(&images, [header(0x0803, &[2, 1, 2]), vec![1, 2, 3, 4]].concat()).unwrap();
    fs::write(&labels, [header(0x0801, &[2]), vec![0, 4]].concat()).unwrap();
    assert_eq!(read_idx(&images, &labels, None).unwrap().classes(), 5);
    let error = read_idx(&images, &labels, Some(3)).unwrap_err().to_string();
    // The file that is named is the one with the label, not that of the images.
    assert!(error.starts_with(&*labels.to_string_lossy()), "{error}");
    assert!(error.contains("label 1 must be below 3, got 4"), "{error}");
}

/// A shape whose product wraps to 0 needs no bytes, and would be a data set of 2^32 samples of nothing. (Where overflow is checked,
/// the crate that reads the header panics first.)
#[cfg(not(debug_assertions))]
#[test]
fn sizes_that_wrap_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let huge = npy("<f4", "(4294967296, 4294967296)", false, &[]);
    for name in ["x.npy", "y.npy"] {
        fs::write(folder.path().join(name), &huge).unwrap();
    }
    for regression in [false, true] {
        let message = read_arrays(&arrays(folder.path(), regression, None), None).unwrap_err().to_string();
        assert!(message.contains("must have sizes that a memory can hold"), "{message}");
    }
}

/// The length of a header is four bytes of the file: room for it was made before the file was seen to end.
#[test]
fn a_header_that_claims_a_huge_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x.npy", "y.npy"] {
        fs::write(folder.path().join(name), b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{'descr'").unwrap();
    }
    let message = read_arrays(&arrays(folder.path(), false, None), None).unwrap_err().to_string();
    assert!(message.contains("must have a header of at most 65536 bytes"), "{message}");
}

/// A header of a few bytes that claims 16 000 × 16 000 pixels.
#[test]
fn an_image_that_claims_a_huge_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for class in ["one", "two"] {
        fs::create_dir(folder.path().join(class)).unwrap();
        fs::write(folder.path().join(class).join("a.png"), png(16_000, 16_000, 1, &[])).unwrap();
    }
    let message = read_folder(folder.path(), 1, None).unwrap_err().to_string();
    assert!(message.contains("4096"), "{message}");
}

#[test]
fn a_name_of_two_columns_and_a_class_alone_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let columns = |features: &[&str]| TableColumns {
        label: Some("y".into()),
        features: features.iter().map(ToString::to_string).collect(),
        ..TableColumns::default()
    };
    let said = |text: &str, features: &[&str]| {
        fs::write(&path, text).unwrap();
        read_table(&path, &columns(features), None).map_or_else(|e| e.to_string(), |_| "read".into())
    };
    assert!(said("a,y,y\n1,0,1\n2,1,0\n", &[]).contains("must have one column \"y\", got 2 of this name"));
    assert!(said("a,a,y\n1,0,1\n2,1,0\n", &["a"]).contains("must have one column \"a\", got 2"));
    assert!(said("a,y\n1,0\n2,1\n", &["a", "a"]).contains("column \"a\" must be named once"));
    assert!(said("a,y\n1,0\n2,0\n", &[]).contains("must have labels of at least two classes, got 1"));
    // Columns that nobody names may be called alike.
    assert_eq!(said("a,a,y\n1,0,1\n2,1,0\n", &[]), "read");
}

/// What never ends is read to a limit; a pipe is not waited for where there must be data.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_read_without_a_limit() {
    use residuum_data::disk;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, [b'a'; 100]).unwrap();
    assert_eq!(disk::read_text(&path, 100).unwrap().len(), 100);
    let error = disk::read(&path, 99).unwrap_err().to_string();
    assert_eq!(error, "it must have at most 99 bytes, got more");
    let error = disk::read("/dev/zero", disk::DATA).unwrap_err().to_string();
    assert_eq!(error, format!("it must have at most {} bytes, got more", disk::DOCUMENT));
    assert!(disk::open_data(Path::new("/dev/zero")).unwrap_err().to_string().contains("something else"));
    assert!(disk::read_text("/dev/null", 1).unwrap().is_empty());
}
