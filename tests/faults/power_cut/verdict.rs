//! What is left after a power cut, compared with what was acknowledged before it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::work::{Expected, History, Round};
use crate::support::{World, files, is_hidden, until};

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Lost,
    Doubled,
    Torn,
    Stuck,
}

/// Everything that went wrong after one cut, in words.
pub type Faults = Vec<(Fault, String)>;

/// How long the watcher may take to deliver what a cut left open. It needs a second or two.
const PATIENCE: Duration = Duration::from_secs(60);

const ROUNDS: [&str; 5] = ["pending", "answered", "running", "parked", "closed"];

/// The documents of one question: folder and content.
type Copies<'a> = &'a [(&'static str, Value)];

/// Every visible document of a round, by its question. What is not whole is a fault.
fn documents(world: &World, faults: &mut Faults) -> BTreeMap<String, Vec<(&'static str, Value)>> {
    let mut found: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for folder in ROUNDS {
        for (path, bytes) in files(&world.in_mailbox(folder)).into_iter().filter(|(path, _)| !is_hidden(path)) {
            match serde_json::from_slice::<Value>(&bytes) {
                Ok(document) => {
                    let question = document["question"].as_str().unwrap_or("(no question)").to_owned();
                    found.entry(question).or_default().push((folder, document));
                }
                Err(error) => faults.push((Fault::Torn, format!("{}, {} bytes: {error}", path.display(), bytes.len()))),
            }
        }
    }
    for folder in ["checkpoints", "workflows", "runs"] {
        for (path, bytes) in files(&world.in_mailbox(folder)) {
            let is_json = path.extension().is_some_and(|e| e == "json") && !is_hidden(&path);
            if is_json && let Err(error) = serde_json::from_slice::<Value>(&bytes) {
                faults.push((Fault::Torn, format!("{}, {} bytes: {error}", path.display(), bytes.len())));
            }
        }
    }
    found
}

/// Whether a document holds what the round's answer is.
fn has_answer(document: &Value, value: &str) -> bool {
    let answer = &document["answer"];
    if value.is_empty() { answer["outcome"] == "declined" } else { answer["value"] == value }
}

/// What is missing of an acknowledged round.
fn missing(round: &Round, copies: Copies) -> Option<String> {
    if copies.is_empty() {
        return Some("the question is nowhere".into());
    }
    if let Some((folder, _)) = copies.iter().find(|(_, d)| d["context"].as_str().unwrap_or_default() != round.context) {
        return Some(format!("its copy in {folder}/ has another context"));
    }
    if let Some(value) = &round.answer
        && !copies.iter().any(|(folder, document)| *folder != "pending" && has_answer(document, value))
    {
        return Some(format!("its answer {value:?} is nowhere"));
    }
    let ended = |end: &str| copies.iter().any(|(folder, d)| *folder == "closed" && d["closed"]["state"] == end);
    round.end.filter(|end| !ended(end)).map(|end| format!("it is not closed as {end}"))
}

/// The checks that hold as soon as the disk is mounted, before any program settles anything.
pub fn at_once(world: &World, histories: &[History], cut: u64) -> Faults {
    let mut faults = Faults::new();
    let found = documents(world, &mut faults);
    for history in histories {
        let (now, interrupted) = history.at(cut);
        for round in &now.rounds {
            if let Some(what) = missing(round, found.get(&round.question).map_or(&[], Vec::as_slice)) {
                faults.push((Fault::Lost, format!("{}: {what}", round.question)));
            }
        }
        let id = &history.workflow;
        let steps = [Some(&now), interrupted].map(|e| e.and_then(|e| e.step.clone()));
        let out = world.run("checkpoint", &["get", id, "current_step"]);
        let step = out.status.success().then(|| out.stdout.trim().to_owned());
        if !steps.contains(&step) {
            faults.push((Fault::Lost, format!("{id}: the checkpoint says {step:?}, not {steps:?}: {}", out.stderr)));
        }
        let state = world.state(id);
        if let (Some(round), None) = (now.rounds.last(), interrupted)
            && state != round.state()
        {
            faults.push((Fault::Lost, format!("{id} is {state}, not {}", round.state())));
        }
    }
    faults
}

/// Answers what is pending, lets a watcher deliver everything, and looks at how it ended.
pub fn in_the_end(world: &World, histories: &[History], cut: u64) -> Faults {
    let mut faults = Faults::new();
    if !world.mailbox().exists() {
        return faults;
    }
    let _ = std::fs::remove_file(world.agent("log"));
    let watcher = world.start_watcher();
    let end = Instant::now() + PATIENCE;
    for id in histories.iter().map(|history| &history.workflow) {
        // An answer to an earlier question may still wait for the watcher, and a withdrawal that the cut interrupted may count already.
        while world.in_mailbox(format!("pending/{id}.json")).exists() && Instant::now() < end {
            let out = world.run("ask-answer", &[id, "a"]);
            if !out.status.success() && ![3, 4].contains(&out.code()) {
                faults.push((Fault::Stuck, format!("{id} cannot be answered: {}", out.words())));
                break;
            }
        }
    }
    let open = || -> Vec<String> {
        let folders = ["pending", "answered", "running", "parked", "quarantine"];
        folders.iter().flat_map(|folder| world.names(folder).into_iter().map(move |name| format!("{folder}/{name}"))).collect()
    };
    let stuck = until("every round to end, or to be stuck", || {
        let open = open();
        if open.is_empty() && world.of_runs().is_empty() {
            return Some(None);
        }
        let is_over = ["parked", "quarantine"].iter().any(|folder| !world.names(folder).is_empty());
        (is_over || Instant::now() > end).then_some(Some(open))
    });
    if let Some(open) = stuck {
        let why = open.iter().map(|name| why(world, name)).collect::<String>();
        faults.push((Fault::Stuck, format!("left open: {why}; the watcher: {}", watcher.log())));
    }
    watcher.kill();
    let found = documents(world, &mut faults);
    for history in histories {
        let (now, interrupted) = history.at(cut);
        let after = interrupted.unwrap_or(&now);
        for (question, copies) in found.iter().filter(|(question, _)| question.starts_with(&format!("{}:", history.workflow))) {
            faults.extend(ended_wrongly(question, copies, &now, after));
        }
        for round in now.rounds.iter().filter(|round| !found.contains_key(&round.question)) {
            faults.push((Fault::Lost, format!("{}: nowhere in the end", round.question)));
        }
    }
    faults.extend(shown_wrongly(world, histories, cut, &found));
    faults
}

/// Why something is left in an open folder.
fn why(world: &World, name: &str) -> String {
    let workflow = name.split(['/', '.']).nth(1).unwrap_or_default();
    let content = std::fs::read(world.in_mailbox(name)).unwrap_or_default();
    let content = if name.starts_with("quarantine/") { String::from_utf8_lossy(&content).into_owned() } else { String::new() };
    format!("{name}: {}{content}\n", world.run("relaunch", &["status", "--json", workflow]).words())
}

/// What is wrong with how one round ended. `now` is what was acknowledged, `after` what the interrupted command would have made of it.
fn ended_wrongly(question: &str, copies: Copies, now: &Expected, after: &Expected) -> Faults {
    let [known, possible] = [now, after].map(|expected| expected.rounds.iter().find(|round| round.question == question));
    let Some(possible) = possible.or(known) else { return vec![(Fault::Doubled, format!("{question}: nobody asked that before the cut"))] };
    let [(folder, document)] = copies else {
        let folders: Vec<_> = copies.iter().map(|(folder, _)| folder).collect();
        return vec![(Fault::Doubled, format!("{question}: in {folders:?}"))];
    };
    let mut faults = Faults::new();
    let end = document["closed"]["state"].as_str().unwrap_or_default();
    let expected = known.and_then(|round| round.end).unwrap_or("delivered");
    if *folder != "closed" || (end != expected && Some(end) != possible.end) {
        faults.push((Fault::Lost, format!("{question}: {end:?} in {folder}/, not {expected}")));
    }
    if let Some(value) = known.and_then(|round| round.answer.as_deref())
        && !has_answer(document, value)
    {
        faults.push((Fault::Lost, format!("{question}: {} instead of {value:?}", document["answer"])));
    }
    if document["context"].as_str().unwrap_or_default() != possible.context {
        faults.push((Fault::Torn, format!("{question}: another context")));
    }
    faults
}

/// What is wrong with what the agents were shown after the cut.
fn shown_wrongly(world: &World, histories: &[History], cut: u64, found: &BTreeMap<String, Vec<(&'static str, Value)>>) -> Faults {
    let mut faults = Faults::new();
    let log = world.log();
    faults.extend(log.iter().filter(|line| line.starts_with("violation")).map(|line| (Fault::Doubled, line.clone())));
    for round in histories.iter().flat_map(|history| history.at(cut).0.rounds).filter(|round| round.end.is_some()) {
        let ids = found.get(&round.question).into_iter().flatten().filter_map(|(_, d)| d["question_id"].as_str());
        for id in ids {
            faults.extend(
                log.iter()
                    .filter(|l| l.starts_with("start ") && l.contains(id))
                    .map(|line| (Fault::Doubled, format!("{}: launched again after its acknowledged end: {line}", round.question))),
            );
        }
    }
    // The sessions lie on the same disk: what the cut left of them is what the agents remember.
    let mut messages = BTreeMap::new();
    for (_, transcript) in files(&world.home().join(".claude/projects")) {
        for message in String::from_utf8_lossy(&transcript).lines() {
            *messages.entry(message.to_owned()).or_insert(0) += 1;
        }
    }
    faults.extend(messages.iter().filter(|(_, n)| **n > 1).map(|(m, n)| (Fault::Doubled, format!("message {m} was shown {n} times"))));
    faults
}
