//! The front matter of an agent file, read as claude 2.1.330 reads it. A test compares both, with a file for each oddity.
//!
//! 1. The front matter ends at the next `---`, wherever in a line that stands.
//! 2. It is read as YAML. Of a key that is there twice, the last one counts.
//! 3. If that fails, each line `key: value` whose value has a character with a meaning in YAML, or `: `, gets double quotes around its
//!    value. Tabs at the beginning of a line become spaces. Then it is read once more.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Options, UserMessageFormatter};

/// The most values in one front matter.
const MAX_VALUES: usize = 10_000;
/// The deepest nesting of lists and maps.
const MAX_NESTING: usize = 64;
/// The most text in one front matter, in bytes. Text that an alias repeats counts each time.
const MAX_TEXT: usize = 2 << 20;

/// Characters in a value without quotes that make claude put quotes around it.
const WITH_A_MEANING: [char; 13] = ['{', '}', '[', ']', '*', '&', '#', '!', '|', '>', '%', '@', '`'];

/// The keys that every agent needs.
#[derive(Debug, Deserialize)]
pub(super) struct Required {
    pub(super) name: String,
    pub(super) description: String,
}

/// A front matter that was read.
#[derive(Debug)]
pub(super) struct FrontMatter<'a> {
    pub(super) required: Required,
    /// All keys.
    pub(super) fields: Map<String, Value>,
    /// The text below it.
    pub(super) below: &'a str,
}

/// The reason why a file has no front matter that can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The file does not begin with a line `---`.
    None,
    /// No second `---` follows.
    Unclosed,
    /// It is not YAML, or lacks a key.
    Wrong {
        /// The line of the file, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
}

/// Reads the front matter of a file.
pub(super) fn read(text: &str) -> Result<FrontMatter<'_>, Problem> {
    let behind = text.strip_prefix("---").ok_or(Problem::None)?;
    let blank = behind.len() - behind.trim_start().len();
    // The content begins behind the last line break of the white space.
    let begin = behind[..blank].rfind('\n').ok_or(Problem::None)? + 1;
    let opening = format!("---{}", "\n".repeat(behind[..begin].matches('\n').count()));
    let (content, below) = behind[begin..].split_once("---").ok_or(Problem::Unclosed)?;
    let as_written = format!("{opening}{content}");
    let (yaml, fields) = match parse(&as_written) {
        Ok(fields) => (as_written, fields),
        // The first reading names the place as the person wrote it.
        Err(first) => {
            let quoted = content.split('\n').map(|line| with_quotes(line).unwrap_or_else(|| spaces_for_tabs(line)));
            let with_quotes = format!("{opening}{}", quoted.collect::<Vec<_>>().join("\n"));
            let fields = parse(&with_quotes).map_err(|_| wrong(&first))?;
            (with_quotes, fields)
        }
    };
    let required = parse(&yaml).map_err(|e| wrong(&e))?;
    Ok(FrontMatter { required, fields, below })
}

fn parse<T: DeserializeOwned>(yaml: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(yaml, options())
}

fn wrong(e: &serde_saphyr::Error) -> Problem {
    let line = e.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
    Problem::Wrong { line, why: e.render_with_formatter(&UserMessageFormatter).to_string() }
}

/// The line with quotes around its value; `None` if the line stays as it is.
fn with_quotes(line: &str) -> Option<String> {
    let (key, behind) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-');
    let value = behind.trim_start();
    // claude's pattern ends at a line break, also at the first half of a Windows one.
    if !is_key || value.is_empty() || value.len() == behind.len() || value.contains(['\r', '\u{2028}', '\u{2029}']) {
        return None;
    }
    let is_between = |open, close| value.starts_with(open) && value.ends_with(close);
    let is_list = || is_between('[', ']') && parse::<Vec<Value>>(value).is_ok();
    if is_between('"', '"') || is_between('\'', '\'') || is_list() {
        return None;
    }
    // claude's parser reads a comma at the beginning as text.
    let needs_quotes = value.contains(WITH_A_MEANING) || value.contains(": ") || value.starts_with(',');
    needs_quotes.then(|| format!("{key}: \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn spaces_for_tabs(line: &str) -> String {
    let rest = line.trim_start_matches('\t');
    format!("{}{rest}", "  ".repeat(line.len() - rest.len()))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MAX_VALUES,
            max_depth: MAX_NESTING,
            flow_nesting_limit: MAX_NESTING,
            max_total_scalar_bytes: MAX_TEXT,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        // A number or a boolean counts as text only in quotes.
        no_schema: true,
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_yaml_get_quotes() {
        for (line, read) in [
            ("description: Use this when: foo", "Use this when: foo"),
            ("description: *bold* [x] {y}", "*bold* [x] {y}"),
            (r#"description: Use: a "b" \n"#, r#"Use: a "b" \n"#),
            ("description: > quoted: x", "> quoted: x"),
            ("description: , a", ", a"),
            ("description: first\ndescription: second", "second"),
        ] {
            let text = format!("---\nname: x\n{line}\ntools:\n\t- Read\n---\nbelow\n");
            let front = read_ok(&text);
            assert_eq!((front.required.description.as_str(), front.below), (read, "\nbelow\n"), "{line}");
            assert_eq!(front.fields["tools"], serde_json::json!(["Read"]), "{line}");
        }
    }

    fn read_ok(text: &str) -> FrontMatter<'_> {
        read(text).unwrap_or_else(|e| panic!("{e:?} in {text}"))
    }

    #[test]
    fn it_ends_at_the_next_three_dashes() {
        assert_eq!(read_ok("--- \n\nname: x\ndescription: a---b\n---\n").required.description, "a");
        assert_eq!(read_ok("---\nname: x\ndescription: d ---").required.description, "d");
        assert_eq!(read("----\nname: x\n---\n").unwrap_err(), Problem::None);
        assert_eq!(read("--- x\nname: x\n---\n").unwrap_err(), Problem::None);
        assert_eq!(read("---\nname: x\ndescription: d\n").unwrap_err(), Problem::Unclosed);
    }

    #[test]
    fn what_claude_cannot_read_is_an_error_at_its_line() {
        for (text, line) in [
            ("---\nname: x\ndescription: \"a\" and \"b\"\n---\n", 3),
            ("---\nname: x\ndescription: \"unclosed\nmodel: haiku\n---\n", 3),
            ("---\r\nname: x\r\ndescription: Use: this\r\n---\r\n", 3),
            ("---\n\nname: x\nk1: a: b\n---\n", 4),
            // Valid, and no text: it is not read a second time.
            ("---\nname: x\ndescription: !important\n---\n", 3),
            ("---\nname: x\ndescription: {a: b}\n---\n", 3),
        ] {
            assert!(
                matches!(read(text), Err(Problem::Wrong { line: at, .. }) if at == line || at == line + 1),
                "{:?} in {text}",
                read(text).map(|_| ())
            );
        }
    }
}
