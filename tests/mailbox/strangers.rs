//! Questions and answers written by hand, in bash with `cat`, `jq` and `mv`, against a real watcher and a scripted agent.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::Litter;
use crate::support::{World, needs, until};
use askbox::mailbox::read_question;
use askbox::mailbox::transitions::settle;

/// A hand-written question.
fn question(id: &str, text: &str) -> String {
    json!({"question": text, "options": {"a": "This", "b": "That"}, "workflow_id": id}).to_string()
}

/// Waits until a file written now has a later time than `path`: the clock of files ticks slowly.
fn tick_after(world: &World, path: impl AsRef<Path>) {
    let before = path.as_ref().symlink_metadata().unwrap().modified().unwrap() + Duration::from_millis(2);
    until("the next tick of the clock", || {
        fs::write(world.path("tick"), "x").unwrap();
        (world.path("tick").metadata().unwrap().modified().unwrap() > before).then_some(())
    });
}

const ASK: &str = include_str!("../fixtures/seed/ask.sh");
const ANSWER: &str = include_str!("../fixtures/seed/answer.sh");
const RESUME: &str = include_str!("../fixtures/seed/resume.sh");

#[test]
fn two_watchers_launch_once() {
    needs!("jq");
    let world = World::at_home();
    let watchers = [world.watch(), world.watch()];
    for n in 0..8 {
        let id = format!("both{n}");
        world.put(format!("pending/{id}.json"), question(&id, "Which?"));
        world.bash(&format!("cd ~/.claude/questions && jq '.answer = \"a\"' pending/{id}.json > {id} && mv {id} pending/{id}.json && mv pending/{id}.json answered/"));
    }
    for n in 0..8 {
        world.closed(&format!("both{n}"), "delivered", 1);
        assert_eq!(world.launches_of(&format!("both{n}")).len(), 1);
    }
    // A watcher says it after the start of the supervisor, which may be quicker.
    let said = || watchers.iter().map(|w| w.said("launched").len()).sum::<usize>();
    until("every launch is said", || said() >= 8);
    assert_eq!(said(), 8);
}

#[test]
fn an_answer_through_our_tools_counts_after_a_move_by_hand() {
    let world = World::at_home();
    world.put("pending/moved.json", question("moved", "Which?"));
    world.bash("mv ~/.claude/questions/pending/moved.json ~/.claude/questions/answered/");
    world.ok("ask-answer", &["moved", "a"]);
    let _watcher = world.watch();
    assert!(world.told("moved", 1).contains("User chose: a"));
}

mod promises {
    use super::*;

    #[test]
    fn the_first_sketchs_snippets_run_and_launch_the_agent_once() {
        let world = World::at_home();
        let id = world.id("workflow");
        let checkpoint = Litter(format!("/tmp/workflow_{id}_checkpoint.json").into());
        // The main agent's own relaunch is the one line that is not ours to run: a `claude` that does nothing.
        fs::create_dir(world.path("bin")).unwrap();
        world.bash("printf '#!/bin/sh\\n' > bin/claude && chmod +x bin/claude");
        let watcher = world.watch();
        world.agent_does(
            &id,
            "bash -c '. \"$AGENT_DIR/resume.sh\"; echo \"$USER_CHOICE|$CURRENT_STEP|$PROPOSED_CHANGES|$BACKUP|$ORIGINAL\"'",
        );
        fs::write(world.agent("resume.sh"), RESUME).unwrap();

        assert_eq!(world.bash_for(&id, ASK), format!("QUESTION_POSTED:{id}\n"));
        watcher.says(&format!("asked     {id}  Review found content overlap."));
        tick_after(&world, world.in_mailbox(format!("pending/{id}.json")));
        world.bash_for(&id, &format!("PATH=$HOME/bin:$PATH\n{ANSWER}"));

        let told = world.told(&id, 1);
        assert!(told.contains(&format!("Resume workflow from checkpoint at {}", checkpoint.0.display())), "{told}");
        assert!(told.contains("User chose: restructure (Restructure both sections)"), "{told}");
        let round = world.closed(&id, "delivered", 1).remove(0);
        assert_eq!(round["answer"]["value"], "restructure");
        assert_eq!(round["answer"]["by"], "hand");
        let read = fs::read_to_string(world.agent(&format!("work.{id}.1"))).unwrap();
        assert_eq!(read, "restructure|pre_implementation_review|/tmp/doc_proposed_changes_123.md|/tmp/doc_backup_123.md|/path/to/doc.md\n");
        assert_eq!(world.launches_of(&id).len(), 1);
        world.audit_is(&id, &["posted", "answered", "claimed", "delivered"]);
    }

    #[test]
    fn the_first_sketchs_snippets_work_before_a_watcher_starts() {
        let world = World::at_home();
        let id = world.id("late");
        let _checkpoint = Litter(format!("/tmp/workflow_{id}_checkpoint.json").into());
        world.bash_for(&id, ASK);
        tick_after(&world, world.in_mailbox(format!("pending/{id}.json")));
        world.bash_for(&id, &format!("claude() {{ :; }}\n{ANSWER}"));
        let _watcher = world.watch();
        assert!(world.told(&id, 1).contains("User chose: restructure"));
        world.closed(&id, "delivered", 1);
        assert_eq!(world.launches_of(&id).len(), 1);
    }

    #[test]
    fn a_question_made_by_jq_and_mv_is_asked_and_answered() {
        needs!("jq");
        let world = World::at_home();
        let watcher = world.watch();
        world.bash(r#"cd ~/.claude/questions && jq -n '{question: "Go on?", workflow_id: "made", mine: [1.5]}' > pending/.made && mv pending/.made pending/made.json"#);
        watcher.says("asked     made  Go on?");
        world.ok("ask-answer", &["made", "yes, do"]);
        assert!(world.told("made", 1).contains("User chose: yes, do"));
        assert_eq!(world.closed("made", "delivered", 1)[0]["mine"], json!([1.5]));
    }

    #[test]
    fn a_question_moved_before_its_answer_waits_for_it() {
        needs!("jq");
        let world = World::at_home();
        let _watcher = world.watch();
        let checkpoint = world.path("cp.json");
        fs::write(&checkpoint, r#"{"workflow_id": "early", "current_step": "one"}"#).unwrap();
        world.put("pending/early.json", json!({"question": "?", "workflow_id": "early", "checkpoint": checkpoint}).to_string());
        tick_after(&world, world.in_mailbox("pending/early.json"));
        world.bash("jq '.user_answer = \"a\"' cp.json > cp.tmp");
        // The watcher waits only a few seconds for the answer.
        fs::rename(world.in_mailbox("pending/early.json"), world.in_mailbox("answered/early.json")).unwrap();
        fs::rename(world.path("cp.tmp"), &checkpoint).unwrap();
        assert!(world.told("early", 1).contains("User chose: a"));
        world.closed("early", "delivered", 1);
        // Now the checkpoint also says which question it answers.
        let round = world.closed("early", "delivered", 1).remove(0);
        assert_eq!(world.json(&checkpoint)["user_answer_to"], round["question_id"]);
    }

    #[test]
    fn a_question_moved_without_an_answer_comes_back() {
        let world = World::at_home();
        let _watcher = world.watch();
        let checkpoint = world.path("cp.json");
        // The answer of an earlier round, in a checkpoint that was saved before the question was asked.
        fs::write(&checkpoint, r#"{"workflow_id": "bare", "user_answer": "merge"}"#).unwrap();
        world.put("pending/bare.json", json!({"question": "?", "workflow_id": "bare", "checkpoint": checkpoint}).to_string());
        world.bash("mv ~/.claude/questions/pending/bare.json ~/.claude/questions/answered/");
        until("its way back", || world.audit("bare").contains(&"undone".to_owned()).then_some(()));
        assert!(world.in_mailbox("pending/bare.json").exists() && !world.in_mailbox("answered/bare.json").exists());
        assert_eq!(world.launches_of("bare").len(), 0);
        world.ok("ask-answer", &["bare", "proceed"]);
        assert!(world.told("bare", 1).contains("User chose: proceed"));
    }

    #[test]
    fn an_answer_noted_for_an_earlier_round_is_not_for_the_next() {
        needs!("jq");
        let world = World::at_home();
        let _watcher = world.watch();
        world.bash_for("two", "");
        fs::write(world.path("in.json"), r#"{"current_step": "one"}"#).unwrap();
        world.ok("checkpoint", &["save", "two", "--file", "in.json"]);
        world.ok("ask-post", &["-w", "two", "First?"]);
        world.ok("ask-answer", &["two", "merge"]);
        world.closed("two", "delivered", 1);
        world.ok("ask-post", &["-w", "two", "Second?"]);
        tick_after(&world, world.in_mailbox("pending/two.json"));
        // The checkpoint goes on with the old answer in it, newer than the second question.
        world.ok("checkpoint", &["step", "two", "next"]);
        world.bash("mv ~/.claude/questions/pending/two.json ~/.claude/questions/answered/");
        until("its way back", || world.audit("two").contains(&"undone".to_owned()).then_some(()));
        // A hand that knows nothing of our note writes another answer beside it: that one counts.
        world.bash("cd ~/.claude/questions && jq '.user_answer = \"split\"' checkpoints/two.json > t && mv t checkpoints/two.json && mv pending/two.json answered/");
        assert!(world.told("two", 2).contains("User chose: split"));
        assert_eq!(world.launches_of("two").len(), 2);
    }

    #[test]
    fn an_answer_written_into_the_moved_file_counts() {
        needs!("jq");
        let world = World::at_home();
        let _watcher = world.watch();
        for (id, answer) in [("text", r#""b""#), ("object", r#"{"value": "b", "by": "ann", "note": "soon"}"#)] {
            let checkpoint = world.path(format!("{id}.cp"));
            fs::write(&checkpoint, format!(r#"{{"workflow_id": "{id}"}}"#)).unwrap();
            let mut asked: Value = serde_json::from_str(&question(id, "Which?")).unwrap();
            asked["checkpoint"] = json!(checkpoint);
            world.put(format!("pending/{id}.json"), asked.to_string());
            world.bash(&format!(
            "cd ~/.claude/questions && jq '.answer = {answer}' pending/{id}.json > {id}.tmp && mv {id}.tmp pending/{id}.json && mv pending/{id}.json answered/"
        ));
            let told = world.told(id, 1);
            assert!(told.contains("User chose: b (That)"), "{told}");
            let round = world.closed(id, "delivered", 1).remove(0);
            assert_eq!(round["answer"]["by"], if id == "text" { "hand" } else { "ann" });
            assert_eq!(world.json(&checkpoint)["user_answer"], "b");
            assert_eq!(world.launches_of(id).len(), 1);
        }
        assert!(world.told("object", 1).contains("The user added: soon"));
    }

    #[test]
    fn an_answer_by_hand_that_does_not_fit_is_undone_and_not_run() {
        let world = World::at_home();
        let _watcher = world.watch();
        // Complete to look at, but no answer to this question.
        world.put(
        "answered/strict.json",
        r#"{"question": "?", "workflow_id": "strict", "question_id": "01990000-0000-7000-8000-000000000001", "options": {"a": "A"}, "free_text": false,
            "answer": {"value": "zzz", "by": "x", "at": "2026-01-01T00:00:00Z"}}"#,
    );
        world.appears("pending/strict.json");
        assert_eq!(world.launches_of("strict").len(), 0);
        world.audit_is("strict", &["undone"]);
    }

    #[test]
    fn a_copy_instead_of_a_move_is_one_answer() {
        needs!("jq");
        let world = World::at_home();
        let _watcher = world.watch();
        world.put("pending/copied.json", question("copied", "Which?"));
        world.bash("cd ~/.claude/questions && jq '.answer = \"a\"' pending/copied.json > p && cp p answered/copied.json && rm p");
        assert!(world.told("copied", 1).contains("User chose: a"));
        world.closed("copied", "delivered", 1);
        world.vanishes("pending/copied.json");
        assert_eq!(world.launches_of("copied").len(), 1);
        // A copy without an answer changes nothing and takes nothing away.
        world.put("pending/bare.json", question("bare", "Which?"));
        world.bash("cd ~/.claude/questions && cp pending/bare.json answered/bare.json");
        assert!(world.reason("bare.json").contains("pending/ still holds the question"));
        assert!(world.in_mailbox("pending/bare.json").exists());
        assert_eq!(world.launches_of("bare").len(), 0);
    }

    #[test]
    fn the_same_hand_written_question_asked_twice_is_two_rounds() {
        needs!("jq");
        let world = World::at_home();
        let _watcher = world.watch();
        // The agent asks the same question again in its first run.
        world.agent_does("again", "[ \"$n\" -gt 1 ] || cat > \"$HOME/.claude/questions/pending/again.json\" < \"$AGENT_DIR/again.json\"");
        let text = question("again", "Once more?");
        fs::write(world.agent("again.json"), &text).unwrap();
        world.put("pending/again.json", &text);
        tick_after(&world, world.in_mailbox("pending/again.json"));
        world.bash("cd ~/.claude/questions && jq '.answer = \"a\"' pending/again.json > t && mv t answered/again.json");
        assert!(world.told("again", 1).contains("User chose: a"));
        world.closed("again", "delivered", 1);
        world.appears("pending/again.json");
        world.ok("ask-answer", &["again", "b"]);
        assert!(world.told("again", 2).contains("User chose: b"));
        let rounds = world.closed("again", "delivered", 2);
        assert_ne!(rounds[0]["question_id"], rounds[1]["question_id"]);
        let mut values: Vec<_> = rounds.iter().map(|r| r["answer"]["value"].as_str().unwrap()).collect();
        values.sort_unstable();
        assert_eq!(values, ["a", "b"]);
        assert_eq!(world.launches_of("again").len(), 2);
    }

    #[test]
    fn a_question_asked_again_before_the_answer_is_not_lost() {
        needs!("jq");
        let world = World::at_home();
        let text = question("early", "Once more?");
        world.put("pending/early.json", &text);
        tick_after(&world, world.in_mailbox("pending/early.json"));
        world.bash("cd ~/.claude/questions && jq '.answer = \"a\"' pending/early.json > t && mv t pending/early.json && mv pending/early.json answered/");
        tick_after(&world, world.in_mailbox("answered/early.json"));
        // No watcher yet, and already the next round, word for word.
        world.put("pending/early.json", &text);
        let _watcher = world.watch();
        world.closed("early", "delivered", 1);
        assert_eq!(fs::read_to_string(world.in_mailbox("pending/early.json")).unwrap(), text);
        world.ok("ask-answer", &["early", "b"]);
        assert!(world.told("early", 2).contains("User chose: b"));
        world.closed("early", "delivered", 2);
    }

    #[test]
    fn a_question_written_over_the_answered_one_is_not_lost() {
        use askbox::mailbox::Mailbox;

        let world = World::at_home();
        let mailbox = Mailbox::open_or_create(world.in_mailbox("").to_str().unwrap().trim_end_matches('/')).unwrap();
        world.put("pending/over.json", question("over", "First?"));
        world.ok("ask-answer", &["over", "a"]);
        let document = read_question::document(&world.in_mailbox("answered/over.json")).unwrap();
        let (round, at) = (document.typed.round().unwrap(), document.typed.answer.unwrap().at);
        let lock = mailbox.lock(&round.workflow).unwrap();
        // Between the look at the question and its removal: another one, and one that is half written.
        for text in [question("over", "Second?"), r#"{"question": "Third"#.to_owned()] {
            world.put("pending/over.json", &text);
            settle::retire_pending(&mailbox, &round, at).unwrap();
            assert_eq!(fs::read_to_string(world.in_mailbox("pending/over.json")).unwrap(), text);
        }
        // A crash with the newer question moved aside: the next watcher brings it back.
        let aside = world.in_mailbox(format!("pending/.tmpretired.{round}"));
        fs::write(world.in_mailbox("pending/over.json"), question("over", "Fourth?")).unwrap();
        fs::rename(world.in_mailbox("pending/over.json"), &aside).unwrap();
        drop(lock);
        let _watcher = world.watch();
        world.appears("pending/over.json");
        assert_eq!(world.json(world.in_mailbox("pending/over.json"))["question"], "Fourth?");
        assert!(!aside.exists());
        world.closed("over", "delivered", 1);
        world.ok("ask-answer", &["over", "b"]);
        assert!(world.told("over", 2).contains("Fourth?"));
    }

    #[test]
    fn a_checkpoint_in_tmp_is_kept_at_intake() {
        let world = World::at_home();
        let watcher = world.watch();
        let id = world.id("kept");
        let original = Litter(format!("/tmp/askbox-test-{id}.json").into());
        fs::write(&original.0, json!({"workflow_id": id, "current_step": "three", "mine": 1}).to_string()).unwrap();
        fs::File::options()
            .append(true)
            .open(&original.0)
            .unwrap()
            .set_modified(std::time::SystemTime::now() - Duration::from_secs(3600))
            .unwrap();
        world.put(format!("pending/{id}.json"), json!({"question": "?", "workflow_id": id, "checkpoint": original.0}).to_string());
        watcher.says(&format!("asked     {id}"));
        let copy = world.in_mailbox(format!("checkpoints/{id}.json"));
        assert_eq!(world.json(&copy)["mine"], 1);
        assert_eq!(copy.metadata().unwrap().mtime(), original.0.metadata().unwrap().mtime());
        fs::remove_file(&original.0).unwrap();
        world.ok("ask-answer", &[&id, "on"]);
        assert!(world.told(&id, 1).contains(&format!("from checkpoint at {}", copy.display())));
        assert_eq!(world.json(&copy)["user_answer"], "on");
    }

    #[test]
    fn a_foreign_and_a_torn_checkpoint_are_left_alone() {
        let world = World::at_home();
        let watcher = world.watch();
        let not_used = "not used, it does not say that it is this workflow's checkpoint";
        let cases = [
            ("other", r#"{"workflow_id": "somebody", "user_answer": "merge"}"#, "somebody", not_used),
            ("torn", r#"{"workflow_id": "to"#, "middle", "missing or unreadable"),
        ];
        for (id, text, reason, words) in cases {
            let path = world.path(format!("{id}.cp"));
            fs::write(&path, text).unwrap();
            world.put(format!("pending/{id}.json"), json!({"question": "?", "workflow_id": id, "checkpoint": path}).to_string());
            watcher.says(&format!("asked     {id}"));
            let output = world.run("ask-answer", &[id, "go"]);
            assert!(output.status.success(), "{output:?}");
            assert!(output.stderr.contains(reason), "{output:?}");
            let told = world.told(id, 1);
            assert!(told.contains("User chose: go") && told.contains(words), "{told}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            world.closed(id, "delivered", 1);
        }
    }
}
