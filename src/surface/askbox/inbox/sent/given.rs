//! What was sent from this screen. An answer to another machine is an offer: it is *sent*, and then *accepted* by that machine, or not.

use crate::peers::Progress;
use crate::surface::askbox::inbox::question::draft::Draft;
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sender::{Offered, Sent};
use crate::surface::askbox::machines::told::{Stands, Told};
use crate::time::{self, Time};

/// Something that was sent from here.
#[derive(Debug)]
pub struct Given {
    pub at: RoundAt,
    /// What it was made from: the draft again if it does not count.
    pub draft: Option<Draft>,
    /// The offer, if another machine decides.
    pub offer: Option<Awaited>,
}

/// An offer, and how it stands.
#[derive(Debug)]
pub struct Awaited {
    pub offered: Offered,
    /// The answer in a few words.
    pub words: String,
    pub sent_at: Time,
    pub progress: Progress,
    /// Whether the person has seen in the second pane that it was not accepted.
    pub was_seen: bool,
}

impl Given {
    pub fn new(sent: Sent, draft: Option<Draft>) -> Self {
        let Sent { at, words, offer, .. } = sent;
        let awaited = |offered| Awaited { offered, words, sent_at: time::now(), progress: Progress::UnderWay, was_seen: false };
        Self { at, draft, offer: offer.map(awaited) }
    }

    /// How the offer stands; `None` for an answer that was given here.
    pub fn told(&self) -> Option<Told> {
        Some(Told::of(self.at.host.as_ref()?, &self.offer.as_ref()?.progress))
    }

    /// Whether the answer counts, or still may.
    pub fn may_count(&self) -> bool {
        self.told().is_none_or(|told| told.stands.may_count())
    }

    /// Whether another machine has not said yet whether the answer counts.
    pub fn is_open(&self) -> bool {
        self.told().is_some_and(|told| told.stands.is_open())
    }

    /// What is said of an offer that is still under way when the inbox ends, which ends it as well: its machine may have it or not.
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

    /// The state of the offer in a sentence, once it was decided or is not going to be.
    pub fn news(&self) -> Option<String> {
        let (told, offer, address) = (self.told()?, self.offer.as_ref()?, self.at.address());
        let because = if told.why.is_empty() { String::new() } else { format!("; {}", told.why) };
        Some(match told.stands {
            Stands::Sent => format!("{address}: sent: {}; not yet {}", offer.words, told.step),
            Stands::Accepted => format!("{address}: {}; {}{because}", offer.offered.acknowledged, told.step),
            Stands::Unconfirmed => format!("{address}: sent; {}", told.why),
            Stands::Refused => format!("{address}: {}{because}", told.step),
            Stands::NotSent => format!("{address}: {}", told.why),
        })
    }
}
