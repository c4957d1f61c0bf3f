//! The files that askbox writes itself. A person, an earlier version or a failing disk may have changed them.

use std::time::Duration;

use askbox::agent::events::Event;
use askbox::document;
use askbox::mailbox::audit::Entry;
use askbox::mailbox::documents::awaited::Await;
use askbox::mailbox::documents::awaited::Workflow;
use askbox::run::activity::live::Live;
use askbox::run::attempt::record::Run;
use askbox::run::breaker::state_machine::{Breaker, BreakerPermit, Settings};
use askbox::run::money::costs::Booking;
use askbox::run::story::View;
use askbox::run::supervise::stop::Stop;
use askbox::time;
use askbox::watch::relaunch::event_words;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::promises;

/// A record of any kind: each kind of reader gets the bytes.
pub fn records(bytes: &[u8]) {
    if let Some(run) = promises::document::<Run>(bytes, Run::eq) {
        let run = run.typed;
        assert_eq!(run.round().workflow, run.workflow_id);
        let _ = (run.token(), run.is_throttled());
    }
    promises::document::<Workflow>(bytes, Workflow::eq);
    promises::document::<Await>(bytes, Await::eq);
    let same_stop = |a: &Stop, b: &Stop| (a.at, &a.by, a.grace, a.report, a.now) == (b.at, &b.by, b.grace, b.report, b.now);
    if let Some(stop) = promises::document::<Stop>(bytes, same_stop) {
        promises::is_one_safe_line(&stop.typed.request(Duration::from_secs(1)).why);
    }
    if let Some(breaker) = promises::document::<Breaker>(bytes, Breaker::eq) {
        goes_on(breaker.typed);
    }
    line::<Booking>(bytes, Booking::eq);
    line::<Entry>(bytes, |a, b| (a.at, &a.event, &a.by, &a.why) == (b.at, &b.event, &b.by, &b.why));
    if let Some(event) = line::<Event>(bytes, Event::eq) {
        event_is_shown(&event);
    }
}

/// A line of a log that can be read is written as one line with the same meaning.
fn line<T: DeserializeOwned + Serialize + std::fmt::Debug>(bytes: &[u8], same: fn(&T, &T) -> bool) -> Option<T> {
    let record: T = document::json(bytes)?;
    let text = serde_json::to_string(&record).expect("a record is JSON");
    assert!(!text.contains('\n'), "{text}");
    let again: T = document::json(text.as_bytes()).unwrap_or_else(|| panic!("what was written cannot be read: {text}"));
    assert!(same(&record, &again), "{record:?}\n{again:?}");
    Some(record)
}

/// An event in words: one or more safe lines, and a view of the run.
pub fn event_is_shown(event: &Event) {
    promises::is_shown_safely(&event_words::words(event, event_words::Clock::Utc));
    let mut live = Live::default();
    live.apply(event);
    live.apply(event);
    let view = View::of_live(&live, event.at);
    promises::is_one_safe_line(&view.words);
    promises::is_one_safe_line(&view.last_words);
}

/// The breaker decides in every state, even in one that a wrong clock wrote. A delivery opens the queue.
fn goes_on(breaker: Breaker) {
    let now = time::parse_rfc3339("2026-11-22T10:15:00Z").expect("a time");
    let settings = Settings { failures: 3, window: Duration::from_secs(600), pause: Duration::from_secs(60) };
    let _ = (breaker.permit(settings, now), breaker.why().map(str::len), breaker.probe().is_some());
    for later in [0, 60, 86_400, 366 * 86_400] {
        let now = now + chrono::TimeDelta::seconds(later);
        let mut breaker = breaker.clone();
        let _ = breaker.permit(settings, now);
        breaker.launched("w/q/1", now);
        breaker.failed("w/q/1", now, settings, now);
        breaker.ended("w/q/1", now);
        breaker.delivered(now, now);
        assert_eq!(breaker.permit(settings, now), BreakerPermit::Any, "after a delivery");
    }
}
