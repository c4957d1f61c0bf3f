//! Hooks and permission rules of the settings.

use crate::agent::scene::{SESSION, Scene};
use crate::support::claude::live::Live;
use crate::support::output;
use serde_json::{Value, json};

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}

fn hook(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

/// Runs a script with the usual permissions; the results of its calls.
#[track_caller]
fn results(scene: &Scene, args: &[&str], calls: Vec<Value>) -> Vec<String> {
    let steps: Vec<Value> = calls.into_iter().chain([json!({"text": "done"})]).collect();
    let args = [args, &["--output-format", "stream-json", "--session-id", SESSION]].concat();
    output(scene.careful_agent(&args).arg(format!("x @@{}", json!(steps)))).ok();
    scene.turns().last().unwrap().tool_results()
}

#[test]
fn hooks_refuse_change_and_comment_calls() {
    let scene = Scene::new();
    let before = r#"case "$(cat)" in
*'"echo no'*) echo 'not this one' >&2; exit 2 ;;
*'"echo other'*) echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"echo changed"}}}' ;;
*) echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}' ;; esac"#;
    let after = r#"echo '{"hookSpecificOutput":{"additionalContext":"seen"}}'"#;
    scene.settings(&json!({"hooks": {"PreToolUse": hook(before), "PostToolUse": hook(after)}, "env": {"FROM_SETTINGS": "yes"}}));
    let told = results(&scene, &[], vec![bash("echo no"), bash("echo other"), bash("echo $FROM_SETTINGS")]);
    assert_eq!(told, ["PreToolUse hook error: not this one", "changed\n\nseen", "yes\n\nseen"]);
}

#[test]
fn the_shell_of_ask_agent_has_no_variables_of_a_git_hook() {
    let mut scene = Scene::new();
    scene.world.set_env(&[("GIT_DIR", "/nowhere/.git"), ("NODE_OPTIONS", "--inspect-brk"), ("GIT_SSH_COMMAND", "ssh -4")]);
    let told =
        results(&scene, &["--dangerously-skip-permissions"], vec![bash("echo ${GIT_DIR-none} ${NODE_OPTIONS-none} $GIT_SSH_COMMAND")]);
    assert_eq!(told, ["none none ssh -4"]);
}

#[test]
fn a_hook_that_fails_refuses_if_its_settings_say_so() {
    let scene = Scene::new();
    scene.settings(&json!({"hooks": {"PreToolUse": [
        {"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "exit 1", "onFailure": "block"}]},
        {"matcher": "^(TodoWrite)$", "hooks": [{"type": "command", "command": "exit 1"}]},
    ]}}));
    let told =
        results(&scene, &["--dangerously-skip-permissions"], vec![bash("echo a"), json!({"tool": "TodoWrite", "input": {"todos": []}})]);
    assert_eq!(told, ["PreToolUse hook error: a hook failed with status 1", "The list is kept: 0 of 0 are done."]);
}

#[test]
fn a_stop_hook_keeps_the_agent_at_work() {
    let scene = Scene::new();
    let stop = r#"grep -q '"stop_hook_active":true' && exit 0; echo '{"decision":"block","reason":"the tests are missing"}'"#;
    scene.settings(&json!({"hooks": {"Stop": hook(stop)}}));
    let result = scene.begin(r#"x @@[{"text":"one"},{"text":"two"}]"#).ok().result();
    assert_eq!((&result["result"], &result["num_turns"]), (&json!("two"), &json!(2)));
    assert!(scene.turns()[1].model_text().contains("Stop hook feedback:\nthe tests are missing"));
}

#[test]
fn a_hook_behind_the_calls_ends_the_turn() {
    let scene = Scene::new();
    scene.settings(&json!({"hooks": {"PostToolBatch": hook(r#"echo '{"continue":false}'"#)}}));
    let steps = json!([{"tools": [bash("echo 1"), bash("echo 2")]}, {"text": "done"}]);
    let result = scene.begin(&format!("x @@{steps}")).ok().result();
    assert_eq!((&result["terminal_reason"], scene.turns().len()), (&json!("hook_stopped"), 1));
    assert_eq!(scene.go_on().ok().result()["result"], "done");
    assert_eq!(scene.turns()[1].tool_results(), ["1", "2"]);
}

#[test]
fn a_host_on_standard_input_is_asked_for_permissions() {
    let scene = Scene::new();
    let args = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--permission-prompt-tool",
        "stdio",
        "--session-id",
        SESSION,
    ];
    let mut live = Live::spawn(scene.careful_agent(&args));
    live.say("m", &format!("x @@{}", json!([bash("echo a"), bash("echo b"), {"text": "done"}])));
    let request = live.expect_type("control_request");
    assert_eq!((&request["request"]["tool_name"], &request["request"]["input"]), (&json!("Bash"), &json!({"command": "echo a"})));
    live.permit(&request, &json!({"behavior": "allow", "updatedInput": {"command": "echo changed"}}));
    let request = live.expect_type("control_request");
    live.permit(&request, &json!({"behavior": "deny", "message": "not now"}));
    live.expect_type("result");
    let (outcome, _) = live.finish();
    assert!(outcome.status.success());
    assert_eq!(scene.turns()[2].tool_results(), ["changed", "not now"]);
}

const ALLOW: &str = r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'"#;

#[test]
fn a_rule_that_asks_stands_above_a_hook_that_allows() {
    for mode in ["default", "bypassPermissions"] {
        let scene = Scene::new();
        scene.settings(&json!({"permissions": {"ask": ["Bash(touch:*)"]}, "hooks": {"PreToolUse": hook(ALLOW)}}));
        let steps = json!([bash("echo a"), bash("touch made"), {"text": "done"}]);
        let waits = output(scene.careful_agent(&["--permission-mode", mode]).arg(format!("x @@{steps}"))).ok();
        assert!(waits.stdout.contains("QUESTION_POSTED") && !scene.path("made").exists());
        assert_eq!(scene.turns()[1].tool_results(), ["a"]);
    }
}

#[test]
fn a_rule_that_refuses_to_read_covers_searches() {
    for rule in ["Read(secret/**)", "Read(secret)"] {
        let scene = Scene::new();
        scene.settings(&json!({"permissions": {"deny": [rule]}, "hooks": {"PreToolUse": hook(ALLOW)}}));
        for folder in ["secret", "open"] {
            std::fs::create_dir_all(scene.path(folder)).unwrap();
            std::fs::write(scene.path(folder).join("key"), "key").unwrap();
        }
        let glob = |pattern: &str, path: &str| json!({"tool": "Glob", "input": {"pattern": pattern, "path": path}});
        let calls = vec![glob("*", "secret"), glob("**/key", "."), glob("se*/*", "."), glob("secret/k*", ".")];
        let told = results(&scene, &[], calls);
        let open = scene.path("open/key").display().to_string();
        assert!(told[0].starts_with("Permission to use Glob") && told[3].starts_with("Permission to use Glob"), "{told:#?}");
        assert_eq!(told[1..3], [open, "No files found".to_owned()]);
    }
}

#[test]
fn a_host_is_asked_for_a_permission_of_a_subagent() {
    let scene = Scene::new();
    let child = json!([bash("echo made >> effects"), {"text": "it ended"}]);
    let task = json!({"tool": "Task", "input": {"prompt": format!("child @@{child}"), "run_in_background": true}});
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio"];
    let mut live = Live::spawn(scene.careful_agent(&args));
    live.say("m", &format!("x @@{}", json!([task, {"text": "done"}])));
    let request = live.expect_type("control_request");
    assert!(request["request"]["agent_id"].is_string(), "{request}");
    live.permit(&request, &json!({"behavior": "deny", "message": "not now"}));
    live.expect_type("result");
    live.finish();
    assert_eq!(scene.turns()[2].tool_results(), ["not now"]);
    assert_eq!(scene.turns()[3].tool_results(), ["it ended"], "nothing works in the background");
    assert!(!scene.path("effects").exists());
}

mod promises {
    use super::*;

    #[test]
    fn rules_allow_and_refuse_calls() {
        let scene = Scene::new();
        scene.settings(&json!({"permissions": {"allow": ["Bash(echo:*)", "Edit(src/**)"], "deny": ["Read(secret/**)", "Bash(rm:*)"]}}));
        std::fs::create_dir_all(scene.path("secret")).unwrap();
        std::fs::write(scene.path("secret/key"), "k").unwrap();
        let file = |tool: &str, path: &str| json!({"tool": tool, "input": {"file_path": path, "content": "x"}});
        let calls = vec![
            bash("echo a && echo b"),
            bash("echo $(rm x)"),
            bash("ls"),
            file("Write", "src/a.rs"),
            file("Write", "other/a.rs"),
            file("Read", "secret/key"),
            file("Read", "/etc/hostname"),
        ];
        let told = results(&scene, &["--permission-mode", "dontAsk"], calls);
        let refused: Vec<bool> = told.iter().map(|text| text.starts_with("Permission to use")).collect();
        assert_eq!(refused, [false, true, true, false, true, true, true], "{told:#?}");
        assert!(told[0] == "a\nb" && told[1].contains("`Bash(rm:*)`") && scene.path("src/a.rs").exists());
    }

    #[test]
    fn accepted_edits_stay_in_the_folder_and_plans_change_nothing() {
        let write = |path: &str| json!({"tool": "Write", "input": {"file_path": path, "content": "x"}});
        let scene = Scene::new();
        let told = results(&scene, &["--permission-mode", "acceptEdits", "--disallowedTools=Task,Bash"], vec![write("a/b")]);
        assert!(told[0].starts_with("File created") && !scene.turns()[0].tools().iter().any(|tool| tool == "Task" || tool == "Bash"));
        let scene = Scene::new();
        let told = results(&scene, &["--permission-mode", "plan"], vec![bash("touch c")]);
        assert!(told[0].contains("only plans") && !scene.path("c").exists());
        let scene = Scene::new();
        scene.settings(&json!({"hooks": {"PreToolUse": hook(ALLOW)}}));
        let waits = output(scene.careful_agent(&["--permission-mode", "plan"]).arg(format!("x @@{}", json!([write("c")])))).ok();
        assert!(waits.stdout.contains("QUESTION_POSTED") && !scene.path("c").exists());
    }
}
