//! Tables as LaTeX with booktabs, to be `\input`.

use std::fmt::Write as _;

use super::Report;
use super::number::{Written, written};
use super::table::{Table, TableCell};

impl Report {
    /// The tables of the report; the preamble needs `booktabs` and `amsmath`.
    pub fn to_latex(&self) -> String {
        let mut text = String::from("% Needs \\usepackage{booktabs,amsmath}.\n");
        for section in &self.sections {
            for table in &section.tables {
                let _ = write!(text, "\n{}", table.to_latex(&super::slug(&section.heading)));
            }
        }
        text
    }
}

impl Table {
    /// The table as a float, labelled `tab:PREFIX-NAME`.
    pub fn to_latex(&self, prefix: &str) -> String {
        let places: String = self.columns.iter().map(|c| if c.numeric { 'r' } else { 'l' }).collect();
        let heads: Vec<String> = self.columns.iter().map(|c| escape(&c.head)).collect();
        let mut text = format!(
            "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\label{{tab:{prefix}-{}}}\n  \\begin{{tabular}}{{{places}}}\n",
            escape(&self.caption),
            super::slug(&self.name)
        );
        let _ = writeln!(text, "    \\toprule\n    {} \\\\\n    \\midrule", heads.join(" & "));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(shown).collect();
            let _ = writeln!(text, "    {} \\\\", cells.join(" & "));
        }
        text += "    \\bottomrule\n  \\end{tabular}\n";
        for note in &self.notes {
            let _ = writeln!(text, "  \\par\\smallskip\\footnotesize {}", escape(note));
        }
        text + "\\end{table}\n"
    }
}

fn shown(cell: &TableCell) -> String {
    match cell {
        TableCell::Number(x) => written(*x, None).latex(),
        TableCell::Estimate { summary, best: true } => format!("\\boldmath {}", Written::of(summary).latex()),
        TableCell::Estimate { summary, best: false } => Written::of(summary).latex(),
        TableCell::Missing => "--".into(),
        other => escape(&other.plain()),
    }
}

/// Text that stands for itself in LaTeX: commands are escaped, letters that pdfLaTeX does not know are written as mathematics or
/// by their number.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    // A mark above a letter follows it in the text but goes before it in LaTeX.
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letters.next_if_eq(&'\u{304}').is_some() {
            let _ = write!(safe, "$\\bar{{{letter}}}$");
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
    const SYMBOLS: [(char, &str); 60] = [
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
    ];
    SYMBOLS.iter().find(|(l, _)| *l == letter).map(|(_, command)| *command)
}
