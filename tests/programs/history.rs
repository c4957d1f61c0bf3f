//! `askbox history`: past rounds, each with all that is known of it. The snapshots in `snapshots/history` are whole outputs. After a
//! wanted change: `SNAPSHOTS=overwrite tests/run programs history::`. The output of `--json` is checked against its schema.

use std::collections::BTreeSet;
use std::fs;

use askbox::mailbox::Mailbox;
use askbox::mailbox::overview::past_rounds;
use serde_json::{Value, json};
use snapbox::assert_data_eq;

use crate::programs::beside::{opened, strangers};
use crate::programs::schema;
use crate::support::{Terminal, World, json_schema, needs, until};

/// The output of `askbox history --json`, each line checked against the schema.
#[track_caller]
fn entries(world: &World, arguments: &str) -> Vec<Value> {
    let (_, schema) = schema::all().into_iter().find(|(name, _)| *name == "history").unwrap();
    let lines = world.sh(&format!("askbox history --json {arguments}"));
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for entry in &found {
        let problems = json_schema::problems(&schema, entry);
        assert!(problems.is_empty(), "{entry:#}\n{problems:#?}");
    }
    found
}

/// The ids of the workflows, in the order of the output.
#[track_caller]
fn ids(world: &World, arguments: &str) -> Vec<String> {
    entries(world, arguments).iter().map(|e| e["workflow_id"].as_str().unwrap().to_owned()).collect()
}

/// The output without times, ids and the place of the test.
fn without_times(text: &str, world: &World) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_time = rest.get(..24).is_some_and(|t| t.starts_with("20") && t.as_bytes()[10] == b'T' && t.ends_with('Z'));
        let is_id = rest.get(..36).is_some_and(|id| id.matches('-').count() == 4 && id.parse::<uuid::Uuid>().is_ok());
        let (shown, length) = match (is_time, is_id) {
            (true, _) => ("TIME".to_owned(), 24),
            (_, true) => ("UUID".to_owned(), 36),
            _ => (c.to_string(), c.len_utf8()),
        };
        out.push_str(&shown);
        rest = &rest[length..];
    }
    // The tests themselves may run below an agent.
    out.replace(world.root().to_str().unwrap(), "[ROOT]").replace("ask-answer (agent)", "ask-answer (terminal)")
}

/// A closed round of `askbox`, written without the programs. It ended at `minute` of an hour long ago.
fn closed(world: &World, id: &str, minute: usize, more: &Value) {
    let question = format!("01900000-0000-7000-8000-{minute:012x}");
    let mut round = json!({
        "schema_version": 1, "workflow_id": id, "question_id": question, "question": "Merge?", "timestamp": "2026-01-01T00:00:00.000Z",
        "closed": { "state": "withdrawn", "at": format!("2026-01-01T01:{minute:02}:00.000Z"), "by": "ann" },
    });
    round.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::create_dir_all(world.in_mailbox(format!("runs/{id}/{question}"))).unwrap();
    let file = world.in_mailbox(format!("closed/{id}.{question}.json"));
    fs::write(&file, round.to_string()).unwrap();
    world.sh(&format!("touch -d '2026-01-01 01:{minute:02} UTC' {}; chmod -R go-w m", file.display()));
}

#[test]
fn history_on_eighty_columns_breaks_between_words_in_local_time() {
    needs!("tmux");
    let world = World::new();
    world.make_mailbox();
    let long: String = (0..60).map(|n| format!("word{n} ")).collect();
    let answer = json!({"outcome": "answered", "value": format!("{}\nsecond line", "w".repeat(100)), "by": "ann", "channel": "inbox",
        "at": "2026-01-01T01:02:03.000Z", "question_hash": "20f2cba4-940b-5b05-aa8f-e8f823ba86c7"});
    closed(
        &world,
        "long",
        5,
        &json!({"question": long, "answer": answer, "closed": {"state": "delivered", "at": "2026-01-01T01:05:00.000Z", "by": "askbox"}}),
    );
    let terminal = Terminal::running(&world, (80, 40), &["PS1=$ ", "TZ=<+0530>-5:30"], &["sh"]);
    terminal.see("$");
    terminal.press(&["askbox history long; echo the $((1 + 1))nd", "Enter"]);
    let screen = terminal.see("the 2nd");
    assert!(screen.contains("long  delivered  2026-01-01 06:35 +05:30"), "{screen}");
    assert!(screen.contains("by ann through inbox, 2026-01-01 06:32 +05:30"), "{screen}");
    let words: Vec<&str> = screen.split_whitespace().collect();
    assert!((0..60).all(|n| words.contains(&format!("word{n}").as_str())), "a word is broken\n{screen}");
    assert!(
        screen.contains(&format!("\n  answer    {}\n            {}\n            second line\n", "w".repeat(68), "w".repeat(32))),
        "{screen}"
    );
    // In a pipe, text is neither cut nor broken, and times are written as in the protocol.
    let piped = world.sh("askbox history long");
    assert!(piped.contains(&format!("  question  {}\n", long.trim_end())), "{piped}");
    assert!(piped.contains("long  delivered  2026-01-01T01:05:00.000Z"), "{piped}");
}

#[test]
fn words_of_strangers_in_a_history_look_like_no_line_of_ours() {
    let world = World::new();
    world.make_mailbox();
    let bad = "Fine\x1b[31m\u{202e}?\nother  delivered  2026-01-01T01:05:00.000Z\n  answer    merge";
    let answer = json!({"outcome": "answered", "value": bad, "by": bad, "channel": bad, "note": bad});
    let more = json!({"question": bad, "asked_by": bad, "answer": answer, "late_answers": [answer],
        "closed": {"state": "dropped", "at": "2026-01-01T01:05:00.000Z", "by": bad, "why": bad}});
    closed(&world, "bad", 1, &more);
    let shown = world.sh("askbox history bad");
    assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown:?}");
    let ours: Vec<&str> = shown.lines().filter(|line| !line.starts_with("            ")).collect();
    let labels: Vec<String> = ours.iter().map(|line| line.chars().take(12).collect()).collect();
    assert_eq!(labels, ["bad  dropped", "  question  ", "  asked by  ", "  answer    ", "  end       ", "  too late  "], "{shown}");
    assert_eq!(entries(&world, "bad")[0]["question"], bad);
}

#[test]
fn a_round_that_cannot_be_read_is_named_and_hides_no_other() {
    let world = World::new();
    world.make_mailbox();
    closed(&world, "good", 1, &json!({}));
    closed(&world, "torn", 2, &json!({}));
    let answer = json!({"outcome": "answered", "value": "merge", "by": "ann", "channel": "inbox"});
    closed(&world, "run", 3, &json!({"answer": answer}));
    let file = world.only("closed", "torn.").unwrap();
    fs::write(&file, "{\"workflow_id\": \"to").unwrap();
    let round = world.only("runs/run", "").unwrap();
    fs::create_dir(round.join("1")).unwrap();
    fs::write(round.join("1/run.json"), "{").unwrap();
    world.sh("chmod -R go-w m");
    let all = entries(&world, "");
    let states: Vec<_> = all.iter().map(|e| (e["workflow_id"].as_str().unwrap(), e["state"].as_str().unwrap())).collect();
    assert_eq!(states, [("torn", "unreadable"), ("first", "withdrawn"), ("run", "withdrawn"), ("good", "withdrawn")]);
    assert_eq!(world.path("m").join(all[0]["file"].as_str().unwrap()), file);
    assert!(world.sh("askbox history torn").starts_with("torn  unreadable\n"));
    // A damaged record of the run hides neither the question nor the answer.
    let run = &all[2];
    assert_eq!((&run["question"], &run["answer"]["value"]), (&json!("Merge?"), &json!("merge")));
    assert!(
        run["why"].as_str().is_some_and(|why| why.starts_with("what its runs did cannot be read: ") && why.contains("run.json")),
        "{run:#}"
    );
    assert!(world.sh("askbox history run").contains("run.json"));
}

#[test]
fn a_workflows_history_opens_no_more_files_beside_two_thousand() {
    needs!("strace");
    let world = World::new().with_scripted_agent();
    world.ask_and_answer("w");
    world.sh("relaunch w");
    let alone = opened(&world, "askbox history w");
    assert!(alone.iter().any(|path| path.starts_with("closed/w.")), "{alone:#?}");
    strangers(&world, 2_000);
    assert_eq!(opened(&world, "askbox history w"), alone);
    // Without an id the names are read, and the documents of those that are shown.
    let all = opened(&world, "askbox history --limit 3 --json");
    let read: BTreeSet<_> = all.iter().filter(|path| path.ends_with("run.json")).collect();
    assert!(read.len() <= 4, "{read:#?}");
}

#[test]
fn a_history_of_large_rounds_is_shown_in_little_memory() {
    let world = World::new();
    world.make_mailbox();
    let answer = json!({"outcome": "answered", "value": "t".repeat(3_000_000), "by": "ann", "channel": "inbox"});
    for n in 0..12 {
        closed(&world, "large", n, &json!({"answer": answer}));
    }
    strangers(&world, 3_000);
    let all = 12 * 3_000_000;
    for (script, least) in
        [("askbox history", 1_000), ("askbox history --json", all), ("askbox history large", all), ("askbox history --limit 0", all)]
    {
        let outcome = world.shell(&format!("ulimit -v 90000; {script} | wc -c"));
        assert!(outcome.stderr.is_empty(), "{script}: {}", outcome.words());
        assert!(outcome.stdout.trim().parse::<usize>().unwrap() > least, "{script}: {}", outcome.stdout);
    }
}

#[test]
fn a_round_that_moves_during_the_reading_is_shown_once() {
    let world = World::new().with_scripted_agent();
    world.ask_and_answer("w");
    let mailbox = Mailbox::open(world.mailbox()).unwrap();
    let look = || past_rounds::newest_first(&mailbox, None, None, None).map(Result::unwrap).collect::<Vec<_>>();
    let before = look();
    world.sh("relaunch w");
    let places: Vec<_> = before.iter().map(|found| found.read(&mailbox).unwrap().unwrap().folder.name()).collect();
    assert_eq!(places, ["closed"]);
    // A power cut can bring the claimed copy back beside the closed one.
    let file = world.only("closed", "w.").unwrap();
    fs::copy(&file, world.in_mailbox("running").join(file.file_name().unwrap())).unwrap();
    assert_eq!(look().len(), 1);
}

mod promises {
    use snapbox::file;

    use super::*;

    #[test]
    fn every_kind_of_past_round_reads_as_what_happened() {
        let world = World::new().with_scripted_agent();
        world.configure("[relaunch]\nattempts = 1");
        world.agent_does("answered", "printf 'Merged.\\nAll links work.'");
        world.agent_does("failed", "echo HOPELESS");
        let ask = |id: &str, more: &str| {
            world.sh(&format!("ask-post -w {id} 'Merge or split?' -o merge -o 'split=Two pages' {more} 2>&1 >/dev/null; true"))
        };
        world.make_mailbox();
        let watcher = world.watch();
        let over = |id: &str, state: &str| {
            world.closed(id, state, 1);
            until("the run of it is over", || world.state(id) == state);
        };
        ask("answered", "--asked-by docs-writer");
        world.sh("ask-answer answered merge");
        over("answered", "delivered");
        ask("declined", "");
        world.sh("ask-answer decline declined --note 'not mine to say'");
        over("declined", "delivered");
        ask("default", "--timeout 1s --default split");
        over("default", "delivered");
        assert_eq!(world.refused(4, "ask-answer default merge").matches("kept").count(), 1);
        ask("expired", "--timeout 1s --on-expiry cancel");
        over("expired", "expired");
        ask("cancelled", "");
        world.sh("ask-answer cancel cancelled --why 'no longer needed'");
        over("cancelled", "withdrawn");
        ask("replaced", "--asked-by docs-writer");
        world.sh("ask-post -w replaced --supersede --asked-by docs-writer 'A better question?' 2>&1; ask-answer cancel replaced");
        world.closed("replaced", "superseded", 1);
        world.closed("replaced", "withdrawn", 1);
        ask("failed", "");
        world.sh("ask-answer failed --text 'whatever\nyou like'");
        world.reaches("failed", "parked");
        ask("dropped", "");
        world.agent_does("dropped", "echo HOPELESS");
        world.sh("ask-answer dropped merge");
        world.reaches("dropped", "parked");
        world.sh("relaunch drop dropped --why 'done by hand'");
        watcher.stop();
        world.sh("(until ask-answer waited split 2>/dev/null; do sleep 0.1; done) & ask-post -w waited 'Merge or split?' -o merge -o split --wait 1m 2>/dev/null");
        world.sh(r#"echo '{"workflow_id": "prompted", "questions": [{"id": "a", "question": "Which?"}, {"question": "How many?", "type": "number"}]}' | ask-post --file - 2>/dev/null; ask-answer prompted a=x q2=7; relaunch prompt prompted"#);
        ask("unclaimed", "");
        world.sh("ask-answer unclaimed merge");
        let seen = world.shell("askbox history");
        assert_eq!((seen.code(), seen.stderr.as_str()), (0, ""));
        assert_data_eq!(without_times(&seen.stdout, &world), file!["snapshots/history/every_kind.txt"].raw());
        let all = entries(&world, "");
        let of = |id: &str| all.iter().find(|e| e["workflow_id"] == id).unwrap_or_else(|| panic!("no {id}"));
        assert_eq!((all.len(), &of("answered")["answer"]["value"]), (12 + 1, &json!("merge")));
        assert_eq!((&of("answered")["result"], &of("answered")["cost_usd"]), (&json!("Merged.\nAll links work."), &json!(0.01)));
        assert_eq!((&of("declined")["answer"]["outcome"], &of("declined")["state"]), (&json!("declined"), &json!("delivered")));
        assert_eq!((&of("default")["answer"]["by"], &of("default")["late_answers"][0]["value"]), (&json!("default"), &json!("merge")));
        assert_eq!((&of("waited")["claimant"], &of("prompted")["claimant"]), (&json!("inline"), &json!("prompt")));
        assert_eq!(of("prompted")["questions"], json!([{"id": "a", "question": "Which?"}, {"id": "q2", "question": "How many?"}]));
        assert_eq!((&of("failed")["state"], &of("failed")["failure"]), (&json!("parked"), &json!("agent")));
        // The audit trail leads to the round, and names what its document says.
        for line in world.audited().iter().filter(|line| line["answer_hash"].is_string()) {
            let round = all.iter().find(|e| e["question_id"] == line["question_id"]).unwrap();
            let given = if line["event"] == "late_answer" { &round["late_answers"][0] } else { &round["answer"] };
            assert_eq!((&line["answer_hash"], &line["question_hash"]), (&given["answer_hash"], &round["question_hash"]), "{line}");
            assert_eq!(world.document(round["file"].as_str().unwrap())["question_id"], line["question_id"]);
        }
    }

    #[test]
    fn the_newest_rounds_come_first_and_more_are_announced() {
        let world = World::new();
        world.make_mailbox();
        for (n, id) in ["one", "two", "one", "three"].into_iter().enumerate() {
            closed(&world, id, n, &json!({}));
        }
        assert_eq!(ids(&world, ""), ["first", "three", "one", "two", "one"]);
        assert_eq!(ids(&world, "one"), ["one", "one"]);
        assert_eq!(ids(&world, "--limit 2"), ["first", "three"]);
        assert_eq!(ids(&world, "--since 1h"), ["first"]);
        let few = world.sh("askbox history --limit 2");
        assert!(few.contains("three  withdrawn") && !few.contains("two  withdrawn"), "{few}");
        assert!(few.ends_with("(there are more; --limit 10 shows more of them, --limit 0 all)"), "{few}");
        for n in 4..30 {
            closed(&world, "many", n, &json!({}));
        }
        let rounds = |script: &str| world.sh(script).lines().filter(|line| line.contains("  withdrawn  20")).count();
        assert_eq!((rounds("askbox history many"), rounds("askbox history many --limit 0"), ids(&world, "many").len()), (20, 26, 26));
        assert_eq!(world.sh("askbox history three --since 1h"), "no round of three was answered or ended in the last 1h");
        assert_eq!(world.sh("askbox history three --since 1h --json"), "");
    }

    #[test]
    fn nothing_past_is_no_error_and_an_unknown_workflow_is() {
        let world = World::new();
        let none = world.shell("askbox history");
        assert_eq!((none.code(), none.stdout.as_str()), (0, ""), "{}", none.words());
        world.sh("ask-post -w open Q? 2>/dev/null");
        assert_eq!(world.sh("askbox history"), "no round was answered or ended");
        assert_eq!(world.sh("askbox history open"), "no round of open was answered or ended");
        assert!(world.refused(3, "askbox history never").contains("nothing is known of never"));
        assert_eq!(world.sh("askbox history --json"), "");
    }
}
