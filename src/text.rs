//! Text from strangers, made safe for a terminal, a shell or one line.

/// True for what may drive a terminal or reorder what a reader sees: C0 and C1 controls but newline and tab,
/// DEL, bidirectional marks and overrides, zero-width and tag characters.
#[must_use]
fn is_hazardous(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2069}'
        | '\u{061C}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => true,
        c => c.is_control(),
    }
}

/// The text as it may be shown on a terminal: hazardous characters are dropped, `\r\n` becomes `\n`.
#[must_use]
pub fn printable(text: &str) -> String {
    text.replace("\r\n", "\n").chars().filter(|c| !is_hazardous(*c)).collect()
}

/// [`printable`], on one line: newlines and tabs become spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// The first `max` characters on one line, with `…` where it was cut.
#[must_use]
pub fn excerpt(text: &str, max: usize) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == max {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\t' | '\r' => out.push(' '),
            c if is_hazardous(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// JSON with every hazardous character as `\uXXXX`: the same value, harmless on a terminal.
#[must_use]
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && c != '\t' && is_hazardous(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// One POSIX shell word that stands for exactly this text, safe under `eval`.
#[must_use]
pub fn shell_quote(text: &str) -> String {
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b','));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_escape_loses_its_teeth() {
        assert_eq!(printable("a\x1b[31mred\x1b[0m\u{202e}x\u{9b}y\r\nz\u{7}"), "a[31mred[0mxy\nz");
        assert_eq!(one_line("a\nb\tc"), "a b c");
    }

    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt("abc", 3), "abc");
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let value = serde_json::json!({"a": "\u{9b}31m \u{202e} \u{e0041} \u{1b}[0m ä"});
        let escaped = escape_json(&value.to_string());
        assert_eq!(escaped, r#"{"a":"\u009b31m \u202e \udb40\udc41 \u001b[0m ä"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn a_shell_word_keeps_quotes_and_substitutions_as_text() {
        assert_eq!(shell_quote("plain-1.txt"), "plain-1.txt");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("$(rm) it's `x`"), r"'$(rm) it'\''s `x`'");
    }
}
