//! Answers, withdrawals, and what is settled by them.

use serde_json::{Value, json};

use crate::conformance::case::{Case, id, question};
use crate::conformance::harness::{HarnessReply, Kind};
use crate::conformance::strace;
use crate::conformance::vectors::{list, rules};
use crate::conformance::verdict::{Verdict, each, require, violated};
use askbox_mailbox::{Shown, read_question};

/// What an answer may have gone through.
const THROUGH: [&str; 7] = ["terminal", "web", "message", "hook", "mcp", "agent", "file"];

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
    let through = &answer["through"];
    require(THROUGH.iter().any(|known| through == known), || format!("the answer is through {through}, not one of {THROUGH:?}"))?;
    require(answer["channel"].is_string(), || format!("the answer has no channel: {answer}"))?;
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

/// Each answer that fits is written in its final form, and each other one is refused.
pub fn of_rules(case: &mut Case<'_>, name: &str) -> Verdict {
    let mut count = 0;
    for rule in rules("values", name)? {
        let mut ask = |case: &mut Case<'_>, value: &Value| -> Verdict<_> {
            count += 1;
            let workflow = format!("w-{count}");
            let round = case.ask(&workflow, rule["question"].clone())?;
            Ok((format!("{workflow}.json"), json!({"workflow_id": workflow, "question_id": round, "value": value})))
        };
        for fit in list(&rule["fits"]) {
            let (file, request) = ask(case, &fit[0])?;
            case.done("answer", request)?;
            let found = &case.document(&format!("answered/{file}"))?["answer"]["value"];
            require(*found == fit[1], || format!("the value {} is written as {found} instead of {}", fit[0], fit[1]))?;
        }
        for value in list(&rule["refused"]) {
            let (file, request) = ask(case, &value)?;
            let (file, answered) = (format!("pending/{file}"), format!("answered/{file}"));
            let before = case.bytes(&file).unwrap_or_default();
            let because = |words| format!("{words}, but the question is {}: {}", rule["question"], rule["why"]);
            case.refused("answer", request).map_err(|stop| stop.in_words(because))?;
            require(!case.exists(&answered), || format!("the refused value {value} was written"))?;
            case.unchanged(&file, &before)?;
        }
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
    require(kind == Kind::Conflict, || format!("an answer to another round is refused as {kind:?}, not as a conflict"))?;
    case.unchanged("pending/w.json", &before)?;
    each(["answer", "withdraw"], |operation| {
        let kind = case.refused(operation, json!({"workflow_id": "nothing", "value": "a"}))?;
        require(kind == Kind::NotFound, || {
            format!("{operation} of a workflow without any question is refused as {kind:?}, not as not_found")
        })
    })
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
    ["answered", "running", "parked", "closed"].into_iter().try_for_each(|state| {
        let (workflow, round, file) = placed(case, state)?;
        over(case, &workflow, &round, &file)
    })
}

/// A withdrawn question cannot be answered or withdrawn again.
pub fn withdrawn_is_over(case: &mut Case<'_>) -> Verdict {
    let round = case.ask("w", json!({}))?;
    case.open()?.withdraw(&id("w")?, "ann", None)?;
    over(case, "w", &round, &format!("closed/w.{round}.json"))
}

fn over(case: &mut Case<'_>, workflow: &str, round: &str, file: &str) -> Verdict {
    // An answer that comes too late may be kept beside the others.
    let without_late = |case: &Case<'_>| -> Verdict<Value> {
        let mut document = case.document(file)?;
        document.as_object_mut().map(|fields| fields.remove("late_answers"));
        Ok(document)
    };
    let before = without_late(case)?;
    each(["answer", "withdraw"], |operation| {
        let kind = case.refused(operation, json!({"workflow_id": workflow, "question_id": round, "value": "b"}))?;
        require(kind == Kind::Conflict, || format!("{operation} of a question in {file} is refused as {kind:?}, not as a conflict"))?;
        require(without_late(case)? == before, || format!("{operation} changed {file}, a question that is over"))?;
        let others = [format!("answered/{workflow}.json"), format!("closed/{workflow}.{round}.json")];
        let other = others.iter().find(|other| *other != file && case.exists(other));
        require(other.is_none(), || format!("{operation} made {other:?} beside {file}"))
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

/// The checkpoints that name the workflow get the answer, and keep all of their other fields.
pub fn into_checkpoints(case: &mut Case<'_>) -> Verdict {
    for (workflow, named, key, value) in
        [("w", "w", "value", json!("a")), ("no", "no", "declined", json!(true)), ("v", "other", "value", json!("a"))]
    {
        let (round, files) = with_checkpoints(case, workflow, named)?;
        case.done("answer", json!({"workflow_id": workflow, "question_id": round, key: value}))?;
        for (file, before) in files {
            let mut expected = before.clone();
            if before["workflow_id"] == workflow {
                expected["user_answer"] = if key == "value" { value.clone() } else { Value::Null };
                expected["user_answer_to"] = round.clone().into();
            }
            let found = case.document(&file)?;
            let is_told = expected.as_object().into_iter().flatten().all(|(name, value)| found.get(name) == Some(value));
            require(is_told, || format!("{file} is {found} after the answer, not {expected}"))?;
            require(expected != before || found == before, || format!("{file} of another workflow was changed to {found}"))?;
        }
    }
    Ok(())
}

/// An answer that does not get its name leaves the checkpoints as they were.
pub fn put_back(case: &mut Case<'_>) -> Verdict {
    strace::needed()?;
    let (round, files) = with_checkpoints(case, "w", "w")?;
    let request = case.request("answer", json!({"workflow_id": "w", "question_id": round, "value": "a"}));
    let mut harness = case.runner.start_behind(&strace::refusing_names(&case.mailbox.join("answered"), "w.json"))?;
    let reply = harness.ask(&request)?;
    drop(harness);
    require(matches!(reply, HarnessReply::Refused(..)), || {
        "an answer is acknowledged although answered/w.json did not get its name".into()
    })?;
    let left = [case.exists("pending/w.json"), case.exists("answered/w.json")];
    require(left == [true, false], || format!("after an answer that failed, [pending, answered] is {left:?}"))?;
    files.into_iter().try_for_each(|(file, before)| {
        let found = case.document(&file)?;
        require(found == before, || format!("{file} is {found} after an answer that failed, not {before}"))
    })
}

/// Asks with a checkpoint in `checkpoints/` and one that the question names, which names a workflow too. Returns the round and both files.
fn with_checkpoints(case: &Case<'_>, workflow: &str, named: &str) -> Verdict<(String, [(String, Value); 2])> {
    let round = case.ask(workflow, json!({"checkpoint": case.mailbox.with_file_name("named.json")}))?;
    let files = [(format!("checkpoints/{workflow}.json"), workflow), ("../named.json".into(), named)];
    let files = files.map(|(file, of)| (file, json!({"workflow_id": of, "current_step": "x", "later": [1]})));
    files.iter().try_for_each(|(file, content)| case.put(file, content.to_string().as_bytes()))?;
    Ok((round, files))
}

/// A round is found in whatever folder it lies.
pub fn states(case: &mut Case<'_>) -> Verdict {
    for state in ["pending", "answered", "running", "parked", "closed"] {
        let (workflow, round, file) = placed(case, state)?;
        let mut document = case.document(&file)?;
        let found = case.done("round", json!({"workflow_id": workflow, "question_id": round}))?;
        require(found["state"] == state, || format!("a round in {state}/ is found as {}", found["state"]))?;
        require(found["document"]["question"] == document["question"], || {
            format!("the document of a round in {state}/ is {}", found["document"])
        })?;
        require(found["document"]["answer"]["value"] == document["answer"]["value"], || {
            format!("the answer in {state}/ is read as {found}")
        })?;
        if state != "pending" {
            // A program was killed, or the power was cut, before `pending/` lost the file.
            if let Some(fields) = document.as_object_mut() {
                drop((fields.remove("answer"), fields.remove("closed")));
            }
            case.put(&format!("pending/{workflow}.json"), document.to_string().as_bytes())?;
            let found = case.done("round", json!({"workflow_id": workflow, "question_id": round}))?;
            require(found["state"] == state, || format!("a round in pending/ and {state}/ is found as {}", found["state"]))?;
        }
    }
    Ok(())
}

/// Places a round in a folder, answered if it is not `pending`. Returns its workflow, its id and its file.
fn placed(case: &Case<'_>, state: &str) -> Verdict<(String, String, String)> {
    let workflow = format!("is-{state}");
    let round = case.ask(&workflow, json!({}))?;
    let pending = format!("pending/{workflow}.json");
    if state == "pending" {
        return Ok((workflow, round, pending));
    }
    let mut document = case.document(&pending)?;
    let at = "2026-11-25T08:00:00.000Z";
    let hash = read_question::pending(&case.open()?, &id(&workflow)?)?.typed.hash()?.to_string();
    document["answer"] = json!({"value": "a", "by": "ann", "channel": "test", "at": at, "question_hash": hash});
    if state == "closed" {
        document["closed"] = json!({"state": "delivered", "at": at, "by": "test"});
    }
    let file = if state == "answered" { format!("answered/{workflow}.json") } else { format!("{state}/{workflow}.{round}.json") };
    case.make_folder(&format!("runs/{workflow}/{round}"))?;
    case.put(&file, document.to_string().as_bytes())?;
    case.remove(&pending)?;
    Ok((workflow, round, file))
}

/// Answers the pending question of a workflow with `a`, as askbox does.
pub fn answer_by_askbox(case: &Case<'_>, workflow: &str) -> Verdict {
    let mailbox = case.open()?;
    let ann = askbox_mailbox::Caller::person("ann", "conformance")?;
    mailbox.answer(&id(workflow)?)?.by(&ann).value("a")?;
    Ok(())
}
