//! Requests by `curl`, which knows the system's certificates and proxies. The whole request goes through curl's standard input, as its
//! configuration, because other users could see a secret among the arguments.

use std::fmt::Write as _;
use std::path::Path;

use crate::call::{Errors, ProgramCall};
use askbox_mailbox::{Error, Result};

/// The program.
pub(crate) const CURL: &str = "curl";

/// How long a connection may take, in seconds. The whole call has a limit of its caller's.
const CONNECT_SECONDS: u32 = 10;
/// The most seconds of a call whose watcher was killed, and with it the limit.
const LEFT_BEHIND_SECONDS: u32 = 300;
/// The longest secret or token, in bytes.
const LONGEST_SECRET: u64 = 4096;

/// Posts a body.
pub(crate) fn post(url: &str, headers: &[(&str, String)], body: &str) -> ProgramCall {
    let mut input = options(url, headers);
    option_line(&mut input, "data-raw", body);
    let _ = writeln!(input, "output = \"/dev/null\"\nmax-time = {LEFT_BEHIND_SECONDS}");
    call(input)
}

/// A run of curl with these options.
pub(crate) fn call(input: String) -> ProgramCall {
    ProgramCall {
        program: CURL.into(),
        // The first argument keeps curl from reading the user's own configuration.
        args: ["--disable", "--config", "-"].map(Into::into).into(),
        input: input.into_bytes(),
        errors: Errors::OneLine,
        is_tied: true,
        ..ProgramCall::default()
    }
}

/// The options of every request. Any reply but success is a failure. No redirect is allowed, so a redirect is a failure too.
pub(crate) fn options(url: &str, headers: &[(&str, String)]) -> String {
    let mut input =
        format!("silent\nshow-error\nfail\nlocation\nmax-redirs = 0\nproto = \"=http,https\"\nconnect-timeout = {CONNECT_SECONDS}\n");
    option_line(&mut input, "url", url);
    for (name, value) in headers {
        option_line(&mut input, "header", &format!("{name}: {value}"));
    }
    input
}

/// One option of curl's configuration, with its value in quotes.
fn option_line(input: &mut String, option: &str, value: &str) {
    let mut quoted = String::new();
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    let _ = writeln!(input, "{option} = \"{quoted}\"");
}

/// The secret or token in a file of the operator's, which this key of the target's section names; `None` if no file is named.
pub(crate) fn secret(key: &str, file: &Path) -> Result<Option<String>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let text = read_secret(&format!("{key} in the section of the target"), file)?.trim().to_owned();
    if text.is_empty() || text.contains(char::is_control) {
        return Err(Error::invalid("file", "holds no secret", "write the secret into it, on one line").in_file(file));
    }
    Ok(Some(text))
}

/// The headers in a file of the operator's, one `Name: value` a line. Empty if `file` is empty.
pub(crate) fn secret_headers(key: &str, file: &Path) -> Result<Vec<(String, String)>> {
    if file.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let text = read_secret(&format!("{key} in the configuration"), file)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let header = |line: &str| {
        let (name, value) = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()))?;
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let is_header = !name.is_empty() && name.chars().all(is_token) && !value.is_empty() && !value.contains(char::is_control);
        is_header.then(|| (name.to_owned(), value.to_owned()))
    };
    let headers: Option<Vec<_>> = lines.map(header).collect();
    headers.ok_or_else(|| Error::invalid("file", "has a line that is not a header", "write one `Name: value` a line").in_file(file))
}

/// The text of a file of the operator's. `key` are the words for the key that names the file.
fn read_secret(key: &str, file: &Path) -> Result<String> {
    let text = std::fs::metadata(file).and_then(|m| match m.len() {
        ..=LONGEST_SECRET => std::fs::read_to_string(file),
        _ => Err(std::io::Error::other("it is too long for a secret")),
    });
    let text = text.map_err(|e| {
        let hint = "correct the key in the configuration, or write the file";
        Error::failed(format!("the secret in {}, the file that {key} names, cannot be read: {e}", file.display()), hint)
    })?;
    Ok(text.trim_start_matches('\u{FEFF}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_its_option_and_begin_another_one() {
        let mut input = String::new();
        option_line(&mut input, "data-raw", "{\"a\":\"x\\\"y\"}\noutput = \"/etc/passwd\"");
        assert_eq!(input.lines().count(), 1, "{input}");
        assert_eq!(input, "data-raw = \"{\\\"a\\\":\\\"x\\\\\\\"y\\\"}\\noutput = \\\"/etc/passwd\\\"\"\n");
    }

    #[test]
    fn a_file_of_headers_has_one_header_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("headers");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            secret_headers("traces.headers_file", &file).map_err(|e| e.to_string())
        };
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("Authorization: Bearer a:b\n\n x-team : askbox\n"),
            Ok(vec![header("Authorization", "Bearer a:b"), header("x-team", "askbox")])
        );
        for wrong in ["no header", ": x", "a b: c", "a:", "a: b\u{7}"] {
            assert!(read(wrong).is_err_and(|e| e.contains("is not a header")), "{wrong}");
        }
        assert_eq!(secret_headers("traces.headers_file", Path::new("")).unwrap(), []);
    }
}
