//! The JSON Schema of a spec, from the declarations: editors complete and explain specs with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::file::FileTable;
use super::grid::GridTable;
use super::section::{Declaration, Default, Field, Section as _};

/// The JSON Schema (draft 2020-12) of a spec. It knows names, types and words; what must hold between fields, and what must be
/// given once cells, variants, profile and sweep are laid over the file, `residuum check` says.
pub fn schema() -> Json {
    let mut definitions = BTreeMap::new();
    for root in [FileTable::declaration(), GridTable::declaration()] {
        collect(root, &mut definitions);
    }
    // Any table of a trial may be changed by cells, variants and profiles.
    let trial = properties(FileTable::declaration().fields.iter());
    let open = |extra: Json| {
        let mut fields = trial.clone();
        fields.extend(extra.as_object().cloned().unwrap_or_default());
        json!({ "type": "object", "properties": fields, "additionalProperties": false })
    };
    let text = json!({ "type": "string" });
    let change = open(json!({ "name": text, "title": text }));
    let sweep = json!({
        "type": "object",
        "properties": { "zip": { "type": "array" }, "exclude": { "type": "array" } },
        "additionalProperties": { "anyOf": [{ "type": "array", "minItems": 1 }, { "type": "object" }] },
        "description": describe(GridTable::declaration(), "sweep"),
    });
    let about = json!({
        "cell": { "type": "array", "items": change, "description": describe(GridTable::declaration(), "cell") },
        "variant": { "type": "array", "items": change, "description": describe(GridTable::declaration(), "variant") },
        "profile": {
            "type": "object",
            "additionalProperties": open(json!({ "sweep": sweep })),
            "description": describe(GridTable::declaration(), "profile"),
        },
        "sweep": sweep,
    });
    let mut schema = open(about);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Residuum spec");
    schema["description"] = json!(FileTable::declaration().text);
    schema["$defs"] =
        Json::Object(definitions.into_iter().map(|(name, schema)| (name.to_string(), schema)).collect());
    schema
}

fn describe(table: &Declaration, name: &str) -> String {
    table.field(name).map_or_else(String::new, |field| field.meaning.clone())
}

fn collect(table: &'static Declaration, definitions: &mut BTreeMap<&'static str, Json>) {
    for below in table.fields.iter().flat_map(|field| &field.tables) {
        let below = below();
        if !definitions.contains_key(below.name) {
            definitions.insert(below.name, Json::Null);
            definitions.insert(below.name, definition(below));
            collect(below, definitions);
        }
    }
}

/// The schema of one table. Fields that a choice makes possible stand in an alternative for each choice; a table that does not
/// choose, because it changes another one, may have any of them.
fn definition(table: &'static Declaration) -> Json {
    let all = || table.fields.iter();
    let object = |fields: Map<String, Json>| json!({ "type": "object", "properties": fields, "additionalProperties": false });
    let presets = all().any(|field| field.conditions.iter().any(|c| c.values.contains(&"preset")));
    let chosen = |value: &str| {
        let here = |field: &&Field| {
            let on_choice = field.conditions.iter().find(|c| c.field == table.by[0]);
            // A preset stands for any of the words.
            on_choice.is_none_or(|condition| condition.values.contains(&value) || value == "preset" && !presets)
        };
        properties(all().filter(here))
    };
    let Some((tag, others)) = table.by.split_first() else {
        let mut schema = object(properties(all()));
        schema["description"] = json!(table.text);
        return schema;
    };
    let words = table.field(tag).and_then(|field| field.schema["enum"].as_array().cloned()).unwrap_or_default();
    let mut alternatives: Vec<Json> = words
        .iter()
        .filter_map(Json::as_str)
        .map(|word| {
            let mut fields = chosen(word);
            fields.insert((*tag).to_string(), json!({ "const": word }));
            let mut schema = object(fields);
            schema["required"] = json!([tag]);
            schema
        })
        .collect();
    let mut none: Vec<Json> = vec![json!({ "required": [tag] })];
    for name in others {
        let mut schema = object(chosen(name));
        schema["required"] = json!([name]);
        schema["not"] = json!({ "required": [tag] });
        // A choice that both a word and a field stand for is one alternative.
        alternatives.push(schema);
        none.push(json!({ "required": [name] }));
    }
    let mut rest = object(properties(all()));
    rest["not"] = json!({ "anyOf": none });
    alternatives.push(rest);
    json!({ "anyOf": alternatives, "description": table.text })
}

/// The fields by name; one that is declared for several choices may be any of its forms.
fn properties<'a>(fields: impl Iterator<Item = &'a Field>) -> Map<String, Json> {
    let mut properties: Map<String, Json> = Map::new();
    for field in fields {
        let mut schema = field.schema.clone();
        let unit = if field.unit == "–" { String::new() } else { format!(" [{}]", field.unit) };
        let described = json!(format!("{}{unit}", field.meaning));
        // Beside a reference a description would be that of the reference.
        if schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        schema["description"] = described;
        if let Default::Value(text) = field.default
            && let Ok(node) = super::node::Node::literal(text)
        {
            schema["default"] = node.to_json();
        }
        match properties.get_mut(field.name) {
            Some(other) => *other = json!({ "anyOf": [other.clone(), schema] }),
            None => _ = properties.insert(field.name.into(), schema),
        }
    }
    properties
}
