//! The part of JSON Schema (draft 2020-12) that the schemas in `docs/schema/` use. An unknown keyword is a panic, so that
//! nothing passes unchecked.

use serde_json::Value;

/// Why `value` does not fit `schema`, each with its place; empty where it does.
pub fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = match schema {
        Value::Bool(true) => return,
        Value::Bool(false) => return found.push(format!("{at}: nothing may be here")),
        other => other.as_object().unwrap(),
    };
    let fits = |schema: &Value| {
        let mut inner = Vec::new();
        check(root, schema, value, at, &mut inner);
        inner.is_empty()
    };
    for (keyword, with) in schema {
        let ok = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" => true,
            "$ref" => {
                let target = root.pointer(with.as_str().unwrap().strip_prefix('#').unwrap()).expect("a reference leads somewhere");
                check(root, target, value, at, found);
                true
            }
            "type" => match with {
                Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap(), value)),
                name => is(name.as_str().unwrap(), value),
            },
            "const" => value == with,
            "enum" => with.as_array().unwrap().contains(value),
            "anyOf" => with.as_array().unwrap().iter().any(fits),
            "oneOf" => with.as_array().unwrap().iter().filter(|s| fits(s)).count() == 1,
            "not" => !fits(with),
            "allOf" => with.as_array().unwrap().iter().all(fits),
            "required" => match value.as_object() {
                Some(map) => with.as_array().unwrap().iter().all(|name| map.contains_key(name.as_str().unwrap())),
                None => true,
            },
            "minimum" => value.as_f64().is_none_or(|n| n >= with.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= with.as_f64().unwrap()),
            "format" => value.as_str().is_none_or(|text| has_format(with.as_str().unwrap(), text)),
            "pattern" => value.as_str().is_none_or(|text| has_pattern(with.as_str().unwrap(), text)),
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, with, item, &format!("{at}/{n}"), found);
                }
                true
            }
            "properties" => {
                for (name, inner) in with.as_object().unwrap() {
                    if let Some(item) = value.get(name) {
                        check(root, inner, item, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = schema.get("properties").and_then(Value::as_object);
                for (name, item) in value.as_object().into_iter().flatten() {
                    if named.is_none_or(|map| !map.contains_key(name)) {
                        check(root, with, item, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            other => panic!("the keyword {other} is not known here"),
        };
        if !ok {
            found.push(format!("{at}: {value} does not fit {keyword} {with}"));
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other} is not known here"),
    }
}

fn has_format(name: &str, text: &str) -> bool {
    match name {
        "uuid" => uuid::Uuid::parse_str(text).is_ok(),
        "date-time" => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        other => panic!("the format {other} is not known here for a text"),
    }
}

/// The one pattern there is.
fn has_pattern(pattern: &str, text: &str) -> bool {
    assert_eq!(pattern, r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$");
    text.parse::<askbox_mailbox::id::WorkflowId>().is_ok()
}
