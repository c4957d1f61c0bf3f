//! `askbox tree --all`: every workflow that is known, each once.

use std::fs;

use crate::programs::beside::strangers;
use crate::support::World;

#[test]
fn two_thousand_workflows_are_listed_each_once_in_little_memory() {
    let world = World::new();
    world.make_mailbox();
    strangers(&world, 2_000);
    let script = "askbox tree --all | wc -l; askbox tree --all --json | jq -r .workflow_id | sort -u | wc -l";
    let counted = world.shell(&format!("ulimit -v 60000; {script}"));
    assert_eq!((counted.stdout.as_str(), counted.stderr.as_str()), ("2002\n2001\n", ""));
}

mod promises {
    use super::*;

    #[test]
    fn every_known_workflow_is_shown_in_its_state() {
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
        world.sh("chmod -R go-w m");
        let all = world.sh("askbox tree --all --json | jq -r '[.workflow_id, .state] | join(\" \")' | sort");
        let expected = [
            "delivered delivered", "pending pending", "pending-again pending", "quarantined parked", "record unknown",
            "withdrawn withdrawn",
        ];
        assert_eq!(all.lines().collect::<Vec<_>>(), expected);
        assert_eq!(world.sh("relaunch status | wc -l"), "4");
    }
}
