//! All that was sent from this screen, and what other machines decided about their part of it.

use uuid::Uuid;

use crate::mailbox::documents::offer::{Decided, Verdict};
use crate::peers::Progress;
use crate::surface::askbox::inbox::question::draft::Draft;
use crate::surface::askbox::inbox::question::kept::Kept;
use crate::surface::askbox::inbox::sender::Others;
use crate::surface::askbox::inbox::sender::elsewhere::Elsewhere;
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::askbox::machines::told::Stands;

/// What was sent, the newest last.
#[derive(Debug, Default)]
pub struct FromHere(Vec<Given>);

/// News of the offers.
#[derive(Debug, Default)]
pub struct News {
    /// A sentence for each.
    pub said: Vec<String>,
    /// The rounds whose answer is accepted.
    pub accepted: Vec<RoundAt>,
    /// The drafts of answers that do not count.
    pub again: Vec<(RoundAt, Draft)>,
}

impl FromHere {
    pub fn push(&mut self, given: Given) {
        self.0.push(given);
    }

    pub fn all(&self) -> &[Given] {
        &self.0
    }

    /// The last answer that counts, or may.
    pub fn last(&self) -> Option<&RoundAt> {
        self.0.iter().rev().find(|given| given.may_count()).map(|given| &given.at)
    }

    /// An answer was taken back. Returns the drafts that it was made from.
    pub fn take_back(&mut self, at: &RoundAt) -> Vec<Draft> {
        self.0.extract_if(.., |given| given.at == *at).filter_map(|given| given.draft).collect()
    }

    /// The last offer for a round.
    pub fn offered_for(&self, at: &RoundAt) -> Option<&Given> {
        self.0.iter().rev().find(|given| given.offer.is_some() && given.at == *at)
    }

    /// Whether an answer to this round is on its way, and nothing else may be sent before its machine has decided.
    pub fn is_on_its_way(&self, at: &RoundAt) -> bool {
        self.offered_for(at).and_then(Given::told).is_some_and(|told| told.stands == Stands::Sent)
    }

    /// The draft of an answer that may have arrived or not, and what is known of it.
    pub fn take_unconfirmed(&mut self, at: &RoundAt) -> (Option<Draft>, Option<String>) {
        let Some(given) = self.0.iter_mut().rev().find(|given| given.at == *at && given.offer.is_some()) else { return (None, None) };
        (given.draft.take(), given.news().filter(|_| given.is_open()))
    }

    /// Hears of the offers. An answer that does not count is a draft again.
    pub fn hear(&mut self, others: &Others, now: &Elsewhere, is_looked_at: bool) -> News {
        let mut news = News::default();
        for given in &mut self.0 {
            let Some(offer) = &mut given.offer else { continue };
            if matches!(offer.progress, Progress::Decided(_)) {
                continue;
            }
            let id = offer.offered.id;
            let told = match now.progress(id) {
                // Its machine has told since what became of the question, and it was not by this offer.
                Some(Progress::Unconfirmed(_)) => others.lost_to(&given.at, id).map(|said| lost(id, said)),
                _ => None,
            };
            let Some(told) = told.as_ref().or(now.progress(id)).filter(|told| **told != offer.progress) else { continue };
            offer.progress = told.clone();
            // The person may have seen that it was not confirmed, but has not seen this.
            offer.was_seen = is_looked_at;
            match given.told().map(|told| told.stands) {
                None | Some(Stands::Sent) => continue,
                Some(Stands::Accepted) => {
                    news.accepted.push(given.at.clone());
                    given.draft = None;
                }
                Some(Stands::Unconfirmed) => {}
                Some(Stands::Refused | Stands::NotSent) => news.again.extend(given.draft.take().map(|draft| (given.at.clone(), draft))),
            }
            news.said.extend(given.news());
        }
        news
    }

    /// The person looks at what became of the answers.
    pub fn see(&mut self) {
        self.0.iter_mut().filter_map(|given| given.offer.as_mut()).for_each(|offer| {
            offer.was_seen = offer.progress != Progress::UnderWay;
        });
    }

    /// The offers that have neither arrived nor failed.
    pub fn under_way(&self) -> Vec<Uuid> {
        let offers = self.0.iter().filter_map(|given| given.offer.as_ref());
        offers.filter(|offer| offer.progress == Progress::UnderWay).map(|offer| offer.offered.id).collect()
    }

    /// The places of the offers that may still be decided.
    pub fn open(&self) -> Vec<usize> {
        self.0.iter().enumerate().filter(|(_, given)| given.is_open()).map(|(n, _)| n).collect()
    }

    /// The drafts of the offers that are not accepted yet.
    pub fn undecided(&self) -> impl Iterator<Item = Kept> {
        let offers = self.0.iter().filter(|given| given.offer.is_some());
        offers.filter_map(|given| Kept::of(&given.at, given.draft.as_ref()?, None))
    }

    /// What was not accepted, or not confirmed, and was not looked at yet; one line.
    pub fn note(&self) -> Option<String> {
        let stands = |given: &Given| given.told().map(|told| told.stands);
        let is_news = |given: &&Given| {
            let is_bad = matches!(stands(given), Some(Stands::Refused | Stands::NotSent | Stands::Unconfirmed));
            is_bad && given.offer.as_ref().is_some_and(|offer| !offer.was_seen)
        };
        let all: Vec<_> = self.0.iter().rev().filter(is_news).collect();
        match all.as_slice() {
            [] => None,
            [given] => Some(format!("{}: {} · tab tells why", given.at.address(), given.told()?.step)),
            many => {
                // What was not confirmed may be the answer.
                let unconfirmed = many.iter().filter(|given| stands(given) == Some(Stands::Unconfirmed)).count();
                let words = |n: usize, one: &str, several: &str| match n {
                    0 => None,
                    1 => Some(format!("1 answer {one}")),
                    n => Some(format!("{n} answers {several}")),
                };
                let refused = words(many.len() - unconfirmed, "was not accepted", "were not accepted");
                let unconfirmed = words(unconfirmed, "is not confirmed", "are not confirmed");
                let all: Vec<_> = refused.into_iter().chain(unconfirmed).collect();
                Some(format!("{} · tab tells why", all.join(" · ")))
            }
        }
    }
}

/// The verdict that a machine has given by telling what became of the question.
fn lost(offer_id: Uuid, said: String) -> Progress {
    Progress::Decided(Verdict { offer_id, decided: Decided::Lost, said, hint: None, warning: None })
}
