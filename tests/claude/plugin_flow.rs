//! The plugin as a person gets it: from the marketplace of the repository, by `askbox setup`, or by `--plugin-dir`. Then the whole way of
//! a subagent's question through a session in a terminal.

use serde_json::{Value, json};

use crate::support::claude::live::Live;
use crate::support::claude::{bash, uuid};
use crate::support::{ClaudeWorld, Terminal, output, until};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The plugin in the repository.
const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plugin");

#[test]
fn the_marketplace_installs_the_plugin_and_setup_leaves_it() {
    let world = ClaudeWorld::new();
    for args in [&["plugin", "marketplace", "add", ROOT][..], &["plugin", "install", "askbox@askbox"], &["plugin", "list"]] {
        let outcome = output(world.claude().args(args)).ok();
        assert!(outcome.stdout.contains("askbox"), "{args:?}: {outcome:?}");
    }
    let said = world.run("askbox", &["setup", "--dry-run", "--without", "service"]).ok().stdout;
    assert!(said.contains("settings.json") && !said.contains("skills/askbox"), "{said}");
}

/// The call of AskUserQuestion that `ask-answer show --format ask-user-question` prints for the subagent's question.
fn shown(world: &ClaudeWorld) -> Value {
    let input = world.ok("ask-answer", &["show", "sub", "--format", "ask-user-question"]);
    json!({"tool": "AskUserQuestion", "input": serde_json::from_str::<Value>(&input).expect("JSON")})
}

#[test]
fn a_subagents_question_goes_through_a_terminal_unasked() {
    let mut world = ClaudeWorld::used_before();
    world.keep_watching_from_the_start();
    // Its rules are those that `askbox setup` writes beside the plugin.
    world.ok("askbox", &["setup", "--yes", "--only", "permissions"]);
    let save = bash("checkpoint save sub --step review --next-action 'paint the walnut'");
    let post = bash("ask-post 'Which colour?' -w sub -o red='A warm one' -o blue='A cold one'");
    // The agent ends only after the session's own turn.
    let seen = world.path("seen");
    world.api.on("Sub work.", json!([save, post, {"once": seen, "text": "QUESTION_POSTED:sub"}]));
    world.api.on("User chose: blue", json!([{"text": "painted"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    // The agent works in the background, and its end wakes the session. The input for AskUserQuestion is known only then.
    let started = json!({"tool": "Agent", "input": input});
    world.api.on("Do it all.", json!([started, {"text": "It works."}, bash("ask-answer list"), {"text": "There is a question."}]));
    let program = world.claude_program().display().to_string();
    let terminal =
        Terminal::running(&world, (120, 50), &["TERM=screen"], &[&program, "--plugin-dir", PLUGIN, "--permission-mode", "default"]);
    terminal.see("❯");
    terminal.say("Do it all.");
    terminal.see("It works.");
    std::fs::write(&seen, "").expect("a file");
    terminal.see("There is a question.");
    assert!(world.document("pending/sub.json")["asked_by"].as_str().is_some_and(|by| by.starts_with("general-purpose ")));
    let told = world.api.turns().last().expect("a turn").model_text();
    assert_eq!(told.matches("- sub: \"Which colour?\"").count(), 1, "the session was told: {told}");

    let ask = [bash("ask-answer show sub --format ask-user-question"), shown(&world)];
    let steps: Vec<Value> = ask.into_iter().chain([json!({"text": "It is handed on."})]).collect();
    world.api.on("Ask me.", Value::Array(steps));
    terminal.say("Ask me.");
    let screen = terminal.see("A cold one");
    assert!(screen.contains("Which colour?"), "{screen}");
    // Each key once what came before it is on the screen: a busy machine draws late.
    terminal.see("❯ 1.");
    terminal.press(&["Down"]);
    terminal.see("❯ 2.");
    // Presses the key again only while the same menu is on the screen: a busy terminal may lose a key.
    let mut looks = 0..;
    until("the choice is taken", || {
        let stands = terminal.screen().contains("Enter to select");
        if stands && looks.next().is_some_and(|n: usize| n.is_multiple_of(100)) {
            terminal.press(&["Enter"]);
        }
        !stands
    });
    // The agent does not pass the answer on: the hook has done it, and says so.
    terminal.see("It is handed on.");
    let told = world.api.turns().iter().rev().find(|turn| turn.model_text().contains("Do it all.")).expect("a turn").model_text();
    assert!(told.contains("askbox: this answer of your user was handed on. sub: answered: blue"), "{told}");
    // No other key was pressed: a request for permission would have held the session up.
    let results = world.api.turns().iter().rev().find(|turn| turn.model_text().contains("Do it all.")).expect("a turn").tool_results();
    assert!(results.iter().any(|result| result.contains("\"Which colour?\"=\"blue\"")), "{results:?}");
    world.wait_status("sub", "its run", |s| s["state"] == "delivered" && s["result"] == "painted");
    let answer = &world.closed("sub", "delivered", 1)[0]["answer"];
    assert_eq!((&answer["value"], &answer["through"], &answer["channel"]), (&json!("blue"), &json!("hook"), &json!("askbox hook")));
    assert_eq!(world.launches().len(), 1);

    world.api.on("And now?", json!([{"text": "I know."}]));
    terminal.say("And now?");
    terminal.see("I know.");
    let told = world.api.turns().last().expect("a turn").model_text();
    assert_eq!(told.matches("- sub: its run finished").count(), 1, "{told}");
}

#[test]
fn sixteen_turns_without_news_are_told_nothing() {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    // Questions from before the session are not news of its turns.
    world.ask("old", &["An old question?"]);
    let mut live = Live::start(&world, &["--plugin-dir", PLUGIN]);
    let mut say = |text: &str| {
        live.say(&uuid(), &format!(r#"{text} @@[{{"text":"done"}}]"#));
        live.expect_type("result");
        world.api.turns().last().expect("a turn").model_text()
    };
    let news = |told: &str| told.matches("askbox: ").count();
    assert_eq!(news(&say("turn 0")), 1, "what waits is told at the start");
    for turn in 1..=16 {
        assert_eq!(news(&say(&format!("turn {turn}"))), 1, "turn {turn} was told something");
    }
    assert_eq!(world.api.turns().len(), 17, "one request a turn");
    world.ask("new", &["A new question?"]);
    let told = say("turn 17");
    assert_eq!((news(&told), told.matches("- new: \"A new question?\"").count()), (2, 1), "{told}");
    live.finish();
}
