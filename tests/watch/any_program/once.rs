//! `askbox once`: a call is made at most once in a round.

use std::fs;

use serde_json::Value;

use super::{events, lines, world};
use crate::support::{World, until};

/// Behind the fence, a run that changes its marks or its environment reaches nothing.
fn unfenced(world: &World) {
    world.reconfigure("[limits]", "[fence]\nmode = \"off\"\n[limits]");
}

#[test]
fn of_many_processes_one_may_make_the_call() {
    let world = world("", "for n in 1 2 3 4 5 6 7 8; do (askbox once charge; echo $? >> ~/statuses) & done; wait");
    for round in 1..=3 {
        world.ask_and_answer("billing-1");
        world.ok("relaunch", &["billing-1"]);
        let mut statuses = lines(&world, "statuses");
        statuses.sort();
        assert_eq!(statuses, ["0", "4", "4", "4", "4", "4", "4", "4"], "round {round}");
        fs::remove_file(world.home().join("statuses")).unwrap();
    }
}

#[test]
fn a_call_may_have_any_name_and_is_never_a_path() {
    let script = r#"
say() { askbox once "$1"; echo $? >> ~/statuses; }
say '../../../../escape'; say '../../../../escape'; say '/tmp/x'
say 'two
lines'; say "$(printf '\033[2J\342\200\256')"
say "$(printf '%1024s' x | tr ' ' x)"; say "$(printf '%1025s' x | tr ' ' x)"
say ' '; say "$(printf '\377')"
exit 5"#;
    let world = world("", script);
    world.ask_and_answer("billing-1");
    let said = world.refused(1, "relaunch billing-1");
    assert_eq!(lines(&world, "statuses"), ["0", "4", "0", "0", "0", "0", "2", "2", "2"]);
    assert!(!world.names("..").iter().chain(&world.names(".")).any(|name| name.contains("escape")));
    let round = world.rounds("parked", "billing-1")[0]["question_id"].as_str().unwrap().to_owned();
    let marks = world.names(&format!("runs/billing-1/{round}"));
    let marks: Vec<_> = marks.into_iter().filter(|name| name.starts_with("once.")).collect();
    assert!(marks.len() == 5 && marks.iter().all(|name| name.len() == "once.".len() + 36), "{marks:?}");
    for said in [said, world.ok("relaunch", &["status", "billing-1"]), world.ok("relaunch", &["logs", "billing-1"])] {
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said:?}");
    }
}

#[test]
fn a_run_marks_only_in_its_own_round_and_attempt() {
    let script = r#"
env | grep ^ASKBOX_ > ~/env.${ASKBOX_WORKFLOW_ID}.${ASKBOX_RUN##*/}
wait_for() { while [ ! -e "$1" ]; do sleep 0.02; done; }
case $ASKBOX_WORKFLOW_ID.${ASKBOX_RUN##*/} in
billing-1.1) exit 1 ;;
billing-2.1) wait_for ~/done; exit 0 ;;
esac
wait_for ~/env.billing-2.1
try() { askbox once charge 2>> ~/why; echo $? >> ~/statuses; }
(export $(cat ~/env.billing-1.1); try)
(ASKBOX_RUN=$(sed -n s/^ASKBOX_RUN=//p ~/env.billing-1.1); export ASKBOX_RUN; try)
(ASKBOX_RUN=$(sed -n s/^ASKBOX_RUN=//p ~/env.billing-2.1); export ASKBOX_RUN; try)
(ASKBOX_RUN=../../x/1; export ASKBOX_RUN; try)
(unset ASKBOX_NONCE; try)
try
touch ~/done"#;
    let world = world("attempts = 2", script);
    unfenced(&world);
    let _watcher = world.watch();
    world.ask_and_answer("billing-2");
    world.ask_and_answer("billing-1");
    for workflow in ["billing-1", "billing-2"] {
        world.closed(workflow, "delivered", 1);
    }
    let why = fs::read_to_string(world.home().join("why")).unwrap();
    assert_eq!(lines(&world, "statuses"), ["2", "2", "2", "2", "2", "0"], "{why}");
    assert!(why.contains("is over") && why.contains("does not prove"), "{why}");
}

#[test]
fn a_damaged_mark_is_one_all_the_same() {
    let script = r#"
askbox once charge; echo $? >> ~/statuses
for mark in "$ASKBOX_DIR"/runs/billing-1/*/once.*; do : > "$mark"; done
exit 1"#;
    let world = world("attempts = 2", script);
    unfenced(&world);
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    let parked = world.reaches("billing-1", "parked");
    assert_eq!(lines(&world, "statuses"), ["0", "4"]);
    assert!(parked["why"].as_str().unwrap().contains("may have been made before (askbox once): `once."), "{parked}");
}

/// The stories of a round in the views that show it.
fn views(world: &World) -> Vec<String> {
    let commands = ["relaunch status billing-1", "askbox history billing-1", "askbox doctor billing-1 || true"];
    commands.iter().map(|command| world.sh(command)).collect()
}

#[test]
fn a_mark_of_a_failed_attempt_is_open_until_a_person_closes_it() {
    let script = r#"case ${ASKBOX_RUN##*/} in 1) askbox once charge && exit 1 ;; esac
askbox once charge; echo $? >> ~/statuses; env | grep ^ASKBOX_ > ~/env; exit 0"#;
    let world = world("attempts = 2", script);
    unfenced(&world);
    let _watcher = world.watch();
    world.ask_and_answer("billing-1");
    world.closed("billing-1", "delivered", 1);
    assert_eq!(lines(&world, "statuses"), ["4"]);
    let story = world.status("billing-1");
    assert_eq!((&story["state"], &story["cause"], &story["waits_for"]), (&"delivered".into(), &"may_have_run".into(), &"person".into()));
    for view in views(&world) {
        assert!(view.contains("`charge`") && view.contains("askbox once --of billing-1 --was made"), "{view}");
    }
    let said = world.refused(4, "export $(cat ~/env); askbox once --of billing-1 --was made");
    assert!(said.contains("only a person"), "{said}");
    assert!(world.sh("askbox once --of billing-1 --was made").contains("`charge` was made"));
    for view in views(&world) {
        assert!(!view.contains("may have been made") && !view.contains("askbox once"), "{view}");
    }
    assert!(world.refused(3, "askbox once --of billing-1 --was made").contains("no call of billing-1 is open"));
}

#[test]
fn a_call_that_a_person_says_was_not_made_may_be_made() {
    let world = world("attempts = 1", "askbox once charge; echo $? >> ~/statuses; [ -e ~/mended ]");
    world.ask_and_answer("billing-1");
    world.refused(1, "relaunch billing-1");
    world.ok("askbox", &["once", "charge", "--of", "billing-1", "--was", "not-made"]);
    assert!(!world.status("billing-1").to_string().contains("may have been made"));
    fs::write(world.home().join("mended"), "").unwrap();
    world.ok("relaunch", &["retry", "billing-1"]);
    world.sh("relaunch billing-1 || true");
    world.reaches("billing-1", "delivered");
    assert_eq!(lines(&world, "statuses"), ["0", "0"]);
}

mod promises {
    use super::*;

    #[test]
    fn a_call_is_marked_once_in_a_round_and_told_if_the_run_dies() {
        let script = "askbox once 'charge 4711'; echo $? >> ~/statuses; exit 1";
        let world = world("attempts = 2", script);
        let _watcher = world.watch();
        world.ask_and_answer("billing-1");
        let parked = world.reaches("billing-1", "parked");
        assert_eq!(lines(&world, "statuses"), ["0", "4"]);
        let why = parked["why"].as_str().unwrap();
        assert!(why.contains("may have been made before") && why.contains("`charge 4711`"), "{why}");
        let note = |event: &&Value| event["type"] == "note" && event["text"].as_str().unwrap().contains("charge 4711");
        assert!(events(&world, "billing-1", 2).iter().any(|event| note(&event)));
        // The next round is another answer.
        world.ok("relaunch", &["drop", "billing-1"]);
        world.ask_and_answer("billing-1");
        until("the next round asks again", || lines(&world, "statuses").len() >= 3);
        assert_eq!(lines(&world, "statuses")[2], "0");
    }

    #[test]
    fn a_mark_needs_a_live_run_that_the_environment_proves() {
        let world = world("", "env | grep ^ASKBOX_ > ~/env; askbox once a || exit 3; askbox once '  ' 2> ~/blank; echo $? > ~/empty");
        let said = world.refused(2, "askbox once a");
        assert!(said.contains("no run of askbox calls this"), "{said}");
        world.ask_and_answer("billing-1");
        world.ok("relaunch", &["billing-1"]);
        assert_eq!(lines(&world, "empty"), ["2"]);
        assert_eq!(lines(&world, "blank")[0], "error: the name of the call is blank");
        // The run is over.
        let said = world.refused(2, "export $(cat ~/env); askbox once b");
        assert!(said.contains("is over"), "{said}");
        let said = world.refused(2, "export $(grep -v FENCE ~/env); ASKBOX_NONCE=0b0c5a1e-2d3f-4a5b-8c7d-9e0f1a2b3c4d askbox once b");
        assert!(said.contains("does not prove"), "{said}");
    }
}
