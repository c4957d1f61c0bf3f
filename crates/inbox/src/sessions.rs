//! The sessions of agent programs on this and on other machines, and one of them: what was said, what it does, and its prompts. A thread for
//! each machine asks again while they are on the screen, because a program or a machine that is asked may take long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use uuid::Uuid;

use askbox_mailbox::{HostName, Result, thread};
use askbox_sessions::{Listed, Look, Offers, Reply, Request, Session, SessionAt, View as Seen};

/// The pause between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// The requests of a thread to a machine, and the replies, until this is dropped.
pub struct Followed {
    wishes: Sender<Request>,
    /// `true` for the reply to a wish.
    pub news: Receiver<(bool, Result<Reply>)>,
}

impl Followed {
    /// Makes this look again and again, and each wish at once.
    pub fn start(
        mut look: Request,
        does: impl Fn(Request) -> Result<Reply> + Send + 'static,
        ring: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let ((wishes, wished), (tell, news)) = (channel(), channel());
        thread::start(move || {
            let mut pause = Duration::ZERO;
            loop {
                let (request, is_wish) = match wished.recv_timeout(pause) {
                    Ok(wish) => (wish, true),
                    Err(RecvTimeoutError::Timeout) => (look.clone(), false),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if tell.send((is_wish, does(request))).is_err() {
                    break;
                }
                ring();
                // The next look follows a wish at once.
                pause = if is_wish { Duration::ZERO } else { EVERY };
                if let (false, Request::See { look, .. }) = (is_wish, &mut look) {
                    *look = Look::Stays;
                }
            }
        })?;
        Ok(Self { wishes, news })
    }
}

/// The list of sessions.
pub struct List {
    pub machines: Vec<OfMachine>,
    /// The chosen session.
    pub chosen: Option<SessionAt>,
}

/// The sessions of a machine.
pub struct OfMachine {
    /// `None` for this one.
    pub host: Option<HostName>,
    pub followed: Followed,
    /// `None` until they are read.
    pub listed: Option<Listed>,
    /// Why they are not read.
    pub problem: Option<String>,
}

impl List {
    pub fn rows(&self) -> impl Iterator<Item = (Option<&HostName>, &Session)> {
        self.machines.iter().flat_map(|machine| {
            let sessions = machine.listed.iter().flat_map(|listed| &listed.sessions);
            sessions.map(|session| (machine.host.as_ref(), session))
        })
    }

    /// The place of the chosen session, the first one if it is gone.
    pub fn at(&self) -> usize {
        let is_it = |at: &SessionAt| self.rows().position(|(host, session)| host == at.host.as_ref() && session.id == at.id);
        self.chosen.as_ref().and_then(is_it).unwrap_or_default()
    }

    pub fn nth(&self, n: usize) -> Option<SessionAt> {
        self.rows().nth(n).map(|(host, session)| SessionAt { host: host.cloned(), id: session.id.clone() })
    }

    pub fn step(&mut self, by: isize) {
        self.chosen = self.nth(self.at().saturating_add_signed(by).min(self.rows().count().saturating_sub(1)));
    }
}

/// One session.
pub struct View {
    pub followed: Followed,
    pub at: SessionAt,
    /// `None` until it is read.
    pub read: Option<Seen>,
    pub problem: Option<String>,
    /// The wish that has no reply yet.
    pub wish: Option<Request>,
    /// The last words that were sent, and their id. The same words again are the same prompt until they are known to be there.
    pub last: Option<(Uuid, String)>,
    /// The number of lines that are below the screen.
    pub back: usize,
    /// True if the results of calls are shown.
    pub is_unfolded: bool,
}

impl View {
    /// The name of the session.
    pub fn title(&self) -> &str {
        let session = self.read.as_ref().and_then(|read| read.session.as_ref());
        session.and_then(|session| session.title.as_deref()).unwrap_or(&self.at.id)
    }

    pub fn offers(&self) -> Offers {
        self.read.as_ref().map(|read| read.offers.clone()).unwrap_or_default()
    }

    /// The last prompt that can be taken back.
    pub fn kept(&self) -> Option<Uuid> {
        self.read.as_ref()?.given.iter().rev().find(|given| given.is_kept).map(|given| given.id)
    }

    pub fn step(&mut self, by: isize) {
        self.back = self.back.saturating_add_signed(-by);
    }

    /// Sends a wish. Returns false if an earlier one is under way.
    pub fn send(&mut self, wish: Request) -> bool {
        let is_free = self.wish.is_none();
        if is_free {
            let _ = self.followed.wishes.send(wish.clone());
            self.wish = Some(wish);
        }
        is_free
    }

    /// The id for a prompt with these words.
    pub fn id_of(&mut self, words: &str) -> Uuid {
        let known = self.last.take().filter(|(_, last)| last == words);
        self.last.insert(known.unwrap_or_else(|| (Uuid::new_v4(), words.to_owned()))).0
    }
}
