//! `askbox trial`, with which a setup ends: one question to the person, through everything that a question goes through.

use std::process::Stdio;

use crate::programs::setup::{home, tree};
use crate::support::files::write_program;
use crate::support::{Running, Terminal, World, needs, until};

/// The workflow that the trial asks for, once it has asked.
fn asked(world: &World) -> String {
    until("the trial has asked", || world.names("pending").pop()).trim_end_matches(".json").to_owned()
}

/// How the trial's only round has ended.
fn end(world: &World) -> String {
    let closed = until("the trial's question is closed", || world.names("closed").pop());
    std::fs::read_to_string(world.in_mailbox(format!("closed/{closed}"))).expect("a document")
}

#[test]
fn a_trial_that_is_killed_leaves_no_question_behind() {
    for signal in ["INT", "TERM", "HUP"] {
        let world = World::new();
        let process = Running::start(world.command("askbox").arg("trial").stdout(Stdio::null()));
        asked(&world);
        world.sh(&format!("kill -{signal} {}", process.pid()));
        assert!(end(&world).contains(r#""state":"withdrawn""#), "{signal}: {}", end(&world));
    }
    let world = World::new();
    let process = Running::start(world.command("askbox").arg("trial").stdout(Stdio::null()));
    let workflow = asked(&world);
    world.sh(&format!("kill -KILL {}", process.pid()));
    let question = world.json(world.in_mailbox(format!("pending/{workflow}.json")));
    assert_eq!((question["expires_at"].is_string(), question["on_expiry"].as_str()), (true, Some("cancel")), "{question}");
}

#[test]
fn a_run_of_an_agent_cannot_try_itself() {
    let world = World::new();
    let said = world.shell("ASKBOX_RUN=w/01a225b3-d602-70dc-b526-214816e5c9a7/1 askbox trial");
    assert!(said.code() == 2 && said.stderr.contains("a trial is for a person") && said.stderr.contains("hint: "), "{said:?}");
}

mod promises {
    use super::*;

    #[test]
    fn setup_makes_the_mailbox_and_takes_an_unused_one_back() {
        let world = home();
        let before = tree(&world);
        world.ok("askbox", &["setup", "--yes"]);
        assert!(world.mailbox().join("pending").is_dir(), "{}", tree(&world).0);
        assert_eq!(world.ok("askbox", &["setup", "--yes"]), "Nothing is to do.\n");
        std::fs::remove_dir_all(world.mailbox()).expect("a mailbox");
        assert!(world.shell("askbox doctor").stdout.contains("askbox setup --only mailbox"));
        world.ok("askbox", &["setup", "--yes"]);
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(&world), before);
        world.ok("askbox", &["setup", "--yes"]);
        world.ok("ask-post", &["-w", "kept", "Which?"]);
        assert!(world.ok("askbox", &["setup", "--remove", "--yes"]).contains("was used, and stays"));
        assert_eq!(world.names("pending"), ["kept.json"]);
    }

    #[test]
    fn setup_ends_with_a_question_that_takes_the_whole_way() {
        needs!("tmux");
        let world = home();
        let terminal = Terminal::new(&world);
        terminal.press(&["askbox setup --only mailbox,config", "Enter"]);
        terminal.see("Do this?");
        terminal.press(&["y", "Enter"]);
        terminal.see("Try it now, with one question to you?");
        let program = world.path("told.sh");
        write_program(&program, "#!/bin/sh\ncat > /dev/null\n");
        let page = world.serve_page();
        let listen =
            format!("[web]\nlisten = '127.0.0.1:{}'\n[notify]\ngrace = '0s'\n[target.desk]\nexec = ['{}']\n", page.port, program.display());
        world.configure(&listen);
        let watcher = world.start_watcher();
        watcher.says("watching");
        terminal.press(&["y", "Enter"]);
        let screen = terminal.see("desk       was told after ");
        assert!(screen.contains("watcher    is at work") && screen.contains(&format!("is at http://127.0.0.1:{}", page.port)), "{screen}");
        let workflow = asked(&world);
        terminal.press(&["Enter"]);
        terminal.see("esc later");
        terminal.press(&["Escape"]);
        terminal.see("q quit");
        terminal.press(&["q"]);
        terminal.see("answer here");
        world.ok("ask-answer", &[&workflow, "yes", "--by", "ann"]);
        terminal.see("answered   yes, by ann through ask-answer");
        assert!(end(&world).contains(r#""state":"delivered""#) && world.names("running").is_empty(), "{}", end(&world));
        assert!(watcher.said("launched").is_empty(), "no agent was started");
    }

    #[test]
    fn a_trial_names_what_is_missing_and_takes_its_question_back() {
        let world = World::new();
        let out = world.run("askbox", &["trial", "--wait", "1s"]);
        assert_eq!(out.code(), 6, "{out:?}");
        for missing in [
            "missing    no watcher runs: relaunch watch",
            "no [target.NAME] is set",
            "Start it: askbox web",
            "nobody answered; try again: askbox trial",
        ] {
            assert!(out.stdout.contains(missing), "{missing}: {out:?}");
        }
        assert!(end(&world).contains(r#""state":"withdrawn""#), "{}", end(&world));
    }
}
