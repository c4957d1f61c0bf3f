//! Which events of a target are sent now, which together, and when to look again.
//!
//! Finds out whether a person sees a new question without being told: in an inbox, on a page, or at the terminal of a live session.

use chrono::TimeDelta;

use crate::news::record::Ledger;
use askbox_config::{Event, Notify};
use askbox_mailbox::{Mailbox, RoundId, Time, WorkflowId, presence, read_question};

/// If there are more events than this at once, they are sent as one message.
const MOST_ALONE: usize = 20;

/// An event in its record.
pub(super) type Place = (RoundId, Event, u32);

/// The content of one message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parcel {
    One(Place),
    /// Several events as one message, because there are too many, or quiet hours held them back.
    Several(Vec<Place>),
}

/// The messages to send to a target now, at most `free` of them, and when to look again for events that may not be sent yet. `busy`
/// returns true if an event of this round is being sent. The events of a round are sent one after the other, because the last message
/// that arrives must be about the last event. `is_seen` returns true if a person sees the question of this round anyway.
pub(super) fn due(
    ledger: &Ledger,
    notify: &Notify,
    busy: &dyn Fn(&RoundId) -> bool,
    is_seen: &dyn Fn(&RoundId) -> bool,
    free: usize,
    now: Time,
) -> (Vec<Parcel>, Option<Time>) {
    let quiet_until = notify.quiet.end(now);
    let present = TimeDelta::from_std(notify.present.0).unwrap_or_default();
    let mut next: Option<Time> = None;
    let (mut alone, mut held) = (Vec::new(), Vec::new());
    for (due, round, n) in ledger.open_entries() {
        let Some(entry) = ledger.records.get(&round).and_then(|record| record.events.get(n)) else { continue };
        if busy(&round) {
            continue;
        }
        let place = (round, entry.event, entry.count);
        // A person at an inbox sees a new question there, and a person at a session's terminal sees its dialog.
        let may_wait = entry.event.is_new() && due <= now && due + present > now;
        let seen_until = (may_wait && is_seen(&place.0)).then(|| due + present);
        let look = seen_until.map(|until| until.min(now + TimeDelta::seconds(5)));
        let quiet = quiet_until.filter(|_| !entry.urgent);
        match [Some(due).filter(|due| *due > now), look, quiet].into_iter().flatten().max() {
            Some(later) => next = Some(next.map_or(later, |next| next.min(later))),
            None if !entry.urgent && notify.quiet.end(due).is_some() => held.push(place),
            // Its other events follow once this one is sent.
            None if alone.iter().any(|(round, ..): &Place| *round == place.0) => {}
            None => alone.push(place),
        }
    }
    let mut parcels = Vec::new();
    if held.len() == 1 {
        alone.append(&mut held);
    }
    if !held.is_empty() {
        parcels.push(Parcel::Several(held));
    }
    if alone.len() > MOST_ALONE {
        parcels.push(Parcel::Several(alone));
    } else {
        parcels.extend(alone.into_iter().map(Parcel::One));
    }
    parcels.truncate(free);
    (parcels, next)
}

/// A look at who is present.
pub(super) struct Present<'a> {
    mailbox: &'a Mailbox,
    is_at_inbox: bool,
}

impl<'a> Present<'a> {
    /// Looks now.
    pub(super) fn look(mailbox: &'a Mailbox) -> Self {
        Self { mailbox, is_at_inbox: presence::any_person(mailbox) }
    }

    /// True if a person sees the waiting question of this workflow.
    pub(super) fn sees(&self, workflow: &WorkflowId) -> bool {
        self.is_at_inbox || self.types_beside(workflow)
    }

    /// True if a person types at the terminal that shows the same question as a dialog.
    fn types_beside(&self, workflow: &WorkflowId) -> bool {
        let Ok(question) = read_question::pending(self.mailbox, workflow) else { return false };
        let dialog = question.typed.live.as_ref().filter(|live| !live.in_background);
        dialog.is_some_and(|live| presence::is_at_terminal(self.mailbox, &live.session))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Local, NaiveTime, TimeZone};

    use super::*;
    use askbox_mailbox::Mailbox;
    use askbox_mailbox::id::QuestionId;
    use askbox_mailbox::time;

    struct Shelf {
        _folder: tempfile::TempDir,
        ledger: Ledger,
        notify: Notify,
    }

    impl Shelf {
        fn new(quiet: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
            let notify = Notify { quiet: quiet.parse().unwrap(), ..Notify::default() };
            Self { ledger: Ledger::open(&mailbox, "phone").unwrap(), notify, _folder: folder }
        }

        fn want(&mut self, event: Event, due: Time, urgent: bool) {
            let round = RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() };
            self.ledger.change(&round, |record| record.want(event, 0, due, urgent)).unwrap();
        }

        fn due(&self, is_present: bool, now: Time) -> (Vec<Parcel>, Option<Time>) {
            due(&self.ledger, &self.notify, &|_| false, &|_| is_present, 4, now)
        }
    }

    fn clock(hour: u32) -> Time {
        let day = Local.with_ymd_and_hms(2026, 11, 24, 12, 0, 0).unwrap().date_naive();
        day.and_time(NaiveTime::from_hms_opt(hour, 0, 0).unwrap()).and_local_timezone(Local).unwrap().to_utc()
    }

    #[test]
    fn what_quiet_hours_held_back_is_told_as_one_afterwards() {
        let mut shelf = Shelf::new("22:00-07:00");
        shelf.want(Event::Asked, clock(3), false);
        shelf.want(Event::Parked, clock(4), false);
        shelf.want(Event::Asked, clock(4), true);
        let (now, next) = shelf.due(false, clock(5));
        assert!(matches!(now[..], [Parcel::One(_)]), "the urgent one alone: {now:?}");
        assert_eq!(next, Some(clock(7)));
        shelf.want(Event::Asked, clock(8), false);
        let (later, _) = shelf.due(false, clock(8));
        assert!(matches!(&later[0], Parcel::Several(held) if held.len() == 2), "{later:?}");
        assert_eq!(later.len(), 3);
    }

    #[test]
    fn events_of_one_round_are_told_in_the_order_they_happened() {
        let mut shelf = Shelf::new("");
        let start = clock(12);
        let round = RoundId { workflow: "docs".parse().unwrap(), question: QuestionId::generate() };
        for (event, due) in [(Event::Answered, start), (Event::Delivered, start + TimeDelta::milliseconds(1))] {
            shelf.ledger.change(&round, |record| record.want(event, 0, due, false)).unwrap();
        }
        shelf.want(Event::Parked, start, false);
        let later = start + TimeDelta::seconds(1);
        let (now, _) = shelf.due(false, later);
        assert_eq!(now.len(), 2, "the first of each round: {now:?}");
        assert!(now.contains(&Parcel::One((round.clone(), Event::Answered, 0))), "{now:?}");
        let busy = due(&shelf.ledger, &shelf.notify, &|of| *of == round, &|_| false, 4, later).0;
        assert!(matches!(&busy[..], [Parcel::One((_, Event::Parked, 0))]), "{busy:?}");
    }

    #[test]
    fn a_person_at_an_inbox_delays_new_questions_and_nothing_else() {
        let mut shelf = Shelf::new("");
        let start = clock(12);
        shelf.want(Event::Asked, start, false);
        shelf.want(Event::Parked, start, false);
        let (now, next) = shelf.due(true, start);
        assert!(matches!(&now[..], [Parcel::One((_, Event::Parked, 0))]), "{now:?}");
        assert_eq!(next, Some(start + TimeDelta::seconds(5)));
        assert_eq!(shelf.due(true, start + TimeDelta::seconds(301)).0.len(), 2, "nobody sat there for five minutes");
    }

    #[test]
    fn a_flood_is_told_as_one() {
        let mut shelf = Shelf::new("");
        let now = time::now();
        (0..MOST_ALONE).for_each(|_| shelf.want(Event::Asked, now, false));
        assert_eq!(shelf.due(false, now).0.len(), 4, "four at a time");
        shelf.want(Event::Asked, now, false);
        assert!(matches!(&shelf.due(false, now).0[..], [Parcel::Several(all)] if all.len() == MOST_ALONE + 1));
    }
}
