//! The hashes of the protocol, against the vectors.

use serde_json::{Value, json};

use crate::conformance::case::Case;
use crate::conformance::vectors;
use crate::conformance::verdict::{Stop, Verdict, require};

/// The ids of rounds without `question_id`.
pub fn of_rounds(case: &mut Case<'_>) -> Verdict {
    for vector in vectors::rules("derived", "derived")? {
        let reply = case.done("hash", json!({"question": vector["question"], "n": vector["n"]}))?;
        let found = of(&reply, "derived_id")?;
        require(*found == vector["question_id"], || {
            format!("the {}th id of {} is {found} instead of {}", vector["n"], vector["question"], vector["question_id"])
        })?;
    }
    Ok(())
}

/// The hashes of each vector.
pub fn of_vectors(case: &mut Case<'_>, hashes: &[&str]) -> Verdict {
    for (name, vector) in vectors::questions()? {
        let reply = case.done("hash", json!({"question": vector["question"], "answer": vector["answer"]}))?;
        for hash in hashes {
            let found = of(&reply, hash)?;
            require(*found == vector[hash], || format!("{hash} of {name}.json is {found} instead of {}", vector[hash]))?;
        }
    }
    Ok(())
}

fn of<'r>(reply: &'r Value, hash: &str) -> Verdict<&'r Value> {
    reply.get(hash).filter(|found| !found.is_null()).ok_or_else(|| Stop::Skipped(format!("the implementation does not compute {hash}")))
}
