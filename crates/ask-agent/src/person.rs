//! The mailbox: asks a person, and takes the answer.
//!
//! A question has the id of the call that asks it. So the same call finds its question again, whatever process makes it, and is never
//! asked twice. The session takes the answer itself the next time it runs. In a run of askbox, `relaunch` takes it and starts the session.

use serde_json::{Map, Value};

use crate::history::Call;
use crate::host::Host;
use crate::outcome::{Outcome, Taken};
use crate::step::End;
use askbox_cli::ask_post::posting;
use askbox_cli::{Context, program};
use askbox_config::Config;
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, check_draft};
use askbox_run::approval::call::Call as ShownCall;
use askbox_run::approval::permit::Rules;
use askbox_run::asking::defer::{CallDecision, Decided, Deferred};
use askbox_run::asking::questions;
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::words;

/// The decision about a call that needs a permission.
pub(crate) enum Permit {
    /// The call may be made, with this input. The model reads the remark beside its result.
    Yes {
        input: Map<String, Value>,
        remark: Option<String>,
        taken: Option<Taken>,
    },
    No(Outcome),
    /// Nobody has decided, and the turn is over.
    Nothing(End),
}

/// The mailbox and the operator's configuration, as this session's calls use them.
struct Desk {
    mailbox: Mailbox,
    workflow: WorkflowId,
    config: Config,
}

impl Desk {
    fn open(host: &Host) -> Result<Self> {
        let mailbox = Mailbox::open_or_create(Mailbox::locate(host.args.mailbox.as_deref())?)?;
        Ok(Self { mailbox, workflow: workflow(host)?, config: Context::default().config()?.clone() })
    }

    fn call<'a>(&'a self, host: &'a Host, call: &'a Call) -> Deferred<'a> {
        Deferred {
            mailbox: &self.mailbox,
            rules: Rules { policy: self.config.answers.policy(), refuse: &self.config.approvals.refuse, takes_changes: true },
            workflow: &self.workflow,
            call: ShownCall { tool: &call.name, input: &call.input, cwd: &host.cwd },
            id: &call.id,
            session: host.session.parse().ok(),
            run: None,
            // A run's question is answered by a launch of the run's session.
            to_session: program::this_run().is_none(),
            complete: &posting::complete,
        }
    }

    fn taken(self, claim: Option<Box<Claim<OnRecord>>>) -> Option<Taken> {
        claim.map(|claim| Taken { mailbox: self.mailbox, claim })
    }
}

/// The workflow that the session's questions belong to.
pub(crate) fn workflow(host: &Host) -> Result<WorkflowId> {
    match program::workflow_from_env("WORKFLOW_ID")?.or(program::workflow_from_env("ASKBOX_WORKFLOW_ID")?) {
        Some(workflow) => Ok(workflow),
        None => host.session.parse(),
    }
}

/// Asks the question of a call, or takes its answer. `None` while nobody has answered.
pub(crate) fn ask(host: &Host, call: &Call) -> Result<Option<Outcome>> {
    let desk = Desk::open(host)?;
    let document = questions::question(&desk.workflow, &call.input).and_then(|document| {
        check_draft::of_client(&document.typed)?;
        Ok(document)
    });
    let decided = document.and_then(|document| {
        desk.call(host, call).answers(document, |question| {
            let Some(answer) = &question.answer else { return Ok(CallDecision::Refuse(words::nobody_answers(question))) };
            Ok(CallDecision::answered(questions::answers(&call.input, question, answer)))
        })
    });
    let Decided { decision, claim, .. } = match decided {
        // The model asked something that is no question. It reads why.
        Err(e @ Error::Invalid { .. }) => {
            return Ok(Some(Outcome::error(format!("{} Hint: {}", program::message(&e), e.hint()))));
        }
        other => other?,
    };
    let outcome = match decision {
        CallDecision::Waits => return Ok(None),
        CallDecision::Allow(allow) => in_words(&allow.input),
        CallDecision::Refuse(words) => Outcome::error(words),
    };
    Ok(Some(Outcome { taken: desk.taken(claim), ..outcome }))
}

/// The answers in the input of a call, in words.
pub(crate) fn in_words(input: &Map<String, Value>) -> Outcome {
    let answers = input.get("answers").and_then(Value::as_object);
    let notes = |question: &str| input.get("annotations")?.get(question)?.get("notes")?.as_str();
    let each = answers.into_iter().flatten().map(|(question, answer)| {
        let notes = notes(question).map(|notes| format!(" notes: {notes}")).unwrap_or_default();
        format!("\"{question}\"=\"{}\"{notes}", answer.as_str().map_or_else(|| answer.to_string(), str::to_owned))
    });
    let each: Vec<String> = each.collect();
    Outcome::ok(format!("Your questions have been answered: {}. You can now continue with these answers in mind.", each.join(", ")))
}

/// Asks a person whether a call may be made, or takes what they said.
pub(crate) fn permission(host: &Host, call: &Call) -> Result<Permit> {
    let desk = Desk::open(host)?;
    let Decided { decision, claim, .. } = match desk.call(host, call).permission(true) {
        Ok(Some(decided)) => decided,
        Ok(None) => return Ok(Permit::Nothing(End::Waits(call.clone()))),
        Err(e @ Error::Invalid { .. }) => {
            let words = format!("This call needs a permission, and nobody can be asked: it {}", program::message(&e));
            return Ok(Permit::No(Outcome::error(words)));
        }
        Err(e) => return Err(e),
    };
    Ok(match decision {
        CallDecision::Waits => Permit::Nothing(End::Waits(call.clone())),
        CallDecision::Allow(allow) => Permit::Yes { input: allow.input, remark: allow.tell, taken: desk.taken(claim) },
        CallDecision::Refuse(words) => Permit::No(Outcome { taken: desk.taken(claim), ..Outcome::error(words) }),
    })
}
