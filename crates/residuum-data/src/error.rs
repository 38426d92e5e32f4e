//! Data errors: which file, what must hold, what was found.

use std::io;
use std::path::PathBuf;

/// Why a data set could not be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file could not be opened or read.
    #[error("file {} must be readable: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A missing file.
    #[error("file {} must exist (with or without .gz); `residuum data fetch` downloads data sets", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file that decompresses to more than any data set.
    #[error("{file} must decompress to at most {limit} bytes, got more")]
    Unpacked {
        /// The file.
        file: String,
        /// Maximum bytes accepted.
        limit: u64,
    },
    /// A gzip stream that does not decompress.
    #[error("{file}: the gzip stream must be intact: {source}")]
    Gzip {
        /// The file.
        file: String,
        /// The decoder's error.
        source: io::Error,
    },
    /// The first four bytes are not those of the format.
    #[error("{file}: the first four bytes must be {expected:#010x}, got {given:#010x}")]
    Magic {
        /// The file.
        file: String,
        /// The bytes of the format.
        expected: u32,
        /// The bytes of the file.
        given: u32,
    },
    /// Fewer or more bytes than the header, or the format, promises.
    #[error("{file}: must have {expected} bytes, got {given}")]
    Length {
        /// The file.
        file: String,
        /// Bytes expected.
        expected: u128,
        /// Bytes found.
        given: usize,
    },
    /// A file that is not a whole number of records.
    #[error("{file}: must be one or more records of {record} bytes, got {given} bytes")]
    Records {
        /// The file.
        file: String,
        /// Bytes of a record.
        record: usize,
        /// Bytes found.
        given: usize,
    },
    /// No images, or images of zero size or full scale.
    #[error(
        "{name}: images, height, width, channels and full scale must be positive, \
         got {count} of {height}×{width}×{channels} at {full_scale}"
    )]
    Empty {
        /// The data set.
        name: String,
        /// Number of images.
        count: usize,
        /// Pixels from top to bottom.
        height: usize,
        /// Pixels from left to right.
        width: usize,
        /// Values of a pixel.
        channels: usize,
        /// The byte that stands for 1.0.
        full_scale: u8,
    },
    /// Different numbers of images and labels.
    #[error("{name}: must have one label for each image, got {images} images and {labels} labels")]
    Counts {
        /// The data set.
        name: String,
        /// Number of images.
        images: usize,
        /// Number of labels.
        labels: usize,
    },
    /// A label out of range.
    #[error("{name}: label {index} must be below {classes}, got {label}")]
    Label {
        /// The data set.
        name: String,
        /// Position of the label.
        index: usize,
        /// The label.
        label: u32,
        /// Number of classes.
        classes: usize,
    },
    /// A pixel brighter than full scale.
    #[error("{name}: pixels must be at most {full_scale}, got {pixel} in image {index}")]
    Pixel {
        /// The data set.
        name: String,
        /// Position of the image.
        index: usize,
        /// The brightest value allowed.
        full_scale: u8,
        /// The value found.
        pixel: u8,
    },
    /// A class with fewer images than asked for.
    #[error("{name}: class {class} must have {wanted} images to select, but has {present}")]
    TooFew {
        /// The data set.
        name: String,
        /// The class.
        class: usize,
        /// Images asked for.
        wanted: usize,
        /// Images found.
        present: usize,
    },
    /// A sample that is not finite.
    #[error("{name}: values must be finite, got {value} in sample {index}")]
    Value {
        /// The data set.
        name: String,
        /// Position of the sample.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A share of a class that is none of it or all of it.
    #[error(
        "{name}: a share of {share} must take at least one sample of class {class} and leave one, but it has {present}"
    )]
    Share {
        /// The data set.
        name: String,
        /// The class.
        class: String,
        /// The share asked for.
        share: f64,
        /// Samples of the class.
        present: usize,
    },
    /// A row of a file, or a file of a folder, that cannot be used.
    #[error("{file}{place}: {message}")]
    Row {
        /// The file.
        file: String,
        /// Where in it, such as `, row 3, column "width"`.
        place: String,
        /// What must hold and what was given.
        message: String,
    },
    /// A name that is not in the catalogue.
    #[error("data set must be one of {known}, got {name:?}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names that exist.
        known: String,
    },
}
