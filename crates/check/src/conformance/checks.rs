//! The checks, in their order.
//!
//! The hashes of the protocol, against the vectors.

use serde_json::{Value, json};

use crate::conformance::case::Case;
use crate::conformance::verdict::{Stop, Verdict, require};
use crate::conformance::{answers, crashes, documents, locks, names, order, races, strangers, vectors};

/// One check.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The section of docs/dev/protocol.md that has the rule.
    pub clause: &'static str,
    /// The rule, in one sentence.
    pub rule: &'static str,
    /// The check itself.
    pub run: fn(&mut Case<'_>) -> Verdict,
}

const fn check(name: &'static str, clause: &'static str, rule: &'static str, run: fn(&mut Case<'_>) -> Verdict) -> Check {
    Check { name, clause, rule, run }
}

/// All checks.
pub const ALL: &[Check] = &[
    check("question-hash", "the-question-hash", "The question hash of each vector is right", |case| of_vectors(case, &["question_hash"])),
    check("derived-id", "the-question-hash", "A question without question_id has the derived id", of_rounds),
    check("shown-hash", "what-was-shown", "The hashes of what each vector shows are right", |case| {
        of_vectors(case, &["seen", "of_its_machine", "shown"])
    }),
    check("answer-hash", "what-was-shown", "The answer hash of each vector is right", |case| of_vectors(case, &["answer_hash"])),
    check("hostile-id", "the-mailbox", "An id that could leave the mailbox is refused by every operation", names::hostile_ids),
    check("valid-id", "the-mailbox", "Every valid id can be used, and names its file", names::valid_ids),
    check("round-id", "the-mailbox", "The id of a round is a UUID", names::round_ids),
    check("one-file", "on-one-page", "An operation leaves no temporary file", names::one_file),
    check("other-names", "the-mailbox", "Names with a dot in front, or without .json, are not questions", names::other_names),
    check("named-for", "the-mailbox", "A file that is not named for its workflow is not a question", names::named_for_its_workflow),
    check("post", "posting", "A valid question is posted as it was given, and can be read", documents::posted),
    check("permissions", "the-mailbox", "Folders have mode 0700 and files 0600", documents::permissions),
    check("synced", "writing-to-disk", "Without locks/synced, a post syncs the folders above and makes it", documents::synced),
    check("not-made", "the-mailbox", "Only a post or a saved checkpoint makes a mailbox", documents::not_made),
    check("invalid", "the-question", "An invalid question is refused", documents::refused),
    check("size", "limits", "A question over 1 MiB is refused", documents::size),
    check("depth", "documents", "A document has at most 64 levels", documents::depth),
    check("repeated", "posting", "The same question again writes nothing, another one is a conflict", documents::repeated),
    check("used-id", "posting", "The id of a round that went on is not posted again", documents::used_id),
    check("checkpoint", "the-checkpoint", "A checkpoint is saved with all of its values", documents::checkpoint),
    check("bad-checkpoint", "the-checkpoint", "A document that cannot be a checkpoint is refused", documents::bad_checkpoints),
    check("unknown-fields", "what-a-reader-tolerates", "Unknown fields are kept", documents::unknown_fields),
    check("newer-version", "what-a-reader-tolerates", "A question of a newer version stays as it is", documents::newer_versions),
    check("leftover", "what-a-reader-tolerates", "A round that is over is not answered from pending/", answers::leftovers),
    check("answer", "the-answer", "An answer has its fields and the hashes of its question", answers::answered),
    check("decline", "the-answer", "A refusal has no value", answers::declined),
    check("value", "which-values-fit", "Only values that fit are answers, in their final form", |case| answers::of_rules(case, "values")),
    check("near-miss", "near-misses", "A near miss is refused", |case| answers::of_rules(case, "near_misses")),
    check("approval", "approvals", "An approval has its own words, and exactly its values", |case| answers::of_rules(case, "approvals")),
    check("person", "the-answer", "No person is called default or event", answers::names_of_persons),
    check("other-round", "answering", "An answer is not given to another round", answers::other_rounds),
    check(
        "into-checkpoint",
        "answering",
        "An answer is written into the checkpoint of its workflow, and no other",
        answers::into_checkpoints,
    ),
    check("put-back", "answering", "An answer that does not get its name leaves the checkpoints as they were", answers::put_back),
    check("withdraw", "answering", "A withdrawn question lies in closed/ and launches nothing", answers::withdrawn),
    check("answered-is-over", "states", "An answered question is not answered or withdrawn", answers::answered_is_over),
    check("withdrawn-is-over", "states", "A withdrawn question is not answered or withdrawn", answers::withdrawn_is_over),
    check("state", "states", "The folder of a round is its state", answers::states),
    check("link", "the-mailbox", "A link in the mailbox is not followed", strangers::links),
    check("pipe", "the-mailbox", "A pipe in the mailbox is not opened", strangers::pipes),
    check("unsafe-folder", "the-mailbox", "A mailbox with an unsafe folder is refused", strangers::folders),
    check("damaged", "quarantine", "A file that is not valid hides no question, is not decided, and stays", strangers::damaged),
    check("tolerated", "what-a-reader-tolerates", "A question with what a reader tolerates can be answered", strangers::tolerated),
    check("lock", "locks", "A move waits for the stripe of its workflow", locks::waits),
    check("other-lock", "locks", "A move waits for no other stripe", locks::of_one_workflow),
    check("post-lock", "posting", "A post takes no lock", locks::posts_take_none),
    check("lock-file", "locks", "The files in locks/ stay", locks::files_stay),
    check("race-post", "posting", "Of two posts at once, one takes place", races::posts),
    check("race-answer", "answering", "Of two answers at once, one counts", races::answers),
    check("race-withdraw", "answering", "Of a withdrawal and an answer at once, one counts", races::withdrawals),
    check("race-checkpoint", "writing-to-disk", "A checkpoint is whole at each moment", races::checkpoints),
    check("order-post", "on-one-page", "A post is synced, named, and synced again before it is reported", order::posts),
    check("order-answer", "answering", "An answer counts after the checkpoint has it, and is reported once it is synced", order::answers),
    check("order-withdraw", "answering", "A withdrawn document says so before it is moved", order::withdrawals),
    check("order-save", "the-checkpoint", "A checkpoint is synced, named, and synced again before it is reported", order::checkpoints),
    check("killed-post", "on-one-page", "A killed post has posted the whole question, or nothing", |case| {
        crashes::at_random_moments(case, "post")
    }),
    check("killed-answer", "states", "A killed answer counts, or the question waits", |case| crashes::at_random_moments(case, "answer")),
    check("killed-withdraw", "states", "A killed withdrawal counts, or the question waits", |case| {
        crashes::at_random_moments(case, "withdraw")
    }),
    check("killed-save", "the-checkpoint", "A killed save leaves the earlier checkpoint or the new one", |case| {
        crashes::at_random_moments(case, "save")
    }),
    check("killed-at-call", "states", "The same holds before each system call that changes something", crashes::at_system_calls),
];

/// The ids of rounds without `question_id`.
fn of_rounds(case: &mut Case<'_>) -> Verdict {
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
fn of_vectors(case: &mut Case<'_>, hashes: &[&str]) -> Verdict {
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
