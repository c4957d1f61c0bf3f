//! The sessions of another machine, reached by the real ssh, on the page of this one.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::write_program;
use crate::support::machine::configure;
use crate::support::{Browser, LIMIT, Machine, Reply, World, needs, until};
use crate::web::sessions::{Fake, ID, inbox, inbox_is, next};

/// The page of a session on `build`.
fn place() -> String {
    format!("/session/build:{ID}")
}

fn shows(browser: &Browser, words: &str) -> String {
    until(words, || Some(browser.see(&place()).text()).filter(|text| text.contains(words)))
}

fn sends(browser: &Browser, words: &str) -> Reply {
    let page = browser.see(&place());
    browser.post(&place(), &[("form", &page.hidden("form").unwrap()), ("prompt", &next(&page)), ("words", words)])
}

/// The first line of a prompt that the session was sent.
fn told(lines: &Receiver<Value>) -> String {
    let first = |line: Value| Some(line["message"]["content"].as_str()?.lines().next()?.to_owned());
    until("it is sent", || first(lines.recv_timeout(LIMIT).unwrap()))
}

fn here_and_build() -> (World, Machine) {
    let here = World::new();
    here.make_mailbox();
    let build = Machine::of(World::at_home(), &here, "build");
    configure(&here, &[&build]);
    (here, build)
}

#[test]
fn a_session_of_another_machine_is_read_and_sent_on() {
    needs!("sshd", "ssh");
    let (here, build) = here_and_build();
    let mut session = Fake::new(&build.world);
    session.hour();
    let lines = inbox(&session, &json!({"status": "busy"}));
    let _watcher = build.world.watch();
    let page = here.serve_page();
    let browser = page.signed_in(&here, "ann's phone");
    let listed = until("it is listed", || Some(browser.see("/sessions")).filter(|list| list.text().contains("shop-7f")));
    assert!(listed.text().contains("busy Claude Code shop on build"), "{}", listed.text());
    assert!(listed.body.contains(&format!("{}\"", place())), "{}", listed.body);
    let mut stream = browser.follow();
    let text = shows(&browser, "The tax was wrong.");
    assert!(text.contains("on build") && text.contains("fix/prices") && text.contains("-let tax = 19;"), "{text}");
    let body = browser.see(&place()).body;
    assert!(["<script>alert", "<img src=x", "\u{202e}"].iter().all(|hostile| !body.contains(hostile)), "{body}");
    session.says("user", &json!("And the discounts?"));
    stream.hears(&format!("build:{ID}"));
    shows(&browser, "And the discounts?");
    // Kept there until it is idle, and taken back.
    let sent = sends(&browser, "first");
    assert_eq!(sent.status, 303);
    shows(&browser, "kept until the session is idle");
    let form = browser.see(&place()).hidden("form").unwrap();
    let kept = until("it is kept", || build.world.names("prompts").into_iter().find(|name| name.contains(".kept.")));
    let id = kept.split('.').next().unwrap();
    assert_eq!(browser.post(&format!("{}/back", place()), &[("form", &form), ("prompt", id)]).status, 303);
    shows(&browser, "taken back");
    // Sent once, by the watcher there, in the name of the person here.
    let page = browser.see(&place());
    let (form, prompt) = (page.hidden("form").unwrap(), next(&page));
    for _ in 0..3 {
        assert_eq!(browser.post(&place(), &[("form", &form), ("prompt", &prompt), ("words", "second")]).status, 303);
    }
    let forgets = || browser.see(&format!("{}?sent={prompt}", place())).body.contains("data-answered");
    until("the draft is forgotten", || forgets().then_some(()));
    inbox_is(&session, "idle");
    assert_eq!(told(&lines), "second");
    shows(&browser, "not arrived");
    assert!(lines.try_recv().is_err());
    // A page that shows it tells the machine.
    let is_seen = || build.world.mailbox().join(format!("looked/{prompt}.prompt")).exists();
    until("the machine knows that it was seen", || browser.see(&place()).text().contains("not arrived") && is_seen());
    let by = |event: &str| build.world.audited().iter().any(|entry| entry["event"] == event && entry["by"] == "ann's phone");
    assert!(by("prompt_kept") && by("prompt_sent") && by("prompt_taken_back"));
    // Stopped.
    inbox_is(&session, "busy");
    let page = until("it can be stopped", || Some(browser.see(&place())).filter(|page| page.text().contains("Stop its turn")));
    let stop = page.body.split("/stop\"").nth(1).unwrap().split("name=\"prompt\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = page.hidden("form").unwrap();
    assert_eq!(browser.post(&format!("{}/stop", place()), &[("form", &form), ("prompt", stop)]).status, 303);
    until("the stop is there", || build.world.mailbox().join(format!("prompts/{stop}.kept.json")).exists());
    // Nothing of it lies in the mailbox here, and a machine that nobody configured has no page.
    assert_eq!(here.sh("grep -rlE 'discounts|prices|second' ~/.claude/questions \"$ASKBOX_DIR\" || true"), "");
    assert_eq!(browser.get(&format!("/session/nowhere:{ID}")).status, 404);
}

#[test]
fn a_prompt_to_a_machine_that_is_cut_off_is_said_not_to_arrive() {
    needs!("sshd", "ssh");
    let (here, build) = here_and_build();
    let mut session = Fake::new(&build.world);
    session.hour();
    let lines = inbox(&session, &json!({"status": "idle"}));
    let _watcher = build.world.watch();
    let page = here.serve_page();
    let browser = page.signed_in(&here, "ann's phone");
    shows(&browser, "The tax was wrong.");
    build.cut();
    // What was known stays. No request waits for the machine.
    let begun = Instant::now();
    let sent = sends(&browser, "Go on.");
    assert!(sent.status == 303 && begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let text = shows(&browser, "not done");
    assert!(text.contains("The tax was wrong.") && text.contains("Go on."), "{text}");
    assert!(!browser.see(sent.header("location").unwrap()).body.contains("data-answered"), "the draft stays");
    build.set_down(false);
    until("it is back", || browser.see("/sessions").text().contains("idle Claude Code shop on build").then_some(()));
    assert!(lines.try_recv().is_err() && !build.world.mailbox().join("prompts").exists(), "nothing is sent later");
    assert_eq!(sends(&browser, "Now go on.").status, 303);
    assert_eq!(told(&lines), "Now go on.");
}

#[test]
fn a_session_page_of_an_enemys_machine_is_bounded_and_filtered() {
    needs!("sshd", "ssh");
    let here = World::new();
    here.make_mailbox();
    let build = Machine::new(&here, "build");
    let program = build.world.path("played");
    let turn = r#"{"at":null,"what":{"Agent":"hi \u001b[2J\u202e<script>alert(1)</script>"}}"#;
    let session = format!(
        r#"{{"agent":"claude","session":null,"offers":{{"words":"\u001b[31m<u>","stop":null}},"said":{{"turns":[{turn}],"is_cut":false,"branch":null,"cwd":"/x","turn":null}},"given":[]}}"#
    );
    let hello = r#"{"line":"hello","protocol":1,"schema_version":1,"version":"1"}"#;
    let says = |reply: &str| {
        write_program(
            &program,
            &format!("#!/bin/sh\ncase $* in *--sessions*) printf '%s\\n' '{hello}' '{reply}';; *) exec ask-answer \"$@\";; esac\n"),
        );
    };
    says(&format!(r#"{{"line":"reply","reply":{{"session":{session}}}}}"#));
    here.configure(&format!("{}program = '{}'\n", build.section(), program.display()));
    let page = here.serve_page();
    let browser = page.signed_in(&here, "ann's phone");
    shows(&browser, "hi ");
    let body = browser.see(&place()).body;
    assert!(["<script>alert", "<u>", "\u{202e}", "\u{1b}"].iter().all(|hostile| !body.contains(hostile)), "{body}");
    says(r#"{"line":"reply","reply":{"session":7}}"#);
    shows(&browser, "build replies what askbox here does not know");
    says(r#"{"line":"failed","error":"no \u001b[1m<i>","hint":""}"#);
    shows(&browser, "build: no ");
    write_program(
        &program,
        &format!("#!/bin/sh\ncase $* in *--sessions*) echo '{hello}'; exec tr '\\0' a < /dev/zero;; *) exec ask-answer \"$@\";; esac\n"),
    );
    shows(&browser, "a line that is too long");
    write_program(
        &program,
        "#!/bin/sh\ncase $* in *--sessions*) echo 'error: there is no flag --sessions' >&2; exit 2;; *) exec ask-answer \"$@\";; esac\n",
    );
    shows(&browser, "is of an older version");
}

#[test]
fn only_a_person_elsewhere_sends_a_prompt_here() {
    let world = World::at_home();
    let session = Fake::new(&world);
    inbox_is(&session, "busy");
    let ask = |through: &str, request: Value, run: &str| {
        let mut asked = json!({"by": "ann", "through": through});
        asked.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        world.put(world.path("request"), asked.to_string());
        let mut command = world.command("ask-answer");
        if !run.is_empty() {
            command.env("ASKBOX_RUN", run);
        }
        let out = crate::support::output(command.args(["--sessions"]).arg(world.path("request")));
        (out.code(), out.stdout)
    };
    let send = |prompt: &str| json!({"ask": "send", "session": ID, "prompt": prompt, "words": "Go on.", "has_ended": false});
    let ids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
    for (through, run) in [("mcp", ""), ("agent", ""), ("hook", ""), ("web", "w/01900000-0000-7000-8000-000000000000/1")] {
        let (code, told) = ask(through, send(ids[0]), run);
        assert!(code == 4 && told.contains("sends") && told.contains("failed"), "{through}: {code} {told}");
    }
    assert!(!world.mailbox().join("prompts").exists());
    let (code, told) = ask("web", send(ids[1]), "");
    assert!(code == 0 && told.contains(r#""reply":{"done":null}"#), "{code} {told}");
    assert_eq!(world.names("prompts"), [format!("{}.kept.json", ids[1])]);
    let (code, told) = ask("web", json!({"ask": "list"}), "");
    assert!(code == 0 && told.contains(ID), "{told}");
    let (code, told) = ask("web", json!({"ask": "jump"}), "");
    assert!(code == 5 && told.contains("is no request"), "{code} {told}");
}
