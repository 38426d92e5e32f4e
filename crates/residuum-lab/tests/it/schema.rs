//! The JSON Schema takes every shipped spec and refuses slips.

use std::path::{Path, PathBuf};

use residuum_lab::spec::schema;
use serde_json::{Value, json};

/// Why a value does not fit a schema, of what schemas of specs use.
fn wrong(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return wrong(root, root.pointer(&target[1..]).unwrap_or_else(|| panic!("{target}")), value, path);
    }
    let no = |why: String| Some(format!("{path}: {why}"));
    let fits = |s: &Value| wrong(root, s, value, path).is_none();
    for (word, argument) in schema.as_object().unwrap() {
        let number = argument.as_f64().unwrap_or(0.0);
        let failed = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" => false,
            "type" => !match argument.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("type {other}"),
            },
            "enum" => !argument.as_array().unwrap().contains(value),
            "const" => argument != value,
            "minimum" => value.as_f64().is_some_and(|x| x < number),
            "exclusiveMinimum" => value.as_f64().is_some_and(|x| x <= number),
            "maximum" => value.as_f64().is_some_and(|x| x > number),
            "exclusiveMaximum" => value.as_f64().is_some_and(|x| x >= number),
            "minItems" => value.as_array().is_some_and(|a| (a.len() as f64) < number),
            "maxItems" => value.as_array().is_some_and(|a| a.len() as f64 > number),
            "required" => argument.as_array().unwrap().iter().any(|n| value.get(n.as_str().unwrap()).is_none()),
            "anyOf" => !argument.as_array().unwrap().iter().any(fits),
            "not" => fits(argument),
            "allOf" => {
                if let Some(why) = argument.as_array().unwrap().iter().find_map(|s| wrong(root, s, value, path))
                {
                    return Some(why);
                }
                false
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                if let Some(why) =
                    items.enumerate().find_map(|(i, v)| wrong(root, argument, v, &format!("{path}[{i}]")))
                {
                    return Some(why);
                }
                false
            }
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if let Some(s) = argument.get(name)
                        && let Some(why) = wrong(root, s, inner, &format!("{path}.{name}"))
                    {
                        return Some(why);
                    }
                }
                false
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match argument {
                        Value::Bool(false) => return no(format!("{name} is not a field")),
                        Value::Bool(true) => {}
                        s => {
                            if let Some(why) = wrong(root, s, inner, &format!("{path}.{name}")) {
                                return Some(why);
                            }
                        }
                    }
                }
                false
            }
            other => panic!("the schema says {other}, which this test does not know"),
        };
        if failed {
            return no(format!("{word} {argument} fails for {value}"));
        }
    }
    None
}

fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["experiments", "golden/run"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

fn value(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

#[test]
fn every_shipped_spec_fits() {
    let schema = schema();
    assert!(shipped().len() > 40);
    for file in shipped() {
        let text = std::fs::read_to_string(&file).unwrap();
        let why = wrong(&schema, &schema, &value(&text), "");
        assert_eq!(why, None, "{}", file.display());
    }
}

#[test]
fn slips_do_not_fit() {
    let schema = schema();
    for text in [
        "stepz = 3",
        "steps = -1",
        "steps = 1.5",
        "[rule]\nkind = \"residual\"",
        "[rule]\nkind = \"analog\"\nmixing = 0.4",
        "[rule]\nkind = \"digital\"\nmomentum = 1.5",
        "[rule]\nlearning_rate = { konstant = 1 }",
        "[device]\nresponse = \"power\"\nslope = 1",
        "[device]\npreset = \"ecram\"\nradius = 1",
        "[device.main]\nresponse = \"powr\"",
        "[[variant]]\nname = \"a\"\nrule = { kind = \"analog\", chop = {} }",
        "[profile.quick]\ntraining = { epoch = 1 }",
        "[readout]\ninput = { bits = 5 }",
        "sweep = { \"rule.mixing\" = 0.4 }",
    ] {
        assert!(wrong(&schema, &schema, &value(text), "").is_some(), "{text}");
    }
    // A table that changes another one need not be whole.
    for text in
        ["[rule]\nmixing = 0.4", "[device]\nradius = 0.5", "[[cell]]\nname = \"a\"\ndevice = { slope = 0.5 }"]
    {
        assert_eq!(wrong(&schema, &schema, &value(text), ""), None, "{text}");
    }
}

#[test]
fn fields_are_explained() {
    let schema = schema();
    assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
    let epochs = &schema["$defs"]["TrainingTable"]["properties"]["epochs"];
    assert_eq!(epochs["description"], "passes over the training images [epochs]");
    assert_eq!(epochs["minimum"], 1);
    assert_eq!(schema["$defs"]["TrainsTable"]["anyOf"][0]["properties"]["length"]["default"], 31);
}
