//! The sessions of agent programs on this machine, and one of them: what was said, what it does, and its prompts. A thread reads them again
//! while they are on the screen, because a program that is asked may take long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use uuid::Uuid;

use askbox_agent::conversation::Conversation;
use askbox_mailbox::{Error, Result, thread};
use askbox_sessions::given::Given;
use askbox_sessions::{Offers, Session};

/// The pause between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// A value that a thread reads again and again, until this is dropped.
pub struct Followed<T>(Arc<Mutex<Option<Result<T>>>>);

impl<T: Send + 'static> Followed<T> {
    pub fn start(mut read: impl FnMut() -> Result<T> + Send + 'static, ring: impl Fn() + Send + 'static) -> Result<Self> {
        let followed = Self(Arc::default());
        let place = Arc::downgrade(&followed.0);
        thread::start(move || {
            while place.strong_count() > 0 {
                let now = read();
                let Some(place) = place.upgrade() else { break };
                *thread::locked(&place) = Some(now);
                drop(place);
                ring();
                std::thread::sleep(EVERY);
            }
        })?;
        Ok(followed)
    }

    /// What was read since the last call.
    pub fn news(&self) -> Option<Result<T>> {
        thread::locked(&self.0).take()
    }
}

/// The list of sessions.
pub struct List {
    pub followed: Followed<(Vec<Session>, Option<Error>)>,
    /// `None` until they are read.
    pub all: Option<Vec<Session>>,
    /// Why some are missing.
    pub problem: Option<String>,
    /// The id of the chosen session.
    pub chosen: Option<String>,
}

impl List {
    /// The place of the chosen session, the first one if it is gone.
    pub fn at(&self) -> usize {
        let all = self.all.as_deref().unwrap_or_default();
        all.iter().position(|session| Some(&session.id) == self.chosen.as_ref()).unwrap_or_default()
    }

    pub fn step(&mut self, by: isize) {
        let at = self.at().saturating_add_signed(by);
        let all = self.all.as_deref().unwrap_or_default();
        self.chosen = all.get(at.min(all.len().saturating_sub(1))).map(|session| session.id.clone());
    }
}

/// One session.
pub struct View {
    pub followed: Followed<Read>,
    pub id: String,
    /// `None` until it is read.
    pub read: Option<Read>,
    pub problem: Option<String>,
    /// The number of lines that are below the screen.
    pub back: usize,
    /// True if the results of calls are shown.
    pub is_unfolded: bool,
}

/// What was read of a session.
pub struct Read {
    /// `None` if it has ended.
    pub session: Option<Session>,
    pub offers: Offers,
    pub said: Conversation,
    pub given: Vec<Given>,
}

impl View {
    /// The name of the session.
    pub fn title(&self) -> &str {
        let session = self.read.as_ref().and_then(|read| read.session.as_ref());
        session.and_then(|session| session.title.as_deref()).unwrap_or(&self.id)
    }

    pub fn offers(&self) -> Offers {
        self.read.as_ref().map(|read| read.offers).unwrap_or_default()
    }

    /// The last prompt that can be taken back.
    pub fn kept(&self) -> Option<Uuid> {
        self.read.as_ref()?.given.iter().rev().find(|given| given.is_kept).map(|given| given.id)
    }

    pub fn step(&mut self, by: isize) {
        self.back = self.back.saturating_add_signed(-by);
    }
}
