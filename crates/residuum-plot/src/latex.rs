//! Words for LaTeX.

use std::fmt::Write as _;

use super::text::{Level, runs};

/// Text that stands for itself in LaTeX: commands are escaped, letters that pdfLaTeX does not know are written as mathematics or
/// by their number.
pub fn latex_escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    // A mark above a letter follows it in the text but goes before it in LaTeX.
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let accent = [('\u{304}', "bar"), ('\u{305}', "bar"), ('\u{303}', "tilde")]
            .into_iter()
            .find(|(mark, _)| letters.next_if_eq(mark).is_some());
        if let Some((_, command)) = accent {
            let _ = write!(safe, "$\\{command}{{{letter}}}$");
            continue;
        }
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(letter);
            }
            // At the start of a row a bare bracket would belong to the line break before it.
            '[' => safe.push_str("{[}"),
            '\\' => safe.push_str("\\textbackslash{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            '<' => safe.push_str("$<$"),
            '>' => safe.push_str("$>$"),
            '|' => safe.push_str("$|$"),
            '"' => safe.push_str("''"),
            '–' => safe.push_str("--"),
            '—' => safe.push_str("---"),
            '−' => safe.push_str("$-$"),
            '…' => safe.push_str("\\dots{}"),
            '\u{a0}' | '\u{202f}' => safe.push('~'),
            other if other.is_ascii_control() => safe.push(' '),
            other if other.is_ascii() => safe.push(other),
            other => match symbol(other) {
                Some(command) => {
                    let _ = write!(safe, "${command}$");
                }
                None if ('\u{c0}'..='\u{17f}').contains(&other) => safe.push(other),
                None => {
                    let _ = write!(safe, "{{[}}U+{:04X}]", other as u32);
                }
            },
        }
    }
    safe
}

/// Mathematics for a letter.
fn symbol(letter: char) -> Option<&'static str> {
    const SYMBOLS: [(char, &str); 66] = [
        ('α', "\\alpha"),
        ('β', "\\beta"),
        ('γ', "\\gamma"),
        ('δ', "\\delta"),
        ('ε', "\\varepsilon"),
        ('η', "\\eta"),
        ('θ', "\\theta"),
        ('κ', "\\kappa"),
        ('λ', "\\lambda"),
        ('μ', "\\mu"),
        ('µ', "\\mu"),
        ('ν', "\\nu"),
        ('ξ', "\\xi"),
        ('π', "\\pi"),
        ('ρ', "\\rho"),
        ('σ', "\\sigma"),
        ('τ', "\\tau"),
        ('φ', "\\varphi"),
        ('χ', "\\chi"),
        ('ω', "\\omega"),
        ('Δ', "\\Delta"),
        ('Σ', "\\Sigma"),
        ('Ω', "\\Omega"),
        ('₀', "{}_0"),
        ('₁', "{}_1"),
        ('₂', "{}_2"),
        ('₃', "{}_3"),
        ('₄', "{}_4"),
        ('₅', "{}_5"),
        ('₆', "{}_6"),
        ('₇', "{}_7"),
        ('₈', "{}_8"),
        ('₉', "{}_9"),
        ('₊', "{}_+"),
        ('₋', "{}_-"),
        ('⁰', "{}^0"),
        ('¹', "{}^1"),
        ('²', "{}^2"),
        ('³', "{}^3"),
        ('⁴', "{}^4"),
        ('⁵', "{}^5"),
        ('⁶', "{}^6"),
        ('⁷', "{}^7"),
        ('⁸', "{}^8"),
        ('⁹', "{}^9"),
        ('⁻', "{}^-"),
        ('±', "\\pm"),
        ('×', "\\times"),
        ('·', "\\cdot"),
        ('≤', "\\le"),
        ('≥', "\\ge"),
        ('≈', "\\approx"),
        ('≠', "\\ne"),
        ('→', "\\to"),
        ('∞', "\\infty"),
        ('√', "\\surd"),
        ('⋄', "\\diamond"),
        ('∇', "\\nabla"),
        ('°', "{}^\\circ"),
        ('½', "\\tfrac12"),
        ('⟨', "\\langle"),
        ('⟩', "\\rangle"),
        ('∂', "\\partial"),
        ('∝', "\\propto"),
        ('⁺', "{}^+"),
        ('Γ', "\\Gamma"),
    ];
    SYMBOLS.iter().find(|(l, _)| *l == letter).map(|(_, command)| *command)
}

/// The markup of labels (`W_{k}^{*}`) as LaTeX; needs `amsmath`.
pub(crate) fn latex_markup(markup: &str) -> String {
    let mut text = String::new();
    // A lowered part directly followed by a raised one is stacked: both belong to one empty letter.
    let mut open = false;
    for (level, run) in runs(markup) {
        let run = latex_escape(run);
        if open && level != Level::Raised {
            text.push('$');
        }
        open = match level {
            Level::Base => {
                text += &run;
                false
            }
            Level::Lowered => {
                let _ = write!(text, "${{}}_{{\\text{{{run}}}}}");
                true
            }
            Level::Raised => {
                let empty = if open { "" } else { "${}" };
                let _ = write!(text, "{empty}^{{\\text{{{run}}}}}$");
                false
            }
        };
    }
    if open { text + "$" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stands_for_itself() {
        assert_eq!(
            latex_escape("a_b & 5 % of {x}^2\\"),
            "a\\_b \\& 5 \\% of \\{x\\}\\textasciicircum{}2\\textbackslash{}"
        );
        assert_eq!(latex_escape("κ₂ ≤ 3 – W̄ é 中"), "$\\kappa$${}_2$ $\\le$ 3 -- $\\bar{W}$ é {[}U+4E2D]");
    }

    #[test]
    fn raised_and_lowered_parts_are_mathematics() {
        assert_eq!(latex_markup("W_{k}^{*} − 1"), "W${}_{\\text{k}}^{\\text{*}}$ $-$ 1");
        assert_eq!(latex_markup("10^{−3}"), "10${}^{\\text{$-$3}}$");
        assert_eq!(latex_markup("q_{+}"), "q${}_{\\text{+}}$");
        assert_eq!(latex_markup("a_{i}b^{2}"), "a${}_{\\text{i}}$b${}^{\\text{2}}$");
    }
}
