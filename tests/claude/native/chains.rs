//! An agent three levels below the root asks with AskUserQuestion.

use serde_json::json;

use crate::claude::native::asking::{ask, told, which_database};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

#[test]
fn a_fourth_levels_answer_is_its_calls_result() {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(relaunch spawn:*)\"]\n");
    world.keep_watching_from_the_start();
    for n in 1..4 {
        let spawn = bash(&format!("relaunch spawn -w l{0} --prompt 'Work as l{0}.'", n + 1));
        world.api.on(&format!("Work as l{n}."), json!([spawn]));
        world.api.on(&format!("l{} finished.", n + 1), json!([{"text": format!("heard by l{n}")}]));
    }
    world.api.on("Work as l4.", json!([ask(&which_database()), {"text": "built"}]));
    let said = world.run("relaunch", &["spawn", "-w", "l1", "--prompt", "Work as l1."]).ok().stdout;
    assert_eq!(said, "SGN_PEND_STARTED (l1)\n");
    let before = world.api.turns().len();
    assert_eq!((world.names("pending"), world.names("running").len()), (vec!["l4.json".to_owned()], 0));
    world.stop_watching();
    world.keep_watching();
    assert_eq!(world.run("relaunch", &["resume", "l1"]).ok().stdout, "SGN_PEND_ONGOING\n");
    assert_eq!(world.api.turns().len(), before, "waiting costs nothing");
    world.answer("l4", "Postgres");
    world.wait_status("l1", "finished", |s| s["state"] == "delivered" && s["result"] == "heard by l1");
    let after = world.api.turns().split_off(before);
    assert_eq!(after.len(), 4, "one turn a level");
    assert!(after[0].tool_results().concat().contains("\"Which database?\"=\"Postgres\""), "{:?}", told(&world));
}
