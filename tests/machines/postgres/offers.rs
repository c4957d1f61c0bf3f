//! Offers and their verdicts.

use super::host::{Person, asked, laptop};
use crate::support::{in_parallel, needs, until};

#[test]
fn an_offer_sent_again_counts_once_and_one_taken_back_never() {
    needs!("postgres");
    let (database, host, mut ann) = asked();
    let offer = ann.offer_for("laptop", "docs", &"b".into());
    let id = ann.send("laptop", &offer).expect("taken");
    assert_eq!(ann.send("laptop", &offer).expect("taken again"), id);
    host.sync();
    assert_eq!(ann.told(&id).expect("a verdict").outcome, "accepted");
    // As if the database had lost the verdict: it was restored from a backup.
    let again = "UPDATE askbox.offer SET outcome = NULL, said = NULL, decided_at = NULL";
    database.connect("owner").batch_execute(again).expect("the owner may");
    host.sync();
    assert_eq!(ann.told(&id).expect("a verdict").outcome, "accepted");
    assert_eq!(host.world.audit("docs"), ["posted", "answered"]);
    // A person takes the answer back; the same offer must not bring it again.
    host.world.ok("ask-answer", &["undo", "docs"]);
    database.connect("owner").batch_execute(again).expect("the owner may");
    host.sync();
    assert_eq!(ann.told(&id).expect("a verdict").outcome, "lost");
    assert!(host.world.in_mailbox("pending/docs.json").exists());
    ann.sees_state("laptop", "docs", "pending");
    let second = ann.offer("laptop", "docs", "a");
    host.sync();
    assert_eq!(ann.told(&second).expect("a verdict").outcome, "accepted");
    ann.sees_state("laptop", "docs", "answered");
}

#[test]
fn hostile_offers_are_refused_and_hold_nothing_up() {
    needs!("postgres");
    let (_database, host, mut ann) = asked();
    let good = ann.offer_for("laptop", "docs", &"a".into());
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let docs = ["", "[]", "nonsense", "{}", r#"{"offer_id": 7}"#, &deep, &good.to_string()];
    let mut ids = Vec::new();
    for (n, doc) in docs.iter().enumerate() {
        // The last one is a good offer in a row that is not its own.
        let id = uuid::Uuid::now_v7().to_string();
        let insert = "INSERT INTO askbox.offer (offer_id, host, workflow_id, question_id, question_hash, doc)
            VALUES ($1::text::uuid, 'laptop', $2, $1::text::uuid, $1::text::uuid, $3)";
        ann.client.execute(insert, &[&id, &format!("../../x{n}\u{1b}[31m"), doc]).expect("taken");
        ids.push(id);
    }
    let last = ann.send("laptop", &good).expect("taken");
    host.sync();
    for id in &ids {
        assert_eq!(ann.told(id).expect("a verdict").outcome, "invalid");
    }
    assert_eq!(ann.told(&last).expect("a verdict").outcome, "accepted");
}

#[test]
fn many_people_at_once_have_one_winner_each_round() {
    needs!("postgres");
    let (database, host, _) = laptop();
    let _sync = host.serve();
    host.ask("docs");
    Person::new(&database, "ann").sees_state("laptop", "docs", "pending");
    let people: Vec<&str> = ["ann", "bob"].into_iter().cycle().take(8).collect();
    let told = std::sync::Mutex::new(Vec::new());
    in_parallel(8, &people, |name| {
        let mut person = Person::new(&database, name);
        let offer = person.offer("laptop", "docs", if *name == "ann" { "a" } else { "b" });
        told.lock().unwrap().push((offer.clone(), person.hears(&offer).outcome));
    });
    let told = told.into_inner().unwrap();
    let accepted: Vec<_> = told.iter().filter(|(_, outcome)| outcome == "accepted").collect();
    assert_eq!(accepted.len(), 1, "{told:?}");
    assert!(told.iter().all(|(_, outcome)| ["accepted", "lost"].contains(&outcome.as_str())), "{told:?}");
    assert_eq!(host.world.document("answered/docs.json")["answer"]["offer_id"], accepted[0].0.as_str());
}

mod promises {
    use super::*;

    #[test]
    fn an_offer_is_accepted_by_its_host_which_relaunches() {
        needs!("postgres");
        let (_database, host, mut ann) = laptop();
        let watcher = host.world.watch();
        let _sync = host.serve();
        host.ask("docs");
        ann.sees_state("laptop", "docs", "pending");
        let offer = ann.offer("laptop", "docs", "b");
        assert_eq!(ann.hears(&offer).outcome, "accepted");
        let round = host.world.closed("docs", "delivered", 1).remove(0);
        let answer = &round["answer"];
        assert_eq!((&answer["value"], &answer["by"], &answer["channel"]), (&"b".into(), &"ann".into(), &"test".into()));
        assert_eq!(answer["offer_id"], offer.as_str());
        ann.sees_state("laptop", "docs", "delivered");
        assert_eq!((host.world.logged("shown "), host.world.logged("violation ")), (1, 0));
        watcher.stop();
    }

    #[test]
    fn of_two_people_here_and_elsewhere_one_wins() {
        needs!("postgres");
        let (_database, host, mut ann) = laptop();
        let _sync = host.serve();
        let mut winners = [0, 0];
        for n in 0..12 {
            let workflow = format!("race-{n}");
            host.ask(&workflow);
            ann.sees_state("laptop", &workflow, "pending");
            let offer = ann.offer_for("laptop", &workflow, &"b".into());
            // The host looks when a file changes: a look falls together with the local answer.
            let id = ann.send("laptop", &offer).expect("the offer is taken");
            if n % 2 == 1 {
                until("the host has looked", || n % 4 == 3 || ann.told(&id).is_some());
            }
            let local = host.world.run("ask-answer", &[&workflow, "a", "--by", "bob"]);
            let told = ann.hears(&id);
            let answered = host.world.document(&format!("answered/{workflow}.json"))["answer"].clone();
            match local.code() {
                0 => {
                    assert_eq!((answered["value"].as_str(), told.outcome.as_str()), (Some("a"), "lost"), "{told:?}");
                    assert!(told.said.contains("answered by bob through ask-answer"), "{told:?}");
                    winners[0] += 1;
                }
                4 => {
                    assert_eq!((answered["value"].as_str(), told.outcome.as_str()), (Some("b"), "accepted"), "{told:?}");
                    assert!(local.stderr.contains("answered by ann through test"), "{}", local.stderr);
                    winners[1] += 1;
                }
                other => panic!("{other}: {}", local.words()),
            }
            ann.sees_state("laptop", &workflow, "answered");
        }
        eprintln!("won here: {}, elsewhere: {}", winners[0], winners[1]);
        assert!(winners[1] > 0, "nobody elsewhere ever won");
    }

    #[test]
    fn every_offer_gets_the_verdict_that_it_deserves() {
        needs!("postgres");
        let (_database, host, mut ann) = laptop();
        for workflow in ["changed", "unfit", "withdrawn", "expired", "declined", "nobody", "other"] {
            let more: &[&str] = if workflow == "expired" { &["--timeout", "1ms", "--default", "a"] } else { &[] };
            host.world.ok("ask-post", &[&["-w", workflow, "Merge?", "-o", "a=A", "-o", "b=B"], more].concat());
        }
        host.sync();
        let mut offers = std::collections::BTreeMap::new();
        let mut send = |ann: &mut Person, workflow: &'static str, change: &dyn Fn(&mut serde_json::Value)| {
            let mut offer = ann.offer_for("laptop", workflow, &"a".into());
            change(&mut offer);
            offers.insert(workflow, ann.send("laptop", &offer).expect("the offer is taken"));
        };
        send(&mut ann, "changed", &|offer| offer["question_hash"] = uuid::Uuid::nil().to_string().into());
        send(&mut ann, "unfit", &|offer| offer["answer"]["value"] = "aa".into());
        send(&mut ann, "withdrawn", &|_| ());
        send(&mut ann, "expired", &|_| ());
        send(&mut ann, "declined", &|offer| offer["answer"] = serde_json::json!({"outcome": "declined", "by": "ann", "channel": "test"}));
        send(&mut ann, "nobody", &|offer| offer["answer"]["by"] = "default".into());
        send(&mut ann, "other", &|offer| offer["answer"]["by"] = "bob".into());
        host.world.ok("ask-answer", &["cancel", "withdrawn"]);
        let watcher = host.world.watch();
        until("the default has applied", || host.world.only("closed", "expired.").is_some());
        watcher.stop();
        host.sync();
        let told: Vec<_> = offers.iter().map(|(workflow, offer)| (*workflow, ann.told(offer).expect("a verdict"))).collect();
        let outcomes: Vec<_> = told.iter().map(|(workflow, told)| (*workflow, told.outcome.as_str())).collect();
        let expected = [
            ("changed", "changed"),
            ("declined", "accepted"),
            ("expired", "closed"),
            ("nobody", "invalid"),
            ("other", "accepted"),
            ("unfit", "invalid"),
            ("withdrawn", "closed"),
        ];
        assert_eq!(outcomes, expected, "{told:#?}");
        let late = host.world.json(host.world.only("closed", "expired.").expect("it is closed"));
        assert_eq!(late["late_answers"][0]["by"], "ann", "a late answer is kept: {late}");
        // A name that is not the role's is told apart.
        assert_eq!(host.world.document("answered/other.json")["answer"]["by"], "bob (role ann)");
        let unfit = &told.iter().find(|(workflow, _)| *workflow == "unfit").expect("told").1;
        assert!(unfit.said.contains('a') && host.world.in_mailbox("pending/unfit.json").exists(), "{unfit:?}");
    }
}
