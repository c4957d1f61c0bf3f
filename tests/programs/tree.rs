//! `askbox tree`: every workflow under its parent. The snapshots in `snapshots/tree` are whole outputs. After a wanted change:
//! `SNAPSHOTS=overwrite tests/run programs tree::`. The output of `--json` is checked against its schema.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::programs::schema;
use crate::support::{LIMIT, Running, Terminal, World, asleep, json_schema, needs, sleeps, until};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

/// A mailbox whose only agent is the scripted one.
fn world() -> World {
    let world = World::new().with_scripted_agent();
    world.configure("[relaunch]\nattempts = 1");
    std::fs::create_dir_all(world.in_mailbox("pending")).unwrap();
    world.sh("chmod -R go-w m");
    world
}

fn passes_on(world: &World, id: &str, next: &str) {
    world.agent_does(
        id,
        &format!("if [ $n = 1 ]; then relaunch spawn -w {next} --prompt \"The work of {next}\"; else echo \"passed on: $(news)\"; fi"),
    );
}

const ASKS: &str = "if [ $n = 1 ]; then ask-post 'When is your birthday?'; else echo 'it is 1 May'; fi";

/// Root, sub and subsub, and a leaf that asks.
fn birthday() -> World {
    let world = world();
    for (id, next) in [("root", "sub"), ("sub", "subsub"), ("subsub", "leaf")] {
        passes_on(&world, id, next);
    }
    world.agent_does("leaf", ASKS);
    assert_eq!(world.sh("relaunch spawn -w root --prompt 'Plan the party'"), "SGN_PEND_STARTED (root)");
    world
}

/// A line of shell and its output, without ages.
fn seen(world: &World, script: &str) -> String {
    let ran = world.shell(script);
    let mut out = format!("$ {script}\n");
    for line in ran.stdout.lines() {
        let age: String = line.chars().skip(11).take(9).collect();
        let aged = age.trim().ends_with(['s', 'm', 'h']) && age.starts_with("  ");
        let line: String =
            if aged { line.chars().take(11).chain("      AGE".chars()).chain(line.chars().skip(20)).collect() } else { line.to_owned() };
        // How much is shown of a path depends on the machine.
        let line = line.split_once(world.root().to_str().unwrap()).map_or(line.clone(), |(head, _)| format!("{head}[ROOT]…"));
        let _ = writeln!(out, "{line}");
    }
    for line in ran.stderr.lines() {
        let _ = writeln!(out, "2> {}", line.replace(world.root().to_str().unwrap(), "[ROOT]"));
    }
    let _ = writeln!(out, "exit {}\n", ran.code());
    out
}

fn see(world: &World, scripts: &[&str]) -> String {
    scripts.iter().map(|script| seen(world, script)).collect()
}

/// The output of `--json`, each object checked against the schema.
fn nodes(world: &World, arguments: &str) -> Vec<Value> {
    let nodes: Vec<Value> =
        world.sh(&format!("askbox tree --json {arguments}")).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    nodes.iter().for_each(fits);
    nodes
}

fn fits(node: &Value) {
    let (_, schema) = schema::all().into_iter().find(|(name, _)| *name == "tree").unwrap();
    let problems = json_schema::problems(&schema, node);
    assert!(problems.is_empty(), "{node:#}\n{problems:#?}");
}

#[test]
fn a_parked_workflow_in_the_middle_keeps_its_tree_in_view() {
    let world = birthday();
    world.agent_does("subsub", "echo HOPELESS");
    world.sh("ask-answer leaf '1 May'");
    world.sh("relaunch resume root");
    assert_data_eq!(see(&world, &["askbox tree"]), file!["snapshots/tree/parked.txt"].raw());
}

#[test]
fn hostile_files_neither_hang_the_tree_nor_reach_the_terminal() {
    let world = world();
    world.sh("ask-post -w real 'Really?'");
    let workflow = |id: &str, parent: &str| {
        std::fs::write(world.path(format!("m/workflows/{id}.json")), format!(r#"{{"workflow_id":"{id}","parent":"{parent}"}}"#)).unwrap();
    };
    let question = |id: &str, parent: &str| {
        let text = r"\u001b[2J\u001b]0;owned\u0007\u202eRing?\nnext";
        std::fs::write(
            world.path(format!("m/pending/{id}.json")),
            format!(r#"{{"workflow_id":"{id}","parent":"{parent}","question":"{text}"}}"#),
        )
        .unwrap();
    };
    for (id, parent) in [("a", "b"), ("b", "c"), ("c", "a"), ("hangs-on", "a"), ("self", "self")] {
        workflow(id, parent);
    }
    question("self", "self");
    question("c", "a");
    question("orphan", "never-there");
    // A workflow's own words are not a record, and a link is not followed.
    std::fs::write(world.path("m/workflows/torn.json"), "{").unwrap();
    std::os::unix::fs::symlink(world.path("m/workflows/a.json"), world.path("m/workflows/link.json")).unwrap();
    world.sh("mkdir m/awaits/a m/awaits/real && echo '{' > m/awaits/a/hangs-on.json && ln -s ../a m/awaits/orphan && mkfifo m/awaits/real/x.json");
    (1..=30).for_each(|n| workflow(&format!("deep{n:02}"), &format!("deep{:02}", n - 1)));
    question("deep30", "deep29");
    let out = see(&world, &["timeout 60 askbox tree", "timeout 60 askbox tree c", "timeout 60 askbox tree deep29"]);
    assert!(!out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{out:?}");
    assert_data_eq!(out, file!["snapshots/tree/hostile.txt"].raw());
    let all = nodes(&world, "--all");
    let mut ids: Vec<_> = all.iter().map(|n| n["workflow_id"].as_str().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "one place each");
    assert_eq!(all.iter().filter(|n| n["in_ring"] == true).count(), 2);
    assert_eq!(all.iter().find(|n| n["workflow_id"] == "never-there").unwrap()["state"], "unknown");
}

#[test]
fn an_empty_mailbox_and_unknown_workflows_are_reported_as_such() {
    let world = world();
    let mut out = see(&world, &["askbox tree", "askbox tree --all", "askbox tree --json", "askbox tree nobody", "askbox tree ../x"]);
    out += &see(&world, &["askbox tree --mailbox elsewhere", "askbox tree --all x", "askbox tree -f"]);
    assert_data_eq!(out, file!["snapshots/tree/nothing.txt"].raw());
    assert!(!world.path("elsewhere").exists());
}

#[test]
fn no_line_of_a_tree_is_wider_than_the_terminal() {
    needs!("tmux");
    let world = world();
    world.agent_does("root", "relaunch spawn -w w-01a200fa-8506-7396-8aa2-a8d6ac9819e6-and-so-on --prompt go");
    world.agent_does(
        "w-01a200fa-8506-7396-8aa2-a8d6ac9819e6-and-so-on",
        "ask-post \"$(printf 'Which of these %s?' '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21')\"",
    );
    world.sh("relaunch spawn -w root --prompt go");
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; askbox tree; echo left=$?", "Enter"]);
    let screen = terminal.see("left=0");
    let lines: Vec<&str> = screen.lines().skip_while(|l| !l.starts_with("STATE")).collect();
    assert!(lines[1].contains("root  go"), "{screen}");
    assert!(lines[2].contains("└─ w-01a200fa-8506-7396-8aa2-a8d6ac9819e6-and-so-on"), "{screen}");
    assert!(lines[3].trim_start().starts_with("Which of these 1 2 3") && lines[3].ends_with('…'), "{screen}");
    assert_eq!(lines[3].chars().count(), 100, "{screen}");
    assert!(lines[4].contains("--all") && lines[5].starts_with("left=0"), "{screen}");
}

#[test]
fn the_live_view_is_drawn_anew_when_something_happens() {
    needs!("tmux");
    let world = world();
    world.sh("ask-post -w first 'First?'");
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; echo before; askbox tree -f; echo left=$?", "Enter"]);
    let screen = terminal.see("First?");
    assert!(screen.contains("STATE") && !screen.contains("before"), "{screen}");
    world.agent_does("root", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.1; done; echo gone");
    world.sh("relaunch spawn --background -w root --prompt 'Some work'");
    let screen = terminal.see("thinking: Some work");
    assert!(screen.contains("running"), "{screen}");
    std::fs::write(world.agent("go"), "").unwrap();
    until("its end", || !terminal.see("STATE").contains("Some work"));
    world.sh("ask-answer cancel first");
    terminal.see("nothing is open");
    terminal.press(&["C-c"]);
    // What was there before is there again, and the last picture below it.
    let screen = terminal.see("left=0");
    assert!(screen.contains("before") && screen.contains("nothing is open"), "{screen}");
}

struct Follower {
    process: Running,
    lines: Receiver<String>,
}

impl Follower {
    fn start(world: &World) -> Self {
        let mut process = Running::start(world.command("askbox").args(["tree", "-f", "--json"]).stdout(Stdio::piped()));
        let out = BufReader::new(process.0.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        Self { process, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        // Sooner than it would look by itself.
        let node = serde_json::from_str(&self.lines.recv_timeout(LIMIT / 2).expect("one more line")).unwrap();
        fits(&node);
        node
    }
}

#[test]
fn a_follower_sleeps_in_quiet_and_tells_every_change_once() {
    let world = birthday();
    let follower = Follower::start(&world);
    for (id, state) in [("root", "awaiting"), ("sub", "awaiting"), ("subsub", "awaiting"), ("leaf", "pending")] {
        let node = follower.next();
        assert_eq!((node["workflow_id"].as_str(), node["state"].as_str()), (Some(id), Some(state)));
    }
    let before = asleep(follower.process.pid());
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(sleeps(follower.process.pid()), before, "it woke up, and nothing had happened");
    world.sh("ask-post -w beside 'Something else?'");
    assert_eq!(follower.next()["workflow_id"], "beside");
    world.sh("ask-answer cancel beside");
    let node = follower.next();
    assert_eq!((&node["workflow_id"], &node["state"]), (&"beside".into(), &"withdrawn".into()));
    assert!(follower.lines.try_recv().is_err());
}

#[test]
fn a_workflow_that_is_being_closed_has_its_end_and_is_told_once() {
    let world = world();
    world.sh("ask-post -w w 'Shall I?'");
    let follower = Follower::start(&world);
    assert_eq!(follower.next()["state"], "pending");
    // The first half of a cancellation.
    let mut question = world.document("pending/w.json");
    question["closed"] = json!({"state": "withdrawn", "at": "2026-01-01T00:00:00Z", "by": "ann"});
    world.forge_question("w", &question);
    let node = follower.next();
    assert_eq!(node["state"], "withdrawn");
    // The second half.
    assert!(world.refused(4, "ask-answer cancel w").contains("it is withdrawn"));
    assert!(!world.in_mailbox("pending/w.json").exists());
    world.sh("ask-post -w beside 'Something else?'");
    assert_eq!(follower.next()["workflow_id"], "beside");
}

mod promises {
    use snapbox::file;

    use super::*;

    #[test]
    fn a_chain_of_four_is_shown_while_it_sleeps_and_when_it_is_over() {
        let world = birthday();
        let mut out = see(&world, &["askbox tree", "askbox tree subsub"]);
        world.sh("ask-answer leaf '1 May'");
        assert_eq!(world.sh("relaunch resume root"), "passed on: passed on: passed on: it is 1 May");
        out += &see(&world, &["askbox tree", "askbox tree root", "askbox tree --all"]);
        assert_data_eq!(out, file!["snapshots/tree/four.txt"].raw());
    }

    #[test]
    fn all_trees_are_shown_with_a_question_dropped_before_any_run() {
        let world = world();
        world.sh("ask-post -w never 'Shall I?'; ask-answer cancel never; ask-post -w open 'And this?'");
        let shown = world.sh("askbox tree --all");
        assert!(shown.contains("never  ") && shown.contains("open  ") && !world.sh("askbox tree").contains("never"), "{shown}");
        world.sh("ask-answer cancel open");
        assert_eq!(world.sh("askbox tree --all --json").matches("workflow_id").count(), 2);
    }

    #[test]
    fn a_fan_out_shows_every_child_in_its_own_state() {
        let world = world();
        world.agent_does(
            "root",
            "[ $n = 1 ] && for c in done asks failing asks-too; do relaunch spawn --background -w $c --prompt \"Do: $c\"; done; echo on it",
        );
        world.agent_does("done", "printf 'one\\ntwo'");
        world.agent_does("failing", "echo HOPELESS");
        ["asks", "asks-too"].iter().for_each(|id| world.agent_does(id, ASKS));
        world.sh("relaunch spawn --timeout 1s -w root --prompt 'Ask around'; ask-post -w beside 'Something else?'");
        for (id, end) in [("done", "delivered"), ("failing", "parked"), ("asks", "pending"), ("asks-too", "pending"), ("root", "awaiting")]
        {
            until(&format!("{id} {end}"), || world.state(id) == end);
        }
        world.sh("ask-answer cancel asks-too --why 'no time'");
        assert_data_eq!(see(&world, &["askbox tree", "askbox tree asks-too"]), file!["snapshots/tree/fan_out.txt"].raw());
        let nodes = nodes(&world, "");
        let of = |id: &str| nodes.iter().find(|n| n["workflow_id"] == id).unwrap();
        assert_eq!((&of("root")["depth"], &of("done")["depth"], &of("done")["parent"]), (&0.into(), &1.into(), &"root".into()));
        assert_eq!(
            (&of("done")["state"], &of("asks-too")["state"], &of("asks")["cause"]),
            (&"delivered".into(), &"withdrawn".into(), &"person".into())
        );
        assert_eq!((of("failing")["state"].as_str(), of("asks")["question"].as_str()), (Some("parked"), Some("When is your birthday?")));
        let cost = |id: &str, field: &str| (of(id)[field].as_f64().unwrap() * 100.0).round();
        assert_eq!((cost("root", "workflow_cost_usd"), cost("root", "tree_cost_usd"), cost("failing", "tree_cost_usd")), (1.0, 4.0, 0.0));
    }
}
