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
use askbox_cli::program::{self, Context};
use askbox_config::ToolRule;
use askbox_mailbox::document::Document;
use askbox_mailbox::documents::checks::check_draft;
use askbox_mailbox::documents::fields::tool_call::ToolCall;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Folder, Mailbox, Question, QuestionDocument, read_question};
use askbox_run::approval::permit::{self, Permit as Decided, Rules};
use askbox_run::approval::standing::{self, Standing};
use askbox_run::approval::{ask, call::Call as ShownCall};
use askbox_run::asking::questions;
use askbox_run::claim::of_call::{self, OfCall};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::words;

/// The result of a call that was allowed once, if that answer counts no longer.
const USED_UP: &str = "The permission for this call is used up or void: a process died, and the call may have been made. \
                       Look, and make the call again if it is needed.";
const NOT_SHOWN: &str = "Your user has not seen this call as it is now: its file has changed since they were asked. It was not made. Look, and make \
                         the call again if it is still right.";

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

struct Desk {
    mailbox: Mailbox,
    workflow: WorkflowId,
    policy: Policy,
    refuse: Vec<ToolRule>,
}

impl Desk {
    fn open(host: &Host) -> Result<Self> {
        let mailbox = Mailbox::open_or_create(Mailbox::locate(host.args.mailbox.as_deref())?)?;
        let config = Context::default().config()?;
        Ok(Self { mailbox, workflow: workflow(host)?, policy: config.answers.policy(), refuse: config.approvals.refuse.clone() })
    }

    fn find(&self, call: &Call) -> Result<Option<OfCall>> {
        of_call::find(&self.mailbox, &self.policy, &self.workflow, &call.id)
    }

    fn rules(&self) -> Rules<'_> {
        Rules { policy: self.policy.clone(), refuse: &self.refuse, takes_changes: true }
    }

    fn taken(&self, claim: Option<Box<Claim<OnRecord>>>) -> Option<Taken> {
        claim.map(|claim| Taken { mailbox: self.mailbox.clone(), claim })
    }

    fn post(&self, host: &Host, call: &Call, mut document: QuestionDocument) -> Result<()> {
        let question = &mut document.typed;
        question.asked.tool_call = Some(ToolCall { name: call.name.clone(), id: call.id.clone(), subagent: None });
        question.session_id = host.session.parse().ok();
        question.cwd = Some(host.cwd.clone());
        // A run's question is answered by a launch of the run's session.
        question.asked.to_session = program::this_run().is_none();
        posting::complete(&self.mailbox, question)?;
        post::post_document(&self.mailbox, document, IfPending::Conflict).map(drop)
    }
}

/// The workflow that the session's questions belong to.
pub(crate) fn workflow(host: &Host) -> Result<WorkflowId> {
    match program::workflow_from_env("WORKFLOW_ID")?.or(program::workflow_from_env("ASKBOX_WORKFLOW_ID")?) {
        Some(workflow) => Ok(workflow),
        None => host.session.parse(),
    }
}

/// The call that the workflow's question is about, if there is a question that was not settled.
pub(crate) fn asked(host: &Host) -> Result<Option<String>> {
    let Desk { mailbox, workflow, .. } = Desk::open(host)?;
    let pending = read_question::pending(&mailbox, &workflow);
    let found = pending.or_else(|_| read_question::document(&mailbox.document(Folder::Answered, &workflow)));
    Ok(found.ok().and_then(|document| document.typed.asked.tool_call).map(|call| call.id))
}

/// Asks the question of a call, or takes its answer. `None` while nobody has answered.
pub(crate) fn ask(host: &Host, call: &Call) -> Result<Option<Outcome>> {
    let desk = Desk::open(host)?;
    match desk.find(call)? {
        Some(OfCall::Waits) => Ok(None),
        Some(OfCall::Over(_, question, claim)) => Ok(Some(Outcome { taken: desk.taken(claim), ..answer(&desk.policy, call, &question) })),
        None => {
            let document = questions::question(&desk.workflow, &call.input).and_then(|document| {
                check_draft::of_client(&document.typed)?;
                Ok(document)
            });
            match document.and_then(|document| desk.post(host, call, document)) {
                Ok(()) => Ok(None),
                // The model asked something that is no question. It reads why.
                Err(e @ (Error::Invalid { .. } | Error::Conflict { .. })) => Ok(Some(told(&e))),
                Err(e) => Err(e),
            }
        }
    }
}

fn told(error: &Error) -> Outcome {
    Outcome::error(format!("{} Hint: {}", program::message(error), error.hint()))
}

fn answer(policy: &Policy, call: &Call, question: &Question) -> Outcome {
    let Some(answer) = &question.answer else { return Outcome::error(words::nobody_answers(question)) };
    if let Err(why) = policy.judge(question) {
        return Outcome::error(words::does_not_count(&why.0));
    }
    questions::answers(&call.input, question, answer).map_or_else(Outcome::error, |answers| in_words(&answers.filled))
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
    let shown = ShownCall { tool: &call.name, input: &call.input, cwd: &host.cwd };
    let no = |words: String, taken| Permit::No(Outcome { taken, ..Outcome::error(words) });
    match standing::about(&desk.mailbox, &desk.policy, &desk.workflow, &shown)? {
        Some(Standing::Allowed) => return Ok(Permit::Yes { input: call.input.clone(), remark: None, taken: None }),
        Some(Standing::Refused(words)) => return Ok(no(words, None)),
        None => {}
    }
    Ok(match desk.find(call)? {
        Some(OfCall::Waits) => Permit::Nothing(End::Waits(call.clone())),
        Some(OfCall::Over(round, question, claim)) => match permit::permit(&desk.mailbox, &desk.rules(), &round, &question, &shown)? {
            Decided::Allowed(allowed) => {
                let remark = allowed.remark(false);
                Permit::Yes { input: allowed.input, remark, taken: desk.taken(claim) }
            }
            Decided::Refused(words) => no(words, desk.taken(claim)),
            Decided::Ask(ask::Shown::First) => no(NOT_SHOWN.into(), desk.taken(claim)),
            Decided::Ask(ask::Shown::PerhapsMade(_)) => no(USED_UP.into(), desk.taken(claim)),
        },
        None => match ask::question_about(&desk.workflow, &shown, ask::Shown::First, &call.id, None) {
            Ok(question) => match desk.post(host, call, Document::draft(question)) {
                Ok(()) => Permit::Nothing(End::Waits(call.clone())),
                Err(e @ Error::Conflict { .. }) => Permit::No(told(&e)),
                Err(e) => return Err(e),
            },
            Err(e) => no(format!("This call needs a permission, and nobody can be asked: it {}", program::message(&e)), None),
        },
    })
}
