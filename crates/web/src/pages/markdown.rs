//! Markdown of a question or a result as HTML. Raw HTML stays text, and an image becomes a link to it. A link can only lead to a web page
//! or a mail address. Each block finds its own direction, and a wide table scrolls by itself. A line that was written as one stays a line.

use askama::filters;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::gate::Hosts;
use askbox_mailbox::text;

/// Markdown as HTML that cannot run or load anything.
pub fn to_html(hosts: &Hosts, markdown: &str) -> String {
    let clean = text::printable(markdown);
    let mut page = Page { hosts, links: Vec::new(), lists: 0 };
    let events = parser(&clean).flat_map(|event| page.harmless(event));
    let mut out = String::with_capacity(clean.len() + clean.len() / 4);
    html::push_html(&mut out, events);
    out
}

/// Markdown as HTML if it clearly is Markdown. `None` for other text, such as a drawing or code, whose lines and spaces must stay.
pub fn to_html_if_marked_up(hosts: &Hosts, text: &str) -> Option<String> {
    let is_markup = |event: Event<'_>| match event {
        Event::Code(_) => true,
        Event::Start(tag) => {
            matches!(tag, Tag::Table(_) | Tag::Link { .. } | Tag::Strong | Tag::CodeBlock(CodeBlockKind::Fenced(_)))
        }
        _ => false,
    };
    parser(&text::printable(text)).any(is_markup).then(|| to_html(hosts, text))
}

fn parser(clean: &str) -> Parser<'_> {
    Parser::new_ext(clean, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

struct Page<'h> {
    hosts: &'h Hosts,
    /// The end of each enclosing link, if it is really made a link.
    links: Vec<Option<&'static str>>,
    /// The number of enclosing lists. A list has one direction, with all of its items.
    lists: usize,
}

/// The end of a link, and of one that may lead to the page's own host. Another server there can pretend to be the page.
const END: &str = "</a>";
const END_OF_OWN: &str = "</a> <strong>(a server on this page's own host: do not sign in there)</strong>";

impl Page<'_> {
    /// The same event or events, harmless.
    fn harmless<'a>(&mut self, event: Event<'a>) -> impl Iterator<Item = Event<'a>> + use<'a> {
        let html = |html: String| Event::Html(html.into());
        // A table scrolls inside a box of its own, which the keyboard reaches as well.
        let before = matches!(event, Event::Start(Tag::Table(_)))
            .then(|| html("<div class=\"wide\" dir=\"auto\" role=\"region\" aria-label=\"Table\" tabindex=\"0\">".into()));
        let after = matches!(event, Event::End(TagEnd::Table)).then(|| html("</div>\n".into()));
        let event = match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            // An image would tell its server when and where it was looked at, so it becomes a link with the image's text.
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let scheme = dest_url.to_ascii_lowercase();
                let leads = ["http://", "https://", "mailto:"].iter().any(|known| scheme.starts_with(known));
                self.links.push(leads.then(|| if self.hosts.may_be_own(&dest_url) { END_OF_OWN } else { END }));
                if leads {
                    let Ok(url) = filters::escape(&*dest_url, filters::Html);
                    let open = format!("<a href=\"{url}\" title=\"{url}\" rel=\"noopener noreferrer\" target=\"_blank\">");
                    Event::InlineHtml(open.into())
                } else {
                    Event::Text("".into())
                }
            }
            Event::End(TagEnd::Link | TagEnd::Image) => match self.links.pop() {
                Some(Some(end)) => Event::InlineHtml(end.into()),
                _ => Event::Text("".into()),
            },
            Event::Start(Tag::List(first)) => {
                self.lists += 1;
                html(match first {
                    None => "\n<ul dir=\"auto\">\n".into(),
                    Some(first) => format!("\n<ol dir=\"auto\" start=\"{first}\">\n"),
                })
            }
            Event::End(TagEnd::List(is_numbered)) => {
                self.lists = self.lists.saturating_sub(1);
                Event::End(TagEnd::List(is_numbered))
            }
            // Agents write a fact a line. Without empty lines between them, Markdown would join them.
            Event::SoftBreak => Event::HardBreak,
            Event::Start(Tag::Paragraph) if self.lists == 0 => html("\n<p dir=\"auto\">".into()),
            // The page already has headings of the first and the second level.
            Event::Start(Tag::Heading { level, .. }) => html(format!("\n<{} dir=\"auto\">", lower(level))),
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
            other => other,
        };
        before.into_iter().chain([event]).chain(after)
    }
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_html(markdown: &str) -> String {
        super::to_html(&Hosts::new(&askbox_config::Web::default()), markdown)
    }

    fn to_html_if_marked_up(text: &str) -> Option<String> {
        super::to_html_if_marked_up(&Hosts::new(&askbox_config::Web::default()), text)
    }

    #[test]
    fn markdown_becomes_html() {
        let html = to_html(
            "# Plan\n\nThey *overlap*; see [docs](https://x.y/?a=1&b=2).\n\n- one\n- two\n\n```sh\nrm -rf <x>\n```\n\n| a |\n|---|\n| 1 |\n",
        );
        for wanted in [
            "<h3 dir=\"auto\">Plan</h3>",
            "<em>overlap</em>",
            "href=\"https://x.y/?a=1&#38;b=2\"",
            "<li>one</li>",
            "rm -rf &lt;x&gt;",
            "<td>1</td>",
        ] {
            assert!(html.contains(wanted), "no {wanted} in {html}");
        }
    }

    #[test]
    fn lines_of_a_context_stay_lines() {
        assert_eq!(to_html("Host: a\nPort: 2").trim(), "<p dir=\"auto\">Host: a<br />\nPort: 2</p>");
    }

    #[test]
    fn each_block_has_its_direction_and_a_table_its_box() {
        let html = to_html("One.\n\n- \u{5d0}\n- two\n\n   more\n\n3. three\n\n| a |\n|---|\n| 1 |\n\nEnd.");
        for wanted in
            ["<p dir=\"auto\">One.</p>", "<ul dir=\"auto\">", "<p>two</p>", "<ol dir=\"auto\" start=\"3\">", "<p dir=\"auto\">End.</p>"]
        {
            assert!(html.contains(wanted), "no {wanted} in {html}");
        }
        let (before, table) = html.split_once("<div class=\"wide\"").expect("a box");
        assert!(!before.contains("<table>") && table.contains("<table>") && table.contains("</table>\n</div>"), "{html}");
    }

    #[test]
    fn only_marked_up_previews_are_drawn_as_markdown() {
        for plain in
            ["CREATE TABLE a (b int);", "+---+\n| a |\n+---+", "  two\n    four", "services:\n  - web", "# a comment\nx=1", "a * b * c"]
        {
            assert_eq!(to_html_if_marked_up(plain), None, "{plain}");
        }
        for marked in ["```sql\nSELECT 1\n```", "| a |\n|---|\n| 1 |", "**bold**", "see `x`"] {
            assert!(to_html_if_marked_up(marked).is_some(), "{marked}");
        }
    }

    #[test]
    fn nothing_in_it_runs_loads_or_leads_astray() {
        let hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\nhello <b onclick=x>b</b> ![eye](https://spy.example/p.png) \
                       [a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](\"onmouseover=x) [e](/q/w/q) <javascript:x> \
                       [f](https://x/\"onfocus=\"x) \u{202e}\n\n# h {#main .x onclick=x}\n\n[g]: javascript:x\n[g]\n";
        let html = to_html(hostile);
        for bad in [
            "<script", "<img", "<b ", "href=\"javascript", "href=\"JaVa", "href=\"data", "href=\"/q", "\"onfocus", "id=\"main\"",
            "\u{202e}",
        ] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
        assert!(html.contains("&lt;script&gt;") && html.contains(">eye</a>"), "nothing is hidden: {html}");
        // Every remaining tag is one of ours.
        let tags = html.split('<').skip(1).map(|tag| tag.split(['>', ' ']).next().unwrap_or_default().trim_start_matches('/'));
        let known = ["p", "a", "div", "h3", "h4", "h5", "em", "strong", "ul", "ol", "li", "code", "pre", "table", "br"];
        tags.for_each(|tag| assert!(known.contains(&tag), "{tag} in {html}"));
    }
}
