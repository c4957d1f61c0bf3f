//! Ends of a turn that are not a result: a signal with nothing behind it that waits, and work that the limit of turns cut off.

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};
use serde_json::{Value, json};

fn state(tree: &Tree, id: &str, state: &str) -> Value {
    until(&format!("{id} is {state}"), || {
        let output = tree.world.run("relaunch", &["status", "--json", id]);
        serde_json::from_str(&output.stdout).ok().filter(|s: &Value| s["state"] == state)
    })
}

#[test]
fn a_signal_with_something_behind_it_ends_the_turn() {
    let tree = Tree::unfenced();
    tree.does("root", &passes_on("leaf"));
    tree.does("leaf", &ASKS.replace("ask-post 'When?'", "ask-post 'When?' >/dev/null; echo SGN_PEND_STARTED"));
    tree.does("withdrawn", "ask-post 'When?' >/dev/null; ask-answer cancel withdrawn >/dev/null; echo SGN_PEND_STARTED");
    tree.does("lends", "ask-post -w other 'When?' >/dev/null; echo 'SGN_PEND_STARTED (other)'");
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    assert_eq!((tree.status("leaf")["state"].as_str(), tree.status("root")["state"].as_str()), (Some("pending"), Some("awaiting")));
    let _watcher = tree.world.watch();
    tree.answer("leaf");
    assert_eq!(tree.result("root"), "passed on: it is 2");
    // The question was taken back before the turn was over: nobody need be told of a signal.
    let output = tree.world.run("relaunch", &["spawn", "-w", "withdrawn", "--prompt", "go"]);
    assert!(output.stdout.starts_with("withdrawn (withdrawn)"), "{output:?}");
    tree.world.run("relaunch", &["spawn", "-w", "lends", "--prompt", "go"]);
    assert_eq!(tree.status("lends")["state"], "delivered");
}

#[test]
fn a_told_and_retried_agent_continues_in_its_session() {
    let tree = Tree::new();
    tree.does("leaf", "if [ $n = 1 ]; then say working; echo SGN_UNHANDLED; else echo done after all; fi");
    tree.world.run("relaunch", &["spawn", "-w", "leaf", "--prompt", "go"]);
    assert_eq!(tree.status("leaf")["state"], "parked");
    tree.world.ok("relaunch", &["retry", "leaf"]);
    assert_eq!(tree.status("leaf")["result"], "done after all");
    let arguments = std::fs::read_to_string(tree.world.agent("arguments.leaf")).unwrap();
    assert!(arguments.lines().nth(1).unwrap().contains("--resume="), "{arguments}");
}

/// The stream's end where the agent program reached its own limit of turns.
const CUT: &str = r#"say "half of it"; printf '{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (30)"],"session_id":"%s","num_turns":30,"usage":{}}\n' "$session" >&3; kill $$; exit"#;

#[test]
fn a_child_at_its_limit_of_turns_is_parked_and_marked_as_cut() {
    let tree = Tree::with("[limits]\nturns = 30\n");
    tree.does("root", "if [ $n = 1 ]; then relaunch spawn --timeout 1ms -w leaf --prompt go; else echo told; fi");
    tree.does("leaf", &format!("until [ -f \"$AGENT_DIR/go\" ]; do sleep 0.05; done; {CUT}"));
    let _watcher = tree.world.watch();
    tree.world.run("relaunch", &["spawn", "--timeout", "1ms", "-w", "root", "--prompt", "go"]);
    state(&tree, "root", "awaiting");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    assert_eq!(tree.result("root"), "told");
    let told = tree.world.told("root", 2);
    assert!(
        told.contains("leaf was cut off at its limit of turns and is parked. It had not finished. What it had written:\n> half of it\n"),
        "{told}"
    );
    let leaf = state(&tree, "leaf", "parked");
    assert_eq!(leaf["failure"], "turns");
    // In the caller's own turn.
    let output = tree.world.run("relaunch", &["resume", "leaf"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, "parked (leaf): cut off at its limit of turns, not finished. What it had written:\n> half of it\n");
    let ended: Value = serde_json::from_str(&tree.world.run("relaunch", &["resume", "--json", "leaf"]).stdout).unwrap();
    assert_eq!((&ended["end"], &ended["cut"], &ended["text"]), (&json!("parked"), &json!(true), &json!("half of it")));
}

#[test]
fn a_stop_says_which_agents_run_on_and_how_to_stop_them_too() {
    let tree = Tree::new();
    let works = "until [ -f \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo done";
    tree.does(
        "root",
        &format!("relaunch spawn --background -w child --prompt go; relaunch spawn --background -w quick --prompt go; {works}"),
    );
    tree.does("child", works);
    tree.world.run("relaunch", &["spawn", "--timeout", "1ms", "-w", "root", "--prompt", "go"]);
    until("the child", || (tree.launches("child") == 1).then_some(()));
    state(&tree, "quick", "delivered");
    let output = tree.world.run("relaunch", &["stop", "--now", "--grace", "1s", "root"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.starts_with("stopped root; go on with: relaunch root\n"), "{output:?}");
    assert_eq!(output.stderr, "warning: what root started runs on: child; to stop that too: relaunch stop --tree root\n");
    assert_eq!(tree.status("child")["state"], "running");
    let output = tree.world.run("relaunch", &["stop", "--now", "--grace", "1s", "child"]);
    assert_eq!((output.status.code(), output.stderr.as_str()), (Some(0), ""), "it started nobody");
}

mod promises {
    use super::*;

    #[test]
    fn a_signal_with_nothing_behind_it_is_no_result() {
        let tree = Tree::new();
        tree.does("root", "if [ $n = 1 ]; then relaunch spawn --timeout 1ms -w leaf --prompt go; else echo \"told\"; fi");
        // The leaf of the first design: it writes question.md, and ends with its signal.
        let gate = "until [ -f \"$AGENT_DIR/go\" ]; do sleep 0.05; done";
        tree.does("leaf", &format!("{gate}; echo 'Q: When?' >question.md; echo 'I wrote the question.'; echo SGN_PEND_STARTED"));
        let _watcher = tree.world.watch();
        tree.world.run("relaunch", &["spawn", "--timeout", "1ms", "-w", "root", "--prompt", "go"]);
        state(&tree, "root", "awaiting");
        std::fs::write(tree.world.agent("go"), "").unwrap();
        let leaf = state(&tree, "leaf", "parked");
        let why = leaf["why"].as_str().unwrap();
        assert_eq!(
            why,
            "it ended its turn with `SGN_PEND_STARTED`, but it waits for nothing: it has no open question and started no agent that goes on"
        );
        assert_eq!(leaf["failure"], "no_result");
        assert_eq!(
            leaf["todo"],
            "let its instructions ask with ask-post and start agents with relaunch spawn, then go on: relaunch retry leaf"
        );
        assert_eq!(tree.result("root"), "told");
        let told = tree.world.told("root", 2);
        assert!(told.contains("leaf has no reply, it is parked: it ended its turn with `SGN_PEND_STARTED`"), "{told}");
        let doctor = tree.world.run("askbox", &["doctor"]);
        assert!(doctor.stdout.contains("leaf") && doctor.stdout.contains("but it waits for nothing"), "{}", doctor.stdout);
        assert_eq!(tree.launches("leaf"), 1, "another attempt would say the same");
    }

    #[test]
    fn every_signal_counts_and_text_around_a_signal_does_not() {
        let tree = Tree::new();
        for (id, last, is_result) in [
            ("bare", "SGN_PEND_STARTED", false),
            ("named", "SGN_PEND_STARTED (another)", false),
            ("ongoing", "SGN_PEND_ONGOING", false),
            ("resume", "SGN_RESUME", false),
            ("unhandled", "SGN_UNHANDLED", false),
            ("spaced", "SGN_PEND_ONGOING\n\n", false),
            ("prose", "It said SGN_PEND_ONGOING.", true),
            ("first", "SGN_PEND_ONGOING\nwas its reply", true),
        ] {
            tree.does(id, &format!("printf '%s' 'Text.\n{last}'"));
            let output = tree.world.run("relaunch", &["spawn", "-w", id, "--prompt", "go"]);
            assert_eq!(output.status.code(), Some(i32::from(!is_result)), "{id}: {output:?}");
            assert_eq!(tree.status(id)["state"], if is_result { "delivered" } else { "parked" }, "{id}");
            assert_eq!(output.stdout.starts_with(&format!("parked ({id}): it ended its turn with `SGN_")), !is_result, "{}", output.stdout);
        }
    }
}
