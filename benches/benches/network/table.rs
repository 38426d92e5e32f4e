//! Rows of the tables, as text or as Markdown.

use super::measure::Speed;

/// What was measured of one case: on one thread, and on two.
pub struct Row<'a> {
    pub network: &'a str,
    pub rule: &'a str,
    pub ours: [Speed; 2],
    pub theirs: [Option<f64>; 2],
    /// The digital network of the same size and batch.
    pub digital: Option<Speed>,
    /// ns that a cache line took from core to core and back, before and after ours ran on two threads.
    pub apart: [f64; 2],
    /// Kilobytes by which memory grew.
    pub grown: Option<i64>,
}

/// What the cells of a [`Row`] are.
pub const STEPS: [&str; 12] = [
    "network",
    "rule",
    "1 thread",
    "theirs",
    "ratio",
    "over digital",
    "2 threads",
    "theirs",
    "ratio",
    "2 over 1",
    "line, ns",
    "grew, kB",
];

impl Row<'_> {
    /// Its cells: one thread by its CPU time, two by the clock, and their ratio by the clock.
    pub fn cells(&self) -> [String; STEPS.len()] {
        let [one, two] = self.ours;
        let [by_cpu, by_clock] = self.theirs;
        let speed = |theirs: Option<f64>| optional(theirs, |t| format!("{t:.0}"));
        let ratio = |ours: f64, theirs: Option<f64>| optional(theirs, |t| format!("{:.1}×", ours / t));
        [
            self.network.to_owned(),
            self.rule.to_owned(),
            format!("{:.0}", one.by_cpu),
            speed(by_cpu),
            ratio(one.by_cpu, by_cpu),
            optional(self.digital, |digital| format!("{:.2}", digital.by_cpu / one.by_cpu)),
            format!("{:.0}", two.by_clock),
            speed(by_clock),
            ratio(two.by_clock, by_clock),
            format!("{:.2}", two.by_clock / one.by_clock),
            self.apart.map(|ns| format!("{ns:.0}")).join("–"),
            optional(self.grown, |kilobytes| kilobytes.to_string()),
        ]
    }
}

fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("–".into(), show)
}

/// How a table looks.
#[derive(Clone, Copy)]
pub struct Style {
    pub markdown: bool,
}

impl Style {
    /// The line above the rows.
    pub fn head(self, heads: &[&str]) {
        self.row(&heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>());
        if self.markdown {
            println!("|{}", "---|".repeat(heads.len()));
        }
    }

    /// One row.
    pub fn row(self, cells: &[String]) {
        if self.markdown {
            return println!("| {} |", cells.join(" | "));
        }
        let (names, numbers) = cells.split_at(2);
        for name in names {
            print!("{name:<18} ");
        }
        for number in numbers {
            print!("{number:>13}");
        }
        println!();
    }
}
