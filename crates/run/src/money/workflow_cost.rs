//! The cost of a workflow, without reading the records of thousands of past rounds: `costs/workflows/W.json` keeps their sum, as
//! `past_rounds` describes it. It is not used if a round was pruned with its cost.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::money::costs::{self, is_cost};
use crate::money::past_rounds::{self, Sum};
use askbox_mailbox::{Mailbox, QuestionId, Result, RoundId, WorkflowId, WorkflowLock, disk, list, workflows};

/// The path of the file of a workflow.
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    costs::folder(mailbox).join("workflows").join(workflow.file_name())
}

/// US dollars of all rounds of a workflow, pruned ones included.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<f64> {
    let (mut sum, counted) = workflows::read(mailbox, workflow)?.map_or((0.0, Vec::new()), |d| (d.typed.pruned_cost_usd, d.typed.pruned));
    if counted.is_empty() {
        let nothing = Cost { pruned_usd: sum, usd: 0.0 };
        return Ok(sum + past_rounds::sum(mailbox, workflow, &path(mailbox, workflow), &nothing)?.usd);
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
    disk::untouch(&path(mailbox, lock.workflow()))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::record::{self, Run};

    use crate::delivery::Delivery;
    use askbox_mailbox::Folder;
    use askbox_mailbox::listing::recent_rounds;

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
            of_workflow(&self.mailbox, &self.workflow).unwrap()
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
        assert!(path(&world.mailbox, &world.workflow).exists());
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
        let kept = std::fs::read_to_string(path(&world.mailbox, &world.workflow)).unwrap();
        let usd = kept.split_once("\"usd\":").and_then(|(_, behind)| behind.split([',', '}', '\n']).next()).unwrap().to_owned();
        let negative = kept.replace(&format!("\"usd\":{usd}"), "\"usd\": -1000.0");
        assert_ne!(negative, kept);
        for damage in ["", "{", "{\"schema_version\":1}", &negative] {
            std::fs::write(path(&world.mailbox, &world.workflow), damage).unwrap();
            assert_eq!(world.cost(), 110.0, "{damage}");
        }
    }
}
