//! `relaunch status --all`: every workflow that is known, the newest first, one line each.

use std::fs;

use crate::programs::beside::strangers;
use crate::support::{Terminal, World, needs};

fn ids(world: &World) -> Vec<String> {
    world.sh("relaunch status --all --json | jq -r '[.workflow_id, .state] | join(\" \")'").lines().map(str::to_owned).collect()
}

#[test]
fn a_mailbox_without_workflows_says_so() {
    let world = World::at_home();
    assert_eq!(world.sh("relaunch status --all"), "there is no workflow");
}

#[test]
fn two_thousand_workflows_are_listed_each_once_in_little_memory() {
    let world = World::new();
    world.make_mailbox();
    strangers(&world, 2_000);
    let script = "relaunch status --all | wc -l; relaunch status --all --json | jq -r .workflow_id | sort -u | wc -l";
    let counted = world.shell(&format!("ulimit -v 60000; {script}"));
    assert_eq!((counted.stdout.as_str(), counted.stderr.as_str()), ("2002\n2001\n", ""));
}

#[test]
fn a_line_is_cut_at_the_terminals_edge_and_whole_in_a_pipe() {
    needs!("tmux");
    let world = World::new();
    let long = "long words ".repeat(30);
    world.sh(&format!("ask-post -w w '{long}' 2>/dev/null"));
    let terminal = Terminal::running(&world, (80, 40), &["PS1=$ "], &["sh"]);
    terminal.see("$");
    terminal.press(&["relaunch status --all; echo the $((1 + 1))nd", "Enter"]);
    let screen = terminal.see("the 2nd");
    let line = screen.lines().find(|line| line.starts_with("w ")).unwrap();
    assert!(line.chars().count() == 80 && line.ends_with('…'), "{screen}");
    assert!(screen.contains("…\nthe 2nd"), "{screen}");
    assert!(world.sh("relaunch status --all").ends_with(long.trim_end()));
}

mod promises {
    use super::*;

    #[test]
    fn every_known_workflow_has_one_line_newest_first() {
        let world = World::new().with_scripted_agent();
        for id in ["withdrawn", "delivered", "pending", "quarantined"] {
            world.sh(&format!("ask-post -w {id} 'Merge {id}?' 2>/dev/null"));
        }
        world.sh("ask-answer cancel withdrawn; ask-answer delivered yes; relaunch delivered");
        world.sh("ask-post -w pending-again 'One?' 2>/dev/null; ask-answer cancel pending-again; ask-post -w pending-again 'Two lines?\nYes' 2>/dev/null");
        // A file that was answered and then damaged, and a workflow that has only its record left.
        world.sh("ask-answer quarantined yes; mv m/answered/quarantined.json m/quarantine/; echo '2026-01-01T00:00:00.000Z from answered/: damaged' >m/quarantine/quarantined.json.reason");
        world.sh("mkdir -m 700 -p m/workflows");
        fs::write(world.in_mailbox("workflows/record.json"), r#"{"workflow_id":"record","created":"2026-01-01T00:00:00.000Z"}"#).unwrap();
        world.sh("chmod -R go-w m; touch -d '2026-01-05 UTC' m/workflows/record.json m/pending/pending.json; touch -d '2026-01-06 UTC' m/runs/withdrawn/*-*");
        let mut all = ids(&world);
        // Nothing says when the file was damaged, but the `.reason`.
        assert_eq!(all.pop().unwrap(), "quarantined parked");
        assert_eq!(all, ["pending-again pending", "delivered delivered", "withdrawn withdrawn", "record unknown", "pending pending"]);
        let words = world.sh("relaunch status --all");
        assert_eq!(words.lines().count(), 1 + 6, "{words}");
        assert!(words.lines().nth(1).unwrap().ends_with("Two lines? Yes"), "{words}");
        assert_eq!(world.sh("relaunch status | wc -l"), "4");
        world.refused(2, "relaunch status --all docs-42");
    }
}
