//! The embedded fonts and how wide their letters are.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

const REGULAR: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");
const BOLD: &[u8] = include_bytes!("../assets/DejaVuSans-Bold-subset.ttf");

/// One of the two embedded faces.
pub(crate) struct Font {
    pub face: Face<'static>,
}

impl Font {
    /// The face of this weight; `None` never happens, for the fonts are compiled in and tested to parse.
    pub fn of(bold: bool) -> Option<&'static Self> {
        static FONTS: LazyLock<[Option<Font>; 2]> =
            LazyLock::new(|| [REGULAR, BOLD].map(|file| Face::parse(file, 0).ok().map(|face| Font { face })));
        FONTS[usize::from(bold)].as_ref()
    }

    /// Pixels for one unit of the font at this size.
    pub fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em())
    }

    /// The letter's glyph; one the font lacks is drawn as the font's empty box.
    pub fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or(GlyphId(0))
    }

    /// How far the pen moves after the glyph, in units of the font.
    pub fn advance(&self, glyph: GlyphId) -> f64 {
        f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_faces_hold_every_letter_figures_need() {
        for bold in [false, true] {
            let font = Font::of(bold).unwrap();
            for letter in "Aα σκτγβδξΣΔ∇√∞≤≥±×·−–—…→∂∝≈⟨⟩⋄◇★₀⁺₊₋²*\u{304}\u{305}éü".chars()
            {
                assert!(font.glyph(letter).0 != 0, "{letter}");
            }
        }
    }
}
