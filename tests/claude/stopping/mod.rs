//! A run of the real `claude` is watched, and stopped on each rung of the ladder, without losing work.

mod boundary;
mod following;
mod forced;
mod foreground;
mod retrying;
mod seeing;
mod supervised;
mod token_stream;
mod words;

use crate::support::claude::api::Request;
use crate::support::claude::bash;
use crate::support::claude::live::Live;
use crate::support::{ClaudeWorld, LIMIT, Outcome, whole_lines};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

/// A service whose agent may use its tools.
#[track_caller]
fn world() -> ClaudeWorld {
    service_with("")
}

/// The same with more lines in the configuration.
#[track_caller]
fn service_with(config: &str) -> ClaudeWorld {
    let world = ClaudeWorld::new();
    world.configure(&format!("[runner.claude]\nallowed_tools = ['Bash', 'Write', 'Task']\n{config}"));
    world
}

/// `relaunch run --stream` on a task of these steps, its events as they come.
#[track_caller]
fn start(world: &ClaudeWorld, id: &str, steps: &Value) -> Live {
    Live::spawn(task(world, id, steps))
}

fn task(world: &ClaudeWorld, id: &str, steps: &Value) -> Command {
    let file = world.path(format!("{id}.md"));
    std::fs::write(&file, format!("The task of the walnut. @@{steps}")).expect("a file");
    let mut command = world.command("relaunch");
    command.args(["run", "--stream", "-w", id]).arg(file);
    command
}

/// A program that writes `out.txt` in 20 steps, a tenth of a second apart. It says when it has begun, and waits until the run is told to
/// stop.
fn add_writer(world: &ClaudeWorld) {
    add_gate(world, "begun");
    world.add_script(
        "write-steps",
        &format!(
            "echo 1 > out.txt; echo go > '{}'; i=0; \
             until ls '{}'/runs/*/*/*/stop.json >/dev/null 2>&1 || [ $i -ge 600 ]; do sleep 0.1; i=$((i+1)); done; \
             i=2; while [ $i -le 20 ]; do sleep 0.1; echo $i >> out.txt; i=$((i+1)); done; echo all written",
            gate(world, "begun").display(),
            world.mailbox().display(),
        ),
    );
}

fn write_steps() -> Value {
    bash("write-steps")
}

/// The lines of the file that it writes.
fn written(world: &ClaudeWorld) -> usize {
    std::fs::read_to_string(world.work().join("out.txt")).unwrap_or_default().lines().count()
}

/// A program that says that it has begun, and then takes ten minutes, with a child in a session of its own.
fn add_sleeper(world: &ClaudeWorld) {
    add_gate(world, "begun");
    let gate = gate(world, "begun");
    world.add_script("sleep-long", &format!("setsid sleep 601 & sleep 600 & echo go > '{}'; wait", gate.display()));
}

fn gate(world: &ClaudeWorld, name: &str) -> std::path::PathBuf {
    world.home().join(format!("{name}.gate"))
}

fn add_gate(world: &ClaudeWorld, name: &str) {
    assert!(Command::new("mkfifo").arg(gate(world, name)).status().expect("mkfifo").success());
}

/// Waits until somebody writes to the gate.
#[track_caller]
fn wait_gate(world: &ClaudeWorld, name: &str) {
    let (path, (sender, receiver)) = (gate(world, name), channel());
    std::thread::spawn(move || sender.send(std::fs::read(path)));
    receiver.recv_timeout(LIMIT).expect("the tool begins").expect("the gate opens");
}

/// `relaunch stop`, to its end.
#[track_caller]
fn stop(world: &ClaudeWorld, id: &str, args: &[&str]) -> Outcome {
    world.run("relaunch", &[&["stop", id], args].concat()).ok()
}

/// The last event, which must be `interrupted`.
#[track_caller]
fn interrupted(events: &[Value]) -> Value {
    let last = events.last().cloned().unwrap_or_default();
    assert_eq!(last["type"], "interrupted", "{events:#?}");
    last
}

/// The rungs that were stood on, in order.
fn rungs(events: &[Value]) -> Vec<String> {
    let notes = events.iter().filter(|e| e["type"] == "note").filter_map(|e| e["text"].as_str());
    notes.filter_map(|n| n.strip_prefix("ladder: ")).map(|n| n.split([':', ' ']).next().unwrap_or_default().to_owned()).collect()
}

/// Checks the first rungs. On a busy machine the agent may not end in time, and the next rungs follow.
#[track_caller]
fn climbed(events: &[Value], first: &[&str]) {
    assert!(rungs(events).iter().map(String::as_str).collect::<Vec<_>>().starts_with(first), "{first:?}: {events:#?}");
}

/// Processes that carry `ASKBOX_RUN` of this service's runs, or lie in one of these process groups.
fn alive(world: &ClaudeWorld, groups: &[i32]) -> Vec<String> {
    let mailbox = format!("ASKBOX_DIR={}", world.mailbox().display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
        let read = |name: &str| String::from_utf8_lossy(&std::fs::read(entry.path().join(name)).unwrap_or_default()).into_owned();
        let environ = read("environ");
        let of_run = environ.split('\0').any(|v| v.starts_with("ASKBOX_RUN=")) && environ.split('\0').any(|v| v == mailbox);
        let stat = read("stat");
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let in_group = fields.get(2).and_then(|g| g.parse().ok()).is_some_and(|g| groups.contains(&g));
        if (of_run || in_group) && fields.first() != Some(&"Z") {
            found.push(format!("{pid} {}", read("cmdline").replace('\0', " ")));
        }
    }
    found
}

/// The process groups of all agents that were launched, and of what they run now.
fn groups(world: &ClaudeWorld) -> Vec<i32> {
    let mut groups: Vec<i32> = world.launches().iter().map(|l| l.pid).collect();
    for name in ["sleep-long", "sleep 60", "write-steps"] {
        groups.extend(world.processes(name));
    }
    groups
}

/// Continues a stopped workflow with these steps, and checks that it is the same session, told nothing twice.
#[track_caller]
fn continues(world: &ClaudeWorld, id: &str, session: &str, steps: Value) -> Request {
    let launches = world.launches().len();
    world.api.on("Continue where you left off", steps);
    let ran = world.run("relaunch", &["--json", id]).ok();
    assert_eq!(ran.events().last().expect("events")["type"], "result", "{ran:?}");
    let all = world.launches();
    assert_eq!(all.len(), launches + 1);
    assert!(all[launches].args.contains(&format!("--resume={session}")), "{all:#?}");
    let told = world.api.requests_with_text("Continue where you left off").remove(0);
    let text = told.model_text();
    assert_eq!(text.matches("The task of the walnut.").count(), 1, "{text}");
    assert_eq!(text.matches("Continue where you left off").count(), 1, "{text}");
    assert_eq!(told.session_id().as_deref(), Some(session));
    let status = world.status(id);
    assert_eq!((&status["state"], &status["session_id"]), (&"delivered".into(), &session.into()), "{status:#}");
    told
}

/// A command's standard streams for a child that is only watched by its events on disk.
fn silent(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn read_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    whole_lines(&text).map(|l| serde_json::from_str(l).expect("an event")).collect()
}
