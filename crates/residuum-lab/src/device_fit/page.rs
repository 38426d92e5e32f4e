//! A fit as one page: nothing is fetched, nothing needs a script.

use std::fmt::Write as _;

use residuum_fit::{Direction, Estimate};

use super::{FitReport, number};
use crate::figure::{Figure, escape};
use crate::report::TABLES;

const STYLE: &str = include_str!("../report/page.css");

impl FitReport {
    /// The page.
    pub fn to_html(&self) -> String {
        let f = &self.fit;
        let title = escape(&self.source);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<p class=\"kind\">Residuum device fit</p>\n<h1>{title}</h1>\n</header>\n<main>\n"
        );
        let _ = writeln!(
            page,
            "<p class=\"lead\">{} · {} up and {} down ramps · {} reads · model <strong>{}</strong> · symmetric point <strong>{}</strong></p>",
            plural(self.measured.devices.len(), "device"),
            self.measured.count(Direction::Up),
            self.measured.count(Direction::Down),
            self.measured.reads(),
            f.model_name(),
            f.symmetric_point.kind.word()
        );
        if !f.warnings.is_empty() {
            page.push_str("<section class=\"block\">\n<h3>To know</h3>\n<ul>\n");
            for warning in &f.warnings {
                let _ = writeln!(page, "<li>{}</li>", escape(warning));
            }
            page.push_str("</ul>\n</section>\n");
        }
        self.write_estimates(&mut page);
        for (index, (name, caption, panel)) in self.figures().into_iter().enumerate() {
            let svg = Figure::new(1).panel_size(430.0, 290.0).panel(panel).to_svg();
            // Clip paths of all figures share one page.
            let svg = svg
                .replace("id=\"plot", &format!("id=\"f{index}-"))
                .replace("url(#plot", &format!("url(#f{index}-"));
            let _ = write!(
                page,
                "<figure class=\"block\" id=\"{name}\">\n<div class=\"charts\"><div class=\"chart\" style=\"max-width:42rem\">\n{svg}</div></div>\n\
                 <figcaption>{}</figcaption>\n</figure>\n",
                escape(&caption)
            );
        }
        self.write_spreads(&mut page);
        self.write_models(&mut page);
        self.write_predictions_table(&mut page);
        let told = self.regularity.to_string();
        let (verdict, clauses) = told.split_once('\n').unwrap_or((&told, ""));
        let _ =
            write!(page, "<section class=\"block\">\n<h3>Regularity</h3>\n<p>{}</p>\n<ul>\n", escape(verdict));
        for clause in clauses.lines() {
            let _ = writeln!(page, "<li>{}</li>", escape(clause.trim()));
        }
        page.push_str("</ul>\n</section>\n");
        let _ = write!(page, "</main>\n<script>\n{TABLES}</script>\n</body>\n</html>\n");
        page
    }

    fn write_estimates(&self, page: &mut String) {
        let f = &self.fit;
        let mut rows: Vec<(String, Estimate, &str)> = Vec::new();
        if let Some(w) = f.symmetric_point.weight {
            rows.push(("symmetric point".into(), w.map_linear(|w| f.conductance(w)), &f.unit));
        }
        rows.push(("step at the symmetric point".into(), f.step, &f.unit));
        rows.push(("states".into(), f.states, ""));
        rows.push(("read noise".into(), f.read_noise, &f.unit));
        rows.push(("write noise".into(), f.write_noise, &f.unit));
        rows.push(("· additive".into(), f.additive, &f.unit));
        rows.push(("· proportional".into(), f.proportional, "of the step"));
        if let Some(s) = &f.spread {
            rows.push(("step between devices".into(), s.step, "relative"));
            rows.push(("imbalance between devices".into(), s.imbalance, "relative"));
        }
        for (name, e) in &f.parameters {
            rows.push((name.clone(), *e, "weights"));
        }
        open_table(page, "What was found", &["quantity", "value", "95 % interval", "unit"]);
        for (name, e, unit) in rows {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{} … {}</td><td>{}</td></tr>",
                escape(&name),
                number(e.value),
                number(e.low),
                number(e.high),
                escape(unit)
            );
        }
        let weights = format!(
            "Weights: {} → −1, {} → 1 ({}). Intervals by {} bootstrap draws over {}. NeuroSim's labels: NL+ {}, NL− {}. κ₂ where seen: {}; |R| up to {}.",
            number(f.range.lo),
            number(f.range.hi),
            if f.range_given { "as given" } else { "the ends of the smoothed reads" },
            f.draws.0,
            f.draws.1,
            self.nonlinearity[0].map_or("–".into(), number),
            self.nonlinearity[1].map_or("–".into(), number),
            number(self.bounds.hardware_condition()),
            number(self.largest_asymmetry())
        );
        close_table(page, &weights);
    }

    /// How devices differ; values at nodes are too many for a page.
    fn write_spreads(&self, page: &mut String) {
        let Some(s) = self.fit.spread.as_ref().filter(|s| s.names.len() <= 5) else { return };
        open_table(page, "Between devices", &["parameter", "deviation", "95 % interval"]);
        for (name, e) in s.names.iter().zip(&s.deviations) {
            let (value, low, high) = (number(e.value), number(e.low), number(e.high));
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{name}</th><td class=\"num\">{value}</td><td class=\"num\">{low} … {high}</td></tr>"
            );
        }
        close_table(
            page,
            &format!(
                "Without what the ramps of each device leave open. Correlations: {}.",
                s.correlation_words()
            ),
        );
    }

    fn write_models(&self, page: &mut String) {
        let f = &self.fit;
        let decided = format!("{} − best", self.criterion());
        let heads = [
            "model",
            "parameters",
            "log-likelihood",
            "AIC − best",
            &decided,
            "left out: ln p",
            "ramp error",
            "remark",
        ];
        open_table(page, "Which model", &heads);
        let best =
            |of: fn(&residuum_fit::Candidate) -> f64| f.candidates.iter().map(of).fold(f64::INFINITY, f64::min);
        let (aic, least) = (best(|c| c.aic), best(|c| c.criterion));
        for c in &f.candidates {
            let held = c.held_out.map_or(["–".into(), "–".into()], |h| {
                [format!("{:.4}", h.log_likelihood), number(h.ramp_error * f.per_weight())]
            });
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{:.1}</td><td class=\"num\">{:.1}</td>\
                 <td class=\"num\">{:.1}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"long\">{}</td></tr>",
                c.name,
                c.parameters,
                c.log_likelihood,
                c.aic - aic,
                c.criterion - least,
                held[0],
                held[1],
                escape(c.note.as_deref().unwrap_or(""))
            );
        }
        close_table(page, &format!("{}: {}.", f.model_name(), self.why().trim_end_matches('.')));
    }

    fn write_predictions_table(&self, page: &mut String) {
        let Some(first) = self.predictions.first() else { return };
        open_table(
            page,
            "What it does to training",
            &["σ", "by the penalty", "Analog SGD ends at", "bias that Residual Learning leaves"],
        );
        for p in &self.predictions {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                p.deviation,
                p.penalized.map_or("outside".into(), number),
                escape(&p.analog_words()),
                escape(&p.residual_words())
            );
        }
        close_table(
            page,
            &format!(
                "On {} with Gaussian gradient noise σ, in weights. {}.",
                first.problem(),
                self.penalty_words()
            ),
        );
    }
}

fn plural(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

fn open_table(page: &mut String, caption: &str, heads: &[&str]) {
    let _ = write!(
        page,
        "<section class=\"block\">\n<h3>{caption}</h3>\n<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n\
         <table class=\"sortable\">\n<thead><tr>"
    );
    for head in heads {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escape(head));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn close_table(page: &mut String, note: &str) {
    let _ = write!(page, "</tbody>\n</table>\n</div>\n<p class=\"note\">{}</p>\n</section>\n", escape(note));
}
