//! Other machines: whether each is reached, its version, and the age of the data about it.

use std::time::Duration;

use serde::Serialize;

use crate::commands::doctor::checkup::Checkup;
#[cfg(feature = "sync")]
use crate::commands::doctor::installation::sync;
use askbox_config::{Config, PeerConfig};
use askbox_mailbox::text;
use askbox_mailbox::time::{self, Time};
use askbox_peers::known::{HostView, Reach};
use askbox_peers::ssh::by_hand;
use askbox_peers::{Peers, Problem, machines};
use askbox_run::story::cause::edit_configuration;

/// The maximum wait for all of them together.
const WAITS: Duration = Duration::from_secs(15);

/// One peer of the configuration.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownPeer {
    peer: String,
    /// `ssh` or `postgres`.
    by: &'static str,
    reached: bool,
    /// The version of askbox on that machine, or of the database's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    machines: Vec<Machine>,
    /// The database role, if it may only look at questions and not answer them.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_looks: Option<String>,
    #[serde(skip)]
    problem: Option<Problem>,
    #[serde(skip)]
    look: String,
    /// The reason why that machine has no mailbox, and a command that shows more.
    #[serde(skip)]
    no_mailbox: Option<(String, String)>,
}

/// One machine, and the age of the data about it.
#[derive(Debug, Serialize)]
struct Machine {
    machine: String,
    version: Option<String>,
    /// True if the machine is there now. A machine may be asleep although its database is reached.
    reached: bool,
    as_of: Option<Time>,
    questions: usize,
}

/// The state of every peer. This tries to reach each of them now.
fn known(checkup: &Checkup) -> Vec<KnownPeer> {
    let config = &checkup.config;
    let named = || config.peers.iter().filter(|(_, peer)| !peer.ssh.is_empty() || !peer.postgres.is_empty());
    if named().next().is_none() {
        return Vec::new();
    }
    let peers = match Peers::of_configuration(config, || {}) {
        Ok(peers) => peers,
        Err(e) => {
            let failed = |(name, peer): (&String, &PeerConfig)| KnownPeer::new(name, peer, Some(Problem::passing(e.to_string(), e.hint())));
            return named().map(failed).collect();
        }
    };
    peers.settle_all(WAITS);
    let (views, ways) = (peers.view(), peers.ways());
    let of = |(name, peer): (&String, &PeerConfig)| {
        let led_to: Vec<_> = views.iter().filter(|view| view.peer == *name).collect();
        let way = ways.iter().find(|view| view.name == *name).map(|view| &view.way);
        let reach = way.map(|way| &way.reach).or_else(|| led_to.first().map(|view| &view.reach));
        let problem = match reach {
            Some(Reach::Reachable) => None,
            Some(Reach::Unreachable { problem, .. }) => Some(problem.clone()),
            _ => Some(Problem::passing(format!("{name} has not answered within {}", time::human(WAITS)), "")),
        };
        let version = match way {
            Some(way) => way.version.clone(),
            None => led_to.first().and_then(|view| view.version.as_ref()).map(|version| format!("askbox {}", text::one_line(version))),
        };
        let only_looks = if problem.is_none() { only_looks(config, peer) } else { None };
        let no_mailbox = led_to.iter().find_map(|view| {
            let there = format!("ls -ld {}", text::shell_quote(&view.no_mailbox.as_ref()?.excerpt(300)));
            Some((machines::no_mailbox(view)?, by_hand(peer, &there)))
        });
        KnownPeer {
            version,
            only_looks,
            no_mailbox,
            machines: led_to.into_iter().map(Machine::new).collect(),
            ..KnownPeer::new(name, peer, problem)
        }
    };
    named().map(of).collect()
}

/// The database role that a peer is reached with, if this role may not send answers there. The role of a host is an example.
#[cfg(feature = "sync")]
fn only_looks(config: &Config, peer: &PeerConfig) -> Option<String> {
    use askbox_peers::sync::connection::Database;
    if peer.postgres.is_empty() || !peer.ssh.is_empty() {
        return None;
    }
    let database = Database::at(&peer.postgres, &config.sync.root_certificate).ok()?;
    let row = database.connect().ok()?.query_one("SELECT has_any_column_privilege('askbox.offer', 'INSERT')", &[]).ok()?;
    (!row.try_get::<_, bool>(0).ok()?).then(|| database.user().to_owned())
}

#[cfg(not(feature = "sync"))]
fn only_looks(_: &Config, _: &PeerConfig) -> Option<String> {
    None
}

impl Machine {
    fn new(view: &HostView) -> Self {
        Self {
            machine: view.host.to_string(),
            version: view.version.as_deref().map(text::one_line),
            reached: !view.is_stale(),
            as_of: view.as_of,
            questions: view.questions.len() + view.left_out,
        }
    }

    fn words(&self) -> String {
        let count = if self.questions == 1 { "1 question".to_owned() } else { format!("{} questions", self.questions) };
        match self.as_of {
            _ if self.reached => count,
            Some(at) => format!("{count} as of {} ago", time::human(time::since(at))),
            None => "nothing is known".into(),
        }
    }
}

impl KnownPeer {
    fn new(name: &str, peer: &PeerConfig, problem: Option<Problem>) -> Self {
        let (by, look) = if peer.ssh.is_empty() {
            ("postgres", format!("ask-answer list --host {name}"))
        } else {
            // This command uses the same options and the same program, so it fails for the same reason as the peer.
            let batch = [&peer.ssh_options[..], &["-o".into(), "BatchMode=yes".into()]].concat();
            let there = PeerConfig { ssh_options: batch, ..peer.clone() };
            ("ssh", by_hand(&there, &format!("{} --version", peer.program)))
        };
        Self {
            peer: name.into(),
            by,
            reached: problem.is_none(),
            version: None,
            only_looks: None,
            machines: Vec::new(),
            problem,
            look,
            no_mailbox: None,
        }
    }

    /// One line about the peer, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let reached = match &self.version {
            Some(version) if self.reached => format!("reached, {version}"),
            _ if self.reached => "reached".into(),
            _ => "not reached".into(),
        };
        let machines: Vec<_> = if self.by == "ssh" {
            self.machines.iter().map(Machine::words).collect()
        } else {
            self.machines.iter().map(|machine| format!("{}: {}", machine.machine, machine.words())).collect()
        };
        let machines = if machines.is_empty() {
            (if self.by == "ssh" || !self.reached { "no machine is known" } else { "no machine that is reached by it alone" }).into()
        } else {
            machines.join(", ")
        };
        format!("Peer {} ({}): {reached}; {machines}.\n", self.peer, self.by)
    }
}

/// Reports the peers that are not reached. If only a machine behind a database is asleep, that is not a problem: offers wait for it.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let known = known(checkup);
    for peer in &known {
        if let Some(problem) = &peer.problem {
            let hint = if problem.hint.is_empty() { String::new() } else { format!(" ({})", problem.hint) };
            checkup.report(
                "unreachable",
                format!("peer {}", peer.peer),
                format!("{}{hint}", machines::without_name(&peer.peer, &problem.said)),
                peer.look.clone(),
            );
        }
        #[cfg(feature = "sync")]
        if let Some(address) = checkup.config.peers.get(&peer.peer).map(|peer| peer.postgres.clone()).filter(|_| peer.reached)
            && let Some(encoding) = sync::other_encoding(&address, &checkup.config.sync.root_certificate)
        {
            sync::report_encoding(checkup, &format!("peer {}", peer.peer), &encoding, &address);
        }
        if let Some(role) = &peer.only_looks {
            let key = format!("peers.{}.postgres", peer.peer);
            let said = format!(
                "the role {} may not send answers there, only look: name a person's role in {key} (its statements: askbox sync roles --person NAME)",
                text::excerpt(role, 64)
            );
            checkup.report("only_looks", format!("peer {}", peer.peer), said, edit_configuration());
        }
        if let Some((said, look)) = &peer.no_mailbox {
            checkup.report("no_mailbox", format!("peer {}", peer.peer), said.clone(), look.clone());
        }
    }
    checkup.facts.peers = known;
}
