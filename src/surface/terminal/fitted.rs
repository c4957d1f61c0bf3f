//! What a program prints, fitted to the terminal: no line is wider, and words stay whole. In a pipe or a file everything is as it was.

use crate::surface::terminal::columns::{cut, width};
use crate::surface::terminal::size;
use crate::surface::terminal::wrapped::wrapped;
use crate::text;
use crate::time::{self, Time};

/// A text for standard output, wrapped at its words. `start` says at which byte of a line its value begins: the lines that follow are
/// indented as far. `None` leaves the line as it is.
#[must_use]
pub fn paragraphs(text: &str, start: impl Fn(&str) -> Option<usize>) -> String {
    size::columns().map_or_else(|| text.to_owned(), |columns| paragraphs_within(text, columns, start))
}

/// A table for standard output: wider lines are cut, with a `…` at their ends.
#[must_use]
pub fn rows(table: &str) -> String {
    size::columns().map_or_else(|| table.to_owned(), |columns| table.lines().map(|line| cut(line, columns) + "\n").collect())
}

/// A time for standard output: `2026-11-22 11:15 +01:00 (in 2h 5m)` for a person at a terminal, RFC 3339 elsewhere.
#[must_use]
pub fn moment(at: Time) -> String {
    if size::columns().is_none() {
        return time::rfc3339(at);
    }
    let ahead = (at - time::now()).to_std();
    let distance = ahead.map_or_else(|_| format!("{} ago", time::human(time::since(at))), |ahead| format!("in {}", time::human(ahead)));
    format!("{} ({distance})", time::local(at))
}

/// The spaces in front of a line.
#[must_use]
pub fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn paragraphs_within(text: &str, columns: usize, start: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::new();
    for line in text::printable(text).replace('\t', "    ").lines() {
        let Some(start) = start(line) else {
            out.extend([line, "\n"]);
            continue;
        };
        let (head, value) = line.split_at_checked(start).filter(|(head, _)| width(head) <= columns / 2).unwrap_or(("", line));
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
        assert!(narrow.lines().all(|line| width(line) <= 10), "{narrow}");
        assert_eq!(paragraphs_within("   \n", 10, |line| Some(indentation(line))), "\n");
    }
}
