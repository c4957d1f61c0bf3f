//! The facts about `claude` that askbox relies on, pinned against the real binary: if a newer version behaves differently, these tests say
//! which assumption broke. The other tests may then fail for that reason only.

use crate::support::claude::api::Api;
use crate::support::claude::live::{FLAGS, Live, kind};
use crate::support::claude::uuid;
use crate::support::claude::version::needs_claude;
use crate::support::{ClaudeWorld, LIMIT, Signal, feed, signal};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// The events that accompany one message that is run to its end.
const ONE_TURN: [&str; 6] = [
    "command_lifecycle/queued",
    "command_lifecycle/started",
    "system/init",
    "assistant",
    "result/success/completed",
    "command_lifecycle/completed",
];

/// The types of the events. News that single versions have for their user are left out.
fn kinds(events: &[Value]) -> Vec<String> {
    events.iter().map(kind).filter(|kind| kind != "system/informational").collect()
}

/// Runs one message in a session, to the end of the process, and returns the events.
#[track_caller]
fn one_message(world: &ClaudeWorld, args: &[&str], uuid: &str, text: &str) -> Vec<Value> {
    let mut live = Live::start(world, args);
    live.say(uuid, text);
    live.expect("end of the turn", |event| event["type"] == "command_lifecycle" && event["state"] == "completed");
    let (outcome, events) = live.finish();
    assert!(outcome.status.success(), "{outcome:?} {events:#?}");
    events
}

#[test]
fn a_session_id_chosen_by_us_is_used_and_its_transcript_remains() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let session = uuid();
    assert_eq!(world.transcript_of(&session), None);
    let outcome = world.prompt_stream(r#"@@[{"text":"done"}]"#, &["--session-id", &session]);
    let result = outcome.ok().result();
    assert_eq!(result["session_id"], session.as_str());
    assert_eq!(api.turns()[0].session_id(), Some(session.clone()));
    assert!(world.transcript_of(&session).is_some());

    let again = world.prompt("hello", &["--session-id", &session]);
    assert!(!again.status.success());
    assert!(again.stderr.contains("is already in use"), "{again:?}");
}

#[test]
fn a_message_before_a_tool_call_is_dropped_after_a_kill() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let (session, message) = (uuid(), uuid());
    needs_claude!(DropsRepetitionAfterTool);
    let text = r#"first @@[{"tool":"Bash","input":{"command":"echo hi"}},{"stall":true}]"#;
    let mut live = Live::start(&world, &["--session-id", &session]);
    live.say(&message, text);
    // The second request shows that the tool's result is in the conversation.
    api.wait_for(|log| log.len() == 2, LIMIT);
    signal(live.pid(), Signal::TERM);
    let (outcome, _) = live.finish();
    assert_eq!(outcome.status.code(), Some(143), "{outcome:?}");

    let events = one_message(&world, &["--resume", &session], &message, text);
    assert_eq!(kinds(&events), ["command_lifecycle/completed"]);
    assert_eq!(api.turns().len(), 2);
}

#[test]
fn a_message_killed_before_any_output_is_run_again() {
    needs_claude!(TranscriptBeforeOutput);
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let (session, message) = (uuid(), uuid());
    api.on("first", json!([{"stall": true}]));
    let mut live = Live::start(&world, &["--session-id", &session]);
    live.say(&message, "first");
    api.wait_for(|log| log.len() == 1, LIMIT);
    // SIGKILL here may leave no transcript at all; SIGTERM lets it be written.
    signal(live.pid(), Signal::TERM);
    let (outcome, _) = live.finish();
    assert_eq!(outcome.status.code(), Some(143), "{outcome:?}");
    assert!(world.transcript_of(&session).is_some());

    api.on("first", json!([{"text": "one"}]));
    let events = one_message(&world, &["--resume", &session], &message, "first");
    assert_eq!(kinds(&events), ONE_TURN);
}

#[test]
fn a_fork_does_not_know_the_uuids_of_its_parent() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let (session, fork, message) = (uuid(), uuid(), uuid());
    let text = r#"first @@[{"text":"one"}]"#;
    one_message(&world, &["--session-id", &session], &message, text);

    // So a run is tried again by resuming the run's own session, never by forking from it once more.
    let forking = ["--resume", &session, "--fork-session", "--session-id", &fork];
    let events = one_message(&world, &forking, &message, text);
    assert_eq!(kinds(&events), ONE_TURN);
    let told = api.turns().pop().expect("a turn").model_text();
    assert_eq!(told.matches("first @@").count(), 2, "{told}");

    let events = one_message(&world, &["--resume", &fork], &message, text);
    assert_eq!(kinds(&events), ["command_lifecycle/completed"]);
}

#[test]
fn an_allowed_tool_runs_and_another_is_refused_without_a_host() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    world.add_script("ask-post", "echo QUESTION_POSTED:$2");
    let prompt = r#"@@[{"tool":"Bash","input":{"command":"ask-post -w w1"}},
        {"tool":"Bash","input":{"command":"touch made"}},{"text":"done"}]"#;
    let args = ["--allowedTools", "Bash(ask-post:*)"];
    let result = world.prompt_stream(prompt, &args).ok().result();
    let results = api.turns().pop().expect("a turn").tool_results();
    assert_eq!(results[0], "QUESTION_POSTED:w1");
    assert!(results[1].contains("needs approval") || results[1].contains("was blocked"), "{results:?}");
    assert!(!world.work().join("made").exists());
    // A run with a refused call does not fail: only this list tells.
    assert_eq!(result["is_error"], false);
    let denied = &result["permission_denials"];
    assert_eq!(denied[0]["tool_input"]["command"], "touch made");
}

#[test]
fn the_built_in_question_reaches_the_permission_host() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    world.prompt(r#"@@[{"text":"plain"}]"#, &[]).ok();
    let offered = |api: &Api| {
        let tools = api.turns().pop().expect("a turn").tools();
        tools.iter().any(|tool| tool == "AskUserQuestion")
    };
    assert!(!offered(api), "it is offered without a host too");

    let input = json!({"questions": [{"question": "Which DB?", "header": "DB", "multiSelect": false, "options": [
        {"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]}]});
    api.on("pick one", json!([{"tool": "AskUserQuestion", "input": input}, {"text": "done"}]));
    let mut live = Live::start(&world, &[]);
    live.say(&uuid(), "pick one");
    let asked = live.expect_type("control_request");
    assert_eq!(asked["request"]["tool_name"], "AskUserQuestion");
    assert_eq!(asked["request"]["requires_user_interaction"], true);
    assert_eq!(asked["request"]["input"], input);
    let mut answered = input.clone();
    answered["answers"] = json!({"Which DB?": "Postgres"});
    live.permit(&asked, &json!({"behavior": "allow", "updatedInput": answered}));
    live.expect_type("result");
    live.finish();
    assert!(offered(api));
    let result = api.turns().pop().expect("a turn").tool_results().pop();
    let result = result.expect("a tool result");
    assert!(result.contains(r#""Which DB?"="Postgres""#), "{result}");
}

#[test]
fn an_agent_dies_with_its_parent_and_its_tools_die_too() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let fifo = world.work().join("alive");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    // The tool holds the pipe open for as long as any of its processes lives.
    let (sender, tool) = mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(File::open(fifo).expect("a pipe"));
        let mut line = String::new();
        pipe.read_line(&mut line).expect("a line");
        sender.send(line).expect("a listener");
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).expect("its end");
        sender.send(rest).expect("a listener");
    });

    // A shell stands in for the supervisor; its child asks for SIGTERM at its death, then becomes the agent.
    let mut parent = world.any_command("sh");
    parent
        .args(["-c", r#"exec 3<&0; setpriv --pdeathsig TERM "$@" <&3 & wait"#, "sh"])
        .arg(world.claude_program())
        .args(FLAGS)
        .args(["--allowedTools", "Bash"]);
    let mut live = Live::spawn(parent);
    api.on("hold on", json!([{"tool": "Bash", "input": {"command": "exec 9>alive; echo up >&9; tail -f /dev/null"}}]));
    live.say(&uuid(), "hold on");
    assert_eq!(tool.recv_timeout(LIMIT).as_deref(), Ok("up\n"));
    live.kill();
    assert_eq!(tool.recv_timeout(LIMIT).as_deref(), Ok(""));
    // Its stdin is still open, so nothing else ends the agent.
    let (_, events) = live.wait_end();
    assert!(!events.iter().any(|e| e["type"] == "result"), "{events:#?}");
}

#[test]
fn a_hook_after_a_batch_of_tools_ends_the_turn() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let stop = r#"echo '{"continue":false,"stopReason":"asked to stop"}'"#;
    let hook = json!({"hooks": [{"type": "command", "command": stop}]});
    let settings = json!({"hooks": {"PostToolBatch": [hook]}}).to_string();
    let mut live = Live::start(&world, &["--settings", &settings]);
    live.say(&uuid(), r#"@@[{"tool":"Bash","input":{"command":"echo one"}},{"text":"never"}]"#);
    let result = live.expect_type("result");
    assert_eq!(result["terminal_reason"], "hook_stopped");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["result"], "");
    assert_eq!(api.turns().len(), 1);

    live.say(&uuid(), r#"report @@[{"text":"so far"}]"#);
    assert_eq!(live.expect_type("result")["result"], "so far");
    live.finish();
    let last = api.turns().pop().expect("a turn");
    assert_eq!(last.tool_results(), ["one"]);
}

#[test]
fn background_tasks_can_be_switched_off() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let offered = |disable: bool| {
        let mut command = world.claude();
        command.arg("-p").stdin(Stdio::null());
        if disable {
            command.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        }
        feed(&mut command, br#"@@[{"text":"done"}]"#).ok();
        let turn = api.turns().pop().expect("a turn");
        let tools = turn.body["tools"].as_array().cloned().unwrap_or_default();
        let takes = |tool: &Value| {
            let known = &tool["input_schema"]["properties"];
            known.get("run_in_background").is_some()
        };
        tools.into_iter().filter(takes).count()
    };
    assert_eq!(offered(false), 2, "Bash and Agent");
    assert_eq!(offered(true), 0);
}

#[test]
fn a_message_of_200_kilobytes_arrives_whole() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    // Everything that a shell, a terminal or a JSON reader might trip over.
    let piece = "\"it's\" $(id) `id` \\ \u{1b}[31mred\u{1b}[0m\t\u{202e}ünï\u{1f980}\n";
    let long = format!("begin\n{}end", piece.repeat(200_000 / piece.len() + 1));
    assert!(long.len() > 200_000);
    world.prompt(&long, &[]).ok();
    one_message(&world, &["--session-id", &uuid()], &uuid(), &long);
    let turns = api.turns();
    assert_eq!(turns.len(), 2);
    for turn in turns {
        assert!(turn.model_text().contains(&long));
    }
}

#[test]
fn an_inherited_descriptor_stays_in_claude_and_reaches_no_tool() {
    let world = ClaudeWorld::without_askbox();
    let lock = world.work().join("lock").display().to_string();
    // Claude Code opens and closes files in the meantime, and `ls` complains about those that have gone.
    let command = r#"ls -l /proc/$CLAUDE_PID/fd 2>/dev/null | grep -c 'work/lock'; ls -l /proc/self/fd | grep -c 'work/lock'; echo both"#;
    let mut live = {
        let mut claude = world.claude_behind(&["sh", "-c", r#"exec 9>"$0"; exec "$@""#, &lock]);
        claude.args(FLAGS).args(["--allowedTools", "Bash"]);
        Live::spawn(claude)
    };
    let steps = serde_json::to_string(&json!([{"tool": "Bash", "input": {"command": command}}, {"text": "done"}])).unwrap();
    live.say(&uuid(), &format!("@@{steps}"));
    live.expect_type("result");
    live.finish();
    let results = world.api.turns().iter().flat_map(|turn| turn.tool_results()).collect::<Vec<_>>();
    assert!(results.iter().any(|result| result == "1\n0\nboth"), "{results:?}");
}

#[test]
fn a_session_is_resumed_and_forked_in_a_renamed_folder() {
    let world = ClaudeWorld::without_askbox();
    let (session, fork) = (uuid(), uuid());
    let (old, new) = (world.path("old"), world.path("new"));
    std::fs::create_dir(&old).unwrap();
    let run = |folder: &std::path::Path, prompt: &str, args: &[&str]| {
        let mut claude = world.claude();
        claude.args(["-p", "--allowedTools", "Bash"]).args(args).current_dir(folder);
        feed(&mut claude, prompt.as_bytes()).ok();
    };
    run(&old, r#"first @@[{"text":"one"}]"#, &["--session-id", &session]);
    std::fs::rename(&old, &new).unwrap();
    let steps = r#"second @@[{"tool":"Bash","input":{"command":"pwd"}},{"text":"two"}]"#;
    for args in [vec!["--resume", &session, "--fork-session", "--session-id", &fork], vec!["--resume", &session]] {
        run(&new, steps, &args);
        let last = world.api.turns().pop().unwrap();
        assert!(last.model_text().contains("first"), "{args:?}");
        assert_eq!(last.tool_results(), [new.display().to_string()], "{args:?}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_message_with_its_own_uuid_is_acknowledged_under_it() {
        let world = ClaudeWorld::without_askbox();
        let message = uuid();
        let args = ["--session-id", &uuid()];
        let events = one_message(&world, &args, &message, r#"@@[{"text":"one"}]"#);
        assert_eq!(kinds(&events), ONE_TURN);
        for event in events.iter().filter(|e| e["type"] == "command_lifecycle") {
            assert_eq!(event["command_uuid"], message.as_str());
        }
    }

    #[test]
    fn a_resumed_session_drops_a_message_it_has_answered() {
        let world = ClaudeWorld::without_askbox();
        let api = &world.api;
        let (session, message) = (uuid(), uuid());
        let text = r#"first @@[{"text":"one"}]"#;
        one_message(&world, &["--session-id", &session], &message, text);

        let mut live = Live::start(&world, &["--resume", &session]);
        live.say(&message, text);
        // No result comes for a dropped message: whoever waits for one would wait for ever.
        let dropped = live.expect_type("command_lifecycle");
        assert_eq!(dropped["command_uuid"], message.as_str());
        assert_eq!(live.summary(), ["command_lifecycle/completed"]);
        assert_eq!(api.turns().len(), 1);

        live.say(&uuid(), r#"second @@[{"text":"two"}]"#);
        assert_eq!(live.expect_type("result")["result"], "two");
        let (outcome, events) = live.finish();
        assert!(outcome.status.success(), "{outcome:?}");
        assert_eq!(kinds(&events[1..]), ONE_TURN);
        let told = api.turns().pop().expect("a turn").model_text();
        assert_eq!(told.matches("first @@").count(), 1, "{told}");
    }

    #[test]
    fn a_fork_keeps_the_context_and_leaves_the_original() {
        let world = ClaudeWorld::without_askbox();
        let api = &world.api;
        let (session, fork) = (uuid(), uuid());
        world.prompt(r#"remember the walnut @@[{"text":"I do"}]"#, &["--session-id", &session]).ok();
        let original = world.transcript_of(&session).expect("a transcript");
        let before = std::fs::read(&original).expect("its bytes");

        let forking = ["--resume", &session, "--fork-session", "--session-id", &fork];
        let outcome = world.prompt_stream(r#"go on @@[{"text":"done"}]"#, &forking).ok();
        assert_eq!(outcome.result()["session_id"], fork.as_str());
        let last = api.turns().pop().expect("a turn");
        assert!(last.model_text().contains("remember the walnut"));
        assert!(last.assistant_text().contains("I do"));
        assert!(std::fs::read(&original).expect("its bytes") == before);
        assert!(world.transcript_of(&fork).is_some());
    }

    #[test]
    fn a_permission_host_is_asked_for_what_is_not_allowed() {
        let world = ClaudeWorld::without_askbox();
        let api = &world.api;
        world.add_script("ask-post", "echo QUESTION_POSTED:$2");
        let mut live = Live::start(&world, &["--allowedTools", "Bash(ask-post:*)"]);
        let prompt = r#"@@[{"tool":"Bash","input":{"command":"ask-post -w w1"}},
        {"tool":"Bash","input":{"command":"touch yes"}},
        {"tool":"Bash","input":{"command":"touch no"}},{"text":"done"}]"#;
        live.say(&uuid(), prompt);

        let asked = live.expect_type("control_request");
        let request = &asked["request"];
        assert_eq!(request["subtype"], "can_use_tool");
        assert_eq!(request["tool_name"], "Bash");
        assert_eq!(request["input"], json!({"command": "touch yes"}));
        assert!(asked["request_id"].is_string() && request["tool_use_id"].is_string());
        live.permit(&asked, &json!({"behavior": "allow"}));

        let asked = live.expect_type("control_request");
        assert_eq!(asked["request"]["input"], json!({"command": "touch no"}));
        live.permit(&asked, &json!({"behavior": "deny", "message": "not today"}));

        let result = live.expect_type("result");
        assert_eq!(result["terminal_reason"], "completed");
        assert_eq!(result["permission_denials"].as_array().map(Vec::len), Some(1));
        live.finish();
        let results = api.turns().pop().expect("a turn").tool_results();
        let expected = ["QUESTION_POSTED:w1", "(Bash completed with no output)", "not today"];
        assert_eq!(results, expected);
        assert!(world.work().join("yes").exists() && !world.work().join("no").exists());
    }
}
