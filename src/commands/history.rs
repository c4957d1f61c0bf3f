//! `askbox history`: the rounds that were answered or are over, one after the other.

use askbox_cli::args::askbox_args::History;
use askbox_cli::terminal::fitted::wrapped;
use askbox_cli::{Context, program, screen};
use askbox_mailbox::documents::answer::{BY_DEFAULT, BY_EVENT};
use askbox_mailbox::{AnswerValue, Error, Outcome, Result, text, time};
use askbox_run::chain::forest;
use askbox_run::delivery::Delivery;
use askbox_run::view::history::AllHistory;
use askbox_run::view::history::{About, GivenAnswer, HistoryEntry};
use askbox_run::{Standing, Teller};

/// The number of rounds that people are shown if they do not set one.
const LIMIT: usize = 20;
/// The columns before the texts.
const INDENT: usize = 12;
/// The maximum number of lines of one text on a terminal.
const LINES: usize = 12;
/// The minimum number of columns for a text, however narrow the terminal is.
const NARROWEST: usize = 20;

/// Prints each round as soon as it is read, because there may be a million.
pub fn run(args: &History, context: &Context) -> Result<u8> {
    let mailbox = if args.id.is_some() { Some(args.common.open()?) } else { args.common.open_if_there()? };
    let Some(mailbox) = mailbox else { return Ok(0) };
    let limit = args.limit.or((!args.common.json).then_some(LIMIT)).filter(|limit| *limit > 0);
    let since = args.since.and_then(|age| chrono::TimeDelta::from_std(age).ok()).and_then(|age| time::now().checked_sub_signed(age));
    // One round more than is shown is read, to know if there are more.
    let teller = Teller::new(&mailbox, context.loaded());
    let found = AllHistory::find(&teller, args.id.as_ref(), since, limit.map(|limit| limit.saturating_add(1)))?;
    let (mut shown, mut is_cut, mut is_damaged, columns) = (0, false, false, screen::columns());
    for entry in found {
        let entry = match entry {
            Ok(entry) => entry,
            // A part of an archive is damaged. The other rounds are still shown.
            Err(e @ Error::Failed { .. }) => {
                program::warn(&format!("{e}; {}", e.hint()));
                is_damaged = true;
                continue;
            }
            Err(e) => return Err(e),
        };
        is_cut = limit.is_some_and(|limit| shown >= limit);
        if is_cut {
            break;
        }
        program::print_result(args.common.json, &entry, &in_words(&entry, columns, shown == 0))?;
        shown += 1;
    }
    if shown == 0
        && !is_damaged
        && let Some(id) = &args.id
    {
        forest::check_known(&mailbox, id)?;
    }
    if !args.common.json {
        program::print(&end(args, shown, is_cut))?;
    }
    Ok(u8::from(is_damaged))
}

/// The words below the rounds.
fn end(args: &History, shown: usize, is_cut: bool) -> String {
    let of = args.id.as_ref().map_or_else(String::new, |id| format!(" of {id}"));
    let within = args.since.map_or_else(String::new, |age| format!(" in the last {}", time::human(age)));
    match shown {
        0 => format!("no round{of} was answered or ended{within}\n"),
        _ if is_cut => format!("\n(there are more; --limit {} shows more of them, --limit 0 all)\n", shown.saturating_mul(5)),
        _ => String::new(),
    }
}

/// One round in words. A terminal gets every text wrapped, and a long one cut. Other output contains the whole texts.
fn in_words(entry: &HistoryEntry, columns: Option<usize>, is_first: bool) -> String {
    let status = &entry.status;
    let mut page = Page { out: String::new(), columns };
    let cost = status.cost_in_words().map_or_else(String::new, |cost| format!("  {cost}"));
    let at = status.since.map_or_else(String::new, |at| format!("  {}", moment(at, columns)));
    page.line(&format!("{}  {}{at}{cost}", status.workflow_id, status.state.word()));
    let label = match entry.about {
        Some(About::Task) => "task",
        Some(About::Results) => "news",
        _ => "question",
    };
    page.texts(label, &[entry.prompt.as_deref().unwrap_or(&status.question).to_owned()]);
    for part in &entry.questions {
        page.texts("", &[format!("{}: {}", text::one_line(&part.id), part.question)]);
    }
    if let Some(asked_by) = &status.asked_by {
        page.texts("asked by", &[text::one_line(asked_by)]);
    }
    if let Some(given) = &entry.answer {
        page.texts("answer", &answer(given, columns));
    }
    page.texts("taken", &taken(entry));
    page.texts("result", &status.result.iter().filter(|text| !text.trim().is_empty()).cloned().collect::<Vec<_>>());
    page.texts(if entry.closed.is_some() { "end" } else { "why" }, &ending(entry));
    page.texts("runner", &status.runner_in_words().map(|runner| text::one_line(&runner)).into_iter().collect::<Vec<_>>());
    page.texts("to do", &status.todo.iter().filter(|_| status.state.is_open()).cloned().collect::<Vec<_>>());
    page.texts("next", &status.next_beside_todo().map(str::to_owned).into_iter().collect::<Vec<_>>());
    for late in &entry.late_answers {
        page.texts("too late", &answer(late, columns));
    }
    if is_first { page.out } else { format!("\n{}", page.out) }
}

/// An answer and its author.
fn answer(given: &GivenAnswer, columns: Option<usize>) -> Vec<String> {
    let given = &given.answer;
    let at = given.at.map_or_else(String::new, |at| format!(", {}", moment(at, columns)));
    let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text::one_line(text) };
    let through = text::one_line(&given.means());
    let who = match (given.outcome, given.by.as_str()) {
        (Outcome::Declined, _) => format!("{} by {} through {through}{at}", given.word(), or(&given.by, "somebody")),
        (_, BY_EVENT) => format!("the event that it waited for{at}"),
        (_, BY_DEFAULT) => format!("the asker's default, because nobody answered in time{at}"),
        _ => format!("by {} through {through}{at}", or(&given.by, "somebody")),
    };
    let value = given.value.iter().flat_map(|value| match value {
        AnswerValue::Batch(parts) => parts.iter().map(|(id, value)| format!("{}: {}", text::one_line(id), in_text(value))).collect(),
        one => vec![one.to_text()],
    });
    let note = given.note.as_ref().map(|note| format!("note: {note}"));
    value.chain([who]).chain(note).collect()
}

/// A value of a batch.
fn in_text(value: &serde_json::Value) -> String {
    AnswerValue::from_json(value.clone()).map_or_else(|_| value.to_string(), |value| value.to_text())
}

/// The process that took the answer, if no agent was launched with it.
fn taken(entry: &HistoryEntry) -> Vec<String> {
    match entry.delivery {
        Some(taken @ (Delivery::Waiter | Delivery::Session | Delivery::MainAgent | Delivery::Dialog)) => {
            vec![format!("by {}", taken.who())]
        }
        Some(Delivery::Launch) | None => Vec::new(),
    }
}

/// The end of the round if it was not a delivery, or the reason why the round goes on.
fn ending(entry: &HistoryEntry) -> Vec<String> {
    let attempt = entry.status.attempt.filter(|attempt| *attempt > 1).map(|attempt| format!("{attempt} attempts"));
    let by = entry.closed.as_ref().filter(|_| entry.status.state != Standing::Delivered).map(|closed| {
        let by = if closed.by.is_empty() { String::new() } else { format!(" by {}", text::one_line(&closed.by)) };
        let said = match entry.status.state {
            Standing::Expired => "nobody answered in time".to_owned(),
            state => format!("{}{by}", state.word()),
        };
        closed.why.as_ref().map_or_else(|| said.clone(), |why| format!("{said}: {why}"))
    });
    // The run's own reason. The reason of the end is already in `by`.
    let closed_why = entry.closed.as_ref().and_then(|closed| closed.why.as_ref());
    let why = entry.status.why.as_ref().filter(|why| Some(*why) != closed_why).cloned();
    by.into_iter().chain(why).chain(attempt).collect()
}

/// A time: local on a terminal, UTC in other output.
fn moment(at: time::Time, columns: Option<usize>) -> String {
    if columns.is_some() { time::local(at) } else { time::rfc3339(at) }
}

struct Page {
    out: String,
    columns: Option<usize>,
}

impl Page {
    fn line(&mut self, line: &str) {
        let lines = self.columns.map_or_else(|| vec![line.to_owned()], |columns| wrapped(line, columns));
        for line in lines {
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    /// Texts under one label. Their lines are indented, so that none of them can pass for a line of askbox.
    fn texts(&mut self, label: &str, texts: &[String]) {
        let mut label = label;
        for text in texts {
            for line in self.lines_of(&text::printable(text)) {
                let line = format!("  {label:<width$}{line}", width = INDENT - 2);
                self.out.push_str(line.trim_end());
                self.out.push('\n');
                label = "";
            }
        }
    }

    fn lines_of(&self, text: &str) -> Vec<String> {
        let Some(columns) = self.columns else { return text.trim_end().lines().map(str::to_owned).collect() };
        let room = columns.saturating_sub(INDENT).max(NARROWEST);
        // Some characters take no column. Eight characters for each column are enough in any language.
        let most = room * LINES * 8;
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        let mut lines = wrapped(text[..end].trim_end(), room);
        if lines.len() > LINES || end < text.len() {
            lines.truncate(LINES - 1);
            lines.push(wrapped("… (there is more: pipe the output, or use --json)", room).swap_remove(0));
        }
        lines
    }
}
