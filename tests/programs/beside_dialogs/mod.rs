//! `askbox hook` beside the dialog of an attended session. The test plays the session: it writes the transcript and the session's file, and
//! ends the hook as Claude Code does. `tests/claude/attended` does the same with the real `claude`.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | one dialog: how it is answered, and how it ends |
//! | `forms.rs` | the form of an MCP server, while nobody is at the terminal |
//! | `lists.rs` | what people see of all of them: lists, sessions, the status line, news |
//! | `results.rs` | the result of a run wakes the session that started it |
//! | `untold.rs` | a dialog whose call is in no transcript while it is open |
//! | `surfaces.rs` | the inbox, the page, and news that wait while somebody types at the session's terminal |

mod forms;
mod lists;
mod results;
mod surfaces;
mod untold;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::process::is_alive;
use crate::support::{Signal, World, needs, program, signal, strace, until, was_told};

const SESSION: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
/// The pretended process of the session.
const PROCESS: &str = "4242";

pub(crate) fn world() -> World {
    let world = World::new();
    world.configure("[live]\nenabled = true\ngrace = \"0s\"\n");
    world.make_mailbox();
    for folder in ["config/projects/p", "config/sessions"] {
        std::fs::create_dir_all(world.path(folder)).unwrap();
    }
    world
}

pub(crate) fn transcript(world: &World) -> PathBuf {
    world.path(format!("config/projects/p/{SESSION}.jsonl"))
}

/// Adds a line to the session's transcript.
pub(crate) fn adds(world: &World, line: &Value) {
    adds_at_once(world, std::slice::from_ref(line));
}

/// Adds these lines to the transcript with one write.
fn adds_at_once(world: &World, lines: &[Value]) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(transcript(world)).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file.write_all(text.as_bytes()).unwrap();
}

fn calls(world: &World, tool: &str, input: &Value) {
    adds(
        world,
        &json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": tool, "id": "toolu_1", "input": input}]}}),
    );
}

fn has_result(world: &World) {
    adds(world, &json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}}));
}

fn goes_on(world: &World) {
    adds(world, &json!({"type": "assistant", "message": {"id": "msg_2", "content": []}}));
}

fn takes(world: &World, decision: &str) {
    let attachment = json!({"type": "hook_permission_decision", "decision": decision, "toolUseID": "toolu_1"});
    adds(world, &json!({"type": "attachment", "attachment": attachment}));
}

fn says(world: &World, status: &str) {
    std::fs::write(world.path(format!("config/sessions/{PROCESS}.json")), json!({"status": status}).to_string()).unwrap();
}

/// The event of a dialog about this call.
pub(crate) fn event(world: &World, tool: &str, input: &Value) -> Value {
    json!({
        "hook_event_name": "PermissionRequest", "session_id": SESSION, "transcript_path": transcript(world), "cwd": world.work(),
        "tool_name": tool, "tool_input": input, "permission_mode": "default",
    })
}

/// Starts the hook beside a dialog about this call.
fn hook_with(world: &World, tool: &str, input: &Value, env: &[(&str, &str)]) -> Child {
    hook_of(world, &event(world, tool, input), env)
}

pub(crate) fn hook_of(world: &World, event: &Value, env: &[(&str, &str)]) -> Child {
    let mut command = world.any_command(program("askbox"));
    command.arg("hook").env("CLAUDE_CODE_SESSION_ATTENDED", "1").env("CLAUDE_PID", PROCESS).envs(env.iter().copied());
    let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // A hook that has nothing to do may end before it has read the event.
    let written = hook.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    assert!(written.is_ok() || written.is_err_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe));
    hook
}

fn bash() -> Value {
    json!({"command": "touch one", "description": "Make a file"})
}

/// A hook that has asked about a call of Bash, and the id of its question.
fn asking(world: &World) -> (Child, String) {
    calls(world, "Bash", &bash());
    let hook = hook_with(world, "Bash", &bash(), &[]);
    let id = waiting(world);
    (hook, id)
}

fn waiting(world: &World) -> String {
    let name = until("a question waits", || world.names("pending").first().cloned());
    name.trim_end_matches(".json").to_owned()
}

/// The decision that the hook prints at its end. Null if it prints nothing.
fn decision(mut hook: Child) -> Value {
    let mut out = String::new();
    hook.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(hook.wait().unwrap().success());
    if out.is_empty() {
        return Value::Null;
    }
    let output: Value = serde_json::from_str(&out).unwrap();
    output["hookSpecificOutput"]["decision"].clone()
}

fn closed(world: &World, id: &str, state: &str) -> Value {
    let end = until("the round is closed", || world.rounds("closed", id).pop());
    assert_eq!(end["closed"]["state"], state, "{end}");
    end
}

fn allow(world: &World, id: &str, key: &str) {
    let shown = world.ok("ask-answer", &["show", id]);
    let begin = format!("ask-answer {id} {key} --round ");
    let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
    world.ok("ask-answer", &command.split(' ').skip(1).collect::<Vec<_>>());
}

#[test]
fn a_hook_killed_while_it_posts_is_followed() {
    needs!("strace");
    let mut posted = 0;
    // The disk does not answer one of the syncs in `pending/`, so the hook can take no signal, and is killed there.
    for stuck in 1.. {
        let mut world = world();
        let (trace, inject) = (world.path("trace"), format!("inject=fsync:delay_enter=5s:when={stuck}"));
        let out = trace.to_str().unwrap();
        world.set_before(strace(&["-f", "-y", "-qq", "-e", "trace=fsync", "-e", &inject, "-e", "signal=none", "-o", out]));
        calls(&world, "Bash", &bash());
        let mut hook = hook_with(&world, "Bash", &bash(), &[]);
        let in_sync = || {
            let trace = std::fs::read_to_string(&trace).unwrap_or_default();
            trace.lines().filter(|line| line.contains(" fsync(")).nth(stuck - 1).map(|line| line.contains("/pending"))
        };
        // The first one was posted when the mailbox was made.
        let waits = || world.audited().iter().filter(|entry| entry["event"] == "posted").count() == 2;
        let in_pending = until("it posts", || in_sync().or_else(|| waits().then_some(false)));
        let was_posted = !world.names("pending").is_empty();
        let pid = until("the hook runs", || world.processes("askbox hook").into_iter().find(|pid| !is_strace(*pid)));
        if in_pending {
            signal(pid, Signal::TERM);
            // On a busy machine, the hook may have come out of its sync and ended by itself.
            until("another process goes on", || !world.processes("--ended").is_empty() || !is_alive(pid));
        }
        signal(pid, Signal::KILL);
        hook.wait().unwrap();
        until("no process is left", || world.processes("askbox hook").is_empty());
        assert!(!in_pending || world.names("pending").is_empty(), "stuck in sync {stuck}");
        posted += usize::from(in_pending && was_posted);
        if was_posted && !in_pending {
            break;
        }
    }
    assert!(posted >= 1, "in a sync behind the question's name");
}

fn is_strace(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "strace")
}

#[test]
fn two_hooks_of_one_dialog_ask_once() {
    let world = world();
    let (first, id) = asking(&world);
    assert_eq!(decision(hook_with(&world, "Bash", &bash(), &[])), Value::Null);
    assert_eq!(world.names("pending"), [format!("{id}.json")]);
    allow(&world, &id, "once");
    assert_eq!(decision(first)["behavior"], "allow");
}

#[test]
fn an_unattended_session_asks_only_if_the_operator_wants_it() {
    let world = world();
    world.configure("[live]\nenabled = true\nunattended = true\nhold = \"300ms\"\n");
    calls(&world, "Bash", &bash());
    let unattended = [("CLAUDE_CODE_SESSION_ATTENDED", "0")];
    let run = format!("w/{SESSION}/1");
    assert_eq!(decision(hook_with(&world, "Bash", &bash(), &[unattended[0], ("ASKBOX_RUN", &run)])), Value::Null, "a run of askbox");
    assert!(!world.names("closed").iter().any(|name| name.starts_with("live-")));
    assert_eq!(decision(hook_with(&world, "Bash", &bash(), &unattended)), Value::Null, "nobody answers");
    let round = world.names("closed").pop().expect("a round");
    let end = closed(&world, round.split('.').next().unwrap(), "withdrawn");
    assert!(end["closed"]["why"].as_str().unwrap().contains("decided without an answer"), "{end}");
    world.configure("[live]\nenabled = true\nunattended = true\n");
    let hook = hook_with(&world, "Bash", &bash(), &unattended);
    let id = waiting(&world);
    assert!(world.ok("ask-answer", &["show", &id]).contains("nobody attends this session"));
    allow(&world, &id, "once");
    assert_eq!(decision(hook)["behavior"], "allow");
}

#[test]
fn a_dialog_that_a_person_cancels_here_stays_at_its_terminal() {
    let world = world();
    let (hook, id) = asking(&world);
    world.ok("ask-answer", &["cancel", &id]);
    assert_eq!(decision(hook), Value::Null);
    closed(&world, &id, "withdrawn");
}

#[test]
fn a_plan_is_approved_into_a_mode_or_as_it_was_edited() {
    let input = json!({"plan": "# Plan\nBuild it.\n", "planFilePath": "/x/plan.md"});
    let plan = |answer: &dyn Fn(&World, &str)| {
        let world = world();
        // The transcript has no input of such a call.
        calls(&world, "ExitPlanMode", &json!({}));
        let hook = hook_with(&world, "ExitPlanMode", &input, &[]);
        let id = waiting(&world);
        answer(&world, &id);
        decision(hook)
    };
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let approved = json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": mode});
    assert_eq!(plan(&|world, id| allow(world, id, "accept-edits")), approved);
    let edited = plan(&|world, id| {
        std::fs::write(world.path("edited"), "# Plan\nTest it first.\n").unwrap();
        world.ok("ask-answer", &["edit", id, "--input", &world.path("edited").display().to_string(), "--round", &world.seen(id)]);
    });
    assert_eq!(edited["updatedInput"], json!({"plan": "# Plan\nTest it first.\n", "planFilePath": "/x/plan.md"}), "{edited}");
    let refused = plan(&|world, id| drop(world.run("ask-answer", &["decline", id, "--note", "too large"])));
    assert!(refused["behavior"] == "deny" && refused["message"].as_str().unwrap().contains("too large"), "{refused}");
}

#[test]
fn words_beside_an_allowance_that_would_be_lost_are_refused() {
    let world = world();
    let page = json!({"url": "https://example.com", "prompt": "Read it."});
    calls(&world, "WebFetch", &page);
    let mut hook = hook_with(&world, "WebFetch", &page, &[]);
    let id = waiting(&world);
    let refused = world.run("ask-answer", &[&id, "once", "--round", &world.seen(&id), "--note", "carefully"]);
    assert!(refused.code() == 5 && refused.words().contains("answer.note"), "{}", refused.words());
    hook.kill().unwrap();
    hook.wait().unwrap();
}

#[test]
fn an_agent_without_a_dialog_gets_it_when_its_time_is_over() {
    // A teammate has no dialog either while its hook waits, although this user has switched off agents in the background.
    for env in [&[][..], &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")], &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "0")]] {
        let world = world();
        world.configure("[live]\nenabled = true\ngrace = \"0s\"\nhold = \"300ms\"\n");
        says(&world, "busy");
        let transcript = world.path(format!("config/projects/p/{SESSION}/subagents/agent-a2ed.jsonl"));
        std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        let call = json!({"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": bash()});
        std::fs::write(&transcript, format!("{}\n", json!({"type": "assistant", "message": {"content": [call]}}))).unwrap();
        let mut event = event(&world, "Bash", &bash());
        event["agent_id"] = json!("a2ed");
        assert_eq!(decision(hook_of(&world, &event, env)), Value::Null, "{env:?}");
        let round = world.names("closed").pop().expect("a round");
        let end = closed(&world, round.split('.').next().unwrap(), "withdrawn");
        assert!(end["closed"]["why"].as_str().unwrap().contains("nobody answered in time"), "{env:?}: {end}");
    }
}

#[test]
fn a_mailbox_that_cannot_be_used_leaves_the_dialog_as_it_is() {
    let world = world();
    calls(&world, "Bash", &bash());
    std::fs::write(world.path("file"), "no mailbox").unwrap();
    let places = ["file", "file/below"].map(|place| world.path(place).display().to_string());
    for place in places.iter().map(String::as_str).chain(["/proc/nothing"]) {
        assert_eq!(decision(hook_with(&world, "Bash", &bash(), &[("ASKBOX_DIR", place)])), Value::Null, "{place}");
    }
    assert!(world.names("pending").is_empty());
}

#[test]
fn a_dialog_is_one_call_and_is_never_refused_for_good() {
    let world = world();
    let (_hook, id) = asking(&world);
    let refused = world.run("ask-answer", &["decline", &id, "--always", "--round", &world.seen(&id)]);
    assert!(refused.code() == 5 && refused.words().contains("answer.always"), "{}", refused.words());
}

#[test]
fn a_refusal_may_end_the_turn_and_takes_no_words_then() {
    let world = world();
    let (hook, id) = asking(&world);
    let with_words = world.run("ask-answer", &["decline", &id, "--stop", "--note", "no"]);
    assert!(with_words.code() == 2, "{}", with_words.words());
    std::thread::scope(|scope| {
        let refusing = scope.spawn(|| world.run("ask-answer", &["decline", &id, "--stop"]));
        let decided = decision(hook);
        assert_eq!((&decided["behavior"], &decided["interrupt"]), (&json!("deny"), &json!(true)), "{decided}");
        let content = json!([{"type": "tool_result", "tool_use_id": "toolu_1"}]);
        adds(&world, &json!({"type": "user", "message": {"content": content}, "toolDenialKind": "user-rejected"}));
        refusing.join().unwrap()
    });
    let end = closed(&world, &id, "delivered");
    assert_eq!(end["answer"]["stops"], true, "{end}");
    world.ok("ask-post", &["-w", "run", "Which?"]);
    let of_no_session = world.run("ask-answer", &["decline", "run", "--stop"]);
    assert!(of_no_session.code() == 5 && of_no_session.words().contains("answer.stops"), "{}", of_no_session.words());
}

#[test]
fn the_question_of_a_dialog_is_no_news_for_a_session() {
    let world = world();
    let (_hook, id) = asking(&world);
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "cwd": "/", "prompt": "hello"});
    let told = world.run_with("askbox", &["hook"], prompt.to_string().as_bytes()).ok().stdout;
    assert!(!told.contains(&id), "{told}");
}

#[test]
fn the_plugins_hook_waits_for_days_and_never_blocks_a_dialog() {
    let hooks = std::fs::read_to_string(crate::support::root().join("plugin/hooks/hooks.json")).unwrap();
    let hooks: Value = serde_json::from_str(&hooks).unwrap();
    for event in ["PermissionRequest", "Elicitation"] {
        let hook = &hooks["hooks"][event][0]["hooks"][0];
        // Without a timeout, Claude Code ends the hook after ten minutes. With `onFailure` it would take the dialog away if the hook fails.
        assert_eq!((&hook["timeout"], &hook["onFailure"], &hook["async"]), (&json!(30 * 86_400), &Value::Null, &Value::Null));
        let command = hook["command"].as_str().unwrap();
        assert!(command.contains(r#"[ -z "$ASKBOX_RUN" ]"#) && command.contains("exec askbox hook"), "{command}");
    }
}

/// Somebody writes another question by hand under the name of a dialog's question, without askbox.
#[test]
fn an_answer_to_a_question_in_a_dialogs_place_is_no_decision() {
    let world = world();
    let (hook, id) = asking(&world);
    let written = json!({"workflow_id": id, "question": "May I?", "options": ["once"]});
    world.put("new", written.to_string());
    world.sh(&format!("mv m/new m/pending/{id}.json"));
    world.ok("ask-answer", &[&id, "once"]);
    assert_eq!(decision(hook), Value::Null);
    // The answer is not stuck behind the hook.
    assert!(world.ok("relaunch", &["prompt", &id]).contains("once"));
}

mod promises {
    use super::*;

    #[test]
    fn a_file_by_hand_gives_a_dialog_no_permission() {
        let world = world();
        let (hook, id) = asking(&world);
        let by_hand =
            |id: &str| format!("jq '.answer = \"once\"' m/pending/{id}.json >new; rm m/pending/{id}.json; mv new m/answered/{id}.json");
        world.sh(&by_hand(&id));
        until("the question waits again", || world.in_mailbox(format!("pending/{id}.json")).exists());
        // The trail is written behind the move.
        until("the refusal is on record", || world.audit(&id).contains(&"refused".to_owned()).then_some(()));
        allow(&world, &id, "once");
        assert_eq!(decision(hook)["behavior"], "allow");
        // The operator may let it count.
        let world = self::world();
        world.configure("[live]\nenabled = true\ngrace = \"0s\"\n[answers]\npermits_by_file = true\n");
        let (hook, id) = asking(&world);
        world.sh(&by_hand(&id));
        assert_eq!(decision(hook)["behavior"], "allow");
    }

    #[test]
    fn no_question_supersedes_that_of_a_dialog() {
        let world = world();
        let (hook, id) = asking(&world);
        let kept = world.document(&format!("pending/{id}.json"));
        let words = kept["question"].as_str().unwrap();
        for question in [&["Merge?", "-o", "once"][..], &["Merge?", "--default", "yes", "--timeout", "2h"], &[words, "-o", "once"]] {
            let out = world.run("ask-post", &[question, &["-w", &id, "--supersede"]].concat());
            assert_eq!(out.code(), 4, "{}", out.words());
            assert!(out.stderr.contains("is the dialog of a session"), "{}", out.stderr);
            assert!(out.stderr.contains("hint: ask under another name: -w NAME"), "{}", out.stderr);
            assert_eq!(world.document(&format!("pending/{id}.json")), kept);
        }
        allow(&world, &id, "once");
        assert_eq!(decision(hook)["behavior"], "allow");
    }

    #[test]
    fn the_first_answer_is_the_decision_and_the_receipt_delivers_it() {
        let world = world();
        let (hook, id) = asking(&world);
        allow(&world, &id, "once");
        assert_eq!(decision(hook), json!({"behavior": "allow", "updatedInput": bash()}));
        takes(&world, "allow");
        closed(&world, &id, "delivered");
    }

    #[test]
    fn a_sender_hears_that_a_session_went_on_without_his_answer() {
        let world = world();
        let (hook, id) = asking(&world);
        let sent_at = Instant::now();
        let refused = std::thread::scope(|scope| {
            let refusing = scope.spawn(|| {
                let refused = world.run("ask-answer", &["decline", &id, "--note", "no"]);
                assert!(was_told(refused.code(), sent_at), "{}", refused.words());
                refused
            });
            assert_eq!(decision(hook)["behavior"], "deny");
            has_result(&world);
            goes_on(&world);
            refusing.join().unwrap()
        });
        assert!(refused.code() == 0 || refused.words().contains("came too late"), "{}", refused.words());
        closed(&world, &id, "superseded");
    }

    #[test]
    fn each_sign_that_the_dialog_is_over_withdraws_the_question() {
        type Sign = fn(&World, &mut Child);
        let signs: [(&str, Sign); 5] = [
            ("SIGTERM", |_, hook| signal(i32::try_from(hook.id()).unwrap(), Signal::TERM)),
            ("a result", |world, _| has_result(world)),
            ("the decision of another hook", |world, _| takes(world, "allow")),
            ("the status", |world, _| {
                // The hook must have seen it wait.
                std::thread::sleep(std::time::Duration::from_millis(400));
                says(world, "busy");
            }),
            ("the closed output", |_, hook| drop(hook.stdout.take())),
        ];
        for (what, sign) in signs {
            let world = world();
            says(&world, "waiting");
            let (mut hook, id) = asking(&world);
            sign(&world, &mut hook);
            let begun = Instant::now();
            let end = closed(&world, &id, "withdrawn");
            println!("{what}: withdrawn after {:?}: {}", begun.elapsed(), end["closed"]["why"]);
            assert!(hook.wait().unwrap().success(), "{what}");
            assert_eq!(world.audit(&id), ["posted", "withdrawn"], "{what}");
            let late = world.run("ask-answer", &["decline", &id]);
            assert!(late.code() != 0 && late.words().contains("before you answered"), "{what}: {}", late.words());
        }
    }

    #[test]
    fn a_hook_killed_while_it_withdraws_is_followed() {
        let world = world();
        let (mut hook, id) = asking(&world);
        let mailbox = askbox_mailbox::Mailbox::open(world.mailbox()).unwrap();
        let lock = mailbox.lock(&id.parse().unwrap()).unwrap();
        let pid = i32::try_from(hook.id()).unwrap();
        signal(pid, Signal::TERM);
        until("another process goes on", || !world.processes("--ended").is_empty());
        signal(pid, Signal::KILL);
        hook.wait().unwrap();
        drop(lock);
        let end = closed(&world, &id, "withdrawn");
        assert!(end["closed"]["why"].as_str().unwrap().contains("refused or left"), "{end}");
        until("no process is left", || world.processes("askbox hook").is_empty());
    }

    #[test]
    fn the_hook_is_silent_where_no_decision_would_refuse() {
        let world = world();
        calls(&world, "Bash", &bash());
        let run = format!("w/{SESSION}/1");
        for env in [("CLAUDE_CODE_SESSION_ATTENDED", "0"), ("CLAUDE_CODE_SESSION_ATTENDED", ""), ("ASKBOX_RUN", run.as_str())] {
            assert_eq!(decision(hook_with(&world, "Bash", &bash(), &[env])), Value::Null, "{env:?}");
        }
        world.configure("");
        assert_eq!(decision(hook_with(&world, "Bash", &bash(), &[])), Value::Null, "[live] is off");
        assert!(world.names("pending").is_empty());
    }

    #[test]
    fn a_call_that_is_too_long_to_be_shown_stays_at_its_terminal() {
        let world = world();
        let input = json!({"command": "x".repeat(40_000)});
        calls(&world, "Bash", &input);
        assert_eq!(decision(hook_with(&world, "Bash", &input, &[])), Value::Null);
        assert!(world.names("pending").is_empty());
        let entry = world.audited().pop().unwrap();
        assert!(entry["event"] == "dialog_not_asked" && entry["why"].as_str().unwrap().contains("as it is shown to a person"), "{entry}");
    }
}
