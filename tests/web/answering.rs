//! Answers: what is shown, what counts, what comes back.

use serde_json::json;

use crate::support::{Browser, Page, World, approval_question, until};

fn world_with_page() -> (World, Page, Browser) {
    let world = World::new();
    world.make_mailbox();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    (world, page, browser)
}

/// Where a workflow's open question is shown.
fn place(world: &World, workflow: &str) -> String {
    format!("/q/{workflow}/{}", world.round(workflow))
}

#[test]
fn an_incomplete_form_comes_back_with_what_was_filled_in() {
    let (world, _page, browser) = world_with_page();
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one", "-o", "keep=Keep both"]);
    let path = place(&world, "w");
    for (fields, words) in [
        (&[][..], "Choose one."),
        (&[("a0", "0"), ("w0", "but wait")], "words of your own are written as well"),
        (&[("act", "back")], "Write your question first."),
        (&[("act", "nothing")], "Press one of the buttons."),
    ] {
        let act = if fields.iter().any(|(name, _)| *name == "act") { &[][..] } else { &[("act", "send")] };
        let reply = browser.fill(&path, &[fields, &[("note", "keep this note")], act].concat());
        assert_eq!(reply.status, 422, "{fields:?}");
        assert!(reply.text().contains(words) && reply.body.contains("keep this note"), "{fields:?}: {}", reply.text());
    }
    // A near miss is asked back, and decided by what the person says of it.
    let near = browser.fill(&path, &[("w0", "mrege"), ("act", "send")]);
    assert!(near.status == 422 && near.text().contains("Is this one of the options?"), "{}", near.text());
    let told = near.hidden("told").expect("the words");
    assert_eq!(world.names("pending"), ["w.json"]);
    let meant = browser.fill_as_shown(&near, &path, &[("w0", "mrege"), ("told", &told), ("m0", "own"), ("act", "send")]);
    assert_eq!(meant.status, 303);
    assert_eq!(world.document("answered/w.json")["answer"]["value"], "mrege");
}

#[test]
fn a_question_is_declined_asked_back_and_its_answer_taken_back() {
    let (world, _page, browser) = world_with_page();
    for workflow in ["declined", "asked-back", "undone"] {
        world.ok("ask-post", &["-w", workflow, "Ship?", "-o", "a=A"]);
    }
    browser.fill(&place(&world, "declined"), &[("act", "decline"), ("why", "not now")]);
    let answer = &world.document("answered/declined.json")["answer"];
    assert_eq!((&answer["outcome"], &answer["note"]), (&json!("declined"), &json!("not now")));
    browser.fill(&place(&world, "asked-back"), &[("act", "back"), ("back", "Which branch?")]);
    let answer = &world.document("answered/asked-back.json")["answer"];
    assert_eq!((&answer["asks_back"], &answer["note"]), (&json!(true), &json!("Which branch?")));
    let path = place(&world, "undone");
    let receipt = browser.answer(&world, "undone", &[("a0", "0")]);
    assert!(receipt.text().contains("Take it back"), "{}", receipt.text());
    let undone = browser.fill_as_shown(&receipt, &format!("{path}/undo"), &[]);
    assert_eq!(undone.header("location"), Some(format!("{path}#question").as_str()));
    assert!(browser.see(&path).text().contains("an earlier answer: answered by ann's phone through web; taken back by ann's phone"));
    assert_eq!(world.names("answered"), ["asked-back.json", "declined.json"]);
}

#[test]
fn a_text_that_the_button_does_not_send_is_asked_about() {
    let (world, _page, browser) = world_with_page();
    let declined = [("a0", "words"), ("w0", "neither of both"), ("note", "my note"), ("act", "decline")];
    for (workflow, kind, fields, told) in [
        (
            "sent",
            "number",
            &[("w0", "3"), ("back", "Which <unit>?"), ("why", "because\r\nso"), ("act", "send")][..],
            &[
                "\"Send the answer\" again sends your answer without it",
                "your question to the agent: Which <unit>?",
                "why you decline: because so",
            ][..],
        ),
        (
            "declined",
            "choice",
            &[&declined[..], &[("why", "not me")]].concat(),
            &["\"Decline to answer\" again declines without it", "the note: my note"],
        ),
        (
            "back",
            "choice",
            &[("a0", "0"), ("note", "my note"), ("back", "Which?"), ("act", "back")],
            &["\"Ask back\" again asks the agent back without it", "my note"],
        ),
    ] {
        let options = if kind == "choice" { &["-o", "a=A", "-o", "b=B"][..] } else { &["-t", kind] };
        world.ok("ask-post", &[&["-w", workflow, "Which?"], options].concat());
        let path = place(&world, workflow);
        let asked = browser.fill(&path, fields);
        assert_eq!(asked.status, 422, "{workflow}: {}", asked.text());
        let text = asked.text().replace("&lt;", "<").replace("&gt;", ">").replace("&#60;", "<").replace("&#62;", ">");
        for words in told {
            assert!(text.contains(words), "{workflow}: no {words} in {text}");
        }
        assert!(asked.body.contains(fields.iter().find(|(name, _)| *name == "note").map_or("because\nso", |(_, note)| note)), "{text}");
        assert!(world.names("answered").iter().all(|name| !name.contains(workflow)), "{workflow} is not decided yet");
        // The same button again, as a browser without scripts sends it.
        let told = asked.hidden("told").expect("what is left out");
        let again = browser.fill_as_shown(&asked, &path, &[fields, &[("told", &told)]].concat());
        assert_eq!(again.status, 303, "{workflow}: {}", again.text());
    }
    assert_eq!(world.document("answered/declined.json")["answer"]["note"], "not me");
    // The note is the reason where there is no other one: nothing is left out.
    world.ok("ask-post", &["-w", "noted", "Which?", "-o", "a=A"]);
    assert_eq!(browser.fill(&place(&world, "noted"), &[("a0", "0"), ("note", "my note"), ("act", "decline")]).status, 303);
    assert_eq!(world.document("answered/noted.json")["answer"]["note"], "my note");
}

#[test]
fn a_confirmed_meaning_stays_while_more_is_asked() {
    let (world, _page, browser) = world_with_page();
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one", "-o", "keep=Keep both"]);
    let path = place(&world, "w");
    let words = [("a0", "words"), ("w0", "mrege"), ("why", "a reason"), ("act", "send")];
    let near = browser.fill(&path, &words);
    let told = near.hidden("told").expect("the words");
    let said = [&words[..], &[("m0", "own"), ("told", &told)]].concat();
    let asked = browser.fill_as_shown(&near, &path, &said);
    assert!(asked.status == 422 && asked.text().contains("again sends your answer without it"), "{}", asked.text());
    assert!(asked.hidden("told").is_some_and(|both| both.len() > told.len() && both.contains(&told)));
    assert!(asked.body.contains(r#"name="m0" value="own" checked"#), "{}", asked.body);
}

#[test]
fn a_tool_call_is_refused_for_good_on_the_page() {
    let (world, _page, browser) = world_with_page();
    let mut call = approval_question("ship", "May the agent call Bash?\n    command: git push");
    call["approval"]["editable"] = serde_json::json!({"field": "command", "text": "git push"});
    std::fs::write(world.in_mailbox("pending/ship.json"), call.to_string()).unwrap();
    let path = place(&world, "ship");
    let shown = browser.see(&path).body;
    assert!(shown.contains("Deny it always") && shown.contains("<code>Bash(git push)</code>"), "{shown}");
    let fields = [("why", "never on main"), ("act", "always")];
    let first = browser.see(&path);
    for _ in 0..2 {
        // The second time is a browser that heard no reply.
        assert_eq!(browser.fill_as_shown(&first, &path, &fields).status, 303);
    }
    let answer = &world.document("answered/ship.json")["answer"];
    assert_eq!((&answer["always"], &answer["note"]), (&serde_json::json!(true), &serde_json::json!("never on main")));
    assert!(browser.see(&path).text().contains("declined for good"));
    world.ok("ask-post", &["-w", "w", "Which?", "-o", "a=A"]);
    assert!(!browser.see(&place(&world, "w")).body.contains("Deny it always"));
    assert_eq!(browser.fill(&place(&world, "w"), &[("act", "always")]).status, 422);
}

#[test]
fn an_answer_taken_back_is_filled_in_again_on_its_device() {
    let (world, page, browser) = world_with_page();
    world.ok("ask-post", &["-w", "w", "Which?", "-o", "a=A", "-o", "b=B"]);
    let path = place(&world, "w");
    let receipt = browser.answer(&world, "w", &[("a0", "1"), ("note", "a note of mine")]);
    browser.fill_as_shown(&receipt, &format!("{path}/undo"), &[]);
    let shown = browser.see(&path).body;
    assert!(shown.contains(r#"name="a0" value="1" checked"#) && shown.contains("a note of mine"), "{shown}");
    let other = page.signed_in(&world, "bob's laptop").see(&path).body;
    assert!(!other.contains("checked") && !other.contains("a note of mine"), "{other}");
}

#[test]
fn the_page_of_a_run_shows_its_answer_and_a_missing_watcher() {
    let world = World::without_mailbox();
    world.agent_does("w", "echo did it");
    world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one", "-o", "keep=Keep both"]);
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let path = place(&world, "w");
    for place in ["/", "/done", "/tree", "/run/w", path.as_str()] {
        assert!(browser.see(place).text().contains("no watcher runs"), "{place}");
    }
    assert!(browser.answer(&world, "w", &[("a0", "1"), ("note", "for now")]).text().contains("no watcher runs"));
    let _watcher = world.watch();
    world.closed("w", "delivered", 1);
    let run = browser.see("/run/w").text();
    for words in ["keep", "for now", "ann's phone", "did it"] {
        assert!(run.contains(words), "no {words} in {run}");
    }
    assert!(!run.contains("no watcher runs"), "{run}");
}

#[test]
fn an_open_page_is_told_what_changed_by_its_ids_alone() {
    let (world, _page, browser) = world_with_page();
    let mut stream = browser.follow();
    stream.hears("text/event-stream");
    world.ok("ask-post", &["-w", "news", "A secret question?"]);
    let heard = stream.hears("data: news");
    assert!(!heard.contains("secret"), "{heard}");
    assert!(browser.see("/").text().contains("A secret question?"));
    world.ok("ask-answer", &["news", "done"]);
    stream.hears("data: news");
    // One change may be told twice: what was heard may be of the question still.
    until("it waits no longer", || !browser.see("/").text().contains("A secret question?"));
    assert!(browser.see("/done").text().contains("answered by ann through ask-answer"));
}

#[test]
fn a_question_by_hand_and_an_unreadable_file_are_shown() {
    let (world, _page, browser) = world_with_page();
    std::fs::write(world.in_mailbox("pending/hand.json"), r#"{"question":"By hand?","workflow_id":"hand","options":{"a":"A"}}"#).unwrap();
    until("the question is shown", || browser.see("/").text().contains("By hand?"));
    // A watcher soon moves it to quarantine.
    std::fs::write(world.in_mailbox("pending/torn.json"), r#"{"question":"#).unwrap();
    until("the file is shown", || browser.see("/").text().contains("unreadable"));
    let newest = browser.get("/q/hand");
    let path = newest.header("location").expect("its round").to_owned();
    assert_eq!(browser.fill(&path, &[("a0", "0"), ("act", "send")]).status, 303);
    assert_eq!(world.document("answered/hand.json")["answer"]["value"], "a");
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_of_each_kind_is_recorded_with_the_device() {
        let (world, _page, browser) = world_with_page();
        let posted = [
            ("choice", &["-o", "merge=Into one", "-o", "keep=Keep both"][..], &[("a0", "1")][..], json!("keep")),
            ("words", &["-o", "merge=Into one"], &[("a0", "words"), ("w0", "neither,\r\nplease")], json!("neither,\nplease")),
            ("several", &["-t", "multi_choice", "-o", "a=A", "-o", "b=B", "-o", "c=C"], &[("a0", "0"), ("a0", "2")], json!(["a", "c"])),
            ("yes-no", &["-t", "yes_no"], &[("a0", "no")], json!("no")),
            ("number", &["-t", "number"], &[("w0", " 4.5 ")], json!("4.5")),
            ("text", &[], &[("w0", "as you like")], json!("as you like")),
        ];
        for (workflow, options, fields, value) in posted {
            world.ok("ask-post", &[&["-w", workflow, "What?"], options].concat());
            let receipt = browser.answer(&world, workflow, &[fields, &[("note", "a note")]].concat());
            assert!(receipt.text().contains("accepted"), "{}", receipt.text());
            let answer = &world.document(&format!("answered/{workflow}.json"))["answer"];
            assert_eq!((&answer["value"], &answer["note"]), (&value, &json!("a note")), "{workflow}");
            assert_eq!((&answer["by"], &answer["channel"]), (&json!("ann's phone"), &json!("web")), "{workflow}");
            assert_eq!(answer["through"], "web", "{workflow}");
        }
        let batch = r#"{"workflow_id":"batch","questions":[{"id":"db","question":"Which?","header":"Store","options":[{"label":"pg","description":"A server","preview":"CREATE TABLE"},{"label":"sqlite"}]},{"question":"How many?","type":"number"}]}"#;
        world.run_with("ask-post", &["--file", "-"], batch.as_bytes()).ok();
        let shown = browser.see(&place(&world, "batch")).text();
        for words in ["2 questions", "Store", "Which?", "A server", "CREATE TABLE", "How many?", "a number"] {
            assert!(shown.contains(words), "no {words} in {shown}");
        }
        browser.answer(&world, "batch", &[("a0", "1"), ("w1", "3")]);
        assert_eq!(world.document("answered/batch.json")["answer"]["value"], json!({"db": "sqlite", "q2": "3"}));
    }

    #[test]
    fn who_is_second_is_told_who_was_first_and_keeps_the_draft() {
        let (world, page, ann) = world_with_page();
        let bob = page.signed_in(&world, "bob's laptop");
        world.ok("ask-post", &["-w", "w", "Ship?", "-o", "merge=Into one", "-o", "keep=Keep both"]);
        let path = place(&world, "w");
        let (first, second) = (ann.see(&path), bob.see(&path));
        assert_eq!(ann.fill_as_shown(&first, &path, &[("a0", "0"), ("act", "send")]).status, 303);
        let lost = bob.fill_as_shown(&second, &path, &[("a0", "1"), ("note", "because of the tests"), ("act", "send")]);
        assert_eq!(lost.status, 409, "{}", lost.text());
        for words in [
            "Your answer was not the first",
            "already answered by ann's phone through web",
            "with `merge`",
            "You had chosen keep",
            "because of the tests",
            "merge",
        ] {
            assert!(lost.text().contains(words), "no {words} in {}", lost.text());
        }
        assert_eq!(world.document("answered/w.json")["answer"]["value"], "merge");
        // The draft is there later, for its own device.
        let later = [&bob, &ann].map(|browser| browser.see(&path).text().contains("because of the tests"));
        assert_eq!(later, [true, false]);
        // A browser that heard no reply sends the same form once more. That is not a race.
        let again = ann.fill_as_shown(&first, &path, &[("a0", "0"), ("act", "send")]);
        assert_eq!((again.status, again.header("location")), (303, Some(format!("{path}#outcome").as_str())));
        assert_eq!(world.audit("w"), ["posted", "answered"]);
    }

    #[test]
    fn many_browsers_answer_at_once_and_one_answer_counts() {
        let (world, page, browser) = world_with_page();
        world.ok("ask-post", &["-w", "w", "Which?", "-t", "number"]);
        let path = place(&world, "w");
        let shown = browser.see(&path);
        let statuses = std::sync::Mutex::new(Vec::new());
        let numbers: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        crate::support::in_parallel(6, &numbers, |number| {
            let reply = browser.fill_as_shown(&shown, &path, &[("w0", number), ("act", "send")]);
            statuses.lock().unwrap().push((reply.status, number.clone()));
        });
        let statuses = statuses.into_inner().unwrap();
        let won: Vec<_> = statuses.iter().filter(|(status, _)| *status == 303).collect();
        assert_eq!((won.len(), statuses.iter().filter(|(status, _)| *status == 409).count()), (1, 11), "{statuses:?}");
        assert_eq!(world.document("answered/w.json")["answer"]["value"], won[0].1.as_str());
        drop(page);
    }

    #[test]
    fn an_answer_counts_only_for_the_question_that_was_shown() {
        let (world, _page, browser) = world_with_page();
        world.ok("ask-post", &["-w", "w", "Delete the old backups?", "-o", "yes=Delete", "-o", "no=Keep"]);
        let path = place(&world, "w");
        let shown = browser.see(&path);
        // The same round with other words: a file that was changed by hand.
        let file = world.in_mailbox("pending/w.json");
        let text = std::fs::read_to_string(&file).unwrap();
        for (from, to) in [("Delete the old backups?", "Delete all backups?"), ("\"question\"", "\"context\":\"all of them\",\"question\"")]
        {
            std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
            let refused = browser.fill_as_shown(&shown, &path, &[("a0", "0"), ("act", "send")]);
            assert!(refused.status == 409 && refused.text().contains("The question has changed"), "{to}: {}", refused.text());
            assert!(
                refused.text().contains("changed while you read it") && !refused.text().contains("not the first"),
                "{}",
                refused.text()
            );
        }
        // The next round of the workflow.
        std::fs::write(&file, text).unwrap();
        world.ok("ask-answer", &["cancel", "w"]);
        world.ok("ask-post", &["-w", "w", "Delete the new backups?", "-o", "yes=Delete", "-o", "no=Keep"]);
        let refused = browser.fill_as_shown(&shown, &path, &[("a0", "0"), ("act", "send")]);
        assert!(refused.status == 409 && refused.text().contains("The question is over"), "{}", refused.text());
        assert_eq!(world.names("pending"), ["w.json"]);
        // An address without the round leads to the newest one.
        let newest = browser.get("/q/w");
        assert_eq!((newest.status, newest.header("location")), (303, Some(place(&world, "w").as_str())));
    }

    #[test]
    fn hostile_words_are_shown_and_do_nothing() {
        let (world, _page, browser) = world_with_page();
        let evil = "<script>alert(1)</script>";
        let context = format!("{evil} ![x](https://spy.example/x.png) [go](javascript:alert(1))");
        let question = json!({
            "workflow_id": "w", "question": format!("{evil}\nsecond\u{202e} line"), "context": context, "asked_by": evil,
            "options": [{"label": evil, "description": evil, "preview": evil}], "cwd": format!("/{evil}\u{202e}"), "priority": 3,
        });
        world.run_with("ask-post", &["--file", "-"], question.to_string().as_bytes()).ok();
        for path in ["/".to_owned(), place(&world, "w"), "/tree".into(), "/run/w".into()] {
            let page = browser.see(&path).body;
            assert!(!page.contains("<script>") && !page.contains("<img") && !page.contains("href=\"javascript"), "{path}: {page}");
            assert!(!page.contains('\u{202e}') && page.contains("alert(1)"), "{path}: {page}");
        }
        let receipt = browser.answer(&world, "w", &[("a0", "0"), ("note", evil)]);
        assert!(!receipt.body.contains("<script>"), "{}", receipt.body);
        assert!(!browser.see("/done").body.contains("<script>"));
        for path in ["/q/..%2f..%2fetc", "/q/w/not-a-uuid", "/run/-rf", "/tree/nobody", "/q/nobody", "/static/..%2fpage.js", "/static/x"] {
            assert!([404, 422].contains(&browser.get(path).status), "{path}");
        }
    }
}
