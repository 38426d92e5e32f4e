//! Data sets that need no download. Where they come from and their licences: `data/README.md` of this crate.

use super::{DataError, Split, idx};

/// Bytes of a file of the crate's `data` folder.
macro_rules! file {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../data/", $name)).as_slice())
    };
}

/// The 8×8 handwritten digits: 1 442 to train on and 355 to test on, values 0 to 16.
///
/// Of each class every fifth image is for testing, in the order of the file: classes keep their proportions, and nothing
/// is random.
pub fn digits() -> Result<Split, DataError> {
    let images = file!("digits8x8/digits-images-idx3-ubyte.gz");
    let labels = file!("digits8x8/digits-labels-idx1-ubyte.gz");
    Ok(idx::parse("digits", images, labels, 10, 16)?.every_nth_for_test(5))
}

/// The first 200 training and the first 50 test images of each class of Fashion-MNIST, 28×28.
pub fn fashion_subset() -> Result<Split, DataError> {
    let read = |images, labels| idx::parse("fashion-mnist-subset", images, labels, 10, u8::MAX);
    Ok(Split {
        train: read(
            file!("fashion-mnist-subset/train-images-idx3-ubyte.gz"),
            file!("fashion-mnist-subset/train-labels-idx1-ubyte.gz"),
        )?,
        test: read(
            file!("fashion-mnist-subset/t10k-images-idx3-ubyte.gz"),
            file!("fashion-mnist-subset/t10k-labels-idx1-ubyte.gz"),
        )?,
    })
}
