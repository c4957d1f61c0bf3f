//! The requests of people about the sessions of a machine, and the replies. The person may be there or at another machine. A page, an inbox and
//! the programs between machines send the same requests, so each surface offers the same.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::given::{self, Given};
use crate::list;
use crate::session::{Offers, Session};
use askbox_agent::conversation::Conversation;
use askbox_cli::Context;
use askbox_mailbox::prompts::{self, Agent, Place};
use askbox_mailbox::{Below, Caller, Error, Mailbox, Result, Through, WorkflowId, text};

/// A request. The id of a prompt or of a stop is chosen by its sender, so that the same request again does nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    /// Which sessions are there?
    List,
    /// What was said in one, and what was given to it?
    See {
        /// Its id.
        session: String,
        /// How the person looks.
        look: Look,
    },
    /// Send a prompt.
    Send {
        /// The id of the session.
        session: String,
        /// The id of the prompt.
        prompt: Uuid,
        /// Its words.
        words: String,
        /// True if the person was told that the session has ended.
        has_ended: bool,
    },
    /// Stop the turn.
    Stop {
        /// The id of the session.
        session: String,
        /// The id of the stop.
        prompt: Uuid,
    },
    /// Take a prompt back.
    TakeBack {
        /// The id of the session.
        session: String,
        /// The id of the prompt.
        prompt: Uuid,
    },
}

/// How a person looks at a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// The person opens it.
    Opens,
    /// It is open. Only somebody who gave a prompt is surely in front of it.
    Stays,
    /// It is hidden.
    Hidden,
}

/// A reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The sessions.
    List(Listed),
    /// One of them.
    Session(Box<View>),
    /// It is done, by this run if there is one.
    Done(Option<WorkflowId>),
}

/// The sessions of a machine.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Listed {
    /// Those that wait for their user come first.
    pub sessions: Vec<Session>,
    /// Why some are missing.
    pub problem: Option<String>,
    /// The ended ones with a kept prompt.
    pub unsent: Vec<String>,
}

/// One session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct View {
    /// Its agent.
    pub agent: Agent,
    /// `None` if it has ended.
    pub session: Option<Session>,
    /// The things that a person can do with it.
    pub offers: Offers,
    /// The end of its conversation.
    pub said: Conversation,
    /// The path that changes with it, on its own machine.
    #[serde(skip)]
    pub at: Option<std::path::PathBuf>,
    /// The last prompts for it.
    pub given: Vec<Given>,
}

/// A request of another machine, in the name of a person there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// The person.
    pub by: String,
    /// The channel of the person's program.
    pub through: Through,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

impl Asked {
    /// A request in the name of this person, to be sent to another machine.
    ///
    /// # Errors
    /// [`Error::Conflict`] if this caller is not a person.
    pub fn by(person: &Caller, request: Request) -> Result<Self> {
        person.may_prompt()?;
        Ok(Self { by: person.by().to_owned(), through: person.through().unwrap_or(Through::File), request })
    }

    /// Does it, if the caller is a person. `below` says what the process runs below that brings it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller is not a person; those of [`Request::does`].
    pub fn does(self, mailbox: &Mailbox, context: &Context, below: Below) -> Result<Reply> {
        let person = Caller::from_elsewhere(self.by, "sessions", Some(self.through), below)?;
        person.may_prompt()?;
        self.request.does(mailbox, context, &person)
    }
}

impl Request {
    /// True if it is more than a look.
    pub fn acts(&self) -> bool {
        !matches!(self, Self::List | Self::See { .. })
    }

    /// Does it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such session; the errors of [`given`], and those of a file that cannot be read.
    pub fn does(self, mailbox: &Mailbox, context: &Context, caller: &Caller) -> Result<Reply> {
        match self {
            Self::List => listed(mailbox).map(Reply::List),
            Self::See { session, look } => view(mailbox, context, caller, &session, look).map(Box::new).map(Reply::Session),
            Self::Send { session, prompt, words, has_ended } => {
                let config = context.config()?;
                given::send(mailbox, caller, prompt, &session, &words, has_ended.then_some(&config)).map(Reply::Done)
            }
            Self::Stop { session, prompt } => given::stop(mailbox, caller, prompt, &session).map(|()| Reply::Done(None)),
            Self::TakeBack { session, prompt } => given::take_back(mailbox, caller, prompt, &session).map(|()| Reply::Done(None)),
        }
    }
}

impl Reply {
    /// The reply as another machine is told it.
    ///
    /// # Errors
    /// If it cannot be put into JSON.
    pub fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::failed(format!("the reply cannot be sent: {e}"), "look at the session there"))
    }

    /// Reads the reply of another machine. Its texts come out without characters that a terminal obeys. `None` if it is of another version.
    pub fn from_elsewhere(mut reply: Value) -> Option<Self> {
        make_printable(&mut reply);
        serde_json::from_value(reply).ok()
    }
}

fn make_printable(value: &mut Value) {
    match value {
        Value::String(words) => *words = text::printable(words),
        Value::Array(all) => all.iter_mut().for_each(make_printable),
        Value::Object(all) => all.values_mut().for_each(make_printable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn listed(mailbox: &Mailbox) -> Result<Listed> {
    let (sessions, problem) = list::all(mailbox)?;
    let kept = prompts::all(mailbox).into_iter().filter(|(_, place, _)| *place == Place::Kept).map(|(_, _, prompt)| prompt.session);
    let unsent: BTreeSet<_> = kept.filter(|id| sessions.iter().all(|session| session.id != *id)).collect();
    Ok(Listed { sessions, problem: problem.map(|e| text::one_line(&e.to_string())), unsent: unsent.into_iter().collect() })
}

fn view(mailbox: &Mailbox, context: &Context, caller: &Caller, id: &str, look: Look) -> Result<View> {
    let session = list::of_id(mailbox, id)?;
    let said = list::said(id, session.as_ref())?;
    let Some(agent) = session.as_ref().map(|session| session.agent).or(said.as_ref().map(|said| said.agent)) else {
        return Err(Error::not_found(format!("there is no session {}", text::excerpt(id, 40)), "the sessions: askbox sessions"));
    };
    let offers = list::offers(session.as_ref(), said.as_ref());
    // A watcher of another container is not seen, and sends all the same.
    context.reload();
    let config = context.config().ok();
    let is_person = caller.may_prompt().is_ok();
    let sees = |prompt: &prompts::Prompt| match look {
        Look::Opens => is_person,
        Look::Stays => is_person && prompt.by == caller.by(),
        Look::Hidden => false,
    };
    let given = given::of_session(mailbox, config.as_ref(), id, session.as_ref(), sees);
    let (at, said) = said.map(|said| (Some(said.at), said.conversation)).unwrap_or_default();
    Ok(View { agent, session, offers, said, at, given })
}
