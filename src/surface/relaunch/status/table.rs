//! `relaunch status`: a table, or JSON Lines.

use crate::config;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::view::activity::Refused;
use crate::run::view::status::{self, Standing, Status, View};
use crate::surface::program::{self, Context};
use crate::surface::relaunch::hold_queue;
use crate::surface::relaunch::status::queue_state;
use crate::surface::terminal::fitted;
use crate::{text, time};

/// Prints one workflow, or all that are not over.
pub fn show(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    let found = look(mailbox, context, workflow)?;
    if !json {
        hold_queue::warn(mailbox);
    }
    if json {
        found.iter().try_for_each(program::print_json)?;
    } else {
        program::print(&words(&found, context, workflow.is_some()))?;
    }
    Ok(0)
}

/// The workflows to show.
pub(super) fn look(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>) -> Result<Vec<Status>> {
    let mut found = match workflow {
        Some(workflow) => vec![status::of(mailbox, workflow)?],
        None => status::open(mailbox)?,
    };
    queue_state::explain(mailbox, context, found.iter_mut())?;
    Ok(found)
}

/// The workflows in words: one with its details if `one`, otherwise a table.
pub(super) fn words(found: &[Status], context: &Context, one: bool) -> String {
    match found {
        [status] if one => fitted::paragraphs(&details(status, context), value_of_details),
        [] => "nothing is open\n".into(),
        all => fitted::rows(&table(all)),
    }
}

/// The time since the round has its state.
pub(super) fn age(status: &Status) -> String {
    status.since.map(|t| time::human(time::since(t))).unwrap_or_default()
}

fn table(all: &[Status]) -> String {
    let width = all.iter().map(|s| s.workflow_id.as_str().len()).max().unwrap_or(0).clamp(8, 44);
    let mut out = format!("{:<width$}  {:<11}  {:>8}  {}\n", "WORKFLOW", "STATE", "AGE", "QUESTION");
    for status in all {
        let why = status.why.as_ref().map(|w| format!("  ({})", text::excerpt(w, 60))).unwrap_or_default();
        out.push_str(&format!(
            "{:<width$}  {:<11}  {:>8}  {}{why}\n",
            status.workflow_id,
            status.state.word(),
            age(status),
            text::excerpt(&status.question, 60)
        ));
        if let Some(live) = &status.live {
            out.push_str(&format!("{:<width$}  {}", "", live.words));
            out.push_str(&if live.turns > 0 { format!(", {}", took(live)) } else { String::new() });
            out.push_str(&if live.last_words.is_empty() { "\n".into() } else { format!(": {}\n", text::excerpt(&live.last_words, 80)) });
        }
    }
    out
}

/// `3 turns, 12.3k tokens, $0.0450`.
pub(crate) fn took(live: &View) -> String {
    let tokens = live.tokens;
    let sum = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation].into_iter().fold(0, u64::saturating_add);
    let sum = if sum < 10_000 { sum.to_string() } else { format!("{}.{}k", sum / 1000, sum % 1000 / 100) };
    let turns = if live.turns == 1 { "turn" } else { "turns" };
    format!("{} {turns}, {sum} tokens, ${:.4}", live.turns, live.cost_usd)
}

/// What was refused, and the line of the configuration that permits it.
fn refused(refused: &Refused, context: &Context) -> String {
    let calls =
        if refused.calls == 1 { "1 call that nobody had permitted" } else { &format!("{} calls that nobody had permitted", refused.calls) };
    if refused.rules.is_empty() {
        return calls.to_owned();
    }
    let Ok((name, runner)) = context.loaded().and_then(|loaded| loaded.config.runner(None)) else { return calls.to_owned() };
    let asked = refused.rules.iter().map(|rule| rule.excerpt(80));
    let rules: Vec<_> = runner.allowed_tools.iter().cloned().chain(asked).map(|rule| format!("{rule:?}")).collect();
    let file = config::location().map(|path| path.display().to_string()).unwrap_or_default();
    let permit = format!("{calls}; to permit them, in {file}:\n[runner.{name}]\nallowed_tools = [{}]", rules.join(", "));
    let ask: Vec<_> = refused.rules.iter().map(|rule| format!("{:?}", rule.excerpt(80))).collect();
    format!("{permit}\nor, to be asked about each of them:\n[approvals]\nask = [{}]", ask.join(", "))
}

/// Where the value of a line of details begins. The lines of a configuration stay as they are: they are there to be copied.
fn value_of_details(line: &str) -> Option<usize> {
    (!["allowed_tools = ", "ask = "].iter().any(|key| line.trim_start().starts_with(key))).then_some(11)
}

fn details(status: &Status, context: &Context) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            out.push_str(&format!("{name:<10} {}\n", text::printable(&value).replace('\n', "\n           ")));
        }
    };
    line("workflow", Some(status.workflow_id.to_string()));
    line("state", Some(format!("{} {}", status.state.word(), status.since.map(|_| format!("for {}", age(status))).unwrap_or_default())));
    line("doing", status.live.as_ref().filter(|_| status.state == Standing::Running).map(|l| l.words.clone()));
    line("took", status.live.as_ref().filter(|l| l.turns > 0).map(took));
    line("last words", status.live.as_ref().map(|l| l.last_words.clone()));
    line("refused", status.live.as_ref().and_then(|live| live.refused.as_ref()).map(|refusals| refused(refusals, context)));
    line("round", status.question_id.map(|q| q.to_string()));
    line("question", Some(status.question.clone()));
    line("asked by", status.asked_by.clone());
    line("attempt", status.attempt.map(|a| a.to_string()));
    line("session", status.session_id.map(|s| s.to_string()));
    line("retry at", status.retry_at.map(fitted::moment));
    line("why", status.why.clone());
    line("to do", status.todo.clone());
    line("cost", status.cost_usd.map(|c| format!("${c:.4}")));
    line("result", status.result.clone());
    out
}
