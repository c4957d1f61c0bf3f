//! Strangers at the mailbox: bash with `cat`, `jq` and `mv`, none of our tools, against a real watcher and a fake agent.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::support::home::{Home, Litter, until};
use serde_json::{Value, json};

/// A hand-written question.
fn question(id: &str, text: &str) -> String {
    json!({"question": text, "options": {"a": "This", "b": "That"}, "workflow_id": id}).to_string()
}

/// Writes a file as `cat >` does.
fn cat(home: &Home, below: &str, text: &str) {
    fs::write(home.mailbox(below), text).unwrap();
}

/// Waits until a file written now has a later time than `path`: the clock of files ticks slowly.
fn tick_after(home: &Home, path: impl AsRef<Path>) {
    let before = path.as_ref().symlink_metadata().unwrap().modified().unwrap() + Duration::from_millis(2);
    until("the next tick of the clock", || {
        fs::write(home.path("tick"), "x").unwrap();
        (home.path("tick").metadata().unwrap().modified().unwrap() > before).then_some(())
    });
}

const ASK: &str = include_str!("../fixtures/seed/ask.sh");
const ANSWER: &str = include_str!("../fixtures/seed/answer.sh");
const RESUME: &str = include_str!("../fixtures/seed/resume.sh");

#[test]
fn the_first_sketchs_snippets_run_verbatim_and_launch_the_agent_once() {
    let home = Home::new();
    let id = home.id("workflow");
    let checkpoint = Litter(format!("/tmp/workflow_{id}_checkpoint.json").into());
    // The main agent's own relaunch is the one line that is not ours to run: a `claude` that does nothing.
    fs::create_dir(home.path("bin")).unwrap();
    home.sh("printf '#!/bin/sh\\n' > bin/claude && chmod +x bin/claude");
    let watcher = home.watch();
    home.agent_does(&id, "bash -c '. \"$FAKE_DIR/resume.sh\"; echo \"$USER_CHOICE|$CURRENT_STEP|$PROPOSED_CHANGES|$BACKUP|$ORIGINAL\"'");
    fs::write(home.path("fake/resume.sh"), RESUME).unwrap();

    assert_eq!(home.sh_as(&id, ASK), format!("QUESTION_POSTED:{id}\n"));
    watcher.says(&format!("asked     {id}  Review found content overlap."));
    tick_after(&home, home.mailbox(&format!("pending/{id}.json")));
    home.sh_as(&id, &format!("PATH=$HOME/bin:$PATH\n{ANSWER}"));

    let told = home.told(&id, 1);
    assert!(told.contains(&format!("Resume workflow from checkpoint at {}", checkpoint.0.display())), "{told}");
    assert!(told.contains("User chose: restructure (Restructure both sections)"), "{told}");
    let round = home.closed(&id, "delivered", 1).remove(0);
    assert_eq!(round["answer"]["value"], "restructure");
    assert_eq!(round["answer"]["by"], "hand");
    let read = fs::read_to_string(home.path(&format!("fake/work.{id}.1"))).unwrap();
    assert_eq!(read, "restructure|pre_implementation_review|/tmp/doc_proposed_changes_123.md|/tmp/doc_backup_123.md|/path/to/doc.md\n");
    assert_eq!(home.launches(&id).len(), 1);
    home.audit_is(&id, &["posted", "answered", "claimed", "delivered"]);
}

#[test]
fn the_snippets_work_without_a_watcher_looking_on() {
    let home = Home::new();
    let id = home.id("late");
    let _checkpoint = Litter(format!("/tmp/workflow_{id}_checkpoint.json").into());
    home.sh_as(&id, ASK);
    tick_after(&home, home.mailbox(&format!("pending/{id}.json")));
    home.sh_as(&id, &format!("claude() {{ :; }}\n{ANSWER}"));
    let _watcher = home.watch();
    assert!(home.told(&id, 1).contains("User chose: restructure"));
    home.closed(&id, "delivered", 1);
    assert_eq!(home.launches(&id).len(), 1);
}

#[test]
fn a_question_made_by_jq_and_mv_is_asked_and_answered_with_our_tools() {
    let home = Home::new();
    let watcher = home.watch();
    home.sh(r#"cd ~/.claude/questions && jq -n '{question: "Go on?", workflow_id: "made", mine: [1.5]}' > pending/.made && mv pending/.made pending/made.json"#);
    watcher.says("asked     made  Go on?");
    home.ok("ask-answer", &["made", "yes, do"]);
    assert!(home.told("made", 1).contains("User chose: yes, do"));
    assert_eq!(home.closed("made", "delivered", 1)[0]["mine"], json!([1.5]));
}

#[test]
fn a_question_moved_before_its_checkpoint_got_the_answer_waits_for_it() {
    let home = Home::new();
    let _watcher = home.watch();
    let checkpoint = home.path("cp.json");
    fs::write(&checkpoint, r#"{"workflow_id": "early", "current_step": "one"}"#).unwrap();
    cat(&home, "pending/early.json", &json!({"question": "?", "workflow_id": "early", "checkpoint": checkpoint}).to_string());
    tick_after(&home, home.mailbox("pending/early.json"));
    home.sh("mv ~/.claude/questions/pending/early.json ~/.claude/questions/answered/ && jq '.user_answer = \"a\"' cp.json > cp.tmp && mv cp.tmp cp.json");
    assert!(home.told("early", 1).contains("User chose: a"));
    home.closed("early", "delivered", 1);
    // And now the checkpoint says to which question.
    let round = home.closed("early", "delivered", 1).remove(0);
    assert_eq!(home.json(&checkpoint)["user_answer_to"], round["question_id"]);
}

#[test]
fn a_question_moved_without_an_answer_comes_back_and_a_stale_answer_is_never_taken() {
    let home = Home::new();
    let _watcher = home.watch();
    let checkpoint = home.path("cp.json");
    // The answer of an earlier round, in a checkpoint that was saved before the question was asked.
    fs::write(&checkpoint, r#"{"workflow_id": "bare", "user_answer": "merge"}"#).unwrap();
    cat(&home, "pending/bare.json", &json!({"question": "?", "workflow_id": "bare", "checkpoint": checkpoint}).to_string());
    home.sh("mv ~/.claude/questions/pending/bare.json ~/.claude/questions/answered/");
    until("its way back", || home.audit("bare").contains(&"undone".to_owned()).then_some(()));
    assert!(home.mailbox("pending/bare.json").exists() && !home.mailbox("answered/bare.json").exists());
    assert_eq!(home.launches("bare").len(), 0);
    home.ok("ask-answer", &["bare", "proceed"]);
    assert!(home.told("bare", 1).contains("User chose: proceed"));
}

#[test]
fn an_answer_that_our_tools_noted_for_an_earlier_round_is_not_taken_for_the_next() {
    let home = Home::new();
    let _watcher = home.watch();
    home.sh_as("two", "");
    fs::write(home.path("in.json"), r#"{"current_step": "one"}"#).unwrap();
    home.ok("checkpoint", &["save", "two", "--file", "in.json"]);
    home.ok("ask-post", &["-w", "two", "First?"]);
    home.ok("ask-answer", &["two", "merge"]);
    home.closed("two", "delivered", 1);
    home.ok("ask-post", &["-w", "two", "Second?"]);
    tick_after(&home, home.mailbox("pending/two.json"));
    // The checkpoint goes on with the old answer in it, newer than the second question.
    home.ok("checkpoint", &["step", "two", "next"]);
    home.sh("mv ~/.claude/questions/pending/two.json ~/.claude/questions/answered/");
    until("its way back", || home.audit("two").contains(&"undone".to_owned()).then_some(()));
    // A hand that knows nothing of our note writes another answer beside it: that one counts.
    home.sh("cd ~/.claude/questions && jq '.user_answer = \"split\"' checkpoints/two.json > t && mv t checkpoints/two.json && mv pending/two.json answered/");
    assert!(home.told("two", 2).contains("User chose: split"));
    assert_eq!(home.launches("two").len(), 2);
}

#[test]
fn an_answer_written_into_the_moved_file_counts_and_reaches_the_checkpoint() {
    let home = Home::new();
    let _watcher = home.watch();
    for (id, answer) in [("text", r#""b""#), ("object", r#"{"value": "b", "by": "ann", "note": "soon"}"#)] {
        let checkpoint = home.path(&format!("{id}.cp"));
        fs::write(&checkpoint, format!(r#"{{"workflow_id": "{id}"}}"#)).unwrap();
        let mut asked: Value = serde_json::from_str(&question(id, "Which?")).unwrap();
        asked["checkpoint"] = json!(checkpoint);
        cat(&home, &format!("pending/{id}.json"), &asked.to_string());
        home.sh(&format!(
            "cd ~/.claude/questions && jq '.answer = {answer}' pending/{id}.json > {id}.tmp && mv {id}.tmp pending/{id}.json && mv pending/{id}.json answered/"
        ));
        let told = home.told(id, 1);
        assert!(told.contains("User chose: b (That)"), "{told}");
        let round = home.closed(id, "delivered", 1).remove(0);
        assert_eq!(round["answer"]["by"], if id == "text" { "hand" } else { "ann" });
        assert_eq!(home.json(&checkpoint)["user_answer"], "b");
        assert_eq!(home.launches(id).len(), 1);
    }
    assert!(home.told("object", 1).contains("The user added: soon"));
}

#[test]
fn an_answer_by_hand_that_does_not_fit_is_undone_and_not_run() {
    let home = Home::new();
    let _watcher = home.watch();
    // Complete to look at, but no answer to this question.
    cat(
        &home,
        "answered/strict.json",
        r#"{"question": "?", "workflow_id": "strict", "question_id": "01990000-0000-7000-8000-000000000001", "options": {"a": "A"}, "free_text": false,
            "answer": {"value": "zzz", "by": "x", "at": "2026-01-01T00:00:00Z"}}"#,
    );
    home.appears("pending/strict.json");
    assert_eq!(home.launches("strict").len(), 0);
    home.audit_is("strict", &["undone"]);
}

#[test]
fn a_copy_instead_of_a_move_is_one_answer() {
    let home = Home::new();
    let _watcher = home.watch();
    cat(&home, "pending/copied.json", &question("copied", "Which?"));
    home.sh("cd ~/.claude/questions && jq '.answer = \"a\"' pending/copied.json > p && cp p answered/copied.json && rm p");
    assert!(home.told("copied", 1).contains("User chose: a"));
    home.closed("copied", "delivered", 1);
    home.vanishes("pending/copied.json");
    assert_eq!(home.launches("copied").len(), 1);
    // A bare copy answers nothing and takes nothing away.
    cat(&home, "pending/bare.json", &question("bare", "Which?"));
    home.sh("cd ~/.claude/questions && cp pending/bare.json answered/bare.json");
    assert!(home.reason("bare.json").contains("pending/ still holds the question"));
    assert!(home.mailbox("pending/bare.json").exists());
    assert_eq!(home.launches("bare").len(), 0);
}

#[test]
fn the_same_hand_written_question_asked_twice_is_two_rounds() {
    let home = Home::new();
    let _watcher = home.watch();
    // The agent asks the very same again in its first run.
    home.agent_does("again", "[ \"$n\" -gt 1 ] || cat > \"$HOME/.claude/questions/pending/again.json\" < \"$FAKE_DIR/again.json\"");
    let text = question("again", "Once more?");
    fs::write(home.path("fake/again.json"), &text).unwrap();
    cat(&home, "pending/again.json", &text);
    tick_after(&home, home.mailbox("pending/again.json"));
    home.sh("cd ~/.claude/questions && jq '.answer = \"a\"' pending/again.json > t && mv t answered/again.json");
    assert!(home.told("again", 1).contains("User chose: a"));
    home.closed("again", "delivered", 1);
    home.appears("pending/again.json");
    home.ok("ask-answer", &["again", "b"]);
    assert!(home.told("again", 2).contains("User chose: b"));
    let rounds = home.closed("again", "delivered", 2);
    assert_ne!(rounds[0]["question_id"], rounds[1]["question_id"]);
    let mut values: Vec<_> = rounds.iter().map(|r| r["answer"]["value"].as_str().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, ["a", "b"]);
    assert_eq!(home.launches("again").len(), 2);
}

#[test]
fn the_same_question_asked_again_before_the_answer_was_taken_up_is_not_lost() {
    let home = Home::new();
    let text = question("early", "Once more?");
    cat(&home, "pending/early.json", &text);
    tick_after(&home, home.mailbox("pending/early.json"));
    home.sh("cd ~/.claude/questions && jq '.answer = \"a\"' pending/early.json > t && mv t pending/early.json && mv pending/early.json answered/");
    tick_after(&home, home.mailbox("answered/early.json"));
    // No watcher yet, and already the next round, word for word.
    cat(&home, "pending/early.json", &text);
    let _watcher = home.watch();
    home.closed("early", "delivered", 1);
    assert_eq!(fs::read_to_string(home.mailbox("pending/early.json")).unwrap(), text);
    home.ok("ask-answer", &["early", "b"]);
    assert!(home.told("early", 2).contains("User chose: b"));
    home.closed("early", "delivered", 2);
}

#[test]
fn a_question_written_over_the_one_that_is_being_answered_is_not_lost() {
    use askbox::mailbox::{Mailbox, intake};
    let home = Home::new();
    let mailbox = Mailbox::open_or_create(home.mailbox("").to_str().unwrap().trim_end_matches('/')).unwrap();
    cat(&home, "pending/over.json", &question("over", "First?"));
    home.ok("ask-answer", &["over", "a"]);
    let document = intake::read_round_file(&home.mailbox("answered/over.json")).unwrap();
    let (round, at) = (document.typed.round().unwrap(), document.typed.answer.unwrap().at);
    let lock = mailbox.lock(&round.workflow).unwrap();
    // Between the look at the question and its removal: another one, and one that is half written.
    for text in [question("over", "Second?"), r#"{"question": "Third"#.to_owned()] {
        cat(&home, "pending/over.json", &text);
        intake::retire_pending(&mailbox, &round, at).unwrap();
        assert_eq!(fs::read_to_string(home.mailbox("pending/over.json")).unwrap(), text);
    }
    // A crash with the newer question moved aside: the next watcher brings it back.
    let aside = home.mailbox(&format!("pending/.tmpretired.{round}"));
    fs::write(home.mailbox("pending/over.json"), question("over", "Fourth?")).unwrap();
    fs::rename(home.mailbox("pending/over.json"), &aside).unwrap();
    drop(lock);
    let _watcher = home.watch();
    home.appears("pending/over.json");
    assert_eq!(home.json(home.mailbox("pending/over.json"))["question"], "Fourth?");
    assert!(!aside.exists());
    home.closed("over", "delivered", 1);
    home.ok("ask-answer", &["over", "b"]);
    assert!(home.told("over", 2).contains("Fourth?"));
}

#[test]
fn a_checkpoint_in_tmp_is_kept_at_intake_and_serves_when_the_original_is_gone() {
    let home = Home::new();
    let watcher = home.watch();
    let id = home.id("kept");
    let original = Litter(format!("/tmp/askbox-test-{id}.json").into());
    fs::write(&original.0, json!({"workflow_id": id, "current_step": "three", "mine": 1}).to_string()).unwrap();
    fs::File::options()
        .append(true)
        .open(&original.0)
        .unwrap()
        .set_modified(std::time::SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    cat(&home, &format!("pending/{id}.json"), &json!({"question": "?", "workflow_id": id, "checkpoint": original.0}).to_string());
    watcher.says(&format!("asked     {id}"));
    let copy = home.mailbox(&format!("checkpoints/{id}.json"));
    assert_eq!(home.json(&copy)["mine"], 1);
    assert_eq!(copy.metadata().unwrap().mtime(), original.0.metadata().unwrap().mtime());
    fs::remove_file(&original.0).unwrap();
    home.ok("ask-answer", &[&id, "on"]);
    assert!(home.told(&id, 1).contains(&format!("from checkpoint at {}", copy.display())));
    assert_eq!(home.json(&copy)["user_answer"], "on");
}

#[test]
fn another_workflows_checkpoint_and_a_torn_one_are_left_alone_and_the_answer_is_kept() {
    let home = Home::new();
    let watcher = home.watch();
    for (id, text, reason) in
        [("other", r#"{"workflow_id": "somebody", "user_answer": "merge"}"#, "somebody"), ("torn", r#"{"workflow_id": "to"#, "middle")]
    {
        let path = home.path(&format!("{id}.cp"));
        fs::write(&path, text).unwrap();
        cat(&home, &format!("pending/{id}.json"), &json!({"question": "?", "workflow_id": id, "checkpoint": path}).to_string());
        watcher.says(&format!("asked     {id}"));
        let output = home.run("ask-answer", &[id, "go"]);
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
        let told = home.told(id, 1);
        assert!(told.contains("User chose: go") && told.contains("missing or unreadable"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        home.closed(id, "delivered", 1);
    }
}

#[test]
fn two_watchers_launch_once() {
    let home = Home::new();
    let watchers = [home.watch(), home.watch()];
    for n in 0..8 {
        let id = format!("both{n}");
        cat(&home, &format!("pending/{id}.json"), &question(&id, "Which?"));
        home.sh(&format!("cd ~/.claude/questions && jq '.answer = \"a\"' pending/{id}.json > {id} && mv {id} pending/{id}.json && mv pending/{id}.json answered/"));
    }
    for n in 0..8 {
        home.closed(&format!("both{n}"), "delivered", 1);
        assert_eq!(home.launches(&format!("both{n}")).len(), 1);
    }
    let said: usize = watchers.iter().map(|w| w.said("launched").len()).sum();
    assert_eq!(said, 8);
}

#[test]
fn an_answer_through_our_tools_counts_although_a_hand_moved_the_question() {
    let home = Home::new();
    cat(&home, "pending/moved.json", &question("moved", "Which?"));
    home.sh("mv ~/.claude/questions/pending/moved.json ~/.claude/questions/answered/");
    home.ok("ask-answer", &["moved", "a"]);
    let _watcher = home.watch();
    assert!(home.told("moved", 1).contains("User chose: a"));
}
