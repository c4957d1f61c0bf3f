//! The change that a call makes to a file, as its person sees it: the lines of the file that go and come, or a new file.

use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use crate::approval::call::Call;
use crate::approval::lines;
use askbox_mailbox::documents::fields::approval::{on_a_line, shown_field};
use askbox_mailbox::documents::fields::approval_text::{CHANGE, NEW};
use askbox_mailbox::{disk, text};
use similar::ChangeTag;

/// The longest file that is compared, in bytes and in lines. To compare longer ones takes too long.
const LONGEST_FILE: usize = 1 << 20;
const MOST_LINES: usize = 20_000;
/// The number of lines around a change.
const AROUND: usize = 3;

/// The change of a call that replaces a text in a file, or writes the whole file.
pub(super) struct Change<'a> {
    path: &'a str,
    /// The text that is replaced. `None` if the whole file is written.
    old: Option<&'a str>,
    new: &'a str,
    /// True if the text is replaced in each place.
    all: bool,
}

impl<'a> Change<'a> {
    /// Returns the change that this call makes. `None` for a call that changes no file, or does it in an unknown form.
    pub(super) fn of(call: &Call<'a>) -> Option<Self> {
        let text_of = |name: &str| call.input.get(name).and_then(Value::as_str);
        let path = text_of("file_path")?;
        match call.tool {
            "Edit" => {
                let all = call.input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
                Some(Self { path, old: Some(text_of("old_string")?), new: text_of("new_string")?, all })
            }
            "Write" => Some(Self { path, old: None, new: text_of("content")?, all: false }),
            _ => None,
        }
    }

    /// True if this field of the input is shown as part of the change.
    pub(super) fn has(&self, field: &str) -> bool {
        if self.old.is_some() { ["old_string", "new_string"].contains(&field) } else { field == "content" }
    }

    /// Returns the lines about the change, with the file as it is now. If they are longer than `room` or if the file cannot be read, they
    /// show the call's own texts and the reason.
    pub(super) fn shown(&self, folder: &Path, room: usize) -> String {
        let path = folder.join(self.path);
        let shown = match read(&path) {
            _ if self.path.starts_with('~') => Err("its path begins with `~`".into()),
            Ok(Some(before)) => self.in_file(&before, room),
            Ok(None) if self.old.is_none_or(str::is_empty) => Ok(self.of_new_file()),
            Ok(None) => Err("there is no such file".into()),
            Err(why) => Err(why),
        };
        // Somebody could put a link with a harmless name in front of another file.
        let target = path.canonicalize().ok().filter(|target| *target != path);
        let target = target.map_or_else(String::new, |target| format!("    the path leads to {}\n", text::file_name(target)));
        target + &shown.unwrap_or_else(|why| format!("    the file's own lines are not shown: {}\n{}", on_a_line(&why), self.alone()))
    }

    fn of_new_file(&self) -> String {
        let count = self.new.lines().count();
        format!("    {NEW}{count} line{}\n{}", if count == 1 { "" } else { "s" }, self.alone())
    }

    /// The call's own texts, which are the same whatever is in the file.
    fn alone(&self) -> String {
        match self.old {
            None => shown_field("content", self.new),
            Some(old) => {
                let changes = lines::changes(old, self.new);
                changes.iter().fold("    change:\n".to_owned(), |out, change| out + &line(change.tag(), change.value()))
            }
        }
    }

    /// The change in a file with this text.
    fn in_file(&self, before: &str, room: usize) -> Result<String, String> {
        // The editing tools take both kinds of line ends for the same.
        let takes_both = self.old.is_some_and(|old| !old.contains('\r') && !self.new.contains('\r'));
        let before = &if takes_both { before.replace("\r\n", "\n") } else { before.to_owned() };
        let old = self.old.unwrap_or(before);
        // An empty text is in each place. It stands for the whole of an empty file.
        let found: Vec<usize> = match self.old {
            Some(old) if !old.is_empty() => before.match_indices(old).map(|(at, _)| at).collect(),
            Some(_) if !before.is_empty() => Vec::new(),
            _ => vec![0],
        };
        let in_places = if found.len() > 1 { format!(" in {} places", found.len()) } else { String::new() };
        // Each line takes more than ten bytes where it is shown.
        let own = self.new.len() + 10 * (count(self.new) + self.old.map_or(0, count));
        match found.len() {
            0 => return Err("the text to replace is not in it".into()),
            2.. if !self.all => return Err(format!("the text to replace is{in_places} of it, and the call names one")),
            places if places.saturating_mul(own) > room => return Err(format!("too much is changed{in_places}")),
            _ => {}
        }
        let after = if before.is_empty() || self.old.is_none() { self.new.to_owned() } else { before.replace(old, self.new) };
        let changes = lines::changes(before, &after);
        let number_of = |tag| changes.iter().filter(|change| change.tag() == tag).count();
        let counts = format!("−{} +{}", number_of(ChangeTag::Delete), number_of(ChangeTag::Insert));
        let mut out = format!("    {CHANGE}{counts}{in_places}:\n");
        // All that the call says is shown, also what it does not change.
        let mut at = 0;
        let is_named = changes.iter().map(|change| {
            let begin = at;
            at += if change.tag() == ChangeTag::Insert { 0 } else { change.value().len() };
            let next = found.partition_point(|found| found + old.len() <= begin);
            change.tag() != ChangeTag::Equal || found.get(next).is_some_and(|found| *found < at)
        });
        let is_named: Vec<bool> = is_named.collect();
        let (mut number, mut is_behind_gap) = (1, true);
        for (n, change) in changes.iter().enumerate() {
            let near = n.saturating_sub(AROUND)..(n + AROUND + 1).min(changes.len());
            let is_shown = is_named[near].contains(&true);
            if is_shown && is_behind_gap {
                let _ = writeln!(out, "        line {number}:");
            }
            if is_shown {
                out.push_str(&line(change.tag(), change.value()));
            }
            is_behind_gap = !is_shown;
            number += usize::from(change.tag() != ChangeTag::Insert);
        }
        if out.len() > room { Err(format!("too much is changed ({counts}{in_places})")) } else { Ok(out) }
    }

    /// True if these lines of a question show each line of the call's own texts as one that goes, comes or stays.
    pub(super) fn is_in(&self, shown: &str) -> bool {
        let has = |own: &str, sign: char| {
            let lines: Vec<_> = shown.lines().filter_map(|line| line.strip_prefix("        ")?.strip_prefix([sign, ' '])).collect();
            own.split(['\n', '\r']).map(text::visible).all(|line| line.is_empty() || lines.iter().any(|shown| shown.contains(&line)))
        };
        shown.ends_with(&self.alone()) || (has(self.old.unwrap_or_default(), '-') && has(self.new, '+'))
    }
}

/// The number of lines, with every kind of line end.
fn count(text: &str) -> usize {
    text.split(['\n', '\r']).count()
}

fn line(tag: ChangeTag, value: &str) -> String {
    let (line, end) = match value.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None if value.ends_with('\r') => (value, "\n"),
        None => (value, "\n        \\ no newline at the end\n"),
    };
    format!("        {tag} {}{end}", on_a_line(line))
}

/// Reads a text. `None` if there is no such file. `Err` is the reason why it cannot be compared.
fn read(path: &Path) -> Result<Option<String>, String> {
    match path.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("it cannot be read: {e}")),
        // To open a device or a FIFO may already do something.
        Ok(meta) if !meta.is_file() => return Err("it is not a regular file".into()),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = disk::open_of_another_program(path).map_err(|e| format!("it cannot be read: {e}"))?;
    file.take(LONGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(|e| format!("it cannot be read: {e}"))?;
    if bytes.len() > LONGEST_FILE {
        return Err("it is too long".into());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if count(&text) > MOST_LINES { Err("it has too many lines".into()) } else { Ok(Some(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::ask::{self, Shown, is_about, shows};
    use askbox_mailbox::Question;
    use askbox_mailbox::documents::checks::check_question::check;
    use serde_json::{Map, json};

    struct World {
        folder: tempfile::TempDir,
        tool: &'static str,
        input: Map<String, Value>,
    }

    impl World {
        fn new(tool: &'static str, before: Option<&str>, input: &Value) -> Self {
            let world = Self { folder: tempfile::tempdir().unwrap(), tool, input: input.as_object().unwrap().clone() };
            before.iter().for_each(|before| world.write(before));
            world
        }

        fn write(&self, text: &str) {
            std::fs::write(self.folder.path().join("f"), text).unwrap();
        }

        fn call(&self) -> Call<'_> {
            Call { tool: self.tool, input: &self.input, cwd: self.folder.path() }
        }

        fn asked(&self) -> Question {
            let question = ask::question(&"w".parse().unwrap(), &self.call(), Shown::First).unwrap();
            check(&question).unwrap();
            assert!(shows(&question, &self.call()) && is_about(&question, &self.call()), "{}", question.question);
            question
        }

        /// The lines of the question behind the path.
        fn shown(&self) -> String {
            let asked = self.asked().question;
            let (before, _) = asked.rsplit_once("\nIn the folder ").unwrap();
            before.split_once("    file_path: f\n").unwrap().1.to_owned()
        }
    }

    #[test]
    fn an_edit_of_each_place_shows_each_place_of_the_file() {
        let before = "a\nb=1\nc\nd\ne\n-\nf\ng\nh\nrm -rf b=1\ni\nj\nk\nl b=1";
        let input = json!({"file_path": "f", "new_string": "b=2", "old_string": "b=1", "replace_all": true});
        let world = World::new("Edit", Some(before), &input);
        let expected = "    change −3 +3 in 3 places:\n        line 1:\n          a\n        - b=1\n        + b=2\n          c\n          d\n          e\n        \
             line 7:\n          f\n          g\n          h\n        - rm -rf b=1\n        + rm -rf b=2\n          i\n          j\n          k\n        \
             - l b=1\n        \\ no newline at the end\n        + l b=2\n        \\ no newline at the end\n    replace_all: true";
        assert_eq!(world.shown(), expected);
        assert_eq!(world.asked().title(), "Edit f (−3 +3 in 3 places)");
    }

    #[test]
    fn a_question_about_a_changed_file_shows_the_call_no_more() {
        let input = json!({"file_path": "f", "new_string": "two\n\tx", "old_string": "2\n\tx"});
        let world = World::new("Edit", Some("1\n2\n\tx\n3\n"), &input);
        let asked = world.asked();
        assert_eq!(
            world.shown(),
            "    change −1 +1:\n        line 1:\n          1\n        - 2\n        + two\n          \tx\n          3"
        );
        for other in ["1\n2\n\tx\n4\n", "0\n1\n2\n\tx\n3\n", "1\ntwo\n\tx\n3\n", ""] {
            world.write(other);
            assert!(!shows(&asked, &world.call()) && is_about(&asked, &world.call()), "{other:?}");
        }
        world.write("1\n2\n\tx\n3\n");
        assert!(shows(&asked, &world.call()));
        // A question about the call's hash that shows another change is not about it.
        for (word, other) in [("two", "three"), ("- 2", "- 1"), ("change", "no change"), ("          \tx", "          y")] {
            let lying = Question { question: asked.question.replacen(word, other, 1), ..asked.clone() };
            assert!(!shows(&lying, &world.call()), "{word}");
            assert_eq!(is_about(&lying, &world.call()), word == "change", "{word}");
        }
    }

    #[test]
    fn a_write_shows_a_new_file_or_what_changes_in_the_old_one() {
        let world = World::new("Write", None, &json!({"content": "a\nb\n", "file_path": "f"}));
        assert_eq!(world.shown(), "    new, 2 lines\n    content:\n        a\n        b\n        ");
        let asked = world.asked();
        assert_eq!(asked.title(), "Write f (new, 2 lines)");
        world.write("");
        assert_eq!(world.shown(), "    change −0 +2:\n        line 1:\n        + a\n        + b");
        world.write("a\nc\n");
        assert!(!shows(&asked, &world.call()) && is_about(&asked, &world.call()));
        assert_eq!(world.shown(), "    change −1 +1:\n        line 1:\n          a\n        - c\n        + b");
    }

    #[test]
    fn a_file_that_cannot_be_compared_is_said_so() {
        let edit = |old: &str, before| World::new("Edit", before, &json!({"file_path": "f", "old_string": old, "new_string": "y"}));
        let alone = |why: &str| {
            format!("    the file's own lines are not shown: {why}\n    change:\n        - x\n        \\ no newline at the end\n")
        };
        let (lines, bytes) = ("x\n".repeat(MOST_LINES + 1), "x".repeat(LONGEST_FILE + 1));
        for (before, why) in [
            (None, "there is no such file"),
            (Some("a"), "the text to replace is not in it"),
            (Some("x x"), "the text to replace is in 2 places of it, and the call names one"),
            (Some(&*lines), "it has too many lines"),
            (Some(&*bytes), "it is too long"),
        ] {
            assert!(edit("x", before).shown().starts_with(&alone(why)), "{why}");
        }
        let world = edit("x", None);
        let file = world.folder.path().join("f");
        std::fs::write(&file, b"x\xff").unwrap();
        assert!(world.shown().starts_with(&alone("it is not UTF-8 text")));
        std::fs::remove_file(&file).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(world.shown().starts_with(&alone("it is not a regular file")));
        std::fs::remove_file(&file).unwrap();
        let other = world.folder.path().join("other");
        std::fs::write(&other, "x\r\n").unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        let shown = world.shown();
        assert_eq!(shown.split_once('\n').unwrap().1, "    change −1 +1:\n        line 1:\n        - x\n        + y");
        assert!(shown.contains(&format!("    the path leads to {}\n", other.canonicalize().unwrap().display())), "{shown}");
        std::fs::remove_file(&file).unwrap();
        let returns = World::new("Edit", Some("1\r2\ra"), &json!({"file_path": "f", "old_string": "2\r", "new_string": "3\r4"}));
        assert!(
            returns.shown().starts_with("    change −2 +2:\n        line 1:\n          1\\u{d}\n        - 2\\u{d}\n"),
            "{}",
            returns.shown()
        );
        let many = World::new(
            "Edit",
            Some(&"x\n".repeat(5000)),
            &json!({"file_path": "f", "old_string": "x", "new_string": "y", "replace_all": true}),
        );
        assert!(many.shown().starts_with(&alone("too much is changed in 5000 places")), "{}", many.shown());
    }
}
