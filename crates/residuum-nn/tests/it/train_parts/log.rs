//! Logs that are cut, kept aside or refused.

use std::fs;
use std::path::Path;

use residuum_nn::testing::train::Log;
use residuum_nn::train::Warning;

fn opened(path: &Path, keep: u64, warnings: &mut Vec<Warning>) -> Log {
    Log::open(path.into(), keep, |bytes| !bytes.contains(&b'!'), |w| warnings.push(w.clone())).unwrap()
}

#[test]
fn what_came_after_the_checkpoint_is_cut_and_what_is_unsound_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut warnings = Vec::new();
    opened(&path, 0, &mut warnings).append(b"one two three").unwrap();
    let mut log = opened(&path, 4, &mut warnings);
    log.append(b"2").unwrap();
    assert_eq!((fs::read(&path).unwrap().as_slice(), log.sync().unwrap()), (&b"one 2"[..], 5));
    assert!(warnings.is_empty());

    for (n, bytes, keep) in [(1, b"one".as_slice(), 4), (2, b"on! 2", 5)] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(opened(&path, keep, &mut warnings).length(), 0);
        let kept = folder.path().join(format!("log.damaged-{n}"));
        assert_eq!(fs::read(&kept).unwrap(), bytes);
        assert_eq!(warnings.pop(), Some(Warning::DamagedLog { path: path.clone(), kept }));
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_refused_and_its_target_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, link) = (folder.path().join("victim"), folder.path().join("log"));
    fs::write(&victim, b"kept").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    assert!(Log::open(link, 0, |_| true, |_| ()).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"kept");
}
