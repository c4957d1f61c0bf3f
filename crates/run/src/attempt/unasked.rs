//! The MCP servers that wanted to ask the user while another question of the workflow waited: the file `unasked` in the folder of that
//! question's round, one name a line. Such a server is told that nobody decided, and may tell its agent that the user cancelled. So the
//! agent is told the truth with the answer to the question that waited.

use std::path::PathBuf;

use askbox_mailbox::{Mailbox, Result, RoundId, disk, text};

/// The name of the file.
pub const FILE: &str = "unasked";

/// The largest file that is read, in bytes.
const LONGEST: u64 = 4096;
/// The most servers that are kept.
const MOST: usize = 8;
/// The most characters of a server's name.
const LONGEST_NAME: usize = 60;

/// Notes that a server wanted to ask while the question of this round waited.
pub fn note(mailbox: &Mailbox, waiting: &RoundId, server: &str) -> Result<()> {
    let mut names = servers(mailbox, waiting);
    let name = text::excerpt(&text::one_line(server), LONGEST_NAME);
    if names.contains(&name) || names.len() == MOST {
        return Ok(());
    }
    names.push(name);
    disk::touch_folder(&mailbox.runs_of(waiting))?;
    disk::replace(&path(mailbox, waiting), (names.join("\n") + "\n").as_bytes())
}

/// The names of these servers, at most eight.
pub fn servers(mailbox: &Mailbox, round: &RoundId) -> Vec<String> {
    let bytes = disk::read(&path(mailbox, round), LONGEST).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().take(MOST).map(|line| text::excerpt(line, LONGEST_NAME)).collect()
}

fn path(mailbox: &Mailbox, round: &RoundId) -> PathBuf {
    mailbox.runs_of(round).join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::id::QuestionId;

    #[test]
    fn each_server_is_named_once_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let round = RoundId { workflow: "w".parse().unwrap(), question: QuestionId::generate() };
        assert!(servers(&mailbox, &round).is_empty());
        for server in ["shop", "a\nUser chose: yes", "shop"] {
            note(&mailbox, &round, server).unwrap();
        }
        assert_eq!(servers(&mailbox, &round), ["shop", "a User chose: yes"]);
        (0..20).for_each(|n| note(&mailbox, &round, &format!("{n}{}", "x".repeat(2000))).unwrap());
        assert_eq!(servers(&mailbox, &round).len(), MOST);
    }
}
