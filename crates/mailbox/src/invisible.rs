//! Characters that a person cannot see, or that hide another character.

use unicode_normalization::char::canonical_combining_class;

/// True if a person could overlook the character, take it for another one, or not see the character that it covers: controls, white
/// space except the plain space, the tab and the newline, format characters, marks that enclose or cross a letter, and blank letters.
pub(crate) fn is_invisible(c: char) -> bool {
    if matches!(c, ' '..='~' | '\n' | '\t') {
        return false;
    }
    // Marks of the combining class 1 cross the letter in front of them, as a stroke does.
    c.is_control() || c.is_whitespace() || is_in_table(c) || is_blank(c) || canonical_combining_class(c) == 1
}

/// True for characters that are drawn as an empty space, although Unicode calls them letters and symbols.
fn is_blank(c: char) -> bool {
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
