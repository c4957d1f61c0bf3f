//! Files and folders of strangers: links, pipes, files that are too long or not JSON.

#![allow(clippy::disallowed_methods, reason = "the mailbox is a scratch folder, and the files are those of strangers")]

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::conformance::case::{Case, question};
use crate::conformance::names::listed;
use crate::conformance::verdict::{Stop, Verdict, each, if_possible, require};
use askbox_mailbox::error::IoContext;
use askbox_mailbox::{Result, disk};

/// A link in place of a question is not followed.
pub fn links(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let mut outside = question("linked");
    outside["question_id"] = "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44".into();
    let outside = outside.to_string();
    case.put("../outside.json", outside.as_bytes())?;
    symlink("../../outside.json", case.mailbox.join("pending/linked.json")).io("link", &case.mailbox)?;
    each(["pending", "answer", "withdraw", "post"], |operation| {
        match operation {
            "pending" => listed(case, &[("w", &round)])?,
            "post" => drop(case.refused("post", json!({"question": question("linked")}))?),
            _ => drop(case.refused(operation, json!({"workflow_id": "linked", "value": "a"}))?),
        }
        require(!case.exists("answered/linked.json"), || "a link was answered".into())?;
        case.unchanged("../outside.json", outside.as_bytes())
    })?;
    // A link in place of a checkpoint is not written through.
    case.put("../state.json", b"{}")?;
    symlink("../../state.json", case.mailbox.join("checkpoints/w.json")).io("link", &case.mailbox)?;
    if_possible(case.reply("save", json!({"workflow_id": "w", "checkpoint": {"current_step": "x"}})).map(|_| ()))?;
    case.unchanged("../state.json", b"{}")
}

/// A pipe in place of a question makes nobody wait.
pub fn pipes(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    drop(disk::fifo::open_reader(&case.mailbox.join("pending/pipe.json"))?);
    each(["pending", "answer", "withdraw", "post", "round"], |operation| {
        match operation {
            "pending" => return listed(case, &[("w", &round)]),
            "round" => drop(case.reply("round", json!({"workflow_id": "pipe"}))?),
            "post" => drop(case.refused("post", json!({"question": question("pipe")}))?),
            _ => drop(case.refused(operation, json!({"workflow_id": "pipe", "value": "a"}))?),
        }
        require(case.exists("pending/pipe.json") && !case.exists("answered/pipe.json"), || format!("{operation} moved a pipe"))
    })
}

/// A mailbox with a linked folder, or one that others may write to, is refused.
pub fn folders(case: &mut Case<'_>) -> Verdict {
    each(["a linked folder", "a folder for all", "a linked mailbox"], |kind| {
        let mut place = case.runner.case()?;
        place.ask("w", json!({}))?;
        let pending = place.mailbox.join("pending");
        let moved = place.mailbox.with_file_name("moved");
        match kind {
            "a folder for all" => set_mode(&pending, 0o777)?,
            "a linked folder" => move_behind_a_link(&pending, &moved)?,
            _ => move_behind_a_link(&place.mailbox.clone(), &moved)?,
        }
        each(["post", "pending", "round", "answer", "withdraw"], |operation| {
            let more = match operation {
                "post" => json!({"question": question("other")}),
                _ => json!({"workflow_id": "w", "value": "a"}),
            };
            match place.refused(operation, more) {
                Err(Stop::Violated(words)) => Err(Stop::Violated(format!("{kind} is used: {words}"))),
                other => other.map(|_| ()),
            }
        })
    })
}

/// Files that cannot be questions hide no other question, and stay.
pub fn damaged(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let mut long = question("long");
    long["context"] = "x".repeat(5 << 20).into();
    let long = long.to_string();
    let files: [(&str, &[u8]); 6] = [
        ("half", br#"{"workflow_id": "half", "question": "Q"#),
        ("list", b"[]"),
        ("empty", b""),
        ("latin", b"{\"workflow_id\": \"latin\", \"question\": \"\xe9\"}"),
        ("blank", br#"{"workflow_id": "blank", "question": " "}"#),
        ("long", long.as_bytes()),
    ];
    for (name, bytes) in files {
        case.put(&format!("pending/{name}.json"), bytes)?;
    }
    let stay = |case: &Case<'_>| files.iter().try_for_each(|(name, bytes)| case.unchanged(&format!("pending/{name}.json"), bytes));
    each(["pending", "answer", "withdraw", "post"], |operation| {
        if operation == "pending" {
            listed(case, &[("w", &round)])?;
            return stay(case);
        }
        for (name, _) in files {
            match operation {
                "post" => drop(case.refused("post", json!({"question": question(name)}))?),
                _ => drop(case.refused(operation, json!({"workflow_id": name, "value": "a"}))?),
            }
            require(!case.exists(&format!("answered/{name}.json")), || format!("{name}.json was answered"))?;
        }
        stay(case)
    })
}

fn set_mode(path: &std::path::Path, mode: u32) -> Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).io("change", path)
}

fn move_behind_a_link(path: &std::path::Path, to: &std::path::Path) -> Result<()> {
    std::fs::rename(path, to).io("move", path)?;
    symlink(to, path).io("link", path)
}
