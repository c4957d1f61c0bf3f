//! The stripe of a workflow: moves wait for it, posts do not.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::conformance::case::{Case, question};
use crate::conformance::harness::{HarnessReply, shortened};
use crate::conformance::vectors;
use crate::conformance::verdict::{Stop, Verdict, each, require, violated};
use askbox_mailbox::{IoContext, Lock};

/// The moves that need the stripe.
const MOVES: [&str; 3] = ["answer", "withdraw", "save"];
/// How long a held lock is watched. A program that does not take the lock needs less for a move, unless the machine is very busy.
const WATCHED: Duration = Duration::from_millis(1500);
/// How long a free lock is waited for: less than the 20 seconds of askbox's own programs.
const GIVES_UP: Duration = Duration::from_secs(15);

/// A move waits as long as its stripe is held, and takes place once the stripe is free.
pub fn waits(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    // Each move with another workflow, so that more than one stripe is computed.
    let stripes = vectors::stripes()?;
    each(MOVES.into_iter().zip(stripes), |(operation, (workflow, stripe))| {
        let (request, files) = a_move(case, operation, &workflow)?;
        let mut harness = case.runner.start_ready()?;
        let held = Lock::acquire(&case.mailbox.join("locks").join(&stripe))?;
        harness.send(&request);
        let early = harness.receive(WATCHED)?;
        let changed = files.iter().any(|(file, before)| case.bytes(file) != *before);
        drop(held);
        match early {
            // Some wait for less than askbox does. They have changed nothing.
            Some(HarnessReply::Refused(..)) if !changed => Ok(()),
            None if !changed => match harness.receive(case.runner.limit)? {
                Some(HarnessReply::Done(_)) => has_changed(case, &files, &request),
                other => violated(format!("{operation} does not take place once locks/{stripe} is free: {other:?}")),
            },
            _ => violated(format!("{operation} of {workflow:.20} does not wait for the lock locks/{stripe}: {}", shortened(&request))),
        }
    })
}

/// A stripe holds up no other workflow.
pub fn of_one_workflow(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let all: Vec<_> = vectors::stripes()?.into_iter().collect();
    each(MOVES.into_iter().enumerate(), |(n, operation)| {
        let (workflow, stripe) = all.get(n).cloned().unwrap_or_default();
        let (request, files) = a_move(case, operation, &workflow)?;
        let others = (0..=255_u8).map(|n| format!("{n:02x}")).filter(|name| *name != stripe);
        takes_place(case, &request, &files, others, &format!("{operation} of {workflow:.20} waits for another lock than locks/{stripe}"))
    })
}

/// A post takes place while its stripe is held.
pub fn posts_take_none(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    vectors::stripes()?.into_iter().try_for_each(|(workflow, stripe)| {
        let words = format!("a post of {workflow:.20} waits for locks/{stripe}");
        let files = vec![(format!("pending/{workflow}.json"), None)];
        takes_place(case, &case.request("post", json!({"question": question(&workflow)})), &files, [stripe], &words)
    })
}

/// Requires that a request takes place while these locks are held.
fn takes_place(case: &Case<'_>, request: &Value, files: &Before, stripes: impl IntoIterator<Item = String>, words: &str) -> Verdict {
    let mut harness = case.runner.start_ready()?;
    let held: Vec<_> = stripes.into_iter().map(|name| Lock::acquire(&case.mailbox.join("locks").join(name))).collect::<Result<_, _>>()?;
    harness.send(request);
    let reply = harness.receive(case.runner.limit.min(GIVES_UP))?;
    drop(held);
    match reply {
        Some(HarnessReply::Done(_)) => has_changed(case, files, request),
        other => violated(format!("{words}: {other:?}")),
    }
}

/// The files in `locks/` stay: a new file of the name would be another lock.
pub fn files_stay(case: &mut Case<'_>) -> Verdict {
    let mailbox = case.make()?;
    let stripes = vectors::stripes()?;
    each(MOVES.into_iter().zip(stripes), |(operation, (workflow, stripe))| {
        let file = mailbox.root().join("locks").join(&stripe);
        drop(Lock::acquire(&file)?);
        // A file that is open keeps its inode, so another file cannot get the same one.
        let _open = std::fs::File::open(&file).io("open", &file)?;
        let inode = || file.symlink_metadata().map(|metadata| metadata.ino()).ok();
        let before = inode();
        let (request, files) = a_move(case, operation, &workflow)?;
        case.runner.ask(&request)?.done(&request)?;
        has_changed(case, &files, &request)?;
        require(inode() == before, || format!("{operation} replaced or removed locks/{stripe}"))
    })
}

/// Requires that what was acknowledged is there.
fn has_changed(case: &Case<'_>, files: &Before, request: &Value) -> Verdict {
    let is_done = files.iter().any(|(file, before)| case.bytes(file) != *before);
    require(is_done, || format!("{} is acknowledged, and no file changed", shortened(request)))
}

type Before = Vec<(String, Option<Vec<u8>>)>;

/// A request for a move, and the files that it changes with their content now.
fn a_move(case: &mut Case<'_>, operation: &str, workflow: &str) -> Verdict<(Value, Before)> {
    let round = case.ask(workflow, json!({}))?;
    let request = match operation {
        "answer" => case.request("answer", json!({"workflow_id": workflow, "question_id": round, "value": "a"})),
        "withdraw" => case.request("withdraw", json!({"workflow_id": workflow})),
        "save" => case.request("save", json!({"workflow_id": workflow, "checkpoint": {"current_step": "x"}})),
        other => return Err(Stop::Skipped(format!("`{other}` is not a move"))),
    };
    let files = ["pending", "answered", "checkpoints"].map(|folder| format!("{folder}/{workflow}.json"));
    let files = files.into_iter().map(|file| (file.clone(), case.bytes(&file))).collect();
    Ok((request, files))
}
