//! The context of a question as styled lines: Markdown, without anything that a terminal cannot show. HTML stays text.
//!
//! A Markdown table as lines: aligned columns, or a list of `head: cell` for each row if it is too wide.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::draw::pieces::{self, BOLD, dim, flow, indented, wrapped};
use askbox_cli::terminal::columns::width;

/// Markdown as lines of at most this many columns.
pub fn lines(markdown: &str, columns: usize) -> Vec<Line<'static>> {
    let clean = pieces::clean(markdown);
    let mut page = Page { columns, ..Page::default() };
    for event in Parser::new_ext(&clean, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS) {
        page.take(event);
    }
    page.end_paragraph();
    while page.out.last().is_some_and(|line| line.width() == 0) {
        page.out.pop();
    }
    page.out
}

#[derive(Default)]
struct Page {
    columns: usize,
    out: Vec<Line<'static>>,
    words: Vec<(String, Style)>,
    styles: Vec<Style>,
    /// The enclosing lists. For each, the number of its next item, if it is a numbered list.
    lists: Vec<Option<u64>>,
    /// The mark before the first line of an item.
    mark: Option<String>,
    quotes: usize,
    code: Option<String>,
    links: Vec<String>,
    table: Option<Table>,
}

impl Page {
    fn style(&self) -> Style {
        self.styles.iter().fold(Style::default(), |all, one| all.patch(*one))
    }

    fn indent(&self) -> usize {
        self.lists.len().saturating_sub(1) * 2 + self.quotes * 2
    }

    fn push(&mut self, words: impl Into<String>) {
        let style = self.style();
        self.words.push((words.into(), style));
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(text.into_string()),
            },
            Event::Code(code) => {
                let style = self.style().add_modifier(Modifier::REVERSED);
                self.words.push((code.into_string(), style));
            }
            Event::Html(html) | Event::InlineHtml(html) => self.push(html.into_string().replace('\n', " ")),
            // A person who writes two lines means two lines. The page shows them so, too.
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_paragraph();
                self.out.push(Line::from("─".repeat(self.columns.min(40))));
                self.out.push(Line::default());
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.push(text.into_string()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                let under = if level == HeadingLevel::H1 { Modifier::UNDERLINED } else { Modifier::empty() };
                self.styles.push(BOLD.add_modifier(under));
            }
            Tag::Strong => self.styles.push(BOLD),
            Tag::Emphasis => self.styles.push(Style::default().add_modifier(Modifier::ITALIC)),
            Tag::Strikethrough => self.styles.push(Style::default().add_modifier(Modifier::CROSSED_OUT)),
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(n)) => {
                        *n += 1;
                        format!("{}. ", *n - 1)
                    }
                    _ => "- ".into(),
                };
                self.mark = Some(mark);
            }
            Tag::BlockQuote(_) => {
                self.end_paragraph();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.end_line();
                self.code = Some(String::new());
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.links.push(dest_url.into_string()),
            Tag::Table(alignments) => {
                self.end_paragraph();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Paragraph if self.lists.is_empty() => self.end_paragraph(),
            TagEnd::Paragraph | TagEnd::Item => self.end_line(),
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.out.push(Line::default());
                }
            }
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let indent = self.indent() + 4;
                self.out.extend(wrapped(&code, self.columns.saturating_sub(indent)).into_iter().map(|line| indented(line, indent)));
                self.out.push(Line::default());
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                if let Some(table) = &mut self.table {
                    table.add(cell);
                }
            }
            TagEnd::Table => {
                let (indent, table) = (self.indent(), self.table.take().unwrap_or_default());
                let lines = table.lines(self.columns.saturating_sub(indent));
                self.out.extend(lines.into_iter().map(|line| indented(line, indent)));
                self.out.push(Line::default());
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(url) = self.links.pop().filter(|url| self.words.last().is_none_or(|(word, _)| word != url)) {
                    self.push(format!(" ({url})"));
                }
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let indent = self.indent();
        let mark = self.mark.take();
        let hanging = if self.lists.is_empty() { 0 } else { 2 };
        let mut words = std::mem::take(&mut self.words);
        if let Some(mark) = mark {
            words.insert(0, (mark, Style::default()));
        } else if hanging > 0 {
            words.insert(0, (" ".repeat(hanging), Style::default()));
        }
        let quote = if self.quotes > 0 { "│ " } else { "" };
        let room = self.columns.saturating_sub(indent);
        for line in flow(&words, room, hanging) {
            let mut line = indented(line, indent.saturating_sub(quote.chars().count()));
            line.spans.insert(0, quote.into());
            self.out.push(line);
        }
    }

    fn end_paragraph(&mut self) {
        if !self.words.is_empty() {
            self.end_line();
            self.out.push(Line::default());
        }
    }
}

/// The words between two columns.
const GAP: &str = "  ";

/// A table that is being read. The first row is its head.
#[derive(Debug, Default)]
pub struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
}

/// Styled words on one line.
type Cell = Vec<(String, Style)>;

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub fn add(&mut self, cell: Cell) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table in at most this many columns.
    pub fn lines(mut self, columns: usize) -> Vec<Line<'static>> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let head = self.rows.remove(0);
        let count = self.rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        let of_column = |n: usize| self.rows.iter().chain([&head]).filter_map(move |row| row.get(n));
        let widths: Vec<usize> = (0..count).map(|n| of_column(n).map(cell_width).max().unwrap_or(0)).collect();
        let total = widths.iter().sum::<usize>() + GAP.len() * count.saturating_sub(1);
        if total > columns {
            return self.as_list(&head, columns);
        }
        let line = |row: &Vec<Cell>| {
            let mut spans = Vec::new();
            for (n, (cell, wide)) in row.iter().zip(&widths).enumerate() {
                let left_over = wide.saturating_sub(cell_width(cell));
                let before = match self.alignments.get(n) {
                    Some(Alignment::Right) => left_over,
                    Some(Alignment::Center) => left_over / 2,
                    _ => 0,
                };
                spans.push(Span::raw(" ".repeat(before)));
                spans.extend(cell.iter().map(|(words, style)| Span::styled(words.clone(), *style)));
                spans.push(Span::raw(" ".repeat(left_over - before) + GAP));
            }
            spans.pop();
            Line::from(spans)
        };
        let rule = widths.iter().map(|wide| "─".repeat(*wide)).collect::<Vec<_>>().join(GAP);
        let mut lines = vec![line(&head).patch_style(BOLD), dim(rule)];
        lines.extend(self.rows.iter().map(line));
        lines
    }

    fn as_list(&self, head: &[Cell], columns: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            if n > 0 {
                lines.push(Line::default());
            }
            for (n, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let mut words: Cell = head.get(n).into_iter().flatten().map(|(words, style)| (words.clone(), style.patch(BOLD))).collect();
                if !words.is_empty() {
                    words.push((": ".into(), Style::default()));
                }
                words.extend(cell.iter().cloned());
                lines.extend(flow(&words, columns, 2));
            }
        }
        // A table without rows shows its head.
        if self.rows.is_empty() {
            lines.extend(head.iter().flat_map(|cell| flow(cell, columns, 2)));
        }
        lines
    }
}

fn cell_width(cell: &Cell) -> usize {
    cell.iter().map(|(words, _)| width(words)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, columns: usize) -> Vec<String> {
        let text = |line: &Line<'_>| line.spans.iter().map(|span| span.content.as_ref()).collect::<String>().trim_end().to_owned();
        lines(markdown, columns).iter().map(text).collect()
    }

    #[test]
    fn the_usual_marks_become_lines_and_nothing_is_lost() {
        let markdown = "# Plan\n\nThey *overlap*; see [docs](http://x.y).\n\n- one\n- two\n  1. inner\n\n> quoted\n\n```sh\nrm -rf x\n```\n\n<b>html</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        assert_eq!(
            shown(markdown, 60),
            [
                "Plan",
                "",
                "They overlap; see docs (http://x.y).",
                "",
                "- one",
                "- two",
                "  1. inner",
                "",
                "│ quoted",
                "",
                "    rm -rf x",
                "",
                "<b>html</b>",
                "",
                "a  b",
                "─  ─",
                "1  2"
            ]
        );
    }

    #[test]
    fn a_table_is_aligned_or_becomes_a_list_where_it_does_not_fit() {
        let markdown = "| step | `cost` | 名 |\n|:--|--:|:-:|\n| build the page | 12.5 | 速 |\n| ship |  | 遅い |\n";
        assert_eq!(
            shown(markdown, 40),
            ["step            cost   名", "──────────────  ────  ────", "build the page  12.5   速", "ship                  遅い"]
        );
        assert_eq!(shown(markdown, 20), ["step: build the page", "cost: 12.5", "名: 速", "", "step: ship", "名: 遅い"]);
    }

    #[test]
    fn control_characters_never_reach_the_lines() {
        assert!(!shown("a\u{1b}[31mred\u{202e}", 40).concat().contains(['\u{1b}', '\u{202e}']));
    }
}
