//! A request by `curl`, which knows the system's certificates and proxies. All of it goes through curl's standard input, as its
//! configuration: a secret never is an argument that other users could see.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::news::call::{Call, Errors};

pub(in crate::news) const PROGRAM: &str = "curl";

/// How long a connection may take, in seconds. The whole call is bounded by `notify.time_limit`.
const CONNECT: u32 = 10;
/// The longest secret or token, in bytes.
const LONGEST_SECRET: u64 = 4096;

/// Posts a body.
pub(super) fn post(url: &str, headers: &[(&str, String)], body: &str) -> Call {
    let mut input = options(url, headers);
    line(&mut input, "data-raw", body);
    input.push_str("output = \"/dev/null\"\n");
    Call {
        program: PROGRAM.into(),
        // The first argument keeps curl from reading the user's own configuration.
        args: ["--disable", "--config", "-"].map(Into::into).into(),
        input: input.into_bytes(),
        errors: Errors::OneLine,
        ..Call::default()
    }
}

/// What every request has: it follows no redirect, and an answer that is no success is a failure. A redirect is one because none is allowed.
pub(super) fn options(url: &str, headers: &[(&str, String)]) -> String {
    let mut input = format!("silent\nshow-error\nfail\nlocation\nmax-redirs = 0\nproto = \"=http,https\"\nconnect-timeout = {CONNECT}\n");
    line(&mut input, "url", url);
    for (name, value) in headers {
        line(&mut input, "header", &format!("{name}: {value}"));
    }
    input
}

/// One option of curl's configuration, with its value in quotes.
fn line(input: &mut String, option: &str, value: &str) {
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

/// The secret or token in a file of the operator's, which this key of the target's section names; `None` where no file is named.
pub(super) fn secret(key: &str, file: &Path) -> Result<Option<String>> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let text = std::fs::metadata(file).and_then(|m| match m.len() {
        ..=LONGEST_SECRET => std::fs::read_to_string(file),
        _ => Err(std::io::Error::other("it is too long for a secret")),
    });
    let text = text.map_err(|e| {
        let hint = format!("{key} in the section of the target names that file: correct it, or write the file");
        Error::failed(format!("the secret in {} cannot be read: {e}", file.display()), hint)
    })?;
    let text = text.trim().to_owned();
    if text.is_empty() || text.contains(char::is_control) {
        return Err(Error::invalid("file", "holds no secret", "write the secret into it, on one line").in_file(file));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_its_option_and_begin_another_one() {
        let mut input = String::new();
        line(&mut input, "data-raw", "{\"a\":\"x\\\"y\"}\noutput = \"/etc/passwd\"");
        assert_eq!(input.lines().count(), 1, "{input}");
        assert_eq!(input, "data-raw = \"{\\\"a\\\":\\\"x\\\\\\\"y\\\"}\\noutput = \\\"/etc/passwd\\\"\"\n");
    }
}
