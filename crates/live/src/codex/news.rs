//! The news for sessions of Codex: the workflows that notes in the mailbox name, and what their documents say now.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use askbox_mailbox::{
    Folder, Mailbox, Outcome, Policy, QuestionId, Result, SessionId, Time, WorkflowId, disk, list, read_question, round, wake,
};
use askbox_run::delivery::{self, Delivery};
use askbox_run::view::session_news::End;
use askbox_run::{Standing, record, story};

/// The most workflows that are told of at once. The others are told of in the next turn.
const LINES: usize = 20;
/// The file of a session that the watcher has not seen for this long is removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The news of one workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) workflow: WorkflowId,
    /// The question of the round.
    pub(super) question: QuestionId,
    /// The line that the session reads.
    pub(super) words: String,
    /// The time of the answer that the session takes by reading the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) takes: Option<Time>,
}

/// The state of a workflow that may have news.
enum Found {
    News(Line),
    /// Another process may still take the answer, or refuse it.
    NotYet,
    Nothing,
}

/// The sessions that may have news, with the workflows. `None` if the watcher has never seen a session.
pub(super) fn named(mailbox: &Mailbox) -> Option<BTreeMap<SessionId, Vec<WorkflowId>>> {
    let mut named = BTreeMap::new();
    let mut has_sessions = false;
    for entry in disk::entries(&wake::codex_folder(mailbox)).into_iter().flatten().flatten() {
        has_sessions = true;
        let name = entry.name.to_str().and_then(|name| name.split_once('.'));
        if let Some((Ok(thread), Ok(workflow))) = name.map(|(thread, workflow)| (thread.parse(), workflow.parse())) {
            named.entry(thread).or_insert_with(Vec::new).push(workflow);
        }
    }
    has_sessions.then_some(named)
}

/// Notes the answers that wait for a session of Codex: a power cut may have taken the notes away. Removes the files of sessions that were not
/// seen for long.
pub(super) fn begin(mailbox: &Mailbox) -> Result<()> {
    for workflow in list::workflows(mailbox, Folder::Answered)? {
        if let Ok(document) = read_question::document(&mailbox.document(Folder::Answered, &workflow)) {
            wake::asker_of_codex(mailbox, &document.typed);
        }
    }
    let folder = wake::codex_folder(mailbox);
    for entry in disk::entries(&folder).into_iter().flatten().flatten() {
        let path = folder.join(&entry.name);
        let is_session = entry.name.to_str().is_some_and(|name| name.parse::<SessionId>().is_ok());
        let age = disk::metadata(&path).and_then(|file| file.modified()).ok().and_then(|seen| seen.elapsed().ok());
        if is_session && age.is_some_and(|age| age > KEPT) {
            disk::remove(&path)?;
        }
    }
    Ok(())
}

/// The news of these workflows for this session. The note of a workflow without news is removed.
pub(super) fn of_thread(mailbox: &Mailbox, policy: &Policy, thread: &SessionId, named: &[WorkflowId]) -> Result<Vec<Line>> {
    let mut news = Vec::new();
    for workflow in named {
        match find(mailbox, policy, thread, workflow)? {
            Found::News(line) if news.len() < LINES => news.push(line),
            Found::News(_) | Found::NotYet => {}
            Found::Nothing => forget(mailbox, policy, thread, workflow, None)?,
        }
    }
    news.sort_by(|one, other| one.workflow.cmp(&other.workflow));
    Ok(news)
}

/// Removes the note of a workflow, if it has no other news than those that were told.
pub(super) fn forget(mailbox: &Mailbox, policy: &Policy, thread: &SessionId, workflow: &WorkflowId, told: Option<&Line>) -> Result<()> {
    // Each change of the workflow that is news writes the note under this lock.
    let _lock = mailbox.lock(workflow)?;
    match find(mailbox, policy, thread, workflow)? {
        Found::Nothing => {}
        Found::News(now) if Some(&now) == told => {}
        Found::News(_) | Found::NotYet => return Ok(()),
    }
    disk::if_there(disk::remove(&wake::codex_news(mailbox, thread, workflow))).map(drop)
}

fn find(mailbox: &Mailbox, policy: &Policy, thread: &SessionId, workflow: &WorkflowId) -> Result<Found> {
    let line = |question: QuestionId, end: End, takes: Option<Time>| {
        // The session reads the rest with a command, so that nobody's words are taken for a message of its user.
        let command = if wake::is_awaited_in(mailbox, workflow, thread) { "resume" } else { "status" };
        let words = format!("- {workflow}: {} (relaunch {command} {workflow})", end.in_words(mailbox, workflow));
        Found::News(Line { workflow: workflow.clone(), question, words, takes })
    };
    if let Ok(document) = read_question::document(&mailbox.document(Folder::Answered, workflow))
        && document.typed.continues_in.as_ref() == Some(thread)
    {
        let question = &document.typed;
        // The watcher completes an answer that was made by hand, and refuses one that does not count.
        let (Some(answer), Some(id)) = (&question.answer, question.question_id) else { return Ok(Found::NotYet) };
        let Some(at) = answer.at else { return Ok(Found::NotYet) };
        if policy.judge(question).is_err() || delivery::is_awaited(mailbox, workflow)? {
            return Ok(Found::NotYet);
        }
        let end = match answer.outcome {
            _ if answer.asks_back => End::AskedBack,
            Outcome::Declined => End::Declined,
            Outcome::Answered => End::Answered,
        };
        return Ok(line(id, end, Some(at)));
    }
    let Some(latest) = round::latest(mailbox, workflow) else { return Ok(Found::Nothing) };
    let line = |end: End| line(latest.id.question, end, None);
    let is_own = latest.document.typed.continues_in.as_ref() == Some(thread);
    if !is_own && !wake::is_awaited_in(mailbox, workflow, thread) {
        return Ok(Found::Nothing);
    }
    let is_taken = || {
        let run = record::latest(mailbox, &latest.id).ok().flatten();
        run.is_some_and(|run| Delivery::of_claimed(&latest.document.typed, &run) == Delivery::Session)
    };
    Ok(match story::state_of(mailbox, workflow)? {
        Standing::Delivered if is_own && is_taken() => Found::Nothing,
        Standing::Delivered => line(End::Finished),
        Standing::Parked | Standing::Interrupted => line(End::Parked),
        Standing::Expired => line(End::Expired),
        Standing::Withdrawn => line(End::Withdrawn),
        // A watcher has claimed the answer to tell of it. If that watcher was killed, the answer comes back.
        Standing::Running | Standing::Orphaned if is_own && is_taken() => Found::NotYet,
        _ => Found::Nothing,
    })
}
