//! What must hold at the end of every storm, by the files and by the agents' own log.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::crowd::Storm;
use crate::support::files;

impl Storm {
    pub fn assert_each_exactly_once(&self) {
        self.world.assert_whole("at the end");
        for folder in ["pending", "answered", "running", "quarantine"] {
            assert_eq!(self.world.names(folder), Vec::<String>::new(), "{folder}/ is not empty");
        }
        let mut rounds = BTreeMap::<String, Vec<String>>::new();
        for folder in ["closed", "parked"] {
            for name in self.world.names(folder).into_iter().filter(|n| n.starts_with('w')) {
                rounds.entry(name.split('.').next().unwrap_or_default().into()).or_default().push(format!("{folder}/{name}"));
            }
        }
        assert_eq!(rounds.len(), self.questions, "workflows that ended");
        assert!(rounds.values().all(|r| r.len() == 1), "a workflow ended twice: {:?}", rounds.values().find(|r| r.len() != 1));
        let mut delivered = BTreeMap::<String, usize>::new();
        for (path, bytes) in files(&self.world.in_mailbox("runs")) {
            if path.ends_with("run.json") {
                let run: Value = serde_json::from_slice(&bytes).expect("a record");
                let round =
                    format!("{}.{}", run["workflow_id"].as_str().unwrap_or_default(), run["question_id"].as_str().unwrap_or_default());
                *delivered.entry(round).or_default() += usize::from(run["state"] == "delivered");
            }
        }
        for name in rounds.values().flatten() {
            let round = name.split_once('/').expect("a folder").1.trim_end_matches(".json");
            let expected = usize::from(self.world.document(name)["closed"]["state"] == "delivered");
            assert_eq!(delivered.get(round).copied().unwrap_or_default(), expected, "runs that delivered {round}");
        }
        let log = self.world.log();
        let violations: Vec<_> = log.iter().filter(|l| l.starts_with("violation")).collect();
        assert!(violations.is_empty(), "two agents of one round lived at once: {violations:?}");
        let shown = self.per_round(&log, "shown");
        if let Some((round, times)) = shown.iter().find(|(_, n)| **n != 1) {
            let lines: Vec<_> = log.iter().filter(|l| l.contains(round.as_str())).collect();
            panic!("a model was shown an answer {times} times: {lines:#?}");
        }
        assert_eq!(self.world.of_runs(), [], "processes of runs live");
    }

    /// Each round ended as the commands said that were not killed; and a model was shown exactly the delivered ones.
    pub fn assert_all_was_acknowledged_so(&self) {
        let log = self.world.log();
        // An agent that is killed between its transcript and its log was shown the message too: the next one finds it there, and continues.
        let shown: BTreeSet<_> = ["shown", "continued"].into_iter().flat_map(|kind| self.per_round(&log, kind).into_keys()).collect();
        let acknowledged = self.acknowledged.lock().expect("acknowledged");
        for name in self.world.names("closed").into_iter().filter(|name| name.starts_with('w')) {
            let (workflow, rest) = name.split_once('.').expect("a round");
            let document = self.world.document(&format!("closed/{name}"));
            let state = document["closed"]["state"].as_str().expect("a state");
            if let Some(said) = acknowledged.get(workflow) {
                assert_eq!(state, *said, "{workflow}: {document:#}");
            }
            let round = format!("{workflow}/{}", rest.trim_end_matches(".json"));
            let was_shown = shown.contains(&round);
            let lines = || log.iter().filter(|line| line.contains(&round)).collect::<Vec<_>>();
            assert_eq!(was_shown, state == "delivered", "{round} was shown to a model: {was_shown}, and is {state}: {:#?}", lines());
        }
    }

    /// Lines of a kind in the agents' log, by round.
    pub fn per_round(&self, log: &[String], kind: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for line in log {
            if let [first, run, ..] = line.split(' ').collect::<Vec<_>>()[..]
                && first == kind
            {
                *counts.entry(run.rsplit_once('/').map_or(run, |(round, _)| round).to_owned()).or_default() += 1;
            }
        }
        counts
    }
}
