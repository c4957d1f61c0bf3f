//! Whatever lies beside a workflow and its tree, the programs read no more: the work is counted, not the time.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::support::{World, needs, output, strace};

/// Root and a child that asks; both are asleep.
fn world() -> World {
    let world = World::new().with_scripted_agent();
    world.configure("[limits]\ntree_cost = 5\ntree_time = \"1h\"\n[relaunch]\nattempts = 1");
    world.agent_does("root", "if [ $n = 1 ]; then relaunch spawn -w child --prompt 'The work'; else echo \"passed on: $(news)\"; fi");
    world.agent_does("child", "if [ $n = 1 ]; then ask-post 'When is your birthday?'; else echo 'it is 1 May'; fi");
    assert_eq!(world.sh("relaunch spawn -w root --prompt 'Plan the party'"), "SGN_PEND_STARTED (root)");
    world
}

/// Closed rounds of so many workflows: half of them are children of others.
pub fn strangers(world: &World, count: usize) {
    for n in 0..count {
        let (id, question) = (format!("stranger{n}"), format!("01900000-0000-7000-8000-{n:012x}"));
        let mut record = json!({ "schema_version": 1, "workflow_id": id, "created": "2026-01-01T00:00:00.000Z" });
        if n % 2 == 1 {
            let parent = format!("stranger{}", n - 1);
            record["parent"] = parent.as_str().into();
            fs::create_dir_all(world.in_mailbox(format!("runs/{parent}/children"))).unwrap();
            fs::write(world.in_mailbox(format!("runs/{parent}/children/{id}")), "").unwrap();
        }
        fs::write(world.in_mailbox(format!("workflows/{id}.json")), record.to_string()).unwrap();
        fs::create_dir_all(world.in_mailbox(format!("runs/{id}/{question}/1"))).unwrap();
        let round = json!({
            "schema_version": 1, "workflow_id": id, "question_id": question, "question": "Merge?", "timestamp": "2026-01-01T00:00:00.000Z",
            "closed": { "state": "delivered", "at": "2026-01-01T00:00:01.000Z", "by": "askbox" },
        });
        fs::write(world.in_mailbox(format!("closed/{id}.{question}.json")), round.to_string()).unwrap();
    }
    world.sh("chmod -R go-w m");
}

/// The paths in the mailbox that a line of shell opens or lists, in order. A listed folder has a slash behind it. Temporary files are
/// left out.
pub fn opened(world: &World, script: &str) -> Vec<String> {
    opens(world, script, |_| true)
}

/// [`opened`] without the paths that are only looked up: those whose content is read, or listed.
pub fn read(world: &World, script: &str) -> Vec<String> {
    opens(world, script, |line| !line.contains("O_PATH"))
}

fn opens(world: &World, script: &str, counts: impl Fn(&str) -> bool) -> Vec<String> {
    let trace = world.path("trace");
    let before =
        strace(&["-f", "-qq", "-e", "trace=open,openat,openat2,getdents64", "-y", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
    let mut command = world.any_command(&before[0]);
    command.args(&before[1..]).args(["sh", "-c", script]).env("PATH", world.path_with_programs());
    let outcome = output(&mut command);
    assert!(outcome.status.success(), "{script}\n{}", outcome.words());
    // A path is looked up from the descriptor of an open folder, or whole.
    let mailbox = world.mailbox().display().to_string();
    let path = |line: &str| {
        let (folder, rest) = line.split_once('<')?.1.split_once('>')?;
        let whole = match line.contains("getdents64(") {
            true => format!("{folder}/"),
            false => std::path::Path::new(folder).join(rest.split('"').nth(1)?).display().to_string(),
        };
        whole.strip_prefix(&mailbox)?.strip_prefix('/').map(str::to_owned)
    };
    let trace = fs::read_to_string(trace).unwrap();
    trace.lines().filter(|line| counts(line)).filter_map(path).filter(|path| !path.contains(".tmp")).collect()
}

#[test]
fn the_first_look_makes_the_childrens_names_in_an_old_mailbox() {
    needs!("strace");
    let world = world();
    strangers(&world, 20);
    let before = world.sh("askbox tree --json root | jq -c '[.workflow_id, .depth]'");
    assert_eq!(before, "[\"root\",0]\n[\"child\",1]");
    let names = "find m/runs -path '*/children/*' | sort; ls m/locks/children";
    let named = world.sh(names);
    assert!(named.lines().count() == 12 && named.contains("m/runs/root/children/child"), "{named}");
    world.sh("rm -r m/runs/*/children m/locks/children");
    assert!(opened(&world, "askbox tree root").iter().any(|path| path == "workflows/"));
    assert_eq!(world.sh(names), named);
    assert!(!opened(&world, "askbox tree root").iter().any(|path| path.contains("stranger") || path == "workflows/"));
    assert_eq!(world.sh("askbox tree --json root | jq -c '[.workflow_id, .depth]'"), before);
}

#[test]
fn a_watcher_makes_the_childrens_names_in_an_old_mailbox() {
    let world = world();
    world.sh("rm -r m/runs/*/children m/locks/children");
    let _watcher = world.watch();
    world.appears("locks/children");
    world.assert_children_are_named("after the watcher's start");
}

#[test]
fn a_name_makes_no_child_of_a_workflow_that_says_otherwise() {
    let world = world();
    strangers(&world, 4);
    world.sh("ask-post -w alone 'Alone?'");
    // A workflow of another tree, one without a parent, one that never was, and an ancestor of its own parent.
    world.sh("mkdir -p m/runs/child/children m/runs/alone && cd m/runs/child/children && touch stranger1 stranger2 alone never-there root");
    world.sh("ln -s ../../workflows m/runs/child/children/link; mkdir m/runs/child/children/folder; ln -s ../root/children m/runs/alone/children");
    for (id, members) in [("root", "root child"), ("child", "child"), ("alone", "alone")] {
        assert_eq!(world.sh(&format!("askbox tree --json {id} | jq -r .workflow_id | paste -sd' '")), members);
    }
    world.sh("ask-answer cancel --tree root");
    assert_eq!(world.state("alone"), "pending");
}

#[test]
fn a_question_written_by_hand_is_cancelled_with_its_tree() {
    let world = world();
    fs::write(world.in_mailbox("pending/by-hand.json"), r#"{"workflow_id":"by-hand","parent":"child","question":"Which?"}"#).unwrap();
    assert!(world.sh("askbox tree --json | jq -r .workflow_id").lines().any(|id| id == "by-hand"));
    world.sh("ask-answer cancel --tree root");
    assert_eq!(world.state("by-hand"), "withdrawn");
}

#[test]
fn pruning_a_child_removes_its_name_and_a_parent_the_folder() {
    let world = world();
    world.sh("ask-answer child '1 May' && relaunch resume root && touch -d '10 days ago' m/closed/* m/checkpoints/* 2>/dev/null; true");
    for path in fs::read_dir(world.in_mailbox("closed")).unwrap().flatten().map(|e| e.path()) {
        let text = fs::read_to_string(&path).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["closed"]["at"] = "2026-01-01T00:00:00.000Z".into();
        fs::write(&path, document.to_string()).unwrap();
    }
    world.sh("touch -d '10 days ago' m/closed/*; askbox gc --keep 1d");
    assert_eq!(world.sh("find m/runs m/workflows -mindepth 1"), "");
}

mod promises {
    use super::*;

    #[test]
    fn a_tree_opens_the_same_files_beside_two_thousand_workflows() {
        needs!("strace");
        let world = world();
        let scripts =
            ["askbox tree root", "askbox tree child", "askbox tree", "relaunch status root", "relaunch status", "ask-answer show child"];
        let alone = scripts.map(|script| opened(&world, script));
        assert!(alone.iter().all(|paths| !paths.is_empty()), "{alone:#?}");
        strangers(&world, 2_000);
        for (script, alone) in scripts.iter().zip(alone) {
            assert_eq!(opened(&world, script), alone, "{script}");
        }
    }

    #[test]
    fn tree_limits_open_nothing_of_two_thousand_other_workflows() {
        needs!("strace");
        let world = world();
        strangers(&world, 2_000);
        // The child is launched, ends, and its parent is woken and launched: each launch adds up its tree.
        for script in ["ask-answer child '1 May'", "relaunch resume root", "ask-post -w child Again"] {
            let opened: BTreeSet<String> = opened(&world, script).into_iter().collect();
            let others: Vec<_> = opened
                .iter()
                .filter(|path| path.contains("stranger") || ["workflows/", "closed/", "runs/"].contains(&path.as_str()))
                .collect();
            assert!(!opened.is_empty() && others.is_empty(), "{script}: {others:#?}");
        }
        assert_eq!((world.state("root").as_str(), world.launches_of("root").len()), ("delivered", 2));
    }
}
