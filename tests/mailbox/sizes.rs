//! Whatever a program acknowledges stays readable. The sizes of documents are measured as they are written, and what grows later finds room.

use std::fs;

use askbox::Error;
use askbox::document::{Document, MAX_DEPTH};
use askbox::mailbox::documents::closing::{Closed, Closing};
use askbox::mailbox::documents::question::MAX_QUESTION;
use askbox::mailbox::listing::list;
use askbox::mailbox::transitions::accept::{self, Decision};
use askbox::mailbox::transitions::post::{self, IfPending};
use askbox::mailbox::transitions::{close, settle, undo};
use askbox::mailbox::trust::Policy;
use askbox::mailbox::who::caller::Caller;
use askbox::mailbox::{AnswerValue, Folder, Mailbox, QuestionDocument, read_question};
use askbox::run::claim::{self, ClaimAttempt};
use serde_json::{Value, json};

use crate::support::World;

const MIB: usize = 1 << 20;

/// A checkpoint that is exactly `bytes` long, in one line.
fn checkpoint(bytes: usize) -> String {
    let around = json!({"current_step": "x", "context": ""}).to_string().len();
    json!({"current_step": "x", "context": "c".repeat(bytes - around)}).to_string()
}

/// An answer of as many bytes, which are controls, but for one letter: an answer that nobody sees is empty.
fn controls(bytes: usize) -> String {
    format!("a{}", "\u{1}".repeat(bytes - 1))
}

/// Posts a question that is withdrawn at once, so that answers to it are late.
fn withdrawn(world: &World, id: &str) {
    world.ok("ask-post", &["-w", id, "Which?"]);
    world.ok("ask-answer", &["cancel", id]);
}

#[test]
fn an_answer_of_four_mebibytes_of_controls_reaches_the_agent() {
    let world = World::at_home();
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "big", "Which?"]);
    let answer = controls(4 * MIB);
    world.run_with("ask-answer", &["big", "--file", "-"], json!(answer).to_string().as_bytes()).ok();
    assert!(world.told("big", 1).contains("The user's answer is 4194304 bytes long; read it from"));
    let closed = world.closed("big", "delivered", 1);
    assert!(closed[0]["answer"]["value"] == answer, "another answer was kept");
    let attempt = world.launches_of("big").remove(0);
    assert!(fs::read_to_string(world.in_mailbox(format!("runs/{attempt}/answer.txt"))).unwrap() == answer);
    assert_eq!(world.names("quarantine"), [""; 0]);
    world.ok("ask-answer", &["show", "big"]);
}

#[test]
fn late_answers_are_kept_up_to_their_bound() {
    let world = World::new();
    withdrawn(&world, "late");
    let answer = "a".repeat(4_000_000);
    let said: Vec<String> = (0..5)
        .map(|_| {
            let outcome = world.run_with("ask-answer", &["late", "-"], answer.as_bytes());
            assert_eq!(outcome.code(), 4, "{outcome:?}");
            outcome.stderr
        })
        .collect();
    let kept = said.iter().filter(|words| words.contains("your answer is kept with it")).count();
    assert!(said[4].contains("late_answers: would take"), "{}", said[4]);
    let closed = world.closed("late", "withdrawn", 1);
    assert_eq!((kept, closed[0]["late_answers"].as_array().unwrap().len()), (4, 4));
    world.ok("ask-answer", &["show", "late"]);
}

#[test]
fn a_saved_checkpoint_can_be_read_and_changed_at_any_size() {
    let world = World::new();
    world.make_mailbox();
    for bytes in [16 * MIB - 200, 16 * MIB] {
        let saved = world.run_with("checkpoint", &["save", "w"], checkpoint(bytes).as_bytes());
        if saved.code() == 0 {
            let read: Value = serde_json::from_str(&world.ok("checkpoint", &["show", "w", "--json"])).unwrap();
            assert_eq!(read["current_step"], "x", "{bytes}");
            world.ok("checkpoint", &["set", "w", "current_step", "y"]);
        } else {
            assert_eq!(saved.code(), 5, "{saved:?}");
            assert!(saved.stderr.contains("the limit is 16777216"), "{}", saved.stderr);
            assert!(bytes > 16 * MIB - 100, "{bytes} bytes were refused");
        }
    }
}

#[test]
fn a_checkpoint_of_the_largest_size_still_gets_the_answer() {
    let world = World::new();
    world.make_mailbox();
    world.run_with("checkpoint", &["save", "w"], checkpoint(16 * MIB - 300).as_bytes()).ok();
    world.ok("ask-post", &["-w", "w", "Which?"]);
    let answered = world.run_with("ask-answer", &["w", "-"], controls(4 * MIB).as_bytes()).ok();
    let warnings: Vec<_> =
        answered.stderr.lines().filter(|line| line.starts_with("warning") && !line.contains("no watcher runs")).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(world.ok("checkpoint", &["get", "w", "user_answer"]).trim_end().len(), 4 * MIB);
    // The agent's own part is as large as it may be: it cannot grow.
    let grown = world.run("checkpoint", &["set", "w", "state_variables.more", &"m".repeat(1000)]);
    assert_eq!(grown.code(), 5, "{grown:?}");
}

/// A mailbox without programs around it.
fn mailbox() -> (tempfile::TempDir, Mailbox) {
    let folder = tempfile::Builder::new().prefix("askbox-test").tempdir_in("/dev/shm").unwrap();
    let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
    (folder, mailbox)
}

/// A document as another program may write it, in one line: `bytes` long, most of it made of `piece`.
fn compact(id: &str, piece: &str, bytes: usize) -> Option<QuestionDocument> {
    let around = format!(r#"{{"workflow_id":"{id}","question":"Which?","mine":""}}"#).len();
    let text = piece.repeat((bytes - around) / piece.len());
    Document::parse(format!(r#"{{"workflow_id":"{id}","question":"Which?","mine":"{text}"}}"#).as_bytes()).ok()
}

/// As many short fields as `bytes` hold: written one a line, they take the most room.
fn many_fields(id: &str, bytes: usize) -> QuestionDocument {
    let mut json = format!(r#"{{"workflow_id":"{id}","question":"Which?""#);
    let mut n = 0;
    while json.len() + 12 < bytes {
        json.push_str(&format!(r#","{n:x}":0"#));
        n += 1;
    }
    Document::parse((json + "}").as_bytes()).unwrap()
}

/// An unknown field that nests so deeply that the document has `levels` levels.
fn nested(id: &str, levels: usize) -> Option<QuestionDocument> {
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    Document::parse(format!(r#"{{"workflow_id":"{id}","question":"Which?","mine":{open}{close}}}"#).as_bytes()).ok()
}

/// Posts, answers, claims and closes; after each step the document can be read. `false` if the post is refused.
fn goes_through(mailbox: &Mailbox, document: QuestionDocument, answer: &str) -> bool {
    let workflow = document.typed.workflow_id.clone();
    let round = match post::post_document(mailbox, document, IfPending::Conflict) {
        Ok(receipt) => receipt.round,
        Err(Error::Invalid { .. }) => return false,
        Err(e) => panic!("{e}"),
    };
    read_question::pending(mailbox, &workflow).unwrap();
    let ann = Caller::person("ann", "ask-answer").unwrap();
    accept::answer(mailbox, &workflow, Decision::by(&ann, None), ann.value(AnswerValue::Text(answer.into()))).unwrap();
    read_question::document(&mailbox.document(Folder::Answered, &workflow)).unwrap();
    match claim::for_main_agent(mailbox, &workflow, &Policy::default()).unwrap() {
        ClaimAttempt::Claimed(claim) => claim.delivered(mailbox, "test").unwrap(),
        ClaimAttempt::Refused(why) => panic!("{workflow}: {why:?}"),
    }
    let closed = read_question::document(&mailbox.round(Folder::Closed, &round)).unwrap().typed;
    assert_eq!(closed.answer.and_then(|a| a.value), Some(AnswerValue::Text(answer.into())));
    true
}

#[test]
fn what_is_posted_stays_readable_up_to_its_end() {
    let (_folder, mailbox) = mailbox();
    let limit = usize::try_from(MAX_QUESTION).unwrap();
    let mut posted = Vec::new();
    for (name, piece) in [("control", r"\u0001"), ("quote", r#"\""#), ("wide", "\u{1f600}"), ("plain", "x")] {
        for bytes in [limit - 250, limit] {
            let id = format!("{name}-{bytes}");
            posted.push(goes_through(&mailbox, compact(&id, piece, bytes).unwrap(), &controls(bytes / 4)));
        }
    }
    for bytes in [limit - limit / 3, limit] {
        posted.push(goes_through(&mailbox, many_fields(&format!("many-{bytes}"), bytes), "a"));
    }
    for levels in MAX_DEPTH - 2..MAX_DEPTH + 2 {
        posted.push(nested(&format!("nested-{levels}"), levels).is_some_and(|document| goes_through(&mailbox, document, "a")));
    }
    // Some of each kind are on either side of the bound.
    assert!(posted.iter().filter(|went| **went).count() > 5 && posted.iter().filter(|went| !**went).count() > 5, "{posted:?}");
    assert_eq!(fs::read_dir(mailbox.folder(Folder::Quarantine)).unwrap().count(), 0);
}

#[test]
fn the_answer_to_the_largest_question_is_undone_many_times() {
    let (_folder, mailbox) = mailbox();
    let limit = usize::try_from(MAX_QUESTION).unwrap();
    // As another program may put it into pending/: in one line, which grows when it is written a field a line.
    let workflow = "w".parse().unwrap();
    let fields = String::from_utf8(many_fields("w", limit / 32).to_bytes()).unwrap().replace(['\n', ' '], "");
    let text = format!(r#"{},"mine":"{}"}}"#, fields.trim_end_matches('}'), "x".repeat(limit - fields.len() - 10));
    assert_eq!(text.len(), limit);
    fs::write(mailbox.document(Folder::Pending, &workflow), text).unwrap();
    let ann = Caller::person("a".repeat(5000), "ask-answer").unwrap();
    for _ in 0..25 {
        accept::answer(&mailbox, &workflow, Decision::by(&ann, None), ann.value(AnswerValue::Text("a".into()))).unwrap();
        undo::undo(&mailbox, &workflow, None, ann.by()).unwrap();
        read_question::pending(&mailbox, &workflow).unwrap();
    }
    let path = mailbox.document(Folder::Pending, &workflow);
    let length = fs::metadata(&path).unwrap().len();
    assert!((MAX_QUESTION..MAX_QUESTION + (64 << 10)).contains(&length), "{length}");
    // As it lay when a program died behind the commit point: the next answer completes it.
    fs::rename(&path, mailbox.document(Folder::Answered, &workflow)).unwrap();
    accept::answer(&mailbox, &workflow, Decision::by(&ann, None), ann.value(AnswerValue::Text(controls(4 * MIB)))).unwrap();
    undo::undo(&mailbox, &workflow, None, ann.by()).unwrap();
    // And its end finds room.
    let lock = mailbox.lock(&workflow).unwrap();
    let document = read_question::pending(&mailbox, &workflow).unwrap();
    let ended = Closing::now(Closed::Withdrawn, "ann", Some("w".repeat(1_000_000)));
    let round = close::pending(&mailbox, &lock, document, ended).unwrap();
    assert!(read_question::document(&mailbox.round(Folder::Closed, &round)).unwrap().typed.closed.is_some());
    assert_eq!(fs::read_dir(mailbox.folder(Folder::Quarantine)).unwrap().count(), 0);
}

mod promises {
    use super::*;

    #[test]
    fn at_most_thirty_two_late_answers_of_a_round_are_kept() {
        let world = World::new();
        withdrawn(&world, "late");
        let said: Vec<String> = (0..33).map(|n| world.run("ask-answer", &["late", &n.to_string()]).stderr).collect();
        assert!(said[31].contains("your answer is kept with it") && said[32].contains("holds 32 answers already"), "{said:?}");
        assert_eq!(world.closed("late", "withdrawn", 1)[0]["late_answers"].as_array().map(Vec::len), Some(32));
    }

    #[test]
    fn a_late_answer_that_nests_too_deeply_is_refused() {
        let world = World::new();
        world.ok("ask-post", &["-w", "deep", "Which?"]);
        world.ok("ask-answer", &["cancel", "deep"]);
        for levels in 55..64 {
            let answer = format!(r#"{{"part":{}1{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
            world.run_with("ask-answer", &["deep", "--file", "-"], answer.as_bytes());
            let shown = world.run("ask-answer", &["show", "deep"]);
            assert_eq!(shown.code(), 0, "{levels} levels: {shown:?}");
        }
    }

    #[test]
    fn the_largest_question_is_closed_by_a_killed_withdrawal() {
        let (_folder, mailbox) = mailbox();
        let (workflow, limit) = ("w".parse().unwrap(), usize::try_from(MAX_QUESTION).unwrap());
        // Made by hand: one line, of exactly the largest size.
        let path = mailbox.document(Folder::Pending, &workflow);
        let mut text = String::from_utf8(many_fields("w", limit).to_bytes()).unwrap().replace(['\n', ' '], "");
        text.push_str(&" ".repeat(limit - text.len()));
        fs::write(&path, text).unwrap();
        let lock = mailbox.lock(&workflow).unwrap();
        let document = read_question::pending(&mailbox, &workflow).unwrap();
        let ended = Closing::now(Closed::Withdrawn, "ann", Some("w".repeat(100_000)));
        let round = close::pending(&mailbox, &lock, document, ended).unwrap();
        // As it lay before the move.
        let closed = mailbox.round(Folder::Closed, &round);
        assert!(fs::metadata(&closed).unwrap().len() > MAX_QUESTION);
        fs::rename(&closed, &path).unwrap();
        settle::settle(&mailbox, &lock).unwrap();
        assert!(read_question::document(&closed).unwrap().typed.closed.is_some());
        assert_eq!(list::rounds_of(&mailbox, &workflow).count(), 1);
    }
}
