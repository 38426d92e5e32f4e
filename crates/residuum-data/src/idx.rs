//! IDX, the format of MNIST and its relatives: a big-endian header (magic, then one length per dimension), then bytes.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::disk::{self, DATA};
use super::{DataError, Dataset, Description, ImageShape};

/// Magic of unsigned bytes in three dimensions: 0, 0, type 8, 3 dimensions.
const IMAGES: u32 = 0x0803;
/// Magic of unsigned bytes in one dimension.
const LABELS: u32 = 0x0801;

/// Reads grey images and their labels from two files, each plain or gzipped (detected from the content), with or without
/// `.gz` at the end of the name.
pub fn read(name: &str, images: &Path, labels: &Path, classes: usize) -> Result<Dataset, DataError> {
    let (image_bytes, label_bytes) = (read_bytes(images)?, read_bytes(labels)?);
    let files = (images.display().to_string(), labels.display().to_string());
    parse(name, (&files.0, &image_bytes), (&files.1, &label_bytes), classes, u8::MAX)
}

/// Grey images and their labels from the bytes of two named files, plain or gzipped. `full_scale` is the byte that
/// stands for 1.0.
pub fn parse(
    name: &str,
    images: (&str, &[u8]),
    labels: (&str, &[u8]),
    classes: usize,
    full_scale: u8,
) -> Result<Dataset, DataError> {
    let (image_bytes, label_bytes) = (unpack::<3>(images.0, images.1)?, unpack::<1>(labels.0, labels.1)?);
    let ([count, height, width], pixels) = body(images.0, &image_bytes, IMAGES)?;
    let ([label_count], classes_of) = body(labels.0, &label_bytes, LABELS)?;
    let shape = ImageShape::new(height, width, 1);
    if count != label_count {
        return Err(DataError::Counts { name: name.into(), images: count, labels: label_count });
    }
    let description = Description { name: name.into(), shape, classes, full_scale };
    Dataset::new(description, pixels.to_vec(), classes_of.to_vec())
}

/// The lengths of the dimensions and the bytes after the header, whose number must be exactly their product.
fn body<'a, const D: usize>(
    file: &str,
    bytes: &'a [u8],
    magic: u32,
) -> Result<([usize; D], &'a [u8]), DataError> {
    let header = 4 * (1 + D);
    let Some((given, lengths, expected)) = header_of::<D>(bytes) else {
        return Err(DataError::Length { file: file.into(), expected: header as u128, given: bytes.len() });
    };
    if given != magic {
        return Err(DataError::Magic { file: file.into(), expected: magic, given });
    }
    if bytes.len() as u128 != expected {
        return Err(DataError::Length { file: file.into(), expected, given: bytes.len() });
    }
    Ok((lengths, &bytes[header..]))
}

/// Magic, lengths of the dimensions, and bytes of the whole file as a header says them; `None` if it is cut.
fn header_of<const D: usize>(bytes: &[u8]) -> Option<(u32, [usize; D], u128)> {
    let header = bytes.get(..4 * (1 + D))?;
    let word = |i: usize| header[4 * i..4 * i + 4].iter().fold(0_u32, |word, &b| word << 8 | u32::from(b));
    let lengths: [usize; D] = std::array::from_fn(|d| word(d + 1) as usize);
    // Three lengths of 32 bits fit no smaller type.
    let bytes = header.len() as u128 + lengths.iter().map(|&l| l as u128).product::<u128>();
    Some((word(0), lengths, bytes))
}

/// Decompresses a file of `D` dimensions that starts like gzip, no further than its own header says that it goes.
fn unpack<'a, const D: usize>(file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, DataError> {
    if !is_gzip(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut header = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(4 * (1 + D as u64)).read_to_end(&mut header);
    read.map_err(|source| DataError::Gzip { file: file.into(), source })?;
    let says = header_of::<D>(&header).map_or(u128::from(MOST_UNPACKED), |(_, _, bytes)| bytes);
    let limit = u64::try_from(says).unwrap_or(u64::MAX).min(MOST_UNPACKED);
    Ok(Cow::Owned(gunzip_within(file, bytes, limit)?))
}

/// The bytes of a file, or of its gzipped twin `NAME.gz` when only that exists.
pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut twin = path.as_os_str().to_owned();
    twin.push(".gz");
    let bytes = match disk::read(path, DATA) {
        Err(absent) if absent.kind() == ErrorKind::NotFound => disk::read(twin, DATA),
        outcome => outcome,
    };
    bytes.map_err(|source| match source.kind() {
        ErrorKind::NotFound => DataError::Missing { path: path.into() },
        _ => DataError::Read { path: path.into(), source },
    })
}

/// No data set is larger; anything that decompresses to more is a decompression bomb.
pub(super) const MOST_UNPACKED: u64 = 4 << 30;

/// Decompresses data that starts like gzip; everything else is passed through.
pub(super) fn gunzip<'a>(file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, DataError> {
    if !is_gzip(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    Ok(Cow::Owned(gunzip_within(file, bytes, MOST_UNPACKED)?))
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1F, 0x8B])
}

/// Hands out the bytes, decompressed if they start like gzip, without holding all of them.
pub(super) fn unpack_in_pieces(file: &str, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), DataError> {
    if !is_gzip(bytes) {
        take(bytes);
        return Ok(());
    }
    let mut reader = MultiGzDecoder::new(bytes).take(MOST_UNPACKED + 1);
    let mut buffer = vec![0; 1 << 16];
    let mut all = 0;
    loop {
        let count = reader.read(&mut buffer).map_err(|source| DataError::Gzip { file: file.into(), source })?;
        all += count as u64;
        match count {
            0 => return Ok(()),
            _ if all > MOST_UNPACKED => {
                return Err(DataError::Unpacked { file: file.into(), limit: MOST_UNPACKED });
            }
            _ => take(&buffer[..count]),
        }
    }
}

/// Decompresses at most `limit` bytes.
fn gunzip_within(file: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, DataError> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut plain);
    read.map_err(|source| DataError::Gzip { file: file.into(), source })?;
    if plain.len() as u64 > limit {
        return Err(DataError::Unpacked { file: file.into(), limit });
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_small_file_cannot_unpack_to_fill_the_memory() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 100_000]).unwrap();
        let compressed = encoder.finish().unwrap();
        assert!(compressed.len() < 1000);
        assert_eq!(gunzip_within("a.gz", &compressed, 100_000).unwrap().len(), 100_000);
        let error = gunzip_within("a.gz", &compressed, 99_999).unwrap_err();
        assert_eq!(error.to_string(), "a.gz must decompress to at most 99999 bytes, got more");
    }

    /// 2 × 3 × 1 pixels by its header, and a million bytes after them.
    #[test]
    fn a_file_is_unpacked_no_further_than_its_header_says() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1]).unwrap();
        encoder.write_all(&vec![0; 1_000_000]).unwrap();
        let images = encoder.finish().unwrap();
        let error = parse("set", ("a.gz", &images), ("l", &[]), 10, 255).unwrap_err();
        assert_eq!(error.to_string(), "a.gz must decompress to at most 22 bytes, got more");
    }
}
