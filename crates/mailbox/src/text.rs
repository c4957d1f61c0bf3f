//! Makes untrusted text safe for a terminal, a shell, or a single line.
//!
//! Characters that a person cannot see, or that hide another character.

use unicode_normalization::char::canonical_combining_class;

/// True if a character may control a terminal or reorder the shown text: C0 and C1 controls except newline and tab, DEL,
/// bidirectional marks and overrides, zero-width and tag characters.
fn is_hazardous(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{061C}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => true,
        c => c.is_control(),
    }
}

/// True for characters other than the newline that begin a new line for some readers: a model, an editor, a script.
fn ends_a_line_for_some(c: char) -> bool {
    matches!(c, '\r' | '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// True if a person sees nothing: the text is empty, or holds only white space and characters that cannot be seen.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// True if the character begins a new line for any reader.
pub fn ends_a_line(c: char) -> bool {
    c == '\n' || ends_a_line_for_some(c)
}

/// Returns the text for a terminal: without hazardous characters, with `\n` for `\r\n`, and with a space for every other end of a
/// line. Hazardous characters may control the terminal or reorder the text.
pub fn printable(text: &str) -> String {
    // Most texts are safe for a terminal as they are.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return text.to_owned();
    }
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if ends_a_line_for_some(c) { ' ' } else { c }).filter(|c| !is_hazardous(*c)).collect()
}

/// Returns the text with every character as `\u{…}` that a person could mistake or overlook. Use it for texts
/// that a person must see exactly as they are. A backslash in front of `u{` becomes `\u{5c}`, so no text looks like an escape that is none.
pub fn visible(text: &str) -> String {
    written_out(text, true)
}

/// Returns a text of [`visible`] as it is. If it is not one, its invisible characters are written out.
pub fn still_visible(text: &str) -> String {
    written_out(text, false)
}

/// Returns the text that [`visible`] shows like this. A person may also write `\u{…}` by hand; one that names no character stays as it is.
pub fn of_visible(shown: &str) -> String {
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((before, escape)) = rest.split_once("\\u{") {
        out.push_str(before);
        let digits = escape.split_once('}').filter(|(digits, _)| (1..=6).contains(&digits.len()) && !digits.starts_with('+'));
        let named = digits.and_then(|(digits, behind)| Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, behind)));
        rest = match named {
            Some((c, behind)) => {
                out.push(c);
                behind
            }
            None => {
                out.push_str("\\u{");
                escape
            }
        };
    }
    out + rest
}

fn written_out(text: &str, is_raw: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let looks_escaped = is_raw && text[at..].starts_with("\\u{");
        if looks_escaped || is_invisible(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Returns the text as [`printable`] does, but on one line: newlines and tabs become spaces.
pub fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Returns the first `max` bytes unchanged, cut at a whole character, with `…` if there are more.
pub fn beginning(text: &str, max: usize) -> String {
    if text.len() <= max { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(max)]) }
}

/// Returns the first `max` characters on one line, without hazardous characters, with `…` if there are more.
pub fn excerpt(text: &str, max: usize) -> String {
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == max {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\t' => out.push(' '),
            c if ends_a_line_for_some(c) => out.push(' '),
            c if is_hazardous(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Returns the same JSON value with every hazardous character as `\uXXXX`.
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && c != '\t' && (is_hazardous(c) || ends_a_line_for_some(c)) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns a text without the byte order mark of UTF-8, which editors on Windows write in front of it.
pub fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes)
}

/// Returns the bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Returns one word of a POSIX shell that stands for exactly this text, also under `eval`.
pub fn shell_quote(text: &str) -> String {
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b','));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Returns a file's name or path as one word of a shell (bash, zsh, ksh) that is safe to print. Bytes that are not UTF-8, control
/// characters and characters that reorder text are escaped as in `$'\377'`.
pub fn path_word(path: impl AsRef<std::ffi::OsStr>) -> String {
    let path = path.as_ref();
    match path.to_str() {
        Some(text) if !needs_escapes(text) => shell_quote(text),
        _ => format!("$'{}'", escaped(path, true)),
    }
}

/// Returns a file's name or path to be shown: unchanged, or with the escapes of [`path_word`] but without its quotes.
pub fn file_name(path: impl AsRef<std::ffi::OsStr>) -> String {
    let path = path.as_ref();
    match path.to_str() {
        Some(text) if !needs_escapes(text) => text.to_owned(),
        _ => escaped(path, false),
    }
}

fn needs_escapes(text: &str) -> bool {
    text.chars().any(|c| is_hazardous(c) || matches!(c, '\n' | '\t'))
}

fn escaped(path: &std::ffi::OsStr, for_shell: bool) -> String {
    let mut out = String::new();
    let octal = |out: &mut String, bytes: &[u8]| bytes.iter().for_each(|b| out.push_str(&format!("\\{b:03o}")));
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                c if is_hazardous(c) || matches!(c, '\n' | '\t') => octal(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
                '\\' => out.push_str("\\\\"),
                '\'' if for_shell => out.push_str("\\'"),
                c => out.push(c),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out
}

/// True if a person could overlook the character, take it for another one, or not see the character that it covers: controls, white
/// space except the plain space, the tab and the newline, format characters, marks that enclose or cross a letter, and blank letters.
fn is_invisible(c: char) -> bool {
    if matches!(c, ' '..='~' | '\n' | '\t') {
        return false;
    }
    // Marks of the combining class 1 cross the letter in front of them, as a stroke does.
    c.is_control() || c.is_whitespace() || is_in_table(c) || is_drawn_blank(c) || canonical_combining_class(c) == 1
}

/// True for characters that are drawn as an empty space, although Unicode calls them letters and symbols.
fn is_drawn_blank(c: char) -> bool {
    // Braille without dots, a filler of the Khitan script, a note without a head.
    matches!(c, '\u{2800}' | '\u{16FE4}' | '\u{1D159}')
}

fn is_in_table(c: char) -> bool {
    let place = IGNORED.partition_point(|(_, last)| *last < c);
    IGNORED.get(place).is_some_and(|(first, _)| *first <= c)
}

/// The ranges of the characters that have Unicode's property Default_Ignorable_Code_Point, or the general category Format or
/// Enclosing_Mark. The test below makes the table: after an update of `regex-syntax`, copy the rows that it prints.
const IGNORED: [(char, char); 30] = [
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{488}', '\u{489}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{1ABE}', '\u{1ABE}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{20DD}', '\u{20E0}'),
    ('\u{20E2}', '\u{20E4}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{A670}', '\u{A672}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_and_bidi_overrides_are_dropped() {
        assert_eq!(printable("a\x1b[31mred\x1b[0m\u{202e}x\u{9b}y\r\nz\u{7}"), "a[31mred[0mxy\nz");
        assert_eq!(one_line("a\nb\tc"), "a b c");
    }

    #[test]
    fn no_character_but_the_newline_begins_a_line() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\rg\u{1c}h";
        assert_eq!(printable(text), "a b c d e f g h");
        assert_eq!((one_line(text), excerpt(text, 99)), (printable(text), printable(text)));
        assert_eq!(escape_json("\"a\u{2028}b\""), "\"a\\u2028b\"");
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(visible("\u{1bca0}\u{fff0}e\u{e0080}a\u{338}"), "\\u{1bca0}\\u{fff0}e\\u{e0080}a\\u{338}");
        assert_eq!(visible("rm\u{202e}x \ta\r\nb\u{a0}ü\u{200b}"), "rm\\u{202e}x \ta\\u{d}\nb\\u{a0}ü\\u{200b}");
    }

    #[test]
    fn a_text_that_looks_escaped_is_told_from_an_escape() {
        assert_eq!(visible(r"\u{202e}"), r"\u{5c}u{202e}");
        assert_eq!(visible(r"\\u{5c}u{202e} C:\users \u00e9"), r"\\u{5c}u{5c}u{202e} C:\users \u00e9");
        let texts = ["\u{202e}", r"\u{202e}", r"\\u{202e}", r"\u{5c}u{202e}", r"\\u{5c}u{202e}", "\\\u{202e}"];
        for (n, text) in texts.iter().enumerate() {
            assert!(texts[..n].iter().all(|other| visible(other) != visible(text)), "{text}");
            assert_eq!(still_visible(&visible(text)), visible(text));
        }
        assert_eq!(still_visible("rm\u{202e}"), r"rm\u{202e}");
    }

    #[test]
    fn a_text_written_out_is_read_back_as_it_was() {
        for text in
            ["a\u{202e}b\u{200b}", "\\u{200b}", "\\\\u{a}\u{9}", "\\u{\u{5c}u{5c}u{200b}", "\\", "\\u{", "é\r\nx", "\u{1b}[31m\u{e0041}"]
        {
            assert_eq!(of_visible(&visible(text)), text, "{text:?}");
        }
        for as_it_is in ["\\u{}", "\\u{110000}", "\\u{d800}", "\\u{+9}", "\\u{0000009}", "\\u{9", "\\u9}"] {
            assert_eq!(of_visible(as_it_is), as_it_is);
        }
        assert_eq!(of_visible("\\u{41}\\u{00E9}"), "Aé");
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
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 9, 0x1f, 0xa0, 0xff]), "00091fa0ff");
    }

    #[test]
    fn a_shell_word_keeps_quotes_and_substitutions_as_text() {
        assert_eq!(shell_quote("plain-1.txt"), "plain-1.txt");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("$(rm) it's `x`"), r"'$(rm) it'\''s `x`'");
    }
}

#[cfg(test)]
mod tests_of_invisible {
    use super::*;

    #[test]
    fn the_table_is_that_of_unicode() {
        let wanted = regex_syntax::Parser::new().parse(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Me}]").unwrap();
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) = wanted.kind() else { panic!("{wanted:?}") };
        let wanted: Vec<_> = class.ranges().iter().map(|range| (range.start(), range.end())).collect();
        let rows = || wanted.iter().map(|(first, last)| format!("    ('\\u{{{:X}}}', '\\u{{{:X}}}'),\n", *first as u32, *last as u32));
        assert!(IGNORED.as_slice() == wanted, "const IGNORED: [(char, char); {}] = [\n{}];", wanted.len(), rows().collect::<String>());
    }

    #[test]
    fn what_cannot_be_seen_is_told_from_what_can() {
        let ranges = [
            '\u{0}'..='\u{8}',
            '\u{B}'..='\u{1F}',
            '\u{7F}'..='\u{A0}',
            '\u{AD}'..='\u{AD}',
            '\u{2000}'..='\u{200F}',
            '\u{2028}'..='\u{202F}',
            '\u{2060}'..='\u{206F}',
            '\u{FE00}'..='\u{FE0F}',
            '\u{FFF0}'..='\u{FFFB}',
            '\u{13430}'..='\u{13438}',
            '\u{16FE4}'..='\u{16FE4}',
            '\u{1BCA0}'..='\u{1BCA3}',
            '\u{1D173}'..='\u{1D17A}',
            '\u{E0000}'..='\u{E0FFF}',
            '\u{334}'..='\u{338}',
            '\u{20D2}'..='\u{20D3}',
            '\u{20DD}'..='\u{20E0}',
            '\u{115F}'..='\u{1160}',
            '\u{3164}'..='\u{3164}',
            '\u{FFA0}'..='\u{FFA0}',
            '\u{2800}'..='\u{2800}',
        ];
        for c in ranges.into_iter().flatten() {
            assert!(is_invisible(c), "{}", c.escape_unicode());
        }
        // Letters with their accents, also composed of two characters; scripts with vowel signs; emoji.
        for c in "a Z~\nüe\u{301}ß中日본हिन्दीไทยעברית👍€—…".chars() {
            assert!(!is_invisible(c), "{}", c.escape_unicode());
        }
    }
}
