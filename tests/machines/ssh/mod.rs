//! Machines by ssh.
//!
//! | file | content |
//! |---|---|
//! | `links.rs` | three network namespaces, whose links are cut |
//! | `silence.rs` | a machine that stops in the middle of a connection, seen by a surface that stays open |
//! | `costs.rs` | from a click to the agent's start; it prints a row of a table |
//! | `hub_killed.rs` | the program of the person is killed |
//! | `many_rows.rs` | the memory of surfaces that show thousands of questions of others |

mod costs;
mod hub_killed;
mod links;
mod many_rows;
mod silence;

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;

use askbox::config::PeerConfig;
use askbox::peers::{Peers, ssh};

use crate::support::{Machine, World};

/// Whether one connection is kept for all that is asked of a machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
}

/// The peers that a surface has, with the machine's section as the configuration has it.
fn surface(here: &World, machine: &Machine, kept: Kept) -> Peers {
    let sections: toml::Table = machine.section().parse().expect("a section");
    let peers: BTreeMap<String, PeerConfig> = sections["peers"].clone().try_into().expect("peers");
    let folder = here.path("peers");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).expect("a folder");
    let folder = Some(folder).filter(|_| kept == Kept::Yes);
    Peers::open(ssh::configured(&peers, folder.as_deref()), folder, || {}).expect("peers")
}
