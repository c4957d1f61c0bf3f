//! That somebody has sent an answer already, about which its machine has not decided.

use crate::id::QuestionId;
use crate::peers::known::HostView;
use crate::surface::askbox::machines;
use crate::time;

/// The first who has sent an answer to a question, as far as that is told.
pub(in crate::surface::askbox) fn first_sender(view: &HostView, question: QuestionId) -> Option<String> {
    view.undecided.iter().find(|offer| offer.question == question).map(|offer| offer.by.excerpt(40))
}

/// The same in one line, with what becomes of a second answer.
pub(in crate::surface::askbox) fn said(view: &HostView, question: QuestionId) -> Option<String> {
    let first = view.undecided.iter().find(|offer| offer.question == question)?;
    let (by, age) = (first.by.excerpt(40), time::human(time::since(first.at)));
    Some(format!("{by} sent an answer {age} ago, and {} has not decided yet: another one counts only if that one does not", view.host))
}

/// What is to be known before an answer is sent: that somebody has sent one, and that the machine is away.
pub(in crate::surface::askbox) fn beforehand(view: &HostView, question: QuestionId) -> Option<String> {
    let notes: Vec<_> = [said(view, question), machines::while_away(view)].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}
