//! The asker of a form, in words.

use crate::attempt::record::Run;
use askbox_agent::stream::Asker;
use askbox_mailbox::text;

/// The most characters of a name.
const LONGEST_NAME: usize = 60;

/// The name in the question. An agent that speaks ACP has the name of its runner, which the operator has chosen.
pub(super) fn name(run: &Run, asker: &Asker) -> String {
    match asker {
        Asker::Server(name) => text::excerpt(&name.one_line(), LONGEST_NAME),
        Asker::Agent | Asker::AgentOrServer => text::excerpt(&run.runner, LONGEST_NAME),
    }
}

/// The asker inside a sentence.
pub(super) fn named(run: &Run, asker: &Asker) -> String {
    match asker {
        Asker::Server(_) => format!("the MCP server `{}`", name(run, asker)),
        Asker::Agent | Asker::AgentOrServer => format!("the agent `{}`", name(run, asker)),
    }
}
