//! A fit for a terminal.

use std::fmt::Write as _;

use residuum_fit::{Direction, Estimate};

use super::{FitReport, number, theory};

impl FitReport {
    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let f = &self.fit;
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            let _ = writeln!(text, "{label:<20} {value}");
        };
        let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        line(
            "measured",
            format!(
                "{}, {} up and {} down ramps, {} reads; format {}, unit: {}",
                count(self.measured.devices.len(), "device"),
                self.measured.count(Direction::Up),
                self.measured.count(Direction::Down),
                self.measured.reads(),
                self.measured.format,
                f.unit
            ),
        );
        line(
            "weights",
            format!(
                "{} → −1, {} → 1 ({})",
                number(f.range.lo),
                number(f.range.hi),
                if f.range_given { "as given" } else { "the ends of the smoothed reads; --range sets them" }
            ),
        );
        line("model", format!("{}: {}", f.model_name(), self.why()));
        let estimate = |e: Estimate| {
            if e.value.is_nan() {
                return number(e.value);
            }
            format!("{}  [{}, {}]", number(e.value), number(e.low), number(e.high))
        };
        for (name, e) in f.parameters.iter().take(12) {
            line(&format!("  {name}"), estimate(*e));
        }
        if f.parameters.len() > 12 {
            line("", format!("… {} in total, all in --json", f.parameters.len()));
        }
        let point = &f.symmetric_point;
        let at = point.weight.map_or(String::new(), |w| {
            format!(": {} {}, weight {}", estimate(w.map_linear(|w| f.conductance(w))), f.unit, estimate(w))
        });
        line("symmetric point", format!("{}{at}", point.kind.word()));
        line("step", format!("{} {}", estimate(f.step), f.unit));
        line("states", estimate(f.states));
        line("read noise", format!("{} {}", estimate(f.read_noise), f.unit));
        line("write noise", format!("{} {} for a pulse of the mean step", estimate(f.write_noise), f.unit));
        line("  additive", format!("{} {}", estimate(f.additive), f.unit));
        line("  proportional", format!("{} of the step", estimate(f.proportional)));
        if let Some(s) = &f.spread {
            line(
                "between devices",
                format!("step {} of itself, imbalance {}", estimate(s.step), estimate(s.imbalance)),
            );
        }
        if let Some(s) = f.spread.as_ref().filter(|s| s.names.len() <= 5) {
            for (name, e) in s.names.iter().zip(&s.deviations) {
                line(&format!("  {name}"), format!("deviation {}", estimate(*e)));
            }
            line("  correlations", s.correlation_words());
        }
        let labels = self.nonlinearity.map(|l| l.map_or("–".into(), number));
        line("NeuroSim's labels", format!("NL+ {}, NL− {}", labels[0], labels[1]));
        line("asymmetry", format!("|R| up to {} where the device was seen", number(self.largest_asymmetry())));
        line("κ₂ where seen", number(self.bounds.hardware_condition()));
        line("implicit penalty", self.penalty_words());
        line("intervals", format!("95 %, {} bootstrap draws over {}", f.draws.0, f.draws.1));
        let _ = writeln!(text, "\n{}\n", self.regularity);
        let _ = writeln!(
            text,
            "{:<12} {:>10} {:>14} {:>12} {:>16} {:>16} {:>14}",
            "model",
            "parameters",
            "log-likelihood",
            "AIC − best",
            format!("{} − best", self.criterion()),
            "left out, ln p",
            "ramp error"
        );
        let best =
            |of: fn(&residuum_fit::Candidate) -> f64| f.candidates.iter().map(of).fold(f64::INFINITY, f64::min);
        let (aic, least) = (best(|c| c.aic), best(|c| c.criterion));
        for c in &f.candidates {
            let held = c.held_out.map_or(["–".into(), "–".into()], |h| {
                [format!("{:.4}", h.log_likelihood), number(h.ramp_error * f.per_weight())]
            });
            let _ = writeln!(
                text,
                "{:<12} {:>10} {:>14.1} {:>12.1} {:>16.1} {:>16} {:>14}{}",
                c.name,
                c.parameters,
                c.log_likelihood,
                c.aic - aic,
                c.criterion - least,
                held[0],
                held[1],
                c.note.as_ref().map_or(String::new(), |n| format!("  {n}"))
            );
        }
        self.write_predictions(&mut text);
        if !f.warnings.is_empty() {
            text.push_str("\nTo know\n");
            for warning in &f.warnings {
                let _ = writeln!(text, "  · {warning}");
            }
        }
        text
    }

    fn write_predictions(&self, text: &mut String) {
        let Some(first) = self.predictions.first() else { return };
        let rates = theory::RATES;
        let _ = writeln!(
            text,
            "\nPredicted end of training on f = {} with Gaussian gradient noise σ (weights)\n{:>8}  {:<14} {:<32} {}",
            first.problem(),
            "σ",
            "by the penalty",
            "Analog SGD",
            format_args!(
                "bias that Residual Learning leaves (α {}, β {}, γ {})",
                rates.learning_rate, rates.transfer_rate, rates.mixing
            )
        );
        for p in &self.predictions {
            let penalized = p.penalized.map_or("outside".into(), number);
            let words = (p.analog_words(), p.residual_words());
            let _ = writeln!(text, "{:>8}  {penalized:<14} {:<32} {}", p.deviation, words.0, words.1);
        }
    }
}

impl super::Prediction {
    /// The objective.
    pub(super) fn problem(&self) -> String {
        let sign = if self.minimizer < 0.0 { '+' } else { '−' };
        format!("½(w {sign} {})²", number(self.minimizer.abs()))
    }

    /// Where Analog SGD ends.
    pub(super) fn analog_words(&self) -> String {
        let list = |xs: &[f64]| xs.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", ");
        match (self.analog.is_empty(), self.unstable.is_empty()) {
            (false, true) => list(&self.analog),
            (false, false) => format!("{}, or a bound beyond {}", list(&self.analog), list(&self.unstable)),
            (true, _) => "runs to a bound".into(),
        }
    }

    /// What Residual Learning leaves.
    pub(super) fn residual_words(&self) -> String {
        self.residual.map_or("no law: it needs a symmetric point that attracts".into(), number)
    }
}
