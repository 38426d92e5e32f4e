//! Colours that stay apart for colour-blind readers and in print.
//!
//! The qualitative palette is Okabe and Ito's; every method of the paper keeps one colour in all figures.

/// An opaque sRGB colour; marks carry their opacity separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color {
    red: u8,
    green: u8,
    blue: u8,
}

impl Color {
    /// Black.
    pub const BLACK: Self = Self::hex(0x000000);
    /// White.
    pub const WHITE: Self = Self::hex(0xffffff);
    /// Neutral grey for secondary lines and text.
    pub const GREY: Self = Self::hex(0x6e6e6e);
    /// Okabe-Ito orange.
    pub const ORANGE: Self = Self::hex(0xe69f00);
    /// Okabe-Ito sky blue.
    pub const SKY_BLUE: Self = Self::hex(0x56b4e9);
    /// Okabe-Ito bluish green.
    pub const GREEN: Self = Self::hex(0x009e73);
    /// Okabe-Ito yellow; too light for thin lines, meant for fills.
    pub const YELLOW: Self = Self::hex(0xf0e442);
    /// Okabe-Ito blue.
    pub const BLUE: Self = Self::hex(0x0072b2);
    /// Okabe-Ito vermillion.
    pub const VERMILLION: Self = Self::hex(0xd55e00);
    /// Okabe-Ito reddish purple.
    pub const PURPLE: Self = Self::hex(0xcc79a7);

    /// Digital SGD in every figure.
    pub const DIGITAL_SGD: Self = Self::hex(0x333333);
    /// Analog SGD in every figure.
    pub const ANALOG_SGD: Self = Self::VERMILLION;
    /// Residual Learning in every figure.
    pub const RESIDUAL_LEARNING: Self = Self::BLUE;

    /// Colours for unnamed series, most distinct first.
    pub const CYCLE: [Self; 7] =
        [Self::BLUE, Self::VERMILLION, Self::GREEN, Self::ORANGE, Self::PURPLE, Self::SKY_BLUE, Self::BLACK];

    pub(crate) const INK: Self = Self::hex(0x222222);
    pub(crate) const GRID: Self = Self::hex(0xe7e7e7);

    /// The colour `0xRRGGBB`.
    pub const fn hex(code: u32) -> Self {
        Self { red: (code >> 16) as u8, green: (code >> 8) as u8, blue: code as u8 }
    }

    /// The colour a fraction `t` of the way to `other`; `t` is clamped to [0, 1].
    pub fn mix(self, other: Self, t: f64) -> Self {
        let t = t.clamp(0.0, 1.0);
        let channel = |a: u8, b: u8| (f64::from(a) + t * (f64::from(b) - f64::from(a))).round() as u8;
        Self {
            red: channel(self.red, other.red),
            green: channel(self.green, other.green),
            blue: channel(self.blue, other.blue),
        }
    }

    /// The colour in CSS notation, `#rrggbb`.
    pub fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }

    #[cfg(feature = "png")]
    pub(crate) fn channels(self) -> (u8, u8, u8) {
        (self.red, self.green, self.blue)
    }

    /// Relative luminance, to compare how light two colours look.
    #[cfg(test)]
    fn luminance(self) -> f64 {
        0.2126 * f64::from(self.red) + 0.7152 * f64::from(self.green) + 0.0722 * f64::from(self.blue)
    }
}

/// An ordered range of colours, light for small values and dark for large ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColorRamp {
    stops: &'static [Color],
}

impl ColorRamp {
    /// Noise levels σ: amber to dark red.
    pub const SIGMA: Self = Self { stops: &[Color::hex(0xf2a541), Color::hex(0xd95f0e), Color::hex(0x7a1c0c)] };
    /// Hardware condition numbers κ₂: light teal to midnight blue.
    pub const KAPPA: Self = Self { stops: &[Color::hex(0x6cc5b0), Color::hex(0x2b7bba), Color::hex(0x1d1f5e)] };
    /// Quiet background for landscapes: near white to blue, so that lines on top stay legible.
    pub const MIST: Self = Self {
        stops: &[Color::hex(0xf7fafd), Color::hex(0xc9dcec), Color::hex(0x86b3d4), Color::hex(0x3f7fb0)],
    };

    /// The colour at a fraction `t` of the ramp; `t` is clamped to [0, 1].
    pub fn at(self, t: f64) -> Color {
        let position = t.clamp(0.0, 1.0) * (self.stops.len() - 1) as f64;
        let below = (position as usize).min(self.stops.len() - 2);
        self.stops[below].mix(self.stops[below + 1], position - below as f64)
    }

    /// `count` colours spread evenly over the ramp, light to dark; a single level takes the middle.
    pub fn levels(self, count: usize) -> Vec<Color> {
        match count {
            1 => vec![self.at(0.5)],
            _ => (0..count).map(|level| self.at(level as f64 / (count - 1) as f64)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_meets_both_ends() {
        assert_eq!(Color::BLACK.mix(Color::WHITE, 0.0), Color::BLACK);
        assert_eq!(Color::BLACK.mix(Color::WHITE, 7.0), Color::WHITE);
        assert_eq!(Color::BLACK.mix(Color::WHITE, 0.5).css(), "#808080");
    }

    #[test]
    fn ramps_darken_strictly() {
        for ramp in [ColorRamp::SIGMA, ColorRamp::KAPPA, ColorRamp::MIST] {
            let light: Vec<f64> = ramp.levels(9).into_iter().map(Color::luminance).collect();
            assert!(light.windows(2).all(|pair| pair[1] < pair[0]), "{light:?}");
        }
        assert_eq!(ColorRamp::KAPPA.levels(1), [ColorRamp::KAPPA.at(0.5)]);
        assert!(ColorRamp::KAPPA.levels(0).is_empty());
    }
}
