//! Hosts that are killed, and hosts that are started twice: an allowed call is made at most once, and the model is told.

use crate::clients::sdks::host::{Host, Sdk};
use crate::support::files::write_program;
use crate::support::{Outcome, needs, output, program};

const MAYBE: &str = "may have been made already";

/// The host writes its process id, so that a call can kill it.
fn with_its_pid(host: &Host) -> String {
    let pid = host.world.path("pid").display().to_string();
    let source = host.source();
    host.write(&source, &format!("echo $$ > {pid}; exec $HOST \"$@\""));
    pid
}

fn is_killed_behind_its_effect(sdk: Sdk) {
    let mut host = Host::new(sdk);
    let pid = with_its_pid(&host);
    host.asks("sdk-1", &[&format!("echo ran >> effects; kill -9 $(cat {pid}); sleep 100")]);
    host.world.keep_watching();
    host.answer_with("sdk-1", "allow", &["--note", "carefully"]);
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
    assert_eq!(host.starts(), 3, "the second attempt has ended well");
    let status = host.world.status("sdk-1");
    // Claude Code outlives its host for a moment, and may have noted the end of the call itself.
    let is_told = |text: &str| {
        (text.contains(MAYBE) && text.contains("The user added: carefully")) || (sdk.is_claude() && text.contains("Exit code 137"))
    };
    assert!(status["result"].as_str().is_some_and(is_told), "{sdk:?}: {status}");
    if sdk != Sdk::LangGraph {
        let told = host.told();
        assert!(told.len() == 1 && is_told(&told[0]), "{sdk:?}: {told:?}");
    }
}

#[test]
fn a_killed_claude_session_does_not_repeat_its_call() {
    needs!("python-sdks");
    is_killed_behind_its_effect(Sdk::Claude);
}

#[test]
fn a_killed_openai_agent_does_not_repeat_its_call() {
    needs!("python-sdks");
    is_killed_behind_its_effect(Sdk::OpenAi);
}

#[test]
fn a_killed_langgraph_node_does_not_repeat_its_call() {
    needs!("python-sdks");
    is_killed_behind_its_effect(Sdk::LangGraph);
}

#[test]
fn a_killed_host_of_the_ai_sdk_does_not_repeat_its_call() {
    needs!("node", "node-sdks");
    is_killed_behind_its_effect(Sdk::Ai);
}

#[test]
fn a_killed_node_host_does_not_repeat_its_call() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::ClaudeJs, Sdk::OpenAiJs] {
        is_killed_behind_its_effect(sdk);
    }
}

fn is_started_twice_in_one_run(sdk: Sdk) {
    let mut host = Host::new(sdk);
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    host.write(&host.source(), "$HOST \"$@\" & $HOST \"$@\" & wait");
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
}

#[test]
fn claude_sessions_started_twice_make_the_call_once() {
    needs!("python-sdks");
    is_started_twice_in_one_run(Sdk::Claude);
}

#[test]
fn openai_agents_started_twice_make_the_call_once() {
    needs!("python-sdks");
    is_started_twice_in_one_run(Sdk::OpenAi);
}

#[test]
fn langgraph_graphs_started_twice_make_the_call_once() {
    needs!("python-sdks");
    is_started_twice_in_one_run(Sdk::LangGraph);
}

#[test]
fn hosts_of_the_ai_sdk_started_twice_make_the_call_once() {
    needs!("node", "node-sdks");
    is_started_twice_in_one_run(Sdk::Ai);
}

#[test]
fn node_hosts_started_twice_make_the_call_once() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::ClaudeJs, Sdk::OpenAiJs] {
        is_started_twice_in_one_run(sdk);
    }
}

/// The second process has seen the open call of the session. The first one makes it before the second one's claude has read the session.
#[test]
fn a_claude_session_that_another_process_ends_is_not_awaited() {
    needs!("python-sdks", "node", "node-sdks");
    for sdk in [Sdk::Claude, Sdk::ClaudeJs] {
        is_not_awaited(sdk);
    }
}

fn is_not_awaited(sdk: Sdk) {
    let mut host = Host::new(sdk);
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    let [slow, late, over, end] = ["slow", "late", "over", "end"].map(|name| host.world.path(name).display().to_string());
    let claude = host.world.sh("command -v claude").trim().to_owned();
    let wait = format!("[ \"$1\" = -v ] || {{ echo > {late}; until [ -e {over} ]; do sleep 0.1; done; }}");
    std::fs::create_dir(&slow).unwrap();
    write_program(std::path::Path::new(&slow).join("claude").as_path(), &format!("#!/bin/sh\n{wait}\nexec {claude} \"$@\"\n"));
    let start = format!(
        "CLAUDE_PATH={slow}/claude PATH={slow}:$PATH $HOST \"$@\" & second=$!\nuntil [ -e {late} ]; do sleep 0.1; done\n\
         $HOST \"$@\"; echo > {over}; wait $second; echo $? > {end}"
    );
    host.write(&host.source(), &start);
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!((host.effects(), std::fs::read_to_string(end).unwrap().as_str()), (vec!["ran".to_owned()], "4\n"));
}

/// Two people, or two schedulers, start the answered workflow at the same moment, and no watcher runs.
fn is_started_by_two_commands(sdk: Sdk) {
    let host = Host::new(sdk);
    host.asks("sdk-1", &["echo ran | tee -a effects"]);
    host.answer("sdk-1", "allow");
    let start = || output(host.world.command("relaunch").arg("sdk-1"));
    let ends = std::thread::scope(|scope| [scope.spawn(start), scope.spawn(start)].map(|command| command.join().unwrap()));
    let mut codes = ends.each_ref().map(Outcome::code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 4], "{sdk:?}: {} {}", ends[0].words(), ends[1].words());
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
    assert_eq!(host.starts(), 2, "{sdk:?}: the host that asked, and one that went on");
    host.world.closed("sdk-1", "delivered", 1);
    let late = start();
    assert_eq!((late.code(), host.effects().len()), (4, 1), "{sdk:?}: {}", late.words());
}

#[test]
fn two_relaunch_commands_start_one_python_host() {
    needs!("python-sdks");
    for sdk in [Sdk::Claude, Sdk::OpenAi, Sdk::LangGraph] {
        is_started_by_two_commands(sdk);
    }
}

#[test]
fn two_relaunch_commands_start_one_node_host() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::Ai, Sdk::ClaudeJs, Sdk::OpenAiJs] {
        is_started_by_two_commands(sdk);
    }
}

/// The host is killed when it has read an answer that decides nothing, and has not asked again yet. Its next attempt asks again.
fn is_killed_before_it_asks_again(sdk: Sdk) {
    let mut host = Host::new(sdk);
    host.asks("sdk-1", &["echo ran >> effects"]);
    host.world.add_script("ask-post", "rm \"$0\"; kill -9 $PPID");
    host.world.keep_watching();
    host.answer("sdk-1", "{\"line\": 1}");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!((host.starts(), host.effects()), (3, vec![]), "{sdk:?}");
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 2);
    assert_eq!(host.effects(), ["ran"], "{sdk:?}");
}

#[test]
fn a_python_host_that_is_killed_asks_again_what_was_unclear() {
    needs!("python-sdks");
    is_killed_before_it_asks_again(Sdk::OpenAi);
}

#[test]
fn a_node_host_that_is_killed_asks_again_what_was_unclear() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::Ai, Sdk::OpenAiJs] {
        is_killed_before_it_asks_again(sdk);
    }
}

/// The host is killed when it has saved its state and not asked yet. The next start asks, and the model is not called again.
fn is_killed_before_it_asks(sdk: Sdk) {
    let host = Host::new(sdk);
    host.world.add_script("ask-post", "kill -9 $PPID");
    let killed = host.begin("sdk-1", &["echo ran >> effects"]);
    assert!(!host.world.in_mailbox("pending/sdk-1.json").exists(), "{sdk:?}: {}", killed.words());
    assert_eq!(host.saved("sdk-1")["by"], serde_json::Value::Null, "{sdk:?}");
    let turns = host.world.api.turns().len();
    std::fs::remove_file(host.world.path("bin/ask-post")).unwrap();
    host.asks("sdk-1", &["echo other >> effects"]);
    host.asks("sdk-1", &["echo other >> effects"]);
    assert_eq!(host.world.api.turns().len(), turns, "{sdk:?}");
    assert_eq!(host.effects(), [""; 0], "{sdk:?}");
}

#[test]
fn a_python_host_asks_what_it_has_saved_before_a_kill() {
    needs!("python-sdks");
    for sdk in [Sdk::Claude, Sdk::LangGraph] {
        is_killed_before_it_asks(sdk);
    }
}

#[test]
fn a_node_host_asks_what_it_has_saved_before_a_kill() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::Ai, Sdk::ClaudeJs] {
        is_killed_before_it_asks(sdk);
    }
}

/// The host is killed when it has asked its second question in the run of the first answer.
fn is_killed_behind_its_next_question(sdk: Sdk) {
    let mut host = Host::new(sdk);
    host.asks("sdk-1", &["echo first >> effects", "echo second >> effects"]);
    let post = program("ask-post");
    host.world.add_script("ask-post", &format!("'{post}' \"$@\"; rm \"$0\"; kill -9 $PPID"));
    host.world.keep_watching();
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 1);
    assert_eq!(host.effects(), ["first"], "{sdk:?}");
    assert_eq!(host.starts(), 3, "{sdk:?}: the second attempt found its question");
    host.answer("sdk-1", "allow");
    host.world.closed("sdk-1", "delivered", 2);
    assert_eq!(host.effects(), ["first", "second"], "{sdk:?}");
    assert_eq!(host.told().len(), 2, "{sdk:?}");
}

#[test]
fn a_python_host_finds_its_next_question_after_a_kill() {
    needs!("python-sdks");
    is_killed_behind_its_next_question(Sdk::Claude);
}

#[test]
fn a_node_host_finds_its_next_question_after_a_kill() {
    needs!("node", "node-sdks");
    for sdk in [Sdk::Ai, Sdk::ClaudeJs, Sdk::OpenAiJs] {
        is_killed_behind_its_next_question(sdk);
    }
}
