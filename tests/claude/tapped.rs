//! From the phone to the real agent: a button of a notification answers, and the agent is told.

use serde_json::{Value, json};

use crate::support::claude::bash;
use crate::support::needs;
use crate::support::{ClaudeWorld, Server, World, output, until};

#[test]
fn a_tap_on_the_phone_reaches_the_agent_as_the_persons_answer() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "ntfy.py", &[]);
    let mut world = ClaudeWorld::new();
    let url = format!("http://127.0.0.1:{}", server.port);
    let target = format!("ntfy = \"{url}/cards\"\nntfy_replies = \"{url}/replies\"\nperson = \"ann\"");
    world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.phone]\n{target}\n"));
    world.keep_watching_from_the_start();
    world.api.on("User chose: keep", json!([{"text": "both are kept"}]));
    let asks = "ask-post 'How shall the sections be merged?' -w docs -o merge='Merge them' -o keep='Keep both'";
    world.user_session(&json!([bash(asks), {"text": "QUESTION_POSTED:docs"}]));
    let shows = |title: &str| -> Value {
        until(&format!("the phone shows {title}"), || Server::lines(&place, "published").into_iter().find(|card| card["title"] == title))
    };
    let card = shows("docs asks");
    let keep = &card["actions"][1];
    assert_eq!((&keep["label"], &keep["method"]), (&json!("keep"), &json!("POST")), "{card:#}");
    // The request that the phone sends when the button is pressed.
    let (to, body) = (keep["url"].as_str().expect("a URL"), keep["body"].as_str().expect("a body"));
    assert_eq!(output(world.any_command("curl").args(["-sS", "--fail", "--data-raw", body, to])).code(), 0);
    assert_eq!(world.wait_state("docs", "delivered")["result"], "both are kept");
    let told = world.api.requests_with_text("User chose: keep");
    assert_eq!(told.len(), 1, "the model was told once");
    let round = world.only("closed", "docs.").expect("a round");
    let answer = &world.json(round)["answer"];
    assert_eq!((&answer["value"], &answer["by"], &answer["channel"]), (&json!("keep"), &json!("ann"), &json!("ntfy")));
    for title in ["docs: answered by ann through ntfy", "docs: delivered"] {
        let later = until(title, || {
            Server::lines(&place, "published").into_iter().find(|card| card["title"].as_str().is_some_and(|t| t.starts_with(title)))
        });
        assert_eq!(later["sequence_id"], card["sequence_id"], "it takes the place of the card");
    }
}
