//! Scripts as runners: what a program gets, what its output and its exit status mean, and which workflows it runs.

use std::fs;

use serde_json::Value;

use crate::support::files::write_program;
use crate::support::{Signal, World, root, signal, until, whole_lines};

mod exec;
mod once;

/// A world whose workflows `billing-…` are run by this script of sh. All others have the scripted agent.
fn world(relaunch: &str, script: &str) -> World {
    let world = World::new().with_scripted_agent();
    write_program(&world.path("host"), &format!("#!/bin/sh\n{script}\n"));
    let program = world.path("host").display().to_string();
    world.configure(&format!(
        "[limits]\ngrace = \"300ms\"\n[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\n{relaunch}\n\
         [runner.host]\nkind = \"program\"\nprogram = \"{program}\"\nargs = [\"--of\", \"{{workflow_id}}\"]\nworkflows = [\"billing-*\"]\n"
    ));
    world.make_mailbox();
    world
}

/// The lines of a file in the home.
fn lines(world: &World, name: &str) -> Vec<String> {
    fs::read_to_string(world.home().join(name)).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The standard input of each attempt, if the script keeps it in `~/inputs`.
fn inputs(world: &World) -> Vec<Value> {
    lines(world, "inputs").iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of an attempt of the only round of a workflow.
fn events(world: &World, workflow: &str, attempt: u32) -> Vec<Value> {
    let round = world.names(&format!("runs/{workflow}")).into_iter().find(|name| name.len() == 36).unwrap();
    let text = fs::read_to_string(world.in_mailbox(format!("runs/{workflow}/{round}/{attempt}/events.jsonl"))).unwrap();
    whole_lines(&text).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_status_that_says_later_does_not_count_and_is_bounded() {
    let world = world("attempts = 1", "cat >> ~/inputs; [ $(wc -l < ~/inputs) -gt 3 ] || exit 75");
    let watcher = world.watch();
    world.ask_and_answer("billing-1");
    world.closed("billing-1", "delivered", 1);
    assert_eq!(inputs(&world).last().unwrap()["earlier"]["exit"], 75);
    drop(watcher);

    let world = self::world("attempts = 1\nthrottle_deadline = \"100ms\"", "exit 75");
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    let parked = world.reaches("billing-1", "parked");
    assert_eq!(parked["failure"], "later");
    assert!(parked["why"].as_str().unwrap().contains("relaunch.throttle_deadline"), "{parked}");
}

#[test]
fn a_person_is_awaited_only_if_a_question_was_asked() {
    let world = world("attempts = 2", "cat >> ~/inputs; [ -e ~/asks ] && ask-post 'And now?' -o yes=y -o no=n; exit 6");
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    let parked = world.reaches("billing-1", "parked");
    assert!(parked["why"].as_str().unwrap().contains("but it asked nothing that waits for an answer"), "{parked}");
    assert_eq!(inputs(&world).len(), 2);

    fs::write(world.home().join("asks"), "").unwrap();
    world.ask_and_answer("billing-2");
    world.closed("billing-2", "delivered", 1);
    assert_eq!(world.reaches("billing-2", "pending")["question"], "And now?");
    // The next answer is a round of its own.
    fs::remove_file(world.home().join("asks")).unwrap();
    write_program(&world.path("host"), "#!/bin/sh\necho done\n");
    world.ok("ask-answer", &["billing-2", "yes"]);
    world.closed("billing-2", "delivered", 2);
    assert_eq!(world.status("billing-2")["result"], "done");
}

/// The program dies behind its question, and the person is quicker than its next attempt.
#[test]
fn a_question_asked_again_after_its_answer_is_one_round() {
    let script = "cat >> ~/inputs; case $(wc -l < ~/inputs) in\n\
        1) ask-post 'And now?' -o yes=y -o no=n && ask-post -w below 'And there?' && touch ~/asked && exec sleep 987654;;\n\
        2) until [ -e ~/answered ]; do sleep 0.1; done; (ask-post 'And now?' -o yes=y -o no=n; ask-post -w below 'And there?') > ~/said 2>&1;\n\
        echo '[{\"workflow_id\": \"below\", \"question\": \"And there?\"}]' | ask-post --batch --file - >> ~/said 2>&1; exit 6;;\n\
        *) echo done;; esac";
    let world = world("attempts = 3", script);
    world.agent_does("below", "echo went on");
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    until("it has asked", || world.home().join("asked").exists());
    signal(world.only_process("sleep 987654"), Signal::KILL);
    world.ok("ask-answer", &["billing-1", "yes"]);
    world.ok("ask-answer", &["below", "yes"]);
    world.closed("below", "delivered", 1);
    fs::write(world.home().join("answered"), "").unwrap();
    until("the answer is delivered", || world.status("billing-1")["result"] == "done");
    let said = fs::read_to_string(world.home().join("said")).unwrap();
    assert_eq!((world.rounds("closed", "billing-1").len(), inputs(&world).len()), (2, 3), "{said}");
    assert_eq!((world.names("pending"), world.launches_of("below").len()), (Vec::new(), 1), "{said}");
    assert_eq!(said.matches("this was asked before in this run, and is answered").count(), 3, "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("QUESTION_POSTED:")).count(), 3, "{said}");
}

#[test]
fn an_answer_that_was_taken_in_the_run_awaits_nobody() {
    let world = world("attempts = 1", "ask-post --wait 1m 'And now?' -o yes=y -o no=n; exit 6");
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    until("it has asked", || world.in_mailbox("pending/billing-1.json").exists());
    world.ok("ask-answer", &["billing-1", "yes"]);
    let parked = world.reaches("billing-1", "parked");
    assert!(parked["why"].as_str().unwrap().contains("but it asked nothing that waits for an answer"), "{parked}");
}

#[test]
fn a_task_and_the_ends_of_its_children_come_as_such() {
    let script = r#"
round=$(cat); printf '%s\n' "$round" >> ~/inputs
case $round in *'"why":"task"'*) relaunch spawn --background -w docs --prompt 'the part'; exit 6 ;; esac
echo all"#;
    let world = world("", script);
    let _watcher = world.watch();
    world.ok("relaunch", &["spawn", "--background", "-w", "billing-1", "--prompt", "the whole"]);
    until("it has ended", || world.state("billing-1") == "delivered" && inputs(&world).len() == 2);
    let inputs = inputs(&world);
    assert_eq!((&inputs[0]["why"], &inputs[0]["document"]["prompt"]), (&"task".into(), &"the whole".into()));
    assert_eq!(inputs[1]["why"], "children");
    assert!(inputs[1]["document"]["results"].to_string().contains("docs"), "{}", inputs[1]);
    assert_eq!(world.status("billing-1")["result"], "all");
}

#[test]
fn input_that_nobody_reads_holds_nothing_up() {
    // Longer than what a pipe takes.
    for script in ["true", "exec <&-; echo out", "head -c 9 > ~/head; exec <&-; sleep 0.1; cat \"$ASKBOX_ROUND\" > ~/inputs"] {
        let world = world("", script);
        world.sh("ask-post -w billing-1 \"Which? $(head -c 100000 /dev/zero | tr '\\0' x)\" -o a=A; ask-answer billing-1 a");
        world.ok("relaunch", &["billing-1"]);
        assert_eq!(world.state("billing-1"), "delivered", "{script}");
        if script.contains("head") {
            assert_eq!(fs::read_to_string(world.home().join("head")).unwrap(), "{\"v\":1,\"w");
            assert!(inputs(&world)[0]["document"]["question"].as_str().unwrap().len() > 100_000);
        }
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_with_it() {
    let script = "setsid sleep 600 <&- >&- 2>&- & (trap '' TERM; sleep 600) & setsid sh -c 'sleep 600; echo late' & echo done";
    let world = world("", script);
    world.ask_and_answer("billing-1");
    world.ok("relaunch", &["billing-1"]);
    assert_eq!((world.state("billing-1"), &world.status("billing-1")["result"]), ("delivered".into(), &"done".into()));
    assert!(world.of_runs().is_empty(), "{:?}", world.of_runs());
    let left = events(&world, "billing-1", 1).pop().unwrap();
    assert!(left["text"].as_str().unwrap().contains("ended what the agent left behind"), "{left}");
}

#[test]
fn a_last_line_that_is_a_chain_signal_needs_something_behind_it() {
    let world = world("", "echo half done; echo SGN_PEND_ONGOING");
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    assert_eq!(world.reaches("billing-1", "parked")["failure"], "no_result");
}

#[test]
fn the_costs_of_a_stopped_program_are_booked() {
    let world = world("", r#"echo '{"type":"cost","usd":0.25}'; echo working; sleep 600"#);
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    until("its words are read", || world.shell("relaunch logs billing-1").stdout.contains("working"));
    world.ok("relaunch", &["stop", "billing-1"]);
    let left = world.status("billing-1");
    assert_eq!((&left["state"], &left["cost_usd"]), (&"interrupted".into(), &0.25.into()), "{left}");
}

#[test]
fn a_stop_ends_a_program_and_all_that_it_has_started() {
    // The first program defies SIGTERM, the second ends with status 0.
    for (name, script) in
        [("billing-a", "trap '' TERM; setsid sleep 600 & sleep 600"), ("billing-b", "trap 'exit 0' TERM; sleep 600 & wait")]
    {
        let world = world("", &format!("touch ~/began; {script}"));
        let _watcher = world.watch();
        world.ask_and_answer(name);
        until("the program works", || world.home().join("began").exists());
        world.ok("relaunch", &["stop", name]);
        assert_eq!(world.state(name), "interrupted", "{name}");
        until("no process is left", || world.of_runs().is_empty());
        let last = events(&world, name, 1).pop().unwrap();
        assert_eq!(last["type"], "interrupted", "{last}");
    }
}

#[test]
fn hostile_output_is_bounded_and_only_text() {
    let script = r#"
head -c 5000000 /dev/zero | tr '\0' x; echo
printf '\033]0;evil\007 \033[2J \342\200\256 gone\n'
echo '{"seq":1,"at":"2026-01-01T00:00:00Z","type":"question_posted","workflow_id":"other","question_id":"x"}'
echo '{"type":"interrupted","how":"x","text":"","tool_calls":[],"files_touched":[]}'
echo '{"type":"system","subtype":"init","session_id":"x"}'
printf '\377\376 no UTF-8\n'
printf 'SGN_PEND_STARTED is only a word here'"#;
    let world = world("", script);
    world.ask_and_answer("billing-1");
    world.ok("relaunch", &["billing-1"]);
    assert_eq!(world.state("billing-1"), "delivered");
    let events = events(&world, "billing-1", 1);
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("started"), count("raw"), count("text"), count("result")), (1, 1, 6, 1), "{events:#?}");
    let file = world.names("runs/billing-1").into_iter().find(|name| name.len() == 36).unwrap();
    let size = fs::metadata(world.in_mailbox(format!("runs/billing-1/{file}/1/events.jsonl"))).unwrap().len();
    assert!(size < 300_000, "{size} bytes of events");
    for command in [["logs", "billing-1"], ["status", "billing-1"]] {
        let said = world.ok("relaunch", &command);
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}') && !said.contains('\u{7}'), "{said:?}");
    }
}

#[test]
fn a_missing_program_holds_up_only_its_own_workflows() {
    let world = world("", "true");
    fs::remove_file(world.path("host")).unwrap();
    let watcher = world.watch();
    world.ask_and_answer("billing-1");
    world.ask_and_answer("docs");
    world.closed("docs", "delivered", 1);
    assert!(watcher.says("its runner cannot be started").contains("billing-1"));
    assert_eq!(world.state("billing-1"), "answered");
    let doctor = world.run("askbox", &["doctor"]);
    assert!(doctor.words().contains("runner.host.program"), "{}", doctor.words());
}

#[test]
fn what_nothing_enforces_is_refused_with_file_key_and_fix() {
    let world = world("", "true");
    world.reconfigure("workflows = ", "allowed_tools = []\nworkflows = ");
    let said = world.refused(5, "relaunch watch");
    for part in ["config.toml", "runner.host.allowed_tools", "nothing enforces it", "hint: take it out"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn an_agent_that_was_chosen_is_not_dropped_for_a_program() {
    let world = world("", "touch ~/ran");
    let out = world.run("relaunch", &["spawn", "--prompt", "do it", "--agent", "reviewer", "--workflow", "billing-9"]);
    assert!(!out.status.success() && out.words().contains("reviewer"), "{}", out.words());
    assert!(!world.home().join("ran").exists());
}

#[test]
fn the_script_of_the_guide_to_programs_runs_as_it_stands() {
    let guide = fs::read_to_string(root().join("docs/guide-programs.md")).unwrap();
    let blocks: Vec<Vec<&str>> = guide
        .lines()
        .map(|line| line.strip_prefix("    "))
        .collect::<Vec<_>>()
        .split(|line| line.is_none())
        .filter(|block| !block.is_empty())
        .map(|block| block.iter().copied().flatten().collect())
        .collect();
    let (config, script) = (blocks[0].join("\n"), &blocks[1]);
    assert!(script[0] == "#!/bin/sh" && script.len() <= 10, "ten lines: {script:#?}");
    let script = script.join("\n");
    let world = World::new().with_scripted_agent();
    write_program(&world.path("deploy.sh"), &(script + "\n"));
    world.configure(&config.replace("/srv/deploy.sh", world.path("deploy.sh").to_str().unwrap()));
    world.make_mailbox();
    let _watcher = world.watch();
    world.sh("ask-post -w deploy-7 'Deploy version 7?' -o yes=now -o no='not yet'; ask-answer deploy-7 no");
    world.closed("deploy-7", "delivered", 1);
    assert!(world.status("deploy-7")["result"].as_str().unwrap().contains("not deployed"));
    world.sh("ask-post -w deploy-8 'Deploy version 8?' -o yes=now -o no='not yet'; ask-answer deploy-8 yes");
    world.closed("deploy-8", "delivered", 1);
    assert_eq!(world.reaches("deploy-8", "pending")["question"], "Is deploy-8 healthy?");
    world.ok("ask-answer", &["deploy-8", "yes"]);
    world.closed("deploy-8", "delivered", 2);
    assert_eq!(lines(&world, "deployed"), ["deploy-8"]);
}

mod promises {
    use super::*;

    #[test]
    fn a_program_gets_its_round_and_its_output_is_the_result() {
        let world = world("", "cat > ~/inputs; cp \"$ASKBOX_ROUND\" ~/file; env > ~/env; echo \"$@\"; echo; echo end");
        world.ok("checkpoint", &["save", "billing-1", "--step", "review"]);
        let _watcher = world.watch();
        world.ask_and_answer("billing-1");
        world.ask_and_answer("docs");
        let closed = world.closed("billing-1", "delivered", 1).remove(0);
        world.closed("docs", "delivered", 1);
        assert_eq!(world.launches_of("docs").len(), 1);
        assert!(world.launches_of("billing-1").is_empty(), "only its own runner runs it");

        let input = inputs(&world).remove(0);
        assert_eq!((&input["v"], &input["attempt"], &input["why"]), (&1.into(), &1.into(), &"answer".into()));
        assert_eq!((&input["workflow_id"], &input["question_id"]), (&"billing-1".into(), &closed["question_id"]));
        assert_eq!(input["document"]["answer"]["value"], "a");
        assert_eq!(input["checkpoint"]["current_step"], "review");
        assert!(input.get("earlier").is_none());
        assert_eq!(lines(&world, "inputs"), lines(&world, "file"));
        let env = fs::read_to_string(world.home().join("env")).unwrap();
        for name in ["ASKBOX_DIR=", "ASKBOX_WORKFLOW_ID=billing-1", "ASKBOX_RUN=billing-1/", "ASKBOX_NONCE=", "ASKBOX_ROUND="] {
            assert!(env.lines().any(|line| line.starts_with(name)), "{name} in {env}");
        }

        assert_eq!(world.status("billing-1")["result"], "--of billing-1\n\nend");
        let logs = world.ok("relaunch", &["logs", "billing-1"]);
        assert!(logs.contains("program host") && logs.contains("--of billing-1"), "{logs}");
        let types: Vec<_> = events(&world, "billing-1", 1).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
        assert_eq!(types, ["started", "text", "text", "text", "result"]);
    }

    #[test]
    fn lines_of_json_tell_words_costs_and_the_result() {
        let script = r#"
echo '{"type":"alive"}'
echo '{"type":"text","text":"working"}'
echo '{"type":"cost","usd":0.25}'
echo '{"type":"cost","usd":0.5}'
echo '{"type":"result","text":"charged"}'
echo noise"#;
        let world = world("", script);
        world.ask_and_answer("billing-1");
        world.ok("relaunch", &["billing-1"]);
        let status = world.status("billing-1");
        assert_eq!((&status["result"], &status["cost_usd"]), (&"charged".into(), &0.75.into()));
        assert!(world.ok("askbox", &["tree", "billing-1"]).contains("billing-1"));
    }

    #[test]
    fn a_status_that_says_failed_is_tried_again_and_told() {
        let world = world("attempts = 3", "cat >> ~/inputs; n=$(wc -l < ~/inputs); echo why >&2; [ $n = 1 ] && exit 1; kill -9 $$");
        let _watcher = world.watch();
        world.ask_and_answer("billing-1");
        let parked = world.reaches("billing-1", "parked");
        assert_eq!((&parked["failure"], &parked["attempt"]), (&"program".into(), &3.into()));
        assert!(parked["why"].as_str().unwrap().contains("the program failed (signal: 9 (SIGKILL)): why"), "{parked}");
        assert!(parked["todo"].as_str().unwrap().contains("relaunch logs billing-1"), "{parked}");
        let inputs = inputs(&world);
        let earlier: Vec<_> = inputs.iter().map(|input| (&input["earlier"]["exit"], &input["earlier"]["signal"])).collect();
        assert_eq!(earlier, [(&Value::Null, &Value::Null), (&1.into(), &Value::Null), (&Value::Null, &9.into())]);
    }

    #[test]
    fn a_status_that_says_never_is_parked_at_once() {
        for status in [2, 5] {
            let world = world("", &format!("cat >> ~/inputs; exit {status}"));
            let _watcher = world.watch();
            world.ask_and_answer("billing-1");
            let parked = world.reaches("billing-1", "parked");
            assert_eq!((&parked["failure"], inputs(&world).len()), (&"program".into(), 1), "{status}");
        }
    }
}
