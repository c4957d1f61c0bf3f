//! Text broken into lines at its words.

use crate::surface::terminal::columns::width;

/// The lines of a text, none wider than `columns`: broken between words, and within a word that is wider than a line. The text's own lines
/// stay lines of their own; white space at a break goes.
#[must_use]
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrapped_line(line.trim_end(), columns.max(2))).collect()
}

fn wrapped_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let own = width(word.trim_end());
        if used > 0 && used + own > columns {
            next(&mut lines, &mut used);
        }
        if own <= columns - used.min(columns) {
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
    fn lines_break_between_words_and_long_words_break_too() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  - item one\n\nlast  ", 8), ["  - item", "one", "", "last"]);
        assert_eq!(wrapped("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 10), [""; 0]);
    }

    #[test]
    fn no_line_is_wider_than_the_columns_and_nothing_but_white_space_is_lost() {
        let text = "質問です how  wide e\u{301}te\u{301} is 🎉🎉🎉 this-word-is-longer-than-any-line and\ttabs end. ";
        for columns in 2..40 {
            let lines = wrapped(text, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:#?}");
            let words = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(words(&lines.concat()), words(text));
        }
    }
}
