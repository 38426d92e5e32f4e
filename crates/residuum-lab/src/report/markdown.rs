//! Reports as Markdown.

use std::fmt::Write as _;

use super::Report;
use super::table::Table;

impl Report {
    /// Tables, provenance and settings as Markdown; the figures are listed by the names under which they are saved.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n", line(&self.title));
        for section in &self.sections {
            let _ = write!(text, "\n## {}\n", line(&section.heading));
            if !section.headline.is_empty() {
                let _ = write!(text, "\n{}\n", line(&section.headline.join(" ")));
            }
            for table in &section.tables {
                let _ = write!(text, "\n{}", table.to_markdown());
            }
            text += "\n### What was run\n\n";
            for (name, value) in &section.provenance {
                let _ = writeln!(text, "- {}: {}", line(name), line(value));
            }
            let settings = &section.settings;
            text += "\n<details><summary>Settings</summary>\n\n| field | value |\n|---|---|\n";
            for (field, values) in &settings.varied {
                let _ = writeln!(text, "| {} | {} |", line(field), line(values));
            }
            for p in &settings.shared {
                let origin = if p.given { "" } else { " (default)" };
                let _ = writeln!(text, "| {} | {}{origin} |", line(&p.field), line(&p.value));
            }
            text += "\n</details>\n";
        }
        text
    }
}

impl Table {
    /// The table as Markdown with its caption and notes.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("### {}\n\n|", line(&self.caption));
        for column in &self.columns {
            let _ = write!(text, " {} |", line(&column.head));
        }
        text += "\n|";
        for column in &self.columns {
            text += if column.numeric { "---:|" } else { ":---|" };
        }
        text += "\n";
        for (row, shown) in self.rows.iter().zip(self.shown()) {
            text += "|";
            for (cell, shown) in row.iter().zip(shown) {
                let words = line(&shown.plain());
                let words = if cell.is_best() { format!("**{words}**") } else { words };
                let _ = write!(text, " {words} |");
            }
            text += "\n";
        }
        for note in &self.notes {
            let _ = write!(text, "\n{}\n", line(note));
        }
        text
    }
}

/// Text that stays in its line and its cell, and is no markup.
fn line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => safe.push(' '),
            '|' | '*' | '_' | '`' | '\\' | '[' | ']' | '#' => {
                safe.push('\\');
                safe.push(letter);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            other => safe.push(other),
        }
    }
    safe
}
