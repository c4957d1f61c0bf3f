//! Makes the fixture of this version: a mailbox with rounds in every state, as this version's programs leave them.

use std::fs;
use std::path::Path;

use super::{FIXTURES, ROOT, WORK};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{World, files, until};

/// `tests/run mailbox the_fixture_of_this_version -- --ignored`, once before each release that changes a document. A fixture
/// of a version that was released is never made again.
#[test]
#[ignore = "writes tests/fixtures/mailboxes"]
fn the_fixture_of_this_version_is_made() {
    let world = World::at_home();
    world.configure("[relaunch]\nattempts = 1");
    WORK.iter().for_each(|(workflow, script)| world.agent_does(workflow, script));
    ends(&world);
    is_parked(&world);
    waits_for_its_child(&world);
    is_answered_and_claimed(&world);
    waits(&world);
    save(&world, &Path::new(FIXTURES).join(env!("CARGO_PKG_VERSION")));
}

/// Rounds that are over, in each way.
fn ends(world: &World) {
    world.sh("checkpoint save delivered --step review --completed draft --next-action 'apply the choice' --file-ref backup=guide.md.bak");
    world.sh("ask-post -w delivered 'Merge?' -o merge='Merge into one' -o keep='Keep both' --asked-by docs/writer");
    world.sh("ask-answer delivered merge --note 'and keep the links'; relaunch delivered");
    world.sh("ask-post -w superseded 'Which?' -o a=A; ask-post -w superseded --supersede 'Which one?' -o a=A");
    world.sh("ask-answer superseded a; ask-answer undo superseded; ask-answer cancel superseded --why 'no longer needed'");
    world.shell("ask-answer superseded a");
    world.sh("ask-post -w declined 'Delete everything?' -t yes_no; ask-answer decline declined --note never; relaunch declined");
    world.sh("ask-post -w asked-back 'Which?' -o a=A; ask-answer ask-back asked-back 'Which what?'; relaunch asked-back");
    world.sh("ask-post -w expired 'Which?' -o a=A --timeout 1ms --on-expiry cancel");
    world.sh("ask-post -w by-default 'Which?' -o a=A --timeout 1ms --default a");
    world.sh("printf '{torn' >.claude/questions/pending/torn.json");
    let watcher = world.watch();
    world.appears("quarantine/torn.json");
    world.closed("by-default", "delivered", 1);
    world.closed("expired", "expired", 1);
    watcher.stop();
}

fn is_parked(world: &World) {
    world.ask_and_answer("parked");
    world.shell("relaunch parked");
    world.reaches("parked", "parked");
}

/// A chain of two, whose leaf waits for its answer.
fn waits_for_its_child(world: &World) {
    world.ok("relaunch", &["spawn", "-w", "root", "--prompt", "go"]);
    world.reaches("leaf", "pending");
    world.reaches("root", "awaiting");
}

/// A round whose supervisor and agent were killed, and one that nobody has claimed.
fn is_answered_and_claimed(world: &World) {
    let watcher = world.watch();
    world.ask_and_answer("claimed");
    world.told("claimed", 1);
    watcher.kill();
    // The supervisor first: it would note the end of its agent.
    let kill = |pid| kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap_or_default();
    world.processes("supervise").into_iter().for_each(kill);
    until("the end of the agent", || {
        let left = world.of_runs();
        left.iter().for_each(|(pid, _)| kill(*pid));
        left.is_empty().then_some(())
    });
    world.ask_and_answer("answered");
    world.sh("ask-post -w by-hand 'Which?' -o a=A");
    world.sh(r#"cd .claude/questions; jq '.answer = "a"' pending/by-hand.json >answered/by-hand.json; rm pending/by-hand.json"#);
}

/// Questions of every kind that wait.
fn waits(world: &World) {
    world.sh("ask-post -w one 'Which?' -o a=A -o b=B --context '# Why' --priority 5 --timeout 3000d --default a");
    world.sh("ask-post -w several 'Which?' -o a=A -o b=B -o c=C -t multi_choice --remind-every 5d");
    world.sh("ask-post -w number 'How many?' -t number; ask-post -w words 'Which name?' -t text");
    world.sh(r#"echo '{"workflow_id": "batch", "questions": [{"id": "db", "question": "Which database?", "options": {"pg": "PostgreSQL", "lite": "SQLite"}}, {"id": "name", "question": "Which name?"}], "x_mine": {"kept": [1, 2.50, "ü"]}}' | ask-post --file -"#);
    world.sh("ask-post -w until-file --until-file $HOME/there; ask-post -w until-time --until 2030-01-01T00:00:00Z");
    world.sh("relaunch pause --why 'the tests are red'");
    world.sh("printf '{\"workflow_id\": \"bare\", \"question\": \"Which?\"}' >.claude/questions/pending/bare.json");
}

/// Writes every file of the mailbox, with [`ROOT`] for the folder of this world.
fn save(world: &World, target: &Path) {
    drop(fs::remove_dir_all(target));
    for (path, bytes) in files(world.mailbox()) {
        let below = path.strip_prefix(world.mailbox()).unwrap_or(&path).to_path_buf();
        if below.starts_with("locks") || below.extension().is_some_and(|e| e == "lock") || below.ends_with("lock") {
            continue;
        }
        let text = String::from_utf8(bytes).expect("text").replace(world.root().to_str().unwrap(), ROOT);
        let file = target.join(below);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}
