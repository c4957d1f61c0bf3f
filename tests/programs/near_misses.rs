//! An answer means what the person meant: a misspelt option is refused, an empty answer is none, and the agent is told which answers
//! are in the person's own words.

use std::fs::File;
use std::time::{Duration, SystemTime};

use askbox::mailbox::transitions::expire::{self, Expiry};
use askbox::mailbox::trust::Policy;
use askbox::mailbox::{Mailbox, round};
use serde_json::{Value, json};

use crate::support::{Terminal, World, needs};

const OPTIONS: &str = "-o merge='Merge into one' -o keep='Keep both'";

fn value(world: &World, id: &str) -> Value {
    world.json(format!("m/answered/{id}.json"))["answer"]["value"].clone()
}

fn asks(world: &World, id: &str) {
    world.sh(&format!("ask-post How? -w {id} {OPTIONS}"));
}

#[test]
fn an_askers_default_is_read_like_an_answer() {
    let world = World::new();
    world.sh(&format!("ask-post How? -w w {OPTIONS} --timeout 1s --default Keep"));
    let mailbox = Mailbox::open(world.mailbox()).unwrap();
    let round = round::latest(&mailbox, &"w".parse().unwrap()).unwrap().id;
    let later = askbox::time::now() + Duration::from_secs(60);
    assert_eq!(expire::expire(&mailbox, &Policy::default(), &round, later).unwrap(), Expiry::Defaulted);
    assert_eq!(value(&world, "w"), "keep");
    assert!(world.sh("relaunch prompt w").contains("the default that was set applies: keep (Keep both)\n"));
}

#[test]
fn a_result_of_ask_user_question_is_checked() {
    let world = World::new();
    asks(&world, "w");
    for result in [
        json!({"answers": {"Another question?": "merge"}}),
        json!({"answers": {"How?": "merge", "Another question?": "keep"}}),
        json!({"answers": {}}),
        json!({"answers": {"How?": "merge"}, "annotations": {"Another question?": {"notes": "soon"}}}),
    ] {
        std::fs::write(world.path("r.json"), result.to_string()).unwrap();
        let words = world.refused(5, "ask-answer w --file r.json");
        assert!(words.contains("ask-answer show w --format ask-user-question"), "{result}: {words}");
    }
    std::fs::write(world.path("r.json"), json!({"answers": {"How?": "merge"}}).to_string()).unwrap();
    assert_eq!(world.sh("ask-answer w --file r.json"), "w: answered: merge");
}

/// A question as somebody moved it to `answered/`, older than everything else.
fn moved_by_hand(world: &World, id: &str, answer: Option<&str>) {
    let mut document = json!({"workflow_id": id, "question": "How?", "options": {"merge": "Merge into one", "keep": "Keep both"}});
    if let Some(answer) = answer {
        document["answer"] = json!(answer);
    }
    let path = world.path(format!("m/answered/{id}.json"));
    std::fs::write(&path, document.to_string()).unwrap();
    let earlier = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(&path).unwrap().set_modified(earlier).unwrap();
}

#[test]
fn a_place_left_empty_by_hand_is_no_answer() {
    let world = World::new();
    world.sh("ask-post -w other ?");
    moved_by_hand(&world, "w", Some(""));
    std::fs::write(world.path("m/checkpoints/w.json"), r#"{"workflow_id": "w", "user_answer": ""}"#).unwrap();
    assert_ne!(world.shell("relaunch prompt w").code(), 0);
    // The person can still answer, and that answer counts.
    assert_eq!(world.sh("ask-answer w keep"), "w: answered: keep");
    assert_eq!(value(&world, "w"), "keep");
}

#[test]
fn whoever_waits_is_told_that_the_answer_is_no_option() {
    let world = World::new();
    let waits = |world: &World, how: &str| {
        let wait = format!("ask-post How? -w w {OPTIONS} --wait 60s {how}");
        let answer = "(until [ -e m/pending/w.json ]; do sleep 0.05; done; ask-answer w 'both, in a way' >/dev/null) &";
        world.shell(&format!("{answer} {wait}; wait"))
    };
    let ran = waits(&world, "");
    assert_eq!((ran.stdout.as_str(), ran.code()), ("both, in a way\n", 0));
    assert!(ran.stderr.contains("in their own words, not with one of the options"), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&waits(&world, "--json").stdout).unwrap();
    assert_eq!(printed["own_words"], true);
}

#[test]
fn the_inbox_asks_back_before_it_sends_near_words() {
    needs!("tmux");
    let world = World::new();
    asks(&world, "w");
    asks(&world, "v");
    let terminal = Terminal::new(&world);
    for (id, down, is) in [("w", 1, "merge"), ("v", 2, "merg")] {
        terminal.press(&[&format!("clear; ask-answer {id}; echo left=$?"), "Enter"]);
        terminal.see("esc later");
        terminal.press(&["i", "merg", "Enter"]);
        // The lowest of the lines below: the picture may come in parts.
        let screen = terminal.see("my own words: merg");
        assert!(screen.contains("Is this one of the options?") && screen.contains("merge  Merge into one"), "{screen}");
        terminal.press(&["Enter"]);
        terminal.see("choose first: a number, or the arrow keys");
        terminal.press(&vec!["Down"; down]);
        terminal.press(&["Enter"]);
        terminal.see(&format!("{id}: answered"));
        terminal.press(&["q"]);
        terminal.see("left=0");
        assert_eq!(value(&world, id), is);
    }
}

/// Returns a decomposed name as in file names of a Mac, and the composed one as people type it.
fn on_a_mac(name: &str) -> String {
    name.replace('ü', "u\u{308}").replace('é', "e\u{301}").replace('Ü', "U\u{308}")
}

#[test]
fn an_option_from_a_mac_is_chosen_as_people_type_it() {
    let world = World::new();
    let option = on_a_mac("Übersicht-é.md");
    let ask = |id: &str, more: &str| {
        world.sh(&format!("ask-post Which? -w {id} -o '{option}=Die {}' -o other=Other {more}", on_a_mac("Lösung für é")))
    };
    for (n, typed) in ["Übersicht-é.md", "übersicht-é.MD", "'die Lösung für é'"].iter().enumerate() {
        ask(&format!("w{n}"), "");
        assert_eq!(world.sh(&format!("ask-answer w{n} {typed}")), format!("w{n}: answered: {option}"));
        assert_eq!(value(&world, &format!("w{n}")), option, "the asker's spelling is delivered");
    }
    ask("near", "");
    assert!(world.refused(5, "ask-answer near Übersicht-é.m").contains("did you mean"));
    // The other way round: the asker composed, the answer is pasted from a Mac.
    world.sh("ask-post Which? -w back -o é=E -o b=B");
    assert_eq!(world.sh(&format!("ask-answer back {} --json | jq -r .value,.own_words", on_a_mac("é"))), "é\nfalse");
    // A default, several options, an answer from a file, and one made by hand.
    ask("default", "--timeout 2h --default Übersicht-é.md");
    world.sh(&format!("ask-post Which? -w many -t multi_choice -o {option} -o é"));
    world.sh(&format!("ask-answer many Übersicht-é.md,{}", on_a_mac("é")));
    assert_eq!(value(&world, "many"), json!([option, "é"]));
    ask("file", "");
    std::fs::write(world.path("a.json"), r#""Übersicht-é.md""#).unwrap();
    assert_eq!(world.sh("ask-answer file --file a.json"), format!("file: answered: {option}"));
    ask("hand", "");
    world.sh("jq '.answer.value = \"Übersicht-é.md\"' m/pending/hand.json > m/answered/hand.json && rm m/pending/hand.json");
    assert!(world.sh("relaunch prompt hand").contains(&format!("\nUser chose: {option} (Die ")));
}

#[test]
fn a_batch_from_a_mac_is_answered_as_people_type_it() {
    let world = World::new();
    let batch = json!({"questions": [
        {"id": on_a_mac("größe für"), "question": on_a_mac("Für wen?"), "options": [on_a_mac("für é"), "b"]},
        {"id": "why", "question": "Why?"},
    ]});
    std::fs::write(world.path("q.json"), batch.to_string()).unwrap();
    world.sh("for id in pairs file tool; do ask-post -w $id --file q.json; done");
    let whole = json!({on_a_mac("größe für"): on_a_mac("für é"), "why": "so"});
    world.sh("ask-answer pairs 'größe für=für é' why=so");
    std::fs::write(world.path("a.json"), json!({"größe für": "für é", "why": "so"}).to_string()).unwrap();
    std::fs::write(world.path("r.json"), json!({"answers": {"Für wen?": "für é", "Why?": "so"}}).to_string()).unwrap();
    world.sh("ask-answer file --file a.json && ask-answer tool --file r.json");
    for id in ["pairs", "file", "tool"] {
        assert_eq!(value(&world, id), whole, "{id}");
    }
    world.sh("ask-post -w twice --file q.json");
    std::fs::write(world.path("a.json"), json!({"größe für": "b", on_a_mac("größe für"): "für é", "why": "so"}).to_string()).unwrap();
    assert!(world.refused(5, "ask-answer twice --file a.json").contains("has an answer already"));
}

#[test]
fn several_values_for_one_question_are_told_the_way_out() {
    let world = World::new();
    world.sh("ask-post Which? -w k1 -o red=Red -o blue=Blue; ask-post Which? -w own -o red=Red; ask-post -t number Port? -w port");
    let said = |command: &str| world.refused(2, command);
    let both = said("ask-answer k1 red blue");
    assert!(
        both.contains("2 values are given, but k1 takes one") && both.contains("choose one: ask-answer k1 red, or: ask-answer k1 blue"),
        "{both}"
    );
    let own = said("ask-answer own red ones");
    assert!(own.contains("for the option: ask-answer own red; for your own words, quote them: ask-answer own 'red ones' --text"), "{own}");
    assert!(said("ask-answer own neither of them").contains("quote them: ask-answer own 'neither of them'"));
    assert!(said("ask-answer port 80 443").contains("hint: ask-answer port 42"), "{}", said("ask-answer port 80 443"));
    world.sh("ls m/pending/k1.json m/pending/own.json m/pending/port.json");
}

#[test]
fn words_beside_several_options_are_quoted_or_refused() {
    let world = World::new();
    world.sh("for w in m3 m4 m5; do ask-post Which? -w $w -t multi_choice -o unit=U -o e2e=E; done");
    let said = world.refused(2, "ask-answer m3 unit tests");
    assert!(said.contains("`tests` is none of the options of m3 (unit, e2e); nothing was answered"), "{said}");
    for way in ["ask-answer m3 unit;", "ask-answer m3 'unit tests' --text", "ask-answer m3 unit tests --text"] {
        assert!(said.contains(way), "{way}: {said}");
    }
    assert!(world.refused(2, "ask-answer m3 quite another").contains("quote them: ask-answer m3 'quite another'"));
    assert_eq!(world.state("m3"), "pending");
    let value = |id: &str| world.document(&format!("answered/{id}.json"))["answer"]["value"].clone();
    // Each way works as it is told.
    world.sh("ask-answer m3 'unit tests' --text; ask-answer m4 unit tests --text; ask-answer m5 unit 'and fuzz it'");
    assert_eq!((value("m3"), value("m4")), (json!(["unit tests"]), json!(["unit", "tests"])));
    assert_eq!(value("m5"), json!(["unit", "and fuzz it"]));
}

#[test]
fn an_id_and_an_answer_that_changed_places_are_put_right() {
    let world = World::new();
    world.sh("ask-post Which? -w c1 -o merge=Merge");
    let swapped = world.refused(3, "ask-answer merge c1");
    assert!(
        swapped.contains("the workflow merge has no question, and c1 has one")
            && swapped.contains("the id stands first: ask-answer c1 merge"),
        "{swapped}"
    );
    assert!(!world.refused(3, "ask-answer merge other").contains("stands first"));
}

#[test]
fn an_option_that_is_named_twice_counts_once() {
    let world = World::new();
    world.sh("ask-post Which? -w w -t multi_choice -o a=A -o b=B && ask-answer w a b A a");
    assert_eq!(world.document("answered/w.json")["answer"]["value"], serde_json::json!(["a", "b"]));
}

mod promises {
    use super::*;

    #[test]
    fn a_misspelt_option_is_refused_with_the_one_that_was_meant() {
        let world = World::new();
        asks(&world, "w");
        for near in ["merg", "mrege", "mreg", "merge!", "'\"merge\"'", "m", "MERG", "'Merge into one.'", "'Merg into one'"] {
            let words = world.refused(5, &format!("ask-answer w {near}"));
            assert!(words.contains("did you mean `merge`?") && words.contains("--text"), "{near}: {words}");
        }
        for bare in ["1", "'#2'", "b", "3."] {
            let words = world.refused(5, &format!("ask-answer w {bare}"));
            assert!(words.contains("choose one of: merge, keep") && words.contains("--text"), "{bare}: {words}");
        }
        assert!(world.refused(5, "ask-answer w 'Kep both'").contains("did you mean `keep`?"));
        assert!(world.path("m/pending/w.json").exists() && !world.path("m/answered/w.json").exists());
        assert_eq!(world.sh("ask-answer w --text merg"), "w: answered in your own words: merg");
        assert_eq!(value(&world, "w"), "merg");
        assert!(world.sh("relaunch prompt w").contains("\nUser answered in their own words, not with one of the options: merg\n"));
    }

    #[test]
    fn spaces_and_case_do_not_matter_and_a_description_is_its_key() {
        let world = World::new();
        for (n, given) in ["merge", "'  Merge '", "MERGE", "'merge into one'"].iter().enumerate() {
            asks(&world, &format!("w{n}"));
            assert_eq!(world.sh(&format!("ask-answer w{n} {given}")), format!("w{n}: answered: merge"));
            assert_eq!(value(&world, &format!("w{n}")), "merge");
        }
        assert!(world.sh("relaunch prompt w2").contains("\nUser chose: merge (Merge into one)\n"));
        assert_eq!(world.shell("ask-post How? -w n -o 1=One -o 2=Two && ask-answer n ' 2'").code(), 0);
        assert_eq!(value(&world, "n"), "2");
    }

    #[test]
    fn words_unlike_any_option_stay_the_persons_own() {
        let world = World::new();
        asks(&world, "w");
        let printed: Value = serde_json::from_str(&world.sh("ask-answer w 'neither; ask Bob' --json")).unwrap();
        assert_eq!((&printed["own_words"], &printed["value"]), (&json!(true), &json!("neither; ask Bob")));
        assert!(world.sh("relaunch prompt w").contains("in their own words, not with one of the options: neither; ask Bob\n"));
        // A question without options has no near misses to tell.
        world.sh("ask-post Why? -w open && ask-answer open because");
        assert!(world.sh("relaunch prompt open").contains("\nUser chose: because\n"));
    }

    #[test]
    fn each_part_of_a_batch_and_each_element_is_looked_at() {
        let world = World::new();
        let batch = json!({"questions": [
            {"id": "db", "question": "Which DB?", "options": ["postgres", "sqlite"]},
            {"id": "tests", "question": "Which tests?", "multiSelect": true, "options": ["unit", "e2e"]},
            {"id": "why", "question": "Why?"},
        ]});
        std::fs::write(world.path("q.json"), batch.to_string()).unwrap();
        world.sh("ask-post -w b --file q.json && ask-post -w f --file q.json");
        let words = world.refused(5, "ask-answer b db=sqlite");
        assert!(words.contains("leaves 2 questions out") && words.contains("answer them too: tests=VALUE why=VALUE"), "{words}");
        let words = world.refused(5, "ask-answer b db=postgre tests=unit why=so");
        assert!(words.contains("answer.db") && words.contains("did you mean `postgres`?"), "{words}");
        let words = world.refused(5, "ask-answer b db=sqlite tests=unit,e2 why=so");
        assert!(words.contains("answer.tests") && words.contains("did you mean `e2e`?"), "{words}");
        assert!(world.refused(5, "ask-answer b db=sqlite tests='unit e2e' why=so").contains("did you mean `unit,e2e`?"));
        std::fs::write(world.path("a.json"), r#"{"db": "sqlit", "tests": ["unit"], "why": "so"}"#).unwrap();
        assert!(world.refused(5, "ask-answer f --file a.json").contains("did you mean `sqlite`?"));
        std::fs::write(world.path("r.json"), r#"{"answers": {"Which DB?": "SQLite", "Which tests?": "unit, e2", "Why?": "so"}}"#).unwrap();
        assert!(world.refused(5, "ask-answer f --file r.json").contains("did you mean `e2e`?"));
        assert_eq!(
            world.sh("ask-answer b db='SQLite ' tests='E2E, unit' why=so"),
            r#"b: answered: {"db":"sqlite","tests":["e2e","unit"],"why":"so"}"#
        );
        assert!(world.sh("ask-answer f --file a.json --text").ends_with("(in your own words: db)"));
        let prompt = world.sh("relaunch prompt f");
        assert!(
            prompt.contains("- Which DB? (db), in their own words: sqlit\n- Which tests? (tests): unit\n- Why? (why): so\n"),
            "{prompt}"
        );
    }

    #[test]
    fn yes_or_no_takes_nothing_else_and_says_what_was_meant() {
        let world = World::new();
        world.sh("ask-post Go? -w w -t yes_no");
        for near in ["Yes!", "yep", "--text yess"] {
            assert!(world.refused(5, &format!("ask-answer w {near}")).contains("did you mean `yes`?"), "{near}");
        }
        world.refused(5, "ask-answer w perhaps");
        assert_eq!(world.sh("ask-answer w ' Y '"), "w: answered: yes");
    }

    #[test]
    fn an_empty_answer_is_refused_with_the_command_that_declines() {
        let world = World::new();
        world.sh("ask-post Why? -w w");
        let batch = json!({"questions": [{"id": "why", "question": "Why?"}, {"id": "n", "question": "How many?", "type": "number"}]});
        std::fs::write(world.path("q.json"), batch.to_string()).unwrap();
        world.sh("ask-post -w b --file q.json && printf '\"\"' > empty.json && printf '[]' > list.json");
        for (id, command) in [
            ("w", "ask-answer w ''"),
            ("w", "ask-answer w '  '"),
            ("w", "ask-answer w - < /dev/null"),
            ("w", "ask-answer w --text ''"),
            ("w", "ask-answer w --file empty.json"),
            ("w", "ask-answer w --file list.json"),
            ("b", "ask-answer b why= n=1"),
        ] {
            let words = world.refused(5, command);
            assert!(words.contains("is empty") && words.contains(&format!("ask-answer decline {id}")), "{command}: {words}");
        }
        assert!(world.path("m/pending/w.json").exists() && world.path("m/pending/b.json").exists());
    }

    #[test]
    fn an_answer_by_hand_is_read_like_any_other() {
        let world = World::new();
        world.sh("ask-post -w other ?");
        for (id, answer, told) in [
            ("exact", " MERGE ", "User chose: merge (Merge into one)"),
            ("near", "merg", "User answered in their own words, not with one of the options: merg"),
        ] {
            moved_by_hand(&world, id, Some(answer));
            assert!(world.sh(&format!("relaunch prompt {id}")).contains(told), "{id}");
            // The same with the answer in the checkpoint.
            let in_checkpoint = format!("{id}-checkpoint");
            moved_by_hand(&world, &in_checkpoint, None);
            let checkpoint = world.path(format!("m/checkpoints/{in_checkpoint}.json"));
            std::fs::write(&checkpoint, json!({"workflow_id": in_checkpoint, "user_answer": answer}).to_string()).unwrap();
            assert!(world.sh(&format!("relaunch prompt {in_checkpoint}")).contains(told), "{in_checkpoint}");
            assert_eq!(world.json(checkpoint)["user_answer"], answer.trim().to_lowercase());
        }
    }
}
