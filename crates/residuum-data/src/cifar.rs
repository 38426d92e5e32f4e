//! The binary CIFAR files: records of one or two label bytes and 3 072 pixel bytes, a plane per colour, without a
//! header. Pixels are reordered to row, column, channel, as everywhere here.

use std::path::Path;

use super::idx::{gunzip, read_bytes};
use super::{DataError, Dataset, Description, ImageShape, Split};

const SHAPE: ImageShape = ImageShape::new(32, 32, 3);
const PLANE: usize = SHAPE.height * SHAPE.width;

/// Which of the two data sets: they differ in their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cifar {
    /// Ten classes; a record starts with the label.
    Ten,
    /// A hundred classes; a record starts with the coarse label, then the fine one, which is used.
    Hundred,
}

impl Cifar {
    /// Reads the files of the official archive from a folder: `data_batch_1.bin` to `data_batch_5.bin` and
    /// `test_batch.bin`, or `train.bin` and `test.bin`.
    pub fn read(self, folder: &Path) -> Result<Split, DataError> {
        let (train, test) = match self {
            Self::Ten => ((1..=5).map(|i| format!("data_batch_{i}.bin")).collect(), "test_batch.bin"),
            Self::Hundred => (vec!["train.bin".to_string()], "test.bin"),
        };
        let read = |files: &[String]| -> Result<Dataset, DataError> {
            let mut records = Records::default();
            for file in files {
                let path = folder.join(file);
                records.append(self, &path.display().to_string(), &read_bytes(&path)?)?;
            }
            records.into_dataset(self)
        };
        Ok(Split { train: read(&train)?, test: read(&[test.to_string()])? })
    }

    /// The images of one named file, plain or gzipped.
    pub fn parse(self, file: &str, bytes: &[u8]) -> Result<Dataset, DataError> {
        let mut records = Records::default();
        records.append(self, file, bytes)?;
        records.into_dataset(self)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ten => "cifar10",
            Self::Hundred => "cifar100",
        }
    }

    fn classes(self) -> usize {
        match self {
            Self::Ten => 10,
            Self::Hundred => 100,
        }
    }

    /// Label bytes of a record; the last of them counts.
    fn label_bytes(self) -> usize {
        match self {
            Self::Ten => 1,
            Self::Hundred => 2,
        }
    }
}

/// Images read so far.
#[derive(Default)]
struct Records {
    images: Vec<u8>,
    labels: Vec<u8>,
}

impl Records {
    fn append(&mut self, cifar: Cifar, file: &str, bytes: &[u8]) -> Result<(), DataError> {
        let bytes = gunzip(file, bytes)?;
        let record = cifar.label_bytes() + SHAPE.values();
        if bytes.is_empty() || bytes.len() % record != 0 {
            return Err(DataError::Records { file: file.into(), record, given: bytes.len() });
        }
        self.images.reserve(bytes.len());
        for (index, record) in bytes.chunks_exact(record).enumerate() {
            let (labels, planes) = record.split_at(cifar.label_bytes());
            let label = labels[labels.len() - 1];
            if usize::from(label) >= cifar.classes() {
                let label = u32::from(label);
                return Err(DataError::Label { name: file.into(), index, label, classes: cifar.classes() });
            }
            self.labels.push(label);
            self.images.extend((0..PLANE).flat_map(|p| [planes[p], planes[PLANE + p], planes[2 * PLANE + p]]));
        }
        Ok(())
    }

    fn into_dataset(self, cifar: Cifar) -> Result<Dataset, DataError> {
        let (name, classes) = (cifar.name().to_string(), cifar.classes());
        let description = Description { name, shape: SHAPE, classes, full_scale: u8::MAX };
        Dataset::new(description, self.images, self.labels)
    }
}
