//! Tables as LaTeX with booktabs, to be `\input`.

use std::fmt::Write as _;

use super::Report;
use super::table::{ShownCell, Table, TableCell};
use crate::figure::latex_escape as escape;

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
        for (row, shown) in self.rows.iter().zip(self.shown()) {
            let cells: Vec<String> = row.iter().zip(&shown).map(|(cell, shown)| written(cell, shown)).collect();
            let _ = writeln!(text, "    {} \\\\", cells.join(" & "));
        }
        text += "    \\bottomrule\n  \\end{tabular}\n";
        for note in &self.notes {
            let _ = writeln!(text, "  \\par\\smallskip\\footnotesize {}", escape(note));
        }
        text + "\\end{table}\n"
    }
}

fn written(cell: &TableCell, shown: &ShownCell) -> String {
    match (cell, shown) {
        (TableCell::Missing, _) => "--".into(),
        (_, ShownCell::Number(number)) if cell.is_best() => format!("\\boldmath {}", number.latex()),
        (_, ShownCell::Number(number)) => number.latex(),
        (_, ShownCell::Words(words)) => escape(words),
    }
}
