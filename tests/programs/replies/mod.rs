//! The reply that each program receives for each decision of a person: `docs/dev/replies.md`. The real programs of askbox stand between a
//! scripted agent and `ask-answer`, and the page has the bytes that came to the agent. `SNAPSHOTS=overwrite` writes the page anew.
//!
//! | file | idea |
//! |---|---|
//! | `decisions.rs` | the decisions of a person, and how one cell is filled |
//! | `said.rs` | the bytes as a cell: ids have names, and sentences that many programs are told have marks |
//! | `claude.rs` | Claude Code, attended and in a run |
//! | `beside.rs` | opencode, Copilot and Codex |
//! | `acp.rs` | an agent that speaks ACP, in a run |
//! | `own.rs` | ask-agent, `ask-post --wait` and `ask_user` |
//! | `page.rs` | the page |

mod acp;
mod beside;
mod claude;
mod decisions;
mod own;
mod page;
mod said;

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::programs::replies::decisions::{Decision, TO_CALLS, TO_QUESTIONS};
use crate::support::{in_parallel, needs};

/// A program that asks, and what it receives for each of these decisions.
type Row = (&'static str, fn(&[Decision]) -> Vec<String>);

const ASK_FOR_CALLS: [Row; 9] = [
    ("Claude Code, attended", claude::attended_call),
    ("Claude Code, attended, a plan", claude::attended_plan),
    ("Claude Code, in a run", claude::call_in_a_run),
    ("Codex, a command", beside::codex_command),
    ("Codex, a file change", beside::codex_change),
    ("opencode", beside::opencode_call),
    ("Copilot", beside::copilot),
    ("ACP, in a run", acp::call),
    ("ask-agent", own::ask_agent_call),
];

const ASK_QUESTIONS: [Row; 9] = [
    ("Claude Code, attended", claude::attended_question),
    ("Claude Code, in a run, a form of an MCP server", claude::form_in_a_run),
    ("Codex", beside::codex_question),
    ("opencode", beside::opencode_question),
    ("ACP, in a run, a form", acp::form),
    ("ACP, in a run, a question of Qwen", acp::question),
    ("ask-agent", own::ask_agent_question),
    ("`ask-post --wait`", own::ask_post),
    ("MCP, `ask_user`", own::ask_user),
];

#[test]
fn each_reply_to_each_asker_is_as_the_page_shows_it() {
    needs!("node", "tmux", "python3");
    let only = std::env::var("ASKBOX_TEST_ASKER").unwrap_or_default();
    let calls = ASK_FOR_CALLS.iter().map(|row| (row, &TO_CALLS[..]));
    let rows: Vec<_> = calls.chain(ASK_QUESTIONS.iter().map(|row| (row, &TO_QUESTIONS[..]))).enumerate().collect();
    let rows: Vec<_> = rows.into_iter().filter(|(_, ((name, _), _))| name.contains(&only)).collect();
    let cells = Mutex::new(BTreeMap::new());
    in_parallel(4, &rows, |(at, ((name, asks), decisions))| {
        let said = asks(decisions);
        cells.lock().unwrap().insert(*at, (*name, said));
    });
    let mut cells: Vec<_> = cells.into_inner().unwrap().into_values().collect();
    if only.is_empty() {
        let questions = cells.split_off(ASK_FOR_CALLS.len());
        snapbox::assert_data_eq!(page::page(&cells, &questions), snapbox::file!["../../../docs/dev/replies.md"].raw());
    } else {
        eprintln!("{cells:#?}");
    }
}
