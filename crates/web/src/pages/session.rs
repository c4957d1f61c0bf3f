//! The sessions of agent programs on this and on other machines, and the conversation of one, read where it lies. Only a look reads it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use uuid::Uuid;

use crate::gate::Hosts;
use crate::looked_at::ALL;
use crate::pages::{Frame, markdown};
use crate::reply;
use crate::send::CHANNEL;
use crate::site::{Site, Visit};
use askbox_agent::conversation::{Turn, What};
use askbox_mailbox::{Caller, HostName, Result, Through, Time, WorkflowId, disk, prompts, text, time};
use askbox_sessions::codex::Doing;
use askbox_sessions::given::Given;
use askbox_sessions::{self as sessions, Listed, Look, Offers, Reply, Request, Session, SessionAt, View};

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<Heading>,
    /// True if there is no other machine.
    is_alone: bool,
    /// What is missing, and why.
    problems: Vec<String>,
    /// The sessions that have ended while a prompt was kept for them.
    unsent: Vec<SessionAt>,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage<'a> {
    frame: Frame,
    hosts: &'a Hosts,
    heading: Heading,
    view: &'a View,
    turns: Vec<Shown<'a>>,
    /// The prompts that were given here and have not arrived there.
    sent: Vec<Given>,
    offers: Offers,
    /// Why this is not what its machine would say now.
    problem: Option<String>,
    /// The ids of the next prompt, and of a stop.
    next: Uuid,
    stop: Uuid,
    /// True if the last one was sent just now, so that its draft is not needed any more.
    is_sent: bool,
}

/// The facts about a session.
struct Heading {
    agent: &'static str,
    at: String,
    title: String,
    project: String,
    /// The other machine, or nothing.
    host: String,
    does: String,
    class: &'static str,
    ago: String,
    /// The address of its question.
    question: Option<String>,
    /// The workflow, if it is a run of this machine.
    run: Option<WorkflowId>,
}

/// A turn of the conversation, its time, and its CSS class.
struct Shown<'a> {
    at: String,
    class: &'static str,
    what: &'a What,
}

/// How a page is looked at, and who does.
fn looker(visit: &Visit, headers: &HeaderMap) -> Result<(Caller, Look)> {
    let look = match (headers.contains_key("askbox-hidden"), headers.contains_key("askbox-again")) {
        (true, _) => Look::Hidden,
        (_, true) => Look::Stays,
        _ => Look::Opens,
    };
    Ok((Caller::new(&visit.signed_in.device, CHANNEL, Through::Web, visit.site.context.below())?, look))
}

/// `/sessions`
pub fn list(visit: &Visit, headers: HeaderMap) -> Result<Response> {
    let site = &visit.site;
    sessions::folders()?.into_iter().for_each(|folder| site.changes.look_at(folder, ALL));
    let (person, look) = looker(visit, &headers)?;
    let (mut all, mut problems, mut unsent) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |host: Option<&HostName>, listed: &Listed| -> Result<()> {
        all.extend(listed.sessions.iter().map(|session| Heading::of(site, host, session)).collect::<Result<Vec<_>>>()?);
        unsent.extend(listed.unsent.iter().map(|id| SessionAt { host: host.cloned(), id: id.clone() }));
        problems.extend(listed.problem.iter().map(|problem| format!("The sessions of Codex are not listed: {problem}")));
        Ok(())
    };
    if let Reply::List(listed) = Request::List.does(&site.mailbox, &site.context, &person)? {
        add(None, &listed)?;
    }
    let elsewhere = site.sessions.lists(&person, look);
    for (host, known) in &elsewhere {
        if let Some(Reply::List(listed)) = known.as_ref().and_then(|known| known.reply.as_deref()) {
            add(Some(host), listed)?;
        }
    }
    problems.extend(elsewhere.into_iter().filter_map(|(_, known)| known?.problem));
    let (frame, is_alone) = (Frame::new(visit, "sessions"), site.elsewhere.is_nobody());
    Ok(reply::html(StatusCode::OK, &SessionsPage { frame, sessions: all, is_alone, problems, unsent }))
}

/// `/session/ID`, `/session/HOST:ID`
pub fn show(visit: &Visit, (Path(at), RawQuery(query), headers): (Path<String>, RawQuery, HeaderMap)) -> Result<Response> {
    let (site, at) = (&visit.site, at.parse::<SessionAt>()?);
    let ((person, look), word) = (looker(visit, &headers)?, at.to_string());
    let (reply, mut problem) = match &at.host {
        None => {
            sessions::folders()?.into_iter().for_each(|folder| site.changes.look_at(folder, ALL));
            let see = Request::See { session: at.id.clone(), look };
            (Some(Arc::new(see.does(&site.mailbox, &site.context, &person)?)), None)
        }
        Some(host) => {
            site.elsewhere.machine(host)?;
            let known = site.sessions.look(&(host.clone(), Some(at.id.clone())), &person, look);
            known.map(|known| (known.reply, known.problem)).unwrap_or_default()
        }
    };
    let nothing = View::default();
    let view = match reply.as_deref() {
        Some(Reply::Session(view)) => view,
        _ => &nothing,
    };
    if let (None, None, Some(host)) = (&reply, &problem, &at.host) {
        problem = Some(format!("{host} is asked"));
    }
    if at.host.is_none() {
        let given = Some(prompts::folder(&site.mailbox)).filter(|given| disk::exists(given));
        // A file of it comes with the first message.
        view.at.iter().cloned().chain(given).for_each(|path| site.changes.look_at(path, &word));
    }
    let heading = Heading::of_view(site, &at, view)?;
    // A session that waits for an answer goes on with that.
    let is_answered = view.session.is_none() && heading.question.is_some();
    let offers = if is_answered { Offers::default() } else { view.offers.clone() };
    let is_sent = view.given.iter().any(|prompt| prompt.is_new && query.as_deref() == Some(&format!("sent={}", prompt.id)));
    let (frame, hosts, sent) = (Frame::new(visit, "sessions"), &site.hosts, site.sessions.given(&at, &view.given));
    let (turns, next, stop) = (view.said.turns.iter().map(Shown::from).collect(), Uuid::new_v4(), Uuid::new_v4());
    let page = SessionPage { frame, hosts, heading, view, turns, sent, offers, problem, next, stop, is_sent };
    Ok(reply::html(StatusCode::OK, &page))
}

fn ago(at: Option<Time>) -> String {
    at.map(time::since).map(|since| format!("for {}", time::human(since))).unwrap_or_default()
}

/// The address of the question that a session has asked, in its dialog or by a tool.
fn question_of(site: &Site, host: Option<&HostName>, session: &str) -> Result<Option<String>> {
    let rows = site.rows()?;
    let is_there = |row: &crate::index::Row| row.elsewhere.as_ref().map(|there| &there.host) == host;
    let row = rows.iter().find(|row| is_there(row) && row.facts.session.is_some_and(|id| id.to_string() == session));
    Ok(row.and_then(|row| Some(format!("/q/{}/{}", row.id, row.facts.question?))))
}

impl Heading {
    fn of(site: &Site, host: Option<&HostName>, session: &Session) -> Result<Self> {
        Ok(Self {
            agent: session.of_whom(),
            at: SessionAt { host: host.cloned(), id: text::excerpt(&session.id, 64) }.to_string(),
            title: text::excerpt(session.title.as_deref().unwrap_or(&session.id), 80),
            project: sessions::project(&session.cwd),
            host: host.map(ToString::to_string).unwrap_or_default(),
            does: text::excerpt(&session.does, 80),
            class: match session.doing {
                Some(Doing::Waits) => "warn",
                Some(Doing::Works) => "running",
                Some(Doing::Rests) | None => "",
            },
            ago: ago(session.since),
            question: question_of(site, host, &session.id)?,
            run: session.run.clone().filter(|_| host.is_none()),
        })
    }

    /// The heading of a session that may have no process any more. A run of askbox that waits goes on with its answer.
    fn of_view(site: &Site, at: &SessionAt, view: &View) -> Result<Self> {
        if let Some(session) = &view.session {
            return Self::of(site, at.host.as_ref(), session);
        }
        let (title, project) = (text::excerpt(&at.id, 64), view.said.cwd.as_deref().map(sessions::project).unwrap_or_default());
        let (question, host) = (question_of(site, at.host.as_ref(), &at.id)?, at.host.as_ref().map(ToString::to_string));
        let (does, class) = if question.is_some() { ("waits for an answer", "warn") } else { ("ended", "") };
        let (agent, host, does) = (view.agent.name(), host.unwrap_or_default(), does.into());
        Ok(Self { agent, at: at.to_string(), title, project, host, does, class, ago: String::new(), question, run: None })
    }
}

impl<'a> From<&'a Turn> for Shown<'a> {
    fn from(turn: &'a Turn) -> Self {
        let class = match &turn.what {
            What::Person(_) => "person",
            What::Peer(_) => "peer",
            What::Agent(_) => "agent",
            What::Call(_) => "tool",
            What::Event(_) => "event",
        };
        Self { at: turn.at.map(time::local_clock).unwrap_or_default(), class, what: &turn.what }
    }
}
