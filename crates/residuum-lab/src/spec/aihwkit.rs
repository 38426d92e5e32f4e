//! Devices of AIHWKIT from files of parameters: `{ "class": "PowStepDevice", "dw_min": 0.001, … }`, what is left out being
//! AIHWKIT's default, or from the same as a table. In Python, `json.dump({"class": type(device).__name__, **dataclasses.asdict(device)}, file)` writes one.

use std::path::{Path, PathBuf};

use residuum::device::aihwkit::{Class, Value};
use residuum::tile::Device;
use residuum_nn::data::disk::{DOCUMENT, read_text};
use serde_json::{Value as Json, json};

use super::folders::digest;
use super::node::{Node, SpecError, Value as NodeValue};
use super::section::Takes;
use super::table::{At, Table};
use super::types::path;

/// Class and parameters of a device.
#[derive(Clone, Debug)]
pub(crate) enum Parameters {
    /// In a file.
    File(PathBuf),
    /// In the spec itself.
    Table(Json),
}

/// `aihwkit`, a path or a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParametersField;

impl Takes for ParametersField {
    type Value = Parameters;

    fn accepts(&self, node: &Node) -> bool {
        path().accepts(node) || matches!(node.value, NodeValue::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Parameters, SpecError> {
        if let NodeValue::Table(_) = at.node.value {
            at.list_whole();
            return Ok(Parameters::Table(at.node.to_json()));
        }
        path().read(at).map(Parameters::File)
    }

    fn noun(&self) -> String {
        "a path in quotes or a table".into()
    }

    fn words(&self) -> String {
        "path, or table".into()
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [
            { "type": "string" },
            { "type": "object", "required": ["class"], "properties": { "class": { "type": "string" } } },
        ] })
    }
}

impl Parameters {
    /// The device.
    pub(super) fn device(&self, at: &Table<'_>) -> Result<Device, SpecError> {
        match self {
            Self::File(path) => read(path, at),
            Self::Table(parameters) => {
                device(parameters).map_err(|e| at.error(format!("{}: {e}", at.path("aihwkit"))))
            }
        }
    }
}

/// Reads the device of a file.
fn read(path: &Path, at: &Table<'_>) -> Result<Device, SpecError> {
    let wrong =
        |e: &dyn std::fmt::Display| at.error(format!("{}: {}: {e}", at.path("aihwkit"), path.display()));
    let text = read_text(path, DOCUMENT).map_err(|e| wrong(&e))?;
    at.contents("aihwkit", digest(text.as_bytes()));
    let json: Json = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    device(&json).map_err(|e| wrong(&e))
}

/// The device that a file describes by its class and what it sets apart from the defaults of the class.
pub fn device(json: &Json) -> Result<Device, String> {
    let parameters = json.as_object().ok_or("must be an object with the parameters of a device")?;
    let name =
        parameters.get("class").and_then(Json::as_str).ok_or("\"class\" must name a class of AIHWKIT")?;
    let mut class =
        Class::named(name).ok_or_else(|| format!("\"class\" must be a pulsed device, got {name:?}"))?;
    for (name, value) in parameters.iter().filter(|(name, _)| *name != "class") {
        let value = match (name.as_str(), value) {
            // Of the nested table only the exponent says whether there is any.
            ("drift", Json::Object(drift)) => {
                let nu = match drift.get("nu") {
                    None | Some(Json::Null) => 0.0,
                    Some(nu) => nu.as_f64().ok_or_else(|| format!("drift.nu must be a number, got {nu}"))?,
                };
                class.set("drift_nu", Value::Number(nu)).map_err(|e| e.to_string())?;
                continue;
            }
            // What the class derives from other parameters.
            (_, Json::Null) => continue,
            (_, Json::Bool(flag)) => Value::Flag(*flag),
            (_, Json::Array(items)) => {
                let numbers = items.iter().map(Json::as_f64).collect::<Option<_>>();
                Value::List(numbers.ok_or_else(|| format!("{name} must be a list of numbers"))?)
            }
            _ => Value::Number(value.as_f64().ok_or_else(|| format!("{name} must be a number, got {value}"))?),
        };
        class.set(name, value).map_err(|e| e.to_string())?;
    }
    class.to_device().map_err(|e| e.to_string())
}
