//! How an answer that was offered to another machine stands, as people are told. It is no answer before that machine has accepted it.

use crate::address::HostName;
use crate::mailbox::documents::offer::Decided;
use crate::peers::Progress;
use crate::text;

/// What becomes of an offer that was not confirmed, as long as the program that made it is open.
const AGAIN: &str = "It is asked again by itself once it is reached; the answer counts once.";

/// How far an offer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// On its way, or there; its machine has not decided.
    Sent,
    Accepted,
    /// Its machine has decided that it does not count.
    Refused,
    /// It counts nowhere.
    NotSent,
    /// It may have arrived or not.
    Unconfirmed,
}

impl Stands {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::Unconfirmed => "unconfirmed",
        }
    }

    /// Whether nobody here knows yet whether the answer counts.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Sent | Self::Unconfirmed)
    }

    /// Whether the answer counts, or still may.
    pub fn may_count(self) -> bool {
        !matches!(self, Self::Refused | Self::NotSent)
    }
}

/// How an offer stands.
#[derive(Debug)]
pub struct Told {
    pub stands: Stands,
    /// The step behind *sent*, which is still to come where it only was sent: `accepted by HOST`.
    pub step: String,
    /// What its machine says about it, or why it says nothing.
    pub why: String,
    pub todo: String,
}

impl Told {
    pub fn of(host: &HostName, progress: &Progress) -> Self {
        let accepted = format!("accepted by {host}");
        let told = |stands, step, why, todo| Self { stands, step, why, todo };
        match progress {
            Progress::UnderWay | Progress::Sent => told(Stands::Sent, accepted, String::new(), String::new()),
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
                let why = format!("{host} did not confirm the answer, and may have it or not: {}", text::one_line(&problem.said));
                told(Stands::Unconfirmed, format!("not confirmed by {host}"), why, AGAIN.into())
            }
        }
    }
}

/// A machine's words with its commands as they are typed here.
pub fn named_from_here(host: &str, words: &str) -> String {
    words.replace("ask-answer show ", &format!("ask-answer show {host}:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::documents::offer::Verdict;
    use crate::peers::Problem;

    #[test]
    fn an_offer_is_called_accepted_only_by_its_machines_word() {
        let host: HostName = "build".parse().unwrap();
        let verdict = |decided| {
            Progress::Decided(Verdict { offer_id: uuid::Uuid::nil(), decided, said: "bob was first".into(), hint: None, warning: None })
        };
        let words = |progress: &Progress| {
            let told = Told::of(&host, progress);
            (told.stands, told.step, told.why)
        };
        for open in [Progress::UnderWay, Progress::Sent] {
            assert_eq!(words(&open), (Stands::Sent, "accepted by build".into(), String::new()));
        }
        assert_eq!(words(&verdict(Decided::Accepted)), (Stands::Accepted, "accepted by build".into(), String::new()));
        assert_eq!(named_from_here("build", "see it with: ask-answer show w"), "see it with: ask-answer show build:w");
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
        let unknown = Told::of(&host, &Progress::Unconfirmed(problem));
        assert!(unknown.stands.may_count() && unknown.why.contains("may have it or not"));
    }
}
