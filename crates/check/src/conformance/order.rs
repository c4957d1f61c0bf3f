//! The order of writes: a temporary name, a sync of the file, its name, a sync of the folder, and only then the reply.

use serde_json::json;

use crate::conformance::case::{Case, question};
use crate::conformance::strace::{self, Call};
use crate::conformance::verdict::{Verdict, require, violated};
use askbox_mailbox::IoContext;

/// The calls of one operation, in the mailbox.
struct Trace {
    calls: Vec<Call>,
    mailbox: String,
}

/// The order of a post.
pub fn posts(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let request = case.request("post", json!({"question": question("w")}));
    let trace = Trace::of(case, &request)?;
    trace.appears("pending/w.json", true)
}

/// The order of an answer: the checkpoint has it before it counts.
pub fn answers(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    case.put("checkpoints/w.json", br#"{"workflow_id": "w"}"#)?;
    let request = case.request("answer", json!({"workflow_id": "w", "question_id": round, "value": "a"}));
    let trace = Trace::of(case, &request)?;
    trace.appears("answered/w.json", true)?;
    let (checkpoint, answer) = (trace.named("checkpoints/w.json")?, trace.named("answered/w.json")?);
    require(checkpoint < answer, || "answered/w.json gets its name before checkpoints/w.json has the answer".into())?;
    trace.synced_between("checkpoints", checkpoint, answer)
}

/// The order of a withdrawal: the document says that it is closed before it is moved.
pub fn withdrawals(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let request = case.request("withdraw", json!({"workflow_id": "w"}));
    let trace = Trace::of(case, &request)?;
    trace.written_before_its_name("pending/w.json", trace.named("pending/w.json")?)?;
    let to = format!("closed/w.{round}.json");
    let moved = trace.named(&to)?;
    require(trace.named("pending/w.json")? < moved, || "the document is moved before it says that it is closed".into())?;
    require(trace.refuses(moved), || format!("{to} could have been replaced"))?;
    require(trace.made(&format!("runs/w/{round}"))? < moved, || format!("runs/w/{round} is made after the move"))?;
    trace.synced_between("runs/w", 0, moved)?;
    trace.synced_between("closed", moved, trace.replied()?)?;
    trace.synced_between("pending", moved, trace.replied()?)
}

/// The order of a saved checkpoint.
pub fn checkpoints(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    case.put("checkpoints/w.json", br#"{"workflow_id": "w"}"#)?;
    let request = case.request("save", json!({"workflow_id": "w", "checkpoint": {"current_step": "x"}}));
    Trace::of(case, &request)?.appears("checkpoints/w.json", false)
}

impl Trace {
    fn of(case: &Case<'_>, request: &serde_json::Value) -> Verdict<Self> {
        let mailbox = case.mailbox.canonicalize().io("find", &case.mailbox)?.display().to_string();
        Ok(Self { calls: strace::calls(case, request)?, mailbox })
    }

    /// Requires the whole order for a file that gets its name once.
    fn appears(&self, file: &str, is_new: bool) -> Verdict {
        let named = self.named(file)?;
        require(self.refuses(named) || !is_new, || format!("{file} gets its name by a call that would replace an existing file"))?;
        self.written_before_its_name(file, named)?;
        let (folder, _) = file.rsplit_once('/').unwrap_or_default();
        self.synced_between(folder, named, self.replied()?)
    }

    fn written_before_its_name(&self, file: &str, named: usize) -> Verdict {
        let path = self.path(file);
        let is_written = |call: &Call| *call == Call::Written(path.clone());
        require(!self.calls.iter().any(is_written), || format!("{file} is written under its own name"))?;
        let Some(Call::Named { from, .. }) = self.calls.get(named) else { return violated(format!("{file} gets no name")) };
        let (folder, name) = from.rsplit_once('/').unwrap_or_default();
        let own = path.rsplit_once('/').unwrap_or_default().0;
        require(folder == own && name.starts_with(".tmp"), || format!("{file} comes from {from}, not from a .tmp name in its folder"))?;
        let written = self.calls.iter().take(named).rposition(|call| *call == Call::Written(from.clone())).unwrap_or_default();
        let is_synced = self.calls.iter().take(named).skip(written).any(|call| *call == Call::Synced(from.clone()));
        require(is_synced, || format!("{file} gets its name before its content is synced"))
    }

    fn synced_between(&self, folder: &str, from: usize, to: usize) -> Verdict {
        let path = self.path(folder);
        let is_synced = self.calls.iter().take(to).skip(from).any(|call| *call == Call::Synced(path.clone()));
        require(is_synced, || format!("the folder {folder} is not synced in time"))
    }

    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.mailbox)
    }

    /// Where a file gets its name.
    fn named(&self, file: &str) -> Verdict<usize> {
        let path = self.path(file);
        let at = self.calls.iter().position(|call| matches!(call, Call::Named { to, .. } if *to == path));
        at.map_or_else(|| violated(format!("{file} gets its name neither by a rename nor by a link")), Ok)
    }

    fn refuses(&self, at: usize) -> bool {
        matches!(self.calls.get(at), Some(Call::Named { refuses: true, .. }))
    }

    /// Where a folder is made.
    fn made(&self, folder: &str) -> Verdict<usize> {
        let path = self.path(folder);
        let at = self.calls.iter().position(|call| *call == Call::Made(path.clone()));
        at.map_or_else(|| violated(format!("the folder {folder} is not made")), Ok)
    }

    /// Where the reply is written.
    fn replied(&self) -> Verdict<usize> {
        let at = self.calls.iter().position(|call| *call == Call::Replied);
        at.map_or_else(|| violated("the reply is not written by a call that strace shows"), Ok)
    }
}
