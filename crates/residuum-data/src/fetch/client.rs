//! Downloads one file over HTTP: resumed where it stopped, retried when it breaks.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::ToSocketAddrs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use residuum::Control;
use ureq::Agent;
use ureq::http::{HeaderMap, Uri, header};

use super::{Event, FetchError, Refusal, Watch};
use crate::disk::open_own;

/// Retries and timeouts of a download.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Consecutive failures, without a new byte in between, before an address is given up.
    pub attempts: u32,
    /// Wait after the first failure; it doubles with each further one.
    pub backoff: Duration,
    /// Longest wait for a connection, and for the next byte.
    pub stall: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 5, backoff: Duration::from_secs(1), stall: Duration::from_secs(30) }
    }
}

/// Why a download ended without the file.
pub(super) enum Failure {
    /// Because of the address: another may work.
    Remote(Refusal),
    /// Because of this machine or its user.
    Local(FetchError),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Remote(refusal)
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::Local(error)
    }
}

impl Refusal {
    /// Whether retrying can help.
    fn is_passing(&self) -> bool {
        match self {
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500..=599),
            Self::Connection { passing, .. } => *passing,
            Self::Broken { .. } | Self::Part { .. } => true,
            // Most often there is no network at all, and the user should know at once.
            Self::Host(_) | Self::Endless { .. } | Self::Corrupt(_) => false,
        }
    }
}

pub(super) struct Client {
    agent: Agent,
    patience: Patience,
}

impl Client {
    pub(super) fn new(patience: Patience) -> Self {
        let config = Agent::config_builder()
            .user_agent(concat!("residuum/", env!("CARGO_PKG_VERSION")))
            // Offsets count bytes of the file itself.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .timeout_connect(Some(patience.stall))
            .timeout_recv_response(Some(patience.stall))
            .timeout_per_read(Some(patience.stall))
            .build();
        Self { agent: Agent::new_with_config(config), patience }
    }

    /// Completes `partial` with the file at `address`, starting from the bytes already there. A response of more than `limit` bytes
    /// is cut off and removed.
    pub(super) fn download(
        &self,
        address: &str,
        partial: &Path,
        limit: u64,
        watch: Watch<'_>,
    ) -> Result<(), Failure> {
        let mut most = length(partial);
        let mut failures = 0;
        loop {
            let refusal = match self.transfer(address, partial, limit, watch) {
                Err(Failure::Remote(refusal)) if refusal.is_passing() => refusal,
                outcome => return outcome,
            };
            // A connection that breaks often but makes progress each time is no reason to give up.
            let received = length(partial);
            failures = if received > most { 1 } else { failures + 1 };
            most = most.max(received);
            if failures >= self.patience.attempts {
                return Err(refusal.into());
            }
            let wait = self.patience.backoff * 2_u32.saturating_pow(failures - 1).min(64);
            proceed(watch(Event::Retry { refusal: &refusal, wait }))?;
            pause(wait, watch)?;
        }
    }

    /// One request.
    fn transfer(&self, address: &str, partial: &Path, limit: u64, watch: Watch<'_>) -> Result<(), Failure> {
        let offset = length(partial);
        let mut request = self.agent.get(address);
        if offset > 0 {
            request = request.header(header::RANGE, format!("bytes={offset}-"));
        }
        if is_loopback(address) {
            request = request.config().proxy(None).build();
        }
        let mut response = request.call().map_err(|error| refusal(address, error))?;
        let range = content_range(response.headers());
        let (start, total) = match (response.status().as_u16(), range) {
            // All of it, whether or not a part was asked for.
            (200, _) => (0, response.body().content_length()),
            (206, Some((Some(start), total))) if start == offset => (start, total),
            // Nothing comes after the last byte, so the file was complete.
            (416, Some((None, Some(total)))) if total == offset => return Ok(()),
            (206 | 416, _) => {
                // Nothing may be there yet: a server need not be asked for a part to send one.
                if partial.exists() {
                    fs::remove_file(partial).map_err(FetchError::writing(partial))?;
                }
                return Err(Refusal::Part { offset }.into());
            }
            (status, _) => return Err(Refusal::Status(status).into()),
        };
        proceed(watch(Event::Begin { done: start, total }))?;
        receive(response.body_mut().as_reader(), partial, (start, total), limit, watch)
    }
}

/// Writes the response to `partial` from byte `start` on, up to `limit` bytes in all.
fn receive(
    mut body: impl Read,
    partial: &Path,
    (start, total): (u64, Option<u64>),
    limit: u64,
    watch: Watch<'_>,
) -> Result<(), Failure> {
    let mut file = open_own(partial).map_err(FetchError::writing(partial))?;
    file.set_len(start).map_err(FetchError::writing(partial))?;
    file.seek(SeekFrom::Start(start)).map_err(FetchError::writing(partial))?;
    let mut received = start;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = body.read(&mut buffer).map_err(|source| Refusal::Broken { received, source })?;
        if count == 0 {
            break;
        }
        if received + count as u64 > limit {
            fs::remove_file(partial).map_err(FetchError::writing(partial))?;
            return Err(Refusal::Endless { limit }.into());
        }
        file.write_all(&buffer[..count]).map_err(FetchError::writing(partial))?;
        received += count as u64;
        proceed(watch(Event::Advance(count as u64)))?;
    }
    if total.is_some_and(|total| total != received) {
        return Err(Refusal::Broken { received, source: std::io::ErrorKind::UnexpectedEof.into() }.into());
    }
    Ok(file.sync_all().map_err(FetchError::writing(partial))?)
}

/// `bytes START-END/TOTAL` or `bytes */TOTAL`: the start and the total, as far as they are given.
fn content_range(headers: &HeaderMap) -> Option<(Option<u64>, Option<u64>)> {
    let value = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-').and_then(|(start, _)| start.parse().ok()), total.parse().ok()))
}

/// Why there is no response. The client does not distinguish an unknown host from a failed connection.
fn refusal(address: &str, error: ureq::Error) -> Refusal {
    let uri: Option<Uri> = address.parse().ok();
    let port = |uri: &Uri| uri.port_u16().unwrap_or(443);
    match uri.and_then(|uri| Some((uri.host()?.to_string(), port(&uri)))).map(|host| host.to_socket_addrs()) {
        // Behind a proxy, the proxy resolves names.
        Some(Err(unknown)) if matches!(error, ureq::Error::Io(_) | ureq::Error::HostNotFound) => {
            Refusal::Host(unknown)
        }
        _ => {
            use ureq::Error::{BodyStalled, ConnectionFailed, Io, Protocol, Timeout};
            let passing = matches!(error, Io(_) | Timeout(_) | ConnectionFailed | Protocol(_) | BodyStalled);
            Refusal::Connection { source: Box::new(error), passing }
        }
    }
}

/// A proxy cannot reach this machine's own servers.
fn is_loopback(address: &str) -> bool {
    ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|host| address.starts_with(host))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}

fn proceed(control: Control) -> Result<(), Failure> {
    match control {
        Control::Continue => Ok(()),
        Control::Stop => Err(FetchError::Interrupted.into()),
    }
}

/// Sleeps in intervals short enough to be interrupted.
fn pause(wait: Duration, watch: Watch<'_>) -> Result<(), Failure> {
    let interval = Duration::from_millis(100);
    let mut left = wait;
    while !left.is_zero() {
        thread::sleep(left.min(interval));
        left = left.saturating_sub(interval);
        proceed(watch(Event::Advance(0)))?;
    }
    Ok(())
}
