//! Every next step that a person is told can be taken, and everything that waits is shown.

use std::process::Stdio;

use crate::support::files::write_program;
use crate::support::{Running, Terminal, World, needs, until};

/// A world with the scripted agent.
fn scripted() -> World {
    World::new().with_scripted_agent()
}

/// Makes every agent run these commands instead, once.
fn crashes(world: &World, commands: &str) {
    let crashes = world.path("crashes.sh");
    write_program(&crashes, &format!("#!/bin/sh\n{commands}\n"));
    let config = std::fs::read_to_string(world.config()).unwrap();
    let program = config.lines().find(|line| line.starts_with("program = ")).unwrap();
    world.reconfigure(program, &format!("program = \"{}\"\n[relaunch]\nattempts = 1", crashes.display()));
}

/// A workflow whose run is live until `m/go` exists.
fn running(world: &World, id: &str) -> Running {
    world.agent_does(id, &format!("until [ -e {} ]; do sleep 0.05; done; echo done", world.path("go").display()));
    world.ask_and_answer(id);
    let run = Running::start(world.command("relaunch").arg(id).stdout(Stdio::null()).stderr(Stdio::null()));
    world.reaches(id, "running");
    until("its agent", || world.launches_of(id).len() == 1);
    run
}

#[test]
fn a_withdrawal_that_was_cut_off_is_completed_by_a_look() {
    needs!("tmux");
    let world = World::new();
    let cut_off = |id: &str| {
        world.sh(&format!("ask-post Go? -w {id} --timeout 1h && ask-answer cancel {id} && mv m/closed/{id}.*.json m/pending/{id}.json"));
    };
    let is_over = |id: &str| world.sh(&format!("ls m/closed/{id}.*.json; ls m/pending")).ends_with(".json");
    cut_off("shown");
    let shown = world.sh("ask-answer show shown");
    assert!(shown.contains("withdrawn by ann") && shown.contains("had time until") && is_over("shown"), "{shown}");
    cut_off("listed");
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-answer; echo left=$?", "Enter"]);
    terminal.see("No question is waiting");
    assert!(is_over("listed"));
    terminal.press(&["q"]);
    terminal.see("left=0");
}

#[test]
fn a_retry_of_a_live_run_leads_to_its_log() {
    let world = scripted();
    let mut run = running(&world, "rc1");
    let words = world.refused(4, "relaunch retry rc1");
    assert!(words.contains("it is running; follow it: relaunch logs -f rc1") && !words.contains("to run it now"), "{words}");
    std::fs::write(world.path("go"), "").unwrap();
    assert!(run.wait().success());
}

#[test]
fn an_untaken_answer_is_not_hidden_by_the_next_question() {
    let world = scripted();
    world.sh("ask-post 'Merge them?' -w tw && ask-answer tw yes && ask-post 'And then?' -w tw");
    for status in ["relaunch status tw", "relaunch status"] {
        let words = world.sh(status);
        assert!(words.contains("pending") && words.contains("And then?"), "{words}");
        assert!(words.contains("the answer to its question before waits for a run"), "{words}");
    }
    assert!(world.status("tw")["why"].as_str().unwrap().ends_with(": Merge them?"));
    world.agent_does("tw", "echo ok");
    world.sh("relaunch tw > /dev/null");
    assert!(world.status("tw")["why"].is_null());
}

#[test]
fn commands_say_at_once_that_a_workflow_is_unknown() {
    let world = scripted();
    world.ask_and_answer("docs-42");
    for command in ["logs", "logs -f", "events", "stop", "retry", "drop"] {
        let words = world.refused(3, &format!("relaunch {command} dosc-42"));
        assert!(words.contains("nothing is known of dosc-42") && words.contains("did you mean `docs-42`?"), "{command}: {words}");
    }
    for command in ["relaunch status dosc-42", "ask-answer dosc-42 a", "ask-answer show dosc-42", "askbox history dosc-42"] {
        assert!(world.refused(3, command).contains("did you mean `docs-42`?"), "{command}");
    }
    assert!(!world.refused(3, "relaunch retry something-else").contains("did you mean"));
}

#[test]
fn what_was_taken_back_is_told_before_the_answer_that_counts() {
    let world = scripted();
    world.sh("ask-post How? -w w -o a=A -o b=B");
    for (answer, by) in [("a", "ann"), ("b", "bob")] {
        world.sh(&format!("ask-answer w {answer} --by {by} && ask-answer undo w --by nina"));
    }
    world.sh("ask-answer w b --by nina");
    let shown = world.sh("ask-answer show w");
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    let taken_back = |by: &str| at(&format!("ago: answered by {by} through ask-answer"));
    assert!(taken_back("ann") < taken_back("bob") && taken_back("bob") < at("\n  answered by nina"), "{shown}");
    assert_eq!(shown.matches("an earlier answer was taken back by nina").count(), 2, "{shown}");
    let kept = &world.document("answered/w.json")["taken_back"];
    assert_eq!((kept["before"].as_array().unwrap().len(), &kept["before"][0]["before"]), (1, &serde_json::Value::Null));
}

#[test]
fn a_question_that_was_answered_in_time_is_not_shown_as_overdue() {
    needs!("jq");
    let world = scripted();
    world.agent_does("w", "echo ok");
    world.sh("ask-post Go? -w w -t yes_no --timeout 1h --default no && ask-answer w yes && relaunch w > /dev/null");
    // As it reads an hour later.
    world.sh("f=$(ls m/closed/w.*) && jq '.expires_at = \"2020-01-01T00:00:00Z\"' $f > kept && cat kept > $f");
    let shown = world.sh("ask-answer show w");
    assert!(shown.contains("had time until 2020-01-01"), "{shown}");
    assert!(!shown.contains("overdue") && !shown.contains("applies"), "{shown}");
}

#[test]
fn a_home_that_is_no_absolute_path_is_no_place_for_a_mailbox() {
    let world = World::new();
    let words = world.refused(2, "HOME=here ASKBOX_DIR= ask-post How? -w w");
    assert!(words.contains("$HOME is here, which is no absolute path") && words.contains("--mailbox DIR"), "{words}");
    assert!(!world.path("here").exists());
}

#[test]
fn another_state_is_a_conflict_and_an_unknown_id_not_found() {
    let world = scripted();
    world.agent_does("w", "echo done");
    world.ok("ask-post", &["-w", "w", "Merge?"]);
    let all = |state: &str| {
        for command in [&["stop", "w"][..], &["stop", "--tree", "w"], &["retry", "w"], &["drop", "w"]] {
            let out = world.run("relaunch", command);
            assert_eq!(out.code(), 4, "{command:?}: {out:?}");
            assert!(out.stderr.contains(&format!(": it is {state}\n")) && out.stderr.contains("hint: "), "{command:?}: {out:?}");
        }
    };
    all("pending");
    world.ok("ask-answer", &["w", "yes"]);
    all("answered");
    world.ok("relaunch", &["w"]);
    all("delivered");
    for command in ["stop", "retry", "drop"] {
        let out = world.run("relaunch", &[command, "nobody"]);
        assert!(out.code() == 3 && out.stderr.contains("nobody"), "{command}: {out:?}");
    }
}

#[test]
fn an_answer_that_nothing_launches_says_so_everywhere() {
    let world = scripted();
    world.agent_does("w", "echo done");
    world.sh("ask-post Merge? -w w -o a=A");
    let told = |words: &str| assert!(words.contains("no watcher runs"), "{words}");
    let answered = world.shell("ask-answer w a");
    told(&answered.stderr);
    assert!(answered.stderr.contains("relaunch watch, or once: relaunch w"), "{answered:?}");
    told(&world.sh("ask-answer show w"));
    told(&world.sh("relaunch status w"));
    told(&world.sh("relaunch status"));
    world.sh("ask-answer undo w");
    told(world.run("ask-answer", &["w", "a", "--json"]).ok().json()["held_up"].as_str().unwrap());
    // The queue that a person has paused comes first: a watcher would not help.
    world.sh("ask-answer undo w; relaunch pause");
    let paused = world.shell("ask-answer w a").stderr;
    assert!(paused.contains("nothing is launched until: relaunch go") && !paused.contains("no watcher"), "{paused}");
    // With a watcher there is nothing to say.
    world.sh("relaunch go; ask-answer undo w");
    let _watcher = world.watch();
    assert_eq!(world.shell("ask-answer w a").stderr, "");
    world.closed("w", "delivered", 1);
    assert!(!world.sh("ask-answer show w").contains("no watcher"));
}

#[test]
fn an_answer_that_its_asker_waits_for_needs_no_watcher() {
    let world = World::new();
    let mut waits =
        Running::start(world.command("ask-post").args(["Merge?", "-w", "w", "-o", "a=A", "--wait", "5m"]).stdout(Stdio::null()));
    until("the question", || world.path("m/pending/w.json").exists());
    assert_eq!(world.shell("ask-answer w a").stderr, "");
    assert!(waits.wait().success());
}

#[test]
fn a_run_that_is_stopped_says_so_and_then_how_to_go_on() {
    let world = scripted();
    let mut run = running(&world, "w");
    let log = world.path("stop");
    let mut stop =
        Running::start(world.command("relaunch").args(["stop", "w"]).stderr(std::fs::File::create(&log).unwrap()).stdout(Stdio::null()));
    until("it says what it waits for", || std::fs::read_to_string(&log).is_ok_and(|said| said.contains("for its tool; --now skips that")));
    until("the status", || world.status("w")["live"]["doing"] == "stopping" || world.status("w")["state"] == "interrupted");
    assert!(stop.wait().success());
    assert!(!run.wait().success());
    let status = world.sh("relaunch status w");
    assert!(status.contains("interrupted") && status.contains("go on: relaunch w; or give it up: relaunch drop w"), "{status}");
    world.sh("relaunch drop w");
    let status = world.sh("relaunch status w");
    assert!(status.contains("given up by ") && status.contains("its run before: stopped by "), "{status}");
}

#[test]
fn the_log_begins_where_it_is_told_and_names_what_a_crash_said() {
    let world = scripted();
    world.agent_does("w", "say one; say two; say three; echo done");
    world.ask_and_answer("w");
    world.sh("relaunch w > /dev/null");
    let all = world.sh("relaunch logs w");
    assert!(all.contains("one") && all.contains("done") && !all.contains("standard error"), "{all}");
    let last = world.sh("relaunch logs --tail 2 w");
    assert_eq!(last.lines().collect::<Vec<_>>(), all.lines().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>());
    assert_eq!(world.sh("relaunch logs --since 2h w"), all);
    assert_eq!(world.sh("relaunch logs --since 2100-01-01T00:00:00Z w"), "");
    assert!(world.refused(2, "relaunch logs --since noon w").contains("--since: `noon` is not a time"));
    // An agent that dies without a result says why on its standard error.
    crashes(&world, "echo 'cannot find module x' >&2\nexit 3");
    world.ask_and_answer("v");
    world.refused(1, "relaunch v");
    let log = world.sh("relaunch logs v");
    let named = log.lines().last().unwrap().strip_prefix("-- the agent wrote to its standard error: ").unwrap_or_else(|| panic!("{log}"));
    assert!(world.sh(named).contains("cannot find module x"));
}

mod promises {
    use super::*;

    #[test]
    fn followed_logs_begin_with_the_run_of_the_newest_answer() {
        let world = scripted();
        world.agent_does("rc1", "echo the first result");
        world.ask_and_answer("rc1");
        world.sh("relaunch rc1 > /dev/null");
        world.agent_does("rc1", "echo the second result");
        world.ask_and_answer("rc1");
        // Nothing launches it yet: the command waits, and says what is missing.
        let log = world.path("followed");
        let file = || std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut follows = Running::start(world.command("relaunch").args(["logs", "-f", "rc1"]).stdout(file()).stderr(file()));
        let read = || std::fs::read_to_string(&log).unwrap();
        until("the warning", || read().contains("rc1 is answered, but no watcher runs"));
        world.sh("relaunch rc1 > /dev/null");
        assert!(follows.wait().success(), "{}", read());
        assert!(read().contains("the second result") && !read().contains("the first result"), "{}", read());
    }

    #[test]
    fn followed_logs_wait_for_a_watcher_to_take_the_answer() {
        let world = scripted();
        world.make_mailbox();
        let _watcher = world.watch();
        for id in ["r1", "r2", "r3"] {
            world.agent_does(id, "echo all is done");
            world.sh(&format!("ask-post Go? -w {id} -o a=A"));
            let said = world.sh(&format!("ask-answer {id} a && relaunch logs -f {id}"));
            assert!(said.contains("all is done"), "{said}");
        }
    }

    #[test]
    fn a_dropped_round_has_nothing_to_do() {
        let world = scripted();
        crashes(&world, "exit 3");
        world.ask_and_answer("p3");
        world.refused(1, "relaunch p3");
        assert!(world.status("p3")["todo"].is_string());
        world.sh("relaunch drop p3");
        let status = world.sh("relaunch status p3");
        assert!(status.contains("dropped") && !status.contains("to do") && status.contains("given up by "), "{status}");
        assert!(world.status("p3")["todo"].is_null());
    }

    #[test]
    fn an_answer_without_the_runners_program_says_so() {
        needs!("tmux");
        let world = scripted();
        world.reconfigure("scripted.sh", "missing.sh");
        world.sh("for w in a b; do ask-post Go? -w $w -o one=A; done");
        let _watcher = world.watch();
        let program = "cannot be started from here: there is no program `";
        let ran = world.shell("ask-answer a one");
        assert!(ran.stderr.contains("a is answered, but its runner `fake` ") && ran.stderr.contains(program), "{}", ran.stderr);
        assert!(world.sh("ask-answer show a").contains(program));
        let terminal = Terminal::new(&world);
        terminal.press(&["clear; ask-answer b; echo left=$?", "Enter"]);
        terminal.see("esc later");
        terminal.press(&["1", "Enter"]);
        terminal.see("b: answered: one · its runner `fake` ");
        terminal.press(&["q"]);
        terminal.see("left=0");
    }
}
