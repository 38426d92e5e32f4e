//! One axis: its label, its scale, and the map from data to pixels.

use super::ticks::Ticks;

/// The decades of floating-point numbers with all their digits.
const DECADES: (f64, f64) = (-307.0, 308.0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

/// Label, scale and range of one axis.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(crate) label: String,
    scale: Scale,
    range: Option<(f64, f64)>,
    ticks: Option<Vec<(f64, String)>>,
    whole: bool,
}

impl Axis {
    /// A linear axis that fits its range to the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None, ticks: None, whole: false }
    }

    /// A logarithmic (base 10) axis that fits its range to the positive data; other points become gaps.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, range: None, ticks: None, whole: false }
    }

    /// Shows exactly `[low, high]`.
    ///
    /// # Panics
    /// If the range is empty, not finite, or not positive on a logarithmic axis.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        let shown = self.scale.forward(high) - self.scale.forward(low);
        let usable = shown > 0.0 && shown.is_finite() && (high - low).is_finite();
        assert!(usable, "range must be finite and ascending (positive on a log axis), got {low} to {high}");
        self.range = Some((low, high));
        self
    }

    /// Marks these positions with these texts instead of automatic ticks.
    pub fn ticks<S: Into<String>>(mut self, ticks: impl IntoIterator<Item = (f64, S)>) -> Self {
        self.ticks = Some(ticks.into_iter().map(|(at, text)| (at, text.into())).collect());
        self
    }

    /// Marks whole numbers only: epochs, steps, counts.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    pub(crate) fn fit(&self, extent: &Extent, pad: f64) -> Fitted {
        let (low, high) = self.range.unwrap_or_else(|| self.scale.padded(extent, pad));
        Fitted { scale: self.scale, low, high }
    }

    /// The chosen ticks, or about one per `spacing` pixels.
    pub(crate) fn ticks_for(&self, fitted: &Fitted, length: f64, spacing: f64) -> Ticks {
        if let Some(chosen) = &self.ticks {
            let major = chosen.iter().filter(|(at, _)| fitted.contains(*at)).cloned().collect();
            return Ticks { major, ..Ticks::default() };
        }
        let target = (length / spacing).round().max(2.0) as usize;
        match self.scale {
            Scale::Linear if self.whole => Ticks::whole(fitted.low, fitted.high, target),
            Scale::Linear => Ticks::linear(fitted.low, fitted.high, target),
            Scale::Log => Ticks::log(fitted.low, fitted.high, target),
        }
    }
}

impl Scale {
    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            // The logarithm of a negative number is NaN and of zero -inf: both are skipped as gaps.
            Self::Log => value.log10(),
        }
    }

    fn padded(self, extent: &Extent, pad: f64) -> (f64, f64) {
        let (low, high) = match self {
            Self::Linear => extent.all.unwrap_or((0.0, 1.0)),
            Self::Log => extent.positive.unwrap_or((0.1, 10.0)),
        };
        match self {
            Self::Linear => {
                // A series that is flat up to rounding still needs a window around it.
                let size = low.abs().max(high.abs());
                let half = match high - low {
                    spread if spread > 1e-9 * size => 0.0,
                    // Nothing, and what is too small to have a twentieth.
                    _ if size < 1e-300 => 0.5,
                    _ => 0.05 * size,
                };
                let (low, high) = (low - half, high + half);
                let margin = pad * (high - low);
                let rests = |end: f64| extent.baseline.is_some_and(|base| base == end);
                (if rests(low) { low } else { low - margin }, if rests(high) { high } else { high + margin })
            }
            Self::Log => {
                // Powers of ten that are numbers, padding included.
                let low = low.log10().max(DECADES.0);
                let high = high.log10().max(low);
                let half = if low < high { pad * (high - low) } else { 0.5 };
                (
                    10_f64.powf((low - half).max(DECADES.0)),
                    10_f64.powf((high + half).clamp(DECADES.0 + 0.5, DECADES.1)),
                )
            }
        }
    }
}

/// The extent of the data on one axis, collected before the axis is fitted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    all: Option<(f64, f64)>,
    positive: Option<(f64, f64)>,
    /// Value that filled marks stand on; the axis ends there without padding.
    pub baseline: Option<f64>,
}

impl Extent {
    pub fn add(&mut self, value: f64) {
        // A quarter of the largest float leaves room for the padding.
        if value.abs() > f64::MAX / 4.0 || value.is_nan() {
            return;
        }
        let widen = |range: Option<(f64, f64)>| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        };
        self.all = widen(self.all);
        if value > 0.0 {
            self.positive = widen(self.positive);
        }
    }

    pub fn extend<'a>(&mut self, values: impl IntoIterator<Item = &'a f64>) {
        values.into_iter().for_each(|&value| self.add(value));
    }
}

/// An axis with a definite range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fitted {
    scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Fitted {
    /// Position between the ends of the axis, 0 to 1 inside; `None` where the scale has no finite value.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.scale.forward(self.low), self.scale.forward(self.high));
        let fraction = (self.scale.forward(value) - low) / (high - low);
        fraction.is_finite().then_some(fraction)
    }

    pub fn contains(&self, value: f64) -> bool {
        self.fraction(value).is_some_and(|fraction| (-1e-9..=1.0 + 1e-9).contains(&fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(values: &[f64]) -> Extent {
        let mut extent = Extent::default();
        extent.extend(values);
        extent
    }

    #[test]
    fn automatic_range_pads_the_finite_data() {
        let fitted = Axis::linear("").fit(&extent(&[f64::NAN, 0.0, 10.0, f64::INFINITY]), 0.1);
        assert_eq!((fitted.low, fitted.high), (-1.0, 11.0));
        assert_eq!(fitted.fraction(5.0), Some(0.5));
        assert_eq!(fitted.fraction(f64::NAN), None);
    }

    #[test]
    fn a_baseline_is_not_padded() {
        let mut standing = extent(&[0.0, 10.0]);
        standing.baseline = Some(0.0);
        let fitted = Axis::linear("").fit(&standing, 0.1);
        assert_eq!((fitted.low, fitted.high), (0.0, 11.0));
    }

    #[test]
    fn log_ignores_what_it_cannot_show() {
        let fitted = Axis::log("").fit(&extent(&[-5.0, 0.0, 0.01, 100.0]), 0.0);
        assert!((fitted.low - 0.01).abs() < 1e-12 && (fitted.high - 100.0).abs() < 1e-9);
        assert!((fitted.fraction(1.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((fitted.fraction(0.0), fitted.fraction(-1.0)), (None, None));
    }

    #[test]
    fn empty_and_flat_data_still_give_a_window() {
        for values in [
            &[][..],
            &[3.0][..],
            &[0.0][..],
            &[-1e-20][..],
            &[1e20][..],
            &[1e300, -1e300][..],
            &[1e-29, 1e300][..],
            &[4e307][..],
            &[5e-324][..],
            &[5e-324, 4e307][..],
        ] {
            for axis in [Axis::linear(""), Axis::log("")] {
                let fitted = axis.fit(&extent(values), 0.05);
                assert!(fitted.low < fitted.high, "{values:?}: {fitted:?}");
                assert!(!axis.ticks_for(&fitted, 300.0, 60.0).major.is_empty(), "{values:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "positive on a log axis")]
    fn log_range_must_be_positive() {
        let _ = Axis::log("").range(0.0, 1.0);
    }
}
