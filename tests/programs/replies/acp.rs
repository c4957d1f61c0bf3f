//! An agent that speaks ACP, in a run. Words that have no place in a reply follow in the next prompt.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::programs::replies::claude::{form as fields, questions};
use crate::programs::replies::decisions::{Decision, cells};
use crate::watch::acp::{lines, world};

fn acp(decisions: &[Decision], step: impl Fn(bool) -> Value) -> Vec<String> {
    let (world, told, replied) = (world("", ""), Cell::new(0), Cell::new(0));
    let _watcher = world.watch();
    let replies = || lines(&world, "received").into_iter().filter(|line| line.get("result").is_some()).collect::<Vec<_>>();
    let asks = |n: usize, is_several: bool| {
        told.set(lines(&world, "told").len());
        replied.set(replies().len());
        let turns = format!("{}{}\n", "[]\n".repeat(told.get()), json!([step(is_several), {"say": "done"}]));
        std::fs::write(world.agent("turns"), turns).unwrap();
        world.ask_and_answer(&format!("acp-{n}"));
    };
    let heard = |n: usize| {
        let is_over = world.rounds("closed", &format!("acp-{n}")).len() == 2;
        let prompts = lines(&world, "told").into_iter().skip(told.get() + 1).map(|text| format!("prompt: {text}"));
        let replies = replies().into_iter().skip(replied.get()).map(|line| line.to_string());
        replies.chain(prompts).filter(|_| is_over).collect()
    };
    cells(&world, decisions, asks, heard)
}

pub(super) fn call(decisions: &[Decision]) -> Vec<String> {
    acp(decisions, |_| json!({"run": "echo one", "ask": true}))
}

pub(super) fn form(decisions: &[Decision]) -> Vec<String> {
    acp(decisions, |is_several| json!({"form": "How?", "schema": fields(is_several)}))
}

pub(super) fn question(decisions: &[Decision]) -> Vec<String> {
    acp(decisions, |is_several| json!({ "questions": questions(is_several) }))
}
