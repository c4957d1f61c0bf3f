//! Applies an offer, which is an answer from another machine. The offer becomes the answer of its round, or is refused with the reason.
//!
//! The commit point is the same as in [`accept`]. The answer keeps the offer's id. An offer may come again because its sender never
//! received the verdict. Then it finds its own answer and gets the same verdict. If the answer was taken back, that is kept with
//! the id, too, so an offer that comes again never decides what a person has taken back.
//!
//! An offer that does not count by the operator's policy is refused here, so that its sender is told. A signed offer keeps its own
//! time, because the signature covers the time.

use crate::documents::checks::check_answer::Given;
use crate::documents::closing::TakenBack;
use crate::transitions::accept::Waiting;
use crate::{
    Answer, Below, Caller, Decided, Decision, Error, Folder, Mailbox, Offer, On, Policy, Question, Result, RoundId, Through, Verdict,
    accept, read_question, round, time,
};

/// How far the clock of a machine that signs may be ahead, in minutes.
const CLOCKS_DIFFER: i64 = 10;

/// Applies an offer to the mailbox of the machine that has the question. `below` says what the process that takes the offer runs
/// below. If a command below an agent brings the offer, it counts as the agent's, whatever the offer says.
///
/// # Errors
/// After an error nothing was decided, and the offer may come again. It is [`Error::Conflict`] if an earlier answer of the workflow
/// still waits for its run, [`Error::Held`] if another process keeps the workflow's lock, and [`Error::Io`] if the system refuses.
/// Every other refusal is a verdict.
pub fn apply(mailbox: &Mailbox, policy: &Policy, offer: &Offer, below: Below) -> Result<Verdict> {
    if let Err(e) = offer.check() {
        return Ok(verdict(offer, Decided::Invalid, &e));
    }
    let round = offer.round();
    if let Some(known) = known(mailbox, offer, &round) {
        return Ok(known);
    }
    let caller = match Caller::from_elsewhere(&offer.answer.by, &offer.answer.channel, offer.answer.through.clone(), below) {
        Ok(caller) => caller,
        Err(e) => return Ok(verdict(offer, Decided::Invalid, &e)),
    };
    let given = Answer { through: caller.through(), offer_id: Some(offer.offer_id), ..offer.answer.clone() };
    let answer = match policy.signed_by {
        // The signature covers the time.
        Some(_) => Answer { question_hash: Some(offer.question_hash), ..given },
        // The clock of the machine that decides counts.
        None => Answer { at: Some(time::now()), signature: None, ..given },
    };
    let on = offer.shown.map_or(On::Text(round.question, offer.question_hash), |shown| On::Shown(round.question, shown));
    let own_words = if offer.own_words { Given::InOwnWords } else { Given::ByPerson };
    let decision = Decision { caller: &caller, on, given: own_words };
    let Some(waiting) = Waiting::find(mailbox, mailbox.lock(&round.workflow)?)? else {
        return too_late(mailbox, offer, &round, decision, answer);
    };
    // The same offer may have come just now.
    if let Some(known) = known_in(waiting.question(), offer) {
        return Ok(known);
    }
    let decided = match waiting.decide(decision, |_| Ok(answer)) {
        Ok(decided) => decided,
        Err(e @ Error::Invalid { .. }) => return Ok(verdict(offer, Decided::Invalid, &e)),
        // Another round is pending, this one was changed, or an agent may not decide it. If this round is over, its result is the verdict.
        Err(e @ Error::Conflict { .. }) => {
            return Ok(known_or_over(mailbox, offer, &round).unwrap_or_else(|| verdict(offer, Decided::Changed, &e)));
        }
        Err(e) => return Err(e),
    };
    if let Some(refused) = refusal(mailbox, policy, offer, &decided.question()) {
        return Ok(refused);
    }
    let accepted = decided.accept()?;
    Ok(Verdict { warning: accepted.warning, ..accepted_as(offer, &accepted.answer) })
}

fn known_or_over(mailbox: &Mailbox, offer: &Offer, round: &RoundId) -> Option<Verdict> {
    known(mailbox, offer, round).or_else(|| over(mailbox, offer, round))
}

/// Returns the verdict for an offer that came before.
fn known(mailbox: &Mailbox, offer: &Offer, round: &RoundId) -> Option<Verdict> {
    documents(mailbox, round).into_iter().find_map(|question| known_in(&question, offer))
}

fn known_in(question: &Question, offer: &Offer) -> Option<Verdict> {
    if let Some(answer) = question.answer.as_ref().filter(|answer| answer.offer_id == Some(offer.offer_id)) {
        return Some(accepted_as(offer, answer));
    }
    if question.late_answers.iter().any(|late| late.offer_id == Some(offer.offer_id)) {
        return Some(closed(question, offer, "; your answer is kept with it and nothing is run"));
    }
    let is_ours = |back: &&TakenBack| back.offer_id == Some(offer.offer_id);
    let back = question.taken_back.iter().flat_map(|last| last.before.iter().chain([last])).find(is_ours)?;
    let said = format!("your answer was taken back by {}", crate::text::excerpt(&back.by, 60));
    Some(verdict(offer, Decided::Lost, &Error::conflict(said, "look at the question again, and answer it anew")))
}

/// Returns the verdict if the round is over: who won, or how it ended. `None` if a late answer can still be kept with it.
fn over(mailbox: &Mailbox, offer: &Offer, round: &RoundId) -> Option<Verdict> {
    let question = documents(mailbox, round).into_iter().find(|question| question.answer.is_some())?;
    let first = question.answer.as_ref().filter(|answer| answer.is_a_persons())?;
    let message = format!("the question of {} was already {}", round.workflow, first.who());
    Some(verdict(offer, Decided::Lost, &Error::conflict(message, ("look at it", format!("ask-answer show {}", round.workflow)))))
}

/// Returns the verdict when no question is pending: who won. If no person answered before the round ended, the answer is kept with
/// it, and shown.
fn too_late(mailbox: &Mailbox, offer: &Offer, round: &RoundId, decision: Decision<'_>, answer: Answer) -> Result<Verdict> {
    if let Some(verdict) = known_or_over(mailbox, offer, round) {
        return Ok(verdict);
    }
    match accept::answer(mailbox, &round.workflow, decision, answer) {
        // The earlier answer was taken back, or the question moved back, just now.
        Ok(accepted) => Ok(accepted_as(offer, &accepted.answer)),
        Err(e @ (Error::Conflict { .. } | Error::NotFound { .. })) => {
            Ok(over(mailbox, offer, round).unwrap_or_else(|| verdict(offer, Decided::Closed, &e)))
        }
        Err(e) => Err(e),
    }
}

/// Returns the verdict if the answer of this question would not count.
fn refusal(mailbox: &Mailbox, policy: &Policy, offer: &Offer, question: &Question) -> Option<Verdict> {
    let answer = question.answer.as_ref()?;
    let clock = policy.signed_by.as_ref().and_then(|_| wrong_clock(mailbox, &offer.round(), answer));
    if let Some(error) = clock {
        return Some(verdict(offer, Decided::Invalid, &error));
    }
    let through = answer.through.clone().unwrap_or(Through::File);
    let why = policy.judge(question).err()?;
    let said = format!("this answer does not count there: {}", why.0);
    Some(verdict(offer, Decided::Invalid, &Error::failed(said, what_would_count(policy, &through))))
}

/// Returns the hint for an answer that the operator's policy refuses. A signature does not help if the answer came through a
/// channel that is not accepted.
fn what_would_count(policy: &Policy, through: &Through) -> String {
    if policy.accepts(through).is_err() {
        let ways: Vec<_> = policy.accept.iter().map(|way| format!("`{}`", way.word())).collect();
        return format!("there an answer counts only through {}: see answers.accept on that machine", ways.join(", "));
    }
    match through {
        _ if policy.signed_by.is_none() => "answer at a terminal with no agent above it, or on the page",
        Through::Terminal | Through::Web => {
            "sign it with a key that is trusted there: answers.sign_key where you answer, answers.trusted_keys there; or answer on that machine"
        }
        _ => "only what a person does at a terminal or on the page is signed: answer so, with a key that is trusted there",
    }
    .into()
}

/// Refuses an impossible signing time: one later than now, or earlier than the file that it answers. Other steps compare these two times.
fn wrong_clock(mailbox: &Mailbox, round: &RoundId, answer: &Answer) -> Option<Error> {
    let at = answer.at?;
    let asked = time::to_the_millisecond(read_question::modified(&mailbox.document(Folder::Pending, &round.workflow)).into());
    let (now, ahead) = (time::now(), chrono::TimeDelta::minutes(CLOCKS_DIFFER));
    if asked <= at && at <= now + ahead {
        return None;
    }
    let (said, here) = (time::rfc3339(at), time::rfc3339(now));
    Some(Error::failed(
        format!("it was signed at {said}, and it is {here} here: the clocks of the two machines differ too much"),
        "set the clocks, and answer again",
    ))
}

/// Returns the documents of a round, in the order of a round's moves. So a round that moves at the same time is found at least once.
fn documents(mailbox: &Mailbox, round: &RoundId) -> Vec<Question> {
    let pending = read_question::pending(mailbox, &round.workflow).ok();
    let pending = pending.filter(|d| round::of_pending(mailbox, &d.typed).is_ok_and(|id| id == *round));
    let answered = read_question::answered(mailbox, &round.workflow).ok();
    let answered = answered.filter(|d| round::round_of(mailbox, &d.typed).is_ok_and(|id| id == *round));
    let later = round::claimed_or_closed(mailbox, round);
    pending.into_iter().chain(answered).chain(later).map(|document| document.typed).collect()
}

fn accepted_as(offer: &Offer, answer: &Answer) -> Verdict {
    Verdict { offer_id: offer.offer_id, decided: Decided::Accepted, said: answer.word().into(), hint: None, warning: None }
}

fn closed(question: &Question, offer: &Offer, kept: &str) -> Verdict {
    let ended = question.closed.as_ref().map_or("was over", |closing| closing.state.in_a_sentence());
    let message = format!("the question of {} {ended} before you answered{kept}", question.workflow_id);
    verdict(offer, Decided::Closed, &Error::conflict(message, ("look at it", format!("ask-answer show {}", question.workflow_id))))
}

fn verdict(offer: &Offer, decided: Decided, why: &Error) -> Verdict {
    let said = why.to_string();
    let said = said.strip_prefix("-: ").unwrap_or(&said).to_owned();
    Verdict { offer_id: offer.offer_id, decided, said, hint: Some(why.hint()), warning: None }
}
