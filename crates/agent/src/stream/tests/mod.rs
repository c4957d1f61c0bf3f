//! The interpreter, on recorded streams of the real `claude` (`tests/fixtures/streams`) and on made-up lines.

use crate::events::EventKind;
use crate::stream::lines::BoundedLines;
use crate::stream::*;

macro_rules! stream {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/streams/", $name, ".jsonl"))
    };
}

mod hostile;
mod turns;

/// All items of a stream.
fn items(agent: &mut Interpreter, bytes: &[u8]) -> Vec<StreamItem> {
    let mut lines = BoundedLines::new(bytes);
    let mut all = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        all.extend(agent.feed(&line));
    }
    all
}

fn read(bytes: &[u8]) -> Vec<StreamItem> {
    items(&mut Interpreter::new(), bytes)
}

fn events(all: &[StreamItem]) -> Vec<&EventKind> {
    all.iter()
        .filter_map(|item| match item {
            StreamItem::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

fn outcomes(all: &[StreamItem]) -> Vec<&TurnOutcome> {
    all.iter()
        .filter_map(|item| match item {
            StreamItem::TurnEnded(outcome) => Some(&**outcome),
            _ => None,
        })
        .collect()
}

fn verdict(bytes: &[u8]) -> Verdict {
    let all = read(bytes);
    let [outcome] = outcomes(&all)[..] else { panic!("not one outcome: {all:?}") };
    outcome.verdict.clone()
}

fn types(all: &[StreamItem]) -> Vec<String> {
    let name = |event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events(all).into_iter().map(name).collect()
}
