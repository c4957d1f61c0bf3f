//! The history of a workflow, as files.

use std::fs;
use std::ops::Range;

use serde_json::json;

use super::World;

impl World {
    /// Closed rounds of one workflow, delivered one minute after the other in January 2026, each with its attempt.
    pub fn past_rounds(&self, workflow: &str, rounds: Range<usize>) {
        rounds.for_each(|n| self.past_round(workflow, n));
        self.sh("chmod -R go-w m");
    }

    /// Workflows that are over, each with one such round, its record and its checkpoint.
    pub fn past_workflows(&self, numbers: Range<usize>) {
        for n in numbers {
            let workflow = format!("past-{n}");
            self.past_round(&workflow, n);
            let named = |fields: &str| format!("{{\"schema_version\": 1, \"workflow_id\": \"{workflow}\", {fields}}}");
            let record = named("\"cwd\": \"/\", \"created\": \"2026-01-01T00:00:00.000Z\"");
            fs::write(self.in_mailbox(format!("workflows/{workflow}.json")), record).expect("its record");
            fs::write(self.in_mailbox(format!("checkpoints/{workflow}.json")), named("\"next_action\": \"Merge.\""))
                .expect("its checkpoint");
        }
        self.sh("chmod -R go-w m");
    }

    fn past_round(&self, workflow: &str, n: usize) {
        let question = format!("01900000-0000-7000-8000-{n:012x}");
        let (minute, hour, day) = (n % 60, n / 60 % 24, 1 + n / 1440);
        let at = |second: u32| format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z");
        let round = json!({
            "schema_version": 1, "workflow_id": workflow, "question_id": question, "question": format!("Merge {n}?"),
            "timestamp": at(0), "closed": { "state": "delivered", "at": at(30), "by": "askbox" },
        });
        let closed = self.in_mailbox(format!("closed/{workflow}.{question}.json"));
        fs::write(&closed, round.to_string()).expect("a closed round");
        let ended = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_630 + 60 * n as u64);
        fs::File::options().write(true).open(closed).and_then(|file| file.set_modified(ended)).expect("its time");
        fs::create_dir_all(self.in_mailbox(format!("runs/{workflow}/{question}/1"))).expect("its attempt");
    }
}
