//! `relaunch status`: a table, or JSON Lines. With `-f` it is kept up to date, and `--summary` shows numbers. The queue's state is the
//! reason why answered workflows wait.

use crate::report::reports;
use askbox_cli::live_view::{self, Picture};
use askbox_cli::person::warn_of_queue;
use askbox_cli::{Context, fitted, program};
use askbox_config as config;
use askbox_mailbox::{Error, Mailbox, Result, Time, WorkflowId, read_question, text, time};
use askbox_run::activity::live::Refused;
use askbox_run::attempt::auto_choice::AutoChoice;
use askbox_run::story::queue::Queue;
use askbox_run::story::{self, OpenWorkflows, View, cause};
use askbox_run::view::archived;
use askbox_run::{Cause, Standing, Story, Teller};
use askbox_sessions::codex;

/// Prints one workflow, or all workflows that are not over.
pub fn show(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    let teller = Teller::new(mailbox, context.loaded());
    let Some(workflow) = workflow else { return show_open(&teller, json) };
    let mut story = of_one(&teller, workflow)?;
    if story.is_of_session {
        of_session(mailbox, context, &mut story);
    }
    if json {
        program::print_json(&story)?;
    } else {
        warn_of_queue(&teller);
        program::print(&words(&[story], context, true))?;
    }
    Ok(0)
}

/// Adds the reason why the session that takes this answer is not told of it.
fn of_session(mailbox: &Mailbox, context: &Context, story: &mut Story) {
    let Ok(document) = read_question::answered(mailbox, &story.workflow_id) else { return };
    let loaded = context.loaded().ok();
    if let Ok(Some(why)) = codex::untold(mailbox, loaded.as_ref().map(|loaded| &loaded.config), &document.typed) {
        story.why = Some(format!("the session that asked is not told of the answer, because {why}"));
    }
}

/// How many workflows are printed together.
const AT_ONCE: usize = 256;

/// Prints all workflows that are not over, some at a time: a hundred thousand may wait.
fn show_open(teller: &Teller<'_>, json: bool) -> Result<u8> {
    if !json {
        warn_of_queue(teller);
    }
    let open = OpenWorkflows::find(teller.mailbox())?;
    let (width, mut is_first, mut held_up) = (id_width(open.ids()), true, None);
    let mut stories = open.stories(teller);
    loop {
        let some: Vec<Story> = stories.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        let no_watcher = |story: &Story| story.hold_ups.iter().find(|hold_up| hold_up.cause == Cause::NoWatcher).cloned();
        held_up = held_up.or_else(|| some.iter().filter(|story| story.cause == Some(Cause::NoWatcher)).find_map(no_watcher));
        let head = if std::mem::take(&mut is_first) { head(width) } else { String::new() };
        match json {
            true => some.iter().try_for_each(program::print_json)?,
            false => program::print(&fitted::rows(&(head + &rows(&some, width))))?,
        }
    }
    if is_first && !json {
        program::print("nothing is open\n")?;
    }
    // The rows have no room for the command. Other causes were told above.
    if let Some(hold_up) = held_up.filter(|_| !json) {
        program::warn(&hold_up.words());
    }
    Ok(0)
}

/// The workflows to show.
fn look(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>) -> Result<Vec<Story>> {
    let teller = Teller::new(mailbox, context.loaded());
    if let Some(workflow) = workflow { Ok(vec![of_one(&teller, workflow)?]) } else { teller.open() }
}

/// The story of one workflow, whose rounds may all be archived.
fn of_one(teller: &Teller<'_>, workflow: &WorkflowId) -> Result<Story> {
    match teller.of_workflow(workflow) {
        Err(e @ Error::NotFound { .. }) => archived::story(teller.mailbox(), workflow)?.ok_or(e),
        other => other,
    }
}

fn words(found: &[Story], context: &Context, one: bool) -> String {
    // Where the value begins in a line of details. The lines of a configuration stay as they are: people copy them.
    let value_of = |line: &str| (!["allowed_tools = ", "ask = "].iter().any(|key| line.trim_start().starts_with(key))).then_some(11);
    match found {
        [story] if one => fitted::paragraphs(&details(story, context), value_of),
        [] => "nothing is open\n".into(),
        all => fitted::rows(&table(all)),
    }
}

/// The time since the round entered its state.
fn age(status: &Story) -> String {
    status.since.map(|t| time::human(time::since(t))).unwrap_or_default()
}

fn table(all: &[Story]) -> String {
    let width = id_width(all.iter().map(|status| &status.workflow_id));
    head(width) + &rows(all, width)
}

fn id_width<'a>(ids: impl Iterator<Item = &'a WorkflowId>) -> usize {
    ids.map(|id| id.as_str().len()).max().unwrap_or(0).clamp(8, 44)
}

fn head(width: usize) -> String {
    format!("{:<width$}  {:<11}  {:>8}  {}\n", "WORKFLOW", "STATE", "AGE", "QUESTION")
}

fn rows(all: &[Story], width: usize) -> String {
    let mut out = String::new();
    for status in all {
        let why = status.why_in_short().map(|why| format!("  ({})", text::excerpt(why, 60))).unwrap_or_default();
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

/// A run's turns, tokens and cost: `3 turns, 12.3k tokens, $0.0450`.
pub fn took(live: &View) -> String {
    let tokens = live.tokens;
    let sum = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation].into_iter().fold(0, u64::saturating_add);
    let sum = if sum < 10_000 { sum.to_string() } else { format!("{}.{}k", sum / 1000, sum % 1000 / 100) };
    let turns = if live.turns == 1 { "turn" } else { "turns" };
    let cost = live.cost_usd.map_or_else(|| "cost unknown".to_owned(), story::dollars);
    format!("{} {turns}, {sum} tokens, {cost}", live.turns)
}

/// Names a tool call that was refused, and the line of the configuration that would permit it.
fn refused_in_words(refused: &Refused, workflow: &WorkflowId, context: &Context) -> String {
    let calls =
        if refused.calls == 1 { "1 call that nobody had permitted" } else { &format!("{} calls that nobody had permitted", refused.calls) };
    if refused.rules.is_empty() {
        return calls.to_owned();
    }
    let Ok((name, runner)) = context.loaded().and_then(|loaded| loaded.config.runner_of(workflow)) else { return calls.to_owned() };
    let asked = refused.rules.iter().map(|rule| rule.excerpt(80));
    let rules: Vec<_> = runner.allowed_tools.iter().cloned().chain(asked).map(|rule| format!("{rule:?}")).collect();
    let file = config::location().map(|path| path.display().to_string()).unwrap_or_default();
    let permit = format!("{calls}; to permit them, in {file}:\n[runner.{name}]\nallowed_tools = [{}]", rules.join(", "));
    let ask: Vec<_> = refused.rules.iter().map(|rule| format!("{:?}", rule.excerpt(80))).collect();
    format!("{permit}\nor, to be asked about each of them:\n[approvals]\nask = [{}]", ask.join(", "))
}

/// Says what an agent could not do whose shell does not find a program of askbox.
fn not_found_in_words(program: &str) -> String {
    format!("`{program}` is not on the PATH of the agent's shell, so the agent may not have asked; what sets that PATH: askbox doctor")
}

fn details(status: &Story, context: &Context) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            out.push_str(&format!("{name:<10} {}\n", text::printable(&value).replace('\n', "\n           ")));
        }
    };
    line("workflow", Some(status.workflow_id.to_string()));
    line("state", Some(format!("{} {}", status.state.word(), status.since.map(|_| format!("for {}", age(status))).unwrap_or_default())));
    let live = status.live.as_ref();
    line("doing", live.filter(|_| status.state == Standing::Running).map(|live| live.words.clone()));
    line("took", live.filter(|live| live.turns > 0).map(took));
    line("last words", live.map(|live| live.last_words.clone()));
    let refused = live.and_then(|live| live.refused.as_ref());
    line("refused", refused.map(|refused| refused_in_words(refused, &status.workflow_id, context)));
    line("not found", live.and_then(|live| live.not_found).map(not_found_in_words));
    line("round", status.question_id.map(|q| q.to_string()));
    line("question", Some(status.question.clone()));
    line("answer", status.answer.clone());
    line("asked by", status.asked_by.clone());
    line("attempt", status.attempt.map(|a| a.to_string()));
    line("session", status.session_id.map(|s| s.to_string()));
    line("began as", status.auto.as_ref().map(AutoChoice::in_words));
    line("retry at", status.retry_at.map(fitted::moment));
    line("why", status.why.clone());
    line("to do", status.todo.clone());
    line("next", status.next_beside_todo().map(str::to_owned));
    line("runner", status.runner_in_words());
    line("cost", status.cost());
    line("result", status.result.clone());
    out
}

struct Table<'a> {
    mailbox: &'a Mailbox,
    context: &'a Context,
    workflow: Option<&'a WorkflowId>,
}

impl Picture for Table<'_> {
    type Row = Story;

    fn for_programs(&self) -> String {
        match self.workflow {
            Some(id) => format!("relaunch status -f {id} --json, or relaunch events -f {id}"),
            None => "relaunch status -f --json".to_owned(),
        }
    }

    fn look(&self) -> Result<Vec<Story>> {
        // The operator may have changed the configuration since the last look.
        self.context.reload();
        look(self.mailbox, self.context, self.workflow)
    }

    fn gone(&self, workflow: &WorkflowId) -> Result<Story> {
        Teller::new(self.mailbox, self.context.loaded()).of_workflow(workflow)
    }

    fn words(&self, found: &[Story], _: Option<usize>) -> String {
        words(found, self.context, self.workflow.is_some())
    }

    fn status(row: &Story) -> &Story {
        row
    }

    fn is_same(one: &Story, other: &Story) -> bool {
        live_view::is_same(one, other)
    }
}

/// Shows one workflow, or all workflows that are not over, until Ctrl-C.
pub fn follow(mailbox: &Mailbox, context: &Context, workflow: Option<&WorkflowId>, json: bool) -> Result<u8> {
    live_view::follow(mailbox, &Table { mailbox, context, workflow }, json)
}

/// Prints the summary in numbers.
pub fn show_summary(mailbox: &Mailbox, context: &Context, json: bool) -> Result<u8> {
    let summary = reports::sum_up(mailbox, &context.loaded()?.config)?;
    if json {
        program::print_json(&summary)?;
        return Ok(0);
    }
    let mut out = String::new();
    let rounds: Vec<String> = summary.rounds.iter().filter(|(_, n)| **n > 0).map(|(state, n)| format!("{n} {state}")).collect();
    let mut line = |name: &str, value: String| out.push_str(&format!("{name:<10} {value}\n"));
    line("rounds", if rounds.is_empty() { "none is open".into() } else { rounds.join(", ") });
    if let Some(at) = summary.oldest_pending_at {
        line("oldest", format!("waits for {}", time::human(time::since(at))));
    }
    line("queue", in_words(&summary.queue, fitted::moment));
    let limit = summary.day_limit_usd.map(|l| format!(" of ${l:.2}")).unwrap_or_default();
    line("today", format!("${:.4}{limit}", summary.spent_today_usd));
    let watcher = cause::no_watcher(mailbox);
    line("watcher", watcher.map_or_else(|| "is there".into(), |hold_up| hold_up.words()));
    program::print(&out)?;
    Ok(0)
}

fn in_words(queue: &Queue, moment: impl Fn(Time) -> String) -> String {
    let until = queue.until.map(|at| format!(" until {}", moment(at))).unwrap_or_default();
    let why = queue.why.as_ref().map(|w| format!(": {w}")).unwrap_or_default();
    format!("{}{until}{why}", queue.state.word())
}
