//! What the pages tell of an answer: why nothing starts, what was tried, what was asked since, and what was chosen.

use crate::support::{World, until};

/// A world with the scripted agent, a served page and a signed-in browser.
macro_rules! served {
    ($world:ident, $browser:ident) => {
        let $world = World::at_home();
        let page = $world.serve_page();
        let $browser = page.signed_in(&$world, "ann's phone");
    };
}

#[test]
fn every_page_says_why_the_queue_is_paused_and_hears_it() {
    served!(world, browser);
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one"]);
    let (question, mut stream) = (format!("/q/w/{}", world.round("w")), browser.follow());
    stream.hears("text/event-stream");
    let _watcher = world.watch();
    world.ok("relaunch", &["pause", "--why", "the API is down"]);
    stream.hears("*");
    for path in ["/", "/done", "/tree", "/run/w", &question] {
        let text = browser.see(path).text();
        assert!(text.contains("the queue is paused by ") && text.contains("the API is down"), "{path}: {text}");
    }
    let receipt = browser.answer(&world, "w", &[("a0", "0")]).text();
    assert!(receipt.contains("nothing is launched until: relaunch go") && receipt.contains("launched not yet"), "{receipt}");
    world.ok("relaunch", &["go"]);
    world.closed("w", "delivered", 1);
    assert!(!browser.see("/run/w").text().contains("is paused"));
}

#[test]
fn an_answered_question_leads_to_the_one_that_was_asked_since() {
    served!(world, browser);
    world.agent_does("w", "[ $n = 1 ] && ask-post -w w 'And which branch?' >/dev/null; echo round $n");
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one"]);
    let first = world.round("w");
    browser.answer(&world, "w", &[("a0", "0")]);
    let _watcher = world.watch();
    world.closed("w", "delivered", 1);
    let second = world.round("w");
    let receipt = browser.see(&format!("/q/w/{first}"));
    assert!(receipt.text().contains("The agent has asked again: And which branch?"), "{}", receipt.text());
    for link in [format!("href=\"/q/w/{second}#question\""), format!("href=\"/run/w/{first}\"")] {
        assert!(receipt.body.contains(&link), "no {link} in {}", receipt.body);
    }
    // The run of the first question, although another question waits.
    let run = browser.see(&format!("/run/w/{first}")).text();
    assert!(run.contains("round 1") && run.contains("delivered") && run.contains("The run of an earlier question."), "{run}");
    assert!(browser.see("/run/w").text().contains("And which branch?"));
    browser.answer(&world, "w", &[("w0", "main")]);
    world.closed("w", "delivered", 2);
    let receipt = browser.see(&format!("/q/w/{first}")).text();
    assert!(receipt.contains("A later question of the same workflow: And which branch?"), "{receipt}");
    let run = browser.see(&format!("/run/w/{second}")).text();
    assert!(run.contains("round 2") && !run.contains("earlier question"), "{run}");
    assert_eq!(browser.get(&format!("/run/w/{}", uuid::Uuid::nil())).status, 404);
}

#[test]
fn an_attempt_that_failed_is_told_with_the_time_of_the_next() {
    served!(world, browser);
    world.configure("[relaunch]\nbackoff = \"3h\"\nbackoff_max = \"3h\"\n");
    world.agent_does("w", "echo HOPELESS");
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one"]);
    let path = format!("/q/w/{}", world.round("w"));
    browser.answer(&world, "w", &[("a0", "0")]);
    let _watcher = world.watch();
    world.reaches("w", "retrying");
    for path in [path.as_str(), "/run/w", "/done"] {
        let text = until("the page says it", || Some(browser.see(path).text()).filter(|text| text.contains("Attempt 1 failed.")));
        assert!(text.contains("The next one starts at "), "{path}: {text}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn an_outcome_shows_what_was_chosen_and_asked_and_its_result() {
        served!(world, browser);
        world.agent_does("w", "printf '**Merged** it:\\n\\n- one\\n- two'");
        let question = "Merge the two sections?\nThey overlap.";
        world.ok("ask-post", &["-w", "w", question, "-o", "merge=Into one section", "--context", "The *long* story"]);
        let path = format!("/q/w/{}", world.round("w"));
        let receipt = browser.answer(&world, "w", &[("a0", "0")]);
        assert!(receipt.text().contains("merge Into one section"), "{}", receipt.text());
        assert!(receipt.text().contains("They overlap.") && receipt.body.contains("The <em>long</em> story"), "{}", receipt.body);
        let _watcher = world.watch();
        world.closed("w", "delivered", 1);
        for path in [path.as_str(), "/run/w"] {
            let body = browser.see(path).body;
            assert!(body.contains("<strong>Merged</strong> it:") && body.contains("<li>two</li>"), "{path}: {body}");
            assert!(body.contains("Into one section"), "{path}: {body}");
        }
        assert!(browser.see("/done").text().contains("merge answered by ann's phone"), "{}", browser.see("/done").text());
    }
}
