//! Answers, withdrawals, and what is settled by them.

use serde_json::{Value, json};

use crate::conformance::case::{Case, id, question};
use crate::conformance::harness::Kind;
use crate::conformance::verdict::{Stop, Verdict, each, require, violated};
use askbox_mailbox::{Shown, read_question};

/// An answer has its fields, and the hashes of the question that it decides.
pub fn answered(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({"context": "why"}))?;
    case.done("answer", json!({"workflow_id": "w", "question_id": round, "value": "a", "by": "ann"}))?;
    require(!case.exists("pending/w.json"), || "pending/w.json stays after the answer".into())?;
    let document = case.document("answered/w.json")?;
    require(document["question_id"] == round.as_str(), || format!("answered/w.json has question_id {}", document["question_id"]))?;
    let answer = &document["answer"];
    let mailbox = case.open()?;
    let read = match read_question::answered(&mailbox, &id("w")?) {
        Ok(read) => read,
        Err(error) => return violated(format!("answered/w.json is not valid: {error}")),
    };
    require(answer["value"] == "a" && answer["by"] == "ann", || format!("the answer is {answer}"))?;
    require(answer["at"].is_string(), || format!("the answer has no time: {answer}"))?;
    let hash = read.typed.hash()?.to_string();
    require(answer["question_hash"] == hash.as_str(), || {
        format!("the answer's question_hash is {} instead of {hash}", answer["question_hash"])
    })?;
    let shown = Shown::of_question(&read.typed)?.to_string();
    require(answer["shown"] == shown.as_str(), || format!("the answer's shown is {} instead of {shown}", answer["shown"]))
}

/// A refusal has no value, and its reason is its note.
pub fn declined(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    case.done("answer", json!({"workflow_id": "w", "question_id": round, "declined": true, "note": "not today"}))?;
    let answer = &case.document("answered/w.json")?["answer"];
    let fits = answer["outcome"] == "declined" && answer["value"].is_null() && answer["note"] == "not today";
    require(fits, || format!("a refusal is written as {answer}"))
}

/// Only values that fit are answers, and they are written in their final form.
pub fn values(case: &mut Case<'_>) -> Verdict {
    let closed = json!({"free_text": false});
    let number = json!({"type": "number", "options": {}, "range": {"min": 1, "max": 9.5, "step": 0.5}});
    let yes_no = json!({"type": "yes_no", "options": {}});
    let text = json!({"options": {}});
    let fits: [(&Value, Value, &str); 8] = [
        (&closed, json!("b"), "b"),
        (&closed, json!("That"), "b"),
        (&closed, json!(" A "), "a"),
        (&number, json!("1.5"), "1.5"),
        (&yes_no, json!(" Y "), "yes"),
        (&yes_no, json!(false), "no"),
        (&text, json!(" as it is "), " as it is "),
        (&text, json!("one line\r"), "one line"),
    ];
    for (n, (more, value, expected)) in fits.into_iter().enumerate() {
        let workflow = format!("fits-{n}");
        let round = case.ask(&workflow, more.clone())?;
        case.done("answer", json!({"workflow_id": workflow, "question_id": round, "value": value}))?;
        let found = case.document(&format!("answered/{workflow}.json"))?["answer"]["value"].clone();
        require(found == expected, || format!("the value {value} is written as {found} instead of {expected:?}"))?;
    }
    let bad: [(&Value, Value); 10] = [
        (&closed, json!("something else")),
        (&closed, json!("")),
        (&closed, json!(["a", "b"])),
        (&number, json!("0.5")),
        (&number, json!("1.3")),
        (&number, json!("1,5")),
        (&number, json!("NaN")),
        (&yes_no, json!("perhaps")),
        (&text, json!(" \n ")),
        (&text, json!("\u{200b}")),
    ];
    for (n, (more, value)) in bad.into_iter().enumerate() {
        let workflow = format!("bad-{n}");
        let round = case.ask(&workflow, more.clone())?;
        let before = case.bytes(&format!("pending/{workflow}.json")).unwrap_or_default();
        match case.refused("answer", json!({"workflow_id": workflow, "question_id": round, "value": value})) {
            Err(Stop::Violated(_)) => return violated(format!("the value {value} is accepted for {more}")),
            other => other?,
        };
        require(!case.exists(&format!("answered/{workflow}.json")), || format!("the refused value {value} was written"))?;
        case.unchanged(&format!("pending/{workflow}.json"), &before)?;
    }
    Ok(())
}

/// Nobody answers as the asker's default or as an event.
pub fn names_of_persons(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    for name in ["default", "event", "Default"] {
        case.refused("answer", json!({"workflow_id": "w", "question_id": round, "value": "a", "by": name}))?;
        require(!case.exists("answered/w.json"), || format!("an answer by {name:?} was written"))?;
    }
    Ok(())
}

/// An answer is made for one round, and for the question that the person saw.
pub fn other_rounds(case: &mut Case<'_>) -> Verdict {
    case.ask("w", json!({}))?;
    let before = case.bytes("pending/w.json").unwrap_or_default();
    let other = "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44";
    let kind = case.refused("answer", json!({"workflow_id": "w", "question_id": other, "value": "a"}))?;
    require(matches!(kind, Kind::Conflict | Kind::NotFound), || format!("an answer to another round is refused as {kind:?}"))?;
    case.unchanged("pending/w.json", &before)
}

/// A withdrawn question lies in `closed/`, and says who withdrew it and when.
pub fn withdrawn(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    case.done("withdraw", json!({"workflow_id": "w", "why": "not needed"}))?;
    require(!case.exists("pending/w.json"), || "pending/w.json stays after the withdrawal".into())?;
    let document = case.document(&format!("closed/w.{round}.json"))?;
    let closed = &document["closed"];
    let fits = closed["state"] == "withdrawn" && closed["at"].is_string() && closed["by"].is_string() && closed["why"] == "not needed";
    require(fits, || format!("a withdrawal is written as {closed}"))?;
    require(document["question_id"] == round.as_str() && document["question"] == question("w")["question"], || {
        format!("it is {document}")
    })?;
    require(document["answer"].is_null(), || format!("a withdrawn question has the answer {}", document["answer"]))?;
    require(case.exists(&format!("runs/w/{round}")), || format!("there is no folder runs/w/{round}"))
}

/// An answered question cannot be answered again or withdrawn.
pub fn answered_is_over(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    answer_by_askbox(case, "w")?;
    over(case, &round, "answered/w.json")
}

/// A withdrawn question cannot be answered or withdrawn again.
pub fn withdrawn_is_over(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    case.open()?.withdraw(&id("w")?, "ann", None)?;
    over(case, &round, &format!("closed/w.{round}.json"))
}

fn over(case: &mut Case<'_>, round: &str, file: &str) -> Verdict {
    // An answer that comes too late may be kept beside the others.
    let without_late = |case: &Case<'_>| -> Verdict<Value> {
        let mut document = case.document(file)?;
        document.as_object_mut().map(|fields| fields.remove("late_answers"));
        Ok(document)
    };
    let before = without_late(case)?;
    each(["answer", "withdraw"], |operation| {
        let kind = case.refused(operation, json!({"workflow_id": "w", "question_id": round, "value": "b"}))?;
        let over = matches!(kind, Kind::Conflict | Kind::NotFound);
        require(over, || format!("{operation} of a question that is over is refused as {kind:?}, not as a conflict"))?;
        require(without_late(case)? == before, || format!("{operation} changed {file}, a question that is over"))?;
        let other = if file.starts_with("answered") { format!("closed/w.{round}.json") } else { "answered/w.json".into() };
        require(!case.exists(&other), || format!("{operation} made {other} beside {file}"))
    })
}

/// A file that a crash left in `pending/` is not answered or withdrawn.
pub fn leftovers(case: &mut Case<'_>) -> Verdict {
    let is_closed = json!({"closed": {"state": "withdrawn", "at": "2026-11-25T08:00:00.000Z", "by": "ann"}});
    each([true, false], |has_closed| {
        each(["answer", "withdraw", "pending"], |operation| {
            let workflow = format!("{operation}-{has_closed}");
            let round = case.ask(&workflow, if has_closed { is_closed.clone() } else { json!({}) })?;
            if !has_closed {
                let mut document = case.document(&format!("pending/{workflow}.json"))?;
                document["closed"] = is_closed["closed"].clone();
                case.put(&format!("closed/{workflow}.{round}.json"), document.to_string().as_bytes())?;
            }
            if operation == "pending" {
                if !has_closed {
                    // A list need not look for each of its questions in all other folders.
                    return Ok(());
                }
                let reply = case.done("pending", json!({}))?.to_string();
                return require(!reply.contains(&round), || format!("pending lists a round that is over: {reply}"));
            }
            case.refused(operation, json!({"workflow_id": workflow, "question_id": round, "value": "a"}))?;
            require(!case.exists(&format!("answered/{workflow}.json")), || "a round that is over was answered".into())
        })
    })
}

/// The checkpoint that names the workflow gets the answer, and keeps all of its other fields.
pub fn into_checkpoints(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let foreign = case.mailbox.parent().unwrap_or(&case.mailbox).join("foreign.json");
    let round = case.ask("w", json!({"checkpoint": foreign}))?;
    case.put("checkpoints/w.json", br#"{"workflow_id": "w", "current_step": "x", "later": [1]}"#)?;
    case.put("../foreign.json", br#"{"workflow_id": "other"}"#)?;
    case.done("answer", json!({"workflow_id": "w", "question_id": round, "value": "a"}))?;
    let document = case.document("checkpoints/w.json")?;
    let has_it = document["user_answer"] == "a" && document["user_answer_to"] == round.as_str();
    require(has_it, || format!("the checkpoint does not have the answer: {document}"))?;
    require(document["current_step"] == "x" && document["later"] == json!([1]), || format!("the checkpoint lost a field: {document}"))?;
    case.unchanged("../foreign.json", br#"{"workflow_id": "other"}"#)
}

/// A round is found in whatever folder it lies.
pub fn states(case: &mut Case<'_>) -> Verdict {
    for state in ["pending", "answered", "running", "parked", "closed"] {
        let workflow = format!("is-{state}");
        let round = case.ask(&workflow, json!({}))?;
        let mut document = case.document(&format!("pending/{workflow}.json"))?;
        if state != "pending" {
            let (value, at) = ("a", "2026-11-25T08:00:00.000Z");
            let hash = hash(case, &workflow)?;
            document["answer"] = json!({"value": value, "by": "ann", "channel": "test", "at": at, "question_hash": hash});
            if state == "closed" {
                document["closed"] = json!({"state": "delivered", "at": at, "by": "test"});
            }
            let name = if state == "answered" { format!("{workflow}.json") } else { format!("{workflow}.{round}.json") };
            case.make_folder(&format!("runs/{workflow}/{round}"))?;
            case.put(&format!("{state}/{name}"), document.to_string().as_bytes())?;
            case.remove(&format!("pending/{workflow}.json"))?;
        }
        let found = case.done("round", json!({"workflow_id": workflow, "question_id": round}))?;
        require(found["state"] == state, || format!("a round in {state}/ is found as {}", found["state"]))?;
        require(found["document"]["question"] == document["question"], || {
            format!("the document of a round in {state}/ is {}", found["document"])
        })?;
        require(found["document"]["answer"]["value"] == document["answer"]["value"], || {
            format!("the answer in {state}/ is read as {found}")
        })?;
    }
    Ok(())
}

/// Answers the pending question of a workflow with `a`, as askbox does.
pub fn answer_by_askbox(case: &Case<'_>, workflow: &str) -> Verdict {
    let mailbox = case.open()?;
    let ann = askbox_mailbox::Caller::person("ann", "conformance")?;
    mailbox.answer(&id(workflow)?)?.by(&ann).value("a")?;
    Ok(())
}

fn hash(case: &Case<'_>, workflow: &str) -> Verdict<String> {
    let mailbox = case.open()?;
    Ok(read_question::pending(&mailbox, &id(workflow)?)?.typed.hash()?.to_string())
}
