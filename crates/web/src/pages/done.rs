//! The last questions that were answered or are over, and their state.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::other_machines::Offered;
use crate::pages::Frame;
use crate::pages::outcome::Outcome;
use crate::reply;
use crate::site::Visit;
use askbox_mailbox::Result;
use askbox_mailbox::documents::question::Content;
use askbox_mailbox::overview::past_rounds;
use askbox_peers::Progress;
use askbox_peers::machines::offer_state::{OfferState, Stands};

/// The number of rounds that are shown, the newest first.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "done.html")]
struct DonePage {
    frame: Frame,
    /// The answers that were sent to other machines.
    sent: Vec<Sent>,
    outcomes: Vec<Outcome>,
}

/// An answer to a question of another machine, and its state.
struct Sent {
    id: String,
    question: String,
    title: String,
    answer: String,
    /// The word for the state, and the CSS class of the card's mark.
    state: (&'static str, &'static str),
    step: String,
    why: String,
}

impl Sent {
    fn from_offer((offered, progress): &(Offered, Progress)) -> Self {
        let OfferState { stands, step, why, .. } = OfferState::new(&offered.host, progress);
        let class = match stands {
            Stands::Accepted => "delivered",
            Stands::Refused | Stands::NotSent => "parked",
            Stands::Sending | Stands::Sent | Stands::Unconfirmed => "pending",
        };
        Self {
            id: format!("{}:{}", offered.host, offered.round.workflow),
            question: offered.round.question.to_string(),
            title: offered.title.clone(),
            answer: offered.said(),
            state: (stands.word(), class),
            // The offer waits for this step, which is still to come.
            step: if stands.is_on_its_way() { format!("not yet {step}") } else { step },
            why,
        }
    }
}

/// `/done`
pub fn show(visit: &Visit, (): ()) -> Result<Response> {
    let site = &visit.site;
    let frame = Frame::new(visit, "done");
    let found = past_rounds::newest_first(&site.mailbox, None, None, Some(2 * SHOWN));
    let rounds = found.filter_map(|found| found.ok()?.read(&site.mailbox).ok().flatten());
    // Tasks and results of other workflows are left out: they were not answered by a person.
    let questions = rounds.filter(|round| matches!(round.document.typed.content(), Content::Question));
    let outcomes = questions.filter_map(|round| Outcome::read(site, &round).ok()).take(SHOWN).collect();
    let sent = site.elsewhere.all_offered().iter().take(SHOWN).map(Sent::from_offer).collect();
    Ok(reply::html(StatusCode::OK, &DonePage { frame, sent, outcomes }))
}
