//! The question that a dialog of an attended session becomes: a call that a person has to allow, or questions of the agent.

use askbox_mailbox::QuestionDocument;
use askbox_mailbox::document::Document;
use askbox_mailbox::documents::checks::check_draft;
use askbox_mailbox::documents::fields::live::Live;
use askbox_mailbox::documents::fields::tool_call::{Subagent, ToolCall};
use askbox_mailbox::error::Result;
use askbox_mailbox::id::WorkflowId;
use askbox_run::approval::ask;
use askbox_run::approval::call::Call;

use crate::ask_user_question_call;

/// The subject of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// May the call be made?
    Permission,
    /// The call's input are questions, in the form of Claude Code's tool AskUserQuestion.
    Questions,
}

/// Returns the question about the call with this id, which a subagent makes if one is named.
///
/// # Errors
/// [`askbox_mailbox::error::Error::Invalid`] if the call cannot be shown, or asks in a form that is not known.
pub fn document(
    subject: Subject,
    workflow: &WorkflowId,
    call: &Call<'_>,
    id: &str,
    subagent: Option<Subagent>,
    live: Live,
) -> Result<QuestionDocument> {
    let mut document = match subject {
        Subject::Permission => Document::draft(ask::question_of_dialog(workflow, call, id, subagent, live)?),
        Subject::Questions => {
            let mut document = ask_user_question_call::question(workflow, call.input)?;
            // The agent wrote the questions, which may have any field.
            check_draft::of_client(&document.typed)?;
            document.typed.asked.tool_call = Some(ToolCall { name: call.tool.to_owned(), id: id.to_owned(), subagent });
            document.typed.asked.live = Some(Box::new(live));
            document
        }
    };
    document.typed.cwd = Some(call.cwd.to_path_buf()).filter(|cwd| cwd.is_absolute());
    // Nobody but the session speaks here.
    document.typed.asked.asked_by = None;
    Ok(document)
}
