//! The questions of other machines, reached by the real ssh, on the page of one.

use serde_json::json;

use crate::support::machine::configure;
use crate::support::{Browser, Machine, Page, World, needs, program, until};
use crate::web::browsers;

/// A machine that asks `docs-42`.
fn asking(here: &World, name: &str) -> Machine {
    let machine = Machine::new(here, name);
    let question = format!("Merge the sections on {name}?");
    machine.world.ok("ask-post", &["-w", "docs-42", &question, "-o", "merge=Into one", "-o", "keep=Keep both"]);
    machine
}

/// The page here, once it shows the questions of these machines.
fn hub(here: &World, machines: &[&Machine]) -> (Page, Browser) {
    configure(here, machines);
    let page = here.serve_page();
    let browser = page.signed_in(here, "hub");
    for machine in machines {
        until("its question is shown", || browser.see("/").text().contains(&format!("Merge the sections on {}?", machine.name)));
    }
    (page, browser)
}

/// Where the question of a machine is shown.
fn place(machine: &Machine) -> String {
    format!("/q/{}:docs-42/{}", machine.name, machine.world.round("docs-42"))
}

#[test]
fn the_hub_in_a_browser_shows_three_machines_one_cut_off() {
    needs!("chromium", "node", "sshd", "ssh");
    let here = World::new();
    here.ok("ask-post", &["-w", "local-1", "Which port?", "-t", "number"]);
    let [build, lab, edge] = ["build", "lab", "edge"].map(|name| asking(&here, name));
    let (page, browser) = hub(&here, &[&build, &lab, &edge]);
    assert!(browser.see("/").body.contains("data-count=\"4\""));
    edge.cut();
    until("the page says that edge is away", || browser.see("/").text().contains("edge is not reached"));
    let given = json!({
        "base": page.browser().origin(), "link": here.link_to_page(None),
        "places": {"build": place(&build), "lab": place(&lab), "edge": place(&edge)},
        "program": program("ask-answer"), "lab": lab.world.mailbox(), "folder": std::env::var("ASKBOX_TEST_PICTURES").ok(),
    });
    let found = browsers::run(&here, "hub.js", &given);
    assert_eq!(found["serious"], json!([]), "{found}");
    let answer = &build.world.document("answered/docs-42.json")["answer"];
    assert_eq!((&answer["value"], &answer["by"]), (&json!("merge"), &json!("ann's phone")));
    let done = browser.see("/done");
    assert!(done.text().contains("accepted build:docs-42 Merge the sections on build?"), "{}", done.text());
    assert!(done.text().contains("accepted by build") && !done.text().contains("No question was answered yet"), "{}", done.text());
    assert!(answer["channel"].as_str().unwrap().starts_with("web on ") && answer["offer_id"].is_string(), "{answer}");
    assert_eq!(lab.world.document("answered/docs-42.json")["answer"]["by"], "bob");
    assert_eq!((edge.world.names("pending"), here.names("pending")), (vec!["docs-42.json".to_owned()], vec!["local-1.json".to_owned()]));
    edge.set_down(false);
    until("edge is back", || !browser.see("/").text().contains("edge is not reached"));
}

#[test]
fn a_silent_machine_holds_up_no_page_and_stays_known() {
    needs!("sshd", "ssh");
    let here = World::new();
    let [build, mute] = ["build", "mute"].map(|name| asking(&here, name));
    {
        let _seen = hub(&here, &[&build, &mute]);
        let known = here.home().join(".local/state/askbox/peers/mute.json");
        until("its question is kept", || std::fs::read_to_string(&known).is_ok_and(|text| text.contains("Merge the sections on mute?")));
    }
    // A new page, while one machine takes connections and says nothing: its rows come from what was known last.
    mute.set_silent(true);
    mute.servers().into_iter().for_each(|pid| crate::support::signal(pid, crate::support::Signal::KILL));
    // A connection that breaks is not one that says nothing.
    let kept = here.home().join(".local/state/askbox/peers/mute.ssh");
    until("the kept connection is gone", || !kept.exists());
    let page = here.serve_page();
    let browser = page.signed_in(&here, "ann's phone");
    let inbox = browser.see("/").text();
    let question = browser.see(&place(&mute)).text();
    // Its first word is still waited for: neither page has waited.
    assert!(
        inbox.contains("Merge the sections on mute?") && inbox.contains("as of ") && inbox.contains("mute has not answered yet"),
        "{inbox}"
    );
    assert!(question.contains("mute has not answered yet") && question.contains("an answer waits a few seconds for it"), "{question}");
    // An answer is tried, and does not count: the person is told that nothing was sent, and the form is filled in again.
    browser.fill(&place(&mute), &[("a0", "0"), ("note", "keep this"), ("act", "send")]);
    // It is not called sent before the machine is reached.
    let tried = browser.see(&place(&mute));
    assert!(tried.body.contains("<li class=\"now\" aria-current=\"step\"><span class=\"step\">sent</span>"), "{}", tried.body);
    assert!(tried.text().contains("mute has not answered yet") && tried.text().contains("sent not yet"), "{}", tried.text());
    until("the person is told that nothing was sent", || {
        let told = browser.see(&place(&mute)).text();
        ["Nothing was sent", "not reached: mute", "You had chosen merge", "keep this", "The question now"]
            .iter()
            .all(|words| told.contains(words))
    });
    until("the other machine is there", || {
        let inbox = browser.see("/");
        inbox.body.matches("class=\"card away\"").count() == 1 && inbox.text().contains("Merge the sections on build?")
    });
    assert_eq!(mute.world.names("answered"), [] as [&str; 0]);
}

#[test]
fn an_offer_counts_for_what_was_shown_and_once() {
    needs!("sshd", "ssh");
    let here = World::new();
    let build = asking(&here, "build");
    let (_page, browser) = hub(&here, &[&build]);
    let path = place(&build);
    let shown = browser.see(&path);
    // The question is another one by now.
    let file = build.world.in_mailbox("pending/docs-42.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("Merge the sections", "Delete the sections", 1)).unwrap();
    until("the change is heard", || browser.see("/").text().contains("Delete the sections"));
    let refused = browser.fill_as_shown(&shown, &path, &[("a0", "0"), ("act", "send")]);
    assert!(refused.status == 422 && refused.text().contains("The question has changed"), "{}", refused.text());
    assert!(build.world.names("answered").is_empty());
    // An address of no machine, and of no round.
    for (missing, status) in
        [(path.replace("build:", "nobody:"), 404), (path.replace("build:", "-oX:"), 422), ("/q/build:nobody".into(), 404)]
    {
        assert_eq!(browser.get(&missing).status, status, "{missing}");
    }
    assert_eq!(browser.get("/q/build:docs-42").header("location"), Some(path.as_str()));
    // A text that the button does not send is asked about here as well.
    let asked = browser.fill(&path, &[("a0", "1"), ("why", "a reason"), ("act", "send")]);
    assert!(asked.status == 422 && asked.text().contains("why you decline: a reason"), "{}", asked.text());
    assert!(asked.hidden("told").is_some() && build.world.names("answered").is_empty());
    // The same form twice, as a browser sends it that heard no reply.
    let shown = browser.see(&path);
    for _ in 0..2 {
        let sent = browser.fill_as_shown(&shown, &path, &[("a0", "1"), ("act", "send")]);
        assert_eq!((sent.status, sent.header("location")), (303, Some(format!("{path}#outcome").as_str())), "{}", sent.text());
        let told = browser.see(&path).text();
        assert!(told.contains("sent") && !told.contains("answered"), "{told}");
    }
    until("build has accepted it", || browser.see(&path).body.contains("<li class=\"done\"><span class=\"step\">accepted by build"));
    assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "keep");
    assert_eq!(build.world.audit("docs-42").iter().filter(|event| *event == "answered").count(), 1);
    until("it waits no longer", || !browser.see("/").text().contains("docs-42"));
}
