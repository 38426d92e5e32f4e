//! Sets lines of text in the embedded fonts: where each letter stands.

use ttf_parser::GlyphId;
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};

use super::font::Font;

/// A letter of a word: which one, and where its origin stands in units of the font.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    pub glyph: GlyphId,
    pub x: f64,
    pub y: f64,
}

impl Font {
    /// Sets the letters of a line one after another, pairs moved together and accents put on top as the font says.
    /// Returns them with the pen's final position.
    pub fn set(&self, text: &str) -> (Vec<Placed>, f64) {
        let mut pen = 0.0;
        let mut letters: Vec<Placed> = Vec::new();
        let mut base: Option<Placed> = None;
        for letter in text.chars() {
            let glyph = self.glyph(if letter < ' ' { ' ' } else { letter });
            if let Some((on, (dx, dy))) = base.and_then(|on| Some((on, self.accent(on.glyph, glyph)?))) {
                letters.push(Placed { glyph, x: on.x + dx, y: on.y + dy });
                continue;
            }
            pen += base.map_or(0.0, |left| self.kern(left.glyph, glyph));
            let placed = Placed { glyph, x: pen, y: 0.0 };
            letters.push(placed);
            base = Some(placed);
            pen += self.advance(glyph);
        }
        (letters, pen)
    }

    /// Draws a glyph's outline, in units of the font with y upwards.
    pub fn outline(&self, glyph: GlyphId, pen: &mut dyn ttf_parser::OutlineBuilder) {
        self.face.outline_glyph(glyph, pen);
    }

    fn positioning(&self) -> impl Iterator<Item = PositioningSubtable<'static>> {
        let lookups = self.face.tables().gpos.map(|table| table.lookups);
        lookups.into_iter().flatten().flat_map(|lookup| lookup.subtables.into_iter::<PositioningSubtable>())
    }

    /// By how much the pair stands apart (negative: closer) from what the first letter's width says.
    fn kern(&self, left: GlyphId, right: GlyphId) -> f64 {
        let found = self.positioning().find_map(|table| {
            let PositioningSubtable::Pair(pair) = table else { return None };
            let index = pair.coverage().get(left)?;
            let (first, _) = match pair {
                PairAdjustment::Format1 { sets, .. } => sets.get(index)?.get(right)?,
                PairAdjustment::Format2 { classes, matrix, .. } => {
                    matrix.get((classes.0.get(left), classes.1.get(right)))?
                }
            };
            Some(f64::from(first.x_advance))
        });
        found.unwrap_or(0.0)
    }

    /// Where an accent stands relative to its letter; `None` if it is no accent or the font does not say.
    fn accent(&self, base: GlyphId, mark: GlyphId) -> Option<(f64, f64)> {
        self.positioning().find_map(|table| {
            let PositioningSubtable::MarkToBase(marks) = table else { return None };
            let (class, on_mark) = marks.marks.get(marks.mark_coverage.get(mark)?)?;
            let on_base = marks.anchors.get(marks.base_coverage.get(base)?, class)?;
            Some((f64::from(on_base.x) - f64::from(on_mark.x), f64::from(on_base.y) - f64::from(on_mark.y)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_close_up_and_bars_stand_over_the_middle_of_their_letter() {
        let font = Font::of(false).unwrap();
        let end = |text: &str| font.set(text).1;
        assert!(end("AV") < end("A") + end("V"), "{}", end("AV"));
        assert_eq!(end("nn"), 2.0 * end("n"));
        let middle = |placed: &Placed| {
            let bounds = font.face.glyph_bounding_box(placed.glyph).unwrap();
            placed.x + f64::from(bounds.x_min + bounds.x_max) / 2.0
        };
        for letters in ["W\u{304}", "w\u{304}", "x\u{304}"] {
            let (placed, pen) = font.set(letters);
            assert_eq!(pen, end(&letters[..1]));
            assert!((middle(&placed[0]) - middle(&placed[1])).abs() < 40.0, "{letters}: {placed:?}");
        }
    }
}
