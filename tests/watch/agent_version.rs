//! The events of each run say what the version of the agent program lacks.

use crate::support::World;

mod promises {
    use super::*;

    #[test]
    fn a_run_says_what_its_version_of_claude_lacks() {
        for (version, lacks) in [("2.1.260", true), ("2.1.332", false), ("9.0.0", false), ("", false), ("no version", false)] {
            let mut world = World::new().with_scripted_agent();
            world.set_env(&[("AGENT_VERSION", version)]);
            world.agent_does("w", "echo done");
            world.ask_and_answer("w");
            world.sh("relaunch w");
            let logs = world.sh("relaunch logs w");
            assert_eq!(logs.contains(&format!("with claude {version}, ")), lacks, "{version}: {logs}");
            assert_eq!(world.state("w"), "delivered");
        }
    }
}
