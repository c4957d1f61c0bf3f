//! The ssh command line.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::address::HostName;
use crate::config::PeerConfig;
use crate::id::WorkflowId;
use crate::text;

/// The longest path of a socket that every system takes, less what ssh adds while it makes one.
const MAX_SOCKET_PATH: usize = 104 - 20;

/// What is asked of the other machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask<'a> {
    /// Its questions and their changes.
    Watch,
    /// To take the offer that follows on standard input.
    Offer,
    /// How this workflow's last question ended.
    Show(&'a WorkflowId),
}

/// The command: ssh asks nobody anything, notices a dead connection within 15 seconds, and opens one connection for all commands to a
/// machine, which ends a minute after the last.
pub(super) fn command(host: &HostName, config: &PeerConfig, folder: Option<&Path>, ask: Ask<'_>) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-a", "-x"]);
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ConnectionAttempts=1",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "EscapeChar=none",
        "LogLevel=ERROR",
    ] {
        command.arg("-o").arg(option);
    }
    match folder.and_then(|folder| control_path(folder, host)) {
        Some(path) => {
            let path = [b"ControlPath=", path.as_os_str().as_bytes()].concat();
            command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o"]).arg(std::ffi::OsStr::from_bytes(&path));
        }
        None => drop(command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"])),
    }
    command.args(&config.ssh_options).arg("--").arg(&config.ssh).arg(there(config, ask));
    // Keys that end a program at this terminal are not for ssh.
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if ask == Ask::Offer { Stdio::piped() } else { Stdio::null() });
    command
}

/// What the other machine's shell is given. It is made of the configuration, and at most of an id, which has no character that a shell reads.
fn there(config: &PeerConfig, ask: Ask<'_>) -> String {
    let mailbox = if config.mailbox.is_empty() { String::new() } else { format!(" --mailbox {}", text::shell_quote(&config.mailbox)) };
    let what = match ask {
        Ask::Watch => "list --json --watch".to_owned(),
        Ask::Offer => "--offer - --json".to_owned(),
        Ask::Show(workflow) => format!("show {} --json", text::shell_quote(workflow.as_str())),
    };
    // The configuration takes only plain letters for the program, so the shell opens a `~` and nothing else.
    format!("{}{mailbox} {what}", config.program)
}

/// What a person types to do the same as a peer does: the ssh command line to the machine, with what is run there.
pub fn by_hand(config: &PeerConfig, there: &str) -> String {
    let words =
        config.ssh_options.iter().map(String::as_str).chain([config.ssh.as_str()]).chain(Some(there).filter(|there| !there.is_empty()));
    format!("ssh {}", words.map(text::shell_quote).collect::<Vec<_>>().join(" "))
}

/// The socket of the kept connection, in a folder of the user's own. Without one, each command connects by itself.
pub(super) fn control_path(folder: &Path, host: &HostName) -> Option<PathBuf> {
    let path = folder.join(format!("{host}.ssh"));
    let text = path.to_str()?;
    // ssh would read `%` as its own, and split at white space.
    let is_plain = text.len() <= MAX_SOCKET_PATH && !text.contains(|c: char| c == '%' || c == '$' || c == '"' || c.is_whitespace());
    is_plain.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_executed_there_is_made_of_the_configuration_alone() {
        let config = PeerConfig { ssh: "build".into(), mailbox: "/srv/it's; rm -rf".into(), ..PeerConfig::default() };
        let command = command(&"build".parse().unwrap(), &config, None, Ask::Watch);
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let [.., dashes, host, there] = args.as_slice() else { panic!("{args:?}") };
        assert_eq!((dashes.as_str(), host.as_str()), ("--", "build"));
        assert_eq!(there, r"ask-answer --mailbox '/srv/it'\''s; rm -rf' list --json --watch");
        assert_eq!(super::there(&PeerConfig::default(), Ask::Offer), "ask-answer --offer - --json");
        assert_eq!(super::there(&PeerConfig::default(), Ask::Show(&"docs-42".parse().unwrap())), "ask-answer show docs-42 --json");
    }

    #[test]
    fn what_a_person_types_reaches_the_same_machine() {
        let config = PeerConfig {
            ssh: "ann@build".into(),
            ssh_options: vec!["-p".into(), "2222".into(), "-i".into(), "/a key".into()],
            ..PeerConfig::default()
        };
        assert_eq!(by_hand(&config, ""), "ssh -p 2222 -i '/a key' ann@build");
        assert_eq!(by_hand(&config, "ask-answer --version"), "ssh -p 2222 -i '/a key' ann@build 'ask-answer --version'");
    }
}
