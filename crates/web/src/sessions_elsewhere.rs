//! The sessions of other machines, as far as pages look at them. No request waits for a machine: a thread asks it as long as somebody looks, and
//! the pages are told what is new.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::changes::Changes;
use crate::looked_at::{ALL, LASTS};
use askbox_cli::program;
use askbox_mailbox::{Caller, HostName, text, thread};
use askbox_peers::Peers;
use askbox_sessions::given::Given;
use askbox_sessions::{Look, Reply, Request, SessionAt};

/// The pause between two questions to a machine.
const EVERY: Duration = Duration::from_secs(2);
/// The most pages of other machines that are followed.
const MOST: usize = 64;
/// The most wishes that are remembered.
const REMEMBERED: usize = 100;

/// What is looked at: the sessions of a machine, or one of them.
type Page = (HostName, Option<String>);

/// What is known of a page.
#[derive(Debug, Clone)]
pub struct Known {
    /// The last reply. `None` if there was none yet.
    pub reply: Option<Arc<Reply>>,
    /// The reason why a newer one is missing.
    pub problem: Option<String>,
    /// The last reply, as it was sent.
    sent: String,
    person: Caller,
    look: Look,
    looked_at: Instant,
}

/// Something that a person wants a machine to do.
#[derive(Debug)]
struct Sent {
    id: Uuid,
    to: SessionAt,
    words: String,
    /// Its end, once that is known: the run that goes on, or the reason why it is not done.
    end: Option<Result<Option<String>, String>>,
    at: Instant,
}

/// The sessions of other machines.
#[derive(Debug, Clone)]
pub struct SessionsElsewhere {
    peers: Arc<Peers>,
    changes: Changes,
    known: Arc<Mutex<HashMap<Page, Known>>>,
    sent: Arc<Mutex<VecDeque<Sent>>>,
}

impl SessionsElsewhere {
    /// Starts with nothing known.
    pub fn new(peers: Arc<Peers>, changes: Changes) -> Self {
        Self { peers, changes, known: Arc::default(), sent: Arc::default() }
    }

    /// The sessions of each machine.
    pub fn lists(&self, person: &Caller, look: Look) -> Vec<(HostName, Option<Known>)> {
        let hosts = self.peers.view().into_iter().map(|view| view.host);
        hosts.map(|host| (host.clone(), self.look(&(host, None), person, look))).collect()
    }

    /// What is known of a page now. A look that is not hidden has it followed.
    pub fn look(&self, page: &Page, person: &Caller, look: Look) -> Option<Known> {
        let mut all = thread::locked(&self.known);
        if look == Look::Hidden {
            return all.get(page).cloned();
        }
        let now = Instant::now();
        if let Some(known) = all.get_mut(page) {
            (known.looked_at, known.person) = (now, person.clone());
            if known.look != Look::Opens {
                known.look = look;
            }
            return Some(known.clone());
        }
        if all.len() >= MOST {
            return None;
        }
        let new = Known { reply: None, problem: None, sent: String::new(), person: person.clone(), look, looked_at: now };
        let (this, of) = (self.clone(), page.clone());
        thread::start(move || this.follow(&of)).ok()?;
        all.insert(page.clone(), new.clone());
        Some(new)
    }

    /// Asks until nobody has looked for a while. A page that is still open then looks again.
    fn follow(&self, page: &Page) {
        let word = page.1.as_ref().map_or_else(|| ALL.to_owned(), |id| format!("{}:{id}", page.0));
        loop {
            let (person, look) = {
                let mut all = thread::locked(&self.known);
                let Some(known) = all.get_mut(page).filter(|known| known.looked_at.elapsed() < LASTS) else {
                    all.remove(page);
                    break;
                };
                // The page may be hidden by now: a person sees only what a later look of the page shows.
                (known.person.clone(), std::mem::replace(&mut known.look, Look::Hidden))
            };
            let request = page.1.clone().map_or(Request::List, |session| Request::See { session, look });
            let reply = self.peers.sessions(&page.0, &person, request).and_then(|reply| Ok((reply.to_json()?.to_string(), reply)));
            let mut all = thread::locked(&self.known);
            let Some(known) = all.get_mut(page) else { break };
            let is_new = match reply {
                Ok((sent, reply)) => {
                    let is_new = known.problem.take().is_some() || known.sent != sent;
                    (known.sent, known.reply) = (sent, Some(Arc::new(reply)));
                    is_new
                }
                Err(e) => {
                    let problem = Some(program::message(&e));
                    std::mem::replace(&mut known.problem, problem.clone()) != problem
                }
            };
            drop(all);
            if is_new {
                self.changes.tell(&word);
            }
            std::thread::sleep(EVERY);
        }
        self.changes.tell(&word);
    }

    /// Has a machine do something with a session. [`Self::given`] tells what comes of it.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn send(&self, host: HostName, person: &Caller, request: Request) -> askbox_mailbox::Result<()> {
        let (session, id, words) = match &request {
            Request::Send { session, prompt, words, .. } => (session, *prompt, text::excerpt(words, 300)),
            Request::Stop { session, prompt } => (session, *prompt, "Stop".to_owned()),
            Request::TakeBack { session, prompt } => (session, *prompt, "Take it back".to_owned()),
            Request::List | Request::See { .. } => return Ok(()),
        };
        let to = SessionAt { host: Some(host.clone()), id: session.clone() };
        let (this, person, word) = (self.clone(), person.clone(), to.to_string());
        {
            let mut sent = thread::locked(&self.sent);
            // A browser that got no reply sends its form once more.
            sent.retain(|earlier| earlier.id != id);
            sent.push_back(Sent { id, to, words, end: None, at: Instant::now() });
            let many = sent.len().saturating_sub(REMEMBERED);
            sent.drain(..many);
        }
        let work = move || {
            let reply = this.peers.sessions(&host, &person, request);
            let end = match reply {
                Ok(Reply::Done(run)) => Ok(run.map(|run| run.to_string())),
                Ok(_) => Ok(None),
                Err(e) => Err(program::message(&e)),
            };
            thread::locked(&this.sent)
                .iter_mut()
                .filter(|sent| sent.id == id)
                .for_each(|sent| (sent.end, sent.at) = (Some(end.clone()), Instant::now()));
            this.changes.tell(&word);
        };
        thread::start(work).map(drop)
    }

    /// What was given to a session from here and is not among these prompts of it.
    pub fn given(&self, to: &SessionAt, known: &[Given]) -> Vec<Given> {
        let sent = thread::locked(&self.sent);
        // The next reply tells of one that has arrived.
        let is_over = |sent: &Sent| sent.end == Some(Ok(None)) && sent.at.elapsed() > 2 * EVERY;
        let unknown = sent.iter().filter(|sent| sent.to == *to && !is_over(sent) && known.iter().all(|given| given.id != sent.id));
        let shown = |sent: &Sent| {
            let (state, why) = match &sent.end {
                None | Some(Ok(None)) => (("on its way", "running"), String::new()),
                Some(Ok(Some(run))) => (("it goes on", "delivered"), run.clone()),
                Some(Err(why)) => (("not done", "warn"), why.clone()),
            };
            let state = (state.0.into(), state.1.into());
            Given { id: sent.id, words: sent.words.clone(), state, why, is_kept: false, is_new: false }
        };
        unknown.map(shown).collect()
    }
}
