//! Pixels as a PNG file: three bytes a pixel, each row written as its difference from the one above.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// Eight bits a channel, red, green and blue, the one compression and filter method there is, not interlaced.
const FORMAT: [u8; 5] = [8, 2, 0, 0, 0];
/// The row's filter: every byte minus the byte above it. Figures are mostly flat, so most rows become zeros.
const UP: u8 = 2;

/// The file for `width` times `height` pixels, row by row from the top.
pub(crate) fn encode(colors: &[u8], width: u32, height: u32) -> io::Result<Vec<u8>> {
    let row_length = 3 * width as usize;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut above = vec![0; row_length];
    let mut filtered = Vec::with_capacity(row_length + 1);
    for row in colors.chunks_exact(row_length) {
        filtered.clear();
        filtered.push(UP);
        filtered.extend(row.iter().zip(&above).map(|(here, above)| here.wrapping_sub(*above)));
        packed.write_all(&filtered)?;
        above.copy_from_slice(row);
    }
    let mut file = SIGNATURE.to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &FORMAT].concat();
    chunk(&mut file, *b"IHDR", &header)?;
    chunk(&mut file, *b"IDAT", &packed.finish()?)?;
    chunk(&mut file, *b"IEND", &[])?;
    Ok(file)
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut check = Crc::new();
    check.update(&name);
    check.update(data);
    file.extend_from_slice(&length.to_be_bytes());
    file.extend_from_slice(&name);
    file.extend_from_slice(data);
    file.extend_from_slice(&check.sum().to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_small_picture_is_laid_out_as_the_format_says() {
        let colors = [1, 2, 3, 4, 5, 6, 9, 9, 9, 0, 0, 0];
        let file = encode(&colors, 2, 2).unwrap();
        // Checksums of the header for 2 by 2 pixels of this format, and of the end, by another writer.
        let header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0\xfd\xd4\x9a\x73";
        let end = b"\0\0\0\0IEND\xae\x42\x60\x82";
        assert!(file.starts_with(header) && file.ends_with(end), "{file:02x?}");
        let data = &file[header.len()..file.len() - end.len()];
        let length = u32::from_be_bytes(data[..4].try_into().unwrap()) as usize;
        assert_eq!((&data[4..8], length), (&b"IDAT"[..], data.len() - 12));
        let mut rows = Vec::new();
        ZlibDecoder::new(&data[8..8 + length]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [2, 1, 2, 3, 4, 5, 6, 2, 8, 7, 6, 252, 251, 250]);
    }
}
