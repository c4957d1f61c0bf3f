//! Follows the sessions of agent programs, and handles the keys there: reading along, the next prompt, and the stop.

use std::sync::Arc;

use crossterm::event::KeyCode;
use uuid::Uuid;

use crate::app::{App, Place, Wish};
use crate::question::kept_drafts;
use crate::sender;
use crate::sessions::{Followed, List, OfMachine, View};
use crate::text_window::Purpose;
use askbox_cli::AtStake;
use askbox_mailbox::{HostName, Result};
use askbox_peers::collection::no_peer;
use askbox_sessions::{Look, Reply, Request, SessionAt};

/// The length of a page, in rows.
const PAGE: isize = 10;

impl App<'_> {
    /// Follows the sessions of a machine.
    fn following(&self, host: Option<HostName>, look: Request, ring: impl Fn() + Send + 'static) -> Result<Followed> {
        let (mailbox, context, person) = (self.sender.mailbox.clone(), self.sender.context.clone(), self.sender.person.clone());
        let peers = self.sender.others.peers();
        let does = move |request: Request| match (&host, &peers) {
            (None, _) => request.does(&mailbox, &context, &person),
            (Some(host), Some(peers)) => peers.sessions(host, &person, request),
            (Some(host), None) => Err(no_peer(host)),
        };
        Followed::start(look, does, ring)
    }

    /// Shows the sessions.
    pub fn show_sessions(&mut self, ring: impl Fn() + Send + Sync + 'static) {
        let chosen = if let Place::Session(view) = &self.place { Some(view.at.clone()) } else { None };
        let (hosts, ring) = (self.sender.others.latest().hosts(), Arc::new(ring));
        let followed = |host: Option<HostName>| {
            let ring = Arc::clone(&ring);
            let followed = self.following(host.clone(), Request::List, move || ring())?;
            Ok(OfMachine { host, followed, listed: None, problem: None })
        };
        match std::iter::once(None).chain(hosts.into_iter().map(Some)).map(followed).collect::<Result<_>>() {
            Ok(machines) => self.place = Place::Sessions(Box::new(List { machines, chosen })),
            Err(e) => self.said = sender::in_one_line(e),
        }
    }

    /// Shows one session.
    pub fn show_session(&mut self, at: SessionAt, ring: impl Fn() + Send + 'static) {
        match self.following(at.host.clone(), Request::See { session: at.id.clone(), look: Look::Opens }, ring) {
            Ok(followed) => {
                let view = View { followed, at, read: None, problem: None, wish: None, last: None, back: 0, is_unfolded: false };
                self.place = Place::Session(Box::new(view));
            }
            Err(e) => self.said = sender::in_one_line(e),
        }
    }

    /// Takes in what was read. Returns true if the screen must change.
    pub(super) fn follow_sessions(&mut self) -> bool {
        let mut is_new = false;
        match &mut self.place {
            Place::Sessions(list) => {
                for machine in &mut list.machines {
                    for (_, reply) in machine.followed.news.try_iter() {
                        is_new = true;
                        match reply {
                            Ok(Reply::List(listed)) => (machine.listed, machine.problem) = (Some(listed), None),
                            Ok(_) => {}
                            Err(e) => machine.problem = Some(sender::in_one_line(e)),
                        }
                    }
                }
            }
            Place::Session(view) => {
                let news: Vec<_> = view.followed.news.try_iter().collect();
                is_new = !news.is_empty();
                for (is_wish, reply) in news {
                    self.take_reply(is_wish, reply);
                }
            }
            _ => {}
        }
        is_new
    }

    fn take_reply(&mut self, is_wish: bool, reply: Result<Reply>) {
        let Place::Session(view) = &mut self.place else { return };
        let wish = if is_wish { view.wish.take() } else { None };
        match (wish, reply) {
            (None, Ok(Reply::Session(read))) => (view.read, view.problem) = (Some(*read), None),
            (None, Err(e)) => view.problem = Some(sender::in_one_line(e)),
            (Some(wish), Ok(Reply::Done(run))) => {
                self.said = match (&wish, run) {
                    (Request::Stop { .. }, _) => "the stop is on its way".to_owned(),
                    (Request::TakeBack { .. }, _) => "taken back".to_owned(),
                    (_, Some(run)) => format!("it goes on as {run}"),
                    (_, None) => "kept until the session is idle".to_owned(),
                };
                if !matches!(wish, Request::TakeBack { .. }) {
                    self.asked = None;
                }
                if let Request::Send { .. } = wish {
                    view.last = None;
                    kept_drafts::keep_prompt(&view.at.to_string(), "");
                }
            }
            (Some(_), Err(e)) => self.said = sender::in_one_line(e),
            _ => {}
        }
    }

    pub(super) fn key_of_sessions(&mut self, code: KeyCode) -> Wish {
        let Place::Sessions(list) = &mut self.place else { return Wish::Nothing };
        match code {
            KeyCode::Up | KeyCode::Char('k') => list.step(-1),
            KeyCode::Down | KeyCode::Char('j') => list.step(1),
            KeyCode::PageUp => list.step(-PAGE),
            KeyCode::PageDown => list.step(PAGE),
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Esc | KeyCode::Tab | KeyCode::Char('q') => self.close(),
            KeyCode::Enter => return list.nth(list.at()).map_or(Wish::Nothing, Wish::Session),
            _ => {}
        }
        Wish::Nothing
    }

    pub(super) fn key_of_session(&mut self, code: KeyCode) -> Wish {
        let Place::Session(view) = &mut self.place else { return Wish::Nothing };
        match code {
            KeyCode::Up | KeyCode::Char('k') => view.step(-1),
            KeyCode::Down | KeyCode::Char('j') => view.step(1),
            KeyCode::PageUp => view.step(-PAGE),
            KeyCode::PageDown => view.step(PAGE),
            KeyCode::End | KeyCode::Char('G') => view.back = 0,
            KeyCode::Enter => view.is_unfolded = !view.is_unfolded,
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('i') if view.offers().words.is_some() => self.ask(Purpose::Prompt, None),
            KeyCode::Char('x') if view.offers().stop.is_some() => self.ask(Purpose::Stop, None),
            KeyCode::Char(c @ ('i' | 'x')) => {
                let what = if c == 'i' { "takes no prompt" } else { "has nothing to stop" };
                self.said = format!("this session {what} now");
            }
            KeyCode::Char('u') => match view.kept() {
                Some(prompt) => {
                    let session = view.at.id.clone();
                    self.wish(Request::TakeBack { session, prompt });
                }
                None => "no prompt can be taken back".clone_into(&mut self.said),
            },
            KeyCode::Esc | KeyCode::Tab | KeyCode::Char('q') => return Wish::Sessions,
            _ => {}
        }
        Wish::Nothing
    }

    /// Sends the words in the window, or the stop, once the person has confirmed it. The window closes with the reply.
    pub(super) fn enter_prompt(&mut self, stops: bool, words: &str) {
        let Place::Session(view) = &mut self.place else { return };
        let (name, session, own) = (view.title().to_owned(), view.at.id.clone(), words.to_owned());
        let has_ended = view.read.as_ref().is_some_and(|read| read.session.is_none());
        let (does, wish) = match stops {
            true => ("stops the turn of", Request::Stop { session, prompt: Uuid::new_v4() }),
            false => {
                let does = if has_ended { "starts a run in a copy of" } else { "sends this to" };
                (does, Request::Send { session, prompt: view.id_of(words), words: own.clone(), has_ended })
            }
        };
        if self.may_decide(&[AtStake::Session { does, session: name, words: own }]).is_some() {
            self.wish(wish);
        }
    }

    fn wish(&mut self, wish: Request) {
        let Place::Session(view) = &mut self.place else { return };
        let words = if view.send(wish) { "on its way" } else { "the last one is still on its way" };
        words.clone_into(&mut self.said);
    }
}
