//! CRC-32C: known answers, and files in chunks.

use residuum_nn::testing::checksum::{checksum, checksum_file};

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
