//! From one attempt to the next: the earlier one's processes end, and the next one is put on record.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::mailbox::{Mailbox, Question};
use crate::run::attempt::record::{self, Plan, Progress, Run, State};
use crate::run::claim::plan;
use crate::run::delivery::Delivery;
use crate::run::process::{run_processes, session_start};

/// Writes the record of the next attempt. The caller holds the round's lock.
///
/// A supervisor's attempt is followed by one with the same session and the same message. The session is new if the agent got the message
/// and did nothing: a resume would show the message twice. Every other claimant launched nothing, and what its record says about a
/// launch is not the operator's: the attempt is planned here.
pub(super) fn create(mailbox: &Mailbox, config: &Config, question: &Question, last: &Run) -> Result<Run> {
    let run = match Delivery::of_claimed(question, last) {
        Delivery::Launch => after(last),
        Delivery::Waiter | Delivery::Session | Delivery::MainAgent => {
            Run { attempt: last.attempt + 1, ..plan::first(mailbox, config, question, &last.round())? }
        }
    };
    record::create(mailbox, &run)?;
    Ok(run)
}

fn after(last: &Run) -> Run {
    let session_id = if session_start::is_unanswered(last) { SessionId::generate() } else { last.plan.session_id };
    Run { attempt: last.attempt + 1, plan: Plan { session_id, ..last.plan.clone() }, progress: Progress::claimed_now(), ..last.clone() }
}

/// Whether a process of any attempt of the round lives.
pub(super) fn has_processes(run: &Run) -> bool {
    !run_processes::find(of_round(run)).is_empty()
}

/// Ends all processes of all attempts of the round. Takes up to half a minute if they are stuck.
pub(super) fn end_processes(run: &Run) -> Result<()> {
    let is_ours = of_round(run);
    if run.progress.state == State::Running {
        // They may be ending already: a supervisor that dies takes its agent along.
        run_processes::wait_gone(&is_ours, run_processes::TERM_GRACE);
    }
    run_processes::end(&is_ours, run_processes::TERM_GRACE).map(drop).map_err(|left| {
        Error::failed(
            format!("{left} processes of the earlier attempt of {} cannot be killed", run.round()),
            "end them by hand; nothing is relaunched before they are gone",
        )
    })
}

/// Matches the tokens ([`Run::token`]) of all attempts of the round.
fn of_round(run: &Run) -> impl Fn(&str) -> bool {
    let prefix = format!("{}/{}/", run.workflow_id, run.question_id);
    move |token| token.starts_with(&prefix)
}
