//! The options of a question, in the asker's order.
//!
//! Two spellings are read: the mailbox's own `{"key": "description"}`, and Claude Code's AskUserQuestion list `[{"label",
//! "description", "preview"}]`. A key that occurs twice is an error.

use std::collections::BTreeMap;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize};

use crate::spelling;

/// One option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Choice {
    /// The value of the answer that chooses this option.
    #[serde(rename = "label", alias = "key", alias = "value")]
    pub key: String,
    /// The meaning of the option, for the person who answers.
    #[serde(default)]
    pub description: String,
    /// A preview of the option, for the person who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// All options of one question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options(pub Vec<Choice>);

impl Options {
    /// True if no options were given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the option with this key. Without one, the key may also be the same text in another form of Unicode (see
    /// [`spelling::same`]), if only one option is that text.
    pub fn get(&self, key: &str) -> Option<&Choice> {
        self.place(key).map(|place| &self.0[place])
    }

    /// Returns the place, from zero, of the option that [`Self::get`] returns.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|c| c.key == key).or_else(|| {
            let mut same = (0..self.0.len()).filter(|place| spelling::same(&self.0[*place].key, key));
            same.next().filter(|_| same.next().is_none())
        })
    }

    /// Returns the keys as a list for messages: `merge, restructure, proceed`.
    pub fn keys(&self) -> String {
        let keys: Vec<_> = self.0.iter().map(|c| crate::text::excerpt(&c.key, 40)).collect();
        keys.join(", ")
    }
}

impl Serialize for Options {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.iter().any(|c| c.preview.is_some()) {
            let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
            self.0.iter().try_for_each(|c| seq.serialize_element(c))?;
            return seq.end();
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|c| map.serialize_entry(&c.key, &c.description))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Options;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("options as {\"key\": \"description\"} or as a list of {\"label\", \"description\"}")
    }

    fn visit_unit<E>(self) -> Result<Options, E> {
        Ok(Options::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut choices = Vec::new();
        while let Some((key, description)) = map.next_entry::<String, Option<String>>()? {
            choices.push(Choice { key, description: description.unwrap_or_default(), preview: None });
        }
        distinct(choices)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Options, A::Error> {
        let mut choices = Vec::new();
        while let Some(item) = seq.next_element::<Item>()? {
            choices.push(choice(item)?);
        }
        distinct(choices)
    }
}

/// One element of a list of options.
#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    /// An object without a field that is there twice.
    #[serde(with = "serde_with::rust::maps_duplicate_key_is_error")]
    Once(BTreeMap<String, serde_json::Value>),
    Other(serde_json::Value),
}

/// Reads one option of a list.
fn choice<E: serde::de::Error>(item: Item) -> Result<Choice, E> {
    let object = match item {
        Item::Other(serde_json::Value::String(key)) => return Ok(Choice { key, description: String::new(), preview: None }),
        Item::Other(serde_json::Value::Object(_)) => return Err(E::custom("a field of an option is there twice")),
        Item::Once(object) => object,
        _ => return Err(E::custom("an option is text, or an object with `label`")),
    };
    if let (true, Some(other)) = (object.contains_key("label"), ["value", "key"].into_iter().find(|name| object.contains_key(*name))) {
        return Err(E::custom(format!("an option has `{other}` beside `label`")));
    }
    Choice::deserialize(serde_json::Value::Object(object.into_iter().collect())).map_err(E::custom)
}

fn distinct<E: serde::de::Error>(choices: Vec<Choice>) -> Result<Options, E> {
    let mut keys: Vec<_> = choices.iter().map(|c| c.key.as_str()).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(E::custom(format!("option `{}` is there twice", crate::text::excerpt(twice[0], 40)))),
        None => Ok(Options(choices)),
    }
}

impl schemars::JsonSchema for Options {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Options".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let choice = generator.subschema_for::<Choice>();
        schemars::json_schema!({
            "description": "Options as {key: description}, or as AskUserQuestion's list.",
            "anyOf": [
                { "type": "object", "additionalProperties": { "type": ["string", "null"] } },
                { "type": "array", "items": { "anyOf": [choice, { "type": "string" }] } }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_keep_the_askers_order() {
        let map: Options = serde_json::from_str(r#"{"z":"last","a":"first"}"#).unwrap();
        let list: Options = serde_json::from_str(r#"[{"label":"z","description":"last"},{"label":"a","description":"first"}]"#).unwrap();
        assert_eq!(map, list);
        assert_eq!(map.keys(), "z, a");
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"z":"last","a":"first"}"#);
    }

    #[test]
    fn a_key_is_found_in_another_form_of_unicode() {
        let files: Options = serde_json::from_str(r#"["re\u0301sume\u0301.md", "b"]"#).unwrap();
        assert_eq!(files.get("résumé.md").map(|c| c.key.as_str()), Some("re\u{301}sume\u{301}.md"));
        let both: Options = serde_json::from_str(r#"["e\u0301", "é"]"#).unwrap();
        assert_eq!((both.place("é"), both.place("e\u{301}")), (Some(1), Some(0)));
    }

    #[test]
    fn an_option_has_one_name_for_its_answer() {
        let refused = |json: &str| serde_json::from_str::<Options>(json).unwrap_err().to_string();
        assert!(refused(r#"[{"label":"Merge","value":"merge"}]"#).starts_with("an option has `value` beside `label`"));
        assert!(refused(r#"[{"label":"Merge","key":"merge"}]"#).starts_with("an option has `key` beside `label`"));
        assert!(refused("[7]").starts_with("an option is text, or an object with `label`"));
        assert!(refused(r#"[{"description":"x"}]"#).contains("missing field `label`"));
        let read: Options = serde_json::from_str(r#"[{"value":"a"},{"key":"b"},"c"]"#).unwrap();
        assert_eq!(read.keys(), "a, b, c");
    }

    #[test]
    fn an_option_that_comes_twice_is_refused() {
        assert!(serde_json::from_str::<Options>(r#"{"a":"1","a":"2"}"#).is_err());
        assert!(serde_json::from_str::<Options>(r#"["a","a"]"#).is_err());
        assert!(serde_json::from_str::<Options>(r#"[{"label":"a","label":"b"}]"#).is_err());
    }
}
