//! Breaks text into lines at its words, and fits output to the terminal: no line is wider than the terminal, and words stay whole. Output
//! to a pipe or a file is unchanged.

use crate::terminal::columns::{cut, width};
use crate::terminal::screen;
use askbox_mailbox::{Time, text, time};

/// A text for standard output, wrapped at its words. `start` returns the byte where the value of a line begins, and the continuation lines
/// are indented to that point. If `start` returns `None`, the line stays as it is.
pub fn paragraphs(text: &str, start: impl Fn(&str) -> Option<usize>) -> String {
    screen::columns().map_or_else(|| text.to_owned(), |columns| paragraphs_within(text, columns, start))
}

/// A table for standard output. Lines that are too wide are cut, with a `…` at the end.
pub fn rows(table: &str) -> String {
    screen::columns().map_or_else(|| table.to_owned(), |columns| table.lines().map(|line| cut(line, columns) + "\n").collect())
}

/// A line of a table for standard output, cut in the same way. The line ends with a line feed.
pub fn row(line: String) -> String {
    if let Some(columns) = screen::columns() { cut(line.trim_end_matches('\n'), columns) + "\n" } else { line }
}

/// The programs whose commands a message may end with.
const PROGRAMS: &str = "\
    ask-answer ask-post askbox checkpoint relaunch claude codex kill chmod mkdir sudo systemctl npm ${EDITOR:-vi}";

/// A message for standard error. Each line breaks between words. The last command of a line stays whole, so that it can be copied.
pub fn message(words: &str) -> String {
    let Some(columns) = screen::columns_of_messages() else { return words.to_owned() };
    words.split_inclusive('\n').map(|line| message_within(line, columns)).collect()
}

fn message_within(line: &str, columns: usize) -> String {
    let (words, end) = line.strip_suffix('\n').map_or((line, ""), |words| (words, "\n"));
    if width(words) <= columns {
        return line.to_owned();
    }
    let starts = PROGRAMS.split_ascii_whitespace().filter_map(|program| words.rfind(&format!(": {program} ")));
    let (head, rest) = starts.max().map_or((words, ""), |at| (&words[..=at], &words[at + 2..]));
    // Words may go on behind the command. The terminal would break them in the middle.
    let end_of_command = rest.match_indices("; ").map(|(at, _)| at + 1).find(|at| rest[..*at].matches('\'').count() % 2 == 0);
    let (command, behind) = rest.split_at(end_of_command.unwrap_or(rest.len()));
    let mut lines = broken(head, columns, false);
    match lines.last_mut() {
        _ if command.is_empty() => {}
        Some(last) if width(last) + 1 + width(command) <= columns => *last += &format!(" {command}"),
        _ => lines.push(command.to_owned()),
    }
    if !behind.trim().is_empty() {
        lines.extend(broken(behind.trim_start(), columns, false));
    }
    lines.join("\n") + end
}

/// A time for standard output: `2026-11-22 11:15 +01:00 (in 2h 5m)` for a person at a terminal, RFC 3339 elsewhere.
pub fn moment(at: Time) -> String {
    if screen::columns().is_none() {
        return time::rfc3339(at);
    }
    let ahead = (at - time::now()).to_std();
    let distance = ahead.map_or_else(|_| format!("{} ago", time::human(time::since(at))), |ahead| format!("in {}", time::human(ahead)));
    format!("{} ({distance})", time::local(at))
}

/// The spaces in front of a line.
pub fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

pub(crate) fn paragraphs_within(text: &str, columns: usize, start: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::new();
    for line in text::printable(text).replace('\t', "    ").lines() {
        let Some(start) = start(line) else {
            out.extend([line, "\n"]);
            continue;
        };
        // A head that is too wide gives its place to the text. The indentation stays as far as there is room: at the margin, words of an
        // agent would look like a line of askbox.
        let (head, value) = line
            .split_at_checked(start)
            .filter(|(head, _)| width(head) <= columns / 2)
            .unwrap_or_else(|| line.split_at(indentation(line).min(columns / 2)));
        let indent = width(head);
        for (n, piece) in wrapped(value, columns - indent).iter().enumerate() {
            out.push_str(&if n == 0 { head.to_owned() } else { " ".repeat(indent) });
            out.push_str(piece);
            out.push('\n');
        }
        if value.trim().is_empty() {
            out.push_str(head.trim_end());
            out.push('\n');
        }
    }
    out
}

/// Breaks a text into lines that are at most `columns` wide. Breaks between words, and within a word that is wider than a line. The text's
/// own line breaks stay, and white space at a new break is removed.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| broken(line.trim_end(), columns.max(2), true)).collect()
}

/// Breaks a line between words. A word that is wider than a line, such as a path, stays whole, or is broken.
fn broken(line: &str, columns: usize, breaks_words: bool) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let own = width(word.trim_end());
        if used > 0 && used + own > columns {
            next(&mut lines, &mut used);
        }
        if !breaks_words || own <= columns - used.min(columns) {
            push(&mut lines, word);
            used += width(word);
            continue;
        }
        for c in word.chars() {
            let own = width(c.encode_utf8(&mut [0; 4]));
            if used + own > columns {
                next(&mut lines, &mut used);
            }
            push(&mut lines, c.encode_utf8(&mut [0; 4]));
            used += own;
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

fn next(lines: &mut Vec<String>, used: &mut usize) {
    lines.push(String::new());
    *used = 0;
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_value_begin_below_it_and_empty_lines_stay() {
        let text = "    merge  Put both into one section\n\n  in 質問です 質問です\nplain words here\n";
        let fitted = paragraphs_within(text, 24, |line| Some(if line.contains("merge") { 11 } else { indentation(line) }));
        assert_eq!(fitted, "    merge  Put both into\n           one section\n\n  in 質問です 質問です\nplain words here\n");
        assert_eq!(paragraphs_within("to be copied as it is\n", 10, |_| None), "to be copied as it is\n");
        let narrow = paragraphs_within("    a-long-key  and words", 10, |_| Some(16));
        assert!(narrow.lines().all(|line| width(line) <= 10 && line.starts_with("    ")), "{narrow}");
        assert_eq!(paragraphs_within("   \n", 10, |line| Some(indentation(line))), "\n");
    }

    #[test]
    fn a_message_breaks_between_words_and_its_command_stays_whole() {
        let hint = "hint: see where it stands: relaunch status which\n";
        assert_eq!(message_within(hint, 60), hint);
        assert_eq!(message_within(hint, 40), "hint: see where it stands:\nrelaunch status which\n");
        assert_eq!(message_within("error: `c` is none of the options\n", 20), "error: `c` is none\nof the options\n");
        assert_eq!(
            message_within("hint: save one, then go on: checkpoint save w\n", 30),
            "hint: save one, then go on:\ncheckpoint save w\n"
        );
        assert_eq!(
            message_within("it is kept in /a/long/path/of/a/file.toml now\n", 20),
            "it is kept in\n/a/long/path/of/a/file.toml\nnow\n"
        );
        let two = "warning: what w started runs on: relaunch stop --tree w; it may take a while until all of it has ended\n";
        let lines = ["warning: what w started runs", "on: relaunch stop --tree w;", "it may take a while until all", "of it has ended", ""];
        assert_eq!(message_within(two, 30), lines.join("\n"));
        assert_eq!(message_within("hint: x: ask-answer w 'a; b c'\n", 20), "hint: x:\nask-answer w 'a; b c'\n");
        assert_eq!(message_within("Do you mean docs-42? (y/N) ", 80), "Do you mean docs-42? (y/N) ");
    }

    #[test]
    fn lines_break_between_words_and_long_words_break_too() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  - item one\n\nlast  ", 8), ["  - item", "one", "", "last"]);
        assert_eq!(wrapped("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 10), [""; 0]);
    }

    #[test]
    fn no_line_is_wider_than_the_columns_and_only_spaces_are_lost() {
        let text = "質問です how  wide e\u{301}te\u{301} is 🎉🎉🎉 this-word-is-longer-than-any-line and\ttabs end. ";
        for columns in 2..40 {
            let lines = wrapped(text, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:#?}");
            let words = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(words(&lines.concat()), words(text));
        }
    }
}
