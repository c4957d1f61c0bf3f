//! A change to one file: the file is created, or text is added to it.
//!
//! Edits the rules in `permissions.allow` of a settings.json in place. Everything else in the file stays as it was.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::commands::setup::record::{Added, Record, Written};
use askbox_cli::args::askbox_args::Part;
use askbox_mailbox::{Error, Placed, Result, disk};

/// The maximum size of a file that is added to, in bytes.
pub(super) const LONGEST: u64 = 16 << 20;

/// A change to one file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) part: Part,
    pub(super) path: PathBuf,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Vec<u8>,
    /// The text that is added, or `None` if the file as a whole is ours.
    pub(super) added: Option<Added>,
    /// The variables that are added. Their values are never shown.
    pub(super) variables: Vec<String>,
    /// The purpose of the change, in a few words.
    pub(super) what: String,
}

/// The hash of a file's content, in the form of the record.
pub(super) fn hash(bytes: &[u8]) -> String {
    askbox_mailbox::text::hex(&Sha256::digest(bytes))
}

/// The content of a file that may be added to, or `None` if it does not exist. Also returns the file's real path, with links followed.
///
/// # Errors
/// The obstacle, in words that continue a sentence after the file's name.
pub(super) fn current(path: &Path) -> std::result::Result<(PathBuf, Option<Vec<u8>>), String> {
    // If the path is a link, the file behind it is changed, and the link stays.
    let path = match path.canonicalize() {
        Ok(own) => own,
        Err(_) if path.symlink_metadata().is_err() => return Ok((path.to_path_buf(), None)),
        Err(e) => return Err(format!("cannot be followed: {e}")),
    };
    match disk::read(&path, LONGEST) {
        Ok(bytes) => Ok((path, Some(bytes))),
        Err(e) => Err(format!("cannot be read ({e})")),
    }
}

/// Refuses a file that its owner made read-only. Replacing it by a rename would succeed even so.
pub(super) fn check_writable(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if found.permissions().mode() & 0o200 == 0 => Err(Error::failed(
            format!("{} is read-only and was not changed", path.display()),
            format!("chmod u+w {}, then repeat the command", askbox_mailbox::text::path_word(path)),
        )),
        _ => Ok(()),
    }
}

/// The error for a file that another program changed after it was read. The file is as that program left it.
pub(super) fn changed_meanwhile(path: &Path) -> Error {
    Error::conflict(format!("{} was changed while this command ran", path.display()), "repeat the command; what it has done stays done")
}

impl Change {
    /// A file that gets this content as a whole.
    pub(super) fn whole(part: Part, path: PathBuf, before: Option<Vec<u8>>, after: &str, what: impl Into<String>) -> Self {
        Self { part, path, before, after: after.as_bytes().to_vec(), added: None, variables: Vec::new(), what: what.into() }
    }

    /// Records the change, then makes it.
    pub(super) fn carry_out(&self, record: &mut Record) -> Result<()> {
        if self.before.is_some() {
            check_writable(&self.path)?;
        }
        record.note_folders_above(&self.path);
        // A file that was removed in the meantime counts as new again.
        let known = record.written_to(&self.path).filter(|_| self.before.is_some()).cloned();
        let mut written = known.unwrap_or_else(|| Written {
            part: self.part,
            path: self.path.clone(),
            is_new: self.before.is_none(),
            sha256: None,
            added: Vec::new(),
            variables: Vec::new(),
        });
        written.sha256 = self.variables.is_empty().then(|| hash(&self.after));
        // Forget texts that are not in the file: an interrupted setup did not add them, or the person has removed them.
        let there = String::from_utf8_lossy(self.before.as_deref().unwrap_or_default());
        written.added.retain(|added| there.contains(&added.text));
        written.added.extend(self.added.clone());
        written.variables.retain(|name| !self.variables.contains(name));
        written.variables.extend(self.variables.iter().cloned());
        record.files.retain(|known| known.path != self.path);
        record.files.push(written);
        record.keep()?;
        disk::create_folder(self.path.parent().unwrap_or(Path::new("/")))?;
        let changed = || changed_meanwhile(&self.path);
        match &self.before {
            None if disk::create(&self.path, &self.after)? == Placed::NameExists => Err(changed()),
            None => Ok(()),
            Some(before) if disk::replace_if(&self.path, before, &self.after)? => Ok(()),
            Some(_) => Err(changed()),
        }
    }
}

/// Splits off the byte order mark of an editor. Claude Code reads a file with one, and the file keeps it.
fn unmarked(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 })
}

fn value(text: &str) -> Option<Value> {
    serde_json::from_str(unmarked(text).1).ok()
}

/// The rules that are missing.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn missing<'r>(text: &str, rules: &[&'r str]) -> Result<Vec<&'r str>, &'static str> {
    let top = value(text).filter(Value::is_object).ok_or("is not a JSON object")?;
    let Some(permissions) = top.get("permissions") else { return Ok(rules.to_vec()) };
    let permissions = permissions.as_object().ok_or("has `permissions` that are no object")?;
    let Some(allow) = permissions.get("allow") else { return Ok(rules.to_vec()) };
    let there = allow.as_array().ok_or("has `permissions.allow` that is no list")?;
    Ok(rules.iter().copied().filter(|rule| !there.iter().any(|element| element == rule)).collect())
}

/// The text with these rules as well.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn with(text: &str, rules: &[&str]) -> Result<String, &'static str> {
    let (mark, json) = unmarked(text);
    let root = CstRootNode::parse(json, &ParseOptions::default()).map_err(|_| "is not a JSON object")?;
    let permissions = root.object_value_or_set().object_value_or_set("permissions");
    let is_new = permissions.get("allow").is_none();
    let allow = permissions.array_value_or_set("allow");
    for rule in rules {
        allow.append(CstInputValue::String((*rule).to_owned()));
    }
    if is_new {
        allow.ensure_multiline();
    }
    let with = format!("{mark}{root}");
    if missing(&with, rules)?.is_empty() { Ok(with) } else { Err("has a key twice") }
}

/// The text without these rules, whatever else was changed in it. If the list is empty then and `is_list_ours`, it goes as well. If nothing
/// else is in `permissions` and `is_owner_ours`, it goes with the list. `None` if there is no list.
pub fn without(text: &str, rules: &[String], is_list_ours: bool, is_owner_ours: bool) -> Option<String> {
    let (mark, json) = unmarked(text);
    let root = CstRootNode::parse(json, &ParseOptions::default()).ok()?;
    let top = root.object_value()?;
    let permissions = top.object_value("permissions")?;
    let allow = permissions.array_value("allow")?;
    let is_rule = |element: &CstNode| element.as_string_lit()?.decoded_value().ok().filter(|rule| rules.contains(rule));
    allow.elements().into_iter().filter(|element| is_rule(element).is_some()).for_each(CstNode::remove);
    if is_list_ours && allow.elements().is_empty() {
        let has_others = permissions.properties().len() > 1;
        if is_owner_ours && !has_others { top.get("permissions")?.remove() } else { permissions.get("allow")?.remove() }
    }
    Some(format!("{mark}{root}"))
}

/// True if the text is an object without fields.
pub(super) fn is_empty(text: &str) -> bool {
    value(text).is_some_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 2] = ["Bash(ask-post:*)", "Bash(\"x\")"];

    fn put_in(text: &str) -> String {
        with(text, &missing(text, &RULES).unwrap()).unwrap()
    }

    #[test]
    fn an_empty_list_goes_with_its_key_and_nothing_else() {
        for (text, with_owner, left) in [
            (r#"{"a": 1, "permissions": {"allow": [ ]}, "b": 2}"#, true, Some(r#"{"a": 1, "b": 2}"#)),
            (r#"{"permissions": {"allow": []}, "b": 2}"#, true, Some(r#"{ "b": 2}"#)),
            (r#"{"permissions": {"allow": []}}"#, true, Some("{}")),
            (r#"{"permissions": {"allow": []}}"#, false, Some(r#"{"permissions": {}}"#)),
            (r#"{"permissions": {"deny": ["x"], "\u0061llow": []}}"#, true, Some(r#"{"permissions": {"deny": ["x"]}}"#)),
            ("\u{feff}{\"permissions\": {\"allow\": [], \"deny\": []}}", true, Some("\u{feff}{\"permissions\": { \"deny\": []}}")),
            (r#"{"permissions": {"allow": ["x"]}}"#, true, Some(r#"{"permissions": {"allow": ["x"]}}"#)),
            (r#"{"permissions": {}}"#, true, None),
        ] {
            assert_eq!(without(text, &[], true, with_owner).as_deref(), left, "{text}");
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
            let mut new = value(&after).expect(&after);
            assert_eq!(missing(&after, &RULES), Ok(vec![]), "{after}");
            let rules = RULES.map(str::to_owned);
            let bare = without(&after, &rules, false, false).unwrap();
            assert!(value(&bare).is_some() && missing(&bare, &RULES).unwrap().len() == 2, "{bare}");
            // Apart from the rules, the value is the same.
            let allow = new["permissions"]["allow"].as_array_mut().unwrap();
            allow.truncate(allow.len() - 2);
            let mut old = value(before).unwrap();
            if old["permissions"]["allow"].is_null() {
                old["permissions"]["allow"] = serde_json::json!([]);
            }
            assert_eq!(new, old);
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
            r#"{"permissions":{"allow":["Read", "Bash(ask-post:*)", "Bash(\"x\")"]}}"#
        );
        assert!(with("{\"permissions\": {}, \"permissions\": {}}", &RULES).unwrap_err().contains("twice"));
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
