//! What people see of the dialogs of all sessions: lists, sessions, the status line, news, and what becomes of a late answer.

use serde_json::{Value, json};

use super::{SESSION, allow, asking, bash, closed, decision, event, hook_of, waiting, world};
use crate::support::{Signal, Terminal, feed, needs, program, signal, until};

#[test]
fn the_status_line_tells_of_agents_that_hold() {
    let world = world();
    let line = |session: &str| {
        let sent = json!({"session_id": session, "model": {"id": "m"}}).to_string();
        world.run_with("askbox", &["count", "--status-line"], sent.as_bytes()).ok().stdout
    };
    assert_eq!(line(SESSION), "");
    let transcript = world.path(format!("config/projects/p/{SESSION}/subagents/agent-a2ed.jsonl"));
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let call = json!({"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": bash()});
    std::fs::write(&transcript, format!("{}\n", json!({"type": "assistant", "message": {"content": [call]}}))).unwrap();
    let mut event = event(&world, "Bash", &bash());
    (event["agent_id"], event["agent_type"]) = (json!("a2ed"), json!("reviewer"));
    let hook = hook_of(&world, &event, &[]);
    let id = waiting(&world);
    let held = line(SESSION);
    assert!(held.starts_with("askbox: 1 question waits · reviewer waits for you, ") && held.contains(&id), "{held}");
    assert_eq!(line("another"), "askbox: 1 question waits\n");
    let shown = world.ok("ask-answer", &["show", &id]);
    assert!(shown.contains("it opens at the terminal"), "{shown}");
    allow(&world, &id, "once");
    assert_eq!(decision(hook)["behavior"], "allow");
    assert_eq!(line(SESSION), "");
}

#[test]
fn what_a_session_waits_for_is_read_in_a_narrow_terminal() {
    needs!("tmux");
    let mut world = world();
    world.set_env(&[("CLAUDE_CONFIG_DIR", world.path("config").display().to_string().as_str())]);
    let (_hook, id) = asking(&world);
    let own = std::process::id();
    let session = json!({"pid": own, "sessionId": SESSION, "cwd": "/work/shop", "status": "waiting", "waitingFor": "permission prompt"});
    std::fs::write(world.path(format!("config/sessions/{own}.json")), session.to_string()).unwrap();
    let terminal = Terminal::running(&world, (80, 24), &["PS1=$ "], &["sh"]);
    terminal.see("$");
    terminal.press(&["clear; askbox sessions", "Enter"]);
    let screen = terminal.see("waits at its terminal");
    assert!(screen.contains(&id), "{screen}");
}

#[test]
fn a_list_may_be_of_live_sessions_alone() {
    let world = world();
    let (_hook, id) = asking(&world);
    world.ok("ask-post", &["-w", "run", "Which?"]);
    let all = world.ok("ask-answer", &["list"]);
    assert!(all.contains(&id) && all.contains("run ") && all.contains("claude session in "), "{all}");
    for args in [["list", "--filter", "is:live"], ["list", "--filter", "by:claude is:live"]] {
        let live = world.ok("ask-answer", &args);
        assert!(live.contains(&id) && !live.contains("run "), "{live}");
    }
    let in_json = world.ok("ask-answer", &["list", "--filter", "is:live", "--json"]);
    assert_eq!(in_json.lines().count(), 1, "{in_json}");
    assert!(in_json.contains(SESSION), "{in_json}");
}

#[test]
fn an_answer_to_a_dead_session_is_offered_as_its_next_prompt() {
    let world = world();
    let process = json!({"pid": std::process::id(), "sessionId": SESSION, "status": "busy"}).to_string();
    let file = world.path(format!("config/sessions/{}.json", std::process::id()));
    std::fs::write(&file, process).unwrap();
    let (mut hook, id) = asking(&world);
    // No watcher is there to withdraw it.
    hook.kill().unwrap();
    hook.wait().unwrap();
    let late = || {
        let said = world.run("ask-answer", &["decline", &id, "--note", "not now"]);
        assert!(said.code() == 4 && said.words().contains("is gone"), "{}", said.words());
        said.words().contains(&format!("claude --resume {SESSION} 'You were interrupted"))
    };
    assert!(!late(), "its session lives");
    closed(&world, &id, "withdrawn");
    std::fs::remove_file(file).unwrap();
    assert!(late());
}

#[test]
fn a_session_is_woken_by_the_ends_of_its_own_questions() {
    let world = world();
    let hook = |moment: &str, attended: &str| {
        let event = json!({"hook_event_name": moment, "session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": world.work()});
        let mut command = world.any_command(program("askbox"));
        command.arg("hook").env("CLAUDE_CODE_SESSION_ATTENDED", attended);
        feed(&mut command, event.to_string().as_bytes())
    };
    let changed = || std::fs::metadata(world.in_mailbox(format!("looked/{SESSION}.wake"))).unwrap().modified().unwrap();
    let asks = |id: &str, session: &str| {
        let mut command = world.command("ask-post");
        let asked = command.args(["-w", id, "Which?", "-o", "a=A"]).env("CLAUDE_CODE_SESSION_ID", session).output().unwrap();
        assert!(asked.status.success());
    };
    assert!(!hook("SessionStart", "0").ok().stdout.contains("watchPaths"), "nobody attends it");
    let start: Value = serde_json::from_str(&hook("SessionStart", "1").ok().stdout).unwrap();
    let watched = world.in_mailbox(format!("looked/{SESSION}.wake"));
    assert_eq!(start["hookSpecificOutput"]["watchPaths"], json!([watched]));
    let before = changed();
    asks("others", "0b4d1a52-0000-4000-8000-000000000001");
    world.ok("ask-answer", &["others", "a"]);
    assert_eq!(changed(), before, "the question of another session");
    let silent = hook("FileChanged", "1");
    assert!(silent.code() == 0 && silent.stderr.is_empty(), "{}", silent.words());
    asks("mine", SESSION);
    assert_eq!(changed(), before, "a question is no answer");
    world.ok("ask-answer", &["mine", "a"]);
    assert_ne!(changed(), before);
    let unattended = hook("FileChanged", "0");
    assert!(unattended.code() == 0 && unattended.stderr.is_empty(), "in `claude -p` this would block a prompt");
    let woken = hook("FileChanged", "1");
    assert!(woken.code() == 2 && woken.stderr.contains("- mine: was answered") && woken.stdout.is_empty(), "{}", woken.words());
    assert!(woken.stderr.contains("- others: was answered"), "it is told with it");
    let again = hook("FileChanged", "1");
    assert!(again.code() == 0 && again.stderr.is_empty(), "told once: {}", again.words());
    assert!(hook("UserPromptSubmit", "1").ok().stdout.is_empty(), "nor with the next prompt");
}

mod promises {
    use super::*;

    #[test]
    fn a_target_is_told_of_dialogs_alone_or_never() {
        let world = world();
        let target = |name: &str| {
            let program = world.path(format!("{name}.sh"));
            let noted = world.path(format!("{name}.told"));
            crate::support::files::write_program(&program, &format!("#!/bin/sh\ncat >> '{}'\n", noted.display()));
            format!("[target.{name}]\nexec = ['{}']\nlive = \"{name}\"\n", program.display())
        };
        let targets = ["only", "never"].map(target).concat();
        world.configure(&format!("[live]\nenabled = true\ngrace = \"0s\"\n[notify]\ngrace = \"0s\"\n{targets}"));
        let mut watcher = world.any_command(program("relaunch")).arg("watch").spawn().unwrap();
        let (_hook, id) = asking(&world);
        world.ok("ask-post", &["-w", "run", "Which?"]);
        let told = |name: &str| std::fs::read_to_string(world.path(format!("{name}.told"))).unwrap_or_default();
        until("both targets are told", || told("only").contains(&id) && told("never").contains("\"run\""));
        assert!(!told("only").contains("\"run\"") && !told("never").contains(&id), "{} {}", told("only"), told("never"));
        signal(i32::try_from(watcher.id()).unwrap(), Signal::TERM);
        watcher.wait().unwrap();
    }

    #[test]
    fn sessions_are_listed_with_what_they_do_and_ask() {
        let mut world = world();
        world.set_env(&[("CLAUDE_CONFIG_DIR", world.path("config").display().to_string().as_str())]);
        assert!(
            world
                .run("askbox", &["sessions"])
                .ok()
                .words()
                .contains("no session of Claude Code, Codex, opencode, Copilot, Kimi or Qwen runs here")
        );
        let (_hook, id) = asking(&world);
        let write = |process: u32, session: &str, status: &str| {
            let text =
                json!({"pid": process, "sessionId": session, "cwd": "/work/shop", "status": status, "waitingFor": "permission prompt"});
            std::fs::write(world.path(format!("config/sessions/{process}.json")), text.to_string()).unwrap();
        };
        write(std::process::id(), SESSION, "busy");
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        write(other.id(), "b1", "waiting");
        write(1 << 22, "gone", "waiting");
        let shown = world.ok("askbox", &["sessions"]);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines.len() == 3 && shown.contains("waits at its terminal: permission prompt") && !shown.contains("gone"), "{shown}");
        assert!(lines.iter().any(|line| line.contains(SESSION) && line.contains("busy") && line.contains(&id)), "{shown}");
        let in_json = world.ok("askbox", &["sessions", "--json"]);
        let first: Value = serde_json::from_str(in_json.lines().find(|line| line.contains(SESSION)).unwrap()).unwrap();
        assert_eq!((&first["questions"], &first["status"]), (&json!([id]), &json!("busy")));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(world.ok("askbox", &["sessions", "--json"]).lines().count(), 1);
    }
}
