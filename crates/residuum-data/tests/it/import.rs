//! Archives and imports: what is unpacked, where files are looked for, and that wrong ones change nothing.

use super::server;

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use md5::Md5;
use residuum::Control;
use residuum_data::catalogue::{ContentFile, Download, Entry, Identity, Layout, Packing};
use residuum_data::fetch::{Corruption, FetchError, FileOrigin, Patience, Refusal, fetch, import, verify};
use residuum_data::{Cifar, Verified};
use server::{Manner, Server};
use sha2::Digest;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Records of all hundred classes, `per_class` of each.
fn records(per_class: usize) -> Vec<u8> {
    let record = |i: usize| [vec![0, (i % 100) as u8], vec![(i % 251) as u8; 3072]].concat();
    (0..100 * per_class).flat_map(record).collect()
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, *bytes).unwrap();
    }
    gzip(&tar.into_inner().unwrap())
}

/// The whole archive; its members stand in another order than in the catalogue.
fn whole() -> Vec<u8> {
    let (train, test) = (records(2), records(1));
    archive(&[("set/readme.html", b"hello"), ("set/test.bin", &test), ("set/train.bin", &train)])
}

fn entry(address: &str, md5: Option<String>) -> Entry {
    let file = |name: &str, per_class: usize| ContentFile {
        name: name.into(),
        bytes: 100 * per_class as u64 * 3074,
        identity: Identity::Records { cifar: Cifar::Hundred, per_class },
    };
    Entry {
        name: "made".into(),
        title: String::new(),
        page: String::new(),
        licence: String::new(),
        layout: Layout::Cifar(Cifar::Hundred),
        downloads: vec![Download {
            name: "made.tar.gz".into(),
            addresses: vec![format!("{address}/made.tar.gz")],
            packing: Packing::TarGzip,
            md5,
            files: vec![file("train.bin", 2), file("test.bin", 1)],
        }],
        folders: vec!["set".into()],
    }
}

fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|n| n != ".lock").collect();
    names.sort();
    names
}

/// Fetches `bytes` as the archive.
fn fetched(bytes: &[u8], md5: Option<String>) -> (Result<usize, FetchError>, tempfile::TempDir) {
    let server = Server::new(bytes.to_vec(), &[Manner::Well]);
    let folder = tempfile::tempdir().unwrap();
    let entry = entry(&server.address, md5);
    let outcome = fetch(&entry, folder.path(), &[], Patience::default(), &mut |_| Control::Continue);
    (outcome.map(|files| files.len()), folder)
}

fn corruption(outcome: Result<usize, FetchError>) -> Corruption {
    match outcome {
        Err(FetchError::Unavailable { mut refusals, .. }) => match refusals.0.remove(0).1 {
            Refusal::Corrupt(corruption) => corruption,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_archive_is_unpacked_and_its_structure_verified() {
    let (outcome, folder) = fetched(&whole(), Some(md5(&whole())));
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(names(folder.path()), ["test.bin", "train.bin"]);
    let entry = entry("", None);
    let state = verify(&entry, folder.path());
    assert!(state.iter().all(|(_, state)| matches!(state, Ok(Verified::Structure))));
    let split = entry.read(folder.path()).unwrap();
    assert_eq!((split.train.class_counts(), split.test.class_counts()), (vec![2; 100], vec![1; 100]));
}

#[test]
fn a_wrong_archive_leaves_nothing() {
    let (train, test) = (records(2), records(1));
    let mut relabelled = train.clone();
    relabelled[1] = 1;
    let cases: [(Vec<u8>, Option<String>, fn(&Corruption) -> bool); 5] = [
        (whole(), Some(md5(b"other")), |c| matches!(c, Corruption::Checksum { .. })),
        (archive(&[("set/train.bin", &train)]), None, |c| matches!(c, Corruption::Member { .. })),
        (archive(&[("train.bin", &train), ("test.bin", &train)]), None, |c| {
            matches!(c, Corruption::Length { .. })
        }),
        (archive(&[("train.bin", &relabelled), ("test.bin", &test)]), None, |c| {
            matches!(c, Corruption::Class { class: 0, expected: 2, given: 1, .. })
        }),
        (whole()[..2000].to_vec(), None, |c| {
            matches!(c, Corruption::Packing { .. } | Corruption::Length { .. })
        }),
    ];
    for (bytes, md5, expected) in cases {
        let (outcome, folder) = fetched(&bytes, md5);
        let corruption = corruption(outcome);
        assert!(expected(&corruption), "{corruption}");
        assert_eq!(names(folder.path()), [""; 0], "{corruption}");
    }
}

#[test]
fn files_are_imported_from_wherever_they_lie() {
    let (train, test) = (records(2), records(1));
    let lay: [&dyn Fn(&Path); 4] = [
        &|from| {
            fs::write(from.join("train.bin"), &train).unwrap();
            fs::write(from.join("test.bin.gz"), gzip(&test)).unwrap();
        },
        &|from| {
            fs::create_dir(from.join("set")).unwrap();
            fs::write(from.join("set/train.bin"), &train).unwrap();
            fs::write(from.join("set/test.bin"), &test).unwrap();
        },
        &|from| fs::write(from.join("made.tar.gz"), whole()).unwrap(),
        &|from| {
            fs::create_dir(from.join("made")).unwrap();
            fs::write(from.join("made/made.tar.gz"), whole()).unwrap();
        },
    ];
    for lay in lay {
        let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        lay(from.path());
        let files = import(&entry("", None), from.path(), folder.path()).unwrap();
        assert!(files.iter().all(|f| f.origin == FileOrigin::Imported));
        assert!(fs::read(folder.path().join("train.bin")).unwrap() == train);
        assert!(fs::read(folder.path().join("test.bin")).unwrap() == test);
        assert_eq!(names(folder.path()), ["test.bin", "train.bin"]);
    }
}

#[test]
fn the_archive_itself_is_imported_whatever_its_name() {
    let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("download (1)");
    fs::write(&path, whole()).unwrap();
    import(&entry("", None), &path, folder.path()).unwrap();
    assert!(fs::read(folder.path().join("train.bin")).unwrap() == records(2));
}

#[test]
fn a_bad_import_changes_nothing() {
    let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("train.bin"), records(2)).unwrap();
    let missing = import(&entry("", None), from.path(), folder.path()).unwrap_err().to_string();
    assert!(missing.contains("must hold train.bin, plain or packed as made.tar.gz"), "{missing}");
    let absent = from.path().join("absent");
    let error = import(&entry("", None), &absent, folder.path()).unwrap_err();
    assert!(matches!(&error, FetchError::Missing { path } if *path == absent), "{error}");

    fs::write(from.path().join("train.bin"), records(2)).unwrap();
    fs::write(from.path().join("test.bin"), records(2)).unwrap();
    let error = import(&entry("", None), from.path(), folder.path()).unwrap_err();
    assert!(matches!(error, FetchError::Corrupt(Corruption::Length { .. })), "{error}");
    assert_eq!(names(folder.path()), ["train.bin"]);
    assert!(fs::read(folder.path().join("train.bin")).unwrap() == records(2));
}
