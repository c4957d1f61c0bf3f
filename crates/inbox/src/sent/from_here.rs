//! Each answer that was sent from this screen, and the decisions of other machines about it. An answer to another machine is an offer: it
//! is *sent*, and then that machine *accepts* it or not.

use uuid::Uuid;

use crate::question::draft::Draft;
use crate::question::kept_drafts::KeptDraft;
use crate::sender::machines::Machines;
use crate::sender::{Offered, Others, Sender, Sent};
use askbox_mailbox::{Decided, RoundAt, Time, Verdict, time};
use askbox_peers::Progress;
use askbox_peers::machines::offer_state::{OfferState, Stands};
use askbox_run::asking::receipt::End;

/// The answers that were sent, the newest last.
#[derive(Debug, Default)]
pub struct FromHere {
    pub all: Vec<SentAnswer>,
    /// The rounds that were declined together.
    together: Vec<Vec<RoundAt>>,
}

/// News about the offers.
#[derive(Debug, Default)]
pub struct News {
    /// One sentence for each piece of news.
    pub said: Vec<String>,
    /// The rounds whose answer was accepted.
    pub accepted: Vec<RoundAt>,
    /// The drafts of answers that do not count.
    pub again: Vec<(RoundAt, Draft)>,
}

impl FromHere {
    /// Notes that these rounds of this machine were declined together, so that they are taken back together.
    pub fn together(&mut self, rounds: &[RoundAt]) {
        self.together.push(rounds.to_vec());
    }

    /// The round of the last answer that counts or still may count, and the rounds that were declined together with it.
    pub fn last(&self) -> Vec<RoundAt> {
        let Some(last) = self.all.iter().rev().find(|given| given.may_count()).map(|given| &given.at) else { return Vec::new() };
        self.together.iter().find(|group| group.contains(last)).cloned().unwrap_or_else(|| vec![last.clone()])
    }

    /// Removes an answer that was taken back. Returns the drafts behind it.
    pub fn take_back(&mut self, at: &RoundAt) -> Vec<Draft> {
        self.together.iter_mut().for_each(|group| group.retain(|other| other != at));
        self.all.extract_if(.., |given| given.at == *at).filter_map(|given| given.draft).collect()
    }

    /// The last offer for a round.
    pub fn offered_for(&self, at: &RoundAt) -> Option<&SentAnswer> {
        self.all.iter().rev().find(|given| given.offer.is_some() && given.at == *at)
    }

    /// True if an answer to this round is on its way. Nothing else may be sent until its machine has decided.
    pub fn is_on_its_way(&self, at: &RoundAt) -> bool {
        self.offered_for(at).and_then(SentAnswer::told).is_some_and(|told| told.stands.is_on_its_way())
    }

    /// Takes the draft of an answer that may have arrived or not, with a sentence about its state.
    pub fn take_unconfirmed(&mut self, at: &RoundAt) -> (Option<Draft>, Option<String>) {
        let Some(given) = self.all.iter_mut().rev().find(|given| given.at == *at && given.offer.is_some()) else { return (None, None) };
        (given.draft.take(), given.news().filter(|_| given.is_open()))
    }

    /// Takes in the progress of the offers. An answer that does not count becomes a draft again.
    pub fn hear(&mut self, others: &Others, now: &Machines, is_looked_at: bool) -> News {
        let mut news = News::default();
        for given in &mut self.all {
            let Some(offer) = &mut given.offer else { continue };
            if matches!(offer.progress, Progress::Decided(_)) {
                continue;
            }
            let id = offer.offered.id;
            let told = match now.offers.get(&id) {
                // Its machine has since reported how the question ended, and this offer was not the reason.
                Some(Progress::Unconfirmed(_)) => others.lost_to(&given.at, id).map(|said| lost(id, said)),
                _ => None,
            };
            let Some(told) = told.as_ref().or(now.offers.get(&id)).filter(|told| **told != offer.progress) else { continue };
            offer.progress = told.clone();
            // The person may have seen that the offer was not confirmed, but not this new state.
            offer.was_seen = is_looked_at;
            match given.told().map(|told| told.stands) {
                None => continue,
                Some(Stands::Accepted) => {
                    news.accepted.push(given.at.clone());
                    given.draft = None;
                }
                Some(Stands::Sending | Stands::Sent | Stands::Unconfirmed) => {}
                Some(Stands::Refused | Stands::NotSent) => news.again.extend(given.draft.take().map(|draft| (given.at.clone(), draft))),
            }
            news.said.extend(given.news());
        }
        news
    }

    /// Takes in the ends of answers to sessions' dialogs. The draft of an answer that came too late is a draft again.
    pub fn hear_ends(&mut self, sender: Sender<'_>, is_looked_at: bool) -> News {
        let mut news = News::default();
        for given in self.all.iter_mut().filter(|given| given.end == Some(End::NotKnownYet)) {
            let end = sender.end(&given.at);
            if end == End::NotKnownYet {
                continue;
            }
            let told = format!("{}: {}", given.at.address(), end.words());
            news.said.push(told.clone());
            let draft = given.draft.take();
            if matches!(end, End::TooLate { .. }) {
                let kept = draft.as_ref().and_then(|draft| KeptDraft::from_draft(&given.at, draft, None));
                let kept = kept.map_or_else(String::new, |kept| format!(" · {}", kept.keep_in_words()));
                given.second = Some(format!("{told}{kept} · tab tells more")).filter(|_| !is_looked_at);
                news.again.extend(draft.map(|draft| (given.at.clone(), draft)));
            }
            given.end = Some(end);
        }
        news
    }

    /// Notes that the person looks at the state of the answers.
    pub fn see(&mut self) {
        self.all.iter_mut().for_each(|given| given.second = None);
        self.all.iter_mut().filter_map(|given| given.offer.as_mut()).for_each(|offer| {
            offer.was_seen = offer.progress != Progress::UnderWay;
        });
    }

    /// The offers that are still on their way: they have not arrived, and sending them has not failed.
    pub fn under_way(&self) -> Vec<Uuid> {
        let offers = self.all.iter().filter_map(|given| given.offer.as_ref());
        offers.filter(|offer| offer.progress == Progress::UnderWay).map(|offer| offer.offered.id).collect()
    }

    /// The indexes of the offers that may still be decided.
    pub fn open(&self) -> Vec<usize> {
        self.all.iter().enumerate().filter(|(_, given)| given.is_open()).map(|(n, _)| n).collect()
    }

    /// The drafts of the offers that are not accepted yet.
    pub fn undecided(&self) -> impl Iterator<Item = KeptDraft> {
        let offers = self.all.iter().filter(|given| given.offer.is_some());
        offers.filter_map(|given| KeptDraft::from_draft(&given.at, given.draft.as_ref()?, None))
    }

    /// One line about answers that were refused or not confirmed and that the person has not looked at yet.
    pub fn note(&self) -> Option<String> {
        let stands = |given: &SentAnswer| given.told().map(|told| told.stands);
        let is_news = |given: &&SentAnswer| {
            let is_bad = matches!(stands(given), Some(Stands::Refused | Stands::NotSent | Stands::Unconfirmed));
            is_bad && given.offer.as_ref().is_some_and(|offer| !offer.was_seen)
        };
        let all: Vec<_> = self.all.iter().rev().filter(is_news).collect();
        match all.as_slice() {
            [] => self.all.iter().rev().find_map(|given| given.second.clone()),
            [given] => Some(format!("{}: {} · tab tells why", given.at.address(), given.told()?.step)),
            many => {
                // An unconfirmed offer may still be the answer, so it is counted separately.
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

/// The verdict that follows from a machine's report on how the question ended.
fn lost(offer_id: Uuid, said: String) -> Progress {
    Progress::Decided(Verdict { offer_id, decided: Decided::Lost, said, hint: None, warning: None })
}

/// An answer that was sent from here.
#[derive(Debug)]
pub struct SentAnswer {
    pub at: RoundAt,
    /// The draft behind the answer. It becomes the draft again if the answer does not count.
    pub draft: Option<Draft>,
    /// The offer, if another machine decides.
    pub offer: Option<Awaited>,
    /// The end, if it is the answer to a session's dialog on this machine.
    pub end: Option<End>,
    /// The line for the person whose answer came too late, until they look at the second pane.
    pub second: Option<String>,
}

/// An offer and its state.
#[derive(Debug)]
pub struct Awaited {
    pub offered: Offered,
    /// The answer in a few words.
    pub words: String,
    pub sent_at: Time,
    pub progress: Progress,
    /// True if the person has seen in the second pane that the offer was not accepted.
    pub was_seen: bool,
}

impl SentAnswer {
    pub fn new(sent: Sent, draft: Option<Draft>) -> Self {
        let Sent { at, words, offer, end, .. } = sent;
        let awaited = |offered| Awaited { offered, words, sent_at: time::now(), progress: Progress::UnderWay, was_seen: false };
        Self { at, draft, offer: offer.map(awaited), end, second: None }
    }

    /// The state of the offer, or `None` for an answer that was given on this machine.
    pub fn told(&self) -> Option<OfferState> {
        Some(OfferState::new(self.at.host.as_ref()?, &self.offer.as_ref()?.progress))
    }

    /// True if the answer counts or still may count.
    pub fn may_count(&self) -> bool {
        self.told().is_none_or(|told| told.stands.may_count())
    }

    /// True if another machine has not yet said whether the answer counts.
    pub fn is_open(&self) -> bool {
        self.told().is_some_and(|told| told.stands.is_open())
    }

    /// The words about an offer that is still on its way when the inbox ends. The end also stops the sending, so the machine may have the
    /// offer or not.
    pub fn left_behind(&self) -> Option<String> {
        let (offer, host, address) = (self.offer.as_ref()?, self.at.host.as_ref()?, self.at.address());
        let is_under_way = offer.progress == Progress::UnderWay;
        is_under_way.then(|| {
            let words = &offer.words;
            format!(
                "{address}: {host} has not answered, and may have your answer ({words}) or not: ask-answer show {address} tells it later"
            )
        })
    }

    /// The state of the offer in a sentence.
    pub fn news(&self) -> Option<String> {
        let (told, offer, address) = (self.told()?, self.offer.as_ref()?, self.at.address());
        let because = if told.why.is_empty() { String::new() } else { format!("; {}", told.why) };
        Some(match told.stands {
            Stands::Sending | Stands::Sent => format!("{address}: {}: {}; not yet {}", told.stands.word(), offer.words, told.step),
            Stands::Accepted => format!("{address}: {}; {}{because}", offer.offered.acknowledged, told.step),
            Stands::Unconfirmed => format!("{address}: sent; {}", told.why),
            Stands::Refused => format!("{address}: {}{because}", told.step),
            Stands::NotSent => format!("{address}: {}", told.why),
        })
    }
}
