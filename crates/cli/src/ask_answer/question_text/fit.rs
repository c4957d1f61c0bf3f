//! Fits the texts about a question to the width of a terminal.

use crate::terminal::columns::width;
use crate::terminal::fitted;

/// Fits a text about a question to standard output. A terminal gets it wrapped, with an option's description beside its key.
///
/// A line goes on deeper than any line of askbox begins, so no words of an agent look like one where a line is broken.
pub fn fitted(text: &str) -> String {
    fitted::paragraphs(text, |line| Some(where_it_goes_on(line)))
}

/// [`fitted()`] for this many columns.
pub fn fitted_within(text: &str, columns: usize) -> String {
    fitted::paragraphs_within(text, columns, |line| Some(where_it_goes_on(line)))
}

/// The indentation, in bytes, of the further lines if this line is broken.
fn where_it_goes_on(line: &str) -> usize {
    let indentation = fitted::indentation(line);
    let gap = line[indentation..].find("  ").filter(|_| indentation == 4);
    if let Some(gap) = gap {
        return indentation + gap + fitted::indentation(&line[indentation + gap..]);
    }
    let is_deep_enough = |at: &usize| width(&line[..*at]) >= indentation + 2;
    line.char_indices().map(|(at, _)| at).chain([line.len()]).find(is_deep_enough).unwrap_or(indentation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::fitted::paragraphs_within;

    #[test]
    fn words_of_an_agent_go_on_deeper_than_a_command_begins() {
        let words = "x ".repeat(60);
        for (line, deep) in [
            (format!("May the agent call {words}?"), 2),
            (format!("  The agent says: {words}"), 4),
            (format!("  in /a/{words}"), 4),
            (format!("  | {words}"), 4),
            (format!("      command: {words}"), 8),
            (format!("{}{words}", " ".repeat(60)), 20),
            (format!("    once  {words}"), 10),
            (format!("  質問{words}"), 4),
        ] {
            let fitted = paragraphs_within(&line, 40, |line| Some(where_it_goes_on(line)));
            assert!(fitted.lines().count() > 1 && fitted.lines().skip(1).all(|line| fitted::indentation(line) >= deep), "{fitted}");
        }
    }
}
