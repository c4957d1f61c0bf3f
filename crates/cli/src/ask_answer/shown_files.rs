//! The files beside a question, as people see them. A file whose bytes are not the attached ones is never shown: the reason stands in its
//! place.
//!
//! The lines of a unified diff, each with what it says. Inside a hunk, the counts of its header decide: a removed line that begins with
//! `-- ` looks like the header of a file, and is none.

use crate::program::{self, Tint};
use crate::terminal::{fitted, screen};
use askbox_mailbox::{Attachment, Error, Mailbox, MediaType, Question, Result, RoundId, attachments, text};

/// A file beside a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFile {
    /// Its name, type, size and hash.
    pub about: Attachment,
    /// What is shown of it.
    pub content: FileContent,
}

/// What is shown of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// The text, with its invisible characters escaped.
    Text(String),
    /// A unified diff, with its invisible characters escaped.
    Diff(String),
    /// An image, with its bytes.
    Image(Vec<u8>),
    /// Nothing, for this reason.
    NotShown(String),
}

/// The room for the texts of all files beside a question together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The most lines.
    pub lines: usize,
    /// The most bytes.
    pub bytes: usize,
}

impl Room {
    /// Returns the room of each file, if all of them share this room.
    pub fn shared_by(self, files: &[ShownFile]) -> Self {
        let texts = files.iter().filter(|file| matches!(file.content, FileContent::Text(_) | FileContent::Diff(_))).count().max(1);
        Self { lines: self.lines / texts, bytes: self.bytes / texts }
    }
}

/// The first lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning<'a> {
    /// The lines, each with what it says.
    pub lines: Vec<(Says, &'a str)>,
    /// True if the last of these lines is cut.
    is_cut: bool,
    /// The number of lines that are left out.
    left_out: usize,
}

impl Beginning<'_> {
    /// Returns the words that say how much is left out. `None` if the text is shown as a whole.
    pub fn left_out(&self) -> Option<String> {
        let lines = match self.left_out {
            0 => None,
            1 => Some("1 more line".to_owned()),
            n => Some(format!("{n} more lines")),
        };
        let rest = self.is_cut.then(|| "the rest of this line".to_owned());
        let parts: Vec<_> = rest.into_iter().chain(lines).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

/// Reads the files beside a question. `mailbox` is `None` for a question of another machine: its files stay there.
pub fn read(mailbox: Option<&Mailbox>, round: &RoundId, question: &Question) -> Vec<ShownFile> {
    let content = |about: &Attachment| {
        let Some(mailbox) = mailbox else {
            return FileContent::NotShown("the file is on the machine that asks, and is not shown here".into());
        };
        match attachments::read(mailbox, round, about) {
            Err(damage) => FileContent::NotShown(damage.to_string()),
            Ok(bytes) if about.kind.is_image() => FileContent::Image(bytes),
            Ok(bytes) => {
                let text = text::visible(&String::from_utf8_lossy(&bytes));
                // The asker's word does not count: a text that is a diff is coloured as one.
                if MediaType::of(&bytes) == Some(MediaType::Diff) { FileContent::Diff(text) } else { FileContent::Text(text) }
            }
        }
    };
    question.attachments.iter().map(|about| ShownFile { about: about.clone(), content: content(about) }).collect()
}

impl ShownFile {
    /// Returns the line above the file's content: its name, type and size, and the reason if nothing is shown.
    pub fn head(&self) -> String {
        match &self.content {
            FileContent::NotShown(why) => format!("{}: NOT SHOWN, {why}", self.about.words()),
            _ => self.about.words(),
        }
    }

    /// True if nothing of the file can be shown.
    pub fn is_damaged(&self) -> bool {
        matches!(self.content, FileContent::NotShown(_))
    }

    /// True for an image that can be shown.
    pub fn is_image(&self) -> bool {
        matches!(self.content, FileContent::Image(_))
    }

    /// Returns the lines of a text or a diff, each with what it says. Empty for an image.
    pub fn lines(&self) -> Vec<(Says, &str)> {
        match &self.content {
            FileContent::Text(text) => text.lines().map(|line| (Says::Nothing, line)).collect(),
            FileContent::Diff(text) => of(text).collect(),
            FileContent::Image(_) | FileContent::NotShown(_) => Vec::new(),
        }
    }

    /// Returns the first lines of a text or a diff that fit into this room.
    pub fn beginning(&self, room: &Room) -> Beginning<'_> {
        let mut lines = self.lines();
        let (all, mut bytes) = (lines.len(), room.bytes);
        let whole = lines.iter().take(room.lines).take_while(|(_, line)| {
            let left = bytes.checked_sub(line.len() + 1);
            bytes = left.unwrap_or(bytes);
            left.is_some()
        });
        let whole = whole.count();
        // A text may be one long line. So the first line that is too long is cut.
        let rest = lines.get(whole).filter(|_| whole < room.lines).map(|(says, line)| (*says, &line[..line.floor_char_boundary(bytes)]));
        let cut = rest.filter(|(_, line)| !line.is_empty());
        lines.truncate(whole);
        lines.extend(cut);
        Beginning { left_out: all - lines.len(), is_cut: cut.is_some(), lines }
    }
}

/// Prints the files beside a question. Each line of a file is indented, so that none of them can pass for a line of askbox. A terminal
/// gets a diff in colours. `address` is the question's name in the command that writes an image to a file.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(files: &[ShownFile], address: &str) -> Result<()> {
    let mut lines = Vec::new();
    for file in files {
        lines.push((Tint::Plain, String::new()));
        lines.extend(wrapped(&format!("Beside the question: {}", file.head()), "").map(|line| (Tint::Plain, line)));
        if let FileContent::Image(_) = file.content {
            let name = text::path_word(&file.about.name);
            lines.push((Tint::Plain, format!("    to write it to a file: ask-answer show {address} --attachment {name} > FILE")));
        }
        for (says, line) in file.lines() {
            let tint = match says {
                Says::Nothing => Tint::Plain,
                Says::Added => Tint::Green,
                Says::Removed => Tint::Red,
                Says::Hunk => Tint::Cyan,
            };
            lines.extend(wrapped(line, "    | ").map(|line| (tint, line)));
        }
    }
    program::print_tinted(&lines)
}

/// The line, broken into lines for the terminal, each behind `before`.
fn wrapped<'a>(line: &str, before: &'a str) -> impl Iterator<Item = String> + 'a {
    let line = line.replace('\t', "    ");
    let mut lines = match screen::columns() {
        Some(columns) => fitted::wrapped(&line, columns.saturating_sub(before.len())),
        None => vec![line],
    };
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines.into_iter().map(move |line| format!("{before}{line}").trim_end().to_owned())
}

/// Writes one file to standard output, exactly as it was attached. A terminal gets a text only, with its invisible characters escaped.
///
/// # Errors
/// [`Error::NotFound`] if the question has no such file. [`Error::Failed`] if the file is damaged. [`Error::Usage`] for an image on a
/// terminal.
pub fn write_out(mailbox: &Mailbox, round: &RoundId, question: &Question, name: &str) -> Result<()> {
    let files = &question.attachments;
    let Some(about) = files.iter().find(|about| about.name == name) else {
        let names: Vec<_> = files.iter().map(|about| text::file_name(&about.name)).collect();
        let hint = if names.is_empty() { "it has none".into() } else { format!("it has: {}", names.join(", ")) };
        return Err(Error::not_found(format!("no file beside the question is called `{}`", text::excerpt(name, 80)), hint));
    };
    let bytes = attachments::read(mailbox, round, about)
        .map_err(|damage| Error::failed(format!("{}: {damage}", about.words()), "ask the agent for it again: ask-answer ask-back"))?;
    if !program::prints_to_terminal() {
        return program::print_bytes(&bytes);
    }
    if about.kind.is_image() {
        return Err(Error::usage("an image is not written to a terminal", "send it to a file: … --attachment NAME > FILE"));
    }
    program::print(&text::visible(&String::from_utf8_lossy(&bytes)))
}

/// What a line of a diff says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Says {
    /// The line stays as it is, or this is no line of a hunk.
    #[strum(serialize = "same")]
    Nothing,
    /// The line is added.
    Added,
    /// The line is removed.
    Removed,
    /// The head of a hunk: where it belongs.
    Hunk,
}

askbox_mailbox::words!(Says);

/// Returns the lines of a diff in their order.
pub fn of(diff: &str) -> impl Iterator<Item = (Says, &str)> {
    // How many old and new lines of the hunk are still to come.
    let mut left = (0_u64, 0_u64);
    diff.lines().map(move |line| {
        if left == (0, 0) {
            let Some(counts) = counts(line) else { return (Says::Nothing, line) };
            left = counts;
            return (Says::Hunk, line);
        }
        let (says, old, new) = match line.as_bytes().first() {
            Some(b'+') => (Says::Added, 0, 1),
            Some(b'-') => (Says::Removed, 1, 0),
            // `\ No newline at end of file`
            Some(b'\\') => (Says::Nothing, 0, 0),
            _ => (Says::Nothing, 1, 1),
        };
        left = (left.0.saturating_sub(old), left.1.saturating_sub(new));
        (says, line)
    })
}

/// Reads `@@ -1,3 +1,4 @@`; `None` for any other line.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| {
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        start.parse::<u64>().ok().and_then(|_| count.parse().ok())
    };
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_hunk_is_what_its_sign_says() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@ fn\n--- a comment\n-b\n c\n+++ more\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file";
        let said: Vec<_> = of(diff).map(|(says, _)| says.word()).collect();
        let expected = ["same", "same", "hunk", "removed", "removed", "same", "added", "same", "same", "hunk", "removed", "added", "same"];
        assert_eq!(said, expected);
        assert_eq!(of("@@ -x +1 @@\n+a").map(|(says, _)| says).collect::<Vec<_>>(), [Says::Nothing; 2]);
    }
}
