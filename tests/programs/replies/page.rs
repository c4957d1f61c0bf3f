//! The page of all replies.

use std::fmt::Write;

use crate::programs::replies::decisions::{Decision, TO_CALLS, TO_QUESTIONS};
use crate::programs::replies::said::MARKS;

const BEGIN: &str = include_str!("begin.md");

fn table(asker: &str, decisions: &[Decision], rows: &[(&str, Vec<String>)]) -> String {
    let heads: Vec<_> = decisions.iter().map(|decision| decision.name).collect();
    let word = |arg: &&str| if arg.contains(' ') { format!("'{arg}'") } else { (*arg).to_owned() };
    let words = |decision: &Decision| decision.args.iter().map(word).collect::<Vec<_>>().join(" ");
    let args: Vec<_> = decisions.iter().map(|decision| format!("`{}`", words(decision))).collect();
    let mut out = format!("| {asker} | {} |\n|---|{}\n| | {} |\n", heads.join(" | "), "---|".repeat(heads.len()), args.join(" | "));
    for (name, cells) in rows {
        writeln!(out, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    out
}

/// The page with the rows of both tables.
pub(super) fn page(calls: &[(&str, Vec<String>)], questions: &[(&str, Vec<String>)]) -> String {
    let marks: String = MARKS.iter().map(|(mark, words)| format!("- {mark} {words}\n")).collect();
    let (calls, questions) = (table("asks for a call", &TO_CALLS, calls), table("asks a question", &TO_QUESTIONS, questions));
    BEGIN.replace("MARKS\n", &marks).replace("CALLS\n", &calls).replace("QUESTIONS\n", &questions)
}
