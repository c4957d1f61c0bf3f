//! The place of one check: a new mailbox, and the requests about it.

#![allow(clippy::disallowed_methods, reason = "the mailbox is a scratch folder, and the files are those of strangers")]

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::conformance::harness::{Harness, HarnessReply, Kind, shortened};
use crate::conformance::verdict::{Stop, Verdict, if_possible, require, violated};
use askbox_cli::args::askbox_args::Conformance;
use askbox_mailbox::{Error, Folder, IoContext, Mailbox, Result, WorkflowId, settle};

/// The command that is checked, and how often the checks of chance repeat their work.
pub struct Runner {
    /// The command with its arguments.
    words: Vec<String>,
    /// How many races there are for each check of a race.
    pub races: usize,
    /// How many processes are killed for each check of a kill.
    pub kills: usize,
    /// How long one request may take.
    pub limit: Duration,
    /// A folder for all mailboxes.
    root: PathBuf,
    harness: Option<Harness>,
    cases: usize,
}

/// One check's place.
pub struct Case<'r> {
    /// The command.
    pub runner: &'r mut Runner,
    /// The mailbox. The check or the implementation makes it.
    pub mailbox: PathBuf,
}

impl Runner {
    /// A runner as the arguments say, with its mailboxes below `root`.
    pub fn new(args: &Conformance, root: PathBuf) -> Self {
        let words = args.command.clone();
        Self { words, races: args.races, kills: args.kills, limit: args.limit, root, harness: None, cases: 0 }
    }

    /// A place for a check.
    ///
    /// # Errors
    /// [`Error::Io`] if its folder cannot be made.
    pub fn case(&mut self) -> Result<Case<'_>> {
        self.cases += 1;
        let home = self.root.join(self.cases.to_string());
        std::fs::DirBuilder::new().mode(0o700).create(&home).io("create", &home)?;
        let mailbox = home.join("questions");
        Ok(Case { runner: self, mailbox })
    }

    /// Checks that the command answers at all. The operation `none` is not supported by any harness.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot be started, or does not answer.
    pub fn probe(&mut self) -> Result<()> {
        let hint = "docs/dev/conformance.md describes the lines of a harness";
        match self.ask(&json!({"do": "none", "mailbox": self.root.join("none").display().to_string()})) {
            Err(Stop::Skipped(_)) => Ok(()),
            Ok(other) => Err(Error::failed(format!("the harness does not say that it lacks the operation `none`: {other:?}"), hint)),
            Err(Stop::Violated(words)) => Err(Error::failed(format!("the harness does not answer: {words}"), hint)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// A new process of the implementation that has replied once, so that its start is over.
    pub fn start_ready(&self) -> Verdict<Harness> {
        let mut harness = self.start_behind(&[])?;
        if_possible(harness.ask(&json!({"do": "none", "mailbox": self.root.join("none").display().to_string()})).map(drop))?;
        Ok(harness)
    }

    /// A new process of the implementation behind another program.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot be started.
    pub fn start_behind(&self, before: &[String]) -> Result<Harness> {
        Harness::start(before, &self.words, self.limit)
    }

    /// Sends a request to the process that most checks share.
    pub fn ask(&mut self, request: &Value) -> Verdict<HarnessReply> {
        if self.harness.as_mut().is_none_or(Harness::has_ended) {
            self.harness = Some(self.start_behind(&[])?);
        }
        let Some(harness) = &mut self.harness else { return violated("the process ended at once") };
        let reply = harness.ask(request);
        if matches!(reply, Err(Stop::Violated(_) | Stop::Failed(_))) {
            // Its next reply may belong to this request.
            self.harness = None;
        }
        reply
    }
}

impl Case<'_> {
    /// A request about this mailbox.
    pub fn request(&self, operation: &str, more: Value) -> Value {
        merged(json!({"do": operation, "mailbox": self.mailbox.display().to_string()}), more)
    }

    /// The reply to a request that must take place.
    pub fn done(&mut self, operation: &str, more: Value) -> Verdict<Value> {
        let request = self.request(operation, more);
        self.runner.ask(&request)?.done(&request)
    }

    /// The kind of refusal of a request that must be refused.
    pub fn refused(&mut self, operation: &str, more: Value) -> Verdict<Kind> {
        match self.reply(operation, more.clone())? {
            Ok(_) => violated(format!("{} is accepted", shortened(&self.request(operation, more)))),
            Err(kind) => Ok(kind),
        }
    }

    /// The reply to a request, whatever it is, except that the operation is missing.
    pub fn reply(&mut self, operation: &str, more: Value) -> Verdict<Result<Value, Kind>> {
        let request = self.request(operation, more);
        match self.runner.ask(&request)? {
            HarnessReply::Done(reply) => Ok(Ok(reply)),
            HarnessReply::Refused(kind, _) => Ok(Err(kind)),
        }
    }

    /// Makes the mailbox with all its folders, as askbox does.
    pub fn make(&self) -> Verdict<Mailbox> {
        self.blame(Mailbox::open_or_create(&self.mailbox))
    }

    /// Opens the mailbox, as the next askbox program does.
    pub fn open(&self) -> Verdict<Mailbox> {
        self.blame(Mailbox::open(&self.mailbox))
    }

    /// An error of a step in the mailbox. It is a violation if the implementation has put something else in the place of a folder.
    fn blame<T>(&self, result: Result<T>) -> Verdict<T> {
        result.map_err(|error| match self.replaced() {
            Some(words) => Stop::Violated(words),
            None => Stop::Failed(error),
        })
    }

    /// Says that a folder of the mailbox, or the mailbox itself, is not a folder any more.
    fn replaced(&self) -> Option<String> {
        let folders = Folder::all().map(|folder| (format!("the folder {}/", folder.name()), self.mailbox.join(folder.name())));
        std::iter::once(("the mailbox".to_owned(), self.mailbox.clone())).chain(folders).find_map(|(name, path)| {
            let about = path.symlink_metadata().ok().filter(|about| !about.is_dir())?;
            Some(format!("{name} was replaced by {}", if about.is_symlink() { "a symbolic link" } else { "a file" }))
        })
    }

    /// Places a question in `pending/`, with more fields than those that it needs. Returns the id of its round.
    pub fn ask(&self, workflow: &str, more: Value) -> Verdict<String> {
        self.make()?;
        let round = Uuid::now_v7().to_string();
        let question = merged(question_with(workflow, json!({"question_id": round})), more);
        self.put(&format!("pending/{workflow}.json"), question.to_string().as_bytes())?;
        Ok(round)
    }

    /// Writes a file below the mailbox, in its place at once.
    pub fn put(&self, below: &str, bytes: &[u8]) -> Verdict {
        use std::io::Write;
        let path = self.mailbox.join(below);
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path).io("create", &path);
        self.blame(file.and_then(|mut file| file.write_all(bytes).io("write", &path)))
    }

    /// Makes a folder below the mailbox, with those above it.
    pub fn make_folder(&self, below: &str) -> Verdict {
        let path = self.mailbox.join(below);
        self.blame(std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).io("create", &path))
    }

    /// Removes a file below the mailbox.
    pub fn remove(&self, below: &str) -> Verdict {
        let path = self.mailbox.join(below);
        self.blame(std::fs::remove_file(&path).io("remove", &path))
    }

    /// The bytes of a file below the mailbox. `None` if it does not exist.
    pub fn bytes(&self, below: &str) -> Option<Vec<u8>> {
        std::fs::read(self.mailbox.join(below)).ok()
    }

    /// True if there is something of this name below the mailbox.
    pub fn exists(&self, below: &str) -> bool {
        self.mailbox.join(below).symlink_metadata().is_ok()
    }

    /// A document below the mailbox, which must be there and must be one JSON object.
    pub fn document(&self, below: &str) -> Verdict<Value> {
        match self.bytes(below).map(|bytes| serde_json::from_slice(&bytes)) {
            Some(Ok(document @ Value::Object(_))) => Ok(document),
            Some(_) => violated(format!("{below} is not one JSON object")),
            None => violated(format!("there is no {below}")),
        }
    }

    /// The names in a folder of the mailbox that do not begin with a dot, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        names(&self.mailbox.join(folder)).into_iter().filter(|name| !name.starts_with('.')).collect()
    }

    /// Completes what a dead process left half done, as the next askbox program does.
    pub fn settle(&self, workflow: &str) -> Verdict {
        let (mailbox, workflow) = (self.open()?, id(workflow)?);
        let lock = self.blame(mailbox.lock(&workflow))?;
        self.blame(settle::settle(&mailbox, &lock)).map(|_| ())
    }

    /// Requires that a file has these bytes.
    pub fn unchanged(&self, below: &str, before: &[u8]) -> Verdict {
        require(self.bytes(below).as_deref() == Some(before), || format!("{below} was changed or removed"))
    }
}

/// A question with an option `a`, as a document without the id of its round.
pub fn question(workflow: &str) -> Value {
    json!({
        "schema_version": 1, "workflow_id": workflow, "question": "Which one?", "options": {"a": "This", "b": "That"},
        "timestamp": "2026-11-25T08:00:00.000Z",
    })
}

/// The same question with further fields, or with others in place of its own.
pub fn question_with(workflow: &str, more: Value) -> Value {
    merged(question(workflow), more)
}

fn merged(mut fields: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    fields
}

/// All names in a folder, in order. Empty if the folder does not exist.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A workflow id of the checks' own.
pub fn id(workflow: &str) -> Result<WorkflowId, Stop> {
    workflow.parse().map_err(|error: Error| Stop::Failed(error))
}
