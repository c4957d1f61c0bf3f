//! `ask-answer` for other machines. If a command is about other machines, `ask-answer` becomes this part of `askbox`, with its own
//! arguments. So answering a question of this machine starts as fast as without this part.
//!
//! | file | idea |
//! |---|---|
//! | `for_machines` | `ask-answer list --json --watch`, `--offer` and `--sessions`, for another machine |
//! | `listing` | `ask-answer list` with the questions of all machines |
//! | `answer` | shows and answers a question of another machine, also with a text from the editor |
//! | `offer_state` | the state of an offered answer that may not be decided yet |

pub mod answer;
mod for_machines;
mod listing;
pub mod offer_state;

use std::time::Duration;

use clap::Parser;

use crate::Peers;
use crate::collection::no_peer;
use crate::known::{HostView, Reach};
use crate::state::Way;
use askbox_cli::args::ask_answer_args::{AskAnswer, Command};
use askbox_cli::args::askbox_args::Inbox;
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, HostName, Result, text, time};

/// The maximum wait of a list for machines that were reached the last time.
const LIST_WAITS: Duration = Duration::from_secs(5);

/// Opens the inbox, which is in a higher layer than this module.
pub type OpenInbox = fn(&Inbox, &Context) -> Result<u8>;

/// Runs `ask-answer` with these arguments, which do not include its name. `open` opens a question in the inbox.
///
/// # Errors
/// The errors of its command.
pub fn run(words: &[String], context: &Context, open: OpenInbox) -> Result<u8> {
    let args = AskAnswer::try_parse_from(std::iter::once("ask-answer").chain(words.iter().map(String::as_str)));
    let args = args.map_err(|e| Error::usage(text::excerpt(&e.to_string(), 300), "install ask-answer and askbox of the same version"))?;
    if let Some(offer) = &args.reply.offer {
        return for_machines::take_offer(&args.common.open()?, context, offer);
    }
    if let Some(request) = &args.reply.sessions {
        return for_machines::about_sessions(&args.common.open()?, context, request).map(|()| 0);
    }
    match &args.command {
        Some(Command::List { watch: true, .. }) => for_machines::feed(&args.common),
        Some(Command::List { filter, host, .. }) => listing::run(&args.common, context, filter, host.as_ref()),
        _ => answer::run(&args, context, open),
    }
}

/// Connects to the peers of the configuration. With a name, connects only to the peers that may lead to the machine or database of this
/// name.
fn connect(context: &Context, host: Option<&HostName>) -> Result<Peers> {
    let mut config = context.config()?;
    config.peers.retain(|_, peer| !peer.ssh.is_empty() || !peer.postgres.is_empty());
    if let Some(host) = host {
        if config.peers.contains_key(host.as_str()) {
            config.peers.retain(|name, _| name == host.as_str());
        } else {
            // Only the database knows which machines are in it.
            config.peers.retain(|_, peer| !peer.postgres.is_empty());
        }
        if config.peers.is_empty() {
            return Err(no_peer(host));
        }
    }
    Peers::of_configuration(&config, || {})
}

/// The known state of all machines, or only of the machine or of the database of this name.
///
/// # Errors
/// [`Error::NotFound`] if no peer leads to it. If a database that might know the machine is not reached, the error says why.
fn views(peers: &Peers, host: Option<&HostName>) -> Result<Vec<HostView>> {
    let (mut views, ways) = (peers.view(), peers.ways());
    let Some(host) = host.filter(|host| ways.iter().all(|way| way.name != host.as_str())) else { return Ok(views) };
    views.retain(|view| view.host == *host);
    if !views.is_empty() {
        return Ok(views);
    }
    match ways.iter().find(|way| way.reach != Reach::Reachable) {
        Some(way) => Err(unreachable(&way.name, &way.reach)),
        None => Err(no_peer(host)),
    }
}

/// The reason why a machine or a database is not reached, as an error.
pub fn unreachable(name: &str, reach: &Reach) -> Error {
    match reach {
        Reach::Unreachable { problem, .. } => Error::failed(text::one_line(&problem.said), text::one_line(&problem.hint)),
        _ => Error::failed(format!("{name} has not answered in time"), "try it again, or see: askbox doctor"),
    }
}

/// The reason why a machine or a database is not reached, in one line. `None` if it is reached.
pub fn silence(name: &str, reach: &Reach) -> Option<String> {
    match reach {
        Reach::Reachable => None,
        Reach::Connecting => Some(format!("{name} has not answered yet")),
        Reach::Unreachable { problem, .. } => Some(format!("{name} is not reached: {}", without_name(name, &problem.said))),
    }
}

/// A machine's or a way's problem in one line, without its name in front: the sentence around it names it already.
pub fn without_name(name: &str, said: &str) -> String {
    let said = text::one_line(said);
    let rest = said.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ").or_else(|| rest.strip_prefix(" was ")));
    rest.map_or_else(|| said.clone(), str::to_owned)
}

/// A machine or a database that is not reached.
pub struct NotReached<'a> {
    /// Its name.
    pub name: &'a str,
    /// The state of the connection.
    pub reach: &'a Reach,
    /// The reason in one line.
    pub why: String,
}

/// The machines and databases that are not reached, each reason once: if a database is not reached, its machines are not named as well.
pub fn not_reached<'a>(ways: &'a [Way], views: &'a [HostView]) -> Vec<NotReached<'a>> {
    let databases =
        ways.iter().filter_map(|way| Some(NotReached { name: &way.name, reach: &way.reach, why: silence(&way.name, &way.reach)? }));
    let is_behind = |view: &&HostView| ways.iter().any(|way| way.name == view.peer && way.reach != Reach::Reachable);
    let machines = views.iter().filter(|view| !is_behind(view));
    let machines = machines.filter_map(|view| Some(NotReached { name: view.host.as_str(), reach: &view.reach, why: staleness(view)? }));
    databases.chain(machines).collect()
}

/// The age of the data about a machine: `2h ago`, or that it was never seen.
pub fn age(view: &HostView) -> String {
    view.as_of.map_or_else(|| "never".into(), |at| format!("{} ago", time::human(time::since(at))))
}

/// One line that says that a machine's mailbox is missing, if it is.
pub fn no_mailbox(view: &HostView) -> Option<String> {
    let path = view.no_mailbox.as_ref().filter(|_| !view.is_stale())?;
    Some(format!("{} has no mailbox at {}: it is misspelt or not mounted, or nothing was asked there yet", view.host, path.excerpt(200)))
}

/// The reason why a machine's questions may be old, in one line. `None` if they are not.
pub fn staleness(view: &HostView) -> Option<String> {
    let why = silence(view.host.as_str(), &view.reach)?;
    let seen = if view.as_of.is_some() { format!("its questions as of {}", age(view)) } else { "nothing is known of it".into() };
    Some(format!("{why}; {seen}"))
}

/// Like [`staleness`], and says what happens to an answer until the machine is back.
pub fn while_away(view: &HostView) -> Option<String> {
    let then = match view.reach {
        _ if view.takes_offers() => "an answer is kept for it, and it decides when it is back",
        Reach::Connecting => "an answer waits a few seconds for it",
        _ => "nothing can be sent there now",
    };
    Some(format!("{}; {then}", staleness(view)?))
}

/// Refuses to offer an answer to a machine that cannot be reached now.
///
/// # Errors
/// [`Error::Failed`] with the reason, and the time when it was last seen.
pub fn takes_offers(view: &HostView) -> Result<()> {
    if view.takes_offers() {
        return Ok(());
    }
    let why = unreachable(view.host.as_str(), &view.reach);
    let hint = why.hint();
    Err(Error::failed(format!("{} (last seen {})", program::message(&why), age(view)), hint))
}

/// Like [`takes_offers`], for a person who can see how the offer ends. A machine that is still being tried for the first time also gets the
/// offer, because sending it is another try.
///
/// # Errors
/// The errors of [`takes_offers`].
pub fn may_take_offers(view: &HostView) -> Result<()> {
    if view.reach == Reach::Connecting { Ok(()) } else { takes_offers(view) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_does_not_name_its_machine_a_second_time() {
        for (said, told) in [
            ("build: Connection refused", "Connection refused"),
            ("laptop was heard last 2h ago", "laptop was heard last 2h ago"),
            ("build was heard last 2h ago", "heard last 2h ago"),
            ("builder: gone", "builder: gone"),
            ("the database ann@db cannot be reached", "the database ann@db cannot be reached"),
        ] {
            assert_eq!(without_name("build", said), told);
        }
    }
}
