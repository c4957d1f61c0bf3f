//! Describes, for people, the state of an answer that was offered to another machine. It counts as an answer only once that machine has
//! accepted it. Also notes that somebody has already sent an answer and its machine has not decided yet.

use crate::known::HostView;
use crate::{Progress, machines};
use askbox_mailbox::{Decided, HostName, QuestionId, text, time};

/// The words for an unconfirmed offer, as long as the program that made it is open.
const AGAIN: &str = "It is asked again by itself once it is reached; the answer counts once.";

/// The progress of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Stands {
    /// On its way. It may not have arrived yet.
    Sending,
    /// It has arrived where it waits, durably, for its machine. That machine has not decided.
    Sent,
    /// Its machine has decided that the answer counts.
    Accepted,
    /// Its machine has decided that the answer does not count.
    Refused,
    /// The offer was not sent, so it counts nowhere.
    #[strum(serialize = "not sent")]
    NotSent,
    /// The offer may have arrived or not.
    Unconfirmed,
}

askbox_mailbox::words!(Stands);

impl Stands {
    /// True if it is not known here yet whether the answer counts.
    pub fn is_open(self) -> bool {
        self.is_on_its_way() || self == Self::Unconfirmed
    }

    /// True if its machine is still to decide, and nothing has failed.
    pub fn is_on_its_way(self) -> bool {
        matches!(self, Self::Sending | Self::Sent)
    }

    /// True if the answer counts or still may count.
    pub fn may_count(self) -> bool {
        !matches!(self, Self::Refused | Self::NotSent)
    }
}

/// The state of an offer in words.
pub struct OfferState {
    /// The progress.
    pub stands: Stands,
    /// The step that follows *sent*, such as `accepted by HOST`. If the offer is only on its way, this step is still to come.
    pub step: String,
    /// The machine's words about the offer, or the reason why it says nothing.
    pub why: String,
    /// What the person should do next, or nothing.
    pub todo: String,
}

impl OfferState {
    /// The words for the progress of an offer to this machine.
    pub fn new(host: &HostName, progress: &Progress) -> Self {
        let accepted = format!("accepted by {host}");
        let told = |stands, step, why, todo| Self { stands, step, why, todo };
        match progress {
            Progress::UnderWay => told(Stands::Sending, accepted, String::new(), String::new()),
            Progress::Sent => told(Stands::Sent, accepted, String::new(), String::new()),
            Progress::Decided(verdict) => {
                let here = |words: &str| named_from_here(host.as_str(), &text::one_line(words));
                let line = |words: &Option<String>| words.as_deref().map(here).unwrap_or_default();
                let word = match verdict.decided {
                    Decided::Accepted => return told(Stands::Accepted, accepted, line(&verdict.warning), String::new()),
                    Decided::Lost => "not the first",
                    Decided::Closed => "too late",
                    Decided::Changed => "the question has changed",
                    Decided::Invalid => "does not fit",
                };
                let why = format!("{host}: {}", here(&verdict.said));
                told(Stands::Refused, format!("not accepted by {host}: {word}"), why, line(&verdict.hint))
            }
            Progress::NotSent(problem) => {
                let why = format!("Nothing was sent: {}", text::one_line(&problem.said));
                told(Stands::NotSent, format!("not reached: {host}"), why, text::one_line(&problem.hint))
            }
            Progress::Unconfirmed(problem) => {
                let why = machines::without_name(host.as_str(), &problem.said);
                let why = format!("{host} did not confirm the answer, and may have it or not: {why}");
                told(Stands::Unconfirmed, format!("not confirmed by {host}"), why, AGAIN.into())
            }
        }
    }
}

/// A machine's words, with their commands changed so that they work on this machine.
pub fn named_from_here(host: &str, words: &str) -> String {
    words.replace("ask-answer show ", &format!("ask-answer show {host}:"))
}

/// The person who first sent an answer to a question, if the machine reports one.
pub fn first_sender(view: &HostView, question: QuestionId) -> Option<String> {
    view.undecided.iter().find(|offer| offer.question == question).map(|offer| offer.by.excerpt(40))
}

/// One line about that first answer, which also says what becomes of a second one.
pub fn undecided_note(view: &HostView, question: QuestionId) -> Option<String> {
    let first = view.undecided.iter().find(|offer| offer.question == question)?;
    let (by, age) = (first.by.excerpt(40), time::human(time::since(first.at)));
    Some(format!("{by} sent an answer {age} ago, and {} has not decided yet: another one counts only if that one does not", view.host))
}

/// One line to read before sending an answer: somebody has already sent one, or the machine is away, or both.
pub fn notes_beforehand(view: &HostView, question: QuestionId) -> Option<String> {
    let notes: Vec<_> = [undecided_note(view, question), machines::while_away(view)].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;
    use askbox_mailbox::documents::offer::Verdict;

    #[test]
    fn an_offer_is_called_accepted_only_by_its_machines_word() {
        let host: HostName = "build".parse().unwrap();
        let verdict = |decided| {
            Progress::Decided(Verdict { offer_id: uuid::Uuid::nil(), decided, said: "bob was first".into(), hint: None, warning: None })
        };
        let words = |progress: &Progress| {
            let told = OfferState::new(&host, progress);
            (told.stands, told.step, told.why)
        };
        for (open, stands) in [(Progress::UnderWay, Stands::Sending), (Progress::Sent, Stands::Sent)] {
            assert_eq!(words(&open), (stands, "accepted by build".into(), String::new()));
        }
        assert_eq!(words(&verdict(Decided::Accepted)), (Stands::Accepted, "accepted by build".into(), String::new()));
        assert_eq!(named_from_here("build", "look at it: ask-answer show w"), "look at it: ask-answer show build:w");
        for (decided, said) in [
            (Decided::Lost, "not the first"),
            (Decided::Closed, "too late"),
            (Decided::Changed, "the question has changed"),
            (Decided::Invalid, "does not fit"),
        ] {
            let expected = (Stands::Refused, format!("not accepted by build: {said}"), "build: bob was first".to_owned());
            assert_eq!(words(&verdict(decided)), expected);
        }
        let problem = Problem::passing("the link broke", "");
        assert_eq!(words(&Progress::NotSent(problem.clone())).0, Stands::NotSent);
        let unknown = OfferState::new(&host, &Progress::Unconfirmed(problem));
        assert!(unknown.stands.may_count() && unknown.why.contains("may have it or not"));
    }
}
