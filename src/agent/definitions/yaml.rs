//! YAML as far as a frontmatter needs it: one document, each value with its line, everything bounded.
//!
//! An alias shares the value it names instead of copying it, so that no few lines of aliases can become millions of values.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

/// The deepest nesting, aliases included.
const DEPTH: usize = 64;
/// The most values of one document.
const VALUES: usize = 10_000;
/// What is written out as JSON, where aliases are followed: each value counts as [`JSON_VALUE`] and its length.
const JSON_SIZE: usize = 2 << 20;
const JSON_VALUE: usize = 16;

/// Why a text is no YAML, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    /// Its line, from 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
    depth: usize,
}

/// What a value is.
#[derive(Debug)]
pub enum Kind {
    /// Nothing: `~`, `null`, or left out.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text; `cut` where a comment follows it on its line, which may have been meant as part of it.
    Text {
        /// The text itself.
        text: String,
        /// Whether a comment follows.
        cut: bool,
    },
    /// A list.
    List(Vec<Rc<Node>>),
    /// Keys and values, in order.
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key, as text.
    pub key: String,
    /// The key's line.
    pub line: usize,
    /// The value.
    pub value: Rc<Node>,
}

impl Kind {
    /// What it is called in a message.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text { .. } => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl Node {
    fn new(line: usize, kind: Kind) -> Self {
        let depth = match &kind {
            Kind::List(items) => items.iter().map(|n| n.depth).max().unwrap_or(0) + 1,
            Kind::Map(entries) => entries.iter().map(|e| e.value.depth).max().unwrap_or(0) + 1,
            _ => 0,
        };
        Self { line, kind, depth }
    }

    /// The value as JSON; what aliases multiply beyond measure is left out and marked with `…`.
    pub fn to_json(&self) -> Value {
        self.json(&mut JSON_SIZE.clone())
    }

    fn json(&self, left: &mut usize) -> Value {
        let size = if let Kind::Text { text, .. } = &self.kind { JSON_VALUE + text.len() } else { JSON_VALUE };
        let Some(fewer) = left.checked_sub(size) else {
            *left = 0;
            return Value::String("…".into());
        };
        *left = fewer;
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::Text { text, .. } => Value::String(text.clone()),
            Kind::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    list.push(item.json(left));
                    if *left == 0 {
                        break;
                    }
                }
                Value::Array(list)
            }
            Kind::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    *left = left.saturating_sub(entry.key.len());
                    map.insert(entry.key.clone(), entry.value.json(left));
                    if *left == 0 {
                        break;
                    }
                }
                Value::Object(map)
            }
        }
    }
}

/// A list or map that is still open.
enum Open {
    List { line: usize, anchor: usize, items: Vec<Rc<Node>> },
    Map { line: usize, anchor: usize, entries: Vec<Entry>, key: Option<(String, usize)> },
}

/// Reads the one document of a text; an empty one is [`Kind::Null`].
pub fn parse(text: &str) -> Result<Node, Problem> {
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH;
    options.block_nesting_limit = DEPTH;
    let mut anchors: HashMap<usize, Rc<Node>> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let mut values = 0;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|e| Problem { line: e.marker().line(), why: e.info() })?;
        let line = span.start.line();
        let (anchor, node) = match event {
            Event::DocumentStart(..) if root.is_some() => {
                return Err(Problem { line, why: "a second document begins here".into() });
            }
            Event::Scalar(text_of, style, anchor, tag) => {
                (anchor, Rc::new(Node::new(line, scalar(text_of.into_owned(), style, tag.as_deref(), &span, text))))
            }
            Event::SequenceStart(_, anchor, _) => {
                open.push(Open::List { line, anchor, items: Vec::new() });
                continue;
            }
            Event::MappingStart(_, anchor, _) => {
                open.push(Open::Map { line, anchor, entries: Vec::new(), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List { line, anchor, items }) => (anchor, Rc::new(Node::new(line, Kind::List(items)))),
                Some(Open::Map { line, anchor, entries, .. }) => {
                    let before = entries.len();
                    let entries = merged(entries, VALUES.saturating_sub(values));
                    values += entries.len().saturating_sub(before);
                    (anchor, Rc::new(Node::new(line, Kind::Map(entries))))
                }
                None => continue,
            },
            Event::Alias(id) => match anchors.get(&id) {
                Some(node) => (0, node.clone()),
                None => return Err(Problem { line, why: "an alias names the value that it is part of".into() }),
            },
            _ => continue,
        };
        values += 1;
        if values > VALUES {
            return Err(Problem { line, why: format!("there are more than {VALUES} values") });
        }
        if node.depth > DEPTH {
            return Err(Problem { line, why: format!("the nesting is deeper than {DEPTH}") });
        }
        if anchor != 0 {
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            None => root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((key, line)) => entries.push(Entry { key, line, value: node }),
                None => *key = Some((key_of(&node), line)),
            },
        }
    }
    drop(anchors);
    Ok(root.map_or_else(|| Node::new(1, Kind::Null), |r| Rc::try_unwrap(r).unwrap_or_else(|r| Node::new(r.line, Kind::Null))))
}

fn key_of(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".into(),
        Kind::Bool(b) => b.to_string(),
        Kind::Number(n) => n.to_string(),
        Kind::Text { text, .. } => text.clone(),
        Kind::List(_) | Kind::Map(_) => "?".into(),
    }
}

/// A value by the core schema: what stands there plainly may be a number or a boolean.
fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>, span: &Span, source: &str) -> Kind {
    let rest = || span.end.byte_offset().and_then(|end| source.get(end..)?.lines().next());
    let cut = || style == ScalarStyle::Plain && rest().is_some_and(|rest| rest.trim_start().starts_with('#'));
    if style != ScalarStyle::Plain || tag.is_some() {
        return Kind::Text { cut: false, text };
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        // As in JSON, which has neither of them.
        ".nan" | ".NaN" | ".NAN" => Kind::Null,
        other if matches!(other.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF") => Kind::Null,
        other => match number(other) {
            Some(number) => Kind::Number(number),
            None => Kind::Text { cut: cut(), text },
        },
    }
}

fn number(text: &str) -> Option<Number> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().ok().map(Number::from).or_else(|| text.parse().ok().and_then(Number::from_f64))
}

/// `<<: *other` gives the keys of another map that are not there already, `most` of them.
fn merged(entries: Vec<Entry>, most: usize) -> Vec<Entry> {
    if !entries.iter().any(|e| e.key == "<<") {
        return entries;
    }
    let (merges, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.key == "<<");
    let mut known: HashSet<String> = own.iter().map(|e| e.key.clone()).collect();
    let most = own.len() + most;
    for merge in &merges {
        let one = std::slice::from_ref(&merge.value);
        for map in if let Kind::List(maps) = &merge.value.kind { maps } else { one } {
            let Kind::Map(theirs) = &map.kind else { continue };
            for entry in theirs {
                if own.len() < most && !known.contains(&entry.key) {
                    known.insert(entry.key.clone());
                    own.push(entry.clone());
                }
            }
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        parse(text).unwrap().to_json()
    }

    #[test]
    fn values_have_the_types_of_the_core_schema() {
        let all = json(
            "a: x\nb: 12\nc: true\nd: ~\ne: yes\nf: '12'\ng: !!str 12\nh: 1.5\ni: 0x10\nj: [1, {k: v}]\nl: 2026-01-01\nm: +x\nn: -.inf",
        );
        assert_eq!(
            all,
            serde_json::json!({"a":"x","b":12,"c":true,"d":null,"e":"yes","f":"12","g":"12","h":1.5,"i":16,"j":[1,{"k":"v"}],"l":"2026-01-01","m":"+x","n":null})
        );
    }

    #[test]
    fn a_problem_names_its_line() {
        assert_eq!(parse("a: b\nc: d: e\n").unwrap_err().line, 2);
        assert_eq!(parse("a: b\n---\nc: d\n").unwrap_err().why, "a second document begins here");
        assert_eq!(parse("a: &a [*a]\n").unwrap_err().line, 1);
    }

    #[test]
    fn a_bomb_of_aliases_stays_small_and_deep_nesting_is_refused() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for n in 1..40 {
            let before = format!("*a{}", n - 1);
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [before.as_str(); 10].join(",")));
        }
        let text = json(&bomb).to_string();
        assert!(text.len() < 2 << 20, "{}", text.len());
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), ["*a"; 5000].join(","));
        assert!(json(&long).to_string().len() < 3 << 20);
        let keys: String = (0..4000).map(|n| format!("  k{n}: x\n")).collect();
        let merges: String = (0..5000).map(|n| format!("m{n}:\n  <<: *a\n")).collect();
        let many = parse(&format!("a: &a\n{keys}{merges}"));
        assert!(many.unwrap_err().why.contains("more than 10000"));
        for n in 40..70 {
            bomb.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1));
        }
        assert!(parse(&bomb).unwrap_err().why.contains("deeper than 64"));
        assert!(parse(&"[".repeat(500_000)).is_err());
        assert!(parse(&"- ".repeat(100_000)).is_err());
        assert!(parse(&"- a\n".repeat(VALUES + 1)).unwrap_err().why.contains("more than 10000"));
    }

    #[test]
    fn a_merge_key_fills_in_what_is_not_there() {
        assert_eq!(json("b: &b {d: 1, n: 2}\nn: 3\n<<: *b\n"), serde_json::json!({"b":{"d":1,"n":2},"n":3,"d":1}));
    }
}
