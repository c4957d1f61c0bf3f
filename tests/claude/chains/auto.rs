//! `relaunch.mode = "auto"` with the real `claude`: what it chose, and what it knew of the costs of both ways.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::{Value, json};

#[test]
fn status_says_why_auto_chose_and_what_both_ways_cost() {
    let mut world = ClaudeWorld::new();
    let tools = "\"Bash(ask-post:*)\", \"Bash(checkpoint:*)\"";
    world.configure(&format!("[runner.claude]\nallowed_tools = [{tools}]\n"));
    world.keep_watching_from_the_start();
    world.api.on("Work bare.", json!([bash("ask-post 'Go on?'")]));
    world.api.on("Work saved.", json!([bash("checkpoint save --step review"), bash("ask-post 'Go on?'")]));
    world.api.on("User chose: yes", json!([{"text": "done"}]));
    for (id, how, why) in [
        ("bare", "fork", "the session that asked, because the question has no checkpoint"),
        ("saved", "fresh", "a new session, because the question has a checkpoint"),
    ] {
        world.run("relaunch", &["spawn", "-w", id, "--prompt", &format!("Work {id}.")]).ok();
        assert_eq!(world.status(id)["auto"], Value::Null, "nothing was to choose for a task");
        world.answer(id, "yes");
        let status = world.wait_status(id, "delivered", |s| s["state"] == "delivered" && s["result"] == "done");
        let auto = &status["auto"];
        // The scripted API counts 1000 tokens a request and 100 a reply, and has no cache.
        assert_eq!(
            (auto["why"].as_str(), auto["resume_tokens"].as_u64(), auto["cache"].as_str()),
            (Some(why), Some(1100), Some("cold")),
            "{status}"
        );
        let fresh = auto["fresh_tokens"].as_u64().expect("tokens");
        assert!(if how == "fresh" { fresh > 1010 } else { fresh < 1010 }, "the checkpoint is told as well: {auto}");
        let round = status["question_id"].as_str().expect("a round");
        assert_eq!(world.document(&format!("runs/{id}/{round}/1/run.json"))["begin"]["how"], how);
        let shown = world.run("relaunch", &["status", id]).ok().stdout;
        let line =
            format!("began as   {why} (estimated then: to resume: 1100 tokens, not in the prompt cache; a new session: {fresh} tokens)");
        assert!(
            shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(&line.split_whitespace().collect::<Vec<_>>().join(" ")),
            "{shown}"
        );
    }
}
