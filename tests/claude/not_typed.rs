//! A message of askbox is text to `claude`, never typing: no `@/path` in it opens a file, and no `/command` in it is run.

use crate::support::claude::bash;
use crate::support::claude::version::needs_claude;
use crate::support::{ClaudeWorld, LIMIT};
use serde_json::json;

const SECRET: &str = "WALNUT-7391";

/// A watched mailbox, and a mention of a file that agents may not read.
#[track_caller]
fn with_secret() -> (ClaudeWorld, String) {
    let mut world = ClaudeWorld::new();
    world.configure(
        "[relaunch]\nmode = 'resume'\nbackoff = '10ms'\n\
         [runner.claude]\nallowed_tools = [\"Bash(ask-post:*)\", \"Bash(relaunch spawn:*)\"]\n",
    );
    world.keep_watching_from_the_start();
    let secret = world.home().join("secret.txt");
    std::fs::write(&secret, format!("{SECRET}\n")).expect("a file");
    let mention = format!("see @{} please", secret.display());
    (world, mention)
}

/// The model was shown these words, and never the secret.
#[track_caller]
fn only_words(world: &ClaudeWorld, words: &str) {
    world.api.wait_for_text(words, 1, LIMIT);
    for request in world.api.requests() {
        assert!(!request.body.to_string().contains(SECRET), "with `{words}`: {}", request.model_text());
    }
}

#[test]
fn no_text_of_a_question_or_an_answer_opens_a_file() {
    needs_claude!(TextNotTyped);
    let (world, mention) = with_secret();
    world.api.on("one!", json!([bash("ask-post 'Second?' -w one"), {"text": "asked again"}]));
    world.ask("one", &[&format!("First, {mention}?")]);
    world.run("ask-answer", &["one", &format!("one! {mention}"), "--note", &format!("And {mention}")]).ok();
    only_words(&world, "one!");
    // The same session, forked.
    world.wait_status("one", "asked again", |s| s["state"] == "pending" && s["question"] == "Second?");
    world.run("ask-answer", &["one", &format!("two! {mention}")]).ok();
    only_words(&world, "two!");
    world.ask("no", &["May I?"]);
    world.run("ask-answer", &["decline", "no", "--note", &format!("three! {mention}")]).ok();
    only_words(&world, "three!");
    world.ask("back", &["Which?"]);
    world.run("ask-answer", &["ask-back", "back", &format!("four! {mention}")]).ok();
    only_words(&world, "four!");
}

#[test]
fn no_task_and_no_reply_of_a_child_opens_a_file() {
    needs_claude!(TextNotTyped);
    let (world, mention) = with_secret();
    world.api.on("Work as parent.", json!([bash("relaunch spawn -w child --prompt 'Work as child.'")]));
    world.api.on("Work as child.", json!([bash("ask-post 'When?'")]));
    world.api.on("User chose: now", json!([{"text": format!("five! {mention}")}]));
    world.api.on("child finished.", json!([{"text": "heard"}]));
    world.run("relaunch", &["spawn", "-w", "parent", "--prompt", &format!("Work as parent. {mention}")]).ok();
    world.answer("child", "now");
    world.wait_status("parent", "woken", |s| s["state"] == "delivered" && s["result"] == "heard");
    only_words(&world, "child finished.");
}

#[test]
fn a_task_that_begins_with_a_slash_is_no_command() {
    needs_claude!(TextNotTyped);
    let (world, _) = with_secret();
    world.api.on("/clear", json!([{"text": "read it"}]));
    world.run("relaunch", &["spawn", "-w", "slash", "--prompt", "/clear"]).ok();
    let status = world.wait_state("slash", "delivered");
    assert_eq!(status["result"], "read it");
}
