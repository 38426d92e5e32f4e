//! Downloads: each address in turn, with the contents checked before they are installed.

use std::fs;
use std::path::Path;

use residuum::Control;

use super::client::{Client, Failure, Patience};
use super::error::{FetchError, Refusal, Refusals};
use super::install::install_archive;
use super::{Event, Fetched, FileOrigin, Watch, each_download};
use crate::catalogue::{Download, Entry};
use crate::check::{Verified, expect_md5, fingerprint};

/// Downloads missing or damaged files of `entry` to `folder`. `mirrors` are web folders that hold its
/// downloads under their names; they are tried before the addresses of the catalogue.
pub fn fetch(
    entry: &Entry,
    folder: &Path,
    mirrors: &[String],
    patience: Patience,
    watch: Watch<'_>,
) -> Result<Vec<Fetched>, FetchError> {
    let client = Client::new(patience);
    each_download(entry, folder, |download| {
        if watch(Event::File(&download.name)) == Control::Stop {
            return Err(FetchError::Interrupted);
        }
        let base = |mirror: &String| format!("{}/{}", mirror.trim_end_matches('/'), download.name);
        let addresses: Vec<String> =
            mirrors.iter().map(base).chain(download.addresses.iter().cloned()).collect();
        let mut refusals = Refusals::default();
        for address in addresses {
            match fetch_from(&client, &address, download, folder, watch) {
                Ok(verified) => return Ok((FileOrigin::Downloaded, verified)),
                Err(Failure::Remote(refusal)) => refusals.0.push((address, refusal)),
                Err(Failure::Local(error)) => return Err(error),
            }
        }
        Err(FetchError::Unavailable { file: download.name.clone(), refusals })
    })
}

/// Downloads from one address. Wrong contents may come from a partial file left by an older download, so they
/// get a second chance from the first byte on.
fn fetch_from(
    client: &Client,
    address: &str,
    download: &Download,
    folder: &Path,
    watch: Watch<'_>,
) -> Result<Vec<Verified>, Failure> {
    // A part belongs to its address: mirrors pack the same contents differently.
    let partial = folder.join(format!(".{}.{}.partial", download.name, fingerprint(address)));
    let mut second_chance = true;
    loop {
        client.download(address, &partial, most_bytes(download), watch)?;
        let sum = download.md5.as_ref().map_or(Ok(()), |sum| expect_md5(&partial, &download.name, sum));
        let installed = sum.and_then(|()| install_archive(download, &partial, folder));
        if !matches!(installed, Err(FetchError::DiskFull { .. } | FetchError::File { .. })) {
            fs::remove_file(&partial).map_err(FetchError::writing(&partial))?;
        }
        match installed {
            Ok(verified) => return Ok(verified),
            Err(FetchError::Corrupt(_)) if second_chance => second_chance = false,
            Err(FetchError::Corrupt(corruption)) => return Err(Refusal::Corrupt(corruption).into()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Allowance for archive headers and for data that does not compress.
const OVERHEAD: u64 = 1 << 20;

/// Anything longer is not the file: a download is its contents, compressed or not.
fn most_bytes(download: &Download) -> u64 {
    download.files.iter().map(|file| file.bytes + file.bytes / 64 + OVERHEAD).sum()
}
