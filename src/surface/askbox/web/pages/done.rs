//! What became of the last questions.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::mailbox::documents::content::Content;
use crate::mailbox::listing::past_rounds;
use crate::peers::Progress;
use crate::surface::askbox::machines::told::{Stands, Told};
use crate::surface::askbox::web::elsewhere::Offered;
use crate::surface::askbox::web::pages::frame::Frame;
use crate::surface::askbox::web::pages::outcome::Outcome;
use crate::surface::askbox::web::reply;
use crate::surface::askbox::web::site::Visit;

/// How many rounds are shown, the newest first.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "done.html")]
struct DonePage {
    frame: Frame,
    /// What was sent to other machines.
    sent: Vec<Sent>,
    outcomes: Vec<Outcome>,
}

/// An answer to a question of another machine, and how it stands.
struct Sent {
    id: String,
    question: String,
    title: String,
    answer: String,
    /// The word for how it stands, and the class of the card's mark.
    state: (&'static str, &'static str),
    step: String,
    why: String,
}

impl Sent {
    fn of((offered, progress): &(Offered, Progress)) -> Self {
        let Told { stands, step, why, .. } = Told::of(&offered.host, progress);
        let class = match stands {
            Stands::Accepted => "delivered",
            Stands::Refused | Stands::NotSent => "parked",
            Stands::Sent | Stands::Unconfirmed => "pending",
        };
        Self {
            id: format!("{}:{}", offered.host, offered.round.workflow),
            question: offered.round.question.to_string(),
            title: offered.title.clone(),
            answer: offered.said(),
            state: (stands.word(), class),
            // What it waits for is the step to come.
            step: if stands == Stands::Sent { format!("not yet {step}") } else { step },
            why,
        }
    }
}

/// `/done`
pub async fn show(visit: Visit) -> Response {
    let make = |visit: &Visit| {
        let site = &visit.site;
        let found = past_rounds::newest_first(&site.mailbox, None, None, Some(2 * SHOWN));
        let rounds = found.filter_map(|found| found.ok()?.read(&site.mailbox).ok().flatten());
        // Tasks and results of other workflows are nothing that a person answered.
        let questions = rounds.filter(|round| matches!(round.document.typed.content(), Content::Question));
        let outcomes = questions.filter_map(|round| Outcome::of(&site.mailbox, &round).ok()).take(SHOWN).collect();
        let sent = site.elsewhere.all_offered().iter().take(SHOWN).map(Sent::of).collect();
        Ok(reply::html(StatusCode::OK, &DonePage { frame: Frame::of(visit, "done"), sent, outcomes }))
    };
    visit.page(make).await
}
