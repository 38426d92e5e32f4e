//! Verification of files on disk.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

#[cfg(any(feature = "fetch", test))]
use md5::Md5;
use sha2::{Digest, Sha256};

use super::catalogue::{ContentFile, Entry, Identity};
use super::fetch::{Corruption, FetchError};
use super::idx::{read_bytes, unpack_in_pieces};
use super::{DataError, disk};

/// How well a file was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Its checksum matches.
    Checksum,
    /// Its checksum is unknown, but its length, labels and class counts are right.
    Structure,
}

impl ContentFile {
    /// Checks the file at `path`, whatever it is called there.
    pub fn check(&self, path: &Path) -> Result<Verified, FetchError> {
        let length = fs::metadata(path).map_err(FetchError::reading(path))?.len();
        let file = || self.name.clone();
        if length != self.bytes {
            return Err(Corruption::Length { file: file(), expected: self.bytes, given: length }.into());
        }
        match self.identity {
            Identity::Sha256(ref sum) => {
                expect_sum::<Sha256>(path, &self.name, sum)?;
                Ok(Verified::Checksum)
            }
            Identity::Records { cifar, per_class } => {
                let bytes = disk::read(path, self.bytes).map_err(FetchError::reading(path))?;
                let counts = cifar.parse(&file(), &bytes).map_err(Corruption::Structure)?.class_counts();
                match counts.iter().position(|&count| count != per_class) {
                    None => Ok(Verified::Structure),
                    Some(class) => {
                        let (expected, given) = (per_class, counts[class]);
                        Err(Corruption::Class { file: file(), class, expected, given }.into())
                    }
                }
            }
        }
    }
}

impl Entry {
    /// A digest of the contents in `folder`; `None` if their checksums match the published ones, since then the name of the
    /// set is enough.
    ///
    /// # Errors
    /// If a file is missing or cannot be read.
    pub fn own_contents(&self, folder: &Path) -> Result<Option<String>, DataError> {
        let (mut all, mut published) = (Sha256::new(), true);
        for file in self.downloads.iter().flat_map(|download| &download.files) {
            let path = folder.join(&file.name);
            let bytes = read_bytes(&path)?;
            let mut digest = Sha256::new();
            unpack_in_pieces(&path.display().to_string(), &bytes, |piece| digest.update(piece))?;
            let sum = digest.finalize();
            published &= matches!(&file.identity, Identity::Sha256(known) if *known == hex(&sum));
            all.update(sum);
        }
        Ok((!published).then(|| hex(&all.finalize()[..16])))
    }
}

/// The MD5 of the file at `path`, which is called `name`, is `sum`.
#[cfg(any(feature = "fetch", test))]
pub(super) fn expect_md5(path: &Path, name: &str, sum: &str) -> Result<(), FetchError> {
    expect_sum::<Md5>(path, name, sum)
}

fn expect_sum<D: Digest>(path: &Path, name: &str, expected: &str) -> Result<(), FetchError> {
    let mut file = File::open(path).map_err(FetchError::reading(path))?;
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(FetchError::reading(path))? {
            0 => break,
            count => digest.update(&buffer[..count]),
        }
    }
    let given = hex(&digest.finalize());
    if given == expected {
        return Ok(());
    }
    Err(Corruption::Checksum { file: name.into(), expected: expected.into(), given }.into())
}

/// A short name for an address that suits file systems.
#[cfg(any(feature = "fetch", test))]
pub(super) fn fingerprint(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of RFC 1321 and FIPS 180-2 for "abc".
    #[test]
    fn known_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, b"abc").unwrap();
        expect_md5(&path, "abc", "900150983cd24fb0d6963f7d28e17f72").unwrap();
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        expect_sum::<Sha256>(&path, "abc", sum).unwrap();
        assert_eq!(fingerprint("abc"), sum[..8]);
        fs::write(&path, b"abd").unwrap();
        assert!(matches!(
            expect_sum::<Sha256>(&path, "abc", sum),
            Err(FetchError::Corrupt(Corruption::Checksum { .. }))
        ));
    }
}
