//! A session that is sent its next prompt from the page.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Attended, DIALOG, made, plugin, touch, world};
use crate::support::{Browser, ClaudeWorld, Dice, Reply, Terminal, browser_script, needs, number, until};

/// A session that has said hello and is idle, and the browser of a person elsewhere.
fn begins<'a>(world: &'a ClaudeWorld, browser: &Browser, mode: &str) -> Attended<'a> {
    world.api.on("Say hello.", json!([{"text": "hello there"}]));
    world.api.on("Go on now.", json!([{"text": "went on"}]));
    let session = Attended::begin_in(world, mode);
    session.terminal.press(&["Say hello.", "Enter"]);
    session.terminal.see("hello there");
    shows(&session, browser, "idle");
    session
}

fn see(session: &Attended<'_>, browser: &Browser) -> Reply {
    browser.see(&format!("/session/{}", session.session))
}

/// Waits until the session's page shows these words.
#[track_caller]
fn shows(session: &Attended<'_>, browser: &Browser, words: &str) -> String {
    until(words, || Some(see(session, browser).text()).filter(|text| text.contains(words)))
}

/// Sends words from the session's page, as it was loaded before.
fn sends_from(page: &Reply, session: &Attended<'_>, browser: &Browser, words: &str) -> Reply {
    let form = page.body.split("class=\"answer prompt\"").nth(1).unwrap_or_else(|| panic!("no form: {}", page.text()));
    let prompt = form.split("name=\"prompt\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let token = page.hidden("form").expect("a token");
    let mut fields = vec![("form", token.as_str()), ("prompt", prompt), ("words", words)];
    fields.extend(form.contains("name=\"ended\"").then_some(("ended", "1")));
    browser.post(&format!("/session/{}", session.session), &fields)
}

#[track_caller]
fn sends(session: &Attended<'_>, browser: &Browser, words: &str) {
    let reply = sends_from(&see(session, browser), session, browser, words);
    assert_eq!(reply.status, 303, "{}", reply.text());
}

/// The messages of other sessions in the transcript.
fn peers(session: &Attended<'_>) -> usize {
    session.entries().iter().filter(|entry| entry["type"] == "user" && entry["origin"]["kind"] == "peer").count()
}

#[test]
fn same_words_twice_arrive_twice() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    // The same form twice is one prompt. The same words in two forms are two.
    let form = see(&session, &browser);
    for _ in 0..2 {
        assert_eq!(sends_from(&form, &session, &browser, "Go on now.").status, 303);
    }
    sends(&session, &browser, "Go on now.");
    let text = until("both are answered", || Some(see(&session, &browser).text()).filter(|text| text.matches(" answered ").count() == 2));
    assert!(text.contains("Another session") && text.contains("went on"), "{text}");
    until("the transcript has them", || (peers(&session) == 2).then_some(()));
    assert!(world.api.turns().iter().all(|turn| turn.model_text().matches("[askbox ").count() <= 2));
    let told: Vec<_> = world.audited().iter().filter_map(|entry| entry["event"].as_str().map(str::to_owned)).collect();
    assert_eq!(told.iter().filter(|event| *event == "prompt_sent").count(), 2, "{told:?}");
}

#[test]
fn a_prompt_from_a_phone_reaches_the_api_once() {
    needs!("chromium", "node");
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let session = begins(&world, &page.signed_in(&world, "desk"), "default");
    let given = json!({
        "base": page.browser().origin(), "link": world.link_to_page(Some("ann's phone")), "words": "Go on now.", "answer": "went on",
    });
    browser_script::run(&world, "prompt.js", &given);
    session.terminal.see("went on");
    let turns: Vec<_> = world.api.requests_with_text("Go on now.").iter().map(|turn| turn.model_text()).collect();
    assert!(turns.len() == 1 && turns[0].contains("sent by ann's phone through askbox"), "{turns:?}");
}

#[test]
fn draft_is_never_sent() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    session.terminal.press(&["half a draft"]);
    session.terminal.see("half a draft");
    sends(&session, &browser, "Go on now.");
    session.terminal.see("went on");
    shows(&session, &browser, " answered ");
    assert!(session.terminal.screen().contains("half a draft"));
    assert!(world.api.requests_with_text("half a draft").is_empty());
}

#[test]
fn shell_mode_never_gets_words() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    session.terminal.press(&["!", "touch by_shell"]);
    session.terminal.see("touch by_shell");
    sends(&session, &browser, "Go on now.");
    session.terminal.see("went on");
    shows(&session, &browser, " answered ");
    assert!(session.terminal.screen().contains("touch by_shell") && !made(&world, "by_shell"));
    until("the transcript has them", || (peers(&session) == 1).then_some(()));
}

#[test]
fn dialog_is_never_answered_by_words() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    session.goes(&[touch("made")]);
    session.terminal.see(DIALOG);
    shows(&session, &browser, "waits at its terminal");
    sends(&session, &browser, "Go on now.");
    shows(&session, &browser, "kept until the session is idle");
    assert!(session.terminal.screen().contains(DIALOG) && !made(&world, "made"));
    assert!(session.entries().iter().all(|entry| !entry.to_string().contains("Go on now.")));
    session.ends_dialog(&["Enter"]);
    session.terminal.see("at the end");
    session.terminal.see("went on");
    shows(&session, &browser, " answered ");
    assert!(made(&world, "made"));
    until("the transcript has them", || (peers(&session) == 1).then_some(()));
}

#[test]
fn cleared_session_refuses_old_address() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    let form = see(&session, &browser);
    session.terminal.press(&["/clear", "Enter"]);
    session.terminal.see_no_more("hello there");
    until("the session has another id", || !browser.see("/sessions").body.contains(&session.session));
    let refused = sends_from(&form, &session, &browser, "Go on now.");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("ended or begun anew"), "{}", refused.text());
    assert!(see(&session, &browser).text().contains("ended") && world.api.requests_with_text("Go on now.").is_empty());
}

#[test]
fn bypass_hold_is_shown() {
    let world = world();
    std::fs::write(world.claude_config().join("settings.json"), r#"{"skipDangerousModePermissionPrompt":true}"#).expect("settings");
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "bypassPermissions");
    sends(&session, &browser, "Go on now.");
    let text = shows(&session, &browser, "held at its terminal");
    assert!(text.contains("permission-mode parity"), "{text}");
    assert!(world.api.requests_with_text("Go on now.").is_empty() && peers(&session) == 0);
}

#[test]
fn prompts_arrive_once_or_are_said_not_to_beside_kills() {
    let world = world();
    let (mut watcher, mut page) = (world.watch(), world.serve_page());
    let (browser, listen) = (page.signed_in(&world, "ann's phone"), format!("127.0.0.1:{}", page.port));
    let session = begins(&world, &browser, "default");
    let mut dice = Dice::new(53);
    let count = number("PROMPTS", 12);
    for n in 0..count {
        sends(&session, &browser, &format!("Go on now. Step {n}."));
        std::thread::sleep(Duration::from_millis(dice.roll(400) as u64));
        // A prompt is sent with and without a page.
        if n % 2 == 0 {
            watcher.kill();
            watcher = world.watch();
        }
        drop(page);
        page = world.serve_page_as(world.command("askbox").args(["web", "--listen", &listen]));
    }
    let arrived = each_is_over(&session, count);
    println!("{arrived} of {count} arrived");
}

/// Waits until all prompts are over. Each one that was answered stands once in the transcript, and no other. Returns how many do.
#[track_caller]
fn each_is_over(session: &Attended<'_>, count: usize) -> usize {
    let world = session.world;
    let mut shown = String::new();
    let all: Vec<Value> = until("each is over", || {
        // A kept file is renamed while we look.
        let names = world.names("prompts");
        if names.len() != count || names.iter().any(|name| !name.contains(".sent.")) {
            return None;
        }
        let all: Vec<_> = names.iter().map(|name| world.document(&format!("prompts/{name}"))).collect();
        let open: Vec<_> = all.iter().filter(|prompt| prompt["reached"] != "answered" && prompt["reached"] != "not_arrived").collect();
        let now = json!(open).to_string();
        if now != shown {
            println!("open: {now}");
            shown = now;
        }
        open.is_empty().then_some(all)
    });
    // Words that come within a turn of the person's own are an attachment.
    let entries = session.entries();
    let told = entries.iter().filter(|entry| entry["type"] == "user" || entry["attachment"]["type"] == "queued_command");
    let told: Vec<String> = told.map(Value::to_string).collect();
    let mut arrived = 0;
    for prompt in &all {
        let words = prompt["words"].as_str().expect("words");
        let times = told.iter().filter(|text| text.contains(words)).count();
        assert_eq!(times, usize::from(prompt["reached"] == "answered"), "{prompt}");
        arrived += times;
    }
    arrived
}

/// The person at the terminal types drafts, opens dialogs and answers them at random moments.
#[test]
fn prompts_beside_a_person_who_types_arrive_once() {
    let world = world();
    let (mut watcher, mut page) = (world.watch(), world.serve_page());
    let (browser, listen) = (page.signed_in(&world, "ann's phone"), format!("127.0.0.1:{}", page.port));
    let session = begins(&world, &browser, "default");
    let (mut dice, count) = (Dice::new(number("SEED", 53) as u64), number("PROMPTS", 12));
    let (mut has_draft, mut dialogs, mut allowed) = (false, 0, 0);
    let is_asked = |n: usize| session.terminal.screen().contains(&format!("touch made{n}")) && session.terminal.screen().contains(DIALOG);
    for n in 0..count {
        sends(&session, &browser, &format!("Go on now. Step {n:03}."));
        std::thread::sleep(Duration::from_millis(dice.roll(400) as u64));
        match dice.roll(6) {
            0 if dialogs == allowed => {
                session.terminal.press(&["half a draft "]);
                has_draft = true;
            }
            1 if dialogs == allowed => {
                dialogs += 1;
                world.api.on(&format!("Make {dialogs} now."), json!([touch(&format!("made{dialogs}")), {"text": "at the end"}]));
                session.terminal.press(&["C-u"]);
                session.terminal.press(&[&format!("Make {dialogs} now.")]);
                session.terminal.see(&format!("Make {dialogs} now."));
                session.terminal.press(&["Enter"]);
                has_draft = false;
            }
            2 if dialogs > allowed && is_asked(dialogs) => {
                assert!(!made(&world, &format!("made{dialogs}")));
                allowed += 1;
                session.ends_dialog(&["Enter"]);
                until("the call has run", || made(&world, &format!("made{allowed}")));
            }
            3 => {
                watcher.kill();
                watcher = world.watch();
            }
            4 => {
                drop(page);
                page = world.serve_page_as(world.command("askbox").args(["web", "--listen", &listen]));
            }
            _ => {}
        }
    }
    if dialogs > allowed {
        until("the last dialog", || is_asked(dialogs));
        assert!(!made(&world, &format!("made{dialogs}")), "nobody has allowed it");
        session.ends_dialog(&["Enter"]);
    }
    let arrived = each_is_over(&session, count);
    (1..=dialogs).for_each(|n| until("each call has run", || made(&world, &format!("made{n}"))));
    assert_eq!(session.terminal.screen().contains("half a draft"), has_draft);
    assert!(world.api.requests_with_text("half a draft").is_empty(), "a draft was sent");
    println!("{arrived} of {count} arrived beside {dialogs} dialogs");
}

/// A call that needs no permission in a session that allows `Bash`, and lasts until the file is there.
fn waits_for(file: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": format!("touch at_work; until [ -e {file} ]; do sleep 0.05; done"), "description": "Wait"}})
}

#[test]
fn words_typed_within_a_turn_are_shown() {
    let world = world();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    session.goes(&[waits_for("go_on")]);
    until("it works", || made(&world, "at_work"));
    session.terminal.press(&["And mind the tests."]);
    session.terminal.see("And mind the tests.");
    session.terminal.press(&["Enter"]);
    let is_queued = |entry: &Value| entry["type"] == "queue-operation" && entry["content"] == "And mind the tests.";
    until("they are queued", || session.entries().iter().any(is_queued));
    std::fs::write(world.work().join("go_on"), "").expect("a file");
    session.terminal.see("at the end");
    let text = shows(&session, &browser, "at the end");
    assert_eq!(text.matches("And mind the tests.").count(), 1, "{text}");
}

#[test]
fn esc_works_after_every_send() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    for n in 0..3 {
        let words = format!("Turn {n}, please.");
        session.answers_with(&words, &[waits_for("never")]);
        session.idles();
        sends(&session, &browser, &words);
        until("it works", || made(&world, "at_work"));
        std::fs::remove_file(world.work().join("at_work")).expect("it is there");
        let begun = Instant::now();
        session.terminal.press(&["Escape"]);
        until("it is interrupted", || session.terminal.screen().matches("Interrupted ·").count() == n + 1);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    assert!(!session.entries().iter().any(|entry| entry["type"] == "assistant" && entry.to_string().contains("at the end")));
}

/// Presses the button of a page as it was loaded.
fn stops_from(page: &Reply, session: &Attended<'_>, browser: &Browser) -> Reply {
    let form = page.body.split("class=\"prompt stop\"").nth(1).unwrap_or_else(|| panic!("no button: {}", page.text()));
    let id = form.split("name=\"prompt\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let token = page.hidden("form").expect("a token");
    browser.post(&format!("/session/{}/stop", session.session), &[("form", &token), ("prompt", id)])
}

#[test]
fn stop_refuses_the_next_call() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    let two = json!({"tools": [touch("one"), touch("other")]});
    session.goes(&[waits_for("go_on"), two, touch("third")]);
    until("it works", || made(&world, "at_work"));
    let working = see(&session, &browser);
    assert!(working.text().contains("only Esc at its terminal"), "{}", working.text());
    assert_eq!(stops_from(&working, &session, &browser).status, 303);
    shows(&session, &browser, "on its way");
    std::fs::write(world.work().join("go_on"), "").expect("a file");
    session.terminal.see("stopped through askbox");
    shows(&session, &browser, "stopped");
    session.idles();
    let calls: Vec<_> = ["one", "other", "third"].into_iter().filter(|file| made(&world, file)).collect();
    assert!(calls.is_empty(), "{calls:?} {:#?}", session.entries().iter().filter(|entry| entry["type"] == "user").collect::<Vec<_>>());
    assert_eq!(world.api.requests_with_text("Your user stopped this turn").len(), 0, "no request follows");
}

#[test]
fn stop_is_spent_once() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    session.goes(&[waits_for("go_on"), touch("stopped")]);
    until("it works", || made(&world, "at_work"));
    let working = see(&session, &browser);
    // The button twice is one stop.
    for _ in 0..2 {
        assert_eq!(stops_from(&working, &session, &browser).status, 303);
    }
    std::fs::write(world.work().join("go_on"), "").expect("a file");
    session.terminal.see("stopped through askbox");
    for n in 0..2 {
        session.idles();
        world.api.on(&format!("Go on {n}."), json!([touch(&format!("later{n}")), {"text": format!("went on {n}")}]));
        sends(&session, &browser, &format!("Go on {n}."));
        session.terminal.see(&format!("went on {n}"));
        assert!(made(&world, &format!("later{n}")) && !made(&world, "stopped"));
    }
}

#[test]
fn sigint_is_never_sent() {
    needs!("strace");
    let world = world();
    let traces = ["watcher", "page"].map(|name| world.path(format!("{name}.trace")));
    let behind = |n: usize| {
        let calls = "trace=kill,tkill,tgkill,pidfd_send_signal,rt_sigqueueinfo,rt_tgsigqueueinfo";
        ["strace", "-f", "-qq", "-e", calls, "-o", traces[n].to_str().expect("a path")].map(str::to_owned)
    };
    let (_watcher, page) = (
        world.start_watcher_behind(&behind(0)),
        world.serve_page_as(world.wrapped(&behind(1), "askbox").args(["web", "--listen", "127.0.0.1:0"])),
    );
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    session.goes(&[waits_for("go_on"), touch("stopped")]);
    until("it works", || made(&world, "at_work"));
    assert_eq!(stops_from(&see(&session, &browser), &session, &browser).status, 303);
    std::fs::write(world.work().join("go_on"), "").expect("a file");
    session.terminal.see("stopped through askbox");
    world.api.on("Go on now.", json!([{"text": "went on"}]));
    session.idles();
    sends(&session, &browser, "Go on now.");
    session.terminal.see("went on");
    for trace in &traces {
        let trace = std::fs::read_to_string(trace).expect("a trace");
        assert!(!trace.contains("SIGINT") && !made(&world, "stopped"), "{trace}");
    }
}

impl Attended<'_> {
    /// The person leaves the session.
    fn leaves(&self, browser: &Browser) {
        self.terminal.press(&["/exit", "Enter"]);
        shows(self, browser, "It has ended.");
    }
}

#[test]
fn an_ended_session_goes_on_in_a_copy() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    session.leaves(&browser);
    let before = session.entries();
    let form = see(&session, &browser);
    // The same form twice is one run.
    let places = [(), ()].map(|()| {
        let reply = sends_from(&form, &session, &browser, "Go on now.");
        assert_eq!(reply.status, 303, "{}", reply.text());
        reply.header("location").expect("a place").to_owned()
    });
    assert_eq!(places[0], places[1]);
    let workflow = places[0].rsplit('/').next().expect("a name");
    world.wait_state(workflow, "delivered");
    assert_eq!(world.names("closed").len(), 1);
    let asked = world.api.requests_with_text("Go on now.");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].body.to_string().contains("hello there"), "the model knows what was said");
    assert_eq!(session.entries(), before, "the session stays as it is");
    let run = until("the run is shown", || Some(browser.see(&format!("/run/{workflow}")).text()).filter(|text| text.contains("went on")));
    assert!(world.audited().iter().any(|entry| entry["event"] == "session_continued" && entry["by"] == "ann's phone"), "{run}");
}

#[test]
fn live_session_is_never_resumed() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = begins(&world, &browser, "default");
    session.leaves(&browser);
    let form = see(&session, &browser);
    // The person is at its terminal again.
    let (program, plugin) = (world.claude_program().display().to_string(), plugin());
    let command = [&program, "--plugin-dir", &plugin, "--resume", &session.session];
    let again = Terminal::beside("again", &world, (120, 50), &["TERM=screen"], &command);
    again.see("hello there");
    shows(&session, &browser, "idle");
    assert_eq!(sends_from(&form, &session, &browser, "Go on now.").status, 303);
    again.see("went on");
    shows(&session, &browser, " answered ");
    assert!(world.names("workflows").is_empty() && world.launches().is_empty());
}

#[test]
fn a_stop_that_comes_too_late_stops_nothing() {
    let world = world();
    let (_watcher, page) = (world.watch(), world.serve_page());
    let browser = page.signed_in(&world, "ann's phone");
    let session = Attended::begin_with(&world, "default", &["--allowedTools", "Bash"]);
    session.goes(&[waits_for("go_on")]);
    until("it works", || made(&world, "at_work"));
    let working = see(&session, &browser);
    assert_eq!(stops_from(&working, &session, &browser).status, 303);
    std::fs::write(world.work().join("go_on"), "").expect("a file");
    session.terminal.see("at the end");
    shows(&session, &browser, "the turn had ended by itself");
    assert!(stops_from(&working, &session, &browser).status != 303, "the page is an old one");
    world.api.on("Go on now.", json!([touch("later"), {"text": "went on"}]));
    sends(&session, &browser, "Go on now.");
    session.terminal.see("went on");
    assert!(made(&world, "later"));
}
