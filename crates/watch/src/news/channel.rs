//! The channel of one target: a program that tells people, and hears them. It works while it has something to tell, or a question that it
//! told still waits, and a little longer.
//!
//! ```text
//! watcher   hello → notice … → waiting N … → receipt of an answer … → end of input
//! channel           receipt of a notice … → answer …
//! ```
//!
//! The messages to the courier's thread.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::beside::{Beside, kill_group, of_ours};
use crate::news::lines::{FromChannel, Hello, Notice, Receipt, ToChannel};
use crate::news::post::Place;
use crate::news::record::NEWS_FOLDER;
use crate::pauses::Pauses;
use askbox_config::{Means, Notify, Target};
use askbox_mailbox::{Error, Mailbox, ProcessHandle, Result, WorkflowId, document, time};
use askbox_run::programs;

/// The program of all channels of ours.
pub const OURS: &str = "askbox-outgoing";
/// The most notices that one channel has at the same time.
const AT_ONCE: usize = 4;
/// How much longer than `notify.time_limit` a channel may take for its receipt.
const GRACE: Duration = Duration::from_secs(5);
/// How long a channel works on after the last card is gone. A person who presses a button twice, or too late, gets a message about it.
const FOLLOW_ON: Duration = Duration::from_secs(30);

/// What was not told, and why.
pub(super) type Untold = (Vec<Place>, String);

/// Takes what a channel says, in the channel's threads.
pub(super) trait Hear: Fn(Said) + Clone + Send + 'static {}
impl<F: Fn(Said) + Clone + Send + 'static> Hear for F {}

/// A line that is not dealt with yet. One channel has one at a time: if its topic is flooded, the flood waits there and not in memory.
pub(super) struct Ticket {
    _dropped: mpsc::Sender<()>,
}

/// What comes from the program of a channel.
pub(super) enum Said {
    Line(FromChannel, Ticket),
    /// The program with this number has ended.
    Ended(u32, String),
}

/// The events that one notice tells, the number of the program that has it, and until when its receipt has to come.
struct UnderWay {
    places: Vec<Place>,
    program: u32,
    until: Instant,
}

/// The channel of one target.
pub(super) struct Channel {
    hello: Hello,
    limit: Duration,
    program: Option<Beside>,
    /// The program that was told to leave.
    left: Option<ProcessHandle>,
    /// The number of programs that were started.
    started: u32,
    pauses: Pauses,
    under_way: HashMap<String, UnderWay>,
    /// What the program was told of cards.
    waiting: usize,
    needed_at: Instant,
}

impl Channel {
    /// The channel of a target. No program runs yet.
    pub(super) fn new(mailbox: &Mailbox, notify: &Notify, name: &str, target: &Target) -> Self {
        let limit = notify.time_limit.0;
        let hello = Hello {
            schema_version: document::SCHEMA_VERSION,
            target: name.to_owned(),
            settings: target.clone(),
            time_limit_s: limit.as_secs_f64(),
            folder: mailbox.root().join(NEWS_FOLDER),
        };
        let (under_way, needed_at) = (HashMap::new(), Instant::now());
        Self { hello, limit, program: None, left: None, started: 0, pauses: Pauses::default(), under_way, waiting: 0, needed_at }
    }

    /// Tells of these events. The receipt is heard later.
    ///
    /// # Errors
    /// If the program cannot be started, or does not read.
    pub(super) fn tell(&mut self, notice: Notice, places: Vec<Place>, hear: impl Hear) -> Result<()> {
        let id = notice.message.id.to_string();
        self.say(&ToChannel::Notice(Box::new(notice)), hear)?;
        self.under_way.insert(id, UnderWay { places, program: self.started, until: Instant::now() + self.limit + GRACE });
        Ok(())
    }

    /// Says what became of a person's answer.
    pub(super) fn receipt(&mut self, id: String, problem: Option<String>) -> Result<()> {
        self.program.as_mut().map_or(Ok(()), |program| program.say(&ToChannel::Receipt(Receipt { id, problem })))
    }

    /// Starts the program if there are cards for which it hears answers, and ends it if nothing needs it.
    ///
    /// # Errors
    /// Those of [`Self::tell`].
    pub(super) fn keep(&mut self, waiting: usize, hear: impl Hear) -> Result<()> {
        let is_needed = waiting > 0 || !self.under_way.is_empty();
        if is_needed {
            self.needed_at = Instant::now();
        }
        if !is_needed && self.program.is_some() && self.needed_at.elapsed() >= FOLLOW_ON {
            self.left = self.program.take().and_then(Beside::leave);
            (self.waiting, self.pauses) = (0, Pauses::default());
        }
        if waiting == self.waiting && self.program.is_some() || waiting == 0 && self.program.is_none() {
            return Ok(());
        }
        if self.program.is_none() && self.pauses.is_on() {
            return Ok(());
        }
        self.say(&ToChannel::Waiting(waiting), hear)?;
        self.waiting = waiting;
        Ok(())
    }

    fn say(&mut self, line: &impl Serialize, hear: impl Hear) -> Result<()> {
        if self.program.is_none() {
            kill_group(self.left.take().as_ref());
            self.started += 1;
            self.pauses.put_off();
            let mut program = self.start(hear)?;
            program.say(&ToChannel::Hello(Box::new(self.hello.clone())))?;
            (self.program, self.waiting) = (Some(program), 0);
        }
        let said = self.program.as_mut().map_or(Ok(()), |program| program.say(line));
        if said.is_err() {
            // What it was told before fails with its end.
            self.program.take().into_iter().for_each(Beside::kill);
        }
        said
    }

    fn start(&self, hear: impl Hear) -> Result<Beside> {
        let (program, args) = command(&self.hello.settings)?;
        let (ended, number) = (hear.clone(), self.started);
        let hear = move |line: &[u8]| {
            let Some(line) = document::json(line) else { return };
            let (ticket, is_done) = mpsc::channel();
            hear(Said::Line(line, Ticket { _dropped: ticket }));
            // Nothing is ever sent. The wait ends with the ticket.
            let _ = is_done.recv();
        };
        Beside::start(program, args, hear, move |status| ended(Said::Ended(number, status)))
    }

    /// Takes a receipt. Returns the events that it is about.
    pub(super) fn take(&mut self, receipt: &Receipt) -> Option<Vec<Place>> {
        self.pauses.works();
        self.under_way.remove(&receipt.id).map(|under_way| under_way.places)
    }

    /// The program with this number has ended. Returns the events that it has told nobody, as far as it said, and why.
    pub(super) fn ended(&mut self, number: u32, status: &str) -> Option<Untold> {
        let untold: Vec<String> = self.under_way.iter().filter(|(_, of)| of.program == number).map(|(id, _)| id.clone()).collect();
        let places: Vec<Place> = untold.iter().filter_map(|id| self.under_way.remove(id)).flat_map(|of| of.places).collect();
        let was_left = number != self.started || self.program.take().is_none();
        if !was_left {
            self.waiting = 0;
        }
        let (program, _) = command(&self.hello.settings).ok()?;
        (!was_left || !places.is_empty()).then(|| (places, format!("{} has ended: {status}", program.display())))
    }

    /// Ends a program that owes a receipt for too long.
    pub(super) fn end_overdue(&mut self) {
        let is_overdue = |of: &UnderWay| of.program == self.started && of.until <= Instant::now();
        if self.under_way.values().any(is_overdue)
            && let Some(program) = self.program.take()
        {
            tracing::warn!("target {}: its program owes a receipt for {}", self.hello.target, time::human(self.limit + GRACE));
            program.kill();
        }
    }

    /// How many more notices it takes.
    pub(super) fn free(&self) -> usize {
        AT_ONCE.saturating_sub(self.under_way.len())
    }

    /// The events that are being told.
    pub(super) fn busy(&self) -> impl Iterator<Item = &Place> {
        self.under_way.values().flat_map(|under_way| &under_way.places)
    }

    /// When to look at it again.
    pub(super) fn deadline(&self, waiting: usize) -> Option<Instant> {
        let overdue = self.under_way.values().filter(|of| of.program == self.started && self.program.is_some()).map(|of| of.until);
        let again = self.pauses.until.filter(|_| self.program.is_none() && waiting > 0);
        let end = self.program.as_ref().filter(|_| waiting == 0 && self.under_way.is_empty()).map(|_| self.needed_at + FOLLOW_ON);
        overdue.chain(again).chain(end).min()
    }
}

/// The program of a target's channel.
fn command(target: &Target) -> Result<(OsString, Vec<OsString>)> {
    match target.means() {
        Some(Means::Channel([program, args @ ..])) => Ok((program.into(), args.iter().map(Into::into).collect())),
        Some(_) => Ok((programs::beside(OURS).into(), of_ours("channel"))),
        None => Err(Error::failed("the target says no way to be told", "add exec, desktop, webhook, ntfy or channel to it")),
    }
}

/// Says one line to a channel of its own, and waits for the receipt.
///
/// # Errors
/// The problem, in the words of the target's program.
pub(super) fn ask(channel: &mut Channel, id: &str, line: &ToChannel) -> Result<(), String> {
    let (sender, said) = mpsc::channel();
    channel.say(line, move |heard| drop(sender.send(heard))).map_err(|e| e.to_string())?;
    let until = Instant::now() + channel.limit + GRACE;
    loop {
        match said.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Said::Line(FromChannel::Receipt(receipt), _)) if receipt.id == id => return receipt.problem.map_or(Ok(()), Err),
            Ok(Said::Line(..)) => {}
            Ok(Said::Ended(_, status)) => return Err(format!("its program has ended: {status}")),
            Err(_) => {
                channel.program.take().into_iter().for_each(Beside::kill);
                return Err(format!("no receipt within {}", time::human(channel.limit + GRACE)));
            }
        }
    }
}

/// A message to the thread.
pub(super) enum Note {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// Anything may have happened.
    LookAtAll,
    /// A dialog at a terminal may have opened or ended, or a prompt may have come further.
    Sessions,
    /// Something came from the channel of a target.
    Said(String, Said),
    Leave,
}
