//! `[peers.NAME]`: other machines, whose questions can be seen and answered from here. `[sync]`: the database through which people on other machines see the questions of this one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use askbox_mailbox::{Error, HostName, Result, Span, text};

section! {
    /// `[peers.NAME]`: another machine with a mailbox, which is reached by ssh. NAME is put before the ids of its questions:
    /// `NAME:WORKFLOW`.
    "peers.*" PeerConfig {
        /// The machine as ssh knows it. ssh must let you in without a question. Example: `"build.example.org"`.
        ssh: String = String::new(),
        /// A PostgreSQL database of `askbox sync`, with the role of a person. Example: `"postgresql://ann@db.example.org/askbox"`.
        postgres: String = String::new(),
        /// Further arguments for ssh. Example: `["-p", "2222"]`.
        ssh_options: Vec<String> = Vec::new(),
        /// The mailbox there. `""`: the default there.
        mailbox: String = String::new(),
        /// `ask-answer` there, if ssh does not find it: a path from `/` or `~/` on. Example: `"~/.local/bin/ask-answer"`.
        program: String = "ask-answer".into(),
    }
}

/// Refuses names that cannot be part of a question's address, and words that ssh or the shell there would read as something else.
pub(crate) fn check(peers: &BTreeMap<String, PeerConfig>) -> Result<()> {
    for (name, peer) in peers {
        let key = |key: &str| format!("peers.{name}.{key}");
        name.parse::<HostName>().map_err(|e| match e {
            Error::Invalid { fix, .. } => Error::invalid(format!("peers.{name}"), "is no name of a machine", fix),
            other => other,
        })?;
        if peer.ssh.starts_with('-') || peer.ssh.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Error::invalid(key("ssh"), "is no host", "write HOST or USER@HOST; options belong into ssh_options"));
        }
        if let Some(bare) = no_option(&peer.ssh_options) {
            let problem = format!("`{}` is no option of ssh, which would take it for the machine", text::excerpt(bare, 60));
            return Err(Error::invalid(key("ssh_options"), problem, "write options and their values, such as [\"-p\", \"2222\"]"));
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

/// The first word that is not an option of ssh or the value of an option.
fn no_option(words: &[String]) -> Option<&str> {
    const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-')) else {
            return Some(word);
        };
        // The value is the rest of the word, or the next one.
        let takes_next = letters.find(|letter| WITH_VALUE.contains(letter)).is_some_and(|at| at + 1 == letters.len());
        if takes_next && words.next().is_none() {
            return Some(word);
        }
    }
    None
}

section! {
    /// `[sync]`: the database of `askbox sync`.
    "sync" Sync {
        /// The database, as a URL or key=value pairs, without a password (`~/.pgpass`, `$PGPASSWORD`). The role is the name of this host.
        /// `""`: `PGHOST`, `PGUSER` and so on. Example: `"postgresql://laptop@db.example.org/askbox"`.
        database: String = String::new(),
        /// The file of certificates (PEM) for checking the server's. `""`: `$PGSSLROOTCERT`, or the certificates of this system.
        root_certificate: PathBuf = PathBuf::new(),
        /// About how often the database is asked for offers.
        poll: Span = Span(Duration::from_secs(2)),
        /// The people of the database may read the sessions of this machine and send them prompts. A reply is for its person alone.
        sessions: bool = false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_word_among_the_options_of_ssh_is_found() {
        let of = |words: &[&str]| no_option(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).map(str::to_owned);
        for good in [&["-p", "2222"] as &[&str], &["-p2222", "-4"], &["-o", "ProxyCommand=x y", "-vF", "none"], &[]] {
            assert_eq!(of(good), None, "{good:?}");
        }
        let bad = [(&["otherhost"] as &[&str], "otherhost"), (&["-4", "otherhost"], "otherhost"), (&["-p", "1", "x"], "x")];
        for (bad, word) in bad.into_iter().chain([(&["--"] as &[&str], "--"), (&["-p"], "-p")]) {
            assert_eq!(of(bad).as_deref(), Some(word), "{bad:?}");
        }
    }
}
