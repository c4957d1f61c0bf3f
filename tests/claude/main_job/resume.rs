//! Earlier sessions are forked only if askbox launched them and their transcript exists.

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// A workflow whose first run, launched by askbox as `session`, has asked a second question, without a checkpoint.
struct Asked {
    world: ClaudeWorld,
    session: String,
    transcript: PathBuf,
}

#[track_caller]
fn asked_in_a_run_of_ours(config: &str) -> Asked {
    let mut world = ClaudeWorld::new();
    world.configure(config);
    world.user_session(&json!([bash("ask-post 'First?' -w w"), {"text": "asked"}]));
    world.api.on("User chose: alpha", json!([bash("ask-post 'Second, the walnut?'"), {"text": "asked again"}]));
    world.keep_watching();
    world.answer("w", "alpha");
    let status = world.wait_status("w", "asking again", |s| s["state"] == "pending" && s["question"] == "Second, the walnut?");
    let round = status["question_id"].as_str().expect("a round");
    let session = world.document("pending/w.json")["session_id"].as_str().expect("a session").to_owned();
    assert_ne!(round, session);
    assert!(world.launches()[0].args.contains(&format!("--session-id={session}")), "{:?}", world.launches());
    let transcript = world.transcript_of(&session).expect("a transcript");
    Asked { world, session, transcript }
}

#[track_caller]
fn answered_and_delivered(world: &ClaudeWorld, answer: &str, result: &str) -> Value {
    world.answer("w", answer);
    world.wait_status("w", "delivered", |s| s["state"] == "delivered" && s["result"] == result)
}

/// A `claude` whose first fork is killed as soon as its transcript exists. What the transcript holds then is kept in the file `begun`.
fn kill_the_first_fork(world: &ClaudeWorld) {
    let (home, config) = (world.path("killed"), world.claude_config());
    let real = world.claude_program();
    // Its launch is written down as `install_claude` does it.
    let body = std::fs::read_to_string(world.path("bin/claude")).expect("the program");
    let start = format!("exec '{}' \"$@\"", real.display());
    assert!(body.contains(&start), "{body}");
    let killed = format!(
        r#"case "$*" in *--fork-session*) [ -e '{home}' ] || {{
            mkdir '{home}'; exec 3<&0; for word; do case $word in --session-id=*) id=${{word#*=}}; esac; done
            '{real}' "$@" <&3 & until cat '{config}'/projects/*/$id.jsonl > '{home}/begun' 2> '{home}/no' && [ -s '{home}/begun' ]; do :; done
            kill -9 $!; wait $!; cat '{config}'/projects/*/$id.jsonl > '{home}/begun'; exit 1
        }};; esac; {start}"#,
        home = home.display(),
        real = real.display(),
        config = config.display()
    );
    let body = body.trim_start_matches("#!/bin/sh\n").replace(&start, &killed);
    world.add_script("claude", &body);
}

#[test]
fn a_fork_killed_before_its_first_message_is_forked_again() {
    let Asked { world, session, .. } = asked_in_a_run_of_ours("[relaunch]\nbackoff = '10ms'\n");
    kill_the_first_fork(&world);
    // The fork is killed before it has a reply.
    world.api.on("User chose: beta", json!([{"text": "went on", "delay_ms": 10000}]));
    world.api.on("Your process was interrupted", json!([{"text": "went on"}]));
    let status = answered_and_delivered(&world, "beta", "went on");
    assert_eq!(status["attempt"], 2, "{status}");
    let begun = std::fs::read_to_string(world.path("killed/begun")).expect("the transcript at the moment of the kill");
    let launches = world.launches();
    assert_eq!(launches.len(), 3, "{launches:#?}");
    let fork = status["session_id"].as_str().expect("a session");
    let is_void = !begun.lines().any(|line| line.contains(r#""type":"user""#) || line.contains(r#""type":"assistant""#));
    if is_void {
        assert!(launches[2].args.contains(&format!("--resume={session} --fork-session --session-id={fork}")), "{launches:#?}");
        assert!(!launches[1].args.contains(fork), "its id is taken");
    }
    let last = world.api.turns().pop().expect("a turn").model_text();
    assert_eq!((last.matches("User chose: alpha").count(), last.matches("User chose: beta").count()), (1, 1), "{last}");
    assert!(last.contains("QUESTION_POSTED:w"), "the conversation so far is there: {last}");
}

#[test]
fn a_session_that_a_user_started_is_never_resumed() {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nmode = 'resume'\n");
    // A Task-tool subagent's Bash sees the same session id as its main session's.
    let ask = "ask-post 'Which?' -w w";
    let agent = json!({"tool": "Task", "input": {"description": "asks", "subagent_type": "general-purpose", "run_in_background": false,
        "prompt": format!("@@{}", json!([bash(ask), {"text": "asked"}]))}});
    let outcome = world.user_session(&json!([agent, {"text": "ended"}]));
    let main = outcome.result()["session_id"].as_str().expect("a session").to_owned();
    assert_eq!(world.document("pending/w.json")["session_id"], main.as_str());
    assert!(world.transcript_of(&main).is_some());

    world.api.on("User chose: alpha", json!([{"text": "went on"}]));
    world.keep_watching();
    answered_and_delivered(&world, "alpha", "went on");
    assert!(!world.launches()[0].args.contains("--resume"), "{:?}", world.launches());
    assert_eq!(world.notes("w"), ["fresh instead of resume: the asker's session was not launched by askbox"]);
    let told = world.api.requests_with_text("User chose: alpha")[0].model_text();
    assert!(told.contains("Resume workflow w. Checkpoint: (none was saved)."), "{told}");
}

#[test]
fn a_session_whose_transcript_is_gone_is_not_resumed() {
    let Asked { world, session, transcript } = asked_in_a_run_of_ours("[relaunch]\nmode = 'resume'\n");
    std::fs::remove_file(transcript).expect("it was there");
    world.api.on("User chose: beta", json!([{"text": "went on"}]));
    answered_and_delivered(&world, "beta", "went on");
    assert!(!world.launches()[1].args.contains("--resume"), "{:?}", world.launches());
    assert_eq!(world.notes("w"), [format!("fresh instead of resume: the transcript of session {session} is gone")]);
    let told = world.api.requests_with_text("User chose: beta")[0].model_text();
    assert!(told.contains("Resume workflow w. Checkpoint: (none was saved).") && told.contains("\nThe answer was: alpha\n"), "{told}");
}

#[test]
fn a_transcript_that_vanishes_after_the_claim_means_fresh() {
    let Asked { world, session, transcript } = asked_in_a_run_of_ours("[relaunch]\nmode = 'resume'\n");
    // The agent dies at its start, so that the claimed round is parked.
    world.configure("[relaunch]\nmode = 'resume'\nattempts = 1\n[runner.claude]\nargs = ['--no-such-option']\n");
    world.answer("w", "beta");
    world.wait_state("w", "parked");
    std::fs::remove_file(transcript).expect("it was there");
    world.configure("[relaunch]\nmode = 'resume'\n");
    world.api.on("User chose: beta", json!([{"text": "went on"}]));
    world.run("relaunch", &["retry", "w"]).ok();
    let told = world.api.requests_with_text("User chose: beta")[0].model_text();
    assert!(told.contains("Resume workflow w. Checkpoint: (none was saved)."), "{told}");
    assert!(world.notes("w").contains(&format!("fresh instead of resume: the transcript of session {session} is gone")));
    assert_eq!(world.status("w")["state"], "delivered");
}

#[test]
fn a_session_is_forked_only_once_its_own_run_has_ended() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash(ask-post:*)', 'Bash(hold:*)']\n");
    world.add_hold("hold");
    world.keep_watching_from_the_start();
    world.ask("a", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("ask-post 'Which?' -w b"), bash("hold"), {"text": "a is done"}]));
    world.api.on("User chose: left", json!([{"text": "b is done"}]));
    world.answer("a", "yes");
    world.api.wait_for_text("QUESTION_POSTED:b", 1, LIMIT);
    world.answer("b", "left");
    let refused = world.run("relaunch", &["b"]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert!(refused.stderr.contains("still works for a"), "{refused:?}");
    assert_eq!(world.launches().len(), 1);
    world.release("hold");
    let released = Instant::now();
    let status = world.wait_state("b", "delivered");
    assert!(released.elapsed() < LIMIT / 2, "nobody told the watcher: {:?}", released.elapsed());
    assert_eq!(status["result"], "b is done");
    let asker = world.status("a")["session_id"].as_str().expect("a session").to_owned();
    assert!(world.launches()[1].args.contains(&format!("--resume={asker} --fork-session")), "{:?}", world.launches());
    let told = &world.api.requests_with_text("User chose: left")[0];
    assert_eq!(told.tool_results(), ["QUESTION_POSTED:b", "holding\nreleased"]);
    assert!(told.assistant_text().contains("a is done"), "{}", told.assistant_text());
}

mod promises {
    use super::*;

    #[test]
    fn a_run_that_asked_without_a_checkpoint_is_forked() {
        for config in ["[relaunch]\nmode = 'resume'\n", ""] {
            let Asked { world, session, transcript } = asked_in_a_run_of_ours(config);
            let before = std::fs::read(&transcript).expect("its bytes");
            world.api.on("User chose: beta", json!([{"text": "went on"}]));
            let status = answered_and_delivered(&world, "beta", "went on");

            let fork = status["session_id"].as_str().expect("a session");
            let launches = world.launches();
            assert_eq!(launches.len(), 2);
            let flags = format!("--resume={session} --fork-session --session-id={fork}");
            assert!(launches[1].args.contains(&flags), "{launches:#?}");
            let requests = world.api.requests_with_text("User chose: beta");
            assert_eq!(requests.len(), 1);
            assert_eq!(requests[0].session_id().as_deref(), Some(fork));
            let told = requests[0].model_text();
            // The conversation so far, its question among the tool calls, and then the answer.
            assert!(told.contains("User chose: alpha") && told.contains("QUESTION_POSTED:w"), "{told}");
            assert!(requests[0].assistant_text().contains("asked again"));
            assert!(told.contains("The question of workflow w has its reply.\nQuestion: Second, the walnut?\nUser chose: beta"), "{told}");
            assert_eq!(told.matches("User chose: beta").count(), 1);
            assert!(std::fs::read(&transcript).expect("its bytes") == before, "the original was changed");
        }
    }

    #[test]
    fn mode_auto_starts_a_fresh_session_with_a_checkpoint() {
        let Asked { world, session, .. } = asked_in_a_run_of_ours("");
        world.api.on(
            "User chose: beta",
            json!([bash("checkpoint save --step three --next-action 'ask the third'"), bash("ask-post 'Third?'"), {"text": "asked"}]),
        );
        world.answer("w", "beta");
        world.wait_status("w", "asking", |s| s["state"] == "pending" && s["question"] == "Third?");
        world.api.on("User chose: gamma", json!([{"text": "went on"}]));
        answered_and_delivered(&world, "gamma", "went on");
        let launches = world.launches();
        assert!(launches[1].args.contains(&format!("--resume={session} ")), "{launches:#?}");
        assert!(!launches[2].args.contains("--resume"), "{launches:#?}");
        let told = world.api.requests_with_text("User chose: gamma")[0].model_text();
        assert!(told.contains("checkpoints/w.json") && !told.contains("User chose: alpha"), "{told}");
        assert_eq!(world.notes("w"), [""; 0]);
    }
}
