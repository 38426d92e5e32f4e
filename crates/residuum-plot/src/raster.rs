//! SVG to PNG with the embedded fonts only, so that the picture does not depend on the machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::PngError;
use super::text::{BOLD, REGULAR};

const LARGEST_SIDE: u32 = 20_000;

pub(crate) fn parse(svg: &str) -> Result<Tree, PngError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    let options =
        Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    Ok(Tree::from_str(svg, &options)?)
}

pub(crate) fn png(svg: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let tree = parse(svg)?;
    let side = |length: f32| (f64::from(length) * scale).round();
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let allowed = |side: f64| (1.0..=f64::from(LARGEST_SIDE)).contains(&side);
    if !allowed(width) || !allowed(height) {
        return Err(PngError::Scale { scale, limit: LARGEST_SIDE });
    }
    let Some(mut canvas) = Pixmap::new(width as u32, height as u32) else {
        return Err(PngError::Scale { scale, limit: LARGEST_SIDE });
    };
    let zoom = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, zoom, &mut canvas.as_mut());
    canvas.encode_png().map_err(|error| PngError::Png(Box::new(error)))
}
