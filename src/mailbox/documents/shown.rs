//! What of a question is for people everywhere, and what belongs to its machine alone.

use serde::Serialize;

use crate::mailbox::documents::asked::Asked;
use crate::mailbox::documents::content::Content;
use crate::mailbox::documents::question::Question;

/// The field beside a question that people elsewhere are shown: the hash of what its machine keeps to itself, so that they can sign for it.
pub const OF_ITS_MACHINE: &str = "of_its_machine";

/// The question without its answers, and without what belongs to its machine alone: the paths of its session and its checkpoint, the proof of
/// its run, and what only its agent is told. A field of a later version of this type is shown.
#[must_use]
pub fn shown(question: &Question) -> Question {
    Question {
        checkpoint: None,
        session_id: None,
        config_dir: None,
        asked_in: None,
        reads: Vec::new(),
        asked: Asked { tool_call: None, ..question.asked.clone() },
        unanswered: Content::Question,
        answer: None,
        closed: None,
        late_answers: Vec::new(),
        ..question.clone()
    }
}

/// What [`shown`] leaves out of the question itself, in the order in which it is hashed.
pub fn of_its_machine(question: &Question) -> impl Serialize {
    let (call, (prompt, results)) = (&question.asked.tool_call, question.unanswered.spelled());
    let is_told = (prompt, &question.reads, results);
    (&question.checkpoint, &question.session_id, &question.config_dir, &question.asked_in, call, is_told.0, is_told.1, is_told.2)
}
