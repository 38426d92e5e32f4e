//! From one document to the points of its grid: `[[cell]]` × `[[variant]]` × `[sweep]`, in a profile.
//!
//! ```toml
//! [sweep]                          # every list is an axis of the product
//! "device.radius" = [0.6, 0.7]
//! "rule.learning_rate" = [0.01, 0.1]
//! [[sweep.zip]]                    # axes that move together
//! "device.shape" = [1, 2]
//! "rule.mixing" = [0.4, 0.2]
//! [[sweep.exclude]]                # points that match all of these are left out
//! "device.radius" = 0.7
//! "rule.learning_rate" = 0.1
//! ```
//!
//! Tables may be swept too; a `name` or `title` in them is their label. Cells, variants and the profile are laid over the file
//! first, the sweep over all of them; a profile may change the sweep itself.

use super::node::{Node, SpecError, Value};
use super::rule::rule_has;
use super::section::{Optional, Required, section};
use super::types::{table, text};

section! {
    /// A file describes a grid of trials: every cell with every variant and every combination of swept values. A table that
    /// names its `kind`, `response`, `preset`, `model` or `set` replaces the table it overrides; any other changes only the fields
    /// it has.
    #[allow(dead_code)]
    pub(crate) struct GridTable {
        /// named changes to the file; every cell is combined with every variant
        cell: Option<ChangeTable> = table::<ChangeTable>(), "–", Optional("none");
        /// named changes to the file, one trial each
        variant: Option<ChangeTable> = table::<ChangeTable>(), "–", Optional("none");
        /// tables by name: changes applied after cells and variants with `--profile NAME`; `full` is the file without a profile
        profile: Option<AnyTable> = table::<AnyTable>(), "–", Optional("none");
        /// axes of the grid, by dotted path, each a list: every combination is tried, after cells, variants and profile; tables in
        /// a list may have a `name` or `title`
        sweep: Option<SweepTable> = table::<SweepTable>(), "–", Optional("none");
    }
}

section! {
    /// A named change: the other fields of the table override those of the file.
    #[allow(dead_code)]
    pub(crate) struct ChangeTable {
        /// its name
        name: String = text("letters, digits, `-`, `_`, `.`"), "–", Required;
        /// its label in tables and legends
        title: Option<String> = text("text"), "–", Optional("the name");
    }
}

section! {
    /// Lists of values by dotted path.
    #[allow(dead_code)]
    pub(crate) struct SweepTable {
        /// axes that move together: tables of lists of equal length
        zip: Option<AnyTable> = table::<AnyTable>(), "–", Optional("none");
        /// points with all of these values are skipped; `cell` and `variant` are given by name
        exclude: Option<AnyTable> = table::<AnyTable>(), "–", Optional("none");
    }
}

section! {
    /// Tables whose fields are those of the file.
    pub(crate) struct AnyTable {}
}

/// Name of the file itself, without a profile.
const FULL: &str = "full";

/// Most trials of a grid; more are taken for a mistake and rejected before they fill the memory.
pub(crate) const MAX_TRIALS: u64 = 1_000_000;

/// Fields that describe the grid, not a single trial.
const ABOUT: [&str; 6] = ["title", "name", "profile", "cell", "variant", "sweep"];

/// A named change of the file.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) name: String,
    title: Option<String>,
    changes: Node,
}

impl Change {
    /// Its words in tables and legends.
    pub(crate) fn words(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// A swept field.
#[derive(Debug)]
struct Axis {
    path: String,
    line: Option<usize>,
    values: Vec<AxisValue>,
    /// Whether it is a field of the rule that no rule of the grid has: a mistake, which reading a point reports.
    of_no_rule: bool,
}

#[derive(Debug)]
struct AxisValue {
    /// The words for it: the name of a table, else the value.
    label: String,
    node: Node,
}

/// Points to leave out: for each dimension concerned, which of its values.
#[derive(Debug)]
struct Exclusion {
    line: Option<usize>,
    conditions: Vec<(usize, Vec<bool>)>,
}

/// The grid of a document. Dimension 0 is the cells, 1 the variants, then come the axes, those of a zip as one.
#[derive(Debug)]
pub(crate) struct Grid {
    /// For figures.
    pub(crate) title: Option<String>,
    /// Of the experiment.
    pub(crate) name: Option<String>,
    common: Node,
    profile: Option<Node>,
    cells: Vec<Option<Change>>,
    variants: Vec<Option<Change>>,
    axes: Vec<Vec<Axis>>,
    exclusions: Vec<Exclusion>,
    line: Option<usize>,
    /// Whether a field of the rule other than its kind is swept.
    sweeps_rule: bool,
}

/// One point: what is laid over the file, and what comes of it.
#[derive(Debug)]
pub(crate) struct Point<'a> {
    pub(crate) cell: Option<&'a Change>,
    pub(crate) variant: Option<&'a Change>,
    /// Swept fields with the words for their values, in the order of the spec.
    pub(crate) swept: Vec<(&'a str, &'a str)>,
    /// The spec of this point alone.
    pub(crate) node: Node,
}

impl Grid {
    /// Reads the grid of a document, in the given profile.
    pub(crate) fn read(document: &Node, profile: Option<&str>) -> Result<Self, SpecError> {
        let title = text_of(document, "title", "title")?.map(String::from);
        let name = name_of(document, "name")?.map(String::from);
        let profile = read_profile(document, profile)?;
        let mut grid = Self {
            title,
            name,
            common: document.without(&ABOUT),
            profile: profile.map(|p| p.without(&["sweep"])),
            cells: read_changes(document, "cell")?,
            variants: read_changes(document, "variant")?,
            axes: Vec::new(),
            exclusions: Vec::new(),
            line: document.line,
            sweeps_rule: false,
        };
        let sweep = match (document.field("sweep"), profile.and_then(|p| p.field("sweep"))) {
            (Some(below), Some(over)) => Some(below.overlaid(over)),
            (one, other) => one.or(other).cloned(),
        };
        if let Some(sweep) = &sweep {
            grid.line = sweep.line;
            grid.axes = read_axes(sweep)?;
            let of_rule = |axis: &Axis| axis.path.starts_with("rule.") && !names_rule(&axis.path);
            grid.sweeps_rule = grid.axes.iter().flatten().any(of_rule);
            let kinds = grid.all_kinds();
            let lacks = |axis: &Axis| !kinds.iter().any(|kind| Self::applies(axis, kind.as_deref()));
            let of_none: Vec<bool> = grid.axes.iter().flatten().map(lacks).collect();
            for (axis, of_none) in grid.axes.iter_mut().flatten().zip(of_none) {
                axis.of_no_rule = of_none;
            }
        }
        let points = grid.sizes().iter().map(|&n| n as u64).fold(1, u64::saturating_mul);
        if points > MAX_TRIALS {
            return Err(grid.too_many(points));
        }
        if let Some(sweep) = &sweep {
            grid.exclusions = grid.read_exclusions(sweep)?;
        }
        Ok(grid)
    }

    /// Number of values in each dimension.
    fn sizes(&self) -> Vec<usize> {
        let axes = self.axes.iter().map(|zip| zip[0].values.len());
        [self.cells.len(), self.variants.len()].into_iter().chain(axes).collect()
    }

    /// The error of a grid with too many trials.
    pub(crate) fn too_many(&self, trials: u64) -> SpecError {
        self.error(format!("sweep must make at most {MAX_TRIALS} trials, got {trials}"))
    }

    /// An error of the grid as a whole.
    pub(crate) fn error(&self, message: String) -> SpecError {
        SpecError { line: self.line, message }
    }

    /// The kind of rule at a place, if there is one.
    fn rule_kind(&self, place: &[usize]) -> Option<String> {
        let (cell, variant) = (self.cells[place[0]].as_ref(), self.variants[place[1]].as_ref());
        let changes = [cell, variant].into_iter().flatten().map(|change| &change.changes);
        let own =
            |rule: &Node| rule.field("kind").or_else(|| rule.field("preset"))?.as_text().map(String::from);
        let kind = |node: &Node| own(node.field("rule")?);
        let below = [&self.common].into_iter().chain(changes).chain(&self.profile).filter_map(kind).next_back();
        let swept = (self.axes.iter().zip(&place[2..])).flat_map(|(zip, &i)| {
            zip.iter().filter_map(move |axis| match axis.path.as_str() {
                "rule" => own(&axis.values[i].node),
                "rule.kind" | "rule.preset" => axis.values[i].node.as_text().map(String::from),
                _ => None,
            })
        });
        swept.last().or(below)
    }

    /// The kinds of all rules of the grid.
    fn all_kinds(&self) -> Vec<Option<String>> {
        let (cells, variants) = (0..self.cells.len(), 0..self.variants.len());
        let swept: usize = (self.axes.iter())
            .filter(|zip| {
                zip.iter().any(|axis| ["rule", "rule.kind", "rule.preset"].contains(&axis.path.as_str()))
            })
            .map(|zip| zip[0].values.len())
            .max()
            .unwrap_or(1);
        let mut kinds = Vec::new();
        for cell in cells {
            for variant in variants.clone() {
                for i in 0..swept {
                    let axes = self.axes.iter().map(|zip| i.min(zip[0].values.len() - 1));
                    let place: Vec<usize> = [cell, variant].into_iter().chain(axes).collect();
                    let kind = self.rule_kind(&place);
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
            }
        }
        kinds
    }

    /// Whether a swept field is one of a rule of this kind; fields of other tables always are.
    fn applies(axis: &Axis, kind: Option<&str>) -> bool {
        if names_rule(&axis.path) {
            return true;
        }
        let Some(field) = axis.path.strip_prefix("rule.") else { return true };
        let field = field.split('.').next().unwrap_or(field);
        kind.is_none_or(|kind| rule_has(kind, field))
    }

    /// The places of all points that are not excluded, in order: the last dimension moves fastest. Where a rule does not have a
    /// swept field, one point stands for all values of it.
    pub(crate) fn places(&self) -> Result<Vec<Vec<usize>>, SpecError> {
        let all = self.all_places()?;
        if !self.sweeps_rule {
            return Ok(all);
        }
        let stands = |place: &Vec<usize>| {
            let kind = self.rule_kind(place);
            (self.axes.iter().zip(&place[2..])).all(|(zip, &i)| {
                i == 0 || zip.iter().any(|axis| axis.of_no_rule || Self::applies(axis, kind.as_deref()))
            })
        };
        Ok(all.into_iter().filter(stands).collect())
    }

    fn all_places(&self) -> Result<Vec<Vec<usize>>, SpecError> {
        let sizes = self.sizes();
        let mut used = vec![false; self.exclusions.len()];
        let mut places = Vec::new();
        for index in 0..sizes.iter().product() {
            let place = digits(index, &sizes);
            let mut kept = true;
            for (exclusion, used) in self.exclusions.iter().zip(&mut used) {
                if exclusion.conditions.iter().all(|(dimension, these)| these[place[*dimension]]) {
                    (kept, *used) = (false, true);
                }
            }
            if kept {
                places.push(place);
            }
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            let message = "sweep.exclude must match a point of the grid, got an entry that matches none".into();
            return Err(SpecError { line: self.exclusions[unused].line, message });
        }
        if places.is_empty() {
            return Err(self.error("sweep.exclude must leave at least one point of the grid, got none".into()));
        }
        Ok(places)
    }

    /// The point at a place.
    pub(crate) fn point(&self, place: &[usize]) -> Result<Point<'_>, SpecError> {
        let (cell, variant) = (self.cells[place[0]].as_ref(), self.variants[place[1]].as_ref());
        let mut node = self.common.clone();
        let changes = [cell, variant].into_iter().flatten().map(|change| &change.changes);
        for over in changes.chain(&self.profile) {
            node = node.overlaid(over);
        }
        let kind = if self.sweeps_rule { self.rule_kind(place) } else { None };
        let chosen: Vec<(&Axis, &AxisValue)> = (self.axes.iter().zip(&place[2..]))
            .flat_map(|(zip, &i)| zip.iter().map(move |axis| (axis, &axis.values[i])))
            .filter(|(axis, _)| axis.of_no_rule || Self::applies(axis, kind.as_deref()))
            .collect();
        // A swept table comes before fields of it, wherever the spec names them.
        let mut by_depth = chosen.clone();
        by_depth.sort_by_key(|(axis, _)| axis.path.split('.').count());
        for (axis, value) in by_depth {
            node.put(&axis.path, &value.node)?;
        }
        let swept = chosen.iter().map(|(axis, value)| (axis.path.as_str(), value.label.as_str())).collect();
        Ok(Point { cell, variant, swept, node })
    }

    fn read_exclusions(&self, sweep: &Node) -> Result<Vec<Exclusion>, SpecError> {
        tables(sweep, "exclude")?
            .iter()
            .map(|table| {
                let mut conditions = Vec::new();
                self.read_conditions(table, "", &mut conditions)?;
                if conditions.is_empty() {
                    return Err(table.error("sweep.exclude must name a field, got none"));
                }
                Ok(Exclusion { line: table.line, conditions })
            })
            .collect()
    }

    fn read_conditions(
        &self,
        table: &Node,
        prefix: &str,
        conditions: &mut Vec<(usize, Vec<bool>)>,
    ) -> Result<(), SpecError> {
        for (key, wanted) in table.entries() {
            let path = joined(prefix, key);
            let Some((dimension, these)) = self.matches(&path, wanted) else {
                if let Value::Table(_) = wanted.value {
                    self.read_conditions(wanted, &path, conditions)?;
                    continue;
                }
                let axes: Vec<&str> = self.axes.iter().flatten().map(|axis| axis.path.as_str()).collect();
                let known = [axes, vec!["cell", "variant"]].concat().join(", ");
                return Err(wanted.error(format!("sweep.exclude: {path} must be one of {known}")));
            };
            if !these.contains(&true) {
                let message = format!(
                    "sweep.exclude: {path} must be one of its values in the sweep, got {}",
                    wanted.show()
                );
                return Err(wanted.error(message));
            }
            conditions.push((dimension, these));
        }
        Ok(())
    }

    /// Which values of the dimension called `path` are the wanted one; `None` if there is no such dimension.
    fn matches(&self, path: &str, wanted: &Node) -> Option<(usize, Vec<bool>)> {
        let called = |change: &Option<Change>| {
            change
                .as_ref()
                .is_some_and(|c| [c.name.as_str(), c.words()].iter().any(|word| wanted.is_text(word)))
        };
        match path {
            "cell" => Some((0, self.cells.iter().map(called).collect())),
            "variant" => Some((1, self.variants.iter().map(called).collect())),
            _ => self.axes.iter().enumerate().find_map(|(i, zip)| {
                let axis = zip.iter().find(|axis| axis.path == path)?;
                let same = |v: &AxisValue| v.node.same(wanted) || wanted.is_text(&v.label);
                Some((2 + i, axis.values.iter().map(same).collect()))
            }),
        }
    }
}

impl Point<'_> {
    /// What distinguishes the point from the others: cell, variant and swept fields.
    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        let change = |word: &str, change: Option<&Change>| change.map(|c| (word.into(), c.words().into()));
        let swept = self.swept.iter().map(|(path, label)| ((*path).into(), (*label).into()));
        [change("cell", self.cell), change("variant", self.variant)]
            .into_iter()
            .flatten()
            .chain(swept)
            .collect()
    }

    /// Adds the name of this point to an error.
    pub(crate) fn blame(&self, error: SpecError) -> SpecError {
        let labels: Vec<String> =
            self.labels().iter().map(|(field, value)| format!("{field} = {value}")).collect();
        if labels.is_empty() {
            return error;
        }
        SpecError { message: format!("{} (at {})", error.message, labels.join(", ")), ..error }
    }
}

/// Whether a field says which rule it is.
fn names_rule(path: &str) -> bool {
    ["rule.kind", "rule.preset"].contains(&path)
}

/// The place of a point in each dimension.
fn digits(mut index: usize, sizes: &[usize]) -> Vec<usize> {
    let mut place = vec![0; sizes.len()];
    for (digit, size) in place.iter_mut().zip(sizes).rev() {
        *digit = index % size;
        index /= size;
    }
    place
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.into() } else { format!("{prefix}.{key}") }
}

/// The tables of `[[sweep.name]]`.
fn tables<'a>(sweep: &'a Node, name: &str) -> Result<&'a [Node], SpecError> {
    let Some(node) = sweep.field(name) else { return Ok(&[]) };
    match &node.value {
        Value::List(items) if items.iter().all(|i| matches!(i.value, Value::Table(_))) => Ok(items),
        _ => Err(node.error(format!("sweep.{name} must be tables, [[sweep.{name}]], got {}", node.show()))),
    }
}

fn read_axes(sweep: &Node) -> Result<Vec<Vec<Axis>>, SpecError> {
    let Value::Table(_) = sweep.value else {
        return Err(sweep.error(format!("sweep must be a table, got {}", sweep.show())));
    };
    let mut alone = Vec::new();
    read_lists(&sweep.without(&["zip", "exclude"]), "", &mut alone)?;
    let mut axes: Vec<Vec<Axis>> = alone.into_iter().map(|axis| vec![axis]).collect();
    for table in tables(sweep, "zip")? {
        let mut zip = Vec::new();
        read_lists(table, "", &mut zip)?;
        let Some(first) = zip.first() else { return Err(table.error("sweep.zip must have an axis, got none")) };
        if let Some(odd) = zip.iter().find(|axis| axis.values.len() != first.values.len()) {
            let (line, message) = (
                odd.line,
                format!(
                    "sweep.zip: {} and {} must have equally many values, got {} and {}",
                    first.path,
                    odd.path,
                    first.values.len(),
                    odd.values.len()
                ),
            );
            return Err(SpecError { line, message });
        }
        axes.push(zip);
    }
    let all: Vec<&Axis> = axes.iter().flatten().collect();
    for (i, axis) in all.iter().enumerate() {
        if all[..i].iter().any(|other| other.path == axis.path) {
            let message = format!("sweep: {} must be one axis, got two", axis.path);
            return Err(SpecError { line: axis.line, message });
        }
    }
    Ok(axes)
}

/// Every list is an axis; tables are the way to it.
fn read_lists(table: &Node, prefix: &str, axes: &mut Vec<Axis>) -> Result<(), SpecError> {
    for (key, node) in table.entries() {
        let path = joined(prefix, key);
        match &node.value {
            Value::Table(_) => read_lists(node, &path, axes)?,
            Value::List(items) if !items.is_empty() => {
                let first = path.split('.').next().unwrap_or_default();
                if ABOUT.contains(&first) {
                    return Err(node.error(format!("sweep: {path} is not a field of a trial")));
                }
                if path == "seeds" || path == "training.seeds" {
                    return Err(
                        node.error(format!("sweep: {path} must not be an axis: seeds have their own list"))
                    );
                }
                let values = items.iter().map(AxisValue::read).collect();
                axes.push(Axis { path, line: node.line, values, of_no_rule: false });
            }
            _ => {
                return Err(node.error(format!(
                    "sweep: {path} must be a list of at least one value, got {}",
                    node.show()
                )));
            }
        }
    }
    Ok(())
}

impl AxisValue {
    fn read(item: &Node) -> Self {
        let word = |name| item.field(name).and_then(Node::as_text);
        match word("title").or_else(|| word("name")) {
            Some(label) => Self { label: label.into(), node: item.without(&["name", "title"]) },
            None => {
                Self { label: item.as_text().map_or_else(|| item.full(), String::from), node: item.clone() }
            }
        }
    }
}

/// The entries of `[[name]]`; one that changes nothing if there are none.
fn read_changes(document: &Node, name: &str) -> Result<Vec<Option<Change>>, SpecError> {
    let Some(node) = document.field(name) else { return Ok(vec![None]) };
    let Value::List(items) = &node.value else {
        return Err(node.error(format!("{name} must be a list, [[{name}]], got {}", node.show())));
    };
    let read = |item: &Node| {
        let own = name_of(item, &format!("{name}.name"))?;
        let own = own.ok_or_else(|| item.error(format!("{name}.name is missing")))?;
        let title = text_of(item, "title", &format!("{name}.title"))?.map(String::from);
        Ok(Some(Change { name: own.into(), title, changes: item.without(&["name", "title"]) }))
    };
    items.iter().map(read).collect()
}

/// The text of a field, if it is there; `path` names it in errors.
fn text_of<'a>(table: &'a Node, name: &str, path: &str) -> Result<Option<&'a str>, SpecError> {
    let Some(node) = table.field(name) else { return Ok(None) };
    let text = node.as_text();
    text.map(Some).ok_or_else(|| node.error(format!("{path} must be text in quotes, got {}", node.show())))
}

/// The name of a table; names become folders.
fn name_of<'a>(table: &'a Node, path: &str) -> Result<Option<&'a str>, SpecError> {
    let name = text_of(table, "name", path)?;
    match name {
        Some(name) if name.is_empty() || !name.chars().all(is_plain) || name.starts_with('.') => {
            let node = table.field("name").unwrap_or(table);
            Err(node.error(format!("{path} must be letters, digits, '-', '_' and '.', got {name:?}")))
        }
        _ => Ok(name),
    }
}

/// Whether a letter may stand in the name of a folder.
pub(crate) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

fn read_profile<'a>(document: &'a Node, wanted: Option<&str>) -> Result<Option<&'a Node>, SpecError> {
    let profiles = document.field("profile");
    let Some(wanted) = wanted else { return Ok(profiles.and_then(|p| p.field(FULL))) };
    let found = profiles.and_then(|p| p.field(wanted));
    if found.is_some() || wanted == FULL {
        return Ok(found);
    }
    let mut known = vec![FULL];
    known.extend(
        profiles.into_iter().flat_map(Node::entries).map(|(name, _)| name.as_str()).filter(|n| *n != FULL),
    );
    let message = format!("profile must be one of {}, got {wanted:?}", known.join(", "));
    Err(SpecError { line: profiles.and_then(|p| p.line), message })
}
