//! A spec with everything filled in.

/// One parameter as it will be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Dotted path of the field.
    pub path: String,
    /// Its value in TOML notation.
    pub value: String,
    /// Whether the spec gave it or it is the default.
    pub given: bool,
}

/// Everything that decides the numbers of a trial of this seed, as text: one parameter in each line.
pub(crate) fn describe(resolved: &[Resolved], seed: u64) -> String {
    // More seeds, another name or another place of the same data must not change what is known of a trial.
    const NOT_VALUES: [&str; 9] = [
        "seeds",
        "seeds.first",
        "seeds.count",
        "training.seeds",
        "training.seeds.first",
        "training.seeds.count",
        "title",
        "name",
        "data.directory",
    ];
    // Files count by content, not by path.
    let has_contents = |path: &str| resolved.iter().any(|r| r.path.strip_suffix(".contents") == Some(path));
    let is_path = |path: &str| has_contents(path) || path.strip_suffix(".csv").is_some_and(has_contents);
    let mut lines: Vec<String> = resolved
        .iter()
        .filter(|r| !NOT_VALUES.contains(&r.path.as_str()) && !is_path(&r.path))
        // 1 and 1.0 are one number.
        .map(|r| match r.value.parse::<f64>() {
            Ok(number) => format!("{} = {number:?}", r.path),
            Err(_) => format!("{} = {}", r.path, r.value),
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.push(format!("seed = {seed}\n"));
    lines.join("\n")
}
