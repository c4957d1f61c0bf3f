//! The start of Qwen: with its files, or as it is.

use serde_json::{Value, json};

use super::{Qwen, world};
use crate::support::{World, files};

/// Starts Qwen in this way, and sees that it has only its own arguments.
fn starts_plainly(world: &World, args: &str, variables: &[&str], right: &Value) -> String {
    let _ = std::fs::remove_file(world.home().join("log"));
    let qwen = Qwen::start(world, args, variables);
    assert_eq!(qwen.log("args")[0], *right);
    qwen.tell(&json!({"end": 3}));
    // Whatever was written before this line is on the screen as well.
    let screen = qwen.terminal.see("qwen ended with 3");
    qwen.nothing_is_left();
    std::fs::remove_file(world.home().join("told")).unwrap();
    qwen.terminal.close();
    screen
}

#[test]
fn qwen_starts_as_it_is_if_nothing_can_wait_beside_it() {
    let world = world();
    std::fs::write(world.path("no-folder"), "").unwrap();
    let no_mailbox = format!("ASKBOX_DIR={}", world.path("no-folder").display());
    assert!(starts_plainly(&world, "-c", &[&no_mailbox], &json!(["-c"])).contains("qwen's dialogs stay at this terminal alone"));
    world.reconfigure("grace = \"0s\"", "grace = 7");
    assert!(starts_plainly(&world, "-c", &[], &json!(["-c"])).contains("qwen's dialogs stay at this terminal alone"));
}

#[test]
fn a_script_named_qwen_that_starts_this_command_is_no_circle() {
    let world = world();
    for script in ["#!/bin/sh\nexec askbox live qwen -- \"$@\"\n", "#!/bin/sh\naskbox live qwen -- \"$@\"\nexit $?\n"] {
        files::write_program(&world.path("bin/qwen"), script);
        let words = world.refused(1, "askbox live qwen -- -c");
        assert!(words.contains("bin/qwen starts `askbox live qwen` again"), "{words}");
    }
    std::fs::remove_file(world.path("bin/qwen")).unwrap();
    let words = world.refused(1, "askbox live qwen -- -c");
    assert!(words.contains("the program `qwen` is not on PATH") && words.contains("npm install"), "{words}");
    world.refused(2, "askbox live copilot -- -c");
}

mod promises {
    use super::*;

    #[test]
    fn qwen_starts_as_it_is_without_the_experiment_or_a_person() {
        let world = world();
        for (args, right) in [
            ("-p 'do it'", json!(["-p", "do it"])),
            ("mcp list", json!(["mcp", "list"])),
            ("--input-file mine -y", json!(["--input-file", "mine", "-y"])),
            ("< /dev/null", json!([])),
        ] {
            assert!(!starts_plainly(&world, args, &[], &right).contains("stay at this terminal"), "{args}");
        }
        starts_plainly(&world, "-c", &["ASKBOX_RUN=w 1 2"], &json!(["-c"]));
        world.reconfigure("experimental_qwen = true", "experimental_qwen = false");
        starts_plainly(&world, "-c", &[], &json!(["-c"]));
    }
}
