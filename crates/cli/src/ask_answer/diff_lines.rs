//! The lines of a unified diff, each with what it says. Inside a hunk, the counts of its header decide: a removed line that begins with
//! `-- ` looks like the header of a file, and is none.

/// What a line of a diff says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// The line stays as it is, or this is no line of a hunk.
    Nothing,
    /// The line is added.
    Added,
    /// The line is removed.
    Removed,
    /// The head of a hunk: where it belongs.
    Hunk,
}

impl Says {
    /// A word for programs that show the line, such as the page's style.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "same",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Hunk => "hunk",
        }
    }
}

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
