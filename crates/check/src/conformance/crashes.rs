//! Processes of the implementation that are killed. The next look completes what they began, or nothing has happened.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::conformance::case::{Case, question_with};
use crate::conformance::harness::HarnessReply;
use crate::conformance::strace;
use crate::conformance::verdict::{Stop, Verdict, each, require};

/// The operations that write.
const WRITES: [&str; 4] = ["post", "answer", "withdraw", "save"];

/// An operation is killed at random moments.
pub fn at_random_moments(case: &mut Case<'_>, operation: &str) -> Verdict {
    case.make()?;
    // The length of an undisturbed operation, in a process that is ready.
    let mut harness = case.runner.start_ready()?;
    let attempt = Attempt::prepare(case, operation, "whole")?;
    let begun = Instant::now();
    harness.ask(&attempt.request)?.done(&attempt.request)?;
    let length = begun.elapsed();
    attempt.judge(case, true, "not killed")?;
    for n in 0..case.runner.kills {
        let attempt = Attempt::prepare(case, operation, &format!("kill-{n}"))?;
        let mut harness = case.runner.start_ready()?;
        harness.send(&attempt.request);
        // Moments that are spread evenly over the operation, and a little behind it.
        let moment = length.mul_f64(1.2 * (n as f64 + 0.5) / case.runner.kills as f64);
        let replied = matches!(harness.receive(moment.max(Duration::from_micros(50)))?, Some(HarnessReply::Done(_)));
        drop(harness);
        attempt.judge(case, replied, &format!("killed {:.1} ms after the request", moment.as_secs_f64() * 1000.0))?;
    }
    Ok(())
}

/// Each operation is killed before single system calls.
pub fn at_system_calls(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    each(WRITES, |operation| {
        let attempt = Attempt::prepare(case, operation, &format!("{operation}-whole"))?;
        let points = strace::points(case, &attempt.request)?;
        attempt.judge(case, true, "not killed")?;
        let step = points.len().div_ceil(case.runner.kills.max(1)).max(1);
        for (n, (call, count)) in points.iter().step_by(step).enumerate() {
            let attempt = Attempt::prepare(case, operation, &format!("{operation}-{n}"))?;
            let mut harness = case.runner.start_behind(&strace::killing(call, *count))?;
            harness.send(&attempt.request);
            let replied = matches!(harness.receive(case.runner.limit)?, Some(HarnessReply::Done(_)));
            drop(harness);
            attempt.judge(case, replied, &format!("killed before call {count} of {call}"))?;
        }
        Ok(())
    })
}

/// One operation that is to be killed.
struct Attempt {
    operation: String,
    workflow: String,
    round: String,
    request: Value,
}

impl Attempt {
    fn prepare(case: &Case<'_>, operation: &str, workflow: &str) -> Verdict<Self> {
        let round = if operation == "post" { String::new() } else { case.ask(workflow, json!({}))? };
        // A text that one write does not hold.
        let long = "x".repeat(100_000);
        case.put(&format!("checkpoints/{workflow}.json"), json!({"workflow_id": workflow, "current_step": "old"}).to_string().as_bytes())?;
        let more = match operation {
            "post" => json!({"question": question_with(workflow, json!({"question": long}))}),
            "answer" => json!({"workflow_id": workflow, "question_id": round, "value": "a"}),
            "withdraw" => json!({"workflow_id": workflow}),
            _ => json!({"workflow_id": workflow, "checkpoint": {"current_step": "new", "context": long}}),
        };
        Ok(Self { operation: operation.into(), workflow: workflow.into(), round, request: case.request(operation, more) })
    }

    /// Judges what the dead process left. `replied` says that it had reported success.
    fn judge(&self, case: &mut Case<'_>, replied: bool, when: &str) -> Verdict {
        let Self { operation, workflow, round, .. } = self;
        let context = |words: String| format!("{operation}, {when}: {words}");
        // The next look is one of the implementation, and then one of askbox.
        match case.reply("round", json!({"workflow_id": workflow})) {
            Ok(_) | Err(Stop::Skipped(_)) => {}
            Err(stop) => return Err(stop.in_words(context)),
        }
        let files = [format!("pending/{workflow}.json"), format!("answered/{workflow}.json"), format!("closed/{workflow}.{round}.json")];
        // No reader ever finds half of a document under a name that counts.
        for file in files.iter().map(String::as_str).chain([format!("checkpoints/{workflow}.json").as_str()]) {
            if case.exists(file) {
                case.document(file).map_err(|stop| stop.in_words(context))?;
            }
        }
        if operation != "save" {
            case.settle(workflow)?;
        }
        let [pending, answered, closed] = files.map(|file| case.exists(&file));
        let happened = match operation.as_str() {
            "post" => pending,
            "answer" => answered,
            "withdraw" => closed,
            _ => case.document(&format!("checkpoints/{workflow}.json"))?["current_step"] == "new",
        };
        require(happened || !replied, || context("it was acknowledged, and is lost".into()))?;
        if matches!(operation.as_str(), "answer" | "withdraw") {
            let count = [pending, answered, closed].into_iter().filter(|there| *there).count();
            require(count == 1, || {
                context(format!("the round is in {count} states: [pending, answered, closed] is {:?}", [pending, answered, closed]))
            })?;
        }
        if operation == "answer" {
            let written = case.document(&format!("checkpoints/{workflow}.json"))?["user_answer"] == "a";
            require(written || !answered, || context("the answer counts, and the checkpoint does not have it".into()))?;
        }
        if happened {
            return Ok(());
        }
        // Nothing is in the way of the next attempt.
        let again = case.runner.ask(&self.request)?.done(&self.request);
        again.map(|_| ()).map_err(|stop| stop.in_words(|words| context(format!("after that, {words}"))))
    }
}
