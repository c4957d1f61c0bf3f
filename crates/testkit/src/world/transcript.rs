//! Commands and all that they print, for snapshots.

use std::fmt::Write as _;

use crate::{Outcome, World};

impl World {
    /// Runs a line of shell and adds it to the transcript, with all that it printed.
    pub fn see(&mut self, script: &str) {
        let outcome = self.shell(script);
        self.write_down(script, &outcome);
    }

    /// Adds a command and its outcome to the transcript.
    pub fn write_down(&mut self, script: &str, outcome: &Outcome) {
        let _ = writeln!(self.transcript, "$ {script}");
        self.transcript.push_str(&outcome.stdout);
        for line in outcome.stderr.lines() {
            let _ = writeln!(self.transcript, "2> {line}");
        }
        let _ = writeln!(self.transcript, "exit {}\n", outcome.code());
    }

    /// The transcript, without what differs from run to run.
    pub fn transcript(&self) -> String {
        redact(&self.transcript.replace(self.root().to_str().expect("a UTF-8 path"), "[ROOT]"))
    }
}

/// Replaces UUIDs and ages, and what differs where the tests themselves run below an agent.
fn redact(text: &str) -> String {
    let text = &text.replace("through ask-answer (agent)", "through ask-answer (terminal)");
    let is_uuid = |word: &str| {
        word.len() == 36
            && word.bytes().enumerate().all(|(n, b)| if [8, 13, 18, 23].contains(&n) { b == b'-' } else { b.is_ascii_hexdigit() })
    };
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if rest.get(..36).is_some_and(is_uuid) {
            out.push_str("[UUID]");
            rest = &rest[36..];
            continue;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && rest[digits..].starts_with("s ago") {
            out.push_str("[AGE] ago");
            rest = &rest[digits + "s ago".len()..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}
