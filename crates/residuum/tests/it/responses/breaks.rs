//! Kinks, jumps and vertical tangents are found.

use residuum::Range;
use residuum::testing::response::{Kind, worst};

const UNIT: Range = Range { lo: -1.0, hi: 1.0 };

#[test]
fn smooth_functions_have_no_break() {
    assert_eq!(worst(|w| 2.0 + w.sin(), UNIT), None);
    assert_eq!(worst(|w| 1.0 - 0.3 * w, UNIT), None);
    assert_eq!(worst(|w: f64| (1.0 - w).sqrt(), UNIT), None);
    // Steep, yet smooth: as wide as two cells of the grid, and a hundred times narrower.
    assert_eq!(worst(|w| 2.0 + (w / 1e-3).tanh(), UNIT), None);
    assert_eq!(worst(|w| 2.0 + ((w - 0.1) / 1e-5).tanh(), UNIT), None);
    // Once differentiable is enough.
    assert_eq!(worst(|w: f64| 1.0 + w * w.abs(), UNIT), None);
}

#[test]
fn breaks_are_found_and_named() {
    for at in [0.0, 0.1, -0.777_123] {
        let kink = worst(|w| 1.0 + 0.2 * (w - at).abs() + w * w, UNIT).expect("a kink");
        assert!((kink.at - at).abs() < 1e-7, "{kink:?}");
        let Kind::Kink(left, right) = kink.kind else { panic!("{kink:?}") };
        assert!((right - left - 0.4).abs() < 1e-5, "{kink:?}");
        let jump = worst(|w| if w < at { 1.0 } else { 1.5 }, UNIT).expect("a jump");
        assert!((jump.at - at).abs() < 1e-7 && jump.kind == Kind::Jump(0.5), "{jump:?}");
        let vertical = worst(|w| 2.0 + (w - at).cbrt(), UNIT).expect("a vertical tangent");
        assert!((vertical.at - at).abs() < 1e-6 && vertical.kind == Kind::Vertical, "{vertical:?}");
    }
}
