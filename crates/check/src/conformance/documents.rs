//! The documents that a post and a checkpoint leave, and the documents that are refused.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::conformance::case::{Case, id, question, question_with};
use crate::conformance::harness::Kind;
use crate::conformance::names::listed;
use crate::conformance::vectors;
use crate::conformance::verdict::{Stop, Verdict, each, require, violated};
use askbox_mailbox::read_question;

/// Each valid question is posted as it was given, and askbox reads it.
pub fn posted(case: &mut Case<'_>) -> Verdict {
    each(vectors::rules("questions", "valid")?.into_iter().enumerate(), |(number, mut asked)| {
        let workflow = format!("valid-{number}");
        asked["workflow_id"] = workflow.clone().into();
        let reply = case.done("post", json!({"question": asked}))?;
        let file = format!("pending/{workflow}.json");
        let bytes = case.bytes(&file).unwrap_or_default();
        require(!bytes.starts_with(b"\xef\xbb\xbf"), || format!("{file} begins with a byte order mark"))?;
        let document = case.document(&file)?;
        for (name, value) in asked.as_object().into_iter().flatten() {
            require(document[name] == *value, || format!("{name} was posted as {value} and lies there as {}", document[name]))?;
        }
        let version = &document["schema_version"];
        require(version.is_null() || *version == 1, || format!("{file} has schema_version {version}"))?;
        if !document["question_id"].is_null() && !reply["question_id"].is_null() {
            require(document["question_id"] == reply["question_id"], || format!("the reply names another round than {file}: {reply}"))?;
        }
        let mailbox = case.open()?;
        match read_question::pending(&mailbox, &id(&workflow)?) {
            Ok(_) => Ok(()),
            Err(error) => violated(format!("{file} is not a valid question: {error}")),
        }
    })
}

/// Files have mode 0600, and folders 0700.
pub fn permissions(case: &mut Case<'_>) -> Verdict {
    case.done("post", json!({"question": question("w")}))?;
    for (below, expected) in [("", 0o700), ("pending", 0o700), ("pending/w.json", 0o600)] {
        let found = case.mailbox.join(below).symlink_metadata().map(|metadata| metadata.permissions().mode() & 0o7777).unwrap_or_default();
        require(found == expected, || {
            format!("{} has mode {found:04o} instead of {expected:04o}", if below.is_empty() { "the mailbox" } else { below })
        })?;
    }
    Ok(())
}

/// The poster that makes the mailbox, or finds it not synced, syncs the folders above and says so.
pub fn synced(case: &mut Case<'_>) -> Verdict {
    for workflow in ["new", "again"] {
        case.done("post", json!({"question": question(workflow)}))?;
        require(case.bytes("locks/synced") == Some(vec![]), || "there is no empty file locks/synced after a post".into())?;
        case.remove("locks/synced")?;
    }
    Ok(())
}

/// No other operation makes the mailbox.
pub fn not_made(case: &mut Case<'_>) -> Verdict {
    each(["answer", "withdraw", "round", "pending", "load"], |operation| {
        drop(case.reply(operation, json!({"workflow_id": "w", "value": "a"}))?);
        require(!case.exists(""), || format!("{operation} made the mailbox"))
    })
}

/// Each invalid question is refused, and nothing is written.
pub fn refused(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let invalid = ["invalid", "not_posted"].map(|list| vectors::rules("questions", list));
    each(invalid.into_iter().collect::<Verdict<Vec<_>>>()?.concat(), |vector| {
        let mut asked = vector["question"].clone();
        asked["workflow_id"] = "w".into();
        let because = |stop: Stop| stop.in_words(|words| format!("{words}, although {}", vector["why"]));
        let kind = case.refused("post", json!({"question": asked})).map_err(because)?;
        require(matches!(kind, Kind::Invalid | Kind::Usage | Kind::NotFound), || {
            format!("a question is refused as {kind:?}, not as invalid: {}", vector["why"])
        })?;
        nothing_pending(case)
    })
}

/// A question over 1 MiB is refused.
pub fn size(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let asked = question_with("w", json!({"question": "x".repeat(1 << 20)}));
    case.refused("post", json!({"question": asked}))?;
    nothing_pending(case)
}

/// A document may have 64 levels.
pub fn depth(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    each([false, true], |is_read| {
        if is_read {
            let round = case.ask("w", json!({"later": nested(63)}))?;
            case.ask("deep", json!({"later": nested(64)}))?;
            return listed(case, &[("w", &round)]);
        }
        case.refused("post", json!({"question": question_with("w", json!({"later": nested(64)}))}))?;
        nothing_pending(case)
    })
}

fn nothing_pending(case: &Case<'_>) -> Verdict {
    let left = case.names("pending");
    require(left.is_empty(), || format!("{left:?} lies in pending/ after a refused post"))
}

/// The same question again is reported, and another one is a conflict.
pub fn repeated(case: &mut Case<'_>) -> Verdict {
    let first = case.done("post", json!({"question": question("w")}))?;
    let before = case.bytes("pending/w.json").unwrap_or_default();
    let again = case.done("post", json!({"question": question("w")}))?;
    case.unchanged("pending/w.json", &before)?;
    require(again["repeated"] != false, || format!("the same question again is not reported as repeated: {again}"))?;
    require(first["question_id"] == again["question_id"], || format!("the same question again names another round: {first} and {again}"))?;
    for change in [json!({"question": "Another?"}), json!({"options": {"a": "This"}}), json!({"options": {"b": "That", "a": "This"}})] {
        let kind = case.refused("post", json!({"question": question_with("w", change)}))?;
        require(kind == Kind::Conflict, || format!("another question of the workflow is refused as {kind:?}, not as a conflict"))?;
        case.unchanged("pending/w.json", &before)?;
    }
    Ok(())
}

/// The id of a round that went on is not used again.
pub fn used_id(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    each(["answered", "running", "parked", "closed"], |folder| {
        let round = uuid::Uuid::now_v7().to_string();
        let workflow = format!("in-{folder}");
        let old = question_with(&workflow, json!({"question_id": round, "answer": "a"}));
        let name = if folder == "answered" { format!("{workflow}.json") } else { format!("{workflow}.{round}.json") };
        case.put(&format!("{folder}/{name}"), old.to_string().as_bytes())?;
        let asked = question_with(&workflow, json!({"question_id": round}));
        let kind = case.refused("post", json!({"question": asked}))?;
        require(kind == Kind::Conflict, || {
            format!("a post with the id of a round in {folder}/ is refused as {kind:?}, not as a conflict")
        })?;
        require(!case.exists(&format!("pending/{workflow}.json")), || format!("a round of {folder}/ was posted again"))
    })
}

/// A checkpoint is saved with all of its values, under the id of its workflow.
pub fn checkpoint(case: &mut Case<'_>) -> Verdict {
    let saved = json!({
        "current_step": "wr\"ite é 🙂", "completed_steps": ["a", "b"], "pending_steps": [], "files": {"draft": "/home/ann/draft.md"},
        "state_variables": {"page": 3, "deep": [[{"x": null}]]}, "context": "a\nb", "later": {"kept": [true]},
    });
    case.done("save", json!({"workflow_id": "w", "checkpoint": saved}))?;
    let document = case.document("checkpoints/w.json")?;
    for (name, value) in saved.as_object().into_iter().flatten() {
        require(document.get(name) == Some(value), || format!("{name} was saved as {value} and lies there as {}", document[name]))?;
    }
    require(document["workflow_id"] == "w", || format!("the checkpoint of w names {}", document["workflow_id"]))?;
    let loaded = case.reply("load", json!({"workflow_id": "w"}));
    match loaded {
        Ok(Ok(reply)) => require(reply["checkpoint"]["state_variables"] == saved["state_variables"], || format!("load returns {reply}")),
        Ok(Err(kind)) => violated(format!("load refuses a checkpoint that lies there: {kind:?}")),
        Err(Stop::Skipped(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

/// A document that cannot be a checkpoint is refused, and the earlier checkpoint stays.
pub fn bad_checkpoints(case: &mut Case<'_>) -> Verdict {
    case.done("save", json!({"workflow_id": "w", "checkpoint": {"current_step": "one"}}))?;
    let before = case.bytes("checkpoints/w.json").unwrap_or_default();
    for rule in vectors::rules("checkpoints", "invalid")? {
        let all = case.refused("save", json!({"workflow_id": "w", "checkpoint": rule["checkpoint"]})).map(|_| ());
        let all = all.and_then(|()| case.unchanged("checkpoints/w.json", &before));
        all.map_err(|stop| stop.in_words(|words| format!("{words}, although {}", rule["why"])))?;
    }
    Ok(())
}

/// Fields that nobody knows stay in each document that is written anew.
pub fn unknown_fields(case: &mut Case<'_>) -> Verdict {
    let strange = json!({"kept": [1, 2.5, null, {"deep": "\u{1}é"}]});
    each(["post", "answer", "withdraw"], |operation| {
        let workflow = format!("by-{operation}");
        let file = if operation == "post" {
            case.done("post", json!({"question": question_with(&workflow, json!({"later_field": strange}))}))?;
            format!("pending/{workflow}.json")
        } else {
            let round = case.ask(&workflow, json!({"later_field": strange}))?;
            case.done(operation, json!({"workflow_id": workflow, "question_id": round, "value": "a"}))?;
            if operation == "answer" { format!("answered/{workflow}.json") } else { format!("closed/{workflow}.{round}.json") }
        };
        let kept = &case.document(&file)?["later_field"];
        require(*kept == strange, || format!("{operation} made {kept} of a field that it does not know: {strange}"))
    })
}

/// A question of a newer version stays as it is.
pub fn newer_versions(case: &mut Case<'_>) -> Verdict {
    each(["post", "answer", "withdraw", "pending"], |operation| {
        let workflow = format!("for-{operation}");
        let file = format!("pending/{workflow}.json");
        let round = case.ask(&workflow, json!({"schema_version": 2, "question": "Newer?"}))?;
        let before = case.bytes(&file).unwrap_or_default();
        let verdict = match operation {
            "post" => case.refused("post", json!({"question": question(&workflow)})).map(|_| ()),
            "pending" => case.done("pending", json!({})).map(|_| ()),
            _ => case.refused(operation, json!({"workflow_id": workflow, "question_id": round, "value": "a"})).map(|_| ()),
        };
        case.unchanged(&file, &before)?;
        require(!case.exists(&format!("answered/{workflow}.json")), || "a question of version 2 was answered".into())?;
        require(case.names("closed").is_empty(), || "a question of version 2 was closed".into())?;
        verdict
    })
}
