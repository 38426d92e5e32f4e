//! The colour bar that maps the colours of a field to values.

use super::color::Color;
use super::field::Contours;
use super::page::{Fill, Page, Rect, Stroke};
use super::panel::small;
use super::text::{Anchor, BASE_SIZE, Label, SMALL_SIZE, width};
use super::ticks::number;

const BAR_WIDTH: f64 = 11.0;

/// Room the bar and its texts need to the right of the plotting area.
pub(crate) fn space(field: &Contours, label: &str) -> f64 {
    let texts = bar_labels(&field.chosen_levels());
    let widest = texts.iter().map(|(_, text)| width(text, SMALL_SIZE, false)).fold(0.0, f64::max);
    let name = if label.is_empty() { 0.0 } else { BASE_SIZE + 6.0 };
    8.0 + BAR_WIDTH + 6.0 + widest + name
}

/// At most about eight levels are written beside the bar, with the fewest decimals that say what they are.
fn bar_labels(levels: &[f64]) -> Vec<(usize, String)> {
    let stride = levels.len().div_ceil(8).max(1);
    let shown: Vec<usize> = (0..levels.len()).step_by(stride).collect();
    let exact = |decimals: i32| {
        let unit = 10_f64.powi(decimals);
        shown.iter().all(|&index| {
            ((levels[index] * unit).round() / unit - levels[index]).abs() <= 1e-9 * levels[index].abs()
        })
    };
    let decimals = (0..4).find(|&decimals| exact(decimals)).unwrap_or(4);
    shown.into_iter().map(|index| (index, number(levels[index], decimals as usize))).collect()
}

/// Draws the bar to the right of the plotting area.
pub(crate) fn draw(field: &Contours, label: &str, page: &mut Page, rect: Rect) {
    let levels = field.chosen_levels();
    let (left, right) = (rect.right + 8.0, rect.right + 8.0 + BAR_WIDTH);
    let count = levels.len() + 1;
    let edge = |index: usize| rect.bottom - rect.height() * index as f64 / count as f64;
    for index in 0..count {
        let block = Rect { left, right, top: edge(index + 1), bottom: edge(index) };
        page.rect(block, Some(Fill::solid(field.shade(index, levels.len()))), None);
    }
    let ink = Stroke::new(Color::hex(0x444444), 0.8);
    page.rect(Rect { left, right, ..rect }, None, Some(ink));
    let mut widest: f64 = 0.0;
    for (index, text) in bar_labels(&levels) {
        let y = edge(index + 1);
        page.segment((right, y), (right + 2.5, y), ink);
        small(&text, right + 5.0, y + 0.36 * SMALL_SIZE, Anchor::Start).draw(page);
        widest = widest.max(width(&text, SMALL_SIZE, false));
    }
    if !label.is_empty() {
        let x = right + 5.0 + widest + 4.0 + BASE_SIZE;
        Label { upward: true, ..Label::new(label, x, rect.middle().1) }.draw(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_labels_are_short_and_few() {
        let halves: Vec<f64> = (0..10).map(|level| f64::from(level) / 2.0).collect();
        let texts: Vec<String> = bar_labels(&halves).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0", "1", "2", "3", "4"]);
        assert_eq!(bar_labels(&[-0.25, 0.5]), [(0, "−0.25".to_owned()), (1, "0.50".to_owned())]);
    }
}
