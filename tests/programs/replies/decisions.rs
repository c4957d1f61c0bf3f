//! The decisions of a person about a question, and the reply that the program receives for each.

use std::process::{Child, Stdio};

use serde_json::json;

use crate::programs::beside_opencode::waiting;
use crate::programs::replies::said;
use crate::support::{World, until};

/// A decision of a person.
pub(super) struct Decision {
    pub name: &'static str,
    /// The arguments of `ask-answer`. `ID`, `ROUND`, `CHANGED` and `ANSWERS` stand for what each question has of its own.
    pub args: &'static [&'static str],
}

const fn decision(name: &'static str, args: &'static [&'static str]) -> Decision {
    Decision { name, args }
}

const NOTE: &str = "use make";
const BACK: &str = "Which branch?";

pub(super) const TO_CALLS: [Decision; 9] = [
    decision("allow", &["ID", "once", "--round", "ROUND"]),
    decision("allow, and a note", &["ID", "once", "--round", "ROUND", "--note", NOTE]),
    decision("allow it changed", &["edit", "ID", "--input", "CHANGED", "--round", "ROUND"]),
    decision("allow it changed, and a note", &["edit", "ID", "--input", "CHANGED", "--round", "ROUND", "--note", NOTE]),
    decision("refuse", &["decline", "ID"]),
    decision("refuse with words", &["decline", "ID", "--note", NOTE]),
    decision("refuse for good", &["decline", "ID", "--always", "--round", "ROUND"]),
    decision("stop", &["decline", "ID", "--stop"]),
    decision("ask back", &["ask-back", "ID", BACK]),
];

/// The first one answers two questions that were asked at once.
pub(super) const TO_QUESTIONS: [Decision; 8] = [
    decision("two answers, a list and a note", &["ID", "--file", "ANSWERS"]),
    decision("answer", &["ID", "merge"]),
    decision("answer, and a note", &["ID", "merge", "--note", NOTE]),
    decision("own words", &["ID", "only on Monday"]),
    decision("decline", &["decline", "ID"]),
    decision("decline with words", &["decline", "ID", "--note", NOTE]),
    decision("stop", &["decline", "ID", "--stop"]),
    decision("ask back", &["ask-back", "ID", BACK]),
];

/// The replies that a program receives, one for each decision. `asks` lets it ask for the `n`th time, for one answer or for two at once. `heard` is all that it
/// has received for that, and is empty while something is missing.
pub(super) fn cells(
    world: &World,
    decisions: &[Decision],
    asks: impl Fn(usize, bool),
    heard: impl Fn(usize) -> Vec<String>,
) -> Vec<String> {
    let mut asked = 0;
    let cell = |(n, decision): (usize, &Decision)| {
        // A question still waits if its answer was refused.
        if asked == 0 {
            asked = n + 1;
            asks(asked, decision.args.contains(&"ANSWERS"));
        }
        let id = waiting(world);
        let mut person = decide(world, &id, decision);
        let (lines, refused) = until(&format!("something comes of: {}", decision.name), || {
            let lines = heard(asked);
            let is_refused = lines.is_empty() && person.try_wait().unwrap().is_some_and(|status| !status.success());
            let said = |person: &mut Child| std::io::read_to_string(person.stderr.take().unwrap()).unwrap();
            (is_refused || !lines.is_empty()).then(|| (lines, is_refused.then(|| said(&mut person))))
        });
        let _ended = person.kill().and_then(|()| person.wait());
        asked = if refused.is_some() { asked } else { 0 };
        said::cell(world, &id, refused.as_deref(), &lines)
    };
    decisions.iter().enumerate().map(cell).collect()
}

fn decide(world: &World, id: &str, decision: &Decision) -> Child {
    let asked = world.document(&format!("pending/{id}.json"));
    let (first, second) = (&asked["questions"][0], &asked["questions"][1]);
    let takes_list = second["multiSelect"] == true || second["type"] == "multi_choice";
    let checks = if takes_list { json!(["unit", "lint"]) } else { json!("unit") };
    // A form says in its texts how much may be chosen.
    let text = |part: &serde_json::Value| part["question"].as_str().unwrap_or_default().to_owned();
    let answers = json!({"answers": {text(first): "merge", text(second): checks}, "annotations": {text(second): {"notes": NOTE}}});
    let own = |arg: &&str| match *arg {
        "ID" => id.to_owned(),
        "ROUND" => world.seen(id),
        "ANSWERS" => file(world, "answers", &answers.to_string()),
        "CHANGED" => file(world, "changed", "echo two"),
        other => other.to_owned(),
    };
    let args: Vec<_> = decision.args.iter().map(own).collect();
    world.command("ask-answer").args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn file(world: &World, name: &str, content: &str) -> String {
    std::fs::write(world.path(name), content).unwrap();
    world.path(name).display().to_string()
}
