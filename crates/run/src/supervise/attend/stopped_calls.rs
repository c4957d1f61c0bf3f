//! Tool calls that the agent program's own rules stop (`can_use_tool`). A person is asked about such a call, and the call is held. If
//! the person allows it in time, it is made. If the time passes first, the run ends without a request to the model and is *asking*.
//! Once the person has answered, the session is told that and makes the call again: exactly that call is let through, once.
//!
//! A subagent's call is held in the same way, and the person reads which subagent makes it. A subagent cannot be interrupted alone, and
//! a later session could not go on with it. So when the time passes, its question is withdrawn, the call is refused with words, and the
//! run goes on.
//!
//! The rules of an approval are those of `run/approval`: the mark of the round is made before the call is let through. Calls that the
//! agent program's rules deny never reach the supervisor.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::approval::ask::{self, Shown};
use crate::approval::call::{self, Call};
use crate::approval::permit::{self, Allowed, Permit, Rules};
use crate::approval::standing::{self, StandingDecision};
use crate::attempt::suspended_call;
use crate::supervise::attend::held_requests::{Again, Request, Unasked, Undecided};
use crate::supervise::attend::live_run::LiveRun;
use crate::words;
use askbox_agent::events::EventKind;
use askbox_agent::stream::PermissionRequest;
use askbox_agent::{claude, subagents, transcript};
use askbox_config::RunnerKind;
use askbox_mailbox::documents::fields::live::EXIT_PLAN_MODE;
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{Error, Question, Result, RoundId, disk, read_question, text};

const NOT_PERMITTED: &str = "Not permitted in this unattended run. Go on without it, or ask your user with `ask-post` and end your turn.";

/// Added to the refusal of a command of askbox, because the rules may allow it in another spelling.
const WHAT_A_RULE_COVERS: &str = " A rule that permits `ask-post` or `checkpoint` covers plain and quoted words only: \
    no variables, `$(…)`, `eval`, or JSON in a heredoc.";

const IN_SUBAGENT: &str = "Nobody has permitted this call, and a subagent cannot wait for a person. Go on without it, or end your turn and tell \
    the agent that started you which call is needed: that agent makes it itself, and is then asked about.";

/// The most characters of a subagent's id, definition and task.
const LONGEST_NAME: usize = 60;

/// How long the agent program may take to write the call into its transcript. The call's folder is read from there. A busy machine has
/// taken more than ten seconds, and only a failure takes this long.
const CALL_PATIENCE: Duration = Duration::from_secs(120);

/// The most proposals of people that are remembered.
const MOST_PROPOSALS: usize = 16;

/// The input of a tool, whole.
type Input = Map<String, Value>;

/// The tool calls that the agent program's own rules stop.
#[derive(Debug, Default)]
pub(super) struct StoppedCalls {
    /// True if a note already says that the agent does not read its input.
    unread_noted: bool,
}

impl StoppedCalls {
    /// Replies to the agent program, which asks if a tool call may be made. Returns the request without a reply if a person could allow
    /// the call, or already has.
    pub(super) fn reply_at_once(&mut self, live: &mut LiveRun<'_, '_>, asked: PermissionRequest) -> Option<PermissionRequest> {
        if live.agent.leaves_too_much_unread() {
            if !std::mem::replace(&mut self.unread_noted, true) {
                live.log.note("the agent asks for permissions and does not read the replies; it gets no more of them while they pile up");
            }
            return None;
        }
        if let Some(why) = &asked.needs_nobody {
            log_decision(live, &asked, "allow", why, None);
            live.agent.say(&claude::permission_allow(asked.request_id.raw()));
            return None;
        }
        match was_let_through(live, &asked) {
            Ok(true) => {
                allow(live, &asked);
                return None;
            }
            Ok(false) => {}
            Err(e) => {
                deny_failed(live, &asked, &e.to_string());
                return None;
            }
        }
        match may_be_allowed(live, &asked) {
            Ok(true) => {
                log_decision(live, &asked, "wait", "a person is to decide", None);
                return Some(asked);
            }
            Ok(false) => refuse(live, &asked),
            Err(e) => deny_failed(live, &asked, &e.to_string()),
        }
        None
    }
}

/// The next step for a call that waits.
pub(super) enum NextStep {
    /// It has its reply.
    Replied,
    /// Its folder is not known yet.
    NotYet(Unasked),
    /// A person is to be asked.
    Ask(Request, Box<Question>),
}

/// True if `askbox hook` has let exactly this call through, and a rule of the agent program now asks about it as well. If the operator
/// does not trust every answer, the mark of the hook is not enough, because an agent could write it. [`decide`] then looks at the
/// answer again.
fn was_let_through(live: &LiveRun<'_, '_>, asked: &PermissionRequest) -> Result<bool> {
    let counts = |_: &&Map<String, Value>| asked.complete && live.config.answers.policy().takes_everything();
    let Some(input) = asked.input.as_object().filter(counts) else { return Ok(false) };
    call::take_let_through(live.mailbox, live.run, asked.tool_use_id.raw(), asked.tool_name.raw(), input)
}

/// True if a person could allow the call, or already has. Any other call is refused at once.
fn may_be_allowed(live: &LiveRun<'_, '_>, asked: &PermissionRequest) -> Result<bool> {
    let Some(input) = asked.input.as_object().filter(|_| asked.complete) else { return Ok(false) };
    let is_refused = live.config.approvals.refuse.iter().any(|rule| rule.names(asked.tool_name.raw(), input));
    // A call of askbox needs another spelling, not a person.
    if asks_its_user(asked) || is_refused || calls_askbox(asked) {
        return Ok(false);
    }
    let may_stand = || standing::of_workflow(live.mailbox, &live.run.workflow_id).map(|all| !all.is_empty());
    Ok(is_asked_about(live, asked, input) || live.own_question()?.approval.is_some() || may_stand()?)
}

/// True if a person is asked about the call while the run waits. The hook cannot defer a subagent's call, so it leaves those that the
/// operator's rules name to the supervisor. A subagent can only wait while the run does.
fn is_asked_about(live: &LiveRun<'_, '_>, asked: &PermissionRequest, input: &Input) -> bool {
    let approvals = &live.config.approvals;
    let is_named = || approvals.ask.iter().any(|rule| rule.names(asked.tool_name.raw(), input));
    match asked.subagent {
        Some(_) => !live.config.limits.hold.0.is_zero() && (approvals.ask_stopped || is_named()),
        None => approvals.ask_stopped,
    }
}

/// Lets the call through if a person has allowed it, else asks.
pub(super) fn ask(live: &mut LiveRun<'_, '_>, asked: Box<PermissionRequest>, since: Instant, now: Instant) -> NextStep {
    let Some(input) = asked.input.as_object() else {
        refuse(live, &asked);
        return NextStep::Replied;
    };
    let Some(cwd) = folder_of(live, &asked) else {
        if now < since + CALL_PATIENCE {
            return NextStep::NotYet(Unasked::Call(asked, Some(since)));
        }
        live.log.note("a call that nobody had permitted is in no transcript, so nobody is asked about it");
        refuse(live, &asked);
        return NextStep::Replied;
    };
    match decide(live, &asked, input, &cwd) {
        Ok(Decided::Allow) => allow(live, &asked),
        // The message that began this run has the person's remark.
        Ok(Decided::AllowOnce(allowed)) => allow_once(live, &asked, &allowed, allowed.remark(false).filter(|_| allowed.is_edited())),
        Ok(Decided::Refuse(words)) => decline(live, &asked, &words),
        Ok(Decided::Ask(shown)) if is_asked_about(live, &asked, input) => match question_about(live, &asked, input, &cwd, shown) {
            Ok(question) => return NextStep::Ask(Request::Call(asked, cwd), Box::new(question)),
            Err(e) => deny_failed(live, &asked, &e.to_string()),
        },
        Ok(Decided::Ask(_)) => refuse(live, &asked),
        Err(e) => deny_failed(live, &asked, &e.to_string()),
    }
    NextStep::Replied
}

/// The working folder of the call, from the request, or from the transcript of the session or of its subagent.
fn folder_of(live: &LiveRun<'_, '_>, asked: &PermissionRequest) -> Option<PathBuf> {
    if asked.cwd.is_some() {
        return asked.cwd.clone();
    }
    let session = transcript_of(live)?;
    let transcript = match &asked.subagent {
        Some(id) => subagents::transcript(&session, id.raw())?,
        None => session,
    };
    let file = disk::open_of_another_program(&transcript).ok()?;
    transcript::folder_of_call(file, asked.tool_use_id.raw()).filter(|folder| folder.is_absolute())
}

pub(super) fn transcript_of(live: &LiveRun<'_, '_>) -> Option<PathBuf> {
    let dir = live.run.config_dir.clone().or_else(|| claude::config_dir(|name| std::env::var_os(name)))?;
    transcript::find(&dir, &live.run.session_id.to_string())
}

fn question_about(live: &LiveRun<'_, '_>, asked: &PermissionRequest, input: &Input, cwd: &Path, shown: Shown) -> Result<Question> {
    let call = Call { tool: asked.tool_name.raw(), input, cwd };
    let subagent = asked.subagent.as_ref().map(|id| subagent(live, id));
    ask::question_about(&live.run.workflow_id, &call, shown, asked.tool_use_id.raw(), subagent)
}

/// The subagent with this id, in the words that the agent program noted about it.
fn subagent(live: &LiveRun<'_, '_>, id: &Untrusted) -> Subagent {
    let noted = transcript_of(live).and_then(|session| subagents::note(&session, id.raw())).unwrap_or_default();
    let short = |words: Option<String>| words.map(|words| text::excerpt(&words, LONGEST_NAME)).filter(|words| !words.is_empty());
    Subagent { id: id.excerpt(LONGEST_NAME), kind: short(noted.kind), task: short(noted.task) }
}

fn decide(live: &LiveRun<'_, '_>, asked: &PermissionRequest, input: &Input, cwd: &Path) -> Result<Decided> {
    let call = Call { tool: asked.tool_name.raw(), input, cwd };
    let (question, policy) = (live.own_question()?, live.config.answers.policy());
    for (round, proposal) in &live.proposals {
        if let Permit::Allowed(allowed) = permit::permit(live.mailbox, &rules(live), round, proposal, &call)? {
            return Ok(Decided::AllowOnce(allowed));
        }
    }
    let handed_over = suspended_call::is_handed_over_in(live.mailbox, live.run);
    match standing::about(live.mailbox, &policy, &live.run.workflow_id, &call)? {
        Some(StandingDecision::Allowed) => return Ok(Decided::Allow),
        Some(StandingDecision::Refused(words)) => return Ok(Decided::Refuse(words)),
        None => {}
    }
    // The round's own answer is for the call that the session itself made.
    if question.approval.is_none() || asked.subagent.is_some() {
        return Ok(Decided::Ask(Shown::First));
    }
    // The hook has used the answer for exactly this call, and a rule of the agent program asks as well.
    if permit::allows(&policy, &question, &call)
        && call::take_let_through(live.mailbox, live.run, asked.tool_use_id.raw(), call.tool, input)?
    {
        return Ok(Decided::Allow);
    }
    Ok(match permit::permit(live.mailbox, &rules(live), &live.run.round(), &question, &call)? {
        Permit::Allowed(allowed) => {
            suspended_call::note_handed_over(live.mailbox, live.run)?;
            Decided::AllowOnce(allowed)
        }
        Permit::Refused(words) => Decided::Refuse(words),
        // The call that was allowed once was made in this run; the agent wants it a second time.
        Permit::Ask(Shown::PerhapsMade(_)) if handed_over => Decided::Ask(Shown::First),
        Permit::Ask(shown) => Decided::Ask(shown),
    })
}

/// Does what the person decided, while the agent waits. Returns the next question, and why, if this answer is not about the call.
pub(super) fn answer(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, cwd: &Path, round: &RoundId, question: &Question) -> Again {
    let input = asked.input.as_object()?;
    let call = Call { tool: asked.tool_name.raw(), input, cwd };
    match permit::permit(live.mailbox, &rules(live), round, question, &call) {
        Ok(Permit::Allowed(allowed)) => allow_once(live, asked, &allowed, allowed.remark(asked.subagent.is_some())),
        Ok(Permit::Refused(words)) => {
            if question.answer.as_ref().is_some_and(|answer| answer.edited.is_some()) && live.proposals.len() < MOST_PROPOSALS {
                live.proposals.push((round.clone(), question.clone()));
            }
            decline(live, asked, &words);
        }
        Ok(Permit::Ask(shown)) => match question_about(live, asked, input, cwd, shown) {
            Ok(question) => return Some((question, "the question does not show the call that waits".into())),
            Err(e) => deny_failed(live, asked, &e.to_string()),
        },
        Err(e) => deny_failed(live, asked, &e.to_string()),
    }
    None
}

/// Refuses the call because nobody has decided about it.
pub(super) fn undecided(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, why: &Undecided<'_>) {
    let words = match why {
        Undecided::Ended(question) => words::nobody_allows(&words::end_of(question)),
        Undecided::NotAsked(why) => {
            let words = if asked.subagent.is_some() { IN_SUBAGENT } else { NOT_PERMITTED };
            format!("{words} Nobody could be asked about it: {why}.")
        }
        Undecided::Late => IN_SUBAGENT.to_owned(),
        Undecided::NotPosted(Error::Conflict { .. }) => {
            let pending = read_question::pending(live.mailbox, &live.run.workflow_id).ok();
            words::waits_behind(pending.as_ref().map(|document| &document.typed), words::CALL_LATER)
        }
        Undecided::NotPosted(e) => return deny_failed(live, asked, &e.to_string()),
    };
    decline(live, asked, &words);
}

fn allow(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest) {
    log_decision(live, asked, "allow", "a person has allowed exactly this call", None);
    live.agent.say(&claude::permission_allow(asked.request_id.raw()));
}

/// Lets the call through that a person has allowed once, as they have made it. The agent reads the remark beside its result.
fn allow_once(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, allowed: &Allowed, remark: Option<String>) {
    remark.into_iter().for_each(|remark| live.tell(asked.request_id.raw(), &remark));
    if allowed.is_edited() {
        log_decision(live, asked, "allow", "a person has changed the call, and allowed it so", None);
        live.agent.say(&claude::permission_allow_with(asked.request_id.raw(), &Value::Object(allowed.input.clone())));
    } else {
        allow(live, asked);
    }
    allowed.record(live.mailbox);
}

/// What counts in this run. An agent that speaks ACP cannot be given a changed call.
fn rules<'a>(live: &LiveRun<'a, '_>) -> Rules<'a> {
    let takes_changes = live.agent.kind != RunnerKind::Acp;
    Rules { policy: live.config.answers.policy(), refuse: &live.config.approvals.refuse, takes_changes }
}

/// Refuses the call in a person's words, or because of a question. No rule of the configuration would change that.
fn decline(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, words: &str) {
    log_decision(live, asked, "decline", words, None);
    live.agent.say(&claude::permission_deny(asked.request_id.raw(), words));
}

/// Refuses a call because something failed, so that nobody could be asked about it.
fn deny_failed(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, why: &str) {
    deny(live, asked, &format!("{NOT_PERMITTED} Nobody could be asked about it: {why}."));
}

/// Refuses a call that nobody is asked about, and says what the agent can do instead.
fn refuse(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest) {
    let why = if asks_its_user(asked) {
        format!(
            "Your user is not at this session. Ask with `ask-post 'QUESTION' -w {} -o KEY=DESCRIPTION`, then end your turn: you will be relaunched with the answer.",
            live.run.workflow_id
        )
    } else if asked.subagent.is_some() && live.config.approvals.ask_stopped && !calls_askbox(asked) {
        IN_SUBAGENT.to_owned()
    } else {
        [NOT_PERMITTED, if calls_askbox(asked) { WHAT_A_RULE_COVERS } else { "" }].concat()
    };
    deny(live, asked, &why);
}

fn deny(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, why: &str) {
    let rule = claude::rule_for(asked.tool_name.raw(), &asked.input).filter(|_| !asked.requires_user_interaction);
    log_decision(live, asked, "deny", why, rule);
    live.agent.say(&claude::permission_deny(asked.request_id.raw(), why));
}

fn log_decision(live: &mut LiveRun<'_, '_>, asked: &PermissionRequest, decision: &str, why: &str, rule: Option<String>) {
    let rule = rule.map(Untrusted::from);
    let id = Some(asked.tool_use_id.clone()).filter(|id| !id.raw().is_empty());
    live.log.event(EventKind::Permission { id, tool: asked.tool_name.clone(), decision: decision.into(), why: why.into(), rule });
}

/// The decision about a call.
enum Decided {
    Allow,
    /// By the answer of a person, which is used up.
    AllowOnce(Box<Allowed>),
    Refuse(String),
    Ask(Shown),
}

/// True if the call itself puts a question to the user. A plan does so too, and is shown as the call that it is.
fn asks_its_user(asked: &PermissionRequest) -> bool {
    asked.requires_user_interaction && asked.tool_name.raw() != EXIT_PLAN_MODE
}

/// True if a stopped shell command names a program that agents of askbox use.
fn calls_askbox(asked: &PermissionRequest) -> bool {
    let command = asked.input["command"].as_str().unwrap_or_default();
    ["ask-post", "checkpoint "].iter().any(|program| command.contains(program))
}
