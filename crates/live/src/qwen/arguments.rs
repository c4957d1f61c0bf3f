//! Whether Qwen's arguments begin a session that a person attends.

use std::ffi::OsString;

/// Options with a value in the next argument, which change nothing about who attends the session.
const WITH_VALUE: [&str; 27] = [
    "--add-dir",
    "--allowed-mcp-server-names",
    "--allowed-tools",
    "--append-system-prompt",
    "--approval-mode",
    "--auth-type",
    "--exclude-tools",
    "--extensions",
    "--fallback-model",
    "--include-directories",
    "--max-session-turns",
    "--max-tool-calls",
    "--mcp-config",
    "--model",
    "--openai-api-key",
    "--openai-base-url",
    "--openai-logging-dir",
    "--output-style",
    "--prompt-interactive",
    "--proxy",
    "--resume",
    "--session-id",
    "--system-prompt",
    "-e",
    "-i",
    "-m",
    "-r",
];

/// Options of a session that nobody attends, or that has such files already.
const APART: [&str; 18] = [
    "--acp", "--experimental-acp", "--help", "--input-file", "--input-format", "--json-fd", "--json-file", "--json-schema",
    "--list-extensions", "--output-format", "--prompt", "--version", "-h", "-l", "-o", "-p", "-v", "--",
];

/// True if these arguments begin a session at the terminal. In doubt, they do not: a word that is not the value of a known option is
/// a command of Qwen, or a prompt that Qwen answers once.
pub(super) fn begin_a_session(args: &[OsString]) -> bool {
    let mut takes_value = false;
    for arg in args {
        let Some(arg) = arg.to_str() else { return false };
        let (name, value) = arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)));
        if !arg.starts_with('-') {
            if !std::mem::take(&mut takes_value) {
                return false;
            }
        } else if is_one_of(&APART, name) || (!arg.starts_with("--") && arg.len() > 2) {
            return false;
        } else {
            takes_value = value.is_none() && is_one_of(&WITH_VALUE, name);
        }
    }
    true
}

/// True if the option has one of these names. `--inputFile` is another spelling of `--input-file`.
fn is_one_of(names: &[&str], given: &str) -> bool {
    let spelled = |name: &str| match name.strip_prefix("--") {
        Some(long) if !long.is_empty() => long.replace('-', "").to_ascii_lowercase(),
        _ => name.to_owned(),
    };
    names.iter().any(|name| spelled(name) == spelled(given) && name.starts_with("--") == given.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_session_at_the_terminal_gets_the_files_of_qwen() {
        let begins = |args: &[&str]| begin_a_session(&args.iter().map(OsString::from).collect::<Vec<_>>());
        for args in [&[][..], &["-y"], &["-m", "qwen3", "--debug"], &["--model=x"], &["-r", "id"], &["-c"], &["-i", "do it"], &["--resume"]]
        {
            assert!(begins(args), "{args:?}");
        }
        for args in [
            &["-p", "do it"][..],
            &["--prompt=do it"],
            &["-pdo"],
            &["-yp", "do"],
            &["do it"],
            &["mcp", "list"],
            &["--debug", "do it"],
            &["-m", "qwen3", "do it"],
            &["--json-file", "x"],
            &["--input-file=x"],
            &["--inputFile=x"],
            &["--outputFormat", "json"],
            &["--acp"],
            &["-o", "json"],
            &["--", "do it"],
            &["--version"],
        ] {
            assert!(!begins(args), "{args:?}");
        }
    }
}
