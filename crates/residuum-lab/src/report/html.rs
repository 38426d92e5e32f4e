//! Reports as one HTML page: nothing is fetched, and everything but sorting and hovering works without scripts.

use std::fmt::Write as _;

use super::plot::Plot;
use super::table::{Column, Table, TableCell};
use super::{Report, Section, SharedSettings, slug};
use crate::figure::{escape, swatch};
use crate::style::RuleStyle;

/// Words of more letters than this are broken into lines.
const LONG: usize = 48;

const STYLE: &str = include_str!("page.css");
/// Tables that sort, and that fit the page they are on.
pub(crate) const TABLES: &str = include_str!("tables.js");
const CHARTS: &str = include_str!("charts.js");

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<p class=\"kind\">Residuum report</p>\n<h1>{title}</h1>\n{}</header>\n<main>\n",
            self.contents()
        );
        for (index, section) in self.sections.iter().enumerate() {
            write_section(&mut page, section, index, self.sections.len() > 1);
        }
        let _ = write!(page, "</main>\n<script>\n{TABLES}{CHARTS}</script>\n</body>\n</html>\n");
        page
    }

    /// Links to the sections, if there are several.
    fn contents(&self) -> String {
        if self.sections.len() < 2 {
            return String::new();
        }
        let link = |(i, s): (usize, &Section)| {
            format!("<li><a href=\"#{}\">{}</a></li>\n", anchor(s, i), escape(&s.heading))
        };
        let links: String = self.sections.iter().enumerate().map(link).collect();
        format!("<nav aria-label=\"Experiments\">\n<ul>\n{links}</ul>\n</nav>\n")
    }
}

fn anchor(section: &Section, index: usize) -> String {
    format!("s{index}-{}", slug(&section.heading))
}

fn write_section(page: &mut String, section: &Section, index: usize, titled: bool) {
    let _ = writeln!(page, "<section id=\"{}\">", anchor(section, index));
    if titled {
        let _ = writeln!(page, "<h2>{}</h2>", escape(&section.heading));
    }
    if !section.headline.is_empty() {
        let sentences: Vec<String> = section.headline.iter().map(|s| escape(s)).collect();
        let _ = writeln!(page, "<p class=\"headline\">{}</p>", sentences.join(" "));
    }
    let facts = &section.provenance;
    let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    let lead: Vec<String> = [("trials", "trials"), ("seeds", "seeds"), ("computing time", "computed in")]
        .iter()
        .filter_map(|(name, words)| {
            let value = escape(fact(name)?);
            Some(if *name == "trials" { format!("{value} {words}") } else { format!("{words} {value}") })
        })
        .collect();
    if !lead.is_empty() {
        let _ = writeln!(page, "<p class=\"lead\">{}</p>", lead.join(" · "));
    }
    // The main numbers and how sure they are, then the pictures, then the details.
    let (first, others) = section.tables.split_at(section.tables.iter().take_while(|t| is_main(t)).count());
    for table in first {
        write_table(page, table, &anchor(section, index));
    }
    for (number, plot) in section.plots.iter().enumerate() {
        write_plot(page, plot, &format!("s{index}p{number}"), &slug(&section.heading));
    }
    for table in others {
        write_table(page, table, &anchor(section, index));
    }
    write_facts(page, section);
    write_settings(page, &section.settings);
    page.push_str("</section>\n");
}

/// Tables that stand before the figures.
fn is_main(table: &Table) -> bool {
    table.name == "ends" || table.name.starts_with("paired") || table.name.starts_with("effects")
}

fn write_table(page: &mut String, table: &Table, prefix: &str) {
    let id = format!("{prefix}-{}", table.name);
    let caption = escape(&table.caption);
    let _ = write!(
        page,
        "<section class=\"block\" aria-labelledby=\"{id}\">\n<h3 id=\"{id}\">{caption}</h3>\n\
         <div class=\"scroll\" role=\"region\" aria-labelledby=\"{id}\" tabindex=\"0\">\n<table class=\"sortable\">\n<thead><tr>"
    );
    for column in &table.columns {
        let class = if column.numeric { " class=\"num\"" } else { "" };
        let _ = write!(page, "<th scope=\"col\"{class}>{}</th>", escape(&column.head));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (row, shown) in table.rows.iter().zip(table.shown()) {
        page.push_str("<tr>");
        let mut headed = false;
        for ((cell, shown), column) in row.iter().zip(&shown).zip(&table.columns) {
            // The first cell of words names the row.
            let heads = !headed && !column.numeric;
            headed |= heads;
            write_cell(page, (cell, &shown.plain()), column, heads);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
    for note in &table.notes {
        let _ = writeln!(page, "<p class=\"note\">{}</p>", escape(note));
    }
    let _ = writeln!(page, "<p class=\"files\">{}</p>\n</section>", download(&id, "CSV", &table.to_csv()));
}

fn write_cell(page: &mut String, (cell, shown): (&TableCell, &str), column: &Column, heads: bool) {
    let (open, close) = if heads { ("th scope=\"row\"", "th") } else { ("td", "td") };
    let class = match cell {
        _ if column.numeric => " class=\"num\"",
        TableCell::Text(text) if text.chars().count() > LONG => " class=\"long\"",
        _ => "",
    };
    let key = cell.key().map_or_else(String::new, |k| format!(" data-key=\"{k}\""));
    // Where rows become cards, each cell tells its column.
    let head = escape(&column.head);
    let text = escape(shown);
    let text = if cell.is_best() { format!("<strong>{text}</strong>") } else { text };
    let _ = write!(page, "<{open}{class}{key} data-head=\"{head}\"><span>{text}</span></{close}>");
}

/// A link that holds its file.
fn download(name: &str, words: &str, content: &str) -> String {
    let mut encoded = String::with_capacity(content.len() * 5 / 4);
    for byte in content.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b',' | b'(' | b')' => {
                encoded.push(byte as char);
            }
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    format!("<a download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{encoded}\">{words}</a>")
}

fn write_plot(page: &mut String, plot: &Plot, id: &str, prefix: &str) {
    let caption = escape(&plot.caption);
    let _ = writeln!(page, "<figure class=\"block\" id=\"{id}\">");
    page.push_str(&legend(plot));
    page.push_str("<div class=\"charts\">\n");
    for (number, chart) in plot.charts.iter().enumerate() {
        let names: Vec<&str> = chart.series.iter().map(|s| s.label.as_str()).collect();
        let description = format!("{} against {} for {}.", chart.y, chart.x, names.join(", "));
        // Clip paths of all charts share one page.
        let own = format!("{id}c{number}");
        let svg = chart.svg(&description).replace("id=\"plot", &format!("id=\"{own}-"));
        let svg = svg.replace("\"url(#plot", &format!("\"url(#{own}-"));
        // Inside a script only an opening bracket could end it.
        let data = chart.hover().to_string().replace('<', "\\u003c");
        let _ = write!(
            page,
            "<div class=\"chart\">\n{svg}<script type=\"application/json\">{data}</script>\n</div>\n"
        );
    }
    let link = download(&format!("{prefix}-{}", plot.name), "CSV", &plot.to_csv());
    let _ = write!(
        page,
        "</div>\n<figcaption>{caption} <span class=\"files\">{link}</span></figcaption>\n</figure>\n"
    );
}

/// Names and colours of all series of a plot, once for all its charts.
fn legend(plot: &Plot) -> String {
    let mut seen: Vec<(RuleStyle, &str)> = Vec::new();
    for series in plot.charts.iter().flat_map(|c| &c.series) {
        let entry = (series.style, series.label.as_str());
        if !seen.contains(&entry) {
            seen.push(entry);
        }
    }
    let entry = |(style, label): &(RuleStyle, &str)| {
        format!(
            "<li data-color=\"{}\">{}{}</li>\n",
            style.color.css(),
            swatch(style.color, style.dash).replace("<svg", "<svg class=\"swatch\" aria-hidden=\"true\""),
            escape(label)
        )
    };
    format!(
        "<ul class=\"legend\">\n{}</ul>\n",
        seen.iter().filter(|(_, l)| !l.is_empty()).map(entry).collect::<String>()
    )
}

fn write_facts(page: &mut String, section: &Section) {
    if section.provenance.is_empty() {
        return;
    }
    page.push_str("<section class=\"block\">\n<h3>What was run</h3>\n<dl>\n");
    for (name, value) in &section.provenance {
        let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
    }
    page.push_str("</dl>\n");
    if let Some(trials) = &section.trials {
        let name = format!("{}-trials", slug(&section.heading));
        let link = download(&name, "Every trial as CSV", &trials.to_csv());
        let _ = writeln!(page, "<p class=\"files\">{link}</p>");
    }
    page.push_str("</section>\n");
}

fn write_settings(page: &mut String, settings: &SharedSettings) {
    if settings.shared.is_empty() && settings.varied.is_empty() {
        return;
    }
    page.push_str(
        "<details class=\"block\">\n<summary>Settings</summary>\n<div class=\"scroll\" tabindex=\"0\">\n",
    );
    let table = |page: &mut String, caption: &str, rows: &[(String, String, &str)]| {
        if rows.is_empty() {
            return;
        }
        let _ = write!(page, "<table class=\"settings\">\n<caption>{caption}</caption>\n<tbody>\n");
        for (field, value, class) in rows {
            let (field, value) = (escape(field), escape(value));
            let _ = writeln!(page, "<tr{class}><th scope=\"row\">{field}</th><td>{value}</td></tr>");
        }
        page.push_str("</tbody>\n</table>\n");
    };
    let varied: Vec<_> = settings.varied.iter().map(|(f, v)| (f.clone(), v.clone(), "")).collect();
    table(page, "What differs between trials", &varied);
    let of = |given: bool| {
        let class = if given { "" } else { " class=\"default\"" };
        let chosen = settings.shared.iter().filter(move |p| p.given == given);
        chosen.map(|p| (p.field.clone(), p.value.clone(), class)).collect::<Vec<_>>()
    };
    table(page, "Given by the spec", &of(true));
    table(page, "Defaults", &of(false));
    page.push_str("</div>\n</details>\n");
}
