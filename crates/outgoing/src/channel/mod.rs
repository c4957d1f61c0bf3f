//! The channel of a target that has no program of its own: the operator's program for each notice, the desktop, a webhook, or ntfy.
//!
//! | file | idea |
//! |---|---|
//! | `event` | what wakes a channel |
//! | `means` | the call for each kind of target |
//! | [`ntfy`] | answers by the buttons of a notification |
//! | `reachable` | whether the server of a target can be reached |

mod event;
mod means;
pub mod ntfy;
mod reachable;

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::call::{self, Limit};
use crate::channel::event::Event;
use crate::channel::ntfy::{Replies, Stream};
use askbox_cli::program::print_json;
use askbox_mailbox::{Error, Result, document, thread};
use askbox_run::programs;
use askbox_watch::news::lines::{FromChannel, Hello, Notice, Receipt, ToChannel};

/// The longest line of the watcher, in bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(60);

struct Channel {
    hello: Hello,
    replies: Option<Replies>,
    events: Sender<Event>,
    /// The number of calls that run.
    calls: usize,
}

/// Tells and hears until the watcher closes the input, and ends once the last call has.
///
/// # Errors
/// If the first line is no hello, or if nobody reads the output.
pub fn run() -> Result<u8> {
    let (sender, events) = mpsc::channel();
    let input = sender.clone();
    thread::start(move || read_input(&input))?;
    let Ok(Event::Line(ToChannel::Hello(hello))) = events.recv() else {
        return Err(Error::usage("the watcher starts this program, and its first line is a hello", "see docs/dev/channels.md"));
    };
    let mut channel = Channel { replies: Replies::new(&hello)?, hello: *hello, events: sender, calls: 0 };
    let mut leaves = false;
    while !leaves || channel.calls > 0 {
        let deadline = channel.replies.as_ref().and_then(Replies::deadline);
        let wait = deadline.map_or(LONGEST, |at| at.saturating_duration_since(Instant::now()).min(LONGEST));
        match events.recv_timeout(wait) {
            Ok(Event::Leave) => {
                leaves = true;
                channel.replies = None;
            }
            Ok(event) => channel.take(event)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(0),
        }
        if let Some(replies) = &mut channel.replies {
            let events = channel.events.clone();
            replies.follow(move |stream| drop(events.send(Event::Stream(stream))));
        }
    }
    Ok(0)
}

fn read_input(events: &Sender<Event>) {
    let mut input = BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    while input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        // A newer watcher may say something that is not known here.
        if let Some(said) = document::json(&line) {
            let _ = events.send(Event::Line(said));
        }
        line.clear();
    }
    let _ = events.send(Event::Leave);
}

fn receipt(id: String, result: Result<(), String>) -> Result<()> {
    print_json(&FromChannel::Receipt(Receipt { id, problem: result.err() }))
}

impl Channel {
    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Line(ToChannel::Notice(notice)) => self.tell(&notice),
            Event::Line(ToChannel::Check(id)) => receipt(id.to_string(), self.check()),
            Event::Line(ToChannel::Waiting(cards)) => {
                self.replies.iter_mut().for_each(|replies| replies.cards(cards));
                Ok(())
            }
            Event::Line(ToChannel::Receipt(of)) => {
                let late = self.replies.as_mut().and_then(|replies| replies.receipt(&of));
                late.map_or(Ok(()), |notice| self.tell(&notice))
            }
            Event::Told(id, result) => {
                self.calls -= 1;
                receipt(id, result)
            }
            Event::Stream(Stream::Heard(heard, ticket)) => {
                let answer = self.replies.as_mut().and_then(|replies| replies.heard(heard, ticket));
                answer.map_or(Ok(()), |answer| print_json(&FromChannel::Answer(answer)))
            }
            Event::Stream(Stream::Silent(why)) => {
                let problem = self.replies.as_mut().and_then(|replies| replies.silent(&why));
                problem.map_or(Ok(()), |problem| print_json(&FromChannel::Problem(problem)))
            }
            Event::Line(ToChannel::Hello(_)) | Event::Leave => Ok(()),
        }
    }

    /// Starts the call of a notice. Its end is an event.
    fn tell(&mut self, notice: &Notice) -> Result<()> {
        let (id, events) = (notice.message.id.to_string(), self.events.clone());
        let replies = self.replies.as_ref().map_or(Ok(Vec::new()), |replies| replies.texts(notice));
        let limit = Limit { key: "notify.time_limit", time: Duration::try_from_secs_f64(self.hello.time_limit_s).unwrap_or(LONGEST) };
        let told = id.clone();
        let started = replies
            .and_then(|replies| means::call(&self.hello.settings, notice, &replies))
            .and_then(|call| call::start(call, limit, move |result| drop(events.send(Event::Told(told, result)))));
        match started {
            Ok(()) => self.calls += 1,
            Err(e) => return receipt(id, Err(e.to_string())),
        }
        Ok(())
    }

    /// Finds out whether people can be reached, without telling them anything.
    fn check(&self) -> Result<(), String> {
        let means = self.hello.settings.means();
        means.map_or(Ok(()), |means| programs::find(means.program()).map(drop)).map_err(|e| e.to_string())?;
        reachable::problem(&self.hello.settings).map_or(Ok(()), Err)
    }
}
