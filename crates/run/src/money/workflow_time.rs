//! The times when a workflow was at work, without reading the records of thousands of past rounds: `costs/times/W.json` keeps those of past
//! rounds, as `past_rounds` describes it. Runs of different workflows may be live at the same time, so the spans are kept, and not their
//! sum.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run, RunState};
use crate::money::costs;
use crate::money::past_rounds::{self, Sum};
use askbox_mailbox::{Lock, Mailbox, Result, RoundId, Time, WorkflowId, disk, time};

/// From when to when, in milliseconds since 1970.
type Span = (i64, i64);

/// The path of the file of a workflow.
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    costs::folder(mailbox).join("times").join(workflow.file_name())
}

/// The time when at least one of these workflows was at work. No run counts for more than `longest`: a longer span means that the clock was
/// set forward.
pub fn of_workflows(mailbox: &Mailbox, workflows: &[WorkflowId], longest: Duration) -> Result<Duration> {
    let nothing = AtWork { longest_ms: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX), spans: Vec::new() };
    let mut spans = Vec::new();
    for workflow in workflows {
        spans.extend(past_rounds::sum(mailbox, workflow, &path(mailbox, workflow), &nothing)?.spans);
    }
    let at_work = merged(spans).into_iter().map(|(begin, end)| end.abs_diff(begin)).fold(0, u64::saturating_add);
    Ok(Duration::from_millis(at_work))
}

/// The times when a workflow was at work.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AtWork {
    /// The limit for each run that counted for these times.
    longest_ms: u64,
    /// In no order. They may overlap.
    spans: Vec<Span>,
}

impl Sum for AtWork {
    const LONGEST: u64 = 4 << 20;

    fn add(&mut self, mailbox: &Mailbox, round: &RoundId) -> Result<()> {
        for run in record::read_those(mailbox, round, record::attempts(mailbox, round)?) {
            self.spans.extend(span(mailbox, &run?)?.map(|span| cut(span, self.longest_ms)));
        }
        Ok(())
    }

    fn follows(&self, nothing: &Self) -> bool {
        self.longest_ms == nothing.longest_ms
    }
}

/// The span from an attempt's launch to its end. If its supervisor died, the span ends with the last event, because recovery may have
/// recorded the end days later.
fn span(mailbox: &Mailbox, run: &Run) -> Result<Option<Span>> {
    let Some(begin) = run.started_at else { return Ok(None) };
    let to = |end: Time| (begin.timestamp_millis(), end.timestamp_millis());
    if run.state == RunState::Running && Lock::is_held(&record::lock_path(mailbox, &run.round()))? {
        return Ok(Some(to(time::now())));
    }
    let last_event = disk::metadata(run.folder(mailbox).join("events.jsonl")).and_then(|m| m.modified()).ok().map(Time::from);
    Ok(last_event.into_iter().chain(run.ended_at).min().map(to))
}

fn cut((begin, end): Span, longest_ms: u64) -> Span {
    (begin, end.min(begin.saturating_add_unsigned(longest_ms)))
}

/// The times that at least one of the spans covers, in their order.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    // A span of negative length means that the clock was set back.
    spans.retain(|(begin, end)| begin < end);
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for (begin, end) in spans {
        match merged.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::Delivery;
    use askbox_mailbox::Folder;
    use askbox_mailbox::id::QuestionId;
    use askbox_mailbox::listing::recent_rounds;

    #[test]
    fn overlapping_runs_count_once_and_sleep_does_not_count() {
        let length = |spans: &[Span]| merged(spans.to_vec()).iter().map(|(begin, end)| end - begin).sum::<i64>();
        assert_eq!(length(&[]), 0);
        // Two that overlap, a long sleep, then one within another.
        assert_eq!(length(&[(0, 10), (2, 14), (100_000, 100_005), (100_003, 100_004)]), 19);
        // A span of negative length, because the clock was set back.
        assert_eq!(length(&[(50, 40), (0, 3)]), 3);
    }

    #[test]
    fn a_clock_set_forward_counts_at_most_the_longest_run() {
        assert_eq!(cut((0, 10), 3600), (0, 10));
        assert_eq!(cut((0, 315_360_000), 3600), (0, 3600));
    }

    #[test]
    fn the_spans_come_back_from_their_file() {
        let spans = vec![(1_700_000_000_000, 1_700_000_005_000), (1_700_000_009_000, 1_700_000_009_001)];
        let json = serde_json::to_string(&AtWork { longest_ms: 7, spans: spans.clone() }).unwrap();
        assert_eq!(json, r#"{"longest_ms":7,"spans":[[1700000000000,1700000005000],[1700000009000,1700000009001]]}"#);
        assert_eq!(serde_json::from_str::<AtWork>(&json).unwrap().spans, spans);
        // A damaged file.
        let damaged = serde_json::from_str::<AtWork>(r#"{"longest_ms":7,"spans":[[9223372036854775807,-5]]}"#).unwrap();
        assert_eq!(of_length(&damaged.spans), 0);
    }

    fn of_length(spans: &[Span]) -> u64 {
        merged(spans.to_vec()).iter().map(|(begin, end)| end.abs_diff(*begin)).sum()
    }

    #[test]
    fn times_of_past_rounds_are_read_once_and_new_ones_count() {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let workflow: WorkflowId = "w".parse().unwrap();
        let (mut rounds, mut at) = (Vec::new(), time::now() - Duration::from_secs(100_000));
        // Each is at work for two seconds, and then nobody is for three.
        let mut work = |rounds: &mut Vec<RoundId>| {
            let round = RoundId { workflow: workflow.clone(), question: QuestionId::generate() };
            recent_rounds::make_folder(&mailbox, &round).unwrap();
            let mut run = Run::first(&round, Delivery::Launch.claimant());
            (run.started_at, run.ended_at) = (Some(at), Some(at + Duration::from_secs(2)));
            at += Duration::from_secs(5);
            record::create(&mailbox, &run).unwrap();
            let document = serde_json::json!({ "workflow_id": "w", "question_id": round.question, "question": "?",
                "timestamp": time::rfc3339(time::now()), "closed": { "state": "delivered", "at": time::rfc3339(time::now()), "by": "test" } });
            std::fs::write(mailbox.round(Folder::Closed, &round), document.to_string()).unwrap();
            rounds.push(round);
        };
        let spent = |longest: u64| of_workflows(&mailbox, std::slice::from_ref(&workflow), Duration::from_secs(longest));
        for n in 1..=60 {
            work(&mut rounds);
            assert_eq!(spent(3600).unwrap().as_secs(), 2 * n);
        }
        // Another limit for a run is counted anew.
        assert_eq!(spent(1).unwrap().as_secs(), 60);
        assert_eq!(spent(3600).unwrap().as_secs(), 120);
        for round in &rounds[..20] {
            std::fs::write(record::folder(&mailbox, round, 1).join("run.json"), "{").unwrap();
        }
        for n in 61..=100 {
            work(&mut rounds);
            assert_eq!(spent(3600).unwrap().as_secs(), 2 * n, "the past is not read again");
        }
        std::fs::write(path(&mailbox, &workflow), "{").unwrap();
        assert!(spent(3600).is_err(), "without its file all is read");
    }
}
