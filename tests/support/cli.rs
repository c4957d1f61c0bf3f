//! A mailbox of its own, and the programs as a shell sees them.

use crate::support::program;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary folder with a mailbox `m` in it; every command runs there.
pub struct Scene {
    folder: tempfile::TempDir,
    transcript: String,
}

/// What a command came to.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Scene {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), transcript: String::new() }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn mailbox(&self) -> PathBuf {
        self.root().join("m")
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A file's JSON.
    pub fn json(&self, path: &str) -> serde_json::Value {
        let file = self.file(path);
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The only file of a folder.
    pub fn only_file(&self, folder: &str) -> String {
        let names: Vec<_> = std::fs::read_dir(self.file(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 1, "{folder} holds {names:?}");
        format!("{folder}/{}", names[0])
    }

    fn command(&self, script: &str) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_ask-post")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script])
            .current_dir(self.root())
            .env_clear()
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("HOME", self.root())
            .env("USER", "ann")
            .env("ASKBOX_DIR", self.mailbox());
        command
    }

    /// Runs a line of shell.
    pub fn run(&self, script: &str) -> Ran {
        self.run_with(script, b"")
    }

    /// Runs a line of shell with something on its standard input.
    pub fn run_with(&self, script: &str, stdin: &[u8]) -> Ran {
        finish(self.command(script), stdin)
    }

    /// Runs a line of shell that must succeed; its standard output without the last newline.
    #[track_caller]
    pub fn ok(&self, script: &str) -> String {
        let ran = self.run(script);
        assert_eq!(ran.status, 0, "{script}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout.strip_suffix('\n').unwrap_or(&ran.stdout).to_owned()
    }

    /// Runs a line of shell as a user without rights, from a copy of the programs that it can reach.
    pub fn run_as(&self, uid: u32, script: &str) -> Ran {
        let programs = self.file("bin");
        std::fs::create_dir_all(&programs).unwrap();
        let small = [env!("CARGO_BIN_EXE_ask-post"), env!("CARGO_BIN_EXE_ask-answer"), env!("CARGO_BIN_EXE_checkpoint")];
        let large = option_env!("CARGO_BIN_EXE_askbox");
        for binary in small.into_iter().chain(large) {
            program::copy(Path::new(binary), &programs.join(Path::new(binary).file_name().unwrap()));
        }
        let mut command = self.command(script);
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).uid(uid).gid(uid);
        finish(command, b"")
    }

    /// Runs a line and writes it down with all that came of it.
    pub fn see(&mut self, script: &str) {
        let ran = self.run(script);
        self.write_down(script, &ran);
    }

    pub fn write_down(&mut self, script: &str, ran: &Ran) {
        let _ = writeln!(self.transcript, "$ {script}");
        self.transcript.push_str(&ran.stdout);
        for line in ran.stderr.lines() {
            let _ = writeln!(self.transcript, "2> {line}");
        }
        let _ = writeln!(self.transcript, "exit {}\n", ran.status);
    }

    /// All that was written down, without what differs from run to run.
    pub fn transcript(&self) -> String {
        let root = self.root().to_str().unwrap();
        redact(&self.transcript.replace(root, "[ROOT]"))
    }
}

fn finish(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = stdin.to_vec();
    // A program that does not read all of its input is no failure of the test.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        status: status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// UUIDs and ages.
fn redact(text: &str) -> String {
    let is_uuid = |word: &str| {
        word.len() == 36
            && word.bytes().enumerate().all(|(n, b)| if [8, 13, 18, 23].contains(&n) { b == b'-' } else { b.is_ascii_hexdigit() })
    };
    let mut out = String::new();
    let mut rest = text;
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
