//! `ask-answer` where other machines come in: `ask-answer` becomes this part of `askbox`, with its own arguments, so that answering a
//! question of this machine starts as fast as without it.
//!
//! - `feed`: `ask-answer list --json --watch`, which another machine reads
//! - `take_offer`: `ask-answer --offer`, by which another machine answers
//! - `listing`: `ask-answer list` with the questions of all machines
//! - `answer`: shows and answers a question of another machine
//! - `undecided`: that somebody has sent an answer already, about which its machine has not decided
//! - `told`: how an answer that was offered to another machine stands, in words

pub(in crate::surface::askbox) mod answer;
mod feed;
mod listing;
mod take_offer;
pub(in crate::surface::askbox) mod told;
pub(in crate::surface::askbox) mod undecided;

use std::time::Duration;

use clap::Parser;

use crate::address::HostName;
use crate::error::{Error, Result};
use crate::peers::Peers;
use crate::peers::collection::no_peer;
use crate::peers::known::{HostView, Reach};
use crate::surface::args::ask_answer_args::{AskAnswer, Command};
use crate::surface::args::askbox_args::Inbox;
use crate::surface::program::{self, Context};
use crate::text;
use crate::time;

/// How long a list waits for machines that were reached the last time.
const LIST_WAITS: Duration = Duration::from_secs(5);

/// Opens the inbox, which stands above this.
pub type OpenInbox = fn(&Inbox, &Context) -> Result<u8>;

/// Runs `ask-answer` with these arguments, behind its name. `open`: opens a question in the inbox.
///
/// # Errors
/// Those of its command.
pub fn run(words: &[String], context: &Context, open: OpenInbox) -> Result<u8> {
    let args = AskAnswer::try_parse_from(std::iter::once("ask-answer").chain(words.iter().map(String::as_str)));
    let args = args.map_err(|e| Error::usage(text::excerpt(&e.to_string(), 300), "install ask-answer and askbox of the same version"))?;
    if let Some(offer) = &args.reply.offer {
        return take_offer::run(&args.common.open()?, context, offer);
    }
    match &args.command {
        Some(Command::List { watch: true, .. }) => feed::run(&args.common),
        Some(Command::List { filter, host, .. }) => listing::run(&args.common, context, filter, host.as_ref()),
        _ => answer::run(&args, context, open),
    }
}

/// The peers of the configuration; with a name, only those that may lead to the machine of this name, or the database of it.
fn connect(context: &Context, host: Option<&HostName>) -> Result<Peers> {
    let mut config = context.config()?;
    config.peers.retain(|_, peer| !peer.ssh.is_empty() || !peer.postgres.is_empty());
    if let Some(host) = host {
        if config.peers.contains_key(host.as_str()) {
            config.peers.retain(|name, _| name == host.as_str());
        } else {
            // A database says itself which machines are in it.
            config.peers.retain(|_, peer| !peer.postgres.is_empty());
        }
        if config.peers.is_empty() {
            return Err(no_peer(host));
        }
    }
    Peers::of_configuration(&config, || {})
}

/// What is known of the machine of this name, or of all machines of the database of this name; without a name, of all machines.
///
/// # Errors
/// [`Error::NotFound`] if no peer leads to it; the problem of a database that would know.
fn views(peers: &Peers, host: Option<&HostName>) -> Result<Vec<HostView>> {
    let (mut views, ways) = (peers.view(), peers.ways());
    let Some(host) = host.filter(|host| ways.iter().all(|way| way.name != host.as_str())) else { return Ok(views) };
    views.retain(|view| view.host == *host);
    if !views.is_empty() {
        return Ok(views);
    }
    match ways.iter().find(|view| view.way.reach != Reach::Reachable) {
        Some(view) => Err(unreachable(&view.name, &view.way.reach)),
        None => Err(no_peer(host)),
    }
}

/// Why a machine or a database is not reached, as an error.
pub(in crate::surface::askbox) fn unreachable(name: &str, reach: &Reach) -> Error {
    match reach {
        Reach::Unreachable { problem, .. } => Error::failed(text::one_line(&problem.said), text::one_line(&problem.hint)),
        _ => Error::failed(format!("{name} has not answered in time"), "try it again, or see: askbox doctor"),
    }
}

/// Why a database is not reached, in one line; `None` if it is, and if its machines say it.
pub(in crate::surface::askbox) fn silence(name: &str, reach: &Reach) -> Option<String> {
    match reach {
        Reach::Reachable => None,
        Reach::Connecting => Some(format!("{name} has not answered yet")),
        Reach::Unreachable { problem, .. } => Some(format!("{name} is not reached: {}", text::one_line(&problem.said))),
    }
}

/// How old what is known of a machine is: `2h ago`, or that it was never seen.
pub(in crate::surface::askbox) fn age(view: &HostView) -> String {
    view.as_of.map_or_else(|| "never".into(), |at| format!("{} ago", time::human(time::since(at))))
}

/// That a machine's mailbox is missing, in one line.
pub(in crate::surface::askbox) fn no_mailbox(view: &HostView) -> Option<String> {
    let path = view.no_mailbox.as_ref().filter(|_| !view.is_stale())?;
    Some(format!("{} has no mailbox at {}: it is misspelt or not mounted, or nothing was asked there yet", view.host, path.excerpt(200)))
}

/// Why a machine's questions may be old, in one line; `None` if they are not.
pub(in crate::surface::askbox) fn staleness(view: &HostView) -> Option<String> {
    let why = silence(view.host.as_str(), &view.reach)?;
    let seen = if view.as_of.is_some() { format!("its questions as of {}", age(view)) } else { "nothing is known of it".into() };
    Some(format!("{why}; {seen}"))
}

/// The same with what becomes of an answer meanwhile.
pub(in crate::surface::askbox) fn while_away(view: &HostView) -> Option<String> {
    let then = match view.reach {
        _ if view.takes_offers() => "an answer is kept for it, and it decides when it is back",
        Reach::Connecting => "an answer waits a few seconds for it",
        _ => "nothing can be sent there now",
    };
    Some(format!("{}; {then}", staleness(view)?))
}

/// Refuses to offer an answer to a machine that nothing reaches now.
///
/// # Errors
/// [`Error::Failed`] with the reason, and when it was last seen.
pub(in crate::surface::askbox) fn takes_offers(view: &HostView) -> Result<()> {
    if view.takes_offers() {
        return Ok(());
    }
    let why = unreachable(view.host.as_str(), &view.reach);
    let hint = why.hint();
    Err(Error::failed(format!("{} (last seen {})", program::message(&why), age(view)), hint))
}

/// The same for a person who sees what becomes of the offer: a machine that is tried for the first time is offered it, which tries it as well.
///
/// # Errors
/// Those of [`takes_offers`].
pub(in crate::surface::askbox) fn may_take_offers(view: &HostView) -> Result<()> {
    if view.reach == Reach::Connecting { Ok(()) } else { takes_offers(view) }
}
