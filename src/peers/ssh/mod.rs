//! Machines that are reached by ssh. The programs of the other machine do the work there: `ask-answer list --json --watch` tells its
//! questions and their changes, `ask-answer --offer -` takes an answer, and `ask-answer show ID --json` tells how a question ended. What is
//! executed is a constant text, made of the configuration and at most of an id: whatever a person or a machine writes goes through pipes.
//!
//! - `command`: the ssh command line
//! - `conversation`: a running ssh: bounded lines, a bounded wait, and why it ended
//! - `peer`: the peer

mod command;
mod conversation;
mod peer;

pub use command::by_hand;
pub use peer::SshPeer;

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::PeerConfig;
use crate::peers::peer::Peer;

/// The peers of the configuration that are reached by ssh. The sockets of the kept connections lie in `folder`, which is private.
#[must_use]
pub fn configured(peers: &BTreeMap<String, PeerConfig>, folder: Option<&Path>) -> Vec<Box<dyn Peer>> {
    let named = peers.iter().filter(|(_, config)| !config.ssh.is_empty());
    let peer = |(name, config): (&String, &PeerConfig)| {
        let peer = SshPeer::new(name.parse().ok()?, config.clone(), folder.map(Path::to_path_buf));
        Some(Box::new(peer) as Box<dyn Peer>)
    };
    named.filter_map(peer).collect()
}
