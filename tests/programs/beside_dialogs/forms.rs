//! The form of an MCP server in a session: it is in the mailbox only while nobody is at the session's terminal.

use std::io::Read;
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::{SESSION, closed, hook_of, transcript, waiting, world};
use crate::support::{Signal, Terminal, World, needs, signal, until};

/// A pretended session at a terminal of its own, at which nobody has typed for an hour.
struct Session<'a> {
    world: &'a World,
    terminal: Terminal<'a>,
    pid: String,
}

impl<'a> Session<'a> {
    fn left(world: &'a World) -> Self {
        let session = Self::just_used(world);
        let device = std::fs::read_link(format!("/proc/{}/fd/0", session.pid)).unwrap();
        assert!(Command::new("touch").args(["-a", "-d", "1 hour ago"]).arg(device).status().unwrap().success());
        session
    }

    fn just_used(world: &'a World) -> Self {
        let terminal = Terminal::running(world, (80, 20), &[], &["sh", "-c", "echo $$ > session.pid; exec cat"]);
        terminal.burst(&["x"]);
        terminal.see("x");
        let read = || std::fs::read_to_string(world.work().join("session.pid")).ok().filter(|pid| pid.ends_with('\n'));
        Self { world, terminal, pid: until("the session runs", read).trim().to_owned() }
    }

    /// The hook of a form with one field, which is a name of at least three letters.
    fn asks(&self) -> Child {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 3}}, "required": ["name"]});
        self.asks_with(&json!({"mode": "form", "requested_schema": schema}))
    }

    fn asks_with(&self, more: &Value) -> Child {
        let mut event = json!({
            "hook_event_name": "Elicitation", "session_id": SESSION, "transcript_path": transcript(self.world), "cwd": self.world.work(),
            "mcp_server_name": "shop", "message": "Your order?",
        });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook_of(self.world, &event, &[("CLAUDE_PID", &self.pid)])
    }

    fn never_asked(&self) -> bool {
        !["pending", "answered", "running", "closed"]
            .iter()
            .any(|folder| self.world.names(folder).iter().any(|name| name.starts_with("live-")))
    }
}

/// What the hook prints at its end. Null if it prints nothing.
fn output(mut hook: Child) -> Value {
    let mut out = String::new();
    hook.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(hook.wait().unwrap().success());
    if out.is_empty() { Value::Null } else { serde_json::from_str::<Value>(&out).unwrap()["hookSpecificOutput"].clone() }
}

fn withdrawn(world: &World, id: &str, why: &str) {
    let end = closed(world, id, "withdrawn");
    assert!(end["closed"]["why"].as_str().unwrap().contains(why), "{end}");
}

#[test]
fn a_form_of_a_server_is_refused_in_the_mailbox() {
    needs!("tmux");
    let world = world();
    let session = Session::left(&world);
    let hook = session.asks();
    let id = waiting(&world);
    // The server would not hear them.
    for words in [&["decline", &id, "--note", "too dear"][..], &["ask-back", &id, "How dear?"], &["decline", &id, "--stop"]] {
        let refused = world.run("ask-answer", words);
        assert!(refused.code() == 5, "{refused:?}");
    }
    world.ok("ask-answer", &["decline", &id]);
    assert_eq!(output(hook), json!({"hookEventName": "Elicitation", "action": "decline"}));
    closed(&world, &id, "delivered");
}

#[test]
fn an_answer_that_does_not_fit_a_sessions_form_is_asked_again() {
    needs!("tmux");
    let world = world();
    let session = Session::left(&world);
    let hook = session.asks();
    let id = waiting(&world);
    let first = world.document(&format!("pending/{id}.json"));
    let _ = world.run("ask-answer", &[&id, "Al"]);
    let again = until("it is asked again", || {
        let is_there = world.names("pending") == [format!("{id}.json")];
        is_there.then(|| world.document(&format!("pending/{id}.json"))).filter(|again| again["question_id"] != first["question_id"])
    });
    assert!(again["question"].as_str().unwrap().contains("did not fit: `name` has to be at least 3 characters"), "{again}");
    let end = closed(&world, &id, "superseded");
    assert!(end["closed"]["why"].as_str().unwrap().contains("asked again: `name` has to be"), "{end}");
    world.ok("ask-answer", &[&id, "Alma"]);
    assert_eq!(output(hook)["content"], json!({"name": "Alma"}));
}

#[test]
fn a_form_that_nobody_answers_in_time_opens_at_its_terminal() {
    needs!("tmux");
    let world = world();
    world.configure("[live]\nenabled = true\ngrace = \"0s\"\nhold = \"300ms\"\n");
    let session = Session::left(&world);
    assert_eq!(output(session.asks()), Value::Null);
    let name = world.names("closed").pop().expect("a round");
    withdrawn(&world, name.split('.').next().unwrap(), "nobody answered in time");
}

#[test]
fn the_form_of_a_hook_that_is_told_to_end_is_withdrawn() {
    needs!("tmux");
    let world = world();
    let session = Session::left(&world);
    let hook = session.asks();
    let id = waiting(&world);
    signal(i32::try_from(hook.id()).unwrap(), Signal::TERM);
    withdrawn(&world, &id, "left at its terminal");
    assert_eq!(output(hook), Value::Null);
}

#[test]
fn only_a_form_that_is_understood_leaves_the_terminal() {
    needs!("tmux");
    let world = world();
    let session = Session::left(&world);
    for more in [
        json!({"mode": "url", "url": "https://example.com/"}),
        json!({"mode": "form", "requested_schema": {"type": "object", "properties": {"a": {"type": "object"}}}}),
        json!({}),
    ] {
        assert_eq!(output(session.asks_with(&more)), Value::Null, "{more}");
    }
    let hook = hook_of(&world, &json!({"hook_event_name": "Elicitation"}), &[("CLAUDE_PID", &session.pid)]);
    assert_eq!(output(hook), Value::Null);
    assert!(session.never_asked());
}

mod promises {
    use super::*;

    #[test]
    fn a_sessions_form_is_filled_in_while_nobody_is_there() {
        needs!("tmux");
        let world = world();
        let session = Session::left(&world);
        let hook = session.asks();
        let id = waiting(&world);
        let asked = world.document(&format!("pending/{id}.json"));
        assert_eq!((&asked["elicited_by"], &asked["live"]["in_background"]), (&json!("shop"), &json!(true)), "{asked}");
        let shown = world.ok("ask-answer", &["show", &id]);
        assert!(shown.contains("The MCP server `shop` asks: Your order?") && shown.contains("it opens at the terminal"), "{shown}");
        world.ok("ask-answer", &[&id, "Alma"]);
        assert_eq!(output(hook), json!({"hookEventName": "Elicitation", "action": "accept", "content": {"name": "Alma"}}));
        closed(&world, &id, "delivered");
    }

    #[test]
    fn nobody_at_a_terminal_is_kept_from_a_form() {
        needs!("tmux");
        let world = world();
        let session = Session::just_used(&world);
        assert_eq!(output(session.asks()), Value::Null, "a key came just now");
        let unknown = Session { pid: "4242424".into(), ..session };
        assert_eq!(output(unknown.asks()), Value::Null, "no terminal is known");
        assert!(unknown.never_asked());
    }

    #[test]
    fn the_first_key_at_its_terminal_opens_a_form_there() {
        needs!("tmux");
        let world = world();
        let session = Session::left(&world);
        let hook = session.asks();
        let id = waiting(&world);
        session.terminal.burst(&["y", "Enter"]);
        withdrawn(&world, &id, "somebody is at its terminal: the form is open there");
        assert_eq!(output(hook), Value::Null);
        let late = world.run("ask-answer", &[&id, "Alma"]);
        assert!(late.code() != 0, "{late:?}");
    }
}
