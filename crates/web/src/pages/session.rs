//! The sessions of Claude Code on this machine, and the conversation of one, read where it lies. Only a look reads it.

use std::path::{Path as FilePath, PathBuf};

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Hosts;
use crate::looked_at::ALL;
use crate::pages::{Frame, markdown, prompt};
use crate::reply;
use crate::site::{Site, Visit};
use askbox_agent::conversation::{self, Conversation, Turn, What};
use askbox_agent::sessions::claude::{self as live, Session};
use askbox_agent::{claude, transcript};
use askbox_cli::ask_answer::filter::Facts;
use askbox_mailbox::{Error, IoContext, Result, Time, disk, prompts, text, time};
use askbox_watch::prompting;

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<Heading>,
    /// The sessions that have ended while a prompt was kept for them.
    unsent: Vec<String>,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage<'a> {
    frame: Frame,
    hosts: &'a Hosts,
    heading: Heading,
    branch: Option<String>,
    turns: Vec<Shown>,
    is_cut: bool,
    /// The prompts that were given here.
    prompts: Vec<prompt::Shown>,
    /// The id of the next one, if the session takes words.
    next: Option<Uuid>,
    /// True if the last one was sent just now, so that its draft is not needed any more.
    is_sent: bool,
}

/// The facts about a session.
struct Heading {
    id: String,
    title: String,
    project: String,
    does: String,
    class: &'static str,
    ago: String,
    /// The address of the question that its dialog asks.
    question: Option<String>,
}

/// A turn of the conversation, its time, and its CSS class.
struct Shown {
    at: String,
    class: &'static str,
    what: What,
}

/// `/sessions`
pub fn list(visit: &Visit, (): ()) -> Result<Response> {
    let folder = config_dir()?;
    visit.site.changes.look_at(folder.join("sessions"), ALL);
    let mut sessions = live::all(&folder);
    sessions.sort_by_key(|session| (!session.is_waiting(), std::cmp::Reverse(session.since())));
    let unsent = prompt::unsent(&visit.site.mailbox, &sessions);
    let sessions = sessions.iter().map(|session| Heading::of(&visit.site, session)).collect::<Result<_>>()?;
    Ok(reply::html(StatusCode::OK, &SessionsPage { frame: Frame::new(visit, "sessions"), sessions, unsent }))
}

/// `/session/ID`
pub fn show(visit: &Visit, (Path(id), RawQuery(query)): (Path<String>, RawQuery)) -> Result<Response> {
    let folder = config_dir()?;
    let session = live::of_id(&folder, &id);
    let transcript = transcript::find(&folder, &id);
    if session.is_none() && transcript.is_none() {
        return Err(Error::not_found(format!("there is no session {}", text::excerpt(&id, 40)), "the sessions: askbox sessions"));
    }
    visit.site.changes.look_at(folder.join("sessions"), ALL);
    let said = match &transcript {
        Some(path) => {
            visit.site.changes.look_at(path.clone(), &id);
            read(path)?
        }
        // The file comes with the first message.
        None => Conversation::default(),
    };
    let heading = match &session {
        Some(session) => Heading::of(&visit.site, session)?,
        None => Heading::ended(&id, said.cwd.as_deref()),
    };
    let turns = said.turns.into_iter().map(Shown::from).collect();
    let (frame, hosts) = (Frame::new(visit, "sessions"), &visit.site.hosts);
    let given = prompts::folder(&visit.site.mailbox);
    if disk::exists(&given) {
        visit.site.changes.look_at(given, &id);
    }
    let prompts = prompt::of_session(&visit.site.mailbox, &id, session.is_some());
    let next = session.filter(prompting::takes_words).map(|_| Uuid::new_v4());
    let is_sent = prompts.iter().any(|prompt| prompt.is_new && query.as_deref() == Some(&format!("sent={}", prompt.id)));
    let (branch, is_cut) = (said.branch, said.is_cut);
    Ok(reply::html(StatusCode::OK, &SessionPage { frame, hosts, heading, branch, turns, is_cut, prompts, next, is_sent }))
}

fn config_dir() -> Result<PathBuf> {
    let none = || Error::failed("the sessions of Claude Code have no place: $HOME is unset", "set $HOME for the page");
    claude::config_dir(|name| std::env::var_os(name)).ok_or_else(none)
}

fn read(transcript: &FilePath) -> Result<Conversation> {
    disk::open_of_another_program(transcript).and_then(conversation::read).io("read", transcript)
}

fn project(cwd: &FilePath) -> String {
    cwd.file_name().map(|name| text::excerpt(&name.to_string_lossy(), 40)).unwrap_or_default()
}

fn ago(at: Option<Time>) -> String {
    at.map(time::since).map(|since| format!("for {}", time::human(since))).unwrap_or_default()
}

impl Heading {
    fn of(site: &Site, session: &Session) -> Result<Self> {
        let rows = site.index.rows(&site.mailbox)?;
        let asks = |facts: &Facts| facts.session.is_some_and(|id| id.to_string() == session.session_id);
        let question = rows.iter().find(|row| asks(&row.facts));
        Ok(Self {
            id: text::excerpt(&session.session_id, 64),
            title: text::excerpt(session.name.as_deref().unwrap_or(&session.session_id), 80),
            project: project(&session.cwd),
            does: session.in_words(),
            class: match session.status.as_deref() {
                Some("waiting") => "warn",
                Some("busy") => "running",
                _ => "",
            },
            ago: ago(session.since()),
            question: question.and_then(|row| Some(format!("/q/{}/{}", row.id, row.facts.question?))),
        })
    }

    /// A session without a process on this machine.
    fn ended(id: &str, cwd: Option<&FilePath>) -> Self {
        let (title, project) = (text::excerpt(id, 64), cwd.map(project).unwrap_or_default());
        Self { id: title.clone(), title, project, does: "ended".into(), class: "", ago: String::new(), question: None }
    }
}

impl From<Turn> for Shown {
    fn from(turn: Turn) -> Self {
        let class = match &turn.what {
            What::Person(_) => "person",
            What::Peer(_) => "peer",
            What::Agent(_) => "agent",
            What::Call(_) => "tool",
            What::Event(_) => "event",
        };
        Self { at: turn.at.map(time::local_clock).unwrap_or_default(), class, what: turn.what }
    }
}
