//! Looks into the mailbox, and waiting for what comes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{World, files, is_hidden, names, until, whole_lines};

/// The folders whose visible names are documents.
const DOCUMENTS: [&str; 8] = ["pending", "answered", "running", "parked", "closed", "checkpoints", "workflows", "runs"];

impl World {
    /// A JSON file, by its path below the root.
    #[track_caller]
    pub fn json(&self, path: impl AsRef<Path>) -> Value {
        let path = self.path(path);
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// A document of the mailbox.
    #[track_caller]
    pub fn document(&self, below: &str) -> Value {
        self.json(self.in_mailbox(below))
    }

    /// The visible names in a folder of the mailbox, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        names(&self.in_mailbox(folder))
    }

    /// The only visible name in a folder of the mailbox that begins with `prefix`.
    #[track_caller]
    pub fn only(&self, folder: &str, prefix: &str) -> Option<PathBuf> {
        let found: Vec<_> = self.names(folder).into_iter().filter(|n| n.starts_with(prefix)).collect();
        assert!(found.len() < 2, "two names in {folder}/ begin with {prefix}");
        Some(self.in_mailbox(folder).join(found.first()?))
    }

    /// The id of a workflow's open round.
    #[track_caller]
    pub fn round(&self, workflow: &str) -> String {
        let documents = ["pending", "answered"].map(|folder| self.in_mailbox(folder).join(format!("{workflow}.json")));
        let path = documents.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no round of {workflow}"));
        self.json(path)["question_id"].as_str().expect("a question_id").to_owned()
    }

    /// The round of the tool call that the question asks about, with the hash of what is shown of it, as `ask-answer show` prints both.
    #[track_caller]
    pub fn seen(&self, question: &str) -> String {
        let shown = self.ok("ask-answer", &["show", question]);
        let command = shown.lines().filter_map(|line| line.strip_prefix("  ask-answer ")).find_map(|words| words.split_once(" --round "));
        let round = command.and_then(|(_, behind)| behind.split_whitespace().next());
        round.unwrap_or_else(|| panic!("no command to copy: {shown}")).to_owned()
    }

    /// The documents of a workflow's rounds in a folder of the mailbox.
    pub fn rounds(&self, folder: &str, workflow: &str) -> Vec<Value> {
        let ours = self.names(folder).into_iter().filter(|name| name.starts_with(&format!("{workflow}.")));
        // A document may move on between the two looks.
        ours.filter_map(|name| serde_json::from_slice(&std::fs::read(self.in_mailbox(folder).join(name)).ok()?).ok()).collect()
    }

    /// Waits until `n` rounds of a workflow are closed as `state`, and returns them.
    #[track_caller]
    pub fn closed(&self, workflow: &str, state: &str, n: usize) -> Vec<Value> {
        until(&format!("{n} {state} rounds of {workflow}"), || {
            let rounds: Vec<_> = self.rounds("closed", workflow).into_iter().filter(|r| r["closed"]["state"] == state).collect();
            (rounds.len() >= n).then_some(rounds)
        })
    }

    /// `relaunch status ID --json`. Null where nothing is known of the workflow, or the status cannot be told.
    pub fn status(&self, workflow: &str) -> Value {
        serde_json::from_str(&self.run("relaunch", &["status", "--json", workflow]).stdout).unwrap_or_default()
    }

    /// Where a workflow stands, in a word.
    pub fn state(&self, workflow: &str) -> String {
        self.status(workflow)["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a workflow is in this state, and returns its status.
    #[track_caller]
    pub fn reaches(&self, workflow: &str, state: &str) -> Value {
        until(&format!("{workflow} is {state}"), || Some(self.status(workflow)).filter(|status| status["state"] == state))
    }

    /// The events of a workflow in the audit trail, in order.
    pub fn audit(&self, workflow: &str) -> Vec<String> {
        let ours = self.audited().into_iter().filter(|e| e["workflow_id"] == workflow);
        ours.map(|e| e["event"].as_str().expect("a name").to_owned()).collect()
    }

    /// The entries of the audit trail.
    pub fn audited(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.in_mailbox("audit.jsonl")).unwrap_or_default();
        whole_lines(&text).map(|line| serde_json::from_str(line).expect("an entry is JSON")).collect()
    }

    /// Waits until the audit trail of a workflow is exactly this: an entry follows its transition.
    #[track_caller]
    pub fn audit_is(&self, workflow: &str, events: &[&str]) {
        until(&format!("{} entries about {workflow}", events.len()), || self.audit(workflow).len() >= events.len());
        assert_eq!(self.audit(workflow), events);
    }

    /// Waits until something lies at a path of the mailbox.
    #[track_caller]
    pub fn appears(&self, below: &str) -> PathBuf {
        let path = self.in_mailbox(below);
        until(below, || path.symlink_metadata().is_ok().then(|| path.clone()))
    }

    /// Waits until nothing lies at a path of the mailbox.
    #[track_caller]
    pub fn vanishes(&self, below: &str) {
        until(&format!("the end of {below}"), || self.in_mailbox(below).symlink_metadata().is_err());
    }

    /// Waits for the reason beside a quarantined file.
    #[track_caller]
    pub fn reason(&self, name: &str) -> String {
        std::fs::read_to_string(self.appears(&format!("quarantine/{name}.reason"))).expect("the reason")
    }

    /// Every workflow whose record names a parent is among that parent's children.
    #[track_caller]
    pub fn assert_children_are_named(&self, when: &str) {
        for name in self.names("workflows") {
            let record = self.document(&format!("workflows/{name}"));
            if let Some(parent) = record["parent"].as_str() {
                let named = self.in_mailbox(format!("runs/{parent}/children/{}", name.trim_end_matches(".json")));
                assert!(named.exists(), "{when}: {} is missing", named.display());
            }
        }
    }

    /// Every document is whole JSON.
    #[track_caller]
    pub fn assert_whole(&self, when: &str) {
        for folder in DOCUMENTS {
            for (path, bytes) in files(&self.in_mailbox(folder)) {
                if path.extension().is_some_and(|e| e == "json") && !is_hidden(&path) {
                    let parsed = serde_json::from_slice::<Value>(&bytes);
                    assert!(parsed.is_ok(), "{when}: {} is torn: {:?}", path.display(), String::from_utf8_lossy(&bytes));
                }
            }
        }
    }
}
