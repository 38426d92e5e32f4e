//! An HTTP server of one file with bad manners.

#![allow(dead_code, reason = "each test file meets some of the manners")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How one request is answered.
#[derive(Clone, Debug)]
pub enum Manner {
    /// As asked, from the byte asked for on.
    Well,
    /// As asked, but the connection breaks after so many bytes.
    Breaks(usize),
    /// Everything, whatever part was asked for.
    IgnoresRange,
    /// Another part than the one asked for.
    WrongPart,
    /// With one bit flipped.
    Corrupt,
    /// With the file again and again, and no length.
    Endless,
    /// With this status.
    Status(u16),
    /// Half of it, then nothing for this long.
    Stalls(Duration),
}

/// Serves one file under every path; the last manner lasts.
pub struct Server {
    /// Without a slash at the end.
    pub address: String,
    seen: Arc<Mutex<Vec<Option<u64>>>>,
    worker: Option<JoinHandle<()>>,
}

impl Server {
    pub fn new(file: Vec<u8>, manners: &[Manner]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, manners) = (Arc::clone(&seen), manners.to_vec());
        let worker = thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let Ok(offset) = read_request(&stream) else { return };
                log.lock().unwrap().push(offset);
                let manner = &manners[number.min(manners.len() - 1)];
                // A client that hangs up is its own affair.
                let _ = answer(&mut stream, &file, offset, manner);
            }
        });
        Self { address, seen, worker: Some(worker) }
    }

    /// The first byte asked for by each request so far, if it asked for a part.
    pub fn seen(&self) -> Vec<Option<u64>> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An empty request ends the thread.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
        let outcome = self.worker.take().map(JoinHandle::join);
        assert!(matches!(outcome, Some(Ok(()))) || thread::panicking());
    }
}

/// The first byte of the part asked for, if one was; an error when the client hung up.
fn read_request(stream: &TcpStream) -> std::io::Result<Option<u64>> {
    let mut offset = None;
    for (number, line) in BufReader::new(stream).lines().enumerate() {
        let line = line?.to_ascii_lowercase();
        if number == 0 {
            assert!(line.starts_with("get /"), "{line}");
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            offset = Some(range.strip_suffix('-').unwrap().parse().unwrap());
        }
        if line.is_empty() {
            return Ok(offset);
        }
    }
    Err(std::io::ErrorKind::UnexpectedEof.into())
}

fn answer(stream: &mut TcpStream, file: &[u8], offset: Option<u64>, manner: &Manner) -> std::io::Result<()> {
    if matches!(manner, Manner::Endless) {
        write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
        loop {
            // Ends when the client hangs up.
            stream.write_all(file)?;
        }
    }
    let total = file.len();
    let start = offset.map_or(0, |o| o as usize);
    let mut body = file.get(start..).unwrap_or_default().to_vec();
    let (mut status, mut range) = match offset {
        None => ("200 OK".to_string(), String::new()),
        Some(_) if start >= total => {
            body.clear();
            ("416 Range Not Satisfiable".to_string(), format!("Content-Range: bytes */{total}\r\n"))
        }
        Some(_) => {
            let range = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
            ("206 Partial Content".to_string(), range)
        }
    };
    let mut sent = body.len();
    match *manner {
        Manner::Breaks(after) => sent = after.min(sent),
        Manner::Stalls(_) => sent /= 2,
        Manner::IgnoresRange => {
            (status, range, body, sent) = ("200 OK".into(), String::new(), file.to_vec(), total);
        }
        Manner::WrongPart if offset.is_some() => {
            (range, body, sent) =
                (format!("Content-Range: bytes 1-{}/{total}\r\n", total - 1), file[1..].to_vec(), total - 1);
        }
        Manner::Well | Manner::WrongPart | Manner::Endless => {}
        Manner::Corrupt => {
            let middle = body.len() / 2;
            body[middle] ^= 1;
        }
        Manner::Status(code) => {
            (status, range, body) = (format!("{code} No"), String::new(), b"no".to_vec());
            sent = 2;
        }
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{range}Connection: close\r\n\r\n")?;
    stream.write_all(&body[..sent])?;
    stream.flush()?;
    if let Manner::Stalls(pause) = *manner {
        // The connection stays open while others are served.
        let open = stream.try_clone()?;
        thread::spawn(move || {
            thread::sleep(pause);
            drop(open);
        });
    }
    Ok(())
}
