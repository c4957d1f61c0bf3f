//! The system calls of the implementation, where `strace` can show them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::conformance::case::Case;
use crate::conformance::verdict::{Stop, Verdict};
use askbox_mailbox::IoContext;

/// The calls that make a change last or give it a name.
const CHANGES: [&str; 11] =
    ["fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat"];
/// The calls that write, or open a file to write.
const WRITES: [&str; 7] = ["open", "openat", "openat2", "creat", "write", "pwrite64", "writev"];

/// One successful call.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    /// A file was opened to be written, or written to.
    Written(String),
    /// A file or folder was synced.
    Synced(String),
    /// A name became another one, or got a second one. The flag says that an existing name would have been refused.
    Named { from: String, to: String, refuses: bool },
    /// A folder was made.
    Made(String),
    /// The reply was written.
    Replied,
}

/// Skips a check where `strace` is missing or may not trace.
pub fn needed() -> Verdict {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let probe = || {
        let mut probe = Command::new("strace");
        probe.args(["-f", "-o", "/dev/null", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    if *WORKS.get_or_init(probe) { Ok(()) } else { Err(Stop::Skipped("strace is missing, or may not trace here".into())) }
}

/// The words that kill a process of the implementation before its `count`th call of this name.
pub fn killing(call: &str, count: usize) -> Vec<String> {
    let inject = format!("inject={call}:signal=KILL:when={count}");
    ["strace", "-f", "-qq", "-e", &format!("trace={call}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"].map(str::to_owned).into()
}

/// The words that let every call fail that would give this name to a file of this folder.
pub fn refusing_names(folder: &Path, name: &str) -> Vec<String> {
    let calls = "link,linkat,rename,renameat,renameat2";
    let (path, folder) = (folder.join(name).display().to_string(), folder.display().to_string());
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:error=EIO"));
    ["strace", "-f", "-qq", "-P", &path, "-P", &folder, "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]
        .map(str::to_owned)
        .into()
}

/// Every change of a request, as the name of its call and its number among these of one process.
pub fn points(case: &Case<'_>, request: &Value) -> Verdict<Vec<(String, usize)>> {
    let (text, _) = traced(case, request, &CHANGES)?;
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_each: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (pid, line) in lines(&text) {
        let Some((name, _)) = line.split_once('(') else { continue };
        let count = of_each.entry((pid, name.to_owned())).or_default();
        *count += 1;
        let most = most.entry(name.to_owned()).or_default();
        *most = (*most).max(*count);
    }
    Ok(most.into_iter().flat_map(|(name, most)| (1..=most).map(move |n| (name.clone(), n))).collect())
}

/// The calls of a request in order.
pub fn calls(case: &Case<'_>, request: &Value) -> Verdict<Vec<Call>> {
    let all: Vec<_> = CHANGES.into_iter().chain(WRITES).collect();
    let (text, pipe) = traced(case, request, &all)?;
    Ok(lines(&text).iter().filter_map(|(_, line)| call(line, &pipe)).collect())
}

fn traced(case: &Case<'_>, request: &Value, calls: &[&str]) -> Verdict<(String, String)> {
    needed()?;
    let file = case.mailbox.with_file_name("trace");
    let trace = format!("trace={}", calls.join(","));
    let before = ["strace", "-f", "-qq", "-y", "-s", "400", "-e", &trace, "-e", "signal=none", "-o", &file.display().to_string()];
    let mut harness = case.runner.start_behind(&before.map(str::to_owned))?;
    let pipe = harness.pipe.clone();
    harness.ask(request)?.done(request)?;
    harness.end()?;
    Ok((std::fs::read_to_string(&file).io("read", &file)?, pipe))
}

/// Each call on one line, with its process. A call that others interrupted stands where it ended.
fn lines(text: &str) -> Vec<(String, String)> {
    let mut unfinished: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((pid, line)) = line.split_once(' ') else { continue };
        let line = line.trim_start();
        if let Some(begun) = line.strip_suffix(" <unfinished ...>") {
            unfinished.insert(pid.to_owned(), begun.to_owned());
        } else if let Some((_, rest)) = line.strip_prefix("<... ").and_then(|resumed| resumed.split_once(" resumed>")) {
            found.push((pid.to_owned(), unfinished.remove(pid).unwrap_or_default() + rest));
        } else {
            found.push((pid.to_owned(), line.to_owned()));
        }
    }
    found
}

fn call(line: &str, pipe: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (args, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') {
        return None;
    }
    let of_fd = || Some(args.split_once('<')?.1.split_once('>')?.0.to_owned());
    let quoted: Vec<&str> = args.split('"').collect();
    // A name in a folder: `5</the/folder>, "name"`.
    let path = |n: usize| {
        let (before, name) = (quoted.get(2 * n)?, quoted.get(2 * n + 1)?);
        let folder = before.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(folder, _)| folder);
        Some(folder.map_or_else(|| (*name).to_owned(), |folder| Path::new(folder).join(name).display().to_string()))
    };
    Some(match name {
        "fsync" | "fdatasync" => Call::Synced(of_fd()?),
        "write" | "writev" if args.contains(pipe) => Call::Replied,
        "write" | "writev" | "pwrite64" => Call::Written(of_fd()?),
        "open" | "openat" | "openat2" | "creat" => {
            let writes = name == "creat" || ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| args.contains(flag));
            Call::Written(path(0).filter(|_| writes)?)
        }
        "rename" | "renameat" | "renameat2" => Call::Named { from: path(0)?, to: path(1)?, refuses: args.contains("RENAME_NOREPLACE") },
        "link" | "linkat" => Call::Named { from: path(0)?, to: path(1)?, refuses: true },
        "mkdir" | "mkdirat" => Call::Made(path(0)?),
        _ => return None,
    })
}
