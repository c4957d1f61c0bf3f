//! A question means what its writer meant: what would be misread is refused before it is posted, and what the next process will not
//! know is said.

use serde_json::json;

use crate::support::{World, approval_question};

#[test]
fn a_default_that_would_decide_by_a_typo_is_refused() {
    let world = World::new();
    let words = world.refused(5, "ask-post How? -w w -o keep=K -o merge=M --timeout 2h --default kep");
    assert!(words.contains("default") && words.contains("keep, merge"), "{words}");
    assert!(world.refused(5, "ask-post How? -w w --timeout 2h --default ''").contains("default: is empty"));
}

#[test]
fn a_default_without_a_time_limit_is_said_to_never_apply() {
    let world = World::new();
    let warns =
        |command: &str| world.shell(command).stderr.contains("never applies, because the question has no time limit: add --timeout 2h");
    let question = r#"'{"workflow_id": "a", "question": "Go?", "default": "yes"}'"#;
    assert!(warns(&format!("echo {question} | ask-post --file -")));
    assert!(warns(&format!("echo {question} | ask-post --supersede --file - --wait 1s")));
    assert!(warns(&format!("echo [{question}] | ask-post --supersede --batch --file -")));
    assert!(!warns("ask-post -w d 'Go?' -t yes_no --default yes --timeout 2h") && !warns("ask-post -w e 'Go?' -t yes_no"));
    // On the command line, the flag needs the other one.
    let refused = world.refused(2, "ask-post -w f 'Go?' -t yes_no --default yes");
    assert!(refused.contains("were not provided: --timeout <DURATION>"), "{refused}");
}

#[test]
fn a_post_without_a_checkpoint_says_what_will_be_known() {
    let world = World::new();
    let ran = world.shell("ask-post How? -w w -o a=A");
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "QUESTION_POSTED:w\n"));
    assert!(ran.stderr.contains("warning: w: there is no checkpoint") && ran.stderr.contains("checkpoint save w"), "{}", ran.stderr);
    world.sh("checkpoint save saved --step one");
    assert_eq!(world.shell("ask-post How? -w saved").stderr, "");
    std::fs::write(
        world.path("many.json"),
        json!([{"workflow_id": "v", "question": "?"}, {"workflow_id": "u", "question": "?"}]).to_string(),
    )
    .unwrap();
    assert!(world.shell("ask-post --batch --file many.json").stderr.contains("v and 1 more: there is no checkpoint"));
    // A workflow whose session askbox launched goes on in that session.
    let session = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11";
    let record = json!({"workflow_id": "launched", "session_id": session});
    std::fs::write(world.path("m/workflows/launched.json"), record.to_string()).unwrap();
    std::fs::create_dir_all(world.home().join(".claude/projects/p")).unwrap();
    std::fs::write(world.home().join(format!(".claude/projects/p/{session}.jsonl")), "{\"type\":\"user\"}\n").unwrap();
    assert_eq!(world.shell("ask-post How? -w launched").stderr, "");
}

#[test]
fn a_transcript_that_comes_late_is_no_missing_checkpoint() {
    let world = World::new();
    let session = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11";
    let launched = |id: &str| {
        let record = json!({"workflow_id": id, "session_id": session});
        std::fs::write(world.path("m/workflows").join(format!("{id}.json")), record.to_string()).unwrap();
    };
    world.sh("checkpoint save other --step one && mkdir -p m/workflows");
    launched("soon");
    launched("never");
    let transcript = world.home().join(format!(".claude/projects/p/{session}.jsonl"));
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    // Claude Code begins the file with lines about the session. The agent's first call can come before its first message.
    std::fs::write(&transcript, "{\"type\":\"queue-operation\"}\n").unwrap();
    let run = format!("ASKBOX_RUN=soon/{session}/1 ASKBOX_NONCE={session}");
    let without = world.shell(&format!("{run} ask-post How? -w never"));
    assert!(without.stderr.contains("never: there is no checkpoint"), "{}", without.stderr);
    let late = format!("(sleep 0.5; echo '{{\"type\":\"user\"}}' >> {}) & {run} ask-post How? -w soon; wait", transcript.display());
    let ran = world.shell(&late);
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "QUESTION_POSTED:soon\n", ""));
}

#[test]
fn an_agent_without_a_checkpoint_is_not_told_to_read_one() {
    let world = World::new();
    world.sh("ask-post How? -w none -o a=A && ask-answer none a");
    let prompt = world.sh("relaunch prompt none");
    assert!(prompt.contains("Checkpoint: (none was saved).\nQuestion that was asked: How?\nUser chose: a (A)\n"), "{prompt}");
    assert!(!prompt.contains("checkpoint show") && !prompt.contains("from checkpoint"), "{prompt}");
    world.sh("checkpoint save some --step one && ask-post How? -w some && ask-answer some yes");
    let prompt = world.sh("relaunch prompt some");
    assert!(prompt.starts_with("Resume workflow from checkpoint at /") && prompt.contains("checkpoint show some"), "{prompt}");
}

#[test]
fn a_prompt_of_the_operators_own_is_checked_when_it_is_read() {
    let world = World::new();
    world.sh("ask-post How? -w w && ask-answer w yes");
    for (prompt, says) in [
        (
            "{anwser} Go on.",
            "there is no {anwser}, only {workflow_id}, {checkpoint}, {question}, {answer}; did you mean {answer}? (line 2, column 10)",
        ),
        ("Go on from {checkpoint}.", "{answer} is missing: the agent would not get the answer (line 2, column 10)"),
    ] {
        world.configure(&format!("[relaunch]\nprompt = \"{prompt}\"\n"));
        let words = world.refused(5, "relaunch prompt w");
        assert!(words.contains(&format!("relaunch.prompt: {says}")), "{words}");
        assert!(world.path("m/answered/w.json").exists(), "the answer was taken although the agent could not get it");
    }
    world.configure("[relaunch]\nprompt = 'Answer: {answer}. Reply as {\"done\": true}.'\n");
    assert_eq!(world.sh("relaunch prompt w"), "Answer: User chose: yes. Reply as {\"done\": true}.");
}

#[test]
fn a_run_of_an_agent_allows_no_tool_call() {
    let world = World::new();
    let question = approval_question("w", "May the agent call Bash?");
    world.make_mailbox();
    std::fs::write(world.in_mailbox("pending/w.json"), question.to_string()).unwrap();
    let run = "ASKBOX_RUN=v/01a20605-3431-7298-8d9f-05f18633a3ef/1";
    let ran = world.shell(&format!("{run} ask-answer w once"));
    assert_eq!(ran.code(), 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("an agent's run answers no such question"), "{}", ran.stderr);
    assert_eq!(world.shell(&format!("echo once | {run} ask-answer w -")).code(), 4);
    world.sh(&format!("ask-answer w once --round {}", world.seen("w")));
}

#[test]
fn a_waiter_applies_the_default_of_its_own_question() {
    let world = World::new();
    let waited = world.shell("ask-post Deploy? -w w -t yes_no --timeout 1s --default no --wait 60s");
    assert_eq!((waited.code(), waited.stdout.as_str()), (0, "no\n"), "{waited:?}");
    assert!(world.sh("ask-answer show w").contains("default"));
    let expired = world.shell("ask-post Deploy? -w v -t yes_no --timeout 1s --on-expiry cancel --wait 60s");
    assert_eq!(expired.code(), 4, "{expired:?}");
    assert!(expired.stderr.contains("the question of v has expired"), "{expired:?}");
}

#[test]
fn a_reply_to_a_round_that_nobody_knows_is_not_called_one() {
    let world = World::new();
    let asked = json!({"workflow_id": "w", "question": "Merge?", "in_reply_to": "01a20605-3431-7298-8d9f-05f18633a3ef"});
    world.make_mailbox();
    std::fs::write(world.path("m/pending/w.json"), asked.to_string()).unwrap();
    let listed = world.sh("ask-answer list");
    assert!(listed.contains("Merge?") && !listed.contains("reply to you"), "{listed}");
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

#[test]
fn the_name_of_an_image_can_be_copied_from_the_question() {
    let world = World::new();
    std::fs::write(world.path("a\u{202e}b.png"), PNG).unwrap();
    world.sh("ask-post Look? -w w --attach *.png");
    let shown = world.sh("ask-answer show w");
    let command = shown.lines().find_map(|line| line.trim().strip_prefix("to write it to a file: ")).unwrap();
    assert!(command.contains(r"--attachment $'a\342\200\256b.png'"), "{shown}");
    std::fs::write(world.path("run"), command.replace("FILE", "copy.png")).unwrap();
    world.sh("bash run");
    assert_eq!(std::fs::read(world.path("copy.png")).unwrap(), PNG);
}

mod promises {
    use super::*;

    #[test]
    fn options_that_nobody_could_choose_are_refused_before_the_post() {
        let world = World::new();
        let words = world.refused(5, "ask-post 'How many?' -w w -t number -o a=b");
        assert!(words.contains("the answer is of type number") && words.contains("leave the options out"), "{words}");
        world.refused(5, "ask-post Why? -w w -t text -o a=b");
        world.sh("ask-post Go? -w w -t yes_no -o yes=Deploy -o no=Wait");
    }

    #[test]
    fn a_misspelt_field_is_refused_and_a_field_of_ones_own_is_kept() {
        let world = World::new();
        let posts = |document: serde_json::Value| {
            std::fs::write(world.path("q.json"), document.to_string()).unwrap();
            "ask-post --file q.json"
        };
        let words = world.refused(5, posts(json!({"workflow_id": "w", "question": "How many?", "tpye": "number"})));
        assert!(words.contains("q.json") || words.contains("tpye: is an unknown field"), "{words}");
        assert!(words.contains("did you mean `type`?"), "{words}");
        assert!(world.refused(5, posts(json!({"workflow": "w", "question": "?"}))).contains("did you mean `workflow_id`?"));
        assert!(!world.path("m/pending/w.json").exists());
        std::fs::write(world.path("many.json"), json!([{"workflow_id": "v", "question": "?", "optins": ["a"]}]).to_string()).unwrap();
        assert!(world.refused(5, "ask-post --batch --file many.json").contains("did you mean `options`?"));
        world.sh(posts(json!({"workflow_id": "w", "question": "?", "ticket": 7, "tags": ["a"]})));
        assert_eq!(world.json("m/pending/w.json")["ticket"], 7);
        // A file made by hand is read as ever.
        let by_hand = json!({"workflow_id": "hand", "question": "?", "tpye": "number"});
        std::fs::write(world.path("m/pending/hand.json"), by_hand.to_string()).unwrap();
        world.sh("ask-answer hand 'as ever'");
        assert_eq!(world.json("m/answered/hand.json")["tpye"], "number");
    }

    #[test]
    fn a_number_has_bounds_that_are_shown_and_hold() {
        let world = World::new();
        world.sh("ask-post 'How much?' -w w --min 0.5 --max 4 --step 0.5 --unit GB");
        assert_eq!(world.json("m/pending/w.json")["range"], json!({"min": 0.5, "max": 4.0, "step": 0.5, "unit": "GB"}));
        let shown = world.sh("ask-answer show w");
        assert!(shown.contains("Answer: a number from 0.5 to 4, in steps of 0.5, in GB"), "{shown}");
        for outside in ["0", "4.5", "0.75", "-1"] {
            let words = world.refused(5, &format!("ask-answer w -- {outside}"));
            assert!(words.contains("hint: answer with a number from 0.5 to 4"), "{words}");
        }
        for (answer, status) in [("3.5 MB", 5), ("GB", 5), ("3.75 GB", 5), ("3.5 GB", 0)] {
            assert_eq!(world.run("ask-answer", &["w", answer]).code(), status, "{answer}");
        }
        assert_eq!(world.json("m/answered/w.json")["answer"]["value"], "3.5");
        for wrong in ["--min 2 --max 1", "--step 0", "--min 1 -t text", "--max 1 --timeout 1h --default 2"] {
            world.refused(5, &format!("ask-post 'How much?' -w v {wrong}"));
        }
        world.refused(2, "ask-post --until 2h -w v --min 1");
    }

    #[test]
    fn many_questions_come_from_a_file_and_from_nowhere_else() {
        let world = World::new();
        let words = world.refused(2, "ask-post --batch hi < /dev/null");
        assert!(words.contains("--batch") && words.contains("hint:"), "{words}");
    }
}
