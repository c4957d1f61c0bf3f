//! Which ends of a turn count as delivered, and what the agent is told.

use super::*;
use crate::support::output;

#[test]
fn a_session_in_use_elsewhere_is_waited_for() {
    for can in ["resume,close,modes", "load,modes"] {
        let world = world(&format!("env = {{ ACP_CAN = \"{can}\" }}"), "attempts = 1000");
        let ask = "ask-post -w acp-1 'And now?' -o yes=y -o no=n";
        turns(&world, &[json!([{"run": ask}, {"say": "asked"}]), json!([{"say": "thanks"}])]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        fs::write(world.agent("in_use"), "").unwrap();
        world.ok("ask-answer", &["acp-1", "yes"]);
        until("it was refused twice", || lines(&world, "refused_sessions").len() >= 2);
        fs::remove_file(world.agent("in_use")).unwrap();
        world.closed("acp-1", "delivered", 2);
        assert_eq!(called(&world).iter().filter(|name| *name == "session/new").count(), 1, "{can}: a second session");
        assert_eq!(told(&world).len(), 2);
    }
}

#[test]
fn the_session_ids_of_an_agent_may_be_strange() {
    let ask = |id: &str| json!([{"run": format!("ask-post -w {id} 'And now?' -o yes=y -o no=n")}, {"say": "asked"}]);
    for session in ["../outside", "-rf $(id) \\\"ü\\\"", "same"] {
        let world = world(&format!("env = {{ ACP_SESSION = \"{session}\" }}"), "attempts = 2");
        turns(&world, &[ask("acp-1"), ask("acp-2"), json!([{"pause": "here"}, {"say": "one"}]), json!([{"say": "two"}])]);
        let _watcher = world.watch();
        for id in ["acp-1", "acp-2"] {
            world.ask_and_answer(id);
            world.closed(id, "delivered", 1);
        }
        world.ok("ask-answer", &["acp-1", "yes"]);
        at(&world, "here");
        world.ok("ask-answer", &["acp-2", "yes"]);
        world.closed("acp-2", "delivered", 2);
        fs::write(world.agent("go.here"), "").unwrap();
        world.closed("acp-1", "delivered", 2);
        assert_eq!(called(&world).iter().filter(|name| *name == "session/new").count(), 2, "{session:?}");
    }
}

#[test]
fn a_silent_end_turn_is_continued_once_and_then_parked() {
    let world = world("", "");
    turns(&world, &[json!([{"run": "true"}]), json!([])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let parked = world.reaches("acp-1", "parked");
    assert_eq!((&parked["failure"], &parked["attempt"]), (&"unclear".into(), &1.into()));
    assert!(parked["why"].as_str().unwrap().contains("without any words behind the last tool call"), "{parked}");
    assert!(parked["todo"].as_str().unwrap().contains("relaunch logs acp-1"), "{parked}");
    let told = told(&world);
    assert_eq!(told.len(), 2);
    assert!(told[1].contains("nothing shows that your work is done"), "{}", told[1]);
    // The second time it says what it has done.
    turns(&world, &[json!([]), json!([]), json!([]), json!([{"say": "I had merged it."}])]);
    world.ok("relaunch", &["retry", "acp-1"]);
    world.closed("acp-1", "delivered", 1);
    assert_eq!(world.status("acp-1")["result"], "I had merged it.");
}

#[test]
fn a_session_is_continued_although_there_is_a_checkpoint() {
    let world = world("", "");
    let ask = "checkpoint save acp-1 --step review && ask-post -w acp-1 'And now?' -o yes=y -o no=n";
    turns(&world, &[json!([{"run": ask}, {"say": "asked"}]), json!([{"say": "thanks"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    world.ok("ask-answer", &["acp-1", "yes"]);
    world.closed("acp-1", "delivered", 2);
    assert_eq!(called(&world).iter().filter(|name| *name == "session/new").count(), 1);
}

#[test]
fn a_limit_on_money_holds_for_tokens_with_prices() {
    let world = world("prices = [2, 10]", "[limits]\nworkflow_cost = 1.5\n");
    let end = json!({"stopReason": "end_turn", "usage": {"inputTokens": 500_000, "outputTokens": 100_000, "totalTokens": 600_000}});
    turns(&world, &[json!([{"run": "ask-post -w acp-1 'Next?' -o a=A"}, {"say": "asked"}, {"end": end}]), json!([{"say": "never"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    world.ok("ask-answer", &["acp-1", "a"]);
    let parked = world.reaches("acp-1", "parked");
    assert!(parked["failure"] == "budget" && parked["why"].as_str().is_some_and(|why| why.contains("limits.workflow_cost")), "{parked}");
    assert_eq!(told(&world).len(), 1, "no second run");
}

#[test]
fn a_fetched_answer_makes_a_silent_end_a_delivery() {
    let get = "checkpoint get acp-1 user_answer";
    let tokens = json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}});
    let silent = json!({"stopReason": "end_turn"});
    let failed = json!({"stopReason": "end_turn", "usage": null});
    let cut = json!({"stopReason": "max_tokens", "usage": tokens["usage"]});
    let stranger = format!("ASKBOX_NONCE=0198e9f0-0000-4000-8000-000000000000 {get}");
    let forged = "echo 0198e9f0-0000-5000-8000-000000000000 > $ASKBOX_DIR/runs/$ASKBOX_RUN/fetched";
    for (command, end, is_delivered) in [
        (get, &tokens, true),
        ("checkpoint show acp-1", &tokens, true),
        // An agent may end a turn so after an error of the API.
        (get, &silent, false),
        (get, &failed, false),
        (get, &cut, false),
        // It has not fetched the answer.
        ("checkpoint get acp-1 current_step", &tokens, false),
        (stranger.as_str(), &tokens, false),
        (forged, &tokens, false),
    ] {
        // Behind the fence, the supervisor says which run it is.
        let world = world("", "[fence]\nmode = \"off\"");
        let turn = json!([{"run": command}, {"end": end}]);
        turns(&world, &[turn.clone(), turn]);
        world.ok("checkpoint", &["save", "acp-1", "--step", "review"]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        if is_delivered {
            world.closed("acp-1", "delivered", 1);
            assert_eq!(told(&world).len(), 1, "{command}");
        } else {
            assert_eq!(world.reaches("acp-1", "parked")["failure"], "unclear", "{command} {end}");
        }
    }
}

#[test]
fn an_error_as_text_is_not_a_result() {
    let ends = [
        ("", json!({"stopReason": "end_turn", "usage": null}), "reports no usage"),
        ("", json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 0, "output_tokens": 0}}}}), "no tokens"),
        ("", json!({"stopReason": "max_tokens"}), "`max_tokens`"),
        ("preset = \"copilot\"", json!({"stopReason": "end_turn"}), "an error as its text"),
    ];
    for (runner, end, why) in ends {
        let world = world(runner, "");
        let turn = json!([{"say": "Error: 400 Bad Request"}, {"end": end}]);
        turns(&world, &[turn.clone(), turn]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        let parked = world.reaches("acp-1", "parked");
        assert_eq!(parked["failure"], "unclear", "{why}");
        assert!(parked["why"].as_str().unwrap().contains(why), "{parked}");
    }
}

#[test]
fn an_acp_error_is_a_failure_of_its_class() {
    for (error, state, failure) in [
        (json!({"code": -32000, "message": "Authentication required"}), "parked", "authentication"),
        (json!({"code": 400, "message": "bad"}), "parked", "invalid_request"),
        (json!({"code": -32603, "message": "Internal error", "data": {"details": "boom"}}), "parked", "agent"),
    ] {
        let world = world("", "attempts = 2");
        let turn = json!([{"fail": error}]);
        turns(&world, &[turn.clone(), turn]);
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        let parked = world.reaches("acp-1", state);
        assert_eq!(parked["failure"], failure, "{parked}");
    }
    let world = world("", "");
    fs::write(world.agent("logged_out"), "").unwrap();
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let parked = world.reaches("acp-1", "parked");
    assert_eq!((&parked["failure"], told(&world).len()), (&"authentication".into(), 0));
}

#[test]
fn updates_behind_the_result_do_not_count() {
    let world = world("", "");
    let warning = json!({"method": "session/update", "params": {"sessionId": "SESSION", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "another session"}}}});
    let other = json!({"method": "session/update", "params": {"sessionId": "other", "update": warning["params"]["update"]}});
    turns(&world, &[json!([{"send": other}, {"say": "done"}, {"late": "too late"}, {"end_twice": true}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    let events = events(&world, "acp-1", 1);
    assert_eq!(types(&events), ["started", "text", "result"]);
    assert_eq!(world.status("acp-1")["result"], "done");
    let raw: Vec<_> = events.iter().filter(|event| event["type"] == "raw").map(|event| event["what"].as_str().unwrap()).collect();
    assert!(raw.contains(&"acp/other_session") && raw.contains(&"acp/unexpected_reply"), "{raw:?}");
}

#[test]
fn an_undeclared_request_gets_an_error_and_holds_nothing_up() {
    let world = world("", "");
    turns(&world, &[json!([{"request": "fs/write_text_file"}, {"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    let refused = lines(&world, "refused").remove(0);
    // Its first request has the id 0, and so has nothing to do with ours.
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&0.into(), &(-32601).into()));
}

#[test]
fn huge_and_torn_lines_of_an_acp_agent_are_notes() {
    let world = world("", "");
    let huge = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[{}0]}}\n", "1,".repeat(3 << 20));
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}1{}}}\n", "[".repeat(5000), "]".repeat(5000));
    fs::write(world.agent("turns"), "").unwrap();
    let write = |text: &str| json!({"write": text});
    turns(
        &world,
        &[
            json!([write(&huge), write("no json\n"), write("[1]\n"), write(&deep), write("{\"jsonrpc\":\"2.0\",\"id\":{}}\n"), {"say": "done"}]),
        ],
    );
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    world.closed("acp-1", "delivered", 1);
    let events = events(&world, "acp-1", 1);
    let raw: Vec<_> = events.iter().filter(|event| event["type"] == "raw").map(|event| event["what"].as_str().unwrap()).collect();
    assert_eq!(raw[..3], ["over_limit", "not_json", "not_json"], "{raw:?}");
    assert_eq!((raw.len(), world.status("acp-1")["result"].as_str()), (5, Some("done")));
}

#[test]
fn another_version_of_the_protocol_parks_the_round() {
    let world = world("env = { ACP_VERSION = \"2\" }", "");
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let parked = world.reaches("acp-1", "parked");
    assert!(parked["why"].as_str().unwrap().contains("speaks version 2 of ACP"), "{parked}");
    assert_eq!(called(&world), ["initialize"]);
}

mod promises {
    use super::*;

    #[test]
    fn an_acp_agent_gets_the_answer_and_its_words_are_the_result() {
        let world = world("mode = \"plan\"\nenv = { ACP_CAN = \"resume,close,modes,folders\" }", "");
        turns(
            &world,
            &[json!([{"think": "hm"}, {"say": "First "}, {"say": "words."}, {"run": "echo out"}, {"say": "All "}, {"say": "done."}])],
        );
        let _watcher = world.watch();
        world.ask_and_answer("acp-1");
        world.closed("acp-1", "delivered", 1);
        assert_eq!(world.status("acp-1")["result"], "All done.");
        let told = told(&world).remove(0);
        assert!(
            told.starts_with("[askbox round ") && told.contains(" attempt 1]\n\nResume workflow acp-1.") && told.contains("User chose: a")
        );
        assert_eq!(called(&world), ["initialize", "session/new", "session/set_mode", "session/prompt", "session/close"]);
        let received = lines(&world, "received");
        assert_eq!(received[0]["params"]["protocolVersion"], 1);
        // Behind the fence it is a folder of the run.
        let folder = received[1]["params"]["additionalDirectories"][0].as_str().unwrap();
        assert!(folder.starts_with(world.mailbox().to_str().unwrap()), "{folder}");
        assert_eq!(received[2]["params"]["modeId"], "plan");
        let events = events(&world, "acp-1", 1);
        assert_eq!(types(&events), ["started", "thinking", "text", "tool_call", "tool_result", "text", "result"]);
        let call = events.iter().find(|event| event["type"] == "tool_call").unwrap();
        assert_eq!((&call["name"], &call["input"]["command"]), (&"Bash".into(), &"echo out".into()));
        assert_eq!(events.iter().find(|event| event["type"] == "tool_result").unwrap()["text"], "out\n");
        let started = events.iter().find(|event| event["type"] == "started").unwrap();
        assert_eq!((&started["version"], &started["permission_mode"]), (&"fake 1.0".into(), &"plan".into()));
        assert!(world.ok("relaunch", &["logs", "acp-1"]).contains("First words."));
    }

    #[test]
    fn an_acp_agent_is_in_the_trace_of_the_asker() {
        let world = world("", "");
        turns(&world, &[json!([{"run": "printenv TRACEPARENT TRACESTATE"}, {"say": "done"}])]);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut post = world.command("ask-post");
        output(post.args(["-w", "acp-1", "Merge?"]).env("TRACEPARENT", parent).env("TRACESTATE", "rojo=1")).ok();
        world.ok("ask-answer", &["acp-1", "yes"]);
        world.ok("relaunch", &["acp-1"]);
        let events = events(&world, "acp-1", 1);
        let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
        assert_eq!(result["text"], format!("{parent}\nrojo=1\n"));
    }

    #[test]
    fn a_question_of_an_acp_agent_resumes_its_session_once() {
        let all = [("resume,load,modes", "session/resume"), ("resume,close,modes", "session/resume"), ("load,modes", "session/load")];
        for (can, method) in all.into_iter().chain([("modes", "session/new")]) {
            let world = world(&format!("env = {{ ACP_CAN = \"{can}\" }}"), "");
            let ask = "ask-post -w acp-1 'And now?' -o yes=y -o no=n";
            turns(&world, &[json!([{"run": ask}, {"say": "asked"}]), json!([{"say": "thanks"}])]);
            let _watcher = world.watch();
            world.ask_and_answer("acp-1");
            world.closed("acp-1", "delivered", 1);
            until("it has asked", || world.in_mailbox("pending/acp-1.json").exists());
            world.ok("ask-answer", &["acp-1", "yes"]);
            world.closed("acp-1", "delivered", 2);
            let told = told(&world);
            assert_eq!((told.len(), world.status("acp-1")["result"].as_str()), (2, Some("thanks")), "{can}");
            let continued = method != "session/new";
            assert_eq!(told[1].contains("The question of workflow acp-1 has its reply."), continued, "{can}: {}", told[1]);
            assert!(told[1].contains("User chose: yes"), "{}", told[1]);
            let opened: Vec<_> = called(&world)
                .into_iter()
                .filter(|name| matches!(name.as_str(), "session/new" | "session/resume" | "session/load"))
                .collect();
            assert_eq!(opened, ["session/new", method], "{can}");
            assert_eq!(lines(&world, "starts").len(), 2);
        }
    }
}
