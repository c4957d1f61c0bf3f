//! An idle session of Codex gets one turn with the answer to its question, and with the result of its run. A scripted daemon tells what it is
//! asked. `tests/acp` does the same with the real one.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::codex::{AtTurn, Daemon};
use crate::support::{Outcome, Watcher, World, feed, output, until};

const THREAD: &str = "01a21ac8-b92a-7de2-b387-e540b49d4ef1";
const SUBAGENT: &str = "01a21ac8-b98b-7571-8971-dd381192f9d1";

fn world() -> World {
    let world = World::with_home_apart().with_scripted_agent();
    world.configure("[live]\ncodex = true\ngrace = \"0s\"\n[relaunch]\nattempts = 1\n");
    world.make_mailbox();
    world
}

/// A daemon with one idle session.
fn daemon(world: &World) -> Daemon {
    let daemon = Daemon::start(world.home());
    daemon.has(THREAD, world.work());
    daemon.rests(THREAD);
    daemon
}

fn scene() -> (World, Daemon, Watcher) {
    let world = world();
    let daemon = daemon(&world);
    let watcher = world.watch();
    until("the watcher has seen the session", || file(&world, THREAD).exists());
    (world, daemon, watcher)
}

/// The path of the file of a session that takes its answers.
fn file(world: &World, thread: &str) -> PathBuf {
    world.in_mailbox(format!("looked/codex/{thread}"))
}

/// A command in the shell of a session.
fn in_shell(world: &World, thread: &str, program: &str, args: &[&str]) -> Outcome {
    output(world.command(program).args(args).env("CODEX_THREAD_ID", thread))
}

fn asks(world: &World, id: &str) {
    in_shell(world, THREAD, "ask-post", &["-w", id, "Which?", "-o", "a", "-o", "b"]).ok();
    let question = world.document(&format!("pending/{id}.json"));
    assert_eq!((&question["continues_in"], &question["session_id"]), (&json!(THREAD), &Value::Null), "{question}");
}

/// Waits for the nth turn that was begun, and returns its text.
fn told(daemon: &Daemon, thread: &str, n: usize) -> String {
    until("the session has a turn", || daemon.begun(thread).get(n - 1).cloned())
}

/// Waits until the watcher has looked at the mailbox again, which a question of its own shows.
fn is_silent(world: &World, daemon: &Daemon, turns: usize) {
    // Only a session at work asks its user.
    daemon.works(THREAD);
    daemon.asks_to_run(99, THREAD, "ls");
    until("the watcher asks", || world.names("pending").iter().any(|name| name.starts_with("live-")));
    assert_eq!(daemon.begun(THREAD).len(), turns, "{:?}", daemon.begun(THREAD));
}

#[test]
fn an_answer_waits_for_a_session_of_codex_that_is_gone() {
    let (world, daemon, _watcher) = scene();
    asks(&world, "docs");
    daemon.loses(THREAD);
    world.ok("ask-answer", &["docs", "a"]);
    until("it is looked for", || daemon.calls("thread/read").len() > 1);
    let status = world.ok("relaunch", &["status", "docs"]);
    assert!(status.contains(&format!("codex resume {THREAD}; or start an agent with the answer: relaunch docs")), "{status}");
    assert_eq!(world.state("docs"), "answered");
    // A person may still have an agent go on with it.
    world.agent_does("docs", "echo done");
    world.ok("relaunch", &["docs"]);
    world.closed("docs", "delivered", 1);
    assert!(daemon.calls("turn/start").is_empty());
}

#[test]
fn a_session_of_codex_put_away_is_told_once_it_is_back() {
    let (world, daemon, _watcher) = scene();
    asks(&world, "docs");
    daemon.puts_away(THREAD);
    world.ok("ask-answer", &["docs", "a"]);
    until("it is looked at", || daemon.calls("thread/read").len() > 1);
    // To load it would give the turn the sandbox and the approvals of the configuration, and not those of its user.
    assert!(daemon.calls("thread/resume").is_empty() && daemon.begun(THREAD).is_empty());
    assert_eq!(world.state("docs"), "answered");
    daemon.has_back(THREAD);
    told(&daemon, THREAD, 1);
    world.closed("docs", "delivered", 1);
}

#[test]
fn an_answer_tells_that_no_session_of_codex_will_hear_of_it() {
    let (world, daemon, watcher) = scene();
    asks(&world, "off");
    asks(&world, "stopped");
    watcher.stop();
    let says = |id: &str, why: &str| {
        let outcome = world.run("ask-answer", &[id, "a"]);
        let words = format!("its session of Codex is not told, because {why}: relaunch {id}");
        assert!(outcome.words().contains(&words), "{}", outcome.words());
    };
    says("stopped", "no watcher is running");
    world.reconfigure("codex = true", "codex = false");
    let watcher = world.watch();
    says("off", "live.codex is off");
    assert_eq!((world.state("off").as_str(), world.state("stopped").as_str()), ("answered", "answered"));
    world.agent_does("off", "echo done");
    world.ok("relaunch", &["off"]);
    world.closed("off", "delivered", 1);
    watcher.stop();
    world.reconfigure("codex = false", "codex = true");
    let _watcher = world.watch();
    // The session is told of both now: the answer, and the run that somebody else started with the other one.
    let text = told(&daemon, THREAD, 1);
    assert!(text.contains("- off: its run finished") && text.contains("- stopped: was answered"), "{text}");
    world.closed("stopped", "delivered", 1);
}

#[test]
fn an_answer_that_a_person_took_is_not_told_as_one_of_codex() {
    let (world, daemon, watcher) = scene();
    asks(&world, "docs");
    // The connection lasts, so the watcher waits for the reply, and does not send the turn again.
    daemon.at_the_next_turn(AtTurn::Lost);
    world.ok("ask-answer", &["docs", "a"]);
    until("it was begun", || !daemon.calls("turn/start").is_empty());
    watcher.kill();
    until("its program beside it has left", || world.processes("askbox-live").is_empty());
    world.agent_does("docs", "echo done");
    world.ok("relaunch", &["docs"]);
    world.closed("docs", "delivered", 1);
    let _watcher = world.watch();
    let text = told(&daemon, THREAD, 1);
    assert!(text.contains("- docs: its run finished") && !text.contains("was answered"), "{text}");
}

#[test]
fn an_answer_that_a_killed_watcher_claimed_can_be_relaunched() {
    let (world, daemon, watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::Later);
    world.ok("ask-answer", &["docs", "a"]);
    until("it was begun", || !daemon.calls("turn/start").is_empty());
    assert!(!world.in_mailbox("answered/docs.json").exists(), "the watcher has claimed it");
    watcher.kill();
    until("its program beside it has left", || world.processes("askbox-live").is_empty());
    world.agent_does("docs", "echo done");
    world.ok("relaunch", &["docs"]);
    world.closed("docs", "delivered", 1);
}

#[test]
fn a_lost_daemon_of_codex_is_told_when_it_is_back() {
    let (world, first, _watcher) = scene();
    asks(&world, "docs");
    drop(first);
    world.ok("ask-answer", &["docs", "a"]);
    assert_eq!(world.state("docs"), "answered");
    let daemon = daemon(&world);
    told(&daemon, THREAD, 1);
    world.closed("docs", "delivered", 1);
}

#[test]
fn a_turn_of_codex_whose_reply_is_lost_is_not_begun_again() {
    let (world, daemon, _watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::CutBehind);
    world.ok("ask-answer", &["docs", "a"]);
    world.closed("docs", "delivered", 1);
    assert_eq!(daemon.begun(THREAD).len(), 1, "the history of the session has it");
    // The outputs in a history may be longer than any message.
    assert!(daemon.calls("thread/read").iter().all(|params| params["includeTurns"].is_null()));
}

#[test]
fn a_turn_of_codex_that_was_lost_is_begun_again() {
    let (world, daemon, watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::Cut);
    world.ok("ask-answer", &["docs", "a"]);
    until("it was begun", || !daemon.calls("turn/start").is_empty());
    // The watcher may be killed as well.
    watcher.kill();
    let _watcher = world.watch();
    told(&daemon, THREAD, 1);
    world.closed("docs", "delivered", 1);
    let sent = daemon.calls("turn/start");
    assert_eq!(sent[0], sent[sent.len() - 1], "it is the same notification");
}

#[test]
fn a_watcher_killed_before_the_reply_of_codex_tells_once() {
    let (world, daemon, watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::CutBehind);
    world.ok("ask-answer", &["docs", "a"]);
    until("it was begun", || !daemon.begun(THREAD).is_empty());
    watcher.kill();
    daemon.ends_its_turn(THREAD);
    let _watcher = world.watch();
    world.closed("docs", "delivered", 1);
    is_silent(&world, &daemon, 1);
}

#[test]
fn a_record_that_a_killed_watcher_left_goes_without_a_turn() {
    let (world, daemon, watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::Later);
    world.ok("ask-answer", &["docs", "a"]);
    until("it was begun", || !daemon.calls("turn/start").is_empty());
    let record = world.in_mailbox(format!("looked/{THREAD}.telling.json"));
    let text = std::fs::read_to_string(&record).unwrap();
    daemon.replies_to_the_turn();
    world.closed("docs", "delivered", 1);
    until("nothing is on record", || !record.exists());
    watcher.stop();
    // A watcher that was killed now would have left the record, and no note.
    assert!(!world.in_mailbox(format!("looked/codex/{THREAD}.docs")).exists());
    std::fs::write(&record, text).unwrap();
    let _watcher = world.watch();
    until("nothing is on record", || !record.exists());
    is_silent(&world, &daemon, 1);
}

#[test]
fn a_refused_turn_of_codex_leaves_the_answer_where_it_is() {
    let (world, daemon, _watcher) = scene();
    asks(&world, "docs");
    daemon.at_the_next_turn(AtTurn::Refuse);
    world.ok("ask-answer", &["docs", "a"]);
    until("it is refused", || !daemon.calls("turn/start").is_empty());
    until("nothing is on record", || !world.in_mailbox(format!("looked/{THREAD}.telling.json")).exists());
    assert_eq!((world.state("docs").as_str(), daemon.begun(THREAD).len()), ("answered", 0));
    world.ok("ask-answer", &["undo", "docs"]);
    assert_eq!(world.state("docs"), "pending");
}

#[test]
fn the_question_of_a_subagent_of_codex_wakes_its_session() {
    let (world, daemon, _watcher) = scene();
    daemon.has_subagent(SUBAGENT, THREAD);
    daemon.ends_its_turn(SUBAGENT);
    until("the watcher has seen it", || file(&world, SUBAGENT).exists());
    in_shell(&world, SUBAGENT, "ask-post", &["-w", "sub", "Which?", "-o", "a"]).ok();
    world.ok("ask-answer", &["sub", "a"]);
    assert!(told(&daemon, THREAD, 1).contains("- sub: was answered"));
    world.closed("sub", "delivered", 1);
    assert!(daemon.begun(SUBAGENT).is_empty());
}

#[test]
fn the_result_of_a_run_wakes_the_session_of_codex() {
    let (world, daemon, _watcher) = scene();
    world.agent_does("one", "while [ ! -e $AGENT_DIR/goes ]; do sleep 0.02; done; echo the secret of one");
    in_shell(&world, THREAD, "relaunch", &["spawn", "--background", "-w", "one", "--prompt", "Work."]).ok();
    assert_eq!(world.document("workflows/one.json")["awaited_in"], THREAD);
    std::fs::write(world.agent("goes"), "").unwrap();
    let text = told(&daemon, THREAD, 1);
    assert!(text.contains("- one: its run finished (relaunch resume one)\n") && !text.contains("secret"), "{text}");
    daemon.ends_its_turn(THREAD);
    assert_eq!(in_shell(&world, THREAD, "relaunch", &["resume", "one"]).ok().stdout, "the secret of one\n");
    is_silent(&world, &daemon, 1);
}

#[test]
fn a_question_of_codex_that_ends_without_an_answer_is_told() {
    let (world, daemon, _watcher) = scene();
    asks(&world, "docs");
    world.ok("ask-answer", &["cancel", "docs"]);
    assert!(told(&daemon, THREAD, 1).contains("- docs: was withdrawn (relaunch status docs)"));
}

#[test]
fn only_the_daemons_sessions_of_codex_take_their_answers() {
    let (world, daemon, _watcher) = scene();
    let marked = |id: &str, thread: &str, more: &[(&str, &str)]| {
        let mut command = world.command("ask-post");
        command.args(["-w", id, "Which?", "-o", "a"]).env("CODEX_THREAD_ID", thread).envs(more.iter().copied());
        output(&mut command).ok();
        world.document(&format!("pending/{id}.json"))["continues_in"].clone()
    };
    assert_eq!(marked("daemon", THREAD, &[]), THREAD);
    // `codex exec` and `codex --no-daemon`.
    assert_eq!(marked("exec", SUBAGENT, &[]), Value::Null);
    assert_eq!(marked("claude", THREAD, &[("CLAUDE_CODE_SESSION_ID", SUBAGENT)]), Value::Null);
    assert_eq!(marked("other", "../../x", &[]), Value::Null);
    let of_a_client = format!(r#"{{"workflow_id":"forged","question":"Which?","continues_in":"{THREAD}"}}"#);
    let refused = feed(world.command("ask-post").args(["--file", "-"]), of_a_client.as_bytes());
    assert!(
        refused.code() == 5 && refused.stderr.contains("continues_in: is written by askbox's own programs only"),
        "{}",
        refused.words()
    );
    // An agent goes on from a checkpoint.
    world.ok("checkpoint", &["save", "saved", "--step", "one", "--next-action", "Merge."]);
    assert_eq!(marked("saved", THREAD, &[]), Value::Null);
    world.reconfigure("codex = true", "codex = false");
    assert_eq!(marked("off", THREAD, &[]), Value::Null);
    // The others start an agent, as any answer does.
    world.agent_does("exec", "echo done");
    world.ok("ask-answer", &["exec", "a"]);
    world.closed("exec", "delivered", 1);
    assert!(daemon.begun(THREAD).is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_gives_the_idle_session_of_codex_one_turn() {
        let (world, daemon, _watcher) = scene();
        asks(&world, "docs");
        world.ok("ask-answer", &["docs", "a"]);
        let text = told(&daemon, THREAD, 1);
        assert!(text.contains("- docs: was answered (relaunch status docs)\n"), "{text}");
        assert!(text.contains("no message of your user") && !text.contains("Which?"), "{text}");
        let end = world.closed("docs", "delivered", 1).remove(0);
        assert_eq!(end["closed"]["by"], "relaunch watch");
        assert!(world.ok("relaunch", &["status", "docs"]).contains("answer     a\n"));
        is_silent(&world, &daemon, 1);
        until("nothing is on record", || !world.in_mailbox(format!("looked/{THREAD}.telling.json")).exists());
        assert!(world.launches_of("docs").is_empty(), "no agent is started");
    }

    #[test]
    fn an_answer_for_a_session_of_codex_pauses_no_queue() {
        let (world, daemon, watcher) = scene();
        watcher.stop();
        world.reconfigure("scripted.sh", "none.sh");
        asks(&world, "docs");
        daemon.works(THREAD);
        let _watcher = world.watch();
        world.ok("ask-answer", &["docs", "a"]);
        until("it is looked at", || daemon.calls("thread/read").len() > 2);
        let status = world.ok("relaunch", &["status", "docs"]);
        assert!(!status.contains("none.sh") && status.contains("the session that asked takes the answer itself"), "{status}");
        daemon.ends_its_turn(THREAD);
        told(&daemon, THREAD, 1);
        world.closed("docs", "delivered", 1);
        assert!(world.audited().iter().all(|entry| entry["event"] != "queue_paused"), "{:?}", world.audited());
    }

    #[test]
    fn a_person_and_the_session_of_codex_get_one_answer_once() {
        let (world, daemon, _watcher) = scene();
        asks(&world, "docs");
        daemon.at_the_next_turn(AtTurn::Later);
        world.ok("ask-answer", &["docs", "a"]);
        until("it is begun", || !daemon.begun(THREAD).is_empty());
        // The daemon has the turn, and has not replied yet.
        world.agent_does("docs", "echo done");
        let said = world.run("relaunch", &["docs"]);
        assert_ne!(said.code(), 0, "{}", said.words());
        daemon.replies_to_the_turn();
        world.closed("docs", "delivered", 1);
        assert!(world.launches_of("docs").is_empty(), "{:?}", world.audited());
        assert_eq!(daemon.begun(THREAD).len(), 1);
    }

    #[test]
    fn the_doctor_names_an_answer_that_no_session_of_codex_hears_of() {
        let (world, daemon, watcher) = scene();
        asks(&world, "docs");
        daemon.puts_away(THREAD);
        world.ok("ask-answer", &["docs", "a"]);
        until("it is looked at", || daemon.calls("thread/read").len() > 1);
        watcher.stop();
        let path = world.in_mailbox("answered/docs.json");
        let mut document = world.document("answered/docs.json");
        document["answer"]["at"] = "2026-01-01T00:00:00Z".into();
        std::fs::write(&path, document.to_string()).unwrap();
        let _watcher = world.watch();
        let says = |why: &str| {
            // On a busy machine, the daemon may not answer in time.
            let words = format!("has not taken the answer, because {why}: resume it (codex resume {THREAD}), or start an agent with it");
            until("the doctor says why", || {
                let said = world.run("askbox", &["doctor", "docs"]).words();
                said.contains(&words) && said.contains("relaunch -- docs")
            });
            let words = [format!("is not told of the answer, because {why}"), format!("codex resume {THREAD}")];
            until("its status says why", || {
                let status = world.ok("relaunch", &["status", "docs"]);
                words.iter().all(|words| status.contains(words))
            });
        };
        says("codex's daemon has put the session away");
        daemon.loses(THREAD);
        says("codex's daemon does not have the session");
        drop(daemon);
        says("codex's daemon is not running");
        world.reconfigure("codex = true", "codex = false");
        says("live.codex is off");
    }

    #[test]
    fn a_session_of_codex_at_work_is_told_once_it_rests() {
        let (world, daemon, _watcher) = scene();
        daemon.works(THREAD);
        asks(&world, "one");
        asks(&world, "two");
        world.ok("ask-answer", &["one", "a"]);
        world.ok("ask-answer", &["decline", "two"]);
        until("it is looked at", || daemon.calls("thread/read").len() > 1);
        assert!(daemon.begun(THREAD).is_empty() && world.state("one") == "answered");
        daemon.ends_its_turn(THREAD);
        let text = told(&daemon, THREAD, 1);
        assert!(text.contains("- one: was answered (relaunch status one)\n- two: was declined (relaunch status two)\n"), "{text}");
        world.closed("one", "delivered", 1);
        world.closed("two", "delivered", 1);
    }
}
