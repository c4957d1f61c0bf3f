//! The runs of askbox that are at work. A run that waits takes its answer as its next prompt.

use crate::codex::Doing;
use crate::session::{Offers, Session};
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Folder, Mailbox, RoundId, list};
use askbox_run::{Standing, record, story};

const STOP: &str = "A tool that runs may end first. Then the run ends, and can be continued.";
/// The most runs that are looked at.
const MOST: usize = 100;

pub(super) fn all(mailbox: &Mailbox) -> Vec<Session> {
    list::round_names(mailbox, Folder::Running).take(MOST).filter_map(|round| seen(mailbox, &round)).collect()
}

fn seen(mailbox: &Mailbox, round: &RoundId) -> Option<Session> {
    let is_live = story::standing_of(mailbox, Folder::Running, round).ok()? == Standing::Running;
    let run = record::latest(mailbox, round).ok().flatten().filter(|_| is_live)?;
    Some(Session {
        agent: Agent::Claude,
        id: run.session_id.to_string(),
        title: Some(run.workflow_id.to_string()),
        cwd: run.cwd.unwrap_or_default(),
        doing: Some(Doing::Works),
        does: "busy".into(),
        since: run.started_at,
        offers: Offers { words: None, stop: Some(STOP.into()) },
        run: Some(run.workflow_id),
        config_dir: run.config_dir,
    })
}
