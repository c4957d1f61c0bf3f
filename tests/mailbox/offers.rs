//! An answer from another machine counts once, and its sender learns what became of it, however often it asks.

use crate::support::World;
use askbox::id::WorkflowId;
use askbox::mailbox::documents::offer::{Decided, Offer, Verdict};
use askbox::mailbox::transitions::accept::{self, Decision};
use askbox::mailbox::transitions::{offered, undo};
use askbox::mailbox::who::caller::{Below, Caller};
use askbox::mailbox::{AnswerValue, Mailbox, read_question};

fn open(world: &World) -> Mailbox {
    Mailbox::open(world.mailbox()).unwrap()
}

fn w() -> WorkflowId {
    "w".parse().unwrap()
}

/// An offer of this answer to the question of `w` as it waits now.
fn offer(world: &World, value: &str) -> Offer {
    let question = read_question::pending(&open(world), &w()).unwrap().typed;
    let ann = Caller::person("ann", "inbox on laptop").unwrap();
    let answer = ann.value(AnswerValue::Text(value.into()));
    Offer::new(&question.round().unwrap(), question.hash().unwrap(), None, answer, false)
}

fn apply(world: &World, offer: &Offer) -> Verdict {
    offered::apply(&open(world), &askbox::mailbox::trust::Policy::default(), offer, Below::NoAgent).unwrap()
}

fn asked(more: &[&str]) -> World {
    let world = World::at_home();
    world.ok("ask-post", &[&["-w", "w", "Merge?", "-o", "merge=A", "-o", "drop=B"], more].concat());
    world
}

#[test]
fn of_many_answers_from_here_and_elsewhere_one_counts() {
    for n in 0..20 {
        let world = asked(&[]);
        let offers: Vec<_> = (0..4).map(|_| offer(&world, "merge")).collect();
        let (world, round) = (&world, offers[0].round());
        let local = || {
            let bob = Caller::person("bob", "ask-answer").unwrap();
            accept::answer(&open(world), &w(), Decision::by(&bob, Some(round.question)), bob.value(AnswerValue::Text("drop".into())))
                .is_ok()
        };
        let (verdicts, local) = std::thread::scope(|scope| {
            // Each offer comes twice, as after a lost reply.
            let sent: Vec<_> =
                offers.iter().flat_map(|offer| [offer, offer]).map(|offer| scope.spawn(move || apply(world, offer))).collect();
            let local = scope.spawn(local);
            (sent.into_iter().map(|sent| sent.join().unwrap()).collect::<Vec<_>>(), local.join().unwrap())
        });
        let winner = world.document("answered/w.json")["answer"]["offer_id"].as_str().map(str::to_owned);
        assert_eq!(local, winner.is_none(), "attempt {n}");
        for verdict in verdicts {
            let is_winner = winner.as_deref() == Some(verdict.offer_id.to_string().as_str());
            assert_eq!(verdict.decided, if is_winner { Decided::Accepted } else { Decided::Lost }, "attempt {n}: {verdict:?}");
        }
        assert_eq!(world.audit("w"), ["posted", "answered"]);
    }
}

mod promises {
    use super::*;

    #[test]
    fn an_offer_that_comes_again_gets_the_same_verdict() {
        let world = asked(&[]);
        let offer = offer(&world, "merge");
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted);
        let answered = world.document("answered/w.json");
        assert_eq!(
            (answered["answer"]["offer_id"].as_str(), answered["answer"]["channel"].as_str()),
            (Some(offer.offer_id.to_string().as_str()), Some("inbox on laptop"))
        );
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted);
        world.ok("relaunch", &["w"]);
        assert_eq!(world.closed("w", "delivered", 1).len(), 1);
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted);
        world.ok("ask-post", &["-w", "w", "Next?", "-o", "merge=A"]);
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted, "and nothing is answered by it twice");
        assert!(world.in_mailbox("pending/w.json").exists());
        assert_eq!(world.audit("w").iter().filter(|event| *event == "answered").count(), 1);
    }

    #[test]
    fn who_comes_second_is_told_who_won() {
        let world = asked(&[]);
        let (late, other) = (offer(&world, "merge"), offer(&world, "drop"));
        world.ok("ask-answer", &["w", "drop", "--by", "bob"]);
        let verdict = apply(&world, &late);
        assert_eq!(verdict.decided, Decided::Lost);
        assert!(verdict.said.contains("answered by bob through ask-answer"), "{}", verdict.said);
        world.ok("relaunch", &["w"]);
        assert_eq!(apply(&world, &other).decided, Decided::Lost, "the same words are no excuse");
        world.ok("ask-post", &["-w", "w", "Next?", "-o", "merge=A"]);
        assert_eq!(apply(&world, &late).decided, Decided::Lost, "the offer is not taken for the next question");
        assert!(world.in_mailbox("pending/w.json").exists());
    }

    #[test]
    fn an_undone_answer_stays_undone_when_its_offer_comes_again() {
        let world = asked(&[]);
        let offer = offer(&world, "merge");
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted);
        undo::undo(&open(&world), &w(), None, "bob").unwrap();
        let verdict = apply(&world, &offer);
        assert_eq!((verdict.decided, verdict.said.as_str()), (Decided::Lost, "your answer was taken back by bob"));
        assert!(world.in_mailbox("pending/w.json").exists() && !world.in_mailbox("answered/w.json").exists());
        assert_eq!(apply(&world, &self::offer(&world, "drop")).decided, Decided::Accepted, "another answer counts");
    }

    #[test]
    fn an_offer_counts_only_for_the_text_that_was_shown() {
        let world = asked(&[]);
        let offer = offer(&world, "merge");
        let file = world.in_mailbox("pending/w.json");
        let text = std::fs::read_to_string(&file).unwrap().replace("Merge?", "Drop the database?");
        std::fs::write(&file, text).unwrap();
        let verdict = apply(&world, &offer);
        assert_eq!(verdict.decided, Decided::Changed);
        assert!(world.in_mailbox("pending/w.json").exists() && !world.in_mailbox("answered/w.json").exists());
    }

    #[test]
    fn an_offer_counts_only_for_all_that_was_shown() {
        let world = asked(&["--context", "Both say the same."]);
        let question = read_question::pending(&open(&world), &w()).unwrap().typed;
        let shown = askbox::mailbox::documents::fields::shown_hash::Shown::of_question(&question).unwrap();
        let offer = Offer { shown: Some(shown), ..offer(&world, "merge") };
        // The hash of the text does not tell.
        world.edit_pending("w", "Both say the same.", "One is the law.");
        assert_eq!(apply(&world, &offer).decided, Decided::Changed);
        world.edit_pending("w", "One is the law.", "Both say the same.");
        assert_eq!(apply(&world, &offer).decided, Decided::Accepted);
    }

    #[test]
    fn an_unfit_offer_is_invalid_and_a_late_one_is_kept_once() {
        let world = asked(&["--timeout", "1h"]);
        let verdict = apply(&world, &offer(&world, "merg"));
        assert_eq!(verdict.decided, Decided::Invalid);
        assert!(verdict.said.contains("merg") && verdict.hint.is_some(), "{verdict:?}");
        for by in ["", "default", " Event"] {
            let mut offer = offer(&world, "merge");
            offer.answer.by = by.into();
            assert_eq!(apply(&world, &offer).decided, Decided::Invalid, "no machine answers as {by:?}");
        }
        let offer = offer(&world, "merge");
        world.ok("ask-answer", &["cancel", "w"]);
        for _ in 0..3 {
            let verdict = apply(&world, &offer);
            assert_eq!(verdict.decided, Decided::Closed);
            assert!(verdict.said.contains("withdrawn"), "{}", verdict.said);
        }
        assert_eq!(world.closed("w", "withdrawn", 1)[0]["late_answers"].as_array().unwrap().len(), 1);
    }
}
