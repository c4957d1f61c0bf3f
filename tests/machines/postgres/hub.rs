//! The people's side: all hosts' questions in one place, and offers to them.

use std::time::Duration;

use super::cluster::{Cluster, Database};
use super::host::{Host, asked};
use crate::support::{needs, until};
use askbox::address::HostName;
use askbox::config::{Config, PeerConfig};
use askbox::mailbox::documents::offer::{Decided, Offer, Verdict};
use askbox::mailbox::who::caller::Caller;
use askbox::mailbox::{Answer, AnswerValue};
use askbox::peers::{HostView, Peers, Progress, Reach};

/// The peers that a surface of ann's has.
pub fn hub(database: &Database) -> Peers {
    let mut config = Config::default();
    config.peers.insert("team".into(), PeerConfig { postgres: database.address("ann"), ..PeerConfig::default() });
    let peers = askbox::peers::database::configured(&config);
    Peers::open(peers, None, || {}).expect("a hub")
}

fn view(hub: &Peers, host: &str) -> Option<HostView> {
    hub.view().into_iter().find(|view| view.host.as_str() == host)
}

pub fn offer_to(hub: &Peers, host: &str, workflow: &str) -> Option<Offer> {
    let question = hub.question(&host.parse().unwrap(), &workflow.parse().unwrap())?;
    let hash = question.asked.as_ref().ok()?.hash;
    let answer: Answer = Caller::person("ann", "inbox").unwrap().value(AnswerValue::Text("b".into()));
    Some(Offer::new(&question.round()?, hash, None, answer, false))
}

/// Waits for the verdict about an offer. What was not sent in time, a person sends again: it is the same offer.
#[track_caller]
fn decided(hub: &Peers, host: &HostName, offer: &Offer) -> Verdict {
    hub.offer(host, offer.clone()).expect("offered");
    until("a verdict", || match hub.outcome(offer.offer_id, Duration::from_secs(1)) {
        Progress::Decided(verdict) => Some(verdict),
        Progress::NotSent(_) | Progress::Unconfirmed(_) => {
            hub.offer(host, offer.clone()).expect("offered again");
            None
        }
        Progress::UnderWay | Progress::Sent => None,
    })
}

#[test]
fn an_offer_is_sent_and_no_more_until_its_host_has_decided() {
    needs!("postgres");
    let (database, host, _) = asked();
    let hub = hub(&database);
    until("the question is seen", || offer_to(&hub, "laptop", "docs").is_some());
    let offer = offer_to(&hub, "laptop", "docs").expect("it is seen");
    hub.offer(&"laptop".parse().unwrap(), offer.clone()).expect("offered");
    until("it is sent", || hub.progress(offer.offer_id) == Some(Progress::Sent));
    // Somebody at the host is first.
    host.world.ok("ask-answer", &["docs", "a", "--by", "bob"]);
    assert_eq!(hub.progress(offer.offer_id), Some(Progress::Sent));
    host.sync();
    let outcome = hub.outcome(offer.offer_id, Duration::from_secs(60));
    let Progress::Decided(verdict) = &outcome else { panic!("{outcome:?}") };
    assert!(verdict.decided == Decided::Lost && verdict.said.contains("answered by bob"), "{verdict:?}");
    let round = offer.question_id;
    let fate = until("its end is told", || hub.fate(&"laptop".parse().unwrap(), &"docs".parse().unwrap(), round));
    assert!(format!("{:?}", fate.said).contains("by bob through ask-answer"), "{fate:?}");
}

#[test]
fn a_hub_without_its_database_shows_what_it_knew() {
    needs!("postgres");
    let database = Database::in_cluster(std::sync::Arc::new(Cluster::new()));
    let host = Host::new(&database, "laptop");
    host.ask("docs");
    let _sync = host.serve();
    let hub = hub(&database);
    until("the question is seen", || offer_to(&hub, "laptop", "docs").is_some());
    let offer = offer_to(&hub, "laptop", "docs").expect("it is seen");
    database.cluster.crash();
    until("the hub knows", || view(&hub, "laptop").is_some_and(|view| view.is_stale()));
    let view_now = view(&hub, "laptop").expect("known");
    assert!(view_now.questions.len() == 1 && view_now.as_of.is_some(), "{view_now:?}");
    // An offer is tried as long as the link is cut, and arrives once.
    hub.offer(&"laptop".parse().unwrap(), offer.clone()).expect("offered");
    host.ask("new");
    database.cluster.start();
    let verdict = decided(&hub, &"laptop".parse().unwrap(), &offer);
    assert_eq!(verdict.decided, Decided::Accepted, "{verdict:?}");
    until("the new question is seen", || view(&hub, "laptop").is_some_and(|view| !view.is_stale() && view.questions.len() == 1));
}

#[test]
fn a_host_that_is_away_is_shown_with_the_age_of_what_is_known() {
    needs!("postgres");
    let (database, host, mut ann) = asked();
    database.connect("owner").batch_execute("UPDATE askbox.host SET seen_at = now() - interval '2 hours'").expect("the owner may");
    let hub = hub(&database);
    let view = until("it is seen", || view(&hub, "laptop").filter(|view| matches!(view.reach, Reach::Unreachable { .. })));
    let age = askbox::time::since(view.as_of.expect("an age"));
    assert!(age > Duration::from_secs(7000) && view.questions.len() == 1, "{view:?}");
    let offer = ann.offer("laptop", "docs", "b");
    host.sync();
    assert_eq!(ann.hears(&offer).outcome, "accepted");
}

mod promises {
    use super::*;

    #[test]
    fn the_questions_of_all_hosts_are_answered_in_one_place() {
        needs!("postgres");
        let database = Database::new();
        let hosts = [Host::new(&database, "laptop"), Host::new(&database, "build"), Host::new(&database, "tower")];
        hosts.iter().for_each(|host| drop(host.ask("docs")));
        let _processes: Vec<_> = hosts.iter().map(Host::serve).collect();
        let hub = hub(&database);
        for host in &hosts {
            until("its question is seen", || view(&hub, host.name).is_some_and(|view| view.questions.len() == 1 && !view.is_stale()));
        }
        for host in &hosts {
            let name: HostName = host.name.parse().unwrap();
            let offer = offer_to(&hub, host.name, "docs").expect("it is seen");
            let verdict = decided(&hub, &name, &offer);
            assert_eq!(verdict.decided, Decided::Accepted, "{verdict:?}");
            assert_eq!(host.world.document("answered/docs.json")["answer"]["offer_id"], offer.offer_id.to_string());
            until("it waits no longer", || view(&hub, host.name).is_some_and(|view| view.questions.is_empty()));
        }
    }
}
