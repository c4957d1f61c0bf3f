//! Other machines: whether each is reached, its version, and the age of the data about it.

use std::time::Duration;

use serde::Serialize;

use crate::commands::doctor::checkup::Checkup;
use askbox_config::{Config, PeerConfig};
use askbox_mailbox::{Time, text, time};
use askbox_peers::known::{HostView, Reach};
use askbox_peers::ssh::by_hand;
use askbox_peers::{Peers, Problem, machines};
use askbox_run::story::cause::edit_configuration;

/// The maximum wait for all of them together.
const WAITS: Duration = Duration::from_secs(15);

/// One peer of the configuration.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
struct KnownPeer {
    peer: String,
    /// `ssh` or `postgres`.
    by: &'static str,
    reached: bool,
    /// The version of askbox on that machine, or of the database's schema.
    version: Option<String>,
    machines: Vec<Machine>,
    /// The database role, if it may only look at questions and not answer them.
    only_looks: Option<String>,
    #[serde(skip)]
    problem: Option<Problem>,
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
fn known(config: &Config, named: &[(&String, &PeerConfig)]) -> Vec<KnownPeer> {
    let peers = match Peers::of_configuration(config, || {}) {
        Ok(peers) => peers,
        Err(e) => {
            let problem = Problem::passing(e.to_string(), e.hint());
            return named.iter().map(|(name, peer)| KnownPeer::new(name, peer, Some(problem.clone()))).collect();
        }
    };
    peers.settle_all(WAITS);
    let (views, ways) = (peers.view(), peers.ways());
    let of = |(name, peer): &(&String, &PeerConfig)| {
        let led_to: Vec<_> = views.iter().filter(|view| view.peer == **name).collect();
        let way = ways.iter().find(|way| way.name == **name);
        let problem = match way.map(|way| &way.reach).or_else(|| led_to.first().map(|view| &view.reach)) {
            Some(Reach::Reachable) => None,
            Some(Reach::Unreachable { problem, .. }) => Some(problem.clone()),
            _ => Some(Problem::passing(format!("{name} has not answered within {}", time::human(WAITS)), "")),
        };
        let of_machine = || led_to.first()?.version.as_ref().map(|version| format!("askbox {}", text::one_line(version)));
        let no_mailbox = led_to.iter().find_map(|view| {
            let there = format!("ls -ld {}", text::shell_quote(&view.no_mailbox.as_ref()?.excerpt(300)));
            Some((machines::no_mailbox(view)?, by_hand(peer, &there)))
        });
        KnownPeer {
            version: way.map_or_else(of_machine, |way| way.version.clone()),
            only_looks: if problem.is_none() { only_looks(config, peer) } else { None },
            no_mailbox,
            machines: led_to.into_iter().map(Machine::new).collect(),
            ..KnownPeer::new(name, peer, problem)
        }
    };
    named.iter().map(of).collect()
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
    (!row.try_get::<_, bool>(0).ok()?).then(|| database.user.clone())
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
        let (by, reached) = (if peer.ssh.is_empty() { "postgres" } else { "ssh" }, problem.is_none());
        let (version, only_looks, machines, no_mailbox) = (None, None, Vec::new(), None);
        Self { peer: name.into(), by, reached, version, machines, only_looks, problem, no_mailbox }
    }

    /// One line about the peer, for people.
    fn words(&self) -> String {
        let reached = match &self.version {
            Some(version) if self.reached => format!("reached, {version}"),
            _ if self.reached => "reached".into(),
            _ => "not reached".into(),
        };
        let is_ssh = self.by == "ssh";
        let words = |one: &Machine| if is_ssh { one.words() } else { format!("{}: {}", one.machine, one.words()) };
        let machines = match &self.machines[..] {
            [] if is_ssh || !self.reached => "no machine is known".to_owned(),
            [] => "no machine that is reached by it alone".to_owned(),
            all => all.iter().map(words).collect::<Vec<_>>().join(", "),
        };
        format!("Peer {} ({}): {reached}; {machines}.\n", self.peer, self.by)
    }
}

/// The command that shows why a peer is not reached.
fn try_by_hand(name: &str, peer: &PeerConfig) -> String {
    if peer.ssh.is_empty() {
        return format!("ask-answer list --host {name}");
    }
    // This command uses the same options and the same program, so it fails for the same reason as the peer.
    let batch = [&peer.ssh_options[..], &["-o".into(), "BatchMode=yes".into()]].concat();
    by_hand(&PeerConfig { ssh_options: batch, ..peer.clone() }, &format!("{} --version", peer.program))
}

/// Reports the peers that are not reached. If only a machine behind a database is asleep, that is not a problem: offers wait for it.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let config = checkup.config.clone();
    let named: Vec<_> = config.peers.iter().filter(|(_, peer)| !peer.ssh.is_empty() || !peer.postgres.is_empty()).collect();
    if named.is_empty() {
        return;
    }
    let all = known(&config, &named);
    for ((name, peer), known) in named.into_iter().zip(&all) {
        let subject = format!("peer {name}");
        if let Some(problem) = &known.problem {
            let hint = if problem.hint.is_empty() { String::new() } else { format!(" ({})", problem.hint) };
            let said = format!("{}{hint}", machines::without_name(name, &problem.said));
            checkup.report("unreachable", &subject, said, try_by_hand(name, peer));
        }
        if let Some(role) = &known.only_looks {
            let how = format!("name a person's role in peers.{name}.postgres (its statements: askbox sync roles --person NAME)");
            let said = format!("the role {} may not send answers there, only look: {how}", text::excerpt(role, 64));
            checkup.report("only_looks", &subject, said, edit_configuration());
        }
        if let Some((said, look)) = &known.no_mailbox {
            checkup.report("no_mailbox", &subject, said, look);
        }
    }
    checkup.facts.add("peers", &all, all.iter().map(KnownPeer::words).collect());
}
