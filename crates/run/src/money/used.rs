//! What a workflow has used, money and time, without reading the records of thousands of past rounds.
//!
//! A [derived file](askbox_mailbox::derived) of the folder `runs/W` keeps the sum of the rounds that are not among the newest ones of the
//! workflow ([`recent_rounds`]). All of these are closed, so what they add does not change. The others are read each time.
//!
//! The file counts only if the folders that came into `runs/W` since are exactly the newest rounds that it does not know. btrfs and other
//! filesystems that do not count the folders of a folder have no such file.
//!
//! `costs/workflows/W.json` keeps the cost. It is not used if a round was pruned with its cost. `costs/times/W.json` keeps the times. Runs of
//! different workflows may be live at the same time, so the spans are kept, and not their sum.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run, RunState};
use crate::money::costs::{self, is_cost};
use askbox_mailbox::derived::{self, Derived, FolderState};
use askbox_mailbox::{
    Lock, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId, WorkflowLock, disk, list, recent_rounds, time, workflows,
};

/// A sum over rounds.
trait Sum: Clone + Serialize + DeserializeOwned {
    /// The longest file, in bytes.
    const LONGEST: u64;

    /// Adds a round.
    fn add(&mut self, mailbox: &Mailbox, round: &RoundId) -> Result<()>;

    /// True if this sum was begun with `nothing`, so that it still counts.
    fn follows(&self, nothing: &Self) -> bool;
}

/// A sum as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    /// The sum of all rounds but the `others`.
    #[serde(flatten)]
    sum: S,
    /// The newest rounds at that time.
    others: HashSet<QuestionId>,
}

impl<S: Sum> Derived for Kept<S> {
    type Source = FolderState;
    const LONGEST: u64 = S::LONGEST;
}

/// The sum of all rounds that have a folder in `runs/W`, begun with `nothing`. `path` is the file.
fn sum_up<S: Sum>(mailbox: &Mailbox, workflow: &WorkflowId, path: &Path, nothing: &S) -> Result<S> {
    let runs = mailbox.runs_of_workflow(workflow);
    // The first question of a workflow without this folder waits.
    let Some(now) = FolderState::of(&runs) else { return Ok(nothing.clone()) };
    let recent = recent_rounds::recent(mailbox, workflow);
    let newest: HashSet<QuestionId> = recent.rounds.into_iter().map(|round| round.question).collect();
    let mut sum = nothing.clone();
    if !recent.are_all {
        let came_since = |others: &HashSet<QuestionId>| newest.difference(others).count() as u64;
        let counts =
            |(then, kept): &(FolderState, Kept<S>)| kept.sum.follows(nothing) && now.came_since(then) == Some(came_since(&kept.others));
        let kept = derived::read::<Kept<S>>(path).filter(counts).map(|(_, kept)| kept);
        let is_known = kept.as_ref().is_some_and(|kept| kept.others == newest);
        let left: Vec<QuestionId> = match kept {
            Some(kept) => {
                sum = kept.sum;
                kept.others.difference(&newest).copied().collect()
            }
            None => list::rounds_of(mailbox, workflow).map(|round| round.question).filter(|question| !newest.contains(question)).collect(),
        };
        add(&mut sum, mailbox, workflow, &left)?;
        // A folder that came during the look may be in both sums, or in none.
        if !is_known && now.folders().is_some() && FolderState::of(&runs) == Some(now) {
            derived::write(path, &now, &Kept { sum: sum.clone(), others: newest.clone() });
        }
    }
    add(&mut sum, mailbox, workflow, &newest)?;
    Ok(sum)
}

fn add<'a>(sum: &mut impl Sum, mailbox: &Mailbox, workflow: &WorkflowId, rounds: impl IntoIterator<Item = &'a QuestionId>) -> Result<()> {
    rounds.into_iter().try_for_each(|question| sum.add(mailbox, &RoundId { workflow: workflow.clone(), question: *question }))
}

/// The path of the file with a workflow's cost.
pub fn cost_path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    costs::folder(mailbox).join("workflows").join(workflow.file_name())
}

/// US dollars of all rounds of a workflow, pruned ones included.
pub fn cost(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<f64> {
    let (mut sum, counted) = workflows::read(mailbox, workflow)?.map_or((0.0, Vec::new()), |d| (d.typed.pruned_cost_usd, d.typed.pruned));
    if counted.is_empty() {
        let nothing = Cost { pruned_usd: sum, usd: 0.0 };
        return Ok(sum + sum_up(mailbox, workflow, &cost_path(mailbox, workflow), &nothing)?.usd);
    }
    // Some rounds are being pruned.
    for round in list::rounds_of(mailbox, workflow).filter(|r| !counted.contains(&r.question)) {
        sum += costs::of_round(mailbox, &round)?.unwrap_or(0.0);
    }
    Ok(sum)
}

/// Adds the cost of rounds that are about to be pruned to the workflow's record, so that they still count against its limit. The record
/// keeps the ids of these rounds while they exist, so that a second call does not count them twice.
pub fn carry(mailbox: &Mailbox, lock: &WorkflowLock, rounds: &[RoundId]) -> Result<()> {
    disk::untouch(&cost_path(mailbox, lock.workflow()))?;
    let counted = workflows::read(mailbox, lock.workflow())?.map_or_else(Vec::new, |d| d.typed.pruned);
    let (mut sum, mut ids) = (0.0, Vec::new());
    for round in rounds.iter().filter(|r| !counted.contains(&r.question)) {
        if let Some(cost) = costs::of_round(mailbox, round)?.filter(|c| *c > 0.0) {
            sum += cost;
            ids.push(round.question);
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    let is_there =
        |question: &QuestionId| disk::exists(mailbox.runs_of(&RoundId { workflow: lock.workflow().clone(), question: *question }));
    workflows::update(mailbox, lock, |w| {
        w.pruned.retain(is_there);
        w.pruned.extend(ids);
        w.pruned_cost_usd += sum;
    })
    .map(drop)
}

/// A sum of costs as its file holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cost {
    /// The cost of pruned rounds in the workflow's record.
    pruned_usd: f64,
    /// US dollars of the rounds.
    usd: f64,
}

impl Sum for Cost {
    const LONGEST: u64 = 64 << 10;

    fn add(&mut self, mailbox: &Mailbox, round: &RoundId) -> Result<()> {
        self.usd += costs::of_round(mailbox, round)?.unwrap_or(0.0);
        Ok(())
    }

    fn follows(&self, nothing: &Self) -> bool {
        // Anybody who can write to the mailbox can write a hint. A negative one would raise the limits.
        self.pruned_usd.to_bits() == nothing.pruned_usd.to_bits() && is_cost(self.usd)
    }
}

/// From when to when, in milliseconds since 1970.
type Span = (i64, i64);

/// The path of the file with a workflow's times.
pub fn times_path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    costs::folder(mailbox).join("times").join(workflow.file_name())
}

/// The time when at least one of these workflows was at work. No run counts for more than `longest`: a longer span means that the clock was
/// set forward.
pub fn time_at_work(mailbox: &Mailbox, workflows: &[WorkflowId], longest: Duration) -> Result<Duration> {
    let nothing = AtWork { longest_ms: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX), spans: Vec::new() };
    let mut spans = Vec::new();
    for workflow in workflows {
        spans.extend(sum_up(mailbox, workflow, &times_path(mailbox, workflow), &nothing)?.spans);
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
mod costs_of_workflows {
    use super::*;
    use crate::delivery::Delivery;
    use askbox_mailbox::Folder;

    struct World {
        _folder: tempfile::TempDir,
        mailbox: Mailbox,
        workflow: WorkflowId,
        rounds: Vec<RoundId>,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
            Self { _folder: folder, mailbox, workflow: "w".parse().unwrap(), rounds: Vec::new() }
        }

        /// A round that cost a dollar, in `running/`.
        fn begin(&mut self) -> RoundId {
            let round = RoundId { workflow: self.workflow.clone(), question: QuestionId::generate() };
            recent_rounds::make_folder(&self.mailbox, &round).unwrap();
            let mut run = Run::first(&round, Delivery::Launch.claimant());
            run.cost_usd = Some(1.0);
            record::create(&self.mailbox, &run).unwrap();
            self.rounds.push(round.clone());
            round
        }

        fn close(&self, round: &RoundId) {
            let now = askbox_mailbox::time::rfc3339(askbox_mailbox::time::now());
            let question = round.question;
            let document = serde_json::json!({ "workflow_id": "w", "question_id": question, "question": "?", "timestamp": now,
                "closed": { "state": "delivered", "at": now, "by": "test" } });
            std::fs::write(self.mailbox.round(Folder::Closed, round), document.to_string()).unwrap();
        }

        fn cost(&self) -> f64 {
            super::cost(&self.mailbox, &self.workflow).unwrap()
        }

        /// Makes the records of the first rounds unreadable, so that a look fails that needs them.
        fn hide_past(&self, count: usize) {
            for round in &self.rounds[..count] {
                std::fs::write(record::folder(&self.mailbox, round, 1).join("run.json"), "{").unwrap();
            }
        }
    }

    #[test]
    fn past_rounds_are_read_once_and_each_new_one_counts() {
        let mut world = World::new();
        for n in 0..50 {
            let round = world.begin();
            world.close(&round);
            assert_eq!(world.cost(), f64::from(n + 1));
        }
        assert!(cost_path(&world.mailbox, &world.workflow).exists());
        world.hide_past(10);
        // Some are looked at one by one, and some only after several have come.
        for n in 0..200_usize {
            let round = world.begin();
            if n % 7 != 0 {
                world.close(&round);
            }
            if n % 5 == 0 {
                assert_eq!(world.cost(), 51.0 + n as f64);
            }
        }
    }

    #[test]
    fn a_sum_that_does_not_follow_is_not_used() {
        let mut world = World::new();
        for _ in 0..50 {
            let round = world.begin();
            world.close(&round);
        }
        assert_eq!(world.cost(), 50.0);
        // So many came that the newest rounds are not all that came.
        for _ in 0..60 {
            let round = world.begin();
            world.close(&round);
        }
        assert_eq!(world.cost(), 110.0);
        // A pruner took one, and a round came.
        std::fs::remove_dir_all(world.mailbox.runs_of(&world.rounds[0])).unwrap();
        world.begin();
        assert_eq!(world.cost(), 110.0);
        let kept = std::fs::read_to_string(cost_path(&world.mailbox, &world.workflow)).unwrap();
        let usd = kept.split_once("\"usd\":").and_then(|(_, behind)| behind.split([',', '}', '\n']).next()).unwrap().to_owned();
        let negative = kept.replace(&format!("\"usd\":{usd}"), "\"usd\": -1000.0");
        assert_ne!(negative, kept);
        for damage in ["", "{", "{\"schema_version\":1}", &negative] {
            std::fs::write(cost_path(&world.mailbox, &world.workflow), damage).unwrap();
            assert_eq!(world.cost(), 110.0, "{damage}");
        }
    }
}

#[cfg(test)]
mod times_of_workflows {
    use super::*;
    use crate::delivery::Delivery;
    use askbox_mailbox::Folder;

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
        let spent = |longest: u64| time_at_work(&mailbox, std::slice::from_ref(&workflow), Duration::from_secs(longest));
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
        std::fs::write(times_path(&mailbox, &workflow), "{").unwrap();
        assert!(spent(3600).is_err(), "without its file all is read");
    }
}
