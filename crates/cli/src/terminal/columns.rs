//! Text measured in terminal columns: a CJK character or an emoji takes two, a combining character none.

use unicode_width::UnicodeWidthStr;

use askbox_mailbox::one_line;

/// The number of columns that a text of one line takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// True if all terminals give this character as many columns as [`width`] does. This holds for Latin, Greek, Cyrillic, Chinese, Japanese
/// and Korean letters, and for the usual signs. Terminals disagree about emoji, flags, marks that take room, and many scripts.
pub fn is_sure(c: char) -> bool {
    let is_letter = matches!(c, '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}');
    let is_sign = matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2190}'..='\u{2199}' | '\u{2500}'..='\u{259f}');
    let is_wide = matches!(c, '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}');
    matches!(c, ' '..='~') || is_letter || is_sign || is_wide
}

/// The text, padded with spaces to at least `columns`.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The maximum number of characters that [`cut`] keeps for each column. A character may have any number of combining characters behind it.
const MAX_CHARACTERS: usize = 8;

/// The text, cut to `columns` with a `…` at the end if it is wider, or if it has too many characters for its width.
pub fn cut(text: &str, columns: usize) -> String {
    let kept = text.char_indices().nth(columns.saturating_mul(MAX_CHARACTERS)).map_or(text, |(end, _)| &text[..end]);
    if kept.len() == text.len() && width(text) <= columns {
        return text.to_owned();
    }
    let ends = kept.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| width(&text[..*end]) < columns).last().unwrap_or(0);
    format!("{}…", &text[..end])
}

/// A table. Every column is as wide as its widest cell, and each row is one line. Empty without rows.
///
/// Control characters are removed from the cells.
pub fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let mut table = Table::new(head);
    rows.iter().for_each(|row| table.push(&Table::row(row)));
    table.lines(rows.iter().map(Table::row)).collect()
}

/// A row of a [`Table`], in little memory: there may be a hundred thousand. The cells are of one line each, and a line feed is between
/// them.
pub type Row = Box<str>;

/// A [`table`] that is printed line by line.
pub struct Table<const N: usize> {
    head: Row,
    widths: [usize; N],
    is_empty: bool,
}

impl<const N: usize> Table<N> {
    /// A table without rows.
    pub fn new(head: [&str; N]) -> Self {
        let mut table = Self { head: Self::row(&head), widths: [0; N], is_empty: true };
        table.measure(&Self::row(&head));
        table
    }

    /// A row of these cells. Control characters are removed.
    pub fn row(cells: &[impl AsRef<str>; N]) -> Row {
        cells.each_ref().map(|cell| one_line(cell.as_ref())).join("\n").into()
    }

    /// Makes room for a row.
    pub fn push(&mut self, row: &str) {
        self.is_empty = false;
        self.measure(row);
    }

    fn measure(&mut self, row: &str) {
        for (widest, cell) in self.widths.iter_mut().zip(row.split('\n')) {
            *widest = (*widest).max(width(cell));
        }
    }

    /// The lines, with the head first. No line if there are no rows. `rows` are those that were pushed.
    pub fn lines(self, rows: impl Iterator<Item = Row>) -> impl Iterator<Item = String> {
        let Self { head, widths, is_empty } = self;
        let line = move |row: Row| {
            let cells: Vec<String> = row.split('\n').zip(widths).map(|(cell, width)| padded(cell, width)).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        std::iter::once(head).filter(move |_| !is_empty).chain(rows).map(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_aligns_and_drops_control_characters() {
        let rows = [["a".to_owned(), "x\x1b[31m".to_owned()], ["long".to_owned(), "y\nz".to_owned()]];
        assert_eq!(table(["ID", "TEXT"], &rows), "ID    TEXT\na     x[31m\nlong  y z\n");
        assert_eq!(table(["ID", "TEXT"], &[]), "");
    }

    #[test]
    fn wide_and_combining_characters_align() {
        let rows = ["質問", "🎉 ok", "e\u{301}te\u{301}", "plain"].map(|name| [name.to_owned(), "|".to_owned()]);
        let table = table(["NAME", "BAR"], &rows);
        let columns: Vec<usize> = table.lines().skip(1).map(|line| width(line.split('|').next().unwrap())).collect();
        assert_eq!(columns, [7; 4], "{table}");
    }

    #[test]
    fn what_terminals_disagree_about_is_known() {
        assert!("größe Ёлка … 質問です、한국어 → │".chars().all(is_sure));
        for odd in ["\u{1d165}", "🇦🇧", "\u{115f}", "\u{231a}\u{fe0e}", "नि", "ำ", "\u{f3e}", "e\u{301}", "👍"] {
            assert!(!odd.chars().all(is_sure), "{odd}");
        }
    }

    #[test]
    fn a_cut_line_is_never_wider_than_its_columns() {
        assert_eq!(cut("質問です", 5), "質問…");
        assert_eq!(cut("質問です", 4), "質…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("abc", 3), "abc");
        let combining = format!("e{}", "\u{301}".repeat(1 << 20));
        assert!(cut(&combining, 80).chars().count() < 1000 && cut(&format!("{combining}x"), 1).chars().count() < 1000);
    }
}
