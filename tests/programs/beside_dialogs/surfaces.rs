//! The inbox, the page and the news beside the dialogs of live sessions.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{SESSION, adds, asking, bash, calls, closed, decision, event, hook_with, waiting, world};
use crate::support::files::write_program;
use crate::support::{Signal, Terminal, World, needs, program, signal, until};

/// The inbox on a clean screen.
fn inbox(world: &World) -> Terminal<'_> {
    let terminal = Terminal::new(world);
    terminal.press(&["clear; ask-answer", "Enter"]);
    terminal.see("? help");
    terminal
}

#[test]
fn the_page_offers_a_late_answer_as_the_sessions_next_prompt() {
    let world = world();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let (mut hook, id) = asking(&world);
    // No watcher is there to withdraw it.
    hook.kill().unwrap();
    hook.wait().unwrap();
    let path = format!("/q/{id}/{}", world.round(&id));
    let fields = [("act", "decline"), ("why", "not now")];
    let late = browser.fill(&path, &fields);
    let begin = format!("claude --resume {SESSION} 'You were interrupted");
    assert_eq!(late.status, 409, "{}", late.text());
    let shown = late.text();
    assert!(shown.contains("is gone") && shown.contains("Its session has ended.") && shown.contains(&begin), "{shown}");
    closed(&world, &id, "withdrawn");
    // It is there later as well.
    assert!(browser.see(&path).text().contains(&begin));
}

#[test]
fn the_inbox_offers_a_late_answer_as_the_sessions_next_prompt() {
    needs!("tmux");
    let world = world();
    let (mut hook, id) = asking(&world);
    hook.kill().unwrap();
    hook.wait().unwrap();
    let terminal = inbox(&world);
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["d"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["not now", "Enter"]);
    terminal.confirm();
    let gone = terminal.see("This question is over.");
    let words = gone.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("is gone") && words.contains(&format!("claude --resume {SESSION} 'You were interrupted")), "{gone}");
    closed(&world, &id, "withdrawn");
    terminal.press(&["Escape"]);
    terminal.see("? help");
    terminal.press(&["Tab"]);
    terminal.see("Its session has ended.");
}

#[test]
fn whoever_was_second_at_a_dialog_reads_it_in_the_inbox() {
    needs!("tmux");
    let world = world();
    let (hook, id) = asking(&world);
    let terminal = inbox(&world);
    terminal.press(&["Enter"]);
    terminal.see("esc later");
    terminal.press(&["d"]);
    terminal.see("Refuse this one call. Why?");
    terminal.press(&["not now", "Enter"]);
    terminal.confirm();
    assert_eq!(decision(hook)["behavior"], "deny");
    terminal.see("sent, not known yet");
    // The person at the terminal was first.
    let content = json!([{"type": "tool_result", "tool_use_id": "toolu_1"}]);
    let denied = json!({"toolDenialKind": "user-rejected", "toolDenialBeforeRun": true});
    let mut refused = json!({"type": "user", "message": {"content": content}});
    refused.as_object_mut().unwrap().extend(denied.as_object().unwrap().clone());
    adds(&world, &refused);
    closed(&world, &id, "superseded");
    let line = "the call was refused at its terminal";
    terminal.see("it came too late");
    for key in ["Enter", "o", "k", "Enter", "Down"] {
        terminal.press(&[key]);
    }
    terminal.settle();
    terminal.see("it came too late");
    let shown = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(line) && shown.contains("your draft is kept in"), "{shown}");
    terminal.press(&["Tab"]);
    terminal.see("What became of answered questions");
    terminal.see("it came too late");
}

/// A world with a target that writes down the questions it is told about, and the words that were written.
fn world_with_target() -> (World, impl Fn() -> String) {
    let world = world();
    let (program, noted) = (world.path("desk.sh"), world.path("desk.told"));
    write_program(&program, &format!("#!/bin/sh\ncat >> '{}'\n", noted.display()));
    let notify = format!("[notify]\ngrace = \"0s\"\npresent = \"1h\"\n[target.desk]\nexec = ['{}']\n", program.display());
    world.configure(&format!("[live]\nenabled = true\ngrace = \"0s\"\n{notify}"));
    (world, move || std::fs::read_to_string(&noted).unwrap_or_default())
}

#[test]
fn keys_at_a_sessions_own_terminal_delay_news_of_its_dialog() {
    needs!("tmux");
    let (world, told) = world_with_target();
    let watcher = world.any_command(program("relaunch")).arg("watch").spawn().unwrap();
    let terminal = Terminal::running(&world, (80, 20), &[], &["sh", "-c", "echo $$ > session.pid; exec cat"]);
    let pid = until("the session runs", || std::fs::read_to_string(world.work().join("session.pid")).ok().filter(|pid| !pid.is_empty()));
    terminal.burst(&["x"]);
    terminal.see("x");
    calls(&world, "Bash", &bash());
    let hook = hook_with(&world, "Bash", &bash(), &[("CLAUDE_PID", pid.trim())]);
    let id = waiting(&world);
    // Another question is told at once, so the dialog's question was not told before.
    world.ok("ask-post", &["-w", "run", "Which?"]);
    until("the other question is told", || told().contains("\"run\""));
    assert!(!told().contains(&id), "{}", told());
    // The person goes away.
    let typed = std::fs::File::options().write(true).open(world.in_mailbox(format!("looked/{SESSION}.typed"))).unwrap();
    typed.set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
    until("the dialog's question is told", || told().contains(&id));
    for mut process in [watcher, hook] {
        signal(i32::try_from(process.id()).unwrap(), Signal::TERM);
        process.wait().unwrap();
    }
}

#[test]
fn keys_delay_no_news_of_an_agent_in_the_background() {
    needs!("tmux");
    let (world, told) = world_with_target();
    let watcher = world.any_command(program("relaunch")).arg("watch").spawn().unwrap();
    let terminal = Terminal::running(&world, (80, 20), &[], &["sh", "-c", "echo $$ > session.pid; exec cat"]);
    let pid = until("the session runs", || std::fs::read_to_string(world.work().join("session.pid")).ok().filter(|pid| !pid.is_empty()));
    terminal.burst(&["x"]);
    terminal.see("x");
    let transcript = world.path(format!("config/projects/p/{SESSION}/subagents/agent-a2ed.jsonl"));
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    let call = json!({"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": bash()});
    std::fs::write(&transcript, format!("{}\n", json!({"type": "assistant", "message": {"content": [call]}}))).unwrap();
    let mut event = event(&world, "Bash", &bash());
    (event["agent_id"], event["agent_type"]) = (json!("a2ed"), json!("reviewer"));
    let hook = super::hook_of(&world, &event, &[("CLAUDE_PID", pid.trim())]);
    let id = waiting(&world);
    until("it is told at once", || told().contains(&id));
    for mut process in [watcher, hook] {
        signal(i32::try_from(process.id()).unwrap(), Signal::TERM);
        process.wait().unwrap();
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_inbox_and_the_page_can_show_live_sessions_alone() {
        needs!("tmux");
        let world = world();
        let (_hook, id) = asking(&world);
        world.ok("ask-post", &["-w", "run", "Which?"]);
        let page = world.serve_page();
        let browser = page.signed_in(&world, "ann's phone");
        let all = browser.see("/").text();
        assert!(all.contains(&id) && all.contains("run"), "{all}");
        let live = browser.see("/?find=is%3Alive").text();
        assert!(live.contains(&id) && live.contains("claude session in ") && !live.contains("Which?"), "{live}");
        let terminal = inbox(&world);
        terminal.see("Which?");
        terminal.press(&["/", "is:live"]);
        let live = terminal.see_no_more("Which?");
        assert!(live.contains("> live-"), "{live}");
    }
}
