//! CRC-32C (Castagnoli), the checksum of TFRecord files and of checkpoints.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The checksum of `bytes`.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The checksum of a file, read in chunks: it may be too large to hold in memory twice.
pub(super) fn checksum_file(path: &Path) -> io::Result<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC catalogue, and the vectors of RFC 3720, appendix B.4.
    #[test]
    fn known_answers() {
        assert_eq!(checksum(b"123456789"), 0xE306_9283);
        assert_eq!(checksum(&[0; 32]), 0x8A91_36AA);
        assert_eq!(checksum(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(checksum(b""), 0);
    }

    #[test]
    fn chunks_of_a_file_add_up() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(checksum_file(&path).unwrap(), checksum(&bytes));
        assert_eq!(crc32c::crc32c_append(checksum(&bytes[..77]), &bytes[77..]), checksum(&bytes));
    }
}
