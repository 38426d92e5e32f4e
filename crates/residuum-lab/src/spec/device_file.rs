//! Device files: `device = { file = "device.toml" }`, as `residuum device fit --to` writes them.
//!
//! `[device]` holds fields of a device, `[tile]` further ones for pulsed arrays, `[exact]` for exact ones. `[fit]` says where they
//! come from and is not read. Fields beside `file` change what the file says.

use residuum_nn::data::disk::{DOCUMENT, read_text};

use super::device::DeviceTable;
use super::folders::digest;
use super::node::{Node, SpecError, Value};
use super::section::{Field, Section};
use super::table::{At, Table};

/// Tables of a device file.
const TABLES: [&str; 4] = ["device", "tile", "exact", "fit"];
/// Those for one kind of array, of which a spec reads one.
const ARRAYS: [&str; 2] = ["tile", "exact"];

/// The table with the fields of its file under its own; as it is if it names none.
pub(super) fn with_file(at: &At<'_>) -> Result<Option<Node>, SpecError> {
    let table = at.table()?;
    let Some(named) = table.node("file") else { return Ok(None) };
    let Some(name) = named.as_text() else {
        return Err(table.at("file", named, true).must("a path in quotes"));
    };
    let path = at.file(name);
    let field = table.path("file");
    let wrong = |message: String| named.error(format!("{field}: {}: {message}", path.display()));
    let text = read_text(&path, DOCUMENT).map_err(|e| wrong(format!("cannot read it: {e}")))?;
    table.contents("file", digest(text.as_bytes()));
    let document = Node::parse(&text).map_err(|e| wrong(e.to_string()))?;
    let device = fields(&document, array(&table)).map_err(wrong)?;
    // A file that a response is swapped in would be another device.
    for name in ["response", "preset", "aihwkit"] {
        if table.has(name) {
            return Err(
                table.error(format!("{} must not stand beside file: give one of them", table.path(name)))
            );
        }
    }
    let Value::Table(own) = &at.node.value else { return Ok(None) };
    // Errors in the file have no line in the spec.
    let mut entries: Vec<(String, Node)> =
        device.into_iter().map(|(name, node)| (name, Node { line: named.line, ..node })).collect();
    for (name, node) in own {
        match entries.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = node.clone(),
            None => entries.push((name.clone(), node.clone())),
        }
    }
    Ok(Some(Node { line: at.node.line, value: Value::Table(entries) }))
}

/// The array that a device is for.
fn array(table: &Table<'_>) -> &'static str {
    match table.node("array").and_then(Node::as_text) {
        Some("tile") => "tile",
        Some(_) => "exact",
        None => table.context.kind.array(),
    }
}

/// The fields of a device file for this array.
pub(super) fn fields(document: &Node, array: &str) -> Result<Vec<(String, Node)>, String> {
    if let Some((name, _)) = document.entries().iter().find(|(name, _)| !TABLES.contains(&name.as_str())) {
        return Err(format!("{name} is not a table of a device file: those are {}", TABLES.join(", ")));
    }
    let device = document.field("device").ok_or("[device] is missing")?;
    if device.field("file").is_some() {
        return Err("device.file: a device file must not name another".into());
    }
    ARRAYS.iter().try_for_each(|array| known(document, array))?;
    let mut entries = device.entries().to_vec();
    entries.extend(document.field(array).map_or(&[][..], Node::entries).iter().cloned());
    Ok(entries)
}

/// Whether a table has fields of its array alone: that of the other array is not read otherwise, and a slip in it would wait for the
/// spec that does.
fn known(document: &Node, array: &str) -> Result<(), String> {
    let declared = DeviceTable::declaration();
    for (name, node) in document.field(array).map_or(&[][..], Node::entries) {
        let there =
            |field: &Field| field.conditions.iter().all(|c| c.field != "array" || c.values.contains(&array));
        let own: Vec<&Field> = declared.fields.iter().filter(|field| field.name == name).collect();
        if own.iter().any(|field| there(field)) {
            continue;
        }
        let words = if own.is_empty() { "a device" } else { "this array" };
        return Err(node.error(format!("{array}.{name} is not a field of {words}")).to_string());
    }
    Ok(())
}

/// The device of a document by itself: that of a device file for the array it has more to say of, or the main one of two.
pub(super) fn alone(document: &Node) -> Result<Option<Node>, String> {
    let table = |entries| Some(Node { line: document.line, value: Value::Table(entries) });
    if document.field("fit").is_some() || document.field("tile").is_some() {
        let array = if document.field("tile").is_some() { "tile" } else { "exact" };
        let mut entries = fields(document, array)?;
        entries.push(("array".into(), Node { line: None, value: Value::Text(array.into()) }));
        return Ok(table(entries));
    }
    let Some(device) = document.field("device") else { return Ok(None) };
    let names = ["main", "residual"];
    let Some(main) = device.field("main").or(device.field("residual")) else { return Ok(None) };
    let mut entries = device.without(&names).entries().to_vec();
    entries.retain(|(name, _)| main.field(name).is_none());
    entries.extend(main.entries().iter().cloned());
    Ok(table(entries))
}

/// What `[fit]` of a device file says, by name; `None` for a document without it.
pub fn fitted(text: &str) -> Option<Vec<(String, String)>> {
    let document = Node::parse(text).ok()?;
    let rows = document.field("fit")?.entries().iter().map(|(name, node)| {
        let value = node.as_text().map_or_else(|| node.to_json().to_string(), String::from);
        (name.clone(), value)
    });
    Some(rows.collect())
}

/// Whether a document has a device: a device file, or a spec with `[device]`.
pub fn has_device(text: &str) -> bool {
    Node::parse(text).is_ok_and(|document| document.field("device").is_some())
}
