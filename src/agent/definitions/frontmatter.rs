//! The head of an agent file, between two lines of `---`, read as claude reads it.
//!
//! Claude Code 2.1.330 is lenient: what is no YAML is read again with every plain value that could be the reason in double
//! quotes. People's files rely on it, since a description such as `Use this when: …` is no YAML. So is this reading, and says so.

use std::borrow::Cow;

use crate::agent::definitions::yaml::{self, Node, Problem};

/// A file's parts.
#[derive(Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// Head and body.
    Parts {
        /// The text between the marks.
        head: &'a str,
        /// The line on which it begins.
        line: usize,
        /// What comes behind.
        body: &'a str,
        /// The line of the closing mark, where it does not stand at a line's beginning.
        odd_end: Option<usize>,
    },
    /// It does not begin with `---`.
    NoHead,
    /// The head never ends.
    Unclosed,
}

/// Splits a file without its byte order mark. The head ends at the first `---`, wherever it stands.
pub fn split(text: &str) -> Split<'_> {
    let Some(rest) = text.strip_prefix("---") else { return Split::NoHead };
    let space = rest.len() - rest.trim_start().len();
    let Some(newline) = rest[..space].rfind('\n') else {
        return if rest.trim().is_empty() { Split::Unclosed } else { Split::NoHead };
    };
    let start = 3 + newline + 1;
    let Some(length) = text[start..].find("---") else { return Split::Unclosed };
    let (head, body) = (&text[start..start + length], &text[start + length + 3..]);
    let line = 1 + lines(&text[..start]);
    let begins = head.is_empty() || head.ends_with('\n');
    Split::Parts { head, line, body: body.trim(), odd_end: (!begins).then(|| line + lines(head)) }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// What a head says, and what was wrong with it where it is no YAML by the letter.
#[derive(Debug)]
pub struct Head {
    /// Its value.
    pub node: Node,
    /// Why the letter was not enough.
    pub lenient: Option<Problem>,
}

/// Reads a head.
pub fn read(head: &str) -> Result<Head, Problem> {
    let strict = match yaml::parse(head) {
        Ok(node) => return Ok(Head { node, lenient: None }),
        Err(problem) => problem,
    };
    let quoted: Vec<Cow<'_, str>> = head.split('\n').map(quote).map(spaces).collect();
    yaml::parse(&quoted.join("\n")).map(|node| Head { node, lenient: Some(strict) })
}

/// `key: value` with the value in double quotes, where it holds what YAML takes for more than text.
fn quote(line: &str) -> Cow<'_, str> {
    let special = |v: &str| v.contains(": ") || v.contains(|c: char| "{}[]*&#!|>%@`".contains(c));
    let quoted = |v: &str, q: char| v.starts_with(q) && v.ends_with(q);
    let Some((key, rest)) = line.split_once(':') else { return line.into() };
    let value = rest.trim_start();
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || "_-".contains(c));
    // A carriage return ends the line for claude's pattern, so that such a line is left alone.
    if !is_key || value.len() == rest.len() || value.is_empty() || value.contains(['\r', '\u{2028}', '\u{2029}']) {
        return line.into();
    }
    let list = value.starts_with('[') && value.ends_with(']') && yaml::parse(value).is_ok();
    if quoted(value, '"') || quoted(value, '\'') || list || !special(value) {
        return line.into();
    }
    format!("{key}: \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")).into()
}

/// Tabs that indent become spaces.
fn spaces(line: Cow<'_, str>) -> Cow<'_, str> {
    let tabs = line.len() - line.trim_start_matches('\t').len();
    if tabs == 0 { line } else { format!("{}{}", "  ".repeat(tabs), &line[tabs..]).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_ends_at_the_first_mark() {
        let parts = |head, line, body, odd_end| Split::Parts { head, line, body, odd_end };
        assert_eq!(split("---\na: b\n---\nbody\n"), parts("a: b\n", 2, "body", None));
        assert_eq!(split("---  \r\n\n  a: b\r\n---"), parts("  a: b\r\n", 3, "", None));
        assert_eq!(split("---\n---\nx"), parts("", 2, "x", None));
        assert_eq!(split("---\na: b --- c\n---\nx"), parts("a: b ", 2, "c\n---\nx", Some(2)));
        assert_eq!(split("\n---\na: b\n---\n"), Split::NoHead);
        assert_eq!(split("----\na: b\n----\n"), Split::NoHead);
        assert_eq!(split("---\na: b\n"), Split::Unclosed);
        assert_eq!(split("---"), Split::Unclosed);
    }

    #[test]
    fn a_value_with_a_colon_is_text_and_the_first_problem_is_told() {
        let head = read("name: x\ndescription: When: this. user: \"a\\b\" # c\n").unwrap();
        let json = head.node.to_json();
        assert_eq!(json["description"], "When: this. user: \"a\\b\" # c");
        assert_eq!(head.lenient.unwrap().line, 2);
        // With a carriage return claude gives up.
        assert!(read("name: x\r\ndescription: When: this.\r\n").is_err());
        // What goes on in the next line is beyond repair.
        assert_eq!(read("name: x\ndescription: Examples:\n<example>\nuser: \"a\"\n").unwrap_err().line, 2);
    }

    #[test]
    fn only_what_needs_it_is_quoted() {
        for (line, expected) in [
            ("a: b", "a: b"),
            ("a: \"b: c\"", "a: \"b: c\""),
            ("a: [b, c]", "a: [b, c]"),
            ("a: [b: c", "a: \"[b: c\""),
            ("a:b: c", "a:b: c"),
            ("a b: c: d", "a b: c: d"),
            ("a: *x", "a: \"*x\""),
            ("  a: b: c", "  a: b: c"),
        ] {
            assert_eq!(quote(line), expected);
        }
    }
}
