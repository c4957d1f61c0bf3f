//! `askbox hook --from kimi` and `--from gemini`: the dialogs at their terminals, as files that the watcher tells. Also the lines that setup
//! shows for these hooks, and what the doctor says about them. `tests/acp/at_terminal.rs` does the same with the real programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Running, World, quickly};

const BOTH: &str = "[live]\nnews = [\"kimi\", \"gemini\"]\n";

fn world() -> World {
    let world = World::new();
    world.configure(BOTH);
    world.make_mailbox();
    world
}

/// The hook takes these bytes. It prints nothing and succeeds, whatever they are.
fn takes(world: &World, program: &str, bytes: &[u8]) {
    let outcome = world.run_with("askbox", &["hook", "--from", program], bytes);
    assert_eq!((outcome.code(), outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""), "{}", outcome.words());
}

fn kimi(name: &str, id: &str) -> Value {
    json!({"hook_event_name": name, "session_id": "session_1", "cwd": "/work/docs", "id": id, "tool_call_id": "call_1", "tool_name": "Bash",
        "action": "Running: touch f1", "display": {"kind": "command", "command": "touch f1"}, "decision": "approved"})
}

fn gemini(name: &str, session: &str, command: &str) -> Value {
    json!({"hook_event_name": name, "session_id": session, "cwd": "/work/docs", "notification_type": "ToolPermission",
        "message": "Tool Confirm Shell Command requires execution", "details": {"type": "exec", "command": command, "rootCommand": "touch"},
        "tool_name": "run_shell_command", "tool_input": {"command": command}})
}

fn tell(world: &World, program: &str, event: &Value) {
    takes(world, program, event.to_string().as_bytes());
}

fn dialogs(world: &World) -> Vec<Value> {
    let Ok(entries) = fs::read_dir(world.in_mailbox("dialogs")) else { return Vec::new() };
    entries.map(|entry| world.json(entry.unwrap().path())).collect()
}

#[test]
fn a_hook_of_dialogs_does_nothing_where_it_is_not_wanted() {
    let mut world = world();
    let request = kimi("PermissionRequest", "approval_1");
    tell(&world, "gemini", &request);
    world.reconfigure(BOTH, "[live]\nnews = [\"gemini\"]\n");
    tell(&world, "kimi", &request);
    world.reconfigure("news = [\"gemini\"]", "news = [\"other\"]");
    tell(&world, "kimi", &request);
    world.reconfigure("news = [\"other\"]", "news = [\"kimi\"]");
    world.set_env(&[("ASKBOX_RUN", "w/7c9e6679-7425-40de-944b-e07fc1f90ae7/1")]);
    tell(&world, "kimi", &request);
    assert!(!world.in_mailbox("dialogs").exists());
    world.set_env(&[("ASKBOX_RUN", "")]);
    fs::rename(world.mailbox(), world.path("away")).unwrap();
    tell(&world, "kimi", &request);
    assert!(!world.mailbox().exists());
    fs::rename(world.path("away"), world.mailbox()).unwrap();
    tell(&world, "kimi", &request);
    assert_eq!(dialogs(&world).len(), 1);
}

#[test]
fn hostile_events_and_links_leave_no_harm() {
    let world = world();
    let deep = "[".repeat(200_000);
    let whole = kimi("PermissionRequest", "approval_1").to_string();
    for bytes in [&b""[..], b"{", b"null", b"\xff\xfe", deep.as_bytes(), &whole.as_bytes()[..whole.len() - 9]] {
        takes(&world, "kimi", bytes);
        takes(&world, "gemini", bytes);
    }
    assert_eq!(dialogs(&world), [] as [Value; 0]);
    let mut long = kimi("PermissionRequest", "approval_1");
    for name in ["session_id", "cwd", "tool_name", "id"] {
        long[name] = "\u{1b}]0;x\u{7}/../../\u{202e}".repeat(10_000).into();
    }
    long["display"]["command"] = "\u{1b}[2J\n".repeat(10_000).into();
    tell(&world, "kimi", &long);
    let all = dialogs(&world);
    let text = all[0].to_string();
    assert!(all.len() == 1 && text.len() < 16_000 && !text.contains("\\u001b") && !text.contains('\u{202e}'), "{text}");
    tell(&world, "kimi", &json!({"hook_event_name": "PermissionResult", "session_id": long["session_id"], "id": long["id"]}));
    assert_eq!(dialogs(&world), [] as [Value; 0]);
    // A folder or a file that leads out of the mailbox.
    fs::create_dir(world.path("outside")).unwrap();
    fs::remove_dir(world.in_mailbox("dialogs")).unwrap();
    symlink(world.path("outside"), world.in_mailbox("dialogs")).unwrap();
    tell(&world, "kimi", &kimi("PermissionRequest", "approval_1"));
    assert_eq!(fs::read_dir(world.path("outside")).unwrap().count(), 0);
    fs::remove_file(world.in_mailbox("dialogs")).unwrap();
    tell(&world, "gemini", &gemini("Notification", "s1", "touch f1"));
    let [name] = &world.names("dialogs")[..] else { panic!("one file") };
    let path = world.in_mailbox("dialogs").join(name);
    fs::rename(&path, world.path("outside/kept")).unwrap();
    symlink(world.path("outside/kept"), &path).unwrap();
    tell(&world, "gemini", &gemini("BeforeAgent", "s1", ""));
    assert!(world.path("outside/kept").exists() && fs::symlink_metadata(&path).unwrap().is_symlink(), "a link is not read");
}

#[test]
fn a_hook_of_dialogs_takes_less_than_50_milliseconds() {
    let world = world();
    for n in 0..90 {
        tell(&world, "gemini", &gemini("Notification", &format!("s{n}"), "touch f1"));
    }
    assert_eq!(dialogs(&world).len(), 90);
    quickly("a hook of a session without a dialog", Duration::from_millis(50), || {
        tell(&world, "gemini", &gemini("AfterTool", "other", "ls"))
    });
    quickly("a dialog that opens", Duration::from_millis(50), || tell(&world, "gemini", &gemini("Notification", "other", "ls")));
}

#[test]
fn a_dialog_of_gemini_shows_in_the_list_of_sessions() {
    let world = world();
    tell(&world, "gemini", &gemini("Notification", "s1", "touch f1"));
    let listed = || -> Vec<Value> {
        let all = world.ok("askbox", &["sessions", "--json"]);
        all.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let [session] = &listed()[..] else { panic!("one session") };
    assert_eq!((&session["program"], &session["session_id"], &session["status"]), (&json!("gemini"), &json!("s1"), &json!("waiting")));
    assert!(world.ok("askbox", &["sessions"]).contains("waits at its terminal: shell touch f1"));
    let sleeper = Running::start(world.any_command("sleep").arg("600"));
    let [name] = &world.names("dialogs")[..] else { panic!("one file") };
    let path = world.in_mailbox("dialogs").join(name);
    let mut dialog = world.json(&path);
    dialog["process"] = json!({"pid": sleeper.pid()});
    fs::write(&path, dialog.to_string()).unwrap();
    assert_eq!(listed().len(), 1);
    sleeper.kill();
    assert_eq!(listed(), [] as [Value; 0]);
    assert!(path.exists(), "the list changes nothing");
}

#[test]
fn setup_shows_the_hooks_of_the_programs_that_are_here() {
    let world = crate::programs::setup::home();
    let shown = || world.ok("askbox", &["setup", "--dry-run"]);
    assert!(!shown().contains("--from"), "{}", shown());
    fs::create_dir_all(world.home().join(".kimi-code")).unwrap();
    fs::create_dir_all(world.home().join(".gemini")).unwrap();
    let lines = |head: &str| -> String {
        let all = shown();
        let behind = all.split_once(head).unwrap_or_else(|| panic!("{all}")).1;
        behind.lines().skip(1).map_while(|line| line.strip_prefix("      | ")).map(|line| format!("{line}\n")).collect()
    };
    fs::write(world.home().join(".kimi-code/config.toml"), lines("Kimi: ")).unwrap();
    fs::write(world.home().join(".gemini/settings.json"), lines("Gemini: ")).unwrap();
    assert!(!shown().contains("--from"), "{}", shown());
    assert!(!world.ok("askbox", &["setup", "--dry-run", "--without", "live"]).contains("--from"));
}

mod promises {
    use super::*;

    #[test]
    fn a_dialog_of_kimi_is_a_file_until_its_result() {
        let world = world();
        tell(&world, "kimi", &kimi("PermissionRequest", "approval_1"));
        tell(&world, "kimi", &kimi("PermissionRequest", "approval_1"));
        tell(&world, "kimi", &kimi("PermissionRequest", "approval_2"));
        let all = dialogs(&world);
        assert_eq!(all.len(), 2, "{all:?}");
        let of = |name: &str| all[0][name].as_str().unwrap_or_default();
        assert_eq!(["program", "session_id", "cwd", "tool", "asks"].map(of), ["kimi", "session_1", "/work/docs", "Bash", "touch f1"]);
        assert_eq!(all[0]["process"]["pid"], std::process::id(), "{all:?}");
        let file = fs::read_dir(world.in_mailbox("dialogs")).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // The same id of another session is another dialog.
        let mut other = kimi("PermissionResult", "approval_1");
        other["session_id"] = "session_2".into();
        tell(&world, "kimi", &other);
        assert_eq!(dialogs(&world).len(), 2);
        for id in ["approval_1", "approval_2", "approval_2", "approval_3"] {
            tell(&world, "kimi", &kimi("PermissionResult", id));
        }
        assert_eq!(dialogs(&world), [] as [Value; 0]);
    }

    #[test]
    fn a_dialog_of_gemini_is_a_file_until_the_next_event() {
        let world = world();
        let asks = || {
            let mut all: Vec<_> = dialogs(&world).iter().map(|dialog| dialog["asks"].as_str().unwrap().to_owned()).collect();
            all.sort();
            all
        };
        let told = |name: &str, session: &str, command: &str| tell(&world, "gemini", &gemini(name, session, command));
        told("Notification", "s1", "touch f1");
        told("Notification", "s1", "touch f2");
        told("Notification", "s2", "touch f3");
        assert_eq!(asks(), ["touch f2", "touch f3"], "a session has one dialog at a time");
        told("AfterTool", "s1", "ls");
        told("BeforeTool", "s1", "touch f2");
        assert_eq!(asks(), ["touch f2", "touch f3"], "another call has ended");
        told("AfterTool", "s1", "touch f2");
        assert_eq!(asks(), ["touch f3"]);
        told("BeforeAgent", "s2", "");
        assert_eq!(asks(), [""; 0]);
    }
}
