//! Edits the rules in `permissions.allow` of a settings.json, as text. Every other byte of the file stays as it was.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

/// A text to insert, and the place for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) text: String,
}

type Object<'a> = HashMap<Cow<'a, str>, &'a RawValue>;

/// The text without the byte order mark of an editor. Claude Code reads a file with one, and the file keeps it.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// The fields of an object as they are written in the text, or `None` if it is not an object.
fn object(text: &str) -> Option<Object<'_>> {
    #[derive(serde::Deserialize)]
    struct Fields<'a>(#[serde(borrow)] HashMap<Key<'a>, &'a RawValue>);
    #[derive(serde::Deserialize, PartialEq, Eq, Hash)]
    struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
    let Fields(fields) = serde_json::from_str(unmarked(text)).ok()?;
    Some(fields.into_iter().map(|(key, value)| (key.0, value)).collect())
}

/// The elements of an array as they are written in the text, or `None` if it is not an array.
fn array(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

/// The begin and end of a part within its text.
fn place(text: &str, part: &RawValue) -> (usize, usize) {
    let begin = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    (begin, begin + part.get().len())
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a RawValue> {
    object(text)?.get(name).copied()
}

/// The list `permissions.allow`, or `None` if the file has none.
fn allow(text: &str) -> Option<&RawValue> {
    field(field(text, "permissions")?.get(), "allow")
}

fn is(element: &RawValue, rule: &str) -> bool {
    serde_json::from_str::<String>(element.get()).is_ok_and(|found| found == rule)
}

/// The rules that are missing, or the reason why the text cannot be used.
pub(super) fn missing<'r>(text: &str, rules: &[&'r str]) -> Result<Vec<&'r str>, &'static str> {
    let top = object(text).ok_or("is not a JSON object")?;
    let Some(permissions) = top.get("permissions") else { return Ok(rules.to_vec()) };
    let permissions = object(permissions.get()).ok_or("has `permissions` that are no object")?;
    let Some(allow) = permissions.get("allow") else { return Ok(rules.to_vec()) };
    let there = array(allow.get()).ok_or("has `permissions.allow` that is no list")?;
    Ok(rules.iter().copied().filter(|rule| !there.iter().any(|element| is(element, rule))).collect())
}

/// The insertion that adds these rules to a text that [`missing`] accepts.
pub(super) fn insertion(text: &str, rules: &[&str]) -> Insertion {
    let quoted: Vec<String> = rules.iter().map(|rule| serde_json::Value::from(*rule).to_string()).collect();
    if let Some(allow) = allow(text) {
        let (begin, _) = place(text, allow);
        let elements = array(allow.get()).unwrap_or_default();
        return match elements.last() {
            Some(last) => {
                let (start, at) = place(text, last);
                let space = space_before(text, start);
                Insertion { at, text: quoted.iter().map(|rule| format!(",{space}{rule}")).collect() }
            }
            None => Insertion { at: begin + 1, text: quoted.join(", ") },
        };
    }
    let (owner, is_top) = match field(text, "permissions") {
        Some(permissions) => (permissions, false),
        None => match serde_json::from_str::<&RawValue>(unmarked(text)) {
            Ok(top) => (top, true),
            Err(_) => return Insertion { at: text.len(), text: String::new() },
        },
    };
    let (begin, _) = place(text, owner);
    let fields = object(owner.get()).unwrap_or_default();
    // Our key gets the same white space in front as the first key.
    let inner = &text[begin + 1..];
    let space = &inner[..inner.len() - inner.trim_start().len()];
    let space = if fields.is_empty() { "" } else { space };
    let deeper = |levels: usize| match space.rsplit_once('\n') {
        Some((_, indent)) => format!("\n{indent}{}", unit(text).repeat(levels)),
        None => String::new(),
    };
    let list = |levels: usize| {
        let (inside, end) = (deeper(levels + 1), deeper(levels));
        let between = if inside.is_empty() { ", ".to_owned() } else { format!(",{inside}") };
        format!("[{inside}{}{end}]", quoted.join(&between))
    };
    let ours = if is_top {
        let (inside, end) = (deeper(1), deeper(0));
        format!("\"permissions\": {{{inside}\"allow\": {}{end}}}", list(1))
    } else {
        format!("\"allow\": {}", list(0))
    };
    match fields.values().map(|value| place(text, value).1).max() {
        Some(at) => {
            let space = if space.is_empty() { " " } else { space };
            Insertion { at, text: format!(",{space}{ours}") }
        }
        None => Insertion { at: begin + 1, text: ours },
    }
}

/// The text of a new file with these rules.
pub(super) fn new_file(rules: &[&str]) -> String {
    let quoted: Vec<String> = rules.iter().map(|rule| format!("      {}", serde_json::Value::from(*rule))).collect();
    format!("{{\n  \"permissions\": {{\n    \"allow\": [\n{}\n    ]\n  }}\n}}\n", quoted.join(",\n"))
}

/// The text without these rules, whatever else was changed in it. `None` if it contains none of them.
pub(super) fn without(text: &str, rules: &[String]) -> Option<String> {
    let mut text = text.to_owned();
    let mut found = false;
    for rule in rules {
        while let Some(cut) = cut_of(&text, rule) {
            text.replace_range(cut, "");
            found = true;
        }
    }
    found.then_some(text)
}

/// The text without the list `permissions.allow` if it is empty. `with_owner` also removes `permissions` if nothing else is in it. `None`
/// if there is no such list.
pub(super) fn without_empty_list(text: &str, with_owner: bool) -> Option<String> {
    let permissions = field(text, "permissions")?.get();
    if !array(field(permissions, "allow")?.get())?.is_empty() {
        return None;
    }
    let (owner, name) = if with_owner && object(permissions)?.len() == 1 { (text, "permissions") } else { (permissions, "allow") };
    let places: Vec<_> = members(owner)?.into_iter().map(|(key, value)| (key, place(text, key).0, place(text, value).1)).collect();
    let n = places.iter().position(|(key, ..)| serde_json::from_str::<String>(key.get()).is_ok_and(|key| key == name))?;
    let places: Vec<_> = places.into_iter().map(|(_, begin, end)| (begin, end)).collect();
    let mut text = text.to_owned();
    text.replace_range(cut(&places, n), "");
    Some(text)
}

/// True if the text is an object without fields.
pub(super) fn is_empty(text: &str) -> bool {
    object(text).is_some_and(|fields| fields.is_empty())
}

/// The keys and values of an object as they are written in the text, in their order.
fn members(text: &str) -> Option<Vec<(&RawValue, &RawValue)>> {
    struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);
    struct Reader;
    impl<'de> serde::de::Visitor<'de> for Reader {
        type Value = Members<'de>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry::<&RawValue, &RawValue>()? {
                members.push(member);
            }
            Ok(Members(members))
        }
    }
    impl<'de> serde::Deserialize<'de> for Members<'de> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Reader)
        }
    }
    serde_json::from_str(unmarked(text)).ok().map(|Members(members)| members)
}

/// The bytes to cut for one rule: the rule itself and a comma.
fn cut_of(text: &str, rule: &str) -> Option<std::ops::Range<usize>> {
    let elements = array(allow(text)?.get())?;
    let n = elements.iter().position(|element| is(element, rule))?;
    Some(cut(&elements.iter().map(|element| place(text, element)).collect::<Vec<_>>(), n))
}

/// The bytes to cut for the element `n` of a list or an object: the element itself and a comma.
fn cut(places: &[(usize, usize)], n: usize) -> std::ops::Range<usize> {
    let (begin, end) = places[n];
    match (n.checked_sub(1).and_then(|n| places.get(n)), places.get(n + 1)) {
        (Some((_, before)), _) => *before..end,
        (None, Some((next, _))) => begin..*next,
        (None, None) => begin..end,
    }
}

/// The white space in front of a place.
fn space_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    &before[before.trim_end().len()..]
}

/// One level of the text's indentation, which is the indentation of its first indented line.
fn unit(text: &str) -> &str {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
    indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 2] = ["Bash(ask-post:*)", "Bash(\"x\")"];

    fn put_in(text: &str) -> String {
        let missing = missing(text, &RULES).unwrap();
        let Insertion { at, text: ours } = insertion(text, &missing);
        let mut after = text.to_owned();
        after.insert_str(at, &ours);
        after
    }

    #[test]
    fn an_empty_list_goes_with_its_key_and_nothing_else() {
        for (text, with_owner, without) in [
            (r#"{"a": 1, "permissions": {"allow": [ ]}, "b": 2}"#, true, Some(r#"{"a": 1, "b": 2}"#)),
            (r#"{"permissions": {"allow": []}, "b": 2}"#, true, Some(r#"{"b": 2}"#)),
            (r#"{"permissions": {"allow": []}}"#, true, Some("{}")),
            (r#"{"permissions": {"allow": []}}"#, false, Some(r#"{"permissions": {}}"#)),
            (r#"{"permissions": {"deny": ["x"], "\u0061llow": []}}"#, true, Some(r#"{"permissions": {"deny": ["x"]}}"#)),
            ("\u{feff}{\"permissions\": {\"allow\": [], \"deny\": []}}", true, Some("\u{feff}{\"permissions\": {\"deny\": []}}")),
            (r#"{"permissions": {"allow": ["x"]}}"#, true, None),
            (r#"{"permissions": {}}"#, true, None),
        ] {
            assert_eq!(without_empty_list(text, with_owner).as_deref(), without, "{text}");
        }
        assert!(is_empty("\u{feff}{ }") && !is_empty("[]"));
    }

    #[test]
    fn rules_come_into_every_shape_of_file_and_change_nothing_else() {
        for before in [
            "{}",
            "{ }\n",
            "{\n}\n",
            r#"{"model":"opus"}"#,
            "{\n    \"z\": 1,\n    \"model\": \"opus\"\n}\n",
            "{\n\t\"permissions\": {},\n\t\"b\": [1, 2]\n}",
            "{\n  \"permissions\": {\n    \"deny\": [\"Read\"]\n  }\n}\n",
            "{\"permissions\": {\"allow\": []}}",
            "\u{feff}{\r\n  \"model\": \"opus\"\r\n}\r\n",
            "\u{feff}{\"permissions\": {\"allow\": [\"Read\"]}}",
            "{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Read\"\r\n    ]\r\n  }\r\n}\r\n",
            "{\"a\": \"\u{e9}\\u00e9}{\", \"permissions\": {\"allow\": [\"Read\", \"Edit\"], \"x\": 1.0e5}, \"c\": null}",
        ] {
            let after = put_in(before);
            let mut value: serde_json::Value = serde_json::from_str(unmarked(&after)).unwrap_or_else(|e| panic!("{e}: {after}"));
            assert_eq!(missing(&after, &RULES), Ok(vec![]), "{after}");
            let rules = RULES.map(str::to_owned);
            let bare = without(&after, &rules).unwrap();
            assert!(
                serde_json::from_str::<serde_json::Value>(unmarked(&bare)).is_ok() && missing(&bare, &RULES).unwrap().len() == 2,
                "{bare}"
            );
            // Apart from the rules, the value is the same.
            let allow = value["permissions"]["allow"].as_array_mut().unwrap();
            allow.truncate(allow.len() - 2);
            let mut old: serde_json::Value = serde_json::from_str(unmarked(before)).unwrap();
            if old["permissions"]["allow"].is_null() {
                old["permissions"]["allow"] = serde_json::json!([]);
            }
            assert_eq!(value, old);
        }
    }

    #[test]
    fn the_rules_look_like_the_rest_of_the_file() {
        assert_eq!(
            put_in("{\n    \"model\": \"opus\"\n}\n"),
            "{\n    \"model\": \"opus\",\n    \"permissions\": {\n        \"allow\": [\n            \"Bash(ask-post:*)\",\n            \"Bash(\\\"x\\\")\"\n        ]\n    }\n}\n"
        );
        assert_eq!(
            put_in("{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\"\n    ]\n  }\n}\n"),
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\",\n      \"Bash(ask-post:*)\",\n      \"Bash(\\\"x\\\")\"\n    ]\n  }\n}\n"
        );
        assert_eq!(
            put_in(r#"{"permissions":{"allow":["Read"]}}"#),
            r#"{"permissions":{"allow":["Read","Bash(ask-post:*)","Bash(\"x\")"]}}"#
        );
        assert_eq!(missing(&new_file(&RULES), &RULES), Ok(vec![]));
    }

    #[test]
    fn a_present_rule_is_not_repeated_and_a_wrong_file_is_told() {
        assert_eq!(missing(r#"{"permissions":{"allow":["Bash(ask-post:*)"]}}"#, &RULES), Ok(vec![RULES[1]]));
        for (text, why) in [
            ("{", "not a JSON"),
            ("[]", "not a JSON"),
            ("{\"permissions\": 1}", "no object"),
            ("{\"permissions\": {\"allow\": {}}}", "no list"),
        ] {
            assert!(missing(text, &RULES).unwrap_err().contains(why), "{text}");
        }
    }
}
