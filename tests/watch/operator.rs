//! The operator's process and file decide what is run, where, and with which settings. A question, a record, and the environment of a
//! program that an agent runs do not. With a scripted agent, which logs its folder and its `CLAUDE_CONFIG_DIR`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Running, World, kill, until};
use serde_json::{Value, json};

/// Logs where the agent runs.
const WHERE: &str = "log \"where $ASKBOX_RUN $(pwd -P) ${CLAUDE_CONFIG_DIR-none}\"\n";

/// A world whose operator permits the folders below `roots` alone. Commands run in `roots/work`.
fn world(body: &str) -> World {
    let world = World::stepping(&format!("{WHERE}{body}"));
    for folder in ["roots/work", "outside", "evil/projects"] {
        std::fs::create_dir_all(world.path(folder)).expect("a folder");
    }
    world.configure(&format!("cwd_roots = [{:?}]", world.path("roots")));
    world.make_mailbox();
    world
}

/// `ask-post` or another program, in a folder of the world.
fn within(world: &World, folder: &str, program: &str, args: &[&str]) -> std::process::Command {
    let mut command = world.command(program);
    command.args(args).current_dir(world.path(folder));
    command
}

/// Where the agents of a workflow ran: folder and `CLAUDE_CONFIG_DIR`, in order.
fn places(world: &World, workflow: &str) -> Vec<[String; 2]> {
    let ours = format!("where {workflow}/");
    let place = |line: String| {
        let [_, _, folder, config] = line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().expect("four words");
        [folder, config]
    };
    world.log().into_iter().filter(|l| l.starts_with(&ours)).map(place).collect()
}

fn text(path: PathBuf) -> String {
    path.display().to_string()
}

fn write(path: PathBuf, value: &Value) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
    std::fs::write(path, value.to_string()).expect("a file");
}

/// An `ask-post --wait` that was killed after it had claimed its answer and before it had printed all of it.
fn killed_waiter(world: &World) {
    let mut asker = within(world, "outside", "ask-post", &["-w", "docs", "Go on?", "--wait", "1m"]);
    asker.env("CLAUDE_CONFIG_DIR", world.path("evil")).env("ASKBOX_CONFIG", world.path("evil/config.toml")).stdout(Stdio::piped());
    let asker = Running::start(&mut asker);
    world.appears("pending/docs.json");
    // Longer than a pipe holds, so the asker is stuck while it prints.
    let answer = "x".repeat(200_000);
    let answered = world.run_with("ask-answer", &["docs", "-"], answer.as_bytes());
    assert!(answered.status.success(), "{}", answered.words());
    until("the asker has claimed it", || world.only("running", "docs.").is_some() && !world.names("runs/docs").is_empty());
    until("its record is there", || record(world, "docs", 1).is_some());
    kill(asker.pid());
}

/// `run.json` of an attempt of a workflow's only round.
fn record(world: &World, workflow: &str, attempt: u32) -> Option<Value> {
    let round = world.names(&format!("runs/{workflow}")).into_iter().find(|n| n.len() == 36)?;
    let bytes = std::fs::read(world.in_mailbox(format!("runs/{workflow}/{round}/{attempt}/run.json"))).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[test]
fn a_record_by_hand_chooses_no_folder_settings_or_program() {
    let world = world("work");
    world.reconfigure("[runner.fake]", "[runner.other]\nprogram = \"false\"\n[runner.fake]");
    let evil = json!({
        "workflow_id": "docs", "cwd": world.path("outside"), "config_dir": world.path("evil"), "agent": "other",
    });
    write(world.in_mailbox("workflows/docs.json"), &evil);
    world.ok("ask-post", &["-w", "docs", "Go?"]);
    // As a program without askbox would have written it: without a folder of its own.
    let mut question = world.document("pending/docs.json");
    question.as_object_mut().expect("an object").remove("cwd");
    write(world.in_mailbox("pending/docs.json"), &question);
    world.ok("ask-answer", &["docs", "yes"]);
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    assert_eq!(places(&world, "docs"), [[text(world.home().to_path_buf()), "none".into()]]);
}

/// A claimed round with its first attempt, as a supervisor's claim would have left it.
fn claimed_by_hand(world: &World, workflow: &str, fields: &Value) {
    let (round, session) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    let mut run = json!({
        "schema_version": 1, "workflow_id": workflow, "question_id": round, "attempt": 1, "claimant": "supervisor",
        "session_id": session, "begin": {"how": "fresh"}, "message_id": uuid::Uuid::new_v4(), "runner": "other", "state": "claimed",
        "claimed_at": "2026-11-22T12:00:00.000Z", "cwd": world.path("roots/work"),
    });
    fields.as_object().expect("an object").iter().for_each(|(name, value)| run[name] = value.clone());
    write(world.in_mailbox(format!("runs/{workflow}/{round}/1/run.json")), &run);
    let answer = json!({"value": "yes", "by": "ann", "channel": "ask-answer", "at": "2026-11-22T12:00:00.000Z"});
    let document = json!({"workflow_id": workflow, "question_id": round, "question": "Go?", "answer": answer});
    write(world.in_mailbox(format!("running/{workflow}.{round}.json")), &document);
}

#[test]
fn a_claimed_question_changed_after_its_answer_is_parked() {
    let world = world("work");
    world.sh("ask-post -w w 'Merge?' -o a=A -o b=B; ask-answer w a");
    let (mut document, round) = (world.document("answered/w.json"), world.round("w"));
    document["options"]["a"] = "Delete".into();
    world.sh("rm m/answered/w.json");
    write(world.in_mailbox(format!("running/w.{round}.json")), &document);
    let _watcher = world.start_watcher();
    let status = world.reaches("w", "parked");
    assert_eq!(status["why"], "its answer does not count: its question was changed after it was answered");
    assert_eq!(world.logged("start "), 0, "{:#?}", world.log());
}

#[test]
fn an_attempt_claimed_by_hand_is_parked_with_the_reason() {
    let world = world("work");
    world.reconfigure("[runner.fake]", "[runner.other]\nprogram = \"false\"\n[runner.fake]");
    claimed_by_hand(&world, "folder", &json!({"cwd": world.path("outside")}));
    claimed_by_hand(&world, "settings", &json!({"config_dir": world.path("evil")}));
    claimed_by_hand(&world, "program", &json!({}));
    let _watcher = world.start_watcher();
    for (workflow, key) in [("folder", "relaunch.cwd_roots"), ("settings", "relaunch.config_dirs")] {
        let status = world.reaches(workflow, "parked");
        assert!(status["why"].as_str().is_some_and(|why| why.contains(key)), "{status}");
    }
    // A name of another runner is not a choice of it.
    world.reaches("program", "delivered");
    assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
    assert_eq!(places(&world, "program"), [[text(world.path("roots/work")), "none".into()]]);
}

/// Puts a link to `outside` in the place of a folder.
fn replace_by_link(world: &World, folder: &Path) {
    std::fs::rename(folder, folder.with_extension("away")).expect("it is moved");
    std::os::unix::fs::symlink(world.path("outside"), folder).expect("a link");
}

fn put_back(folder: &Path) {
    std::fs::remove_file(folder).expect("the link");
    std::fs::rename(folder.with_extension("away"), folder).expect("it is moved back");
}

#[test]
fn a_folder_turned_link_is_not_entered_after_a_kill() {
    let world = world("step moved\nwork");
    world.hold("moved");
    let asked = crate::support::output(&mut within(&world, "roots/work", "ask-post", &["-w", "docs", "Go?", "-o", "a=A"]));
    assert!(asked.status.success(), "{}", asked.words());
    world.ok("ask-answer", &["docs", "a"]);
    let _watcher = world.start_watcher();
    let [_, supervisor] = world.held("moved");
    replace_by_link(&world, &world.path("roots/work"));
    kill(supervisor);
    let status = world.reaches("docs", "parked");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("relaunch.cwd_roots")), "{status}");
    assert_eq!(places(&world, "docs").len(), 1, "{:#?}", world.log());
}

#[test]
fn a_folder_turned_link_is_not_entered_by_the_next_round() {
    let world = world("work");
    let asked = crate::support::output(&mut within(&world, "roots/work", "ask-post", &["-w", "docs", "Go?", "-o", "a=A"]));
    assert!(asked.status.success(), "{}", asked.words());
    world.ok("ask-answer", &["docs", "a"]);
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    replace_by_link(&world, &world.path("roots/work"));
    write(world.in_mailbox("pending/docs.json"), &json!({"workflow_id": "docs", "question": "And now?"}));
    world.ok("ask-answer", &["docs", "yes"]);
    until("both ran", || places(&world, "docs").len() == 2);
    assert_eq!(places(&world, "docs")[1][0], text(world.home().to_path_buf()));
    let events = world.ok("relaunch", &["logs", "docs"]);
    assert!(events.contains("not under relaunch.cwd_roots"), "{events}");
}

#[test]
fn a_run_whose_folder_does_not_exist_waits_for_it() {
    let world = world("work");
    std::fs::create_dir(world.path("roots/work/tree")).expect("a folder");
    let asked = crate::support::output(&mut within(&world, "roots/work/tree", "ask-post", &["-w", "docs", "Go?", "-o", "a=A"]));
    assert!(asked.status.success(), "{}", asked.words());
    std::fs::remove_dir(world.path("roots/work/tree")).expect("it is empty");
    world.ok("ask-answer", &["docs", "a"]);
    let _watcher = world.start_watcher();
    let status = world.reaches("docs", "parked");
    let gone = format!("the agent's folder {} does not exist", text(world.path("roots/work/tree")));
    assert!(status["why"].as_str().is_some_and(|why| why.contains(&gone)), "{status}");
    assert!(places(&world, "docs").is_empty(), "no agent works in another folder: {:#?}", world.log());
    // Once the folder is back, the run goes on there.
    std::fs::create_dir(world.path("roots/work/tree")).expect("a folder");
    world.ok("relaunch", &["retry", "docs"]);
    assert_eq!(places(&world, "docs"), [[text(world.path("roots/work/tree")), "none".into()]]);
}

#[test]
fn a_run_whose_folder_was_renamed_goes_on_in_it() {
    let world = world("work");
    let (old, new) = (world.path("roots/work/tree"), world.path("roots/work/wood"));
    std::fs::create_dir(&old).expect("a folder");
    let ask = || {
        let asked = crate::support::output(&mut within(&world, "roots/work/tree", "ask-post", &["-w", "docs", "Go?", "-o", "a=A"]));
        assert!(asked.status.success(), "{}", asked.words());
    };
    ask();
    world.ok("ask-answer", &["docs", "a"]);
    let _watcher = world.start_watcher();
    world.reaches("docs", "delivered");
    ask();
    std::fs::rename(&old, &new).expect("it is renamed");
    world.ok("ask-answer", &["docs", "a"]);
    let status = world.reaches("docs", "parked");
    let gone = format!("the agent's folder {} does not exist; it was renamed to {}", text(old.clone()), text(new.clone()));
    assert_eq!((status["why"].as_str(), status["failure"].as_str()), (Some(gone.as_str()), Some("folder")), "{status}");
    let command = format!("relaunch retry docs --cwd {}", text(new.clone()));
    assert_eq!(status["todo"].as_str(), Some(format!("go on there: {command}").as_str()), "{status}");
    assert!(world.shell("askbox doctor docs").stdout.contains(&format!("$ {command}\n")), "{}", world.shell("askbox doctor docs").stdout);
    // A folder that the operator does not permit is refused, and nothing changes.
    world.refused(1, "mkdir -p ../forbidden && relaunch retry docs --cwd ../forbidden");
    assert_eq!(world.state("docs"), "parked");
    world.sh(&command);
    let last = places(&world, "docs").pop().expect("a launch");
    assert_eq!(last[0], text(new.clone()));
    assert_eq!(world.document("workflows/docs.json")["cwd"], text(new));
    let told = crate::support::names(&world.path("agent")).into_iter().filter(|name| name.starts_with("told."));
    let told: String = told.map(|name| std::fs::read_to_string(world.agent(&name)).expect("a message")).collect();
    assert!(told.contains("Your working folder was renamed. It is now "), "{told}");
}

mod promises {
    use super::*;

    #[test]
    fn what_a_killed_ask_post_leaves_is_launched_as_configured() {
        let world = world("work");
        killed_waiter(&world);
        let left = record(&world, "docs", 1).expect("the record of the inline claim");
        assert_eq!(left["claimant"], "inline");
        for field in ["cwd", "config_dir", "runner", "role", "model"] {
            assert_eq!(left[field], Value::Null, "an inline claim plans no launch: {left}");
        }
        let _watcher = world.start_watcher();
        world.reaches("docs", "delivered");
        // The home folder: the asker's lies outside the roots.
        assert_eq!(places(&world, "docs"), [[text(world.home().to_path_buf()), "none".into()]]);
        let launched = record(&world, "docs", 2).expect("the watcher's attempt");
        assert_eq!((&launched["claimant"], &launched["runner"]), (&json!("supervisor"), &json!("fake")));
        assert!(launched["begin_why"].as_str().is_some_and(|why| why.contains("evil") || why.contains("cwd_roots")), "{launched}");
    }

    #[test]
    fn a_later_run_has_not_the_settings_folder_of_the_asker() {
        let world = world("work");
        let mut asker = within(&world, "outside", "ask-post", &["-w", "docs", "Go on?", "--wait", "1m"]);
        let mut asker = Running::start(asker.env("CLAUDE_CONFIG_DIR", world.path("evil")).stdout(Stdio::null()));
        world.appears("pending/docs.json");
        world.ok("ask-answer", &["docs", "yes"]);
        assert!(asker.wait().success());
        let known = world.document("workflows/docs.json");
        assert_eq!((&known["config_dir"], &known["cwd"]), (&Value::Null, &Value::Null), "{known}");
        // The next question names no folder, as one written by hand.
        write(world.in_mailbox("pending/docs.json"), &json!({"workflow_id": "docs", "question": "And now?"}));
        let _watcher = world.start_watcher();
        world.ok("ask-answer", &["docs", "yes"]);
        world.reaches("docs", "delivered");
        assert_eq!(places(&world, "docs"), [[text(world.home().to_path_buf()), "none".into()]]);
    }

    #[test]
    fn an_agents_link_for_its_folder_moves_no_next_attempt() {
        let move_away = "mv ../work ../work.away && ln -s ../outside ../work\nexit 3";
        let world = world(&format!("[ -e $AGENT_DIR/well ] && {{ work; finish; }}\n{move_away}"));
        let ask = |workflow: &str| {
            let asked = crate::support::output(&mut within(&world, "roots/work", "ask-post", &["-w", workflow, "Go?", "-o", "a=A"]));
            assert!(asked.status.success(), "{}", asked.words());
            world.ok("ask-answer", &[workflow, "a"]);
        };
        ask("docs");
        let _watcher = world.start_watcher();
        let status = world.reaches("docs", "parked");
        let why = status["why"].as_str().unwrap_or_default();
        assert!(why.contains("leads to") && why.contains("relaunch.cwd_roots"), "{status}");
        let work = world.path("roots/work");
        assert_eq!(places(&world, "docs"), [[text(work.clone()), "none".into()]]);
        // A run by hand is treated the same.
        let retried = world.run("relaunch", &["retry", "docs"]);
        assert!(!retried.status.success() && retried.words().contains("relaunch.cwd_roots"), "{}", retried.words());
        assert_eq!(places(&world, "docs").len(), 1);
        put_back(&work);
        std::fs::write(world.agent("well"), "").expect("a file");
        world.ok("relaunch", &["retry", "docs"]);
        world.reaches("docs", "delivered");
        assert_eq!(places(&world, "docs"), [[text(work.clone()), "none".into()], [text(work), "none".into()]]);
    }
}
