//! Fetching over a real socket, from servers that break, ignore ranges, and send wrong bytes.

use super::server;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use residuum::{Control, Key};
use residuum_data::Verified;
use residuum_data::catalogue::{ContentFile, Download, Entry, Identity, Layout, Packing};
use residuum_data::fetch::{
    Corruption, Event, FetchError, Fetched, FileOrigin, Patience, Refusal, fetch, verify,
};
use server::{Manner, Server};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Bytes that do not compress, so that packed sizes are known.
fn contents() -> Vec<u8> {
    (0..20_000).flat_map(|block| Key::new(4).block(block)).flat_map(u32::to_le_bytes).collect()
}

fn packed() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&contents()).unwrap();
    encoder.finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat()
}

/// A data set of one gzipped file at these addresses.
fn entry(addresses: &[&str]) -> Entry {
    let bytes = contents();
    let identity = Identity::Sha256(sha256(&bytes));
    Entry {
        name: "made".into(),
        title: String::new(),
        page: String::new(),
        licence: String::new(),
        layout: Layout::Mnist,
        downloads: vec![Download {
            name: "file.gz".into(),
            addresses: addresses.iter().map(|a| format!("{a}/file.gz")).collect(),
            packing: Packing::Gzip,
            md5: None,
            files: vec![ContentFile { name: "file".into(), bytes: bytes.len() as u64, identity }],
        }],
        folders: Vec::new(),
    }
}

const HASTE: Patience =
    Patience { attempts: 3, backoff: Duration::from_millis(1), stall: Duration::from_secs(10) };

fn get(entry: &Entry, folder: &Path) -> Result<Vec<Fetched>, FetchError> {
    fetch(entry, folder, &[], HASTE, &mut |_| Control::Continue)
}

/// Serves the file in these manners to one fetch.
fn fetch_from(manners: &[Manner]) -> (Result<Vec<Fetched>, FetchError>, Vec<Option<u64>>, TempDir) {
    let server = Server::new(packed(), manners);
    let folder = tempfile::tempdir().unwrap();
    let outcome = get(&entry(&[&server.address]), folder.path());
    (outcome, server.seen(), folder)
}

/// Files of a folder but for the lock.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|n| n != ".lock").collect();
    names.sort();
    names
}

fn assert_whole(folder: &TempDir) {
    assert_eq!(names(folder.path()), ["file"]);
    assert!(fs::read(folder.path().join("file")).unwrap() == contents());
}

fn refusals(error: FetchError) -> Vec<Refusal> {
    match error {
        FetchError::Unavailable { refusals, .. } => refusals.0.into_iter().map(|(_, r)| r).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_is_downloaded_once() {
    let server = Server::new(packed(), &[Manner::Well]);
    let folder = tempfile::tempdir().unwrap();
    let entry = entry(&[&server.address]);
    let file = |origin| Fetched { file: "file".into(), origin, verified: Verified::Checksum };
    assert_eq!(get(&entry, folder.path()).unwrap(), [file(FileOrigin::Downloaded)]);
    assert_whole(&folder);
    assert_eq!(get(&entry, folder.path()).unwrap(), [file(FileOrigin::Present)]);
    assert_eq!(server.seen(), [None]);
}

#[test]
fn a_damaged_file_is_replaced_and_a_whole_one_is_not() {
    let server = Server::new(packed(), &[Manner::Well]);
    let folder = tempfile::tempdir().unwrap();
    let entry = entry(&[&server.address]);
    let mut damaged = contents();
    damaged[77] ^= 1;
    fs::write(folder.path().join("file"), damaged).unwrap();
    let (_, state) = verify(&entry, folder.path()).remove(0);
    assert!(matches!(state, Err(FetchError::Corrupt(Corruption::Checksum { .. }))));
    assert_eq!(get(&entry, folder.path()).unwrap()[0].origin, FileOrigin::Downloaded);
    assert_whole(&folder);
    assert!(matches!(verify(&entry, folder.path())[0].1, Ok(Verified::Checksum)));
}

#[test]
fn a_broken_download_continues_where_it_stopped() {
    // More breaks than attempts: each brings something new.
    let breaks = vec![Manner::Breaks(60_000); 5];
    let (outcome, seen, folder) = fetch_from(&[breaks, vec![Manner::Well]].concat());
    assert_eq!(outcome.unwrap()[0].origin, FileOrigin::Downloaded);
    assert_eq!(seen, [None, Some(60_000), Some(120_000), Some(180_000), Some(240_000), Some(300_000)]);
    assert_whole(&folder);
}

#[test]
fn an_interrupted_download_is_continued_by_the_next_call() {
    let server = Server::new(packed(), &[Manner::Well]);
    let folder = tempfile::tempdir().unwrap();
    let entry = entry(&[&server.address]);
    let mut received = 0;
    let stopped = fetch(&entry, folder.path(), &[], HASTE, &mut |event| {
        if let Event::Advance(bytes) = event {
            received += bytes;
        }
        if received > 100_000 { Control::Stop } else { Control::Continue }
    });
    assert!(matches!(stopped, Err(FetchError::Interrupted)));
    assert!(!folder.path().join("file").exists());
    let mut begun = Vec::new();
    fetch(&entry, folder.path(), &[], HASTE, &mut |event| {
        if let Event::Begin { done, total } = event {
            begun.push((done, total));
        }
        Control::Continue
    })
    .unwrap();
    assert_eq!(server.seen(), [None, Some(received)]);
    assert_eq!(begun, [(received, Some(packed().len() as u64))]);
    assert_whole(&folder);
}

#[test]
fn a_server_that_ignores_ranges_starts_over() {
    let (outcome, seen, folder) = fetch_from(&[Manner::Breaks(60_000), Manner::IgnoresRange]);
    outcome.unwrap();
    assert_eq!(seen, [None, Some(60_000)]);
    assert_whole(&folder);
}

#[test]
fn a_part_that_was_not_asked_for_is_not_used() {
    let (outcome, seen, folder) = fetch_from(&[Manner::Breaks(60_000), Manner::WrongPart, Manner::Well]);
    outcome.unwrap();
    assert_eq!(seen, [None, Some(60_000), None]);
    assert_whole(&folder);
}

#[test]
fn a_stalled_connection_is_given_up_and_continued() {
    let server = Server::new(packed(), &[Manner::Stalls(Duration::from_secs(20)), Manner::Well]);
    let folder = tempfile::tempdir().unwrap();
    // On a busy machine later answers may be late too, which costs attempts and nothing else.
    let patience = Patience { attempts: 50, stall: Duration::from_millis(200), ..HASTE };
    let entry = entry(&[&server.address]);
    fetch(&entry, folder.path(), &[], patience, &mut |_| Control::Continue).unwrap();
    assert_eq!(server.seen()[..2], [None, Some(packed().len() as u64 / 2)]);
    assert_whole(&folder);
}

#[test]
fn wrong_bytes_get_a_second_chance_and_never_a_place() {
    let (outcome, seen, folder) = fetch_from(&[Manner::Corrupt, Manner::Well]);
    outcome.unwrap();
    assert_eq!(seen, [None, None]);
    assert_whole(&folder);

    let (outcome, seen, folder) = fetch_from(&[Manner::Corrupt]);
    let refusals = refusals(outcome.unwrap_err());
    assert!(matches!(refusals.as_slice(), [Refusal::Corrupt(_)]), "{refusals:?}");
    assert_eq!(seen, [None, None]);
    assert_eq!(names(folder.path()), [""; 0], "nothing is left of wrong bytes");
}

#[test]
fn a_stale_part_does_not_spoil_the_file() {
    for (stale, expected) in [
        // Wrong beginning: the whole is wrong, so it is fetched anew.
        (vec![7; 1000], vec![Some(1000), None]),
        // Longer than the file.
        (vec![7; 400_000], vec![Some(400_000), None]),
        // The whole file, killed before it was unpacked.
        (packed(), vec![Some(packed().len() as u64)]),
    ] {
        let server = Server::new(packed(), &[Manner::Well]);
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&[&server.address]);
        let partial = format!(".file.gz.{}.partial", &sha256(entry.downloads[0].addresses[0].as_bytes())[..8]);
        fs::write(folder.path().join(partial), stale).unwrap();
        get(&entry, folder.path()).unwrap();
        assert_eq!(server.seen(), expected);
        assert_whole(&folder);
    }
}

#[test]
fn a_missing_file_is_asked_for_once_at_each_address() {
    let (absent, good) =
        (Server::new(packed(), &[Manner::Status(404)]), Server::new(packed(), &[Manner::Well]));
    let folder = tempfile::tempdir().unwrap();
    get(&entry(&[&absent.address, &good.address]), folder.path()).unwrap();
    assert_eq!((absent.seen(), good.seen()), (vec![None], vec![None]));
    assert_whole(&folder);

    let (outcome, seen, folder) = fetch_from(&[Manner::Status(404)]);
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("HTTP status 404") && message.contains("--from PATH"), "{message}");
    assert_eq!((seen.len(), names(folder.path()).len()), (1, 0));
}

#[test]
fn an_endless_answer_does_not_fill_the_disk() {
    let (outcome, seen, folder) = fetch_from(&[Manner::Endless]);
    let refused = refusals(outcome.unwrap_err());
    assert!(matches!(refused[..], [Refusal::Endless { .. }]), "{refused:?}");
    assert_eq!((seen.len(), names(folder.path())), (1, Vec::<String>::new()));
}

#[test]
fn a_busy_server_is_asked_again_but_not_for_ever() {
    let (outcome, seen, folder) = fetch_from(&[Manner::Status(503), Manner::Status(503), Manner::Well]);
    outcome.unwrap();
    assert_eq!(seen.len(), 3);
    assert_whole(&folder);
    let (outcome, seen, _folder) = fetch_from(&[Manner::Status(503)]);
    assert!(matches!(refusals(outcome.unwrap_err()).as_slice(), [Refusal::Status(503)]));
    assert_eq!(seen.len(), 3);
}

#[test]
fn no_server_and_no_host_are_told_plainly() {
    let gone = Server::new(Vec::new(), &[Manner::Well]).address.clone();
    let folder = tempfile::tempdir().unwrap();
    let message = get(&entry(&[&gone, "http://host.invalid"]), folder.path()).unwrap_err().to_string();
    assert!(message.contains(&format!("{gone}/file.gz: no connection")), "{message}");
    assert!(message.contains("http://host.invalid/file.gz: host not found"), "{message}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_mirror_is_asked_first() {
    let (mirror, official) = (Server::new(packed(), &[Manner::Well]), Server::new(packed(), &[Manner::Well]));
    let folder = tempfile::tempdir().unwrap();
    let mirrors = [format!("{}/", mirror.address)];
    fetch(&entry(&[&official.address]), folder.path(), &mirrors, HASTE, &mut |_| Control::Continue).unwrap();
    assert_eq!((mirror.seen().len(), official.seen().len()), (1, 0));
}

#[test]
fn two_fetches_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    let error = get(&entry(&["http://host.invalid"]), folder.path()).unwrap_err();
    assert!(matches!(error, FetchError::Busy { .. }), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), b"").unwrap();
    let error = get(&entry(&["http://host.invalid"]), &folder.path().join("plain/made")).unwrap_err();
    assert!(matches!(&error, FetchError::File { must: "writable", .. }), "{error}");
}

/// The published contents have no digest of their own, packed or not; others have one, which follows them.
#[test]
fn contents_are_told_from_the_published_ones() {
    let folder = TempDir::new().unwrap();
    let (entry, at) = (entry(&[]), folder.path());
    assert!(entry.own_contents(at).is_err());
    fs::write(at.join("file.gz"), packed()).unwrap();
    assert_eq!(entry.own_contents(at).unwrap(), None);
    fs::write(at.join("file"), contents()).unwrap();
    assert_eq!(entry.own_contents(at).unwrap(), None);
    let mut changed = contents();
    changed[7] ^= 1;
    fs::write(at.join("file"), &changed).unwrap();
    let one = entry.own_contents(at).unwrap().unwrap();
    assert_eq!(entry.own_contents(at).unwrap().as_ref(), Some(&one));
    changed[8] ^= 1;
    fs::write(at.join("file"), &changed).unwrap();
    assert_ne!(entry.own_contents(at).unwrap().unwrap(), one);
    // Without a known checksum nothing can be taken for published.
    let mut unknown = entry.clone();
    let cifar = residuum_data::Cifar::Ten;
    unknown.downloads[0].files[0].identity = Identity::Records { cifar, per_class: 1 };
    fs::write(at.join("file"), contents()).unwrap();
    assert!(unknown.own_contents(at).unwrap().is_some());
}

/// Lock, partial download and unpacked file lie in a folder that others may write to.
#[cfg(unix)]
#[test]
fn no_file_of_a_fetch_follows_a_link() {
    let server = Server::new(packed(), &[Manner::Well]);
    let entry = entry(&[&server.address]);
    // The name of a partial file holds a sum of its address.
    let sum = sha256(entry.downloads[0].addresses[0].as_bytes());
    for (link, refused) in
        [(".lock", true), (&*format!(".file.gz.{}.partial", &sum[..8]), true), (".file.staged", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, b"kept").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(link)).unwrap();
        let outcome = get(&entry, folder.path());
        assert_eq!(fs::read(&victim).unwrap(), b"kept", "{link}");
        match outcome {
            Err(error) => {
                assert!(refused && error.to_string().contains("is a symbolic link"), "{link}: {error}");
            }
            Ok(_) => assert!(!refused, "{link}"),
        }
    }
}

/// "No such part" where none was asked for leaves nothing to remove, and the next address is asked.
#[test]
fn a_refused_part_that_was_not_asked_for_is_no_end() {
    let (rude, polite) =
        (Server::new(packed(), &[Manner::Status(416)]), Server::new(packed(), &[Manner::Well]));
    let folder = tempfile::tempdir().unwrap();
    get(&entry(&[&rude.address, &polite.address]), folder.path()).unwrap();
    assert_whole(&folder);
}
