//! Ids and the names of files.

use serde_json::json;

use crate::conformance::case::{Case, names, question, question_with};
use crate::conformance::harness::Kind;
use crate::conformance::vectors;
use crate::conformance::verdict::{Verdict, each, if_possible, require, violated};

/// Every operation that names a workflow, with what else it needs.
fn named(workflow: &str) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("post", json!({"question": question(workflow)})),
        ("answer", json!({"workflow_id": workflow, "value": "a"})),
        ("withdraw", json!({"workflow_id": workflow})),
        ("round", json!({"workflow_id": workflow})),
        ("save", json!({"workflow_id": workflow, "checkpoint": {"current_step": "x"}})),
        ("load", json!({"workflow_id": workflow})),
    ]
}

/// Ids that could leave the mailbox are refused by every operation, and nothing is written.
pub fn hostile_ids(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let beside = case.mailbox.parent().map(names).unwrap_or_default();
    each(vectors::texts("ids", "invalid")?, |hostile| {
        each(named(&hostile), |(operation, more)| {
            let kind = match case.reply(operation, more)? {
                Err(kind) => kind,
                Ok(found) if operation == "round" && found["state"] == "none" => Kind::NotFound,
                Ok(_) => return violated(format!("{operation} with the id {hostile:?} is accepted")),
            };
            // A colon may name another machine, and no machine of that name is known.
            require(matches!(kind, Kind::Invalid | Kind::Usage | Kind::NotFound), || {
                format!("{operation} with the id {hostile:?} is refused as {kind:?}, not as invalid")
            })
        })?;
        for folder in ["pending", "answered", "closed", "checkpoints", "runs"] {
            require(case.names(folder).is_empty(), || format!("the id {hostile:?} left {:?} in {folder}/", case.names(folder)))?;
        }
        let now = case.mailbox.parent().map(names).unwrap_or_default();
        require(now == beside, || format!("the id {hostile:?} left {now:?} beside the mailbox"))
    })
}

/// Every valid id can be used, and its file has its name.
pub fn valid_ids(case: &mut Case<'_>) -> Verdict {
    for workflow in vectors::texts("ids", "valid")? {
        case.done("post", json!({"question": question(&workflow)}))?;
        let document = case.document(&format!("pending/{workflow}.json"))?;
        require(document["workflow_id"] == workflow.as_str(), || format!("pending/{workflow}.json names {}", document["workflow_id"]))?;
    }
    Ok(())
}

/// The id of a round is a UUID, and nothing else is looked up.
pub fn round_ids(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    case.put("secret.json", br#"{"workflow_id":"w","question":"Q?","question_id":"secret"}"#)?;
    each(["../../secret", "secret", "", "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e4", "019ab3c2/77aa-7c31-9b0e-5d2f6a1c8e44x"], |hostile| {
        let round = case.reply("round", json!({"workflow_id": "w", "question_id": hostile}))?;
        require(round.as_ref().map_or(true, |found| found["state"] == "none"), || {
            format!("round finds one with the id {hostile:?}: {round:?}")
        })?;
        let asked = question_with("w", json!({"question_id": hostile}));
        if_possible(case.refused("post", json!({"question": asked})).map(|_| ()))
    })
}

/// A post leaves one file, which has the name of its workflow, and no temporary file.
pub fn one_file(case: &mut Case<'_>) -> Verdict {
    case.done("post", json!({"question": question("docs-42")}))?;
    let left = names(&case.mailbox.join("pending"));
    require(left == ["docs-42.json"], || format!("pending/ holds {left:?} after one post"))?;
    if_possible(case.done("answer", json!({"workflow_id": "docs-42", "value": "a"})).and_then(|_| {
        let left = [names(&case.mailbox.join("pending")), names(&case.mailbox.join("answered"))];
        require(left == [vec![], vec!["docs-42.json".to_owned()]], || format!("pending/ and answered/ hold {left:?} after the answer"))
    }))
}

/// Names that begin with a dot or do not end in `.json` are not questions.
pub fn other_names(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let bytes = case.bytes("pending/w.json").unwrap_or_default();
    for name in [".w.json", ".tmpabcdefghijkl", "w.json.bak", "w", "notes.txt"] {
        case.put(&format!("pending/{name}"), &bytes)?;
    }
    listed(case, &[("w", &round)])?;
    for name in [".w.json", ".tmpabcdefghijkl", "w.json.bak", "w", "notes.txt"] {
        case.unchanged(&format!("pending/{name}"), &bytes)?;
    }
    Ok(())
}

/// A file that is not named for its workflow is not a question.
pub fn named_for_its_workflow(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    let bytes = case.bytes("pending/w.json").unwrap_or_default();
    for name in ["other", "W", "w.w"] {
        case.put(&format!("pending/{name}.json"), &bytes)?;
    }
    each(["pending", "round", "answer"], |operation| match operation {
        "pending" => listed(case, &[("w", &round)]),
        "round" => match case.reply("round", json!({"workflow_id": "other"}))? {
            Ok(found) if found["state"] != "none" => violated(format!("pending/other.json, which names w, is read as a round: {found}")),
            _ => Ok(()),
        },
        _ => {
            case.refused("answer", json!({"workflow_id": "other", "value": "a"}))?;
            require(!case.exists("answered/other.json"), || "answered/other.json was made from a question of w".into())
        }
    })
}

/// Requires that `pending` names exactly these rounds.
pub fn listed(case: &mut Case<'_>, expected: &[(&str, &str)]) -> Verdict {
    let reply = case.done("pending", json!({}))?;
    let mut found: Vec<_> = reply["questions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["workflow_id"].as_str().unwrap_or_default(), one["question_id"].as_str().unwrap_or_default()))
        .collect();
    found.sort_unstable();
    require(found == expected, || format!("pending lists {found:?} instead of {expected:?}"))
}
