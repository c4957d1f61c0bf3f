//! Two processes at once: of all that want one thing, one gets it.
//!
//! If the implementation lacks one of two sides, askbox takes that side.

use std::time::Duration;

use serde_json::{Value, json};

use crate::conformance::answers::answer_by_askbox;
use crate::conformance::case::{Case, id, question_with};
use crate::conformance::harness::{Harness, HarnessReply};
use crate::conformance::verdict::{Stop, Verdict, require, violated};

/// Two processes of the implementation, which have replied once and so are ready.
struct Pair([Harness; 2], Duration);

impl Pair {
    fn start(case: &Case<'_>) -> Verdict<Self> {
        Ok(Self([case.runner.start_ready()?, case.runner.start_ready()?], case.runner.limit))
    }

    /// Sends both requests at once, the second one a moment later or the first. Returns which of them took place.
    fn race(&mut self, turn: usize, requests: [&Value; 2]) -> Verdict<[bool; 2]> {
        let pause = Duration::from_micros((turn as u64 * 397) % 4000);
        let first = turn % 2;
        self.0[first].send(requests[first]);
        std::thread::sleep(pause);
        self.0[1 - first].send(requests[1 - first]);
        let limit = self.1;
        let took_place = |harness: &mut Harness| match harness.receive(limit)? {
            Some(HarnessReply::Done(_)) => Ok(true),
            Some(HarnessReply::Refused(..)) => Ok(false),
            None => violated("no reply in a race"),
        };
        // Both are read, also if the first one cannot be used.
        let [first, second] = self.0.each_mut().map(took_place);
        Ok([first?, second?])
    }
}

/// Two posts of different questions: one takes place, and its question waits.
pub fn posts(case: &mut Case<'_>) -> Verdict {
    of_two(case, "posts", ["First?", "Second?"], ("pending", "/question"), |case, workflow| {
        let asked = |words| question_with(workflow, json!({"question": words}));
        Ok(["First?", "Second?"].map(|words| case.request("post", json!({"question": asked(words)}))))
    })
}

/// Two answers: one counts.
pub fn answers(case: &mut Case<'_>) -> Verdict {
    of_two(case, "answers", ["a", "b"], ("answered", "/answer/value"), |case, workflow| {
        let round = case.ask(workflow, json!({}))?;
        Ok(["a", "b"].map(|value| case.request("answer", json!({"workflow_id": workflow, "question_id": round, "value": value}))))
    })
}

fn of_two(
    case: &mut Case<'_>,
    what: &str,
    values: [&str; 2],
    (folder, place): (&str, &str),
    requests: impl Fn(&Case<'_>, &str) -> Verdict<[Value; 2]>,
) -> Verdict {
    case.make()?;
    let mut pair = Pair::start(case)?;
    for turn in 0..case.runner.races {
        let workflow = format!("race-{turn}");
        let requests = requests(case, &workflow)?;
        let won = pair.race(turn, [&requests[0], &requests[1]])?;
        require(won[0] != won[1], || format!("of two {what} at once, {} took place", if won[0] { "both" } else { "neither" }))?;
        let document = case.document(&format!("{folder}/{workflow}.json"))?;
        let (there, winner) = (document.pointer(place), values[usize::from(won[1])]);
        require(there.is_some_and(|there| there == winner), || format!("{winner:?} was acknowledged, and {there:?} lies there"))?;
    }
    Ok(())
}

/// A withdrawal and an answer: one counts.
pub fn withdrawals(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let has = |case: &mut Case<'_>, operation: &str| match case.reply(operation, json!({"workflow_id": "nothing", "value": "a"})) {
        Err(Stop::Skipped(why)) => Ok(Err(why)),
        other => other.map(|_| Ok(())),
    };
    let (can_withdraw, can_answer) = (has(case, "withdraw")?, has(case, "answer")?);
    if let (Err(why), Err(_)) = (&can_withdraw, &can_answer) {
        return Err(Stop::Skipped(why.clone()));
    }
    let mut pair = Pair::start(case)?;
    for turn in 0..case.runner.races {
        let workflow = format!("race-{turn}");
        let round = case.ask(&workflow, json!({}))?;
        let withdrawal = case.request("withdraw", json!({"workflow_id": workflow}));
        let answer = case.request("answer", json!({"workflow_id": workflow, "question_id": round, "value": "a"}));
        let [withdrawn, answered] = if can_withdraw.is_err() {
            let mailbox = case.open()?;
            pair.0[1].send(&answer);
            let withdrawn = mailbox.withdraw(&id(&workflow)?, "ann", None).is_ok();
            [withdrawn, matches!(pair.0[1].receive(pair.1)?, Some(HarnessReply::Done(_)))]
        } else if can_answer.is_err() {
            pair.0[0].send(&withdrawal);
            std::thread::sleep(Duration::from_micros((turn as u64 * 397) % 8000));
            let answered = answer_by_askbox(case, &workflow).is_ok();
            [matches!(pair.0[0].receive(pair.1)?, Some(HarnessReply::Done(_))), answered]
        } else {
            pair.race(turn, [&withdrawal, &answer])?
        };
        let words = || format!("of a withdrawal and an answer at once, {} took place", if withdrawn { "both" } else { "neither" });
        require(withdrawn != answered, words)?;
        let there = [format!("pending/{workflow}.json"), format!("answered/{workflow}.json"), format!("closed/{workflow}.{round}.json")];
        let there = there.map(|file| case.exists(&file));
        require(there == [false, answered, withdrawn], || {
            format!("after {}, [pending, answered, closed] is {there:?}", if answered { "the answer" } else { "the withdrawal" })
        })?;
    }
    Ok(())
}

/// A checkpoint that is saved again and again is whole at each moment.
pub fn checkpoints(case: &mut Case<'_>) -> Verdict {
    case.make()?;
    let mut pair = Pair::start(case)?;
    let saved = |text: &str| json!({"workflow_id": "w", "checkpoint": {"context": text.repeat(50_000), "current_step": text}});
    let requests = [case.request("save", saved("a")), case.request("save", saved("b"))];
    for turn in 0..case.runner.races.min(40) {
        pair.0.iter_mut().zip(&requests).for_each(|(harness, request)| harness.send(request));
        let mut left = pair.0.iter_mut().collect::<Vec<_>>();
        while let Some(harness) = left.last_mut() {
            match harness.receive(Duration::from_millis(1))? {
                Some(HarnessReply::Done(_)) => drop(left.pop()),
                Some(HarnessReply::Refused(kind, words)) => return violated(format!("save is refused ({kind:?}): {words}")),
                None if harness.has_ended() => return violated("the process ended while it saved"),
                None => {}
            }
            if let Some(bytes) = case.bytes("checkpoints/w.json") {
                let whole: Option<Value> = serde_json::from_slice(&bytes).ok();
                let is_whole = whole.is_some_and(|found| found["context"].as_str().map(str::len) == Some(50_000));
                require(is_whole, || format!("a reader found {} bytes that are not a whole checkpoint in turn {turn}", bytes.len()))?;
            } else if turn > 0 {
                return violated("a reader found no checkpoint while one was saved anew");
            }
        }
    }
    Ok(())
}
