//! Follows the sessions of agent programs, and handles the keys there: reading along, the next prompt, and the stop.

use crossterm::event::KeyCode;
use uuid::Uuid;

use crate::app::{App, Place, Wish};
use crate::question::kept_drafts;
use crate::sender;
use crate::sessions::{Followed, List, Read, View};
use crate::text_window::Purpose;
use askbox_cli::AtStake;
use askbox_mailbox::prompts::Prompt;
use askbox_mailbox::{Caller, Mailbox, Result};
use askbox_sessions::{self as of_agents, given};

/// The length of a page, in rows.
const PAGE: isize = 10;

impl App<'_> {
    /// Shows the sessions.
    pub fn show_sessions(&mut self, ring: impl Fn() + Send + 'static) {
        let mailbox = self.sender.mailbox.clone();
        let chosen = if let Place::Session(view) = &self.place { Some(view.id.clone()) } else { None };
        match Followed::start(move || of_agents::all(&mailbox), ring) {
            Ok(followed) => self.place = Place::Sessions(Box::new(List { followed, all: None, problem: None, chosen })),
            Err(e) => self.said = sender::in_one_line(e),
        }
    }

    /// Shows one session.
    pub fn show_session(&mut self, id: String, ring: impl Fn() + Send + 'static) {
        let (mailbox, config, of) = (self.sender.mailbox.clone(), self.sender.context.config().ok(), id.clone());
        let (by, mut is_opened) = (self.sender.person.by().to_owned(), true);
        let read = move || {
            let session = of_agents::of_id(&mailbox, &of)?;
            let said = of_agents::said(&of)?;
            let offers = of_agents::offers(session.as_ref(), said.as_ref());
            // Nobody may be in front of an inbox that was left open.
            let sees = |prompt: &Prompt| is_opened || prompt.by == by;
            let given = given::of_session(&mailbox, config.as_ref(), &of, session.as_ref(), sees);
            is_opened = false;
            Ok(Read { session, offers, said: said.map(|said| said.conversation).unwrap_or_default(), given })
        };
        match Followed::start(read, ring) {
            Ok(followed) => {
                let view = View { followed, id, read: None, problem: None, back: 0, is_unfolded: false };
                self.place = Place::Session(Box::new(view));
            }
            Err(e) => self.said = sender::in_one_line(e),
        }
    }

    /// Takes in what was read. Returns true if the screen must change.
    pub(super) fn follow_sessions(&mut self) -> bool {
        match &mut self.place {
            Place::Sessions(list) => match list.followed.news() {
                Some(Ok((all, problem))) => (list.all, list.problem) = (Some(all), problem.map(sender::in_one_line)),
                Some(Err(e)) => list.problem = Some(sender::in_one_line(e)),
                None => return false,
            },
            Place::Session(view) => match view.followed.news() {
                Some(Ok(read)) => (view.read, view.problem) = (Some(read), None),
                Some(Err(e)) => view.problem = Some(sender::in_one_line(e)),
                None => return false,
            },
            _ => return false,
        }
        true
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
            KeyCode::Enter => {
                let chosen = list.all.as_ref().and_then(|all| all.get(list.at()));
                return chosen.map_or(Wish::Nothing, |session| Wish::Session(session.id.clone()));
            }
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
                Some(kept) => {
                    let id = view.id.clone();
                    self.does(|mailbox, person| given::take_back(mailbox, person, kept, &id).map(|()| "taken back".to_owned()));
                }
                None => "no prompt can be taken back".clone_into(&mut self.said),
            },
            KeyCode::Esc | KeyCode::Tab | KeyCode::Char('q') => return Wish::Sessions,
            _ => {}
        }
        Wish::Nothing
    }

    /// Sends the words in the window, or the stop, once the person has confirmed it.
    pub(super) fn enter_prompt(&mut self, stops: bool, words: &str) {
        let Place::Session(view) = &self.place else { return };
        let (id, session, own) = (view.id.clone(), view.title().to_owned(), words.to_owned());
        let has_ended = view.read.as_ref().is_some_and(|read| read.session.is_none());
        let does = match stops {
            true => "stops the turn of",
            false if has_ended => "starts a run in a copy of",
            false => "sends this to",
        };
        if self.may_decide(&[AtStake::Session { does, session, words: own }]).is_none() {
            return;
        }
        let context = self.sender.context;
        let is_done = self.does(|mailbox, person| {
            if stops {
                return given::stop(mailbox, person, Uuid::new_v4(), &id).map(|()| "the stop is on its way".to_owned());
            }
            let config = context.config()?;
            let run = given::send(mailbox, person, Uuid::new_v4(), &id, words, has_ended.then_some(&config))?;
            Ok(run.map_or_else(|| "kept until the session is idle".to_owned(), |run| format!("it goes on as {run}")))
        });
        if is_done {
            self.asked = None;
            kept_drafts::keep_prompt(&id, "");
        }
    }

    /// Does something, and says what came of it.
    fn does(&mut self, act: impl FnOnce(&Mailbox, &Caller) -> Result<String>) -> bool {
        let result = act(self.sender.mailbox, self.sender.person);
        let is_done = result.is_ok();
        self.said = result.unwrap_or_else(sender::in_one_line);
        is_done
    }
}
