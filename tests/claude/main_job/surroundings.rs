//! The folder, the session and the task of a run stay its own, whatever happens around it.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT, until};

const TOOLS: &str = "[runner.claude]\nallowed_tools = ['Bash(ask-post:*)', 'Bash(ask-from:*)', 'Bash(pwd)']\n";
const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn an_agent_in_a_deleted_folder_asks_from_another_one() {
    let mut world = ClaudeWorld::new();
    world.configure(TOOLS);
    world.keep_watching_from_the_start();
    world.add_script("ask-from", "mkdir gone && cd gone && rmdir ../gone && ask-post Begin? 2>&1 || true");
    world.api.on("Work as w.", json!([bash("ask-from nowhere"), bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([bash("pwd"), {"text": "begun"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    let told = world.api.turns().pop().expect("a turn").tool_results();
    assert!(told[0].contains("working folder") && told[0].contains("hint: cd to a folder that exists"), "{told:?}");
    world.answer("w", "yes");
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
    assert_eq!(world.api.turns().pop().expect("a turn").tool_results().pop().as_deref(), world.work().to_str());
}

/// `claude` looks for such a folder below its own, and so does askbox, wherever the watcher runs.
#[test]
fn a_relative_config_dir_of_claude_keeps_the_session() {
    let mut world = ClaudeWorld::new();
    world.set_env(&[("CLAUDE_CONFIG_DIR", "~/.claude-work")]);
    world.configure(TOOLS);
    let shop = world.work().join("shop");
    fs::create_dir(&shop).expect("a folder");
    world.keep_watching_from_the_start();
    world.api.on("Work as w.", json!([bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    let mut run = world.command("relaunch");
    let ran = run.current_dir(&shop).args(["run", "-w", "w", "--prompt", "Work as w."]).output().expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    world.answer("w", "yes");
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
    let told = world.api.requests_with_text("User chose: yes").remove(0).model_text();
    assert!(told.contains("Work as w.") && !told.contains("not on record"), "the session was not continued: {told}");
    assert!(shop.join("~/.claude-work/projects").is_dir());
}

#[test]
fn a_config_dir_of_the_runner_keeps_the_session() {
    let mut world = ClaudeWorld::new();
    let other = world.path("other").display().to_string();
    world.configure(&format!("{TOOLS}env = {{ CLAUDE_CONFIG_DIR = '{other}' }}\n"));
    world.keep_watching_from_the_start();
    world.api.on("Work as w.", json!([bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    world.answer("w", "yes");
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
    assert!(world.launches()[1].args.contains("--fork-session"), "the session was not continued: {:#?}", world.launches());
}

#[test]
fn an_agent_without_its_session_is_told_task_and_answers() {
    let mut world = ClaudeWorld::new();
    world.configure(TOOLS);
    world.keep_watching_from_the_start();
    world.api.on("Paint the shed.", json!([bash("ask-post 'Which colour?'"), {"text": "asked"}]));
    world.api.on("User chose: red", json!([bash("ask-post 'Which brush?'"), {"text": "asked again"}]));
    world.api.on("User chose: broad", json!([{"text": "painted"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Paint the shed."]).ok();
    world.answer("w", "red");
    until("the next question", || world.names("pending") == ["w.json"] && world.names("running").is_empty());
    let session = world.document("pending/w.json")["session_id"].as_str().expect("a session").to_owned();
    fs::remove_file(world.transcript_of(&session).expect("a transcript")).expect("removed");
    world.answer("w", "broad");
    let status = world.wait_status("w", "delivered", |s| s["state"] == "delivered" && s["result"] == "painted");
    let told = world.api.requests_with_text("User chose: broad").pop().expect("a request").model_text();
    for part in ["Paint the shed.", "Which colour?", "The answer was: red", "Which brush?"] {
        assert_eq!(told.matches(part).count(), 1, "{part}: {told} {status}");
    }
}

/// `claude` removes a transcript that nobody has written to for `cleanupPeriodDays`.
#[test]
fn the_session_of_a_waiting_question_is_not_swept() {
    let mut world = ClaudeWorld::new();
    world.configure(TOOLS);
    fs::write(world.claude_config().join("settings.json"), r#"{"cleanupPeriodDays": 1}"#).expect("settings");
    world.api.on("Work as w.", json!([bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    let session = world.document("pending/w.json")["session_id"].as_str().expect("a session").to_owned();
    let transcript = world.transcript_of(&session).expect("a transcript");
    let other = transcript.with_file_name("15c96f27-091a-5dc1-bcce-0d2e49721bc0.jsonl");
    fs::copy(&transcript, &other).expect("a copy");
    for file in [&transcript, &other] {
        File::options().write(true).open(file).and_then(|file| file.set_modified(SystemTime::now() - 3 * DAY)).expect("its time");
    }
    world.keep_watching();
    until("the session is renewed", || {
        transcript.metadata().and_then(|meta| meta.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age < DAY))
    });
    world.api.on("Say hello.", json!([bash("sleep 5"), {"text": "hello"}]));
    world.prompt("Say hello.", &["--allowedTools=Bash(sleep:*)"]).ok();
    assert!(!other.exists(), "claude removes old transcripts");
    world.answer("w", "yes");
    world.api.wait_for_text("User chose: yes", 1, LIMIT);
    assert!(world.launches()[1].args.contains(&format!("--resume={session} --fork-session")), "{:#?}", world.launches());
}

/// A user's Stop hook that always blocks makes a turn out of each end of a turn, nine times in a row.
#[test]
fn a_stop_hook_that_always_blocks_pays_no_turn_after_a_question() {
    let mut world = ClaudeWorld::new();
    world.configure(TOOLS);
    world.keep_watching_from_the_start();
    let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo 'go on' >&2; exit 2"}]}]}});
    fs::write(world.claude_config().join("settings.json"), hook.to_string()).expect("settings");
    world.api.on("Work as w.", json!([bash("ask-post Begin?"), {"text": "asked"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    assert_eq!(world.api.turns().len(), 2, "{:#?}", world.events("w"));
    // The next run asks nothing, and its hook has its way.
    fs::remove_file(world.claude_config().join("settings.json")).expect("removed");
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    world.answer("w", "yes");
    assert_eq!(world.wait_state("w", "delivered")["result"], "begun");
}
