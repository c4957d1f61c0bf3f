//! A channel of the operator's: a scripted program speaks the lines of docs/dev/channels.md.

use serde_json::{Value, json};

use askbox::mailbox::Question;
use askbox::mailbox::documents::fields::shown_hash::Shown;

use crate::support::{World, approval_question, needs, until};

/// A world whose target `team` has a scripted channel.
fn world(agent: &str, more: &str) -> World {
    let world = World::stepping(agent);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/watch/news/channel.py");
    let channel = format!("channel = [\"python3\", \"{script}\", \"{}\"]\nperson = \"team\"\n", world.path("channel").display());
    std::fs::create_dir_all(world.path("channel")).expect("a folder");
    world.configure(&format!("[notify]\ngrace = \"0s\"\ntime_limit = \"1s\"\n[target.team]\n{channel}{more}"));
    world.make_mailbox();
    world
}

/// The lines of this kind that the channel has heard.
fn heard(world: &World, kind: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(world.path("channel/heard")).unwrap_or_default();
    let lines = crate::support::whole_lines(&lines).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

/// The notice with this title, once it is there.
fn notice(world: &World, title: &str) -> Value {
    until(title, || heard(world, "notice").into_iter().find(|notice| notice["title"].as_str().is_some_and(|t| t.contains(title))))
}

/// What a person answers to a notice.
fn answer(id: &str, notice: &Value, value: &str) -> Value {
    let of = |name: &str| notice[name].clone();
    json!({"answer": {"id": id, "workflow_id": of("workflow_id"), "question_id": of("question_id"), "shown": of("shown"), "value": value}})
}

/// Has the channel say these lines, and returns the receipts of their answers.
fn say(world: &World, lines: &[Value], receipts: &[&str]) -> Vec<Value> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(world.path("channel/say.new"), text).expect("a file");
    std::fs::rename(world.path("channel/say.new"), world.path("channel/say")).expect("in its place");
    let of = |id: &str| heard(world, "receipt").into_iter().find(|receipt| receipt["id"] == id);
    receipts.iter().map(|id| until(&format!("the receipt of {id}"), || of(id))).collect()
}

fn starts(world: &World) -> usize {
    std::fs::read_to_string(world.path("channel/starts")).unwrap_or_default().lines().count()
}

#[test]
fn a_channel_is_asked_by_doctor_and_by_the_test_of_news() {
    needs!("python3");
    let world = world("work", "");
    let doctor = world.run("askbox", &["doctor"]).words();
    assert!(doctor.contains("target team: nobody answers there: nobody is there"), "{doctor}");
    assert!(doctor.contains("Target team (channel): never told"), "{doctor}");
    world.ok("askbox", &["notify", "test", "--send-only"]);
    assert!(notice(&world, "askbox test: ")["shown"].is_null());
}

#[test]
fn the_channel_on_the_page_tells() {
    needs!("jq");
    let world = World::stepping("work");
    let page = include_str!("../../../docs/dev/channels.md");
    let script = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    crate::support::files::write_program(&world.path("file.sh"), script);
    world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.file]\nchannel = [\"{}\"]\n", world.path("file.sh").display()));
    world.make_mailbox();
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?"]);
    until("it is told", || std::fs::read_to_string(world.path("questions.txt")).is_ok_and(|told| told == "docs asks\n"));
    until("it is known", || world.run("askbox", &["doctor"]).words().contains("Target file (channel): last told"));
}

#[test]
fn a_channel_that_owes_a_receipt_is_killed_and_told_again() {
    needs!("python3");
    let world = world("work", "");
    std::fs::write(world.path("channel/silent"), "").expect("a file");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    watcher.says("its program owes a receipt for 6s");
    until("it is told again", || heard(&world, "notice").len() == 2);
    let told = heard(&world, "notice");
    assert_eq!((&told[0]["id"], starts(&world)), (&told[1]["id"], 2));
}

#[test]
fn a_channel_that_ends_at_once_is_started_with_pauses() {
    needs!("python3");
    let world = world("work", "");
    std::fs::write(world.path("channel/ends"), "").expect("a file");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    watcher.says("python3 has ended: exit status: 7");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(starts(&world) <= 2, "{}", starts(&world));
    std::fs::remove_file(world.path("channel/ends")).expect("it is there");
    let asked = notice(&world, "docs asks");
    until("it is known to be told", || world.run("askbox", &["doctor"]).words().contains("Target team (channel): last told"));
    say(&world, &[answer("1", &asked, "keep")], &["1"]);
    assert_eq!(world.closed("docs", "delivered", 1)[0]["answer"]["value"], "keep");
}

#[test]
fn a_channel_that_stays_is_ended_before_the_next_one() {
    needs!("python3");
    let world = world("work", "");
    std::fs::write(world.path("channel/stays"), "").expect("a file");
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    notice(&world, "docs asks");
    world.ok("ask-answer", &["docs", "keep"]);
    world.closed("docs", "delivered", 1);
    until("its input ends, half a minute later", || world.path("channel/left").exists());
    let first = std::fs::read_to_string(world.path("channel/left")).expect("a pid").trim().to_owned();
    let is_there = || std::path::Path::new("/proc").join(&first).join("exe").exists();
    assert!(is_there(), "it stays");
    world.ok("ask-post", &["-w", "more", "Merge?", "-o", "merge=", "-o", "keep="]);
    notice(&world, "more asks");
    until("the first one has ended", || !is_there());
}

#[test]
fn hostile_lines_of_a_channel_change_nothing() {
    needs!("python3");
    let world = world("work", "");
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
    let asked = notice(&world, "docs asks");
    let mut other = asked.clone();
    other["shown"] = "0".repeat(64).into();
    let mut elsewhere = asked.clone();
    elsewhere["workflow_id"] = "../pending/docs".into();
    let lines = [
        json!({"answer": "x"}),
        json!({"receipt": {"id": "nobody's"}}),
        json!({"unknown": {"of": "a later version"}}),
        Value::String("x".repeat(100_000)),
        answer("e", &elsewhere, "keep"),
        answer("o", &other, "keep"),
        answer("n", &asked, "Merg"),
        answer("x", &asked, ""),
    ];
    let receipts = say(&world, &lines, &["o", "n", "x"]);
    assert!(receipts.iter().all(|receipt| receipt["problem"].as_str().is_some_and(|why| !why.is_empty())), "{receipts:?}");
    assert!(world.in_mailbox("pending/docs.json").exists());
    assert_eq!(starts(&world), 1, "it works on");
    drop(watcher);
}

mod promises {
    use super::*;

    #[test]
    fn buttons_and_words_of_a_channel_count_once_with_a_receipt() {
        needs!("python3");
        let world = world("work", "");
        let _watcher = world.watch();
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
        world.ok("ask-post", &["-w", "name", "Which name?"]);
        let (docs, name) = (notice(&world, "docs asks"), notice(&world, "name asks"));
        assert_eq!((&docs["buttons"], &name["buttons"]), (&json!(["merge", "keep"]), &Value::Null));
        until("it hears that two wait", || heard(&world, "waiting").last() == Some(&json!(2)));
        let hello = heard(&world, "hello").remove(0);
        assert_eq!((&hello["target"], &hello["schema_version"], &hello["settings"]["person"]), (&json!("team"), &json!(1), &json!("team")));
        let given = say(&world, &[answer("1", &docs, "keep"), answer("2", &name, "Ada's"), answer("3", &docs, "merge")], &["1", "2", "3"]);
        assert_eq!((&given[0]["problem"], &given[1]["problem"]), (&Value::Null, &Value::Null));
        assert!(given[2]["problem"].as_str().is_some_and(|why| why.starts_with("It was answered by team through channel")), "{given:?}");
        let answered = world.closed("docs", "delivered", 1)[0]["answer"].clone();
        assert_eq!((&answered["value"], &answered["by"], &answered["channel"]), (&json!("keep"), &json!("team"), &json!("channel")));
        assert_eq!(answered["through"], "message");
        assert_eq!(world.closed("name", "delivered", 1)[0]["answer"]["value"], "Ada's");
        assert!(notice(&world, "docs: answered by team through channel")["shown"].is_null(), "its end takes no answer");
        assert_eq!(starts(&world), 1);
    }

    #[test]
    fn a_channel_never_gives_a_permission() {
        needs!("python3");
        let world = world("work", "");
        let _watcher = world.watch();
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "merge=", "-o", "keep="]);
        let docs = notice(&world, "docs asks");
        let call = approval_question("call", "May the agent call Bash?\n    command: git push");
        world.forge_question("call", &call);
        let told = notice(&world, "call asks for a permission");
        assert!(told["shown"].is_null() && told["buttons"].is_null(), "{told}");
        // Somebody who knows the hash of the question that waits.
        let question =
            askbox::document::Document::<Question>::parse(&std::fs::read(world.in_mailbox("pending/call.json")).expect("it waits"));
        let mut forged = told;
        forged["shown"] = Shown::of_question(&question.expect("a question").typed).expect("a hash").to_string().into();
        let given = say(&world, &[answer("1", &forged, "allow"), answer("2", &docs, "keep")], &["1", "2"]);
        assert!(given[0]["problem"].as_str().is_some_and(|why| why.contains("cannot give a permission")), "{given:?}");
        assert!(world.in_mailbox("pending/call.json").exists());
    }
}
