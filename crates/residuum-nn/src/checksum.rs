//! CRC-32C (Castagnoli), the checksum of TFRecord files and of checkpoints.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The checksum of `bytes`.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The checksum of a file, read in chunks: it may be too large to hold in memory twice.
pub fn checksum_file(path: &Path) -> io::Result<u32> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; 1 << 16];
    let mut crc = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(crc),
            n => crc = crc32c::crc32c_append(crc, &chunk[..n]),
        }
    }
}

/// The checksum as TFRecord stores it: rotated and shifted, so that the checksum of data that holds checksums stays
/// useful.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    checksum(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}
