//! A reply as a cell of the table.

use crate::support::World;

/// Sentences that many programs are told, and their marks in the table.
pub(super) const MARKS: [(&str, &str); 4] = [
    ("①", "Do not try to reach the same in another way: go on without it, or end your turn and say what is missing."),
    ("②", "Do not guess an answer: go on without it, or end your turn and say what is missing."),
    (
        "③",
        "This call is not allowed. Find out what they ask, then make the call again and reply in its description, or ask with your own tool.",
    ),
    ("④", "This is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it."),
];

/// The forms of ids and times. Each `x` is a digit.
const FORMS: [(&str, &str); 2] = [("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "UUID"), ("xxxx-xx-xxTxx:xx:xx.xxxZ", "TIME")];

fn as_code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// The refusal that the person reads, or the lines that the program has received.
pub(super) fn cell(world: &World, id: &str, refused: Option<&str>, lines: &[String]) -> String {
    let name = |text: &str| {
        let mut text = text.replace(&world.root().display().to_string(), "PATH").replace(id, "QUESTION");
        for (form, name) in FORMS {
            let fits = |(c, f): (u8, u8)| if f == b'x' { c.is_ascii_hexdigit() } else { c == f };
            let place = |text: &str| text.as_bytes().windows(form.len()).position(|part| part.iter().copied().zip(form.bytes()).all(fits));
            while let Some(at) = place(&text) {
                text.replace_range(at..at + form.len(), name);
            }
        }
        MARKS.iter().fold(text, |text, (mark, words)| text.replace(words, mark)).replace('|', "\\|")
    };
    match refused {
        Some(words) => format!("refused: {}", name(words.lines().next().unwrap_or_default().trim_start_matches("error: "))),
        None => lines.iter().map(|line| as_code(&name(line))).collect::<Vec<_>>().join("<br>"),
    }
}
