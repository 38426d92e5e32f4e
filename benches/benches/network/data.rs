//! The images of the benchmark, and files of them for its other side.

use std::path::{Path, PathBuf};

use residuum::Key;
use residuum_nn::data::{Dataset, Description, ImageShape, idx};
use residuum_nn::{SampleShape, Tensor};

/// Fraction of the pixels of MNIST that are not black.
const LIT: f64 = 0.19;
const CLASSES: u64 = 10;

/// Images and labels.
pub struct Samples {
    /// Where they come from.
    pub name: String,
    /// Of one image.
    pub shape: SampleShape,
    images: Vec<f32>,
    labels: Vec<u32>,
}

impl Samples {
    /// Batches in order; what is left over is left out.
    pub fn batches(&self, size: usize) -> impl Iterator<Item = (Tensor, &[u32])> {
        let images = self.images.chunks_exact(size * self.shape.len());
        let inputs = images.map(|values| Tensor::from_values(self.shape, values.to_vec()));
        inputs.zip(self.labels.chunks_exact(size))
    }

    /// The same as bytes, as a data set on disk has them.
    pub fn dataset(&self) -> Dataset {
        let SampleShape { height, width, channels } = self.shape;
        let shape = ImageShape::new(height, width, channels);
        let (name, classes) = (self.name.clone(), CLASSES as usize);
        let bytes = self.images.iter().map(|value| (255.0 * value).round() as u8).collect();
        let description = Description { name, shape, classes, full_scale: 255 };
        Dataset::of_images(description, bytes, self.labels.clone()).expect("valid")
    }
}

/// The first images of MNIST in the folder that `MNIST` names, or drawn ones.
pub fn digits() -> Samples {
    let (count, shape) = (2048, SampleShape::image(28, 28, 1));
    let Some(folder) = std::env::var_os("MNIST") else { return drawn(count, shape) };
    let file = |name: &str| Path::new(&folder).join(name);
    let (images, labels) = (file("train-images-idx3-ubyte.gz"), file("train-labels-idx1-ubyte.gz"));
    let set = idx::read("mnist", &images, &labels, CLASSES as usize).expect("MNIST must be in the folder");
    let pixels = (0..count).flat_map(|i| set.image(i).iter().map(|byte| f32::from(*byte) / 255.0));
    let images = pixels.collect();
    let labels = (0..count).map(|i| set.labels()[i]).collect();
    Samples { name: "MNIST".into(), shape, images, labels }
}

/// Images of 32 pixels in three colours.
pub fn photos() -> Samples {
    drawn(128, SampleShape::image(32, 32, 3))
}

/// Every class lights pixels of its own, each image with other strengths.
fn drawn(count: usize, shape: SampleShape) -> Samples {
    let (lit, strength) = (Key::new(5).named("lit"), Key::new(5).named("strength"));
    let labels: Vec<u32> = (0..count as u64).map(|i| (i % CLASSES) as u32).collect();
    let mut images = Vec::with_capacity(count * shape.len());
    for (label, i) in labels.iter().zip(0..) {
        let (lit, strength) = (lit.fold(u64::from(*label)), strength.fold(i));
        images
            .extend((0..shape.len() as u64).map(|pixel| {
                if lit.uniform_at(pixel) < LIT { strength.uniform_at(pixel) as f32 } else { 0.0 }
            }));
    }
    Samples { name: "drawn".into(), shape, images, labels }
}

/// Writes each set as raw little-endian f32 images, channels innermost, and u32 labels; returns the folder.
pub fn export(sets: &[(&str, &Samples)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("residuum-network-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the data");
    for (name, samples) in sets {
        let images: Vec<u8> = samples.images.iter().flat_map(|v| v.to_le_bytes()).collect();
        let labels: Vec<u8> = samples.labels.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(folder.join(format!("{name}.images")), images).expect("room for the images");
        std::fs::write(folder.join(format!("{name}.labels")), labels).expect("room for the labels");
    }
    folder
}
