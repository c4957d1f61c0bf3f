//! The next steps for a workflow that awaits others: the workflows at the end of its lines of awaits, and the command for each.

use std::collections::BTreeSet;

use crate::story::cause::HoldUp;
use crate::story::kind::Cause;
use crate::story::shape::{Standing, Story};
use crate::story::teller::Teller;
use askbox_mailbox::{Mailbox, WorkflowId, awaits, text};

/// The most workflows that are named.
const NAMED: usize = 3;

/// The next steps that let a workflow that awaits others go on, with the commands, and the cause why it waits.
pub(super) fn todo(teller: &Teller<'_>, workflow: &WorkflowId) -> (String, Option<HoldUp>) {
    let awaited = last_awaited(teller.mailbox, workflow);
    let open: Vec<Story> = awaited.iter().map(|id| teller.at_a_glance(id)).filter(|status| status.state.is_open()).collect();
    let cause = |next: String| teller.tells_causes().then(|| HoldUp::new(Cause::Child, "it waits for what it started", next));
    let Some(first) = open.first() else {
        let resume = format!("relaunch resume {workflow}");
        let told = format!("all that it waits for has ended, and a watcher resumes it; to resume it now: {resume}");
        return (told, teller.general().first().cloned().or_else(|| cause(resume)));
    };
    let cause = cause(first.next.clone().unwrap_or_else(|| format!("relaunch logs -f {}", first.workflow_id)));
    let more = open.len().saturating_sub(NAMED);
    let named = open.iter().take(NAMED).map(todo_about);
    let more = (more > 0).then(|| format!("{more} more: askbox tree {workflow}"));
    (named.chain(more).collect::<Vec<_>>().join("; "), cause)
}

/// The awaited workflows that await nothing themselves, in the order of their ids. A cycle is followed once.
fn last_awaited(mailbox: &Mailbox, workflow: &WorkflowId) -> BTreeSet<WorkflowId> {
    let (mut seen, mut next, mut last) = (BTreeSet::from([workflow.clone()]), vec![workflow.clone()], BTreeSet::new());
    while let Some(at) = next.pop() {
        let below = awaits::children(mailbox, &at).unwrap_or_default();
        if below.is_empty() && at != *workflow {
            last.insert(at);
            continue;
        }
        next.extend(below.into_iter().filter(|child| seen.insert(child.clone())));
    }
    last
}

/// The next step for one awaited workflow, with the command.
fn todo_about(story: &Story) -> String {
    let id = &story.workflow_id;
    let next = story.next.clone().unwrap_or_else(|| format!("relaunch status {id}"));
    match story.state {
        Standing::Pending | Standing::Overdue => format!("{id} asks a question: ask-answer {id} ANSWER"),
        Standing::Waiting => format!("{id} waits for an event; to end that wait: ask-answer {id} ANSWER"),
        Standing::Running => format!("{id} is at work: relaunch logs -f {id}"),
        Standing::Parked => {
            let todo = story.todo.clone().unwrap_or_else(|| format!("to go on: {next}"));
            format!("{id} is parked; {todo}")
        }
        state => {
            let why = story.why.as_ref().map(|why| format!(" ({})", text::excerpt(why, 200))).unwrap_or_default();
            let now = format!("relaunch {id}");
            let or_now =
                if next.contains(&now) || state == Standing::Unreadable { String::new() } else { format!(", or to run it now: {now}") };
            format!("{id} is {}{why}: {next}{or_now}", state.word())
        }
    }
}
