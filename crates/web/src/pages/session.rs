//! The sessions of agent programs on this machine, and the conversation of one, read where it lies. Only a look reads it.

use std::path::Path as FilePath;

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Hosts;
use crate::looked_at::ALL;
use crate::pages::{Frame, markdown, prompt};
use crate::reply;
use crate::site::{Site, Visit};
use askbox_agent::conversation::{Turn, What};
use askbox_mailbox::prompts::{self, Agent};
use askbox_mailbox::{Error, Result, Time, disk, text, time};
use askbox_sessions::codex::Doing;
use askbox_sessions::given::Given;
use askbox_sessions::{self as sessions, Offers, Session};

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<Heading>,
    /// Why some are missing.
    problem: Option<Error>,
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
    prompts: Vec<Given>,
    offers: Offers,
    /// The ids of the next prompt, and of a stop.
    next: Uuid,
    stop: Uuid,
    has_ended: bool,
    /// True if the last one was sent just now, so that its draft is not needed any more.
    is_sent: bool,
}

/// The facts about a session.
struct Heading {
    agent: &'static str,
    id: String,
    title: String,
    project: String,
    does: String,
    class: &'static str,
    ago: String,
    /// The address of its question.
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
    sessions::folders()?.into_iter().for_each(|folder| visit.site.changes.look_at(folder, ALL));
    let (sessions, problem) = sessions::all(&visit.site.mailbox)?;
    let unsent = prompt::unsent(&visit.site.mailbox, &sessions);
    let sessions = sessions.iter().map(|session| Heading::of(&visit.site, session)).collect::<Result<_>>()?;
    Ok(reply::html(StatusCode::OK, &SessionsPage { frame: Frame::new(visit, "sessions"), sessions, problem, unsent }))
}

/// `/session/ID`
pub fn show(visit: &Visit, (Path(id), RawQuery(query), headers): (Path<String>, RawQuery, HeaderMap)) -> Result<Response> {
    let (session, said) = (sessions::of_id(&visit.site.mailbox, &id)?, sessions::said(&id)?);
    let Some(agent) = session.as_ref().map(|session| session.agent).or(said.as_ref().map(|said| said.agent)) else {
        return Err(Error::not_found(format!("there is no session {}", text::excerpt(&id, 40)), "the sessions: askbox sessions"));
    };
    sessions::folders()?.into_iter().for_each(|folder| visit.site.changes.look_at(folder, ALL));
    let offers = sessions::offers(session.as_ref(), said.as_ref());
    // A file of it comes with the first message.
    let said = said.map(|said| {
        visit.site.changes.look_at(said.at, &id);
        said.conversation
    });
    let said = said.unwrap_or_default();
    let heading = match &session {
        Some(session) => Heading::of(&visit.site, session)?,
        None => Heading::ended(&visit.site, agent, &id, said.cwd.as_deref())?,
    };
    // A session that waits for an answer goes on with that.
    let offers = if session.is_none() && heading.question.is_some() { Offers::default() } else { offers };
    let turns = said.turns.into_iter().map(Shown::from).collect();
    let (frame, hosts) = (Frame::new(visit, "sessions"), &visit.site.hosts);
    let given = prompts::folder(&visit.site.mailbox);
    if disk::exists(&given) {
        visit.site.changes.look_at(given, &id);
    }
    let prompts = prompt::of_session(visit, &id, session.as_ref(), &headers);
    let is_sent = prompts.iter().any(|prompt| prompt.is_new && query.as_deref() == Some(&format!("sent={}", prompt.id)));
    let (branch, is_cut, next, stop) = (said.branch, said.is_cut, Uuid::new_v4(), Uuid::new_v4());
    Ok(reply::html(
        StatusCode::OK,
        &SessionPage { frame, hosts, heading, branch, turns, is_cut, prompts, offers, next, stop, has_ended: session.is_none(), is_sent },
    ))
}

fn ago(at: Option<Time>) -> String {
    at.map(time::since).map(|since| format!("for {}", time::human(since))).unwrap_or_default()
}

/// The address of the question that a session has asked, in its dialog or by a tool.
fn question_of(site: &Site, session: &str) -> Result<Option<String>> {
    let rows = site.index.rows(&site.mailbox)?;
    let row = rows.iter().find(|row| row.facts.session.is_some_and(|id| id.to_string() == session));
    Ok(row.and_then(|row| Some(format!("/q/{}/{}", row.id, row.facts.question?))))
}

impl Heading {
    fn of(site: &Site, session: &Session) -> Result<Self> {
        Ok(Self {
            agent: session.of_whom(),
            id: text::excerpt(&session.id, 64),
            title: text::excerpt(session.title.as_deref().unwrap_or(&session.id), 80),
            project: sessions::project(&session.cwd),
            does: session.does.clone(),
            class: match session.doing {
                Some(Doing::Waits) => "warn",
                Some(Doing::Works) => "running",
                Some(Doing::Rests) | None => "",
            },
            ago: ago(session.since),
            question: question_of(site, &session.id)?,
        })
    }

    /// A session without a process on this machine. A run of askbox that waits goes on with its answer.
    fn ended(site: &Site, agent: Agent, id: &str, cwd: Option<&FilePath>) -> Result<Self> {
        let (title, project) = (text::excerpt(id, 64), cwd.map(sessions::project).unwrap_or_default());
        let (question, agent, ago) = (question_of(site, id)?, agent.name(), String::new());
        let (does, class) = if question.is_some() { ("waits for an answer", "warn") } else { ("ended", "") };
        Ok(Self { agent, id: title.clone(), title, project, does: does.into(), class, ago, question })
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
