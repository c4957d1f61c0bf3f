//! The delivery of a round: the process or agent that goes on with its answer.
//!
//! | state of the round | its delivery is read from | function |
//! |---|---|---|
//! | answered, not claimed | the waiter's lock, then the question | [`Delivery::of_unclaimed`] |
//! | claimed, on record | the record's claimant, then the question | [`Delivery::of_claimed`] |

use crate::attempt::record::{Claimant, Run};
use askbox_agent::{claude, sessions};
use askbox_mailbox::{Lock, Mailbox, Question, Result, WorkflowId};

/// The process or agent that goes on with the answer of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// An agent is launched with it.
    Launch,
    /// The process that waits for the answer takes it: `ask-post --wait`, a call of `askbox mcp`, or a supervisor that holds a request
    /// of its agent.
    Waiter,
    /// The session that asked takes it the next time it runs (`to_session`), or is woken by it (`continues_in`). No process waits.
    Session,
    /// A main agent takes it: `relaunch prompt` or `relaunch done`.
    MainAgent,
    /// The hook beside the dialog of an attended session takes it. It belongs to that dialog alone: no agent is launched with it.
    Dialog,
}

impl Delivery {
    /// The delivery that the question alone asks for. A waiter or a person's command may take the answer in its place.
    pub fn asked_for(question: &Question) -> Self {
        match question {
            question if question.live.is_some() => Self::Dialog,
            question if question.to_session || question.continues_in.is_some() => Self::Session,
            _ => Self::Launch,
        }
    }

    /// The delivery of an answered round that is not claimed yet. A person's command may still choose another one.
    pub fn of_unclaimed(mailbox: &Mailbox, question: &Question) -> Result<Self> {
        Ok(match Self::asked_for(question) {
            _ if is_awaited(mailbox, &question.workflow_id)? => Self::Waiter,
            // Nobody can wake it. If it lives all the same, it takes the answer before the agent is launched, or not at all.
            Self::Session if has_ended(question) => Self::Launch,
            other => other,
        })
    }

    /// The delivery of a claimed round, by its newest attempt.
    pub fn of_claimed(question: &Question, run: &Run) -> Self {
        match (run.claimant, Self::asked_for(question)) {
            (Claimant::Supervisor, _) => Self::Launch,
            (Claimant::Prompt, _) => Self::MainAgent,
            (Claimant::Inline, taken @ (Self::Session | Self::Dialog)) => taken,
            (Claimant::Inline, Self::Launch | Self::Waiter | Self::MainAgent) => Self::Waiter,
        }
    }

    /// The claimant in the record of a claimed round with this delivery. The question then tells a waiter from a session or a dialog.
    pub fn claimant(self) -> Claimant {
        match self {
            Self::Launch => Claimant::Supervisor,
            Self::Waiter | Self::Session | Self::Dialog => Claimant::Inline,
            Self::MainAgent => Claimant::Prompt,
        }
    }

    /// The words for people: the subject of a sentence such as "… took the answer".
    pub fn who(self) -> &'static str {
        match self {
            Self::Launch => "an agent that askbox launched",
            Self::Waiter => "the asker that waited for it (ask-post --wait, or an MCP client)",
            Self::Session => "the session that asked",
            Self::MainAgent => "a main agent (relaunch prompt, or relaunch done)",
            Self::Dialog => "the session whose dialog it was",
        }
    }
}

/// True if the session of Claude Code that would go on with the answer has ended.
fn has_ended(question: &Question) -> bool {
    let Some(session) = question.continues_in.filter(|_| question.codex_thread().is_none()) else { return false };
    let folder = question.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)));
    folder.is_none_or(|folder| !sessions::claude::is_alive(&folder, &session.to_string()))
}

/// Whether a process waits for the answer of the workflow.
pub fn is_awaited(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
    Lock::is_held(&mailbox.waiter(workflow))
}

/// The command with which a person resumes the session that asked, if it can be resumed so.
pub fn resume_command(question: &Question) -> Option<String> {
    let of_codex = question.codex_thread().map(|id| format!("codex resume {id}"));
    of_codex.or_else(|| question.session_id.map(|id| format!("claude --resume {id}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::id::RoundId;

    const ALL: [Delivery; 4] = [Delivery::Launch, Delivery::Waiter, Delivery::Session, Delivery::MainAgent];

    fn question(to_session: bool) -> Question {
        let text = format!(
            r#"{{"workflow_id":"w","question":"x","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","to_session":{to_session}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_claimed_round_tells_who_goes_on_with_its_answer() {
        let round: RoundId = question(false).round().unwrap();
        for delivery in ALL {
            let run = Run::first(&round, delivery.claimant());
            assert_eq!(Delivery::of_claimed(&question(delivery == Delivery::Session), &run), delivery);
        }
        // A person may launch an agent with the answer of a session, or hand it to a main agent.
        for delivery in [Delivery::Launch, Delivery::MainAgent] {
            let run = Run::first(&round, delivery.claimant());
            assert_eq!(Delivery::of_claimed(&question(true), &run), delivery);
        }
    }

    #[test]
    fn an_unclaimed_answer_goes_to_its_waiter_before_anybody_else() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let of = |to_session| Delivery::of_unclaimed(&mailbox, &question(to_session)).unwrap();
        assert_eq!((of(false), of(true)), (Delivery::Launch, Delivery::Session));
        let workflow: WorkflowId = "w".parse().unwrap();
        askbox_mailbox::disk::create_folder(&mailbox.runs_of_workflow(&workflow)).unwrap();
        let _waiter = Lock::try_acquire(&mailbox.waiter(&workflow)).unwrap().unwrap();
        assert_eq!((of(false), of(true)), (Delivery::Waiter, Delivery::Waiter));
    }
}
