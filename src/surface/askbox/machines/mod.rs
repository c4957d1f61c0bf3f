//! `ask-answer` where other machines come in: `ask-answer` becomes this part of `askbox`, with its own arguments, so that answering a
//! question of this machine starts as fast as without it.
//!
//! - `feed`: `ask-answer list --json --watch`, which another machine reads
//! - `take_offer`: `ask-answer --offer`, by which another machine answers
//! - `listing`: `ask-answer list` with the questions of all machines
//! - `answer`: shows and answers a question of another machine

mod answer;
mod feed;
mod listing;
mod take_offer;

use std::time::Duration;

use clap::Parser;

use crate::address::HostName;
use crate::config;
use crate::error::{Error, Result};
use crate::peers::Peers;
use crate::peers::known::{HostView, Reach};
use crate::surface::args::ask_answer_args::{AskAnswer, Command};
use crate::text;
use crate::time;

/// How long a list waits for machines that were reached the last time.
const LIST_WAITS: Duration = Duration::from_secs(5);

/// Runs `ask-answer` with these arguments, behind its name.
///
/// # Errors
/// Those of its command.
pub fn run(words: &[String]) -> Result<u8> {
    let args = AskAnswer::try_parse_from(std::iter::once("ask-answer").chain(words.iter().map(String::as_str)));
    let args = args.map_err(|e| Error::usage(text::excerpt(&e.to_string(), 300), "install ask-answer and askbox of the same version"))?;
    if let Some(offer) = &args.reply.offer {
        return take_offer::run(&args.common.open()?, offer);
    }
    match &args.command {
        Some(Command::List { watch: true, .. }) => feed::run(&args.common),
        Some(Command::List { filter, host, .. }) => listing::run(&args.common, filter, host.as_ref()),
        _ => answer::run(&args),
    }
}

/// The peers of the configuration; with a name, only those that lead to this machine.
fn connect(host: Option<&HostName>) -> Result<Peers> {
    let mut config = config::load()?.config;
    if let Some(host) = host {
        let is_known = config.peers.get(host.as_str()).is_some_and(|peer| !peer.ssh.is_empty());
        if !is_known {
            return Err(crate::peers::collection::no_peer(host));
        }
        config.peers.retain(|name, _| name == host.as_str());
    }
    Peers::of_configuration(&config, || {})
}

/// How old what is known of a machine is: `2h ago`, or that it was never seen.
fn age(view: &HostView) -> String {
    view.as_of.map_or_else(|| "never".into(), |at| format!("{} ago", time::human(time::since(at))))
}

/// Why a machine's questions may be old, in one line; `None` if they are not.
fn staleness(view: &HostView) -> Option<String> {
    let why = match &view.reach {
        Reach::Reachable => return None,
        Reach::Connecting => "has not answered yet".to_owned(),
        Reach::Unreachable { problem, .. } => format!("is not reached: {}", text::one_line(&problem.said)),
    };
    let seen = if view.as_of.is_some() { format!("its questions as of {}", age(view)) } else { "nothing is known of it".into() };
    Some(format!("{} {why}; {seen}", view.host))
}
