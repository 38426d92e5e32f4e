//! Numbers for readers: only as many digits as the error justifies.

use residuum::stats::Summary;

/// A mean with its error in common units: `(mean ± error)·10^exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The mean.
    pub mean: String,
    /// Its standard error, if there is one.
    pub error: Option<String>,
    /// Power of ten, if the number is too large or too small for plain digits.
    pub exponent: Option<i32>,
}

/// An error below this share of the mean is treated as none.
const DUST: f64 = 1e-12;
/// Digits of a number without an error.
const DIGITS: i32 = 4;

/// Position of the leading digit of `x`; that of one for zero.
fn magnitude(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() { 0 } else { x.abs().log10().floor() as i32 }
}

/// A mean with two digits of its standard error, or with four digits if it has none.
pub fn written(mean: f64, error: Option<f64>) -> Written {
    // Equal numbers differ by rounding once they have been averaged.
    let error = error.filter(|e| e.is_finite()).map(|e| if e > DUST * mean.abs() { e } else { 0.0 });
    if !mean.is_finite() {
        return Written {
            mean: if mean.is_nan() { "–".into() } else { "∞".into() },
            error: None,
            exponent: None,
        };
    }
    let largest = magnitude(mean).max(error.map_or(i32::MIN, magnitude));
    let exponent = (!(-3..6).contains(&largest)).then_some(largest);
    let scale = 10f64.powi(exponent.unwrap_or(0));
    let (mean, error) = (mean / scale, error.map(|e| e / scale));
    let decimals = match error {
        Some(e) if e > 0.0 => 1 - magnitude(e),
        _ => DIGITS - 1 - magnitude(mean),
    };
    let exact = mean == mean.trunc() && error.is_none_or(|e| e == 0.0) && exponent.is_none();
    let decimals = if exact { 0 } else { decimals.clamp(0, 10) as usize };
    let digits = |x: f64| signed(&format!("{x:.decimals$}"));
    Written {
        mean: digits(mean),
        error: error.map(|e| if e == 0.0 { "0".into() } else { digits(e) }),
        exponent,
    }
}

/// Powers of ten by which numbers of one column may differ and still share their decimals.
const ALIKE: i32 = 3;

/// The numbers of one column, with as many decimals and the same power of ten in every row where their sizes allow it.
pub fn column(numbers: &[(f64, Option<f64>)]) -> Vec<Written> {
    let own: Vec<Written> = numbers.iter().map(|(mean, error)| written(*mean, *error)).collect();
    let told = || numbers.iter().zip(&own).filter(|((mean, _), _)| mean.is_finite());
    // Zero is zero in any unit.
    let sizes: Vec<i32> = told()
        .filter(|((mean, _), _)| *mean != 0.0)
        .map(|((mean, _), w)| w.exponent.unwrap_or(magnitude(*mean)))
        .collect();
    let is_scaled = told().any(|(_, w)| w.exponent.is_some());
    let exponent = match (sizes.iter().max(), sizes.iter().min()) {
        (Some(most), Some(least)) if is_scaled && most - least <= ALIKE => Some(*most),
        _ if is_scaled => return own,
        _ => None,
    };
    let scale = 10f64.powi(exponent.unwrap_or(0));
    let places = |((mean, error), w): (&(f64, Option<f64>), &Written)| {
        let error = error.filter(|e| *e > 0.0 && w.error.as_deref() != Some("0"));
        // A number that is exact needs no decimals of its own.
        let exact = error.is_none() && (*mean == 0.0 || exponent.is_none() && *mean == mean.trunc());
        let own = error.map_or_else(|| DIGITS - 1 - magnitude(mean / scale), |e| 1 - magnitude(e / scale));
        (!exact).then_some(own.max(0))
    };
    let decimals: Vec<i32> = told().filter_map(places).collect();
    let (Some(most), Some(least)) = (decimals.iter().max(), decimals.iter().min()) else { return own };
    if most - least > ALIKE {
        return own;
    }
    let decimals = usize::try_from(*most).unwrap_or(0).min(10);
    let digits = |x: f64| signed(&format!("{:.decimals$}", x / scale));
    let shown = |(&(mean, error), own): (&(f64, Option<f64>), Written)| {
        if !mean.is_finite() {
            return own;
        }
        let error = own.error.zip(error).map(|(text, e)| if text == "0" { text } else { digits(e) });
        Written { mean: digits(mean), error, exponent }
    };
    numbers.iter().zip(own).map(shown).collect()
}

/// With a true minus, and none before zero.
fn signed(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        Some(digits) => format!("−{digits}"),
        None => text.to_string(),
    }
}

impl Written {
    /// Of a summary; without its error if there is one sample.
    pub fn of(summary: &Summary) -> Self {
        written(summary.mean, (summary.n > 1).then_some(summary.se))
    }

    /// For text and pages: `97.13 ± 0.04`, `(1.23 ± 0.04)×10⁻⁵`.
    pub fn plain(&self) -> String {
        let body = match &self.error {
            Some(error) => format!("{} ± {error}", self.mean),
            None => self.mean.clone(),
        };
        match self.exponent {
            None => body,
            Some(e) if self.error.is_some() => format!("({body})×10{}", superscript(e)),
            Some(e) => format!("{body}×10{}", superscript(e)),
        }
    }

    /// For LaTeX, in mathematics.
    pub fn latex(&self) -> String {
        let minus = |text: &str| text.replace('−', "-").replace('∞', "\\infty").replace('–', "\\text{--}");
        let body = match &self.error {
            Some(error) => format!("{} \\pm {error}", minus(&self.mean)),
            None => minus(&self.mean),
        };
        match self.exponent {
            None => format!("${body}$"),
            Some(e) if self.error.is_some() => format!("$({body})\\times 10^{{{e}}}$"),
            Some(e) => format!("${body}\\times 10^{{{e}}}$"),
        }
    }
}

fn superscript(exponent: i32) -> String {
    let raised = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        digit => char::from_u32('⁴' as u32 + (digit as u32 - '4' as u32)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(raised).collect()
}

/// A probability: two digits, or a bound where digits mean nothing.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 1e-4 => "< 0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// Seconds in readable units.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=9 => format!("{seconds:.1} s"),
        10..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Seeds with runs joined: `0–9, 12`.
pub fn ranges(numbers: &[u64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b);
    let text = runs.map(|run| match (run.first(), run.last()) {
        (Some(a), Some(b)) if run.len() > 2 => format!("{a}–{b}"),
        _ => run.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    });
    text.collect::<Vec<_>>().join(", ")
}
