//! Positions and labels of axis ticks.
//!
//! Linear axes step by 1, 2 or 5 times a power of ten; logarithmic axes mark decades.

/// Marks of one axis, in data coordinates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    /// Labelled positions with their markup text, ascending.
    pub major: Vec<(f64, String)>,
    /// Unlabelled positions between them.
    pub minor: Vec<f64>,
    /// Power of ten that multiplies every label, written once at the end of the axis.
    pub exponent: Option<i32>,
}

impl Ticks {
    /// About `target` ticks at multiples of 1, 2 or 5 times a power of ten, all inside `[low, high]`.
    pub fn linear(low: f64, high: f64, target: usize) -> Self {
        assert!(low < high && (high - low).is_finite(), "ticks need low < high, got {low} and {high}");
        Self::stepped(low, high, nice_step((high - low) / target.max(1) as f64))
    }

    /// The same at whole numbers alone; where `[low, high]` holds none, there is no tick.
    pub fn whole(low: f64, high: f64, target: usize) -> Self {
        assert!(low < high && (high - low).is_finite(), "ticks need low < high, got {low} and {high}");
        let step = nice_step((high - low) / target.max(1) as f64);
        Self::stepped(low, high, if step.size() < 1.0 { Step { digit: 1.0, power: 0 } } else { step })
    }

    fn stepped(low: f64, high: f64, step: Step) -> Self {
        // Indices rather than repeated addition, so that 0.1 + 0.2 never becomes a label; the slack keeps an end
        // that lies on a tick up to rounding.
        let slack = 1e-9;
        let first = (low / step.size() - slack).ceil() as i64;
        let last = (high / step.size() + slack).floor() as i64;
        let largest = low.abs().max(high.abs());
        let exponent = power_of_ten(largest);
        let exponent = if (-3..=4).contains(&exponent) { None } else { Some(exponent) };
        let decimals = (exponent.unwrap_or(0) - step.power).max(0) as usize;
        let major = (first..=last)
            .map(|index| {
                let shown = index as f64 * step.digit * 10_f64.powi(step.power - exponent.unwrap_or(0));
                (step.multiple(index), number(shown, decimals))
            })
            .collect();
        Self { major, minor: Vec::new(), exponent }
    }

    /// Decades inside `[low, high]`, thinned to at most `target`; below one full decade, multiples 1, 2, 5 are
    /// labelled instead.
    pub fn log(low: f64, high: f64, target: usize) -> Self {
        assert!(
            0.0 < low && low < high && high.is_finite(),
            "log ticks need 0 < low < high, got {low} and {high}"
        );
        let inside = |value: f64| value >= low * (1.0 - 1e-9) && value <= high * (1.0 + 1e-9);
        let decades: Vec<i32> =
            (power_of_ten(low)..=power_of_ten(high) + 1).filter(|&power| inside(10_f64.powi(power))).collect();
        let multiples = |digits: &'static [i32]| {
            (power_of_ten(low) - 1..=power_of_ten(high))
                .flat_map(move |power| digits.iter().map(move |&digit| (digit, power)))
                .filter(|&(digit, power)| inside(scaled(digit, power)))
        };
        if decades.len() < 2 {
            let sparse: Vec<(f64, String)> = multiples(&[1, 2, 5]).map(multiple).collect();
            if sparse.len() < 2 {
                return Self::linear(low, high, target);
            }
            let minor = multiples(&[3, 4, 6, 7, 8, 9]).map(|(digit, power)| scaled(digit, power)).collect();
            return Self { major: sparse, minor, exponent: None };
        }
        let stride = i32::try_from(decades.len().div_ceil(target.max(1))).unwrap_or(i32::MAX);
        let on_stride = |power: &i32| power.rem_euclid(stride) == 0;
        let major = decades.iter().copied().filter(on_stride).map(decade).collect();
        let minor = if stride == 1 {
            multiples(&[2, 3, 4, 5, 6, 7, 8, 9]).map(|(digit, power)| scaled(digit, power)).collect()
        } else {
            decades.iter().copied().filter(|power| !on_stride(power)).map(|power| 10_f64.powi(power)).collect()
        };
        Self { major, minor, exponent: None }
    }
}

/// `digit * 10^power` with `digit` one of 1, 2, 5.
#[derive(Clone, Copy)]
struct Step {
    digit: f64,
    power: i32,
}

impl Step {
    fn size(&self) -> f64 {
        self.multiple(1)
    }

    /// Dividing by a power of ten is exact where multiplying by its inverse is not: 3 / 10 is 0.3, 3 * 0.1 is not.
    fn multiple(&self, index: i64) -> f64 {
        let digits = index as f64 * self.digit;
        if self.power < 0 { digits / 10_f64.powi(-self.power) } else { digits * 10_f64.powi(self.power) }
    }
}

fn nice_step(raw: f64) -> Step {
    let power = power_of_ten(raw);
    let mantissa = raw / 10_f64.powi(power);
    let (digit, carry) = match mantissa {
        m if m < 1.5 => (1.0, 0),
        m if m < 3.5 => (2.0, 0),
        m if m < 7.5 => (5.0, 0),
        _ => (1.0, 1),
    };
    Step { digit, power: power + carry }
}

fn power_of_ten(value: f64) -> i32 {
    // The slack reads 999.9999999 as the 1000 it was meant to be.
    (value.log10() + 1e-9).floor() as i32
}

fn scaled(digit: i32, power: i32) -> f64 {
    Step { digit: f64::from(digit), power }.size()
}

fn decade(power: i32) -> (f64, String) {
    (scaled(1, power), format!("10^{{{}}}", number(f64::from(power), 0)))
}

fn multiple((digit, power): (i32, i32)) -> (f64, String) {
    let value = scaled(digit, power);
    let label = match power {
        -3..=3 => number(value, (-power).max(0) as usize),
        _ => format!("{digit}·10^{{{}}}", number(f64::from(power), 0)),
    };
    (value, label)
}

/// A decimal with a typographic minus, and no minus before zero.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().any(|c| c.is_ascii_digit() && c != '0') => {
            format!("−{digits}")
        }
        Some(digits) => digits.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_steps_are_nice_and_inside() {
        let ticks = Ticks::linear(-0.47, 0.52, 5);
        assert_eq!(labels(&ticks), ["−0.4", "−0.2", "0.0", "0.2", "0.4"]);
        assert_eq!(ticks.major[3].0, 0.2);
        assert_eq!(labels(&Ticks::linear(0.0, 50.0, 5)), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(&Ticks::linear(0.0, 0.3, 3)), ["0.0", "0.1", "0.2", "0.3"]);
    }

    #[test]
    fn whole_numbers_have_nothing_between_them() {
        assert_eq!(labels(&Ticks::whole(0.95, 3.05, 6)), ["1", "2", "3"]);
        assert_eq!(labels(&Ticks::whole(0.9, 10.1, 5)), ["2", "4", "6", "8", "10"]);
        assert_eq!(labels(&Ticks::linear(0.95, 3.05, 6))[1], "1.2");
        assert!(Ticks::whole(0.2, 0.8, 5).major.is_empty());
    }

    #[test]
    fn every_step_is_one_two_or_five() {
        for scale in 1..400_i32 {
            let high = f64::from(scale) * 0.0371;
            let ticks = Ticks::linear(-high, high, 6);
            assert!((4..=13).contains(&ticks.major.len()), "{ticks:?}");
            let step = ticks.major[1].0 - ticks.major[0].0;
            let digit = step / 10_f64.powf((step.log10() + 1e-6).floor());
            assert!([1.0, 2.0, 5.0].iter().any(|nice| (digit - nice).abs() < 1e-6), "{digit}");
        }
    }

    #[test]
    fn tiny_and_huge_values_share_an_exponent() {
        let tiny = Ticks::linear(0.0, 4e-9, 4);
        assert_eq!((labels(&tiny), tiny.exponent), (vec!["0", "1", "2", "3", "4"], Some(-9)));
        let huge = Ticks::linear(0.0, 2.5e6, 5);
        assert_eq!((labels(&huge)[1], huge.exponent), ("0.5", Some(6)));
        assert_eq!(huge.major[1].0, 500_000.0);
    }

    #[test]
    fn log_marks_decades_with_minors() {
        let ticks = Ticks::log(1e-3, 20.0, 6);
        assert_eq!(labels(&ticks), ["10^{−3}", "10^{−2}", "10^{−1}", "10^{0}", "10^{1}"]);
        assert!(ticks.minor.contains(&0.05) && !ticks.minor.contains(&0.1));
        assert!(ticks.minor.iter().all(|&value| (1e-3..=20.0).contains(&value)));
    }

    #[test]
    fn long_log_axes_are_thinned_and_short_ones_filled() {
        let long = Ticks::log(1e-12, 1.0, 5);
        assert_eq!(labels(&long), ["10^{−12}", "10^{−9}", "10^{−6}", "10^{−3}", "10^{0}"]);
        assert_eq!(labels(&Ticks::log(1.5, 60.0, 5)), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(&Ticks::log(2.2, 2.9, 4)), ["2.2", "2.4", "2.6", "2.8"]);
    }
}
