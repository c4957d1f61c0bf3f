//! The mailbox: asks a person, and takes the answer.
//!
//! A question has the id of the call that asks it. So the same call finds its question again, whatever process makes it, and is never
//! asked twice. The session takes the answer itself the next time it runs. In a run of askbox, `relaunch` takes it and starts the session.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::history::Call;
use crate::host::Host;
use crate::outcome::Outcome;
use askbox_cli::ask_post::posting;
use askbox_cli::ask_user_question_call;
use askbox_cli::program::{self, Context};
use askbox_mailbox::document::Document;
use askbox_mailbox::documents::checks::check_draft;
use askbox_mailbox::documents::fields::tool_call::ToolCall;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Folder, Mailbox, Outcome as Answered, Question, QuestionDocument, read_question};
use askbox_run::approval::permit::{self, Permit as Decided};
use askbox_run::approval::standing::{self, Standing};
use askbox_run::approval::{ask, call::Call as ShownCall};
use askbox_run::claim::{self, Claim, ClaimAttempt, OnRecord, inline};
use askbox_run::prompt::inserted::{at_the_end, on_one_line};
use askbox_run::prompt::remarks::they_say;

/// An answer that this process has claimed. If the process dies before it is delivered, the next one takes it again.
pub(crate) struct Taken {
    mailbox: Mailbox,
    claim: Box<Claim<OnRecord>>,
}

impl Taken {
    /// The answer has reached the session durably: its round is over.
    pub fn delivered(self) -> Result<()> {
        self.claim.delivered(&self.mailbox, "ask-agent")
    }
}

/// What a person says about a call that needs a permission.
pub(crate) enum Permit {
    Waits,
    Yes(Map<String, Value>, Option<Taken>),
    No(String, Option<Taken>),
}

/// The question of a call, as it stands in the mailbox.
enum Found {
    Waits,
    /// It is answered, or over without an answer.
    Over(RoundId, Box<Question>, Option<Taken>),
}

struct Desk {
    mailbox: Mailbox,
    workflow: WorkflowId,
    policy: Policy,
}

impl Desk {
    fn open(host: &Host) -> Result<Self> {
        let mailbox = Mailbox::open_or_create(Mailbox::locate(host.args.mailbox.as_deref())?)?;
        Ok(Self { mailbox, workflow: workflow(host)?, policy: Context::default().config()?.answers.policy() })
    }

    fn find(&self, call: &Call) -> Result<Option<Found>> {
        let is_its = |question: &Question| question.asked.tool_call.as_ref().is_some_and(|asked| asked.id == call.id);
        if read_question::pending(&self.mailbox, &self.workflow).is_ok_and(|pending| is_its(&pending.typed)) {
            return Ok(Some(Found::Waits));
        }
        let answered = read_question::document(&self.mailbox.document(Folder::Answered, &self.workflow));
        if answered.is_ok_and(|answered| is_its(&answered.typed)) {
            return Ok(Some(match claim::for_asker(&self.mailbox, &self.workflow, &self.policy)? {
                ClaimAttempt::Claimed(claim) => self.taken(claim),
                // The answer does not count, or another process is faster: the next look will tell.
                ClaimAttempt::Refused(_) => Found::Waits,
            }));
        }
        let mut rounds: Vec<RoundId> = list::rounds_of(&self.mailbox, &self.workflow).collect();
        rounds.sort_unstable_by_key(|round| std::cmp::Reverse(round.question));
        for round in rounds {
            for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
                let document = read_question::of_round(&self.mailbox.round(folder, &round), &round);
                let Some(question) = document.ok().map(|document| document.typed).filter(is_its) else { continue };
                // An earlier process of this session may have died with the answer in its hands.
                if folder == Folder::Running && question.asked.to_session {
                    return Ok(Some(inline::left_behind(&self.mailbox, &round)?.map_or(Found::Waits, |claim| self.taken(Box::new(claim)))));
                }
                return Ok(Some(Found::Over(round, Box::new(question), None)));
            }
        }
        Ok(None)
    }

    fn taken(&self, claim: Box<Claim<OnRecord>>) -> Found {
        let (round, question) = (claim.round(), Box::new(claim.document.typed.clone()));
        Found::Over(round, question, Some(Taken { mailbox: self.mailbox.clone(), claim }))
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

/// Asks the question of a call, or takes its answer. `None` while nobody has answered.
pub(crate) fn ask(host: &Host, call: &Call) -> Result<Option<(Outcome, Option<Taken>)>> {
    let desk = Desk::open(host)?;
    match desk.find(call)? {
        Some(Found::Waits) => Ok(None),
        Some(Found::Over(_, question, taken)) => Ok(Some((answer(&desk.policy, call, &question), taken))),
        None => {
            let document = ask_user_question_call::question(&desk.workflow, &call.input).and_then(|document| {
                check_draft::of_client(&document.typed)?;
                Ok(document)
            });
            match document.and_then(|document| desk.post(host, call, document)) {
                Ok(()) => Ok(None),
                // The model asked something that is no question. It reads why.
                Err(e @ (Error::Invalid { .. } | Error::Conflict { .. })) => {
                    Ok(Some((Outcome::error(format!("{} Hint: {}", program::message(&e), e.hint())), None)))
                }
                Err(e) => Err(e),
            }
        }
    }
}

fn answer(policy: &Policy, call: &Call, question: &Question) -> Outcome {
    let Some(answer) = &question.answer else {
        let how = question.closed.as_ref().map_or("closed", |closing| closing.state.word());
        return Outcome::error(format!(
            "Nobody answers this question: it was {how}. Do not guess an answer: go on without it, or ask again."
        ));
    };
    if let Err(why) = policy.judge(question) {
        return Outcome::error(format!("An answer lies there that does not count: {}. Do not use it: ask again.", on_one_line(&why.0)));
    }
    if let Some(asked) = answer.counter_question() {
        return Outcome::error(format!(
            "The user asks back before they decide:{}\nThis is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it.",
            at_the_end(asked)
        ));
    }
    match (answer.outcome, &answer.value) {
        (Answered::Answered, Some(value)) => in_words(&ask_user_question_call::with_answers(&call.input, question, answer, value)),
        _ => Outcome::error(format!(
            "The user declined to answer.{}Do not guess an answer: go on without it, or end your turn and say what is missing.",
            they_say(answer)
        )),
    }
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
    let cwd: PathBuf = host.cwd.clone();
    let shown = ShownCall { tool: &call.name, input: &call.input, cwd: &cwd };
    match standing::about(&desk.mailbox, &desk.policy, &desk.workflow, &shown)? {
        Some(Standing::Allowed) => return Ok(Permit::Yes(call.input.clone(), None)),
        Some(Standing::Refused(words)) => return Ok(Permit::No(words, None)),
        None => {}
    }
    match desk.find(call)? {
        Some(Found::Waits) => Ok(Permit::Waits),
        Some(Found::Over(round, question, taken)) => {
            Ok(match permit::permit(&desk.mailbox, &desk.policy, &[], &round, &question, &shown)? {
                Decided::Allowed => Permit::Yes(call.input.clone(), taken),
                Decided::AllowedEdited(input) => Permit::Yes(input, taken),
                Decided::Refused(words) => Permit::No(words, taken),
                Decided::Ask(_) => Permit::No(
                    "The permission for this call is used up or void: a process died, and the call may have been made. Look, and make the call again if it is needed."
                        .into(),
                    taken,
                ),
            })
        }
        None => match ask::question_about(&desk.workflow, &shown, ask::Shown::First, &call.id, None) {
            Ok(question) => match desk.post(host, call, Document::draft(question)) {
                Ok(()) => Ok(Permit::Waits),
                Err(e @ Error::Conflict { .. }) => Ok(Permit::No(format!("{} Hint: {}", program::message(&e), e.hint()), None)),
                Err(e) => Err(e),
            },
            Err(e) => Ok(Permit::No(format!("This call needs a permission, and nobody can be asked: it {}", program::message(&e)), None)),
        },
    }
}
