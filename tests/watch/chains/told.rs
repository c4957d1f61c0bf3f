//! A session that the user started himself, and that spawned a chain. `askbox hook` tells it when the root's result is in.

use serde_json::{Value, json};

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};

/// The words that the user's session is told with its next prompt.
fn told(tree: &Tree) -> String {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"});
    let said = tree.world.run_with("askbox", &["hook"], event.to_string().as_bytes()).ok().stdout;
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

mod promises {
    use super::*;

    #[test]
    fn a_session_hears_of_the_leafs_question_and_the_roots_result() {
        let tree = Tree::new();
        tree.does("root", &passes_on("leaf"));
        tree.does("leaf", ASKS);
        assert_eq!(told(&tree), "");
        assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
        let question = told(&tree);
        assert!(question.contains("- leaf: \"When?\"") && !question.contains("root"), "the root only waits: {question}");
        assert_eq!(told(&tree), "");
        let watcher = tree.world.start_watcher();
        tree.answer("leaf");
        assert_eq!(tree.result("root"), "passed on: it is 2");
        let mut all = String::new();
        until("the news of the root's result", || {
            all.push_str(&told(&tree));
            all.contains("- root: its run finished (relaunch status root)").then_some(())
        });
        assert!(all.contains("- leaf: its run finished"), "{all}");
        assert_eq!((all.matches("root: ").count(), told(&tree).as_str()), (1, ""), "{all}");
        watcher.stop();
    }
}
