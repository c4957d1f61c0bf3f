//! What other machines report while the screen is open: their questions, and what they decide about the offers that were made here.

use uuid::Uuid;

use crate::mailbox::documents::offer::{Decided, Verdict};
use crate::peers::Progress;
use crate::surface::askbox::inbox::app::{App, Place};
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::surface::askbox::inbox::sent::given::Given;
use crate::surface::askbox::inbox::sent::outcomes::Outcomes;
use crate::surface::askbox::machines::told::Stands;

impl App<'_> {
    /// Follows what other machines report. Returns whether there is something else to see.
    pub fn follow_others(&mut self) -> bool {
        let latest = self.sender.others.latest();
        if std::sync::Arc::ptr_eq(&latest, &self.elsewhere) {
            return false;
        }
        let before = std::mem::replace(&mut self.elsewhere, latest);
        let changes = self.elsewhere.changes_since(&before);
        if self.preview.as_ref().is_some_and(|preview| changes.contains(&preview.address)) {
            self.preview = None;
        }
        if let Place::Question(opened) = &self.place
            && changes.contains(&opened.shown.address())
            && let Err(why) = self.sender.still_waits(&opened.shown)
        {
            self.gone(why);
        }
        changes.into_iter().for_each(|address| self.waiting.changed(address));
        self.hear_of_offers();
        self.open_wanted();
        true
    }

    /// What became of the offers. What does not count is a draft again.
    fn hear_of_offers(&mut self) {
        let (mut news, mut accepted, mut again) = (Vec::new(), Vec::new(), false);
        let is_looked_at = matches!(self.place, Place::Outcomes(_));
        for given in &mut self.sent {
            let Some(offer) = &mut given.offer else { continue };
            if matches!(offer.progress, Progress::Decided(_)) {
                continue;
            }
            let id = offer.offered.id;
            let now = match self.elsewhere.progress(id) {
                // Its machine has told meanwhile what became of the question, and it was not by this offer.
                Some(Progress::Unconfirmed(_)) => self.sender.others.lost_to(&given.at, id).map(|said| lost(id, said)),
                _ => None,
            };
            let Some(now) = now.as_ref().or(self.elsewhere.progress(id)).filter(|now| **now != offer.progress) else { continue };
            offer.progress = now.clone();
            // Whoever has seen that it was not confirmed has not seen this.
            offer.was_seen = is_looked_at;
            match given.told().map(|told| told.stands) {
                None | Some(Stands::Sent) => continue,
                Some(Stands::Accepted) => {
                    accepted.push(given.at.clone());
                    given.draft = None;
                }
                Some(Stands::Unconfirmed) => {}
                Some(Stands::Refused | Stands::NotSent) => {
                    if let Some(draft) = given.draft.take() {
                        self.drafts.entry(given.at.clone()).or_insert(draft);
                        again = true;
                    }
                }
            }
            news.extend(given.news());
        }
        // A draft that was begun anew meanwhile stays.
        accepted.retain(|at| !self.drafts.contains_key(at));
        accepted.iter().for_each(|at| self.forget(at));
        if again {
            self.draft_changed();
        }
        if !news.is_empty() {
            self.said = news.join(" · ");
        }
        if let Place::Outcomes(outcomes) = &mut self.place {
            *outcomes = Outcomes::read(self.sender.mailbox, &self.sent, Some(outcomes));
        }
    }

    /// The last offer for a round.
    pub fn offered_for(&self, at: &RoundAt) -> Option<&Given> {
        self.sent.iter().rev().find(|given| given.offer.is_some() && given.at == *at)
    }

    /// Whether an answer to this round is on its way, and nothing else may be sent before its machine has decided.
    pub(super) fn is_on_its_way(&self, at: &RoundAt) -> bool {
        self.offered_for(at).and_then(Given::told).is_some_and(|told| told.stands == Stands::Sent)
    }

    /// The offers that have neither arrived nor failed.
    pub fn under_way(&self) -> Vec<Uuid> {
        let offers = self.sent.iter().filter_map(|given| given.offer.as_ref());
        offers.filter(|offer| offer.progress == Progress::UnderWay).map(|offer| offer.offered.id).collect()
    }

    /// What was not accepted, or not confirmed, and was not looked at yet; one line.
    pub fn note_of_offers(&self) -> Option<String> {
        let stands = |given: &Given| given.told().map(|told| told.stands);
        let is_news = |given: &&Given| {
            let is_bad = matches!(stands(given), Some(Stands::Refused | Stands::NotSent | Stands::Unconfirmed));
            is_bad && given.offer.as_ref().is_some_and(|offer| !offer.was_seen)
        };
        let all: Vec<_> = self.sent.iter().rev().filter(is_news).collect();
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

    /// Shows what became of answered questions.
    pub(super) fn show_outcomes(&mut self) {
        self.place = Place::Outcomes(Outcomes::read(self.sender.mailbox, &self.sent, None));
        self.sent.iter_mut().filter_map(|given| given.offer.as_mut()).for_each(|offer| {
            offer.was_seen = offer.progress != Progress::UnderWay;
        });
    }
}

/// The verdict that a machine has given by telling what became of the question.
fn lost(offer_id: Uuid, said: String) -> Progress {
    Progress::Decided(Verdict { offer_id, decided: Decided::Lost, said, hint: None, warning: None })
}
