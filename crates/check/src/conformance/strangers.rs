//! Files and folders of strangers: links, pipes, files that are too long or not JSON.

#![allow(clippy::disallowed_methods, reason = "the mailbox is a scratch folder, and the files are those of strangers")]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::conformance::case::{Case, question, question_with};
use crate::conformance::names::listed;
use crate::conformance::vectors::rules;
use crate::conformance::verdict::{Stop, Verdict, each, if_possible, require};
use askbox_mailbox::{IoContext, Result, disk};

/// A link in place of a question is not followed.
pub fn links(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let outside = question_with("linked", json!({"question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44"})).to_string();
    case.put("../outside.json", outside.as_bytes())?;
    symlink("../../outside.json", case.mailbox.join("pending/linked.json")).io("link", &case.mailbox)?;
    is_not_used(case, "linked", Some([("w", &round)]), |case| case.unchanged("../outside.json", outside.as_bytes()))?;
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
    is_not_used(case, "pipe", Some([("w", &round)]), |case| require(case.exists("pending/pipe.json"), || "a pipe was moved".into()))
}

/// Requires that no operation uses a file in `pending/`, and that something holds after each. A client may show the file if it is not known
/// which other question must be listed.
fn is_not_used(case: &mut Case<'_>, name: &str, listed_alone: Option<[(&str, &str); 1]>, holds: impl Fn(&Case<'_>) -> Verdict) -> Verdict {
    each(["pending", "round", "answer", "withdraw", "post"], |operation| {
        match (operation, listed_alone) {
            ("pending", Some(others)) => listed(case, &others)?,
            ("round", Some(_)) => {
                let found = case.reply("round", json!({"workflow_id": name}))?;
                require(found.as_ref().map_or(true, |found| found["state"] == "none"), || format!("round finds {found:?}"))?;
            }
            ("pending" | "round", None) => {}
            _ => drop(case.refused(operation, json!({"workflow_id": name, "value": "a", "question": question(name)}))?),
        }
        require(!case.exists(&format!("answered/{name}.json")), || format!("{operation} makes answered/{name}.json"))?;
        holds(case)
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
            "a folder for all" => std::fs::set_permissions(&pending, Permissions::from_mode(0o777)).io("change", &pending)?,
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

/// A file that is not a valid question hides no other one, is not shown or decided, and stays.
pub fn damaged(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("good", json!({}))?;
    let long = question_with("w", json!({"context": "x".repeat(5 << 20)}));
    let mut files = vec![
        (json!("it is over 4 MiB"), long.to_string().into_bytes(), true),
        (json!("it is not UTF-8"), b"{\"workflow_id\": \"w\", \"question\": \"\xe9\"}".to_vec(), true),
    ];
    let broken = rules("documents", "broken")?;
    files.extend(broken.iter().map(|rule| (rule["why"].clone(), rule["text"].as_str().unwrap_or_default().into(), true)));
    for mut rule in rules("questions", "invalid")? {
        rule["question"]["workflow_id"] = "w".into();
        files.push((rule["why"].clone(), rule["question"].to_string().into(), false));
    }
    for (why, bytes, is_unreadable) in files {
        case.put("pending/w.json", &bytes)?;
        let shown = is_unreadable.then_some([("good", round.as_str())]);
        let all = is_not_used(case, "w", shown, |case| case.unchanged("pending/w.json", &bytes));
        all.map_err(|stop| stop.in_words(|words| format!("{words}, although {why} in pending/w.json")))?;
    }
    Ok(())
}

/// What a reader tolerates hides no question, and an answer keeps it, but for the byte order mark.
pub fn tolerated(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    for rule in rules("documents", "readable")? {
        let text = rule["text"].as_str().unwrap_or_default();
        case.put("pending/w.json", text.as_bytes())?;
        let asked: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        let round = asked["question_id"].as_str().unwrap_or_default();
        let request = json!({"workflow_id": "w", "question_id": round, "value": "a"});
        let all = each(["pending", "round", "answer"], |operation| {
            if operation == "pending" {
                return listed(case, &[("w", round)]);
            }
            let reply = case.done(operation, request.clone())?;
            if operation == "round" {
                return require(reply["state"] == "pending", || format!("round finds {reply}"));
            }
            let answered = case.document("answered/w.json")?;
            let is_kept = asked.as_object().into_iter().flatten().all(|(name, value)| answered[name] == *value);
            require(is_kept, || format!("{asked} became {answered}"))?;
            case.remove("answered/w.json")
        });
        all.map_err(|stop| stop.in_words(|words| format!("{words}: {}", rule["why"])))?;
    }
    Ok(())
}

fn move_behind_a_link(path: &std::path::Path, to: &std::path::Path) -> Result<()> {
    std::fs::rename(path, to).io("move", path)?;
    symlink(to, path).io("link", path)
}
