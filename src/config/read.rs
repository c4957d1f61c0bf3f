//! Reading the configuration's text: once, so that what is wrong with a value still knows its key, line and column.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::{Config, KEYS, Loaded};
use crate::error::{Error, Result};
use crate::text;

const FORMS: &str = "`askbox init --print` shows every key with its form";

/// Reads a configuration's text.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Loaded> {
    let (config, set) = read(bytes).map_err(|e| e.in_file(path))?;
    Ok(Loaded { config, file: Some(path.to_path_buf()), set })
}

fn read(bytes: &[u8]) -> Result<(Config, Vec<String>)> {
    let toml = std::str::from_utf8(bytes).map_err(|_| Error::invalid("file", "is no UTF-8", "save it as UTF-8"))?;
    let table = DeTable::parse(toml).map_err(|e| {
        let at = e.span().map_or("file".into(), |span| place(toml, span.start));
        Error::invalid(at, text::one_line(e.message()), FORMS)
    })?;
    let table = table.get_ref();
    let mut reader = Reader { toml, set: Vec::new() };
    let sections = table.iter().map(|(name, value)| Ok((name.get_ref().to_string(), reader.read(name.get_ref(), value)?)));
    let tree = sections.collect::<Result<_>>().map(Value::Object)?;
    let config = Config::deserialize(tree).map_err(|e| reader.wrong_value(table, &e))?;
    super::check(&config)?;
    Ok((config, reader.set))
}

struct Reader<'a> {
    toml: &'a str,
    /// The keys read so far, by their paths.
    set: Vec<String>,
}

impl Reader<'_> {
    /// Walks to the keys and compares each with [`KEYS`].
    fn read(&mut self, at: &str, value: &Spanned<DeValue<'_>>) -> Result<Value> {
        let pattern = match at.split('.').collect::<Vec<_>>().as_slice() {
            ["runner", _, rest] => format!("runner.*.{rest}"),
            _ => at.to_owned(),
        };
        if KEYS.iter().any(|(key, ..)| *key == pattern) {
            self.set.push(at.to_owned());
            return json(value).map_err(|(value, problem)| self.error(at, value, problem));
        }
        if let (DeValue::Table(inner), true) = (value.get_ref(), at.split('.').count() < 3) {
            let fields = inner.iter().map(|(k, v)| Ok((k.get_ref().to_string(), self.read(&format!("{at}.{}", k.get_ref()), v)?)));
            return fields.collect::<Result<_>>().map(Value::Object);
        }
        let nearest = KEYS.iter().map(|(key, ..)| *key).max_by(|a, b| {
            let near = |k: &str| strsim::jaro_winkler(k, &pattern);
            near(a).total_cmp(&near(b))
        });
        Err(Error::invalid(
            at,
            "is no known key",
            format!("did you mean `{}`? `askbox init --print` shows them all", nearest.unwrap_or_default()),
        ))
    }

    /// Which value it is that does not fit: the first that does not fit where it stands alone.
    fn wrong_value(&self, table: &DeTable<'_>, e: &serde_json::Error) -> Error {
        for key in &self.set {
            let mut names = key.split('.');
            let section = names.next().and_then(|name| table.get(name));
            let Some(value) = names.fold(section, |value, name| value?.get_ref().get(name)) else { continue };
            for (part, alone) in parts(value) {
                let alone = key.rsplit('.').fold(alone, |inner, name| Map::from_iter([(name.to_owned(), inner)]).into());
                if let Err(e) = Config::deserialize(alone) {
                    return self.error(key, part, &e.to_string());
                }
            }
        }
        Error::invalid("file", text::one_line(&e.to_string()), FORMS)
    }

    fn error(&self, key: &str, value: &Spanned<DeValue<'_>>, problem: &str) -> Error {
        let place = place(self.toml, value.span().start);
        Error::invalid(key, format!("{} ({place})", text::one_line(problem)), FORMS)
    }
}

/// `line 2, column 11`.
fn place(toml: &str, at: usize) -> String {
    let before = toml.get(..at).unwrap_or(toml);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {}, column {column}", before.matches('\n').count() + 1)
}

/// A value as JSON, which has no dates and no infinity; or which value has no such form, and why.
fn json<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Result<Value, (&'a Spanned<DeValue<'i>>, &'static str)> {
    Ok(match value.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(n) => match (i64::from_str_radix(n.as_str(), n.radix()), u64::from_str_radix(n.as_str(), n.radix())) {
            (Ok(n), _) => n.into(),
            (_, Ok(n)) => n.into(),
            _ => return Err((value, "is a number out of range")),
        },
        DeValue::Float(n) => match n.as_str().parse::<f64>() {
            Ok(n) if n.is_finite() => n.into(),
            _ => return Err((value, "is no finite number")),
        },
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Datetime(_) => return Err((value, "is a date, which no key takes; a text goes in quotes")),
        DeValue::Array(items) => items.iter().map(json).collect::<Result<_, _>>().map(Value::Array)?,
        DeValue::Table(fields) => {
            let fields = fields.iter().map(|(k, v)| Ok((k.get_ref().to_string(), json(v)?)));
            fields.collect::<Result<_, _>>().map(Value::Object)?
        }
    })
}

/// What can be wrong with a value, each with the JSON that shows it: the value itself, or one that it holds.
fn parts<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Vec<(&'a Spanned<DeValue<'i>>, Value)> {
    let json = |value| json(value).unwrap_or_default();
    match value.get_ref() {
        DeValue::Array(items) => {
            let each = items.iter().map(|item| (item, Value::Array(vec![json(item)])));
            [(value, Value::Array(Vec::new()))].into_iter().chain(each).collect()
        }
        DeValue::Table(fields) => {
            let each = fields.iter().map(|(k, v)| (v, Map::from_iter([(k.get_ref().to_string(), json(v))]).into()));
            [(value, Map::new().into())].into_iter().chain(each).collect()
        }
        _ => vec![(value, json(value))],
    }
}
