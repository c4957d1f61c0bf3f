//! `askbox doctor`: each test makes one kind of damage, which doctor must report, and runs the command that doctor suggests for it.

mod acp_agents;
mod agent_version;
mod cannot_run;
mod changes_nothing;
mod claude_files;
mod codex;
mod copilot;
mod documents;
mod history;
mod hold_ups;
mod installation;
mod lost_setup;
mod mailbox_files;
mod news_hooks;
mod opencode;
mod road;
mod runs;
mod settings;
mod table;
mod typed;
mod waits;
mod watcher;

use serde_json::Value;

use crate::support::files::write_program;
use crate::support::{Running, World, needs, until};

/// An agent that says that all went well.
const AGENT: &str = r#"#!/bin/sh
for word; do case $word in --session-id=*) session=${word#*=} ;; --resume=*) session=${session:-${word#*=}} ;; esac; done
read -r message
echo '{"type":"system","subtype":"init","session_id":"'$session'"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","terminal_reason":"completed","session_id":"'$session'"}'
cat > /dev/null
"#;

/// A machine without any problem.
fn well() -> World {
    let world = World::new();
    write_program(&world.path("agent"), AGENT);
    // A login is there: an agent that is named `claude` is asked for one.
    world.sh("chmod +x agent && mkdir -p .config/askbox .claude && : > .claude/.credentials.json");
    configure(&world, "");
    world.sh("ask-post -w seed 'Make the mailbox' && ask-answer cancel seed");
    assert_eq!(findings(&world), [] as [Value; 0]);
    world
}

fn configure(world: &World, more: &str) {
    let agent = world.path("agent");
    let config = format!("[relaunch]\nattempts = 1\n[runner.claude]\nprogram = '{}'\n{more}", agent.display());
    std::fs::write(world.path(".config/askbox/config.toml"), config).unwrap();
}

fn report(world: &World) -> Value {
    let ran = world.shell("askbox doctor --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    let ok = report["findings"].as_array().unwrap().is_empty();
    assert_eq!((report["ok"].as_bool().unwrap(), ran.code()), (ok, i32::from(!ok)), "{report}");
    report
}

fn findings(world: &World) -> Vec<Value> {
    report(world)["findings"].as_array().unwrap().clone()
}

/// The only thing that was found, which must be of this kind and about this subject.
#[track_caller]
fn finds(world: &World, kind: &str, subject: &str) -> String {
    let found = findings(world);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["kind"], kind, "{found:#?}");
    assert!(found[0]["subject"].as_str().unwrap().contains(subject), "{found:#?}");
    found[0]["mend"].as_str().unwrap().to_owned()
}

/// [`finds`], then runs the command that mends it. After that, all is well.
#[track_caller]
fn finds_and_mends(world: &World, kind: &str, subject: &str) {
    let mend = finds(world, kind, subject);
    let ran = world.shell(&mend);
    assert_eq!(findings(world), [] as [Value; 0], "{mend}: {}{}", ran.stdout, ran.stderr);
}

/// An editor that writes this.
fn editor(world: &World, text: &str) -> String {
    std::fs::write(world.path("right"), text).unwrap();
    write_program(&world.path("ed"), &format!("#!/bin/sh\ncp {} \"$1\"\n", world.path("right").display()));
    world.sh("chmod +x ed");
    format!("export EDITOR={}; ", world.path("ed").display())
}

fn answered(world: &World, id: &str) {
    world.sh(&format!("ask-post -w {id} 'Go?' -t yes_no && ask-answer {id} yes"));
}

/// A time that is still to come. So what happened then is new, however slow the machine is.
fn soon() -> String {
    askbox::time::rfc3339(askbox::time::now() + chrono::TimeDelta::hours(1))
}

#[test]
fn doctor_reports_nothing_where_no_mailbox_exists() {
    let world = World::new();
    write_program(&world.path("agent"), AGENT);
    world.sh("chmod +x agent && mkdir -p .config/askbox");
    configure(&world, "");
    let out = world.sh("unset ASKBOX_DIR; askbox doctor");
    assert!(out.contains("There is no mailbox yet") && out.contains("No problems found"), "{out}");
    assert!(!world.mailbox().exists() && !world.path(".claude/questions").exists(), "the doctor made a mailbox");
}

#[test]
fn doctor_reports_a_mailbox_that_is_named_and_not_there() {
    let world = World::new();
    write_program(&world.path("agent"), AGENT);
    world.sh("chmod +x agent && mkdir -p .config/askbox");
    configure(&world, "");
    assert!(findings(&world)[0]["problem"].as_str().unwrap().starts_with("$ASKBOX_DIR names it"));
    let ran = world.shell("unset ASKBOX_DIR; askbox doctor --mailbox m");
    assert!(ran.code() == 1 && ran.stdout.contains("--mailbox names it"), "{}", ran.stdout);
    finds_and_mends(&world, "no_mailbox", "/m");
}

#[test]
fn doctor_shows_each_setting_in_force_with_its_source() {
    needs!("jq");
    let world = well();
    configure(&world, "env = { KEY = 'secret' }\n");
    let values = report(&world)["in_force"].clone();
    let of = |key: &str| values.as_array().unwrap().iter().find(|v| v["key"] == key).unwrap_or_else(|| panic!("no {key}")).clone();
    assert_eq!((of("relaunch.attempts")["value"].as_u64(), of("relaunch.attempts")["from"].as_str()), (Some(1), Some("file")));
    assert_eq!((of("limits.grace")["value"].as_str(), of("limits.grace")["from"].as_str()), (Some("30s"), Some("default")));
    assert_eq!(of("mailbox")["from"], "$ASKBOX_DIR");
    assert_eq!(of("runner.claude.program")["value"], world.path("agent").to_str().unwrap());
    assert_eq!(of("runner.claude.env")["value"]["KEY"], "(set)");
    for key in askbox::config::keys().filter(|key| !key.path.starts_with("target.") && !key.path.starts_with("peers.")) {
        of(&key.path.replace('*', "claude"));
    }
    let by_flag = world.sh(&format!("askbox doctor --json --mailbox {} | jq -r '.in_force[0].from'", world.mailbox().display()));
    assert_eq!(by_flag, "--mailbox");
}

#[test]
fn doctor_repeats_its_mailbox_flag_in_its_commands() {
    let world = well();
    world.sh("ask-post -w kept 'In time?' --timeout 1ms --mailbox other && chmod 700 other && sleep 0.01");
    let out = world.shell("askbox doctor --mailbox other").stdout;
    assert!(out.contains(&format!("$ ask-answer show kept --mailbox {}\n", world.path("other").display())), "{out}");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_a_named_folder_without_a_mailbox() {
        let world = World::new();
        write_program(&world.path("agent"), AGENT);
        world.sh("chmod +x agent && mkdir -p .config/askbox && mkdir -m 700 m");
        configure(&world, "");
        let watcher = world.start_watcher();
        watcher.says("waiting for the mailbox");
        let out = world.shell("askbox doctor").stdout;
        assert!(out.contains("There is no mailbox yet") && !out.contains("No watcher is running"), "{out}");
        assert!(findings(&world)[0]["problem"].as_str().unwrap().contains("holds no mailbox"), "{out}");
        finds_and_mends(&world, "no_mailbox", "/m");
        until("the watcher has its mailbox", || report(&world)["watcher"] == true);
    }
}
