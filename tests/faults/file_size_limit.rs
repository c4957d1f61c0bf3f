//! `ulimit -f`: a write past the limit fails as on a full disk. The kernel's signal for it, SIGXFSZ, ends no program.

use super::full_disk::{assert_says_so, state};
use crate::support::{World, needs};

/// More than the limit of the tests.
const LONG: usize = 5000;

#[test]
fn a_supervisor_whose_log_passes_the_limit_delivers() {
    needs!("awk");
    let chatter = "awk 'BEGIN { for (i = 0; i < 3000; i++) print \"{\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"content\\\":\
                   [{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"\" i \"\\\"}]}}\" }'\nwork";
    let world = World::stepping(chatter);
    world.ask_and_answer("docs");
    let out = world.shell("ulimit -f 64; exec relaunch docs");
    assert!(out.code() >= 0, "a signal ended it: {:?}", out.status);
    assert_eq!((world.state("docs").as_str(), world.logged("done ")), ("delivered", 1), "{}", out.stderr);
}

mod promises {
    use super::*;

    #[test]
    fn a_write_past_the_limit_on_file_sizes_changes_nothing() {
        let long = "x".repeat(LONG);
        let commands = [
            format!("ask-post -w new {long}"),
            format!("ask-post -w new --supersede {long}"),
            format!("ask-answer docs {long}"),
            format!("ask-answer decline docs --note {long}"),
            format!("ask-answer cancel docs --why {long}"),
            format!("checkpoint save docs --context {long}"),
        ];
        for command in commands {
            let world = World::new();
            world.ok("ask-post", &["-w", "docs", "How?"]);
            world.ok("checkpoint", &["save", "docs", "--step", "one"]);
            let before = state(&world);
            // The unit is 512 bytes in some shells and 1024 in others.
            let out = world.shell(&format!("ulimit -f 4; exec {command}"));
            let when = command.replace(&long, "…");
            assert_says_so(&out, &when);
            assert!(out.stderr.contains("ulimit -f"), "{when}: {out:?}");
            assert_eq!(state(&world), before, "{when}");
            let hidden = world.sh("find m -name '.tmp*'");
            assert_eq!(hidden, "", "{when} left a temporary file");
        }
    }
}
