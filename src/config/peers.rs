//! `[peers.NAME]`: other machines whose questions are seen and answered from here.

use std::collections::BTreeMap;

use crate::address::HostName;
use crate::config::section::section;
use crate::error::{Error, Result};

section! {
    /// `[peers.NAME]`: another machine with a mailbox, which is reached by ssh. NAME stands before its questions: `NAME:WORKFLOW`.
    "peers.*" PeerConfig {
        /// The machine as ssh knows it: a host, `USER@HOST`, or a name of your ssh configuration. A key or an agent must let you in without a
        /// question. `""`: the machine is not asked. Example: `"build.example.org"`.
        ssh: String = String::new(),
        /// A PostgreSQL database into which several machines bring their questions by `askbox sync`, for a role of a person. `""`: none. Each
        /// machine has the name of its role. Example: `"postgresql://ann@db.example.org/askbox"`.
        postgres: String = String::new(),
        /// Further arguments for ssh, before the machine's name. Example: `["-p", "2222"]`.
        ssh_options: Vec<String> = Vec::new(),
        /// The mailbox there. `""`: the one that ask-answer uses there without `--mailbox`.
        mailbox: String = String::new(),
        /// The program ask-answer there, if ssh does not find it: a path from `/` or `~/` on. Example: `"~/.local/bin/ask-answer"`.
        program: String = "ask-answer".into(),
    }
}

/// Refuses names that no question could be addressed by, and words that ssh or the shell there would read as something else.
pub(super) fn check(peers: &BTreeMap<String, PeerConfig>) -> Result<()> {
    for (name, peer) in peers {
        let key = |key: &str| format!("peers.{name}.{key}");
        name.parse::<HostName>().map_err(|e| match e {
            Error::Invalid { fix, .. } => Error::invalid(format!("peers.{name}"), "is no name of a machine", fix),
            other => other,
        })?;
        if peer.ssh.starts_with('-') || peer.ssh.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Error::invalid(key("ssh"), "is no host", "write HOST or USER@HOST; options belong into ssh_options"));
        }
        if !peer.ssh.is_empty() && !peer.postgres.is_empty() {
            let keep = "keep one of ssh and postgres; write another [peers.NAME] for the other";
            return Err(Error::invalid(format!("peers.{name}"), "says two ways to be reached", keep));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        let path = peer.program.strip_prefix("~/").unwrap_or(&peer.program);
        if path.is_empty() || path.starts_with('-') || !path.chars().all(is_plain) {
            let fix = "write a path from / or ~/ on, of letters, digits and / . _ - +";
            return Err(Error::invalid(key("program"), "is no plain path of a program", fix));
        }
        if !peer.mailbox.is_empty() && (!peer.mailbox.starts_with('/') || peer.mailbox.chars().any(char::is_control)) {
            return Err(Error::invalid(key("mailbox"), "is not an absolute path", "write the path from / on"));
        }
    }
    Ok(())
}
