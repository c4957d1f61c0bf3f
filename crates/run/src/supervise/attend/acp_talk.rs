//! The conversation with an agent that speaks ACP, up to its message and between its turns.
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

use std::time::{Duration, Instant};

use crate::attempt::acp_session::{self, AcpSession};
use crate::attempt::ending::Ending;
use crate::attempt::failure::Class;
use crate::attempt::fetched;
use crate::prompt::{lost_work, to_acp};
use crate::supervise::acp_state::{AcpTalk, Due, Heard, Messages, QUIET};
use crate::supervise::attend::attendance::Attendance;
use askbox_agent::acp::{AgentInfo, Asked, Client, NO_SESSION, NOT_LOGGED_IN, Opened, Reply};
use askbox_agent::stream::{TurnOutcome, Verdict};
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{Time, time};

/// A minute in milliseconds.
const MINUTE: i64 = 60_000;
/// The most further messages of an attempt, about refused calls.
const MOST_MESSAGES: u32 = 16;

impl Attendance<'_, '_> {
    /// Takes the agent's reply to a request of ours.
    pub(super) fn acp_replied(&mut self, reply: Reply) {
        match reply {
            // The agent is on its way out.
            _ if !self.stopping.is_working() => {}
            Reply::Initialized(info) => self.initialized(info),
            Reply::Opened(opened) => self.session_opened(opened),
            Reply::ModeSet => self.session_ready(),
            Reply::Failed { asked, code, message } => self.request_failed(asked, code, &message),
        }
    }

    /// Makes a line by the conversation and writes it.
    fn say_over_acp(&mut self, line: impl FnOnce(&mut Client) -> String) {
        if let Some(line) = self.live.agent.of_acp(line) {
            self.live.agent.say(&line);
        }
    }

    fn initialized(&mut self, info: AgentInfo) {
        if !info.is_understood() {
            let why = format!("the agent speaks version {} of ACP, and askbox speaks version 1", info.protocol);
            return self.cannot_begin(Ending::Refused { class: Class::Setup, why });
        }
        let Some(talk) = &mut self.acp else { return };
        talk.info = info;
        let Some(known) = &talk.opening.session else { return self.begin_session() };
        if known.agent != talk.info.name.raw() {
            let why = format!("a new session: the earlier one was of {}, and this agent is {}", known.agent, talk.info.name.raw());
            return self.begin_another_session(&why);
        }
        let id = known.session.clone();
        let loads = talk.looks_for_messages() || !talk.info.can_resume;
        if loads && !talk.info.can_load {
            return self.begin_another_session("a new session: the agent cannot continue one");
        }
        if !loads {
            return self.say_over_acp(|client| client.resume(&id));
        }
        match end_of_first_minute(known.begun_at).filter(|_| talk.loads_after_a_minute) {
            Some(wait) => talk.due = Some(Due::Load(Instant::now() + wait)),
            None => self.load_session(),
        }
    }

    fn load_session(&mut self) {
        let Some(talk) = &self.acp else { return };
        let Some(session) = talk.opening.session.as_ref().map(|known| known.session.clone()) else { return };
        let markers = talk.opening.markers(&self.live.run.round());
        self.say_over_acp(|client| client.load(&session, markers));
    }

    fn begin_session(&mut self) {
        self.say_over_acp(Client::new_session);
    }

    /// Begins a new session in place of the one that was to be continued.
    fn begin_another_session(&mut self, why: &str) {
        self.live.log.note(why);
        if let Some(talk) = &mut self.acp {
            talk.opening.session = None;
        }
        self.begin_session();
    }

    fn session_opened(&mut self, opened: Opened) {
        let Some(talk) = &mut self.acp else { return };
        let mode = talk.mode.clone();
        let has_mode = mode.is_empty() || opened.mode.as_ref() == Some(&mode);
        // An agent that names no modes cannot be put into one.
        let has_modes = opened.mode.is_some() || opened.how != Asked::New;
        talk.opened = Some(opened);
        if has_mode {
            self.session_ready();
        } else if has_modes {
            self.say_over_acp(|client| client.set_mode(&mode));
        } else {
            self.live.log.note(format!("the agent has no modes, so it is not put into the mode `{mode}`"));
            self.session_ready();
        }
    }

    fn session_ready(&mut self) {
        let Some(talk) = &mut self.acp else { return };
        if talk.opened.as_ref().is_some_and(|opened| opened.how == Asked::Load) {
            talk.due = Some(Due::Message(Instant::now() + QUIET));
        } else {
            self.send_message();
        }
    }

    /// Does what waits for its time.
    pub(super) fn talk_when_due(&mut self, now: Instant) {
        let Some(talk) = &mut self.acp else { return };
        if !self.stopping.is_working() {
            talk.due = None;
        }
        match talk.due {
            Some(Due::Message(at)) if now >= at => {
                talk.due = None;
                self.history_played_back();
            }
            Some(Due::Load(at)) if now >= at => {
                talk.due = None;
                self.load_session();
            }
            _ => {}
        }
    }

    fn history_played_back(&mut self) {
        if self.live.agent.of_acp(|client| client.has_seen_history()) == Some(false) {
            return self.begin_another_session("a new session: the earlier one has lost its history");
        }
        self.send_message();
    }

    /// Puts the session on record and sends the round's message.
    fn send_message(&mut self) {
        let Some(talk) = &self.acp else { return };
        let Some(opened) = &talk.opened else { return };
        let known = talk.opening.session.as_ref();
        let session = AcpSession {
            session: opened.session.clone(),
            agent: talk.info.name.raw().to_owned(),
            version: talk.info.version.raw().to_owned(),
            cwd: self.live.agent.of_acp(|client| client.cwd().to_path_buf()).unwrap_or_default(),
            begun_at: known.map_or_else(time::now, |known| known.begun_at),
            is_written: false,
        };
        if let Err(e) = acp_session::note(self.live.mailbox, self.live.run, &session) {
            return self.cannot_begin(Ending::of_trouble(&e));
        }
        let (text, note) = self.first_message(talk, opened);
        note.into_iter().for_each(|note| self.live.log.note(note));
        self.prompt(&text);
    }

    /// The round's message for the session as it is, and a note about it.
    fn first_message(&self, talk: &AcpTalk, opened: &Opened) -> (String, Option<&'static str>) {
        let Messages { in_new_session, continued, may_be_done } = &talk.messages;
        let (mailbox, run) = (self.live.mailbox, self.live.run);
        let lost = self.live.agent.of_acp(|client| talk.opening.lost(opened, client)).unwrap_or_default();
        let untold = lost_work::of_this_round(mailbox, run, &lost);
        let again = || to_acp::perhaps_again(&to_acp::behind(continued, untold.as_deref()));
        let marker = to_acp::marker_of_round(&run.round());
        let is_seen = self.live.agent.of_acp(|client| client.has_seen(&marker)) == Some(true);
        let has_message = is_seen || lost.iter().filter(|lost| lost.id.round == run.round()).all(|lost| lost.has_message);
        let (text, note) = match (&talk.opening.session, talk.opening.heard) {
            (None, Heard::No) => (in_new_session.clone(), None),
            (None, Heard::Yes | Heard::Unknown) => {
                (to_acp::perhaps_again(in_new_session), Some("the message is sent again, in a new session"))
            }
            (Some(_), Heard::No) if *may_be_done => (to_acp::perhaps_again(continued), None),
            (Some(_), Heard::No) => (continued.clone(), None),
            (Some(_), Heard::Yes) if has_message => {
                let note = match &untold {
                    None => "the session has its message from an earlier attempt: it is told to continue",
                    Some(_) => "the session may lack calls of an earlier attempt: it is told to continue, and what they were",
                };
                (to_acp::to_continue(untold.as_deref()), Some(note))
            }
            (Some(_), Heard::Yes) => {
                (again(), Some("the agent worked on its message, and the session's history has lost it: it is sent again"))
            }
            (Some(_), Heard::Unknown) if is_seen => {
                (to_acp::to_continue(None), Some("the session's history has the message: it is told to continue"))
            }
            (Some(_), Heard::Unknown) => (again(), Some("nothing shows that the session got its message: it is sent again")),
        };
        match lost_work::of_earlier_rounds(mailbox, self.live.config, run, &lost) {
            Some(earlier) => {
                (format!("{earlier}\n\n{text}"), note.or(Some("the session's history lacks an earlier round: the agent is told it")))
            }
            None => (text, note),
        }
    }

    fn prompt(&mut self, text: &str) {
        let Some(talk) = &mut self.acp else { return };
        talk.messages_sent += 1;
        let text = to_acp::marked(self.live.run, talk.messages_sent, text);
        self.say_over_acp(|client| client.prompt(&text));
    }

    fn request_failed(&mut self, asked: Asked, code: i64, message: &Untrusted) {
        let words = message.excerpt(300);
        let why = format!("`{}` failed ({code}): {words}", asked.method());
        match asked {
            _ if code == NOT_LOGGED_IN => self.cannot_begin(Ending::Refused { class: Class::Authentication, why }),
            Asked::Resume | Asked::Load if NO_SESSION.contains(&code) => self.begin_another_session(&format!("a new session: {why}")),
            Asked::Mode => self.cannot_begin(Ending::Refused { class: Class::Setup, why }),
            // The session may be there: codex replies -32600 while another process works on it. A new session beside it would do the work
            // twice, so this one is tried again.
            _ => self.cannot_begin(Ending::Failed { why }),
        }
    }

    /// Ends the attempt before the agent has its message.
    fn cannot_begin(&mut self, ending: Ending) {
        self.outcome.end_before_the_message(ending);
        self.stopping.let_it_exit(&mut self.live);
    }

    /// Sends another message after a turn, if there is something to tell, or if the turn ended without a result for the first time.
    /// Returns true if it did.
    pub(super) fn acp_goes_on(&mut self, turn: &TurnOutcome) -> bool {
        let is_fetched = self.fetched_before_silence(turn);
        let Some(talk) = &mut self.acp else { return false };
        if !self.stopping.is_working() || self.requests.ends_for().is_some() {
            return false;
        }
        let is_unclear = matches!(turn.verdict, Verdict::Unclear { .. }) && !is_fetched;
        if !is_unclear && !is_fetched && !matches!(turn.verdict, Verdict::Completed { .. }) {
            return false;
        }
        let untold = self.live.take_untold();
        if !untold.is_empty() && talk.further_messages < MOST_MESSAGES {
            talk.further_messages += 1;
            self.prompt(&untold.join("\n\n"));
            return true;
        }
        if is_unclear && !talk.was_continued && !self.live.has_asked() {
            talk.was_continued = true;
            self.live.log.note("the turn ended without a result: the agent is asked to go on, once");
            self.prompt(to_acp::about_no_result());
            return true;
        }
        false
    }

    /// The ending of a turn without a result that counts as delivered all the same. Either the agent has posted a question in this run: the
    /// question is what it had to say. Or it has fetched the answer.
    pub(super) fn delivered_without_words(&mut self, turn: &TurnOutcome) -> Option<Ending> {
        let is_fetched = self.fetched_before_silence(turn);
        if is_fetched {
            self.live.log.note("the turn ended without words; it counts, because the agent has fetched the answer");
        }
        let has_asked = matches!(turn.verdict, Verdict::Unclear { .. }) && self.live.has_asked();
        (is_fetched || has_asked).then(|| Ending::Delivered { text: turn.text.clone(), cost_usd: turn.cost_usd })
    }

    /// True if nothing but words is missing at the end of the turn, and the agent has fetched the answer in this attempt.
    fn fetched_before_silence(&self, turn: &TurnOutcome) -> bool {
        let is_only_silent = matches!(turn.verdict, Verdict::Unclear { is_only_silent: true, .. });
        is_only_silent && self.acp.as_ref().is_some_and(|talk| fetched::is_noted(self.live.mailbox, &self.live.run.id(), &talk.nonce))
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
