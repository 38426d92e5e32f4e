//! One page with everything that was reproduced: the paper's numbers, ours, and the verdicts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Finding, ONE_RUN_TOLERANCE, PaperVerdict, Profile, ReproduceOptions, Reproduction, paper_label};

/// One item of the page.
#[derive(Clone, Debug)]
pub struct PageEntry {
    /// One of [`NAMES`](super::NAMES).
    pub name: String,
    /// What was found, or the sentence of the error that prevented it.
    pub findings: Result<Vec<Finding>, String>,
    /// Files beside the page.
    pub files: Vec<String>,
    /// Wall time of this call.
    pub seconds: f64,
    /// Time to train its networks, now or earlier, on one thread each.
    pub training_seconds: f64,
}

impl PageEntry {
    /// A successful item.
    pub fn new(reproduction: &Reproduction, files: Vec<String>, seconds: f64) -> Self {
        Self {
            name: reproduction.name.into(),
            findings: Ok(reproduction.findings.clone()),
            files,
            seconds,
            training_seconds: reproduction.training_seconds,
        }
    }

    /// A failed item.
    pub fn failed(name: &str, sentence: String, seconds: f64) -> Self {
        Self { name: name.into(), findings: Err(sentence), files: Vec::new(), seconds, training_seconds: 0.0 }
    }

    /// A summary of the verdicts: how many of each kind.
    pub fn verdict(&self) -> String {
        let findings = match &self.findings {
            Ok(findings) => findings,
            Err(sentence) => return format!("not run: {sentence}"),
        };
        let kinds: [(&str, fn(&PaperVerdict) -> bool); 5] = [
            ("agree", |v| matches!(v, PaperVerdict::Agrees)),
            ("same ordering", |v| matches!(v, PaperVerdict::SameOrdering(_))),
            ("differ", |v| matches!(v, PaperVerdict::Differs | PaperVerdict::DiffersBy(_))),
            ("not stated in the paper", |v| matches!(v, PaperVerdict::NotStated)),
            ("not run", |v| matches!(v, PaperVerdict::NotRun(_))),
        ];
        let count = |is: fn(&PaperVerdict) -> bool| findings.iter().filter(|f| is(&f.verdict)).count();
        let parts: Vec<String> = kinds
            .iter()
            .map(|(words, is)| (words, count(*is)))
            .filter(|(_, count)| *count > 0)
            .map(|(words, count)| format!("{count} {words}"))
            .collect();
        parts.join(", ")
    }

    fn to_json(&self) -> Value {
        let (findings, error) = match &self.findings {
            Ok(findings) => (json!(findings), Value::Null),
            Err(sentence) => (json!([]), json!(sentence)),
        };
        json!({
            "name": self.name,
            "paper": paper_label(&self.name),
            "verdict": self.verdict(),
            "findings": findings,
            "error": error,
            "files": self.files,
            "seconds": self.seconds,
            "training_seconds": self.training_seconds,
        })
    }
}

/// All items of one call.
#[derive(Clone, Debug)]
pub struct Page {
    /// How much work was spent.
    pub profile: Profile,
    /// The seed.
    pub seed: u64,
    /// Trials at a time.
    pub jobs: usize,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// In the order they were asked for.
    pub entries: Vec<PageEntry>,
}

impl Page {
    /// An empty page for these options.
    pub fn new(options: &ReproduceOptions) -> Self {
        Self {
            profile: options.profile,
            seed: options.seed,
            jobs: options.networks.jobs,
            commit: options.networks.commit.clone(),
            entries: Vec::new(),
        }
    }

    fn profile(&self) -> &'static str {
        match self.profile {
            Profile::Quick => "quick",
            Profile::Full => "full",
        }
    }

    /// Wall time of all items in this call.
    fn seconds(&self) -> f64 {
        self.entries.iter().map(|entry| entry.seconds).sum()
    }

    /// A line for each item, for a terminal.
    pub fn to_text(&self) -> String {
        let width = self.entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for entry in &self.entries {
            let _ = writeln!(text, "{:<width$}  {:>8}  {}", entry.name, clock(entry.seconds), entry.verdict());
        }
        let _ = writeln!(text, "{:<width$}  {:>8}  profile {}", "all", clock(self.seconds()), self.profile());
        text
    }

    /// The page under the schema `residuum.reproduce/2`.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "residuum.reproduce/2",
            "version": env!("CARGO_PKG_VERSION"),
            "commit": self.commit,
            "profile": self.profile,
            "seed": self.seed,
            "jobs": self.jobs,
            "tolerance_of_a_single_run_points": ONE_RUN_TOLERANCE,
            "seconds": self.seconds(),
            "items": self.entries.iter().map(PageEntry::to_json).collect::<Vec<_>>(),
        })
    }

    /// The page in Markdown: one table of items, then one table for each.
    pub fn to_markdown(&self) -> String {
        let commit = self.commit.as_ref().map_or_else(String::new, |commit| format!(" ({commit})"));
        let mut text = format!(
            "# The paper's figures and tables, run again\n\n\
             `residuum reproduce {} --profile {} --seed {} --jobs {}`, version {}{commit}, {} by the clock.\n\n\
             Accuracies are in per cent of the test images, means over the last sixth of the epochs (five at most). \"Agrees\" is \
             said of a number if |ours − paper| ≤ 2√(se² + se²), with the standard errors of both means (the paper prints standard \
             deviations of three runs); of a single run, or one shorter than the paper's, if it is within {ONE_RUN_TOLERANCE} \
             point. \"< 15\" agrees with anything below. What a line's number is of stands beside it: epochs, seeds, and every \
             setting that the profile changes.\n\n\
             | item | paper | verdicts | time | training, one thread |\n|---|---|---|---|---|\n",
            self.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(" "),
            self.profile(),
            self.seed,
            self.jobs,
            env!("CARGO_PKG_VERSION"),
            clock(self.seconds()),
        );
        for entry in &self.entries {
            let training =
                if entry.training_seconds > 0.0 { clock(entry.training_seconds) } else { "–".into() };
            let _ = writeln!(
                text,
                "| [{0}](#{0}) | `{1}` | {2} | {3} | {training} |",
                entry.name,
                paper_label(&entry.name),
                cell(&entry.verdict()),
                clock(entry.seconds)
            );
        }
        for entry in &self.entries {
            let _ = writeln!(
                text,
                "\n## {0}\n\n`residuum reproduce {0} --profile {1} --seed {2}`\n",
                entry.name,
                self.profile(),
                self.seed
            );
            section(&mut text, entry);
        }
        text
    }
}

/// What stands under the head of an item: its picture, its findings, its files.
fn section(text: &mut String, entry: &PageEntry) {
    let picture = format!("{}.png", entry.name);
    if entry.files.contains(&picture) {
        let _ = writeln!(text, "![{}]({picture})\n", entry.name);
    }
    match &entry.findings {
        Err(sentence) => {
            let _ = writeln!(text, "Not run: {sentence}");
        }
        Ok(findings) => {
            text.push_str("| what | paper | ours | verdict |\n|---|---|---|---|\n");
            for f in findings {
                let [what, paper, ours, verdict] =
                    [&f.statement, &f.paper, &f.ours, &f.verdict.words().into_owned()].map(|words| cell(words));
                let _ = writeln!(text, "| {what} | {paper} | {ours} | {verdict} |");
            }
            notes(text, findings);
        }
    }
    if !entry.files.is_empty() {
        let files: Vec<String> = entry.files.iter().map(|file| format!("[{file}]({file})")).collect();
        let _ = writeln!(text, "\nFiles: {}.", files.join(", "));
    }
}

/// Notes below the table, each once.
fn notes(text: &mut String, findings: &[Finding]) {
    let mut seen: Vec<&str> = Vec::new();
    for note in findings.iter().map(|f| f.note.as_str()).filter(|note| !note.is_empty()) {
        if !seen.contains(&note) {
            seen.push(note);
        }
    }
    if !seen.is_empty() {
        let _ =
            writeln!(text, "\n{}", seen.iter().map(|note| format!("- {note}")).collect::<Vec<_>>().join("\n"));
    }
}

/// Words fit for a cell of a Markdown table.
fn cell(words: &str) -> String {
    words.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// Seconds in readable units.
fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
