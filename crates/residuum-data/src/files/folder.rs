//! A folder of images for each class.

use std::fs;
use std::path::{Path, PathBuf};

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

use super::refused;
use crate::disk::{self, DATA};
use crate::{DataError, Dataset, Description, ImageShape};

/// Reads `FOLDER/CLASS/*.png` (or `.jpg`, `.jpeg`), classes and files in the order of their names. All images must have one
/// size and so many channels: 1 for grey, 3 for colour. `like` is the training set of a test set: the folders must be its classes.
///
/// # Errors
/// If a class has no image, an image cannot be read or differs in size or channels, or a class of a test set is unknown.
pub fn read_folder(folder: &Path, channels: usize, like: Option<&Dataset>) -> Result<Dataset, DataError> {
    let mut names: Vec<String> = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    if names.len() < 2 && like.is_none() {
        let message = format!("must have a folder for each of at least two classes, got {}", names.len());
        return Err(refused(folder, "", message));
    }
    if let Some(like) = like {
        let known: Vec<String> = (0..like.classes()).map(|class| like.class_name(class)).collect();
        if let Some(odd) = names.iter().find(|name| !known.contains(name)) {
            let message = format!("must be one of the classes to train on ({}), got {odd:?}", known.join(", "));
            return Err(refused(&folder.join(odd), "", message));
        }
        names = known;
    }
    let (mut shape, mut images, mut labels) = (None, Vec::new(), Vec::new());
    for (class, name) in names.iter().enumerate() {
        let path = folder.join(name);
        let before = labels.len();
        for file in entries(&path)? {
            let Some(format) = format(&file) else { continue };
            let (size, bytes) = decode(&file, format, channels)?;
            let expected = *shape.get_or_insert(size);
            if size != expected {
                let message = format!(
                    "all images must have {}×{} pixels like the first, got {}×{}",
                    expected.height, expected.width, size.height, size.width
                );
                return Err(refused(&file, "", message));
            }
            images.extend(bytes);
            labels.push(class as u32);
        }
        if labels.len() == before {
            return Err(refused(&path, "", "a class must have an image (.png, .jpg, .jpeg), got none"));
        }
    }
    let shape = shape.unwrap_or(ImageShape::new(0, 0, channels));
    let description =
        Description { name: folder.display().to_string(), shape, classes: names.len(), full_scale: u8::MAX };
    Ok(Dataset::of_images(description, images, labels)?.with_class_names(names))
}

/// What is in a folder, by name, without what is hidden.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let read = |source| DataError::Read { path: folder.into(), source };
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if !hidden {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

#[derive(Clone, Copy)]
enum Format {
    Png,
    Jpeg,
}

fn format(file: &Path) -> Option<Format> {
    match file.extension()?.to_string_lossy().to_ascii_lowercase().as_str() {
        "png" => Some(Format::Png),
        "jpg" | "jpeg" => Some(Format::Jpeg),
        _ => None,
    }
}

/// Longest side of an image: a small file may claim any size.
const MOST_PIXELS: usize = 4096;

/// The size and the bytes of an image, in row, column, channel order.
fn decode(file: &Path, format: Format, channels: usize) -> Result<(ImageShape, Vec<u8>), DataError> {
    let bytes = disk::read(file, DATA).map_err(|source| DataError::Read { path: file.into(), source })?;
    let damaged = |e: String| refused(file, "", format!("must be an intact image: {e}"));
    let limited = DecoderOptions::default().set_max_width(MOST_PIXELS).set_max_height(MOST_PIXELS);
    let options = limited.png_set_strip_to_8bit(true);
    let (pixels, dimensions, colors) = match format {
        Format::Png => {
            let mut decoder = zune_png::PngDecoder::new_with_options(ZCursor::new(bytes), options);
            let pixels = decoder.decode_raw().map_err(|e| damaged(format!("{e:?}")))?;
            (pixels, decoder.dimensions(), decoder.colorspace())
        }
        Format::Jpeg => {
            let wanted = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
            let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), limited);
            decoder.decode_headers().map_err(|e| damaged(format!("{e:?}")))?;
            // A grey file stays grey: nothing is made up.
            let own = decoder.input_colorspace().unwrap_or(wanted);
            let out = if own == ColorSpace::Luma { ColorSpace::Luma } else { ColorSpace::RGB };
            decoder.set_options(limited.jpeg_set_out_colorspace(out));
            let pixels = decoder.decode().map_err(|e| damaged(format!("{e:?}")))?;
            (pixels, decoder.dimensions(), decoder.output_colorspace())
        }
    };
    let (Some((width, height)), Some(colors)) = (dimensions, colors) else {
        return Err(damaged("it has no size".into()));
    };
    let given = colors.num_components();
    // Transparency is not a colour.
    let own = if colors.has_alpha() { given - 1 } else { given };
    if own != channels {
        let message = format!("must have {channels} channel(s) as data.channels says, got {own}");
        return Err(refused(file, "", message));
    }
    let pixels = if own == given {
        pixels
    } else {
        pixels.chunks_exact(given).flat_map(|pixel| pixel[..own].to_vec()).collect()
    };
    Ok((ImageShape::new(height, width, channels), pixels))
}
