//! An offer for this host is decided by [`offered::apply`], as every answer from another machine is. The role that sent it is the
//! database's word, and stands beside the name that the sender wrote.

use crate::document;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::mailbox::documents::offer::{Decided, Offer, Verdict};
use crate::mailbox::transitions::offered;
use crate::mailbox::trust::Policy;
use crate::mailbox::who::caller::{self, Below};
use crate::sync::host::store::Waiting;
use crate::text;

/// Returns which answers count now. Who changes the configuration need not restart this process.
pub type PolicyNow<'a> = &'a dyn Fn() -> Result<Policy>;

/// Decides an offer, by the answers that count now.
///
/// # Errors
/// Where nothing was decided, and the offer waits on: the configuration cannot be read; see [`offered::apply`].
pub fn decide(mailbox: &Mailbox, policy_now: PolicyNow<'_>, waiting: &Waiting, doc: &str) -> Result<(Verdict, Option<Offer>)> {
    let invalid = |said: String| Verdict { offer_id: waiting.offer_id, decided: Decided::Invalid, said, hint: None, warning: None };
    let offer = match read(doc) {
        Ok(offer) if offer.offer_id == waiting.offer_id => offer,
        Ok(_) => return Ok((invalid("the offer bears another id than its row".into()), None)),
        Err(e) => return Ok((invalid(format!("the offer cannot be read: {e}")), None)),
    };
    let policy = policy_now()?;
    let told = match policy.signed_by {
        // The key tells who it is; the signature covers the name.
        Some(_) => offer.clone(),
        None => named_by_role(offer.clone(), &waiting.sent_by),
    };
    let verdict = offered::apply(mailbox, &policy, &told, Below::NoAgent)?;
    Ok((verdict, Some(offer)))
}

fn read(doc: &str) -> Result<Offer> {
    document::check_depth(doc)?;
    serde_json::from_str(doc).map_err(|e| Error::invalid("offer", text::excerpt(&e.to_string(), 200), "send it with askbox"))
}

/// Whoever writes another name than that of their role is told apart: `bob (role ann)`.
fn named_by_role(mut offer: Offer, role: &str) -> Offer {
    if offer.check().is_ok() && caller::check_name(&offer.answer.by).is_ok() && offer.answer.by != role {
        offer.answer.by = format!("{} (role {})", text::excerpt(&offer.answer.by, 150), text::excerpt(role, 64));
    }
    offer
}
