//! The conversation with the agent, up to its message and between its turns.
//!
//! 1. `initialize` says what the agent can do.
//! 2. The session of an earlier round or attempt is continued, by `session/resume` or `session/load`. Without one, or if that fails, a new
//!    session is begun.
//! 3. The session is put into the configured mode. It is set each time, because some agents forget it.
//! 4. The session's id is put on record, durably. Only then the message is sent.
//!
//! If an earlier attempt sent the message and nothing shows that the agent worked on it, the session's history is played back and
//! searched for the message's marker. If the marker is not there either, the message is sent again, with the remark that it may be the
//! second time.
//!
//! The same is done if an earlier agent of the session did not end by itself: it may have died before it had written its last words. If
//! they are missing, the message tells them from the events: what the agent was told, and its calls. A call is missing if the agent does not
//! play it back with its end. A session that is continued without its history is told all calls of such an agent.
//!
//! A turn that ends without a result is continued once. A second one parks the round.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::opening::{Heard, Messages, Opening};
use crate::protocol::{AgentInfo, AgentReply, Asked, Client, NO_SESSION, NOT_LOGGED_IN, Opened};
use crate::{command, session, words};
use askbox_agent::StreamItem;
use askbox_agent::stream::{TurnOutcome, Verdict};
use askbox_config::Config;
use askbox_mailbox::documents::fields::asked_in::Nonce;
use askbox_mailbox::{Folder, Mailbox, Question, Result, Time, Untrusted, read_question, time};
use askbox_run::Run;
use askbox_run::attempt::acp_session::AcpSession;
use askbox_run::attempt::failure::Class;
use askbox_run::attempt::used_answer;
use askbox_run::process::pipes::AgentInput;
use askbox_run::prompt::message::behind;

/// How long nothing may come before the history of a session counts as played back.
const QUIET: Duration = Duration::from_millis(500);
/// A minute in milliseconds.
const MINUTE: i64 = 60_000;
/// The most further messages of an attempt, about refused calls.
const MOST_MESSAGES: u32 = 16;
/// The most texts that are kept for the end of a turn.
const MOST_UNTOLD: usize = 32;

/// Something that waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// The message, once nothing has come for a while.
    Message(Instant),
    /// The loading of the session.
    Load(Instant),
}

/// The conversation with one agent process.
pub(crate) struct Talk<'a> {
    pub(crate) mailbox: &'a Mailbox,
    pub(crate) config: &'a Config,
    pub(crate) run: Run,
    /// The secret of the attempt.
    pub(crate) nonce: Nonce,
    pub(crate) opening: Opening,
    pub(crate) messages: Messages,
    /// The mode to set; empty for none.
    pub(crate) mode: String,
    /// True if a session that is loaded in the clock minute of its creation is lost.
    pub(crate) loads_after_a_minute: bool,
    pub(crate) client: Arc<Mutex<Client>>,
    /// The agent's input; `None` once it was closed.
    pub(crate) agent: Option<AgentInput>,
    pub(crate) so_far: SoFar,
}

/// How far the conversation has come.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    info: AgentInfo,
    opened: Option<Opened>,
    due: Option<Due>,
    was_continued: bool,
    further_messages: u32,
    /// How many messages the agent got in this attempt.
    messages_sent: u32,
    /// Texts for the agent, which it reads once its turn is over.
    untold: Vec<String>,
    /// True if the agent gets no further message.
    is_leaving: bool,
}

impl Talk<'_> {
    /// Asks the agent what it can do.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.ask(Client::initialize)
    }

    /// Takes the agent's reply to a request of ours.
    pub(crate) fn replied(&mut self, reply: AgentReply) -> Result<()> {
        match reply {
            // The agent is on its way out.
            _ if self.so_far.is_leaving => Ok(()),
            AgentReply::Initialized(info) => self.initialized(info),
            AgentReply::Opened(opened) => self.session_opened(opened),
            AgentReply::ModeSet => self.session_ready(),
            AgentReply::Failed { asked, code, message } => self.request_failed(asked, code, &message),
        }
    }

    /// The client, which the thread that reads the agent's output works with too.
    pub(crate) fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a line of the conversation and writes it. The supervisor hears what the agent is asked before its session has begun.
    fn ask(&mut self, line: impl FnOnce(&mut Client) -> String) -> Result<()> {
        let (line, unanswered) = {
            let mut client = self.client();
            (line(&mut client), client.unanswered())
        };
        if self.so_far.opened.is_none() {
            unanswered.map_or(Ok(()), |method| command::say(&StreamItem::Asked(method.to_owned())))?;
        }
        self.say(&line);
        Ok(())
    }

    /// Writes lines to the agent.
    pub(crate) fn say(&mut self, lines: &str) {
        self.agent.iter_mut().for_each(|agent| agent.say(lines));
    }

    fn initialized(&mut self, info: AgentInfo) -> Result<()> {
        if !info.is_understood() {
            let why = format!("the agent speaks version {} of ACP, and askbox speaks version 1", info.protocol);
            return self.cannot_begin(Some(Class::Setup), why);
        }
        self.so_far.info = info;
        let Some(known) = &self.opening.session else { return self.ask(Client::new_session) };
        if known.agent != self.so_far.info.name.raw() {
            let why = format!("a new session: the earlier one was of {}, and this agent is {}", known.agent, self.so_far.info.name.raw());
            return self.begin_another_session(&why);
        }
        let id = known.session.clone();
        let loads = (self.opening.looks_for_messages() && self.so_far.info.can_load) || !self.so_far.info.can_resume;
        if loads && !self.so_far.info.can_load {
            return self.begin_another_session("a new session: the agent cannot continue one");
        }
        if !loads {
            return self.ask(|client| client.resume(&id));
        }
        match end_of_first_minute(known.begun_at).filter(|_| self.loads_after_a_minute) {
            Some(wait) => {
                self.so_far.due = Some(Due::Load(Instant::now() + wait));
                Ok(())
            }
            None => self.load_session(),
        }
    }

    fn load_session(&mut self) -> Result<()> {
        let Some(session) = self.opening.session.as_ref().map(|known| known.session.clone()) else { return Ok(()) };
        let markers = self.opening.markers(&self.run.round());
        self.ask(|client| client.load(&session, markers))
    }

    /// Begins a new session in place of the one that was to be continued.
    fn begin_another_session(&mut self, why: &str) -> Result<()> {
        command::note(why)?;
        self.opening.session = None;
        self.ask(Client::new_session)
    }

    fn session_opened(&mut self, opened: Opened) -> Result<()> {
        let mode = self.mode.clone();
        let has_mode = mode.is_empty() || opened.mode.as_ref() == Some(&mode);
        // An agent that names no modes cannot be put into one.
        let has_modes = opened.mode.is_some() || opened.how != Asked::New;
        self.so_far.opened = Some(opened);
        if has_mode {
            self.session_ready()
        } else if has_modes {
            self.ask(|client| client.set_mode(&mode))
        } else {
            command::note(&format!("the agent has no modes, so it is not put into the mode `{mode}`"))?;
            self.session_ready()
        }
    }

    fn session_ready(&mut self) -> Result<()> {
        if self.so_far.opened.as_ref().is_some_and(|opened| opened.how == Asked::Load) {
            self.so_far.due = Some(Due::Message(Instant::now() + QUIET));
            Ok(())
        } else {
            self.send_message()
        }
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.so_far.due.map(|due| match due {
            Due::Message(at) | Due::Load(at) => at,
        })
    }

    /// Notes that the agent has printed something: the history may go on.
    pub(crate) fn heard_something(&mut self) {
        if let Some(Due::Message(at)) = &mut self.so_far.due {
            *at = Instant::now() + QUIET;
        }
    }

    /// Does what waits for its time.
    pub(crate) fn go_on_when_due(&mut self) -> Result<()> {
        if self.so_far.is_leaving || self.due().is_none_or(|at| Instant::now() < at) {
            return Ok(());
        }
        match self.so_far.due.take() {
            Some(Due::Message(_)) if !self.client().has_seen_history() => {
                self.begin_another_session("a new session: the earlier one has lost its history")
            }
            Some(Due::Message(_)) => self.send_message(),
            Some(Due::Load(_)) => self.load_session(),
            None => Ok(()),
        }
    }

    /// Puts the session on record and sends the round's message.
    fn send_message(&mut self) -> Result<()> {
        let Some(opened) = &self.so_far.opened else { return Ok(()) };
        let session = AcpSession {
            session: opened.session.clone(),
            agent: self.so_far.info.name.raw().to_owned(),
            version: self.so_far.info.version.raw().to_owned(),
            cwd: self.client().cwd().to_path_buf(),
            begun_at: self.opening.session.as_ref().map_or_else(time::now, |known| known.begun_at),
            is_written: false,
        };
        if let Err(e) = session::note(self.mailbox, &self.run, &session) {
            return self.cannot_begin(None, e.to_string());
        }
        let (text, note) = self.first_message(opened);
        note.map_or(Ok(()), command::note)?;
        self.prompt(&text)
    }

    /// The round's message for the session as it is, and a note about it.
    fn first_message(&self, opened: &Opened) -> (String, Option<&'static str>) {
        let Messages { in_new_session, continued, may_be_done } = &self.messages;
        let (mailbox, run) = (self.mailbox, &self.run);
        let lost = self.opening.lost(opened, &self.client());
        let untold = words::calls(mailbox, &run.round(), &lost);
        let again = || words::perhaps_again(&behind(continued, untold.as_deref()));
        let is_seen = self.client().has_seen(&words::marker_of_round(&run.round()));
        let has_message = is_seen || lost.iter().filter(|lost| lost.id.round == run.round()).all(|lost| lost.has_message);
        let (text, note) = match (&self.opening.session, self.opening.heard) {
            (None, Heard::No) => (in_new_session.clone(), None),
            (None, Heard::Yes | Heard::Unknown) => {
                (words::perhaps_again(in_new_session), Some("the message is sent again, in a new session"))
            }
            (Some(_), Heard::No) if *may_be_done => (words::perhaps_again(continued), None),
            (Some(_), Heard::No) => (continued.clone(), None),
            (Some(_), Heard::Yes) if has_message => {
                let note = match &untold {
                    None => "the session has its message from an earlier attempt: it is told to continue",
                    Some(_) => "the session may lack calls of an earlier attempt: it is told to continue, and what they were",
                };
                (words::to_continue(untold.as_deref()), Some(note))
            }
            (Some(_), Heard::Yes) => {
                (again(), Some("the agent worked on its message, and the session's history has lost it: it is sent again"))
            }
            (Some(_), Heard::Unknown) if is_seen => {
                (words::to_continue(None), Some("the session's history has the message: it is told to continue"))
            }
            (Some(_), Heard::Unknown) => (again(), Some("nothing shows that the session got its message: it is sent again")),
        };
        match words::of_earlier_rounds(mailbox, self.config, run, &lost) {
            Some(earlier) => {
                (format!("{earlier}\n\n{text}"), note.or(Some("the session's history lacks an earlier round: the agent is told it")))
            }
            None => (text, note),
        }
    }

    fn prompt(&mut self, text: &str) -> Result<()> {
        self.so_far.messages_sent += 1;
        let text = words::marked(&self.run, self.so_far.messages_sent, text);
        self.ask(|client| client.prompt(&text))
    }

    fn request_failed(&mut self, asked: Asked, code: i64, message: &Untrusted) -> Result<()> {
        let words = message.excerpt(300);
        let why = format!("`{}` failed ({code}): {words}", asked.method());
        match asked {
            _ if code == NOT_LOGGED_IN => self.cannot_begin(Some(Class::Authentication), why),
            Asked::Resume | Asked::Load if NO_SESSION.contains(&code) => self.begin_another_session(&format!("a new session: {why}")),
            Asked::Mode => self.cannot_begin(Some(Class::Setup), why),
            // The session may be there: codex replies -32600 while another process works on it. A new session beside it would do the work
            // twice, so this one is tried again.
            _ => self.cannot_begin(None, why),
        }
    }

    /// Ends the attempt before the agent has its message.
    fn cannot_begin(&mut self, class: Option<Class>, why: String) -> Result<()> {
        self.leave();
        command::cannot_begin(class, why)
    }

    /// Takes in what the agent is to be told once its turn is over.
    pub(crate) fn tell_later(&mut self, text: &str) {
        if self.so_far.untold.len() < MOST_UNTOLD {
            self.so_far.untold.push(text.to_owned());
        }
    }

    /// Ends the turn: nobody decides about the requests that wait. Without a turn, there is nothing to cancel, and the agent may exit.
    pub(crate) fn end_turn(&mut self) {
        self.so_far.is_leaving = true;
        let cancel = self.client().cancel();
        self.say(&cancel);
        if !self.client().has_turn() {
            self.leave();
        }
    }

    /// Lets the agent exit, by closing its session and its input.
    pub(crate) fn leave(&mut self) {
        self.so_far.is_leaving = true;
        let close = self.client().close();
        self.say(&close);
        self.agent = None;
    }

    /// Takes in the end of a turn. Sends another message if there is something to tell, or if the turn ended without a result for the first
    /// time. Otherwise the supervisor is told.
    pub(crate) fn turn_ended(&mut self, mut turn: Box<TurnOutcome>) -> Result<()> {
        // Nothing but words is missing at the end of the turn, and the agent has fetched the answer in this attempt.
        let is_only_silent = matches!(turn.verdict, Verdict::Unclear { is_only_silent: true, .. });
        let is_fetched = is_only_silent && used_answer::is_noted(self.mailbox, &self.run.id(), &self.nonce);
        let is_unclear = matches!(turn.verdict, Verdict::Unclear { .. });
        let has_asked = is_unclear && self.has_asked();
        if !self.so_far.is_leaving && (is_unclear || matches!(turn.verdict, Verdict::Completed { .. })) {
            if !self.so_far.untold.is_empty() && self.so_far.further_messages < MOST_MESSAGES {
                self.so_far.further_messages += 1;
                let untold = std::mem::take(&mut self.so_far.untold).join("\n\n");
                return self.prompt(&untold);
            }
            if is_unclear && !is_fetched && !has_asked && !self.so_far.was_continued {
                self.so_far.was_continued = true;
                command::note("the turn ended without a result: the agent is asked to go on, once")?;
                return self.prompt(words::NO_RESULT);
            }
        }
        // It counts: the agent has fetched the answer, or the question that it has posted is what it had to say.
        if is_fetched {
            command::note("the turn ended without words; it counts, because the agent has fetched the answer")?;
        }
        if is_fetched || has_asked {
            (turn.verdict, turn.is_error) = (Verdict::Completed { text: turn.text.clone() }, false);
        }
        command::say(&StreamItem::TurnEnded(turn))
    }

    /// True if the workflow has an open question that its agent asked. A question about a tool call is not one: the supervisor asks it.
    fn has_asked(&self) -> bool {
        let is_asked = |question: &Question| question.approval.is_none() && question.elicited_by.is_none();
        let answered = self.mailbox.document(Folder::Answered, &self.run.workflow_id);
        let open = [read_question::pending(self.mailbox, &self.run.workflow_id), read_question::document(&answered)];
        open.into_iter().any(|document| document.is_ok_and(|document| is_asked(&document.typed)))
    }
}

/// How long the clock minute of this time still goes on, and a little more; `None` if it is over.
fn end_of_first_minute(begun_at: Time) -> Option<Duration> {
    let into_minute = begun_at.timestamp_millis().rem_euclid(MINUTE);
    let ends = begun_at.timestamp_millis() - into_minute + MINUTE + 1_000;
    let left = ends - time::now().timestamp_millis();
    // After a change of the clock, no wait is longer than a minute.
    u64::try_from(left.min(MINUTE)).ok().filter(|left| *left > 0).map(Duration::from_millis)
}
